/* SPDX-License-Identifier: MIT */
/*
 * How threads and processes ended, from their END events, for a file without a ROOT
 * that says so (the recorder was stopped).
 */
#include "decode/walk.h"

#include "cannoli/events.h"

/* live: number of threads of each process whose end was not recorded yet. */
static void end_thread(struct ctr_trace *tr, uint32_t *live, uint32_t thread,
                       const struct ctr_os_event *e)
{
    struct ctr_thread_event te;
    struct thread *t = trace_thread(tr, thread);
    if (ctr_parse_thread(e, &te) || te.op != CTR_THREAD_END) {
        return;
    }
    live[t->pub.process] -= t->pub.end_ns == 0;
    t->pub.end_ns = e->time_ns ? e->time_ns : 1;
    t->pub.end_reason = te.reason;
    t->pub.end_status = te.status;
    struct ctr_process *p = idtab_get(&tr->procs, t->pub.process);
    if (te.reason != CTR_END_EXIT || live[t->pub.process] == 0) {
        p->end_ns = t->pub.end_ns;
        p->end_reason = te.reason;
        p->end_status = te.status;
    }
}

int trace_ends(struct ctr_trace *tr, struct ctr_diag *diag)
{
    struct feed f;
    struct walk w;
    struct raw_chunk raw = {.payload = {0}};
    uint32_t *live = calloc((size_t)tr->nprocs + 1, sizeof(live[0]));
    if (!live) {
        return ctr_fail_nomem(diag);
    }
    for (uint32_t i = 0; i < tr->nthreads; i++) {
        live[trace_thread(tr, i)->pub.process]++;
    }
    int ret = feed_init(&f, tr, NULL, diag);
    if (ret) {
        free(live);
        return ret;
    }
    f.runs = 0;
    f.os = CTR_KIND_THR;
    ret = walk_init(&w) ? ctr_fail_nomem(diag) : 0;
    while (!ret && (ret = feed_next(&f, &raw, diag)) == 1) {
        ret = walk_begin(&w, &f, &raw, diag);
        while (!ret && w.events.have) {
            end_thread(tr, live, raw.pub.thread, &w.events.ev);
            ret = evdec_next(&w.events);
        }
    }
    walk_fini(&w);
    buf_free(&raw.payload);
    feed_fini(&f);
    free(live);
    /* Whoever reads a damaged chunk gets the error then. */
    return ret == -CTR_E_NOMEM || ret == -CTR_E_IO ? ret : 0;
}
