/*
 * Execution tracing into shared memory: code that watches for windows
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What blocks do for gate.c, whether they are recorded or not.  All of it is
 * after the exit-request check and leaves like it: the block has not begun
 * then, and gate.c finds out why.
 *
 * A block that counts subtracts all of its instructions when it begins.  Exits
 * in its middle add back what did not run; for exits by longjmp, `unrun' is
 * that number.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/translator.h"
#include "exec/translation-block.h"
#include "tcg/tcg.h"
#include "tcg/tcg-internal.h"
#include "tcg/tcg-temp-internal.h"
#include "tcg/tcg-op-common.h"
#include "tcg/helper-info.h"
#include "exec/helper-head.h.inc"
#include "pass.h"

#define CPU_FIELD(name) \
    ((intptr_t)offsetof(CPUState, neg.cannoli.name) - \
     (intptr_t)sizeof(CPUState))

static TCGHelperInfo info_place = {
    .func = helper_cannoli_place,
    .name = "cannoli_place",
    .flags = TCG_CALL_NO_WRITE_GLOBALS,
    .typemask = dh_typemask(i32, 0) | dh_typemask(env, 1) |
                dh_typemask(i32, 2) | dh_typemask(i64, 3),
};

static TCGHelperInfo info_tree = {
    .func = helper_cannoli_tree,
    .name = "cannoli_tree",
    .flags = TCG_CALL_NO_WRITE_GLOBALS,
    .typemask = dh_typemask(i32, 0) | dh_typemask(env, 1) | dh_typemask(i64, 2),
};

static void gen_place(TCGContext *s, uint32_t triggers, uint64_t pc)
{
    TCGv_i32 leave = tcg_temp_ebb_new_i32();

    tcg_gen_call3(helper_cannoli_place, &info_place, tcgv_i32_temp(leave),
                  tcgv_ptr_temp(tcg_env),
                  tcgv_i32_temp(tcg_constant_i32(triggers)),
                  tcgv_i64_temp(tcg_constant_i64(pc)));
    tcg_gen_brcondi_i32(TCG_COND_NE, leave, 0, s->exitreq_label);
    tcg_temp_free_i32(leave);
}

static TCGv_i64 load_number(intptr_t off)
{
    TCGv_i64 v = tcg_temp_ebb_new_i64();

#if TARGET_LONG_BITS == 32
    tcg_gen_ld32u_i64(v, tcg_env, off);
#else
    tcg_gen_ld_i64(v, tcg_env, off);
#endif
    return v;
}

/* As cannoli_tree_over. */
static void gen_tree(TCGContext *s, uint64_t pc)
{
    intptr_t off = cannoli_stack_pointer_off();

    if (off < 0) {
        TCGv_i32 leave = tcg_temp_ebb_new_i32();

        tcg_gen_call2(helper_cannoli_tree, &info_tree, tcgv_i32_temp(leave),
                      tcgv_ptr_temp(tcg_env),
                      tcgv_i64_temp(tcg_constant_i64(pc)));
        tcg_gen_brcondi_i32(TCG_COND_NE, leave, 0, s->exitreq_label);
        tcg_temp_free_i32(leave);
    } else {
        /* A block begins with all registers in memory. */
        TCGv_i64 sp = load_number(off);
        TCGv_i64 began = tcg_temp_ebb_new_i64();
        TCGv_i64 back = tcg_temp_ebb_new_i64();
        TCGLabel *inside = gen_new_label();

        tcg_gen_ld_i64(began, tcg_env, CPU_FIELD(tree_sp));
        tcg_gen_brcond_i64(TCG_COND_GTU, sp, began, s->exitreq_label);
        tcg_gen_ld_i64(back, tcg_env, CPU_FIELD(tree_return));
        tcg_gen_brcondi_i64(TCG_COND_NE, back, pc, inside);
        tcg_gen_brcond_i64(TCG_COND_GEU, sp, began, s->exitreq_label);
        gen_set_label(inside);
        tcg_temp_free_i64(sp);
        tcg_temp_free_i64(began);
        tcg_temp_free_i64(back);
    }
}

/* Exits in the middle of the block add back what did not run. */
static void gen_put_back(CannoliPass *p, TCGContext *s)
{
    int goto_idx = -1;

    for (int i = 0; i < p->nr_ops; i++) {
        const OpInfo *o = &p->ops[i];
        int unrun = p->nr_insns - 1 - o->insn;
        bool leaves = cannoli_is_exit(o->op, &goto_idx);

        if (o->insn == -1 || (leaves && unrun == 0)) {
            continue;
        }
        s->emit_before_op = o->op;
        if (leaves) {
            TCGv_i32 budget = tcg_temp_ebb_new_i32();

            tcg_gen_ld_i32(budget, tcg_env, CPU_FIELD(budget));
            if (o->insn >= 0) {
                tcg_gen_addi_i32(budget, budget, unrun);
            } else {
                TCGv_i32 more = tcg_temp_ebb_new_i32();

                tcg_gen_ld_i32(more, tcg_env, CPU_FIELD(unrun));
                tcg_gen_add_i32(budget, budget, more);
                tcg_temp_free_i32(more);
            }
            tcg_gen_st_i32(budget, tcg_env, CPU_FIELD(budget));
            tcg_temp_free_i32(budget);
        } else if (o->insn >= 0 &&
                   (cannoli_is_real_call(o->op) || o->store_insn)) {
            tcg_gen_st_i32(tcg_constant_i32(unrun), tcg_env, CPU_FIELD(unrun));
        }
    }
}

void cannoli_gate_insert(CannoliPass *p, TCGContext *s,
                         const DisasContextBase *db, TCGOp *start)
{
    uint32_t cflags = tb_cflags(db->tb);

    tcg_temp_ebb_reset_freed(s);
    s->emit_before_op = start;
    if (s->exitreq_label) {
        if ((cflags & CF_CANNOLI_TREE) && !db->fake_insn) {
            gen_tree(s, db->pc_first);
        }
        if (p->triggers) {
            gen_place(s, p->triggers, db->pc_first);
        }
    }
    if ((cflags & CF_CANNOLI_COUNT) && !db->fake_insn) {
        gen_put_back(p, s);
    }
    if (!p->code) {
        s->emit_before_op = start;
        cannoli_gate_count(s, db);
    }
    s->emit_before_op = NULL;
}

void cannoli_gate_count(TCGContext *s, const DisasContextBase *db)
{
    TCGv_i32 budget;

    if (!(tb_cflags(db->tb) & CF_CANNOLI_COUNT) || db->fake_insn) {
        return;
    }
    budget = tcg_temp_ebb_new_i32();
    tcg_gen_ld_i32(budget, tcg_env, CPU_FIELD(budget));
    tcg_gen_subi_i32(budget, budget, db->tb->icount);
    if (s->exitreq_label) {
        tcg_gen_brcondi_i32(TCG_COND_LT, budget, 0, s->exitreq_label);
    }
    tcg_gen_st_i32(budget, tcg_env, CPU_FIELD(budget));
    tcg_temp_free_i32(budget);
}
