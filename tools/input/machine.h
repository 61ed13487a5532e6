/* SPDX-License-Identifier: MIT */
/*
 * Traces of machines (qemu-system-ARCH): a thread is a vCPU.  Its tid is the pid plus the
 * vCPU's number.
 */
#ifndef TOOLS_MACHINE_H
#define TOOLS_MACHINE_H

#include <stdint.h>

#include "ctr.h"

/* How text names a thread: "pid/tid", or "cpu0"; `to' has THREAD_TEXT bytes.  Returns it. */
#define THREAD_TEXT 32u
const char *tool_thread_text(const struct ctr_info *info, int32_t pid, int32_t tid,
                             char *to);

#endif
