/* SPDX-License-Identifier: MIT */
/* Requests of key frames; see keyframes.h. */
#include "keyframes.h"

#include <stdbool.h>
#include <stdlib.h>

/* Key frames may take one byte in so many of the file. */
#define SHARE 25u
/* Chunks that write a page between two key frames of it, at least and at most. */
#define FEWEST 4u
#define MOST (1u << 20)
/* Pages of a process that are followed. */
#define MAX_PAGES (1u << 20)
#define FIRST_PAGES 256u

struct page {
    uint64_t key;     /* page number + 1; 0: free */
    uint32_t written; /* by so many chunks since its last key frame, or request */
};

struct keyframe_pages {
    struct page *v; /* open addressing */
    uint32_t cap, n;
};

struct keyframes {
    struct mempipe_host *host;
    uint32_t *heads; /* of each pipe: requests ever made */
    uint64_t spent;  /* bytes of key frames */
    uint32_t after;  /* chunks that have written a page: then it is requested */
};

struct keyframes *keyframes_new(struct mempipe_host *host)
{
    struct keyframes *k = calloc(1, sizeof(*k));

    if (k) {
        k->host = host;
        k->after = FEWEST;
        k->heads = calloc(host->layout.nr_pipes, sizeof(*k->heads));
    }
    if (k && !k->heads) {
        free(k);
        k = NULL;
    }
    return k;
}

void keyframes_free(struct keyframes *k)
{
    if (k) {
        free(k->heads);
        free(k);
    }
}

void keyframe_pages_free(struct keyframe_pages *pages)
{
    if (pages) {
        free(pages->v);
        free(pages);
    }
}

static struct page *slot_of(struct page *v, uint32_t cap, uint64_t key)
{
    uint64_t i = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;

    while (v[i & (cap - 1)].key && v[i & (cap - 1)].key != key) {
        i++;
    }
    return &v[i & (cap - 1)];
}

static bool grow(struct keyframe_pages *p)
{
    const uint32_t cap = p->cap ? 2 * p->cap : FIRST_PAGES;
    struct page *v = calloc(cap, sizeof(*v));

    for (uint32_t i = 0; v && i < p->cap; i++) {
        if (p->v[i].key) {
            *slot_of(v, cap, p->v[i].key) = p->v[i];
        }
    }
    if (v) {
        free(p->v);
        p->v = v;
        p->cap = cap;
    }
    return v != NULL;
}

/* The page with this number, which is new if none has it; NULL: it is not followed. */
static struct page *page_of(struct keyframe_pages *p, uint64_t number, bool add)
{
    struct page *at;

    if (p->n >= p->cap / 2 && add && (p->n >= MAX_PAGES || !grow(p))) {
        add = false;
    }
    if (!p->cap) {
        return NULL;
    }
    at = slot_of(p->v, p->cap, number + 1);
    if (!at->key && !add) {
        return NULL;
    }
    p->n += !at->key;
    at->key = number + 1;
    return at;
}

/* What the last chunks cost decides how soon pages are requested. */
static void adjust(struct keyframes *k, uint64_t bytes)
{
    const uint64_t budget = bytes / SHARE;

    if (k->spent > budget) {
        k->after += k->after / 8 + 1;
        k->after = k->after < MOST ? k->after : MOST;
    } else if (k->spent < budget - budget / 8) {
        k->after -= k->after / 8;
        k->after = k->after > FEWEST ? k->after : FEWEST;
    }
}

static void request(struct keyframes *k, uint32_t pipe, uint32_t serial, uint64_t page)
{
    struct mempipe_requests *q = &k->host->requests[pipe];
    struct mempipe_request *r = &q->request[k->heads[pipe]++ % MEMPIPE_REQUESTS];

    __atomic_store_n(&r->page, page, __ATOMIC_RELAXED);
    __atomic_store_n(&r->serial, serial, __ATOMIC_RELAXED);
    /* pairs with QEMU's acquire load */
    __atomic_store_n(&q->head, k->heads[pipe], __ATOMIC_RELEASE);
}

void keyframes_note(struct keyframes *k, struct keyframe_pages **pages, uint32_t pipe,
                    uint32_t serial, const struct ctr_packed *chunk, uint64_t bytes)
{
    struct ctr_packed_info info;
    struct ctr_packed_pages list;
    unsigned requested = 0;
    uint64_t number;

    ctr_packed_info(chunk, &info);
    k->spent += info.key_bytes;
    adjust(k, bytes);
    if (!*pages) {
        *pages = calloc(1, sizeof(**pages));
    }
    if (!*pages) {
        return;
    }
    ctr_packed_pages(chunk, CTR_TOUCHED_KEYFRAME, &list);
    while (ctr_packed_next_page(&list, &number)) {
        struct page *p = page_of(*pages, number, false);

        if (p) {
            p->written = 0;
        }
    }
    ctr_packed_pages(chunk, CTR_TOUCHED_WRITTEN, &list);
    while (ctr_packed_next_page(&list, &number)) {
        struct page *p = page_of(*pages, number, true);

        if (p && ++p->written >= k->after && requested < MEMPIPE_REQUESTS) {
            request(k, pipe, serial, number * 4096);
            requested++;
            p->written = 0;
        }
    }
}
