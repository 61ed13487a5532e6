/* SPDX-License-Identifier: MIT */
/*
 * Damaged files: cut anywhere, any byte changed, arbitrary content.  Nothing may
 * crash, and no output may be wrong.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>
#include "cannoli/events.h"
#include "base/format.h"
#include "base/le.h"

static void small(struct recording *r, uint64_t seed, int finish)
{
    recording_make(r, seed, 2, 25, 4, seed & 1 ? 4 : 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM,
                   (SIM_ALL & ~SIM_BIG) | (seed & 2 ? SIM_PART : 0), 2, finish);
}

/*
 * Opens and reads damaged bytes.  The output must be a prefix of what was
 * recorded.  Returns 1 if the damage was noticed.
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

/* Everything that is whole before the cut must be there. */
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

/* A flipped byte in a chunk's payload gives an error that says where. */
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

/* Random bytes after a good beginning. */
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

/* In a file of another version only the version number is read. */
static void test_versions(void **state)
{
    struct recording r;
    struct ctr_trace *tr;
    struct ctr_diag diag;
    (void)state;
    recording_make(&r, 21, 2, 200, 20, 8, SIM_EVENTS, SIM_ALL | SIM_PART | SIM_PHYS, 1,
                   1);
    for (unsigned k = 0; k < 2; k++) {
        put32(r.file + FILE_OFF_VERSION, k ? FORMAT_VERSION + 1 : FORMAT_VERSION - 1);
        put64(r.file + FILE_OFF_HASH, XXH64(r.file, FILE_OFF_HASH, 0));
        assert_int_equal(
            ctr_open_fd(&tr, file_of(r.file, r.bytes), CTR_OPEN_STREAM, &diag),
            -CTR_E_UNSUPPORTED);
        assert_non_null(strstr(diag.text, k ? "newer than" : "older than"));
    }
    recording_free(&r);
}

/* A file says which features it needs; one with others is not read. */
static void test_features(void **state)
{
    (void)state;
    for (unsigned with = 0; with < 1024; with++) {
        const uint32_t needs =
            (with & 1 ? FILE_INCOMPAT_ARGS : 0) | (with & 2 ? FILE_INCOMPAT_MACHINE : 0) |
            (with & 4 ? FILE_INCOMPAT_ORDER : 0) | (with & 8 ? FILE_INCOMPAT_PHYS : 0) |
            (with & 16 ? FILE_INCOMPAT_POWER | FILE_INCOMPAT_SAVED : 0) |
            (with & 32 ? FILE_INCOMPAT_MEMORY : 0) |
            (with & 64 ? FILE_INCOMPAT_TASK | FILE_INCOMPAT_AREA : 0) |
            (with & 128 ? FILE_INCOMPAT_KEY : 0) |
            (with & 256 ? FILE_INCOMPAT_DISCARD : 0) |
            (with & 512 ? FILE_INCOMPAT_INPUT : 0);
        const uint32_t memory[] = {CTR_EVENTS_RAM, CTR_EVENTS_DMA, CTR_EVENTS_IO};
        struct recording r;
        struct ctr_trace *tr;
        struct ctr_diag diag;
        recording_make(
            &r, 22, 2, 200, 20, 8,
            (SIM_EVENTS & ~(with & 1 ? 0u : CTR_EVENTS_THR) &
             ~(with & 8 ? 0u : CTR_EVENTS_PHYS) & ~(with & 16 ? 0u : CTR_EVENTS_PWR) &
             ~(with & 64 ? 0u : CTR_EVENTS_TASK) & ~(with & 128 ? 0u : CTR_EVENTS_KEY) &
             ~(with & 256 ? 0u : CTR_EVENTS_MAP) & ~(with & 512 ? 0u : CTR_EVENTS_INPUT) &
             ~(CTR_EVENTS_RAM | CTR_EVENTS_DMA | CTR_EVENTS_IO)) |
                (with & 32 ? memory[with % 3] : 0u) | (with & 4 ? CTR_EVENTS_ORDER : 0u),
            with & 2 ? SIM_ALL | SIM_MACHINE : SIM_ALL, 1, 1);
        assert_int_equal(le32(r.file + FILE_OFF_INCOMPAT), needs);
        for (unsigned bit = 0; bit < 32; bit++) {
            const int known = bit < 12;
            put32(r.file + FILE_OFF_INCOMPAT, needs | 1u << bit);
            put64(r.file + FILE_OFF_HASH, XXH64(r.file, FILE_OFF_HASH, 0));
            int err = ctr_open_fd(&tr, file_of(r.file, r.bytes), 0, &diag);
            assert_int_equal(err, known ? 0 : -CTR_E_UNSUPPORTED);
            if (known) {
                ctr_close(tr);
            } else {
                assert_non_null(strstr(diag.text, "newer than"));
            }
        }
        recording_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_anywhere),  cmocka_unit_test(test_cut_keeps_chunks),
        cmocka_unit_test(test_unfinished),    cmocka_unit_test(test_flip_any_byte),
        cmocka_unit_test(test_flip_in_chunk), cmocka_unit_test(test_not_a_trace),
        cmocka_unit_test(test_hostile),       cmocka_unit_test(test_versions),
        cmocka_unit_test(test_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
