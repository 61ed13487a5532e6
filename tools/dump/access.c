/* SPDX-License-Identifier: MIT */
/*
 * Prints single accesses that a tool has chosen by itself: each with the line of its
 * instruction, or its object, as when all events are printed.
 */
#include "dump_priv.h"

#include <stdlib.h>
#include <string.h>

#define PLACE_MAX 40u

struct access_printer {
    struct dump d;
    struct worker w;
    struct textbuf out;
};

struct access_printer *access_printer_new(const struct ctr_info *info,
                                          const struct dump_options *opt)
{
    struct access_printer *p = aligned_alloc(_Alignof(struct access_printer), sizeof(*p));

    if (!p) {
        return NULL;
    }
    *p = (struct access_printer){.d = {.opt = opt, .info = *info, .places = opt->places}};
    p->w.texts = insntext_new(info, opt);
    if (p->w.texts && opt->annotator) {
        p->w.annotator = opt->annotator->worker_new(opt->annotator->arg);
    }
    if (!p->w.texts || (opt->annotator && !p->w.annotator)) {
        access_printer_free(p);
        return NULL;
    }
    return p;
}

void access_printer_free(struct access_printer *p)
{
    if (p) {
        insntext_free(p->w.texts);
        if (p->w.annotator) {
            p->d.opt->annotator->worker_free(p->w.annotator);
        }
        textbuf_fini(&p->w.module);
        textbuf_fini(&p->w.label);
        textbuf_fini(&p->out);
        free(p);
    }
}

void access_printer_chunk(struct access_printer *p, const struct ctr_chunk *chunk,
                          const struct ctr_thread *t)
{
    struct worker *w = &p->w;

    w->thread = t;
    w->chunk = *chunk;
    w->process = t->process;
    w->block = NULL;
    w->until = 0;
}

static char *put_text(struct access_printer *p, char *at, const struct insn_text *it,
                      const struct ctr_mem *m, uint64_t place)
{
    p->w.in_line = false;
    at = text_exec(&p->d, &p->w, at, m->ordinal, it, m->pc, 0);
    at = text_mem(&p->d, &p->w, at, m);
    at = FMT_LIT(at, "  at 0x");
    at = fmt_hex(at, place);
    *at++ = '\n';
    return at;
}

/* The object of an access, with two kinds of members more. */
static char *put_json(struct access_printer *p, char *at, const struct insn_text *it,
                      const struct ctr_mem *m, uint64_t place)
{
    const struct worker *w = &p->w;

    at = json_mem(&p->d, &p->w, at, it, m) - strlen("}\n");
    at = FMT_LIT(at, ",\"found\":\"0x");
    at = fmt_hex(at, place);
    *at++ = '"';
    if (p->d.places && w->place.module) {
        at = FMT_LIT(at, ",\"module\":");
        at = fmt_mem(at, w->module.data, w->module.len);
        at = FMT_LIT(at, ",\"module_offset\":\"0x");
        at = fmt_hex(at, m->pc + w->bias);
        *at++ = '"';
    }
    return FMT_LIT(at, "}\n");
}

const struct textbuf *access_printer_put(struct access_printer *p,
                                         const struct ctr_mem *m, uint64_t place,
                                         const struct line_task *task)
{
    struct worker *w = &p->w;
    const struct insn_text *it;
    size_t room = LINE_MAX_REST + PLACE_MAX;
    char *at;

    if (!thread_label(&w->label, &p->d.info, p->d.opt->json, w->thread, task)) {
        return NULL;
    }

    if (!p->d.places && !p->d.opt->annotator) {
        w->until = UINT64_MAX;
    } else if (m->ordinal >= w->until) {
        line_time(&p->d, w, m->ordinal);
    }
    it = line_insn(&p->d, w, m->block, m->insn);
    if (!it) {
        return NULL;
    }
    room += w->notes ? w->notes->insn[m->insn].len : 0;
    room += it->len + w->module.len + MODULE_WIDTH + it->pad +
            2 * (size_t)(p->d.opt->json ? m->size : MAX_TEXT_DATA);
    p->out.len = 0;
    at = textbuf_reserve(&p->out, room);
    if (!at) {
        return NULL;
    }
    at = p->d.opt->json ? put_json(p, at, it, m, place) : put_text(p, at, it, m, place);
    textbuf_commit(&p->out, at);
    return &p->out;
}
