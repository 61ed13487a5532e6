/* SPDX-License-Identifier: MIT */
/*
 * Memory for very many small things of different sizes that come and go, for any
 * thread: malloc(3) would keep freed memory for the thread that had allocated it. Freed
 * memory is used again for things of about that size.
 */
#ifndef CTR_SLAB_H
#define CTR_SLAB_H

#include <stddef.h>
#include <stdint.h>

#define SLAB_STEP 32u    /* sizes are rounded up to a multiple */
#define SLAB_CLASSES 33u /* larger things are malloc's */

struct slab {
    void *spare[SLAB_CLASSES]; /* lists; each begins with a pointer to the next */
    void *page;                /* likewise */
    uint8_t *at, *end;         /* unused part of the last one */
};

/* n bytes, aligned for anything, all 0; NULL: no memory. */
void *slab_get(struct slab *s, size_t n);
/* Frees what slab_get(s, n) returned. */
void slab_put(struct slab *s, void *p, size_t n);
/* Frees all memory, except things larger than the classes. */
void slab_fini(struct slab *s);

#endif
