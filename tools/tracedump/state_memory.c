/* SPDX-License-Identifier: MIT */
/*
 * tracedump --state --memory: what memory held at a moment, as hexdump -C shows it, with ??
 * for bytes that the trace does not show.
 */
#include "tracedump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "input/trace.h"
#include "state/memory_files.h"
#include "state/physical.h"
#include "query/location.h"

#define ROW 16u
#define PART 65536u      /* bytes that are read at a time; whole rows */
#define JSON_BYTES 4096u /* of a line of JSON, at most */
#define MOST (UINT64_C(1) << 20)

struct memory_dump {
    const struct dump_options *opt;
    const struct ctr_thread *thread; /* of the moment */
    struct ctr_memory *view;
    struct physical_view *physical; /* or this one, ... */
    uint8_t *whole; /* ... and a whole range of it, and what is known of it */
    struct textbuf out;
    int digits;           /* of an address */
    uint64_t known;       /* bytes so far */
    uint8_t last[2][ROW]; /* the row before: bytes, and which are known; ... */
    bool repeats;         /* ... and whether it was left out as it is that before it */
    uint8_t bytes[PART], is_known[PART];
    struct ctr_diag diag;
};

/* ---------------------------------------------------------------------- output */

/* "  0x000000010a40  48 65 6c 6c 6f ?? ?? ??  00 ... |Hello???.|" */
static bool put_row(struct memory_dump *d, uint64_t addr, const uint8_t *bytes,
                    const uint8_t *known, unsigned n)
{
    struct textbuf *b = &d->out;
    bool ok = textbuf_printf(b, "  0x%0*" PRIx64 " ", d->digits, addr);

    for (unsigned i = 0; ok && i < ROW; i++) {
        ok = textbuf_printf(b, i == ROW / 2 ? "  " : " ") &&
             (i >= n     ? textbuf_printf(b, "  ")
              : known[i] ? textbuf_printf(b, "%02x", bytes[i])
                         : textbuf_printf(b, "??"));
    }
    ok = ok && textbuf_printf(b, "  |");
    for (unsigned i = 0; ok && i < n; i++) {
        ok = textbuf_printf(b, "%c",
                            !known[i]                             ? '?'
                            : bytes[i] >= 0x20 && bytes[i] < 0x7f ? bytes[i]
                                                                  : '.');
    }
    return ok && textbuf_printf(b, "|\n");
}

/* Rows of a range; those that repeat the one before are a single *. */
static bool put_rows(struct memory_dump *d, uint64_t addr, size_t n, bool first,
                     bool last)
{
    bool ok = true;

    for (size_t i = 0; ok && i < n; i += ROW) {
        const unsigned len = n - i < ROW ? (unsigned)(n - i) : ROW;
        const bool same = !(first && !i) && !(last && i + len == n) && len == ROW &&
                          !memcmp(d->last[0], d->bytes + i, ROW) &&
                          !memcmp(d->last[1], d->is_known + i, ROW);

        if (!same) {
            ok = put_row(d, addr + i, d->bytes + i, d->is_known + i, len);
        } else if (!d->repeats) {
            ok = textbuf_printf(&d->out, "  *\n");
        }
        d->repeats = same;
        memcpy(d->last[0], d->bytes + i, len);
        memcpy(d->last[1], d->is_known + i, len);
    }
    return ok;
}

/* A line for each run of bytes that are known, or not. */
static bool put_json(struct memory_dump *d, uint64_t addr, size_t n)
{
    struct textbuf *b = &d->out;
    bool ok = true;

    for (size_t i = 0, end; ok && i < n; i = end) {
        for (end = i;
             end < n && end < i + JSON_BYTES && d->is_known[end] == d->is_known[i];
             end++) {
        }
        ok = textbuf_printf(b,
                            "{\"kind\":\"memory\",\"%s\":\"0x%" PRIx64
                            "\",\"size\":%zu,\"bytes\":",
                            d->physical ? "phys" : "address", addr + i, end - i) &&
             textbuf_printf(b, d->is_known[i] ? "\"" : "null");
        for (size_t k = i; ok && d->is_known[i] && k < end; k++) {
            ok = textbuf_printf(b, "%02x", d->bytes[k]);
        }
        ok = ok && textbuf_printf(b, d->is_known[i] ? "\"}\n" : "}\n");
    }
    return ok;
}

/* --------------------------------------------------------------------- reading */

/* The next part of a range.  Physical memory is read at once: that takes one search. */
static int read_part(struct memory_dump *d, const struct ctr_range *r, uint64_t at,
                     size_t n)
{
    const size_t size = (size_t)(r->to - r->from);

    if (!d->physical) {
        return ctr_memory_read(d->view, at, d->bytes, d->is_known, n, 0, &d->diag);
    }
    if (at == r->from) {
        free(d->whole);
        d->whole = malloc(2 * size);
        if (!d->whole) {
            return DUMP_STOP_NOMEM;
        }
        int ret =
            physical_read(d->physical, at, d->whole, d->whole + size, size, &d->diag);
        if (ret) {
            return ret;
        }
    }
    memcpy(d->bytes, d->whole + (at - r->from), n);
    memcpy(d->is_known, d->whole + size + (at - r->from), n);
    return 0;
}

static int put_range(struct memory_dump *d, const struct ctr_range *r, int *sys_errno)
{
    int ret = 0;

    for (uint64_t at = r->from; !ret && at < r->to;) {
        const size_t n = r->to - at < PART ? (size_t)(r->to - at) : PART;

        ret = read_part(d, r, at, n);
        for (size_t i = 0; !ret && i < n; i++) {
            d->known += d->is_known[i];
        }
        if (!ret &&
            !(d->opt->json ? put_json(d, at, n)
                           : put_rows(d, at, n, at == r->from, n == r->to - at))) {
            ret = DUMP_STOP_NOMEM;
        }
        ret = ret ? ret : dump_write(d->out.data, d->out.len, sys_errno);
        d->out.len = 0;
        at += n;
    }
    return ret;
}

/* Ranges after a heading, unless opening failed (ret); returns a status. */
static int put_ranges(struct memory_dump *d, int ret, const char *heading,
                      const struct ctr_range *ranges, uint32_t n)
{
    int sys_errno = 0;

    if (!ret && !d->opt->json) {
        ret = dump_write(heading, strlen(heading), &sys_errno);
    }
    for (uint32_t i = 0; !ret && i < n; i++) {
        if (location_range_is_of(&ranges[i], d->thread->process)) {
            ret = put_range(d, &ranges[i], &sys_errno);
        }
    }
    textbuf_fini(&d->out);
    free(d->whole);
    return dump_replay_status(d->opt, ret, sys_errno, &d->diag);
}

static int nothing_known(const struct dump_options *opt, const char *why)
{
    tool_error(PROG, "%s: %s", opt->path, why);
    return TOOL_NOTHING;
}

static const char *why_nothing(const struct dump_options *opt, const struct ctr_thread *t)
{
    for (uint32_t i = 0; i < opt->filter.naddr; i++) {
        if (location_range_is_of(&opt->filter.addrs[i], t->process)) {
            return "the trace does not show what any of these bytes held";
        }
    }
    return "the process of this moment has none of these places";
}

static uint64_t bytes_of(const struct ctr_range *v, uint32_t n)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < n && bytes <= MOST; i++) {
        bytes += v[i].to - v[i].from <= MOST ? v[i].to - v[i].from : MOST + 1;
    }
    return bytes;
}

int dump_memory_check(const struct ctr_trace *tr, const struct dump_options *opt)
{
    const struct ctr_filter *f = &opt->filter;
    struct ctr_info info;

    if (bytes_of(f->addrs, f->naddr) + bytes_of(f->phys, f->nphys) > MOST) {
        return tool_usage_error(PROG, "--memory shows 1 MiB at most");
    }
    ctr_trace_info(tr, &info);
    if (f->naddr && !(info.events & CTR_HAS_VAL) && !opt->quiet) {
        tool_error(PROG,
                   "%s: values were not recorded (-e val): only memory of files is known",
                   opt->path);
    }
    return TOOL_OK;
}

int dump_memory(struct ctr_trace *tr, const struct dump_options *opt,
                const struct ctr_moment *at)
{
    const struct ctr_thread *t = ctr_trace_thread(tr, at->thread);
    struct memory_dump d = {.opt = opt, .thread = t, .diag = {.off = CTR_NO_OFF}};
    struct ctr_info info;
    int status;

    ctr_trace_info(tr, &info);
    d.digits = info.addr_bits / 4;
    status = put_ranges(&d, memory_open(&d.view, tr, opt->places, at, opt->jobs, &d.diag),
                        "memory\n", opt->filter.addrs, opt->filter.naddr);
    ctr_memory_close(d.view);
    return status || d.known ? status : nothing_known(opt, why_nothing(opt, t));
}

int dump_physical(struct ctr_trace *tr, const struct dump_options *opt,
                  const struct ctr_moment *at)
{
    struct memory_dump d = {.opt = opt,
                            .thread = ctr_trace_thread(tr, at->thread),
                            .diag = {.off = CTR_NO_OFF}};
    struct ctr_info info;
    const char *lack;
    int status, ret;

    ctr_trace_info(tr, &info);
    d.digits = info.addr_bits / 4;
    ret = physical_open(&d.physical, tr, at, opt->jobs, &d.diag);
    status =
        put_ranges(&d, ret, "physical memory\n", opt->filter.phys, opt->filter.nphys);
    lack = status ? NULL : physical_lack(d.physical);
    if (!status && !d.known) {
        status = nothing_known(opt, lack ? lack
                                         : "the trace does not show what these bytes of "
                                           "physical memory held");
    }
    physical_close(d.physical);
    return status;
}
