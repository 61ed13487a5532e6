/* SPDX-License-Identifier: MIT */
/*
 * What is read back equals what was simulated: over random programs, both address
 * widths, with and without accesses, read through the index, by a scan, as a
 * stream, with one worker and with many, in whole chunks and in pieces.
 */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cannoli/events.h"
#include "sanitized.h"

#define SEEDS ROUNDS(96u)

static void check_info(const struct recording *r, struct ctr_trace *tr, int index)
{
    struct ctr_info info;
    uint64_t insns = 0, loads = 0, stores = 0;
    ctr_trace_info(tr, &info);
    assert_int_equal(info.state, CTR_COMPLETE);
    assert_int_equal(info.has_index, index);
    assert_int_equal(info.threads, r->nthread);
    assert_int_equal(info.processes, (r->nthread + 1) / 2);
    assert_int_equal(info.argc, 3);
    assert_string_equal(info.argv[2], "an argument");
    assert_string_equal(info.target, "test");
    int part = (r->sim.features & SIM_PART) != 0;
    assert_string_equal(info.selection, part ? "--module lib --once" : "");
    assert_int_equal(info.dropped_insns, part ? 1ull << 40 : 0);
    assert_int_equal(info.dropped_loads, part ? 6 : 0);
    assert_int_equal(info.dropped_stores, part ? 7 : 0);
    assert_int_equal(info.dropped_chunks, part ? 8 : 0);
    assert_true(info.events & CTR_HAS_MARK);
    assert_int_equal(info.elf_machine, 40);
    assert_int_equal(info.addr_bits, r->sim.addr_bytes * 8);
    for (unsigned i = 0; i < r->nthread; i++) {
        const struct ctr_thread *t = ctr_trace_thread(tr, i);
        const struct sim_thread *s = &r->thread[i];
        assert_non_null(t);
        assert_int_equal(t->tid, 100 + i);
        assert_int_equal(t->insns, s->ordinal);
        assert_int_equal(t->loads, s->loads);
        assert_int_equal(t->stores, s->stores);
        assert_int_equal(t->incomplete, s->incomplete);
        assert_int_equal(t->end_reason, CTR_END_EXIT);
        assert_int_equal(t->end_status, i);
        assert_int_equal(ctr_trace_process(tr, t->process)->end_status, 7);
        insns += s->ordinal;
        loads += s->loads;
        stores += s->stores;
    }
    assert_null(ctr_trace_thread(tr, r->nthread));
    assert_int_equal(info.insns, insns);
    assert_int_equal(info.loads, loads);
    assert_int_equal(info.stores, stores);
}

static void read_one_way(const struct recording *r, unsigned flags, unsigned workers,
                         uint32_t piece)
{
    struct ctr_trace *tr = open_bytes(r->file, r->bytes, flags);
    struct ctr_replay_opts opts = {.workers = workers, .piece_insns = piece, .phys = 1};
    struct events ev;
    struct ctr_diag diag;
    if (read_events(tr, &opts, &ev, &diag)) {
        fail_msg("replay: %s", diag.text);
    }
    check_events(r, &ev);
    check_info(r, tr, flags == 0);
    events_free(&ev);
    ctr_close(tr);
}

static void read_all_ways(const struct recording *r)
{
    read_one_way(r, 0, 1, 0);
    read_one_way(r, 0, 3, 0);
    read_one_way(r, 0, 2, 50);
    read_one_way(r, CTR_OPEN_NO_INDEX, 2, 7);
    read_one_way(r, CTR_OPEN_STREAM, 1, 0);
    read_one_way(r, CTR_OPEN_STREAM, 3, 30);
}

static void test_random_programs(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        struct recording r;
        static const unsigned events[] = {
            CTR_EVENTS_EXEC,
            CTR_EVENTS_EXEC | CTR_EVENTS_MEM,
            CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_VAL,
            CTR_EVENTS_EXEC | CTR_EVENTS_REG,
            CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_REG,
            CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_VAL | CTR_EVENTS_REG,
            SIM_EVENTS,
            SIM_EVENTS & ~CTR_EVENTS_REG,
        };
        /* The first seeds have one feature each, the others all. */
        unsigned features = seed <= 8 ? 1u << (seed - 1) | SIM_GROUPS : SIM_ALL;
        unsigned ev = events[seed % 8];
        features |= ev & CTR_EVENTS_SYS ? SIM_SYSTEM : 0;
        features |= seed % 5 > 1 ? SIM_PART : 0;
        features |= ev & CTR_EVENTS_PHYS ? SIM_PHYS : 0;
        recording_make(&r, seed, 1 + seed % 4, 300, 20 + seed % 50, seed % 3 ? 8 : 4, ev,
                       features, 1 + seed % 5, 1);
        read_all_ways(&r);
        recording_free(&r);
    }
}

/* One long thread: many parts of the index, predictors with a history. */
static void test_long(void **state)
{
    struct recording r;
    (void)state;
    recording_make(&r, 4242, 2, ROUNDS(30000u), 400, 8, SIM_EVENTS,
                   SIM_ALL | SIM_SYSTEM | SIM_PART | SIM_PHYS, 1, 1);
    struct ctr_trace *tr = open_bytes(r.file, r.bytes, 0);
    struct ctr_info info;
    ctr_trace_info(tr, &info);
    assert_true(info.chunks > 300);
    ctr_close(tr);
    read_one_way(&r, 0, 4, 0);
    read_one_way(&r, CTR_OPEN_STREAM, 2, 0);
    recording_free(&r);
}

/* Processes killed in a block, at any place, whose chunks end at any place, too. */
static void test_tails(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= ROUNDS(1000u); seed++) {
        struct recording r;
        recording_make(&r, seed, 2, 5, 4, seed % 3 ? 8 : 4,
                       seed % 2 ? SIM_EVENTS : SIM_EVENTS & ~CTR_EVENTS_REG,
                       (seed % 5 ? SIM_EXTRAS | SIM_UNSURE : SIM_ALL) | SIM_PHYS, 1, 1);
        read_one_way(&r, 0, 1, 0);
        recording_free(&r);
    }
}

/* An empty recording. */
static void test_empty(void **state)
{
    struct recording r;
    (void)state;
    recording_make(&r, 1, 0, 0, 1, 8, CTR_EVENTS_EXEC, 0, 1, 1);
    read_all_ways(&r);
    recording_free(&r);
}

struct pipe_job {
    struct recording *r;
    int fd;
};

static void *write_into_pipe(void *arg)
{
    struct pipe_job *job = arg;
    recording_write(job->r, job->fd, 2, 1);
    close(job->fd);
    return NULL;
}

/* A real pipe: what goes in during writing comes out. */
static void test_pipe(void **state)
{
    (void)state;
    for (unsigned seed = 500; seed < 505; seed++) {
        struct recording r;
        int fd[2];
        pthread_t thread;
        recording_make(&r, seed, 3, 2000, 100, 8, seed & 1 ? SIM_EVENTS : 3,
                       seed & 1 ? SIM_ALL | SIM_SYSTEM | SIM_PHYS : SIM_ALL, 2, 1);
        assert_int_equal(pipe(fd), 0);
        struct pipe_job job = {&r, fd[1]};
        assert_int_equal(pthread_create(&thread, NULL, write_into_pipe, &job), 0);
        struct ctr_trace *tr;
        struct ctr_diag diag;
        assert_int_equal(ctr_open_fd(&tr, fd[0], 0, &diag), 0);
        struct ctr_replay_opts opts = {.workers = 2, .phys = 1};
        struct events ev;
        assert_int_equal(read_events(tr, &opts, &ev, &diag), 0);
        check_events(&r, &ev);
        check_info(&r, tr, 0);
        struct events none;
        assert_int_equal(read_events(tr, &opts, &none, &diag), -CTR_E_INVAL);
        pthread_join(thread, NULL);
        events_free(&ev);
        ctr_close(tr);
        recording_free(&r);
    }
}

/* ----------------------------------------------------------------- filters */

static int in_list(const int32_t *list, uint32_t n, int32_t v)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == v) {
            return 1;
        }
    }
    return n == 0;
}

/* Thread number i of a recording belongs to process number i / 2. */
static int has_number(const uint32_t *list, uint32_t n, uint32_t v)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == v) {
            return 1;
        }
    }
    return n == 0;
}

/* Whether a range of the filter has anything from first to last in a thread. */
static int touches(const struct ctr_range *r, uint32_t thread, uint64_t first,
                   uint64_t last)
{
    return last >= r->from && (first < r->to || r->to == UINT64_MAX) &&
           (r->process == 0 || r->process - 1 == thread / 2);
}

static int wanted_mem(const struct ctr_filter *f, uint32_t thread,
                      const struct sim_event *e)
{
    unsigned kinds = f->kinds ? f->kinds : CTR_KIND_ALL;
    if (!e->mem || !(kinds & (e->store ? CTR_KIND_STORE : CTR_KIND_LOAD))) {
        return 0;
    }
    for (uint32_t i = 0; i < f->naddr; i++) {
        uint64_t last = e->addr + (e->size - 1);
        if (last < e->addr) {
            last = UINT64_MAX;
        }
        if (touches(&f->addrs[i], thread, e->addr, last)) {
            return 1;
        }
    }
    for (uint32_t i = 0; i < f->nphys; i++) {
        const uint64_t room = 4096 - e->addr % 4096;
        const uint64_t n = e->size < room ? e->size : room;
        if (touches(&f->phys[i], thread, e->phys, e->phys + n - 1) ||
            (n < e->size && touches(&f->phys[i], thread, e->phys_next,
                                    e->phys_next + e->size - n - 1))) {
            return 1;
        }
    }
    return f->naddr + f->nphys == 0;
}

static int wanted(const struct ctr_filter *f, uint32_t thread, const struct sim_thread *t,
                  size_t at)
{
    const struct sim_event *e = &t->ev[at];
    unsigned kinds = f->kinds ? f->kinds : CTR_KIND_ALL;
    int from_here = !f->from_thread || f->from_thread - 1 == thread;
    int to_here = !f->to_thread || f->to_thread - 1 == thread;
    if ((from_here && e->ordinal < f->from) ||
        (to_here && (f->to || f->to_thread) && e->ordinal >= f->to)) {
        return 0;
    }
    int pc = f->npc == 0;
    for (uint32_t i = 0; i < f->npc; i++) {
        pc |= touches(&f->pcs[i], thread, e->pc, e->pc);
    }
    if (!pc) {
        return 0;
    }
    if (e->mem) {
        return wanted_mem(f, thread, e);
    }
    if (!(kinds & CTR_KIND_EXEC)) {
        return 0;
    }
    if (f->naddr + f->nphys == 0) {
        return 1;
    }
    for (size_t k = at + 1; k < t->n_ev && t->ev[k].mem; k++) {
        if (wanted_mem(f, thread, &t->ev[k])) {
            return 1;
        }
    }
    return 0;
}

static void check_filter(const struct recording *r, const struct ctr_filter *f,
                         unsigned flags, uint32_t piece)
{
    struct ctr_trace *tr = open_bytes(r->file, r->bytes, flags);
    struct ctr_replay_opts opts = {
        .workers = 2, .piece_insns = piece, .filter = f, .phys = 1};
    struct events ev;
    struct ctr_diag diag;
    if (read_events(tr, &opts, &ev, &diag)) {
        fail_msg("replay: %s", diag.text);
    }
    for (unsigned i = 0; i < r->nthread; i++) {
        const struct sim_thread *t = &r->thread[i];
        size_t at = 0;
        int on = in_list(f->pids, f->npid, 100 + (int)(i & ~1u)) &&
                 in_list(f->tids, f->ntid, 100 + (int)i) &&
                 has_number(f->processes, f->nprocess, i / 2) &&
                 has_number(f->threads, f->nthread, i);
        for (size_t k = 0; on && k < t->n_ev; k++) {
            if (!wanted(f, i, t, k)) {
                continue;
            }
            while (at < ev.n && ev.e[at].thread != i) {
                at++;
            }
            assert_true(at < ev.n);
            assert_memory_equal(&ev.e[at].e, &t->ev[k], sizeof(t->ev[k]));
            at++;
        }
        while (at < ev.n) {
            assert_int_not_equal(ev.e[at++].thread, i);
        }
    }
    events_free(&ev);
    ctr_close(tr);
}

static void test_filters(void **state)
{
    struct recording r;
    (void)state;
    /* No resumed instructions: their halves are in two chunks. */
    recording_make(&r, 31, 4, 3000, 60, 8,
                   CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_PHYS,
                   (SIM_ALL & ~SIM_SUSPEND) | SIM_PHYS, 2, 1);
    struct sim *s = &r.sim;
    for (unsigned i = 0; i < 200; i++) {
        int32_t pids[2] = {100 + (int)sim_random(s, 4), 102};
        int32_t tids[2] = {100 + (int)sim_random(s, 4), 100 + (int)sim_random(s, 4)};
        const struct sim_block *b = &s->block[sim_random(s, s->nblock)];
        struct ctr_range pcs[2] = {{b->pc[0], b->pc[0] + 20, 0}, {0x20000, 0x30000, 0}};
        const struct sim_thread *t = &r.thread[0];
        uint64_t page = t->ev[sim_random(s, (uint32_t)t->n_ev)].addr & ~0xfffull;
        struct ctr_range addrs[2] = {{page, page + 1 + sim_random(s, 8192), 0},
                                     {1, 2, 0}};
        uint64_t phys = t->ev[sim_random(s, (uint32_t)t->n_ev)].phys;
        struct ctr_range physical = {phys, phys + 1 + sim_random(s, 64), 0};
        struct ctr_filter f = {
            .from = i & 1 ? sim_random(s, 5000) : 0,
            .kinds = i & 2 ? 1 + sim_random(s, 7) : 0,
            .pids = pids,
            .npid = i & 4 ? 1 + sim_random(s, 2) : 0,
            .tids = tids,
            .ntid = i & 8 ? 1 + sim_random(s, 2) : 0,
            .pcs = pcs,
            .npc = i & 16 ? 1 + sim_random(s, 2) : 0,
            .addrs = addrs,
            .naddr = i & 32 ? 1 + sim_random(s, 2) : 0,
            .phys = &physical,
            .nphys = i > 120 && i & 16 ? 0 : i > 120,
        };
        f.to = i & 64 ? f.from + 1 + sim_random(s, 3000) : 0;
        check_filter(&r, &f, 0, i % 3 ? 0 : 100);
        check_filter(&r, &f, i % 2 ? CTR_OPEN_STREAM : CTR_OPEN_NO_INDEX, 0);
    }
    recording_free(&r);
}

/* Ranges of one process each, more of them than are searched one by one. */
static void random_ranges(struct sim *s, struct ctr_range *v, uint32_t n, uint64_t at)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t from = at + sim_random(s, 4096);
        v[i] = (struct ctr_range){from, from + 1 + sim_random(s, 64), sim_random(s, 4)};
    }
}

/* Nothing is at a physical address of a trace that has none. */
static void test_no_phys(void **state)
{
    struct ctr_range all = {0, UINT64_MAX, 0};
    struct ctr_filter f = {.phys = &all, .nphys = 1};
    struct recording r;
    (void)state;
    recording_make(&r, 33, 2, 300, 20, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, SIM_ALL, 1,
                   1);
    struct ctr_trace *tr = open_bytes(r.file, r.bytes, 0);
    struct ctr_replay_opts opts = {.workers = 2, .filter = &f, .phys = 1};
    struct events ev;
    assert_int_equal(read_events(tr, &opts, &ev, NULL), 0);
    assert_int_equal(ev.n, 0);
    events_free(&ev);
    ctr_close(tr);
    recording_free(&r);
}

static void test_filters_by_index(void **state)
{
    struct recording r;
    (void)state;
    recording_make(&r, 32, 5, 3000, 60, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM,
                   SIM_ALL & ~SIM_SUSPEND, 2, 1);
    struct sim *s = &r.sim;
    for (unsigned i = 0; i < 128; i++) {
        uint32_t processes[2] = {sim_random(s, 3), sim_random(s, 3)};
        uint32_t threads[2] = {sim_random(s, 5), sim_random(s, 5)};
        const struct sim_block *b = &s->block[sim_random(s, s->nblock)];
        const struct sim_thread *t = &r.thread[sim_random(s, 5)];
        struct ctr_range pcs[40], addrs[40];
        random_ranges(s, pcs, 40, b->pc[0] - 2048);
        random_ranges(s, addrs, 40, t->ev[sim_random(s, (uint32_t)t->n_ev)].addr - 2048);
        struct ctr_filter f = {
            .processes = processes,
            .nprocess = i & 1 ? 1 + sim_random(s, 2) : 0,
            .threads = threads,
            .nthread = i & 2 ? 1 + sim_random(s, 2) : 0,
            .pcs = pcs,
            .npc = i & 4 ? 1 + sim_random(s, 40) : 0,
            .addrs = addrs,
            .naddr = i & 8 ? 1 + sim_random(s, 40) : 0,
            .from = i & 16 ? sim_random(s, 2000) : 0,
            .to = i & 32 ? 2000 + sim_random(s, 2000) : 0,
            .from_thread = i & 64 ? 1 + sim_random(s, 5) : 0,
            .to_thread = i & 64 ? sim_random(s, 6) : 0,
        };
        check_filter(&r, &f, 0, i % 3 ? 0 : 100);
        check_filter(&r, &f, i % 2 ? CTR_OPEN_STREAM : CTR_OPEN_NO_INDEX, 0);
    }
    recording_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_tails),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_no_phys),
        cmocka_unit_test(test_filters_by_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
