/* SPDX-License-Identifier: MIT */
/*
 * ctr_search through threads that are merged by time: searches that go on from what they
 * found, forward from the first place and backward from the last one, find the same, in
 * reverse, and all that a cursor with the same filter gives; and the order is that of
 * ctr.h, which this computes by itself.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "siderec.h"
#include "cannoli/events.h"
#include "ctr.h"

#define MAX_THREADS 4u
#define PLACES 12u /* addresses that they access ... */
#define STRIDE                                                                           \
    4096 /* ... each in a page of its own, so that the index leaves chunks out */
#define MAX_RUNS 64u
#define MAX_STEPS 4000u

/* What a search can find: an instruction, or what the system did. */
struct step {
    uint64_t ns;
    uint32_t thread;
    uint64_t ordinal;
    int insn;
    uint32_t addr;
    int store;
    uint64_t known; /* as a filter sees it: the last time before it */
};

static struct step steps[MAX_STEPS];
static size_t nr_steps;
static uint64_t seed;
static size_t met; /* by all searches */

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static int in_order(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    return x->ns != y->ns             ? (x->ns < y->ns ? -1 : 1)
           : x->thread != y->thread   ? (x->thread < y->thread ? -1 : 1)
           : x->ordinal != y->ordinal ? (x->ordinal < y->ordinal ? -1 : 1)
                                      : x->insn - y->insn;
}

/* --------------------------------------------------------------------- a trace */

struct maker {
    uint64_t now; /* of the thread */
    uint64_t ordinal;
    uint64_t time; /* as it is known */
};

static void add(uint32_t thread, const struct maker *t, int insn, uint32_t addr,
                int store, uint64_t known)
{
    assert_true(nr_steps < MAX_STEPS);
    steps[nr_steps++] =
        (struct step){t->time, thread, t->ordinal, insn, addr, store, known};
}

static void put_usermem(struct sidebuf *side, uint32_t n, uint32_t addr, int store)
{
    struct payload p = {.n = 0};
    put_u64(&p, addr);
    put_u64(&p, 4);
    put_u32(&p, store ? CTR_USERMEM_WRITE : 0);
    put_u32(&p, 0);
    side_event(side, n, n, CTR_EVENT_USERMEM, 0, &p);
}

static void put_timed(struct sidebuf *side, uint32_t n, uint32_t type, struct maker *t)
{
    struct payload p = {.n = 0};
    payload_syscall(&p, 1, 0, 0, "x");
    side_event(side, n, n, type, t->now, &p);
    t->time = t->now;
}

/* A system call that reads memory at its begin and writes some at its end, perhaps. */
static void call(struct sidebuf *side, uint32_t n, uint32_t thread, struct maker *t)
{
    const uint32_t from = 0x1000 + STRIDE * below(PLACES);
    const uint32_t to = 0x1000 + STRIDE * below(PLACES);
    const int reads = (int)below(2), writes = (int)below(2);
    const uint64_t begin = t->now;
    put_timed(side, n, CTR_EVENT_SYSCALL, t);
    if (reads) {
        put_usermem(side, n, from, 0);
        add(thread, t, 0, from, 0, t->time);
    }
    if (writes) {
        put_usermem(side, n, to, 1);
    }
    t->now += below(3) * below(40);
    put_timed(side, n, CTR_EVENT_SYSRET, t);
    if (writes) {
        add(thread, t, 0, to, 1, begin);
    }
}

static void make_chunk(struct out *o, uint32_t thread, struct maker *t)
{
    static const uint64_t tick[] = {0, 1, 3, 20};
    uint32_t words[MAX_RUNS], units[MAX_RUNS];
    struct sidebuf side = {.n = 0};
    const uint32_t n = below(MAX_RUNS);
    const uint32_t calls = below(3) ? 1 + below(12) : 0;
    const uint64_t start = t->time = t->now += below(2) * below(60);
    for (uint32_t i = 0; i < n; i++) {
        if (calls && below(calls) == 0) {
            call(&side, i, thread, t);
        }
        const uint32_t addr = 0x1000 + STRIDE * below(PLACES);
        const int store = below(3) == 0;
        words[i] = 1 + (uint32_t)store;
        units[MAX_RUNS - 1 - i] = addr;
        add(thread, t, 1, addr, store, t->time);
        t->ordinal++;
        t->now += tick[below(4)];
    }
    if (calls && below(2)) {
        call(&side, n, thread, t);
    }
    const struct ctr_segment seg = {.words = words,
                                    .n_words = n,
                                    .n_units = n,
                                    .data_end = units + MAX_RUNS,
                                    .side = side.p,
                                    .side_bytes = (uint32_t)side.n,
                                    .start_ns = start,
                                    .end_ns = t->now};
    if (n || side.n) {
        assert_int_equal(ctr_encoder_run(o->enc, &seg, 1, o->packed, NULL), 0);
        assert_int_equal(ctr_writer_chunk(o->w, thread, o->packed, NULL), 0);
    }
    side_free(&side);
}

static struct ctr_trace *make_trace(uint32_t threads, uint32_t chunks, unsigned flags)
{
    const struct ctr_meta meta = {.target = "arm",
                                  .events = CTR_EVENTS_EXEC | CTR_EVENTS_MEM |
                                            CTR_EVENTS_SYS | CTR_EVENTS_TIME,
                                  .addr_bits = 32};
    struct maker maker[MAX_THREADS] = {{0}};
    struct ctr_trace *tr;
    struct out o;
    uint8_t def[128];
    out_open(&o, &meta);
    for (uint32_t id = 1; id <= 2; id++) {
        size_t n = simple_def(def, 0x1000 * id, 1, 1);
        /* The access byte of the only slot, see events.h. */
        def[n - 2] |= id == 2 ? CTR_ACCESS_STORE : 0;
        assert_int_equal(ctr_dict_add(o.dict, id, def, n, NULL), 0);
    }
    out_threads(&o, threads);
    nr_steps = 0;
    /* Any order in the file; a thread may be far ahead of the others. */
    while (chunks--) {
        const uint32_t thread = below(threads);
        make_chunk(&o, thread, &maker[thread]);
    }
    assert_int_equal(ctr_open_fd(&tr, out_finish(&o), flags, NULL), 0);
    qsort(steps, nr_steps, sizeof(steps[0]), in_order);
    return tr;
}

/* -------------------------------------------------------------------- a filter */

struct choice {
    struct ctr_filter filter;
    uint32_t threads[2];
    struct ctr_range range[2];
    int exec;
};

static void choose(struct choice *c, uint32_t threads)
{
    *c = (struct choice){.exec = below(4) == 0};
    if (threads > 2 && below(2)) {
        c->threads[0] = below(threads);
        c->threads[1] = (c->threads[0] + 1 + below(threads - 1)) % threads;
        c->filter.threads = c->threads;
        c->filter.nthread = 2;
    }
    if (c->exec) {
        c->range[0] = (struct ctr_range){0x2000, 0x2001, 0};
        c->filter.pcs = c->range;
        c->filter.npc = 1;
        c->filter.kinds = CTR_KIND_EXEC;
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t addr = 0x1000 + STRIDE * below(PLACES);
        c->range[i] = (struct ctr_range){addr, addr + 1, 0};
    }
    c->filter.addrs = c->range;
    c->filter.naddr = 2;
    c->filter.kinds = (below(2) ? CTR_KIND_STORE : CTR_KIND_LOAD) |
                      (below(2) ? CTR_KIND_STORE : 0) | (below(2) ? CTR_KIND_SYS : 0);
    if (below(3) == 0 && nr_steps) {
        c->filter.from_ns = steps[below((uint32_t)nr_steps)].ns;
    }
}

static int has_thread(const struct choice *c, uint32_t thread)
{
    return !c->filter.nthread || c->threads[0] == thread || c->threads[1] == thread;
}

static int selected(const struct choice *c, const struct step *s)
{
    if (!has_thread(c, s->thread)) {
        return 0;
    }
    if (c->exec) {
        return s->insn && s->store;
    }
    return s->known >= c->filter.from_ns && (s->insn || c->filter.kinds & CTR_KIND_SYS) &&
           c->filter.kinds & (s->store ? CTR_KIND_STORE : CTR_KIND_LOAD) &&
           (s->addr == c->range[0].from || s->addr == c->range[1].from);
}

/* --------------------------------------------------------------------- searches */

static size_t next_step(const struct choice *c, size_t at, int back)
{
    while (at < nr_steps && !selected(c, &steps[at])) {
        at += back ? SIZE_MAX : 1;
    }
    return at;
}

static void check(const struct ctr_found *f, const struct step *s)
{
    assert_int_equal(f->thread->index, s->thread);
    assert_int_equal(f->ordinal, s->ordinal);
    assert_int_equal(!f->system, s->insn);
    assert_int_equal(f->time_ns, s->ns);
    /* Nothing of another thread is between these. */
    for (size_t i = 0; !f->system && i < nr_steps; i++) {
        const struct step *t = &steps[i];
        if (t->thread == s->thread && t->insn && t->ordinal >= f->from &&
            t->ordinal < f->to) {
            assert_int_equal(t->ns, s->ns);
        }
    }
}

/* From an instruction of any thread, or the point before it, through all that is on that
 * side of it. Returns how much that was. */
static size_t go_on(struct ctr_trace *tr, const struct choice *c, size_t from, int back,
                    int point)
{
    const struct step *place = &steps[from];
    struct ctr_found found;
    size_t at = next_step(c, back ? from - 1 : from + !point, back), n = 0;
    unsigned flags = (back ? CTR_SEARCH_BACK : 0) | (point ? CTR_SEARCH_POINT : 0);
    for (;;) {
        const int got = ctr_search(tr, &c->filter, place->thread, place->ordinal, flags,
                                   1 + (below(4) == 0), &found, NULL);
        assert_int_equal(got, at < nr_steps);
        if (!got) {
            return n;
        }
        n++;
        check(&found, &steps[at]);
        /* Of an instruction, or of the system's accesses at one time, it finds one. */
        const size_t this = at;
        while (at < nr_steps && !in_order(&steps[at], &steps[this])) {
            at = next_step(c, back ? at - 1 : at + 1, back);
        }
        flags = (back ? CTR_SEARCH_BACK : 0) | CTR_SEARCH_FOUND;
    }
}

/* The accesses that a cursor gives: the same set. */
static void check_cursor(struct ctr_trace *tr, const struct choice *c)
{
    struct ctr_cursor *cursor;
    struct ctr_event ev;
    size_t expected = 0, n = 0;
    int got;
    assert_int_equal(ctr_cursor_open(&cursor, tr, &c->filter, NULL), 0);
    while ((got = ctr_cursor_next(cursor, &ev, NULL)) == 1) {
        n += ev.kind == (c->exec ? CTR_CURSOR_EXEC : CTR_CURSOR_MEM);
    }
    assert_int_equal(got, 0);
    ctr_cursor_close(cursor);
    for (size_t i = 0; i < nr_steps; i++) {
        expected += steps[i].insn && selected(c, &steps[i]);
    }
    assert_int_equal(n, expected);
}

static void check_choice(struct ctr_trace *tr, uint32_t threads)
{
    struct choice c;
    size_t first = 0, last = nr_steps - 1;
    while (first < last && !steps[first].insn) {
        first++;
    }
    while (last > first && !steps[last].insn) {
        last--;
    }
    choose(&c, threads);
    check_cursor(tr, &c);
    for (unsigned i = 0; i < 5; i++) {
        const size_t from = i == 0 ? first : i == 1 ? last : below((uint32_t)nr_steps);
        const int back = i < 2 ? i == 1 : (int)below(2);
        if (steps[from].insn) {
            met += go_on(tr, &c, from, back, (int)below(2));
        }
    }
}

static void test_merged(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 40; k++) {
        seed = k + 1;
        const uint32_t threads = 2 + below(MAX_THREADS - 1);
        struct ctr_trace *tr =
            make_trace(threads, 2 + below(50), k & 1 ? CTR_OPEN_NO_INDEX : 0);
        for (unsigned i = 0; i < 3 && nr_steps; i++) {
            check_choice(tr, threads);
        }
        ctr_close(tr);
    }
    assert_true(met > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
