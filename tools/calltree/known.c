/* SPDX-License-Identifier: MIT */
/* Whether calls can be found in a trace; see known.h. */
#include "known.h"

#include <stdio.h>

#include "cannoli/isa.h"
#include "common/options.h"
#include "input/trace.h"

int calls_known(const struct ctr_trace *tr, char why[CALLS_WHY])
{
    static const char *const single[] = {"--once", "--coverage", "--loads", "--stores",
                                         "--opcode"};
    static const uint8_t bytes[4];
    struct ctr_info info;
    uint32_t flags;

    ctr_trace_info(tr, &info);
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
        if (tool_selected_by(&info, single[i])) {
            snprintf(why, CALLS_WHY,
                     "single instructions were recorded (%s): which calls were made is "
                     "not known",
                     info.selection);
            return TOOL_NOTHING;
        }
    }
    if (!cannoli_isa_flags(info.elf_machine, 0, info.big_endian, bytes, sizeof(bytes),
                           &flags)) {
        snprintf(why, CALLS_WHY, "which instructions of %s call and return is not known",
                 info.target);
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

int calls_are_known(const struct ctr_trace *tr, const char *prog, const char *path)
{
    char why[CALLS_WHY];
    const int status = calls_known(tr, why);

    if (status) {
        tool_error(prog, "%s: %s", path, why);
    }
    return status;
}
