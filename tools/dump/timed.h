/* SPDX-License-Identifier: MIT */
/*
 * Events between instructions in order of time.  Workers format what they can and pass
 * records to the ordered callback, which merges the threads: timed.c, order.c, ahead.c.
 *
 * A line has a time: that of its event; the lines of a system call, and of what the
 * recording has within it, that of the call's entry (but see timed_is_long).  It never
 * falls within a thread: an event without a time, or with an earlier one, has that of the
 * line before it.  (One from long before its chunk was begun has a later time, too.)
 */
#ifndef TOOLS_DUMP_TIMED_H
#define TOOLS_DUMP_TIMED_H

#include "dump/held.h"
#include "dump_priv.h"

/* How long, in the time of the trace, a line of a stream waits for earlier ones. */
#define STREAM_WAIT_NS 1000000000ull

enum record_kind {
    RECORD_LINES = 1, /* text of one time, whole lines */
    RECORD_EVENT = 2, /* a copied event that may belong to a call of an earlier piece */
    RECORD_END = 3,   /* such a call did not return */
    RECORD_EXEC =
        4, /* the thread begins a program that replaces its process's last one */
};

/* What a worker passes on, with `len' bytes after it. */
struct record {
    uint64_t time_ns; /* of lines, or of what ended the call; 0: not known */
    uint64_t len;
    uint32_t kind; /* enum record_kind */
    /* Of an event that the worker stored with its open call: how many events there have
     * been since the call began, this call's entry included.  0: the event is the next
     * one. */
    uint32_t seen;
    bool creates; /* lines: of a call that may have created a thread */
};

/*
 * Sets d->order, the callbacks and the kinds to read if only events between instructions
 * are shown, and not --group, and the recording has times.  0 or DUMP_STOP_NOMEM.
 */
int timed_choose(struct dump *d, struct ctr_replay_ops *ops, struct ctr_filter *filter);
/* At the end: says on stderr what may not be expected of the order. */
void timed_remark(const struct dump *d);

/* Processes an event as call_step does, but a kind that is not shown only ends calls. */
bool timed_step(const struct dump *d, struct os_printer *p, struct open_call *c,
                const struct ctr_os_event *e);
/* Whether a call's line has the time of its end, because it is one of a stream that took
 * longer than lines wait. */
bool timed_is_long(const struct dump *d, uint64_t begun_ns, uint64_t end_ns);
/* Whether it is the entry of a call that creates threads or processes. */
bool timed_creates(const struct ctr_os_event *e);

/* ----------------------------------------------------------------- order.c */

struct order;

/* For a replay of d; NULL: no memory. */
struct order *order_new(struct dump *d);
void order_free(struct order *o);

/* The callback of ctr_replay; its argument is the struct dump. */
int order_take(void *arg, const struct ctr_job *job, const void *data, size_t n);

/* At the end: writes what is left; 0 or an enum dump_stop. */
int order_finish(struct order *o);
/* Says on stderr how many lines came too late for their place. */
void order_remark(const struct order *o);

/* ----------------------------------------------------------------- ahead.c */

/* Another reader of the same file; all 0 before its first use. */
struct ahead {
    struct ctr_trace *trace;
    struct os_printer printer;
    bool failed; /* the file cannot be opened again */
};
void ahead_fini(struct ahead *a);

/*
 * Reads on in a file until an open call of a thread ends, which began at begun_ns and had
 * `seen' events so far.  Returns 1 and its lines, those of the seen events not included,
 * in a->printer.out; 0 if they cannot be found; or DUMP_STOP_NOMEM.
 */
int ahead_lines(struct ahead *a, const struct dump *d, const struct open_call *c,
                uint64_t begun_ns, uint32_t seen);

#endif
