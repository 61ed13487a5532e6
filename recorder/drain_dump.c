/* SPDX-License-Identifier: MIT */
/*
 * Writes a ring while the guest runs.  The newest part is of most interest then, and for
 * a thread that hangs in a system call that part is in the buffer that it has not handed
 * over.  Such a buffer is copied and remains the thread's: the thread publishes where its
 * columns end while no translated code runs, and if that is the same before and after the
 * copy, nothing has changed meanwhile.
 */
#include "drain_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a pipe says about its buffer. */
struct quiet {
    bool is_quiet;
    uint32_t buffer, seq, words, units;
};

static struct quiet look(const struct drain *d, uint32_t pipe)
{
    const struct mempipe_pipe *p = &d->host->pipes[pipe];
    struct quiet q = {0};

    /* Pairs with the stores of the producer, which sets the lengths before. */
    q.is_quiet = d->slots[pipe].thread && !d->slots[pipe].ended &&
                 !__atomic_load_n(&p->running, __ATOMIC_ACQUIRE);
    q.buffer = __atomic_load_n(&p->live_buffer, __ATOMIC_ACQUIRE);
    q.seq = __atomic_load_n(&p->live_seq, __ATOMIC_ACQUIRE);
    q.words = __atomic_load_n(&p->quiet_words, __ATOMIC_ACQUIRE);
    q.units = __atomic_load_n(&p->quiet_units, __ATOMIC_ACQUIRE);
    return q;
}

static bool is_same(const struct quiet *a, const struct quiet *b)
{
    return a->is_quiet == b->is_quiet && a->buffer == b->buffer && a->seq == b->seq &&
           a->words == b->words && a->units == b->units;
}

/* The side records whose place is after at most `words' words. */
static uint32_t side_before(const struct side_records *r, uint32_t words)
{
    uint32_t at = 0;

    while (at < r->bytes) {
        const struct mempipe_side_place *p =
            (const void *)((const uint8_t *)r->data + at);

        if (p->words > words) {
            break;
        }
        at += p->h.bytes;
    }
    return at;
}

/* Copies a thread's buffer; the caller frees *mem.  Returns 1, 0 if there is nothing or
 * it has changed, or an error. */
static int copy_tail(const struct drain *d, uint32_t pipe, const struct quiet *q,
                     uint64_t now, struct sink_tail *out, void **mem)
{
    const struct mempipe_ctl *ctl = &d->host->layout;
    const struct slot *s = &d->slots[pipe];
    const struct side_records *r = s->side && s->side->seq == q->seq ? s->side : NULL;
    const uint64_t words = (uint64_t)q->words * sizeof(uint32_t);
    const uint64_t units = (uint64_t)q->units * d->host->addr_bytes;
    const uint64_t data = (words + 7) & ~7ull; /* as aligned as records are */
    const uint32_t side = r ? side_before(r, q->words) : 0;
    const uint8_t *buffer;
    uint64_t start;
    struct quiet again;
    uint8_t *copy;

    *mem = NULL;
    if (!q->is_quiet || !q->buffer || q->buffer > ctl->nr_pipes + ctl->nr_pool ||
        q->seq != s->next_seq || words + units > ctl->buffer_bytes || (!words && !side)) {
        return 0;
    }
    buffer = mempipe_host_buffer(d->host, q->buffer - 1);
    copy = malloc(data + side + units);
    if (!copy) {
        return -CTR_E_NOMEM;
    }
    memcpy(copy, buffer, words);
    memcpy(copy + data + side, buffer + ctl->buffer_bytes - units, units);
    if (side) {
        memcpy(copy + data, r->data, side);
    }
    __sync_synchronize(); /* the thread sanitizer knows no other fence */
    again = look(d, pipe);
    if (!is_same(q, &again)) {
        free(copy);
        return 0;
    }
    start = __atomic_load_n(&d->host->buffers[q->buffer - 1].start_ns, __ATOMIC_RELAXED);
    if (start < s->thread->start_ns || start > now) {
        start = now; /* overwritten by the guest */
    }
    *mem = copy;
    *out = (struct sink_tail){
        .thread = s->thread,
        .seg = {.words = (const uint32_t *)(const void *)copy,
                .n_words = q->words,
                .n_units = q->units,
                .data_end = copy + data + side + units,
                .side = copy + data,
                .side_bytes = side,
                .start_ns = start,
                .end_ns = now},
    };
    return 1;
}

/* Writes the dump after all buffers that have arrived are submitted. */
static int dump(struct drain *d, uint64_t now, const char *file, char *name,
                size_t name_bytes)
{
    const uint32_t high = drain_pipes_high(d);
    struct sink_tail *tails = calloc(high + 1, sizeof(*tails));
    struct quiet *quiet = calloc(high + 1, sizeof(*quiet));
    void **mem = calloc(high + 1, sizeof(*mem));
    uint32_t n = 0;
    int err = tails && quiet && mem ? 0 : -CTR_E_NOMEM;

    for (uint32_t i = 0; !err && i < high; i++) {
        quiet[i] = look(d, i);
    }
    if (!err) {
        /* Side records were written before the lengths were published. */
        int got = drain_side_queues(d, now);
        err = got < 0 ? got : 0;
    }
    for (uint32_t i = 0; !err && i < high; i++) {
        int got = copy_tail(d, i, &quiet[i], now, &tails[n], &mem[n]);

        err = got < 0 ? got : 0;
        n += got == 1;
    }
    if (!err) {
        err = pipeline_dump(d->pipeline, tails, n, file, name, name_bytes, d->diag);
    }
    while (n) {
        free(mem[--n]);
    }
    free(mem);
    free(quiet);
    free(tails);
    return err;
}

int drain_dump(struct drain *d, uint64_t now_ns, const char *file, char *name,
               size_t name_bytes, struct ctr_diag *diag)
{
    int err = 0;

    memset(diag, 0, sizeof(*diag));
    if (!d->pipeline) {
        diag->code = CTR_E_INVAL;
        snprintf(diag->text, sizeof(diag->text), "nothing has been recorded yet");
        return -CTR_E_INVAL;
    }
    d->diag = diag;
    for (uint32_t i = 0, high = drain_pipes_high(d); i < high && !err; i++) {
        if (d->slots[i].thread) {
            err = drain_dispatch(d, &d->slots[i]);
        }
    }
    return err ? err : dump(d, now_ns, file, name, name_bytes);
}
