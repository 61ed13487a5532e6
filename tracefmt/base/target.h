/* SPDX-License-Identifier: MIT */
/* QEMU's names of targets. */
#ifndef CTR_TARGET_H
#define CTR_TARGET_H

#include <string.h>

/* Whether it is a whole machine (qemu-system-ARCH): "arm-softmmu". */
static inline int target_is_machine(const char *target)
{
    static const char suffix[] = "-softmmu";
    const size_t len = strlen(target), n = sizeof(suffix) - 1;
    return len > n && !strcmp(target + len - n, suffix);
}

#endif
