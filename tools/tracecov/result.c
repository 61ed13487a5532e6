/* SPDX-License-Identifier: MIT */
/*
 * Writes the result.  Others may be reading the old file, and a failure must not destroy
 * it, so the result is written to a file next to it and then renamed.
 */
#include "result.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/outfile.h"
#include "remarks.h"

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

/* A format for which an empty result is a document all the same. */
static bool written_if_empty(const struct result *r)
{
    return r->format == RESULT_JSON;
}

static int write_drcov(const struct result *r, struct cover *c)
{
    int status = remarks_nothing(r, c, NULL);

    if (!status) {
        drop_modules(r->report, c);
        status = c->nr_modules ? write_file(r, NULL, c) : remarks_none_left(r);
    }
    return status;
}

int result_write(const struct result *r, struct cover *c)
{
    struct report *report = NULL;
    int status, wrote;

    if (r->format == RESULT_DRCOV) {
        status = write_drcov(r, c);
        if (!status) {
            remarks_unmapped(r, c);
        }
        return status;
    }
    status = report_make(&report, c, r->report);
    if (status) {
        if (status != -CTR_E_IO) {
            tool_error(PROG, "%s", ctr_strerror(status));
        }
        return TOOL_FAILED;
    }
    status = remarks_nothing(r, c, report);
    if (!status) {
        remarks_left_out(r, report);
        remarks_unmapped(r, c);
        remarks_generated(r, c);
    }
    if (!status || written_if_empty(r)) {
        wrote = write_file(r, report, c);
        status = wrote ? wrote : status;
    }
    report_free(report);
    return status;
}
