/*
 * Execution tracing into shared memory: code that switches tasks
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A kernel's block that may change which task runs requests an exit and goes
 * back to the main loop, so that task.c looks before the next block.  Such code
 * is found by its ops: they write the register (arm: SP_EL0, riscv: tp), or
 * store at a constant distance from the base of GS, where x86 has its variable.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/translation-block.h"
#include "tcg/tcg.h"
#include "tcg/helper-info.h"
#include "exec/helper-head.h.inc"
#include "accel/tcg/cannoli/pass.h"
#include "task.h"

static void helper_cannoli_switch(CPUArchState *env)
{
    cannoli_stop_chain(env_cpu(env));
}

static TCGHelperInfo info_switch = {
    .func = helper_cannoli_switch,
    .name = "cannoli_switch",
    .flags = TCG_CALL_NO_RWG,
    .typemask = dh_typemask(void, 0) | dh_typemask(env, 1),
};

#if defined(TARGET_AARCH64)
static bool switches(TCGOp *op)
{
    return op->opc == INDEX_op_st_i64 &&
           arg_temp(op->args[1]) == tcgv_ptr_temp(tcg_env) &&
           op->args[2] == offsetof(CPUARMState, sp_el[0]);
}
#elif defined(TARGET_RISCV64)
static bool is_tp(const TCGTemp *ts)
{
    return ts->kind == TEMP_GLOBAL &&
           ts->mem_offset == offsetof(CPURISCVState, gpr[xTP]);
}

static bool switches(TCGOp *op)
{
    unsigned n = op->opc == INDEX_op_call ? TCGOP_CALLO(op)
                                          : tcg_op_defs[op->opc].nb_oargs;

    for (unsigned i = 0; i < n; i++) {
        if (is_tp(arg_temp(op->args[i]))) {
            return true;
        }
    }
    return false;
}
#elif defined(TARGET_X86_64)
/* The op of the same instruction that has made ts for `op', or NULL. */
static TCGOp *made_by(TCGOp *op, const TCGTemp *ts)
{
    while ((op = QTAILQ_PREV(op, link)) && op->opc != INDEX_op_insn_start) {
        if (op->opc != INDEX_op_call && tcg_op_defs[op->opc].nb_oargs &&
            arg_temp(op->args[0]) == ts) {
            return op;
        }
    }
    return NULL;
}

static bool is_constant(TCGOp *op, const TCGTemp *ts, int64_t value)
{
    if (ts->kind != TEMP_CONST) {
        op = made_by(op, ts);
        ts = op && op->opc == INDEX_op_mov_i64 ? arg_temp(op->args[1]) : ts;
    }
    return ts->kind == TEMP_CONST && ts->val == value;
}

static bool is_gs_base(const TCGTemp *ts)
{
    return ts->kind == TEMP_GLOBAL &&
           ts->mem_offset == offsetof(CPUX86State, segs[R_GS].base);
}

static bool switches(TCGOp *op)
{
    const CannoliTaskLayout *layout = cannoli_task_layout();
    const TCGTemp *a, *b;
    bool store;

    if (!layout || !cannoli_is_access(op, &store) || !store) {
        return false;
    }
    op = made_by(op, arg_temp(op->args[cannoli_addr_arg(op)]));
    if (!op || op->opc != INDEX_op_add_i64) {
        return false;
    }
    a = arg_temp(op->args[1]);
    b = arg_temp(op->args[2]);
    return (is_gs_base(a) && is_constant(op, b, layout->current)) ||
           (is_gs_base(b) && is_constant(op, a, layout->current));
}
#else
static bool switches(TCGOp *op)
{
    return false;
}
#endif

TCGOp *cannoli_find_switch(CPUState *cpu, TCGContext *s,
                           const TranslationBlock *tb)
{
    TCGOp *op;

    if (!CANNOLI_TASKS || !(cannoli_ctl->events & CTR_EVENTS_TASK) ||
        cannoli_privilege(cpu, tb->flags, tb->cs_base) <= CTR_PRIVILEGE_USER) {
        return NULL;
    }
    QTAILQ_FOREACH (op, &s->ops, link) {
        if (switches(op)) {
            return op;
        }
    }
    return NULL;
}

void cannoli_insert_switch(TCGContext *s, TCGOp *op)
{
    cannoli_insert_exit(s, op, helper_cannoli_switch, &info_switch);
}
