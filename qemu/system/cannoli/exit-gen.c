/*
 * Execution tracing into shared memory: code that ends a chain of blocks
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/translation-block.h"
#include "tcg/tcg.h"
#include "tcg/tcg-internal.h"
#include "tcg/tcg-temp-internal.h"
#include "tcg/tcg-op-common.h"
#include "tcg/helper-info.h"
#include "accel/tcg/cannoli/pass.h"

/* Exits after it go to the main loop, and are not linked to the next block. */
static void unlink_exits(TCGContext *s, TCGOp *op)
{
    TCGOp *next;

    for (; op; op = next) {
        next = QTAILQ_NEXT(op, link);
        if (op->opc == INDEX_op_goto_tb) {
            tcg_op_remove(s, op);
        } else if (op->opc == INDEX_op_exit_tb &&
                   (op->args[0] & TB_EXIT_MASK) <= TB_EXIT_IDX1) {
            op->args[0] = 0;
        }
    }
}

void cannoli_insert_exit(TCGContext *s, TCGOp *op, void *helper,
                         TCGHelperInfo *info)
{
    if (op) {
        tcg_temp_ebb_reset_freed(s);
        s->emit_before_op = QTAILQ_NEXT(op, link);
        tcg_gen_call1(helper, info, NULL, tcgv_ptr_temp(tcg_env));
        s->emit_before_op = NULL;
        unlink_exits(s, op);
    }
}
