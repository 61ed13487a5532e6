/* SPDX-License-Identifier: MIT */
/*
 * The ring of the recorder: the same random chunks go into a small ring and into a
 * complete trace.  From the begin of the oldest chunk that is kept, the ring's trace must
 * agree with the complete one about mappings, labels and names; and little may remain of
 * what was dropped, however much it was.
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
#include "support.h"
#include "ctr_write.h"
#include "random.h"
#include "ring.h"
#include "cannoli/events.h"

#define BASE 0x10000ull
#define PAGE 0x1000ull
#define MS 1000000ull

enum { PAGES = 64, PROCESSES = 2, THREADS = 3, ALL = PROCESSES * THREADS, LABELS = 40 };

static uint64_t state;

static uint32_t below(uint32_t n)
{
    return random_below(&state, n);
}

/* ------------------------------------------------------------------ events */

static const char *some_path(void)
{
    static const char *const paths[] = {"", "", "", "/a.so", "/b.so", "/c.so"};
    return paths[below(6)];
}

static uint32_t random_map(struct payload *p)
{
    unsigned from = below(PAGES), n = 1 + below(PAGES - from < 12 ? PAGES - from : 12);
    unsigned to = below(PAGES - 12);
    const char *path = some_path();
    uint64_t offset = *path ? below(4) * PAGE : 0;
    switch (below(7)) {
    case 0:
    case 1:
        payload_map(p, CTR_MAP_MMAP, below(8), below(2), BASE + from * PAGE, n * PAGE,
                    offset, path);
        break;
    case 2:
    case 3:
        payload_map(p, CTR_MAP_MUNMAP, 0, 0, BASE + from * PAGE, n * PAGE, 0, "");
        break;
    case 4:
        payload_map(p, CTR_MAP_MPROTECT, below(8), 0, BASE + from * PAGE, n * PAGE, 0,
                    "");
        break;
    case 5:
        payload_map(p, CTR_MAP_BRK, 3, 2, BASE + 40 * PAGE, below(10) * PAGE, 0,
                    "[heap]");
        break;
    default:
        payload_map(p, CTR_MAP_MREMAP, 0, below(3) ? 1 : 4, BASE + to * PAGE,
                    (1 + below(12)) * PAGE, 0, "");
        payload_old(p, BASE + from * PAGE, n * PAGE);
        break;
    }
    return CTR_EVENT_MAP;
}

/* What of a machine's memory is dropped with its chunk. */
static uint32_t random_memory(struct payload *p)
{
    const uint32_t type = CTR_EVENT_RAM + below(3);
    p->n = 0;
    put_u32(p, type != CTR_EVENT_IO);
    put_u32(p, type == CTR_EVENT_IO);
    for (unsigned i = type == CTR_EVENT_DMA; i < 3; i++) {
        put_u64(p, below(8) * PAGE);
    }
    if (type == CTR_EVENT_RAM) {
        put_u64(p, 0);
    }
    put_str(p, "name", 4);
    if (type == CTR_EVENT_IO) {
        put_str(p, "device", 6);
    } else {
        put_u32(p, 0);
    }
    return type;
}

static uint32_t random_event(struct payload *p, unsigned thread)
{
    char name[32];
    uint32_t op = below(2) ? CTR_LABEL_SET : CTR_LABEL_REMOVE;
    switch (below(14)) {
    case 13:
        p->n = 0;
        put_u32(p, 1 + below(1000));
        put_u32(p, 1 + below(1000));
        put_u64(p, 1 + below(1000));
        put_str(p, "task", below(5));
        return CTR_EVENT_TASK;
    case 12:
        return random_memory(p);
    case 11:
        p->n = 0;
        put_u32(p, 1 + below(CTR_POWER_SAVED));
        put_u32(p, 0);
        return CTR_EVENT_POWER;
    case 10:
        p->n = 0;
        put_u64(p, (1 + below(1000)) * PAGE);
        put_u64(p, below(100));
        put_u64(p, 0);
        return CTR_EVENT_CONTEXT;
    case 0:
        snprintf(name, sizeof(name), "name%u", below(1000));
        if (below(2)) {
            payload_thread(p, CTR_THREAD_NAME, (int)(thread / THREADS), (int)thread,
                           name);
        } else {
            payload_program(p, CTR_THREAD_START, (int)thread, "app", name,
                            strlen(name) + 1, 1);
        }
        return CTR_EVENT_THREAD;
    case 1:
    case 2:
        snprintf(name, sizeof(name), "object%u", below(1000));
        p->n = 0;
        put_u32(p, op);
        put_u32(p, 0);
        put_u64(p, 0x1000 + below(LABELS));
        put_u64(p, op == CTR_LABEL_SET ? 16 : 0);
        put_str(p, "type", op == CTR_LABEL_SET ? 4 : 0);
        put_str(p, name, op == CTR_LABEL_SET ? strlen(name) : 0);
        return CTR_EVENT_LABEL;
    default:
        return random_map(p);
    }
}

/* ---------------------------------------------------------------- recordings */

struct both {
    struct ctr_dict *dict;
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ctr_writer *w;
    struct ring *ring;
    int fd;
    struct sidebuf side[ALL];
    uint64_t begun[ALL]; /* of the current chunk */
    uint64_t chunks;
};

static const struct ctr_meta meta = {.target = "x",
                                     .qemu_version = "y",
                                     .recorder = "z",
                                     .events = CTR_EVENTS_EXEC | CTR_EVENTS_MAP |
                                               CTR_EVENTS_THR | CTR_EVENTS_MARK,
                                     .addr_bits = 64};

static void both_begin(struct both *b, uint64_t ring_bytes)
{
    memset(b, 0, sizeof(*b));
    b->fd = memfd_create("whole", MFD_CLOEXEC);
    assert_true(b->fd >= 0);
    assert_int_equal(ctr_dict_new(&b->dict, meta.events), 0);
    assert_int_equal(ctr_encoder_new(&b->enc, b->dict, 8, 1), 0);
    assert_int_equal(ctr_packed_new(&b->packed), 0);
    assert_int_equal(ctr_writer_new(&b->w, b->fd, b->dict, &meta, 1, NULL), 0);
    assert_int_equal(ring_new(&b->ring, ring_bytes), 0);
    assert_false(ring_has_begun(b->ring));
    assert_int_equal(ring_begin(b->ring, &meta, b->dict, NULL), 0);
    assert_true(ring_has_begun(b->ring));
}

static void both_process(struct both *b, int pid)
{
    uint32_t x, y;
    assert_int_equal(ctr_writer_process(b->w, pid, 1, 0, &x, NULL), 0);
    assert_int_equal(ring_process(b->ring, pid, 1, 0, 0, 1, &y, NULL), 0);
    assert_int_equal(x, y);
}

static void both_thread(struct both *b, uint32_t process, int tid)
{
    uint32_t x, y;
    assert_int_equal(ctr_writer_thread(b->w, process, tid, 0, 0, &x, NULL), 0);
    assert_int_equal(ring_thread(b->ring, process, tid, 0, 0, 0, 0, &y, NULL), 0);
    assert_int_equal(x, y);
}

static const struct ring_place nowhere;

static void both_chunk(struct both *b, unsigned t, uint64_t now)
{
    const struct ctr_segment seg = {.side = b->side[t].p,
                                    .side_bytes = (uint32_t)b->side[t].n,
                                    .start_ns = b->begun[t],
                                    .end_ns = now};
    struct ring_events events = {0};
    struct ctr_diag diag = {.text = ""};
    if (ctr_encoder_run(b->enc, &seg, 1, b->packed, &diag) ||
        ctr_writer_chunk(b->w, t, b->packed, &diag)) {
        fail_msg("%s: %s", diag.field, diag.text);
    }
    assert_int_equal(ring_events_collect(&events, seg.side, seg.side_bytes), 0);
    if (ring_chunk(b->ring, t, b->packed, seg.start_ns, seg.end_ns, &events, &nowhere,
                   &diag)) {
        fail_msg("ring: %s: %s", diag.field, diag.text);
    }
    free(events.data);
    b->side[t].n = 0;
    b->begun[t] = now;
    b->chunks++;
}

static struct ctr_trace *ring_trace(struct both *b, struct ctr_dict *dict)
{
    struct ctr_writer_stats stats;
    struct ctr_diag diag = {.text = ""};
    struct ctr_trace *tr;
    int fd = memfd_create("ring", MFD_CLOEXEC);
    if (ring_write(b->ring, fd, dict, 1, NULL, 0, &stats, &diag)) {
        fail_msg("ring: %s: %s", diag.field, diag.text);
    }
    if (ctr_open_fd(&tr, fd, below(2) ? CTR_OPEN_NO_INDEX : 0, &diag)) {
        fail_msg("ring: %s: %s", diag.field, diag.text);
    }
    return tr;
}

static struct ctr_trace *whole_trace(struct both *b)
{
    struct ctr_trace *tr;
    assert_int_equal(ctr_writer_finish(b->w, NULL), 0);
    assert_int_equal(ctr_open_fd(&tr, b->fd, 0, NULL), 0);
    return tr;
}

static void both_end(struct both *b)
{
    for (unsigned t = 0; t < ALL; t++) {
        side_free(&b->side[t]);
    }
    ring_free(b->ring);
    ctr_writer_free(b->w);
    ctr_packed_free(b->packed);
    ctr_encoder_free(b->enc);
    ctr_dict_free(b->dict);
}

/* ------------------------------------------------------------------ compare */

struct listing {
    char text[64 << 10];
    size_t n;
};

static int list_mapping(void *arg, const struct ctr_mapping *m)
{
    struct listing *l = arg;
    l->n +=
        (size_t)snprintf(l->text + l->n, sizeof(l->text) - l->n, "%llx-%llx %u %llx %s\n",
                         (unsigned long long)m->start, (unsigned long long)m->end,
                         m->prot, (unsigned long long)m->offset, m->path);
    assert_true(l->n < sizeof(l->text));
    return 0;
}

static void same_maps(const struct ctr_maps *whole, const struct ctr_maps *ring,
                      uint32_t p, uint64_t time)
{
    static struct listing a, b;
    a.n = b.n = 0;
    a.text[0] = b.text[0] = 0;
    assert_int_equal(ctr_maps_each(whole, p, time, list_mapping, &a), 0);
    assert_int_equal(ctr_maps_each(ring, p, time, list_mapping, &b), 0);
    assert_string_equal(a.text, b.text);
}

/* Labels, names and arguments as they are at the end; returns the number of events. */
struct last {
    char label[PROCESSES][LABELS][32];
    char name[ALL][32];
    char args[ALL][32];
    uint64_t table[ALL];
    uint32_t power[ALL];
    uint32_t pid[ALL];
};

static size_t read_last(struct ctr_trace *tr, struct last *l)
{
    const struct ctr_filter filter = {.kinds = CTR_KIND_THR | CTR_KIND_MARK |
                                               CTR_KIND_MAP | CTR_KIND_CTX |
                                               CTR_KIND_PWR | CTR_KIND_TASK};
    struct ctr_cursor *c;
    struct ctr_event ev;
    size_t n = 0;
    memset(l, 0, sizeof(*l));
    assert_int_equal(ctr_cursor_open(&c, tr, &filter, NULL), 0);
    while (ctr_cursor_next(c, &ev, NULL) == 1) {
        struct ctr_thread_event t;
        struct ctr_context context;
        struct ctr_power power;
        struct ctr_task task;
        struct ctr_label x;
        n++;
        if (ctr_parse_thread(&ev.os, &t) == 0) {
            memset(l->name[t.tid], 0, 32);
            snprintf(l->name[t.tid], 32, "%.*s", (int)t.name.n, t.name.p);
            if (t.args.n) {
                memset(l->args[t.tid], 0, 32);
                snprintf(l->args[t.tid], 32, "%s", t.args.p);
            }
        } else if (ctr_parse_power(&ev.os, &power) == 0) {
            l->power[ev.os.thread->tid] = power.op;
        } else if (ctr_parse_task(&ev.os, &task) == 0) {
            l->pid[ev.os.thread->tid] = task.pid;
        } else if (ctr_parse_context(&ev.os, &context) == 0) {
            l->table[ev.os.thread->tid] = context.table;
        } else if (ctr_parse_label(&ev.os, &x) == 0) {
            memset(l->label[ev.os.thread->process][x.start - 0x1000], 0, 32);
            snprintf(l->label[ev.os.thread->process][x.start - 0x1000], 32, "%.*s",
                     (int)x.name.n, x.name.p);
        }
    }
    ctr_cursor_close(c);
    return n;
}

/* What restores the part that was dropped has no events of these kinds. */
static void nothing_of_memory(struct ctr_trace *tr)
{
    const uint32_t memory = CTR_CHUNK_RAM | CTR_CHUNK_DMA | CTR_CHUNK_IO;
    struct ctr_chunk c;
    for (uint64_t i = 0; ctr_trace_chunk(tr, i, &c, NULL) == 0; i++) {
        assert_true(!(c.flags & CTR_CHUNK_GAP) || !(c.flags & memory));
    }
}

/* Chunks of those threads of a process that hand over in time. */
static uint64_t oldest_start(struct ctr_trace *tr, uint32_t process, bool lazy)
{
    struct ctr_chunk c;
    uint64_t start = UINT64_MAX;
    for (uint64_t i = 0; ctr_trace_chunk(tr, i, &c, NULL) == 0; i++) {
        if (!(c.flags & CTR_CHUNK_GAP) && c.start_ns < start &&
            c.thread / THREADS == process && !(lazy && c.thread % THREADS == 1)) {
            start = c.start_ns;
        }
    }
    return start;
}

/* ------------------------------------------------------------------- tests */

/*
 * Threads of both processes report events in turn; one thread at a time reports each
 * change, the first thread of each process reports labels.  lazy: the second thread of
 * each process hands nothing over until the end, or never.
 */
static void run_random(uint64_t seed, unsigned steps, bool lazy)
{
    struct both b;
    struct payload p;
    uint64_t now = 1000 * MS;
    static struct last want, got;
    state = seed * 0x9e3779b97f4a7c15ull + 1;
    both_begin(&b, 16 << 10);
    for (unsigned i = 0; i < PROCESSES; i++) {
        both_process(&b, 10 + (int)i);
        for (unsigned k = 0; k < THREADS; k++) {
            both_thread(&b, i, (int)(i * THREADS + k));
        }
        payload_map(&p, CTR_MAP_INITIAL, 5, 2, BASE, 4 * PAGE, 0, "/a.so");
        side_event(&b.side[i * THREADS], 0, 0, CTR_EVENT_MAP, now, &p);
        payload_map(&p, CTR_MAP_INITIAL, 3, 2, BASE + 40 * PAGE, 2 * PAGE, 0, "[heap]");
        side_event(&b.side[i * THREADS], 0, 0, CTR_EVENT_MAP, now, &p);
    }
    for (unsigned n = 0; n < steps; n++) {
        unsigned t = below(ALL);
        bool sleeper = lazy && t % THREADS == 1;
        now += 1 + below(40) * MS;
        if (sleeper && n > steps / 10) {
            continue;
        }
        uint32_t type = random_event(&p, t);
        if (sleeper && type == CTR_EVENT_MAP && p.p[0] == CTR_MAP_MREMAP) {
            continue;
        }
        if (type == CTR_EVENT_LABEL) {
            t -= t % THREADS;
            sleeper = false;
        }
        side_event(&b.side[t], 0, 0, type, now, &p);
        if (below(8) == 0 && !sleeper) {
            both_chunk(&b, t, now + 1);
        }
        if (below(steps) < 3) { /* in the middle, too */
            struct ctr_trace *tr = ring_trace(&b, b.dict);
            ctr_close(tr);
        }
    }
    for (unsigned t = 0; t < ALL; t++) {
        if (b.side[t].n && (t % THREADS != 1 || seed & 1)) {
            both_chunk(&b, t, now + 1);
        }
    }
    struct ctr_trace *whole = whole_trace(&b),
                     *ring = ring_trace(&b, seed & 2 ? b.dict : NULL);
    struct ctr_maps *wm, *rm;
    struct ctr_info info;
    assert_int_equal(ctr_maps_load(&wm, whole, NULL), 0);
    assert_int_equal(ctr_maps_load(&rm, ring, NULL), 0);
    for (uint32_t k = 0; k < PROCESSES; k++) {
        uint64_t start = oldest_start(ring, k, lazy);
        for (unsigned i = 0; i <= 200 && start < now; i++) {
            same_maps(wm, rm, k, start + (now - start) / 200 * i);
        }
        same_maps(wm, rm, k, UINT64_MAX - 1);
    }
    size_t all = read_last(whole, &want), few = read_last(ring, &got);
    assert_memory_equal(&want, &got, sizeof(want));
    ctr_trace_info(ring, &info);
    assert_true(info.dropped_chunks > 0 && info.dropped_chunks < b.chunks);
    assert_true(steps < 20000 || few < all / 10);
    nothing_of_memory(ring);
    ctr_maps_free(wm);
    ctr_maps_free(rm);
    ctr_close(whole);
    ctr_close(ring);
    both_end(&b);
}

static void test_random(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        run_random(seed, 3000, false);
    }
}

static void test_long(void **unused)
{
    (void)unused;
    run_random(100, 60000, false);
    run_random(103, 60000, false);
}

/*
 * The changes of a sleeping thread are unknown until the end.  It moves nothing: a
 * mapping that is moved away before others unmap it is lost (ring_cancel.c).
 */
static void test_sleepers(void **unused)
{
    (void)unused;
    for (uint64_t seed = 200; seed < 210; seed++) {
        run_random(seed, 3000, true);
    }
    run_random(211, 40000, true);
}

/* Nothing is left of processes that have ended and whose chunks are gone. */
static void test_ended(void **unused)
{
    struct both b;
    struct payload p;
    (void)unused;
    both_begin(&b, 16 << 10);
    for (unsigned i = 0; i < 200; i++) {
        uint64_t now = (i + 1) * 100 * MS;
        both_process(&b, 100 + (int)i);
        both_thread(&b, i, 100 + (int)i);
        payload_map(&p, CTR_MAP_INITIAL, 5, 2, BASE, 4 * PAGE, 0, "/a.so");
        side_event(&b.side[0], 0, 0, CTR_EVENT_MAP, now, &p);
        payload_thread(&p, CTR_THREAD_START, 100 + (int)i, 100 + (int)i, "x");
        side_event(&b.side[0], 0, 0, CTR_EVENT_THREAD, now, &p);
        struct ring_events events = {0};
        const struct ctr_segment seg = {.side = b.side[0].p,
                                        .side_bytes = (uint32_t)b.side[0].n,
                                        .start_ns = now,
                                        .end_ns = now + 1};
        assert_int_equal(ctr_encoder_run(b.enc, &seg, 1, b.packed, NULL), 0);
        assert_int_equal(ring_events_collect(&events, seg.side, seg.side_bytes), 0);
        assert_int_equal(
            ring_chunk(b.ring, i, b.packed, now, now + 1, &events, &nowhere, NULL), 0);
        free(events.data);
        b.side[0].n = 0;
        if (i != 0 && i != 199) { /* one is old, one is new */
            ring_thread_end(b.ring, i, now + 1, CTR_END_EXIT, 0, false);
            ring_process_end(b.ring, i, now + 1, CTR_END_EXIT, 0);
        }
    }
    struct ctr_trace *tr = ring_trace(&b, NULL);
    struct ctr_info info;
    struct ring_numbers n;
    ring_numbers(b.ring, &n);
    ctr_trace_info(tr, &info);
    assert_true(n.chunks > 1 && n.chunks < 20 && n.bytes <= 16 << 10);
    assert_int_equal(n.chunks + n.dropped_chunks, 200);
    assert_int_equal(info.processes, n.chunks + 1);
    assert_int_equal(ctr_trace_process(tr, 0)->pid, 100);
    assert_int_equal(ctr_trace_process(tr, 1)->pid, 300 - (int)n.chunks);
    assert_int_equal(ctr_trace_process(tr, 1)->end_reason, CTR_END_EXIT);
    assert_int_equal(ctr_trace_process(tr, info.processes - 1)->end_reason,
                     CTR_END_KILLED);
    struct ctr_maps *maps;
    assert_int_equal(ctr_maps_load(&maps, tr, NULL), 0);
    assert_int_equal(ctr_maps_find(maps, 0, 500 * MS, BASE, NULL), 1);
    ctr_maps_free(maps);
    ctr_close(tr);
    both_end(&b);
}

/* A chunk larger than the ring empties it; later chunks are kept again. */
static void test_too_large(void **unused)
{
    struct both b;
    struct payload p;
    struct ring_numbers n;
    (void)unused;
    state = 5;
    both_begin(&b, 16 << 10);
    both_process(&b, 10);
    both_thread(&b, 0, 10);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned k = 0; k < (i == 1 ? 20000 : 10); k++) {
            uint64_t at = i == 1 && k % 2 ? 0x100000 + below(1u << 30) * PAGE : BASE;
            payload_map(&p, CTR_MAP_MMAP, below(8), 2, at, PAGE, 0, "");
            side_event(&b.side[0], 0, 0, CTR_EVENT_MAP, (1 + i) * 10000 * MS + k, &p);
        }
        both_chunk(&b, 0, (2 + i) * 10000 * MS);
        ring_numbers(b.ring, &n);
        assert_int_equal(n.chunks, i == 0 ? 1 : i - 1);
        assert_int_equal(n.dropped_chunks, i == 0 ? 0 : 2);
    }
    struct ctr_trace *whole = whole_trace(&b), *ring = ring_trace(&b, b.dict);
    struct ctr_maps *wm, *rm;
    assert_int_equal(ctr_maps_load(&wm, whole, NULL), 0);
    assert_int_equal(ctr_maps_load(&rm, ring, NULL), 0);
    state = 5;
    for (unsigned k = 0; k < 1000; k++) {
        uint64_t at = 0x100000 + below(1u << 30) * PAGE;
        struct ctr_mapping m, r;
        int found = ctr_maps_find(wm, 0, UINT64_MAX - 1, at, &m);
        assert_int_equal(ctr_maps_find(rm, 0, UINT64_MAX - 1, at, &r), found);
        if (found) {
            assert_int_equal(m.start, r.start);
        }
    }
    ctr_maps_free(wm);
    ctr_maps_free(rm);
    ctr_close(whole);
    ctr_close(ring);
    both_end(&b);
}

/* ------------------------------------------------------- code that is generated */

#define MADE 256u /* definitions of a chunk; all but the first are new */

static void made_def(uint8_t *def, unsigned chunk, unsigned k)
{
    const uint64_t pc = k ? 0x100000 + (uint64_t)chunk * MADE + k : 0x1000;
    memset(def, 0, 41 + 4);
    memcpy(def, &pc, sizeof(pc));
    def[CTR_BLOCKDEF_NINSN] = 1;
    def[CTR_BLOCKDEF_CODELEN] = 4;
    def[40] = 4;
    memcpy(def + 41, &pc, 4);
}

/* One chunk that runs each of its blocks once; their ids mean nothing afterwards. */
static void made_chunk(struct both *b, unsigned chunk)
{
    static uint32_t words[MADE];
    struct ring_events events = {0};
    struct ctr_diag diag = {.text = ""};
    uint8_t def[64];
    const struct ctr_segment seg = {
        .words = words, .n_words = MADE, .data_end = words + MADE, .end_ns = chunk};
    for (unsigned k = 0; k < MADE; k++) {
        words[k] = (chunk % 3) * MADE + k + 1;
        made_def(def, chunk, k);
        assert_int_equal(ctr_dict_add(b->dict, words[k], def, 41 + 4, &diag), 0);
    }
    if (ctr_encoder_run(b->enc, &seg, 1, b->packed, &diag) ||
        ring_chunk(b->ring, 0, b->packed, chunk, chunk, &events, &nowhere, &diag)) {
        fail_msg("%s: %s", diag.field, diag.text);
    }
    for (unsigned k = 0; k < MADE; k++) {
        ctr_dict_forget(b->dict, words[k], chunk + 1);
    }
    if (chunk > 2) {
        ctr_dict_reap(b->dict, chunk - 2);
    }
}

struct made {
    uint64_t next; /* number of the next block */
    uint64_t n;
};

static int made_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    (void)arg;
    return ctr_job_append(job, &e->pc, sizeof(e->pc));
}

static int made_order(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct made *m = arg;
    const uint64_t *pc = data;
    (void)job;
    for (size_t i = 0; i < n / sizeof(*pc); i++, m->next++, m->n++) {
        assert_int_equal(pc[i], m->next % MADE ? 0x100000 + m->next : 0x1000);
    }
    return 0;
}

static void check_made(struct both *b, struct ctr_dict *dict, unsigned chunks)
{
    struct ctr_trace *tr = ring_trace(b, dict);
    const struct ctr_replay_ops ops = {.exec = made_exec, .ordered = made_order};
    struct ring_numbers n;
    struct made m = {0};
    struct ctr_info info;
    ring_numbers(b->ring, &n);
    assert_int_equal(n.chunks + n.dropped_chunks, chunks);
    m.next = n.dropped_chunks * MADE;
    assert_int_equal(ctr_replay(tr, &ops, &m, NULL, NULL), 0);
    assert_int_equal(m.n, n.chunks * MADE);
    ctr_trace_info(tr, &info);
    assert_in_range(info.blocks, n.chunks * (MADE - 1) + 1, ctr_dict_size(b->dict));
    ctr_close(tr);
}

/*
 * An endless supply of definitions: the ring and the dictionary keep those of the kept
 * chunks, which are fewer than would fit, because definitions count; and both dumps, the
 * recorder's and the surviving process's, contain what was kept.
 */
static void test_generated(void **st)
{
    const unsigned chunks = 2000;
    struct both b;
    uint32_t early = 0;
    (void)st;
    both_begin(&b, 8 << 20);
    both_process(&b, 10);
    both_thread(&b, 0, 10);
    for (unsigned i = 0; i < chunks; i++) {
        made_chunk(&b, i);
        if (i == 5 || i == chunks / 2) {
            check_made(&b, b.dict, i + 1);
            check_made(&b, NULL, i + 1);
            early = ctr_dict_size(b.dict);
        }
    }
    check_made(&b, b.dict, chunks);
    check_made(&b, NULL, chunks);
    /* 512,000 were defined; 40 MiB is enough for those of the first half. */
    assert_in_range(early, 10000, chunks * MADE / 3);
    assert_in_range(ctr_dict_size(b.dict), 1, early + 2 * MADE);
    both_end(&b);
}

/* A thread's chunks but the last, of one segment each, which is its tail. */
static void keep_pages(struct ring *ring, struct ctr_encoder *enc,
                       const struct ctr_segment *seg, unsigned n, uint32_t thread)
{
    const struct ring_events events = {0};
    struct ctr_packed *packed;
    struct ctr_physmap *map;
    assert_int_equal(ctr_packed_new(&packed), 0);
    assert_int_equal(ctr_physmap_new(&map, 8, 1), 0);
    for (unsigned i = 0; i + 1 < n; i++) {
        assert_int_equal(ctr_encoder_run(enc, &seg[i], 1, packed, NULL), 0);
        assert_int_equal(ctr_physmap_apply(map, packed, NULL), 0);
        assert_int_equal(ring_chunk(ring, thread, packed, seg[i].start_ns, seg[i].end_ns,
                                    &events, &nowhere, NULL),
                         0);
    }
    ctr_physmap_free(map);
    ctr_packed_free(packed);
}

/* Tails use the physical pages that their threads' chunks in the ring have recorded. */
static void test_pages_of_tails(void **st)
{
    (void)st;
    for (unsigned seed = 1; seed <= 20; seed++) {
        const struct ctr_meta machine = {.target = "x",
                                         .qemu_version = "y",
                                         .recorder = "z",
                                         .events = CTR_EVENTS_EXEC | CTR_EVENTS_MEM |
                                                   CTR_EVENTS_PHYS,
                                         .addr_bits = 64};
        const struct ctr_replay_opts opts = {.workers = 1, .phys = 1};
        struct recording r = {.nthread = 3};
        struct ring_tail tails[3];
        struct ctr_segment *seg[3];
        struct ctr_writer_stats stats;
        struct ctr_encoder *enc;
        struct ctr_dict *dict;
        struct ctr_trace *tr;
        struct events got;
        struct ring *ring;
        uint32_t index;
        int fd = memfd_create("tails", MFD_CLOEXEC);
        assert_int_equal(ctr_dict_new(&dict, machine.events), 0);
        assert_int_equal(ctr_encoder_new(&enc, dict, 8, 1), 0);
        assert_int_equal(ring_new(&ring, 8 << 20), 0);
        assert_int_equal(ring_begin(ring, &machine, dict, NULL), 0);
        assert_int_equal(ring_process(ring, 100, 1, 0, 0, 1, &index, NULL), 0);
        sim_init(&r.sim, seed, 10, 8, machine.events,
                 SIM_PHYS | SIM_TINY | SIM_GROUPS | SIM_EXTRAS | SIM_DERIVED);
        sim_fill_dict(&r.sim, dict);
        for (unsigned i = 0; i < r.nthread; i++) {
            struct sim_thread *t = &r.thread[i];
            assert_int_equal(ring_thread(ring, 0, 100 + (int)i, 0, 0, 0, 0, &index, NULL),
                             0);
            sim_thread_run(&r.sim, t, 100);
            seg[i] = sim_segments(t);
            keep_pages(ring, enc, seg[i], t->n_seg, i);
            tails[i] = (struct ring_tail){.thread = i, .seg = seg[i][t->n_seg - 1]};
        }
        assert_int_equal(ring_write(ring, fd, dict, 1, tails, 3, &stats, NULL), 0);
        assert_int_equal(ctr_open_fd(&tr, fd, 0, NULL), 0);
        assert_int_equal(read_events(tr, &opts, &got, NULL), 0);
        check_events(&r, &got);
        events_free(&got);
        ctr_close(tr);
        for (unsigned i = 0; i < r.nthread; i++) {
            sim_thread_fini(&r.thread[i]);
            free(seg[i]);
        }
        sim_fini(&r.sim);
        ring_free(ring);
        ctr_encoder_free(enc);
        ctr_dict_free(dict);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),         cmocka_unit_test(test_long),
        cmocka_unit_test(test_sleepers),       cmocka_unit_test(test_ended),
        cmocka_unit_test(test_too_large),      cmocka_unit_test(test_generated),
        cmocka_unit_test(test_pages_of_tails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
