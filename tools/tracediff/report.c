/* SPDX-License-Identifier: MIT */
/* Counts and writes differences; report_text.c with rows.c, and report_json.c make their text. */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/machine.h"
#include "input/trace.h"
#include "rows.h"

bool report_init(struct report *r, const struct report_options *opt, const struct side *a,
                 const struct side *b, const struct site_options *site,
                 struct progress *progress)
{
    *r = (struct report){.opt = opt, .side = {a, b}, .progress = progress};
    if (!liner_init(&r->liner[0], a, site) || !liner_init(&r->liner[1], b, site) ||
        !rows_begin(r)) {
        tool_error(opt->prog, "no memory");
        return false;
    }
    const int error = opt->html ? outfile_open(&r->file, opt->html) : 0;
    if (error) {
        tool_error(opt->prog, "%s: %s", opt->html, strerror(-error));
        r->file.file = NULL;
    }
    return !error;
}

void report_fini(struct report *r)
{
    for (unsigned i = 0; i < 2; i++) {
        liner_fini(&r->liner[i]);
        lines_fini(&r->lines[i]);
        lines_fini(&r->after[i]);
    }
    textbuf_fini(&r->out);
    if (r->file.file) {
        outfile_close(&r->file, -ECANCELED);
    }
}

bool report_full(const struct report *r)
{
    return r->n >= r->opt->max || r->status;
}

/* Writes what was made; false if that failed. */
static bool write_out(struct report *r)
{
    FILE *out = r->file.file ? r->file.file : stdout;

    if (r->out.len) {
        progress_clear(r->progress);
        fwrite(r->out.data, 1, r->out.len, out);
        r->out.len = 0;
    }
    return !ferror(out);
}

/* Whether a difference is one too many of accesses. */
static bool is_left_out(struct report *r, const struct difference *d)
{
    if (d->kind == DIFFERENCE_CODE || d->kind == DIFFERENCE_EVENT) {
        r->gap = 0;
        return false;
    }
    if (r->gap < r->opt->data) {
        r->gap++;
        return false;
    }
    r->gap_more++;
    r->more++;
    return true;
}

bool report_difference(void *arg, struct pair *p, const struct difference *d)
{
    struct report *r = arg;
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    unsigned failed = 0;
    int ret;

    if (report_full(r)) {
        return false;
    }
    if (is_left_out(r, d)) {
        return true;
    }
    r->n++;
    ret = r->opt->json ? report_json(r, p, d, &failed, &diag)
                       : report_text(r, p, d, &failed, &diag);
    if (ret) {
        progress_clear(r->progress);
        tool_trace_error(r->opt->prog, r->side[failed]->path, ret, &diag);
        r->status = TOOL_FAILED;
    } else if (!write_out(r)) {
        r->status = TOOL_FAILED; /* pager_close_stdout says why */
    }
    if (d->kind == DIFFERENCE_CODE || d->kind == DIFFERENCE_EVENT) {
        r->gap_more = 0;
    }
    return !report_full(r);
}

void report_repeated(void *arg)
{
    struct report *r = arg;

    r->repeated++;
}

bool report_alone(struct report *r, unsigned side, const struct ctr_thread *t)
{
    const char name = side ? 'b' : 'a';
    char text[THREAD_TEXT];
    struct textbuf line = {0};

    if (report_full(r)) {
        return false;
    }
    r->n++;
    if (r->opt->json) {
        textbuf_printf(&r->out,
                       "{\"kind\":\"difference\",\"number\":%" PRIu64
                       ",\"what\":\"thread\",\"%c\":{\"pid\":%d,\"tid\":%d,"
                       "\"instructions\":%" PRIu64 "}}\n",
                       r->n, name, t->pid, t->tid, t->insns);
    } else {
        textbuf_printf(
            &line, "%" PRIu64 ": only in %c: thread %s, %" PRIu64 " instructions", r->n,
            name, tool_thread_text(&r->side[side]->info, t->pid, t->tid, text), t->insns);
        rows_title(r, &line);
        rows_gap(r);
        textbuf_fini(&line);
    }
    return write_out(r) && !report_full(r);
}

void report_pair(struct report *r, const struct pair *p)
{
    r->compared += p->equal;
    r->skipped += p->skipped;
    r->pairs++;
}

void report_end(struct report *r)
{
    struct textbuf line = {0};
    char more[128] = "";
    size_t n = 0;

    if (r->more) {
        n = (size_t)snprintf(more, sizeof(more), ", %" PRIu64 " more of accesses",
                             r->more);
    }
    if (r->repeated) {
        snprintf(more + n, sizeof(more) - n, ", %" PRIu64 " repeated", r->repeated);
    }
    if (r->opt->json) {
        textbuf_printf(&r->out,
                       "{\"kind\":\"end\",\"differences\":%" PRIu64 ",\"more\":%" PRIu64
                       ",\"repeated\":%" PRIu64 ",\"all\":%s,\"threads\":%" PRIu32
                       ",\"equal\":%" PRIu64 ",\"skipped\":%" PRIu64 "}\n",
                       r->n, r->more, r->repeated, report_full(r) ? "false" : "true",
                       r->pairs, r->compared, r->skipped);
    } else if (!r->opt->quiet) {
        textbuf_printf(&line,
                       "%" PRIu64 " difference%s%s%s; %" PRIu64 " equal instructions of "
                       "%" PRIu32 " thread%s",
                       r->n, r->n == 1 ? "" : "s",
                       report_full(r) ? " and perhaps others" : "", more, r->compared,
                       r->pairs, r->pairs == 1 ? "" : "s");
        rows_note(r, &line);
        textbuf_fini(&line);
    }
    rows_end(r);
    write_out(r);
    if (r->file.file) {
        /* What was found is in the file even if something else failed. */
        const int error = outfile_close(&r->file, ferror(r->file.file) ? -EIO : 0);
        r->file.file = NULL;
        if (error) {
            tool_error(r->opt->prog, "%s: %s", r->opt->html, strerror(-error));
            r->status = TOOL_FAILED;
        }
    }
}
