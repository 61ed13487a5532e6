/* SPDX-License-Identifier: MIT */
/* Output files; see outfile.h. */
#include "common/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Standard output may be closed; nothing else must get its number. */
static int open_above_standard(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (fd >= 0 && fd <= STDERR_FILENO) {
        int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(fd);
        fd = above;
    }
    return fd;
}

int outfile_open(struct outfile *o, const char *path)
{
    size_t size = path ? strlen(path) + 32 : 0;
    const char *name = path;
    struct stat st;
    int fd;

    *o = (struct outfile){.path = path};
    if (!path || !strcmp(path, "-")) {
        o->file = stdout;
        return 0;
    }
    if (stat(path, &st) || S_ISREG(st.st_mode)) {
        name = o->part = malloc(size);
        if (!o->part) {
            return -ENOMEM;
        }
        snprintf(o->part, size, "%s.%ld.part", path, (long)getpid());
    }
    fd = open_above_standard(name);
    o->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!o->file) {
        int error = errno;
        if (fd >= 0) { /* what is written in place was there before: it stays */
            close(fd);
            if (o->part) {
                unlink(o->part);
            }
        }
        free(o->part);
        o->part = NULL;
        return -error;
    }
    return 0;
}

int outfile_close(struct outfile *o, int ret)
{
    if (o->file == stdout) {
        return ret;
    }
    if (fclose(o->file) && !ret) {
        ret = -errno;
    }
    if (o->part) {
        if (!ret && rename(o->part, o->path)) {
            ret = -errno;
        }
        if (ret) {
            unlink(o->part);
        }
        free(o->part);
        o->part = NULL;
    }
    return ret;
}
