/* SPDX-License-Identifier: MIT */
/*
 * When the disk is full or the reader of a pipe goes away, the writer returns the
 * error, and what is in the file is whole.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "cannoli/events.h"

/* A file that may not grow past n bytes, as on a full disk. */
static void limit_file(rlim_t n)
{
    struct rlimit lim;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &lim), 0);
    lim.rlim_cur = n < lim.rlim_max ? n : lim.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &lim), 0);
}

static int temp_file(void)
{
    const char *dir = getenv("TMPDIR");
    int fd = open(dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        fd = memfd_create("trace", MFD_CLOEXEC);
    }
    assert_true(fd >= 0);
    return fd;
}

/* Writes with a limit and checks the result: a finished file, or nothing. */
static int try_limit(struct recording *r, size_t limit)
{
    int fd = temp_file();
    limit_file(limit);
    int err = recording_write(r, fd, 1, 1);
    limit_file(RLIM_INFINITY);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_true((size_t)st.st_size <= limit);
    if (err && err != -CTR_E_IO) {
        fail_msg("%zu of %zu bytes: %d", limit, r->bytes, err);
    }
    if (st.st_size == 0) {
        assert_int_equal(err, -CTR_E_IO);
        close(fd);
        return 0;
    }
    /* No room remains after the end. */
    assert_true(st.st_blocks * 512 < st.st_size + 65536);
    struct ctr_trace *tr;
    struct ctr_diag diag;
    if (ctr_open_fd(&tr, fd, 0, &diag)) {
        fail_msg("%zu of %zu bytes: %s", limit, r->bytes, diag.text);
    }
    struct ctr_info info;
    struct events ev;
    ctr_trace_info(tr, &info);
    assert_int_equal(info.state, CTR_COMPLETE);
    assert_true(info.has_index);
    struct ctr_replay_opts opts = {.workers = 1};
    assert_int_equal(read_events(tr, &opts, &ev, &diag), 0);
    check_prefix(r, &ev);
    events_free(&ev);
    ctr_close(tr);
    return err ? 1 : 2;
}

static void test_full_disk(void **state)
{
    struct recording r;
    unsigned none = 0, part = 0, whole = 0;
    (void)state;
    recording_make(&r, 11, 2, 200, 30, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, SIM_ALL, 1,
                   1);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t limit = 0; limit < 2 * r.bytes; limit += 1 + limit / 40) {
        int what = try_limit(&r, limit);
        none += what == 0;
        part += what == 1;
        whole += what == 2;
        assert_true(what < 2 || limit >= r.bytes);
    }
    assert_true(none > 5);
    assert_true(part > 40);
    assert_true(whole > 5);
    recording_free(&r);
}

static void test_broken_pipe(void **state)
{
    struct recording r;
    int fd[2];
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    recording_make(&r, 12, 1, 20000, 30, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, SIM_ALL, 1,
                   1);
    assert_int_equal(pipe(fd), 0);
    close(fd[0]);
    assert_int_equal(recording_write(&r, fd[1], 1, 1), -CTR_E_IO);
    close(fd[1]);
    recording_free(&r);
}

/* zstd's own reader must accept every piece; the frames' sizes show that. */
static void test_only_frames(void **state)
{
    struct recording r;
    size_t at = 0, frames = 0;
    (void)state;
    recording_make(&r, 13, 3, 500, 30, 4, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, SIM_ALL, 2,
                   1);
    uint32_t magic = 0;
    while (at < r.bytes) {
        size_t n = ZSTD_findFrameCompressedSize(r.file + at, r.bytes - at);
        assert_false(ZSTD_isError(n));
        memcpy(&magic, r.file + at, 4);
        at += n;
        frames++;
    }
    assert_int_equal(at, r.bytes);
    assert_int_equal(magic, 0x184D2A5E);
    uint32_t entries, foot;
    memcpy(&entries, r.file + r.bytes - 9, 4);
    memcpy(&foot, r.file + r.bytes - 4, 4);
    assert_int_equal(foot, 0x8F92EAB1);
    assert_int_equal(entries, frames - 1);
    /* Entries of the table are the frames. */
    size_t sum = 0;
    for (uint32_t i = 0; i < entries; i++) {
        uint32_t csize;
        memcpy(&csize, r.file + r.bytes - 9 - (entries - i) * 8, 4);
        sum += csize;
    }
    assert_int_equal(sum + 8 + entries * 8 + 9, r.bytes);
    recording_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_broken_pipe),
        cmocka_unit_test(test_only_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
