/* SPDX-License-Identifier: MIT */
/*
 * Reads the text of chosen ordinals, see picked.h.  Of instructions events.c makes it; events
 * of the system are few and need no workers: they are formatted one by one.
 */
#include "dump/picked.h"

struct system {
    struct picked *p;
    struct os_printer printer;
    struct open_call call;
};

/* Adds what the printer has; 0 or an enum dump_stop. */
static int take_printed(struct system *s)
{
    int ret = s->printer.out.len
                  ? picked_add(s->p, s->printer.out.data, s->printer.out.len)
                  : 0;

    s->printer.out.len = 0;
    return ret;
}

/* Shows calls that did not return; 0 or an enum dump_stop. */
static int end_calls(struct system *s)
{
    return call_flush(&s->printer, &s->call) ? take_printed(s) : DUMP_STOP_NOMEM;
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct system *s = arg;
    int ret = 0;

    (void)job;
    if (e->thread != s->p->thread || !picked_has(s->p, e->ordinal)) {
        return 0;
    }
    if (call_is_over(&s->call, e)) {
        ret = end_calls(s);
    }
    picked_begin(s->p, e->ordinal);
    ret = ret || call_step(&s->printer, &s->call, e) ? ret : DUMP_STOP_NOMEM;
    return ret ? ret : take_printed(s);
}

static int read_system(struct ctr_trace *tr, const struct dump_options *opt,
                       struct picked *p)
{
    const struct ctr_replay_ops ops = {.os = on_os};
    const struct ctr_replay_opts ropts = {.workers = 1, .filter = &opt->filter};
    struct system s = {.p = p};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int ret;

    if (opt->annotator && opt->annotator->selects) { /* it hides these events */
        return dump_replay_status(opt, 0, 0, &diag);
    }
    os_printer_init(&s.printer, tr, opt);
    ret = ctr_replay(tr, &ops, &s, &ropts, &diag);
    ret = ret ? ret : end_calls(&s);
    os_printer_fini(&s.printer);
    textbuf_fini(&s.call.raw);
    return dump_replay_status(opt, ret, 0, &diag);
}

int picked_read(struct ctr_trace *tr, const struct dump_options *opt, struct picked *p)
{
    struct dump_options o = *opt;

    o.picked = p;
    o.jobs = 1; /* for one chunk, or two */
    o.filter.threads = &p->thread->index;
    o.filter.nthread = 1;
    o.filter.from = p->v[0].ordinal;
    o.filter.to = p->v[p->n - 1].ordinal + 1;
    o.filter.kinds = o.kinds;
    return o.kinds == CTR_KIND_SYS ? read_system(tr, &o, p) : dump_events(tr, &o);
}
