/* SPDX-License-Identifier: MIT */
/* Converts system events of a thread to events for the fold. */
#include "calltree_digest.h"

#include "cannoli/events.h"
#include "guest/guest.h"

/* Copies a name, escaped for output. */
static void copy_name(struct ev_name *name, const char *p, size_t n)
{
    *name = (struct ev_name){""};
    n = n < sizeof(name->text) ? n : sizeof(name->text) - 1;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        name->text[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
}

void event_name(struct ev_name *name, const struct ctr_str *s)
{
    size_t from = 0;

    for (size_t i = 0; i < s->n; i++) { /* last part of a path */
        from = s->p[i] == '/' && i + 1 < s->n ? i + 1 : from;
    }
    copy_name(name, s->p + from, s->n - from);
}

static int emit_name(struct digest *d, enum ev_type type, const struct ctr_str *s)
{
    struct ev e = {.type = type};
    struct ev_name name;

    event_name(&name, s);
    return digest_emit(d, &e, NULL, &name, sizeof(name));
}

static int emit_task(struct digest *d, enum ev_type type, uint32_t pid, uint32_t tgid,
                     const struct ctr_str *comm)
{
    struct ev e = {.type = type, .number = pid, .pc = tgid};
    struct ev_name name;

    copy_name(&name, comm->p, comm->n);
    return digest_emit(d, &e, NULL, &name, sizeof(name));
}

int digest_task(struct digest *d)
{
    struct ctr_task task;

    return ctr_job_task(d->job, &task) == 1
               ? emit_task(d, EV_RUNS, task.pid, task.tgid, &task.comm)
               : 0;
}

static int on_signal(struct digest *d, const struct ctr_signal *s)
{
    struct ev e = {.type = EV_SIGNAL, .number = s->signo};
    struct spot at;

    if (!(s->flags & CTR_SIGNAL_HANDLER)) {
        return 0;
    }
    if (d->ordinal >= d->until) {
        digest_set_when(d, d->ordinal);
    }
    if (!code_locate(d->code, s->pc, &d->when, &at)) {
        return -CTR_E_NOMEM;
    }
    return digest_emit(d, &e, &at, NULL, 0);
}

/* Only code of the selected privileges is in the tree. */
static bool is_selected(const struct digest *d, uint32_t privilege)
{
    uint32_t mask = d->opt->filter.privileges;

    return !mask || mask >> privilege & 1;
}

static int on_interrupt(struct digest *d, const struct ctr_interrupt *i)
{
    struct ev e = {.type = is_selected(d, i->old_privilege) ? EV_SIGNAL : EV_ENTRY,
                   .number = INTERRUPT_NUMBER(i->flags, i->number)};
    struct spot at;

    if (d->ordinal >= d->until) {
        digest_set_when(d, d->ordinal);
    }
    if (!code_locate(d->code, i->from, &d->when, &at)) {
        return -CTR_E_NOMEM;
    }
    return digest_emit(d, &e, &at, NULL, 0);
}

static int on_sigreturn(struct digest *d, uint64_t pc)
{
    struct ev e = {.type = EV_SIGRETURN};
    struct spot at = {.pc = pc & d->code->pc_mask};

    return digest_emit(d, &e, &at, NULL, 0);
}

int digest_os(struct digest *d, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct ctr_syscall call;
    struct ctr_thread_event thread;
    struct ctr_interrupt interrupt;
    struct ctr_intret intret;
    struct ctr_context context;
    struct ctr_power power;
    struct ctr_task task;
    struct ctr_signal sig;
    uint64_t pc;
    int ret = 0;

    (void)job;
    d->ordinal = e->ordinal;
    d->now_ns = e->time_ns > d->now_ns ? e->time_ns : d->now_ns;
    switch (e->type) {
    case CTR_EVENT_SYSCALL:
    case CTR_EVENT_SYSRET:
        if (ctr_parse_syscall(e, &call) || !ctr_syscall_forks(&call)) {
            return 0;
        }
        if (e->type == CTR_EVENT_SYSCALL) {
            ret = digest_emit_type(d, EV_FORK, 0);
        } else if (call.result > 0) {
            ret = digest_emit_type(d, EV_FORKED, (uint32_t)call.result);
        } else {
            return 0;
        }
        break;
    case CTR_EVENT_SIGNAL:
        ret = ctr_parse_signal(e, &sig) ? 0 : on_signal(d, &sig);
        break;
    case CTR_EVENT_SIGRETURN:
        ret = ctr_parse_sigreturn(e, &pc) ? 0 : on_sigreturn(d, pc);
        break;
    case CTR_EVENT_INTERRUPT:
        if (ctr_parse_interrupt(e, &interrupt) || interrupt.flags & CTR_INT_EMULATED ||
            !is_selected(d, interrupt.privilege)) {
            return 0;
        }
        ret = on_interrupt(d, &interrupt);
        break;
    case CTR_EVENT_INTRET:
        if (ctr_parse_intret(e, &intret) || !is_selected(d, intret.old_privilege)) {
            return 0;
        }
        ret = on_sigreturn(d, intret.pc);
        break;
    case CTR_EVENT_CONTEXT:
        if (ctr_parse_context(e, &context)) {
            return 0;
        }
        ret = emit_task(d, EV_TASK, (uint32_t)context.id, 0, &(struct ctr_str){"", 0});
        break;
    case CTR_EVENT_TASK:
        if (ctr_parse_task(e, &task)) {
            return 0;
        }
        ret = emit_task(d, EV_TASK, task.pid, task.tgid, &task.comm);
        break;
    case CTR_EVENT_POWER:
        if (ctr_parse_power(e, &power) ||
            (power.op != CTR_POWER_LOADED && power.op != CTR_POWER_RESET &&
             power.op != CTR_POWER_OFF)) {
            return 0;
        }
        ret = digest_emit_type(d, EV_POWER, power.op);
        break;
    case CTR_EVENT_GATE:
    case CTR_EVENT_SELECT:
        ret = digest_emit_type(d, EV_GAP, 0);
        break;
    case CTR_EVENT_THREAD:
        if (ctr_parse_thread(e, &thread)) {
            return 0;
        }
        switch (thread.op) {
        case CTR_THREAD_EXEC:
            ret = emit_name(d, EV_EXEC, &thread.name);
            break;
        case CTR_THREAD_END:
            ret = digest_emit_type(d, EV_THREAD_END, 0);
            break;
        default:
            ret = emit_name(d, EV_NAME, &thread.name);
        }
        break;
    default:
        return 0;
    }
    d->last = NULL;
    d->quick = false;
    return ret;
}
