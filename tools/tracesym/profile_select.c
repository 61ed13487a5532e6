/* SPDX-License-Identifier: MIT */
/* Functions by globs; see profile_select.h. */
#include "profile_select.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/textbuf.h"
#include "graph_priv.h"
#include "nothing.h"
#include "prog.h"
#include "query/function_pattern.h"
#include "query/site.h"

/* Limit of modules that a message lists. */
#define MAX_LISTED 8u

static bool in_module(const struct call_function *f, const struct profile_selection *s)
{
    return !s->nr_modules ||
           (f->module && module_matches(f->module, s->modules, s->nr_modules));
}

static bool named(const struct call_function *f, const struct profile_selection *s)
{
    for (unsigned i = 0; i < s->nr_functions; i++) {
        struct function_pattern p;

        if (function_pattern_split(s->functions[i], &p) &&
            function_pattern_is_module(&p, f->module) &&
            function_pattern_is_source(&p, f->module, f->symbol) &&
            (f->symbol ? symfile_function_matches(f->module->file, f->symbol, p.name)
                       : site_name_fits(p.name, f->name))) {
            return true;
        }
    }
    return !s->nr_functions;
}

/* -------------------------------------------------------------------- reasons */

/* The modules of functions that ran, for a message. */
static bool list_modules(const struct calltree *t, struct textbuf *b)
{
    const struct module *listed[MAX_LISTED];
    unsigned n = 0;

    for (uint32_t i = 0; i < t->nr_functions; i++) {
        const struct module *m = t->functions[i].module;
        bool known = !m || !graph_ran(t, i);

        for (unsigned k = 0; !known && k < n; k++) {
            known = listed[k] == m;
        }
        if (known) {
            continue;
        }
        if (n == MAX_LISTED) {
            return textbuf_printf(b, ", ...");
        }
        listed[n++] = m;
        if (!textbuf_printf(b, "%s", n > 1 ? ", " : "") ||
            !textbuf_printable(b, m->name, strlen(m->name))) {
            return false;
        }
    }
    return n || textbuf_printf(b, "none");
}

/* Reports that no function is selected: by which of the options. */
static int none_selected(const struct calltree *t, const char *path,
                         const struct places *places, const struct profile_selection *s)
{
    struct textbuf modules = {0};
    struct ctr_info info;
    bool some = false;

    ctr_trace_info(t->trace, &info);
    for (uint32_t i = 0; i < t->nr_functions; i++) {
        some |= graph_ran(t, i) && t->functions[i].kind == CALL_FUNCTION &&
                in_module(&t->functions[i], s);
    }
    if (!list_modules(t, &modules) || !textbuf_printf(&modules, "%c", 0)) {
        textbuf_fini(&modules);
        tool_error(PROG, "out of memory");
        return TOOL_FAILED;
    }
    if (!(info.events & CTR_HAS_MAP) && !strcmp(modules.data, "none")) {
        tool_error(PROG,
                   "%s: the trace has no mappings: modules and functions are not known",
                   path);
    } else if (!some) {
        tool_error(PROG,
                   "%s: nothing ran in a module '%s'; modules with code that ran: %s",
                   path, s->modules[0], modules.data);
    } else if (!nothing_named(PROG, path, places, s->functions[0], true)) {
        tool_error(PROG, "%s: no function '%s' ran%s", path, s->functions[0],
                   s->nr_modules ? " in the selected modules" : "");
    }
    textbuf_fini(&modules);
    return TOOL_NOTHING;
}

int profile_select(bool **wanted, const struct calltree *t, const char *path,
                   const struct places *places, const struct profile_selection *s)
{
    bool *v = calloc(t->nr_functions + (size_t)1, sizeof(*v)), some = false;
    int status;

    if (!v) {
        tool_error(PROG, "out of memory");
        return TOOL_FAILED;
    }
    for (uint32_t i = 0; i < t->nr_functions; i++) {
        const struct call_function *f = &t->functions[i];

        v[i] =
            f->kind == CALL_FUNCTION && graph_ran(t, i) && in_module(f, s) && named(f, s);
        some |= v[i];
    }
    status = some ? TOOL_OK : none_selected(t, path, places, s);
    if (status) {
        free(v);
        return status;
    }
    *wanted = v;
    return TOOL_OK;
}
