/* SPDX-License-Identifier: MIT */
/*
 * The history of address spaces, compared with a model that keeps a page table: random
 * events of several processes and threads are written as a trace that has an
 * instruction after each event, and the library's answer for every moment must be the
 * model's.  Such traces also test the order of chunks, and thread ends from events.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "siderec.h"
#include "ctr_write.h"
#include "maps/maps.h"
#include "peak.h"
#include "random.h"
#include "sanitized.h"
#include "support.h"
#include "cannoli/events.h"

#define PAGES 64u
#define BASE 0x10000ull
#define PAGE 0x1000ull

struct page {
    int used;
    unsigned file; /* 0 anonymous, 1.. files, 99 heap */
    uint64_t offset;
    unsigned prot;
    int shared;
    unsigned born;  /* the moment at which its contents began ... */
    unsigned began; /* ... and how, CTR_MAPPING_* */
};
typedef struct page table[PAGES];

static uint64_t state;

static uint32_t below(uint32_t n)
{
    return random_below(&state, n);
}

static const char *path_of(unsigned file)
{
    static const char *const paths[] = {"", "/a.so", "/b.so", "/c.so"};
    return file == 99 ? "[heap]" : paths[file];
}

/* ---------------------------------------------------------------- the model */

enum { PROCESSES = 3, THREADS = 2, MOMENTS = 300 };

struct model {
    table now;
    unsigned heap_end; /* page; the heap begins at page 40 */
    table *history;    /* after moment i */
    uint64_t *time;
    unsigned moments;
};

static uint64_t addr_of(unsigned page)
{
    return BASE + page * PAGE;
}

static void set_pages(table t, unsigned from, unsigned n, struct page p)
{
    for (unsigned i = 0; i < n; i++) {
        t[from + i] = p;
        if (p.file && p.file != 99) {
            p.offset += PAGE;
        }
    }
}

/* Changes the model at random and writes the event for it. */
static void random_event(struct model *m, struct payload *p)
{
    unsigned from = below(PAGES), n = 1 + below(PAGES - from < 12 ? PAGES - from : 12);
    unsigned file = below(4), prot = below(8);
    int shared = below(4) == 0;
    struct page page = {
        1, file, file ? below(4) * PAGE : 0, prot, shared, m->moments, CTR_MAPPING_NEW};
    switch (below(7)) {
    case 0:
    case 1:
        set_pages(m->now, from, n, page);
        payload_map(p, CTR_MAP_MMAP, prot, shared ? 1 : 2, addr_of(from), n * PAGE,
                    page.offset, path_of(file));
        break;
    case 2:
        memset(&m->now[from], 0, n * sizeof(struct page));
        payload_map(p, below(2) ? CTR_MAP_MUNMAP : CTR_MAP_SHMDT, 0, 0, addr_of(from),
                    n * PAGE, 0, "");
        break;
    case 3:
        for (unsigned i = from; i < from + n; i++) {
            m->now[i].prot = prot;
        }
        payload_map(p, CTR_MAP_MPROTECT, prot, 0, addr_of(from), n * PAGE, 0, "");
        break;
    case 4:
        for (unsigned i = from; i < from + n; i++) {
            if (!m->now[i].shared) {
                m->now[i].born = m->moments;
                m->now[i].began = CTR_MAPPING_NEW;
            }
        }
        payload_map(p, CTR_MAP_DISCARD, 0, 0, addr_of(from), n * PAGE, 0, "");
        break;
    case 5: {
        unsigned end = 40 + below(10);
        if (end > m->heap_end) {
            set_pages(m->now, m->heap_end, end - m->heap_end,
                      (struct page){1, 99, 0, 3, 0, m->moments, CTR_MAPPING_NEW});
        } else {
            memset(&m->now[end], 0, (m->heap_end - end) * sizeof(struct page));
        }
        m->heap_end = end;
        payload_map(p, CTR_MAP_BRK, 3, 2, addr_of(40), (end - 40) * PAGE, 0, "[heap]");
        break;
    }
    default: {
        /* Move whole pieces, to where no part of them is. */
        unsigned size = 1 + below(6), to = below(PAGES - size + 1);
        table old;
        memcpy(old, m->now, sizeof(old));
        unsigned least = from < to ? from : to, most = from < to ? to : from;
        if (from + n > PAGES || most - least < (n > size ? n : size)) {
            payload_map(p, CTR_MAP_MUNMAP, 0, 0, 0x1000000, PAGE, 0, "");
            break;
        }
        int keep = below(3) == 0;
        if (!keep) {
            memset(&m->now[from], 0, n * sizeof(struct page));
        }
        unsigned used = 0;
        for (unsigned i = 0; i < n; i++) {
            used += (unsigned)old[from + i].used;
        }
        if (used != n) { /* outside of this test: holes cannot be moved */
            memcpy(m->now, old, sizeof(old));
            payload_map(p, CTR_MAP_MUNMAP, 0, 0, 0x1000000, PAGE, 0, "");
            break;
        }
        for (unsigned i = 0; i < size; i++) {
            if (i < n) {
                m->now[to + i] = old[from + i];
                m->now[to + i].born = m->moments;
                m->now[to + i].began = CTR_MAPPING_MOVED;
            } else {
                m->now[to + i] = m->now[to + i - 1];
                m->now[to + i].began = CTR_MAPPING_NEW;
                if (m->now[to + i].file && m->now[to + i].file != 99) {
                    m->now[to + i].offset += PAGE;
                }
            }
        }
        payload_map(p, CTR_MAP_MREMAP, 0, keep ? 4 : 1, addr_of(to), size * PAGE, 0, "");
        payload_old(p, addr_of(from), n * PAGE);
    }
    }
}

static void remember(struct model *m, uint64_t time)
{
    memcpy(m->history[m->moments], m->now, sizeof(m->now));
    m->time[m->moments++] = time;
}

/* ---------------------------------------------------------------- the trace */

#define MAX_WORDS 4096u

static void out_begin(struct out *o)
{
    const struct ctr_meta meta = {
        .target = "x", .events = CTR_EVENTS_EXEC | CTR_EVENTS_MAP, .addr_bits = 64};
    uint8_t def[64];
    out_open(o, &meta);
    assert_int_equal(ctr_dict_add(o->dict, 1, def, simple_def(def, BASE, 1, 0), NULL), 0);
}

/* The same with a process and its thread 1. */
static void out_begin_thread(struct out *o)
{
    out_begin(o);
    out_threads(o, 1);
}

/* Writes a run of so many instructions. */
static void out_run(struct out *o, uint32_t thread, struct sidebuf *a, uint32_t insns,
                    uint64_t start)
{
    struct ctr_diag diag = {.text = ""};
    uint32_t words[MAX_WORDS];
    assert_true(insns <= MAX_WORDS);
    for (uint32_t i = 0; i < insns; i++) {
        words[i] = 1;
    }
    const struct ctr_segment seg = {.words = words,
                                    .n_words = insns,
                                    .side = a->p,
                                    .side_bytes = (uint32_t)a->n,
                                    .start_ns = start,
                                    .end_ns = start + 1};
    if (ctr_encoder_run(o->enc, &seg, 1, o->packed, &diag) ||
        ctr_writer_chunk(o->w, thread, o->packed, &diag)) {
        fail_msg("%s: %s", diag.field, diag.text);
    }
    a->n = 0;
}

static void out_chunk(struct out *o, uint32_t thread, struct sidebuf *a, uint64_t start)
{
    out_run(o, thread, a, 0, start);
}

static struct ctr_trace *out_end(struct out *o, unsigned flags)
{
    struct ctr_trace *tr;
    assert_int_equal(ctr_open_fd(&tr, out_finish(o), flags, NULL), 0);
    return tr;
}

/* --------------------------------------------------------------------- tests */

/* Does a history with these flags cover it? */
static int is_covered(const struct page *p, unsigned flags)
{
    return p->used && (!(flags & CTR_MAPS_CODE) || p->prot & 4 ||
                       (path_of(p->file)[0] == '/' && p->prot & 2));
}

struct check {
    unsigned flags;
    const struct page *want;
    uint32_t process;
    uint64_t time;
    uint64_t end; /* of the previous mapping */
    unsigned pages;
};

static int check_mapping(void *arg, const struct ctr_mapping *m)
{
    struct check *c = arg;
    assert_true(m->start >= c->end);
    assert_true(m->start < m->end);
    assert_true(m->from_ns <= c->time && c->time < m->to_ns);
    assert_int_equal(m->process, c->process);
    for (uint64_t a = m->start; a < m->end; a += PAGE) {
        const struct page *p = &c->want[(a - BASE) / PAGE];
        assert_true(is_covered(p, c->flags));
        assert_string_equal(m->path, path_of(p->file));
        assert_int_equal(m->prot, p->prot);
        if (p->file && p->file != 99) {
            assert_int_equal(m->offset + (a - m->start), p->offset);
            assert_int_equal(m->build_id_bytes, 2);
        }
        c->pages++;
    }
    /* Neighbours that /proc/PID/maps would show as one mapping are one. */
    if (c->end == m->start && c->end) {
        const struct page *a = &c->want[(m->start - BASE) / PAGE - 1], *b = a + 1;
        int file = a->file && a->file != 99;
        assert_false(a->file == b->file && a->prot == b->prot && a->shared == b->shared &&
                     (!file || a->offset + PAGE == b->offset));
    }
    c->end = m->end;
    return 0;
}

static void check_moment(const struct ctr_maps *maps, unsigned flags, uint32_t process,
                         const struct page *want, uint64_t time)
{
    struct check c = {.flags = flags, .want = want, .process = process, .time = time};
    unsigned used = 0;
    assert_int_equal(ctr_maps_each(maps, process, time, check_mapping, &c), 0);
    for (unsigned i = 0; i < PAGES; i++) {
        used += (unsigned)is_covered(&want[i], flags);
        struct ctr_mapping m;
        int found = ctr_maps_find(maps, process, time, addr_of(i) + below(PAGE), &m);
        assert_int_equal(found, is_covered(&want[i], flags));
        if (found) {
            assert_true(m.start <= addr_of(i) && addr_of(i) < m.end);
            assert_string_equal(m.path, path_of(want[i].file));
            assert_int_equal(m.prot, want[i].prot);
            assert_int_equal(m.process, process);
            assert_true(m.from_ns <= time && time < m.to_ns);
        }
    }
    assert_int_equal(c.pages, used);
    assert_false(ctr_maps_find(maps, process, time, BASE - 1, NULL));
    assert_false(ctr_maps_find(maps, process, time, addr_of(PAGES), NULL));
}

struct rectangles {
    unsigned flags;
    const struct model *model;
    unsigned char *seen; /* [moment][page]: number of mappings that hold it */
    struct ctr_mapping last;
    unsigned calls;
};

static int check_rectangle(void *arg, const struct ctr_mapping *m)
{
    struct rectangles *r = arg;
    const struct model *model = r->model;
    assert_true(m->start < m->end && m->from_ns < m->to_ns);
    if (r->calls++) {
        assert_true(m->start > r->last.start ||
                    (m->start == r->last.start && m->from_ns >= r->last.to_ns));
    }
    r->last = *m;
    for (unsigned k = 0; k < model->moments; k++) {
        if (model->time[k] < m->from_ns || model->time[k] >= m->to_ns) {
            continue;
        }
        for (uint64_t a = m->start; a < m->end; a += PAGE) {
            unsigned i = (unsigned)((a - BASE) / PAGE);
            const struct page *p = &model->history[k][i];
            assert_true(is_covered(p, r->flags));
            assert_string_equal(m->path, path_of(p->file));
            assert_int_equal(m->prot, p->prot);
            if (!(r->flags ||
                  m->began == (model->time[p->born] == m->from_ns ? p->began
                                                                  : CTR_MAPPING_KEPT))) {
                printf("k %u page %u born %u t %lu from %lu began %u want %u\n", k, i,
                       p->born, (long)model->time[p->born], (long)m->from_ns, m->began,
                       p->began);
            }
            /* That only code counts makes other mappings begin. */
            assert_true(r->flags || m->began == (model->time[p->born] == m->from_ns
                                                     ? p->began
                                                     : CTR_MAPPING_KEPT));
            if (p->file && p->file != 99) {
                assert_int_equal(m->offset + (a - m->start), p->offset);
            }
            r->seen[k * PAGES + i]++;
        }
    }
    return 0;
}

static int stop_third(void *arg, const struct ctr_mapping *m)
{
    (void)m;
    return ++*(unsigned *)arg == 3 ? 77 : 0;
}

/* Every page of every moment is in exactly one mapping of the whole history. */
static void check_history(const struct ctr_maps *maps, unsigned flags, uint32_t process,
                          const struct model *model)
{
    struct rectangles r = {.flags = flags, .model = model};
    unsigned calls = 0;
    r.seen = calloc(model->moments, PAGES);
    assert_int_equal(ctr_maps_history(maps, process, check_rectangle, &r), 0);
    for (unsigned k = 0; k < model->moments; k++) {
        for (unsigned i = 0; i < PAGES; i++) {
            assert_int_equal(r.seen[k * PAGES + i],
                             is_covered(&model->history[k][i], flags));
        }
    }
    free(r.seen);
    assert_int_equal(ctr_maps_history(maps, process, stop_third, &calls), 77);
    assert_int_equal(calls, 3);
}

/* At each instruction, a code-only history agrees with the whole one about code. */
static void check_times(const struct ctr_trace *tr, const struct ctr_maps *whole,
                        const struct ctr_maps *code)
{
    struct ctr_info info;
    struct ctr_chunk c;
    uint64_t until[2];
    ctr_trace_info(tr, &info);
    for (uint64_t i = 0; i < info.chunks; i++) {
        assert_int_equal(ctr_trace_chunk(tr, i, &c, NULL), 0);
        uint32_t process = ctr_trace_thread(tr, c.thread)->process;
        for (uint64_t at = c.first; at <= c.first + c.insns; at++) {
            uint64_t all = ctr_maps_time(whole, &c, at, &until[0]);
            uint64_t some = ctr_maps_time(code, &c, at, &until[1]);
            assert_true(some <= all && at < until[0] && until[0] <= until[1]);
            for (unsigned k = 0; k < PAGES; k++) {
                struct ctr_mapping a, b;
                int want = ctr_maps_find(whole, process, all, addr_of(k), &a) &&
                           (a.prot & 4 || (a.prot & 2 && a.path[0] == '/'));
                assert_int_equal(ctr_maps_find(code, process, some, addr_of(k), &b),
                                 want);
                assert_true(!want ||
                            (a.start == b.start && a.end == b.end && a.prot == b.prot &&
                             a.base == b.base && a.from_ns == b.from_ns &&
                             a.to_ns == b.to_ns && strcmp(a.path, b.path) == 0));
            }
        }
    }
}

static void check_model(const struct ctr_maps *maps, unsigned flags, uint32_t process,
                        const struct model *m)
{
    check_history(maps, flags, process, m);
    check_moment(maps, flags, process, m->history[0], m->time[0]);
    for (unsigned k = 0; k < m->moments; k++) {
        check_moment(maps, flags, process, m->history[k], m->time[k]);
        uint64_t next = k + 1 < m->moments ? m->time[k + 1] : m->time[k] + 1000000;
        check_moment(maps, flags, process, m->history[k], next - 1);
    }
}

static void run_random(uint64_t seed)
{
    struct out o;
    static struct model model[PROCESSES];
    struct sidebuf side[PROCESSES * THREADS] = {{0}};
    uint32_t insns[PROCESSES * THREADS] = {0};
    uint64_t begun[PROCESSES * THREADS] = {0}; /* of each thread's chunk */
    struct payload p;
    state = seed * 0x9e3779b97f4a7c15ull + 1;
    out_begin(&o);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        uint32_t index;
        memset(&model[i], 0, sizeof(model[i]));
        model[i].heap_end = 40;
        model[i].history = calloc(MOMENTS + 50, sizeof(table));
        model[i].time = calloc(MOMENTS + 50, sizeof(uint64_t));
        assert_int_equal(ctr_writer_process(o.w, 10 + (int)i, 1, 0, &index, NULL), 0);
        for (int k = 0; k < THREADS; k++) {
            assert_int_equal(ctr_writer_thread(o.w, i, 10 + k, 0, 0, &index, NULL), 0);
        }
        /* The initial mappings: some pieces, reported one after the other. */
        for (unsigned page = 0; page < 30; page += 3) {
            struct page pg = {1, below(4), 0, 5, 0, 0, CTR_MAPPING_INITIAL};
            pg.offset = pg.file ? page * PAGE : 0;
            set_pages(model[i].now, page, 2, pg);
            payload_map(&p, CTR_MAP_INITIAL, 5, 2, addr_of(page), 2 * PAGE, pg.offset,
                        path_of(pg.file));
            side_event(&side[i * THREADS], 0, 0, CTR_EVENT_MAP, 100 + page, &p);
        }
        remember(&model[i], 100);
    }
    uint64_t time = 1000;
    for (unsigned n = 0; n < MOMENTS * PROCESSES; n++) {
        unsigned i = below(PROCESSES), t = i * THREADS + below(THREADS);
        struct model *m = &model[i];
        if (m->moments > MOMENTS) {
            continue;
        }
        time += below(4) * 10;
        random_event(m, &p);
        side_event(&side[t], insns[t]++, 0, CTR_EVENT_MAP, time, &p);
        if (m->time[m->moments - 1] == time) {
            m->moments--; /* only the last event of a time can be seen */
        }
        remember(m, time);
        if (below(20) == 0) {
            out_run(&o, t, &side[t], insns[t], begun[t]);
            insns[t] = 0;
            begun[t] = time;
            time += 1;
        }
        /* No order of two threads' events at one time would be the only right one. */
        time += THREADS > 1;
    }
    for (uint32_t t = 0; t < PROCESSES * THREADS; t++) {
        out_run(&o, t, &side[t], insns[t], begun[t]);
        side_free(&side[t]);
    }
    struct ctr_trace *tr = out_end(&o, seed & 1 ? CTR_OPEN_NO_INDEX : 0);
    struct ctr_maps *maps, *code;
    /* applied as they come, or all at the end */
    assert_int_equal(maps_load(&maps, tr, 0, 0, seed % 3 * 20, NULL), 0);
    assert_int_equal(maps_load(&code, tr, 0, CTR_MAPS_CODE, seed % 2 * 50, NULL), 0);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        check_model(maps, 0, i, &model[i]);
        check_model(code, CTR_MAPS_CODE, i, &model[i]);
        free(model[i].history);
        free(model[i].time);
    }
    check_times(tr, maps, code);
    assert_false(ctr_maps_find(maps, PROCESSES, 0, BASE, NULL));
    ctr_maps_free(maps);
    ctr_maps_free(code);
    ctr_close(tr);
}

static void test_random(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        run_random(seed);
    }
}

static void map_at(struct sidebuf *a, uint64_t time, uint32_t op, uint64_t start,
                   uint64_t size, uint64_t offset, const char *path)
{
    struct payload p;
    payload_map(&p, op, 5, 2, start, size, offset, path);
    side_event(a, 0, 0, CTR_EVENT_MAP, time, &p);
}

/* In pages from 0x700000. */
static int append_library(void *arg, const struct ctr_mapping *m)
{
    char *text = arg;
    if (m->start >= 0x700000 && m->end <= 0x709000) {
        size_t n = strlen(text);
        snprintf(text + n, 400 - n, "%u-%u@%u..%u ",
                 (unsigned)((m->start - 0x700000) >> 12),
                 (unsigned)((m->end - 0x700000) >> 12), (unsigned)m->from_ns,
                 (unsigned)m->to_ns);
    }
    return 0;
}

/* Where a module begins; a program that another one replaces. */
static void test_modules(void **unused)
{
    (void)unused;
    struct out o;
    struct sidebuf a = {0};
    struct payload p;
    out_begin_thread(&o);
    map_at(&a, 10, CTR_MAP_INITIAL, 0x400000, 0x2000, 0x1000, "/a.out");
    map_at(&a, 11, CTR_MAP_INITIAL, 0xfffffffffffff000ull, 0x1000, 0, "[vsyscall]");
    /* As a loader does: maps the whole, then its parts over it; twice. */
    for (uint64_t base = 0x700000; base <= 0x800000; base += 0x100000) {
        map_at(&a, 20, CTR_MAP_MMAP, base, 0x9000, 0, "/lib.so");
        map_at(&a, 21, CTR_MAP_MMAP, base + 0x3000, 0x2000, 0x3000, "/lib.so");
        map_at(&a, 22, CTR_MAP_MMAP, base + 0x6000, 0x1000, 0x5000, "/lib.so");
        map_at(&a, 23, CTR_MAP_MMAP, base + 0x7000, 0x2000, 0, "");
        map_at(&a, 24, CTR_MAP_MPROTECT, base + 0x6000, 0x1000, 0, "");
    }
    payload_thread(&p, CTR_THREAD_EXEC, 1, 1, "/b.out");
    side_event(&a, 0, 0, CTR_EVENT_THREAD, 30, &p);
    map_at(&a, 31, CTR_MAP_INITIAL, 0x500000, 0x1000, 0, "/b.out");
    map_at(&a, 32, CTR_MAP_INITIAL, 0x600000, 0x1000, 0, "[stack]");
    /* Sizes that reach past the end of the address space. */
    map_at(&a, 40, CTR_MAP_MMAP, 0xffffffffffffe000ull, UINT64_MAX, 0, "");
    map_at(&a, 41, CTR_MAP_MUNMAP, 0, 0, 0, "");
    out_chunk(&o, 0, &a, 5);
    struct ctr_trace *tr = out_end(&o, 0);
    struct ctr_maps *maps;
    assert_int_equal(ctr_maps_load(&maps, tr, NULL), 0);
    struct ctr_mapping m;
    assert_true(ctr_maps_find(maps, 0, 0, 0x400000, &m)); /* also before its event */
    assert_int_equal(m.base, 0x3ff000);
    assert_int_equal(m.from_ns, 10);
    assert_int_equal(m.to_ns, 31);
    for (uint64_t base = 0x700000; base <= 0x800000; base += 0x100000) {
        static const struct {
            uint64_t at, start, end, offset;
        } parts[] = {{0x2fff, 0, 0x3000, 0},
                     {0x4000, 0x3000, 0x5000, 0x3000},
                     {0x5000, 0x5000, 0x6000, 0x5000},
                     {0x6123, 0x6000, 0x7000, 0x5000}};
        for (unsigned i = 0; i < 4; i++) {
            assert_true(ctr_maps_find(maps, 0, 29, base + parts[i].at, &m));
            assert_string_equal(m.path, "/lib.so");
            assert_int_equal(m.start, base + parts[i].start);
            assert_int_equal(m.end, base + parts[i].end);
            assert_int_equal(m.offset, parts[i].offset);
            assert_int_equal(m.base, base);
        }
        assert_true(ctr_maps_find(maps, 0, 29, base + 0x7000, &m));
        assert_string_equal(m.path, "");
        assert_int_equal(m.base, m.start);
        assert_false(ctr_maps_find(maps, 0, 31, base, NULL));
    }
    assert_false(ctr_maps_find(maps, 0, 31, 0x400000, NULL));
    assert_true(ctr_maps_find(maps, 0, 31, 0x600000, NULL));
    assert_true(ctr_maps_find(maps, 0, 45, 0xffffffffffffe000ull, NULL));
    assert_true(ctr_maps_find(maps, 0, 45, 0x500fff, NULL));
    assert_false(ctr_maps_find(maps, 0, 45, 0x501000, NULL));
    /* The first library's parts over the whole time: one mapping, then pieces. */
    char text[400] = "";
    assert_int_equal(ctr_maps_history(maps, 0, append_library, text), 0);
    assert_string_equal(
        text, "0-9@20..21 0-3@21..31 3-5@21..31 5-9@21..22 5-6@22..31 6-7@22..24 "
              "6-7@24..31 7-9@22..23 7-9@23..31 ");
    ctr_maps_free(maps);
    ctr_close(tr);
    side_free(&a);
}

/* Maps a page of code; id: the first byte of the build id, 0: there is none. */
static void map_build(struct sidebuf *a, uint64_t time, uint64_t start, uint64_t offset,
                      const char *path, uint8_t id)
{
    struct payload p;
    payload_map(&p, CTR_MAP_MMAP, 5, 2, start, PAGE, offset, path);
    p.p[p.n - 2] = id;
    if (!id) {
        p.n -= 2;
        memset(p.p + p.n - 2, 0, 2);
    }
    side_event(a, 0, 0, CTR_EVENT_MAP, time, &p);
}

static void check_build(const struct ctr_maps *maps, uint64_t time, uint64_t addr,
                        uint8_t id)
{
    struct ctr_mapping m;
    assert_true(ctr_maps_find(maps, 0, time, addr, &m));
    assert_int_equal(m.build_id_bytes, id ? 2 : 0);
    assert_true(!id || m.build_id[0] == id);
}

/* A build id, which the mapping of offset 0 comes with, is that of all mappings of the
 * file at that time. */
static void test_build_ids(void **unused)
{
    (void)unused;
    struct out o;
    struct sidebuf a = {0};
    out_begin_thread(&o);
    map_build(&a, 10, 0x700000, 0, "/lib.so", 7);
    map_build(&a, 10, 0x701000, 0, "/x.so", 0); /* another file between */
    map_build(&a, 10, 0x702000, PAGE, "/lib.so", 0);
    map_build(&a, 10, 0x703000, PAGE, "/x.so", 0);
    map_build(&a, 10, 0x6ff000, 2 * PAGE, "/lib.so", 0); /* below */
    map_build(&a, 10, 0x704000, PAGE, "/lib2.so", 0);    /* the same inode */
    /* The file was replaced: what is mapped again is of the new one. */
    map_at(&a, 20, CTR_MAP_MUNMAP, 0x700000, 0x1000, 0, "");
    map_at(&a, 20, CTR_MAP_MUNMAP, 0x702000, 0x1000, 0, "");
    map_build(&a, 20, 0x800000, 0, "/lib.so", 9);
    map_build(&a, 20, 0x801000, PAGE, "/lib.so", 0);
    out_chunk(&o, 0, &a, 5);
    struct ctr_trace *tr = out_end(&o, 0);
    for (unsigned flags = 0; flags <= CTR_MAPS_CODE; flags++) {
        struct ctr_maps *maps;
        assert_int_equal(ctr_maps_load_to(&maps, tr, 0, flags, NULL), 0);
        check_build(maps, 15, 0x700000, 7);
        check_build(maps, 15, 0x701000, 0);
        check_build(maps, 15, 0x702000, 7);
        check_build(maps, 15, 0x703000, 0);
        check_build(maps, 15, 0x6ff000, 7);
        check_build(maps, 15, 0x704000, 0);
        check_build(maps, 25, 0x6ff000, 7);
        check_build(maps, 25, 0x801000, 9);
        ctr_maps_free(maps);
    }
    ctr_close(tr);
    side_free(&a);
}

/* Pieces that became one mapping again are reported as one. */
static void test_neighbours(void **unused)
{
    (void)unused;
    struct out o;
    struct sidebuf a = {0};
    out_begin_thread(&o);
    map_at(&a, 10, CTR_MAP_MMAP, 0x700000, 0x3000, 0, "/lib.so");
    map_at(&a, 10, CTR_MAP_MMAP, 0x703000, 0x4000, 0x3000, "/lib.so");
    map_at(&a, 10, CTR_MAP_MMAP, 0x707000, 0x2000, 0, "/other.so");
    map_at(&a, 20, CTR_MAP_MUNMAP, 0x700000, 0x9000, 0, "");
    out_chunk(&o, 0, &a, 5);
    struct ctr_trace *tr = out_end(&o, 0);
    struct ctr_maps *maps;
    char text[400] = "";
    assert_int_equal(ctr_maps_load(&maps, tr, NULL), 0);
    assert_int_equal(ctr_maps_history(maps, 0, append_library, text), 0);
    assert_string_equal(text, "0-7@10..20 7-9@10..20 ");
    ctr_maps_free(maps);
    ctr_close(tr);
    side_free(&a);
}

/*
 * The heap of a forked process can be several mappings, of which only the first has its
 * name.  It grows from the end of the last one, which keeps its memory.
 */
static void test_heap_in_parts(void **unused)
{
    (void)unused;
    struct out o;
    struct sidebuf a = {0};
    struct payload p;
    struct ctr_maps *maps;
    struct ctr_mapping m;
    out_begin_thread(&o);
    map_at(&a, 10, CTR_MAP_INITIAL, 0x700000, 0x2000, 0, "[heap]");
    map_at(&a, 10, CTR_MAP_INITIAL, 0x702000, 0x2000, 0, "");
    payload_map(&p, CTR_MAP_BRK, 3, 2, 0x700000, 0x6000, 0, "[heap]");
    payload_old(&p, 0x700000, 0x4000);
    side_event(&a, 0, 0, CTR_EVENT_MAP, 20, &p);
    out_chunk(&o, 0, &a, 5);
    struct ctr_trace *tr = out_end(&o, 0);
    assert_int_equal(ctr_maps_load(&maps, tr, NULL), 0);
    for (unsigned i = 0; i < 6; i++) {
        assert_true(ctr_maps_find(maps, 0, 30, 0x700000 + i * PAGE, &m));
        assert_string_equal(m.path, "[heap]");
        assert_true(i < 4 ? m.began != CTR_MAPPING_NEW : m.began == CTR_MAPPING_NEW);
    }
    ctr_maps_free(maps);
    ctr_close(tr);
    side_free(&a);
}

/* A change that a code-only history leaves out, and another thread's at the same time. */
static void test_same_time(void **unused)
{
    (void)unused;
    struct out o;
    struct sidebuf a = {0};
    struct payload p;
    struct ctr_chunk c;
    uint64_t until;
    uint32_t index;
    out_begin(&o);
    assert_int_equal(ctr_writer_process(o.w, 1, 0, 0, &index, NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ctr_writer_thread(o.w, 0, 1 + i, 0, 0, &index, NULL), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        payload_map(&p, CTR_MAP_MMAP, 3, 2, addr_of(i), PAGE, 0, "");
        side_event(&a, i, 0, CTR_EVENT_MAP, 10 + 20 * i, &p);
    }
    out_run(&o, 0, &a, 4, 5);
    payload_map(&p, CTR_MAP_MMAP, 5, 2, addr_of(9), PAGE, 0, "/a.so");
    side_event(&a, 0, 0, CTR_EVENT_MAP, 50, &p);
    out_run(&o, 1, &a, 1, 6);
    struct ctr_trace *tr = out_end(&o, 0);
    struct ctr_maps *maps, *code;
    assert_int_equal(ctr_maps_load(&maps, tr, NULL), 0);
    assert_int_equal(ctr_maps_load_to(&code, tr, 0, CTR_MAPS_CODE, NULL), 0);
    check_times(tr, maps, code);
    assert_int_equal(ctr_trace_chunk(tr, 0, &c, NULL), 0);
    assert_int_equal(ctr_maps_time(code, &c, 1, &until), 10);
    assert_int_equal(until, 2);
    assert_int_equal(ctr_maps_time(code, &c, 3, &until), 50);
    assert_true(until == UINT64_MAX);
    ctr_maps_free(maps);
    ctr_maps_free(code);
    ctr_close(tr);
    side_free(&a);
}

/* Damaged events end a history, which says that and since when. */
static void test_damage(void **unused)
{
    (void)unused;
    struct out o;
    struct sidebuf a = {0};
    struct ctr_chunk c;
    struct ctr_maps *maps;
    struct ctr_diag diag;
    uint64_t from = 1;
    uint8_t byte;
    out_begin_thread(&o);
    for (unsigned i = 0; i < 4; i++) {
        map_at(&a, 100 * i + 10, CTR_MAP_MMAP, addr_of(i), PAGE, 0, "/a.so");
        out_run(&o, 0, &a, 1, 100 * i);
    }
    struct ctr_trace *tr = out_end(&o, 0);
    assert_int_equal(ctr_maps_load(&maps, tr, NULL), 0);
    assert_int_equal(ctr_maps_damage(maps, &from, &diag), 0);
    assert_int_equal(from, 1);
    ctr_maps_free(maps);
    /* The events are the last column of a chunk. */
    assert_int_equal(ctr_trace_chunk(tr, 2, &c, NULL), 0);
    uint64_t last = c.off + c.bytes - 1;
    assert_int_equal(pread(o.fd, &byte, 1, (off_t)last), 1);
    byte ^= 1;
    assert_int_equal(pwrite(o.fd, &byte, 1, (off_t)last), 1);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            ctr_maps_load_to(&maps, tr, 0, i ? CTR_MAPS_CODE : 0, i ? NULL : &diag), 0);
        assert_int_equal(ctr_maps_damage(maps, &from, i ? &diag : NULL), -CTR_E_CORRUPT);
        assert_int_equal(from, 200);
        for (unsigned k = 0; k < 4; k++) {
            assert_int_equal(ctr_maps_find(maps, 0, 199, addr_of(k), NULL), k < 2);
        }
        ctr_maps_free(maps);
    }
    assert_int_equal(diag.code, CTR_E_CORRUPT);
    assert_in_range(diag.off, c.off, last);
    /* A shorter history never reaches the damage. */
    assert_int_equal(ctr_maps_load_to(&maps, tr, 200, 0, NULL), 0);
    assert_int_equal(ctr_maps_damage(maps, &from, NULL), 0);
    ctr_maps_free(maps);
    ctr_close(tr);
    side_free(&a);
}

/* Thousands of pieces, also in one event, need hardly any time. */
static void test_many(void **unused)
{
    (void)unused;
    struct out o;
    struct sidebuf a = {0};
    enum { N = 60000 };
    out_begin_thread(&o);
    for (uint64_t i = 0; i < N; i++) {
        /* from both ends to the middle, with holes between */
        uint64_t k = i % 2 ? i : 2 * N - i;
        map_at(&a, 100 + i, CTR_MAP_MMAP, 0x100000 + k * 0x2000, 0x1000, 0, "/a.so");
    }
    map_at(&a, 200000, CTR_MAP_MPROTECT, 0, UINT64_MAX, 0, "");
    map_at(&a, 200001, CTR_MAP_MUNMAP, 0x200000, UINT64_MAX, 0, "");
    out_chunk(&o, 0, &a, 5);
    struct ctr_trace *tr = out_end(&o, 0);
    struct ctr_maps *maps;
    assert_int_equal(ctr_maps_load(&maps, tr, NULL), 0);
    for (uint64_t i = 0; i < N; i += 7) {
        uint64_t k = i % 2 ? i : 2 * N - i;
        uint64_t addr = 0x100000 + k * 0x2000;
        assert_true(ctr_maps_find(maps, 0, 150000, addr + 5, NULL));
        assert_false(ctr_maps_find(maps, 0, 150000, addr + 0x1000, NULL));
        if (i) { /* before its time it was not mapped */
            assert_false(ctr_maps_find(maps, 0, 99 + i, addr, NULL));
        }
        assert_int_equal(ctr_maps_find(maps, 0, 200001, addr, NULL), addr < 0x200000);
    }
    ctr_maps_free(maps);
    ctr_close(tr);
    side_free(&a);
}

/* Mappings come and go all the time: anonymous memory, or a file. */
static int churn_fd(const char *path)
{
    struct out o;
    struct sidebuf a = {0};
    enum { N = 300000, CHUNK = 2000 };
    out_begin_thread(&o);
    for (uint32_t i = 0, insns = 0; i < N; i++) {
        /* every tenth mapping stays for a while */
        uint64_t at = 0x7f0000000000 + i % 10 * PAGE + (i % 10 ? 0 : i % 5000 * 8 * PAGE);
        uint64_t time = 1000 + i * 20000ull;
        struct payload p;
        payload_map(&p, CTR_MAP_MMAP, path[0] ? 1 : 3, 2, at, PAGE, i % 7 * PAGE, path);
        side_event(&a, insns++, 0, CTR_EVENT_MAP, time, &p);
        if (i % 10) {
            payload_map(&p, CTR_MAP_MUNMAP, 0, 0, at, PAGE, 0, "");
            side_event(&a, insns++, 0, CTR_EVENT_MAP, time + 9000, &p);
        }
        if ((i + 1) % CHUNK == 0) {
            out_run(&o, 0, &a, insns, 1000 + (i + 1 - CHUNK) * 20000ull);
            insns = 0;
        }
    }
    int fd = dup(o.fd);
    ctr_close(out_end(&o, 0));
    side_free(&a);
    return fd;
}

/* A process of its own, "FD FLAGS MIB": reads the trace; the status says whether that
 * worked and stayed within its memory. */
static int reader(char **argv)
{
    struct ctr_trace *tr;
    struct ctr_maps *maps;
    if (ctr_open_fd(&tr, atoi(argv[1]), 0, NULL) ||
        ctr_maps_load_to(&maps, tr, 0, (unsigned)atoi(argv[2]), NULL)) {
        return 1;
    }
    if (getenv("CTR_TEST_VERBOSE")) {
        printf("%ld KiB\n", peak_kib());
    }
    return peak_kib() < 0 || peak_kib() > (atol(argv[3]) << 10) ? 2 : 0;
}

/* A history needs little memory, and one without anything requested nearly none. */
static void test_memory(void **unused)
{
    static const struct {
        const char *path;
        unsigned flags;
        unsigned mib;
    } cases[] = {{"", CTR_MAPS_CODE, 12}, {"", 0, 40}, {"/a.so", CTR_MAPS_CODE, 12}};
    (void)unused;
    if (SANITIZED) {
        skip();
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char fd[16], flags[16], mib[16];
        int trace = churn_fd(cases[i].path);
        snprintf(fd, sizeof(fd), "%d", trace);
        snprintf(flags, sizeof(flags), "%u", cases[i].flags);
        snprintf(mib, sizeof(mib), "%u", cases[i].mib);
        assert_int_equal(run_again(fd, flags, mib), 0);
        close(trace);
    }
}

/* No events: an empty history. */
static void test_none(void **unused)
{
    (void)unused;
    struct out o;
    struct ctr_maps *maps;
    uint32_t index;
    out_begin(&o);
    assert_int_equal(ctr_writer_process(o.w, 1, 0, 0, &index, NULL), 0);
    struct ctr_trace *tr = out_end(&o, 0);
    assert_int_equal(ctr_maps_load(&maps, tr, NULL), 0);
    assert_false(ctr_maps_find(maps, 0, 0, 0, NULL));
    assert_int_equal(ctr_maps_each(maps, 0, 0, NULL, NULL), 0);
    assert_int_equal(ctr_maps_history(maps, 0, NULL, NULL), 0);
    assert_int_equal(ctr_maps_history(maps, 5, NULL, NULL), 0);
    ctr_maps_free(maps);
    assert_int_equal(ctr_maps_load_to(&maps, tr, 0, 0x80, NULL), -CTR_E_INVAL);
    assert_null(maps);
    ctr_close(tr);
}

/* How threads ended, also in a file that has no end. */
static void test_ends(void **unused)
{
    (void)unused;
    struct out o;
    struct sidebuf a = {0};
    struct payload p;
    uint32_t index;
    out_begin(&o);
    assert_int_equal(ctr_writer_process(o.w, 7, 1, 0, &index, NULL), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ctr_writer_thread(o.w, 0, 7 + i, 0, 0, &index, NULL), 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        payload_thread(&p, CTR_THREAD_END, 7, 7 + (int)i, "");
        memcpy(p.p + 20, &(uint32_t){i ? CTR_END_SIGNAL : CTR_END_EXIT}, 4);
        memcpy(p.p + 24, &(uint32_t){i ? 11 : 3}, 4);
        side_event(&a, 0, 0, CTR_EVENT_THREAD, 500 + i, &p);
        out_chunk(&o, i, &a, 400 - i);
        if (i == 0) {
            /* At this point one thread has ended, its process has not. */
            struct ctr_trace *tr;
            assert_int_equal(ctr_open_fd(&tr, dup(o.fd), 0, NULL), 0);
            assert_int_equal(ctr_trace_thread(tr, 0)->end_reason, CTR_END_EXIT);
            assert_int_equal(ctr_trace_thread(tr, 0)->end_status, 3);
            assert_int_equal(ctr_trace_thread(tr, 0)->end_ns, 500);
            assert_int_equal(ctr_trace_thread(tr, 1)->end_reason, CTR_END_UNKNOWN);
            assert_int_equal(ctr_trace_process(tr, 0)->end_reason, CTR_END_UNKNOWN);
            ctr_close(tr);
        }
    }
    struct ctr_trace *tr;
    assert_int_equal(ctr_open_fd(&tr, dup(o.fd), 0, NULL), 0);
    assert_int_equal(ctr_trace_thread(tr, 1)->end_reason, CTR_END_SIGNAL);
    assert_int_equal(ctr_trace_thread(tr, 2)->end_reason, CTR_END_UNKNOWN);
    assert_int_equal(ctr_trace_process(tr, 0)->end_reason, CTR_END_SIGNAL);
    assert_int_equal(ctr_trace_process(tr, 0)->end_status, 11);
    ctr_close(tr);
    side_free(&a);
    ctr_close(out_end(&o, 0));
}

static int keep_order(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    uint64_t **next = arg;
    (void)data;
    for (; n; n--) {
        *(*next)++ = ctr_job_chunk(job)->index;
    }
    return 0;
}

static int event_byte(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    (void)arg;
    (void)e;
    return ctr_job_append(job, "x", 1);
}

/* Chunks of a file come in order of their begin times, those of one thread in their
 * own order; chunks of a stream come in order of arrival. */
static void test_order(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t thread;
        uint64_t start;
    } chunks[] = {{0, 50}, {1, 10}, {0, 40}, {1, 60}, {2, 45}, {0, 70}, {2, 45}, {1, 55}};
    /* 0's second chunk counts as begun at 50, 1's third at 60. */
    static const uint64_t want[] = {1, 4, 6, 0, 2, 3, 7, 5};
    static const struct ctr_replay_ops ops = {.os = event_byte, .ordered = keep_order};
    for (unsigned flags = 0; flags <= CTR_OPEN_STREAM; flags++) {
        struct out o;
        struct sidebuf a = {0};
        uint32_t index;
        out_begin(&o);
        assert_int_equal(ctr_writer_process(o.w, 7, 1, 0, &index, NULL), 0);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(ctr_writer_thread(o.w, 0, 7 + i, 0, 0, &index, NULL), 0);
        }
        for (unsigned i = 0; i < 8; i++) {
            map_at(&a, 100, CTR_MAP_MMAP, 0x1000, 0x1000, 0, "");
            out_chunk(&o, chunks[i].thread, &a, chunks[i].start);
        }
        struct ctr_trace *tr = out_end(&o, 0);
        if (flags) {
            int fd = dup(o.fd);
            ctr_close(tr);
            lseek(fd, 0, SEEK_SET);
            assert_int_equal(ctr_open_fd(&tr, fd, flags, NULL), 0);
        }
        uint64_t got[8] = {0}, *next = got;
        const struct ctr_replay_opts opts = {.workers = 3};
        assert_int_equal(ctr_replay(tr, &ops, &next, &opts, NULL), 0);
        assert_int_equal(next - got, 8);
        for (uint64_t i = 0; i < 8; i++) {
            assert_int_equal(got[i], flags & CTR_OPEN_STREAM ? i : want[i]);
        }
        if (!(flags & CTR_OPEN_STREAM)) {
            struct ctr_cursor *c;
            struct ctr_event ev;
            assert_int_equal(ctr_cursor_open(&c, tr, NULL, NULL), 0);
            for (unsigned i = 0; i < 8; i++) {
                assert_int_equal(ctr_cursor_next(c, &ev, NULL), 1);
                assert_int_equal(ev.os.thread->index, chunks[want[i]].thread);
            }
            assert_int_equal(ctr_cursor_next(c, &ev, NULL), 0);
            /* To thread 2, and on in the same order. */
            assert_int_equal(ctr_cursor_seek_thread(c, 2, NULL), 0);
            for (unsigned i = 1; i < 8; i++) {
                assert_int_equal(ctr_cursor_next(c, &ev, NULL), 1);
                assert_int_equal(ev.os.thread->index, chunks[want[i]].thread);
            }
            assert_int_equal(ctr_cursor_seek_time(c, 56, NULL), 0);
            for (unsigned i = 5; i < 8; i++) {
                assert_int_equal(ctr_cursor_next(c, &ev, NULL), 1);
                assert_int_equal(ev.os.thread->index, chunks[want[i]].thread);
            }
            ctr_cursor_close(c);
        }
        ctr_close(tr);
        side_free(&a);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),       cmocka_unit_test(test_order),
        cmocka_unit_test(test_random),     cmocka_unit_test(test_modules),
        cmocka_unit_test(test_many),       cmocka_unit_test(test_none),
        cmocka_unit_test(test_neighbours), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_same_time),  cmocka_unit_test(test_damage),
        cmocka_unit_test(test_build_ids),  cmocka_unit_test(test_heap_in_parts),
    };
    return argc == 4 ? reader(argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
