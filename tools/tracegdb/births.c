/* SPDX-License-Identifier: MIT */
/*
 * Forks and execve, which gdb wants to know: it then follows one process or has both, and reads
 * the symbols of another program.
 *
 * A fork stops the program before the instruction after the call, in both directions, unless gdb
 * has the child already.  QEMU makes a fork of vfork, and the parent goes on at once: that
 * it may is reported next.  What runs after execve is another process of the trace with the
 * same id, so that gdb goes from one to the other, backward as well.
 */
#include "resume_priv.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/array.h"

#define GUEST_CLONE_VFORK 0x4000u

struct birth {
    uint32_t thread, child; /* indexes: of the parent's thread, of a process */
    uint64_t ordinal;       /* of the instruction after the call */
    int64_t pid;            /* that it returned */
    uint64_t when;          /* as of a search, if ... */
    bool timed;             /* ... it is known */
    bool vfork;
};

/* ---------------------------------------------------------------------- programs */

/* As which process another one goes on after execve, or went on before; NULL: none. */
static const struct ctr_process *other_program(const struct session *s, uint32_t process,
                                               bool back)
{
    const struct ctr_process *here = ctr_trace_process(s->tr, process), *p;
    const struct ctr_process *found = NULL;

    for (uint32_t i = 0; (p = ctr_trace_process(s->tr, i)) != NULL; i++) {
        if (p->pid != here->pid || i == process) {
            continue;
        }
        if (back && i < process) {
            found = p;
        } else if (!back && i > process) {
            found = p;
            break;
        }
    }
    return found && (back ? found : here)->end_reason == CTR_END_EXEC ? found : NULL;
}

/* --------------------------------------------------------------------- loading */

static bool is_vfork(const struct session *s, const struct ctr_syscall *call)
{
    /* clone3 has its flags in memory; QEMU refuses it. */
    const bool clone =
        call->name.n == strlen("clone") && !memcmp(call->name.p, "clone", call->name.n);

    return clone ? call->args[s->info.elf_machine == EM_S390] & GUEST_CLONE_VFORK
                 : call->name.n && call->name.p[0] == 'v';
}

static int on_event(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct birth b = {.thread = e->thread->index, .ordinal = e->ordinal};
    struct ctr_syscall call;

    if (e->type != CTR_EVENT_SYSRET || ctr_parse_syscall(e, &call) ||
        !ctr_syscall_forks(&call) || call.result <= 0 ||
        e->ordinal >= thread_end(e->thread)) {
        return 0;
    }
    b.pid = call.result;
    b.vfork = is_vfork(arg, &call);
    return ctr_job_append(job, &b, sizeof(b));
}

static bool is_taken(const struct session *s, uint32_t child)
{
    for (size_t i = 0; i < s->nr_births; i++) {
        if (s->births[i].child == child) {
            return true;
        }
    }
    return false;
}

/* The process that a call made: the first one with that id that no earlier call did; such ids
 * come again. */
static bool find_child(const struct session *s, struct birth *b)
{
    const int32_t maker = ctr_trace_thread(s->tr, b->thread)->tid;
    const struct ctr_process *p;

    for (uint32_t i = 0; (p = ctr_trace_process(s->tr, i)) != NULL; i++) {
        const struct ctr_thread *first = NULL;

        if (i != s->here.process && (p->pid == b->pid || p->host_pid == b->pid)) {
            first = process_thread(s, i);
        }
        if (first && first->ptid == maker && !other_program(s, i, true) &&
            !is_taken(s, i)) {
            b->child = i;
            return true;
        }
    }
    return false;
}

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t size)
{
    struct session *s = arg;

    (void)job;
    for (const struct birth *in = data; size >= sizeof(*in); size -= sizeof(*in), in++) {
        struct birth b = *in;

        if (!find_child(s, &b)) {
            continue;
        }
        if (!array_reserve(&s->births, &s->cap_births, s->nr_births + 1,
                           sizeof(*s->births))) {
            return -CTR_E_NOMEM;
        }
        s->births[s->nr_births++] = b;
    }
    return 0;
}

static int load(struct session *s)
{
    const struct ctr_replay_ops ops = {.os = on_event, .ordered = on_ordered};
    const struct ctr_process *p;
    bool any = false;
    int ret = 0;

    if (s->births_known && s->births_of == s->here.process) {
        return 0;
    }
    s->nr_births = 0;
    for (uint32_t i = 0; !any && (p = ctr_trace_process(s->tr, i)) != NULL; i++) {
        any = p->ppid == ctr_trace_process(s->tr, s->here.process)->pid;
    }
    ret = any ? interrupt_replay(s, ops) : 0;
    s->births_known = !ret;
    s->births_of = s->here.process;
    return ret;
}

/* ----------------------------------------------------------------------- forks */

int births_find(struct session *s, bool back, const uint32_t *only,
                struct candidate *best)
{
    struct candidate here;
    int ret = s->forks || s->vforks ? load(s) : 0;

    ret = ret || !s->nr_births ? ret : resume_here(s, back, &here);
    for (size_t i = 0; !ret && i < s->nr_births; i++) {
        struct birth *b = &s->births[i];
        struct candidate c = {.found = true,
                              .thread = b->thread,
                              .ordinal = b->ordinal,
                              .stop = {.why = b->vfork ? STOP_VFORK : STOP_FORK,
                                       .phase = PHASE_FORKED,
                                       .child = b->child}};
        uint32_t same;

        if ((only && b->thread != *only) || !(b->vfork ? s->vforks : s->forks) ||
            process_find(s, (uint32_t)ctr_trace_process(s->tr, b->child)->pid, &same)) {
            continue;
        }
        if (!b->timed) {
            ret = resume_when(s, &c);
            b->when = c.when;
            b->timed = !ret;
        }
        c.when = b->when;
        if (!ret && resume_nearer(back, &here, &c) && resume_nearer(back, &c, best)) {
            *best = c;
        }
    }
    return ret;
}

int births_take(struct session *s, const struct stop *stop)
{
    int ret;

    if (stop->why != STOP_FORK && stop->why != STOP_VFORK) {
        return 0;
    }
    ret = process_add(s, stop->child);
    s->here.vforked = stop->why == STOP_VFORK;
    return ret || points_copy(s, s->here.process, stop->child) ? ret : -CTR_E_NOMEM;
}

bool births_vforked(struct session *s, struct stop *stop)
{
    const bool vforked = s->here.vforked;

    s->here.vforked = false;
    if (vforked) {
        *stop = (struct stop){.why = STOP_VFORKED, .phase = s->here.phase};
    }
    return vforked;
}

/* ---------------------------------------------------------------------- execve */

/* The thread of a process that called execve, or the last one. */
static const struct ctr_thread *execing_thread(const struct session *s, uint32_t process)
{
    const struct ctr_thread *t, *found = NULL;

    for (uint32_t i = 0; (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        if (t->process == process && t->insns &&
            !(found && found->end_reason == CTR_END_EXEC &&
              (t->end_reason != CTR_END_EXEC || found->end_ns > t->end_ns))) {
            found = t;
        }
    }
    return found;
}

int births_exec(struct session *s, bool back, struct stop *stop)
{
    const struct ctr_process *p =
        s->execs ? other_program(s, s->here.process, back) : NULL;
    const struct ctr_thread *t = !p     ? NULL
                                 : back ? execing_thread(s, p->index)
                                        : process_thread(s, p->index);
    int ret;

    if (!t) {
        return 0;
    }
    points_drop(s, s->here.process);
    ret = position_go(s, t->index, back ? thread_end(t) - 1 : t->first);
    s->here.phase = back ? PHASE_UNWRITTEN : PHASE_FORKED;
    *stop = (struct stop){.why = STOP_EXEC, .phase = s->here.phase};
    return ret ? ret : 1;
}
