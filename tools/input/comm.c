/* SPDX-License-Identifier: MIT */
/* Collects the names of threads; see comm.h. */
#include "input/comm.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "cannoli/events.h"

/* Bytes of a name that Linux keeps, without the final NUL. */
#define COMM_LEN 15u

struct comm {
    uint32_t thread, next; /* next name of the thread: its number + 1, 0: none */
    char name[COMM_LEN + 1];
};

struct comm_table {
    struct comm *v;
    uint32_t n;
    size_t cap;
    uint32_t *first, *last; /* of each thread: number + 1 */
    uint32_t threads;
};

/* execve names a thread after the file, cut to the length of a name. */
static void copy_name(struct comm *c, const struct ctr_thread_event *t)
{
    const char *slash =
        t->op == CTR_THREAD_EXEC ? memrchr(t->name.p, '/', t->name.n) : NULL;
    const char *name = slash ? slash + 1 : t->name.p;
    size_t len = t->name.n - (size_t)(name - t->name.p);

    len = len < COMM_LEN ? len : COMM_LEN;
    memcpy(c->name, name, len);
    c->name[len] = 0;
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct comm c = {.thread = ctr_job_thread(job)->index};
    struct ctr_thread_event t;

    (void)arg;
    if (ctr_parse_thread(e, &t) || !t.name.n || t.op == CTR_THREAD_END) {
        return 0;
    }
    copy_name(&c, &t);
    return ctr_job_append(job, &c, sizeof(c)) ? -CTR_E_NOMEM : 0;
}

/* Makes room for a thread in the table. */
static int grow_threads(struct comm_table *t, uint32_t thread)
{
    uint32_t n = 2 * thread + 16;
    uint32_t *first, *last;

    if (thread < t->threads) {
        return 0;
    }
    first = realloc(t->first, n * sizeof(*first));
    t->first = first ? first : t->first;
    last = realloc(t->last, n * sizeof(*last));
    t->last = last ? last : t->last;
    if (!first || !last) {
        return -CTR_E_NOMEM;
    }
    memset(first + t->threads, 0, (n - t->threads) * sizeof(*first));
    memset(last + t->threads, 0, (n - t->threads) * sizeof(*last));
    t->threads = n;
    return 0;
}

static int add(struct comm_table *t, const struct comm *c)
{
    if (!array_reserve(&t->v, &t->cap, t->n + (size_t)1, sizeof(*t->v)) ||
        grow_threads(t, c->thread)) {
        return -CTR_E_NOMEM;
    }
    t->v[t->n] = *c;
    t->n++;
    if (t->last[c->thread]) {
        t->v[t->last[c->thread] - 1].next = t->n;
    } else {
        t->first[c->thread] = t->n;
    }
    t->last[c->thread] = t->n;
    return 0;
}

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t size)
{
    const struct comm *c = data;
    int ret = 0;

    (void)job;
    for (size_t n = size / sizeof(*c); !ret && n; n--, c++) {
        ret = add(arg, c);
    }
    return ret;
}

int comm_load(struct comm_table **out, struct ctr_trace *tr, struct ctr_diag *diag)
{
    struct ctr_replay_ops ops = {.os = on_os, .ordered = on_ordered};
    struct ctr_filter filter = {.kinds = CTR_KIND_THR};
    struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    struct comm_table *t = calloc(1, sizeof(*t));
    struct ctr_info info;
    int ret = t ? 0 : -CTR_E_NOMEM;

    ctr_trace_info(tr, &info);
    if (!ret && info.seekable && info.events & CTR_HAS_THR) {
        ret = ctr_replay(tr, &ops, t, &opts, diag);
    }
    if (ret == -CTR_E_CORRUPT) {
        ret = 0; /* the names up to there */
    }
    if (ret) {
        comm_free(t);
        t = NULL;
    }
    *out = t;
    return ret;
}

void comm_free(struct comm_table *t)
{
    if (t) {
        free(t->v);
        free(t->first);
        free(t->last);
        free(t);
    }
}

const char *comm_name(const struct comm_table *t, uint32_t thread, uint32_t i)
{
    uint32_t at = t && thread < t->threads ? t->first[thread] : 0;

    for (; at && i; i--) {
        at = t->v[at - 1].next;
    }
    return at ? t->v[at - 1].name : NULL;
}

const char *comm_last(const struct comm_table *t, uint32_t thread)
{
    uint32_t at = t && thread < t->threads ? t->last[thread] : 0;

    return at ? t->v[at - 1].name : "";
}
