/* SPDX-License-Identifier: MIT */
/*
 * npc of sparc: the instruction that follows, by which gdb makes steps.  It is in no recording,
 * as it is the one after the pc everywhere but in the delay slot of a branch.  There it is the
 * one that ran next, or the pc that a signal interrupted; where a fault in the slot, or the
 * end of the trace, leaves that open it is not known.
 */
#include "session.h"

#include <elf.h>

#include "cannoli/events.h"

#define AGAIN_MOST 64u

static bool pc_at(struct session *s, uint32_t thread, uint64_t ordinal, uint64_t *pc)
{
    uint64_t time_ns;

    return thread == s->here.at.thread
               ? !position_pc(s, ordinal, pc)
               : !ctr_state_at(s->tr, thread, ordinal, NULL, pc, &time_ns, &s->diag);
}

/* Whether an instruction has a delay slot that runs before what it branches to. */
static bool is_delayed(uint32_t insn)
{
    const unsigned op = insn >> 30, op2 = insn >> 22 & 7, op3 = insn >> 19 & 0x3f;
    const bool annul = insn >> 29 & 1, always = (insn >> 25 & 15) == 8;

    switch (op) {
    case 0:
        /* BPr; those with bit 28 have no slot. */
        return op2 == 3
                   ? !(insn >> 28 & 1)
                   : (op2 == 1 || op2 == 2 || op2 == 5 || op2 == 6) && !(annul && always);
    case 1: /* CALL */
        return true;
    case 2: /* JMPL, RETURN */
        return op3 == 0x38 || op3 == 0x39;
    default:
        return false;
    }
}

/* What a signal interrupted between two instructions. */
static bool interrupted_pc(struct session *s, uint32_t thread, uint64_t ordinal,
                           bool *fault, uint64_t *pc)
{
    *fault = false;
    for (size_t i = 0; !signals_load(s) && i < s->nr_signals; i++) {
        const struct signal_stop *g = &s->signals[i];
        const bool sync = g->info.flags & CTR_SIGNAL_SYNC;

        if (g->thread == thread && g->ordinal + sync == ordinal) {
            *fault = sync;
            *pc = g->info.pc;
            return true;
        }
    }
    return false;
}

/*
 * The last execution of the instruction at a place, or the first one: SAVE and RESTORE run once
 * more after the system has stored or loaded a window for them.
 */
static bool find_run(struct session *s, const struct ctr_thread *t, uint64_t pc,
                     bool last, uint64_t *ordinal)
{
    for (unsigned i = 0; i < AGAIN_MOST; i++) {
        uint64_t other;

        if (last ? *ordinal + 1 >= thread_end(t) : *ordinal == t->first) {
            return true;
        }
        if (!pc_at(s, t->index, last ? *ordinal + 1 : *ordinal - 1, &other)) {
            return false;
        }
        if (other != pc) {
            return true;
        }
        *ordinal += last ? 1 : -UINT64_C(1);
    }
    return false;
}

/* Whether the instruction with an ordinal is in the delay slot of the one before it: 1, 0, or
 * -1: not known. */
static int in_slot(struct session *s, const struct ctr_thread *t, uint64_t pc,
                   uint64_t ordinal)
{
    uint8_t bytes[4], known[4];
    uint64_t before;

    if (ordinal == t->first || !pc_at(s, t->index, ordinal - 1, &before) ||
        before + 4 != pc) {
        return 0;
    }
    if (position_memory(s, before, bytes, known, 4) ||
        !(known[0] && known[1] && known[2] && known[3])) {
        return -1;
    }
    return is_delayed((uint32_t)guest_load(&s->guest, bytes, 4));
}

bool position_npc(struct session *s, uint32_t thread, uint64_t *npc)
{
    const struct ctr_thread *t = ctr_trace_thread(s->tr, thread);
    uint64_t first, last, pc, after = 0;
    bool fault, ends;
    int slot;

    if (s->info.elf_machine != EM_SPARCV9 || position_of(s, thread, &first) ||
        !pc_at(s, thread, first, &pc)) {
        return false;
    }
    last = first;
    if (!find_run(s, t, pc, false, &first) || !find_run(s, t, pc, true, &last)) {
        return false;
    }
    ends = last + 1 >= thread_end(t) || !pc_at(s, thread, last + 1, &after);
    *npc = pc + 4;
    slot = !ends && after == *npc ? 0 : in_slot(s, t, pc, first);
    if (slot <= 0) {
        return !slot;
    }
    if (interrupted_pc(s, thread, last + 1, &fault, npc)) {
        return !fault;
    }
    *npc = after;
    return !ends;
}
