/* SPDX-License-Identifier: MIT */
/*
 * Steps that gdb makes by itself: over watchpoints, and by breakpoints.
 *
 * Where processors stop before the access that a watchpoint waits for, gdb steps once more
 * in the same direction before it looks at the memory (its have_nonsteppable_watchpoint).
 * A stop after the access would be shown an instruction too late, or, backward, too early:
 * so the program stops with the instruction still ahead, and the next step, or whatever
 * goes on in this direction, is over it without a stop.
 *
 * Of some targets gdb makes each step by a breakpoint at the next instruction.  If one with a
 * condition is there already it sets no other one, though it needs the stop in any case.  gdb
 * evaluates the condition, too.  Of mips that is beyond the delay slot of a branch: no stop
 * is in a slot, from where gdb would miss the next instruction.
 */
#include "session.h"

#include <elf.h>

static bool is_stepped_over(const struct session *s)
{
    switch (s->info.elf_machine) {
    case EM_ARM:
    case EM_AARCH64:
    case EM_MIPS:
    case EM_RISCV:
    case EM_PPC:
    case EM_PPC64:
    case EM_PARISC:
        return true;
    default:
        return false;
    }
}

bool stepover_in_slot(struct session *s)
{
    const struct ctr_thread *t = ctr_trace_thread(s->tr, s->here.at.thread);
    const uint64_t here = s->here.at.ordinal;
    uint64_t pc, before, after;

    if (s->info.elf_machine != EM_MIPS || s->info.machine || here == t->first ||
        here + 1 >= thread_end(t) || position_pc(s, here - 1, &before) ||
        position_pc(s, here + 1, &after) || position_pc(s, here, &pc)) {
        return false;
    }
    /* Of a branch that is not taken, the slot is as good as any place. */
    return pc - before <= 4 && after - pc > 4;
}

/* To the branch of the slot where the position may be. */
static int leave_slot(struct session *s)
{
    return stepover_in_slot(s) ? position_go(s, s->here.at.thread, s->here.at.ordinal - 1)
                               : 0;
}

int stepover_stop(struct session *s, bool back)
{
    const struct stepover after = {.pending = true,
                                   .back = back,
                                   .ordinal = s->here.at.ordinal,
                                   .phase = s->here.phase,
                                   .passed = s->here.passed,
                                   .passed_back = s->here.passed_back};
    int ret;

    if (!is_stepped_over(s)) {
        return 0;
    }
    ret = position_go(s, s->here.at.thread, back ? after.ordinal + 1 : after.ordinal - 1);
    ret = ret || back ? ret : leave_slot(s);
    if (!ret) {
        s->here.stepover = after;
    }
    return ret;
}

int stepover_go(struct session *s, bool back, bool *done)
{
    const struct stepover after = s->here.stepover;
    int ret;

    *done = after.pending && after.back == back;
    if (!*done) {
        return 0;
    }
    ret = position_go(s, s->here.at.thread, after.ordinal);
    ret = ret || !back ? ret : leave_slot(s);
    if (!ret) {
        s->here.phase = after.phase;
        s->here.passed = after.passed;
        s->here.passed_back = after.passed_back;
    }
    return ret;
}

bool stepover_is_step(const struct session *s, bool back, uint32_t thread,
                      uint64_t ordinal)
{
    uint64_t most = 0;

    switch (s->info.elf_machine) {
    case EM_MIPS:
        most = 2; /* a branch and its slot */
        break;
    case EM_RISCV:
    case EM_SPARC:
    case EM_SPARCV9:
    case EM_LOONGARCH:
        most = 1;
        break;
    }
    return !back && thread == s->here.at.thread && ordinal - s->here.at.ordinal <= most;
}
