/* SPDX-License-Identifier: MIT */
/*
 * Flags of x86 and where conditional branches go: a witness of the flags that QEMU
 * computes only when they are asked for, so that its own debugger shows old ones.
 */
#ifndef ORACLE_FLAGS_H
#define ORACLE_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

enum branch {
    BRANCH_NONE,  /* no conditional branch, or it led elsewhere */
    BRANCH_RIGHT, /* it went where the flags say */
    BRANCH_WRONG,
};

/* `next': pc of the instruction executed behind it.  wide: a 64-bit guest. */
enum branch x86_branch(const uint8_t *code, unsigned len, uint64_t pc, bool wide,
                       uint32_t flags, uint64_t next);

#endif
