/* SPDX-License-Identifier: MIT */
/*
 * Counts of blocks and of how their runs continued, compared with a look at all runs and
 * at all events one by one.  The chunks are so small that they end everywhere.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "support.h"
#include "cannoli/events.h"

enum { BLOCKS = 40, FIRSTS = 513, THREADS = 3 };

/* Runs of a block that began at one instruction. */
struct ways {
    uint64_t runs; /* that reached the block's end */
    uint64_t falls;
    uint64_t unknown;
};

struct tally {
    struct ways *ways; /* [block * FIRSTS + first] */
    struct {
        const struct ctr_block *block;
        unsigned first;
        unsigned insn; /* the latest one */
    } wait[THREADS];
    uint64_t falls, unknown, elsewhere; /* reported of partial runs */
};

static struct ways *ways_of(const struct tally *t, const struct ctr_block *b,
                            unsigned first)
{
    assert_true(b->id <= BLOCKS && first < FIRSTS);
    return &t->ways[b->id * FIRSTS + first];
}

static uint64_t pc_after(const struct ctr_block *b)
{
    return ctr_block_pc(b, b->ninsn - 1u) + ctr_block_len(b, b->ninsn - 1u);
}

static void next(struct tally *t, uint32_t thread, const uint64_t *pc)
{
    const struct ctr_block *b = t->wait[thread].block;
    if (b) {
        struct ways *w = ways_of(t, b, t->wait[thread].first);
        w->unknown += pc == NULL;
        w->falls += pc && *pc == pc_after(b);
        t->wait[thread].block = NULL;
    }
}

static void next_event(struct tally *t, uint32_t thread, const struct ctr_os_event *e)
{
    struct ctr_interrupt i;
    struct ctr_signal s;
    if (e->type == CTR_EVENT_GATE) {
        next(t, thread, NULL);
    } else if (ctr_parse_signal(e, &s) == 0) {
        next(t, thread, &s.pc);
    } else if (ctr_parse_interrupt(e, &i) == 0) {
        next(t, thread, i.flags & CTR_INT_TRAP ? NULL : &i.from);
    }
}

static void ran(struct tally *t, uint32_t thread, const struct ctr_block *b,
                unsigned first, unsigned flags)
{
    ways_of(t, b, first)->runs++;
    t->wait[thread].block = b;
    t->wait[thread].first = first;
    if (flags & (CTR_EV_FAULTED | CTR_EV_UNSURE)) {
        next(t, thread, NULL);
    }
}

static void end_of(struct tally *t)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        next(t, i, NULL);
    }
}

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    struct tally *t = arg;
    (void)job;
    if (r->end > r->first) {
        next(t, r->thread->index, r->first ? NULL : &r->block->pc);
        if (r->end == r->block->ninsn) {
            ran(t, r->thread->index, r->block, r->first, r->flags);
        }
    }
    return 0;
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    (void)job;
    next_event(arg, e->thread->index, e);
    return 0;
}

static int on_count(void *arg, const struct ctr_count *c)
{
    struct tally *t = arg;
    assert_true(c->full == 0 || (c->partial == 0 && c->first == 0));
    if (c->end < c->block->ninsn) {
        assert_int_equal(c->fallthrough + c->unknown, 0);
        return 0;
    }
    struct ways *w = ways_of(t, c->block, c->first);
    assert_int_equal(w->runs, 0); /* each is reported once */
    *w = (struct ways){c->full + c->partial, c->fallthrough, c->unknown};
    if (c->first) {
        t->falls += w->falls;
        t->unknown += w->unknown;
        t->elsewhere += w->runs - w->falls - w->unknown;
    }
    return 0;
}

/* Goes through single events, where chunk ends are invisible. */
static void by_cursor(struct ctr_trace *tr, const struct ctr_filter *filter,
                      struct tally *t)
{
    struct ctr_cursor *c;
    struct ctr_event ev;
    int ret;
    assert_int_equal(ctr_cursor_open(&c, tr, filter, NULL), 0);
    while ((ret = ctr_cursor_next(c, &ev, NULL)) == 1) {
        if (ev.kind == CTR_CURSOR_OS) {
            next_event(t, ev.os.thread->index, &ev.os);
        } else if (ev.kind == CTR_CURSOR_EXEC) {
            uint32_t thread = ev.exec.thread->index;
            next(t, thread, ev.exec.insn ? NULL : &ev.exec.pc);
            if (ev.exec.insn + 1u == ev.exec.block->ninsn) {
                ran(t, thread, ev.exec.block, 0, ev.exec.flags);
            }
        }
    }
    assert_int_equal(ret, 0);
    ctr_cursor_close(c);
}

static struct tally new_tally(void)
{
    struct tally t = {.ways = calloc((BLOCKS + 1) * FIRSTS, sizeof(struct ways))};
    assert_non_null(t.ways);
    return t;
}

static void compare(struct ctr_trace *tr, const struct ctr_filter *filter,
                    uint64_t parts[3])
{
    static const struct ctr_replay_ops ops = {.run = on_run, .os = on_os};
    const struct ctr_replay_opts one = {.workers = 1, .filter = filter};
    struct tally runs = new_tally(), events = new_tally(), got = new_tally();
    assert_int_equal(ctr_trace_blocks(tr, NULL), 0); /* on_run keeps pointers to blocks */
    assert_int_equal(ctr_replay(tr, &ops, &runs, &one, NULL), 0);
    end_of(&runs);
    by_cursor(tr, filter, &events);
    end_of(&events);
    assert_int_equal(ctr_trace_counts(tr, filter, on_count, &got, NULL), 0);
    assert_memory_equal(got.ways, runs.ways, (BLOCKS + 1) * FIRSTS * sizeof(struct ways));
    for (unsigned b = 0; b <= BLOCKS; b++) {
        struct ways sum = {0}, *e = &events.ways[b * FIRSTS];
        for (unsigned f = 0; f < FIRSTS; f++) {
            const struct ways *g = &got.ways[b * FIRSTS + f];
            sum.runs += g->runs;
            sum.falls += g->falls;
            sum.unknown += g->unknown;
        }
        assert_int_equal(sum.runs, e->runs);
        assert_int_equal(sum.falls, e->falls);
        assert_int_equal(sum.unknown, e->unknown);
    }
    parts[0] += got.falls;
    parts[1] += got.unknown;
    parts[2] += got.elsewhere;
    free(runs.ways);
    free(events.ways);
    free(got.ways);
}

static void test_ways(void **unused)
{
    static const unsigned events[] = {
        CTR_EVENTS_EXEC | CTR_EVENTS_SYS | CTR_EVENTS_MARK | CTR_EVENTS_INT,
        CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_SYS | CTR_EVENTS_MARK,
        SIM_EVENTS,
    };
    uint64_t parts[3] = {0};
    (void)unused;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct recording r;
        unsigned features = SIM_ALL | SIM_SYSTEM | SIM_TINY;
        features &= seed % 4 ? ~SIM_BIG : ~0u;
        features &= seed % 3 ? ~SIM_UNSURE : ~0u;
        recording_make(&r, seed, THREADS, 800, BLOCKS, seed & 1 ? 4 : 8, events[seed % 3],
                       features, 1 + seed % 5 / 2, seed % 7 != 0);
        for (unsigned flags = 0; flags <= CTR_OPEN_NO_INDEX; flags++) {
            struct ctr_trace *tr = open_bytes(r.file, r.bytes, flags);
            const int32_t tid = ctr_trace_thread(tr, 1)->tid;
            const struct ctr_filter one = {.tids = &tid, .ntid = 1};
            compare(tr, NULL, parts);
            compare(tr, &one, parts);
            ctr_close(tr);
        }
        recording_free(&r);
    }
    /* Each case has occurred for runs that a chunk's end cut, too. */
    assert_true(parts[0] > 50 && parts[1] > 50 && parts[2] > 50);
}

/* ------------------------------------------------------------------- by hand */

/* Blocks of 4-byte instructions: the first has two, and its second one executes block 2
 * (s390x EXECUTE), after which the rest of the instruction follows; then the block that
 * comes after in memory; then one elsewhere. */
static const struct {
    uint64_t pc;
    unsigned ninsn;
} blocks[] = {{0x1000, 2}, {0x1004, 1}, {0x1008, 1}, {0x2000, 1}};
enum { EX = 1, TARGET = 2, AFTER = 3, AWAY = 4 };
#define REST (CTR_WORD_RESUME | 0), TARGET

static void add_blocks(struct ctr_dict *dict)
{
    for (uint32_t i = 0; i < 4; i++) {
        uint8_t def[40 + 2 + 8] = {0};
        uint8_t n = (uint8_t)blocks[i].ninsn;
        memcpy(def, &(uint64_t){blocks[i].pc}, 8);
        def[CTR_BLOCKDEF_NINSN] = n;
        def[CTR_BLOCKDEF_CODELEN] = (uint8_t)(4 * n);
        memset(def + 40, 4, n);
        assert_int_equal(ctr_dict_add(dict, i + 1, def, 40u + 5u * n, NULL), 0);
    }
}

static int sum_ex(void *arg, const struct ctr_count *c)
{
    uint64_t *sum = arg;
    if (c->block->pc == blocks[0].pc) {
        sum[0] += c->full + c->partial;
        sum[1] += c->fallthrough;
        sum[2] += c->unknown;
    }
    return 0;
}

/* The rest of an instruction does not hide where a run continued, wherever chunks end. */
static void test_rest(void **unused)
{
    static const uint32_t w[] = {
        EX,    REST, AFTER, EX, REST, AWAY,  EX, REST, AFTER, EX,    AFTER, EX,
        AFTER, EX,   AWAY,  EX, REST, AFTER, EX, EX,   REST,  AFTER, EX,    REST,
    };
    const unsigned n = sizeof(w) / sizeof(w[0]);
    (void)unused;
    for (unsigned cut = 1; cut < n; cut++) {
        struct ctr_meta meta = {
            .target = "x", .events = CTR_EVENTS_EXEC, .addr_bits = 64};
        struct ctr_dict *dict;
        struct ctr_encoder *enc;
        struct ctr_packed *packed;
        struct ctr_writer *out;
        uint32_t index;
        if (w[cut - 1] >> 31) {
            continue; /* keeps a word and its number together */
        }
        int fd = memfd_create("rest", MFD_CLOEXEC);
        assert_int_equal(ctr_dict_new(&dict, meta.events), 0);
        add_blocks(dict);
        assert_int_equal(ctr_encoder_new(&enc, dict, 8, 1), 0);
        assert_int_equal(ctr_packed_new(&packed), 0);
        assert_int_equal(ctr_writer_new(&out, fd, dict, &meta, 1, NULL), 0);
        assert_int_equal(ctr_writer_process(out, 1, 0, 0, &index, NULL), 0);
        assert_int_equal(ctr_writer_thread(out, 0, 1, 0, 0, &index, NULL), 0);
        for (unsigned i = 0; i < 2; i++) {
            struct ctr_segment seg = {.words = i ? w + cut : w,
                                      .n_words = i ? n - cut : cut};
            assert_int_equal(ctr_encoder_run(enc, &seg, 1, packed, NULL), 0);
            assert_int_equal(ctr_writer_chunk(out, 0, packed, NULL), 0);
        }
        assert_int_equal(ctr_writer_finish(out, NULL), 0);
        for (unsigned flags = 0; flags <= CTR_OPEN_NO_INDEX; flags++) {
            struct ctr_trace *tr;
            uint64_t sum[3] = {0};
            assert_int_equal(ctr_open_fd(&tr, dup(fd), flags, NULL), 0);
            assert_int_equal(ctr_trace_counts(tr, NULL, sum_ex, sum, NULL), 0);
            assert_int_equal(sum[0], 10);
            assert_int_equal(sum[1], 6);
            assert_int_equal(sum[2], 1);
            ctr_close(tr);
        }
        ctr_writer_free(out);
        ctr_packed_free(packed);
        ctr_encoder_free(enc);
        ctr_dict_free(dict);
        close(fd);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
