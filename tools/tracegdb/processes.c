/* SPDX-License-Identifier: MIT */
/*
 * The processes that gdb has.  Each is at a position of its own, as inferiors of gdb are: one
 * goes on while the others stay where they are.  Packets mean the one that gdb chose last.
 */
#include "session.h"

const struct process_place *process_place(const struct session *s, uint32_t process)
{
    if (process == s->here.process) {
        return &s->here;
    }
    for (size_t i = 0; i < s->nr_others; i++) {
        if (s->others[i].process == process) {
            return &s->others[i];
        }
    }
    return NULL;
}

void process_be_at(struct session *s, const struct process_place *p)
{
    s->here = *p;
    s->chosen = s->stepping = p->at.thread;
    s->memory_there = false;
}

void process_choose(struct session *s, uint32_t process)
{
    for (size_t i = 0; i < s->nr_others; i++) {
        if (s->others[i].process == process) {
            const struct process_place there = s->others[i];

            s->others[i] = s->here;
            process_be_at(s, &there);
            return;
        }
    }
}

int process_find(const struct session *s, uint64_t pid, uint32_t *process)
{
    for (size_t i = 0; i <= s->nr_others; i++) {
        const uint32_t p = i ? s->others[i - 1].process : s->here.process;

        if ((uint32_t)ctr_trace_process(s->tr, p)->pid == pid) {
            *process = p;
            return 1;
        }
    }
    return 0;
}

const struct ctr_thread *process_thread(const struct session *s, uint32_t process)
{
    const struct ctr_thread *t;

    for (uint32_t i = 0; (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        if (t->process == process && t->insns) {
            return t;
        }
    }
    return NULL;
}
