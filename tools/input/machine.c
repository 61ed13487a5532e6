/* SPDX-License-Identifier: MIT */
/* Threads that are vCPUs; see machine.h. */
#include "input/machine.h"

#include <stdio.h>
#include <string.h>

bool tool_is_machine(const struct ctr_info *info)
{
    static const char suffix[] = "-softmmu";
    const size_t len = strlen(info->target), n = sizeof(suffix) - 1;

    return len > n && !strcmp(info->target + len - n, suffix);
}

const char *tool_thread_text(const struct ctr_info *info, int32_t pid, int32_t tid,
                             char *to)
{
    if (tool_is_machine(info)) {
        snprintf(to, THREAD_TEXT, "cpu%u", (uint32_t)tid - (uint32_t)pid);
    } else {
        snprintf(to, THREAD_TEXT, "%d/%d", pid, tid);
    }
    return to;
}
