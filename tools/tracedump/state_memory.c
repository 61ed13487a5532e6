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

#define ROW 16u
#define PART 65536u      /* bytes that are read at a time; whole rows */
#define JSON_BYTES 4096u /* of a line of JSON, at most */
#define MOST (UINT64_C(1) << 20)

struct memory_dump {
    const struct dump_options *opt;
    struct ctr_memory *view;
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
                            "{\"kind\":\"memory\",\"address\":\"0x%" PRIx64
                            "\",\"size\":%zu,\"bytes\":",
                            addr + i, end - i) &&
             textbuf_printf(b, d->is_known[i] ? "\"" : "null");
        for (size_t k = i; ok && d->is_known[i] && k < end; k++) {
            ok = textbuf_printf(b, "%02x", d->bytes[k]);
        }
        ok = ok && textbuf_printf(b, d->is_known[i] ? "\"}\n" : "}\n");
    }
    return ok;
}

/* --------------------------------------------------------------------- reading */

static int put_part(struct memory_dump *d, uint64_t addr, size_t n, bool first, bool last,
                    int *sys_errno)
{
    int ret = ctr_memory_read(d->view, addr, d->bytes, d->is_known, n, 0, &d->diag);

    for (size_t i = 0; !ret && i < n; i++) {
        d->known += d->is_known[i];
    }
    if (!ret &&
        !(d->opt->json ? put_json(d, addr, n) : put_rows(d, addr, n, first, last))) {
        ret = DUMP_STOP_NOMEM;
    }
    ret = ret ? ret : dump_write(d->out.data, d->out.len, sys_errno);
    d->out.len = 0;
    return ret;
}

static int put_range(struct memory_dump *d, const struct ctr_range *r, int *sys_errno)
{
    int ret = 0;

    for (uint64_t at = r->from; !ret && at < r->to;) {
        const size_t n = r->to - at < PART ? (size_t)(r->to - at) : PART;

        ret = put_part(d, at, n, at == r->from, n == r->to - at, sys_errno);
        at += n;
    }
    return ret;
}

int dump_memory_check(const struct ctr_trace *tr, const struct dump_options *opt)
{
    struct ctr_info info;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < opt->filter.naddr; i++) {
        const struct ctr_range *r = &opt->filter.addrs[i];

        bytes += r->to - r->from <= MOST ? r->to - r->from : MOST + 1;
        bytes = bytes <= MOST ? bytes : MOST + 1;
    }
    if (bytes > MOST) {
        return tool_usage_error(PROG, "--memory shows 1 MiB at most");
    }
    ctr_trace_info(tr, &info);
    if (opt->filter.naddr && !(info.events & CTR_HAS_VAL) && !opt->quiet) {
        tool_error(PROG,
                   "%s: values were not recorded (-e val): only memory of files is known",
                   opt->path);
    }
    return TOOL_OK;
}

int dump_memory(struct ctr_trace *tr, const struct dump_options *opt,
                const struct ctr_moment *at)
{
    struct memory_dump d = {.opt = opt, .diag = {.off = CTR_NO_OFF}};
    struct ctr_info info;
    int ret, status, sys_errno = 0;

    ctr_trace_info(tr, &info);
    d.digits = info.addr_bits / 4;
    ret = memory_open(&d.view, tr, opt->places, at, opt->jobs, &d.diag);
    if (!ret && !opt->json) {
        ret = dump_write("memory\n", strlen("memory\n"), &sys_errno);
    }
    for (uint32_t i = 0; !ret && i < opt->filter.naddr; i++) {
        ret = put_range(&d, &opt->filter.addrs[i], &sys_errno);
    }
    status = dump_replay_status(opt, ret, sys_errno, &d.diag);
    if (!status && !d.known) {
        tool_error(PROG, "%s: the trace does not show what any of these bytes held",
                   opt->path);
        status = TOOL_NOTHING;
    }
    ctr_memory_close(d.view);
    textbuf_fini(&d.out);
    return status;
}
