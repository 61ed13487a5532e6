/* SPDX-License-Identifier: MIT */
/*
 * Damaged files: cut anywhere, any byte changed, anything at all.  Nothing may
 * crash, and nothing that is told may be wrong.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>
#include "cannoli/events.h"
#include "format.h"
#include "le.h"

static void small(struct recording *r, uint64_t seed, int finish)
{
    recording_make(r, seed, 2, 25, 4, seed & 1 ? 4 : 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM,
                   (SIM_ALL & ~SIM_BIG) | (seed & 2 ? SIM_PART : 0), 2, finish);
}

/*
 * Opens and reads damaged bytes.  What comes out must be the beginning of
 * what was recorded.  Returns 1 if the damage was noticed.
 */
static int read_damaged(const struct recording *r, const uint8_t *data, size_t n,
                        unsigned flags, int cut)
{
    struct ctr_trace *tr;
    struct ctr_diag diag;
    int err = ctr_open_fd(&tr, file_of(data, n), flags, &diag);
    if (err) {
        assert_true(err < 0);
        assert_int_equal(diag.code, -err);
        assert_true(strlen(diag.text) > 0);
        return 1;
    }
    struct ctr_replay_opts opts = {.workers = 1};
    struct events ev;
    struct ctr_info info;
    err = read_events(tr, &opts, &ev, &diag);
    ctr_trace_info(tr, &info);
    size_t got = check_prefix(r, &ev);
    if (cut && !err && info.state == CTR_COMPLETE) {
        fail_msg("a cut at %zu was not noticed", n);
    }
    if (!err && info.state == CTR_COMPLETE) {
        check_events(r, &ev);
    }
    (void)got;
    events_free(&ev);
    ctr_close(tr);
    return err || info.state != CTR_COMPLETE;
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct recording r;
        small(&r, seed, 1);
        for (size_t n = 0; n < r.bytes; n++) {
            read_damaged(&r, r.file, n, 0, 1);
            read_damaged(&r, r.file, n, CTR_OPEN_STREAM, 1);
        }
        recording_free(&r);
    }
}

/* What is whole before the cut must be there. */
static void test_cut_keeps_chunks(void **state)
{
    struct recording r;
    (void)state;
    recording_make(&r, 77, 1, 400, 30, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, SIM_ALL, 1,
                   1);
    struct ctr_trace *tr = open_bytes(r.file, r.bytes, 0);
    struct ctr_chunk c;
    struct ctr_info info;
    ctr_trace_info(tr, &info);
    assert_true(info.chunks > 4);
    for (uint64_t i = 0; i < info.chunks; i++) {
        assert_int_equal(ctr_trace_chunk(tr, i, &c, NULL), 0);
        for (int more = 0; more < 2; more++) {
            size_t n = c.off + c.bytes + (more ? 5 : 0);
            struct ctr_trace *cut = open_bytes(r.file, n, 0);
            struct ctr_info left;
            ctr_trace_info(cut, &left);
            assert_int_equal(left.chunks, i + 1);
            assert_int_equal(left.insns, c.first + c.insns);
            assert_int_equal(left.state, more ? CTR_TRUNCATED : CTR_UNFINISHED);
            struct ctr_diag damage;
            ctr_trace_damage(cut, &damage);
            assert_int_equal(damage.code, more ? CTR_E_TRUNCATED : CTR_E_OK);
            ctr_close(cut);
        }
    }
    assert_int_equal(ctr_trace_chunk(tr, info.chunks, &c, NULL), -CTR_E_INVAL);
    ctr_close(tr);
    recording_free(&r);
}

static void test_unfinished(void **state)
{
    struct recording r;
    struct events ev;
    struct ctr_info info;
    struct ctr_diag diag;
    (void)state;
    small(&r, 3, 0);
    struct ctr_trace *tr = open_bytes(r.file, r.bytes, 0);
    assert_int_equal(read_events(tr, NULL, &ev, &diag), 0);
    check_events(&r, &ev);
    ctr_trace_info(tr, &info);
    assert_int_equal(info.state, CTR_UNFINISHED);
    events_free(&ev);
    ctr_close(tr);
    recording_free(&r);
}

static void test_flip_any_byte(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct recording r;
        unsigned noticed = 0;
        small(&r, seed, 1);
        for (size_t at = 0; at < r.bytes; at++) {
            uint8_t old = r.file[at];
            r.file[at] ^= (uint8_t)(1u << (at % 8));
            noticed += (unsigned)read_damaged(&r, r.file, r.bytes, 0, 0);
            read_damaged(&r, r.file, r.bytes, CTR_OPEN_STREAM, 0);
            r.file[at] = old;
        }
        /* Sections that the index makes superfluous are not read. */
        assert_true(noticed > 0);
        recording_free(&r);
    }
}

/* A flipped byte in the payload of a chunk is an error that says where. */
static void test_flip_in_chunk(void **state)
{
    struct recording r;
    (void)state;
    small(&r, 5, 1);
    struct ctr_trace *tr = open_bytes(r.file, r.bytes, 0);
    struct ctr_chunk c;
    assert_int_equal(ctr_trace_chunk(tr, 1, &c, NULL), 0);
    ctr_close(tr);
    for (uint64_t at = c.off; at < c.off + c.bytes; at++) {
        struct events ev;
        struct ctr_diag diag;
        r.file[at] ^= 0x40;
        tr = open_bytes(r.file, r.bytes, 0);
        struct ctr_replay_opts opts = {.workers = 2};
        int err = read_events(tr, &opts, &ev, &diag);
        assert_true(err == -CTR_E_CORRUPT || err == -CTR_E_TRUNCATED);
        assert_true(diag.off >= c.off && diag.off <= r.bytes);
        check_prefix(&r, &ev);
        assert_true(ev.n > 0); /* chunk 0 */
        events_free(&ev);
        ctr_close(tr);
        r.file[at] ^= 0x40;
    }
    recording_free(&r);
}

static void test_not_a_trace(void **state)
{
    static const char text[] =
        "#!/bin/sh\necho this is not a trace at all, not even near\n";
    struct ctr_trace *tr;
    struct ctr_diag diag;
    (void)state;
    assert_int_equal(ctr_open_fd(&tr, file_of("", 0), 0, &diag), -CTR_E_NOTTRACE);
    assert_int_equal(ctr_open_fd(&tr, file_of(text, sizeof(text)), 0, &diag),
                     -CTR_E_NOTTRACE);
    assert_int_equal(ctr_open(&tr, "/nonexistent", 0, &diag), -CTR_E_IO);
    assert_int_equal(ctr_open(&tr, "/", 0, &diag), -CTR_E_IO);
    assert_true(diag.sys_errno != 0);
    assert_null(tr);
}

/* Random bytes behind a good beginning. */
static void test_hostile(void **state)
{
    struct recording r;
    (void)state;
    small(&r, 9, 1);
    uint8_t *data = malloc(r.bytes);
    assert_non_null(data);
    for (unsigned i = 0; i < 1500; i++) {
        memcpy(data, r.file, r.bytes);
        unsigned n = 1 + sim_random(&r.sim, 8);
        while (n--) {
            size_t at = sim_random(&r.sim, (uint32_t)r.bytes);
            data[at] = (uint8_t)sim_random(&r.sim, 256);
        }
        read_damaged(&r, data, r.bytes,
                     i % 3 == 0   ? CTR_OPEN_STREAM
                     : i % 3 == 1 ? CTR_OPEN_NO_INDEX
                                  : 0,
                     0);
    }
    free(data);
    recording_free(&r);
}

/* Ends a section whose header, of `less' bytes, is at p: the size of its body, its
 * column. */
static size_t old_column(uint8_t *p, size_t less, unsigned body, const uint8_t *raw,
                         size_t n)
{
    size_t z = ZSTD_compress(p + less, ZSTD_compressBound(n), raw, n, 1);
    assert_false(ZSTD_isError(z));
    put32(p + 4, (uint32_t)(less - FRAME_HEAD));
    put16(p + SECT_OFF_BODY, (uint16_t)body);
    put32(p + SECT_OFF_FRAMES, (uint32_t)z);
    put32(p + SECT_OFF_FRAMES + 4, (uint32_t)n);
    put64(p + SECT_OFF_FRAMES + 8, XXH64(p + less, z, 0));
    put64(p + less - SECT_HASH, XXH64(p, less - SECT_HASH, 0));
    return less + z;
}

/* META without a body and without a selection; returns its bytes. */
static size_t old_meta(uint8_t *p, const uint8_t *meta, size_t head, size_t z)
{
    uint8_t raw[4096];
    size_t got = ZSTD_decompress(raw, sizeof(raw), meta + head, z);
    assert_false(ZSTD_isError(got));
    got -= strlen("--module lib --once") + 1;
    size_t less = head - META_BODY;
    memcpy(p, meta, SECT_OFF_FRAMES);
    return old_column(p, less, 0, raw, got);
}

/* CHUNK with the body of before version 4; returns the bytes of its header. */
static size_t old_chunk(uint8_t *p, const uint8_t *chunk, size_t head)
{
    size_t less = head - (CHUNK_BODY - CHUNK_BODY_3);
    uint8_t *body = p + SECT_OFF_FRAMES + CHUNK_FRAMES * SECT_FRAME;
    memcpy(p, chunk, less - SECT_HASH);
    put32(p + 4, (uint32_t)(less - FRAME_HEAD));
    put16(p + SECT_OFF_BODY, CHUNK_BODY_3);
    put32(body + CHUNK_FLAGS, le32(body + CHUNK_FLAGS) & CHUNK_F_ALL_3);
    put64(body + CHUNK_LAST_FIRST, 0x0000000100000001ull);
    put64(p + less - SECT_HASH, XXH64(p, less - SECT_HASH, 0));
    return less;
}

/* ROOT as before version 6: rows of PARTs and threads are shorter. */
static size_t old_root(uint8_t *p, const uint8_t *root, size_t head, size_t z)
{
    static uint8_t raw[1 << 16], out[1 << 16];
    const uint8_t *body = root + SECT_OFF_FRAMES + SECT_FRAME, *from = raw;
    size_t got = ZSTD_decompress(raw, sizeof(raw), root + head, z), n = 0;
    const size_t less = head - (ROOT_BODY - ROOT_BODY_5);
    const size_t same =
        le32(body + ROOT_DICTS) * ROOT_DICT_ROW + le32(body + ROOT_PROCESSES) * PROC_ROW;
    assert_false(ZSTD_isError(got));
    for (uint32_t i = 0; i < le32(body + ROOT_PARTS); i++, n += ROOT_PART_ROW_5) {
        memcpy(out + n, from, 20);
        put32(out + n + 20, 0);
        from += ROOT_PART_ROW;
    }
    memcpy(out + n, from, same);
    from += same;
    n += same;
    for (uint32_t i = 0; i < le32(body + ROOT_THREADS); i++, n += THR_ROW_5) {
        memcpy(out + n, from, THR_ROW_5);
        from += THR_ROW;
    }
    assert_ptr_equal(from, raw + got);
    memcpy(p, root, less - SECT_HASH);
    return old_column(p, less, ROOT_BODY_5, out, n);
}

/* The trace as an older version would have it.  Before version 4 the index is of another
 * file then, so this is read as a stream, or without it. */
static uint8_t *make_version(const struct recording *r, uint32_t version, size_t *n)
{
    uint8_t *out = calloc(1, r->bytes + (1 << 17)), *p = out + FILE_HEAD;
    const uint8_t *from = r->file + FILE_HEAD, *end = r->file + r->bytes;
    assert_non_null(out);
    memcpy(out, r->file, FILE_HEAD);
    put32(out + FILE_OFF_VERSION, version);
    put64(out + FILE_OFF_HASH, XXH64(out, FILE_OFF_HASH, 0));
    while (from < end) {
        size_t head = le32(from + 4) + FRAME_HEAD, payload = 0;
        unsigned type =
            le32(from + SECT_OFF_TAG) == SECT_TAG ? le16(from + SECT_OFF_TYPE) : 0;
        for (unsigned i = 0; type && i < le16(from + SECT_OFF_NFRAMES); i++) {
            payload += le32(from + SECT_OFF_FRAMES + i * SECT_FRAME);
        }
        if (type == SECT_META && version == 2) {
            p += old_meta(p, from, head, payload);
        } else if (type == SECT_ROOT && version < 6) {
            p += old_root(p, from, head, payload);
        } else {
            size_t put = head;
            if (type == SECT_CHUNK && version < 4) {
                put = old_chunk(p, from, head);
            } else {
                memcpy(p, from, head);
            }
            memcpy(p + put, from + head, payload);
            p += put + payload;
        }
        from += head + payload;
    }
    *n = (size_t)(p - out);
    return out;
}

static int sum_counts(void *arg, const struct ctr_count *c)
{
    uint64_t *sum = arg;
    sum[0] += c->full + c->partial;
    sum[1] += c->fallthrough;
    sum[2] += c->unknown;
    return 0;
}

static void test_versions(void **state)
{
    struct recording r;
    struct ctr_trace *tr;
    struct ctr_info info;
    struct ctr_diag diag;
    struct events ev;
    size_t n;
    (void)state;
    recording_make(&r, 21, 2, 200, 20, 8, CTR_EVENTS_ALL, SIM_ALL | SIM_PART, 1, 1);
    uint8_t *old;
    uint64_t want[3] = {0}, sum[3] = {0};
    tr = open_bytes(r.file, r.bytes, 0);
    assert_int_equal(ctr_trace_counts(tr, NULL, sum_counts, want, &diag), 0);
    ctr_trace_info(tr, &info);
    const uint64_t dropped = info.dropped_chunks;
    const struct ctr_info whole = info;
    ctr_close(tr);
    for (uint32_t version = 5; version >= 2; version--) {
        version -= version == 4; /* it has no derived slots */
        old = make_version(&r, version, &n);
        if (version == 5) {
            tr = open_bytes(old, n, 0);
            assert_int_equal(read_events(tr, NULL, &ev, &diag), 0);
            check_events(&r, &ev);
            ctr_trace_info(tr, &info);
            assert_true(info.has_index);
            assert_int_equal(info.raw_bytes, whole.raw_bytes);
            events_free(&ev);
            ctr_close(tr);
        }
        tr = open_bytes(old, n, CTR_OPEN_STREAM);
        if (read_events(tr, NULL, &ev, &diag)) {
            fail_msg("version %u: %s", version, diag.text);
        }
        check_events(&r, &ev);
        ctr_trace_info(tr, &info);
        assert_int_equal(info.version, version);
        assert_string_equal(info.selection, version > 2 ? "--module lib --once" : "");
        assert_int_equal(info.dropped_chunks, version > 2 ? dropped : 0);
        assert_string_equal(info.argv[2], "an argument");
        events_free(&ev);
        ctr_close(tr);
        tr = open_bytes(old, n, CTR_OPEN_NO_INDEX);
        memset(sum, 0, sizeof(sum));
        assert_int_equal(ctr_trace_counts(tr, NULL, sum_counts, sum, &diag), 0);
        assert_memory_equal(sum, want, sizeof(want));
        ctr_close(tr);
        if (version > 2) {
            free(old);
        }
    }
    /* This META is none of version 3. */
    put32(old + FILE_OFF_VERSION, 3);
    put64(old + FILE_OFF_HASH, XXH64(old, FILE_OFF_HASH, 0));
    assert_int_equal(ctr_open_fd(&tr, file_of(old, n), CTR_OPEN_STREAM, &diag),
                     -CTR_E_CORRUPT);
    for (unsigned k = 0; k < 2; k++) {
        put32(old + FILE_OFF_VERSION, k ? FORMAT_VERSION + 1 : 1);
        put64(old + FILE_OFF_HASH, XXH64(old, FILE_OFF_HASH, 0));
        assert_int_equal(ctr_open_fd(&tr, file_of(old, n), CTR_OPEN_STREAM, &diag),
                         -CTR_E_UNSUPPORTED);
    }
    free(old);
    recording_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_anywhere),  cmocka_unit_test(test_cut_keeps_chunks),
        cmocka_unit_test(test_unfinished),    cmocka_unit_test(test_flip_any_byte),
        cmocka_unit_test(test_flip_in_chunk), cmocka_unit_test(test_not_a_trace),
        cmocka_unit_test(test_hostile),       cmocka_unit_test(test_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
