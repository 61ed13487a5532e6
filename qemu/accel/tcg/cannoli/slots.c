/*
 * Execution tracing into shared memory: the accesses of a block
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Part of the pass over a block, see pass.c: each access, and each register
 * that an instruction writes, gets a slot in the block's definition.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/memopidx.h"
#include "tcg/tcg.h"
#include "tcg/tcg-internal.h"
#include "regs.h"

static Slot *add_slot(CannoliPass *p, TCGContext *s, int insn, unsigned access)
{
    Slot *sl;

    if (p->nr_slots == CTR_MAX_BLOCK_SLOTS) {
        cannoli_too_complex(p, s);
    }
    sl = &p->slots[p->nr_slots++];
    *sl = (Slot){
        .insn = insn,
        .access = access,
        .units = cannoli_slot_units(access),
    };
    p->units += sl->units;
    return sl;
}

/* The slots of the registers that an instruction writes, after its others. */
static void add_reg_slots(CannoliPass *p, TCGContext *s, int insn)
{
    p->insns[insn].uncond = p->nr_uncond;
    for (int k = 0; k < p->insns[insn].writes; k++) {
        int reg = cannoli_regs_written(p, insn, k);
        Slot *sl = add_slot(p, s, insn,
                            CTR_ACCESS_REG | ctz32(cannoli_regs[reg].size));

        sl->group = reg;
        p->nr_uncond++;
    }
}

/*
 * Code that is not straight: may an instruction still be simple if all of its
 * accesses come before it?
 */
static bool harmless(CannoliPass *p, const OpInfo *o)
{
    TCGLabel *l = cannoli_branch_label(o->op);

    if (o->op->opc == INDEX_op_call) {
        return cannoli_is_lookup(o->op) && !o->sets;
    }
    if (l) {
        /* Shared stubs know their origin from CannoliCPU.insn only. */
        int pos = p->labels[l->id].pos;

        return pos >= 0 && p->ops[pos].insn == o->insn;
    }
    return true;
}

/* Step 4: number slots and groups, give every op its place. */
void cannoli_find_slots(CannoliPass *p, TCGContext *s, bool mem)
{
    int depth = 0, insn = -1, uncond = 0, group = -1, goto_idx = -1;

    p->nr_slots = p->nr_uncond = p->nr_groups = 0;
    p->units = 0;
    for (int i = 0; i < p->nr_ops; i++) {
        p->ops[i].slot = p->ops[i].done = -1;
    }
    for (int i = 0; i < p->nr_insns; i++) {
        p->insns[i].begun = p->insns[i].over = false;
    }
    for (int i = 0; i < p->nr_ops; i++) {
        OpInfo *o = &p->ops[i];
        TCGOp *op = o->op;
        InsnInfo *in;
        bool store;

        depth += p->cover[i];
        if (op->opc == INDEX_op_set_label) {
            LabelInfo *l = &p->labels[arg_label(op->args[0])->id];

            if (o->stub == i && l->sources == 1) {
                uncond = p->ops[l->source].uncond;
            }
        } else if (op->opc == INDEX_op_insn_start) {
            if (insn >= 0) {
                add_reg_slots(p, s, insn);
            }
            insn++;
            uncond = p->nr_uncond;
        }
        o->uncond = uncond;
        if (o->insn >= 0 &&
            (cannoli_ends_bb(op) || cannoli_is_real_call(op) || o->sets)) {
            in = &p->insns[o->insn];
            in->over = true;
            if (!in->begun || in->loops || !harmless(p, o)) {
                in->simple = false;
            }
        }
        if (cannoli_ends_bb(op)) {
            group = -1;
        }
        if (mem && o->insn >= 0 && cannoli_is_access(op, &store)) {
            in = &p->insns[o->insn];
            in->begun = true;
            in->simple &= !in->over;
        }
        if (mem && cannoli_is_access(op, &store) && !o->second &&
            (o->insn < 0 || p->insns[o->insn].recorded)) {
            MemOpIdx oi = op->args[cannoli_addr_arg(op) + 1];
            MemOp mop = get_memop(oi);
            unsigned access = mop & MO_SIZE;
            OpInfo *done = o;
            Slot *sl;

            if (o->insn < 0 || o->insn != insn) {
                cannoli_too_complex(p, s);
            }
            if (o->silent) {
                p->insns[insn].left_out = true;
                continue;
            }
            for (int j = i + 1; j < p->nr_ops && j < i + 8; j++) {
                bool st2;

                if (cannoli_is_access(p->ops[j].op, &st2)) {
                    if (st2 == store && p->ops[j].second) {
                        access++;
                        done = &p->ops[j];
                    }
                    break;
                }
            }
            if (store) {
                access |= CTR_ACCESS_STORE;
            }
            if (((mop & MO_BSWAP) || o->swap) != HOST_BIG_ENDIAN) {
                access |= CTR_ACCESS_BE;
            }
            if (cannoli_choosing) {
                int chosen = cannoli_choose_access(p, insn, access);

                if (chosen < 0) {
                    p->insns[insn].left_out = true;
                    continue;
                }
                access = chosen;
            }
            o->slot = done->done = p->nr_slots;
            sl = add_slot(p, s, insn, access);
            sl->mmu =
                cannoli_ctl->events & CTR_EVENTS_PHYS ? get_mmuidx(oi) : 0;
            if (depth > 0 || p->insns[insn].loops) {
                if (group < 0 || p->slots[group].insn != insn) {
                    group = p->nr_slots;
                    sl->first = true;
                    p->nr_groups++;
                }
                sl->group = p->nr_groups;
            } else {
                p->nr_uncond++;
                uncond++;
            }
        }
        o->exit = cannoli_is_exit(op, &goto_idx);
    }
    if (insn >= 0) {
        add_reg_slots(p, s, insn);
    }
    /* Instructions' own counts. */
    for (int i = 0; i < p->nr_insns; i++) {
        p->insns[i].accesses = 0;
    }
    for (int i = 0; i < p->nr_slots; i++) {
        const Slot *sl = &p->slots[i];

        /* The access that did not complete may be one that is not recorded. */
        if (p->insns[sl->insn].left_out) {
            p->insns[sl->insn].simple = false;
        }
        if (p->insns[sl->insn].simple && !(sl->access & CTR_ACCESS_REG)) {
            p->insns[sl->insn].accesses++;
        }
    }
}

/*
 * An exit before its instruction's end makes the register slots, too.  That is
 * not possible before other slots: then those become groups.  Returns false if
 * that has changed something.
 */
bool cannoli_find_reg_exits(CannoliPass *p)
{
    bool fine = true;

    for (int i = 0; i < p->nr_ops; i++) {
        OpInfo *o = &p->ops[i];
        InsnInfo *in = &p->insns[MAX(o->insn, 0)];

        o->regs = false;
        if (o->insn < 0 || !in->writes ||
            !(o->exit || (o->op->opc == INDEX_op_call && o->leaves))) {
            continue;
        }
        if (o->uncond == in->uncond) {
            o->regs = true;
            o->uncond += in->writes;
            continue;
        }
        if (o->exit && !in->loops &&
            cannoli_regs_written_between(p, o->insn, 0, i)) {
            in->loops = true;
            fine = false;
        }
    }
    return fine;
}
