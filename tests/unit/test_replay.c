/* SPDX-License-Identifier: MIT */
/*
 * Replay and cursor: order and output do not depend on workers or pieces,
 * callbacks can stop a replay, damage is reported in order, and a seek to any place
 * gives the same as reading from the start.
 */
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cannoli/events.h"

/* ------------------------------------------------------------ -j1 equals -jN */

struct text {
    char *p;
    size_t n, cap;
    size_t calls;
    uint64_t last_seq;
    size_t stop_at;
};

static int text_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    (void)arg;
    char *p = ctr_job_reserve(job, 80);
    if (!p) {
        return -CTR_E_NOMEM;
    }
    int n = snprintf(p, 80, "%u %llu %llx %u %u\n", e->thread->index,
                     (unsigned long long)e->ordinal, (unsigned long long)e->pc, e->len,
                     e->flags);
    ctr_job_commit(job, (size_t)n);
    return 0;
}

static int text_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    char line[80];
    (void)arg;
    int n = snprintf(line, sizeof(line), "  %c %llx %u\n", m->store ? 's' : 'l',
                     (unsigned long long)m->addr, m->size);
    return ctr_job_append(job, line, (size_t)n);
}

static int text_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct text *t = arg;
    t->calls++;
    assert_true(ctr_job_chunk(job)->index >= t->last_seq);
    t->last_seq = ctr_job_chunk(job)->index;
    if (t->n + n > t->cap) {
        t->cap = (t->n + n) * 2;
        t->p = realloc(t->p, t->cap);
        assert_non_null(t->p);
    }
    memcpy(t->p + t->n, data, n);
    t->n += n;
    return t->stop_at && t->calls >= t->stop_at ? 42 : 0;
}

static const struct ctr_replay_ops text_ops = {
    .exec = text_exec, .mem = text_mem, .ordered = text_ordered};

static void test_workers(void **state)
{
    static const struct {
        unsigned workers;
        uint32_t piece;
        unsigned flags;
    } way[] = {{2, 0, 0},    {5, 0, 0},  {1, 1000, 0},
               {3, 1000, 0}, {8, 64, 0}, {4, 200, CTR_OPEN_STREAM}};
    struct recording r;
    struct ctr_diag diag;
    (void)state;
    /* Chunks with far more output than is held back. */
    recording_make(&r, 21, 3, 12000, 60, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, SIM_ALL,
                   100, 1);
    struct ctr_trace *tr = open_bytes(r.file, r.bytes, 0);
    struct ctr_replay_opts opts = {.workers = 1};
    struct text one = {0};
    assert_int_equal(ctr_replay(tr, &text_ops, &one, &opts, &diag), 0);
    ctr_close(tr);
    assert_true(one.n > 1 << 20);
    for (unsigned i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
        struct text t = {0};
        tr = open_bytes(r.file, r.bytes, way[i].flags);
        opts.workers = way[i].workers;
        opts.piece_insns = way[i].piece;
        assert_int_equal(ctr_replay(tr, &text_ops, &t, &opts, &diag), 0);
        assert_int_equal(t.n, one.n);
        assert_memory_equal(t.p, one.p, one.n);
        free(t.p);
        ctr_close(tr);
    }
    free(one.p);
    recording_free(&r);
}

static void test_stop(void **state)
{
    struct recording r;
    struct ctr_diag diag;
    (void)state;
    recording_make(&r, 22, 2, 3000, 60, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, SIM_ALL, 1,
                   1);
    for (unsigned workers = 1; workers <= 4; workers++) {
        struct ctr_trace *tr = open_bytes(r.file, r.bytes, 0);
        struct ctr_replay_opts opts = {.workers = workers};
        struct text t = {.stop_at = 3};
        assert_int_equal(ctr_replay(tr, &text_ops, &t, &opts, &diag), 42);
        assert_int_equal(t.calls, 3);
        free(t.p);
        ctr_close(tr);
    }
    recording_free(&r);
}

struct stopper {
    uint64_t chunk;
    _Atomic uint64_t begun, ended;
    struct text text;
};

static int stop_begin(void *arg, struct ctr_job *job)
{
    struct stopper *s = arg;
    atomic_fetch_add(&s->begun, 1);
    assert_true(ctr_job_worker(job) < 3);
    assert_int_equal(ctr_job_thread(job)->index, ctr_job_chunk(job)->thread);
    char line[32];
    int n = snprintf(line, sizeof(line), "%llu\n",
                     (unsigned long long)ctr_job_chunk(job)->index);
    return ctr_job_append(job, line, (size_t)n);
}

static int stop_end(void *arg, struct ctr_job *job)
{
    struct stopper *s = arg;
    atomic_fetch_add(&s->ended, 1);
    return ctr_job_chunk(job)->index == s->chunk ? 7 : 0;
}

static int stop_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct stopper *s = arg;
    return text_ordered(&s->text, job, data, n);
}

/* A worker's stop takes effect in order: chunks before it are all delivered. */
static void test_stop_in_order(void **state)
{
    static const struct ctr_replay_ops ops = {
        .begin = stop_begin, .end = stop_end, .ordered = stop_ordered};
    struct recording r;
    struct ctr_diag diag;
    (void)state;
    recording_make(&r, 23, 1, 3000, 60, 8, CTR_EVENTS_EXEC, SIM_ALL, 1, 1);
    for (unsigned workers = 1; workers <= 3; workers++) {
        struct ctr_trace *tr = open_bytes(r.file, r.bytes, 0);
        struct ctr_replay_opts opts = {.workers = workers};
        struct stopper s = {.chunk = 5};
        assert_int_equal(ctr_replay(tr, &ops, &s, &opts, &diag), 7);
        assert_int_equal(s.text.n, 12);
        assert_memory_equal(s.text.p, "0\n1\n2\n3\n4\n5\n", 12);
        free(s.text.p);
        ctr_close(tr);
    }
    recording_free(&r);
}

/* ------------------------------------------------------------ runs, counts */

struct tally {
    uint64_t insns;
    uint64_t *full; /* by block id */
    uint64_t part[3];
};

static int tally_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    struct tally *t = arg;
    (void)job;
    t->insns += (uint64_t)(r->end - r->first);
    if (r->first == 0 && r->end == r->block->ninsn) {
        t->full[r->block->id]++;
    } else if (r->end > r->first) {
        t->part[0]++;
        t->part[1] += r->first * 3u + r->end;
        t->part[2] += r->block->id;
    }
    return 0;
}

static int tally_count(void *arg, const struct ctr_count *c)
{
    struct tally *t = arg;
    t->insns += (c->full + c->partial) * (uint64_t)(c->end - c->first);
    t->full[c->block->id] += c->full;
    t->part[0] += c->partial;
    t->part[1] += c->partial * (c->first * 3u + c->end);
    t->part[2] += c->partial * c->block->id;
    return 0;
}

static void test_counts(void **state)
{
    static const struct ctr_replay_ops ops = {.run = tally_run};
    struct recording r;
    struct ctr_diag diag;
    (void)state;
    recording_make(&r, 24, 4, 4000, 60, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, SIM_ALL, 1,
                   1);
    int32_t tid = 101;
    struct ctr_filter one = {.tids = &tid, .ntid = 1};
    for (unsigned i = 0; i < 4; i++) {
        struct ctr_trace *tr = open_bytes(r.file, r.bytes, i & 1 ? CTR_OPEN_NO_INDEX : 0);
        struct ctr_replay_opts opts = {.workers = 1, .filter = i & 2 ? &one : NULL};
        struct tally a = {.full = calloc(100, 8)}, b = {.full = calloc(100, 8)};
        assert_true(a.full && b.full);
        assert_int_equal(ctr_replay(tr, &ops, &a, &opts, &diag), 0);
        assert_int_equal(ctr_trace_counts(tr, opts.filter, tally_count, &b, &diag), 0);
        assert_int_equal(a.insns, b.insns);
        assert_memory_equal(a.full, b.full, 800);
        assert_memory_equal(a.part, b.part, sizeof(a.part));
        if (!(i & 2)) {
            uint64_t sum = 0;
            for (unsigned k = 0; k < r.nthread; k++) {
                sum += r.thread[k].ordinal;
            }
            assert_int_equal(a.insns, sum);
        }
        /* The filter cuts runs at its ordinals. */
        struct ctr_filter some = {.from = 100, .to = 1234};
        struct tally c = {.full = calloc(100, 8)};
        opts.filter = &some;
        opts.piece_insns = 77;
        assert_int_equal(ctr_replay(tr, &ops, &c, &opts, &diag), 0);
        assert_int_equal(c.insns, 4 * 1134);
        free(a.full);
        free(b.full);
        free(c.full);
        ctr_close(tr);
    }
    recording_free(&r);
}

/* Accesses of each thread, as mem and as run callbacks report them. */
struct accesses {
    _Atomic uint64_t mem_sum, run_sum; /* over everything that each reports */
    unsigned level;                    /* CTR_RUN_* */

    _Atomic uint64_t mem[MAX_SIM_THREADS][2];
    _Atomic uint64_t run[MAX_SIM_THREADS][2];
    _Atomic uint64_t insns;
};

static uint64_t sum_access(unsigned level, uint64_t ordinal, uint64_t addr, uint32_t size,
                           unsigned flags, const uint8_t *data)
{
    uint64_t v[4] = {ordinal, addr, (uint64_t)size << 8 | flags, 0};
    if (level == CTR_RUN_VALUES && data) {
        v[3] = sim_hash(data, size);
    }
    return level >= CTR_RUN_ACCESSES ? sim_hash(v, sizeof(v)) : 0;
}

static int accesses_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    struct accesses *a = arg;
    (void)job;
    a->mem_sum += sum_access(a->level, m->ordinal, m->addr, m->size,
                             m->store | m->big_endian * 2u | m->helper * 4u, m->data);
    a->mem[m->thread->index][m->store]++;
    return 0;
}

static int accesses_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    struct accesses *a = arg;
    (void)job;
    assert_true(r->first <= r->end);
    a->run[r->thread->index][0] += r->loads;
    a->run[r->thread->index][1] += r->stores;
    a->insns += r->end - r->first;
    uint32_t stores = 0;
    for (uint32_t i = 0; i < r->naccess; i++) {
        const struct ctr_access *c = &r->access[i];
        uint64_t ordinal = r->ordinal + c->insn - r->first;
        unsigned be = (c->flags & CTR_ACC_BE) != 0;
        unsigned helper = (c->flags & CTR_ACC_HELPER) != 0;
        stores += c->store;
        a->run_sum += sum_access(a->level, ordinal, c->addr, c->size,
                                 c->store | be * 2u | helper * 4u, c->data);
    }
    if (a->level < CTR_RUN_ACCESSES) {
        assert_int_equal(r->naccess, 0);
    } else {
        assert_int_equal(r->naccess, r->loads + r->stores);
        assert_int_equal(stores, r->stores);
    }
    return 0;
}

static int accesses_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    (void)arg;
    (void)job;
    (void)e;
    return 0;
}

static int accesses_reg(void *arg, struct ctr_job *job, const struct ctr_reg_change *r)
{
    (void)arg;
    (void)job;
    (void)r;
    return 0;
}

/* Accesses of runs equal those that are reported one by one, wherever runs are cut. */
static void test_run_accesses(void **state)
{
    static const struct ctr_replay_ops mems = {.mem = accesses_mem};
    static const struct ctr_replay_ops runs[] = {
        {.run = accesses_run},
        {.run = accesses_run, .reg = accesses_reg},
        {.run = accesses_run, .mem = accesses_mem},
        {.run = accesses_run, .exec = accesses_exec},
        {.run = accesses_run, .exec = accesses_exec, .mem = accesses_mem},
    };
    (void)state;
    for (unsigned seed = 0; seed < 12; seed++) {
        struct recording r;
        recording_make(&r, 50 + seed, 3, 500, 40, seed & 1 ? 4 : 8,
                       seed & 2 ? SIM_EVENTS : CTR_EVENTS_EXEC | CTR_EVENTS_MEM,
                       SIM_ALL | (seed & 4 ? SIM_TINY : 0) | SIM_SYSTEM, 1 + seed % 3, 1);
        struct ctr_trace *tr = open_bytes(r.file, r.bytes, 0);
        for (unsigned i = 0; i < 40; i++) {
            struct accesses want = {.level = 1 + i / 5 % 3},
                            got = {.level = 1 + i / 5 % 3};
            struct ctr_filter f = {.from = i ? sim_random(&r.sim, 2000) : 0};
            f.to = i ? f.from + 1 + sim_random(&r.sim, i & 1 ? 3000 : 10) : 0;
            struct ctr_replay_opts opts = {.workers = 1 + i % 3, .filter = &f};
            assert_int_equal(ctr_replay(tr, &mems, &want, &opts, NULL), 0);
            opts.run_accesses = (uint8_t)got.level;
            opts.piece_insns = i % 4 == 3 ? 1 + sim_random(&r.sim, 600) : 0;
            assert_int_equal(ctr_replay(tr, &runs[i % 5], &got, &opts, NULL), 0);
            for (unsigned t = 0; t < 3; t++) {
                assert_int_equal(got.run[t][0], want.mem[t][0]);
                assert_int_equal(got.run[t][1], want.mem[t][1]);
            }
            assert_int_equal(got.run_sum, want.mem_sum);
            assert_true(i || got.run[0][0] + got.run[0][1] > 100);
        }
        ctr_close(tr);
        recording_free(&r);
    }
}

/* An event, and the last known time before it. */
struct timed {
    uint64_t time;
    uint64_t ordinal;
    uint64_t what; /* pc, address or type */
    uint32_t thread;
    uint32_t kind;
};

struct timeline {
    struct timed *e;
    size_t n, cap;
    _Atomic uint64_t now; /* meaningful with one worker only */
};

static int timed_begin(void *arg, struct ctr_job *job)
{
    ((struct timeline *)arg)->now = ctr_job_chunk(job)->start_ns;
    return 0;
}

static int timed_put(void *arg, struct ctr_job *job, uint32_t kind, uint64_t ordinal,
                     uint64_t what)
{
    const struct timed e = {((struct timeline *)arg)->now, ordinal, what,
                            ctr_job_thread(job)->index, kind};
    return ctr_job_append(job, &e, sizeof(e));
}

static int timed_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    return timed_put(arg, job, CTR_CURSOR_EXEC, e->ordinal, e->pc);
}

static int timed_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    return timed_put(arg, job, CTR_CURSOR_MEM, m->ordinal, m->addr);
}

static int timed_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct timeline *t = arg;
    t->now = e->time_ns ? e->time_ns : t->now;
    return timed_put(arg, job, CTR_CURSOR_OS, e->ordinal, e->type);
}

static int timed_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct timeline *t = arg;
    (void)job;
    for (size_t at = 0; at < n; at += sizeof(t->e[0])) {
        if (t->n == t->cap) {
            t->cap = t->cap * 2 + 1000;
            t->e = realloc(t->e, t->cap * sizeof(t->e[0]));
            assert_non_null(t->e);
        }
        t->e[t->n++] = *(const struct timed *)((const uint8_t *)data + at);
    }
    return 0;
}

static int same_timed(const struct timed *a, const struct timed *b)
{
    return a->ordinal == b->ordinal && a->what == b->what && a->thread == b->thread &&
           a->kind == b->kind;
}

static void cursor_timeline(struct ctr_trace *tr, const struct ctr_filter *f,
                            struct timeline *out)
{
    struct ctr_cursor *c;
    struct ctr_event ev;
    assert_int_equal(ctr_cursor_open(&c, tr, f, NULL), 0);
    while (ctr_cursor_next(c, &ev, NULL) == 1) {
        struct timed e = {.kind = ev.kind};
        if (ev.kind == CTR_CURSOR_OS) {
            e.thread = ev.os.thread->index;
            e.ordinal = ev.os.ordinal;
            e.what = ev.os.type;
        } else {
            e.thread = ev.exec.thread->index;
            e.ordinal = ev.exec.ordinal;
            e.what = ev.kind == CTR_CURSOR_EXEC ? ev.exec.pc : ev.mem.addr;
        }
        timed_ordered(out, NULL, &e, sizeof(e));
    }
    ctr_cursor_close(c);
}

static void check_timeline(const struct timeline *all, const struct timeline *got,
                           const struct ctr_filter *f, int exec_only)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct timed *e = &all->e[i];
        if (e->time < f->from_ns || (f->to_ns && e->time >= f->to_ns) ||
            e->ordinal < f->from || (f->to && e->ordinal >= f->to) ||
            (exec_only && e->kind != CTR_CURSOR_EXEC)) {
            continue;
        }
        assert_true(n < got->n && same_timed(e, &got->e[n]));
        n++;
    }
    assert_int_equal(got->n, n);
}

/* A window in time selects by the last known time. */
static void test_times(void **state)
{
    static const struct ctr_replay_ops all_ops = {.begin = timed_begin,
                                                  .exec = timed_exec,
                                                  .mem = timed_mem,
                                                  .os = timed_os,
                                                  .ordered = timed_ordered};
    static const struct ctr_replay_ops exec_ops = {.exec = timed_exec,
                                                   .ordered = timed_ordered};
    (void)state;
    for (unsigned seed = 0; seed < 5; seed++) {
        struct recording r;
        struct timeline all = {0}, got = {0};
        recording_make(&r, 90 + seed, 3, 500, 40, 8,
                       SIM_EVENTS & ~(unsigned)CTR_EVENTS_REG,
                       (SIM_ALL & ~SIM_UNSURE) | SIM_TINY | SIM_SYSTEM, 1 + seed % 4, 1);
        struct ctr_trace *tr = open_bytes(r.file, r.bytes, 0);
        struct ctr_replay_opts opts = {.workers = 1};
        assert_int_equal(ctr_replay(tr, &all_ops, &all, &opts, NULL), 0);
        uint64_t end = r.thread[0].time;
        for (unsigned i = 0; i < 60; i++) {
            struct ctr_filter f = {.from_ns = sim_random(&r.sim, (uint32_t)end)};
            f.to_ns = i % 3 ? f.from_ns + 1 + sim_random(&r.sim, 4000) : 0;
            f.from = i % 5 ? 0 : sim_random(&r.sim, 1000);
            f.to = i % 7 ? 0 : f.from + 500;
            int exec_only = i % 2;
            opts = (struct ctr_replay_opts){.workers = 1 + i % 3, .filter = &f};
            opts.piece_insns = i % 4 ? 0 : 1 + sim_random(&r.sim, 100);
            got.n = 0;
            assert_int_equal(
                ctr_replay(tr, exec_only ? &exec_ops : &all_ops, &got, &opts, NULL), 0);
            check_timeline(&all, &got, &f, exec_only);
            got.n = 0;
            f.kinds = exec_only ? CTR_KIND_EXEC : 0;
            cursor_timeline(tr, &f, &got);
            check_timeline(&all, &got, &f, exec_only);
        }
        ctr_close(tr);
        if (seed == 0) { /* the same for a stream */
            struct ctr_filter f = {.from_ns = end / 3, .to_ns = end / 2};
            size_t want = 0;
            for (size_t i = 0; i < all.n; i++) {
                want += all.e[i].time >= f.from_ns && all.e[i].time < f.to_ns;
            }
            tr = open_bytes(r.file, r.bytes, CTR_OPEN_STREAM);
            got.n = 0;
            cursor_timeline(tr, &f, &got);
            assert_int_equal(got.n, want);
            assert_true(want > 100);
            ctr_close(tr);
        }
        free(all.e);
        free(got.e);
        recording_free(&r);
    }
}

/* ------------------------------------------------------------------ cursor */

static int next_event(struct ctr_cursor *c, struct got *g)
{
    struct ctr_event ev;
    struct ctr_diag diag;
    int ret = ctr_cursor_next(c, &ev, &diag);
    if (ret < 0) {
        fail_msg("cursor: %s", diag.text);
    }
    if (ret == 1) {
        if (ev.kind == CTR_CURSOR_EXEC) {
            event_of_exec(&ev.exec, g);
        } else {
            event_of_mem(&ev.mem, g);
            assert_int_equal(ev.exec.ordinal, ev.mem.ordinal);
        }
    }
    return ret;
}

static void test_cursor(void **state)
{
    struct recording r;
    struct ctr_diag diag;
    struct events all;
    struct got g;
    (void)state;
    recording_make(&r, 25, 3, 250, 60, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, SIM_ALL, 1,
                   1);
    struct ctr_trace *tr = open_bytes(r.file, r.bytes, 0);
    struct ctr_replay_opts opts = {.workers = 1};
    assert_int_equal(read_events(tr, &opts, &all, &diag), 0);
    check_events(&r, &all);
    struct ctr_cursor *c;
    assert_int_equal(ctr_cursor_open(&c, tr, NULL, &diag), 0);
    for (size_t i = 0; i < all.n; i++) {
        assert_int_equal(next_event(c, &g), 1);
        assert_memory_equal(&g, &all.e[i], sizeof(g));
    }
    assert_int_equal(next_event(c, &g), 0);
    assert_int_equal(next_event(c, &g), 0);

    /* Seek to every instruction, and read a few events. */
    for (size_t i = 0; i < all.n; i++) {
        if (all.e[i].e.mem) {
            continue;
        }
        assert_int_equal(
            ctr_cursor_seek_ordinal(c, all.e[i].thread, all.e[i].e.ordinal, &diag), 0);
        for (size_t k = i; k < i + 4 && k < all.n; k++) {
            assert_int_equal(next_event(c, &g), 1);
            assert_memory_equal(&g, &all.e[k], sizeof(g));
        }
    }
    assert_int_equal(ctr_cursor_seek_ordinal(c, 1, r.thread[1].ordinal, &diag),
                     -CTR_E_INVAL);
    assert_int_equal(ctr_cursor_seek_ordinal(c, 9, 0, &diag), -CTR_E_INVAL);
    for (uint32_t t = 0; t < r.nthread; t++) {
        assert_int_equal(ctr_cursor_seek_thread(c, t, &diag), 0);
        assert_int_equal(next_event(c, &g), 1);
        assert_int_equal(g.thread, t);
        assert_int_equal(g.e.ordinal, 0);
    }
    assert_int_equal(ctr_cursor_seek_time(c, 0, &diag), 0);
    assert_int_equal(next_event(c, &g), 1);
    assert_memory_equal(&g, &all.e[0], sizeof(g));
    assert_int_equal(ctr_cursor_seek_time(c, UINT64_MAX, &diag), -CTR_E_INVAL);
    ctr_cursor_close(c);
    ctr_close(tr);

    /* On a stream: forward, with a filter. */
    tr = open_bytes(r.file, r.bytes, CTR_OPEN_STREAM);
    struct ctr_filter f = {.kinds = CTR_KIND_STORE};
    assert_int_equal(ctr_cursor_open(&c, tr, &f, &diag), 0);
    assert_int_equal(ctr_cursor_seek_ordinal(c, 0, 0, &diag), -CTR_E_INVAL);
    for (size_t i = 0; i < all.n; i++) {
        if (all.e[i].e.store) {
            assert_int_equal(next_event(c, &g), 1);
            assert_memory_equal(&g, &all.e[i], sizeof(g));
        }
    }
    assert_int_equal(next_event(c, &g), 0);
    ctr_cursor_close(c);
    ctr_close(tr);
    events_free(&all);
    recording_free(&r);
}

/* -------------------------------------------------------------- live stream */

struct live {
    const struct recording *r;
    size_t first; /* bytes up to the end of the first chunk */
    int fd;
    _Atomic int delivered; /* the first chunk's output has come */
    int waited;
};

static int live_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct live *live = arg;
    (void)job;
    (void)data;
    (void)n;
    atomic_store(&live->delivered, 1);
    return 0;
}

/* Writes the first chunk, waits until it was delivered, writes the rest. */
static void *live_write(void *arg)
{
    struct live *live = arg;
    const uint8_t *p = live->r->file;
    size_t at = 0, end = live->first;
    for (int part = 0; part < 2; part++) {
        while (at < end) {
            ssize_t n = write(live->fd, p + at, end - at);
            if (n <= 0) {
                break;
            }
            at += (size_t)n;
        }
        for (int i = 0; part == 0 && i < 30000 && !atomic_load(&live->delivered); i++) {
            usleep(10000);
            live->waited = i;
        }
        if (part == 0 && !atomic_load(&live->delivered)) {
            live->waited = -1;
        }
        end = live->r->bytes;
    }
    close(live->fd);
    return NULL;
}

/* What has arrived is delivered although no more data come. */
static void test_live(void **state)
{
    static const struct ctr_replay_ops ops = {
        .exec = text_exec, .mem = text_mem, .ordered = live_ordered};
    struct recording r;
    struct ctr_diag diag;
    (void)state;
    recording_make(&r, 26, 1, 300, 30, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, SIM_ALL, 1,
                   1);
    struct ctr_trace *tr = open_bytes(r.file, r.bytes, 0);
    struct ctr_chunk c;
    assert_int_equal(ctr_trace_chunk(tr, 0, &c, NULL), 0);
    ctr_close(tr);
    for (unsigned i = 0; i < 12; i++) {
        int fd[2];
        pthread_t thread;
        assert_int_equal(pipe(fd), 0);
        struct live live = {.r = &r, .first = c.off + c.bytes, .fd = fd[1]};
        assert_int_equal(pthread_create(&thread, NULL, live_write, &live), 0);
        assert_int_equal(ctr_open_fd(&tr, fd[0], 0, &diag), 0);
        struct ctr_replay_opts opts = {.workers = 1 + i % 3,
                                       .piece_insns = i & 4 ? 50 : 0};
        assert_int_equal(ctr_replay(tr, &ops, &live, &opts, &diag), 0);
        pthread_join(thread, NULL);
        assert_int_not_equal(live.waited, -1);
        ctr_close(tr);
    }
    recording_free(&r);
}

/* What a search finds is between the ordinals that go with it, also where a chunk begins with
 * the rest of an instruction. */
static void test_found(void **state)
{
    unsigned rests = 0;
    (void)state;
    for (unsigned seed = 0; seed < 10; seed++) {
        struct recording r;
        recording_make(&r, 70 + seed, 2, 400, 30, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM,
                       SIM_ALL, 1, 1);
        struct ctr_trace *tr = open_bytes(r.file, r.bytes, 0);
        for (size_t i = 0; i < r.thread[0].n_ev; i++) {
            const struct sim_event *e = &r.thread[0].ev[i];
            struct ctr_range range = {e->addr, e->addr + 1, 0};
            const struct ctr_filter filter = {.addrs = &range, .naddr = 1};
            struct ctr_found found;
            struct ctr_chunk chunk;
            if (!e->mem || !e->size || !range.to) {
                continue;
            }
            assert_int_equal(ctr_search(tr, &filter, 0, e->ordinal + 1,
                                        CTR_SEARCH_BACK | CTR_SEARCH_POINT, 1, &found,
                                        NULL),
                             1);
            assert_true(found.from <= found.ordinal && found.ordinal < found.to);
            assert_int_equal(ctr_trace_chunk(tr, found.chunk, &chunk, NULL), 0);
            rests += found.ordinal < chunk.first;
        }
        ctr_close(tr);
        recording_free(&r);
    }
    assert_true(rests > 0);
}

/* Ends a search at the n-th chunk. */
static int stop_after(void *arg)
{
    int *left = arg;
    return (*left)-- <= 0;
}

/* The next execution of an instruction, of one thread: what going through its events finds. */
static void test_found_exec(void **state)
{
    unsigned hits = 0, limits = 0, stops = 0;
    (void)state;
    for (unsigned seed = 0; seed < 4; seed++) {
        struct recording r;
        int left;
        recording_make(&r, 170 + seed, 2, 400, 30, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM,
                       SIM_ALL, 1, 1);
        struct ctr_trace *tr =
            open_bytes(r.file, r.bytes, seed & 1 ? CTR_OPEN_NO_INDEX : 0);
        const struct sim_event *ev = r.thread[0].ev;
        const size_t n = r.thread[0].n_ev;
        for (size_t i = 0; i < n; i += 23 + seed) {
            const uint64_t pc = ev[i].pc, from = ev[i * 7 % n].ordinal;
            const int back = (int)(i & 1), point = i & 2 ? 1 : 0;
            const struct ctr_range range = {pc, pc + 1, 0};
            struct ctr_filter filter = {.kinds = CTR_KIND_EXEC,
                                        .nthread = 1,
                                        .threads = &(uint32_t){0},
                                        .pcs = &range,
                                        .npc = 1};
            uint64_t want = UINT64_MAX;
            struct ctr_found found;
            for (size_t k = 0; k < n; k++) {
                const uint64_t o = ev[k].ordinal;
                if (ev[k].mem || ev[k].reg || ev[k].os || ev[k].pc != pc ||
                    (back ? o >= from : o + (unsigned)point <= from)) {
                    continue;
                }
                if (want == UINT64_MAX || back) {
                    want = o;
                }
            }
            const int got = ctr_search(tr, &filter, 0, from,
                                       (back ? CTR_SEARCH_BACK : 0u) |
                                           (point ? CTR_SEARCH_POINT : 0u),
                                       1 + seed % 3, &found, NULL);
            assert_int_equal(got, want != UINT64_MAX);
            if (got) {
                assert_int_equal(found.ordinal, want);
                assert_int_equal(found.kind, CTR_KIND_EXEC);
                assert_true(found.pc == pc && found.addr == pc && found.size);
                hits++;
            }
            /* With a limit the same, or nothing. */
            filter.most = 1;
            const int some = ctr_search(tr, &filter, 0, from,
                                        (back ? CTR_SEARCH_BACK : 0u) |
                                            (point ? CTR_SEARCH_POINT : 0u),
                                        1 + seed % 3, &found, NULL);
            assert_true(some == got || some == -CTR_E_LIMIT);
            assert_true(some != 1 || found.ordinal == want);
            limits += some == -CTR_E_LIMIT;
            /* The same, where it is ended from outside. */
            filter.most = 0;
            filter.stop = stop_after;
            filter.arg = &left;
            left = (int)(i % 4);
            const int ended = ctr_search(tr, &filter, 0, from,
                                         (back ? CTR_SEARCH_BACK : 0u) |
                                             (point ? CTR_SEARCH_POINT : 0u),
                                         1 + seed % 3, &found, NULL);
            assert_true(ended == got || ended == -CTR_E_LIMIT);
            assert_true(ended != 1 || found.ordinal == want);
            stops += ended == -CTR_E_LIMIT;
            filter.stop = NULL;
        }
        ctr_close(tr);
        recording_free(&r);
    }
    assert_true(hits > 100 && limits > 20 && stops > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers),       cmocka_unit_test(test_stop),
        cmocka_unit_test(test_stop_in_order), cmocka_unit_test(test_counts),
        cmocka_unit_test(test_run_accesses),  cmocka_unit_test(test_times),
        cmocka_unit_test(test_cursor),        cmocka_unit_test(test_found),
        cmocka_unit_test(test_found_exec),    cmocka_unit_test(test_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
