/* SPDX-License-Identifier: MIT */
/*
 * Printing events: each worker formats its pieces of the trace, and the
 * ordered callback writes what they made.  Nothing here depends on how many
 * workers there are, so that neither does the output.
 *
 * A line of text is begun by an instruction and ended by the next one, because
 * its accesses come in between.  Every piece ends its last line.
 */
#include "dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"
#include "common/trace.h"

/*
 * Instructions that a worker formats at a time: some MiB of text, so that the
 * first page comes at once, and that all workers share large chunks without
 * waiting until what they made may be written.
 */
#define PIECE_INSNS (64u << 10)

/* Most bytes of a line besides the text of its instruction. */
#define LINE_MAX_REST 256

#define COLOR_LOAD "\033[32m"
#define COLOR_STORE "\033[31m"
#define COLOR_FAULT "\033[33m"
#define COLOR_FAINT "\033[2m"
#define COLOR_PLAIN "\033[0m"

/* What belongs to one worker, on cache lines of its own. */
struct worker {
    struct insntext *texts;
    char thread[64]; /* of the current piece, as it stands in its lines */
    size_t thread_len;
    const struct ctr_block *block; /* whose text is at hand */
    const struct block_text *text;
    bool in_line; /* text: a line was begun */
    bool held;    /* an exec event waits for a matching access */
    uint16_t held_flags;
    uint16_t held_insn;
    uint16_t pad; /* text: blanks before the line's first access */
    const struct ctr_block *held_block;
    uint64_t held_ordinal;
    uint64_t ordinal; /* of the line begun */
} __attribute__((aligned(128)));

struct dump {
    const struct dump_options *opt;
    struct ctr_info info;
    struct worker *workers;
    struct progress progress;
    bool hold_exec; /* only with an access that the user asked for ... */
    bool hide_mem;  /* ... which is not shown itself */
    int sys_errno;  /* of writing; set by the ordered callback only */
};

/* ---------------------------------------------------------------- output */

int dump_write(const void *data, size_t n, int *sys_errno)
{
    const char *p = data;

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

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct dump *d = arg;

    (void)job;
    return dump_write(data, n, &d->sys_errno);
}

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

static int on_begin(void *arg, struct ctr_job *job)
{
    struct dump *d = arg;
    struct worker *w = worker_of(d, job);
    const struct ctr_thread *t = ctr_job_thread(job);
    char id[32];
    int n;

    if (!w->texts && !(w->texts = insntext_new(&d->info, d->opt))) {
        return DUMP_STOP_NOMEM;
    }
    if (d->opt->json) {
        n = snprintf(w->thread, sizeof(w->thread), ",\"pid\":%d,\"tid\":%d", t->pid,
                     t->tid);
    } else {
        snprintf(id, sizeof(id), "%d/%d", t->pid, t->tid);
        n = snprintf(w->thread, sizeof(w->thread), " %-13s ", id);
    }
    w->thread_len = (size_t)n;
    w->block = NULL;
    w->in_line = false;
    w->held = false;
    return 0;
}

static int on_end(void *arg, struct ctr_job *job)
{
    struct worker *w = worker_of(arg, job);

    if (w->in_line) {
        w->in_line = false;
        return ctr_job_append(job, "\n", 1) ? DUMP_STOP_NOMEM : 0;
    }
    return 0;
}

/* The text of an instruction; NULL: no memory. */
static inline const struct insn_text *text_of(struct worker *w, const struct ctr_block *b,
                                              unsigned insn)
{
    if (w->block != b) {
        w->text = insntext_make(w->texts, b);
        w->block = w->text ? b : NULL;
        if (!w->text) {
            return NULL;
        }
    }
    return &w->text->insn[insn];
}

/* ------------------------------------------------------------------- text */

/* Begins the line of an instruction, ending the one before. */
static char *text_exec(const struct dump *d, struct worker *w, char *p, uint64_t ordinal,
                       const struct insn_text *it, unsigned flags)
{
    if (w->in_line) {
        *p++ = '\n';
    }
    if (d->opt->color) {
        p = FMT_LIT(p, COLOR_FAINT);
    }
    p = fmt_u64_width(p, ordinal, 10);
    p = fmt_mem(p, w->thread, w->thread_len);
    if (d->opt->color) {
        p = FMT_LIT(p, COLOR_PLAIN);
    }
    p = fmt_mem(p, w->text->text + it->off, it->len);
    if (flags) {
        if (d->opt->color) {
            p = FMT_LIT(p, COLOR_FAULT);
        }
        if (flags & CTR_EV_FAULTED) {
            p = FMT_LIT(p, "  faulted");
        }
        if (flags & CTR_EV_UNSURE) {
            p = FMT_LIT(p, "  unsure");
        }
        if (d->opt->color) {
            p = FMT_LIT(p, COLOR_PLAIN);
        }
    }
    w->in_line = true;
    w->pad = flags ? 0 : it->pad; /* with flags the column is gone anyway */
    w->ordinal = ordinal;
    return p;
}

static char *text_mem(const struct dump *d, struct worker *w, char *p,
                      const struct ctr_mem *m)
{
    memset(p, ' ', w->pad);
    p += w->pad;
    w->pad = 0;
    *p++ = ' ';
    *p++ = ' ';
    if (d->opt->color) {
        p = m->store ? FMT_LIT(p, COLOR_STORE) : FMT_LIT(p, COLOR_LOAD);
    }
    *p++ = m->store ? 'w' : 'r';
    p = FMT_LIT(p, " 0x");
    p = fmt_hex(p, m->addr);
    *p++ = '/';
    p = fmt_u64(p, m->size);
    if (d->opt->color) {
        p = FMT_LIT(p, COLOR_PLAIN);
    }
    return p;
}

/* ------------------------------------------------------------------- JSON */

static char *json_start(const struct worker *w, char *p, uint64_t ordinal,
                        const struct insn_text *it, size_t len)
{
    p = FMT_LIT(p, ",\"ordinal\":");
    p = fmt_u64(p, ordinal);
    p = fmt_mem(p, w->thread, w->thread_len);
    return fmt_mem(p, w->text->text + it->off, len);
}

static char *json_exec(struct worker *w, char *p, uint64_t ordinal,
                       const struct insn_text *it, unsigned flags)
{
    p = FMT_LIT(p, "{\"kind\":\"exec\"");
    p = json_start(w, p, ordinal, it, it->len);
    if (flags & CTR_EV_FAULTED) {
        p = FMT_LIT(p, ",\"faulted\":true");
    }
    if (flags & CTR_EV_UNSURE) {
        p = FMT_LIT(p, ",\"unsure\":true");
    }
    return FMT_LIT(p, "}\n");
}

static char *json_mem(struct worker *w, char *p, const struct insn_text *it,
                      const struct ctr_mem *m)
{
    p = m->store ? FMT_LIT(p, "{\"kind\":\"store\"") : FMT_LIT(p, "{\"kind\":\"load\"");
    p = json_start(w, p, m->ordinal, it, it->pc_len);
    p = FMT_LIT(p, ",\"addr\":\"0x");
    p = fmt_hex(p, m->addr);
    p = FMT_LIT(p, "\",\"size\":");
    p = fmt_u64(p, m->size);
    return FMT_LIT(p, "}\n");
}

/* ----------------------------------------------------------------- events */

/* Prints an instruction; 0 or DUMP_STOP_NOMEM. */
static int put_exec(const struct dump *d, struct worker *w, struct ctr_job *job,
                    const struct ctr_block *b, unsigned insn, uint64_t ordinal,
                    unsigned flags)
{
    const struct insn_text *it = text_of(w, b, insn);
    char *start, *p;

    if (!it || !(start = ctr_job_reserve(job, it->len + LINE_MAX_REST))) {
        return DUMP_STOP_NOMEM;
    }
    p = d->opt->json ? json_exec(w, start, ordinal, it, flags)
                     : text_exec(d, w, start, ordinal, it, flags);
    ctr_job_commit(job, (size_t)(p - start));
    return 0;
}

static int on_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    struct dump *d = arg;
    struct worker *w = worker_of(d, job);

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
 * The instruction is begun here if its exec event was held back, or is not
 * shown, or stands in another chunk.  An access may belong to another block
 * than its instruction: of s390x EXECUTE both have one.
 */
static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    struct dump *d = arg;
    struct worker *w = worker_of(d, job);
    const struct insn_text *it;
    char *start, *p;
    int ret = 0;

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
    it = text_of(w, m->block, m->insn);
    if (!it || !(start = ctr_job_reserve(job, it->pc_len + w->pad + LINE_MAX_REST))) {
        return DUMP_STOP_NOMEM;
    }
    p = d->opt->json ? json_mem(w, start, it, m) : text_mem(d, w, start, m);
    ctr_job_commit(job, (size_t)(p - start));
    return 0;
}

/* ----------------------------------------------------------------- replay */

int dump_replay_status(const struct dump_options *opt, int ret, int sys_errno,
                       const struct ctr_diag *diag)
{
    switch (ret) {
    case 0:
        return TOOL_OK;
    case DUMP_STOP_EPIPE:
        return DUMP_CUT_SHORT;
    case DUMP_STOP_OUTPUT:
        tool_error(PROG, "standard output: %s", strerror(sys_errno));
        return TOOL_FAILED;
    case DUMP_STOP_NOMEM:
        tool_error(PROG, "out of memory");
        return TOOL_FAILED;
    default:
        tool_trace_error(PROG, opt->path, ret, diag);
        return TOOL_FAILED;
    }
}

int dump_events(struct ctr_trace *tr, const struct dump_options *opt)
{
    struct dump d = {.opt = opt};
    struct ctr_filter filter = opt->filter;
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct ctr_replay_ops ops = {
        .begin = on_begin,
        .end = on_end,
        .ordered = on_ordered,
        .progress = on_progress,
    };
    struct ctr_replay_opts ropts = {
        .workers = opt->jobs,
        .piece_insns = PIECE_INSNS,
        .filter = &filter,
    };
    bool accesses = opt->kinds & ~CTR_KIND_EXEC, execs = opt->kinds & CTR_KIND_EXEC;
    int ret;

    ctr_trace_info(tr, &d.info);
    progress_init(&d.progress, PROG, opt->quiet);
    d.workers = aligned_alloc(_Alignof(struct worker), opt->jobs * sizeof(*d.workers));
    if (!d.workers) {
        return dump_replay_status(opt, DUMP_STOP_NOMEM, 0, NULL);
    }
    memset(d.workers, 0, opt->jobs * sizeof(*d.workers));
    /* With --addr an instruction is shown for an access of a kind that is
     * shown, or of any kind if none is: its access calls it up. */
    d.hold_exec = execs && filter.naddr;
    d.hide_mem = d.hold_exec && !accesses;
    filter.kinds = d.hide_mem ? CTR_KIND_ALL : opt->kinds;
    ops.exec = execs ? on_exec : NULL;
    ops.mem = accesses || d.hide_mem ? on_mem : NULL;
    ret = ctr_replay(tr, &ops, &d, &ropts, &diag);
    progress_clear(&d.progress);
    for (unsigned i = 0; i < opt->jobs; i++) {
        insntext_free(d.workers[i].texts);
    }
    free(d.workers);
    return dump_replay_status(opt, ret, d.sys_errno, &diag);
}
