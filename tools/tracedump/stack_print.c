/* SPDX-License-Identifier: MIT */
/* Frames of a call stack as text and JSON; see stack.h. */
#include "stack.h"

#include <inttypes.h>
#include <string.h>

#include "query/site.h"

/* A line of the output: a function, or one that the compiler inlined. */
struct line {
    const struct stack_frame *frame;
    const struct module *module; /* NULL: not known */
    const struct sym_function *function;
    const struct sym_frame *source; /* or NULL */
    uint64_t vaddr;                 /* of the pc */
};

static const struct {
    unsigned by;
    const char *name;
} names[] = {{STACK_STATE, "state"}, {STACK_CFI, "cfi"}, {STACK_CALLS, "calls"}};

/* The name of an inlined function; NULL: the line is of the function itself. */
static const char *inlined(const struct line *l)
{
    const struct sym_frame *s = l->source;

    return s && s->inlined ? s->function ? s->function : "?" : NULL;
}

static bool put_printable(struct textbuf *b, const char *text)
{
    return textbuf_printable(b, text, strlen(text));
}

/* ------------------------------------------------------------------------ text */

/* "app main+0x4 /src/app.c:12" */
static bool text_place(struct textbuf *b, const struct line *l)
{
    static const struct site_options plain;
    const struct stack_frame *f = l->frame;
    bool ok = true;

    if (f->is_signal && f->name) {
        ok = textbuf_printf(b, " <%s>", f->name);
    } else if (f->is_signal) {
        ok = textbuf_printf(b, " <signal>");
    }
    if (!l->module) {
        return ok && (f->is_signal || textbuf_printf(b, " %s", f->name ? f->name : "?"));
    }
    ok = ok && textbuf_printf(b, " ") && put_printable(b, l->module->name);
    if (ok && inlined(l)) {
        ok = textbuf_printf(b, " ") && put_printable(b, inlined(l)) &&
             textbuf_printf(b, " (inlined)");
    } else if (ok && l->function) {
        ok = textbuf_printf(b, " ") && put_printable(b, l->function->name) &&
             textbuf_printf(b, "+0x%" PRIx64, l->vaddr - l->function->addr);
    } else {
        ok = ok && textbuf_printf(b, "+0x%" PRIx64, l->vaddr);
    }
    return ok && (!l->source || !l->source->file ||
                  site_source(b, l->source->file, l->source->line, &plain));
}

/* "  (cfi, calls)" */
static bool text_by(struct stack_printer *p, const struct stack_frame *f)
{
    struct textbuf *b = &p->out;
    const char *separator = "  (";
    bool ok = true;

    for (size_t i = 0; ok && i < sizeof(names) / sizeof(names[0]); i++) {
        if (f->by & names[i].by) {
            ok = textbuf_printf(b, "%s%s", separator, names[i].name);
            separator = ", ";
        }
    }
    if (ok && f->other_pc) {
        ok = textbuf_printf(b, "; %s: 0x%" PRIx64, f->by & STACK_CFI ? "calls" : "cfi",
                            f->other_pc);
    } else if (ok && f->why && (!p->why || strcmp(p->why, f->why) != 0)) {
        ok = textbuf_printf(b, "; no cfi: %s", f->why);
    }
    p->why = f->why;
    return ok && textbuf_printf(b, ")\n");
}

static bool text_line(struct stack_printer *p, const struct line *l)
{
    struct textbuf *b = &p->out;
    bool ok = textbuf_printf(b, "  #%-3u ", p->number);

    if (ok && l->frame->has_pc) {
        ok = textbuf_printf(b, "0x%0*" PRIx64, p->digits, l->frame->pc);
    } else {
        ok = ok && textbuf_printf(b, "%*s", p->digits + 2, "");
    }
    return ok && text_place(b, l) && text_by(p, l->frame);
}

/* ------------------------------------------------------------------------ JSON */

static bool json_string(struct textbuf *b, const char *name, const char *text)
{
    return textbuf_printf(b, ",\"%s\":", name) &&
           textbuf_json_string(b, text, strlen(text));
}

static bool json_place(struct textbuf *b, const struct line *l)
{
    const struct sym_frame *s = l->source;
    const char *name = inlined(l);
    bool ok = json_string(b, "module", l->module->path) &&
              textbuf_printf(b, ",\"vaddr\":\"0x%" PRIx64 "\"", l->vaddr);

    if (ok && name) {
        ok = json_string(b, "function", name) && textbuf_printf(b, ",\"inlined\":true");
    } else if (ok && l->function) {
        ok = json_string(b, "function", l->function->name) &&
             textbuf_printf(b, ",\"offset\":\"0x%" PRIx64 "\"",
                            l->vaddr - l->function->addr);
    }
    if (ok && s && s->file) {
        ok = json_string(b, "file", s->file) &&
             (!s->line || textbuf_printf(b, ",\"line\":%" PRIu32, s->line));
    }
    return ok;
}

static bool json_by(struct textbuf *b, const struct stack_frame *f)
{
    const char *separator = "";
    bool ok = textbuf_printf(b, ",\"by\":[");

    for (size_t i = 0; ok && i < sizeof(names) / sizeof(names[0]); i++) {
        if (f->by & names[i].by) {
            ok = textbuf_printf(b, "%s\"%s\"", separator, names[i].name);
            separator = ",";
        }
    }
    ok = ok && textbuf_printf(b, "]");
    if (ok && f->other_pc) {
        ok = textbuf_printf(b, ",\"%s_pc\":\"0x%" PRIx64 "\"",
                            f->by & STACK_CFI ? "calls" : "cfi", f->other_pc);
    } else if (ok && f->why) {
        ok = json_string(b, "no_cfi", f->why);
    }
    return ok;
}

static bool json_line(struct stack_printer *p, const struct line *l)
{
    const struct stack_frame *f = l->frame;
    struct textbuf *b = &p->out;
    bool ok = textbuf_printf(b, "{\"kind\":\"frame\",\"number\":%u", p->number);

    if (ok && f->has_pc) {
        ok = textbuf_printf(b, ",\"pc\":\"0x%" PRIx64 "\"", f->pc);
    }
    if (ok && f->is_signal) {
        ok = json_string(b, "system", f->name ? f->name : "signal");
    }
    if (ok && l->module) {
        ok = json_place(b, l);
    } else if (ok && f->name && !f->is_signal) {
        ok = json_string(b, "function", f->name);
    }
    return ok && json_by(b, f) && textbuf_printf(b, "}\n");
}

/* ------------------------------------------------------------------------- all */

bool stack_put(struct stack_printer *p, const struct stack_frame *f)
{
    struct line l = {.frame = f};
    struct site site;
    unsigned n;
    bool ok = true;

    site_find(&site, f->has_place ? &f->place : NULL);
    l.module = site.module;
    l.vaddr = site.vaddr + f->after_call;
    l.function = site.function;
    n = site.nr_frames ? site.nr_frames : 1;
    for (unsigned i = 0; ok && i < n; i++) {
        l.source = i < site.nr_frames ? &site.frames[i] : NULL;
        ok = p->json ? json_line(p, &l) : text_line(p, &l);
        p->number++;
    }
    return ok;
}

bool stack_put_end(struct stack_printer *p, const char *why, const char *more, bool whole)
{
    struct textbuf *b = &p->out;

    if (p->json) {
        return textbuf_printf(b,
                              "{\"kind\":\"stack\",\"frames\":%u,\"whole\":%s,\"end\":",
                              p->number, whole ? "true" : "false") &&
               textbuf_json_string(b, why, strlen(why)) &&
               (!more || json_string(b, "calls", more)) && textbuf_printf(b, "}\n");
    }
    return textbuf_printf(b, "  end: ") && put_printable(b, why) &&
           (!more || (textbuf_printf(b, "; ") && put_printable(b, more))) &&
           textbuf_printf(b, "\n");
}
