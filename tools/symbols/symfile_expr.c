/* SPDX-License-Identifier: MIT */
/*
 * Encodes location expressions for dwarf_expr.h, in the child.  libdw decodes them and
 * finds location lists; they are encoded again in one form for all machines, with indexes
 * and references to DIEs resolved.  What cannot be resolved becomes the operation 0, which
 * the evaluator does not know.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_reader_priv.h"

#define MAX_OPS 1000
#define MAX_BYTES 4096

struct encoder {
    struct reader *r;
    Dwarf_Attribute *attr;
    Dwarf_Addr bias;
    uint8_t out[MAX_BYTES + 32];
    size_t n;
    bool full;
};

static void put(struct encoder *e, const void *p, size_t n)
{
    if (e->n + n > MAX_BYTES) {
        e->full = true;
        return;
    }
    memcpy(e->out + e->n, p, n);
    e->n += n;
}

static void put_number(struct encoder *e, uint64_t v, unsigned bytes)
{
    uint8_t b[8];
    for (unsigned i = 0; i < bytes; i++) {
        b[i] = (uint8_t)(v >> (8 * i));
    }
    put(e, b, bytes);
}

static void put_uleb(struct encoder *e, uint64_t v)
{
    do {
        put_number(e, (v & 0x7f) | (v > 0x7f ? 0x80 : 0), 1);
        v >>= 7;
    } while (v);
}

static void put_sleb(struct encoder *e, int64_t v)
{
    bool more = true;
    while (more) {
        uint8_t b = v & 0x7f;
        v = v >= 0 ? v >> 7 : ~(~v >> 7);
        more = !((v == 0 && !(b & 0x40)) || (v == -1 && b & 0x40));
        put_number(e, b | (more ? 0x80 : 0), 1);
    }
}

/* The type operand of an operation: encoding and size; false: neither known. */
static bool put_type(struct encoder *e, const Dwarf_Op *op, uint64_t offset)
{
    Dwarf_Die die;
    Dwarf_Attribute a;
    Dwarf_Word encoding = 0, size = 0;
    if (offset) {
        if (!e->attr || dwarf_getlocation_die(e->attr, op, &die) != 0 ||
            !dwarf_attr(&die, DW_AT_encoding, &a) ||
            dwarf_formudata(&a, &encoding) != 0 ||
            !dwarf_attr(&die, DW_AT_byte_size, &a) || dwarf_formudata(&a, &size) != 0 ||
            encoding > 255 || size > 255) {
            return false;
        }
    }
    put_number(e, encoding, 1);
    put_number(e, size, 1);
    return true;
}

/* Operations with a block, or with an operand in another section. */
static bool put_reference(struct encoder *e, const Dwarf_Op *op)
{
    Dwarf_Attribute a;
    Dwarf_Addr addr;
    Dwarf_Word v;
    Dwarf_Block block;
    if (!e->attr) {
        return false;
    }
    switch (op->atom) {
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
        if (dwarf_getlocation_attr(e->attr, op, &a) != 0 || dwarf_formaddr(&a, &addr)) {
            return false;
        }
        put_number(e, DW_OP_addr, 1);
        put_number(e, addr + e->bias, 8);
        return true;
    case DW_OP_constx:
    case DW_OP_GNU_const_index:
        if (dwarf_getlocation_attr(e->attr, op, &a) != 0 ||
            (dwarf_formudata(&a, &v) != 0 && dwarf_formaddr(&a, &v) != 0)) {
            return false;
        }
        put_number(e, DW_OP_const8u, 1);
        put_number(e, v, 8);
        return true;
    case DW_OP_implicit_value:
        if (dwarf_getlocation_implicit_value(e->attr, op, &block) != 0 ||
            block.length > MAX_BYTES) {
            return false;
        }
        put_number(e, op->atom, 1);
        put_uleb(e, block.length);
        put(e, block.data, block.length);
        return true;
    case DW_OP_const_type:
    case DW_OP_GNU_const_type:
        put_number(e, DW_OP_const_type, 1);
        if (!put_type(e, op, op->number) ||
            dwarf_getlocation_attr(e->attr, op, &a) != 0 ||
            dwarf_formblock(&a, &block) != 0 || block.length > 255) {
            return false;
        }
        put_number(e, block.length, 1);
        put(e, block.data, block.length);
        return true;
    default:
        return false;
    }
}

/* The value that a register had on entry: of other entry values only that they are. */
static bool put_entry_value(struct encoder *e, const Dwarf_Op *op)
{
    Dwarf_Attribute a;
    Dwarf_Op *in;
    size_t n;
    uint64_t reg = UINT64_MAX;
    if (e->attr && dwarf_getlocation_attr(e->attr, op, &a) == 0 &&
        dwarf_getlocation(&a, &in, &n) == 0 && n == 1) {
        if (in[0].atom >= DW_OP_reg0 && in[0].atom <= DW_OP_reg31) {
            reg = in[0].atom - DW_OP_reg0;
        } else if (in[0].atom == DW_OP_regx) {
            reg = in[0].number;
        }
    }
    put_number(e, DW_OP_entry_value, 1);
    if (reg > UINT32_MAX) {
        put_uleb(e, 0);
        return true;
    }
    struct encoder inner = {.n = 0};
    put_number(&inner, DW_OP_regx, 1);
    put_uleb(&inner, reg);
    put_uleb(e, inner.n);
    put(e, inner.out, inner.n);
    return true;
}

/* Operations with types; the old GNU ones are those of DWARF 5. */
static bool put_typed(struct encoder *e, const Dwarf_Op *op)
{
    switch (op->atom) {
    case DW_OP_regval_type:
    case DW_OP_GNU_regval_type:
        put_number(e, DW_OP_regval_type, 1);
        put_uleb(e, op->number);
        return put_type(e, op, op->number2);
    case DW_OP_deref_type:
    case DW_OP_GNU_deref_type:
        put_number(e, DW_OP_deref_type, 1);
        put_number(e, op->number, 1);
        return put_type(e, op, op->number2);
    case DW_OP_convert:
    case DW_OP_GNU_convert:
        put_number(e, DW_OP_convert, 1);
        return put_type(e, op, op->number);
    case DW_OP_reinterpret:
    case DW_OP_GNU_reinterpret:
        put_number(e, DW_OP_reinterpret, 1);
        return put_type(e, op, op->number);
    default:
        return false;
    }
}

/* Operands of a fixed or LEB128 size, and none. */
static bool put_simple(struct encoder *e, const Dwarf_Op *op)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8}; /* const1u, const1s ... */
    uint8_t atom = op->atom == DW_OP_GNU_push_tls_address ? DW_OP_form_tls_address
                   : op->atom == DW_OP_GNU_uninit         ? DW_OP_nop
                                                          : op->atom;
    put_number(e, atom, 1);
    if (atom >= DW_OP_const1u && atom <= DW_OP_const8s) {
        put_number(e, op->number, sizes[atom - DW_OP_const1u]);
    } else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
        put_sleb(e, (int64_t)op->number);
    } else {
        switch (atom) {
        case DW_OP_addr:
            put_number(e, op->number + e->bias, 8);
            break;
        case DW_OP_pick:
        case DW_OP_deref_size:
            put_number(e, op->number, 1);
            break;
        case DW_OP_bra:
        case DW_OP_skip:
            put_number(e, 0, 2);
            break;
        case DW_OP_constu:
        case DW_OP_plus_uconst:
        case DW_OP_regx:
        case DW_OP_piece:
            put_uleb(e, op->number);
            break;
        case DW_OP_consts:
        case DW_OP_fbreg:
            put_sleb(e, (int64_t)op->number);
            break;
        case DW_OP_bregx:
            put_uleb(e, op->number);
            put_sleb(e, (int64_t)op->number2);
            break;
        case DW_OP_bit_piece:
            put_uleb(e, op->number);
            put_uleb(e, op->number2);
            break;
        default:
            return (atom >= DW_OP_lit0 && atom <= DW_OP_reg31) || atom == DW_OP_deref ||
                   (atom >= DW_OP_dup && atom <= DW_OP_over) || atom == DW_OP_swap ||
                   atom == DW_OP_rot || (atom >= DW_OP_abs && atom <= DW_OP_plus) ||
                   (atom >= DW_OP_shl && atom <= DW_OP_xor) ||
                   (atom >= DW_OP_eq && atom <= DW_OP_ne) || atom == DW_OP_nop ||
                   atom == DW_OP_form_tls_address || atom == DW_OP_call_frame_cfa ||
                   atom == DW_OP_stack_value;
        }
    }
    return true;
}

static bool put_op(struct encoder *e, const Dwarf_Op *op)
{
    switch (op->atom) {
    case DW_OP_implicit_pointer:
    case DW_OP_GNU_implicit_pointer:
        put_number(e, DW_OP_implicit_pointer, 1);
        return true;
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
        return put_entry_value(e, op);
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
    case DW_OP_constx:
    case DW_OP_GNU_const_index:
    case DW_OP_implicit_value:
    case DW_OP_const_type:
    case DW_OP_GNU_const_type:
        return put_reference(e, op);
    case DW_OP_regval_type:
    case DW_OP_GNU_regval_type:
    case DW_OP_deref_type:
    case DW_OP_GNU_deref_type:
    case DW_OP_convert:
    case DW_OP_GNU_convert:
    case DW_OP_reinterpret:
    case DW_OP_GNU_reinterpret:
        return put_typed(e, op);
    default:
        return put_simple(e, op);
    }
}

/* Sets the distance of a branch to the operation that it had as its target. */
static bool patch(struct encoder *e, const Dwarf_Op *ops, size_t n, size_t i,
                  const uint16_t *at)
{
    uint64_t target = ops[i].offset + 3 + (uint64_t)(int16_t)ops[i].number;
    for (size_t k = 0; k <= n; k++) {
        if ((k < n && ops[k].offset == target) ||
            (k == n && target > ops[n - 1].offset)) {
            uint16_t distance = (uint16_t)(at[k] - (at[i] + 3));
            e->out[at[i] + 1] = (uint8_t)distance;
            e->out[at[i] + 2] = (uint8_t)(distance >> 8);
            return true;
        }
    }
    return false;
}

uint32_t expr_add(struct reader *r, Dwarf_Attribute *attr, const Dwarf_Op *ops, size_t n,
                  Dwarf_Addr bias, uint32_t *bytes)
{
    struct encoder e = {.r = r, .attr = attr, .bias = bias};
    uint16_t at[MAX_OPS + 1];
    bool ok = n <= MAX_OPS;
    for (size_t i = 0; ok && i < n; i++) {
        at[i] = (uint16_t)e.n;
        ok = put_op(&e, &ops[i]);
    }
    ok = ok && !e.full;
    if (ok) {
        at[n] = (uint16_t)e.n;
    }
    for (size_t i = 0; ok && i < n; i++) {
        if (ops[i].atom == DW_OP_bra || ops[i].atom == DW_OP_skip) {
            ok = patch(&e, ops, n, i, at);
        }
    }
    if (!ok) {
        e.out[0] = 0;
        e.n = 1;
    }
    *bytes = (uint32_t)e.n;
    return bytes_add(r, e.out, e.n);
}

static void add(struct reader *r, uint64_t addr, uint64_t end, uint32_t expr, uint32_t n)
{
    struct sym_location *l = vec_push(r, &r->locations, sizeof(*l));
    l->addr = addr;
    l->end = end;
    l->expr = BYTES_PTR(expr);
    l->expr_bytes = n;
}

void locations_add(struct reader *r, Dwarf_Attribute *a, Dwarf_Addr bias, uint32_t *first,
                   uint32_t *n)
{
    Dwarf_Addr base, from, to;
    Dwarf_Op *ops;
    size_t nr_ops;
    ptrdiff_t at = 0;
    *first = (uint32_t)r->locations.n;
    *n = 0;
    if (!a->valp) {
        return;
    }
    while ((at = dwarf_getlocations(a, at, &base, &from, &to, &ops, &nr_ops)) > 0) {
        bool always = from == 0 && to == (Dwarf_Addr)-1;
        uint32_t bytes, expr = expr_add(r, a, ops, nr_ops, bias, &bytes);
        if (from < to) {
            add(r, always ? 0 : from + bias, always ? UINT64_MAX : to + bias, expr,
                bytes);
        }
    }
    if (at < 0) { /* damaged: not "optimized out" */
        add(r, 0, UINT64_MAX, bytes_add(r, "", 1), 1);
    }
    *n = (uint32_t)r->locations.n - *first;
    /* An address range may wrap around with a hostile bias. */
    struct sym_location *v = r->locations.p;
    for (uint32_t i = *first; i < r->locations.n; i++) {
        v[i].end = v[i].end > v[i].addr ? v[i].end : UINT64_MAX;
        v[i].addr = v[i].addr < v[i].end ? v[i].addr : 0;
    }
}
