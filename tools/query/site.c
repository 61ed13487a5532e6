/* SPDX-License-Identifier: MIT */
/* The source-level place of an instruction; see site.h. */
#include "query/site.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "query/function_pattern.h"
#include "symbols/sym_options.h"

/* Limit of shown bytes of a name; names of C++ can have any length. */
#define MAX_NAME 4000u

#define BOLD "\033[1m"
#define FAINT "\033[2m"
#define PLAIN "\033[0m"

void site_find(struct site *s, const struct place *place)
{
    s->module = place ? place->module : NULL;
    s->vaddr = place ? place->vaddr : 0;
    s->function = NULL;
    s->nr_frames = 0;
    if (s->module && s->module->file) {
        unsigned n;
        s->function = symfile_function(s->module->file, s->vaddr);
        n = symfile_frames(s->module->file, s->vaddr, s->frames, SITE_FRAMES);
        s->nr_frames = n < SITE_FRAMES ? n : SITE_FRAMES;
    }
}

/* ----------------------------------------------------------------- filters */

size_t site_called_length(const char *name)
{
    static const char stub[] = "@plt";
    size_t n = strlen(name), end = sizeof(stub) - 1;

    return n > end && !strcmp(name + n - end, stub) ? n - end
                                                    : sym_name_bare_length(name);
}

bool site_name_fits(const char *glob, const char *name)
{
    char bare[1024];
    size_t n;

    if (!name) {
        return false;
    }
    if (fnmatch(glob, name, 0) == 0) {
        return true;
    }
    n = sym_name_bare_length(name);
    if (!name[n] || n >= sizeof(bare)) {
        return false;
    }
    memcpy(bare, name, n);
    bare[n] = 0;
    return fnmatch(glob, bare, 0) == 0;
}

static bool function_wanted(const struct site *s, const char *text)
{
    struct function_pattern p;

    if (!function_pattern_split(text, &p) || !function_pattern_is_module(&p, s->module)) {
        return false;
    }
    if (s->function && function_pattern_is_source(&p, s->module, s->function) &&
        symfile_function_matches(s->module->file, s->function, p.name)) {
        return true;
    }
    for (unsigned i = 0; i < s->nr_frames && s->frames[i].inlined; i++) {
        const struct sym_frame *f = &s->frames[i];

        if (site_name_fits(p.name, f->function) &&
            (!*p.source || (f->file && sym_path_matches(f->file, p.source)))) {
            return true;
        }
    }
    return false;
}

bool site_wanted(const struct site *s, const struct site_options *opt)
{
    bool ok = !opt->nr_modules ||
              (s->module && module_matches(s->module, opt->modules, opt->nr_modules));

    if (!ok || !opt->nr_functions) {
        return ok;
    }
    for (unsigned i = 0; i < opt->nr_functions; i++) {
        if (function_wanted(s, opt->functions[i])) {
            return true;
        }
    }
    return false;
}

/* -------------------------------------------------------------------- text */

static bool put_name(struct textbuf *b, const char *name)
{
    return textbuf_printable(b, name, strnlen(name, MAX_NAME));
}

/* "/src/app.c:12"; the line is "?" if there is none. */
static bool put_source(struct textbuf *b, const char *file, uint32_t line,
                       const struct site_options *opt)
{
    const char *to, *rest, *slash;
    bool ok;

    rest = sym_substitute(opt->substitute, opt->nr_substitute, file, &to);
    if (opt->basenames) {
        slash = strrchr(rest, '/');
        to = "";
        rest = slash ? slash + 1 : rest;
    }
    ok = put_name(b, to) && put_name(b, rest);
    return ok && (line ? textbuf_printf(b, ":%" PRIu32, line) : textbuf_printf(b, ":?"));
}

bool site_source(struct textbuf *b, const char *file, uint32_t line,
                 const struct site_options *opt)
{
    return textbuf_printf(b, " ") && put_source(b, file, line, opt);
}

static bool put_inlined(struct textbuf *b, const struct site *s,
                        const struct site_options *opt)
{
    bool ok = true;

    for (unsigned i = 0; ok && i < s->nr_frames && s->frames[i].inlined; i++) {
        const struct sym_frame *f = &s->frames[i], *outer = f + 1;
        ok = textbuf_printf(b, " (inlined ") &&
             put_name(b, f->function ? f->function : "?");
        if (ok && opt->inlines && i + 1 < s->nr_frames && outer->file) {
            ok =
                textbuf_printf(b, " at ") && put_source(b, outer->file, outer->line, opt);
        }
        ok = ok && textbuf_printf(b, ")");
        if (!opt->inlines) {
            break;
        }
    }
    return ok;
}

bool site_text(struct textbuf *b, const struct site *s, const struct site_options *opt)
{
    bool ok;

    if (!s->module) {
        return true;
    }
    ok = textbuf_printf(b, " ") && put_name(b, s->module->name);
    if (ok && s->function) {
        ok = textbuf_printf(b, opt->color ? " " BOLD : " ") &&
             put_name(b, s->function->name) &&
             textbuf_printf(b, "%s+0x%" PRIx64, opt->color ? PLAIN : "",
                            s->vaddr - s->function->addr);
    } else {
        ok = ok && textbuf_printf(b, "+0x%" PRIx64, s->vaddr);
    }
    if (ok && s->nr_frames && s->frames[0].file) {
        ok = textbuf_printf(b, opt->color ? " " FAINT : " ") &&
             put_source(b, s->frames[0].file, s->frames[0].line, opt) &&
             put_inlined(b, s, opt) && textbuf_printf(b, opt->color ? PLAIN : "");
    }
    return ok;
}

/* -------------------------------------------------------------------- JSON */

static bool put_json(struct textbuf *b, const char *name, const char *value)
{
    return textbuf_printf(b, ",\"%s\":", name) &&
           textbuf_json_string(b, value, strnlen(value, MAX_NAME));
}

/* ,"file":"/src/app.c","line":12 */
static bool json_source(struct textbuf *b, const char *file, uint32_t line,
                        const struct site_options *opt)
{
    char path[2 * MAX_NAME + 1];
    const char *to, *rest;
    size_t n, m;

    rest = sym_substitute(opt->substitute, opt->nr_substitute, file, &to);
    n = strnlen(to, MAX_NAME);
    m = strnlen(rest, MAX_NAME);
    memcpy(path, to, n);
    memcpy(path + n, rest, m);
    return textbuf_printf(b, ",\"file\":") && textbuf_json_string(b, path, n + m) &&
           (!line || textbuf_printf(b, ",\"line\":%" PRIu32, line));
}

/* ,"inlined":[{"function":"f","file":"/src/app.c","line":12}]: the places of the calls,
 * from the innermost on. */
static bool json_inlined(struct textbuf *b, const struct site *s,
                         const struct site_options *opt)
{
    bool ok = true, any = false;

    for (unsigned i = 0; ok && i < s->nr_frames && s->frames[i].inlined; i++) {
        const struct sym_frame *f = &s->frames[i], *outer = f + 1;
        const char *name = f->function ? f->function : "?";
        ok =
            textbuf_printf(b, any ? ",{\"function\":" : ",\"inlined\":[{\"function\":") &&
            textbuf_json_string(b, name, strnlen(name, MAX_NAME));
        if (ok && i + 1 < s->nr_frames && outer->file) {
            ok = json_source(b, outer->file, outer->line, opt);
        }
        ok = ok && textbuf_printf(b, "}");
        any = true;
    }
    return ok && (!any || textbuf_printf(b, "]"));
}

bool site_json(struct textbuf *b, const struct site *s, const struct site_options *opt)
{
    bool ok;

    if (!s->module) {
        return true;
    }
    ok = put_json(b, "module", s->module->path) &&
         textbuf_printf(b, ",\"vaddr\":\"0x%" PRIx64 "\"", s->vaddr);
    if (ok && s->function) {
        ok = put_json(b, "function", s->function->name) &&
             textbuf_printf(b, ",\"offset\":\"0x%" PRIx64 "\"",
                            s->vaddr - s->function->addr);
    }
    if (ok && s->nr_frames && s->frames[0].file) {
        ok = json_source(b, s->frames[0].file, s->frames[0].line, opt) &&
             json_inlined(b, s, opt);
    }
    return ok;
}

bool site_address(struct textbuf *b, const struct places *places, struct ctr_trace *tr,
                  const struct ctr_moment *at, uint64_t addr)
{
    const struct ctr_thread *t = ctr_trace_thread(tr, at->thread);
    uint64_t ordinal = at->ordinal - (at->ordinal >= t->first + t->insns), until, offset;
    const struct sym_function *fn = NULL;
    struct ctr_diag diag;
    struct ctr_chunk chunk;
    struct place place;

    if (!ctr_trace_find(tr, t->index, ordinal, &chunk, &diag) &&
        places_find(places, t->process, places_time(places, &chunk, ordinal, &until),
                    chunk.end_ns, addr, &place) &&
        place.module->file) {
        fn = symfile_function(place.module->file, place.vaddr);
    }
    if (!fn) {
        return true;
    }
    offset = place.vaddr - (fn->thumb & place.vaddr) - fn->addr;
    return textbuf_printf(b, " <") && put_name(b, fn->name) &&
           (!offset || textbuf_printf(b, "+%" PRIu64, offset)) && textbuf_printf(b, ">");
}
