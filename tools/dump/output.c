/* SPDX-License-Identifier: MIT */
/* Writes the workers' output in order; see events.c for the calls in it. */
#include "dump_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/options.h"
#include "common/pager.h"
#include "input/trace.h"

static bool wrote; /* a program has one standard output */

bool dump_wrote(void)
{
    return wrote;
}

int dump_write(const void *data, size_t n, int *sys_errno)
{
    const char *p = data;

    wrote |= n != 0;

    while (n) {
        ssize_t w = write(STDOUT_FILENO, p, n);
        if (w < 0 && errno == EINTR) {
            continue;
        }
        if (w < 0) {
            *sys_errno = errno;
            return errno == EPIPE ? DUMP_STOP_EPIPE : DUMP_STOP_OUTPUT;
        }
        p += w;
        n -= (size_t)w;
    }
    return 0;
}

/* Writes the output of the ordered callback's printer. */
static int write_printed(struct dump *d)
{
    int ret = d->printer.out.len
                  ? dump_write(d->printer.out.data, d->printer.out.len, &d->sys_errno)
                  : 0;

    d->printer.out.len = 0;
    return ret;
}

/* The open call of a thread; NULL: no memory. */
static struct open_call *call_of(struct dump *d, uint32_t thread)
{
    if (!array_reserve_zeroed(&d->threads, &d->nr_threads, thread + (size_t)1,
                              sizeof(*d->threads))) {
        return NULL;
    }
    if (!d->threads[thread]) {
        d->threads[thread] = calloc(1, sizeof(**d->threads));
    }
    return d->threads[thread];
}

/* Writes text with copied events in it, each after a byte 0. */
static int put_mixed(struct dump *d, const struct ctr_thread *t, const char *p, size_t n)
{
    struct open_call *c = call_of(d, t->index);
    struct ctr_os_event e = {.thread = t};
    int ret = 0;

    if (!c) {
        return DUMP_STOP_NOMEM;
    }
    while (n && !ret) {
        const char *zero = memchr(p, 0, n);
        size_t len = zero ? (size_t)(zero - p) : n, pos = 0;
        if (len) {
            if (!call_flush(&d->printer, c)) {
                return DUMP_STOP_NOMEM;
            }
            ret = write_printed(d);
            ret = ret ? ret : dump_write(p, len, &d->sys_errno);
            p += len;
            n -= len;
        } else if (call_load(p + 1, n - 1, &pos, &e)) {
            if (!call_step(&d->printer, c, &e)) {
                return DUMP_STOP_NOMEM;
            }
            ret = write_printed(d);
            p += 1 + pos;
            n -= 1 + pos;
        } else {
            break;
        }
    }
    return ret;
}

int output_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct dump *d = arg;

    return d->calls ? put_mixed(d, ctr_job_thread(job), data, n)
                    : dump_write(data, n, &d->sys_errno);
}

int output_open_calls(struct dump *d)
{
    int ret = 0;

    for (uint32_t i = 0; !ret && i < d->nr_threads; i++) {
        if (d->threads[i]) {
            ret = call_flush(&d->printer, d->threads[i]) ? write_printed(d)
                                                         : DUMP_STOP_NOMEM;
        }
    }
    return ret;
}

int dump_replay_status(const struct dump_options *opt, int ret, int sys_errno,
                       const struct ctr_diag *diag)
{
    switch (ret) {
    case 0:
        return TOOL_OK;
    case DUMP_STOP_EPIPE:
        return DUMP_CUT_SHORT;
    case DUMP_STOP_FULL:
        return DUMP_FULL;
    case DUMP_STOP_OUTPUT:
        tool_error(opt->prog, "%s: %s", opt->out ? opt->out : "standard output",
                   strerror(sys_errno));
        return TOOL_FAILED;
    case DUMP_STOP_HELD:
        tool_error(opt->prog, "lines that wait for their place in a temporary file: %s",
                   strerror(sys_errno));
        return TOOL_FAILED;
    case DUMP_STOP_NOMEM:
        tool_error(opt->prog, "out of memory");
        return TOOL_FAILED;
    default:
        tool_trace_error(opt->prog, opt->path, ret, diag);
        return TOOL_FAILED;
    }
}

/* Reports how much of the file was read. */
static void report_work(const struct dump_options *opt, const struct ctr_trace *tr)
{
    struct ctr_work work;
    struct ctr_info info;

    ctr_trace_work(tr, &work);
    ctr_trace_info(tr, &info);
    tool_error(opt->prog,
               "read %" PRIu64 " of %" PRIu64 " bytes, %" PRIu64 " of %" PRIu64
               " chunks, %" PRIu64 " parts of the index",
               work.bytes, info.file_bytes, work.chunks, info.chunks, work.parts);
}

int dump_file(struct dump_options *opt, struct expansion *x, uint32_t needed,
              int (*show)(struct ctr_trace *tr, void *arg), void *arg)
{
    struct ctr_trace *tr;
    int status =
        expansion_open(x, opt->prog, &opt->path, opt->no_index ? CTR_OPEN_NO_INDEX : 0,
                       needed, opt->quiet, &tr);

    if (status) {
        return status;
    }
    /* A pager reads as far as its user does: it would stop a program that runs. */
    if (!opt->no_pager && !opt->out && strcmp(opt->path, "-") != 0) {
        pager_start(opt->prog);
    }
    status = show(tr, arg);
    if (status == DUMP_CUT_SHORT) {
        status = TOOL_OK;
    } else if (status == TOOL_OK) {
        status = expansion_status(x, opt->prog, opt->path, tr, opt->quiet);
    } else if (status == TOOL_NOTHING) {
        expansion_status(x, opt->prog, opt->path, tr, opt->quiet);
    }
    if (opt->statistics) {
        report_work(opt, tr);
    }
    ctr_close(tr);
    return status;
}
