/* SPDX-License-Identifier: MIT */
/* Bytes of mapped files; see embed.h. */
#include "embed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "cannoli/events.h"
#include "common/array.h"
#include "common/map64.h"

/* A file is not embedded if it is larger, nor are more of them. */
#define MAX_SIZE (UINT64_C(4) << 30)
#define MAX_FILES 60000u
#define NS UINT64_C(1000000000)

/* A file of the trace. */
struct embedded {
    struct embed_file *file;
    struct stat st; /* when it was read */
    uint32_t number;
    bool there;   /* the trace has it ... */
    bool changed; /* ... and says so */
};

/* Contents of files, by number. */
struct contents {
    uint64_t size;
    XXH128_hash_t hash;
};

struct embed {
    int64_t real_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC */
    struct map64 seen;
    struct embedded *files;
    size_t n_files, cap_files;
    struct contents *contents;
    size_t n_contents, cap_contents;
    uint8_t *piece; /* CTR_EMBED_BYTES */
};

/* --------------------------------------------------------------- which ones */

struct embed_file *embed_of_event(const void *payload, uint32_t bytes, uint64_t time_ns,
                                  pid_t pid, enum embed_mode mode)
{
    const struct ctr_os_event e = {
        .type = CTR_EVENT_MAP, .size = bytes, .payload = payload};
    struct embed_file *f;
    struct ctr_map map;

    if (ctr_parse_map(&e, &map) ||
        (map.op != CTR_MAP_INITIAL && map.op != CTR_MAP_MMAP) || !map.inode ||
        !map.path.n || map.path.p[0] != '/' || map.path.n >= CTR_EMBED_PATH ||
        memchr(map.path.p, 0, map.path.n) || (mode == EMBED_CODE && !(map.prot & 4))) {
        return NULL;
    }
    f = calloc(1, sizeof(*f) + map.path.n + 1);
    if (f) {
        f->dev = map.dev;
        f->inode = map.inode;
        f->time_ns = time_ns;
        f->pid = pid;
        f->bytes = (uint32_t)map.path.n + 1;
        memcpy(f->path, map.path.p, map.path.n);
    }
    return f;
}

size_t embed_file_bytes(const struct embed_file *file)
{
    return sizeof(*file) + file->bytes;
}

uint64_t embed_file_key(const struct embed_file *file)
{
    const uint64_t hash = XXH3_64bits(file->path, file->bytes);

    return map64_mix(map64_mix(hash, file->dev), file->inode);
}

/* ---------------------------------------------------------------- the bytes */

struct embed *embed_new(const struct ctr_meta *meta)
{
    struct embed *e = calloc(1, sizeof(*e));

    if (e) {
        e->real_ns = (int64_t)(meta->start_realtime_ns - meta->start_ns);
        e->piece = malloc(CTR_EMBED_BYTES);
    }
    if (e && !e->piece) {
        free(e);
        e = NULL;
    }
    return e;
}

void embed_free(struct embed *e)
{
    if (e) {
        for (size_t i = 0; i < e->n_files; i++) {
            free(e->files[i].file);
        }
        map64_fini(&e->seen);
        free(e->files);
        free(e->contents);
        free(e->piece);
        free(e);
    }
}

/*
 * Opens the file if it is a regular one and the one that was mapped: what a path names may
 * be another by now, or anything, as a guest can write to its events.  The device of a
 * mapping may be another than that of the file (overlayfs).
 */
static int open_path(const char *path, const struct embed_file *file, struct stat *st)
{
    const int at = open(path, O_PATH | O_CLOEXEC);
    char self[32];
    int fd = -1;

    if (at >= 0 && fstat(at, st) == 0 && S_ISREG(st->st_mode) &&
        st->st_ino == file->inode && st->st_size > 0 &&
        (uint64_t)st->st_size <= MAX_SIZE) {
        snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
        fd = open(self, O_RDONLY | O_CLOEXEC);
    }
    if (at >= 0) {
        close(at);
    }
    return fd;
}

/* Where the process sees it, if it is not there for the recorder. */
static int open_file(const struct embed_file *file, struct stat *st)
{
    char rooted[CTR_EMBED_PATH + 32];
    int fd = open_path(file->path, file, st);

    if (fd < 0 && file->pid > 0) {
        snprintf(rooted, sizeof(rooted), "/proc/%d/root%s", (int)file->pid, file->path);
        fd = open_path(rooted, file, st);
    }
    return fd;
}

/* Reads n bytes; false: they are not there. */
static bool read_piece(struct embed *e, int fd, uint64_t off, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(fd, e->piece + done, n - done, (off_t)(off + done));

        if (got <= 0) {
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

static size_t piece_bytes(uint64_t size, uint64_t off)
{
    return size - off < CTR_EMBED_BYTES ? (size_t)(size - off) : CTR_EMBED_BYTES;
}

static bool hash_file(struct embed *e, int fd, uint64_t size, XXH128_hash_t *hash)
{
    XXH3_state_t *state = XXH3_createState();
    bool ok = state && XXH3_128bits_reset(state) == XXH_OK;

    for (uint64_t off = 0; ok && off < size;) {
        const size_t n = piece_bytes(size, off);

        ok = read_piece(e, fd, off, n);
        if (ok) {
            XXH3_128bits_update(state, e->piece, n);
        }
        off += n;
    }
    if (ok) {
        *hash = XXH3_128bits_digest(state);
    }
    XXH3_freeState(state);
    return ok;
}

static uint32_t find_contents(const struct embed *e, uint64_t size, XXH128_hash_t hash)
{
    uint32_t i = 0;

    while (i < e->n_contents &&
           !(e->contents[i].size == size && XXH128_isEqual(e->contents[i].hash, hash))) {
        i++;
    }
    return i;
}

static uint64_t ns_of(struct timespec t)
{
    return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           ns_of(a->st_mtim) == ns_of(b->st_mtim);
}

static int write_section(struct ctr_writer *w, const struct embedded *f, uint64_t off,
                         const void *bytes, size_t n, struct ctr_diag *diag)
{
    const struct ctr_embed to = {.path = f->file->path,
                                 .dev = f->file->dev,
                                 .inode = f->file->inode,
                                 .size = (uint64_t)f->st.st_size,
                                 .offset = off,
                                 .bytes = bytes,
                                 .n = n,
                                 .number = f->number,
                                 .changed = f->changed};

    return ctr_writer_embed(w, &to, diag);
}

/* All bytes, or only the name if equal contents are there. */
static int write_file(struct embed *e, struct ctr_writer *w, int fd, struct embedded *f,
                      struct ctr_diag *diag)
{
    const uint64_t size = (uint64_t)f->st.st_size;
    struct contents c = {.size = size};
    struct stat after;
    int err = 0;

    if (!hash_file(e, fd, size, &c.hash)) {
        return 0; /* it has become shorter, or is on a bad disk */
    }
    f->number = find_contents(e, size, c.hash);
    f->there = true;
    if (f->number < e->n_contents) {
        return write_section(w, f, 0, NULL, 0, diag);
    }
    if (!array_reserve(&e->contents, &e->cap_contents, e->n_contents + 1,
                       sizeof(*e->contents))) {
        return -CTR_E_NOMEM;
    }
    for (uint64_t off = 0; !err && off < size;) {
        const size_t n = piece_bytes(size, off);

        if ((size > CTR_EMBED_BYTES && !read_piece(e, fd, off, n)) ||
            (off + n == size && (fstat(fd, &after) || !same_file(&after, &f->st)))) {
            f->changed = true;
        }
        err = write_section(w, f, off, e->piece, n, diag);
        off += n;
    }
    e->contents[e->n_contents++] = c;
    return err;
}

int embed_write(struct embed *e, struct ctr_writer *w, const struct embed_file *file,
                struct ctr_diag *diag)
{
    struct embedded f = {0};
    bool added = false;
    int fd, err;

    if (e->n_files == MAX_FILES ||
        !map64_put(&e->seen, embed_file_key(file), 0, &added) || !added) {
        return 0;
    }
    fd = open_file(file, &f.st);
    if (fd < 0) {
        return 0;
    }
    f.file = malloc(embed_file_bytes(file));
    if (!f.file ||
        !array_reserve(&e->files, &e->cap_files, e->n_files + 1, sizeof(*e->files))) {
        free(f.file);
        close(fd);
        return -CTR_E_NOMEM;
    }
    memcpy(f.file, file, embed_file_bytes(file));
    f.changed =
        file->time_ns && ns_of(f.st.st_mtim) > file->time_ns + (uint64_t)e->real_ns;
    err = write_file(e, w, fd, &f, diag);
    close(fd);
    e->files[e->n_files++] = f;
    return err;
}

int embed_finish(struct embed *e, struct ctr_writer *w, struct ctr_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < e->n_files; i++) {
        struct embedded *f = &e->files[i];
        struct stat now;
        int fd;

        if (!f->there || f->changed) {
            continue;
        }
        /* A file that is not at its path any more was replaced, not changed. */
        fd = open_file(f->file, &now);
        if (fd >= 0) {
            close(fd);
        }
        f->changed = fd >= 0 && now.st_dev == f->st.st_dev && !same_file(&now, &f->st);
        if (f->changed) {
            err = write_section(w, f, 0, NULL, 0, diag);
        }
    }
    return err;
}
