/* SPDX-License-Identifier: MIT */
/*
 * The work on a bundle, in the order in which its threads ran: each slice of a chunk is
 * delivered like a piece of it. The output of all is one, with a note of where each slice
 * begins in it.
 */
#include "replay/replay.h"

static int note_slice(struct ctr_job *job)
{
    const struct out_slice s = {job->out.n, job->pub, job->thread};
    struct out_slice *all = (struct out_slice *)(void *)job->slices.p;
    const size_t n = job->slices.n / sizeof(s);
    if (n && all[n - 1].at == s.at) { /* it had no output */
        all[n - 1] = s;
        return 0;
    }
    return buf_append(&job->slices, &s, sizeof(s)) ? ctr_fail_nomem(&job->piece.diag) : 0;
}

static int go_on(struct ctr_job *job)
{
    struct job_piece *p = &job->piece;
    struct lane *a = job->lanes.now;
    job->walk = &a->walk;
    job->pub = a->raw->pub;
    job->thread = ctr_trace_thread(job->rp->tr, job->pub.thread);
    p->lo = a->raw->lo;
    p->hi = a->raw->hi;
    p->place_lo = 0;
    p->place_hi = UINT64_MAX;
    int ret = note_slice(job);
    ret = ret ? ret : replay_slice(job);
    if (!job->stops) {
        lanes_end(&job->lanes);
    }
    return ret;
}

int replay_bundle(struct ctr_job *job)
{
    struct job_piece *p = &job->piece;
    int ret = lanes_set(&job->lanes, &p->bundle->b) ? ctr_fail_nomem(&p->diag) : 0;
    while (!ret && !p->result && !job->stopped) {
        ret = lanes_go(&job->lanes, &job->rp->feed, &p->diag);
        if (ret != 1) {
            break;
        }
        ret = go_on(job);
    }
    lanes_trim(&job->lanes);
    job->walk = &job->own;
    job->walk_on = 0;
    return ret;
}
