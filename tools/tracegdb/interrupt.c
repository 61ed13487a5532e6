/* SPDX-License-Identifier: MIT */
/*
 * What goes on and may take long, and gdb's request to end it: the connection is read from
 * time to time, as the client waits for an answer then and sends nothing else.
 */
#include "session.h"

#include <time.h>

#define POLL_NS 10000000u

void interrupt_reset(struct session *s)
{
    s->interrupted = false;
    s->polled_ns = 0;
}

bool interrupt_pending(struct session *s)
{
    struct timespec ts;
    uint64_t now;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
    if (!s->interrupted && now - s->polled_ns >= POLL_NS) {
        s->polled_ns = now;
        s->interrupted = packet_interrupted(s->link);
    }
    return s->interrupted;
}

static int on_progress(void *session, const struct ctr_progress *p)
{
    (void)p;
    return interrupt_pending(session);
}

int interrupt_replay(struct session *s, struct ctr_replay_ops ops)
{
    const struct ctr_filter filter = {
        .kinds = CTR_KIND_SYS, .processes = &s->here.process, .nprocess = 1};
    const struct ctr_replay_opts opts = {.workers = s->jobs, .filter = &filter};

    ops.progress = on_progress;
    return ctr_replay(s->tr, &ops, s, &opts, &s->diag);
}
