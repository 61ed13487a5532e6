/* SPDX-License-Identifier: MIT */
/* See pipe_play.h.  All stores that others wait for are atomic, as a guest's are. */
#include "pipe_play.h"

#include <stdlib.h>
#include <string.h>

#define RUNS 24
#define BLOCKS 8

struct recorded {
    bool made;
    struct sim sim;
    struct sim_thread thread[PLAYERS];
};

/* The simulation with these events and units; kept for reuse. */
static struct recorded *recorded(unsigned events, unsigned addr_bytes)
{
    static struct recorded all[512][2];
    struct recorded *r = &all[events & 511][addr_bytes == 8];
    if (!r->made) {
        sim_init(&r->sim, events + addr_bytes, BLOCKS, addr_bytes, events,
                 (SIM_ALL & ~SIM_BIG) | SIM_PART |
                     (events & CTR_EVENTS_SYS ? SIM_SYSTEM : 0));
        for (int i = 0; i < PLAYERS; i++) {
            sim_thread_run(&r->sim, &r->thread[i], RUNS);
        }
        r->made = true;
    }
    return r;
}

void play_begin(struct play *p, uint8_t *base, unsigned events, unsigned addr_bytes,
                uint32_t first_pipe, const pid_t pid[2])
{
    struct recorded *r = recorded(events, addr_bytes);
    memset(p, 0, sizeof(*p));
    p->sim = &r->sim;
    p->base = base;
    memcpy(&p->ctl, base, sizeof(p->ctl));
    p->nr_buffers = p->ctl.nr_pipes + p->ctl.nr_pool;
    for (unsigned i = 0; i < PLAYERS; i++) {
        p->player[i] = (struct player){
            .t = &r->thread[i],
            .pid = pid[i / 2],
            .ppid = i / 2 ? pid[0] : 1,
            .tid = pid[i / 2] + (i == 1 ? 1000000 : 0),
            .first = i != 1,
            .pipe = first_pipe + i,
        };
    }
}

static struct mempipe_buffer *buffer_header(const struct play *p, uint32_t buffer)
{
    return (struct mempipe_buffer *)(p->base + p->ctl.headers_off) + buffer;
}

static uint8_t *buffer_mem(const struct play *p, uint32_t buffer)
{
    return p->base + p->ctl.buffers_off + (uint64_t)buffer * p->ctl.buffer_bytes;
}

/* A record, with more data after it if given; what does not fit is dropped. */
static void put_record(struct play *p, struct player *q, void *rec, uint32_t rec_bytes,
                       const void *more, uint32_t more_bytes)
{
    const uint32_t size = p->ctl.side_bytes;
    struct mempipe_pipe *pipe = play_pipe(p, q->pipe);
    uint8_t *queue = p->base + p->ctl.side_off + (uint64_t)q->pipe * size;
    uint32_t bytes = (rec_bytes + more_bytes + 7u) & ~7u;
    uint32_t at = (uint32_t)q->head & (size - 1);
    if (bytes > size) {
        return;
    }
    if (bytes > size - at) {
        *(struct mempipe_side_record *)(queue + at) =
            (struct mempipe_side_record){size - at, MEMPIPE_SIDE_PAD};
        q->head += size - at;
        at = 0;
    }
    ((struct mempipe_side_record *)rec)->bytes = bytes;
    memcpy(queue + at, rec, rec_bytes);
    if (more_bytes) {
        memcpy(queue + at + rec_bytes, more, more_bytes);
    }
    q->head += bytes;
    __atomic_store_n(&pipe->side_head, q->head, __ATOMIC_RELEASE);
}

static void define(struct play *p, struct player *q)
{
    if (p->sim->events & CTR_EVENTS_REG) {
        uint8_t table[4096];
        struct mempipe_side_regtable t = {.h.type = MEMPIPE_SIDE_REGTABLE, .n = SIM_REGS};
        t.table_bytes = (uint32_t)sim_reg_table(table);
        put_record(p, q, &t, sizeof(t), table, t.table_bytes);
    }
    for (unsigned i = 0; i < p->sim->nblock; i++) {
        const struct sim_block *b = &p->sim->block[i];
        struct mempipe_side_block rec = {.h.type = MEMPIPE_SIDE_BLOCK,
                                         .id = b->id,
                                         .def_bytes = (uint32_t)b->def_bytes};
        put_record(p, q, &rec, sizeof(rec), b->def, rec.def_bytes);
    }
}

static void attach(struct play *p, struct player *q, uint64_t now_ns)
{
    struct mempipe_pipe *pipe = play_pipe(p, q->pipe);
    const uint32_t high = q->pipe + 1;
    __atomic_store_n(&pipe->state, MEMPIPE_CLAIMED, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&play_shared(p)->pipes_high, __ATOMIC_SEQ_CST) < high) {
        __atomic_store_n(&play_shared(p)->pipes_high, high, __ATOMIC_SEQ_CST);
    }
    q->serial = __atomic_fetch_add(&play_shared(p)->next_serial, 1, __ATOMIC_RELAXED);
    pipe->serial = q->serial;
    pipe->process = q->first ? q->serial : q[-1].serial;
    pipe->nested = 0;
    __atomic_store_n(&pipe->pid, q->pid, __ATOMIC_RELAXED);
    pipe->tid = q->tid;
    pipe->ppid = q->ppid;
    pipe->is_process = q->first;
    pipe->start_ns = now_ns;
    /* may already be overwritten */
    q->head = __atomic_load_n(&pipe->side_head, __ATOMIC_RELAXED) & ~(uint64_t)7;
    if (q->first) {
        define(p, q);
    }
    __atomic_store_n(&pipe->state, MEMPIPE_LIVE, __ATOMIC_RELEASE);
    q->live = true;
}

/* The reserved buffer or one of the pool; false if none seems to be free. */
static bool claim_buffer(struct play *p, struct player *q, uint32_t *buffer)
{
    uint64_t head = __atomic_load_n(&play_shared(p)->pool_head, __ATOMIC_ACQUIRE);
    if (!__atomic_load_n(&buffer_header(p, q->pipe)->busy, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&buffer_header(p, q->pipe)->busy, 1, __ATOMIC_RELAXED);
        *buffer = q->pipe;
        return true;
    }
    if ((uint32_t)head == 0 || (uint32_t)head > p->nr_buffers) {
        return false;
    }
    *buffer = (uint32_t)head - 1;
    uint64_t below =
        __atomic_load_n(&buffer_header(p, *buffer)->next_free, __ATOMIC_RELAXED);
    return __atomic_compare_exchange_n(&play_shared(p)->pool_head, &head,
                                       ((head >> 32) + 1) << 32 | below, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* The records of a segment, placed in the current buffer. */
static void put_records(struct play *p, struct player *q, const struct sim_segment *g)
{
    for (uint32_t at = 0; at < g->n_side;) {
        uint8_t rec[4096];
        const struct mempipe_side_record *h = (const void *)(g->side + at);
        if (h->bytes <= sizeof(rec)) {
            memcpy(rec, h, h->bytes);
            ((struct mempipe_side_place *)rec)->seq = q->seq;
            put_record(p, q, rec, h->bytes, NULL, 0);
        }
        at += h->bytes;
    }
}

static void fill(struct play *p, struct player *q, uint32_t buffer,
                 const struct sim_segment *g)
{
    uint8_t *mem = buffer_mem(p, buffer), *end = mem + p->ctl.buffer_bytes;
    size_t data = (size_t)g->n_units * p->sim->addr_bytes;
    put_records(p, q, g);
    if ((size_t)g->n_words * 4 + data > p->ctl.buffer_bytes) {
        abort();
    }
    memcpy(mem, g->words, (size_t)g->n_words * 4);
    memcpy(end - data, (const uint8_t *)g->data_end - data, data);
}

void play_step(struct play *p, unsigned player, uint64_t now_ns)
{
    struct player *q = &p->player[player % PLAYERS];
    struct mempipe_pipe *pipe = play_pipe(p, q->pipe);
    uint32_t buffer;
    if (q->over) {
        return;
    }
    if (!q->live) {
        attach(p, q, now_ns);
        return;
    }
    if (q->seg == q->t->n_seg || !claim_buffer(p, q, &buffer)) {
        return;
    }
    const struct sim_segment *g = &q->t->seg[q->seg++];
    fill(p, q, buffer, g);
    struct mempipe_buffer *b = buffer_header(p, buffer);
    b->start_ns = now_ns;
    if (g->flags) { /* killed while it ran */
        pipe->live_seq = q->seq;
        pipe->running = 1;
        __atomic_store_n(&pipe->live_buffer, buffer + 1, __ATOMIC_RELEASE);
        return;
    }
    b->pipe = q->pipe;
    b->seq = q->seq;
    b->words = g->n_words;
    b->units = g->n_units;
    b->side_pos = q->head;
    b->end_ns = now_ns;
    __atomic_store_n(&pipe->mail[q->seq % MEMPIPE_MAIL], buffer + 1, __ATOMIC_RELEASE);
    q->seq++;
}

void play_end(struct play *p, unsigned player, uint32_t reason, uint64_t now_ns)
{
    struct player *q = &p->player[player % PLAYERS];
    struct mempipe_pipe *pipe = play_pipe(p, q->pipe);
    if (!q->live || q->over) {
        return;
    }
    pipe->end_reason = reason;
    pipe->end_ns = now_ns;
    __atomic_store_n(&pipe->state, MEMPIPE_ENDED, __ATOMIC_RELEASE);
    q->over = true;
}
