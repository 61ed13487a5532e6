/* SPDX-License-Identifier: MIT */
/*
 * Records of buffers that do not arrive: the recorder keeps them, up to a limit for each
 * thread and one for all, and then ends the recording with an error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drain_priv.h"

#define BYTES (120u << 10)
#define THREADS 16u

static int failures;

#define CHECK(cond)                                                                      \
    do {                                                                                 \
        if (!(cond)) {                                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                   \
            failures++;                                                                  \
        }                                                                                \
    } while (0)

/* A record of buffer `seq' of a thread. */
static int put(struct drain *d, uint32_t pipe, uint32_t seq)
{
    static union {
        struct mempipe_side_place place;
        uint64_t bytes[BYTES / 8];
    } rec;

    rec.place = (struct mempipe_side_place){.h = {BYTES, MEMPIPE_SIDE_EVENT}, .seq = seq};
    return drain_on_record(d, pipe, &rec.place.h, BYTES);
}

/* As many records as a thread may have, in buffers of at most `each'; their bytes. */
static uint64_t fill(struct drain *d, uint32_t pipe, uint32_t each, int *err)
{
    uint64_t bytes = 0;

    *err = 0;
    for (uint32_t seq = 0; !*err && seq < 2 * MEMPIPE_MAIL; seq++) {
        for (uint32_t i = 0; !*err && i < each; i++) {
            *err = put(d, pipe, seq);
            bytes += *err ? 0 : BYTES;
        }
    }
    return bytes;
}

int main(void)
{
    struct slot slots[THREADS] = {0};
    struct guest_thread thread = {0};
    uint64_t tails[THREADS] = {0};
    struct mempipe_host host = {.side_tails = tails};
    struct ctr_diag diag = {0};
    struct drain d = {.host = &host, .slots = slots, .diag = &diag};
    uint64_t bytes, all = 0;
    uint32_t pipe = 0;
    int err;

    d.pipeline = (struct pipeline *)(void *)&d; /* must be set, but is not used here */
    d.n_threads = 1;
    for (uint32_t i = 0; i < THREADS; i++) {
        slots[i].side_end = &slots[i].side;
        slots[i].thread = &thread;
    }
    /* one buffer, then many */
    bytes = fill(&d, 0, UINT32_MAX, &err);
    CHECK(err == -CTR_E_CORRUPT && bytes <= CTR_MAX_CHUNK_SIDE);
    CHECK(strstr(diag.text, "too many records") != NULL);
    drain_drop_side(&d, &slots[0]);
    bytes = fill(&d, 0, 64, &err);
    CHECK(err == -CTR_E_CORRUPT && bytes > CTR_MAX_CHUNK_SIDE &&
          bytes <= 2ull * CTR_MAX_CHUNK_SIDE);
    CHECK(strstr(diag.text, "no buffers") != NULL);
    drain_drop_side(&d, &slots[0]);
    CHECK(d.kept == 0);

    /* Records of buffers that have arrived do not count. */
    for (uint32_t seq = 0; seq < 2000; seq++) {
        struct job_segment seg = {0};

        slots[0].next_seq = seq;
        CHECK(put(&d, 0, seq) == 0);
        drain_attach_side(&d, &slots[0], &seg, seq);
        CHECK(seg.side != NULL && d.kept == 0 && slots[0].kept == 0);
        free(seg.side);
    }
    slots[0].next_seq = 0;

    /* many threads */
    for (err = 0; !err && pipe < THREADS; pipe++) {
        for (uint32_t seq = 0; !err && seq < 2 * MEMPIPE_MAIL; seq++) {
            for (uint32_t i = 0; !err && i < 4; i++) {
                err = put(&d, pipe, seq);
                all += err ? 0 : BYTES;
            }
        }
    }
    CHECK(err == -CTR_E_CORRUPT && all < 600ull << 20);
    for (uint32_t i = 0; i < THREADS; i++) {
        drain_drop_side(&d, &slots[i]);
    }
    CHECK(d.kept == 0);
    return failures ? 1 : 0;
}
