/* SPDX-License-Identifier: MIT */
/* The files of a trace: finds and opens what was mapped, and writes sections. */
#include "embed_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/array.h"
#include "common/inputs_file.h"

/* A file is not embedded if it is larger, nor are more of them. */
#define MAX_SIZE (UINT64_C(4) << 30)
#define MAX_FILES 60000u
/* So many are known, also of those that are not to be had. */
#define MAX_SEEN (UINT64_C(1) << 20)
#define NS UINT64_C(1000000000)

/* Modification times are those of the clock's last tick. */
static uint64_t tick_ns(void)
{
    struct timespec t;

    return clock_getres(CLOCK_REALTIME_COARSE, &t) ? NS / 100 : (uint64_t)t.tv_nsec;
}

struct embed *embed_new(const struct ctr_meta *meta, unsigned keep, const char *inputs)
{
    struct embed *e = calloc(1, sizeof(*e));

    if (e) {
        e->keep = keep;
        e->inputs = inputs;
        e->tick_ns = tick_ns();
        e->start_ns = meta->start_ns;
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
            free(e->files[i].done);
            if (e->files[i].fd >= 0) {
                close(e->files[i].fd);
            }
        }
        map64_fini(&e->seen);
        map64_fini(&e->written);
        free(e->files);
        free(e->contents);
        free(e->piece);
        free(e);
    }
}

/*
 * Opens the file if it is a regular one and the one that was mapped: what a path names may
 * be another by now, or anything, as a guest can write to its events.  The device of a
 * mapping may be another than that of the file (overlayfs).  The guest may hold a lease on
 * the file, for which open(2) would wait.
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
        fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    }
    if (at >= 0) {
        close(at);
    }
    return fd;
}

/* What the program had mapped when it was recorded. */
static int open_input(const struct embed *e, const struct embed_file *file,
                      struct stat *st)
{
    char *name =
        inputs_file_name(e->inputs, file->path, file->bytes - 1, file->dev, file->inode);
    int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;

    free(name);
    if (fd >= 0 && (fstat(fd, st) || !st->st_size)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Where the process sees it: what the recorder sees there may have the same inode by chance. */
static int open_file(const struct embed *e, const struct embed_file *file,
                     struct stat *st)
{
    char rooted[CTR_EMBED_PATH + 32];
    int fd = -1;

    if (e->inputs) {
        return open_input(e, file, st);
    }
    if (file->pid > 0) {
        snprintf(rooted, sizeof(rooted), "/proc/%d/root%s", (int)file->pid, file->path);
        fd = open_path(rooted, file, st);
    }
    return fd >= 0 ? fd : open_path(file->path, file, st);
}

void embed_keep(struct embed *e, struct embedded *f, int fd)
{
    if (e->keep && f->fd < 0) {
        e->keep--;
        f->fd = fd;
    } else {
        close(fd);
    }
}

int embed_again(const struct embed *e, const struct embedded *f, struct stat *now)
{
    const int fd =
        f->fd < 0 ? open_file(e, f->file, now) : fcntl(f->fd, F_DUPFD_CLOEXEC, 0);

    if (fd >= 0 && fstat(fd, now)) {
        close(fd);
        return -1;
    }
    return fd;
}

static uint64_t ns_of(struct timespec t)
{
    return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

bool embed_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           ns_of(a->st_mtim) == ns_of(b->st_mtim);
}

/* Whether it may have been written to after it was mapped, and before it was opened. */
static bool is_later(const struct embed *e, const struct embed_file *file,
                     const struct stat *st)
{
    const uint64_t mapped = file->time_ns ? file->time_ns : e->start_ns;

    return ns_of(st->st_mtim) + e->tick_ns > mapped + (uint64_t)e->real_ns;
}

/* One file can have two names (links), and two devices: overlayfs shows another one in
 * /proc/PID/maps, where the mappings of a forked process are from.  Either shows that it is
 * the same. */
static uint64_t key_of_device(const struct embed_file *file)
{
    return map64_mix(map64_mix(1, file->dev), file->inode);
}

static uint64_t key_of_path(const struct embed_file *file)
{
    return map64_mix(XXH3_64bits(file->path, file->bytes), file->inode);
}

static bool is_written(const struct embed *e, const struct embed_file *file)
{
    return e->unsure || map64_get(&e->written, key_of_device(file)) ||
           map64_get(&e->written, key_of_path(file));
}

int embed_written(struct embed *e, struct ctr_writer *w, const struct embed_file *file,
                  struct ctr_diag *diag)
{
    bool new_device = false, new_path = false;
    int err = 0;

    if (e->written.used >= MAX_SEEN ||
        !map64_put(&e->written, key_of_device(file), 0, &new_device) ||
        !map64_put(&e->written, key_of_path(file), 0, &new_path)) {
        e->unsure = true;
    }
    for (size_t i = 0; (new_device || new_path || e->unsure) && i < e->n_files; i++) {
        struct embedded *f = &e->files[i];

        f->changed |= is_written(e, f->file);
        if (!err && f->changed && f->there && !f->said) {
            err = embed_section(e, w, f, 0, 0, diag);
        }
    }
    return err;
}

int embed_entry(struct embed *e, const struct embed_file *file, struct embedded **out,
                int *fd)
{
    const uint64_t key = embed_file_key(file);
    struct embedded f = {.fd = -1};
    bool added = false;
    uint32_t *number = e->seen.used < MAX_SEEN ? map64_put(&e->seen, key, 0, &added)
                                               : map64_get(&e->seen, key);

    *out = NULL;
    *fd = -1;
    if (!number && e->seen.used >= MAX_SEEN) {
        return 0;
    }
    if (!number) {
        return -CTR_E_NOMEM;
    }
    if (!added) {
        *out = *number ? &e->files[*number - 1] : NULL;
        return 0;
    }
    *fd = e->n_files < MAX_FILES ? open_file(e, file, &f.st) : -1;
    if (*fd < 0) {
        return 0;
    }
    f.file = malloc(embed_file_bytes(file));
    if (!f.file ||
        !array_reserve(&e->files, &e->cap_files, e->n_files + 1, sizeof(*e->files))) {
        free(f.file);
        close(*fd);
        *fd = -1;
        return -CTR_E_NOMEM;
    }
    memcpy(f.file, file, embed_file_bytes(file));
    f.changed = (!e->inputs && is_later(e, file, &f.st)) || is_written(e, file);
    e->files[e->n_files] = f;
    *out = &e->files[e->n_files++];
    *number = (uint32_t)e->n_files;
    return 0;
}

bool embed_read(struct embed *e, int fd, uint64_t off, size_t n)
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

int embed_contents(struct embed *e, const struct contents *c, uint32_t *number)
{
    if (!array_reserve(&e->contents, &e->cap_contents, e->n_contents + 1,
                       sizeof(*e->contents))) {
        return -CTR_E_NOMEM;
    }
    *number = (uint32_t)e->n_contents;
    e->contents[e->n_contents++] = *c;
    return 0;
}

int embed_section(struct embed *e, struct ctr_writer *w, struct embedded *f, uint64_t off,
                  size_t n, struct ctr_diag *diag)
{
    const struct ctr_embed to = {.path = f->file->path,
                                 .dev = f->file->dev,
                                 .inode = f->file->inode,
                                 .size = (uint64_t)f->st.st_size,
                                 .offset = off,
                                 .bytes = e->piece,
                                 .n = n,
                                 .number = f->number,
                                 .changed = f->changed};

    const int err = ctr_writer_embed(w, &to, diag);

    f->there |= !err;
    f->said = !err && f->changed;
    return err;
}
