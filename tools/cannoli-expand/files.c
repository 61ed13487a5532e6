/* SPDX-License-Identifier: MIT */
/* Writes mapped files out of the trace, each when it is needed first; see files.h. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cannoli/events.h"
#include "cannoli/inputs.h"
#include "common/inputs_file.h"
#include "common/options.h"

#define PIECE ((size_t)1 << 20)

int files_open(struct files *f, const struct light *l, const char *folder)
{
    const struct ctr_file *file;
    struct ctr_diag diag;
    int ret;

    *f = (struct files){.light = l, .folder = folder};
    ret = ctr_files_load(&f->list, l->tr, &diag);
    ret = ret ? ret : ctr_files_damage(f->list, &diag);
    if (ret) {
        return light_error(l, ret, &diag);
    }
    for (uint32_t i = 0; (file = ctr_files_get(f->list, i)) != NULL; i++) {
        f->nr = file->number >= f->nr ? file->number + 1 : f->nr;
    }
    f->written = calloc(f->nr ? f->nr : 1, 1);
    return f->written ? TOOL_OK : light_refuse(l, "no memory");
}

void files_close(struct files *f)
{
    ctr_files_free(f->list);
    free(f->written);
    free(f->shared);
}

static int write_piece(int fd, const uint8_t *p, size_t n, uint64_t off)
{
    while (n) {
        const ssize_t put = pwrite(fd, p, n, (off_t)off);

        if (put <= 0) {
            return put ? -errno : -ENOSPC;
        }
        p += put;
        off += (uint64_t)put;
        n -= (size_t)put;
    }
    return 0;
}

/* What is not in the trace of a file, its holes, stays a hole. */
static int write_contents(const struct files *f, const struct ctr_file *file, int fd,
                          const char *name)
{
    uint8_t *piece = malloc(PIECE);
    uint64_t off = 0;
    struct ctr_diag diag;
    size_t n = PIECE;
    int ret = 0, err = piece ? 0 : -ENOMEM;

    if (!err && ftruncate(fd, (off_t)file->size)) {
        err = -errno;
    }
    while (!err && !(ret = ctr_files_read(f->list, file, &off, piece, &n, &diag)) && n) {
        err = write_piece(fd, piece, n, off);
        off += n;
        n = PIECE;
    }
    free(piece);
    if (err) {
        tool_error(f->light->prog, "%s: %s", name, strerror(-err));
        return TOOL_FAILED;
    }
    return ret ? light_error(f->light, ret, &diag) : TOOL_OK;
}

/* What the file is called, for filters that look for it: nothing that leads out of its folder. */
static const char *base_of(const char *path)
{
    const char *base = basename(path);

    return !*base || !strcmp(base, ".") || !strcmp(base, "..") ? "file" : base;
}

/* Makes a file, in a folder of its own, and a link to it that is its number. */
static int create_file(const struct files *f, uint32_t number, const char *base)
{
    char *folder = NULL, *link = NULL, *to = NULL, *name = NULL;
    int fd = -1;

    if (asprintf(&folder, "%s/%" PRIu32 ".d", f->folder, number) < 0 ||
        asprintf(&link, "%s/%" PRIu32, f->folder, number) < 0 ||
        asprintf(&to, "%" PRIu32 ".d/%s", number, base) < 0 ||
        asprintf(&name, "%s/%s", f->folder, to) < 0) {
        light_refuse(f->light, "no memory");
        return -1;
    }
    /* QEMU refuses a program that is not executable. */
    if (mkdir(folder, 0700) || symlink(to, link) ||
        (fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700)) < 0) {
        tool_error(f->light->prog, "%s: %s", name, strerror(errno));
    }
    free(folder);
    free(link);
    free(to);
    free(name);
    return fd;
}

static int write_file(const struct files *f, const struct ctr_file *file,
                      const char *path)
{
    const int fd = create_file(f, file->number, base_of(path));
    int status;

    if (fd < 0) {
        return TOOL_FAILED;
    }
    status = write_contents(f, file, fd, path);
    if (close(fd) && !status) {
        tool_error(f->light->prog, "%s: %s", path, strerror(errno));
        status = TOOL_FAILED;
    }
    return status;
}

/* Whether the event gives a range other contents than zeros or those that are elsewhere in
 * memory.  Devices have none that are known: an execution that depends on them differs. */
static bool maps_file(const struct ctr_map *m)
{
    static const char devices[] = "/dev/", shared[] = "/dev/shm/";
    const bool device = m->path.n >= sizeof(devices) - 1 &&
                        !memcmp(m->path.p, devices, sizeof(devices) - 1) &&
                        (m->path.n < sizeof(shared) - 1 ||
                         memcmp(m->path.p, shared, sizeof(shared) - 1) != 0);

    return (m->op == CTR_MAP_INITIAL || m->op == CTR_MAP_MMAP) && m->inode && !device;
}

/* The file of a mapping that is shared and can be written to, or NULL. */
static struct files_shared *find_shared(struct files *f, const struct ctr_map *m)
{
    const bool shares = m->flags & MAP_SHARED && m->prot & PROT_WRITE;
    struct files_shared *s;

    for (uint32_t i = 0; i < f->nr_shared; i++) {
        if (f->shared[i].dev == m->dev && f->shared[i].inode == m->inode) {
            return &f->shared[i];
        }
    }
    if (!shares) {
        return NULL;
    }
    s = realloc(f->shared, (f->nr_shared + 1) * sizeof(*s));
    if (!s) {
        return NULL;
    }
    f->shared = s;
    f->shared[f->nr_shared] = (struct files_shared){
        .dev = m->dev, .inode = m->inode, .number = f->nr + f->nr_shared};
    return &f->shared[f->nr_shared++];
}

/* What such a file holds was recorded when it was mapped: this one begins with zeros. */
static int put_shared(const struct files *f, struct files_shared *s,
                      const struct ctr_map *m)
{
    const uint64_t size = m->offset + m->size;
    int fd, status = TOOL_OK;
    char *name;

    if (size <= s->size) {
        return TOOL_OK;
    }
    if (asprintf(&name, "%s/%" PRIu32, f->folder, s->number) < 0) {
        return light_refuse(f->light, "no memory");
    }
    fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    if (fd < 0 || ftruncate(fd, (off_t)size)) {
        tool_error(f->light->prog, "%s: %s", name, strerror(errno));
        status = TOOL_FAILED;
    }
    if (fd >= 0) {
        close(fd);
    }
    free(name);
    s->size = size;
    return status;
}

/* Gives the file its second name. */
static int name_file(const struct files *f, const struct ctr_map *m, uint32_t number)
{
    char *name = inputs_file_name(f->folder, m->path.p, m->path.n, m->dev, m->inode);
    char to[16];
    int status = TOOL_OK;

    if (!name) {
        return light_refuse(f->light, "no memory");
    }
    snprintf(to, sizeof(to), "%" PRIu32, number);
    if (symlink(to, name) && errno != EEXIST) {
        tool_error(f->light->prog, "%s: %s", name, strerror(errno));
        status = TOOL_FAILED;
    }
    free(name);
    return status;
}

int files_number(struct files *f, const struct ctr_map *m, uint32_t *number)
{
    struct files_shared *shared;
    const struct ctr_file *file;
    char *path;
    int status = TOOL_OK;

    *number = INPUTS_NO_FILE;
    if (!maps_file(m)) {
        return TOOL_OK;
    }
    shared = find_shared(f, m);
    if (shared) {
        *number = shared->number;
        return put_shared(f, shared, m);
    }
    path = strndup(m->path.p, m->path.n);
    if (!path) {
        return light_refuse(f->light, "no memory");
    }
    file = ctr_files_find(f->list, path, m->dev, m->inode);
    if (!file || file->bytes < file->size || file->changed) {
        status = light_refuse(f->light, "%s was mapped, and %s", path,
                              !file           ? "its contents are not in the trace"
                              : file->changed ? "it was changed while the program ran"
                                              : "not all of it is in the trace");
    } else if (!f->written[file->number]) {
        status = write_file(f, file, path);
        f->written[file->number] = 1;
    }
    status = status ? status : name_file(f, m, file->number);
    *number = status ? INPUTS_NO_FILE : file->number;
    free(path);
    return status;
}
