/* SPDX-License-Identifier: MIT */
/*
 * The places of code are known only when the whole trace was read, and the counts are at
 * its end: a stream is stored until then.
 */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"
#include "input/trace.h"
#include "cover.h"

/* A file without a name in TMPDIR. */
static int temporary(void)
{
    const char *dir = secure_getenv("TMPDIR");
    char name[4096];
    int fd;

    dir = dir && *dir ? dir : "/tmp";
    if (snprintf(name, sizeof(name), "%s/tracecov-XXXXXX", dir) >= (int)sizeof(name)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkstemp(name);
    if (fd >= 0) {
        unlink(name);
    }
    return fd;
}

/* Returns 0, or a negated errno. */
static int copy(int from, int to)
{
    static const size_t size = 1u << 20;
    char *buf = malloc(size);
    ssize_t n = -1;

    if (!buf) {
        return -ENOMEM;
    }
    while ((n = read(from, buf, size)) != 0) {
        ssize_t done = 0, k;
        if (n < 0 && errno == EINTR) {
            continue;
        }
        while (n > 0 && done < n) {
            k = write(to, buf + done, (size_t)(n - done));
            if (k < 0 && errno != EINTR) {
                n = -1;
                break;
            }
            done += k > 0 ? k : 0;
        }
        if (n < 0) {
            n = -errno;
            break;
        }
    }
    free(buf);
    return (int)n;
}

int spool_open(struct ctr_trace **tr, const char *path, unsigned flags)
{
    bool standard = !strcmp(path, "-");
    int from = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int fd, ret;

    if (from >= 0 && lseek(from, 0, SEEK_CUR) < 0 && errno == ESPIPE) {
        fd = temporary();
        ret = fd < 0 ? -errno : copy(from, fd);
        if (!standard) {
            close(from);
        }
        if (ret || lseek(fd, 0, SEEK_SET) < 0) {
            tool_error(PROG,
                       "%s: cannot be copied to a temporary file: %s (TMPDIR names the "
                       "folder)",
                       standard ? "standard input" : path, strerror(ret ? -ret : errno));
            if (fd >= 0) {
                close(fd);
            }
            return TOOL_FAILED;
        }
        ret = ctr_open_fd(tr, fd, flags, &diag);
        if (ret) {
            tool_trace_error(PROG, path, ret, &diag);
        }
        return ret ? TOOL_FAILED : TOOL_OK;
    }
    if (from >= 0 && !standard) {
        close(from);
    }
    return tool_trace_open(PROG, path, flags, tr);
}
