/*
 * Execution tracing into shared memory: accesses with a derived address
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Part of the pass over a block, see pass.c.  Many addresses are that of an
 * earlier access of the block plus a constant (registers that are pushed,
 * fields of a structure), or always the same (literals).  Such slots are
 * *derived*: their addresses are not stored, the definition contains how to
 * compute them.
 *
 * One walk over the ops assigns every temp a symbolic value: an unknown number
 * (its base) plus an offset, of which the lowest `bits' bits are known.  Moves,
 * sums, shifts by a constant and the masking of addresses are followed;
 * everything else makes a new unknown number, and so does every write in code
 * that may run no time or many times (two temps that are equal there need not
 * be equal after it).  The difference of two addresses with one base is known.
 *
 * Bits are only ever lost above bit 55, where aarch64 removes the tag of an
 * address by its own rule.  An access that is made is one of host memory, so
 * its guest address is from -2^55 to 2^55 and the lowest 56 bits determine it;
 * with a guest_base of 0 it is from 0 to 2^56.
 *
 * The access that another is derived from, its root, is unconditional, has a
 * unit of its own and was made in the same buffer: a check in which a loop may
 * continue in the next buffer invalidates all earlier roots.
 *
 * Derived accesses are made by instructions that are simple (InsnInfo): until
 * the last of its accesses, nothing but an access can leave it.  Hence an exit
 * from its middle comes from an access that faulted, and settle.c can find out
 * which one.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "cpu.h"
#include "tcg/tcg.h"
#include "tcg/tcg-internal.h"
#include "pass.h"

#define MAX_BASES  4096
#define KNOWN_BITS 56 /* that a masked address keeps at least */

enum {
    BASE_CONST = 0,            /* the number 0 */
    BASE_NEW = UINT32_MAX - 1, /* unknown, and not used yet */
    BASE_NONE = UINT32_MAX,    /* unknown, and no other is derived from it */
};

typedef struct Value {
    uint32_t base;
    uint8_t bits;
    uint8_t shift; /* left, before all else */
    uint64_t off;
} Value;

static Value values[TCG_MAX_TEMPS];

/* By base: the access that others are derived from; -1: none. */
static struct Root {
    int slot;
    uint32_t bits;
    uint64_t off;
} roots[MAX_BASES];
static uint32_t nr_bases;

/*
 * Unknown numbers computed from others: a + b, or a << shift.  The same
 * operands give the same number (an element of an array that is loaded and
 * stored).
 */
#define MAX_MADE 256
static struct Made {
    uint32_t a, b, base;
    unsigned shift;
} made[MAX_MADE];
static unsigned nr_made;

static unsigned type_bits(const TCGTemp *ts)
{
    return ts->type == TCG_TYPE_I32 ? 32 : ts->type == TCG_TYPE_I64 ? 64 : 0;
}

static Value constant(const TCGTemp *ts, uint64_t number)
{
    return (Value){ .base = BASE_CONST, .bits = type_bits(ts), .off = number };
}

static uint32_t new_base(void)
{
    if (nr_bases == MAX_BASES) {
        return BASE_NONE;
    }
    roots[nr_bases].slot = -1;
    return nr_bases++;
}

static Value any_value_of(TCGTemp *ts)
{
    Value *v = &values[temp_idx(ts)];

    if (ts->kind == TEMP_CONST) {
        return constant(ts, ts->val);
    }
    if (v->base == BASE_NEW) {
        *v = (Value){ .base = new_base(), .bits = type_bits(ts) };
    }
    return *v;
}

static uint32_t made_of(uint32_t a, uint32_t b, unsigned shift)
{
    struct Made *m;

    if (a >= BASE_NEW || b >= BASE_NEW) {
        return BASE_NONE;
    }
    for (m = made; m < made + nr_made; m++) {
        if (m->a == a && m->b == b && m->shift == shift) {
            return m->base;
        }
    }
    if (nr_made == MAX_MADE) {
        return BASE_NONE;
    }
    nr_made++;
    *m = (struct Made){ a, b, new_base(), shift };
    return m->base;
}

/* The same, with the deferred shift applied. */
static Value value_of(TCGTemp *ts)
{
    Value v = any_value_of(ts);

    if (v.shift) {
        if (v.base != BASE_CONST) {
            v.base = made_of(v.base, 0, v.shift);
        }
        v.bits = MIN(v.bits + v.shift, type_bits(ts));
        v.off <<= v.shift;
        v.shift = 0;
    }
    return v;
}

static bool same_bits(uint64_t a, uint64_t b, unsigned bits)
{
    return !((a ^ b) << (64 - bits));
}

/* The lowest n bits of v, with anything above them. */
static Value lowest(Value v, unsigned n)
{
    v.bits = MIN(v.bits, n);
    if (v.bits < KNOWN_BITS) {
        v.base = BASE_NEW;
    }
    return v;
}

/*
 * The lowest n bits of v, with zeros above them or copies of the highest one.
 */
static Value extended(Value v, unsigned n, bool sign)
{
    if (v.base == BASE_CONST) {
        v.off = sign ? sextract64(v.off, 0, n) : extract64(v.off, 0, n);
        return v;
    }
    return lowest(v, n);
}

/* a & b or a | b, if that is the same number with some bits more or less. */
static Value merge(Value a, Value b, bool or)
{
    unsigned bits = MIN(a.bits, b.bits);

    if (a.base == BASE_CONST) {
        Value swap = a;

        a = b;
        b = swap;
    }
    if (b.base == BASE_CONST) {
        if (a.base == BASE_CONST) {
            a.off = or ? a.off | b.off : a.off & b.off;
            return a;
        }
        return lowest(a, or ? ctz64(b.off) : cto64(b.off));
    }
    if (a.base == b.base && a.base < BASE_NEW && bits >= KNOWN_BITS &&
        same_bits(a.off, b.off, bits)) {
        return lowest(a, bits);
    }
    return (Value){ BASE_NEW };
}

/*
 * A left shift is deferred: a right shift after it makes both an extension of
 * the lowest bits.
 */
static Value shifted(TCGOp *op)
{
    const TCGTemp *by = arg_temp(op->args[2]);
    bool left = op->opc == INDEX_op_shl_i32 || op->opc == INDEX_op_shl_i64;
    Value v;

    if (by->kind != TEMP_CONST || by->val < 1 || by->val > 31) {
        return (Value){ BASE_NEW };
    }
    if (left) {
        v = value_of(arg_temp(op->args[1]));
        v.shift = by->val;
        return v;
    }
    v = any_value_of(arg_temp(op->args[1]));
    if (v.shift != by->val) {
        return (Value){ BASE_NEW };
    }
    v.shift = 0;
    return extended(v, 64 - by->val, op->opc == INDEX_op_sar_i64);
}

/* The value of the only output of an op, in code that runs once. */
static Value result(TCGOp *op)
{
    Value a, b;

    switch (op->opc) {
    case INDEX_op_mov_i32:
    case INDEX_op_mov_i64:
        return any_value_of(arg_temp(op->args[1]));
    case INDEX_op_shl_i32:
    case INDEX_op_shl_i64:
    case INDEX_op_shr_i64:
    case INDEX_op_sar_i64:
        return shifted(op);
    case INDEX_op_add_i32:
    case INDEX_op_add_i64:
        a = value_of(arg_temp(op->args[1]));
        b = value_of(arg_temp(op->args[2]));
        if (a.base == BASE_CONST) {
            a.base = b.base;
        } else if (b.base != BASE_CONST) {
            a.base = made_of(MIN(a.base, b.base), MAX(a.base, b.base), 0);
        }
        a.bits = MIN(a.bits, b.bits);
        a.off += b.off;
        return a;
    case INDEX_op_sub_i32:
    case INDEX_op_sub_i64:
        a = value_of(arg_temp(op->args[1]));
        b = value_of(arg_temp(op->args[2]));
        if (b.base == BASE_CONST) {
            a.off -= b.off;
            return a;
        }
        break;
    case INDEX_op_and_i64:
    case INDEX_op_or_i64:
        return merge(value_of(arg_temp(op->args[1])),
                     value_of(arg_temp(op->args[2])),
                     op->opc == INDEX_op_or_i64);
    case INDEX_op_extract_i64:
    case INDEX_op_sextract_i64:
        if (op->args[2] == 0) {
            return extended(value_of(arg_temp(op->args[1])), op->args[3],
                            op->opc == INDEX_op_sextract_i64);
        }
        break;
    default:
        break;
    }
    return (Value){ BASE_NEW };
}

static void forget_globals(TCGContext *s)
{
    for (int i = 0; i < s->nb_globals; i++) {
        values[i].base = BASE_NEW;
    }
}

static void follow(CannoliPass *p, TCGContext *s, const OpInfo *o, bool once)
{
    TCGOp *op = o->op;
    bool call = op->opc == INDEX_op_call;
    int nr_out = call ? TCGOP_CALLO(op) : tcg_op_defs[op->opc].nb_oargs;
    Value v = { BASE_NEW };

    if (call && !(tcg_call_flags(op) &
                  (TCG_CALL_NO_WRITE_GLOBALS | TCG_CALL_NO_READ_GLOBALS))) {
        forget_globals(s);
    }
    if (nr_out == 1 && once && !call) {
        v = result(op);
    }
    for (int i = 0; i < nr_out; i++) {
        values[temp_idx(arg_temp(op->args[i]))] = v;
    }
}

static void forget_roots(void)
{
    for (uint32_t i = 0; i < nr_bases; i++) {
        roots[i].slot = -1;
    }
}

/* The slot's address is v: is it derived, or may others be derived from it? */
static void find_root(CannoliPass *p, int slot, Value v)
{
    Slot *sl = &p->slots[slot];
    unsigned width = p->unit * 8;
    struct Root *root = &roots[v.base];
    int64_t delta = v.off;
    Derive *d = &p->derived[p->nr_derived];

    if (v.base == BASE_CONST) {
        if (!p->insns[sl->insn].simple) {
            return;
        }
        *d = (Derive){ .root = CTR_DERIVE_CONST };
    } else {
        delta = width == 32 ? (int32_t)(v.off - root->off) : v.off - root->off;
        if (!p->insns[sl->insn].simple || root->slot < 0 ||
            root->bits < v.bits || delta < -CTR_MAX_DERIVE ||
            delta > CTR_MAX_DERIVE) {
            *root = (struct Root){ slot, v.bits, v.off };
            return;
        }
        *d = (Derive){ .root = root->slot };
    }
    d->bits = v.bits;
    d->flags = v.bits < width && CANNOLI_GUEST_BASE ? CTR_DERIVE_SIGNED : 0;
    d->delta = delta;
    p->nr_derived++;
    p->units -= sl->units;
    sl->access |= CTR_ACCESS_DERIVED;
    sl->units = cannoli_slot_units(sl->access);
    p->units += sl->units;
}

void cannoli_find_derived(CannoliPass *p, TCGContext *s)
{
    int depth = 0;

    p->nr_derived = 0;
    if (TCG_TARGET_REG_BITS < p->unit * 8) {
        return;
    }
    nr_bases = BASE_CONST + 1;
    nr_made = 0;
    for (int i = 0; i < s->nb_temps; i++) {
        values[i].base = BASE_NEW;
    }
    for (int i = 0, left = p->nr_slots; i < p->nr_ops && left; i++) {
        const OpInfo *o = &p->ops[i];

        depth += p->cover[i];
        if (o->loop_head) {
            forget_roots();
        }
        if (o->slot >= 0) {
            TCGTemp *addr = arg_temp(o->op->args[cannoli_addr_arg(o->op)]);

            if (!p->slots[o->slot].group && type_bits(addr) == p->unit * 8) {
                Value v = value_of(addr);

                if (v.base < BASE_NEW) {
                    find_root(p, o->slot, v);
                }
            }
            left = p->nr_slots - o->slot - 1;
        }
        follow(p, s, o, !depth && (o->insn < 0 || !p->insns[o->insn].loops));
    }
}
