/* SPDX-License-Identifier: MIT */
/*
 * Keeping chunks: what goes into the ring and out.
 */
#include "ring_priv.h"

#include <stdlib.h>
#include <string.h>

/* Memory for definitions, beside as much as the chunks may take. */
#define DEFS_BYTES (32ull << 20)
/* Events of dropped chunks are folded when there are this many bytes more than before, or
 * a few times what a small ring has. */
#define FOLD_BYTES (1u << 20)
#define FOLD_RINGS 4

/* -------------------------------------------------- processes and threads */

int ring_process(struct ring *r, int32_t pid, int32_t ppid, int32_t host_pid,
                 uint64_t start_ns, uint32_t serial, uint32_t *index,
                 struct ctr_diag *diag)
{
    uint32_t n = r->image->nproc;

    if (n >= r->max_threads) {
        return ring_fail(diag, CTR_E_LIMIT, "there are too many processes");
    }
    r->proc[n] = (struct ring_proc){.pid = pid,
                                    .ppid = ppid,
                                    .host_pid = host_pid,
                                    .serial = serial,
                                    .start_ns = start_ns};
    __atomic_store_n(&r->image->nproc, n + 1, __ATOMIC_RELEASE);
    *index = n;
    return 0;
}

int ring_thread(struct ring *r, uint32_t process, int32_t tid, int32_t ptid,
                uint64_t start_ns, uint32_t pipe, uint32_t serial, uint32_t *index,
                struct ctr_diag *diag)
{
    uint32_t n = r->image->nthread;

    if (n >= r->max_threads) {
        return ring_fail(diag, CTR_E_LIMIT, "there are too many threads");
    }
    r->thread[n] = (struct ring_thread){.process = process,
                                        .tid = tid,
                                        .ptid = ptid,
                                        .start_ns = start_ns,
                                        .pipe = pipe,
                                        .serial = serial,
                                        .last_ns = start_ns};
    __atomic_store_n(&r->image->nthread, n + 1, __ATOMIC_RELEASE);
    *index = n;
    return 0;
}

void ring_process_ending(struct ring *r, uint32_t process, uint64_t end_ns,
                         uint32_t reason, int32_t status)
{
    struct ring_proc *p = &r->proc[process];

    p->end_ns = end_ns;
    p->reason = reason;
    p->status = status;
    __atomic_store_n(&p->ending, 1, __ATOMIC_RELEASE);
}

int ring_process_end(struct ring *r, uint32_t process, uint64_t end_ns, uint32_t reason,
                     int32_t status)
{
    ring_process_ending(r, process, end_ns, reason, status);
    __atomic_store_n(&r->proc[process].ended, 1, __ATOMIC_RELEASE);
    return 0;
}

void ring_thread_ending(struct ring *r, uint32_t thread, uint64_t end_ns, uint32_t reason,
                        int32_t status, bool incomplete)
{
    struct ring_thread *t = &r->thread[thread];

    t->end_ns = end_ns;
    t->reason = reason;
    t->status = status;
    t->incomplete = incomplete;
    __atomic_store_n(&t->ending, 1, __ATOMIC_RELEASE);
}

int ring_thread_end(struct ring *r, uint32_t thread, uint64_t end_ns, uint32_t reason,
                    int32_t status, bool incomplete)
{
    ring_thread_ending(r, thread, end_ns, reason, status, incomplete);
    __atomic_store_n(&r->thread[thread].ended, 1, __ATOMIC_RELEASE);
    return 0;
}

/* ------------------------------------------------------------------ events */

/* Whether what comes later is not understood without it. */
static bool outlives(uint32_t type)
{
    return type == CTR_EVENT_MAP || type == CTR_EVENT_THREAD || type == CTR_EVENT_LABEL ||
           type == CTR_EVENT_GATE || type == CTR_EVENT_SELECT ||
           type == CTR_EVENT_CONTEXT || type == CTR_EVENT_POWER || type == CTR_EVENT_TASK;
}

int ring_events_collect(struct ring_events *e, const void *side, uint32_t side_bytes)
{
    const uint8_t *p = side;

    for (uint32_t at = 0; at < side_bytes;) {
        const struct mempipe_side_event *x = (const void *)(p + at);
        uint32_t bytes = (uint32_t)ring_round(sizeof(struct ring_event) + x->p.n);
        struct ring_event *to;

        at += x->p.h.bytes;
        if (x->p.h.type != MEMPIPE_SIDE_EVENT || !outlives(x->type)) {
            continue;
        }
        if (e->cap - e->bytes < bytes) {
            uint32_t cap = 2 * e->cap + bytes + 1024;
            void *more = realloc(e->data, cap);
            if (!more) {
                return -CTR_E_NOMEM;
            }
            e->data = more;
            e->cap = cap;
        }
        to = (struct ring_event *)((uint8_t *)e->data + e->bytes);
        memset(to, 0, bytes);
        to->bytes = bytes;
        to->type = x->type;
        to->time_ns = x->time_ns;
        to->n = x->p.n;
        memcpy(to + 1, x + 1, x->p.n);
        e->bytes += bytes;
    }
    return 0;
}

/* Folds what was kept of dropped chunks, into the other area. */
static int fold(struct ring *r, struct ctr_diag *diag)
{
    struct ring_fold f;
    uint32_t other = 1 - r->image->area;
    uint64_t used = 0;
    int err = ring_fold_make(&f, r, diag);

    for (size_t i = 0; !err && i < f.n; i++) {
        const struct ring_event *e = f.kept[i].event;
        struct ring_event *to = (struct ring_event *)(r->area[other] + used);

        if (e->bytes > r->area_bytes - used) {
            err = ring_fail(diag, CTR_E_LIMIT, "there are too many mappings");
            break;
        }
        memcpy(to, e, e->bytes);
        to->seq = 0;
        to->thread = f.kept[i].thread;
        to->time_ns = f.kept[i].time_ns;
        used += e->bytes;
    }
    ring_fold_free(&f);
    if (err) {
        return err;
    }
    r->image->area_used[other] = used;
    r->image->folded[other] = used;
    /* pairs with the load in ring_fold_make */
    __atomic_store_n(&r->image->area, other, __ATOMIC_RELEASE);
    return 0;
}

static uint64_t fold_bytes(const struct ring *r)
{
    return r->size < FOLD_BYTES / FOLD_RINGS ? FOLD_RINGS * r->size : FOLD_BYTES;
}

/* Keeps the events of the chunk that is about to be dropped. */
static int save_events(struct ring *r, const struct ring_chunk *c, struct ctr_diag *diag)
{
    const uint8_t *from = (const uint8_t *)(c + 1) + ring_round(c->packed_bytes);
    uint64_t used = r->image->area_used[r->image->area], at;

    if (used + c->event_bytes > r->area_bytes ||
        used > 2 * r->image->folded[r->image->area] + fold_bytes(r)) {
        int err = fold(r, diag);

        if (err) {
            return err;
        }
        used = r->image->area_used[r->image->area];
    }
    if (c->event_bytes > r->area_bytes - used) {
        return ring_fail(diag, CTR_E_LIMIT, "there are too many mappings");
    }
    memcpy(r->area[r->image->area] + used, from, c->event_bytes);
    for (at = used; at < used + c->event_bytes;) {
        struct ring_event *e = (struct ring_event *)(r->area[r->image->area] + at);

        e->seq = c->seq;
        e->thread = c->thread;
        at += e->bytes;
    }
    /* pairs with the load in ring_fold_make */
    __atomic_store_n(&r->image->area_used[r->image->area], at, __ATOMIC_RELEASE);
    return 0;
}

/* ------------------------------------------------------------------ chunks */

static void set_state(struct ring *r, const struct ring_state *s)
{
    uint32_t other = 1 - r->image->now;

    r->image->state[other] = *s;
    /* pairs with the load in ring_state */
    __atomic_store_n(&r->image->now, other, __ATOMIC_RELEASE);
    /* A process killed from here on has done nothing of what comes after. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void count_dropped(struct ring_numbers *n, const struct ring_chunk *c)
{
    n->dropped_chunks++;
    n->dropped_insns += c->insns;
    n->dropped_loads += c->loads;
    n->dropped_stores += c->stores;
}

static bool too_many_blocks(const struct ring *r)
{
    return r->needed_mem > r->size + DEFS_BYTES;
}

static int drop_oldest(struct ring *r, struct ctr_diag *diag)
{
    struct ring_state s = *ring_state(r);
    const struct ring_chunk *c = ring_at(r, s.tail);

    if (c->event_bytes) {
        int err = save_events(r, c, diag);
        if (err) {
            return err;
        }
    }
    s.tail += c->bytes;
    s.tail_seq++;
    s.numbers.bytes -= c->bytes;
    s.numbers.chunks--;
    s.numbers.insns -= c->insns;
    s.numbers.loads -= c->loads;
    s.numbers.stores -= c->stores;
    count_dropped(&s.numbers, c);
    set_state(r, &s);
    /* Only now may others have the numbers of its blocks. */
    ring_drop_blocks(r, c);
    return 0;
}

/* A chunk that the ring could not hold by itself is dropped as soon as it comes; nothing
 * is left then of what was before it. */
static int drop_new(struct ring *r, struct ring_chunk *c,
                    const struct ring_events *events, const struct ring_last *last,
                    struct ctr_diag *diag)
{
    struct ring_chunk *with = malloc(sizeof(*c) + c->event_bytes);
    struct ring_state s;
    int err = 0;

    if (!with) {
        return ring_fail(diag, CTR_E_NOMEM, "out of memory");
    }
    c->packed_bytes = 0;
    *with = *c;
    if (c->event_bytes) {
        memcpy(with + 1, events->data, c->event_bytes);
        err = save_events(r, with, diag);
    }
    free(with);
    s = *ring_state(r);
    s.head_seq++;
    s.tail_seq++;
    s.last = *last;
    s.last.state_bytes = 0; /* gone with the chunk */
    count_dropped(&s.numbers, c);
    if (!err) {
        set_state(r, &s);
    }
    return err;
}

static void put_chunk(struct ring *r, const struct ring_chunk *c,
                      const struct ctr_packed *packed, const struct ring_events *events,
                      const void *state)
{
    uint8_t *to = r->chunks + ring_state(r)->head % r->size;

    memcpy(to, c, sizeof(*c));
    to += sizeof(*c);
    ctr_packed_save(packed, to);
    to += ring_round(c->packed_bytes);
    if (c->event_bytes) {
        memcpy(to, events->data, c->event_bytes);
    }
    if (c->state_bytes) {
        memcpy(to + c->event_bytes, state, c->state_bytes);
    }
}

/* What the last chunk says of its thread. */
static void thread_goes_on(struct ring *r, const struct ring_last *last)
{
    struct ring_thread *t;

    if (last->thread) {
        t = &r->thread[last->thread - 1];
        t->next = last->next;
        t->last_ns = last->last_ns;
        t->seq = last->seq;
        t->unsure |= last->unsure;
    }
}

int ring_chunk(struct ring *r, uint32_t thread, const struct ctr_packed *packed,
               uint64_t start_ns, uint64_t end_ns, const struct ring_events *events,
               const struct ring_place *next, struct ctr_diag *diag)
{
    const struct ring_thread *t = &r->thread[thread];
    struct ctr_packed_info info;
    struct ring_state s;
    struct ring_chunk c = {.thread = thread, .start_ns = start_ns, .end_ns = end_ns};
    struct ring_last last;
    int err = 0;

    ctr_packed_info(packed, &info);
    last = (struct ring_last){.thread = thread + 1,
                              .seq = next->seq,
                              .from_word = next->from_word,
                              .from_unit = next->from_unit,
                              .from_side = next->from_side,
                              .from_insn = next->from_insn,
                              .state_bytes = next->state_bytes,
                              .unsure = info.unsure,
                              .next = t->next + info.insns,
                              .last_ns = end_ns > t->last_ns ? end_ns : t->last_ns};
    c.state_bytes = next->state_bytes;
    c.packed_bytes = ctr_packed_bytes(packed);
    c.event_bytes = events->bytes;
    c.bytes = sizeof(c) + ring_round(c.packed_bytes) + c.event_bytes +
              ring_round(c.state_bytes);
    c.first = t->next;
    c.insns = info.insns;
    c.loads = info.loads;
    c.stores = info.stores;
    s = *ring_state(r);
    while (!err && s.head != s.tail &&
           (s.head - s.tail + c.bytes > r->size || too_many_blocks(r))) {
        err = drop_oldest(r, diag);
        s = *ring_state(r);
    }
    if (!err && c.bytes <= r->size) {
        err = ring_hold_blocks(r, packed, diag);
    }
    c.seq = s.head_seq;
    if (!err && c.bytes > r->size) {
        err = drop_new(r, &c, events, &last, diag);
    } else if (!err) {
        put_chunk(r, &c, packed, events, next->state);
        s.head += c.bytes;
        s.head_seq++;
        s.numbers.bytes += c.bytes;
        s.numbers.chunks++;
        s.numbers.insns += c.insns;
        s.numbers.loads += c.loads;
        s.numbers.stores += c.stores;
        s.last = last;
        set_state(r, &s);
    }
    if (!err) {
        thread_goes_on(r, &last);
    }
    return err;
}

/* ------------------------------------------------------- after a sudden end */

/* Events of a chunk that was about to be dropped, and is still there. */
static void cut_area(struct ring *r)
{
    const uint64_t tail_seq = ring_state(r)->tail_seq;
    struct ring_image *m = r->image;
    uint64_t at = 0;

    while (at < m->area_used[m->area]) {
        const struct ring_event *e = (const void *)(r->area[m->area] + at);

        if (e->seq && e->seq >= tail_seq) {
            m->area_used[m->area] = at;
            break;
        }
        at += e->bytes;
    }
}

void ring_recover(struct ring *r)
{
    cut_area(r);
    thread_goes_on(r, &ring_state(r)->last);
}

void ring_set_output(struct ring *r, enum ring_output output)
{
    __atomic_store_n(&r->image->output, output, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

enum ring_output ring_get_output(const struct ring *r)
{
    return (enum ring_output)r->image->output;
}

void ring_goes_on(const struct ring *r, uint32_t thread, struct ring_place *next)
{
    const struct ring_state *s = ring_state(r);
    const struct ring_last *last = &s->last;

    *next = (struct ring_place){.seq = r->thread[thread].seq};
    if (last->thread != thread + 1) {
        return;
    }
    next->from_word = last->from_word;
    next->from_unit = last->from_unit;
    next->from_side = last->from_side;
    next->from_insn = last->from_insn;
    next->state_bytes = last->state_bytes;
    if (last->state_bytes) {
        /* It ends where the head is, in one piece, as all is mapped twice. */
        next->state = r->chunks + (s->head - ring_round(last->state_bytes)) % r->size;
    }
}

void ring_numbers(const struct ring *r, struct ring_numbers *n)
{
    *n = ring_state(r)->numbers;
}
