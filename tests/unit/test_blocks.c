/* SPDX-License-Identifier: MIT */
/*
 * A very large number of blocks: each chunk holds a limited number of them, and
 * definitions are read, dropped and read again while they are in use.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>
#include "cannoli/events.h"
#include "base/le.h"
#include "write/packed.h"
#include "peak.h"
#include "sanitized.h"

#define INSNS 4u
#define SLOTS 3u
#define RUNS (2u * BLOCKS)
#define SEGMENT 20000u /* runs */
#define GROUP 8u       /* segments in use at a time */
#define CHUNK_BLOCKS 32768u

/* Unpacked, the definitions need about 90 MiB, or 20. */
#define BLOCKS (SANITIZED ? 100000u : 400000u)

static uint64_t pc_of(uint32_t id)
{
    return 0x10000 + (uint64_t)id * 64;
}

/* Run number i: first each block once, then blocks here and there. */
static uint32_t id_at(uint64_t i)
{
    return (uint32_t)(i < BLOCKS ? i : i * i * 2654435761u % BLOCKS) + 1;
}

static void write_trace(int fd)
{
    struct ctr_meta meta = {
        .target = "x", .events = CTR_EVENTS_EXEC | CTR_EVENTS_MEM, .addr_bits = 32};
    struct ctr_segment seg[GROUP];
    struct ctr_dict *dict;
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ctr_writer *w;
    uint32_t process, thread;
    uint32_t *words = malloc(GROUP * SEGMENT * sizeof(words[0]));
    uint32_t *addrs = malloc(SEGMENT * SLOTS * sizeof(addrs[0]));
    assert_true(words && addrs);
    assert_int_equal(ctr_dict_new(&dict, meta.events), 0);
    for (uint32_t id = 1; id <= BLOCKS; id++) {
        uint8_t def[128];
        size_t n = simple_def(def, pc_of(id), INSNS, SLOTS);
        memcpy(def + CTR_BLOCKDEF_FIXED + INSNS, &id, sizeof(id));
        assert_int_equal(ctr_dict_add(dict, id, def, n, NULL), 0);
    }
    for (uint32_t i = 0; i < SEGMENT * SLOTS; i++) {
        addrs[i] = 0x8000 + 4 * (i % 1000);
    }
    assert_int_equal(ctr_encoder_new(&enc, dict, 4, 1), 0);
    assert_int_equal(ctr_packed_new(&packed), 0);
    assert_int_equal(ctr_writer_new(&w, fd, dict, &meta, 1, NULL), 0);
    assert_int_equal(ctr_writer_process(w, 1, 0, 0, &process, NULL), 0);
    assert_int_equal(ctr_writer_thread(w, process, 1, 0, 0, &thread, NULL), 0);
    struct ctr_segment rest = {.from_word = 0}; /* where the last chunk stopped */
    for (uint64_t at = 0; at < RUNS;) {
        unsigned n = 0, taken;
        for (; n < GROUP && at + n * SEGMENT < RUNS; n++) {
            for (uint32_t i = 0; i < SEGMENT; i++) {
                words[n * SEGMENT + i] = id_at(at + n * SEGMENT + i);
            }
            seg[n] = (struct ctr_segment){
                .words = words + n * SEGMENT,
                .n_words = SEGMENT,
                .n_units = SEGMENT * SLOTS,
                .data_end = addrs + SEGMENT * SLOTS,
                .start_ns = at + n * SEGMENT,
                .end_ns = at + (n + 1) * SEGMENT,
            };
        }
        const uint32_t from = seg[0].from_word = rest.from_word;
        seg[0].from_unit = rest.from_unit;
        assert_int_equal(ctr_encoder_run_some(enc, seg, n, &taken, packed, NULL), 0);
        assert_in_range(taken, 0, n);
        rest = taken < n ? seg[taken] : (struct ctr_segment){.from_word = 0};
        assert_int_equal(rest.from_unit, rest.from_word * SLOTS);
        assert_int_equal(packed->info.runs, taken * SEGMENT + rest.from_word - from);
        assert_int_equal(packed->start_ns, seg[0].start_ns);
        assert_int_equal(packed->end_ns, seg[rest.from_word ? taken : taken - 1].end_ns);
        /* One block more than a chunk may have. */
        assert_in_range(packed->locals, taken < n ? CHUNK_BLOCKS + 1 : 1,
                        CHUNK_BLOCKS + 1);
        assert_int_equal(ctr_writer_chunk(w, thread, packed, NULL), 0);
        at += taken * SEGMENT;
    }
    assert_int_equal(ctr_writer_finish(w, NULL), 0);
    ctr_writer_free(w);
    ctr_packed_free(packed);
    ctr_encoder_free(enc);
    ctr_dict_free(dict);
    free(words);
    free(addrs);
}

/* The trace, written once. */
static int trace_fd(void)
{
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("blocks", MFD_CLOEXEC);
        assert_true(fd >= 0);
        write_trace(fd);
    }
    return fd;
}

static struct ctr_trace *open_trace(unsigned flags)
{
    struct ctr_trace *tr;
    assert_int_equal(ctr_open_fd(&tr, dup(trace_fd()), flags, NULL), 0);
    return tr;
}

/* Is this the complete definition of that block? */
static int is_block(const struct ctr_block *b, uint32_t id)
{
    uint32_t code;
    if (!b || b->id != id || b->pc != pc_of(id) || b->ninsn != INSNS ||
        b->nslot != SLOTS || b->off[INSNS] != 4 * INSNS) {
        return 0;
    }
    memcpy(&code, b->code, sizeof(code));
    for (unsigned k = 0; k < SLOTS; k++) {
        if (b->slots[k].insn != k || b->slots[k].size != 4) {
            return 0;
        }
    }
    return code == id;
}

#define KEPT 77u

struct reading {
    uint64_t at;
    const struct ctr_block *kept; /* NULL: not requested */
};

static int put_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    const struct reading *rd = arg;
    uint32_t id = r->block->id;
    if (!is_block(r->block, id) || r->naccess != SLOTS || r->loads != SLOTS ||
        (rd->kept && id == KEPT && r->block != rd->kept)) {
        return 1;
    }
    return ctr_job_append(job, &id, sizeof(id));
}

static int check_ids(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct reading *rd = arg;
    const uint32_t *id = data;
    (void)job;
    for (size_t i = 0; i < n / sizeof(*id); i++, rd->at++) {
        if (id[i] != id_at(rd->at)) {
            return 2;
        }
    }
    return 0;
}

static int read_all(struct ctr_trace *tr, unsigned workers, const struct ctr_block *kept)
{
    static const struct ctr_replay_ops ops = {.run = put_run, .ordered = check_ids};
    const struct ctr_replay_opts opts = {.workers = workers,
                                         .run_accesses = CTR_RUN_ACCESSES};
    struct reading rd = {.kept = kept};
    int ret = ctr_replay(tr, &ops, &rd, &opts, NULL);
    return ret ? ret : rd.at == RUNS ? 0 : 3;
}

static void test_replay(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags <= CTR_OPEN_NO_INDEX; flags++) {
        struct ctr_trace *tr = open_trace(flags);
        assert_int_equal(read_all(tr, 3, NULL), 0);
        const struct ctr_block *kept = ctr_trace_block(tr, KEPT);
        assert_true(is_block(kept, KEPT));
        assert_int_equal(read_all(tr, 2, kept), 0);
        assert_ptr_equal(ctr_trace_block(tr, KEPT), kept);
        assert_true(is_block(kept, KEPT));
        assert_null(ctr_trace_block(tr, 0));
        assert_null(ctr_trace_block(tr, BLOCKS + 1));
        /* From here on all definitions stay in memory. */
        assert_int_equal(ctr_trace_blocks(tr, NULL), 0);
        assert_ptr_equal(ctr_trace_block(tr, KEPT), kept);
        assert_int_equal(read_all(tr, 2, kept), 0);
        ctr_close(tr);
    }
}

/* A cursor does not move while others do. */
static void test_cursors(void **state)
{
    struct ctr_trace *tr = open_trace(0);
    struct ctr_cursor *still, *moving;
    struct ctr_event ev, at;
    const uint64_t step = RUNS * INSNS / 29;
    (void)state;
    assert_int_equal(ctr_cursor_open(&still, tr, NULL, NULL), 0);
    assert_int_equal(ctr_cursor_open(&moving, tr, NULL, NULL), 0);
    assert_int_equal(ctr_cursor_next(still, &at, NULL), 1);
    for (uint64_t ordinal = RUNS * (uint64_t)INSNS - 1; ordinal > step; ordinal -= step) {
        assert_int_equal(ctr_cursor_seek_ordinal(moving, 0, ordinal, NULL), 0);
        assert_int_equal(ctr_cursor_next(moving, &ev, NULL), 1);
        assert_int_equal(ev.exec.ordinal, ordinal);
        assert_true(is_block(ev.exec.block, id_at(ordinal / INSNS)));
        assert_true(is_block(at.exec.block, id_at(0)));
    }
    assert_int_equal(read_all(tr, 1, NULL), 0);
    assert_true(is_block(ev.exec.block, id_at(ev.exec.ordinal / INSNS)));
    assert_true(is_block(at.exec.block, id_at(0)));
    ctr_cursor_close(still);
    ctr_cursor_close(moving);
    ctr_close(tr);
}

static int add_count(void *arg, const struct ctr_count *c)
{
    uint64_t *runs = arg;
    if (!is_block(c->block, c->block->id) || c->partial) {
        return 1;
    }
    runs[c->block->id] += c->full;
    return 0;
}

static int next_block(void *arg, const struct ctr_block *b)
{
    uint32_t *id = arg;
    return is_block(b, ++*id) ? 0 : 1;
}

static int stop_at(void *arg, const struct ctr_block *b)
{
    (void)arg;
    return b->id == 5 ? 17 : 0;
}

static void test_counts(void **state)
{
    uint64_t *want = calloc(BLOCKS + 1, sizeof(want[0]));
    uint64_t *got = calloc(BLOCKS + 1, sizeof(got[0]));
    (void)state;
    assert_true(want && got);
    for (uint64_t i = 0; i < RUNS; i++) {
        want[id_at(i)]++;
    }
    for (unsigned flags = 0; flags <= CTR_OPEN_NO_INDEX; flags++) {
        struct ctr_trace *tr = open_trace(flags);
        uint32_t id = 0;
        memset(got, 0, (BLOCKS + 1) * sizeof(got[0]));
        assert_int_equal(ctr_trace_counts(tr, NULL, add_count, got, NULL), 0);
        assert_memory_equal(got, want, (BLOCKS + 1) * sizeof(got[0]));
        assert_int_equal(ctr_trace_each_block(tr, next_block, &id, NULL), 0);
        assert_int_equal(id, BLOCKS);
        assert_int_equal(ctr_trace_each_block(tr, stop_at, NULL, NULL), 17);
        ctr_close(tr);
    }
    free(want);
    free(got);
}

struct hits {
    uint64_t n, wrong;
};

static int hit(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    struct hits *h = arg;
    (void)job;
    h->n++;
    h->wrong += e->pc != pc_of(KEPT) + 4 || !is_block(e->block, KEPT);
    return 0;
}

/* Finds the chunks with a pc through the index and definitions that are not in memory. */
static void test_pc(void **state)
{
    static const struct ctr_replay_ops ops = {.exec = hit};
    const struct ctr_range pc = {pc_of(KEPT) + 4, pc_of(KEPT) + 5, 0};
    const struct ctr_filter filter = {.pcs = &pc, .npc = 1};
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    struct ctr_trace *tr = open_trace(0);
    struct hits h = {0};
    struct ctr_work work;
    struct ctr_info info;
    uint64_t want = 0, chunks = 0, last = UINT64_MAX;
    (void)state;
    for (uint64_t i = 0; i < RUNS; i++) {
        want += id_at(i) == KEPT;
    }
    assert_int_equal(ctr_replay(tr, &ops, &h, &opts, NULL), 0);
    assert_int_equal(h.n, want);
    assert_int_equal(h.wrong, 0);
    ctr_trace_info(tr, &info);
    for (uint64_t i = 0, c = 0; i < RUNS; i++) {
        struct ctr_chunk chunk;
        while (ctr_trace_chunk(tr, c, &chunk, NULL) == 0 &&
               i * INSNS >= chunk.first + chunk.insns) {
            c++;
        }
        if (id_at(i) == KEPT && c != last) {
            last = c;
            chunks++;
        }
    }
    ctr_trace_work(tr, &work);
    assert_true(chunks < info.chunks);
    assert_int_equal(work.chunks, chunks);
    ctr_close(tr);
}

/* ------------------------------------------------------- what a file claims */

/* Finds the trace's DICT section number `nth', from 0, in a copy that the caller owns. */
static uint8_t *copy_with_dict(size_t *bytes, unsigned nth, uint8_t **section)
{
    off_t n = lseek(trace_fd(), 0, SEEK_END);
    uint8_t *copy = malloc((size_t)n), *p = copy;
    assert_true(copy && pread(trace_fd(), copy, (size_t)n, 0) == n);
    *bytes = (size_t)n;
    for (;;) {
        size_t left = (size_t)(copy + n - p);
        assert_true(left > SECT_OFF_FRAMES);
        if (le32(p) == FRAME_OURS && le32(p + SECT_OFF_TAG) == SECT_TAG &&
            le16(p + SECT_OFF_TYPE) == SECT_DICT && nth-- == 0) {
            *section = p;
            return copy;
        }
        size_t size = ZSTD_findFrameCompressedSize(p, left);
        assert_false(ZSTD_isError(size));
        p += size;
    }
}

/* Stores another number of definitions; the section's checksum stays right. */
static void claim(uint8_t *section, uint32_t count)
{
    uint8_t *body = section + SECT_OFF_FRAMES + SECT_FRAME;
    put32(body + DICT_COUNT, count);
    put64(body + DICT_BODY, XXH64(section, (size_t)(body + DICT_BODY - section), 0));
}

/* Numbers of blocks are indices: a short file must not cause long tables. */
static void test_claims(void **state)
{
    struct ctr_diag diag;
    struct ctr_trace *tr;
    uint8_t *section;
    size_t bytes;
    (void)state;
    for (unsigned nth = 0; nth < 2; nth++) {
        uint8_t *copy = copy_with_dict(&bytes, nth, &section);
        const uint32_t real = le32(section + SECT_OFF_FRAMES + SECT_FRAME + DICT_COUNT);
        const uint32_t counts[] = {0,        real - 1,  real + 1, DICT_MAX_RAW,
                                   1u << 28, UINT32_MAX};
        for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
            claim(section, counts[i]);
            int fd = file_of(copy, bytes);
            int err = ctr_open_fd(&tr, fd, CTR_OPEN_NO_INDEX, &diag);
            if (!err) {
                struct ctr_info info;
                ctr_trace_info(tr, &info);
                assert_true(info.blocks <= real * 2);
                err = read_all(tr, 2, NULL);
                assert_int_equal(
                    ctr_trace_blocks(tr, &diag) || info.state != CTR_COMPLETE, 1);
                ctr_close(tr);
            }
            assert_int_equal(err, -CTR_E_CORRUPT);
        }
        claim(section, real);
        free(copy);
    }
}

/* A damaged section: whatever does not need it is still replayed, also with a pc filter.
 */
static void test_damage(void **state)
{
    static const struct ctr_replay_ops ops = {.exec = hit};
    const struct ctr_range pc = {pc_of(KEPT) + 4, pc_of(KEPT) + 5, 0};
    const struct ctr_filter filter = {.pcs = &pc, .npc = 1};
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    struct ctr_diag diag;
    struct ctr_event ev;
    struct ctr_cursor *c;
    struct ctr_trace *tr;
    struct hits h = {0};
    uint8_t *section;
    size_t bytes;
    (void)state;
    /* one of the last sections; each has about 12,000 blocks */
    uint8_t *copy = copy_with_dict(&bytes, BLOCKS / 13000, &section);
    section[SECT_OFF_FRAMES + SECT_FRAME + DICT_BODY + SECT_HASH + 100] ^= 1;
    int fd = file_of(copy, bytes);
    assert_int_equal(ctr_open_fd(&tr, fd, 0, NULL), 0);
    assert_int_equal(ctr_replay(tr, &ops, &h, &opts, &diag), -CTR_E_CORRUPT);
    assert_string_equal(diag.field, "dict");
    assert_in_range(h.n, 1, UINT32_MAX);
    assert_int_equal(h.wrong, 0);
    /* A cursor meets the damage again wherever it needs the section. */
    assert_int_equal(ctr_cursor_open(&c, tr, &filter, NULL), 0);
    assert_int_equal(ctr_cursor_next(c, &ev, NULL), 1);
    int ret = 1, bad = 0;
    while ((ret = ctr_cursor_next(c, &ev, NULL)) != 0) {
        bad += ret == -CTR_E_CORRUPT;
    }
    assert_true(bad > 1);
    ctr_cursor_close(c);
    ctr_close(tr);
    free(copy);
}

/* A process of its own, "FD WORKERS": reads the trace; the status says whether that
 * worked and stayed within its memory. */
static int reader(char **argv)
{
    unsigned workers = (unsigned)atoi(argv[2]);
    struct ctr_trace *tr;
    if (ctr_open_fd(&tr, atoi(argv[1]), 0, NULL) || read_all(tr, workers, NULL)) {
        return 1;
    }
    return peak_kib() < 0 || peak_kib() > (64l << 10) * workers ? 2 : 0;
}

/* A reader needs little memory, and less than all definitions would. */
static void test_memory(void **state)
{
    (void)state;
    if (SANITIZED) {
        skip();
    }
    for (unsigned workers = 1; workers <= 2; workers++) {
        char fd[16], n[16];
        snprintf(fd, sizeof(fd), "%d", dup(trace_fd()));
        snprintf(n, sizeof(n), "%u", workers);
        assert_int_equal(run_again(fd, n, NULL), 0);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),  cmocka_unit_test(test_replay),
        cmocka_unit_test(test_cursors), cmocka_unit_test(test_counts),
        cmocka_unit_test(test_pc),      cmocka_unit_test(test_claims),
        cmocka_unit_test(test_damage),
    };
    return argc == 3 ? reader(argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
