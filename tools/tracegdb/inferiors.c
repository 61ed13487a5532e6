/* SPDX-License-Identifier: MIT */
/* Processes that gdb gets, each with its breakpoints, and processes that it leaves. */
#include "session.h"

#include "common/array.h"

int process_add(struct session *s, uint32_t process)
{
    const struct process_place here = s->here;
    const struct ctr_thread *t = process_thread(s, process);
    int ret;

    if (!array_reserve(&s->others, &s->cap_others, s->nr_others + 1,
                       sizeof(*s->others))) {
        return -CTR_E_NOMEM;
    }
    ret = position_go(s, t->index, t->first);
    if (!ret) {
        s->here.last = (struct stop){.why = STOP_THERE};
        s->here.phase = PHASE_FORKED;
        s->others[s->nr_others++] = s->here;
    }
    process_be_at(s, &here);
    return ret;
}

void process_leave(struct session *s, uint32_t process)
{
    points_drop(s, process);
    if (process == s->here.process) {
        if (s->nr_others) {
            process_be_at(s, &s->others[--s->nr_others]);
        }
        return;
    }
    for (size_t i = 0; i < s->nr_others; i++) {
        if (s->others[i].process == process) {
            s->others[i] = s->others[--s->nr_others];
        }
    }
}

void process_forget(struct session *s)
{
    while (s->nr_others) {
        points_drop(s, s->others[--s->nr_others].process);
    }
}
