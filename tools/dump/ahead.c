/* SPDX-License-Identifier: MIT */
/*
 * How an open call ends, found by a second reader of the file: so the lines after a call
 * that takes long need not wait until the replay has come to its end.
 */
#include "timed.h"

#include <string.h>
#include <unistd.h>

void ahead_fini(struct ahead *a)
{
    if (a->trace) {
        os_printer_fini(&a->printer);
        ctr_close(a->trace);
    }
}

static bool open_again(struct ahead *a, const struct dump_options *opt)
{
    unsigned flags = opt->no_index ? CTR_OPEN_NO_INDEX : 0;

    if (a->trace || a->failed) {
        return !a->failed;
    }
    a->failed = strcmp(opt->path, "-")
                    ? ctr_open(&a->trace, opt->path, flags, NULL) != 0
                    : ctr_open_fd(&a->trace, dup(STDIN_FILENO), flags, NULL) != 0;
    if (!a->failed) {
        os_printer_init(&a->printer, a->trace, opt);
    }
    return !a->failed;
}

static bool is_same(const struct ctr_os_event *a, const struct ctr_os_event *b)
{
    return a->type == b->type && a->ordinal == b->ordinal && a->time_ns == b->time_ns &&
           a->size == b->size && !memcmp(a->payload, b->payload, a->size);
}

/* The events from the call's entry on, of its thread and with its ordinal. */
static int open_events(const struct ahead *a, const struct dump *d,
                       const struct open_call *c, uint64_t begun_ns,
                       struct ctr_cursor **cursor)
{
    struct ctr_filter f = d->opt->filter;

    f.kinds = d->kinds;
    f.pids = &c->thread->pid;
    f.tids = &c->thread->tid;
    f.npid = f.ntid = 1;
    f.from = c->ordinal;
    f.to = c->ordinal + 1;
    f.from_ns = begun_ns;
    return ctr_cursor_open(cursor, a->trace, &f, NULL);
}

/* Formats the events of the call at the cursor; returns as ahead_lines. */
static int read_call(struct ahead *a, const struct dump *d, const struct open_call *c,
                     uint32_t seen, struct ctr_cursor *cursor, struct open_call *again)
{
    struct ctr_os_event first = {.thread = c->thread};
    struct ctr_event ev;
    size_t pos = 0;
    uint32_t n = 0;
    int got;

    if (!call_load(c->raw.data, c->raw.len, &pos, &first)) {
        return 0;
    }
    while ((got = ctr_cursor_next(cursor, &ev, NULL)) == 1) {
        if (ev.kind != CTR_CURSOR_OS || ev.os.thread->index != c->thread->index ||
            (!n && !is_same(&ev.os, &first))) {
            continue;
        }
        if (call_is_over(again, &ev.os)) {
            break;
        }
        if (!timed_step(d, &a->printer, again, &ev.os)) {
            return DUMP_STOP_NOMEM;
        }
        a->printer.out.len = ++n <= seen ? 0 : a->printer.out.len;
        if (!again->depth) {
            return n > seen;
        }
    }
    if (got < 0 || n < seen) {
        return 0;
    }
    return call_flush(&a->printer, again) ? 1 : DUMP_STOP_NOMEM;
}

int ahead_lines(struct ahead *a, const struct dump *d, const struct open_call *c,
                uint64_t begun_ns, uint32_t seen)
{
    struct open_call again = {.depth = 0};
    struct ctr_cursor *cursor;
    int ret;

    if (!begun_ns || !open_again(a, d->opt) ||
        open_events(a, d, c, begun_ns, &cursor) != 0) {
        return 0;
    }
    a->printer.out.len = 0;
    ret = read_call(a, d, c, seen, cursor, &again);
    textbuf_fini(&again.raw);
    ctr_cursor_close(cursor);
    return ret;
}
