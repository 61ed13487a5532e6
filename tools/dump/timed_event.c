/* SPDX-License-Identifier: MIT */
/* What an event means for the order of lines; for workers and for the merge, see timed.h. */
#include "timed.h"

#include "cannoli/events.h"
#include "guest/guest.h"

bool timed_step(const struct dump *d, struct os_printer *p, struct open_call *c,
                const struct ctr_os_event *e)
{
    if (d->hide_threads && e->type == CTR_EVENT_THREAD) {
        return !call_is_over(c, e) || call_flush(p, c);
    }
    return call_step(p, c, e);
}

bool timed_is_long(const struct dump *d, uint64_t begun_ns, uint64_t end_ns)
{
    return d->stream && end_ns > begun_ns && end_ns - begun_ns > STREAM_WAIT_NS;
}

bool timed_creates(const struct ctr_os_event *e)
{
    struct ctr_syscall s;

    return e->type == CTR_EVENT_SYSCALL && ctr_parse_syscall(e, &s) == 0 &&
           ctr_syscall_forks(&s);
}
