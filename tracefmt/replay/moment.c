/* SPDX-License-Identifier: MIT */
/*
 * Moments: of an instruction, of a time, of a fork.  The system call of the parent that
 * returned the process's id says exactly where it forked.  Without system calls there are only
 * times: that at which the child began, and the few that are known in the parent.
 */
#include <stdbool.h>
#include <string.h>

#include "base/util.h"
#include "cannoli/events.h"

int ctr_syscall_forks(const struct ctr_syscall *s)
{
    static const char *const names[] = {"fork", "vfork", "clone", "clone3"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (s->name.n == strlen(names[i]) && !memcmp(s->name.p, names[i], s->name.n)) {
            return 1;
        }
    }
    return 0;
}

int ctr_process_single(const struct ctr_trace *tr, uint32_t process)
{
    const struct ctr_thread *t;
    unsigned n = 0;

    for (uint32_t i = 0; (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        n += t->process == process;
    }
    return n == 1;
}

int ctr_moment_at(struct ctr_trace *tr, uint32_t thread, uint64_t ordinal,
                  struct ctr_moment *out, struct ctr_diag *diag)
{
    const struct ctr_thread *t = ctr_trace_thread(tr, thread);
    uint64_t pc;
    int ret;

    *out = (struct ctr_moment){.thread = thread, .ordinal = ordinal};
    if (!t || ordinal < t->first || ordinal - t->first > t->insns) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "moment", "no such instruction");
    }
    ret = ctr_state_at(tr, thread, ordinal, NULL, &pc, &out->time_ns, diag);
    /* No registers were recorded, or the thread has no instructions. */
    return ret == -CTR_E_INVAL ? 0 : ret;
}

/* The first instruction of a thread that is not known to be from before a time: 1, 0 if
 * there is none, or an error. */
static int first_since(struct ctr_trace *tr, const struct ctr_thread *t, uint64_t time_ns,
                       uint64_t *ordinal, struct ctr_diag *diag)
{
    const struct ctr_filter filter = {
        .kinds = CTR_KIND_EXEC, .threads = &t->index, .nthread = 1, .from_ns = time_ns};
    struct ctr_cursor *c;
    struct ctr_event ev;
    int ret = ctr_cursor_open(&c, tr, &filter, diag);

    if (ret) {
        return ret;
    }
    ret = ctr_cursor_next(c, &ev, diag);
    *ordinal = ret == 1 ? ev.exec.ordinal : t->first + t->insns;
    ctr_cursor_close(c);
    return ret;
}

int ctr_moment_time(struct ctr_trace *tr, uint32_t thread, uint64_t time_ns,
                    struct ctr_moment *out, struct ctr_diag *diag)
{
    const struct ctr_thread *t = ctr_trace_thread(tr, thread);
    uint64_t ordinal;
    int ret;

    if (!t) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "moment", "no such thread");
    }
    ret = first_since(tr, t, time_ns, &ordinal, diag);
    return ret < 0 ? ret : ctr_moment_at(tr, thread, ordinal, out, diag);
}

/* ----------------------------------------------------------------------- forks */

/* Whether a process continues one of the same id after execve. */
static bool is_execed(struct ctr_trace *tr, const struct ctr_process *p)
{
    const struct ctr_process *other;

    for (uint32_t i = p->index; i-- > 0;) {
        other = ctr_trace_process(tr, i);
        if (other && other->pid == p->pid) {
            return other->end_reason == CTR_END_EXEC;
        }
    }
    return false;
}

/* The thread that made a process: the last one with that id that had begun by then. */
static const struct ctr_thread *maker_of(struct ctr_trace *tr,
                                         const struct ctr_process *p, int32_t tid)
{
    const struct ctr_thread *t, *found = NULL;

    for (uint32_t i = 0; (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        if (t->tid == tid && t->process != p->index && t->start_ns <= p->start_ns) {
            found = t;
        }
    }
    return found;
}

/* What of the parent's calls was read so far. */
struct calls {
    const struct ctr_process *child;
    uint64_t ordinal; /* of the call that began last ... */
    bool forks;       /* ... and whether it is one that forks */
    bool found;
    struct ctr_moment *out;
};

/* Handles an event of the parent; false: it began after the child. */
static bool take_event(struct calls *c, const struct ctr_os_event *e)
{
    struct ctr_syscall s;

    if (e->type != CTR_EVENT_SYSCALL && e->type != CTR_EVENT_SYSRET) {
        return true;
    }
    if (ctr_parse_syscall(e, &s)) {
        return true;
    }
    if (e->type == CTR_EVENT_SYSCALL) {
        c->forks = ctr_syscall_forks(&s);
        c->ordinal = e->ordinal;
        return e->time_ns <= c->child->start_ns;
    }
    if (c->forks && e->ordinal == c->ordinal &&
        (s.result == c->child->pid || s.result == c->child->host_pid)) {
        *c->out = (struct ctr_moment){.thread = e->thread->index,
                                      .ordinal = e->ordinal,
                                      .time_ns = c->child->start_ns,
                                      .before_system = 1};
        c->found = true;
    }
    c->forks = false;
    return true;
}

/* The last call of the parent, before the child began, that returned its id. */
static int find_call(struct ctr_trace *tr, const struct ctr_thread *maker,
                     const struct ctr_process *child, struct ctr_moment *out,
                     struct ctr_diag *diag)
{
    struct ctr_filter filter = {
        .kinds = CTR_KIND_SYS, .threads = &maker->index, .nthread = 1};
    struct calls calls = {.child = child, .out = out};
    struct ctr_cursor *c;
    struct ctr_event ev;
    int ret = ctr_cursor_open(&c, tr, &filter, diag);

    if (ret) {
        return ret;
    }
    while ((ret = ctr_cursor_next(c, &ev, diag)) == 1) {
        if (ev.kind == CTR_CURSOR_OS && !take_event(&calls, &ev.os)) {
            break;
        }
    }
    ctr_cursor_close(c);
    return ret < 0 ? ret : calls.found;
}

/* The parent's first instruction that is not known to be from before the child's begin. */
static int find_time(struct ctr_trace *tr, const struct ctr_thread *maker,
                     const struct ctr_process *child, struct ctr_moment *out,
                     struct ctr_diag *diag)
{
    const int ret = first_since(tr, maker, child->start_ns, &out->ordinal, diag);

    out->thread = maker->index;
    out->time_ns = child->start_ns;
    out->before_system = 0;
    return ret < 0 ? ret : 1;
}

int ctr_moment_fork(struct ctr_trace *tr, uint32_t process, struct ctr_moment *out,
                    struct ctr_diag *diag)
{
    const struct ctr_process *p = ctr_trace_process(tr, process);
    const struct ctr_thread *t, *child = NULL, *maker;
    struct ctr_info info;
    int ret = 0;

    for (uint32_t i = 0; !child && (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        child = t->process == process ? t : NULL;
    }
    maker = p && child && child->ptid && !is_execed(tr, p) ? maker_of(tr, p, child->ptid)
                                                           : NULL;
    if (!maker) {
        return 0;
    }
    ctr_trace_info(tr, &info);
    if (info.events & CTR_HAS_SYS) {
        ret = find_call(tr, maker, p, out, diag);
    }
    /* Where the parent's begin was dropped, so may the fork have been. */
    return ret || maker->first ? ret : find_time(tr, maker, p, out, diag);
}
