/* SPDX-License-Identifier: MIT */
/*
 * Shared mappings that become writable; see embed_shared.h.
 *
 * The events of a process's threads arrive in any order, so what a mapping was is compared by
 * times, and where these do not decide, the file counts as written to: that costs the use of
 * its bytes as contents of memory, while the contrary would show wrong ones.
 */
#include "embed_shared.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/array.h"
#include "mapping.h"

#define MREMAP_KEEP_OLD 4u /* MREMAP_DONTUNMAP */
/* Mappings of a process that are kept, also when they have ended. */
#define MAX_RANGES 1024u
/* No event comes so much later than a newer one. */
#define LATE_NS UINT64_C(10000000000)
#define MAX_WRITABLE 64u

struct range {
    uint64_t start, end;
    uint64_t from_ns, to_ns; /* UINT64_MAX: it is mapped */
    struct embed_file *file;
};

struct embed_shared {
    struct range *v;
    size_t n, cap;
    /* What was made writable lately, as a mapping's own event may come after that. */
    struct {
        uint64_t start, end, time_ns;
    } writable[MAX_WRITABLE];
    size_t n_writable; /* all that there were; the last MAX_WRITABLE are there */
    bool late;         /* there was more, or a move, up to late_ns */
    uint64_t late_ns;
};

/* A call of embed_shared_event. */
struct call {
    struct embed_shared *s;
    const struct ctr_map *map;
    uint64_t time_ns, start, end;
    enum embed_mode mode;
    int (*found)(void *arg, struct embed_file *file);
    void *arg;
};

void embed_shared_free(struct embed_shared *s)
{
    if (s) {
        for (size_t i = 0; i < s->n; i++) {
            free(s->v[i].file);
        }
        free(s->v);
        free(s);
    }
}

static uint64_t end_of(uint64_t start, uint64_t size)
{
    return size > UINT64_MAX - start ? UINT64_MAX : start + size;
}

static void remove_range(struct embed_shared *s, size_t i)
{
    s->n--;
    memmove(&s->v[i], &s->v[i + 1], (s->n - i) * sizeof(s->v[0]));
}

static int report(const struct call *c, size_t i, uint32_t written)
{
    struct embed_file *file = c->s->v[i].file;

    remove_range(c->s, i);
    file->written = written;
    return c->found(c->arg, file);
}

/* Whether a mapping that began at a time may be writable by now. */
static bool is_late(const struct embed_shared *s, uint64_t start, uint64_t end,
                    uint64_t time_ns)
{
    const size_t n = s->n_writable < MAX_WRITABLE ? s->n_writable : MAX_WRITABLE;

    if (s->late && s->late_ns >= time_ns) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        if (s->writable[i].time_ns >= time_ns && s->writable[i].start < end &&
            start < s->writable[i].end) {
            return true;
        }
    }
    return false;
}

/* Of the oldest mapping the file counts as written to, unless it ended long ago. */
static int make_room(const struct call *c)
{
    struct embed_shared *s = c->s;
    size_t i = 0;

    while (i < s->n &&
           (s->v[i].to_ns > c->time_ns || c->time_ns - s->v[i].to_ns < LATE_NS)) {
        i++;
    }
    if (i == s->n) {
        return report(c, 0, EMBED_MAY_WRITE);
    }
    free(s->v[i].file);
    remove_range(s, i);
    return 0;
}

/* Takes a file, also if it fails. */
static int add(const struct call *c, uint64_t start, uint64_t end,
               struct embed_file *file)
{
    struct embed_shared *s = c->s;
    int err = 0;

    if (is_late(s, start, end, c->time_ns)) {
        file->written = EMBED_WRITES;
        return c->found(c->arg, file);
    }
    if (s->n == MAX_RANGES) {
        err = make_room(c);
    }
    if (err || !array_reserve(&s->v, &s->cap, s->n + 1, sizeof(s->v[0]))) {
        free(file);
        return err ? err : -CTR_E_NOMEM;
    }
    s->v[s->n++] = (struct range){start, end, c->time_ns, UINT64_MAX, file};
    return 0;
}

/* What was mapped in a range is so no more; a part that is left counts as all of it. */
static void unmap(const struct call *c, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < c->s->n; i++) {
        struct range *r = &c->s->v[i];

        if (r->start >= start && r->end <= end && r->from_ns <= c->time_ns &&
            r->to_ns > c->time_ns) {
            r->to_ns = c->time_ns;
        }
    }
}

static void note_late(struct embed_shared *s, uint64_t time_ns)
{
    s->late_ns = !s->late || s->late_ns < time_ns ? time_ns : s->late_ns;
    s->late = true;
}

static int protect(const struct call *c)
{
    struct embed_shared *s = c->s;
    const size_t at = s->n_writable % MAX_WRITABLE;
    int err = 0;

    if (!(c->map->prot & MAPPING_WRITES)) {
        return 0;
    }
    for (size_t i = s->n; !err && i-- > 0;) {
        const struct range *r = &s->v[i];

        if (r->start < c->end && c->start < r->end && r->from_ns <= c->time_ns &&
            c->time_ns <= r->to_ns) {
            err = report(c, i, EMBED_WRITES);
        }
    }
    if (s->n_writable >= MAX_WRITABLE) {
        note_late(s, s->writable[at].time_ns);
    }
    s->writable[at].start = c->start;
    s->writable[at].end = c->end;
    s->writable[at].time_ns = c->time_ns;
    s->n_writable++;
    return err;
}

static int move(const struct call *c)
{
    struct embed_shared *s = c->s;
    const struct ctr_map *m = c->map;
    const uint64_t old_end = end_of(m->old_start, m->old_size ? m->old_size : m->size);
    /* The system refuses places that overlap, but to make a mapping larger or smaller. */
    const bool apart = c->start >= old_end || m->old_start >= c->end;
    const size_t n = s->n;
    int err = 0;

    if (apart) {
        unmap(c, c->start, c->end);
    }
    for (size_t i = 0; !err && i < s->n && i < n; i++) {
        const struct range *r = &s->v[i];
        struct embed_file *file;

        if (r->start >= old_end || m->old_start >= r->end || r->from_ns > c->time_ns ||
            c->time_ns > r->to_ns) {
            continue;
        }
        file = malloc(embed_file_bytes(r->file));
        if (!file) {
            return -CTR_E_NOMEM;
        }
        memcpy(file, r->file, embed_file_bytes(r->file));
        if (s->n == MAX_RANGES) { /* none is removed from the list while it is walked */
            file->written = EMBED_MAY_WRITE;
            err = c->found(c->arg, file);
        } else {
            err = add(c, c->start, c->end, file);
        }
    }
    note_late(s, c->time_ns);
    if (apart && m->old_size && !(m->flags & MREMAP_KEEP_OLD)) {
        unmap(c, m->old_start, old_end);
    }
    return err;
}

static int map(const struct call *c, pid_t pid)
{
    const struct ctr_map *m = c->map;
    struct embed_file *file;

    unmap(c, c->start, c->end);
    if (!(m->flags & MAPPING_SHARED) || m->prot & MAPPING_WRITES || !m->size) {
        return 0;
    }
    file = embed_of_event(m, c->time_ns, pid, c->mode);
    return file ? add(c, c->start, c->end, file) : 0;
}

int embed_shared_event(struct embed_shared **s, const struct ctr_map *m, uint64_t time_ns,
                       pid_t pid, enum embed_mode mode,
                       int (*found)(void *arg, struct embed_file *file), void *arg)
{
    struct call c = {.map = m, .time_ns = time_ns, .mode = mode};

    *s = *s ? *s : calloc(1, sizeof(**s));
    if (!*s) {
        return -CTR_E_NOMEM;
    }
    c.s = *s;
    c.start = m->start;
    c.end = end_of(m->start, m->size);
    c.found = found;
    c.arg = arg;
    switch (m->op) {
    case CTR_MAP_INITIAL:
    case CTR_MAP_MMAP:
        return map(&c, pid);
    case CTR_MAP_SHMAT:
    case CTR_MAP_MUNMAP:
    case CTR_MAP_SHMDT:
        unmap(&c, c.start, c.end);
        return 0;
    case CTR_MAP_MPROTECT:
        return protect(&c);
    case CTR_MAP_MREMAP:
        return move(&c);
    default:
        return 0;
    }
}
