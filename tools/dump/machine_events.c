/* SPDX-License-Identifier: MIT */
/*
 * Events of machines, as text and as JSON: exceptions, interrupts, returns from them,
 * address spaces, tasks, vCPUs that wait or are off.
 */
#include "dump.h"

#include <inttypes.h>
#include <string.h>

#include "cannoli/events.h"

/* ',"name":"EL0"', unless it is not known. */
static bool put_privilege(struct os_printer *p, const char *name, uint32_t privilege)
{
    const char *text = guest_privilege_name(&p->guest, privilege);

    return !*text || textbuf_printf(&p->out, ",\"%s\":\"%s\"", name, text);
}

static bool print_interrupt_json(struct os_printer *p, const struct ctr_interrupt *i,
                                 const char *name)
{
    struct textbuf *b = &p->out;
    bool ok = textbuf_printf(b, ",\"op\":\"take\",\"name\":") &&
              textbuf_json_string(b, name, strlen(name));

    if (ok && i->number != CTR_INT_UNKNOWN) {
        ok = textbuf_printf(b, ",\"number\":%u", i->number);
    }
    if (ok && i->syndrome) {
        ok = textbuf_printf(b, ",\"syndrome\":\"0x%" PRIx64 "\"", i->syndrome);
    }
    if (ok && i->flags & CTR_INT_ADDR) {
        ok = textbuf_printf(b, ",\"addr\":\"0x%" PRIx64 "\"", i->addr);
    }
    ok = ok && textbuf_printf(b, ",\"pc\":\"0x%" PRIx64 "\"", i->from);
    if (ok && !(i->flags & CTR_INT_EMULATED)) {
        ok = textbuf_printf(b, ",\"handler\":\"0x%" PRIx64 "\"", i->to);
    }
    return ok && put_privilege(p, "from", i->old_privilege) &&
           put_privilege(p, "to", i->privilege) &&
           textbuf_printf(b, "%s%s%s}\n",
                          i->flags & CTR_INT_ASYNC ? ",\"async\":true" : "",
                          i->flags & CTR_INT_TRAP ? ",\"trap\":true" : "",
                          i->flags & CTR_INT_EMULATED ? ",\"emulated\":true" : "");
}

/* " {ESR=0x..., FAR=0x...}" */
static bool put_syndrome(struct os_printer *p, const struct ctr_interrupt *i)
{
    struct textbuf *b = &p->out;
    const char *syndrome, *addr;
    const char *open = " {";
    bool ok = true;

    guest_interrupt_registers(&p->guest, &syndrome, &addr);
    if (syndrome && i->syndrome) {
        ok = textbuf_printf(b, "%s%s=0x%" PRIx64, open, syndrome, i->syndrome);
        open = ", ";
    }
    if (ok && i->flags & CTR_INT_ADDR) {
        ok = textbuf_printf(b, "%s%s=0x%" PRIx64, open, addr, i->addr);
        open = ", ";
    }
    return ok && (open[0] == ' ' || textbuf_printf(b, "}"));
}

/* ", EL0 to EL1", if the privilege changes and is known. */
static bool put_change(struct os_printer *p, uint32_t from, uint32_t to)
{
    const char *old = guest_privilege_name(&p->guest, from);

    return from == to || !*old ||
           textbuf_printf(&p->out, ", %s to %s", old,
                          guest_privilege_name(&p->guest, to));
}

static bool print_interrupt(struct os_printer *p, const struct ctr_os_event *e,
                            const struct ctr_interrupt *i)
{
    struct textbuf *b = &p->out;
    char buf[GUEST_INTERRUPT_MAX];
    const char *name = guest_interrupt_name(&p->guest, i, buf);
    bool ok = os_put_start(p, "interrupt", e);

    if (!ok || p->opt->json) {
        return ok && print_interrupt_json(p, i, name);
    }
    ok = textbuf_printf(b, "--- %s", name) && put_syndrome(p, i) &&
         textbuf_printf(b, " at 0x%" PRIx64, i->from) &&
         put_change(p, i->old_privilege, i->privilege);
    if (ok && i->flags & CTR_INT_EMULATED) {
        return textbuf_printf(b, ", done by QEMU ---\n");
    }
    return ok && textbuf_printf(b, ", handler 0x%" PRIx64 " ---\n", i->to);
}

static bool print_intret(struct os_printer *p, const struct ctr_os_event *e,
                         const struct ctr_intret *r)
{
    struct textbuf *b = &p->out;
    bool ok = os_put_start(p, "interrupt", e);

    if (!ok || p->opt->json) {
        return ok &&
               textbuf_printf(b, ",\"op\":\"return\",\"pc\":\"0x%" PRIx64 "\"", r->pc) &&
               put_privilege(p, "from", r->old_privilege) &&
               put_privilege(p, "to", r->privilege) && textbuf_printf(b, "}\n");
    }
    return textbuf_printf(b, "--- returns to 0x%" PRIx64, r->pc) &&
           put_change(p, r->old_privilege, r->privilege) && textbuf_printf(b, " ---\n");
}

static bool print_context(struct os_printer *p, const struct ctr_os_event *e,
                          const struct ctr_context *c)
{
    struct textbuf *b = &p->out;
    bool ok = os_put_start(p, "context", e);

    if (!ok || p->opt->json) {
        return ok && textbuf_printf(b,
                                    ",\"table\":\"0x%" PRIx64 "\",\"asid\":%" PRIu64
                                    ",\"id\":%" PRIu64 "}\n",
                                    c->table, c->asid, c->id);
    }
    ok = c->table ? textbuf_printf(b, "+++ page table 0x%" PRIx64, c->table)
                  : textbuf_printf(b, "+++ no page table");
    if (ok && c->asid) {
        ok = textbuf_printf(b, ", ASID %" PRIu64, c->asid);
    }
    if (ok && c->id) {
        ok = textbuf_printf(b, ", context %" PRIu64, c->id);
    }
    return ok && textbuf_printf(b, " +++\n");
}

static bool print_slice(struct os_printer *p, const struct ctr_os_event *e,
                        const struct ctr_slice *s)
{
    struct textbuf *b = &p->out;
    bool ok = os_put_start(p, "slice", e);

    if (!ok || p->opt->json) {
        return ok && textbuf_printf(b, ",\"number\":%" PRIu64 "}\n", s->number);
    }
    return textbuf_printf(b, "+++ runs, slice %" PRIu64 " +++\n", s->number);
}

static bool print_power(struct os_printer *p, const struct ctr_os_event *e,
                        const struct ctr_power *w)
{
    static const struct {
        const char *op, *text;
    } names[] = {
        [CTR_POWER_HALT] = {"halt", "halts"},
        [CTR_POWER_OFF] = {"off", "is switched off"},
        [CTR_POWER_WAKE] = {"wake", "goes on"},
        [CTR_POWER_RESET] = {"reset", "was reset"},
        [CTR_POWER_LOADED] = {"loaded", "was loaded from a snapshot"},
        [CTR_POWER_SAVED] = {"saved", "was saved as a snapshot"},
    };
    struct textbuf *b = &p->out;
    bool ok = os_put_start(p, "power", e);

    if (!ok || p->opt->json) {
        return ok && textbuf_printf(b, ",\"op\":\"%s\"}\n", names[w->op].op);
    }
    return textbuf_printf(b, "+++ %s +++\n", names[w->op].text);
}

static bool print_task(struct os_printer *p, const struct ctr_os_event *e,
                       const struct ctr_task *t)
{
    struct textbuf *b = &p->out;
    bool ok = os_put_start(p, "task", e);

    if (!ok || p->opt->json) {
        return ok &&
               (!t->task ||
                textbuf_printf(b, ",\"address\":\"0x%" PRIx64 "\"", t->task)) &&
               textbuf_printf(b, "}\n");
    }
    if (!t->task) {
        return textbuf_printf(b, "+++ task not known +++\n");
    }
    ok = textbuf_printf(b, "+++ task %u", t->pid);
    if (ok && t->tgid != t->pid) {
        ok = textbuf_printf(b, " of %u", t->tgid);
    }
    return ok && textbuf_printf(b, " ") && textbuf_printable(b, t->comm.p, t->comm.n) &&
           textbuf_printf(b, " +++\n");
}

static bool print_area(struct os_printer *p, const struct ctr_os_event *e,
                       const struct ctr_area *a)
{
    struct textbuf *b = &p->out;
    const char *op = a->flags & CTR_AREA_ANEW      ? "anew"
                     : a->flags & CTR_AREA_REMOVED ? "removed"
                                                   : "mapped";
    bool ok = os_put_start(p, "area", e);

    if (ok && p->opt->json) {
        ok = textbuf_printf(b, ",\"of\":%u,\"op\":\"%s\"", a->tgid, op);
        if (ok && a->start < a->end) {
            ok = textbuf_printf(b,
                                ",\"start\":\"0x%" PRIx64 "\",\"end\":\"0x%" PRIx64
                                "\",\"offset\":\"0x%" PRIx64 "\",\"path\":",
                                a->start, a->end, a->offset) &&
                 textbuf_json_string(b, a->path.p, a->path.n);
        }
        return ok && textbuf_printf(b, "}\n");
    }
    if (a->start == a->end) {
        return ok &&
               textbuf_printf(b, "+++ process %u has no code of before +++\n", a->tgid);
    }
    return ok &&
           textbuf_printf(b, "+++ process %u %s 0x%" PRIx64 "-0x%" PRIx64, a->tgid,
                          a->flags & CTR_AREA_REMOVED ? "has no more" : "has", a->start,
                          a->end) &&
           (a->flags & CTR_AREA_REMOVED ||
            (textbuf_printf(b, " ") && textbuf_printable(b, a->path.p, a->path.n) &&
             textbuf_printf(b, " +0x%" PRIx64, a->offset))) &&
           textbuf_printf(b, " +++\n");
}

bool os_print_machine(struct os_printer *p, const struct ctr_os_event *e)
{
    struct ctr_interrupt interrupt;
    struct ctr_intret intret;
    struct ctr_context context;
    struct ctr_slice slice;
    struct ctr_power power;
    struct ctr_task task;
    struct ctr_area area;

    switch (e->type) {
    case CTR_EVENT_INTERRUPT:
        return ctr_parse_interrupt(e, &interrupt) != 0 ||
               print_interrupt(p, e, &interrupt);
    case CTR_EVENT_INTRET:
        return ctr_parse_intret(e, &intret) != 0 || print_intret(p, e, &intret);
    case CTR_EVENT_CONTEXT:
        return ctr_parse_context(e, &context) != 0 || print_context(p, e, &context);
    case CTR_EVENT_SLICE:
        return ctr_parse_slice(e, &slice) != 0 || print_slice(p, e, &slice);
    case CTR_EVENT_POWER:
        return ctr_parse_power(e, &power) != 0 || print_power(p, e, &power);
    case CTR_EVENT_TASK:
        return ctr_parse_task(e, &task) != 0 || print_task(p, e, &task);
    case CTR_EVENT_AREA:
        return ctr_parse_area(e, &area) != 0 || print_area(p, e, &area);
    default:
        return true; /* of a later version */
    }
}
