/* SPDX-License-Identifier: MIT */
/*
 * Says why a result is empty, and what it leaves out.  An empty result without a reason
 * looks like code that never ran.
 */
#include "tracecov/remarks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"
#include "tracecov/function_choice.h"

/* A list for a message, as much of it as fits. */
struct names {
    char text[400];
    size_t len, n;
};

static void add_text(struct names *v, const char *text)
{
    if (v->len < sizeof(v->text)) {
        v->len += (size_t)snprintf(v->text + v->len, sizeof(v->text) - v->len, "%s%s",
                                   v->n ? ", " : "", text);
    }
    v->n++;
}

static const char *list(const struct names *v)
{
    return v->n ? v->text : "none";
}

static const char *cut(const struct names *v)
{
    return v->len >= sizeof(v->text) ? "..." : "";
}

static void add_path(struct names *v, const char *path)
{
    const char *slash = strrchr(path, '/');

    add_text(v, slash && slash[1] ? slash + 1 : path);
}

static void add_ids(struct names *v, const int32_t *ids, size_t n)
{
    char text[16];

    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof(text), "%" PRId32, ids[i]);
        add_text(v, text);
    }
}

static struct names modules_of(const struct cover *c)
{
    struct names v = {.text = ""};

    for (size_t i = 0; i < c->nr_modules; i++) {
        add_path(&v, c->modules[i].module->path);
    }
    return v;
}

static const char *these(const struct cover *c)
{
    return c->traces == 1 ? "the trace has" : "the traces have";
}

/* ------------------------------------------------------- nothing was executed */

static int no_such_id(const struct cover *c, const char *what, const char *option,
                      const struct ctr_filter *f, bool threads)
{
    const struct cover_ids *known = threads ? &c->tids : &c->pids;
    struct names given = {.text = ""}, have = {.text = ""};

    add_ids(&given, threads ? f->tids : f->pids, threads ? f->ntid : f->npid);
    add_ids(&have, known->v, known->n < COVER_IDS ? known->n : COVER_IDS);
    tool_error(PROG, "no %s matches %s %s%s; %s %s%s", what, option, given.text,
               cut(&given), these(c), list(&have), known->n > COVER_IDS ? ", ..." : "");
    return TOOL_NOTHING;
}

static int nothing_executed(const struct cover_filter *f, const struct cover *c)
{
    if (f->events.npid && !c->pids.found) {
        return no_such_id(c, "process", "--pid", &f->events, false);
    }
    if (f->events.ntid && !c->tids.found) {
        return no_such_id(c, "thread", "--thread", &f->events, true);
    }
    if (f->events.from_ns || f->events.to_ns) {
        tool_error(PROG, "no instruction was executed in the chosen time; %s %.6f s",
                   these(c), (double)c->longest_ns / 1e9);
    } else if (f->events.from || f->events.to) {
        tool_error(PROG,
                   "no instruction has a chosen ordinal; the longest thread has %" PRIu64
                   " instructions",
                   c->most_insns);
    } else if (f->events.npid || f->events.ntid) {
        tool_error(PROG, "the chosen processes and threads executed no instruction");
    } else if (f->events.privileges) {
        tool_error(PROG, "no code of the chosen privilege was executed");
    } else if (f->events.task || f->events.context) {
        tool_error(PROG, "the chosen tasks and address spaces executed no instruction");
    } else {
        tool_error(PROG, "%s no instructions", these(c));
    }
    return TOOL_NOTHING;
}

/* ------------------------------------------------------- nothing is selected */

static int no_modules(const struct cover *c)
{
    if (c->system) {
        tool_error(PROG,
                   "no programs or libraries found: name the machine's kernel or "
                   "firmware with --elf or --kallsyms, the folder of its programs' files "
                   "with --sysroot");
    } else if (c->unmapped == c->traces) {
        tool_error(PROG,
                   "no programs or libraries found: %s no mappings; name the programs "
                   "with --elf, or record with the events `map'",
                   these(c));
    } else {
        tool_error(PROG,
                   "no programs or libraries found: by the mappings of the trace%s all "
                   "code that ran is in no file; -f text --disassembly shows it",
                   c->traces == 1 ? "" : "s");
    }
    return TOOL_NOTHING;
}

static bool any_module(const struct report_options *o, const struct cover *c)
{
    for (size_t i = 0; i < c->nr_modules; i++) {
        if (module_matches(c->modules[i].module, o->modules, o->nr_modules)) {
            return true;
        }
    }
    return false;
}

static int no_such_module(const struct report_options *o, const struct cover *c)
{
    struct names given = {.text = ""}, have = modules_of(c);

    for (unsigned i = 0; i < o->nr_modules; i++) {
        add_text(&given, o->modules[i]);
    }
    tool_error(PROG, "no program or library matches --module %s%s; %s %s%s", given.text,
               cut(&given), these(c), have.text, cut(&have));
    return TOOL_NOTHING;
}

int remarks_none_left(const struct result *r)
{
    const struct report_options *o = r->report;

    tool_error(PROG, "no source file, program or library is selected: %s%s%sleave%s none",
               o->nr_include ? "--include " : "", o->nr_exclude ? "--exclude " : "",
               o->existing ? "--existing " : "",
               (o->nr_include != 0) + (o->nr_exclude != 0) + o->existing == 1 ? "s" : "");
    return TOOL_NOTHING;
}

static const struct module *module_of(const struct report *r, uint32_t index)
{
    size_t i = (size_t)(report_module_of(r, index) - r->modules);

    return i < r->cover->nr_modules ? r->cover->modules[i].module : NULL;
}

static bool any_function(const struct result *r, const struct report *report)
{
    const char *pattern = r->text->function;

    for (size_t i = 0; i < report->nr_sources; i++) {
        const struct report_source *s = &report->sources[i];

        for (size_t j = 0; j < s->nr_functions; j++) {
            const struct report_function *f = &s->functions[j];

            if (function_chosen(pattern, module_of(report, f->module),
                                s->is_module ? NULL : s->path, f->name, f->linkage)) {
                return true;
            }
        }
    }
    for (size_t i = 0; r->text->disassembly && i < report->cover->nr_modules; i++) {
        const struct module *m = report->cover->modules[i].module;
        const struct sym_function *v = NULL;
        uint32_t n =
            m->file && report->modules[i].selected ? symfile_functions(m->file, &v) : 0;

        for (uint32_t j = 0; j < n; j++) {
            const char *path =
                symfile_file(m->file, symfile_function_file(m->file, &v[j]));

            if (function_chosen(pattern, m, path, v[j].name, v[j].linkage)) {
                return true;
            }
        }
    }
    return false;
}

static int no_such_function(const struct result *r, const struct report *report)
{
    const struct report_totals *t = &report->totals;
    uint64_t n = t->functions + report->bare.functions;
    struct names have = {.text = ""};

    for (size_t i = 0; i < report->cover->nr_modules; i++) {
        if (report->modules[i].selected) {
            add_path(&have, report->cover->modules[i].module->path);
        }
    }
    tool_error(PROG, "no function matches --function %s, of %" PRIu64 " of %s%s",
               r->text->function, n, list(&have), cut(&have));
    return TOOL_NOTHING;
}

/* ------------------------------------------------------------ without lines */

/* Modules without line information. */
struct lineless {
    struct names bare;    /* their files have none */
    struct names missing; /* there is no file */
    const char *hint;     /* how to find that of one of `bare', or "" */
};

static struct lineless without_lines(const struct report *report)
{
    struct lineless l = {.bare.text = "", .missing.text = "", .hint = ""};

    for (size_t i = 0; i < report->nr_sources; i++) {
        const struct report_source *s = &report->sources[i];
        struct symfile_info info;
        const struct symfile *file;

        if (!s->is_module) {
            continue;
        }
        file = modset_module(report->cover->modset, s->module)->file;
        if (!file) {
            add_path(&l.missing, s->path);
            continue;
        }
        symfile_info(file, &info);
        if (!info.has_lines) {
            add_path(&l.bare, s->path);
            l.hint =
                info.lacks_debug ? " (no debug file was found, see --debug-dir)" : l.hint;
        }
    }
    return l;
}

static bool needs_lines(enum result_format f)
{
    return f == RESULT_LCOV || f == RESULT_LCOV2 || f == RESULT_COBERTURA;
}

static int no_lines(const struct result *r, const struct report *report)
{
    struct lineless l = without_lines(report);

    if (l.bare.n) {
        tool_error(PROG,
                   "no source lines found: no line information for %s%s%s; --listing DIR "
                   "makes listings of what has none, for genhtml too; -f text and -f "
                   "html-summary show functions",
                   l.bare.text, cut(&l.bare), l.hint);
    } else if (l.missing.n) {
        tool_error(PROG,
                   "no source lines found: no file for %s%s; name it with --elf or "
                   "--sysroot",
                   l.missing.text, cut(&l.missing));
    } else {
        return remarks_none_left(r);
    }
    return TOOL_NOTHING;
}

void remarks_left_out(const struct result *r, const struct report *report)
{
    const char *first = NULL; /* the first missing one */
    size_t missing = 0;
    struct lineless l;

    if (r->quiet) {
        return;
    }
    l = without_lines(report);
    if (!needs_lines(r->format)) {
        bool html = r->format == RESULT_HTML;

        if (!report->nr_files && l.bare.n && (*l.hint || html)) {
            tool_error(PROG, "no line information for %s%s%s%s", l.bare.text,
                       cut(&l.bare), l.hint,
                       html ? ": the page shows functions; -f lcov --listing DIR and "
                              "genhtml make pages of instructions"
                            : "");
        }
        return;
    }
    if (l.bare.n) {
        tool_error(
            PROG,
            "no line information for %s%s%s: not in the result; --listing DIR makes "
            "listings of what has none",
            l.bare.text, cut(&l.bare), l.hint);
    }
    for (size_t i = 0; r->format != RESULT_COBERTURA && i < report->nr_files; i++) {
        const char *path = report->sources[i].path; /* files are first */

        if (access(path, R_OK)) {
            first = first ? first : path;
            missing++;
        }
    }
    if (missing) {
        tool_error(PROG,
                   "%zu of %zu sources cannot be read here, where genhtml will stop "
                   "(%s%s); --existing leaves them out, --substitute-path finds them",
                   missing, report->nr_files, first, missing > 1 ? ", ..." : "");
    }
}

void remarks_unmapped(const struct result *r, const struct cover *c)
{
    if (!c->unmapped || r->quiet || r->elfs) {
        return;
    }
    if (c->system && !c->nr_modules) {
        tool_error(PROG, "%s%s: " PLACES_MACHINE_UNKNOWN, c->unmapped_path,
                   c->unmapped > 1 ? " and others" : "");
    } else if (!c->system) {
        tool_error(PROG,
                   "%s%s: recorded without mappings: which programs and libraries ran is "
                   "not known (--elf)",
                   c->unmapped_path, c->unmapped > 1 ? " and others" : "");
    }
}

void remarks_generated(const struct result *r, const struct cover *c)
{
    struct names v = {.text = ""};

    for (size_t i = 0; i < c->nr_modules; i++) {
        if (c->modules[i].module->generated) {
            add_path(&v, c->modules[i].module->path);
        }
    }
    if (v.n && !r->quiet) {
        tool_error(
            PROG,
            "%s%s: of code that no ELF file has only what ran is known: totals have no "
            "other instructions or functions of it",
            v.text, cut(&v));
    }
}

int remarks_nothing(const struct result *r, const struct cover *c,
                    const struct report *report)
{
    const struct report_options *o = r->report;

    if (!c->total) {
        return nothing_executed(r->filter, c);
    }
    if (c->elsewhere_code.nr_insns) {
        return TOOL_OK; /* the result has that at least */
    }
    if (!c->nr_modules) {
        return no_modules(c);
    }
    if (o->nr_modules && !any_module(o, c)) {
        return no_such_module(o, c);
    }
    if (!report) {
        return TOOL_OK;
    }
    if (!report->nr_sources) {
        return remarks_none_left(r);
    }
    if (r->text->function && !any_function(r, report)) {
        return no_such_function(r, report);
    }
    return needs_lines(r->format) && !report->nr_files ? no_lines(r, report) : TOOL_OK;
}
