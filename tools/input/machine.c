/* SPDX-License-Identifier: MIT */
/* Threads that are vCPUs; see machine.h. */
#include "input/machine.h"

#include <stdio.h>

const char *tool_thread_text(const struct ctr_info *info, int32_t pid, int32_t tid,
                             char *to)
{
    if (info->machine) {
        snprintf(to, THREAD_TEXT, "cpu%u", (uint32_t)tid - (uint32_t)pid);
    } else {
        snprintf(to, THREAD_TEXT, "%d/%d", pid, tid);
    }
    return to;
}
