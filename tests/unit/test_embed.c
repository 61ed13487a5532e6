/* SPDX-License-Identifier: MIT */
/*
 * Bytes of files in a trace: what is written is read, by the index and without one; holes,
 * equal contents, files that changed; damage ends the list and never gives wrong bytes.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BIG (CTR_EMBED_BYTES + 12345u)

static uint8_t big[BIG];

static void embed(struct out *o, uint32_t number, const char *path, uint64_t inode,
                  uint64_t size, uint64_t off, const void *bytes, size_t n, int changed)
{
    const struct ctr_embed e = {.path = path,
                                .dev = 7,
                                .inode = inode,
                                .size = size,
                                .offset = off,
                                .bytes = bytes,
                                .n = n,
                                .number = number,
                                .changed = changed};
    assert_int_equal(ctr_writer_embed(o->w, &e, NULL), 0);
}

static void chunk(struct out *o)
{
    static const uint32_t word = 1;
    const struct ctr_segment seg = {.words = &word, .n_words = 1, .end_ns = 1};
    assert_int_equal(ctr_encoder_run(o->enc, &seg, 1, o->packed, NULL), 0);
    assert_int_equal(ctr_writer_chunk(o->w, 0, o->packed, NULL), 0);
}

/* A trace of four files, in memory. */
static uint8_t *make(size_t *n, int checked)
{
    const struct ctr_meta meta = {.target = "x", .addr_bits = 32};
    struct out o;
    struct stat st;
    uint8_t def[128];
    const size_t bytes = simple_def(def, 0x1000, 4, 0);

    for (size_t i = 0; i < BIG; i++) {
        big[i] = (uint8_t)(i * 7 ^ i >> 9);
    }
    out_open(&o, &meta);
    assert_int_equal(ctr_dict_add(o.dict, 1, def, bytes, NULL), 0);
    out_threads(&o, 1);
    chunk(&o);
    embed(&o, 0, "/lib/big", 1, BIG, 0, big, CTR_EMBED_BYTES, 0);
    embed(&o, 0, "/lib/big", 1, BIG, CTR_EMBED_BYTES, big + CTR_EMBED_BYTES,
          BIG - CTR_EMBED_BYTES, 0);
    chunk(&o);
    embed(&o, 1, "/data", 2, 100000, 8192, big, 4096, 0);
    embed(&o, 1, "/data", 2, 100000, 0, big + 10, 4096, 0);
    embed(&o, 0, "/lib/same", 3, BIG, 0, NULL, 0, 0);
    embed(&o, 2, "/changed", 4, 3, 0, "abc", 3, 0);
    embed(&o, 2, "/changed", 4, 3, 0, NULL, 0, 1);
    chunk(&o);
    if (checked) {
        ctr_writer_embeds_checked(o.w);
    }
    const int fd = out_finish(&o);
    assert_int_equal(fstat(fd, &st), 0);
    *n = (size_t)st.st_size;
    uint8_t *file = malloc(*n);
    assert_non_null(file);
    assert_int_equal(pread(fd, file, *n, 0), *n);
    close(fd);
    return file;
}

static void check_bytes(const struct ctr_files *files, const struct ctr_file *f,
                        uint64_t from, uint64_t want, const uint8_t *bytes, size_t n)
{
    static uint8_t out[1000000];
    uint64_t off = from;
    for (size_t done = 0; done < n;) {
        size_t got = n - done < sizeof(out) ? n - done : sizeof(out);
        assert_int_equal(ctr_files_read(files, f, &off, out, &got, NULL), 0);
        assert_true(got > 0);
        assert_int_equal(off, want + done);
        assert_memory_equal(out, bytes + done, got);
        done += got;
        off += got;
    }
}

static void check_all(const struct ctr_files *files, uint32_t checked)
{
    static const struct {
        const char *path;
        uint64_t inode, size, bytes;
        uint32_t number, changed;
    } want[] = {{"/lib/big", 1, BIG, BIG, 0, 0},
                {"/data", 2, 100000, 8192, 1, 0},
                {"/lib/same", 3, BIG, BIG, 0, 0},
                {"/changed", 4, 3, 3, 2, 1}};
    uint64_t off = 20000;
    size_t n = 1;
    uint8_t byte;

    assert_int_equal(ctr_files_damage(files, NULL), 0);
    for (uint32_t i = 0; i < 4; i++) {
        const struct ctr_file *f = ctr_files_get(files, i);
        assert_non_null(f);
        assert_string_equal(f->path, want[i].path);
        assert_int_equal(f->dev, 7);
        assert_int_equal(f->inode, want[i].inode);
        assert_int_equal(f->size, want[i].size);
        assert_int_equal(f->bytes, want[i].bytes);
        assert_int_equal(f->number, want[i].number);
        assert_int_equal(f->changed, want[i].changed);
        assert_int_equal(f->checked, checked);
        assert_ptr_equal(ctr_files_find(files, f->path, 7, f->inode), f);
    }
    assert_null(ctr_files_get(files, 4));
    assert_null(ctr_files_find(files, "/data", 7, 9));
    assert_null(ctr_files_find(files, "/dat", 7, 2));
    check_bytes(files, ctr_files_get(files, 0), 0, 0, big, BIG);
    check_bytes(files, ctr_files_get(files, 2), CTR_EMBED_BYTES - 5, CTR_EMBED_BYTES - 5,
                big + CTR_EMBED_BYTES - 5, 20);
    check_bytes(files, ctr_files_get(files, 1), 0, 0, big + 10, 4096);
    check_bytes(files, ctr_files_get(files, 1), 5000, 8192, big, 4096);
    assert_int_equal(
        ctr_files_read(files, ctr_files_get(files, 1), &off, &byte, &n, NULL), 0);
    assert_int_equal(n, 0);
}

static void test_read(void **state)
{
    static const unsigned ways[] = {0, CTR_OPEN_NO_INDEX};
    size_t n;
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        uint8_t *file = make(&n, i < 2);
        struct ctr_trace *tr = open_bytes(file, n, ways[i % 2]);
        struct ctr_files *files;
        struct ctr_info info;
        assert_non_null(tr);
        ctr_trace_info(tr, &info);
        assert_int_equal(info.chunks, 3);
        assert_int_equal(ctr_files_load(&files, tr, NULL), 0);
        check_all(files, i < 2);
        ctr_files_free(files);
        ctr_close(tr);
        free(file);
    }
}

/* Without its end a trace does not say that no file was changed. */
static void test_cut(void **state)
{
    size_t n;
    uint8_t *file = make(&n, 1);
    struct ctr_trace *tr = open_bytes(file, n - 100, 0);
    struct ctr_files *files;
    struct ctr_info info;
    (void)state;
    assert_non_null(tr);
    ctr_trace_info(tr, &info);
    assert_int_not_equal(info.state, CTR_COMPLETE);
    assert_int_equal(ctr_files_load(&files, tr, NULL), 0);
    check_all(files, 1); /* ROOT is there, and was written after all of them */
    ctr_files_free(files);
    ctr_close(tr);
    for (size_t cut = n - 100; cut > n / 2; cut -= cut / 50) {
        tr = NULL;
        if (ctr_open_fd(&tr, file_of(file, cut), 0, NULL) == 0) {
            ctr_trace_info(tr, &info);
            assert_int_equal(ctr_files_load(&files, tr, NULL), 0);
            for (uint32_t i = 0; cut + 1000 < n && ctr_files_get(files, i); i++) {
                assert_int_equal(ctr_files_get(files, i)->checked, 0);
            }
            ctr_files_free(files);
        }
        ctr_close(tr);
    }
    free(file);
}

/* Readers of a stream pass over them. */
static void test_stream(void **state)
{
    size_t n;
    uint8_t *file = make(&n, 1);
    struct ctr_trace *tr = open_bytes(file, n, CTR_OPEN_STREAM);
    const struct ctr_replay_opts opts = {0};
    struct events got = {0};
    struct ctr_files *files;
    (void)state;
    assert_non_null(tr);
    assert_int_equal(ctr_files_load(&files, tr, NULL), -CTR_E_INVAL);
    assert_int_equal(read_events(tr, &opts, &got, NULL), 0);
    assert_int_equal(got.n, 12);
    events_free(&got);
    ctr_close(tr);
    free(file);
}

/* One byte of the file is another one: what is still read is right. */
static void test_damage(void **state)
{
    size_t n;
    uint8_t *file = make(&n, 1);
    unsigned short_lists = 0, bad_bytes = 0;
    (void)state;
    for (size_t at = 40; at < n; at += at < 1500 || n - at < 3000 ? 37 : 9973) {
        struct ctr_trace *tr;
        struct ctr_files *files;
        file[at] ^= 0x55;
        if (ctr_open_fd(&tr, file_of(file, n), 0, NULL)) {
            tr = NULL;
        }
        if (tr && ctr_files_load(&files, tr, NULL) == 0) {
            const struct ctr_file *f;
            short_lists += ctr_files_damage(files, NULL) != 0;
            for (uint32_t i = 0; (f = ctr_files_get(files, i)) != NULL; i++) {
                uint8_t out[4096];
                uint64_t off = 0;
                size_t got = sizeof(out);
                const uint8_t *want = f->inode == 4   ? (const uint8_t *)"abc"
                                      : f->inode == 2 ? big + 10
                                                      : big;
                if (ctr_files_read(files, f, &off, out, &got, NULL)) {
                    bad_bytes++;
                } else if (got && off == 0) {
                    assert_memory_equal(out, want, got);
                }
            }
            ctr_files_free(files);
        }
        ctr_close(tr);
        file[at] ^= 0x55;
    }
    assert_true(short_lists > 0);
    assert_true(bad_bytes > 0);
    free(file);
}

static void test_refused(void **state)
{
    const struct ctr_meta meta = {.target = "x", .addr_bits = 32};
    const struct ctr_embed bad[] = {
        {.path = "/x", .number = 1, .size = 1, .bytes = big, .n = 1},
        {.path = "/x", .size = 1, .bytes = big, .n = 2},
        {.path = "/x", .size = 2, .offset = 1, .bytes = big, .n = 2},
        {.path = "/x", .size = BIG, .bytes = big, .n = BIG},
    };
    struct out o;
    (void)state;
    out_open(&o, &meta);
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(ctr_writer_embed(o.w, &bad[i], NULL), -CTR_E_INVAL);
    }
    close(out_finish(&o));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),    cmocka_unit_test(test_cut),
        cmocka_unit_test(test_stream),  cmocka_unit_test(test_damage),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
