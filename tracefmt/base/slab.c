/* SPDX-License-Identifier: MIT */
/* Small allocations of different sizes; see slab.h. */
#include "base/slab.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES ((size_t)256 << 10)

/* With the sanitizer everything is malloc's, so that it detects use after slab_put. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

static size_t class_of(size_t n)
{
    return (n + SLAB_STEP - 1) / SLAB_STEP;
}

static void *new_piece(struct slab *s, size_t n)
{
    if ((size_t)(s->end - s->at) < n) {
        uint8_t *page = malloc(PAGE_BYTES);
        if (!page) {
            return NULL;
        }
        memcpy(page, &s->page, sizeof(s->page));
        s->page = page;
        s->at = page + SLAB_STEP;
        s->end = page + PAGE_BYTES;
    }
    void *p = s->at;
    s->at += n;
    return p;
}

void *slab_get(struct slab *s, size_t n)
{
    size_t class = class_of(n);
    if (SANITIZED || class >= SLAB_CLASSES) {
        return calloc(1, n);
    }
    void *p = s->spare[class];
    if (p) {
        memcpy(&s->spare[class], p, sizeof(p));
    } else {
        p = new_piece(s, class * SLAB_STEP);
    }
    return p ? memset(p, 0, n) : NULL;
}

void slab_put(struct slab *s, void *p, size_t n)
{
    size_t class = class_of(n);
    if (SANITIZED || class >= SLAB_CLASSES) {
        free(p);
        return;
    }
    memcpy(p, &s->spare[class], sizeof(p));
    s->spare[class] = p;
}

void slab_fini(struct slab *s)
{
    while (s->page) {
        void *next;
        memcpy(&next, s->page, sizeof(next));
        free(s->page);
        s->page = next;
    }
    *s = (struct slab){0};
}
