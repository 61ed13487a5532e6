/*
 * Execution tracing into shared memory: control flow inside a block
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Part of the pass over a block, see pass.c: which ops may run no time or many
 * times, to which instruction they belong, and which of them leave the block.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "tcg/tcg.h"
#include "tcg/tcg-internal.h"
#include "exec/helper-proto-common.h"
#include "pass.h"

/* An access's address is its last input (after the data of a store). */
int cannoli_addr_arg(TCGOp *op)
{
    const TCGOpDef *def = &tcg_op_defs[op->opc];

    return def->nb_oargs + def->nb_iargs - 1;
}

/*
 * Does the helper raise exceptions or access memory, although its flags say
 * that it does not read globals?  A call of a plugin has no name.
 */
static bool does_more(TCGOp *op)
{
    const char *name G_GNUC_UNUSED = tcg_call_info(op)->name ?: "";

#if defined(CONFIG_USER_ONLY)
    return false;
#elif defined(TARGET_ARM)
    /* Cortex-M, a division by zero with CCR.DIV_0_TRP */
    return !strcmp(name, "udiv") || !strcmp(name, "sdiv");
#elif defined(TARGET_S390X)
    /* They load and store the entries of page tables that they invalidate. */
    return !strcmp(name, "ipte") || !strcmp(name, "idte");
#else
    return false;
#endif
}

bool cannoli_is_real_call(TCGOp *op)
{
    return op->opc == INDEX_op_call &&
           (!(tcg_call_flags(op) & TCG_CALL_NO_READ_GLOBALS) || does_more(op));
}

bool cannoli_is_lookup(TCGOp *op)
{
    return op->opc == INDEX_op_call &&
           cannoli_finds_jump(tcg_call_info(op)->func);
}

/* Does control never reach the op after this one? */
static bool ends_flow(TCGOp *op)
{
    switch (op->opc) {
    case INDEX_op_br:
    case INDEX_op_exit_tb:
    case INDEX_op_goto_ptr:
        return true;
    case INDEX_op_call:
        return tcg_call_flags(op) & TCG_CALL_NO_RETURN;
    default:
        return false;
    }
}

bool cannoli_is_exit(const TCGOp *op, int *goto_idx)
{
    int idx = *goto_idx;

    switch (op->opc) {
    case INDEX_op_set_label:
    case INDEX_op_insn_start:
        *goto_idx = -1;
        return false;
    case INDEX_op_goto_tb:
        *goto_idx = op->args[0];
        return true;
    case INDEX_op_exit_tb:
        /* not the unchained half of the goto_tb before it */
        *goto_idx = -1;
        return idx < 0 || (op->args[0] & TB_EXIT_MASK) != idx ||
               (op->args[0] & ~(uintptr_t)TB_EXIT_MASK) == 0;
    case INDEX_op_goto_ptr:
        return true;
    default:
        return false;
    }
}

/* Does control that reaches op i leave the block without a branch? */
static bool leaves_block(CannoliPass *p, int i)
{
    for (; i < p->nr_ops; i++) {
        TCGOp *op = p->ops[i].op;

        if (op->opc == INDEX_op_set_label || cannoli_branch_label(op)) {
            return false;
        }
        if (ends_flow(op)) {
            return true;
        }
    }
    return false;
}

/* Step 2: which ops may run no time, or many times? */
void cannoli_find_conditional(CannoliPass *p, TCGContext *s)
{
    int last_access = -1;
    bool store;

    for (int i = 0; i < p->nr_ops; i++) {
        if (cannoli_is_access(p->ops[i].op, &store)) {
            last_access = i;
        }
    }
    for (int i = 0; i < p->nr_ops; i++) {
        if (p->ops[i].op->opc == INDEX_op_set_label && i > last_access) {
            LabelInfo *l = &p->labels[arg_label(p->ops[i].op->args[0])->id];

            l->stub = i > 0 && ends_flow(p->ops[i - 1].op) && l->sources == 1 &&
                      leaves_block(p, i + 1);
        }
    }
    for (int i = 0, insn = -1; i < p->nr_ops; i++) {
        TCGLabel *label = cannoli_branch_label(p->ops[i].op);
        LabelInfo *l;

        if (p->ops[i].op->opc == INDEX_op_insn_start) {
            insn++;
        }
        if (!label || label == s->exitreq_label) {
            continue;
        }
        l = &p->labels[label->id];
        if (l->pos > i) {
            if (!l->stub) {
                p->cover[i + 1]++;
                p->cover[l->pos]--;
            }
        } else if (l->pos >= 0) {
            p->cover[l->pos]++;
            p->cover[i + 1]--;
            p->ops[l->pos].loop_head = true;
            if (insn < 0) {
                cannoli_too_complex(p, s);
            }
            p->insns[insn].loops = true;
            for (int j = l->pos; j < i; j++) {
                if (p->ops[j].op->opc == INDEX_op_insn_start) {
                    cannoli_too_complex(p, s);
                }
            }
        }
    }
}

/* Step 3: which instruction does an op belong to? */
void cannoli_find_insns(CannoliPass *p)
{
    int insn = -1, next_insn = 0, stub = -1;
    bool flows = true;

    for (int i = 0; i < p->nr_ops; i++) {
        OpInfo *o = &p->ops[i];

        if (o->op->opc == INDEX_op_set_label) {
            LabelInfo *l = &p->labels[arg_label(o->op->args[0])->id];

            if (!flows && l->sources > 0 && l->source < i) {
                if (l->sources == 1) {
                    insn = p->ops[l->source].insn;
                } else if (p->ops[l->source].insn != p->nr_insns - 1 ||
                           stub >= 0) {
                    insn = -2;
                }
                stub = i;
            }
            flows = true;
        } else if (o->op->opc == INDEX_op_insn_start) {
            insn = next_insn++;
            stub = -1;
        }
        o->insn = insn;
        o->stub = stub;
        o->leaves = ends_flow(o->op);
        if (o->leaves) {
            flows = false;
        }
    }
}

/* Step 5: exits at the very end need no word; shared ones need their origin. */
void cannoli_find_exits(CannoliPass *p, TCGContext *s)
{
    for (int i = 0; i < p->nr_ops; i++) {
        OpInfo *o = &p->ops[i];

        if (o->insn >= 0 && (!cannoli_is_inside(p, o->insn) ||
                             (cannoli_done(p, o->insn) == p->nr_recorded &&
                              o->uncond == p->nr_uncond))) {
            o->exit = false;
        }
        if (o->insn == -2) {
            /* Branches to this stub must store their origin. */
            for (int j = 0; j < i; j++) {
                TCGLabel *l = cannoli_branch_label(p->ops[j].op);

                if (l && l != s->exitreq_label && p->labels[l->id].pos <= i &&
                    p->labels[l->id].pos > j && p->labels[l->id].sources > 1) {
                    p->ops[j].store_insn = true;
                }
            }
        }
    }
}
