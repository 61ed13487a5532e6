/* SPDX-License-Identifier: MIT */
/*
 * Reads a perf map or jitdump file whole.  It is not mapped: the program may still write
 * it.  A file that nobody named, in a folder where everybody may write, must be of the
 * user or root, as for perf, and of the time of the recording: process numbers come again.
 */
#include "symbols/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS UINT64_C(1000000000)

static const char *refusal(const struct stat *st, const struct jit_trust *trust)
{
    uint64_t written = (uint64_t)st->st_mtim.tv_sec * NS + (uint64_t)st->st_mtim.tv_nsec;

    if (!S_ISREG(st->st_mode)) {
        return S_ISDIR(st->st_mode) ? "is a folder" : "is no regular file";
    }
    if (trust->any) {
        return NULL;
    }
    if (st->st_uid && st->st_uid != geteuid()) {
        return "belongs to another user";
    }
    if (written < trust->from_ns) {
        return "is older than the recording";
    }
    return written > trust->to_ns ? "was written after the recording" : NULL;
}

/* Returns false after an error, which errno has. */
static bool read_all(struct jit_file *out, int fd, size_t most)
{
    while (out->n < most) {
        ssize_t got = read(fd, out->p + out->n, most - out->n);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0;
        }
        out->n += (size_t)got;
    }
    return true;
}

enum jit_read jit_file_read(struct jit_file *out, const char *path,
                            const struct jit_trust *trust, char *why, size_t why_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    enum jit_read result = JIT_READ;
    const char *refused;
    struct stat st;
    size_t most;

    *out = (struct jit_file){0};
    if (fd < 0 || fstat(fd, &st)) {
        bool missing = errno == ENOENT || errno == ENOTDIR;
        snprintf(why, why_bytes, "cannot be read: %s", strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return missing ? JIT_MISSING : JIT_REFUSED;
    }
    refused = refusal(&st, trust);
    out->cut = st.st_size > (off_t)JIT_MAX_BYTES;
    most = out->cut ? JIT_MAX_BYTES : (size_t)st.st_size;
    if (refused) {
        snprintf(why, why_bytes, "%s", refused);
        result = JIT_REFUSED;
    } else if (!(out->p = malloc(most + 1))) {
        result = JIT_NOMEM;
    } else if (!read_all(out, fd, most)) {
        snprintf(why, why_bytes, "cannot be read: %s", strerror(errno));
        result = JIT_REFUSED;
    }
    close(fd);
    if (result != JIT_READ) {
        free(out->p);
        out->p = NULL;
    }
    return result;
}
