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

/* How many chunks have written a page since its last key frame, or request; NULL: it is not
 * followed. */
static uint32_t *written_of(struct map64 *pages, uint64_t number, bool add)
{
    const uint64_t key = map64_mix(0, number);
    bool added;

    return add && pages->used < MAX_PAGES ? map64_put(pages, key, 0, &added)
                                          : map64_get(pages, key);
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

void keyframes_note(struct keyframes *k, struct map64 *pages, uint32_t pipe,
                    uint32_t serial, const struct ctr_packed *chunk, uint64_t bytes)
{
    struct ctr_packed_info info;
    struct ctr_packed_pages list;
    unsigned requested = 0;
    uint64_t number;

    ctr_packed_info(chunk, &info);
    k->spent += info.key_bytes;
    adjust(k, bytes);
    ctr_packed_pages(chunk, CTR_TOUCHED_KEYFRAME, &list);
    while (ctr_packed_next_page(&list, &number)) {
        uint32_t *written = written_of(pages, number, false);

        if (written) {
            *written = 0;
        }
    }
    ctr_packed_pages(chunk, CTR_TOUCHED_WRITTEN, &list);
    while (ctr_packed_next_page(&list, &number)) {
        uint32_t *written = written_of(pages, number, true);

        if (written && ++*written >= k->after && requested < MEMPIPE_REQUESTS) {
            request(k, pipe, serial, number * 4096);
            requested++;
            *written = 0;
        }
    }
}
