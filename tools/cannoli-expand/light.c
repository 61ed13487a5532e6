/* SPDX-License-Identifier: MIT */
/* What a light trace must have; see light.h. */
#include "light.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/options.h"
#include "input/trace.h"

int light_refuse(const struct light *l, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    tool_error(l->prog, "%s: %s", l->path, text);
    return TOOL_FAILED;
}

int light_error(const struct light *l, int error, const struct ctr_diag *diag)
{
    tool_trace_error(l->prog, l->path, error, diag);
    return TOOL_FAILED;
}

int light_open(struct light *l, const char *prog, const char *path)
{
    *l = (struct light){.prog = prog, .path = path};
    if (tool_trace_open(prog, path, 0, &l->tr)) {
        return TOOL_FAILED;
    }
    ctr_trace_info(l->tr, &l->info);
    return l->info.seekable
               ? TOOL_OK
               : light_refuse(l,
                              "a stream cannot be expanded: it is read more than once");
}

void light_close(struct light *l)
{
    ctr_close(l->tr);
}

int light_check(const struct light *l)
{
    const uint32_t needed = CTR_HAS_EXEC | CTR_HAS_SYS | CTR_HAS_MAP | CTR_HAS_THR;
    const struct ctr_info *info = &l->info;

    if (info->machine) {
        return light_refuse(l, "a trace of a machine cannot be expanded");
    }
    if (!(info->events & CTR_HAS_INPUT) || (info->events & needed) != needed) {
        return light_refuse(l, "this is no light trace (cannoli-record --light)");
    }
    if (info->selection[0]) {
        return light_refuse(l, "only a part of the program was recorded (%s)",
                            info->selection);
    }
    if (info->dropped_chunks) {
        return light_refuse(l, "the begin of the execution was dropped (--ring)");
    }
    if (info->threads > 1 && !(info->events & CTR_HAS_ORDER)) {
        return light_refuse(l, "the order of its threads is not in it");
    }
    if (info->threads == 0) {
        return light_refuse(l, "there is no thread in it");
    }
    return TOOL_OK;
}
