/* SPDX-License-Identifier: MIT */
/*
 * A library to preload: makes calls fail for a file, as a network file system or a quota
 * does.  FAILING_CALLS names them (fsync, close, fallocate), FAILING_FILE is a pattern of
 * the file's path, FAILING_ERRNO replaces the usual error.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The error with which the call must fail, 0: it must not fail. */
static int failure(const char *call, int fd, int error)
{
    const char *calls = getenv("FAILING_CALLS"), *file = getenv("FAILING_FILE");
    const char *other = getenv("FAILING_ERRNO");
    char link[64], path[PATH_MAX];
    ssize_t n;

    if (!calls || !file || !strstr(calls, call)) {
        return 0;
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    if (n < 0) {
        return 0;
    }
    path[n] = '\0';
    return fnmatch(file, path, 0) ? 0 : other ? atoi(other) : error;
}

int fsync(int fd)
{
    int error = failure("fsync", fd, EIO);

    if (error) {
        errno = error;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int close(int fd)
{
    int error = failure("close", fd, EDQUOT), ret = (int)syscall(SYS_close, fd);

    if (error) {
        errno = error;
        return -1;
    }
    return ret;
}

int fclose(FILE *f)
{
    int error = failure("close", fileno(f), EDQUOT), ret;
    int (*real)(FILE *);

    *(void **)&real = dlsym(RTLD_NEXT, "fclose");
    ret = real(f);
    if (error) {
        errno = error;
        return EOF;
    }
    return ret;
}

int fallocate(int fd, int mode, off_t off, off_t len)
{
    int error = failure("fallocate", fd, EOPNOTSUPP);

    if (error) {
        errno = error;
        return -1;
    }
    return (int)syscall(SYS_fallocate, fd, mode, off, len);
}

int fallocate64(int fd, int mode, off64_t off, off64_t len)
{
    return fallocate(fd, mode, off, len);
}
