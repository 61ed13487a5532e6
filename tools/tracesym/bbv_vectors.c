/* SPDX-License-Identifier: MIT */
/* The vectors of threads, and their files; see bbv_vectors.h. */
#include "bbv_vectors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"
#include "common/textbuf.h"

/* Bytes of a thread's lines that wait to be written. */
#define FLUSH_BYTES (16u << 10)

/* A thread's vectors. */
struct thread_vectors {
    bool open; /* there is a current interval */
    uint64_t interval;
    uint32_t *numbers; /* of blocks in it: open-addressed, a power of two, 0: free */
    uint64_t *insns;   /* of each, in the same place */
    uint32_t nr_slots, used;
    struct textbuf out;
    char *name; /* of its file, once opened */
};

int vectors_said(const struct bbv_options *opt, const char *name, int error)
{
    tool_error(opt->prog, "%s: %s", name, strerror(error));
    return BBV_STOP_REPORTED;
}

static int write_all(const struct vectors *v, int fd, const char *name,
                     const struct textbuf *b)
{
    size_t done = 0;

    while (done < b->len) {
        ssize_t n = write(fd, b->data + done, b->len - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return errno == EPIPE ? BBV_STOP_EPIPE : vectors_said(v->opt, name, errno);
        }
        done += (size_t)n;
    }
    return 0;
}

/* OUT.TID, OUT.TID.2 for the next thread of that id, ... */
static char *file_name(const struct vectors *v, uint32_t thread)
{
    const struct ctr_thread *t = ctr_trace_thread(v->trace, thread);
    unsigned again = 1;
    char *name;
    int n;

    for (uint32_t i = 0; i < thread; i++) {
        again += ctr_trace_thread(v->trace, i)->tid == t->tid;
    }
    n = again > 1 ? asprintf(&name, "%s.%d.%u", v->opt->out, t->tid, again)
                  : asprintf(&name, "%s.%d", v->opt->out, t->tid);
    return n < 0 ? NULL : name;
}

/* Writes the waiting lines of a thread; files are not kept open, since there may be
 * thousands. */
static int flush(struct vectors *v, uint32_t thread)
{
    struct thread_vectors *t = &v->threads[thread];
    int flags = O_WRONLY | O_CLOEXEC | O_CREAT | (t->name ? O_APPEND : O_TRUNC);
    int fd, ret;

    if (!t->out.len) {
        return 0;
    }
    if (!v->opt->out) {
        ret = write_all(v, STDOUT_FILENO, "standard output", &t->out);
        t->out.len = 0;
        return ret;
    }
    if (!t->name && !(t->name = file_name(v, thread))) {
        return BBV_STOP_NOMEM;
    }
    fd = open(t->name, flags, 0666);
    if (fd < 0) {
        return vectors_said(v->opt, t->name, errno);
    }
    ret = write_all(v, fd, t->name, &t->out);
    t->out.len = 0;
    if (close(fd) && !ret) {
        ret = vectors_said(v->opt, t->name, errno);
    }
    return ret;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static uint32_t slot_of(const struct thread_vectors *t, uint32_t number)
{
    uint32_t i = (number * 0x9e3779b1u) & (t->nr_slots - 1);

    while (t->numbers[i] && t->numbers[i] != number) {
        i = (i + 1) & (t->nr_slots - 1);
    }
    return i;
}

/* Ends the current interval of a thread: makes its line. */
static int end_interval(struct vectors *v, uint32_t thread)
{
    struct thread_vectors *t = &v->threads[thread];
    size_t n = 0;
    char *p;

    if (!t->open) {
        return 0;
    }
    t->open = false;
    if (v->nr_sorted < t->used) {
        uint32_t *s = realloc(v->sorted, 2 * (size_t)t->used * sizeof(*s));
        if (!s) {
            return BBV_STOP_NOMEM;
        }
        v->sorted = s;
        v->nr_sorted = 2 * (size_t)t->used;
    }
    for (uint32_t i = 0; i < t->nr_slots; i++) {
        if (t->numbers[i]) {
            v->sorted[n++] = t->numbers[i];
        }
    }
    qsort(v->sorted, n, sizeof(*v->sorted), by_number);
    p = textbuf_reserve(&t->out, n * (2 * FMT_U64_MAX + 8) + 8);
    if (!p) {
        return BBV_STOP_NOMEM;
    }
    *p++ = 'T';
    for (size_t i = 0; i < n; i++) {
        *p++ = ':';
        p = fmt_u64(p, v->sorted[i]);
        *p++ = ':';
        p = fmt_u64(p, t->insns[slot_of(t, v->sorted[i])]);
        p = FMT_LIT(p, "   ");
    }
    *p++ = '\n';
    textbuf_commit(&t->out, p);
    memset(t->numbers, 0, t->nr_slots * sizeof(*t->numbers));
    memset(t->insns, 0, t->nr_slots * sizeof(*t->insns));
    t->used = 0;
    return t->out.len >= FLUSH_BYTES ? flush(v, thread) : 0;
}

static bool grow_slots(struct thread_vectors *t)
{
    struct thread_vectors old = *t;
    uint32_t n = t->nr_slots ? 2 * t->nr_slots : 64;
    uint32_t *numbers = calloc(n, sizeof(*numbers));
    uint64_t *insns = calloc(n, sizeof(*insns));

    if (!numbers || !insns) {
        free(numbers);
        free(insns);
        return false;
    }
    t->numbers = numbers;
    t->insns = insns;
    t->nr_slots = n;
    for (uint32_t i = 0; i < old.nr_slots; i++) {
        if (old.numbers[i]) {
            uint32_t k = slot_of(t, old.numbers[i]);
            numbers[k] = old.numbers[i];
            insns[k] = old.insns[i];
        }
    }
    free(old.numbers);
    free(old.insns);
    return true;
}

static bool room_for_thread(struct vectors *v, uint32_t thread)
{
    uint32_t n = 2 * thread + 16;
    struct thread_vectors *t;

    if (thread < v->nr_threads) {
        return true;
    }
    t = realloc(v->threads, n * sizeof(*t));
    if (!t) {
        return false;
    }
    memset(t + v->nr_threads, 0, (n - v->nr_threads) * sizeof(*t));
    v->threads = t;
    v->nr_threads = n;
    return true;
}

int vectors_interval(struct vectors *v, uint32_t thread, uint64_t interval)
{
    struct thread_vectors *t;
    int ret = 0;

    if (!room_for_thread(v, thread)) {
        return BBV_STOP_NOMEM;
    }
    t = &v->threads[thread];
    if (t->open && t->interval != interval) {
        ret = end_interval(v, thread);
    }
    t->open = true;
    t->interval = interval;
    return ret;
}

bool vectors_add(struct vectors *v, uint32_t thread, uint32_t number, uint64_t insns)
{
    struct thread_vectors *t = &v->threads[thread];
    uint32_t k;

    if (4 * (uint64_t)(t->used + 1) > 3 * (uint64_t)t->nr_slots && !grow_slots(t)) {
        return false;
    }
    k = slot_of(t, number);
    t->used += !t->numbers[k];
    t->numbers[k] = number;
    t->insns[k] += insns;
    return true;
}

int vectors_finish(struct vectors *v)
{
    int ret = 0;

    for (uint32_t i = 0; !ret && i < v->nr_threads; i++) {
        ret = end_interval(v, i);
        ret = ret ? ret : flush(v, i);
    }
    return ret;
}

void vectors_fini(struct vectors *v)
{
    for (uint32_t i = 0; i < v->nr_threads; i++) {
        free(v->threads[i].numbers);
        free(v->threads[i].insns);
        free(v->threads[i].name);
        textbuf_fini(&v->threads[i].out);
    }
    free(v->threads);
    free(v->sorted);
}
