/* SPDX-License-Identifier: MIT */
/* A difference as one JSON object on one line. */
#include <inttypes.h>
#include <string.h>

#include "cannoli/events.h"
#include "report.h"
#include "syscall/syscall_text.h"

static bool put_value(struct textbuf *b, const struct guest *g, const struct access *a,
                      const uint8_t *data)
{
    const uint32_t n = access_size(a);
    struct guest order = *g;
    bool ok;

    order.big_endian = a->what & ACCESS_BE;
    if (n == 1 || n == 2 || n == 4 || n == 8) {
        return textbuf_printf(b, ",\"value\":\"0x%" PRIx64 "\"",
                              guest_load(&order, data, n));
    }
    ok = textbuf_printf(b, ",\"data\":\"");
    for (uint32_t i = 0; ok && i < n; i++) {
        ok = textbuf_printf(b, "%02x", data[i]);
    }
    return ok && textbuf_printf(b, "\"");
}

static bool put_access(struct textbuf *b, const struct guest *g,
                       const struct difference_side *s)
{
    const struct access *a = s->access;

    return textbuf_printf(b,
                          ",\"access\":{\"kind\":\"%s\",\"addr\":\"0x%" PRIx64
                          "\",\"size\":%" PRIu32,
                          a->what & ACCESS_STORE ? "store" : "load", a->addr,
                          access_size(a)) &&
           (a->what & ACCESS_NOVALUE || put_value(b, g, a, s->data)) &&
           textbuf_printf(b, "}");
}

/* ,"register":{"name":"r4","value":"0x1234"} */
static bool put_write(struct textbuf *b, const struct side *first,
                      const struct difference_side *s)
{
    const char *name = ctr_trace_reg(first->view, s->write->reg)->name;
    unsigned n = s->write->size;
    bool ok = textbuf_printf(b, ",\"register\":{\"name\":") &&
              textbuf_json_string(b, name, strlen(name)) &&
              textbuf_printf(b, ",\"value\":\"0x");

    while (n > 1 && !s->data[n - 1]) {
        n--;
    }
    ok = ok && textbuf_printf(b, "%x", s->data[n - 1]);
    while (ok && --n) {
        ok = textbuf_printf(b, "%02x", s->data[n - 1]);
    }
    return ok && textbuf_printf(b, "\"}");
}

static bool put_call(struct textbuf *b, const struct guest *g,
                     const struct ctr_os_event *e)
{
    struct ctr_syscall c;
    struct ctr_str name;
    bool ok;

    if (ctr_parse_syscall(e, &c)) {
        return true;
    }
    name = syscall_name(g, &c);
    ok = textbuf_printf(b, ",\"name\":") && textbuf_json_string(b, name.p, name.n);
    if (e->type == CTR_EVENT_SYSRET) {
        return ok && textbuf_printf(b, ",\"result\":%" PRId64, c.result);
    }
    ok = ok && textbuf_printf(b, ",\"args\":[");
    for (unsigned i = 0; ok && i < 8; i++) {
        ok = textbuf_printf(b, "%s\"0x%" PRIx64 "\"", i ? "," : "",
                            guest_word(g, c.args[i]));
    }
    return ok && textbuf_printf(b, "]");
}

static bool put_event(struct textbuf *b, const struct guest *g,
                      const struct difference_side *s)
{
    const struct ctr_os_event e = {
        .type = s->event->type, .size = s->event->size, .payload = s->data};
    struct ctr_usermem m;
    struct ctr_signal sig;
    bool ok;

    switch (e.type) {
    case CTR_EVENT_SYSCALL:
    case CTR_EVENT_SYSRET:
        return textbuf_printf(b, ",\"event\":{\"kind\":\"%s\"",
                              e.type == CTR_EVENT_SYSCALL ? "syscall" : "sysret") &&
               put_call(b, g, &e) && textbuf_printf(b, "}");
    case CTR_EVENT_USERMEM:
        if (ctr_parse_usermem(&e, &m)) {
            return true;
        }
        ok = textbuf_printf(b,
                            ",\"event\":{\"kind\":\"memory\",\"access\":\"%s\",\"addr\":"
                            "\"0x%" PRIx64 "\",\"size\":%" PRIu64 ",\"data\":\"",
                            m.flags & CTR_USERMEM_WRITE ? "write" : "read", m.addr,
                            m.size);
        for (uint32_t i = 0; ok && i < m.n; i++) {
            ok = textbuf_printf(b, "%02x", m.data[i]);
        }
        return ok && textbuf_printf(b, "\"}");
    default:
        return ctr_parse_signal(&e, &sig) ||
               textbuf_printf(b,
                              ",\"event\":{\"kind\":\"signal\",\"signo\":%" PRIu32
                              ",\"code\":%" PRId32 ",\"addr\":\"0x%" PRIx64
                              "\",\"pc\":\"0x%" PRIx64 "\"}",
                              sig.signo, sig.code, sig.addr, sig.pc);
    }
}

static int put_side(struct report *r, struct pair *p, const struct difference *d,
                    unsigned i, struct ctr_diag *diag)
{
    const struct difference_side *s = &d->side[i];
    const struct site_options site = {.json = true,
                                      .substitute = r->liner[i].site.substitute,
                                      .nr_substitute = r->liner[i].site.nr_substitute};
    struct textbuf *b = &r->out;
    struct insn_facts facts = {.known = false};
    bool ok;
    int ret = s->ends
                  ? 0
                  : insn_facts_read(&facts, &r->liner[i], p->thread[i], s->ordinal, diag);

    if (ret) {
        return ret;
    }
    ok = textbuf_printf(b, ",\"%c\":{\"pid\":%d,\"tid\":%d,\"ordinal\":%" PRIu64,
                        i ? 'b' : 'a', p->thread[i]->pid, p->thread[i]->tid, s->ordinal);
    if (facts.known) {
        ok = ok && textbuf_printf(b, ",\"pc\":\"0x%" PRIx64 "\"", facts.pc) &&
             site_json(b, &facts.site, &site) && textbuf_printf(b, ",\"insn\":") &&
             textbuf_json_string(b, facts.text, facts.n);
    }
    if (d->kind == DIFFERENCE_CODE) {
        ok = ok && textbuf_printf(b, ",\"only\":%" PRIu64, s->n);
    }
    ok = ok && (!s->access || put_access(b, &p->guest[i], s)) &&
         (!s->write || put_write(b, r->side[0], s)) &&
         (!s->event || put_event(b, &p->guest[i], s)) && textbuf_printf(b, "}");
    return ok ? 0 : -CTR_E_NOMEM;
}

int report_json(struct report *r, struct pair *p, const struct difference *d,
                unsigned *failed, struct ctr_diag *diag)
{
    bool ok = textbuf_printf(&r->out,
                             "{\"kind\":\"difference\",\"number\":%" PRIu64
                             ",\"what\":\"%s\",\"equal\":%" PRIu64,
                             r->n, difference_name(d), d->equal);
    int ret = ok ? 0 : -CTR_E_NOMEM;

    if (ok && r->gap_more &&
        (d->kind == DIFFERENCE_CODE || d->kind == DIFFERENCE_EVENT)) {
        ok = textbuf_printf(&r->out, ",\"more\":%" PRIu64, r->gap_more);
    }
    if (ok && d->kind == DIFFERENCE_CODE) {
        ok = textbuf_printf(&r->out, ",\"again\":%s", d->again ? "true" : "false");
    }
    for (unsigned i = 0; !ret && ok && i < 2; i++) {
        *failed = i;
        ret = put_side(r, p, d, i, diag);
    }
    ok = ok && textbuf_printf(&r->out, "}\n");
    return ret ? ret : ok ? 0 : -CTR_E_NOMEM;
}
