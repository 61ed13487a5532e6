/* SPDX-License-Identifier: MIT */
/* The reason why nothing was found; see nothing.h. */
#include "nothing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/options.h"
#include "common/words.h"
#include "query/function_pattern.h"
#include "query/tasks.h"

/* Limit of ids that a message lists. */
#define MAX_IDS 8u

static int32_t id_of(const struct ctr_trace *tr, bool process, uint32_t i, bool *end)
{
    const struct ctr_process *p = process ? ctr_trace_process(tr, i) : NULL;
    const struct ctr_thread *t = process ? NULL : ctr_trace_thread(tr, i);

    *end = !p && !t;
    return p ? p->pid : t ? t->tid : 0;
}

/* Whether one of the ids is in the trace. */
static bool any_known(const struct ctr_trace *tr, bool process, const int32_t *ids,
                      uint32_t n)
{
    bool end = false;

    for (uint32_t i = 0;; i++) {
        int32_t id = id_of(tr, process, i, &end);

        if (end) {
            return false;
        }
        for (uint32_t k = 0; k < n; k++) {
            if (ids[k] == id) {
                return true;
            }
        }
    }
}

static void no_such(const char *prog, const char *path, const struct ctr_trace *tr,
                    bool process, const int32_t *ids)
{
    char text[16 * (MAX_IDS + 1)] = "none";
    bool end = false;
    size_t at = 0;

    for (uint32_t i = 0; i <= MAX_IDS; i++) {
        int32_t id = id_of(tr, process, i, &end);

        if (end) {
            break;
        }
        at += (size_t)snprintf(text + at, sizeof(text) - at, i ? ", " : "");
        at +=
            (size_t)(i < MAX_IDS ? snprintf(text + at, sizeof(text) - at, "%" PRId32, id)
                                 : snprintf(text + at, sizeof(text) - at, "..."));
    }
    tool_error(prog, "%s: no %s %" PRId32 " in the trace; it has %s", path,
               process ? "process" : "thread", ids[0], text);
}

int nothing_ran(const char *prog, const char *path, struct ctr_trace *tr,
                const struct ctr_filter *filter)
{
    struct ctr_info info;

    if (filter->npid && !any_known(tr, true, filter->pids, filter->npid)) {
        no_such(prog, path, tr, true, filter->pids);
    } else if (filter->ntid && !any_known(tr, false, filter->tids, filter->ntid)) {
        no_such(prog, path, tr, false, filter->tids);
    } else if (tasks_none(tr, filter, prog, path)) {
        return TOOL_NOTHING;
    } else if (filter->npid || filter->ntid || filter->nprocess || filter->nthread ||
               filter->from || filter->to || filter->from_ns || filter->to_ns ||
               filter->privileges || filter->task || filter->context) {
        tool_error(prog, "%s: no instruction was executed in the selected part", path);
    } else {
        ctr_trace_info(tr, &info);
        if (info.state == CTR_UNFINISHED || info.state == CTR_TRUNCATED) {
            return TOOL_OK;
        }
        tool_error(prog, "%s: the trace has no instructions", path);
    }
    return TOOL_NOTHING;
}

/* ------------------------------------------------------------------------ names */

/* A search for the functions of a pattern in one module. */
struct look {
    const struct function_pattern *pattern;
    const struct module *module;
    bool found;
};

static bool on_function(void *arg, const struct sym_function *fn, const char *name)
{
    struct look *look = arg;

    (void)name;
    look->found |= function_pattern_is_source(look->pattern, look->module, fn);
    return !look->found;
}

/* The name of a function of the module that was probably meant, or NULL. */
static const char *nearest(const struct module *m, const char *name)
{
    const struct sym_function *fn = NULL;
    uint32_t n = symfile_functions(m->file, &fn);
    const struct words w = {
        .what = "function", .first = n ? &fn->name : NULL, .stride = sizeof(*fn), .n = n};

    return words_nearest(&w, name, strlen(name));
}

bool nothing_named(const char *prog, const char *path, const struct places *places,
                   const char *text, bool calls)
{
    const struct modset *modset = places ? places_modset(places) : NULL;
    const struct module *bare = NULL;
    const struct sym_scope *inlined = NULL;
    const char *into = NULL;
    const char *meant = NULL;
    unsigned modules = 0;
    struct function_pattern p;

    if (!modset || !function_pattern_split(text, &p) || strpbrk(p.name, "+@") ||
        !strncmp(p.name, "0x", 2)) {
        return false;
    }
    for (uint32_t i = 0; i < modset_count(modset); i++) {
        const struct module *m = modset_module(modset, i);
        struct look look = {&p, m, false};

        if (!function_pattern_is_module(&p, m)) {
            continue;
        }
        if (m->file) {
            symfile_find_functions(m->file, p.name, on_function, &look);
        }
        modules++;
        if (!m->file) {
            bare = bare || m->system ? bare : m;
        } else if (look.found) {
            return false;
        } else if (!inlined && (inlined = symfile_find_inlined(m->file, p.name))) {
            into = symfile_inlined_into(m->file, inlined);
        } else if (!meant && !strpbrk(p.name, "*?[")) {
            meant = nearest(m, p.name);
        }
    }
    if (inlined && !calls) {
        return false;
    }
    if (inlined) {
        tool_error(prog, "%s: '%s' has no calls: it is inlined into '%s'", path, text,
                   into);
    } else if (!modules && *p.module) {
        tool_error(prog, "%s: there is no program or library '%s'", path, p.module);
    } else if (meant) {
        tool_error(prog, "%s: there is no function '%s' in any file (did you mean '%s'?)",
                   path, text, meant);
    } else if (bare) {
        tool_error(prog, "%s: there is no function '%s' in any file; %s has no file here",
                   path, text, bare->name);
    } else {
        tool_error(prog, "%s: there is no function '%s' in any file", path, text);
    }
    return true;
}
