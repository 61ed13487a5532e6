/* SPDX-License-Identifier: MIT */
/*
 * The path is walked here, component by component, and each is opened before it is
 * checked: so what was checked is what is used, whoever renames files meanwhile.
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PROC_MAGIC 0x9fa0 /* f_type of /proc */
#define MAX_LINKS 40      /* as the kernel follows */
#define MAX_TRIES 100     /* against somebody who changes the file all the time */

/* Who may make files in the folder. */
enum who {
    WE,     /* and root */
    OTHERS, /* or its owner is another user */
    STICKY, /* others, who cannot remove ours */
};

struct path_walk {
    struct output *o;
    int dir;    /* the folder reached */
    char *rest; /* of the path, after it */
    unsigned links, tries;
    bool only_new;
    const char **why;
};

static bool is_ours(const struct stat *st)
{
    return st->st_uid == geteuid();
}

static enum who who_writes(const struct stat *dir)
{
    bool others = (dir->st_mode & (S_IWGRP | S_IWOTH)) != 0;

    if (others && (dir->st_mode & S_ISVTX)) {
        return STICKY;
    }
    return others || (!is_ours(dir) && dir->st_uid != 0) ? OTHERS : WE;
}

static int refuse(struct path_walk *w, const char *why)
{
    *w->why = why;
    return -EACCES;
}

/* A symbolic link; is_last: it names the file, not a folder on the way. */
static int check_link(struct path_walk *w, const struct stat *st, bool is_last)
{
    struct stat dir;

    if (fstat(w->dir, &dir) < 0) {
        return -errno;
    }
    if ((who_writes(&dir) == STICKY && !is_ours(st) && st->st_uid != dir.st_uid) ||
        (is_last && !is_ours(st) && st->st_uid != 0)) {
        return refuse(
            w, is_last ? "it is a symbolic link that belongs to another user"
                       : "a symbolic link on the way to it belongs to another user, "
                         "in a folder where others may make files");
    }
    if (is_last && st->st_nlink > 1 && who_writes(&dir) != WE) {
        return refuse(w, "it is a symbolic link that has another name, in a folder where "
                         "others may make files");
    }
    return 0;
}

/* A file that exists. */
static int check_file(struct path_walk *w, const struct stat *st)
{
    struct stat dir;

    if (S_ISDIR(st->st_mode)) {
        return -EISDIR;
    }
    if (!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode)) {
        return 0;
    }
    if (fstat(w->dir, &dir) < 0) {
        return -errno;
    }
    if (who_writes(&dir) == STICKY && !is_ours(st) && st->st_uid != dir.st_uid) {
        return refuse(w, "it belongs to another user, in a folder where others may make "
                         "files");
    }
    if (S_ISREG(st->st_mode) && st->st_nlink > 1 && who_writes(&dir) != WE) {
        return refuse(w, "it is a file that has another name, in a folder where others "
                         "may make files");
    }
    return 0;
}

/* Follows the link `fd': its text takes the place of its name. */
static int follow(struct path_walk *w, int fd, const char *after)
{
    char target[PATH_MAX], *rest;
    ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);
    int root;

    if (n < 0) {
        return -errno;
    }
    if (++w->links > MAX_LINKS) {
        return -ELOOP;
    }
    target[n] = '\0';
    if (asprintf(&rest, "%s%s%s", target, *after ? "/" : "", after) < 0) {
        return -ENOMEM;
    }
    free(w->rest);
    w->rest = rest;
    if (target[0] == '/') {
        root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0) {
            return -errno;
        }
        close(w->dir);
        w->dir = root;
    }
    return 0;
}

/* Links in /proc lead to what they mean, not to what they say. */
static bool is_magic(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == PROC_MAGIC;
}

/* A folder, or a link to one. */
static int enter(struct path_walk *w, const char *name, const char *after)
{
    const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    int fd = openat(w->dir, name, flags | O_NOFOLLOW), link, err;
    struct stat st;

    if (fd < 0 && errno == ENOTDIR) {
        link = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (link < 0 || fstat(link, &st) < 0) {
            err = -errno;
        } else if (!S_ISLNK(st.st_mode)) {
            err = -ENOTDIR;
        } else if (is_magic(link)) {
            fd = openat(w->dir, name, flags);
            err = fd < 0 ? -errno : 0;
        } else {
            err = check_link(w, &st, false);
            err = err ? err : follow(w, link, after);
        }
        if (link >= 0) {
            close(link);
        }
        if (err || fd < 0) {
            return err; /* the path goes on where the link leads to */
        }
    } else if (fd < 0) {
        return -errno;
    }
    close(w->dir);
    w->dir = fd;
    memmove(w->rest, after, strlen(after) + 1);
    return 0;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The file, which exists.  Returns 1 when its path has changed, by a link or somebody. */
static int open_old(struct path_walk *w, const char *name)
{
    const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
    int at = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1, err;
    struct stat st;

    if (at < 0) {
        return errno == ENOENT ? 1 : -errno;
    }
    if (fstat(at, &st) < 0) {
        err = -errno;
    } else if (!S_ISLNK(st.st_mode)) {
        err = check_file(w, &st);
        fd = err ? -1 : openat(w->dir, name, flags | O_NOFOLLOW);
    } else if (is_magic(at)) {
        err = 0;
        fd = openat(w->dir, name, flags);
    } else {
        err = check_link(w, &st, true);
        err = err ? err : follow(w, at, "");
        close(at);
        return err ? err : 1;
    }
    if (!err && fd < 0) {
        err = errno == ENOENT || errno == ELOOP ? 1 : -errno;
    }
    if (!err && fstat(fd, &w->o->st) < 0) {
        err = -errno;
    }
    if (!err && S_ISLNK(st.st_mode)) {
        st = w->o->st;
    }
    if (!err && !is_same(&st, &w->o->st)) {
        err = 1;
    }
    close(at);
    if (err && fd >= 0) {
        close(fd);
    } else {
        w->o->fd = fd;
    }
    return err;
}

/* The last component.  Returns 1 to go on. */
static int open_last(struct path_walk *w, const char *name)
{
    struct output *o = w->o;
    int fd =
        openat(w->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);

    if (fd < 0) {
        return errno == EEXIST && !w->only_new && w->tries++ < MAX_TRIES
                   ? open_old(w, name)
                   : -errno;
    }
    o->name = strdup(name);
    if (!o->name || fstat(fd, &o->st) < 0) {
        int err = o->name ? -errno : -ENOMEM;

        unlinkat(w->dir, name, 0);
        close(fd);
        free(o->name);
        o->name = NULL;
        return err;
    }
    o->fd = fd;
    o->folder = w->dir;
    w->dir = -1;
    return 0;
}

int output_open(struct output *o, const char *path, bool only_new, const char **why)
{
    struct path_walk w = {.o = o, .only_new = only_new, .why = why};
    int err = 1;

    *o = (struct output)OUTPUT_NONE;
    *why = NULL;
    w.rest = strdup(path);
    w.dir = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (w.dir < 0 || !w.rest || !*path) {
        err = !w.rest ? -ENOMEM : w.dir < 0 ? -errno : -ENOENT;
    }
    while (err == 1) {
        char *name = w.rest + strspn(w.rest, "/"), *end = strchrnul(name, '/');
        char component[NAME_MAX + 1];

        if (end - name > NAME_MAX) {
            err = -ENAMETOOLONG;
        } else if (name == end) {
            err = -EISDIR;
        } else if (*end) {
            memcpy(component, name, (size_t)(end - name));
            component[end - name] = '\0';
            err = enter(&w, component, end + 1);
            err = err ? err : 1;
        } else {
            memcpy(component, name, (size_t)(end - name) + 1);
            err = open_last(&w, component);
        }
    }
    if (w.dir >= 0) {
        close(w.dir);
    }
    free(w.rest);
    if (err && !*why) {
        *why = strerror(-err);
    }
    return err;
}

int output_open_fd(struct output *o, int fd, const char **why)
{
    int err = 0;

    *o = (struct output)OUTPUT_NONE;
    o->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (o->fd < 0 || fstat(o->fd, &o->st) < 0) {
        err = -errno;
        *why = strerror(-err);
    }
    return err;
}

int output_sync(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))) {
        return 0;
    }
    while (fsync(fd) < 0) {
        if (errno != EINTR) {
            /* A file system that has nothing to sync says so. */
            return errno == EINVAL || errno == EROFS || errno == EOPNOTSUPP ||
                           errno == ENOSYS
                       ? 0
                       : -errno;
        }
    }
    return 0;
}

int output_close(struct output *o, bool written)
{
    struct stat st;
    int err = 0;

    if (o->fd < 0) {
        return 0;
    }
    if (written) {
        err = output_sync(o->fd);
    }
    if (o->name && fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0 &&
        fstatat(o->folder, o->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_same(&st, &o->st)) {
        unlinkat(o->folder, o->name, 0);
    }
    /* An interrupted close closes it all the same, and what was written is synced. */
    if (close(o->fd) < 0 && errno != EINTR && !err) {
        err = -errno;
    }
    if (o->folder >= 0) {
        close(o->folder);
    }
    free(o->name);
    *o = (struct output)OUTPUT_NONE;
    return err;
}
