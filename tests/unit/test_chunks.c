/* SPDX-License-Identifier: MIT */
/*
 * A very large number of chunks of threads that run at the same time: readers return them
 * in order of time, for any query and any damage to the index, and with little memory.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>
#include <zstd.h>
#include "peak.h"
#include "sanitized.h"
#include "file/trace.h"
#include "base/le.h"

#define CHUNKS 3000u
#define THREADS 5u
#define MANY 200000u

struct made {
    uint32_t thread;
    uint64_t first, insns, start, end;
};

static struct made made[CHUNKS];
static uint32_t by_time[CHUNKS]; /* numbers of chunks */

static void out_begin(struct out *o, uint32_t events)
{
    const struct ctr_meta meta = {.target = "x", .events = events, .addr_bits = 32};
    uint8_t def[128];
    size_t n = simple_def(def, 0x1000, 4, events & CTR_EVENTS_MEM ? 1 : 0);
    out_open(o, &meta);
    assert_int_equal(ctr_dict_add(o->dict, 1, def, n, NULL), 0);
    out_threads(o, THREADS);
}

static void out_chunk(struct out *o, uint32_t thread, uint32_t runs, uint64_t start,
                      uint64_t end)
{
    static const uint32_t words[] = {1, 1, 1, 1, 1, 1, 1, 1};
    const struct ctr_segment seg = {
        .words = words, .n_words = runs, .start_ns = start, .end_ns = end};
    assert_int_equal(ctr_encoder_run(o->enc, &seg, 1, o->packed, NULL), 0);
    assert_int_equal(ctr_writer_chunk(o->w, thread, o->packed, NULL), 0);
}

/* The same with an access: one short run. */
static void out_access(struct out *o, uint32_t thread, uint32_t addr, uint64_t start)
{
    const uint32_t word = 1;
    const struct ctr_segment seg = {.words = &word,
                                    .n_words = 1,
                                    .n_units = 1,
                                    .data_end = &addr + 1,
                                    .start_ns = start,
                                    .end_ns = start + 1};
    assert_int_equal(ctr_encoder_run(o->enc, &seg, 1, o->packed, NULL), 0);
    assert_int_equal(ctr_writer_chunk(o->w, thread, o->packed, NULL), 0);
}

static uint32_t random_below(uint32_t n)
{
    static uint64_t x = 1;
    x = x * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(x >> 33) % n;
}

static int is_before(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (made[x].start != made[y].start) {
        return made[x].start < made[y].start ? -1 : 1;
    }
    return (x > y) - (x < y);
}

/*
 * Chunks are written when they are full.  Threads are unequal: one chunk of the last
 * thread lasts as long as a thousand of the others, and one of thread 3 the whole time.
 * Many chunks have equal times.
 */
static int make_trace(void)
{
    uint64_t start[THREADS] = {0}, end[THREADS], next[THREADS] = {0};
    struct out o;
    out_begin(&o, CTR_EVENTS_EXEC);
    for (uint32_t t = 0; t < THREADS; t++) {
        end[t] = 1 + t;
    }
    end[3] = CHUNKS * 2;
    for (uint32_t i = 0; i < CHUNKS; i++) {
        uint32_t t = 0;
        for (uint32_t k = 1; k < THREADS; k++) {
            t = end[k] < end[t] ? k : t;
        }
        t = i == CHUNKS - 1 ? 3 : t;
        const uint32_t runs = 1 + random_below(8);
        made[i] = (struct made){t, next[t], runs * 4, start[t], end[t]};
        out_chunk(&o, t, runs, start[t], end[t]);
        next[t] += made[i].insns;
        start[t] = end[t] + random_below(2);
        end[t] = start[t] + random_below(t == THREADS - 1 ? 2000 : 9);
        by_time[i] = i;
    }
    qsort(by_time, CHUNKS, sizeof(by_time[0]), is_before);
    return out_finish(&o);
}

static int trace_fd(void)
{
    static int fd = -1;
    if (fd < 0) {
        fd = make_trace();
    }
    return fd;
}

static struct ctr_trace *open_trace(unsigned flags)
{
    struct ctr_trace *tr;
    assert_int_equal(ctr_open_fd(&tr, dup(trace_fd()), flags, NULL), 0);
    return tr;
}

static void check_row(const struct chunk_row *row, uint32_t i)
{
    assert_int_equal(row->pub.index, i);
    assert_int_equal(row->pub.thread, made[i].thread);
    assert_int_equal(row->pub.first, made[i].first);
    assert_int_equal(row->pub.insns, made[i].insns);
    assert_int_equal(row->pub.start_ns, made[i].start);
    assert_int_equal(row->pub.end_ns, made[i].end);
}

/* All chunks, forwards and backwards, in order of time and of the file. */
static void test_order(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags <= CTR_OPEN_NO_INDEX; flags++) {
        struct ctr_trace *tr = open_trace(flags);
        struct chunk_scan s = CHUNK_SCAN_ALL;
        struct chunk_row row;
        uint64_t place[2] = {0};
        assert_int_equal(chunktab_groups(tr->chunks), (CHUNKS + 255) / 256);
        for (uint32_t i = 0; i < CHUNKS; i++) {
            assert_int_equal(chunktab_next(tr->chunks, &s, &row, NULL), 1);
            check_row(&row, by_time[i]);
            place[1] = s.at - 1;
            place[0] = i ? place[0] : place[1];
        }
        assert_int_equal(chunktab_next(tr->chunks, &s, &row, NULL), 0);
        for (int back = 0; back < 2; back++) {
            uint64_t at = place[back], last = at;
            for (uint32_t i = 0; i < CHUNKS; i++) {
                assert_int_equal(chunktab_get_at(tr->chunks, at, &row, NULL), 0);
                check_row(&row, by_time[back ? CHUNKS - 1 - i : i]);
                assert_int_equal(chunktab_step(tr->chunks, &at, back, NULL),
                                 i + 1 < CHUNKS);
                assert_true(i + 1 == CHUNKS || (back ? at < last : at > last));
                last = at;
            }
        }
        s = CHUNK_SCAN_ALL;
        s.stored = 1;
        for (uint32_t i = 0; i < CHUNKS; i++) {
            assert_int_equal(chunktab_next(tr->chunks, &s, &row, NULL), 1);
            check_row(&row, i);
        }
        ctr_close(tr);
    }
}

static int wanted(const struct chunk_scan *s, const struct made *m)
{
    return m->first <= s->to && m->first + m->insns >= s->from && m->start <= s->to_ns &&
           m->end >= s->from_ns && m->thread >= s->thread && m->thread <= s->last_thread;
}

/* Ranges of all kinds, each in a trace that was just opened: no chunk is left out, and
 * the chunks come in order. */
static void test_ranges(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 400; k++) {
        struct ctr_trace *tr = open_trace(k % 4 == 3 ? CTR_OPEN_NO_INDEX : 0);
        struct chunk_scan s = CHUNK_SCAN_ALL;
        const struct made *m = &made[random_below(CHUNKS)];
        struct chunk_row row;
        uint32_t i = 0;
        int got;
        if (k & 1) {
            s.from = m->first + random_below(3);
            s.to = s.from + random_below(2) * random_below(5000);
        }
        if (k & 2) {
            s.from_ns = m->start;
            s.to_ns = m->start + random_below(2) * random_below(500);
        }
        if (k & 4) {
            s.thread = s.last_thread = random_below(THREADS);
        }
        if (k & 8) {
            s.to_ns = UINT64_MAX;
        }
        while ((got = chunktab_next(tr->chunks, &s, &row, NULL)) == 1) {
            check_row(&row, (uint32_t)row.pub.index);
            for (; by_time[i] != row.pub.index; i++) {
                assert_true(i < CHUNKS && !wanted(&s, &made[by_time[i]]));
            }
            i++;
        }
        assert_int_equal(got, 0);
        for (; i < CHUNKS; i++) {
            assert_false(wanted(&s, &made[by_time[i]]));
        }
        ctr_close(tr);
    }
}

static void test_find(void **state)
{
    struct ctr_trace *tr = open_trace(0);
    struct ctr_cursor *c;
    struct ctr_chunk chunk;
    uint64_t end[THREADS] = {0};
    (void)state;
    assert_int_equal(ctr_cursor_open(&c, tr, NULL, NULL), 0);
    for (unsigned k = 0; k < CHUNKS; k += 7) {
        const struct made *m = &made[k];
        const uint64_t ordinal = m->first + random_below((uint32_t)m->insns);
        struct ctr_event ev;
        assert_int_equal(ctr_trace_find(tr, m->thread, ordinal, &chunk, NULL), 0);
        assert_int_equal(chunk.index, k);
        assert_int_equal(ctr_cursor_seek_ordinal(c, m->thread, ordinal, NULL), 0);
        assert_int_equal(ctr_cursor_next(c, &ev, NULL), 1);
        assert_int_equal(ev.exec.thread->index, m->thread);
        assert_int_equal(ev.exec.ordinal, ordinal);
    }
    for (unsigned k = 0; k < CHUNKS; k++) {
        end[made[k].thread] = made[k].first + made[k].insns;
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        assert_int_equal(ctr_trace_find(tr, t, end[t], &chunk, NULL), 0);
        assert_int_equal(chunk.first + chunk.insns, end[t]);
        assert_int_equal(ctr_trace_find(tr, t, end[t] + 1, &chunk, NULL), -CTR_E_INVAL);
    }
    ctr_cursor_close(c);
    ctr_close(tr);
}

/* ------------------------------------------------------------------- damage */

static uint8_t *copy_file(int fd, size_t *n)
{
    *n = (size_t)lseek(fd, 0, SEEK_END);
    uint8_t *p = malloc(*n);
    assert_non_null(p);
    assert_int_equal(pread(fd, p, *n, 0), (ssize_t)*n);
    return p;
}

static uint8_t *copy_trace(size_t *n)
{
    return copy_file(trace_fd(), n);
}

/* The next section of a type, or NULL; its first frame begins *head bytes after it. */
static uint8_t *find_section(uint8_t *p, const uint8_t *end, unsigned type, size_t *head)
{
    while (p < end) {
        const int ours = le32(p) == FRAME_OURS && le32(p + SECT_OFF_TAG) == SECT_TAG;
        size_t size = ZSTD_findFrameCompressedSize(p, (size_t)(end - p));
        assert_false(ZSTD_isError(size));
        if (ours && le16(p + SECT_OFF_TYPE) == type) {
            *head = size;
            return p;
        }
        p += size;
    }
    return NULL;
}

static int add_count(void *arg, const struct ctr_count *c)
{
    *(uint64_t *)arg += c->full * 4;
    return 0;
}

static uint64_t count_insns(struct ctr_trace *tr)
{
    uint64_t n = 0;
    assert_int_equal(ctr_trace_counts(tr, NULL, add_count, &n, NULL), 0);
    return n;
}

/* Each PART is damaged in another place: the chunks themselves have the information. */
static void test_damaged_parts(void **state)
{
    size_t n, head;
    uint8_t *data = copy_trace(&n), *p = data;
    struct chunk_scan s = CHUNK_SCAN_ALL;
    struct chunk_row row;
    struct ctr_info info;
    unsigned parts = 0;
    (void)state;
    while ((p = find_section(p, data + n, SECT_PART, &head))) {
        p[parts % 2 ? head + 12 : 30] ^= 1; /* its rows, or the header */
        p += head;
        parts++;
    }
    assert_int_equal(parts, (CHUNKS + 255) / 256);
    struct ctr_trace *tr = open_bytes(data, n, 0);
    ctr_trace_info(tr, &info);
    assert_true(info.has_index);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        assert_int_equal(chunktab_next(tr->chunks, &s, &row, NULL), 1);
        check_row(&row, by_time[i]);
    }
    assert_int_equal(count_insns(tr), info.insns);
    ctr_close(tr);
    free(data);
}

/* The header of section number i of a type. */
static void damage(uint8_t *data, size_t n, unsigned type, uint32_t i)
{
    size_t head;
    uint8_t *p = find_section(data, data + n, type, &head);
    while (i--) {
        p = find_section(p + head, data + n, type, &head);
    }
    p[30] ^= 1;
}

/* A PART, and the header of one of its chunks: that chunk and the ones after it in the
 * PART are lost; all others come in order. */
static void test_damaged_chunk(void **state)
{
    size_t n;
    uint8_t *data = copy_trace(&n);
    const uint32_t part = 5, bad = part * 256 + 200;
    struct chunk_scan s = CHUNK_SCAN_ALL;
    struct chunk_row row;
    struct ctr_diag diag;
    uint32_t got = 0, errors = 0;
    (void)state;
    damage(data, n, SECT_CHUNK, bad);
    damage(data, n, SECT_PART, part);
    struct ctr_trace *tr = open_bytes(data, n, 0);
    for (uint32_t i = 0;; i++) {
        int err = chunktab_next(tr->chunks, &s, &row, &diag);
        if (err == 0) {
            break;
        }
        if (err < 0) {
            assert_int_equal(err, -CTR_E_CORRUPT);
            errors++;
            continue;
        }
        while (by_time[got] / 256 == part && by_time[got] >= bad) {
            got++;
        }
        check_row(&row, by_time[got++]);
    }
    assert_int_equal(errors, 256 - 200);
    assert_in_range(got, CHUNKS - errors, CHUNKS);
    ctr_close(tr);
    free(data);
}

/* An unreadable place farther on does not hide what was found before it. */
static void test_search(void **state)
{
    (void)state;
    for (int back = 0; back < 2; back++) {
        const uint32_t hit = back ? 512 : 511;
        const struct ctr_range there = {0x500000, 0x500010, 0};
        const struct ctr_filter filter = {.addrs = &there, .naddr = 1};
        struct out o;
        size_t n;
        out_begin(&o, CTR_EVENTS_EXEC | CTR_EVENTS_MEM);
        for (uint32_t i = 0; i < 1024; i++) {
            out_access(&o, i & 1, i == hit ? 0x500000 : 0x1000, i);
        }
        int fd = out_finish(&o);
        uint8_t *data = copy_file(fd, &n);
        close(fd);
        damage(data, n, SECT_CHUNK, back ? 511 : 512);
        damage(data, n, SECT_PART, back ? 1 : 2);
        struct ctr_trace *tr = open_bytes(data, n, 0);
        for (unsigned k = 0; k < 40; k++) {
            struct ctr_found found;
            assert_int_equal(ctr_search(tr, &filter, 0, back ? 1600 : 600,
                                        back ? CTR_SEARCH_BACK : 0, 1 + k % 4, &found,
                                        NULL),
                             1);
            assert_int_equal(found.chunk, hit);
        }
        ctr_close(tr);
        free(data);
    }
}

/* All chunks began at one time, or some at the largest possible time. */
static void test_ties(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        struct out o;
        struct ctr_trace *tr;
        struct chunk_scan s = CHUNK_SCAN_ALL;
        struct chunk_row row;
        const uint64_t ns = k == 0 ? 0 : UINT64_MAX;
        out_begin(&o, CTR_EVENTS_EXEC);
        for (uint32_t i = 0; i < CHUNKS; i++) {
            const uint64_t start = k == 2 && i < CHUNKS / 2 ? 7 : ns;
            out_chunk(&o, i % 3, 1, start, start);
        }
        assert_int_equal(ctr_open_fd(&tr, out_finish(&o), 0, NULL), 0);
        for (uint32_t i = 0; i < CHUNKS; i++) {
            assert_int_equal(chunktab_next(tr->chunks, &s, &row, NULL), 1);
            assert_int_equal(row.pub.index, i);
        }
        assert_int_equal(chunktab_next(tr->chunks, &s, &row, NULL), 0);
        ctr_close(tr);
    }
}

/* A thread's time decreases: that chunk and the ones after it cannot be used. */
static void test_falling(void **state)
{
    enum { FALLS = 149 };
    size_t n, head;
    uint8_t *data = copy_trace(&n), *p = data;
    struct ctr_info info;
    (void)state;
    for (uint32_t i = 0; i <= FALLS; i++) {
        p = find_section(i ? p + head : p, data + n, SECT_CHUNK, &head);
    }
    const size_t body = SECT_OFF_FRAMES + CHUNK_FRAMES * SECT_FRAME;
    put64(p + body + CHUNK_START, 3);
    put64(p + head - SECT_HASH, XXH64(p, head - SECT_HASH, 0));
    struct ctr_trace *tr = open_bytes(data, n, CTR_OPEN_NO_INDEX);
    ctr_trace_info(tr, &info);
    assert_int_equal(info.chunks, FALLS);
    assert_int_equal(info.state, CTR_TRUNCATED);
    ctr_close(tr);
    free(data);
}

/* ROOT describes a PART wrongly: readers find that before they use a chunk. */
static void test_wrong_root(void **state)
{
    static const struct {
        unsigned off;
        uint8_t byte;
    } wrong[] = {
        {RPART_FROM, 1},    {RPART_TO + 1, 3},      {RPART_FROM_NS, 3},
        {RPART_TO_NS, 255}, {RPART_LATE_NS, 255},   {RPART_FLAGS, 2},
        {RPART_THREAD, 1},  {RPART_LAST_THREAD, 4}, {RPART_CHUNK_OFF, 1},
    };
    (void)state;
    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        static uint8_t raw[1 << 16];
        size_t n, head;
        uint8_t *data = copy_trace(&n);
        uint8_t *root = find_section(data, data + n, SECT_ROOT, &head),
                *frame = root + head;
        const size_t had = le32(root + SECT_OFF_FRAMES);
        size_t got = ZSTD_decompress(raw, sizeof(raw), frame, had);
        assert_false(ZSTD_isError(got));
        raw[2 * ROOT_PART_ROW + wrong[k].off] ^= wrong[k].byte;
        /* No larger than before: what follows stays where it is. */
        size_t z = ZSTD_compress(frame, had, raw, got, 19);
        assert_false(ZSTD_isError(z));
        memmove(frame + z, frame + had, n - (size_t)(frame + had - data));
        n -= had - z;
        put32(root + SECT_OFF_FRAMES, (uint32_t)z);
        put64(root + SECT_OFF_FRAMES + 8, XXH64(frame, z, 0));
        put64(root + head - SECT_HASH, XXH64(root, head - SECT_HASH, 0));
        struct ctr_trace *tr = open_bytes(data, n, 0);
        struct chunk_row row;
        struct ctr_diag diag;
        struct ctr_info info;
        ctr_trace_info(tr, &info);
        assert_true(info.has_index);
        assert_int_equal(chunktab_get(tr->chunks, 600, &row, &diag), -CTR_E_CORRUPT);
        assert_int_equal(chunktab_get(tr->chunks, 400, &row, &diag), 0);
        ctr_close(tr);
        free(data);
    }
}

/* ------------------------------------------------------------------- memory */

/* A process of its own, "FD FLAGS": reads the trace and checks its memory. */
static int reader(char **argv)
{
    struct ctr_trace *tr;
    struct ctr_chunk c;
    if (ctr_open_fd(&tr, atoi(argv[1]), (unsigned)atoi(argv[2]), NULL)) {
        return 1;
    }
    struct ctr_info info;
    ctr_trace_info(tr, &info);
    if (info.chunks != MANY || ctr_trace_find(tr, 0, info.insns / 2, &c, NULL)) {
        return 1;
    }
    for (uint64_t i = 0; i < info.chunks; i++) {
        if (ctr_trace_chunk(tr, i, &c, NULL) || c.index != i) {
            return 1;
        }
    }
    return peak_kib() < 0 || peak_kib() > 12 << 10 ? 2 : 0;
}

/* 112 bytes for each would be 22 MB. */
static void test_memory(void **state)
{
    struct out o;
    char fd[16];
    (void)state;
    if (SANITIZED) {
        skip();
    }
    out_begin(&o, CTR_EVENTS_EXEC);
    for (uint32_t i = 0; i < MANY; i++) {
        out_chunk(&o, 0, 1, i, i + 1);
    }
    out_finish(&o);
    snprintf(fd, sizeof(fd), "%d", dup(o.fd));
    assert_int_equal(run_again(fd, "0", NULL), 0);
    snprintf(fd, sizeof(fd), "%d", dup(o.fd));
    assert_int_equal(run_again(fd, "1", NULL), 0);
    close(o.fd);
}

/* Equal contents have equal hashes, whatever thread and time they are of. */
static void test_hash(void **state)
{
    struct ctr_chunk_hash h[5];
    struct ctr_diag diag;
    struct ctr_trace *tr;
    struct out o;
    (void)state;
    out_begin(&o, CTR_EVENTS_EXEC | CTR_EVENTS_MEM);
    out_access(&o, 0, 0x1000, 10);
    out_access(&o, 1, 0x1000, 20);
    out_access(&o, 1, 0x1004, 30);
    out_access(&o, 2, 0x1000, 40);
    out_access(&o, 0, 0x1000, 50);
    assert_int_equal(ctr_open_fd(&tr, out_finish(&o), 0, NULL), 0);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(ctr_trace_chunk_hash(tr, i, &h[i], NULL), 0);
        assert_int_equal(h[i].last_block, 1);
        assert_int_equal(h[i].runs, h[0].runs);
        assert_int_equal(h[i].accesses == h[0].accesses, i != 2);
        assert_int_equal(h[i].values, h[0].values);
        assert_int_equal(h[i].registers, h[0].registers);
        assert_int_equal(h[i].events, h[0].events);
    }
    assert_int_equal(ctr_trace_chunk_hash(tr, 5, &h[0], &diag), -CTR_E_INVAL);
    ctr_close(tr);
    /* Other numbers of runs */
    out_begin(&o, CTR_EVENTS_EXEC);
    for (uint32_t i = 0; i < 3; i++) {
        out_chunk(&o, i, 1 + i % 2, i, i + 1);
    }
    assert_int_equal(ctr_open_fd(&tr, out_finish(&o), 0, NULL), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ctr_trace_chunk_hash(tr, i, &h[i], NULL), 0);
    }
    assert_int_equal(h[0].runs == h[1].runs, 0);
    assert_int_equal(h[0].runs, h[2].runs);
    ctr_close(tr);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_order),
        cmocka_unit_test(test_ranges),        cmocka_unit_test(test_find),
        cmocka_unit_test(test_damaged_parts), cmocka_unit_test(test_wrong_root),
        cmocka_unit_test(test_damaged_chunk), cmocka_unit_test(test_ties),
        cmocka_unit_test(test_falling),       cmocka_unit_test(test_search),
        cmocka_unit_test(test_hash),
    };
    return argc == 3 ? reader(argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
