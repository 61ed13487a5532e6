/* SPDX-License-Identifier: MIT */
/* Files of a trace; see embedded.h. */
#include "input/embedded.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE (4u << 20)

struct embedded {
    struct ctr_trace *tr;
    struct ctr_files *files; /* NULL: not read yet, or there are none */
    bool read;
    int listed; /* why the list may not be whole, or 0 */
    int error;  /* ... and a file was not found, or its bytes are damaged */
    struct ctr_diag diag;
};

struct embedded *embedded_new(struct ctr_trace *tr)
{
    struct embedded *e = calloc(1, sizeof(*e));

    if (e) {
        e->tr = tr;
    }
    return e;
}

void embedded_free(struct embedded *e)
{
    if (e) {
        ctr_files_free(e->files);
        free(e);
    }
}

/* A stream has none. */
static void load(struct embedded *e)
{
    struct ctr_info info;

    ctr_trace_info(e->tr, &info);
    if (info.seekable) {
        e->listed = ctr_files_load(&e->files, e->tr, &e->diag);
        if (!e->listed) {
            e->listed = ctr_files_damage(e->files, &e->diag);
        }
    }
}

const struct ctr_file *embedded_find(struct embedded *e, const char *path, uint64_t dev,
                                     uint64_t inode)
{
    const struct ctr_file *file;

    if (!e->read) {
        e->read = true;
        load(e);
    }
    file = e->files ? ctr_files_find(e->files, path, dev, inode) : NULL;
    if (!file && e->listed) {
        e->error = e->listed;
    }
    return file;
}

static bool put(int fd, const uint8_t *bytes, size_t n)
{
    while (n) {
        const ssize_t put = write(fd, bytes, n);

        if (put <= 0) {
            return false;
        }
        bytes += put;
        n -= (size_t)put;
    }
    return true;
}

/* Nobody writes to it any more. */
static int seal(int fd, bool ok)
{
    if (fd >= 0 && !ok) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int embedded_open(struct embedded *e, const struct ctr_file *file)
{
    const bool whole = file->bytes == file->size;
    uint8_t *piece = whole ? malloc(PIECE) : NULL;
    const int fd = piece ? memfd_create("embedded", MFD_CLOEXEC) : -1;
    struct ctr_diag diag;
    bool ok = fd >= 0;

    for (uint64_t at = 0; ok && at < file->size;) {
        uint64_t off = at;
        size_t n = PIECE;

        const int err = ctr_files_read(e->files, file, &off, piece, &n, &diag);

        if (err) {
            e->error = err;
            e->diag = diag;
        }
        ok = !err && n && off == at && put(fd, piece, n);
        at += n;
    }
    free(piece);
    return seal(fd, ok);
}

int embedded_error(const struct embedded *e, struct ctr_diag *diag)
{
    *diag = e->diag;
    return e->error;
}

int embedded_image(const void *bytes, size_t n)
{
    const int fd = memfd_create("embedded", MFD_CLOEXEC);

    return seal(fd, fd >= 0 && put(fd, bytes, n));
}
