/* SPDX-License-Identifier: MIT */
/*
 * Merges the threads' lines by time.
 *
 * Of a file, pieces come in order of the times at which their chunks were begun, so all
 * lines from some time before the newest begin are certain.  An open call has its place
 * and waits for its end; when much waits for it, ahead.c reads how it ends.
 *
 * Of a stream, chunks come when they are full and nothing is ever certain while there are
 * several threads.  Lines wait until a chunk arrives whose predecessor was full
 * STREAM_WAIT_NS after them.  A call that takes longer has its place where it ends.  A
 * line that arrives later still is written at once, and counted.
 *
 * Everything is decided by what the chunks hold, never by when their output comes or how
 * it is cut, so the order does not depend on the number of workers.
 */
#include "timed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/options.h"

/* How long before its chunk's begin an event can have happened: on a busy machine a thread
 * may wait for a buffer for that long. */
#define EARLY_NS 1000000000ull

/* A time before the end of all. */
#define LATEST_NS (UINT64_MAX - 1)

/* Bytes of lines that wait for an open call before its end is looked for, and in memory
 * before they go to the temporary file. */
#define AHEAD_BYTES (1u << 20)
#define HELD_BYTES (64u << 20)

/* Output is written in pieces of this size, and after each call. */
#define WRITE_BYTES (64u << 10)

struct order_thread {
    const struct ctr_thread *thread;
    struct held_queue lines;
    uint64_t last_ns; /* of its last line, or open call */
    struct open_call call;
    uint64_t begun_ns; /* of the open call: time of its entry ... */
    uint64_t call_ns;  /* ... and of its line */
    uint32_t seen;     /* events since then, the entry included */
    bool ahead;        /* its lines are in `lines' already */
    bool lost;         /* they cannot be read ahead */
    bool apart;        /* stream: it is not waited for any more */
    size_t at;         /* place in the heap, from 1; 0: not there */
};

struct order {
    struct dump *d;
    struct order_thread **threads; /* by index in the thread table */
    size_t nr_threads;
    struct order_thread **heap; /* of threads with lines or a call to wait for */
    size_t n, cap;
    struct held_pool pool;
    struct textbuf out;
    struct ahead ahead;
    bool begun; /* `chunk' is valid */
    struct ctr_chunk chunk;
    uint64_t full_ns; /* stream: latest time at which a chunk was full */
    bool alone;       /* stream: only one thread can be there so far */
    uint64_t written_ns, late;
};

/* -------------------------------------------------------------------- heap */

/* Whether the thread's next line must wait for its call. */
static bool waits(const struct order_thread *t)
{
    return t->call.depth && !t->ahead && !t->apart;
}

/* The time of a thread's next line or of the call that it waits for. */
static uint64_t next_ns(const struct order_thread *t)
{
    return held_is_empty(&t->lines) ? t->call_ns : held_time(&t->lines);
}

/* At the same time a thread comes before those that were created after it. */
static bool is_before(const struct order_thread *a, const struct order_thread *b)
{
    uint64_t x = next_ns(a), y = next_ns(b);

    return x != y ? x < y : a->thread->index < b->thread->index;
}

static void place(struct order *o, size_t at, struct order_thread *t)
{
    o->heap[at - 1] = t;
    t->at = at;
}

/* Moves the thread at a place to where it belongs. */
static void settle(struct order *o, size_t at)
{
    struct order_thread *t = o->heap[at - 1];

    while (at > 1 && is_before(t, o->heap[at / 2 - 1])) {
        place(o, at, o->heap[at / 2 - 1]);
        at /= 2;
    }
    for (;;) {
        size_t child = 2 * at;
        if (child < o->n && is_before(o->heap[child], o->heap[child - 1])) {
            child++;
        }
        if (child > o->n || !is_before(o->heap[child - 1], t)) {
            break;
        }
        place(o, at, o->heap[child - 1]);
        at = child;
    }
    place(o, at, t);
}

/* Puts a thread where it belongs after its lines or call have changed; 0 or
 * DUMP_STOP_NOMEM. */
static int update(struct order *o, struct order_thread *t)
{
    bool wanted = !held_is_empty(&t->lines) || waits(t);
    size_t at = t->at;

    if (wanted && !at) {
        if (!array_reserve(&o->heap, &o->cap, o->n + 1, sizeof(*o->heap))) {
            return DUMP_STOP_NOMEM;
        }
        at = ++o->n;
        place(o, at, t);
    } else if (!wanted && at) {
        struct order_thread *last = o->heap[--o->n];
        t->at = 0;
        if (last == t) {
            return 0;
        }
        place(o, at, last);
    }
    if (at) {
        settle(o, at);
    }
    return 0;
}

/* ------------------------------------------------------------------ output */

static int write_out(struct order *o)
{
    int ret = o->out.len ? dump_write(o->out.data, o->out.len, &o->d->sys_errno) : 0;

    o->out.len = 0;
    return ret;
}

static int put_line(struct order *o, uint64_t ns, const char *text, size_t len)
{
    char *p = textbuf_reserve(&o->out, len);

    if (!p) {
        return DUMP_STOP_NOMEM;
    }
    textbuf_commit(&o->out, fmt_mem(p, text, len));
    o->late += ns < o->written_ns;
    o->written_ns = ns < o->written_ns ? o->written_ns : ns;
    return o->out.len >= WRITE_BYTES ? write_out(o) : 0;
}

/*
 * No event of a chunk has an earlier time in the order.  A thread reads the clock for an
 * event, then it may have to wait for the buffer with which the chunk begins.
 */
static uint64_t certain_at(const struct ctr_chunk *chunk)
{
    return chunk->start_ns < EARLY_NS ? 0 : chunk->start_ns - EARLY_NS;
}

/* Keeps the system's error for the message. */
static int held_result(struct order *o, int ret)
{
    if (ret == DUMP_STOP_HELD) {
        o->d->sys_errno = o->pool.sys_errno;
    }
    return ret;
}

/* Writes the first line of a thread. */
static int write_first(struct order *o, struct order_thread *t)
{
    const char *text;
    size_t len;
    uint64_t ns = held_time(&t->lines);
    int ret = held_result(o, held_first(&o->pool, &t->lines, &text, &len));

    ret = ret ? ret : put_line(o, ns, text, len);
    if (!ret) {
        held_pop(&o->pool, &t->lines);
    }
    return ret;
}

/* Moves what waits to the temporary file when it exceeds the limit. */
static int limit_held(struct order *o, struct order_thread *t)
{
    int ret = 0;

    if (o->pool.bytes <= HELD_BYTES) {
        return 0;
    }
    for (size_t i = 0; i < o->n && !ret; i++) {
        ret = held_store(&o->pool, &o->heap[i]->lines);
    }
    return held_result(o, ret ? ret : held_store(&o->pool, &t->lines));
}

/* The time of what has a time of its own, or 0, in the order of its thread. */
static uint64_t time_in_order(struct order *o, const struct order_thread *t, uint64_t ns)
{
    uint64_t least = certain_at(&o->chunk);

    if (!ns && !t->last_ns) {
        ns = o->chunk.start_ns;
    }
    o->late += ns && ns < least && !o->d->stream;
    ns = ns < least ? least : ns;
    ns = ns < t->last_ns ? t->last_ns : ns;
    return ns < LATEST_NS ? ns : LATEST_NS;
}

/* Adds lines to a thread; no line of it is later. */
static int add_lines(struct order *o, struct order_thread *t, uint64_t ns,
                     const char *text, size_t len)
{
    int ret;

    t->last_ns = ns;
    if (!len) {
        return 0;
    }
    if (o->alone) {
        return put_line(o, ns, text, len);
    }
    ret = held_push(&o->pool, &t->lines, ns, text, len);
    return ret ? ret : limit_held(o, t);
}

/* ------------------------------------------------------------------- calls */

/* The printer's output: lines of the thread's call, or of one event, of this time. */
static int add_printed(struct order *o, struct order_thread *t, uint64_t ns)
{
    struct textbuf *out = &o->d->printer.out;
    int ret = t->ahead ? 0 : add_lines(o, t, ns, out->data, out->len);

    out->len = 0;
    return ret;
}

/* The time of a call's line if it ends now. */
static uint64_t place_of(struct order *o, const struct order_thread *t, uint64_t end_ns)
{
    return timed_is_long(o->d, t->begun_ns, end_ns) ? time_in_order(o, t, end_ns)
                                                    : t->call_ns;
}

/* The open call of a thread, if any, did not return before end_ns, or ever. */
static int end_call(struct order *o, struct order_thread *t, uint64_t end_ns)
{
    int ret;

    if (!t->call.depth) {
        return 0;
    }
    if (!call_flush(&o->d->printer, &t->call)) {
        return DUMP_STOP_NOMEM;
    }
    ret = add_printed(o, t, place_of(o, t, end_ns));
    t->ahead = t->lost = t->apart = false;
    return ret;
}

/* The process of a thread, as the system knows it. */
static int32_t system_pid(const struct order *o, const struct order_thread *t)
{
    const struct ctr_process *p = ctr_trace_process(o->d->trace, t->thread->process);

    return p && p->host_pid ? p->host_pid : t->thread->pid;
}

/*
 * A thread begins a program by execve: what was called in the process before, the execve
 * included, does not return.  In the table the new program's process is another one.
 */
static int end_replaced(struct order *o, struct order_thread *t)
{
    const int32_t pid = system_pid(o, t);
    uint64_t begun_ns = 0;
    int ret = update(o, t); /* the heap must be in order when other threads change */

    for (uint32_t i = t->thread->index; i-- && !ret;) {
        struct order_thread *u = o->threads[i];
        if (u && u->thread->start_ns < begun_ns) {
            break; /* created before that process was */
        }
        if (u && u->thread->process != t->thread->process && system_pid(o, u) == pid) {
            const struct ctr_process *p =
                ctr_trace_process(o->d->trace, u->thread->process);
            begun_ns = p ? p->start_ns : 0;
            ret = end_call(o, u, 0);
            ret = ret ? ret : update(o, u);
        }
    }
    return ret;
}

/* An event that may belong to the thread's open call, or begins one. */
static int take_event(struct order *o, struct order_thread *t,
                      const struct ctr_os_event *e, uint32_t seen)
{
    int ret = call_is_over(&t->call, e) ? end_call(o, t, e->time_ns) : 0;

    if (ret) {
        return ret;
    }
    if (!t->call.depth) {
        t->last_ns = t->call_ns = time_in_order(o, t, e->time_ns);
        t->begun_ns = e->time_ns;
        t->seen = 0;
    }
    t->seen = seen ? seen : t->seen + 1;
    o->alone = o->alone && !timed_creates(e);
    if (!timed_step(o->d, &o->d->printer, &t->call, e)) {
        return DUMP_STOP_NOMEM;
    }
    ret = add_printed(o, t, t->call.depth ? t->call_ns : place_of(o, t, e->time_ns));
    if (!t->call.depth) {
        t->ahead = t->lost = t->apart = false;
    }
    return ret;
}

/* Reads how the open call of a thread ends. */
static int look_ahead(struct order *o, struct order_thread *t)
{
    struct textbuf *out = &o->ahead.printer.out;
    int ret = ahead_lines(&o->ahead, o->d, &t->call, t->begun_ns, t->seen);

    if (ret != 1) {
        t->lost = true;
        return ret;
    }
    ret = add_lines(o, t, t->call_ns, out->data, out->len);
    t->ahead = true;
    out->len = 0;
    return ret;
}

/* ------------------------------------------------------------------- merge */

/* Writes all lines from before a time; 0 or an enum dump_stop. */
static int write_before(struct order *o, uint64_t ns)
{
    int ret = 0;

    while (!ret && o->n && next_ns(o->heap[0]) < ns) {
        struct order_thread *t = o->heap[0];

        if (!held_is_empty(&t->lines)) {
            ret = write_first(o, t);
            ret = ret ? ret : limit_held(o, t);
        } else if (o->d->stream) {
            t->apart = true;
        } else if (o->pool.bytes + o->pool.stored_bytes > AHEAD_BYTES && !t->lost) {
            ret = look_ahead(o, t);
        } else {
            break;
        }
        ret = ret ? ret : update(o, t);
    }
    return ret;
}

/* Another chunk begins: what was before it may be certain. */
static int begin_chunk(struct order *o, const struct ctr_chunk *chunk)
{
    uint64_t full = o->begun ? o->chunk.end_ns : 0;

    o->chunk = *chunk;
    o->begun = true;
    o->full_ns = full < o->full_ns ? o->full_ns : full;
    if (!o->d->stream) {
        return write_before(o, certain_at(chunk));
    }
    return o->full_ns < STREAM_WAIT_NS ? 0 : write_before(o, o->full_ns - STREAM_WAIT_NS);
}

/* The state of a thread; NULL: no memory. */
static struct order_thread *thread_of(struct order *o, const struct ctr_thread *thread)
{
    uint32_t i = thread->index;
    struct order_thread *t;

    if (!array_reserve_zeroed(&o->threads, &o->nr_threads, i + (size_t)1,
                              sizeof(*o->threads))) {
        return NULL;
    }
    t = o->threads[i];
    if (!t && (t = calloc(1, sizeof(*t)))) {
        o->threads[i] = t;
        t->thread = thread;
        o->alone = o->alone && i == 0;
    }
    return t;
}

static int take_record(struct order *o, struct order_thread *t, const struct record *r,
                       const char *data)
{
    struct ctr_os_event e = {.thread = t->thread};
    size_t pos = 0;
    int ret;

    if (r->kind == RECORD_EVENT) {
        return call_load(data, r->len, &pos, &e) ? take_event(o, t, &e, r->seen) : 0;
    }
    if (r->kind == RECORD_EXEC) {
        return end_replaced(o, t);
    }
    ret = end_call(o, t, r->time_ns);
    if (ret || r->kind != RECORD_LINES) {
        return ret;
    }
    ret = add_lines(o, t, time_in_order(o, t, r->time_ns), data, r->len);
    o->alone = o->alone && !r->creates;
    return ret;
}

int order_take(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct dump *d = arg;
    struct order *o = d->order;
    const struct ctr_chunk *chunk = ctr_job_chunk(job);
    struct order_thread *t = thread_of(o, ctr_job_thread(job));
    const char *p = data;
    int ret = t ? 0 : DUMP_STOP_NOMEM;

    if (!ret && !(o->begun && o->chunk.index == chunk->index)) {
        ret = begin_chunk(o, chunk);
    }
    while (!ret && n) {
        struct record r;
        memcpy(&r, p, sizeof(r));
        ret = take_record(o, t, &r, p + sizeof(r));
        p += sizeof(r) + r.len;
        n -= sizeof(r) + r.len;
    }
    ret = ret ? ret : update(o, t);
    return ret ? ret : write_out(o);
}

/* ----------------------------------------------------------- begin and end */

/* Whether a stream has one thread only until a call that creates another is seen. */
static bool begins_alone(const struct dump *d)
{
    const struct ctr_filter *f = &d->opt->filter;

    return d->stream && d->calls && !d->info.selection[0] && !d->info.dropped_chunks &&
           !f->from && !f->from_ns && !f->npid && !f->ntid;
}

struct order *order_new(struct dump *d)
{
    struct order *o = calloc(1, sizeof(*o));

    if (o) {
        o->d = d;
        o->alone = begins_alone(d);
        held_pool_init(&o->pool);
    }
    return o;
}

int order_finish(struct order *o)
{
    uint64_t end_ns = o->chunk.end_ns > o->full_ns ? o->chunk.end_ns : o->full_ns;
    int ret = 0;

    for (uint32_t i = 0; i < o->nr_threads && !ret; i++) {
        struct order_thread *t = o->threads[i];
        if (t) {
            ret = end_call(o, t, end_ns);
            ret = ret ? ret : update(o, t);
        }
    }
    ret = ret ? ret : write_before(o, UINT64_MAX);
    return ret ? ret : write_out(o);
}

void order_remark(const struct order *o)
{
    const struct dump_options *opt = o->d->opt;

    if (o->late && !opt->quiet) {
        tool_error(opt->prog, "%" PRIu64 " lines are not in order of time: they %s",
                   o->late,
                   o->d->stream ? "arrived more than a second after others"
                                : "were recorded more than a second late");
    }
}

void order_free(struct order *o)
{
    if (!o) {
        return;
    }
    for (uint32_t i = 0; i < o->nr_threads; i++) {
        if (o->threads[i]) {
            held_clear(&o->pool, &o->threads[i]->lines);
            textbuf_fini(&o->threads[i]->call.raw);
            free(o->threads[i]);
        }
    }
    free(o->threads);
    free(o->heap);
    held_pool_fini(&o->pool);
    textbuf_fini(&o->out);
    ahead_fini(&o->ahead);
    free(o);
}
