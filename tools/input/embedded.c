/* SPDX-License-Identifier: MIT */
/* Files of a trace; see embedded.h. */
#include "input/embedded.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE (4u << 20)
#define GRANULE UINT64_C(65536) /* of what embedded_bytes reads */
/* Of files that take so much memory in all no more are read: a few bytes of a trace can be
 * many gigabytes of zeros. */
#define MAX_BYTES (UINT64_C(2) << 30)
#define PAGE_BYTES 4096u /* of any target, at least */

/* Bytes of a file that were read. */
struct image {
    uint8_t *bytes; /* of mmap(2), as large as the file; NULL: nothing was read */
    uint8_t *state; /* of each granule: enum state */
};

enum state { UNREAD, THERE, MISSING };

struct embedded {
    struct ctr_trace *tr;
    pthread_mutex_t lock;
    struct ctr_files *files; /* NULL: not read yet, or there are none */
    struct image *images;    /* by file */
    bool read;
    uint64_t used; /* bytes of memory, of MAX_BYTES */
    int listed;    /* why the list may not be whole, or 0 */
    int error;     /* ... and a file was not found, or its bytes are damaged */
    struct ctr_diag diag;
    /* The last file that a mapping was of, as all its mappings have one path. */
    const char *path;
    uint64_t dev, inode;
    const struct ctr_file *found;
};

struct embedded *embedded_new(struct ctr_trace *tr)
{
    struct embedded *e = calloc(1, sizeof(*e));

    if (e) {
        e->tr = tr;
        pthread_mutex_init(&e->lock, NULL);
    }
    return e;
}

void embedded_free(struct embedded *e)
{
    const struct ctr_file *f;

    if (!e) {
        return;
    }
    for (uint32_t i = 0; e->images && (f = ctr_files_get(e->files, i)) != NULL; i++) {
        if (e->images[i].bytes) {
            munmap(e->images[i].bytes, f->size);
        }
        free(e->images[i].state);
    }
    free(e->images);
    ctr_files_free(e->files);
    pthread_mutex_destroy(&e->lock);
    free(e);
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

static const struct ctr_file *find(struct embedded *e, const char *path, uint64_t dev,
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

const struct ctr_file *embedded_find(struct embedded *e, const char *path, uint64_t dev,
                                     uint64_t inode)
{
    const struct ctr_file *file;

    pthread_mutex_lock(&e->lock);
    file = find(e, path, dev, inode);
    pthread_mutex_unlock(&e->lock);
    return file;
}

int embedded_error(const struct embedded *e, struct ctr_diag *diag)
{
    *diag = e->diag;
    return e->error;
}

/* Whether n more bytes may be taken. */
static bool take(struct embedded *e, uint64_t n)
{
    if (n > MAX_BYTES - e->used) {
        e->error = -CTR_E_LIMIT;
        e->diag =
            (struct ctr_diag){.code = CTR_E_LIMIT, .off = CTR_NO_OFF, .field = "embed"};
        snprintf(e->diag.text, sizeof(e->diag.text),
                 "not all are used, as together they are larger than 2 GiB");
        return false;
    }
    e->used += n;
    return true;
}

/* Reads n bytes at off; false: they are not all there. */
static bool read_bytes(struct embedded *e, const struct ctr_file *file, uint64_t off,
                       uint8_t *out, size_t n)
{
    while (n) {
        uint64_t at = off;
        size_t got = n;
        struct ctr_diag diag;
        const int err = ctr_files_read(e->files, file, &at, out, &got, &diag);

        if (err) {
            e->error = err;
            e->diag = diag;
        }
        if (err || !got || at != off) {
            return false;
        }
        out += got;
        off += got;
        n -= got;
    }
    return true;
}

/* ----------------------------------------------------------------- as a file */

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

/* The descriptor, if it is whole. */
static int finish(int fd, bool ok)
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
    bool ok = fd >= 0;

    pthread_mutex_lock(&e->lock);
    ok = ok && take(e, file->size);
    for (uint64_t at = 0; ok && at < file->size;) {
        const size_t n = file->size - at < PIECE ? (size_t)(file->size - at) : PIECE;

        ok = read_bytes(e, file, at, piece, n) && put(fd, piece, n);
        at += n;
    }
    pthread_mutex_unlock(&e->lock);
    free(piece);
    return finish(fd, ok);
}

int embedded_image(const void *bytes, size_t n)
{
    const int fd = memfd_create("embedded", MFD_CLOEXEC);

    return finish(fd, fd >= 0 && put(fd, bytes, n));
}

/* ----------------------------------------------------------- as it was mapped */

static const struct ctr_file *file_of(struct embedded *e, const struct ctr_mapping *m)
{
    if (m->path != e->path || m->dev != e->dev || m->inode != e->inode) {
        e->path = m->path;
        e->dev = m->dev;
        e->inode = m->inode;
        e->found = m->path[0] == '/' ? find(e, m->path, m->dev, m->inode) : NULL;
    }
    return e->found;
}

/* The image of a file, or NULL: no memory. */
static struct image *image_of(struct embedded *e, const struct ctr_file *file)
{
    const uint32_t number = (uint32_t)(file - ctr_files_get(e->files, 0));
    struct image *image;
    uint32_t n = 0;

    while (!e->images && ctr_files_get(e->files, n)) {
        n++;
    }
    e->images = e->images ? e->images : calloc(n, sizeof(*e->images));
    image = e->images ? &e->images[number] : NULL;
    if (image && !image->bytes && !image->state) {
        void *p = mmap(NULL, file->size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        image->state = calloc(1, (size_t)(file->size / GRANULE) + 1);
        if (p != MAP_FAILED && image->state) {
            image->bytes = p;
        } else if (p != MAP_FAILED) {
            munmap(p, file->size);
        }
    }
    /* With a state alone it was too large, and is so again. */
    return image && image->bytes ? image : NULL;
}

static const uint8_t *bytes_at(struct embedded *e, const struct ctr_file *file,
                               uint64_t off, size_t *n)
{
    struct image *image = image_of(e, file);
    const uint64_t granule = off / GRANULE, start = granule * GRANULE;
    const size_t most =
        file->size - start < GRANULE ? (size_t)(file->size - start) : GRANULE;

    if (image && image->state[granule] == UNREAD) {
        image->state[granule] =
            take(e, most) && read_bytes(e, file, start, image->bytes + start, most)
                ? THERE
                : MISSING;
    }
    *n = most - (size_t)(off - start);
    return image && image->state[granule] == THERE ? image->bytes + off : NULL;
}

/* After the end of a file its last page is zeros. */
static const uint8_t *zeros_at(const struct ctr_file *file, uint64_t off, size_t *n)
{
    static const uint8_t zeros[PAGE_BYTES];

    if ((off ^ (file->size - 1)) / PAGE_BYTES) {
        return NULL; /* not that page */
    }
    *n = (size_t)(PAGE_BYTES - off % PAGE_BYTES);
    return zeros;
}

const uint8_t *embedded_bytes(struct embedded *e, const struct ctr_mapping *m,
                              uint64_t addr, size_t *n)
{
    const uint64_t off = m->offset + (addr - m->start);
    const struct ctr_file *file;
    const uint8_t *bytes = NULL;

    *n = 0;
    pthread_mutex_lock(&e->lock);
    file = m->shared ? NULL : file_of(e, m);
    if (file && !file->changed && file->checked) {
        bytes = off < file->size ? bytes_at(e, file, off, n) : zeros_at(file, off, n);
        *n = *n > m->end - addr ? (size_t)(m->end - addr) : *n;
    }
    pthread_mutex_unlock(&e->lock);
    return bytes;
}

bool embedded_changed(struct embedded *e, const struct ctr_mapping *m)
{
    const struct ctr_file *file;

    pthread_mutex_lock(&e->lock);
    file = file_of(e, m);
    pthread_mutex_unlock(&e->lock);
    return file && (file->changed || (!file->checked && !m->build_id_bytes));
}
