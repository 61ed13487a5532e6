/*
 * Execution tracing into shared memory: the registers that a block writes
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Part of the pass over a block, see pass.c.  For each instruction the ops say
 * which registers it may write: globals that are outputs, stores to env, and
 * pointers into env that helpers get.  They become register slots, stored at
 * the instruction's end from where the register is then.
 *
 * Around a helper that may write more, two calls into C compare the registers.
 * What a helper may write follows from its flags and arguments and, if it runs
 * often, from a table of the target (cannoli_regs_rule).
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/translation-block.h"
#include "tcg/tcg.h"
#include "tcg/tcg-internal.h"
#include "tcg/tcg-temp-internal.h"
#include "tcg/tcg-op-common.h"
#include "tcg/helper-info.h"
#include "exec/helper-head.h.inc"
#include "regs.h"

/* ---- what helpers write ---- */

typedef struct Effect {
    const TCGHelperInfo *info;
    bool known;   /* there is a rule */
    uint8_t sets; /* compare these */
    uint8_t nr_regs;
    uint16_t regs[13];
} Effect;

#define MAX_EFFECTS 4096
static Effect *effects; /* open addressing by info */

static void parse_rule(Effect *e, const char *rule)
{
    g_auto(GStrv) words = g_strsplit(rule, " ", -1);

    e->known = true;
    for (char **w = words; *w; w++) {
        if (!strcmp(*w, "=globals")) {
            e->sets |= CANNOLI_REGS_GLOBAL;
        } else if (!strcmp(*w, "=x87")) {
            e->sets |= CANNOLI_REGS_X87;
        } else {
            for (unsigned i = 0; i < cannoli_nr_regs; i++) {
                if (!strcmp(cannoli_regs[i].name, *w)) {
                    g_assert(e->nr_regs < ARRAY_SIZE(e->regs));
                    e->regs[e->nr_regs++] = i;
                }
            }
        }
    }
}

static const Effect *effect_of(const TCGHelperInfo *info)
{
    uintptr_t i = (uintptr_t)info / sizeof(TCGHelperInfo);
    static unsigned used;
    const char *rule;
    Effect *e;

    if (!effects) {
        effects = cannoli_alloc(MAX_EFFECTS * sizeof(*effects));
    }
    for (;; i++) {
        e = &effects[i % MAX_EFFECTS];
        if (e->info == info) {
            return e;
        }
        if (!e->info) {
            break;
        }
    }
    g_assert(++used < MAX_EFFECTS / 2);
    e->info = info;
    /* A call of a plugin has no name. */
    rule = info->name ? cannoli_regs_rule(info->name) : NULL;
    if (rule) {
        parse_rule(e, rule);
    }
    return e;
}

/* ---- what a block writes ---- */

/* Where a temp points to in env. */
enum {
    POINTS_NOWHERE = 0,
    POINTS_KNOWN = 1,
    POINTS_SOMEWHERE = 2,
};
static struct {
    uint8_t what;
    intptr_t off;
} points[TCG_MAX_TEMPS];

/* Registers written, in the order of the ops; then by instruction. */
typedef struct Write {
    int insn;
    int op;
    int reg;
    TCGTemp *temp; /* read it from here; NULL: from env */
} Write;
static Write writes[CTR_MAX_BLOCK_SLOTS * 2], sorted[CTR_MAX_BLOCK_SLOTS * 2];
static int nr_writes;
static int *last_insn; /* by register: last writing insn, plus 1 */

static void add_write(CannoliPass *p, int op, int reg, TCGTemp *temp)
{
    int insn = p->ops[op].insn;

    if (insn < 0) {
        /* Before the first instruction; C code records unknown ones. */
        if (insn == -2 || cannoli_regs[reg].lazy) {
            return;
        }
        insn = 0;
    }
    if (last_insn[reg] == insn + 1) {
        return;
    }
    last_insn[reg] = insn + 1;
    /* More than there can be slots: the block is too complex anyway. */
    nr_writes = MIN(nr_writes, ARRAY_SIZE(writes) - 1);
    writes[nr_writes++] = (Write){ insn, op, reg, temp };
}

static void add_range(CannoliPass *p, int op, intptr_t off, intptr_t bytes)
{
    intptr_t end = off + bytes;
    int reg;

    while ((reg = cannoli_regs_next(&off, end)) >= 0) {
        add_write(p, op, reg, cannoli_regs[reg].temp);
    }
}

static void add_global(CannoliPass *p, int op, TCGTemp *ts)
{
    int reg = cannoli_regs_of_global(ts);

    if (reg >= 0) {
        add_write(p, op, reg, ts->temp_subindex ? ts - ts->temp_subindex : ts);
    }
}

/* The number of bytes that an op stores to host memory; 0: none. */
static unsigned stored_bytes(const TCGOp *op)
{
    switch (op->opc) {
    case INDEX_op_st8_i32:
    case INDEX_op_st8_i64:
        return 1;
    case INDEX_op_st16_i32:
    case INDEX_op_st16_i64:
        return 2;
    case INDEX_op_st_i32:
    case INDEX_op_st32_i64:
        return 4;
    case INDEX_op_st_i64:
        return 8;
    case INDEX_op_st_vec:
        return tcg_type_size(TCGOP_TYPE(op));
    default:
        return 0;
    }
}

static bool is_pointer(const TCGTemp *ts)
{
    return points[temp_idx((TCGTemp *)ts)].what != POINTS_NOWHERE;
}

/* Where do the outputs of an op point to? */
static void follow_pointers(TCGOp *op)
{
    const TCGOpDef *def = &tcg_op_defs[op->opc];
    int nr_out = op->opc == INDEX_op_call ? TCGOP_CALLO(op) : def->nb_oargs;
    int what = POINTS_NOWHERE;
    intptr_t off = 0;
    TCGTemp *a, *b;

    if (!nr_out) {
        return;
    }
    a = arg_temp(op->args[1]);
    switch (op->opc) {
    case INDEX_op_mov_i32:
    case INDEX_op_mov_i64:
        what = points[temp_idx(a)].what;
        off = points[temp_idx(a)].off;
        break;
    case INDEX_op_add_i32:
    case INDEX_op_add_i64:
        b = arg_temp(op->args[2]);
        if (is_pointer(b)) {
            a = b;
            b = arg_temp(op->args[1]);
        }
        what = points[temp_idx(a)].what;
        off = points[temp_idx(a)].off + b->val;
        if (what && b->kind != TEMP_CONST) {
            what = POINTS_SOMEWHERE;
        }
        break;
    case INDEX_op_call:
    case INDEX_op_ld8u_i32:
    case INDEX_op_ld8s_i32:
    case INDEX_op_ld16u_i32:
    case INDEX_op_ld16s_i32:
    case INDEX_op_ld_i32:
    case INDEX_op_ld8u_i64:
    case INDEX_op_ld8s_i64:
    case INDEX_op_ld16u_i64:
    case INDEX_op_ld16s_i64:
    case INDEX_op_ld32u_i64:
    case INDEX_op_ld32s_i64:
    case INDEX_op_ld_i64:
    case INDEX_op_ld_vec:
    case INDEX_op_dupm_vec:
        break;
    default:
        for (int i = 0; i < def->nb_iargs; i++) {
            if (is_pointer(arg_temp(op->args[nr_out + i]))) {
                what = POINTS_SOMEWHERE;
            }
        }
        break;
    }
    for (int i = 0; i < nr_out; i++) {
        int t = temp_idx(arg_temp(op->args[i]));

        points[t].what = what;
        points[t].off = off;
    }
}

/*
 * The set to compare if a helper that gets this pointer may write the register
 * and those after it: the length of riscv's groups depends on vtype.
 */
static unsigned sets_after(const TCGTemp *ts, unsigned vector_bytes)
{
    intptr_t off = points[temp_idx((TCGTemp *)ts)].off, at = off;
    int reg;

    if (points[temp_idx((TCGTemp *)ts)].what != POINTS_KNOWN ||
        ts == tcgv_ptr_temp(tcg_env) ||
        cannoli_regs_extent(off, vector_bytes)) {
        return 0;
    }
    reg = cannoli_regs_next(&at, off + 1);
    return reg < 0 ? 0 : cannoli_regs[reg].set & CANNOLI_REGS_ALL;
}

static void find_in_call(CannoliPass *p, int i, unsigned vector_bytes)
{
    TCGOp *op = p->ops[i].op;
    const TCGHelperInfo *info = tcg_call_info(op);
    const Effect *e = effect_of(info);
    bool env = false, somewhere = false;
    unsigned sets = 0, after = 0;

    for (int k = 0; k < TCGOP_CALLO(op); k++) {
        TCGTemp *ts = arg_temp(op->args[k]);

        if (ts->kind == TEMP_GLOBAL) {
            add_global(p, i, ts);
        }
    }
    for (int k = 0; k < TCGOP_CALLI(op); k++) {
        TCGTemp *ts = arg_temp(op->args[TCGOP_CALLO(op) + k]);

        env |= ts == tcgv_ptr_temp(tcg_env);
        somewhere |= points[temp_idx(ts)].what == POINTS_SOMEWHERE;
        after |= sets_after(ts, vector_bytes);
    }
    if (e->known) {
        sets = e->sets;
        for (int k = 0; k < e->nr_regs; k++) {
            add_write(p, i, e->regs[k], cannoli_regs[e->regs[k]].temp);
        }
    } else if (info->flags & TCG_CALL_NO_SIDE_EFFECTS) {
        return;
    } else if (env || somewhere) {
        sets = CANNOLI_REGS_ALL;
        if (info->flags &
            (TCG_CALL_NO_WRITE_GLOBALS | TCG_CALL_NO_READ_GLOBALS)) {
            sets &= ~CANNOLI_REGS_GLOBAL;
        }
    }
    if (somewhere) {
        sets |= CANNOLI_REGS_VECTOR;
    }
    sets |= after;
    p->ops[i].sets = sets;
    if (sets & CANNOLI_REGS_GLOBAL) {
        for (int k = 0; k < cannoli_nr_regs; k++) {
            if (cannoli_regs[k].lazy && cannoli_regs[k].temp) {
                add_write(p, i, k, cannoli_regs[k].temp);
            }
        }
    }
    for (int k = 0; k < TCGOP_CALLI(op); k++) {
        TCGTemp *ts = arg_temp(op->args[TCGOP_CALLO(op) + k]);
        intptr_t off = points[temp_idx(ts)].off;

        if (points[temp_idx(ts)].what == POINTS_KNOWN &&
            ts != tcgv_ptr_temp(tcg_env) && !(sets & CANNOLI_REGS_VECTOR)) {
            add_range(p, i, off, cannoli_regs_extent(off, vector_bytes));
        }
    }
}

/*
 * A register that the translator knows changes where the known value changes.
 */
static void find_lazy(CannoliPass *p, int r)
{
    TCGTemp *temp = cannoli_regs[r].temp;
    int insn = -1;

    for (int i = 0; i < p->nr_ops; i++) {
        if (p->ops[i].op->opc != INDEX_op_insn_start) {
            continue;
        }
        insn++;
        /*
         * At the block's end it is in memory, without an op if it is 0 again.
         */
        if (insn + 1 < p->nr_insns
                ? p->insns[insn].known != p->insns[insn + 1].known
                : !temp && p->insns[insn].known) {
            last_insn[r] = 0;
            add_write(p, i, r, temp);
        }
    }
}

/* Does a write of such a register only update memory? */
static bool writes_back(CannoliPass *p, const Write *w)
{
    const CannoliReg *reg = &cannoli_regs[w->reg];
    uint64_t begin = p->insns[w->insn].known;

    if (!cannoli_regs_is_known(reg, begin)) {
        return false;
    }
    if (w->insn + 1 < p->nr_insns) {
        return begin == p->insns[w->insn + 1].known;
    }
    /*
     * The last instruction: every write must store the value at its beginning.
     */
    for (int i = w->op; reg->temp && i < p->nr_ops; i++) {
        TCGOp *op = p->ops[i].op;

        if (p->ops[i].insn != w->insn) {
            continue;
        }
        if (op->opc == INDEX_op_call) {
            const Effect *e = effect_of(tcg_call_info(op));

            for (int k = 0; k < TCGOP_CALLO(op); k++) {
                if (arg_temp(op->args[k]) == reg->temp) {
                    return false;
                }
            }
            for (int k = 0; k < e->nr_regs; k++) {
                if (e->regs[k] == w->reg) {
                    return false;
                }
            }
            if (p->ops[i].sets & CANNOLI_REGS_GLOBAL) {
                return false;
            }
        } else if (tcg_op_defs[op->opc].nb_oargs &&
                   arg_temp(op->args[0]) == reg->temp) {
            TCGTemp *from = arg_temp(op->args[1]);

            if ((op->opc != INDEX_op_mov_i32 && op->opc != INDEX_op_mov_i64) ||
                from->kind != TEMP_CONST || from->val != begin) {
                return false;
            }
        }
    }
    return reg->temp;
}

static int compare_writes(const void *a, const void *b)
{
    const Write *x = a, *y = b;

    if (x->insn != y->insn) {
        return x->insn - y->insn;
    }
    return x->reg != y->reg ? x->reg - y->reg : x->op - y->op;
}

void cannoli_regs_keep(TCGContext *s)
{
    TCGOp *op, *next;

    QTAILQ_FOREACH_SAFE (op, &s->ops, link, next) {
        if (op->opc == INDEX_op_discard &&
            arg_temp(op->args[0])->kind == TEMP_GLOBAL &&
            cannoli_regs_of_global(arg_temp(op->args[0])) >= 0) {
            tcg_op_remove(s, op);
        }
    }
}

void cannoli_regs_find(CannoliPass *p, TCGContext *s,
                       const TranslationBlock *tb)
{
    unsigned vector_bytes = cannoli_regs_vector_bytes(tb);
    int n = 0;

    if (!last_insn) {
        last_insn = cannoli_alloc(cannoli_nr_regs * sizeof(*last_insn));
    }
    memset(last_insn, 0, cannoli_nr_regs * sizeof(*last_insn));
    memset(points, 0, s->nb_temps * sizeof(points[0]));
    points[temp_idx(tcgv_ptr_temp(tcg_env))].what = POINTS_KNOWN;
    nr_writes = 0;
    for (int i = 0; i < p->nr_ops; i++) {
        TCGOp *op = p->ops[i].op;
        unsigned bytes = stored_bytes(op);

        p->ops[i].sets = 0;
        if (op->opc == INDEX_op_call) {
            find_in_call(p, i, vector_bytes);
        } else if (bytes) {
            TCGTemp *base = arg_temp(op->args[1]);

            if (points[temp_idx(base)].what == POINTS_KNOWN) {
                add_range(p, i, points[temp_idx(base)].off + op->args[2],
                          bytes);
            } else if (is_pointer(base)) {
                p->ops[i].sets = CANNOLI_REGS_ALL & ~CANNOLI_REGS_GLOBAL;
            }
        } else {
            for (int k = 0; k < tcg_op_defs[op->opc].nb_oargs; k++) {
                TCGTemp *ts = arg_temp(op->args[k]);

                if (ts->kind == TEMP_GLOBAL) {
                    add_global(p, i, ts);
                }
            }
        }
        follow_pointers(op);
    }
    for (int r = 0; r < cannoli_nr_regs; r++) {
        if (cannoli_regs[r].lazy) {
            find_lazy(p, r);
        }
    }

    for (int i = 0; i < p->nr_ops; i++) {
        int insn = p->ops[i].insn;

        if (insn >= 0 && !cannoli_records_regs(p, insn)) {
            p->ops[i].sets = 0;
        }
    }

    /* Sort, and leave out duplicates and what is no change. */
    qsort(writes, nr_writes, sizeof(writes[0]), compare_writes);
    for (int i = 0; i < p->nr_insns; i++) {
        p->insns[i].first_write = 0;
        p->insns[i].writes = 0;
    }
    for (int i = 0; i < nr_writes; i++) {
        InsnInfo *in = &p->insns[writes[i].insn];

        if (!cannoli_records_regs(p, writes[i].insn)) {
            continue;
        }
        if (n && sorted[n - 1].insn == writes[i].insn &&
            sorted[n - 1].reg == writes[i].reg) {
            continue;
        }
        if (cannoli_regs[writes[i].reg].lazy && writes_back(p, &writes[i])) {
            continue;
        }
        if (!in->writes++) {
            in->first_write = n;
        }
        sorted[n++] = writes[i];
    }
    nr_writes = n;
}

uint64_t cannoli_regs_lazy_at(const CannoliPass *p, int insn)
{
    uint64_t known = p->insns[insn].known_later;

    for (int r = 0; r < cannoli_nr_regs; r++) {
        if (cannoli_regs[r].lazy &&
            cannoli_regs_is_known(&cannoli_regs[r], known)) {
            return known;
        }
    }
    return CANNOLI_LAZY_UNKNOWN;
}

int cannoli_regs_written(const CannoliPass *p, int insn, int k)
{
    return sorted[p->insns[insn].first_write + k].reg;
}

bool cannoli_regs_written_between(const CannoliPass *p, int insn, int from,
                                  int to)
{
    for (int i = from; i < to; i++) {
        TCGOp *op = p->ops[i].op;

        if (p->ops[i].insn != insn) {
            continue;
        }
        if (op->opc == INDEX_op_call || stored_bytes(op)) {
            return true;
        }
        for (int k = 0; k < tcg_op_defs[op->opc].nb_oargs; k++) {
            TCGTemp *ts = arg_temp(op->args[k]);

            if (ts->kind == TEMP_GLOBAL && cannoli_regs_of_global(ts) >= 0) {
                return true;
            }
        }
    }
    return false;
}

/* ---- what is inserted ---- */

static void gen_reg(CannoliPass *p, const Write *w, bool at_end,
                    intptr_t offset)
{
    const CannoliReg *reg = &cannoli_regs[w->reg];
    TCGv_i64 wide;
    TCGv_i32 v;

    if (reg->lazy && at_end) {
        uint64_t value = p->insns[w->insn + 1].known;

        if (cannoli_regs_is_known(reg, value)) {
            tcg_gen_st_i32(tcg_constant_i32(value), p->data_ptr, offset);
            return;
        }
    }
    if (w->temp && reg->size == 8) {
        tcg_gen_st_i64(temp_tcgv_i64(w->temp), p->data_ptr, offset);
        return;
    }
    if (w->temp) {
        tcg_gen_st_i32(temp_tcgv_i32(w->temp), p->data_ptr, offset);
        return;
    }
    switch (reg->size) {
    case 16:
    case 8:
        wide = tcg_temp_ebb_new_i64();
        for (unsigned at = 0; at < reg->size; at += 8) {
            tcg_gen_ld_i64(wide, tcg_env, reg->off + at);
            tcg_gen_st_i64(wide, p->data_ptr,
                           offset +
                               (HOST_BIG_ENDIAN ? reg->size - 8 - at : at));
        }
        tcg_temp_free_i64(wide);
        break;
    default:
        v = tcg_temp_ebb_new_i32();
        if (reg->size == 1) {
            tcg_gen_ld8u_i32(v, tcg_env, reg->off);
        } else if (reg->size == 2) {
            tcg_gen_ld16u_i32(v, tcg_env, reg->off);
        } else {
            tcg_gen_ld_i32(v, tcg_env, reg->off);
        }
        tcg_gen_st_i32(v, p->data_ptr, offset);
        tcg_temp_free_i32(v);
        break;
    }
}

/* Store the recorded value in the shadow state. */
static void gen_shadow(CannoliPass *p, const Write *w, bool at_end,
                       TCGv_ptr shadow)
{
    const CannoliReg *reg = &cannoli_regs[w->reg];
    MemOp end = HOST_BIG_ENDIAN ? MO_BSWAP : 0;
    TCGv_i64 v = tcg_temp_ebb_new_i64();

    for (unsigned at = 0; at < reg->size; at += 8) {
        unsigned to = reg->state_off + at;
        uint64_t value = at_end && reg->lazy ? p->insns[w->insn + 1].known : 0;

        if (at_end && reg->lazy && cannoli_regs_is_known(reg, value)) {
            tcg_gen_movi_i64(v, value);
        } else if (w->temp && reg->size == 8) {
            tcg_gen_mov_i64(v, temp_tcgv_i64(w->temp));
        } else if (w->temp) {
            tcg_gen_extu_i32_i64(v, temp_tcgv_i32(w->temp));
        } else if (reg->size >= 8) {
            tcg_gen_ld_i64(v, tcg_env, reg->off + at);
        } else if (reg->size == 4) {
            tcg_gen_ld32u_i64(v, tcg_env, reg->off);
        } else if (reg->size == 2) {
            tcg_gen_ld16u_i64(v, tcg_env, reg->off);
        } else {
            tcg_gen_ld8u_i64(v, tcg_env, reg->off);
        }
        switch (reg->size) {
        case 1:
            tcg_gen_st8_i64(v, shadow, to);
            break;
        case 2:
            if (end) {
                tcg_gen_bswap16_i64(v, v, 0);
            }
            tcg_gen_st16_i64(v, shadow, to);
            break;
        case 4:
            if (end) {
                tcg_gen_bswap32_i64(v, v, 0);
            }
            tcg_gen_st32_i64(v, shadow, to);
            break;
        default:
            if (end) {
                tcg_gen_bswap64_i64(v, v);
            }
            tcg_gen_st_i64(v, shadow, to);
            break;
        }
    }
    tcg_temp_free_i64(v);
}

static void gen_shadows(CannoliPass *p, int insn, bool at_end)
{
    const InsnInfo *in = &p->insns[insn];
    TCGv_ptr shadow;

    if (!in->writes) {
        return;
    }
    shadow = tcg_temp_ebb_new_ptr();
    tcg_gen_ld_ptr(shadow, tcg_env,
                   offsetof(CPUState, neg.cannoli.shadow) - sizeof(CPUState));
    for (int k = 0; k < in->writes; k++) {
        gen_shadow(p, &sorted[in->first_write + k], at_end, shadow);
    }
    tcg_temp_free_ptr(shadow);
}

void cannoli_regs_emit(CannoliPass *p, int insn, bool at_end, int *lazy)
{
    const InsnInfo *in = &p->insns[insn];

    for (int k = 0; k < in->writes; k++) {
        const Write *w = &sorted[in->first_write + k];
        unsigned size = cannoli_regs[w->reg].size, value = MAX(size, 4);
        unsigned units = CTR_UNITS(size, p->unit);
        intptr_t offset;

        *lazy += units;
        offset = -(intptr_t)(*lazy * p->unit);
        if (HOST_BIG_ENDIAN && units * p->unit > value) {
            offset += units * p->unit - value;
        }
        gen_reg(p, w, at_end, offset);
    }
    if (cannoli_regs_shadow()) {
        gen_shadows(p, insn, at_end);
    }
}

static TCGHelperInfo info_begin = {
    .func = helper_cannoli_regs_begin,
    .name = "cannoli_regs_begin",
    .flags = TCG_CALL_NO_WRITE_GLOBALS,
    .typemask = dh_typemask(void, 0) | dh_typemask(env, 1),
};

void cannoli_regs_begin(void)
{
    tcg_gen_call1(helper_cannoli_regs_begin, &info_begin, NULL,
                  tcgv_ptr_temp(tcg_env));
}

static TCGHelperInfo info_before = {
    .func = helper_cannoli_regs_before,
    .name = "cannoli_regs_before",
    .flags = TCG_CALL_NO_WRITE_GLOBALS,
    .typemask =
        dh_typemask(void, 0) | dh_typemask(env, 1) | dh_typemask(i32, 2),
};

static TCGHelperInfo info_after = {
    .func = helper_cannoli_regs_after,
    .name = "cannoli_regs_after",
    .flags = TCG_CALL_NO_WRITE_GLOBALS,
    .typemask = dh_typemask(void, 0) | dh_typemask(env, 1) |
                dh_typemask(i32, 2) | dh_typemask(ptr, 3),
};

void cannoli_regs_before(CannoliPass *p, const OpInfo *o)
{
    tcg_gen_call2(helper_cannoli_regs_before, &info_before, NULL,
                  tcgv_ptr_temp(tcg_env),
                  tcgv_i32_temp(tcg_constant_i32(o->sets)));
}

void cannoli_regs_after(CannoliPass *p, const CannoliBlock *b, const OpInfo *o,
                        bool later)
{
    uint32_t insn = o->insn >= 0 ? p->insns[o->insn].number : UINT32_MAX;

    if (o->insn < 0 || !p->insns[o->insn].writes || !later) {
        b = NULL;
    }
    tcg_gen_call3(helper_cannoli_regs_after, &info_after, NULL,
                  tcgv_ptr_temp(tcg_env), tcgv_i32_temp(tcg_constant_i32(insn)),
                  tcgv_ptr_temp(tcg_constant_ptr(b)));
}
