/* SPDX-License-Identifier: MIT */
/*
 * --find: the ordered callback.  It prints what workers found in single accesses, and
 * joins the pieces that they found: the workers hand over each access that can matter to a
 * piece, so that what is found does not depend on where chunks end.
 */
#include "dump/find_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "cannoli/events.h"

/* The answer is written when it has this many bytes, and at the end of each call. */
#define WRITE_AT (256u << 10)

static struct find_thread *thread_of(struct find *f, const struct ctr_thread *t)
{
    struct find_thread *s;

    if (!array_reserve_zeroed(&f->threads, &f->nr_threads, t->index + (size_t)1,
                              sizeof(*f->threads))) {
        return NULL;
    }
    s = f->threads[t->index];
    if (!s && (s = calloc(1, sizeof(*s))) != NULL) {
        for (unsigned i = 0; i < NR_FLOWS; i++) {
            pieces_init(&s->flow[i], &f->pattern, f->request->within);
        }
        f->threads[t->index] = s;
    }
    return s;
}

/* ------------------------------------------------------------------- output */

static int write_out(struct find *f)
{
    struct textbuf *out = &f->os.out;
    int ret = out->len ? dump_write(out->data, out->len, &f->sys_errno) : 0;

    out->len = 0;
    return ret;
}

static bool is_before(const struct pending *p, const struct ctr_chunk *c,
                      uint64_t ordinal)
{
    return p->start_ns != c->start_ns ? p->start_ns < c->start_ns
           : p->chunk != c->index     ? p->chunk < c->index
                                      : p->ordinal <= ordinal;
}

/* Moves what is pending before a place to the output; 0 or DUMP_STOP_NOMEM.  Events of the
 * system come before the instruction with their ordinal. */
static int put_pending(struct find *f, const struct ctr_chunk *c, uint64_t ordinal)
{
    while (!f->keep && f->at_pending < f->npending) {
        const struct pending *p = &f->pending[f->at_pending];
        char *at;

        if (c && !is_before(p, c, ordinal)) {
            break;
        }
        at = textbuf_reserve(&f->os.out, p->len);
        if (!at) {
            return DUMP_STOP_NOMEM;
        }
        textbuf_commit(&f->os.out, fmt_mem(at, f->pending_text.data + p->from, p->len));
        f->at_pending++;
    }
    return 0;
}

/* Makes the output from offset `from' on pending. */
static int keep_output(struct find *f, const struct ctr_chunk *c, uint64_t ordinal,
                       size_t from)
{
    struct textbuf *out = &f->os.out;
    const size_t len = out->len - from;
    char *at = textbuf_reserve(&f->pending_text, len);

    if (!at || !array_reserve(&f->pending, &f->cap_pending, f->npending + 1,
                              sizeof(*f->pending))) {
        return DUMP_STOP_NOMEM;
    }
    f->pending[f->npending++] = (struct pending){
        .start_ns = c->start_ns,
        .chunk = c->index,
        .ordinal = ordinal,
        .from = f->pending_text.len,
        .len = len,
    };
    textbuf_commit(&f->pending_text, fmt_mem(at, out->data + from, len));
    out->len = from;
    return 0;
}

static int put_text(struct find *f, const char *text, size_t len)
{
    char *at = textbuf_reserve(&f->os.out, len);

    if (!at) {
        return DUMP_STOP_NOMEM;
    }
    textbuf_commit(&f->os.out, fmt_mem(at, text, len));
    return f->os.out.len >= WRITE_AT ? write_out(f) : 0;
}

/* ------------------------------------------------------------------- lines */

/* The line of an access that completes the pattern. */
static int put_access(struct find *f, const struct ctr_job *job, uint64_t ordinal,
                      const struct find_access *a, const uint8_t *data, uint64_t place)
{
    const struct ctr_chunk *chunk = ctr_job_chunk(job);
    const struct ctr_thread *t = ctr_job_thread(job);
    const struct ctr_block *b = ctr_trace_block(f->tr, a->block);
    struct ctr_mem m = {
        .ordinal = ordinal,
        .pc = b ? ctr_block_pc(b, a->insn) : 0,
        .addr = a->addr,
        .size = (uint32_t)a->size,
        .store = a->flow == FLOW_STORE,
        .big_endian = a->big_endian,
        .insn = a->insn,
        .data = data,
        .block = b,
        .thread = t,
    };
    const struct textbuf *line;

    if (!b) {
        return -CTR_E_CORRUPT; /* its definition was read before */
    }
    if (!f->printer && !(f->printer = access_printer_new(&f->info, f->opt))) {
        return DUMP_STOP_NOMEM;
    }
    if (f->printer_chunk != chunk->index + 1) {
        access_printer_chunk(f->printer, chunk, t);
        f->printer_chunk = chunk->index + 1;
    }
    line = access_printer_put(f->printer, &m, place, &a->task);
    return line ? put_text(f, line->data, line->len) : DUMP_STOP_NOMEM;
}

/* The line of a buffer of the system. */
static bool put_buffer(struct find *f, const struct ctr_job *job, uint64_t ordinal,
                       const struct find_access *a, const struct find_thread *t,
                       uint64_t place)
{
    const struct ctr_os_event e = {
        .ordinal = ordinal,
        .time_ns = a->time_ns,
        .thread = ctr_job_thread(job),
    };
    const bool write = a->flow == FLOW_SYS_WRITE;
    struct textbuf *b = &f->os.out;
    bool ok = os_put_start(&f->os, "memory", &e);

    if (f->opt->json) {
        ok = ok && textbuf_printf(
                       b, ",\"op\":\"%s\",\"addr\":\"0x%" PRIx64 "\",\"size\":%" PRIu64,
                       write ? "write" : "read", a->addr, a->size);
        if (ok && t->call_len) {
            ok = textbuf_printf(b, ",\"call\":") &&
                 textbuf_json_string(b, t->call, t->call_len);
        }
        return ok && textbuf_printf(b, ",\"found\":\"0x%" PRIx64 "\"}\n", place);
    }
    ok = ok && textbuf_printf(b, "+++ system ");
    if (ok && t->call_len) {
        ok = textbuf_printf(b, "(") && textbuf_printable(b, t->call, t->call_len) &&
             textbuf_printf(b, ") ");
    }
    return ok && textbuf_printf(b, "%s 0x%" PRIx64 "/%" PRIu64 "  at 0x%" PRIx64 "\n",
                                write ? "w" : "r", a->addr, a->size, place);
}

/* One place that an access completes, or of a buffer has whole. */
static int put_place(struct find *f, const struct ctr_job *job, uint64_t ordinal,
                     const struct find_access *a, const uint8_t *data,
                     const struct find_thread *t, uint64_t place)
{
    const struct ctr_chunk *chunk = ctr_job_chunk(job);
    const size_t from = f->os.out.len;
    int ret;

    if (!find_selected(f, ctr_job_thread(job)->process, place)) {
        return 0;
    }
    f->found++;
    if (a->flow == FLOW_LOAD || a->flow == FLOW_STORE) {
        ret = put_pending(f, chunk, ordinal);
        return ret ? ret : put_access(f, job, ordinal, a, data, place);
    }
    if (!put_buffer(f, job, ordinal, a, t, place)) {
        return DUMP_STOP_NOMEM;
    }
    return f->keep ? keep_output(f, chunk, ordinal, from) : 0;
}

/* ------------------------------------------------------------------ records */

static int on_access(struct find *f, const struct ctr_job *job, uint64_t ordinal,
                     struct find_thread *t, const uint8_t *p)
{
    struct pieces *s;
    struct find_access a;
    const int64_t *at;
    const uint8_t *data;
    bool ok;
    int ret = 0;

    memcpy(&a, p, sizeof(a));
    at = (const int64_t *)(const void *)(p + sizeof(a));
    data = a.has_data ? p + sizeof(a) + a.nhits * sizeof(*at) : NULL;
    s = &t->flow[a.flow];
    for (uint64_t i = 0; i < a.nwhole && !ret; i++) {
        ret = put_place(f, job, ordinal, &a, data, t, a.addr + (uint64_t)at[i]);
    }
    if (ret || !f->pattern.joins) {
        return ret;
    }
    ok = a.kept == 0 || pieces_access(s, ordinal, a.addr, a.kept, at + a.nwhole,
                                      (size_t)(a.nhits - a.nwhole));
    for (size_t i = 0; ok && i < s->ndone && a.kept && !ret; i++) {
        ret = put_place(f, job, ordinal, &a, data, t, s->done[i]);
    }
    if (ok && a.size > a.kept && a.addr + a.kept >= a.addr) {
        ok = pieces_access(s, ordinal, a.addr + a.kept, a.size - a.kept, NULL, 0);
    }
    return ok ? ret : DUMP_STOP_NOMEM;
}

static int on_others(struct find_thread *t, uint64_t ordinal, const uint8_t *p,
                     uint64_t n)
{
    struct find_other o;

    for (uint64_t i = 0; i < n; i += sizeof(o)) {
        memcpy(&o, p + i, sizeof(o));
        if (t->flow[o.flow].live &&
            !pieces_access(&t->flow[o.flow], ordinal, o.addr, o.size, NULL, 0)) {
            return DUMP_STOP_NOMEM;
        }
    }
    return 0;
}

static int on_record(struct find *f, const struct ctr_job *job, struct find_thread *t,
                     const struct find_record *r, const uint8_t *p)
{
    int ret;

    switch (r->kind) {
    case RECORD_TEXT:
        ret = put_pending(f, ctr_job_chunk(job), r->ordinal);
        return ret ? ret : put_text(f, (const char *)p, r->bytes);
    case RECORD_ACCESS:
        return on_access(f, job, r->ordinal, t, p);
    case RECORD_OTHERS:
        return on_others(t, r->ordinal, p, r->bytes);
    default:
        t->call_len = r->bytes < sizeof(t->call) ? r->bytes : sizeof(t->call);
        memcpy(t->call, p, t->call_len);
        return 0;
    }
}

int answer_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct find *f = arg;
    struct find_thread *t = thread_of(f, ctr_job_thread(job));
    const uint8_t *p = data, *end = p + n;
    struct find_record r;
    int ret = t ? 0 : DUMP_STOP_NOMEM;

    while (!ret && p < end) {
        memcpy(&r, p, sizeof(r));
        p += sizeof(r);
        ret = on_record(f, job, t, &r, p);
        p += r.bytes + (-r.bytes & 7);
    }
    return ret || f->keep ? ret : write_out(f);
}

int answer_end(struct find *f)
{
    int ret = put_pending(f, NULL, 0);

    return ret ? ret : write_out(f);
}

void answer_fini(struct find *f)
{
    for (uint32_t i = 0; i < f->nr_threads; i++) {
        for (unsigned k = 0; f->threads[i] && k < NR_FLOWS; k++) {
            pieces_fini(&f->threads[i]->flow[k]);
        }
        free(f->threads[i]);
    }
    free(f->threads);
    free(f->pending);
    textbuf_fini(&f->pending_text);
    access_printer_free(f->printer);
    os_printer_fini(&f->os);
}
