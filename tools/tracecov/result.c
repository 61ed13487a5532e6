/* SPDX-License-Identifier: MIT */
/*
 * Writes the result.  Others may be reading the old file, and a failure must not destroy
 * it, so the result is written to a file next to it and then renamed.
 */
#include "result.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"
#include "common/outfile.h"

static const char *const format_names[] = {
    [RESULT_LCOV] = "lcov",  [RESULT_LCOV2] = "lcov2", [RESULT_COBERTURA] = "cobertura",
    [RESULT_JSON] = "json",  [RESULT_TEXT] = "text",   [RESULT_HTML] = "html-summary",
    [RESULT_DRCOV] = "drcov"};
const struct words result_format_words = WORDS_OF_STRINGS("format", format_names);

bool result_format_parse(const char *name, enum result_format *format)
{
    size_t i = words_find(&result_format_words, name, strlen(name));

    *format = (enum result_format)i;
    return i < result_format_words.n;
}

/* ------------------------------------------------------------------ formats */

/* For a format that does not use a report: leaves out modules that are not selected. */
static void drop_modules(const struct report_options *o, struct cover *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->nr_modules; i++) {
        struct cover_module m = c->modules[i];
        if ((o->nr_modules && !module_matches(m.module, o->modules, o->nr_modules)) ||
            (o->nr_include && !module_matches(m.module, o->include, o->nr_include)) ||
            module_matches(m.module, o->exclude, o->nr_exclude)) {
            free(m.insns);
            free(m.blocks);
        } else {
            c->modules[n++] = m;
        }
    }
    c->nr_modules = n;
}

/* A list of names for a message, as many as fit. */
struct names {
    char text[400];
    size_t len, n;
};

static void add_name(struct names *v, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (v->len < sizeof(v->text)) {
        v->len +=
            (size_t)snprintf(v->text + v->len, sizeof(v->text) - v->len, "%s%s",
                             v->n ? ", " : "", slash && slash[1] ? slash + 1 : path);
    }
    v->n++;
}

static bool has_lines(const struct modset *set, uint32_t module)
{
    const struct symfile *file = modset_module(set, module)->file;
    struct symfile_info info = {0};

    if (file) {
        symfile_info(file, &info);
    }
    return info.has_lines;
}

static const char *why_no_source(const struct cover *c)
{
    return !c->total ? "no instruction that ran is selected"
           : c->total == c->elsewhere
               ? "no mapping of the trace says which files the code is of"
               : "--module, --include, --exclude and --existing leave none";
}

/* lcov has sources only: reports what is left out and what genhtml will miss.  False:
 * nothing is left. */
static bool check_sources(const struct result *r, const struct report *report)
{
    struct names no_lines = {.text = ""};
    const char *first = NULL; /* the first missing one */
    size_t sources = 0, missing = 0;

    for (size_t i = 0; i < report->nr_sources; i++) {
        const struct report_source *s = &report->sources[i];
        if (!s->is_module) {
            sources++;
            if (access(s->path, R_OK)) {
                first = first ? first : s->path;
                missing++;
            }
        } else if (!has_lines(report->cover->modset, s->module)) {
            add_name(&no_lines, s->path);
        }
    }
    if (!sources && no_lines.n) {
        tool_error(PROG,
                   "nothing with line information ran: %s; --listing DIR makes listings "
                   "of what has none, other formats show functions",
                   no_lines.text);
    } else if (!sources) {
        tool_error(PROG, "no source lines found: %s", why_no_source(report->cover));
    }
    if (sources && no_lines.n && !r->quiet) {
        tool_error(
            PROG,
            "no line information for %s%s; --listing DIR makes listings of what has "
            "none",
            no_lines.text, no_lines.len >= sizeof(no_lines.text) ? "..." : "");
    }
    if (missing && !r->quiet) {
        tool_error(PROG,
                   "%zu of %zu sources cannot be read here, where genhtml will stop "
                   "(%s%s); --existing leaves them out, --substitute-path finds them",
                   missing, sources, first, missing > 1 ? ", ..." : "");
    }
    return sources != 0;
}

/* Returns the same as the output_ functions. */
static int write_report(const struct result *r, const struct report *report, FILE *file)
{
    switch (r->format) {
    case RESULT_LCOV:
        return output_lcov(report, file);
    case RESULT_LCOV2:
        return output_lcov2(report, file);
    case RESULT_COBERTURA:
        return output_cobertura(report, file);
    case RESULT_JSON:
        return output_json(report, file);
    case RESULT_TEXT:
        return output_text(report, r->text, file);
    case RESULT_HTML:
        return output_html(report, file);
    default:
        return -EINVAL;
    }
}

static int write_file(const struct result *r, const struct report *report,
                      struct cover *cover)
{
    struct outfile out;
    const char *name =
        r->output && strcmp(r->output, "-") ? r->output : "standard output";
    int ret = outfile_open(&out, r->output);

    if (!ret) {
        ret = report ? write_report(r, report, out.file) : output_drcov(cover, out.file);
        ret = outfile_close(&out, ret);
    }
    if (ret == OUTPUT_REFUSED) {
        return TOOL_FAILED;
    }
    if (ret && !(ret == -EPIPE && !r->output)) {
        tool_error(PROG, "%s: %s", name, strerror(-ret));
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

int result_write(const struct result *r, struct cover *c)
{
    struct report *report = NULL;
    int status;

    if (r->format == RESULT_DRCOV) {
        drop_modules(r->report, c);
        return write_file(r, NULL, c);
    }
    status = report_make(&report, c, r->report);
    if (status) {
        if (status != -CTR_E_IO) {
            tool_error(PROG, "%s", ctr_strerror(status));
        }
        return TOOL_FAILED;
    }
    if ((r->format == RESULT_LCOV || r->format == RESULT_LCOV2) &&
        !check_sources(r, report)) {
        status = TOOL_FAILED;
    } else {
        status = write_file(r, report, c);
    }
    report_free(report);
    return status;
}
