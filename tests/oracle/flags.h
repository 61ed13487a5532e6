/* SPDX-License-Identifier: MIT */
/*
 * Flags of x86 and the directions of conditional branches: a witness for the flags, which
 * QEMU computes only when they are needed, so that its own debugger shows old ones.
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

/* `next': pc of the instruction that ran after it.  wide: a 64-bit guest. */
enum branch x86_branch(const uint8_t *code, unsigned len, uint64_t pc, bool wide,
                       uint32_t flags, uint64_t next);

#endif
