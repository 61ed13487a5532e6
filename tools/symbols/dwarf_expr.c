/* SPDX-License-Identifier: MIT */
/*
 * A stack machine for location expressions (dwarf_expr.h).  A value on the stack has 64
 * bits and a type, which is the generic one (as wide as an address) or an integer or
 * floating-point type; arithmetic on floating-point values is not done.
 */
#include "dwarf_expr.h"
#include <dwarf.h>
#include <string.h>

#define MAX_STACK 64
#define MAX_STEPS 10000

struct value {
    uint64_t bits;
    uint8_t encoding, size; /* 0, 0: generic */
};

struct machine {
    const uint8_t *p, *start, *end;
    const struct dwarf_env *env;
    struct dwarf_result *out;
    struct value stack[MAX_STACK];
    unsigned n, steps;
    const char *reason;       /* set once: the machine stops */
    struct dwarf_place place; /* of the piece that is being described */
    bool located;             /* place is more than the top of the stack */
};

static const char damaged[] = "its location is damaged";
static const char bad_operation[] = "its location has an operation that is not known";

static bool stop(struct machine *m, const char *reason)
{
    m->reason = m->reason ? m->reason : reason;
    return false;
}

/* ------------------------------------------------------------------- operands */

static uint64_t get(struct machine *m, unsigned n)
{
    uint64_t v = 0;
    if ((size_t)(m->end - m->p) < n) {
        stop(m, damaged);
        return 0;
    }
    for (unsigned i = 0; i < n; i++) {
        v |= (uint64_t)m->p[i] << (8 * i);
    }
    m->p += n;
    return v;
}

static uint64_t get_signed(struct machine *m, unsigned n)
{
    uint64_t v = get(m, n), sign = UINT64_C(1) << (8 * n - 1);
    return (v ^ sign) - sign;
}

static uint64_t get_leb(struct machine *m, bool is_signed)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t b = 0x80;
    while (b & 0x80) {
        if (m->p == m->end) {
            stop(m, damaged);
            return 0;
        }
        b = *m->p++;
        if (shift < 64) {
            v |= (uint64_t)(b & 0x7f) << shift;
        }
        shift += 7;
    }
    if (is_signed && b & 0x40 && shift < 64) {
        v |= ~UINT64_C(0) << shift;
    }
    return v;
}

/* ---------------------------------------------------------------------- stack */

static bool is_float(const struct value *v)
{
    return v->encoding == DW_ATE_float || v->encoding == DW_ATE_complex_float ||
           v->encoding == DW_ATE_imaginary_float || v->encoding == DW_ATE_decimal_float;
}

static bool is_signed(const struct value *v)
{
    return v->encoding == DW_ATE_signed || v->encoding == DW_ATE_signed_char;
}

static unsigned width(const struct machine *m, const struct value *v)
{
    return 8u * (v->size ? v->size : m->env->addr_bytes);
}

/* Cuts to the value's width; a signed type is kept sign-extended. */
static uint64_t fit(const struct machine *m, const struct value *v, uint64_t bits)
{
    unsigned w = width(m, v);
    if (w >= 64) {
        return bits;
    }
    bits &= (UINT64_C(1) << w) - 1;
    if (is_signed(v) && bits >> (w - 1)) {
        bits |= ~UINT64_C(0) << w;
    }
    return bits;
}

/* The value as a signed number. */
static int64_t as_signed(const struct machine *m, const struct value *v)
{
    struct value s = {v->bits, DW_ATE_signed, (uint8_t)(width(m, v) / 8)};
    return (int64_t)fit(m, &s, v->bits);
}

static bool push_value(struct machine *m, struct value v)
{
    if (m->n == MAX_STACK) {
        return stop(m, "its location needs too large a stack");
    }
    if (v.size > 8) {
        return stop(m, "its location needs a value of more than 64 bits");
    }
    v.bits = fit(m, &v, v.bits);
    m->stack[m->n++] = v;
    return true;
}

static bool push(struct machine *m, uint64_t bits)
{
    return push_value(m, (struct value){.bits = bits});
}

static struct value pop(struct machine *m)
{
    if (m->n == 0) {
        stop(m, damaged);
        return (struct value){0};
    }
    return m->stack[--m->n];
}

/* ------------------------------------------------------- registers and memory */

static bool reg(struct machine *m, uint64_t number, uint64_t *value)
{
    *value = 0;
    return (number <= UINT32_MAX && m->env->reg &&
            m->env->reg(m->env->arg, (uint32_t)number, value)) ||
           stop(m, "a register is not known");
}

static uint64_t load(const struct dwarf_env *env, const uint8_t *b, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++) {
        v |= (uint64_t)b[i] << (8 * (env->big_endian ? n - 1 - i : i));
    }
    return v;
}

static bool deref(struct machine *m, unsigned n, struct value type)
{
    uint8_t b[8];
    struct value addr = pop(m);
    if (n == 0 || n > 8) {
        return stop(m, "its location needs a value of more than 64 bits");
    }
    if (m->reason || !m->env->memory || !m->env->memory(m->env->arg, addr.bits, b, n)) {
        return stop(m, "memory is not known");
    }
    type.bits = load(m->env, b, n);
    return push_value(m, type);
}

static bool call(struct machine *m, bool (*fn)(void *, uint64_t *), const char *why)
{
    uint64_t v = 0;
    return fn && fn(m->env->arg, &v) ? push(m, v) : stop(m, why);
}

/* ------------------------------------------------------------------ operations */

static bool arithmetic(struct machine *m, uint8_t op, struct value a, struct value b)
{
    uint64_t x = a.bits, y = b.bits, r;
    int64_t sx = as_signed(m, &a), sy = as_signed(m, &b);
    unsigned w = width(m, &a);
    switch (op) {
    case DW_OP_and:
        r = x & y;
        break;
    case DW_OP_or:
        r = x | y;
        break;
    case DW_OP_xor:
        r = x ^ y;
        break;
    case DW_OP_plus:
        r = x + y;
        break;
    case DW_OP_minus:
        r = x - y;
        break;
    case DW_OP_mul:
        r = x * y;
        break;
    case DW_OP_div: /* signed, for the generic type too */
    case DW_OP_mod:
        if (y == 0) {
            return stop(m, "its location divides by zero");
        }
        if (op == DW_OP_mod && !is_signed(&a)) {
            r = x % y;
        } else if (op == DW_OP_div && a.size && !is_signed(&a)) {
            r = x / y;
        } else if (sy == -1) {
            r = op == DW_OP_div ? 0 - (uint64_t)sx : 0;
        } else {
            r = (uint64_t)(op == DW_OP_div ? sx / sy : sx % sy);
        }
        break;
    case DW_OP_shl:
        r = y >= w ? 0 : x << y;
        break;
    case DW_OP_shr: {
        struct value u = {x, DW_ATE_unsigned, (uint8_t)(w / 8)};
        r = y >= w ? 0 : fit(m, &u, x) >> y;
        break;
    }
    default: { /* DW_OP_shra */
        unsigned s = y >= w ? 63 : (unsigned)y;
        r = sx < 0 ? ~(~(uint64_t)sx >> s) : (uint64_t)sx >> s;
        break;
    }
    }
    a.bits = r;
    return push_value(m, a);
}

static bool compare(struct machine *m, uint8_t op, struct value a, struct value b)
{
    bool u = a.size && !is_signed(&a);
    int64_t x = as_signed(m, &a), y = as_signed(m, &b);
    int order = u ? (a.bits > b.bits) - (a.bits < b.bits) : (x > y) - (x < y);
    switch (op) {
    case DW_OP_eq:
        return push(m, order == 0);
    case DW_OP_ge:
        return push(m, order >= 0);
    case DW_OP_gt:
        return push(m, order > 0);
    case DW_OP_le:
        return push(m, order <= 0);
    case DW_OP_lt:
        return push(m, order < 0);
    default:
        return push(m, order != 0);
    }
}

static bool binary(struct machine *m, uint8_t op)
{
    struct value b = pop(m), a = pop(m);
    if (m->reason) {
        return false;
    }
    if (is_float(&a) || is_float(&b)) {
        return stop(m, "its location computes with floating-point numbers");
    }
    return op >= DW_OP_eq && op <= DW_OP_ne ? compare(m, op, a, b)
                                            : arithmetic(m, op, a, b);
}

static bool unary(struct machine *m, uint8_t op)
{
    struct value a = pop(m);
    if (m->reason) {
        return false;
    }
    if (is_float(&a)) {
        return stop(m, "its location computes with floating-point numbers");
    }
    if (op == DW_OP_not) {
        a.bits = ~a.bits;
    } else if (op == DW_OP_neg || as_signed(m, &a) < 0) {
        a.bits = 0 - (uint64_t)as_signed(m, &a);
    }
    return push_value(m, a);
}

static bool convert(struct machine *m, bool reinterpret)
{
    struct value a = pop(m), to = {0};
    to.encoding = (uint8_t)get(m, 1);
    to.size = (uint8_t)get(m, 1);
    if (m->reason) {
        return false;
    }
    if (!reinterpret && is_float(&a) != is_float(&to)) {
        return stop(m, "its location computes with floating-point numbers");
    }
    if (!reinterpret && is_float(&a) && width(m, &a) != width(m, &to)) {
        return stop(m, "its location computes with floating-point numbers");
    }
    to.bits = a.bits;
    return push_value(m, to);
}

static bool constant(struct machine *m, uint8_t op)
{
    unsigned k = op - DW_OP_const1u, n = 1u << k / 2;
    return push(m, k % 2 ? get_signed(m, n) : get(m, n));
}

static bool stack_op(struct machine *m, uint8_t op)
{
    unsigned i = op == DW_OP_dup ? 0 : op == DW_OP_over ? 1 : 0;
    switch (op) {
    case DW_OP_pick:
        i = (unsigned)get(m, 1);
        /* fall through */
    case DW_OP_dup:
    case DW_OP_over:
        return i < m->n ? push_value(m, m->stack[m->n - 1 - i]) : stop(m, damaged);
    case DW_OP_drop:
        pop(m);
        return !m->reason;
    default: /* swap, rot */
        i = op == DW_OP_swap ? 2 : 3;
        if (m->n < i) {
            return stop(m, damaged);
        }
        struct value top = m->stack[m->n - 1];
        memmove(&m->stack[m->n - i + 1], &m->stack[m->n - i], (i - 1) * sizeof(top));
        m->stack[m->n - i] = top;
        return true;
    }
}

static bool branch(struct machine *m, bool always)
{
    int64_t distance = (int64_t)get_signed(m, 2);
    struct value v = {1, 0, 0};
    if (!always) {
        v = pop(m);
    }
    if (m->reason) {
        return false;
    }
    if (v.bits == 0) {
        return true;
    }
    if (distance < m->start - m->p || distance > m->end - m->p) {
        return stop(m, damaged);
    }
    m->p += distance;
    return true;
}

static bool entry_value(struct machine *m)
{
    static const char why[] = "it needs the value of a register at the function's entry";
    uint64_t n = get_leb(m, false), value = 0;
    if (n > (uint64_t)(m->end - m->p)) {
        return stop(m, damaged);
    }
    const uint8_t *after = m->p + n;
    if (n < 2 || *m->p++ != DW_OP_regx) {
        return stop(m, why);
    }
    uint64_t number = get_leb(m, false);
    if (m->reason || m->p != after || number > UINT32_MAX || !m->env->entry_reg ||
        !m->env->entry_reg(m->env->arg, (uint32_t)number, &value)) {
        return stop(m, why);
    }
    return push(m, value);
}

static bool typed(struct machine *m, uint8_t op)
{
    struct value v = {0};
    uint64_t number = 0;
    unsigned n = 0;
    if (op == DW_OP_regval_type) {
        number = get_leb(m, false);
    } else if (op == DW_OP_deref_type) {
        n = (unsigned)get(m, 1);
    }
    v.encoding = (uint8_t)get(m, 1);
    v.size = (uint8_t)get(m, 1);
    if (m->reason) {
        return false;
    }
    if (op == DW_OP_deref_type) {
        return deref(m, n, v);
    }
    if (op == DW_OP_regval_type) {
        return reg(m, number, &v.bits) && push_value(m, v);
    }
    n = (unsigned)get(m, 1); /* DW_OP_const_type */
    if (n > 8 || n > (size_t)(m->end - m->p)) {
        return stop(m, "its location needs a value of more than 64 bits");
    }
    v.bits = load(m->env, m->p, n);
    m->p += n;
    return push_value(m, v);
}

static bool base_register(struct machine *m, uint64_t number)
{
    uint64_t v, offset = get_leb(m, true);
    return !m->reason && reg(m, number, &v) && push(m, v + offset);
}

static bool tls_address(struct machine *m)
{
    uint64_t v = 0;
    struct value offset = pop(m);
    return !m->reason && m->env->tls && m->env->tls(m->env->arg, offset.bits, &v)
               ? push(m, v)
               : stop(m, "the place of the thread's own storage is not known");
}

/* ------------------------------------------------------------------- locations */

static bool set_place(struct machine *m, enum dwarf_where where, uint64_t number)
{
    if (m->located) {
        return stop(m, damaged);
    }
    m->located = true;
    m->place.where = where;
    m->place.number = number;
    return !m->reason;
}

static bool implicit(struct machine *m)
{
    uint64_t n = get_leb(m, false);
    if (m->reason || n > (uint64_t)(m->end - m->p)) {
        return stop(m, damaged);
    }
    m->place.bytes = m->p;
    m->place.nr_bytes = (size_t)n;
    m->p += n;
    return set_place(m, DWARF_BYTES, 0);
}

/* Without an operation of its own a place is the address on the stack. */
static void take_place(struct machine *m)
{
    if (!m->located && m->n) {
        m->place.where = DWARF_ADDRESS;
        m->place.number = pop(m).bits;
    } else if (!m->located) {
        m->place.where = DWARF_NOWHERE;
    }
}

static bool piece(struct machine *m, uint8_t op)
{
    uint64_t size = get_leb(m, false), offset = 0;
    if (op == DW_OP_bit_piece) {
        offset = get_leb(m, false);
    } else if (size > UINT64_MAX / 8) {
        return stop(m, damaged);
    } else {
        size *= 8;
    }
    if (m->reason || m->out->nr_pieces == DWARF_MAX_PIECES) {
        return stop(m, "its location has too many pieces");
    }
    take_place(m);
    m->place.bit_size = size;
    m->place.bit_offset = offset;
    m->out->piece[m->out->nr_pieces++] = m->place;
    m->place = (struct dwarf_place){0};
    m->located = false;
    return !m->reason;
}

static bool run_location(struct machine *m, uint8_t op)
{
    switch (op) {
    case DW_OP_regx:
        return set_place(m, DWARF_REGISTER, get_leb(m, false));
    case DW_OP_stack_value:
        return set_place(m, DWARF_VALUE, pop(m).bits);
    case DW_OP_implicit_value:
        return implicit(m);
    case DW_OP_implicit_pointer:
        return stop(m, "it points to something that is optimized out");
    case DW_OP_piece:
    case DW_OP_bit_piece:
        return piece(m, op);
    default:
        return op >= DW_OP_reg0 && op <= DW_OP_reg31
                   ? set_place(m, DWARF_REGISTER, op - DW_OP_reg0)
                   : stop(m, bad_operation);
    }
}

static bool run_op(struct machine *m, uint8_t op)
{
    if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
        return push(m, op - DW_OP_lit0);
    }
    if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
        return base_register(m, op - DW_OP_breg0);
    }
    switch (op) {
    case DW_OP_addr:
        return push(m, get(m, 8) + m->env->bias);
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
        return constant(m, op);
    case DW_OP_constu:
        return push(m, get_leb(m, false));
    case DW_OP_consts:
        return push(m, get_leb(m, true));
    case DW_OP_dup:
    case DW_OP_drop:
    case DW_OP_over:
    case DW_OP_pick:
    case DW_OP_swap:
    case DW_OP_rot:
        return stack_op(m, op);
    case DW_OP_deref:
        return deref(m, m->env->addr_bytes, (struct value){0});
    case DW_OP_deref_size:
        return deref(m, (unsigned)get(m, 1), (struct value){0});
    case DW_OP_abs:
    case DW_OP_neg:
    case DW_OP_not:
        return unary(m, op);
    case DW_OP_plus_uconst: {
        struct value v = pop(m);
        v.bits += get_leb(m, false);
        return push_value(m, v);
    }
    case DW_OP_bra:
    case DW_OP_skip:
        return branch(m, op == DW_OP_skip);
    case DW_OP_fbreg: {
        uint64_t offset = get_leb(m, true);
        return call(m, m->env->frame_base, "the frame base is not known") &&
               push(m, pop(m).bits + offset);
    }
    case DW_OP_bregx:
        return base_register(m, get_leb(m, false));
    case DW_OP_call_frame_cfa:
        return call(m, m->env->cfa, "the frame's address (CFA) is not known");
    case DW_OP_form_tls_address:
        return tls_address(m);
    case DW_OP_entry_value:
        return entry_value(m);
    case DW_OP_const_type:
    case DW_OP_regval_type:
    case DW_OP_deref_type:
        return typed(m, op);
    case DW_OP_convert:
    case DW_OP_reinterpret:
        return convert(m, op == DW_OP_reinterpret);
    case DW_OP_nop:
        return true;
    default:
        return (op >= DW_OP_and && op <= DW_OP_xor) || (op >= DW_OP_eq && op <= DW_OP_ne)
                   ? binary(m, op)
                   : run_location(m, op);
    }
}

static bool run(struct machine *m)
{
    while (m->p < m->end && !m->reason) {
        if (m->steps++ == MAX_STEPS) {
            return stop(m, "its location does not come to an end");
        }
        run_op(m, *m->p++);
    }
    return !m->reason;
}

static void start(struct machine *m, const uint8_t *expr, size_t n,
                  const struct dwarf_env *env, struct dwarf_result *out)
{
    memset(m, 0, sizeof(*m));
    m->p = m->start = expr;
    m->end = n ? expr + n : expr;
    m->env = env;
    m->out = out;
    out->nr_pieces = 0;
    out->reason = NULL;
    out->place = (struct dwarf_place){0};
}

/* ---------------------------------------------------------------------- public */

void dwarf_expr_run(const uint8_t *expr, size_t n, const struct dwarf_env *env,
                    struct dwarf_result *out)
{
    struct machine m;
    start(&m, expr, n, env, out);
    if (run(&m) && out->nr_pieces == 0) {
        take_place(&m);
        out->place = m.place;
    } else if (!m.reason) {
        out->place.where = DWARF_PIECES;
        if (m.located || m.n) {
            stop(&m, damaged); /* something that no piece contains */
        }
    }
    if (m.reason) {
        out->place.where = DWARF_UNKNOWN;
        out->reason = m.reason;
    }
}

bool dwarf_expr_number(const uint8_t *expr, size_t n, const struct dwarf_env *env,
                       const uint64_t *first, uint64_t *value, const char **reason)
{
    struct machine m;
    struct dwarf_result out;
    start(&m, expr, n, env, &out);
    if (first) {
        push(&m, *first);
    }
    bool ok =
        run(&m) && (out.nr_pieces || m.located || m.n == 0 ? stop(&m, damaged) : true);
    *value = ok ? pop(&m).bits : 0;
    *reason = m.reason;
    return ok;
}

bool dwarf_expr_frame_base(const uint8_t *expr, size_t n, const struct dwarf_env *env,
                           uint64_t *value, const char **reason)
{
    struct dwarf_result r;
    dwarf_expr_run(expr, n, env, &r);
    *reason = r.reason;
    *value = r.place.number;
    switch (r.place.where) {
    case DWARF_ADDRESS:
    case DWARF_VALUE:
        return true;
    case DWARF_REGISTER:
        if (r.place.number <= UINT32_MAX && env->reg &&
            env->reg(env->arg, (uint32_t)r.place.number, value)) {
            return true;
        }
        *reason = "a register is not known";
        return false;
    default:
        *reason = r.reason ? r.reason : "the frame base is not known";
        return false;
    }
}
