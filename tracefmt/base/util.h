/* SPDX-License-Identifier: MIT */
/* Small helpers of the whole library: errors, growing buffers, tables. */
#ifndef CTR_UTIL_H
#define CTR_UTIL_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include "ctr.h"

/*
 * Fills in diag (if there is one) and returns -code. With CTR_E_IO it also stores
 * errno.
 */
int ctr_fail(struct ctr_diag *diag, int code, uint64_t off, const char *field,
             const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Reports out of memory, with the same text everywhere. */
int ctr_fail_nomem(struct ctr_diag *diag);

/*
 * Whether the error is damage of the file, so that another part may have the same data.
 */
static inline int ctr_is_damage(int err)
{
    return err < 0 && err != -CTR_E_NOMEM && err != -CTR_E_IO;
}

/* For qsort, of uint64_t. */
int ctr_by_u64(const void *a, const void *b);

/* ------------------------------------------------------------------ buffer */

struct buf {
    uint8_t *p;
    size_t n;
    size_t cap;
};

/* Makes room for `more' bytes after the first n. Returns 0 or -1. */
int buf_reserve(struct buf *b, size_t more);
int buf_append(struct buf *b, const void *data, size_t n);
void buf_free(struct buf *b);

/* A buffer to be overwritten: capacity of at least n, contents lost. */
int buf_room(struct buf *b, size_t n);

/* --------------------------------------------------------------- id tables */

/*
 * Pointers by number, for one thread that adds and any number that look up meanwhile:
 * pages never move. A store (release) in idtab_set pairs with the loads (acquire) of
 * idtab_get.
 */
#define IDTAB_PAGE_BITS 13u
#define IDTAB_PAGE (1u << IDTAB_PAGE_BITS)

struct idtab_page {
    void *_Atomic entry[IDTAB_PAGE];
    uint32_t used; /* entries that are not NULL; for the adding thread */
};

struct idtab {
    struct idtab_page *_Atomic *top; /* one for each IDTAB_PAGE ids */
    uint32_t limit;                  /* ids are below */
    uint32_t pages;                  /* in use below this number; for the adding thread */
};

int idtab_init(struct idtab *t, uint32_t limit);
void idtab_fini(struct idtab *t);
/* id < limit.  Returns 0 or -1 (no memory). */
int idtab_set(struct idtab *t, uint32_t id, void *entry);
/* Frees the page of an id if it has no entry; no thread may be reading it. */
void idtab_trim(struct idtab *t, uint32_t id);
/*
 * The first entry with an id of `from' or above, NULL: there is none. For the adding
 * thread.
 */
void *idtab_next(const struct idtab *t, uint32_t from);

static inline void *idtab_get(const struct idtab *t, uint32_t id)
{
    if (id >= t->limit) {
        return NULL;
    }
    struct idtab_page *page =
        atomic_load_explicit(&t->top[id >> IDTAB_PAGE_BITS], memory_order_acquire);
    if (!page) {
        return NULL;
    }
    return atomic_load_explicit(&page->entry[id & (IDTAB_PAGE - 1)],
                                memory_order_acquire);
}

#endif
