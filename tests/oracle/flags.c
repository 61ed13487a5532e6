/* SPDX-License-Identifier: MIT */
#include "flags.h"

#define CF 0x001u
#define PF 0x004u
#define ZF 0x040u
#define SF 0x080u
#define OF 0x800u

/* Where a condition code of x86 (0..15) leads. */
static bool holds(unsigned code, uint32_t flags)
{
    bool sign = !(flags & SF) != !(flags & OF);
    bool yes = false;

    switch (code >> 1) {
    case 0:
        yes = flags & OF;
        break;
    case 1:
        yes = flags & CF;
        break;
    case 2:
        yes = flags & ZF;
        break;
    case 3:
        yes = flags & (CF | ZF);
        break;
    case 4:
        yes = flags & SF;
        break;
    case 5:
        yes = flags & PF;
        break;
    case 6:
        yes = sign;
        break;
    case 7:
        yes = sign || (flags & ZF);
        break;
    }
    return yes != (code & 1);
}

enum branch x86_branch(const uint8_t *code, unsigned len, uint64_t pc, bool wide,
                       uint32_t flags, uint64_t next)
{
    uint64_t mask = wide ? UINT64_MAX : UINT32_MAX;
    uint64_t next_pc = (pc + len) & mask, target;
    unsigned at = 0, condition;

    while (at + 2 < len && (code[at] == 0x2e || code[at] == 0x3e || code[at] == 0xf2)) {
        at++;
    }
    if (len - at == 2 && (code[at] & 0xf0) == 0x70) {
        condition = code[at] & 15;
        target = next_pc + (uint64_t)(int64_t)(int8_t)code[at + 1];
    } else if (len - at == 6 && code[at] == 0x0f && (code[at + 1] & 0xf0) == 0x80) {
        uint32_t rel = code[at + 2] | (uint32_t)code[at + 3] << 8 |
                       (uint32_t)code[at + 4] << 16 | (uint32_t)code[at + 5] << 24;

        condition = code[at + 1] & 15;
        target = next_pc + (uint64_t)(int64_t)(int32_t)rel;
    } else {
        return BRANCH_NONE;
    }
    target &= mask;
    if (target == next_pc || (next != target && next != next_pc)) {
        return BRANCH_NONE; /* a signal handler */
    }
    return holds(condition, flags) == (next == target) ? BRANCH_RIGHT : BRANCH_WRONG;
}
