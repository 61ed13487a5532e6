/* SPDX-License-Identifier: MIT */
/* Requests of key frames; see keyframes.h. */
#include "keyframes.h"

#include <stdbool.h>
#include <stdlib.h>

/* Key frames may take one byte in so many of the file. */
#define SHARE 22u
/*
 * What it costs to decode a chunk: something for each, as they have about the same number of
 * accesses, and more if addresses were hard to predict, which makes it large.
 */
#define COST_OF_CHUNK 16u
#define BYTES_OF_COST 8192u
#define MAX_COST 256u
/* Of the chunks that write a page between two key frames of it, at least. */
#define LEAST (4u * COST_OF_CHUNK)
/* See adjust. */
#define FREE 15u
#define DOUBLINGS 16u
#define STEPS 64u   /* of a twentieth of the budget */
#define FORGET 256u /* chunks after which a request counts little */
/* A key frame in the file, before there is any. */
#define FIRST_BYTES 1024u
/* Pages of a process that are followed. */
#define MAX_PAGES (1u << 20)

struct keyframes {
    struct mempipe_host *host;
    uint32_t *heads; /* of each pipe: requests ever made */
    uint64_t spent;  /* bytes of key frames */
    uint64_t frames; /* their number */
    uint64_t open;   /* requests whose key frame has not come, about */
    uint32_t
        after; /* cost of the chunks that have written a page: then it is requested */
};

struct keyframes *keyframes_new(struct mempipe_host *host)
{
    struct keyframes *k = calloc(1, sizeof(*k));

    if (k) {
        k->host = host;
        k->after = LEAST;
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

/* The cost of the chunks that have written a page since its last key frame, or request; NULL:
 * it is not followed. */
static uint32_t *written_of(struct map64 *pages, uint64_t number, bool add)
{
    const uint64_t key = map64_mix(0, number);
    bool added;

    return add && pages->used < MAX_PAGES ? map64_put(pages, key, 0, &added)
                                          : map64_get(pages, key);
}

/*
 * How soon pages are requested follows from how much of the budget is spent, with what is
 * requested, and so changes slowly: from FREE twentieths on it takes twice the cost for each twentieth more.  What jumps
 * when the budget is spent makes a wave of key frames of all pages, and then none for long.
 */
static void adjust(struct keyframes *k, uint64_t bytes)
{
    const uint64_t budget = bytes / SHARE + 1;
    const uint64_t most = (FREE + DOUBLINGS) * STEPS;
    const uint64_t each = k->frames ? k->spent / k->frames : FIRST_BYTES;
    uint64_t spent = k->spent + k->open * each;

    spent = spent / budget < 2 ? spent * 20 * STEPS / budget : most;
    spent = spent < most ? spent : most;
    spent -= spent < FREE * STEPS ? spent : FREE * STEPS;
    k->after = (LEAST << spent / STEPS) / STEPS * (uint32_t)(STEPS + spent % STEPS);
}

static void request(struct keyframes *k, uint32_t pipe, uint32_t serial, uint64_t page)
{
    struct mempipe_requests *q = &k->host->requests[pipe];
    struct mempipe_request *r = &q->request[k->heads[pipe]++ % MEMPIPE_REQUESTS];

    __atomic_store_n(&r->page, page, __ATOMIC_RELAXED);
    __atomic_store_n(&r->serial, serial, __ATOMIC_RELAXED);
    /* pairs with QEMU's acquire load */
    __atomic_store_n(&q->head, k->heads[pipe], __ATOMIC_RELEASE);
    k->open++;
}

/* Of a chunk that is noted. */
struct note {
    struct keyframes *k;
    struct map64 *pages;
    uint32_t pipe, serial;
    uint32_t cost;
    unsigned requested;
};

static void note_written(struct note *n, uint64_t number, bool add)
{
    uint32_t *written = written_of(n->pages, number, add);

    if (!written) {
        return;
    }
    *written += n->cost;
    if (*written >= n->k->after && n->requested < MEMPIPE_REQUESTS) {
        request(n->k, n->pipe, n->serial, number * 4096);
        n->requested++;
        *written = 0;
    }
}

/*
 * A reader also decodes chunks that write the page before: an access there may reach into this
 * one.  That counts for pages that were written themselves.
 */
static void note_pages(struct note *n, struct ctr_packed_pages *list)
{
    uint64_t number, last = UINT64_MAX - 1;

    while (ctr_packed_next_page(list, &number)) {
        if (number != last + 1) {
            note_written(n, last + 1, false);
        }
        note_written(n, number, true);
        last = number;
    }
    note_written(n, last + 1, false);
}

void keyframes_note(struct keyframes *k, struct map64 *pages, uint32_t pipe,
                    uint32_t serial, const struct ctr_packed *chunk, uint64_t bytes)
{
    struct note n = {.k = k, .pages = pages, .pipe = pipe, .serial = serial};
    struct ctr_packed_info info;
    struct ctr_packed_pages list;
    uint64_t number, cost;

    ctr_packed_info(chunk, &info);
    k->spent += info.key_bytes;
    k->open -=
        (k->open + FORGET - 1) / FORGET; /* a thread may end before its key frames */
    cost = info.bytes > info.key_bytes ? info.bytes - info.key_bytes : 0;
    cost = COST_OF_CHUNK + cost / BYTES_OF_COST;
    n.cost = cost < MAX_COST ? (uint32_t)cost : MAX_COST;
    ctr_packed_pages(chunk, CTR_TOUCHED_KEYFRAME, &list);
    while (ctr_packed_next_page(&list, &number)) {
        uint32_t *written = written_of(pages, number, false);

        k->frames++;
        k->open -= k->open != 0;
        if (written) {
            *written = 0;
        }
    }
    adjust(k, bytes);
    ctr_packed_pages(chunk, CTR_TOUCHED_WRITTEN, &list);
    note_pages(&n, &list);
}
