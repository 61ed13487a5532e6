/* SPDX-License-Identifier: MIT */
/* Collects the names and arguments of threads; see comm.h. */
#include "input/comm.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "cannoli/events.h"

/* Bytes of a name that Linux keeps, without the final NUL. */
#define COMM_LEN 15u

/* What a worker passes on; the bytes of the arguments follow, up to a multiple of 4. */
struct record {
    uint32_t bytes;
    uint32_t argc, args;
    char name[COMM_LEN + 1];
};

struct entry {
    uint32_t next; /* of the thread: number + 1, 0: none */
    uint32_t argc, args;
    size_t text; /* where the arguments are */
    char name[COMM_LEN + 1];
};

/* Of a thread: numbers of entries + 1, 0: none. */
struct chain {
    uint32_t first, last, named;
};

struct comm_table {
    struct entry *v;
    uint32_t n;
    size_t cap;
    struct chain *thread;
    size_t threads;
    uint32_t *program; /* of each process: number + 1 of the entry with arguments */
    size_t processes;
    char *text; /* arguments; those of a forked child are mostly its parent's */
    size_t text_n, text_cap;
};

/* ------------------------------------------------------------------- workers */

/* execve names a thread after the file, cut to the length of a name. */
static void copy_name(struct record *r, const struct ctr_thread_event *t)
{
    const char *slash =
        t->op == CTR_THREAD_EXEC ? memrchr(t->name.p, '/', t->name.n) : NULL;
    const char *name = slash ? slash + 1 : t->name.p;
    size_t len = t->name.n - (size_t)(name - t->name.p);

    len = len < COMM_LEN ? len : COMM_LEN;
    memcpy(r->name, name, len);
    r->name[len] = 0;
}

int comm_take(struct ctr_job *job, const struct ctr_os_event *e)
{
    struct record r = {0};
    struct ctr_thread_event t;
    char *to;

    if (ctr_parse_thread(e, &t) || t.op == CTR_THREAD_END || !(t.name.n || t.args.n)) {
        return 0;
    }
    copy_name(&r, &t);
    r.argc = t.argc;
    r.args = (uint32_t)t.args.n;
    r.bytes = (uint32_t)(sizeof(r) + (t.args.n + 3)) & ~3u;
    to = ctr_job_reserve(job, r.bytes);
    if (!to) {
        return -CTR_E_NOMEM;
    }
    memset(to + r.bytes - 4, 0, 4);
    memcpy(to, &r, sizeof(r));
    if (r.args) {
        memcpy(to + sizeof(r), t.args.p, r.args);
    }
    ctr_job_commit(job, r.bytes);
    return 0;
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    (void)arg;
    return comm_take(job, e);
}

/* --------------------------------------------------------------------- table */

struct comm_table *comm_new(void)
{
    return calloc(1, sizeof(struct comm_table));
}

/* Keeps the arguments; where they are is written to *at. */
static bool keep_args(struct comm_table *t, const char *args, size_t n, size_t *at)
{
    const struct entry *before = t->n ? &t->v[t->n - 1] : NULL;

    if (before && before->args == n && !memcmp(t->text + before->text, args, n)) {
        *at = before->text;
        return true;
    }
    if (!array_reserve(&t->text, &t->text_cap, t->text_n + n, 1)) {
        return false;
    }
    memcpy(t->text + t->text_n, args, n);
    *at = t->text_n;
    t->text_n += n;
    return true;
}

size_t comm_put(struct comm_table *t, const struct ctr_thread *thread, const void *data)
{
    struct record r;
    struct entry e = {0};
    struct chain *c;

    memcpy(&r, data, sizeof(r));
    if (!array_reserve(&t->v, &t->cap, t->n + (size_t)1, sizeof(*t->v)) ||
        !array_reserve_zeroed(&t->thread, &t->threads, thread->index + (size_t)1,
                              sizeof(*t->thread)) ||
        !array_reserve_zeroed(&t->program, &t->processes, thread->process + (size_t)1,
                              sizeof(*t->program)) ||
        (r.args && !keep_args(t, (const char *)data + sizeof(r), r.args, &e.text))) {
        return 0;
    }
    e.argc = r.argc;
    e.args = r.args;
    memcpy(e.name, r.name, sizeof(e.name));
    t->v[t->n++] = e;
    c = &t->thread[thread->index];
    *(c->last ? &t->v[c->last - 1].next : &c->first) = t->n;
    c->last = t->n;
    c->named = *e.name ? t->n : c->named;
    if (e.args) {
        t->program[thread->process] = t->n;
    }
    return r.bytes;
}

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t size)
{
    const char *p = data;
    size_t n;

    for (; size; p += n, size -= n) {
        n = comm_put(arg, ctr_job_thread(job), p);
        if (!n) {
            return -CTR_E_NOMEM;
        }
    }
    return 0;
}

int comm_load(struct comm_table **out, struct ctr_trace *tr, struct ctr_diag *diag)
{
    struct ctr_replay_ops ops = {.os = on_os, .ordered = on_ordered};
    struct ctr_filter filter = {.kinds = CTR_KIND_THR};
    struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    struct comm_table *t = comm_new();
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
        free(t->thread);
        free(t->program);
        free(t->text);
        free(t);
    }
}

/* -------------------------------------------------------------------- queries */

static struct program program_of(const struct comm_table *t, const struct entry *e)
{
    return (struct program){
        .args = {.p = e->args ? t->text + e->text : NULL, .n = e->args}, .argc = e->argc};
}

bool comm_next(const struct comm_table *t, uint32_t thread, uint32_t *at,
               struct comm *out)
{
    const struct entry *e;

    if (!*at) {
        *at = t && thread < t->threads ? t->thread[thread].first : 0;
    } else {
        *at = t->v[*at - 1].next;
    }
    if (!*at) {
        return false;
    }
    e = &t->v[*at - 1];
    *out = (struct comm){.name = e->name, .program = program_of(t, e)};
    return true;
}

const char *comm_last(const struct comm_table *t, uint32_t thread)
{
    uint32_t at = t && thread < t->threads ? t->thread[thread].named : 0;

    return at ? t->v[at - 1].name : "";
}

struct program comm_program(const struct comm_table *t, uint32_t process)
{
    uint32_t at = t && process < t->processes ? t->program[process] : 0;

    return at ? program_of(t, &t->v[at - 1]) : (struct program){0};
}
