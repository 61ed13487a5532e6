/* SPDX-License-Identifier: MIT */
/* Messages and exit statuses for libctr's errors and the state of a trace. */
#include "input/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/mappings.h"
#include "common/options.h"

static const char *display_name(const char *path)
{
    return strcmp(path, "-") ? path : "standard input";
}

void tool_trace_error(const char *prog, const char *path, int error,
                      const struct ctr_diag *diag)
{
    char where[40] = "";

    if (diag->off != CTR_NO_OFF && diag->code != CTR_E_IO &&
        diag->code != CTR_E_NOTTRACE) {
        snprintf(where, sizeof(where), " (at offset %" PRIu64 ")", diag->off);
    }
    tool_error(prog, "%s: %s%s", display_name(path),
               diag->code && diag->text[0] ? diag->text : ctr_strerror(error), where);
}

int tool_trace_open(const char *prog, const char *path, unsigned flags,
                    struct ctr_trace **tr)
{
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int ret = ctr_open(tr, path, flags, &diag);

    if (ret < 0) {
        tool_trace_error(prog, path, ret, &diag);
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

int tool_events_status(const char *prog, const char *path, const char *what, int error,
                       const struct ctr_diag *diag)
{
    char where[40] = "";

    if (!error) {
        return TOOL_OK;
    }
    if (diag->off != CTR_NO_OFF) {
        snprintf(where, sizeof(where), " (at offset %" PRIu64 ")", diag->off);
    }
    tool_error(prog, "%s: %s: %s%s; modules may be wrong from there on",
               display_name(path), what,
               diag->code && diag->text[0] ? diag->text : ctr_strerror(error), where);
    return TOOL_PARTIAL;
}

int tool_mappings_status(const char *prog, const char *path, const struct mappings *m)
{
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int error = mappings_error(m, &diag);

    return tool_events_status(prog, path, "mappings", error, &diag);
}

int tool_trace_status(const char *prog, const char *path, const struct ctr_trace *tr,
                      bool quiet)
{
    struct ctr_info info;
    struct ctr_diag damage = {.off = CTR_NO_OFF};
    unsigned lost = 0;
    const struct ctr_process *p, *first = NULL;

    ctr_trace_info(tr, &info);
    if (info.state == CTR_UNFINISHED || info.state == CTR_TRUNCATED) {
        ctr_trace_damage(tr, &damage);
        if (quiet) {
            return TOOL_PARTIAL;
        }
        if (damage.code) {
            tool_error(prog, "%s: %s at offset %" PRIu64 ": %s; showing the part before",
                       display_name(path), tool_state_name(info.state), damage.off,
                       damage.text);
        } else {
            tool_error(prog, "%s: the recording was not finished; showing what there is",
                       display_name(path));
        }
        return TOOL_PARTIAL;
    }
    for (uint32_t i = 0; (p = ctr_trace_process(tr, i)) != NULL; i++) {
        if (p->end_reason == CTR_END_KILLED) {
            first = first ? first : p;
            lost++;
        }
    }
    if (lost && !quiet) {
        char more[40] = "";
        if (lost > 1) {
            snprintf(more, sizeof(more), " and %u more", lost - 1);
        }
        tool_error(prog, "%s: process %d%s was killed: its last events may be missing",
                   display_name(path), first->pid, more);
    }
    return lost ? TOOL_PARTIAL : TOOL_OK;
}

const char *tool_state_name(enum ctr_state state)
{
    static const char *const names[] = {"complete", "unfinished", "truncated",
                                        "streaming"};

    return (unsigned)state < 4 ? names[state] : "unknown";
}

bool tool_selected_by(const struct ctr_info *info, const char *option)
{
    size_t n = strlen(option);

    for (const char *p = info->selection; (p = strstr(p, option)) != NULL; p += n) {
        if ((p == info->selection || p[-1] == ' ') &&
            (p[n] == ' ' || p[n] == '=' || !p[n])) {
            return true;
        }
    }
    return false;
}

void tool_note_part(const char *prog, const char *path, const struct ctr_trace *tr,
                    const char *meaning)
{
    struct ctr_info info;

    ctr_trace_info(tr, &info);
    if (info.selection[0]) {
        tool_error(prog, "%s: only a part was recorded (%s): %s", path, info.selection,
                   meaning);
    } else if (info.dropped_insns) {
        tool_error(prog,
                   "%s: only the end of the recording was kept (%" PRIu64
                   " instructions were dropped): %s",
                   path, info.dropped_insns, meaning);
    }
}
