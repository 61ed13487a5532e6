/* SPDX-License-Identifier: MIT */
/*
 * Fields are written first; then `generation' is incremented and its waiters are woken.
 * So a process that sees a new generation also sees what has changed.
 */
#include "control.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "selection.h"

int control_init(struct control *c, struct mempipe_host *host, const char *lines)
{
    c->host = host;
    c->lines = strdup(lines ? lines : "");
    return c->lines ? 0 : -ENOMEM;
}

void control_fini(struct control *c)
{
    free(c->lines);
    memset(c, 0, sizeof(*c));
}

static void notify(struct control *c)
{
    uint32_t *generation = &c->host->control->generation;

    /* pairs with the acquire load of those that wait on it */
    __atomic_fetch_add(generation, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, generation, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool control_is_paused(const struct control *c)
{
    return __atomic_load_n(&c->host->control->paused, __ATOMIC_RELAXED);
}

void control_pause(struct control *c, bool paused)
{
    if (control_is_paused(c) != paused) {
        /* pairs with the load of a thread that leaves translated code */
        __atomic_store_n(&c->host->control->paused, paused, __ATOMIC_RELEASE);
        notify(c);
    }
}

uint32_t control_mark(struct control *c, const char *text, size_t bytes,
                      uint64_t asked_ns)
{
    struct mempipe_control *m = c->host->control;
    uint32_t n = __atomic_load_n(&m->nr_marks, __ATOMIC_RELAXED);
    struct mempipe_mark *mark = &m->marks[n % MEMPIPE_MARKS];

    mark->asked_ns = asked_ns;
    mark->bytes = (uint32_t)bytes;
    memcpy(mark->text, text, bytes);
    /* pairs with the acquire load of those that read marks */
    __atomic_store_n(&m->nr_marks, n + 1, __ATOMIC_RELEASE);
    notify(c);
    return n + 1;
}

/* Replaces the libraries; takes ownership of `lines'. */
static int set_lines(struct control *c, char *lines)
{
    struct mempipe_control *m = c->host->control;
    const size_t n = strlen(lines);

    if (n >= MEMPIPE_FILTER_BYTES) {
        free(lines);
        return -E2BIG;
    }
    /* An odd number means that we are writing: a reader compares the number before and
     * after its copy, and one that sees any of these bytes also sees the odd number. */
    __atomic_fetch_add(&m->filter_seq, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < n; i++) {
        __atomic_store_n(&m->filter[i], lines[i], __ATOMIC_RELEASE);
    }
    __atomic_store_n(&m->filter_bytes, (uint32_t)n, __ATOMIC_RELEASE);
    __atomic_fetch_add(&m->filter_seq, 1, __ATOMIC_RELEASE);
    free(c->lines);
    c->lines = lines;
    notify(c);
    return 0;
}

/* Whether the line is for the library `path', or for one with this file name. */
static int is_for(const char *line, size_t bytes, const char *path)
{
    char *copy = strndup(line, bytes), *own = NULL;
    const char *name = NULL;
    int is = -ENOMEM;

    if (copy && (own = selection_path(copy, NULL)) != NULL) {
        name = strrchr(own, '/');
        is =
            !strcmp(own, path) || (!strchr(path, '/') && name && !strcmp(name + 1, path));
    }
    free(own);
    free(copy);
    return is;
}

int control_load(struct control *c, const char *line)
{
    const size_t n = strlen(c->lines), more = strlen(line);
    char *lines;

    for (const char *p = c->lines; *p;) {
        size_t len = strcspn(p, "\n");

        if (len == more && !memcmp(p, line, len)) {
            return -EEXIST;
        }
        p += len + (p[len] == '\n');
    }
    lines = malloc(n + more + 2);
    if (!lines) {
        return -ENOMEM;
    }
    memcpy(lines, c->lines, n);
    if (n) {
        lines[n] = '\n';
    }
    memcpy(lines + n + (n > 0), line, more + 1);
    return set_lines(c, lines);
}

int control_unload(struct control *c, const char *path)
{
    char *lines = malloc(strlen(c->lines) + 1);
    bool found = false;
    size_t n = 0;

    if (!lines) {
        return -ENOMEM;
    }
    for (const char *p = c->lines; *p;) {
        size_t len = strcspn(p, "\n");
        int is = is_for(p, len, path);

        if (is < 0) {
            free(lines);
            return is;
        }
        if (is) {
            found = true;
        } else {
            if (n) {
                lines[n++] = '\n';
            }
            memcpy(lines + n, p, len);
            n += len;
        }
        p += len + (p[len] == '\n');
    }
    lines[n] = '\0';
    if (!found) {
        free(lines);
        return -ENOENT;
    }
    return set_lines(c, lines);
}

/* One line for a terminal, whatever the guest's memory holds. */
static void copy_line(char *text, size_t size, const char *from, size_t from_bytes)
{
    size_t n = size - 1 < from_bytes ? size - 1 : from_bytes;

    memcpy(text, from, n);
    text[n] = '\0';
    for (char *p = text; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            *p = p[1] ? ' ' : '\0';
        }
    }
}

bool control_failure(const struct control *c, char *text, size_t size)
{
    const struct mempipe_shared *m = c->host->shared;

    /* pairs with the release store after the text */
    if (__atomic_load_n(&m->failed, __ATOMIC_ACQUIRE) != 1) {
        return false;
    }
    copy_line(text, size, m->failure, sizeof(m->failure));
    return true;
}

void control_library(const struct control *c, uint32_t entry, char *text, size_t size)
{
    const struct mempipe_library *l = NULL;

    if (entry && entry <= MEMPIPE_LIBRARIES) {
        l = &c->host->shared->libraries[entry - 1];
    }
    text[0] = '\0';
    /* pairs with the release store after the path */
    if (l && __atomic_load_n(&l->state, __ATOMIC_ACQUIRE) == 2) {
        copy_line(text, size, l->path, sizeof(l->path));
    }
}

char *control_loading(const struct control *c)
{
    uint32_t number = __atomic_load_n(&c->host->shared->loading, __ATOMIC_ACQUIRE);
    const char *p = c->lines;

    if (!number) {
        return NULL;
    }
    while (--number && *p) {
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    if (!*p) {
        return strdup("a library");
    }
    return strndup(p, strcspn(p, "\n"));
}
