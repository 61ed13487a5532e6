/*
 * Execution tracing into shared memory: opening the pipe
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The recorder lays the memory out and passes this QEMU descriptors of it, or a
 * path.  Everything is mapped before the guest starts and no descriptor stays
 * open: what the guest does to its descriptors, limits or root has no effect
 * here.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/cutils.h"
#include "hw/core/cpu.h"
#include "cpu.h"
#include "elf.h"
#include "far.h"
#include "internal.h"
#include <sys/mman.h>

const struct mempipe_ctl *cannoli_ctl;
bool cannoli_values, cannoli_sys, cannoli_map, cannoli_thr;
enum CannoliExeced cannoli_execed;
uint32_t cannoli_execed_thread;
dev_t cannoli_pipe_dev;
ino_t cannoli_pipe_ino;

/* Found by the recorder in the binary: this QEMU can be recorded. */
extern const char cannoli_note[];
const char cannoli_note[] __attribute__((used)) = "cannoli-mempipe-version=15";
QEMU_BUILD_BUG_ON(MEMPIPE_VERSION != 15);

/* Open one of the recorder's files by /proc: no descriptor was inherited. */
static int open_file(int pid, int number)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/fd/%d", pid, number);
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        error_report("cannoli: cannot open %s: %s", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    return fd;
}

static G_NORETURN void no_pipe(int fd, const char *why)
{
    error_report("cannoli: descriptor %d is no pipe%s%s", fd, why ? ": " : "",
                 why ? why : "");
    exit(EXIT_FAILURE);
}

/* Read the first file; check its version and size. */
static struct mempipe_ctl read_ctl(int fd)
{
    struct mempipe_ctl ctl;
    struct stat st;

    if (fstat(fd, &st) < 0 || st.st_size < sizeof(ctl)) {
        no_pipe(fd, NULL);
    }
    if (pread(fd, &ctl, sizeof(ctl), 0) != sizeof(ctl)) {
        no_pipe(fd, strerror(errno));
    }
    if (ctl.magic != MEMPIPE_MAGIC || ctl.version != MEMPIPE_VERSION ||
        ctl.ctl_bytes != sizeof(ctl) || ctl.shared_off > st.st_size) {
        error_report("cannoli: this QEMU and the recorder are of different "
                     "versions; build both from the same release");
        exit(EXIT_FAILURE);
    }
    return ctl;
}

/*
 * The files that `arg' names: descriptors "CTL,SHARED" and the second one's
 * inode, or, if this program was started by a recorded one
 * (linux-user/cannoli/exec.c), a path to the first one.
 */
static struct mempipe_ctl open_pipe(const char *arg, int fds[2])
{
    struct mempipe_ctl ctl;
    int pid, number, n = 0;

    if (sscanf(arg, "/proc/%d/fd/%d,%n", &pid, &number, &n) == 2 && n) {
        cannoli_execed = g_str_has_prefix(arg + n, "exec")
                             ? CANNOLI_EXECED
                             : CANNOLI_EXECED_BINFMT;
        if (sscanf(arg + n, "exec=%" SCNu32, &cannoli_execed_thread) != 1) {
            cannoli_execed_thread = 0;
        }
        fds[0] = open_file(pid, number);
        ctl = read_ctl(fds[0]);
        fds[1] = open_file(ctl.recorder_pid, ctl.shared_fd);
        return ctl;
    }
    if (sscanf(arg, "%d,%d,%*u%n", &fds[0], &fds[1], &n) != 2 || !n || arg[n] ||
        fds[0] < 0 || fds[1] < 0) {
        error_report("cannoli: '%s' are no descriptor numbers", arg);
        exit(EXIT_FAILURE);
    }
    return read_ctl(fds[0]);
}

/*
 * Map both files, one right after the other, out of the guest's way.  Nothing
 * of the second one can be accessed yet.
 */
static const struct mempipe_ctl *map_pipe(const struct mempipe_ctl *ctl,
                                          const int fds[2])
{
    uint64_t first = ctl->shared_off, total = ctl->total_bytes;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint8_t *p = cannoli_map_far(total, flags, -1);

    if (p == MAP_FAILED) {
        return MAP_FAILED;
    }
    flags = MAP_SHARED | MAP_FIXED;
    if (mmap(p, first, PROT_READ, flags, fds[0], 0) == MAP_FAILED ||
        mmap(p + first, total - first, PROT_NONE, flags, fds[1], 0) ==
            MAP_FAILED) {
        return MAP_FAILED;
    }
    madvise(p, total, MADV_DONTDUMP);
    return (struct mempipe_ctl *)p;
}

/* -cannoli pipe=...: map what the recorder has laid out. */
void cannoli_parse(const char *arg)
{
    const struct mempipe_ctl *mapped;
    struct mempipe_ctl ctl;
    struct stat st;
    uint8_t *base;
    int fds[2];

    /*
     * A user who starts a program with more rights than his own must not make
     * it load his library, or map a file.
     */
    if (arg == getenv("QEMU_CANNOLI") && qemu_getauxval(AT_SECURE)) {
        return;
    }
    if (g_str_has_prefix(arg, "file=")) {
        cannoli_jitter_option(arg + 5);
        return;
    }
    if (cannoli_on) {
        error_report("cannoli: given twice");
        exit(EXIT_FAILURE);
    }
    if (!g_str_has_prefix(arg, "pipe=")) {
        error_report("cannoli: 'pipe=CTL,SHARED,INODE' expected, not '%s'; "
                     "recordings are made by cannoli-record",
                     arg);
        exit(EXIT_FAILURE);
    }
    ctl = open_pipe(arg + 5, fds);
    if (fstat(fds[1], &st) < 0 ||
        st.st_size < ctl.total_bytes - ctl.shared_off) {
        no_pipe(fds[1], NULL);
    }
    mapped = map_pipe(&ctl, fds);
    if (mapped == MAP_FAILED) {
        error_report("cannoli: cannot map the pipe (%" PRIu64 " MiB of address "
                     "space; is RLIMIT_AS set?): %s",
                     ctl.total_bytes >> 20, strerror(errno));
        exit(EXIT_FAILURE);
    }
    close(fds[0]);
    close(fds[1]);
    cannoli_reserve_memory();
    base = (uint8_t *)mapped;
    cannoli_open_memory(base + ctl.shared_off, ctl.side_off - ctl.shared_off);
    cannoli_open_memory(base + ctl.buffers_off +
                            (uint64_t)ctl.nr_pipes * ctl.buffer_bytes,
                        (uint64_t)ctl.nr_pool * ctl.buffer_bytes);
    cannoli_pool_known = g_new0(bool, ctl.nr_pool);
    cannoli_pipe_dev = st.st_dev;
    cannoli_pipe_ino = st.st_ino;
    cannoli_ctl = mapped;
    cannoli_sys = ctl.events & CTR_EVENTS_SYS;
    cannoli_map = ctl.events & CTR_EVENTS_MAP;
    cannoli_thr = ctl.events & CTR_EVENTS_THR;
    cannoli_values = ctl.events & CTR_EVENTS_VAL;
    cannoli_on = true;
    cannoli_light_open();
}
