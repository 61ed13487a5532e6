/* SPDX-License-Identifier: MIT */
/* Diagnostics, growing buffers and id tables (see util.h). */
#include "base/util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *ctr_strerror(int code)
{
    switch (code < 0 ? -code : code) {
    case CTR_E_OK:
        return "no error";
    case CTR_E_IO:
        return "input/output error";
    case CTR_E_NOMEM:
        return "out of memory";
    case CTR_E_CORRUPT:
        return "corrupt";
    case CTR_E_TRUNCATED:
        return "truncated";
    case CTR_E_UNSUPPORTED:
        return "unsupported";
    case CTR_E_LIMIT:
        return "limit exceeded";
    case CTR_E_NOTTRACE:
        return "not a trace";
    case CTR_E_INVAL:
        return "invalid argument";
    default:
        return "unknown error";
    }
}

const char *ctr_version(void)
{
    return CANNOLI_VERSION;
}

int ctr_fail(struct ctr_diag *diag, int code, uint64_t off, const char *field,
             const char *fmt, ...)
{
    int err = errno;
    if (!diag) {
        return -code;
    }
    memset(diag, 0, sizeof(*diag));
    diag->code = code;
    diag->sys_errno = code == CTR_E_IO ? err : 0;
    diag->off = off;
    snprintf(diag->field, sizeof(diag->field), "%s", field);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(diag->text, sizeof(diag->text), fmt, ap);
    va_end(ap);
    return -code;
}

int ctr_fail_nomem(struct ctr_diag *diag)
{
    return ctr_fail(diag, CTR_E_NOMEM, CTR_NO_OFF, "memory", "out of memory");
}

int ctr_by_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The new capacity is half as much again, so that appending stays linear. */
int buf_reserve(struct buf *b, size_t more)
{
    if (b->cap - b->n >= more) {
        return 0;
    }
    if (more > SIZE_MAX / 4 || b->n > SIZE_MAX / 4) {
        return -1;
    }
    size_t want = b->n + more;
    size_t cap = b->cap + b->cap / 2;
    if (cap < want) {
        cap = want;
    }
    if (cap < 256) {
        cap = 256;
    }
    uint8_t *p = realloc(b->p, cap);
    if (!p) {
        return -1;
    }
    b->p = p;
    b->cap = cap;
    return 0;
}

int buf_room(struct buf *b, size_t n)
{
    b->n = 0;
    if (b->cap >= n) {
        return 0;
    }
    free(b->p);
    b->p = malloc(n);
    b->cap = b->p ? n : 0;
    return b->p ? 0 : -1;
}

int buf_append(struct buf *b, const void *data, size_t n)
{
    if (buf_reserve(b, n)) {
        return -1;
    }
    if (n) {
        memcpy(b->p + b->n, data, n);
    }
    b->n += n;
    return 0;
}

void buf_free(struct buf *b)
{
    free(b->p);
    memset(b, 0, sizeof(*b));
}

int idtab_init(struct idtab *t, uint32_t limit)
{
    t->pages = 0;
    t->limit = limit;
    t->top = calloc(limit / IDTAB_PAGE + 1, sizeof(t->top[0]));
    return t->top ? 0 : -1;
}

void idtab_fini(struct idtab *t)
{
    if (!t->top) {
        return;
    }
    for (uint32_t i = 0; i < t->pages; i++) {
        free(atomic_load_explicit(&t->top[i], memory_order_relaxed));
    }
    free(t->top);
    t->top = NULL;
}

int idtab_set(struct idtab *t, uint32_t id, void *entry)
{
    struct idtab_page *page =
        atomic_load_explicit(&t->top[id >> IDTAB_PAGE_BITS], memory_order_relaxed);
    if (!page) {
        page = calloc(1, sizeof(*page));
        if (!page) {
            return -1;
        }
        atomic_store_explicit(&t->top[id >> IDTAB_PAGE_BITS], page, memory_order_release);
        if (t->pages <= id >> IDTAB_PAGE_BITS) {
            t->pages = (id >> IDTAB_PAGE_BITS) + 1;
        }
    }
    void *_Atomic *at = &page->entry[id & (IDTAB_PAGE - 1)];
    page->used += entry != NULL;
    page->used -= atomic_load_explicit(at, memory_order_relaxed) != NULL;
    atomic_store_explicit(at, entry, memory_order_release);
    return 0;
}

void idtab_trim(struct idtab *t, uint32_t id)
{
    struct idtab_page *_Atomic *at = &t->top[id >> IDTAB_PAGE_BITS];
    struct idtab_page *page = atomic_load_explicit(at, memory_order_relaxed);
    if (page && page->used == 0) {
        atomic_store_explicit(at, NULL, memory_order_relaxed);
        free(page);
    }
}

void *idtab_next(const struct idtab *t, uint32_t from)
{
    for (uint32_t i = from >> IDTAB_PAGE_BITS; i < t->pages; i++) {
        struct idtab_page *page = atomic_load_explicit(&t->top[i], memory_order_relaxed);
        uint32_t k = i == from >> IDTAB_PAGE_BITS ? from & (IDTAB_PAGE - 1) : 0;
        for (; page && k < IDTAB_PAGE; k++) {
            void *p = atomic_load_explicit(&page->entry[k], memory_order_relaxed);
            if (p) {
                return p;
            }
        }
    }
    return NULL;
}
