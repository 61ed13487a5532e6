/* SPDX-License-Identifier: MIT */
/*
 * Events about the recording itself, as text and as JSON: marks, gates, labels, and
 * selections.
 */
#include "dump.h"

#include <inttypes.h>

#include "cannoli/events.h"

static const char *gate_why(uint32_t why)
{
    static const char *const names[] = {"unknown", "outside", "guest", "place",
                                        "tree",    "count",   "start", "task"};

    return why < sizeof(names) / sizeof(names[0]) ? names[why] : names[0];
}

/* ',"name":"..."' of a payload's string. */
static bool put_json(struct textbuf *b, const char *name, const struct ctr_str *s)
{
    return textbuf_printf(b, ",\"%s\":", name) && textbuf_json_string(b, s->p, s->n);
}

static bool put_quoted(struct textbuf *b, const struct ctr_str *s)
{
    return syscall_put_quoted(b, (const uint8_t *)s->p, s->n, false);
}

static bool print_mark(struct os_printer *p, const struct ctr_os_event *e,
                       const struct ctr_mark *m)
{
    struct textbuf *b = &p->out;
    bool outside = m->source == CTR_MARK_OUTSIDE;
    bool requested = m->asked_ns && p->opt->times;
    double at = seconds_of(&p->info, m->asked_ns);
    bool ok = os_put_start(p, "mark", e);

    if (!ok || p->opt->json) {
        return ok &&
               textbuf_printf(
                   b, ",\"source\":\"%s\",\"number\":%u,\"value\":\"0x%" PRIx64 "\"",
                   outside ? "outside" : "guest", m->number, m->value) &&
               put_json(b, "text", &m->text) &&
               (!requested || textbuf_printf(b, ",\"asked\":%.9f", at)) &&
               textbuf_printf(b, "}\n");
    }
    ok = outside ? textbuf_printf(b, "+++ mark %u ", m->number)
                 : textbuf_printf(b, "+++ mark ");
    ok = ok && put_quoted(b, &m->text);
    if (ok && (!outside || m->value)) {
        ok = textbuf_printf(b, " value 0x%" PRIx64, m->value);
    }
    return ok && (!requested || textbuf_printf(b, " asked for at %.6f", at)) &&
           textbuf_printf(b, " +++\n");
}

static bool print_gate(struct os_printer *p, const struct ctr_os_event *e,
                       const struct ctr_gate *g)
{
    const char *why = gate_why(g->why);

    if (!os_put_start(p, "gate", e)) {
        return false;
    }
    if (p->opt->json) {
        return textbuf_printf(&p->out, ",\"open\":%s,\"why\":\"%s\"}\n",
                              g->open ? "true" : "false", why);
    }
    return textbuf_printf(&p->out, "+++ %s from here on (%s) +++\n",
                          g->open ? "recorded" : "not recorded", why);
}

static bool print_label(struct os_printer *p, const struct ctr_os_event *e,
                        const struct ctr_label *l)
{
    struct textbuf *b = &p->out;
    bool set = l->op == CTR_LABEL_SET;
    bool ok = os_put_start(p, "label", e);

    if (!ok || p->opt->json) {
        return ok &&
               textbuf_printf(
                   b, ",\"op\":\"%s\",\"start\":\"0x%" PRIx64 "\",\"size\":%" PRIu64,
                   set ? "set" : "remove", l->start, l->size) &&
               put_json(b, "type", &l->type) && put_json(b, "name", &l->name) &&
               textbuf_printf(b, "}\n");
    }
    ok = textbuf_printf(b, "+++ label 0x%" PRIx64 "/%" PRIu64, l->start, l->size);
    if (ok && (set || l->type.n)) {
        ok = textbuf_printf(b, " ") && put_quoted(b, &l->type);
    }
    if (ok && (set || l->name.n)) {
        ok = textbuf_printf(b, " ") && put_quoted(b, &l->name);
    }
    return ok && textbuf_printf(b, "%s +++\n", set ? "" : " removed");
}

static bool print_select(struct os_printer *p, const struct ctr_os_event *e,
                         const struct ctr_select *s)
{
    struct textbuf *b = &p->out;
    bool ok = os_put_start(p, "select", e);

    if (!ok || p->opt->json) {
        return ok && textbuf_printf(b, ",\"generation\":%u", s->generation) &&
               put_json(b, "text", &s->text) && textbuf_printf(b, "}\n");
    }
    return textbuf_printf(b, "+++ selection %u from here on ", s->generation) &&
           (s->text.n ? put_quoted(b, &s->text) : textbuf_printf(b, "(everything)")) &&
           textbuf_printf(b, " +++\n");
}

bool os_print_own(struct os_printer *p, const struct ctr_os_event *e)
{
    struct ctr_mark mark;
    struct ctr_gate gate;
    struct ctr_label label;
    struct ctr_select select;

    switch (e->type) {
    case CTR_EVENT_MARK:
        return ctr_parse_mark(e, &mark) != 0 || print_mark(p, e, &mark);
    case CTR_EVENT_GATE:
        return ctr_parse_gate(e, &gate) != 0 || print_gate(p, e, &gate);
    case CTR_EVENT_LABEL:
        return ctr_parse_label(e, &label) != 0 || print_label(p, e, &label);
    case CTR_EVENT_SELECT:
        return ctr_parse_select(e, &select) != 0 || print_select(p, e, &select);
    default:
        return true; /* of a later version */
    }
}
