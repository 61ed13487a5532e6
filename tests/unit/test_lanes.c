/* SPDX-License-Identifier: MIT */
/*
 * Threads that run one at a time: readers return what they did in the order in which they
 * did it, whatever the chunks and sets are, from any place, and in both directions; also a
 * part of their tasks and address spaces.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "siderec.h"
#include "cannoli/events.h"
#include "ctr.h"

#define THREADS 5u
#define STEPS 6000u /* runs of a block, which is one instruction */
#define PLACES 40u  /* addresses that they access ... */
#define STRIDE                                                                           \
    4096 /* ... each in a page of its own, so that the index leaves chunks out */
#define MAX_RUNS 4000u

/* What happened, in order. */
struct step {
    uint32_t thread;
    uint64_t ordinal;
    uint32_t addr;
    int store;
    uint64_t ns;         /* the last time known before it, in its thread */
    uint32_t table, pid; /* by its thread's last events; pid 0: it is not known */
};

static struct step steps[STEPS];

struct maker {
    uint32_t words[MAX_RUNS];
    uint32_t units[MAX_RUNS]; /* from the end, as in the pipe */
    struct sidebuf side;
    uint32_t n;
    uint64_t ordinal, start, stopped, ns;
    uint32_t table, pid;
    unsigned set;
    int first, open;
};

struct machine {
    struct out out;
    struct maker thread[THREADS];
    uint64_t now;
    uint32_t runs; /* the thread */
    uint64_t slice;
    unsigned set, in_set;
    int fresh; /* nothing of the set was begun */
};

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static void begin_chunk(struct machine *m, struct maker *t)
{
    t->n = 0;
    t->side.n = 0;
    t->set = m->set;
    t->first = m->fresh;
    m->fresh = 0;
    t->start = t->ns = m->now++;
    t->open = 1;
}

static void end_chunk(struct machine *m, uint32_t thread)
{
    struct maker *t = &m->thread[thread];
    const struct ctr_segment seg = {
        .words = t->words,
        .n_words = t->n,
        .n_units = t->n,
        .data_end = t->units + MAX_RUNS,
        .side = t->side.p,
        .side_bytes = (uint32_t)t->side.n,
        .flags = t->first ? CTR_SEGMENT_FIRST : 0,
        .start_ns = t->start,
        .end_ns = thread == m->runs ? m->now : t->stopped,
    };
    t->open = 0;
    if (t->n || t->side.n) {
        assert_int_equal(ctr_encoder_run(m->out.enc, &seg, 1, m->out.packed, NULL), 0);
        assert_int_equal(ctr_writer_chunk(m->out.w, thread, m->out.packed, NULL), 0);
    }
}

static void event(struct machine *m, struct maker *t, uint32_t type)
{
    struct payload p = {.n = 0};
    if (type == CTR_EVENT_SLICE) {
        put_u64(&p, m->slice);
    } else if (type == CTR_EVENT_CONTEXT) {
        t->table = below(4);
        put_u64(&p, t->table);
        put_u64(&p, 0);
        put_u64(&p, 0);
    } else {
        t->pid = below(5);
        put_u32(&p, t->pid);
        put_u32(&p, t->pid);
        put_u64(&p, t->pid ? 0x1000 + t->pid : 0);
        put_str(&p, "name", t->pid ? 4 : 0);
    }
    t->ns = m->now++;
    side_event(&t->side, t->n, t->n, type, t->ns, &p);
}

/* Another thread runs; the recorder's rules are those of accel/tcg/cannoli/order.c. */
static void change_thread(struct machine *m, uint32_t thread)
{
    struct maker *t = &m->thread[thread];
    if (t->open && t->set != m->set) {
        end_chunk(m, thread);
    }
    if (!t->open) {
        begin_chunk(m, t);
    }
    m->thread[m->runs].stopped = m->now++;
    m->runs = thread;
    m->slice++;
    event(m, t, CTR_EVENT_SLICE);
}

static void make(struct machine *m, unsigned per_set, unsigned per_chunk)
{
    change_thread(m, 0);
    for (uint32_t i = 0; i < STEPS; i++) {
        struct maker *t = &m->thread[m->runs];
        if (below(i ? 6 : 2) == 0) { /* the first may begin without an instruction */
            change_thread(m, (m->runs + 1 + below(THREADS - 1)) % THREADS);
            t = &m->thread[m->runs];
        } else if (below(9) == 0) {
            event(m, t, below(2) ? CTR_EVENT_CONTEXT : CTR_EVENT_TASK);
        }
        if (m->in_set >= per_set || below(per_chunk) == 0) {
            end_chunk(m, m->runs);
            if (m->in_set >= per_set) {
                m->set++;
                m->in_set = 0;
                m->fresh = 1;
            }
            begin_chunk(m, t);
        }
        m->in_set++;
        steps[i] = (struct step){.thread = m->runs,
                                 .ordinal = t->ordinal++,
                                 .addr = 0x1000 + STRIDE * below(PLACES),
                                 .store = below(3) == 0,
                                 .ns = t->ns,
                                 .table = t->table,
                                 .pid = t->pid};
        t->words[t->n] = 1 + (uint32_t)steps[i].store;
        t->units[MAX_RUNS - 1 - t->n] = steps[i].addr;
        t->n++;
        m->now++;
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        if (m->thread[i].open) {
            end_chunk(m, i);
        }
    }
}

static struct ctr_trace *make_trace(unsigned per_set, unsigned per_chunk, unsigned flags)
{
    const struct ctr_meta meta = {.target = "arm-softmmu",
                                  .events = CTR_EVENTS_EXEC | CTR_EVENTS_MEM |
                                            CTR_EVENTS_CTX | CTR_EVENTS_ORDER |
                                            CTR_EVENTS_TASK,
                                  .addr_bits = 32};
    struct machine *m = calloc(1, sizeof(*m));
    struct ctr_trace *tr;
    uint8_t def[128];
    assert_non_null(m);
    m->fresh = 1;
    out_open(&m->out, &meta);
    for (uint32_t id = 1; id <= 2; id++) {
        size_t n = simple_def(def, 0x1000 * id, 1, 1);
        /* The access byte of the only slot, see events.h. */
        def[n - 2] |= id == 2 ? CTR_ACCESS_STORE : 0;
        assert_int_equal(ctr_dict_add(m->out.dict, id, def, n, NULL), 0);
    }
    out_threads(&m->out, THREADS);
    make(m, per_set, per_chunk);
    for (uint32_t i = 0; i < THREADS; i++) {
        side_free(&m->thread[i].side);
    }
    assert_int_equal(ctr_open_fd(&tr, out_finish(&m->out), flags, NULL), 0);
    free(m);
    return tr;
}

/* Sets of one chunk a thread, of many, and one set of all. */
static const struct {
    unsigned per_set, per_chunk;
} shapes[] = {{40, 100000}, {300, 30}, {100000, 60}, {1500, 700}};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static struct ctr_trace *next_trace(unsigned k)
{
    seed = k + 1;
    return make_trace(shapes[k % SHAPES].per_set, shapes[k % SHAPES].per_chunk,
                      k & 4 ? CTR_OPEN_NO_INDEX : 0);
}

/* ------------------------------------------------------------------- replay */

struct line {
    uint32_t thread, addr, pid, unused;
    uint64_t ordinal;
};

static int put_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    struct ctr_task task;
    const uint32_t pid = ctr_job_task(job, &task) ? task.pid : 0;
    const struct line line = {m->thread->index, (uint32_t)m->addr, pid, 0, m->ordinal};
    (void)arg;
    assert_ptr_equal(m->thread, ctr_job_thread(job));
    return ctr_job_append(job, &line, sizeof(line));
}

/* All accesses are those of some run. */
static int sum_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    uint64_t *sum = arg;
    (void)job;
    __atomic_fetch_add(sum, r->loads + r->stores, __ATOMIC_RELAXED);
    return 0;
}

struct expected {
    const struct ctr_filter *filter;
    uint32_t at;
};

static int selected(const struct ctr_filter *f, const struct step *s)
{
    int in = !f->nthread;
    for (uint32_t i = 0; i < f->nthread; i++) {
        in |= f->threads[i] == s->thread;
    }
    if (f->naddr && (s->addr < f->addrs[0].from || s->addr >= f->addrs[0].to)) {
        return 0;
    }
    if (f->kinds && !(f->kinds & (s->store ? CTR_KIND_STORE : CTR_KIND_LOAD))) {
        return 0;
    }
    const struct ctr_task task = {.pid = s->pid, .task = s->pid};
    const struct ctr_context context = {.table = s->table};
    if ((f->task && !f->task(f->arg, &task)) ||
        (f->context && !f->context(f->arg, &context))) {
        return 0;
    }
    return in && s->ns >= f->from_ns && (!f->to_ns || s->ns < f->to_ns);
}

static int odd_task(void *arg, const struct ctr_task *t)
{
    assert_ptr_equal(arg, steps);
    assert_int_equal(t->task != 0, t->pid != 0);
    return t->pid & 1;
}

static int unknown_task(void *arg, const struct ctr_task *t)
{
    assert_ptr_equal(arg, steps);
    return !t->task;
}

static int first_context(void *arg, const struct ctr_context *c)
{
    assert_ptr_equal(arg, steps);
    return c->table == 0;
}

static void next_step(struct expected *x, uint32_t thread, uint64_t ordinal,
                      uint32_t addr)
{
    while (x->at < STEPS && !selected(x->filter, &steps[x->at])) {
        x->at++;
    }
    assert_true(x->at < STEPS);
    assert_int_equal(steps[x->at].thread, thread);
    assert_int_equal(steps[x->at].ordinal, ordinal);
    assert_int_equal(steps[x->at].addr, addr);
    x->at++;
}

static void assert_end(struct expected *x)
{
    while (x->at < STEPS && !selected(x->filter, &steps[x->at])) {
        x->at++;
    }
    assert_int_equal(x->at, STEPS);
}

static int check_lines(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    const struct line *line = data;
    assert_int_equal(n % sizeof(*line), 0);
    for (size_t i = 0; i < n / sizeof(*line); i++) {
        assert_int_equal(line[i].thread, ctr_job_thread(job)->index);
        next_step(arg, line[i].thread, line[i].ordinal, line[i].addr);
        assert_int_equal(line[i].pid, steps[((struct expected *)arg)->at - 1].pid);
    }
    return 0;
}

/* A part of the threads, tasks, address spaces, of the time, of the addresses, or
 * everything. */
static void random_filter(struct ctr_filter *f, uint32_t *threads,
                          struct ctr_range *range)
{
    *f = (struct ctr_filter)CTR_FILTER_INIT;
    if (below(2)) {
        threads[0] = below(THREADS);
        threads[1] = below(THREADS);
        f->threads = threads;
        f->nthread = 1 + below(2);
    }
    if (below(2)) {
        f->from_ns = steps[below(STEPS)].ns;
        f->to_ns = below(2) ? steps[below(STEPS)].ns : 0;
    }
    f->task = below(2) ? NULL : below(2) ? odd_task : unknown_task;
    f->context = below(3) ? NULL : first_context;
    f->arg = steps;
    if (below(3) == 0) {
        *range = (struct ctr_range){0x1000 + STRIDE, 0x1001 + STRIDE * (1 + below(3)), 0};
        f->addrs = range;
        f->naddr = 1;
    }
}

static void test_replay(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 8 * SHAPES; k++) {
        struct ctr_trace *tr = next_trace(k);
        for (unsigned i = 0; i < 6; i++) {
            const struct ctr_replay_ops ops = {.mem = put_mem, .ordered = check_lines};
            struct ctr_filter filter;
            struct ctr_range range;
            uint32_t threads[2];
            struct expected x = {&filter, 0};
            random_filter(&filter, threads, &range);
            const struct ctr_replay_opts opts = {.workers = 1 + below(4),
                                                 .piece_insns = below(2) * 50,
                                                 .filter = &filter,
                                                 .slices = 1,
                                                 .tasks = 1};
            assert_int_equal(ctr_replay(tr, &ops, &x, &opts, NULL), 0);
            assert_end(&x);
        }
        for (uint8_t level = CTR_RUN_COUNTS; level <= CTR_RUN_ACCESSES; level++) {
            const struct ctr_replay_ops ops = {.run = sum_run};
            const struct ctr_replay_opts opts = {.run_accesses = level, .slices = 1};
            uint64_t sum = 0;
            assert_int_equal(ctr_replay(tr, &ops, &sum, &opts, NULL), 0);
            assert_int_equal(sum, STEPS);
        }
        ctr_close(tr);
    }
}

/* ------------------------------------------------------------------- cursor */

static void test_cursor(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 8 * SHAPES; k++) {
        struct ctr_trace *tr = next_trace(k);
        for (unsigned i = 0; i < 12; i++) {
            struct ctr_filter filter;
            struct ctr_range range;
            uint32_t threads[2];
            struct expected x = {&filter, 0};
            struct ctr_cursor *c;
            struct ctr_event ev;
            int got;
            random_filter(&filter, threads, &range);
            filter.kinds = CTR_KIND_LOAD | CTR_KIND_STORE;
            assert_int_equal(ctr_cursor_open(&c, tr, &filter, NULL), 0);
            for (unsigned seeks = below(4); seeks; seeks--) {
                for (unsigned n = below(40); n; n--) {
                    assert_true(ctr_cursor_next(c, &ev, NULL) >= 0);
                }
                x.at = below(STEPS);
                if (selected(&filter, &steps[x.at])) {
                    assert_int_equal(ctr_cursor_seek_ordinal(c, steps[x.at].thread,
                                                             steps[x.at].ordinal, NULL),
                                     0);
                } else {
                    x.at = 0;
                    assert_int_equal(ctr_cursor_seek_time(c, 0, NULL), 0);
                }
            }
            if (!x.at) { /* it may have moved on */
                assert_int_equal(ctr_cursor_seek_time(c, 0, NULL), 0);
            }
            while ((got = ctr_cursor_next(c, &ev, NULL)) == 1) {
                assert_int_equal(ev.kind, CTR_CURSOR_MEM);
                next_step(&x, ev.mem.thread->index, ev.mem.ordinal,
                          (uint32_t)ev.mem.addr);
            }
            assert_int_equal(got, 0);
            assert_int_equal(ctr_cursor_next(c, &ev, NULL), 0);
            assert_end(&x);
            ctr_cursor_close(c);
        }
        ctr_close(tr);
    }
}

/* ------------------------------------------------------------------- search */

static void test_search(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 8 * SHAPES; k++) {
        struct ctr_trace *tr = next_trace(k);
        for (unsigned i = 0; i < 60; i++) {
            struct ctr_filter filter;
            struct ctr_range range;
            uint32_t threads[2];
            struct ctr_found found;
            const int back = (int)below(2), point = (int)below(2);
            const uint32_t from = below(STEPS);
            uint32_t at = from + (!back && !point);
            random_filter(&filter, threads, &range);
            range = (struct ctr_range){0x1000 + STRIDE * below(PLACES), 0, 0};
            range.to = range.from + 1;
            filter.addrs = &range;
            filter.naddr = 1;
            filter.kinds = below(2) ? CTR_KIND_STORE : CTR_KIND_LOAD;
            for (at = back ? at - 1 : at; at < STEPS && !selected(&filter, &steps[at]);) {
                at += back ? UINT32_MAX : 1;
            }
            const int got = ctr_search(
                tr, &filter, steps[from].thread, steps[from].ordinal,
                (back ? CTR_SEARCH_BACK : 0u) | (point ? CTR_SEARCH_POINT : 0u),
                1 + below(3), &found, NULL);
            assert_int_equal(got, at < STEPS);
            if (got) {
                assert_int_equal(found.thread->index, steps[at].thread);
                assert_int_equal(found.ordinal, steps[at].ordinal);
                assert_true(found.from <= found.ordinal && found.ordinal < found.to);
                /* Nothing of another thread is between these. */
                const int alone = filter.nthread == 1 && threads[0] == steps[from].thread;
                const uint32_t thread = steps[at].thread;
                uint32_t first = at, last = at;
                while (first && steps[first - 1].thread == thread) {
                    first--;
                }
                while (last + 1 < STEPS && steps[last + 1].thread == thread) {
                    last++;
                }
                assert_true(alone || (found.from >= steps[first].ordinal &&
                                      found.to <= steps[last].ordinal + 1));
            }
        }
        ctr_close(tr);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_cursor),
        cmocka_unit_test(test_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
