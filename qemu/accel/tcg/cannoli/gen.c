/*
 * Execution tracing into shared memory: the code that records what a block does
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The second half of the pass over a block, see pass.c.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/memopidx.h"
#include "exec/translation-block.h"
#include "tcg/tcg.h"
#include "tcg/tcg-internal.h"
#include "tcg/tcg-temp-internal.h"
#include "tcg/tcg-op-common.h"
#include "tcg/helper-info.h"
#include "exec/helper-head.h.inc"
#include "regs.h"

/* Move one of the pointers. */
static void gen_move(TCGv_ptr pointer, intptr_t bytes)
{
    if (tcgv_ptr_temp(pointer)->kind == TEMP_FIXED) {
        tcg_gen_st_ptr(pointer, pointer, CANNOLI_MOVE + bytes);
    } else {
        tcg_gen_addi_ptr(pointer, pointer, bytes);
    }
}

/* A helper has moved them. */
static void gen_reload(CannoliPass *p)
{
    if (cannoli_fixed) {
        tcg_gen_st_ptr(p->words_ptr, p->words_ptr, CANNOLI_RELOAD);
    }
}

static void gen_word(CannoliPass *p, uint32_t word)
{
    tcg_gen_st_i32(tcg_constant_i32(word), p->words_ptr, 0);
    gen_move(p->words_ptr, 4);
}

static void gen_store_insn(uint32_t insn)
{
    tcg_gen_st_i32(tcg_constant_i32(insn), tcg_env,
                   offsetof(CPUState, neg.cannoli.insn) - sizeof(CPUState));
}

static void gen_store_block(const CannoliBlock *b)
{
    tcg_gen_st_ptr(tcg_constant_ptr(b), tcg_env,
                   offsetof(CPUState, neg.cannoli.block) - sizeof(CPUState));
}

static void gen_branch_if_room(CannoliPass *p, uint32_t need, TCGLabel *label)
{
    TCGv_ptr room = tcg_temp_ebb_new_ptr();

#if TCG_TARGET_REG_BITS == 64
    tcg_gen_sub_i64((TCGv_i64)room, (TCGv_i64)p->data_ptr,
                    (TCGv_i64)p->words_ptr);
#else
    tcg_gen_sub_i32((TCGv_i32)room, (TCGv_i32)p->data_ptr,
                    (TCGv_i32)p->words_ptr);
#endif
    tcg_gen_brcondi_ptr(TCG_COND_GEU, room, need, label);
    tcg_temp_free_ptr(room);
}

/*
 * Leave if there is not enough room, or if an exit was requested.
 */
static void gen_limit_check(CannoliPass *p, TCGContext *s, uint32_t need)
{
    TCGv_ptr limit = tcg_temp_ebb_new_ptr(), used = p->words_ptr;

    tcg_gen_ld_ptr(limit, tcg_env,
                   offsetof(CPUState, neg.cannoli.limit) - sizeof(CPUState));
    if (!cannoli_no_data()) {
        used = tcg_temp_ebb_new_ptr();
#if TCG_TARGET_REG_BITS == 64
        tcg_gen_sub_i64((TCGv_i64)used, (TCGv_i64)p->words_ptr,
                        (TCGv_i64)p->data_ptr);
#else
        tcg_gen_sub_i32((TCGv_i32)used, (TCGv_i32)p->words_ptr,
                        (TCGv_i32)p->data_ptr);
#endif
    }
#if TCG_TARGET_REG_BITS == 64
    tcg_gen_brcond_i64(TCG_COND_GTU, (TCGv_i64)used, (TCGv_i64)limit,
                       s->exitreq_label);
#else
    tcg_gen_brcond_i32(TCG_COND_GTU, (TCGv_i32)used, (TCGv_i32)limit,
                       s->exitreq_label);
#endif
    if (need > CANNOLI_MIN_NEED && !cannoli_no_data()) {
        tcg_gen_brcondi_ptr(TCG_COND_GTU, used, -(intptr_t)need,
                            s->exitreq_label);
    }
    tcg_temp_free_ptr(limit);
    if (used != p->words_ptr) {
        tcg_temp_free_ptr(used);
    }
}

/* A loop inside an instruction has filled the buffer: continue in the next. */
static void helper_cannoli_loop(CPUArchState *env, void *block, uint32_t insn,
                                uint64_t lazy)
{
    CPUState *cpu = env_cpu(env);
    CannoliCPU *c = cannoli_cpu(cpu);
    const CannoliBlock *b = block;

    cannoli_regs_left(cpu, b, insn, false);
    cannoli_word(c, CTR_WORD_LEFT | CTR_LEFT_SUSPEND << 16 | (insn + 1));
    cannoli_word(c, cannoli_unit_count(cpu));
    c->lazy_value = lazy;
    c->lazy_known = lazy != CANNOLI_LAZY_UNKNOWN;
    cannoli_hand_over(cpu);
    c->lazy_known = false;
    cannoli_word(c, CTR_WORD_RESUME | insn);
    cannoli_word(c, b->id);
}

static TCGHelperInfo info_loop = {
    .func = helper_cannoli_loop,
    .name = "cannoli_loop",
    .typemask = dh_typemask(void, 0) | dh_typemask(env, 1) |
                dh_typemask(ptr, 2) | dh_typemask(i32, 3) | dh_typemask(i64, 4),
};

/* The block is being left from code shared by several instructions. */
static void helper_cannoli_left(CPUArchState *env)
{
    CPUState *cpu = env_cpu(env);
    CannoliCPU *c = cannoli_cpu(cpu);

    uint32_t insn = c->insn & CANNOLI_INSN_NUMBER;

    if (insn != CANNOLI_INSN_NONE) {
        bool recorded = !(c->insn & CANNOLI_INSN_UNRECORDED);

        if (c->insn & CANNOLI_INSN_REGS) {
            cannoli_regs_all(cpu, insn);
        }
        cannoli_word(c, CTR_WORD_LEFT | (insn + recorded));
        cannoli_word(c, cannoli_unit_count(cpu));
    }
    if (cannoli_choosing) {
        c->insn = CANNOLI_INSN_NONE;
    }
}

static TCGHelperInfo info_left = {
    .func = helper_cannoli_left,
    .name = "cannoli_left",
    .typemask = dh_typemask(void, 0) | dh_typemask(env, 1),
};

static void gen_loop_check(CannoliPass *p, uint32_t need, const CannoliBlock *b,
                           int insn)
{
    TCGLabel *enough = gen_new_label();

    gen_branch_if_room(p, need, enough);
    tcg_gen_call4(
        helper_cannoli_loop, &info_loop, NULL, tcgv_ptr_temp(tcg_env),
        tcgv_ptr_temp(tcg_constant_ptr(b)),
        tcgv_i32_temp(tcg_constant_i32(p->insns[insn].number)),
        tcgv_i64_temp(tcg_constant_i64(cannoli_regs_lazy_at(p, insn))));
    gen_reload(p);
    gen_set_label(enough);
}

/* Apply the deferred moves of the pointer. */
static void gen_commit(CannoliPass *p, int *lazy)
{
    if (*lazy) {
        gen_move(p->data_ptr, -(intptr_t)(*lazy * p->unit));
        *lazy = 0;
    }
}

static void gen_addr(CannoliPass *p, TCGOp *op, intptr_t offset)
{
    TCGTemp *addr = arg_temp(op->args[cannoli_addr_arg(op)]);

    if (p->unit == 8) {
        tcg_gen_st_i64(temp_tcgv_i64(addr), p->data_ptr, offset);
    } else if (addr->type == TCG_TYPE_I32) {
        tcg_gen_st_i32(temp_tcgv_i32(addr), p->data_ptr, offset);
    } else {
        tcg_gen_st32_i64(temp_tcgv_i64(addr), p->data_ptr, offset);
    }
}

/* Store the lowest `bytes' of a temp; TCG swaps their order itself. */
static void gen_part(CannoliPass *p, TCGTemp *t, unsigned bytes, bool swap,
                     intptr_t offset)
{
    if (t->type == TCG_TYPE_I32) {
        TCGv_i32 from = temp_tcgv_i32(t), v = from;

        if (swap) {
            v = tcg_temp_ebb_new_i32();
            if (bytes == 2) {
                tcg_gen_bswap16_i32(v, from, 0);
            } else {
                tcg_gen_bswap32_i32(v, from);
            }
        }
        tcg_gen_st_i32(v, p->data_ptr, offset);
        if (swap) {
            tcg_temp_free_i32(v);
        }
    } else {
        TCGv_i64 from = temp_tcgv_i64(t), v = from;

        if (swap) {
            v = tcg_temp_ebb_new_i64();
            if (bytes == 2) {
                tcg_gen_bswap16_i64(v, from, 0);
            } else if (bytes == 4) {
                tcg_gen_bswap32_i64(v, from, 0);
            } else {
                tcg_gen_bswap64_i64(v, from);
            }
        }
        if (bytes > 4) {
            tcg_gen_st_i64(v, p->data_ptr, offset);
        } else {
            tcg_gen_st32_i64(v, p->data_ptr, offset);
        }
        if (swap) {
            tcg_temp_free_i64(v);
        }
    }
}

/*
 * What an op loaded or is going to store: all of its slot's value or half of
 * it.  The value begins `offset' bytes from the pointer.
 */
static void gen_value(CannoliPass *p, const OpInfo *o, const Slot *sl,
                      intptr_t offset)
{
    const TCGOpDef *def = &tcg_op_defs[o->op->opc];
    MemOpIdx oi = o->op->args[cannoli_addr_arg(o->op) + 1];
    unsigned own = memop_size(get_memop(oi)), base = 0;
    unsigned room = CTR_UNITS(CTR_ACCESS_SIZE(sl->access), p->unit) * p->unit;
    unsigned nr = def->nb_oargs ? def->nb_oargs : def->nb_iargs - 1;

    if (own < CTR_ACCESS_SIZE(sl->access) &&
        o->second == !(sl->access & CTR_ACCESS_BE)) {
        base = own;
    }
    for (unsigned i = 0; i < nr; i++) {
        TCGTemp *t = arg_temp(o->op->args[i]);
        unsigned bytes = MIN(own, tcg_type_size(t->type));
        unsigned at = i * bytes;

        if (o->swap) {
            at = own - at - bytes;
        }
        at += base;
        if (HOST_BIG_ENDIAN) {
            at = room - at - (bytes > 4 ? 8 : 4);
        }
        gen_part(p, t, bytes, o->swap, offset + at);
    }
}

/* Deferred moves are made before such an instruction begins. */
static bool commits_first(const InsnInfo *in)
{
    return !in->simple || !in->recorded;
}

/* C code may read the pointer here, or control may leave straight code. */
static bool stops_here(const OpInfo *o)
{
    return cannoli_ends_bb(o->op) || cannoli_is_real_call(o->op) || o->sets ||
           o->regs;
}

static int reg_units(CannoliPass *p, int insn)
{
    int units = 0;

    for (int k = 0; k < p->insns[insn].writes; k++) {
        int reg = cannoli_regs_written(p, insn, k);

        units += CTR_UNITS(cannoli_regs[reg].size, p->unit);
    }
    return units;
}

void cannoli_plan_lazy(CannoliPass *p)
{
    int lazy = 0, insn = -1;

    for (int i = 0; i < p->nr_ops; i++) {
        OpInfo *o = &p->ops[i];

        if (o->op->opc == INDEX_op_insn_start) {
            if (insn >= 0) {
                lazy = p->insns[insn].simple ? lazy + reg_units(p, insn) : 0;
            }
            insn++;
            if (commits_first(&p->insns[insn])) {
                lazy = 0;
            }
            p->insns[insn].lazy = lazy;
        } else if (stops_here(o)) {
            lazy = 0;
        }
        if (o->done >= 0) {
            const Slot *sl = &p->slots[o->done];

            lazy = p->insns[sl->insn].simple ? lazy + sl->units : 0;
        }
    }
}

/* Before an access, and after it. */
static void insert_access(CannoliPass *p, TCGContext *s, const OpInfo *o,
                          int *lazy)
{
    const Slot *sl = &p->slots[o->slot >= 0 ? o->slot : o->done];
    bool load = tcg_op_defs[o->op->opc].nb_oargs;
    bool valued = cannoli_values && !(sl->access & CTR_ACCESS_NOVALUE);
    intptr_t offset = -(intptr_t)((*lazy + sl->units) * p->unit);

    if (o->slot >= 0) {
        if (sl->first) {
            gen_word(p, CTR_WORD_GROUP | sl->group);
        }
        if (!(sl->access & CTR_ACCESS_DERIVED)) {
            gen_addr(p, o->op, -(intptr_t)((*lazy + 1) * p->unit));
        }
    }
    if (valued && !load) {
        gen_value(p, o, sl, offset);
    }
    s->emit_before_op = QTAILQ_NEXT(o->op, link);
    if (valued && load) {
        gen_value(p, o, sl, offset);
    }
    if (o->done >= 0) {
        *lazy += sl->units;
        if (!p->insns[sl->insn].simple) {
            gen_commit(p, lazy);
        }
    }
}

/* After the exit-request check: a block that leaves there did not run. */
TCGOp *cannoli_first_op(CannoliPass *p, TCGContext *s)
{
    if (s->exitreq_label) {
        for (int i = 0; i < p->nr_ops; i++) {
            if (cannoli_branch_label(p->ops[i].op) == s->exitreq_label) {
                return p->ops[i + 1].op;
            }
        }
    }
    return p->ops[0].op;
}

static void gen_id(CannoliPass *p, const CannoliBlock *b, bool resumes)
{
    if (resumes) {
        gen_word(p, CTR_WORD_RESUME);
    }
    gen_word(p, b->id);
}

/*
 * Store which instruction makes a call or branches away.
 */
static void gen_origin(CannoliPass *p, const CannoliBlock *b, const OpInfo *o)
{
    uint32_t word = cannoli_insn_word(p, o->insn);

    if (cannoli_done(p, o->insn) == p->nr_recorded &&
        o->uncond == p->nr_uncond && word != CANNOLI_INSN_NONE) {
        word |= CANNOLI_INSN_LAST;
    }
    gen_store_insn(word);
    if (p->insns[o->insn].recorded && p->insns[o->insn].writes) {
        gen_store_block(b);
    }
}

/* An exit before the end of the recorded instructions. */
static void gen_left(CannoliPass *p, const OpInfo *o)
{
    int done = o->insn >= 0 ? cannoli_done(p, o->insn) : 0;

    if (done) {
        gen_word(p, CTR_WORD_LEFT_AT | done << 14 | o->uncond);
        return;
    }
    if (o->insn >= 0) {
        gen_store_insn(cannoli_insn_word(p, o->insn));
    }
    tcg_gen_call1(helper_cannoli_left, &info_left, NULL,
                  tcgv_ptr_temp(tcg_env));
    gen_reload(p);
}

/* QEMU's own check is redundant: ours includes it. */
static void remove_exit_check(CannoliPass *p, TCGContext *s)
{
    for (int i = 1; s->exitreq_label && i < p->nr_ops; i++) {
        TCGOp *op = p->ops[i].op, *ld = p->ops[i - 1].op;

        if (cannoli_branch_label(op) == s->exitreq_label) {
            if (ld->opc == INDEX_op_ld_i32 && ld->args[0] == op->args[0]) {
                tcg_op_remove(s, ld);
                tcg_op_remove(s, op);
            }
            return;
        }
    }
}

void cannoli_insert(CannoliPass *p, TCGContext *s, const CannoliBlock *b,
                    uint32_t need, const DisasContextBase *db)
{
    int lazy = 0, insn = -1, stored = -1;

    tcg_temp_ebb_reset_freed(s);

    s->emit_before_op = cannoli_first_op(p, s);
    if (s->exitreq_label) {
        gen_limit_check(p, s, need);
    }
    cannoli_gate_count(s, db);
    if (cannoli_regs_shadow() && !db->fake_insn) {
        cannoli_regs_begin();
    }
    if (p->first == 0) {
        gen_id(p, b, db->fake_insn);
    }

    for (int i = 0; i < p->nr_ops; i++) {
        OpInfo *o = &p->ops[i];
        TCGOp *op = o->op;
        bool says = false;

        s->emit_before_op = op;
        if (op->opc == INDEX_op_insn_start) {
            if (insn >= 0) {
                cannoli_regs_emit(p, insn, true, &lazy);
                if (!p->insns[insn].simple) {
                    gen_commit(p, &lazy);
                }
            }
            insn++;
            if (commits_first(&p->insns[insn])) {
                gen_commit(p, &lazy);
            }
            if (insn > 0 && insn == p->first) {
                gen_id(p, b, db->fake_insn);
            }
        } else if (stops_here(o)) {
            if (o->regs) {
                cannoli_regs_emit(p, o->insn, false, &lazy);
                stored = o->insn;
            }
            gen_commit(p, &lazy);
            says = o->insn >= 0 &&
                   (op->opc == INDEX_op_call || o->store_insn) &&
                   (o->store_insn || cannoli_is_inside(p, o->insn));
            if (says) {
                gen_origin(p, b, o);
            }
            if (o->exit) {
                gen_left(p, o);
            }
        }
        if (o->slot >= 0 || o->done >= 0) {
            insert_access(p, s, o, &lazy);
        }
        if (o->sets) {
            cannoli_regs_before(p, o);
            s->emit_before_op = QTAILQ_NEXT(op, link);
            if (!o->leaves) {
                cannoli_regs_after(p, b, o, stored != o->insn);
            }
        }
        if (says && cannoli_choosing && !o->leaves) {
            /* The following code may not know its instruction. */
            s->emit_before_op = QTAILQ_NEXT(op, link);
            gen_store_insn(CANNOLI_INSN_NONE);
        }
        if (o->loop_head && p->nr_groups && cannoli_is_recorded(p, o->insn)) {
            s->emit_before_op = QTAILQ_NEXT(op, link);
            gen_loop_check(p, need, b, o->insn);
        }
    }
    s->emit_before_op = NULL;
    if (!p->triggers && !(tb_cflags(db->tb) & CF_CANNOLI_MASK)) {
        remove_exit_check(p, s);
    }
}
