/* SPDX-License-Identifier: MIT */
/* The reason why nothing was found; see nothing.h. */
#include "nothing.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/options.h"

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

int nothing_ran(const char *prog, const char *path, const struct ctr_trace *tr,
                const struct ctr_filter *filter)
{
    struct ctr_info info;

    if (filter->npid && !any_known(tr, true, filter->pids, filter->npid)) {
        no_such(prog, path, tr, true, filter->pids);
    } else if (filter->ntid && !any_known(tr, false, filter->tids, filter->ntid)) {
        no_such(prog, path, tr, false, filter->tids);
    } else if (filter->npid || filter->ntid || filter->nprocess || filter->nthread ||
               filter->from || filter->to || filter->from_ns || filter->to_ns) {
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
