/* SPDX-License-Identifier: MIT */
/*
 * Printing events: each worker formats its pieces of the trace, and the
 * ordered callback writes the results.  The output does not depend on the number of
 * workers.
 *
 * An instruction begins a line of text and the next instruction ends it, because
 * its accesses come in between.  Every piece ends its last line.
 *
 * A system call may begin in one piece and end in another one.  The ordered callback
 * keeps the open call of each thread.  A piece passes it the events of a call that it
 * cannot finish in its output, between the text: a byte 0, which no text contains,
 * then a copied event.
 *
 * Where only events between instructions are shown, timed.c takes the place of all this.
 */
#include "dump_priv.h"
#include "query/filter_options.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/options.h"
#include "input/trace.h"
#include "picked.h"
#include "timed.h"

/*
 * Instructions that a worker formats at a time: some MiB of text, so that the first
 * page appears at once, and all workers share large chunks without waiting until their
 * results may be written.
 */
#define PIECE_INSNS (32u << 10)

static int on_progress(void *arg, const struct ctr_progress *p)
{
    struct dump *d = arg;

    progress_update(&d->progress, p->bytes_done, p->bytes, p->insns_done, "instructions");
    return 0;
}

/* ----------------------------------------------------------------- pieces */

static struct worker *worker_of(struct dump *d, const struct ctr_job *job)
{
    return &d->workers[ctr_job_worker(job)];
}

static bool put_label(const struct dump *d, struct worker *w)
{
    return thread_label(&w->label, &d->info, d->opt->json, w->thread, &w->task);
}

/* Lines name the task that runs; 0 or DUMP_STOP_NOMEM. */
static inline int follow_task(const struct dump *d, struct worker *w,
                              const struct ctr_job *job)
{
    return d->tasks && line_task_take(&w->task, job) && !put_label(d, w) ? DUMP_STOP_NOMEM
                                                                         : 0;
}

static int on_begin(void *arg, struct ctr_job *job)
{
    struct dump *d = arg;
    struct worker *w = worker_of(d, job);
    const struct ctr_thread *t = ctr_job_thread(job);
    const struct annotator *a = d->opt->annotator;

    if (!w->texts && !(w->texts = insntext_new(&d->info, d->opt))) {
        return DUMP_STOP_NOMEM;
    }
    if (a && !w->annotator && !(w->annotator = a->worker_new(a->arg))) {
        return DUMP_STOP_NOMEM;
    }
    w->thread = t;
    line_task_take(&w->task, job);
    if (!put_label(d, w)) {
        return DUMP_STOP_NOMEM;
    }
    w->block = NULL;
    w->in_line = false;
    w->held = false;
    w->shown = false;
    w->fresh = true;
    w->marked = PICKED_NONE;
    w->watch = 0;
    w->until = 0;
    w->chunk = *ctr_job_chunk(job);
    w->process = t->process;
    return 0;
}

/* Ends the current line; 0 or DUMP_STOP_NOMEM. */
static int end_line(struct worker *w, struct ctr_job *job)
{
    bool in_line = w->in_line;

    w->in_line = false;
    w->outside = false;
    return in_line && ctr_job_append(job, "\n", 1) ? DUMP_STOP_NOMEM : 0;
}

/* Passes copied events to the ordered callback. */
static int pass_on(struct ctr_job *job, const char *raw, size_t len)
{
    char *p = ctr_job_reserve(job, len + 1);

    if (!p) {
        return DUMP_STOP_NOMEM;
    }
    p[0] = 0;
    memcpy(p + 1, raw, len);
    ctr_job_commit(job, len + 1);
    return 0;
}

/* Appends the output of the worker's printer. */
static int append_printed(struct worker *w, struct ctr_job *job)
{
    int ret =
        w->printer.out.len && ctr_job_append(job, w->printer.out.data, w->printer.out.len)
            ? DUMP_STOP_NOMEM
            : 0;

    w->printer.out.len = 0;
    return ret;
}

/* A call that is still open may continue in the thread's next piece. */
static int on_end(void *arg, struct ctr_job *job)
{
    struct worker *w = worker_of(arg, job);
    size_t pos = 0, at = 0;
    struct ctr_os_event e = {0};
    int ret = end_line(w, job);

    while (!ret && call_load(w->call.raw.data, w->call.raw.len, &pos, &e)) {
        ret = pass_on(job, w->call.raw.data + at, pos - at);
        at = pos;
    }
    w->call.raw.len = 0;
    w->call.depth = 0;
    return ret;
}

/*
 * Called before the instruction with this ordinal: flushes an open call, which did not
 * return, and updates the time that modules are looked up at.
 */
static int before_insn(const struct dump *d, struct worker *w, struct ctr_job *job,
                       uint64_t ordinal)
{
    int ret = 0;

    w->fresh = false;
    if (w->call.depth) {
        ret = end_line(w, job);
        if (!ret && !call_flush(&w->printer, &w->call)) {
            ret = DUMP_STOP_NOMEM;
        }
        ret = ret ? ret : append_printed(w, job);
    }
    if (!d->places && !d->opt->annotator) {
        w->until = UINT64_MAX;
    } else if (ordinal >= w->until) {
        line_time(d, w, ordinal);
    }
    w->watch = w->until;
    return ret;
}

/* ----------------------------------------------------------------- events */

/* Prints an instruction; 0 or DUMP_STOP_NOMEM. */
static int put_exec(const struct dump *d, struct worker *w, struct ctr_job *job,
                    const struct ctr_block *b, unsigned insn, uint64_t ordinal,
                    unsigned flags)
{
    const struct insn_text *it = line_insn(d, w, b, insn);
    size_t room = LINE_MAX_REST;
    uint64_t pc = 0;
    char *start, *p;

    if (d->places) {
        pc = ctr_block_pc(b, insn);
        it = it && line_place(d, w, pc) ? it : NULL;
        room += w->module.len + MODULE_WIDTH;
    }
    room += it && w->notes ? w->notes->insn[insn].len : 0;
    if (!it || !(start = ctr_job_reserve(job, it->len + room))) {
        return DUMP_STOP_NOMEM;
    }
    p = d->opt->json ? json_exec(d, w, start, ordinal, it, pc, flags)
                     : text_exec(d, w, start, ordinal, it, pc, flags);
    ctr_job_commit(job, (size_t)(p - start));
    return 0;
}

/* Whether an instruction is hidden: 0, 1, or -1 for no memory. */
static int hidden(const struct dump *d, struct worker *w, const struct ctr_block *b,
                  unsigned insn)
{
    return !line_insn(d, w, b, insn) ? -1 : w->notes->insn[insn].hidden;
}

static int on_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    struct dump *d = arg;
    struct worker *w = worker_of(d, job);

    if ((e->ordinal >= w->watch && before_insn(d, w, job, e->ordinal)) ||
        follow_task(d, w, job)) {
        return DUMP_STOP_NOMEM;
    }
    if (d->selects) {
        int hide = hidden(d, w, e->block, e->insn);
        if (hide) {
            return hide < 0 ? DUMP_STOP_NOMEM : 0;
        }
    }
    if (d->hold_exec) {
        w->held = true;
        w->held_block = e->block;
        w->held_insn = e->insn;
        w->held_flags = e->flags;
        w->held_ordinal = e->ordinal;
        return 0;
    }
    return put_exec(d, w, job, e->block, e->insn, e->ordinal, e->flags);
}

/*
 * Begins the instruction's line if its exec event was held, is not shown, or is in
 * another chunk.  The block of an access may differ from the instruction's: of s390x
 * EXECUTE both instructions have one.
 */
static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    struct dump *d = arg;
    struct worker *w = worker_of(d, job);
    const struct insn_text *it;
    size_t room = LINE_MAX_REST;
    char *start, *p;
    int ret = 0;

    if ((m->ordinal >= w->watch && before_insn(d, w, job, m->ordinal)) ||
        follow_task(d, w, job)) {
        return DUMP_STOP_NOMEM;
    }
    if (d->buffers && !os_at_addrs(d->opt, m->thread, m->addr, m->size)) {
        return 0;
    }
    if (d->selects) {
        ret = hidden(d, w, m->block, m->insn);
        if (ret) {
            return ret < 0 ? DUMP_STOP_NOMEM : 0;
        }
    }
    w->shown = true;
    w->shown_ordinal = m->ordinal;
    if (w->held && w->held_ordinal == m->ordinal) {
        ret = put_exec(d, w, job, w->held_block, w->held_insn, m->ordinal, w->held_flags);
    } else if (!d->opt->json && !d->hide_mem &&
               !(w->in_line && w->ordinal == m->ordinal)) {
        ret = put_exec(d, w, job, m->block, m->insn, m->ordinal, 0);
    }
    w->held = false;
    if (ret || d->hide_mem) {
        return ret;
    }
    it = line_insn(d, w, m->block, m->insn);
    if (d->opt->values) {
        room += 2 * (size_t)(d->opt->json ? m->size : MAX_TEXT_DATA);
    }
    room += it && w->notes ? w->notes->insn[m->insn].len : 0;
    if (!it || !(start = ctr_job_reserve(job, it->pc_len + w->pad + room))) {
        return DUMP_STOP_NOMEM;
    }
    p = d->opt->json ? json_mem(d, w, start, it, m) : text_mem(d, w, start, m);
    ctr_job_commit(job, (size_t)(p - start));
    return 0;
}

/* The ordinal of the instruction after a change by the system. */
static uint64_t next_ordinal(const struct worker *w, const struct ctr_reg_change *r)
{
    return r->block ? r->ordinal + 1 : w->chunk.first;
}

/*
 * A register changed by an instruction goes on the instruction's line.  One changed by
 * the system gets a line of its own, with the next instruction's ordinal like all lines
 * of the system.
 */
static int on_reg(void *arg, struct ctr_job *job, const struct ctr_reg_change *r)
{
    struct dump *d = arg;
    struct worker *w = worker_of(d, job);
    const struct ctr_reg *reg = ctr_trace_reg(d->trace, r->reg);
    uint64_t ordinal = r->outside ? next_ordinal(w, r) : r->ordinal;
    bool whole = reg && reg->flags & CTR_REG_VECTOR;
    const char *name = reg ? reg->name : "?";
    size_t note = 0;
    char *start, *p;
    int ret = 0;

    if ((r->ordinal >= w->watch && before_insn(d, w, job, r->ordinal)) ||
        follow_task(d, w, job)) {
        return DUMP_STOP_NOMEM;
    }
    if (d->selects) {
        ret = r->outside || !r->block ? 1 : hidden(d, w, r->block, r->insn);
        if (ret) {
            return ret < 0 ? DUMP_STOP_NOMEM : 0;
        }
    }
    if (d->addrs && (r->outside || !w->shown || w->shown_ordinal != r->ordinal)) {
        return 0;
    }
    if (!d->opt->json && !r->outside && r->block &&
        !(w->in_line && !w->outside && w->ordinal == ordinal)) {
        ret = put_exec(d, w, job, r->block, r->insn, ordinal, 0);
    }
    if (d->opt->json && d->opt->annotator && r->block) {
        if (!line_insn(d, w, r->block, r->insn)) {
            return DUMP_STOP_NOMEM;
        }
        note = w->notes->insn[r->insn].len;
    }
    start = ret ? NULL
                : ctr_job_reserve(job, strlen(name) + 2 * (size_t)r->size + w->pad +
                                           note + LINE_MAX_REST);
    if (!start) {
        return DUMP_STOP_NOMEM;
    }
    p = start;
    if (d->opt->json) {
        p = json_reg(w, p, name, r, whole);
    } else {
        if ((r->outside || !r->block) &&
            !(w->in_line && w->outside && w->ordinal == ordinal)) {
            p = text_start(d, w, p, ordinal);
            p = FMT_LIT(p, "+++ system");
            w->in_line = w->outside = true;
            w->pad = 0;
            w->ordinal = ordinal;
        }
        p = text_reg(d, w, p, name, r, whole);
    }
    ctr_job_commit(job, (size_t)(p - start));
    return 0;
}

/*
 * An event that may belong to a call of an earlier piece is passed to the ordered
 * callback unchanged.
 */
static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct dump *d = arg;
    struct worker *w = worker_of(d, job);
    int ret = end_line(w, job);

    if (ret) {
        return ret;
    }
    if (d->calls && w->fresh && call_may_hold(e)) {
        ret = call_store(&w->call.raw, e)
                  ? pass_on(job, w->call.raw.data, w->call.raw.len)
                  : DUMP_STOP_NOMEM;
        w->call.raw.len = 0;
        return ret;
    }
    w->fresh = false;
    line_task_of(&w->printer.task, job, e);
    if (!call_step(&w->printer, &w->call, e)) {
        return DUMP_STOP_NOMEM;
    }
    w->watch = w->call.depth ? 0 : w->watch;
    return append_printed(w, job);
}

/* ------------------------------------------------------- of chosen ordinals */

static int picked_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    const struct dump *d = arg;
    struct worker *w = worker_of(arg, job);
    const struct picked *p = d->opt->picked;
    int ret = 0;

    if (m->thread != p->thread) {
        return 0;
    }
    if (w->marked != m->ordinal) {
        if (!picked_has(p, m->ordinal)) {
            return 0;
        }
        ret = end_line(w, job);
        ret = ret ? ret : picked_mark(job, m->ordinal);
        w->marked = m->ordinal;
    }
    return ret ? ret : on_mem(arg, job, m);
}

static int picked_ordered(void *arg, const struct ctr_job *job, const void *data,
                          size_t n)
{
    const struct dump *d = arg;

    (void)job;
    return picked_take(d->opt->picked, data, n);
}

/* ----------------------------------------------------------------- replay */

static int find_touching(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    const struct dump *d = arg;
    struct ctr_usermem m;

    return !ctr_parse_usermem(e, &m) &&
           os_touches(d->opt, ctr_job_thread(job), m.addr, m.size,
                      (m.flags & CTR_USERMEM_WRITE) != 0);
}

/*
 * Whether the system used the memory that is selected.  In a file this is looked up first,
 * as it takes no decoding of instructions: mostly there is nothing, and the index is of
 * use.
 */
static bool has_buffers(struct dump *d)
{
    struct ctr_replay_ops ops = {.os = find_touching};
    struct ctr_filter filter = d->opt->filter;
    struct ctr_replay_opts opts = {.workers = d->opt->jobs, .filter = &filter};
    struct ctr_diag diag = {.off = CTR_NO_OFF};

    if (!os_by_memory(d->opt) || !(d->info.events & CTR_HAS_SYS)) {
        return false;
    }
    filter.kinds = CTR_KIND_SYS;
    filter.addrs = NULL;
    filter.naddr = 0;
    /* An error is met again by the replay. */
    return !d->info.seekable || ctr_replay(d->trace, &ops, d, &opts, &diag) != 0;
}

/* Chooses the callbacks, and the filter for the library. */
static void choose(struct dump *d, struct ctr_replay_ops *ops, struct ctr_filter *filter)
{
    uint32_t kinds = d->opt->kinds;
    bool accesses = kinds & (CTR_KIND_LOAD | CTR_KIND_STORE);
    bool execs = kinds & CTR_KIND_EXEC;

    d->selects = d->opt->annotator && d->opt->annotator->selects;
    d->buffers = has_buffers(d);
    kinds |= d->buffers ? CTR_KIND_SYS : 0;
    if (filter->npc || filter_by_addr(filter) || d->selects) {
        /* Events between instructions have no address to select by. */
        kinds &= ~(CTR_KIND_BETWEEN & ~(d->buffers ? CTR_KIND_SYS : 0u));
    }
    /* With --addr an access of a shown kind makes its instruction appear; if no kind
     * of access is shown, any access does. */
    d->addrs = filter_by_addr(filter);
    filter->naddr = d->buffers ? 0 : filter->naddr;
    d->hold_exec = execs && d->addrs;
    d->hide_mem = d->addrs && !accesses && (execs || kinds & CTR_KIND_REG);
    filter->kinds = kinds | (d->hide_mem ? CTR_KIND_LOAD | CTR_KIND_STORE : 0);
    d->kinds = filter->kinds;
    d->calls = kinds & CTR_KIND_SYS && d->info.events & CTR_HAS_SYS;
    ops->exec = execs ? on_exec : NULL;
    ops->mem = accesses || d->hide_mem ? on_mem : NULL;
    ops->reg = kinds & CTR_KIND_REG ? on_reg : NULL;
    ops->os = kinds & CTR_KIND_BETWEEN ? on_os : NULL;
    if (d->opt->picked) { /* of accesses only */
        ops->mem = picked_mem;
        ops->ordered = picked_ordered;
    }
}

/*
 * Each worker decodes the whole chunk of its piece, so pieces should be large; their
 * output waits in memory, so it should be no more than some MiB.
 */
static uint32_t piece_insns(const struct dump_options *opt)
{
    if (opt->filter.npc || filter_by_addr(&opt->filter)) {
        return 0; /* rare events make little text */
    }
    return opt->json || opt->kinds & CTR_KIND_REG ? PIECE_INSNS / 4 : PIECE_INSNS;
}

/* In JSON only the objects of instructions have a module. */
bool dump_shows_modules(const struct dump_options *opt)
{
    const uint32_t text = CTR_KIND_LOAD | CTR_KIND_STORE | CTR_KIND_REG;

    return opt->kinds & (CTR_KIND_EXEC | (opt->json ? 0 : text));
}

static void free_dump(struct dump *d)
{
    for (unsigned i = 0; d->workers && i < d->opt->jobs; i++) {
        struct worker *w = &d->workers[i];
        insntext_free(w->texts);
        if (w->annotator) {
            d->opt->annotator->worker_free(w->annotator);
        }
        os_printer_fini(&w->printer);
        textbuf_fini(&w->call.raw);
        textbuf_fini(&w->module);
        textbuf_fini(&w->label);
    }
    free(d->workers);
    for (uint32_t i = 0; i < d->nr_threads; i++) {
        if (d->threads[i]) {
            textbuf_fini(&d->threads[i]->raw);
            free(d->threads[i]);
        }
    }
    free(d->threads);
    os_printer_fini(&d->printer);
    order_free(d->order);
}

int dump_events(struct ctr_trace *tr, const struct dump_options *opt)
{
    struct dump d = {.opt = opt, .trace = tr};
    struct ctr_filter filter = opt->filter;
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct ctr_replay_ops ops = {
        .begin = on_begin,
        .end = on_end,
        .ordered = output_ordered,
    };
    struct ctr_replay_opts ropts = {
        .workers = opt->jobs,
        .piece_insns = piece_insns(opt),
        .filter = &filter,
        .slices = !opt->group,
        .phys = opt->phys,
        .tasks = 1,
    };
    int ret, status = TOOL_OK;

    ctr_trace_info(tr, &d.info);
    d.tasks = d.info.events & CTR_HAS_TASK;
    if (opt->phys) {
        status = filter_options_need_phys(tr, "--phys", opt->prog, opt->path);
    }
    if (status) {
        return status;
    }
    progress_init(&d.progress, opt->prog, opt->quiet);
    ops.progress = d.progress.on ? on_progress : NULL;
    choose(&d, &ops, &filter);
    if (!filter.kinds) {
        return TOOL_OK; /* 0 would select all kinds */
    }
    d.workers = aligned_alloc(_Alignof(struct worker), opt->jobs * sizeof(*d.workers));
    if (!d.workers) {
        return dump_replay_status(opt, DUMP_STOP_NOMEM, 0, NULL);
    }
    memset(d.workers, 0, opt->jobs * sizeof(*d.workers));
    os_printer_init(&d.printer, tr, opt);
    for (unsigned i = 0; i < opt->jobs; i++) {
        os_printer_init(&d.workers[i].printer, tr, opt);
    }
    if (!opt->annotator && dump_shows_modules(opt)) {
        d.places = opt->places;
    }
    ret = timed_choose(&d, &ops, &filter);
    ret = ret ? ret : ctr_replay(tr, &ops, &d, &ropts, &diag);
    /* What was read is shown, also before an error. */
    if (ret <= 0) {
        int last = d.order ? order_finish(d.order) : output_open_calls(&d);
        ret = ret ? ret : last;
    }
    progress_clear(&d.progress);
    if (!ret) {
        timed_remark(&d);
    }
    status = dump_replay_status(opt, ret, d.sys_errno, &diag);
    /* Damaged map events, if modules were looked up after them and the replay itself did
     * not meet them. */
    if (status == TOOL_OK) {
        status = places_status(d.places);
    }
    free_dump(&d);
    return status;
}
