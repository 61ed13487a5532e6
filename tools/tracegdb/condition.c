/* SPDX-License-Identifier: MIT */
/*
 * Conditions of breakpoints, which gdb sends as bytecode: see "The Agent Expression
 * Mechanism" in its manual.  They are evaluated here, so that a breakpoint whose condition is
 * false costs no round trip.
 *
 * A condition with a bytecode that is not here, or one that needs memory or a register that is
 * not known, counts as true: gdb evaluates it again where the program stopped, and says what
 * is wrong.
 */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "guest/guest.h"

#define STACK_MOST 256u
#define STEPS_MOST 100000u /* an expression can loop */

/* Bytecodes, of gdb's common/ax.def, with the bytes of their argument. */
enum op {
    OP_ADD = 0x02,
    OP_SUB = 0x03,
    OP_MUL = 0x04,
    OP_DIV_SIGNED = 0x05,
    OP_DIV_UNSIGNED = 0x06,
    OP_REM_SIGNED = 0x07,
    OP_REM_UNSIGNED = 0x08,
    OP_LSH = 0x09,
    OP_RSH_SIGNED = 0x0a,
    OP_RSH_UNSIGNED = 0x0b,
    OP_LOG_NOT = 0x0e,
    OP_BIT_AND = 0x0f,
    OP_BIT_OR = 0x10,
    OP_BIT_XOR = 0x11,
    OP_BIT_NOT = 0x12,
    OP_EQUAL = 0x13,
    OP_LESS_SIGNED = 0x14,
    OP_LESS_UNSIGNED = 0x15,
    OP_EXT = 0x16,
    OP_REF8 = 0x17,
    OP_REF16 = 0x18,
    OP_REF32 = 0x19,
    OP_REF64 = 0x1a,
    OP_IF_GOTO = 0x20,
    OP_GOTO = 0x21,
    OP_CONST8 = 0x22,
    OP_CONST16 = 0x23,
    OP_CONST32 = 0x24,
    OP_CONST64 = 0x25,
    OP_REG = 0x26,
    OP_END = 0x27,
    OP_DUP = 0x28,
    OP_POP = 0x29,
    OP_ZERO_EXT = 0x2a,
    OP_SWAP = 0x2b,
    OP_PICK = 0x32,
    OP_ROT = 0x33,
};

struct condition {
    uint8_t *code;
    size_t n;
};

/* The bytes of an argument; -1: the bytecode is not known here. */
static int argument_of(uint8_t op)
{
    switch (op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV_SIGNED:
    case OP_DIV_UNSIGNED:
    case OP_REM_SIGNED:
    case OP_REM_UNSIGNED:
    case OP_LSH:
    case OP_RSH_SIGNED:
    case OP_RSH_UNSIGNED:
    case OP_LOG_NOT:
    case OP_BIT_AND:
    case OP_BIT_OR:
    case OP_BIT_XOR:
    case OP_BIT_NOT:
    case OP_EQUAL:
    case OP_LESS_SIGNED:
    case OP_LESS_UNSIGNED:
    case OP_REF8:
    case OP_REF16:
    case OP_REF32:
    case OP_REF64:
    case OP_END:
    case OP_DUP:
    case OP_POP:
    case OP_SWAP:
    case OP_ROT:
        return 0;
    case OP_EXT:
    case OP_ZERO_EXT:
    case OP_CONST8:
    case OP_PICK:
        return 1;
    case OP_IF_GOTO:
    case OP_GOTO:
    case OP_CONST16:
    case OP_REG:
        return 2;
    case OP_CONST32:
        return 4;
    case OP_CONST64:
        return 8;
    default:
        return -1;
    }
}

/* --------------------------------------------------------------------- parsing */

static bool is_known(const uint8_t *code, size_t n)
{
    for (size_t i = 0; i < n;) {
        const int bytes = argument_of(code[i]);

        if (bytes < 0 || (size_t)bytes >= n - i) {
            return false;
        }
        i += 1 + (size_t)bytes;
    }
    return n != 0;
}

void conditions_free(struct conditions *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->v[i].code);
    }
    free(c->v);
    *c = (struct conditions){0};
}

/* Appends one; false: no memory. */
static bool add(struct conditions *c, size_t *cap, const char *digits, size_t n)
{
    char *copy = strndup(digits, 2 * n);
    struct condition new = {malloc(n + 1), n};
    bool ok = copy && new.code &&array_reserve(&c->v, cap, c->n + 1, sizeof(*c->v));

    if (ok) {
        if (parse_hex_bytes(copy, new.code, n) != (long)n) {
            new.n = 0;
        }
        c->v[c->n++] = new;
    } else {
        free(new.code);
    }
    free(copy);
    return ok;
}

const char *conditions_parse(const char *p, struct conditions *out)
{
    bool known = true;
    size_t cap = 0;
    uint64_t n;

    *out = (struct conditions){0};
    while (*p == 'X') {
        p++;
        if (!parse_hex(&p, &n) || *p++ != ',' || n > strlen(p) / 2) {
            conditions_free(out);
            return "E.not a condition";
        }
        if (!add(out, &cap, p, n)) {
            conditions_free(out);
            return "E.out of memory";
        }
        known &= is_known(out->v[out->n - 1].code, out->v[out->n - 1].n);
        p += 2 * n;
    }
    if (!known || (*p && *p != ';')) {
        conditions_free(out);
    }
    return *p && *p != ';' ? "E.not a condition" : NULL;
}

/* ------------------------------------------------------------------ evaluating */

struct machine {
    struct session *s;
    const struct instant *at;
    const struct condition *c;
    size_t pc;
    uint64_t stack[STACK_MOST];
    unsigned n;
};

static uint64_t argument(struct machine *m, unsigned bytes)
{
    uint64_t value = 0;

    for (; bytes; bytes--) {
        value = value << 8 | m->c->code[m->pc++];
    }
    return value;
}

static bool push(struct machine *m, uint64_t value)
{
    if (m->n == STACK_MOST) {
        return false;
    }
    m->stack[m->n++] = value;
    return true;
}

static bool push_memory(struct machine *m, uint64_t addr, unsigned n)
{
    uint8_t bytes[8], known[8];

    if (position_memory_at(m->s, &m->at->at, guest_word(&m->s->guest, addr), bytes, known,
                           n)) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        if (!known[i]) {
            return false;
        }
    }
    return push(m, guest_load(&m->s->guest, bytes, n));
}

static bool push_register(struct machine *m, unsigned number)
{
    uint8_t bytes[GDB_REG_MAX];

    if (number >= gdb_regs_count(m->s->regs) ||
        !gdb_regs_get(m->s->regs, m->at->values, m->at->pc, number, bytes) ||
        gdb_regs_size(m->s->regs, number) > 8) {
        return false;
    }
    return push(m, guest_load(&m->s->guest, bytes, gdb_regs_size(m->s->regs, number)));
}

static bool pop(struct machine *m, uint64_t *value)
{
    if (!m->n) {
        return false;
    }
    *value = m->stack[--m->n];
    return true;
}

static uint64_t shift(uint8_t op, uint64_t a, uint64_t b)
{
    const uint64_t sign = op == OP_RSH_SIGNED && a >> 63 ? UINT64_MAX : 0;

    return b > 63          ? sign
           : op == OP_LSH  ? a << b
           : sign && b > 0 ? a >> b | sign << (64 - b)
                           : a >> b;
}

static bool divide(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
    if (!b) {
        return false;
    }
    switch (op) {
    case OP_DIV_UNSIGNED:
        return push(m, a / b);
    case OP_REM_UNSIGNED:
        return push(m, a % b);
    case OP_DIV_SIGNED: /* of the least number by -1 the hardware would trap */
        return push(m, b == UINT64_MAX ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b));
    default:
        return push(m, b == UINT64_MAX ? 0 : (uint64_t)((int64_t)a % (int64_t)b));
    }
}

static bool binary(struct machine *m, uint8_t op)
{
    uint64_t a, b;

    if (!pop(m, &b) || !pop(m, &a)) {
        return false;
    }
    switch (op) {
    case OP_ADD:
        return push(m, a + b);
    case OP_SUB:
        return push(m, a - b);
    case OP_MUL:
        return push(m, a * b);
    case OP_LSH:
    case OP_RSH_SIGNED:
    case OP_RSH_UNSIGNED:
        return push(m, shift(op, a, b));
    case OP_BIT_AND:
        return push(m, a & b);
    case OP_BIT_OR:
        return push(m, a | b);
    case OP_BIT_XOR:
        return push(m, a ^ b);
    case OP_EQUAL:
        return push(m, a == b);
    case OP_LESS_SIGNED:
        return push(m, (int64_t)a < (int64_t)b);
    case OP_LESS_UNSIGNED:
        return push(m, a < b);
    case OP_SWAP:
        return push(m, b) && push(m, a);
    default:
        return divide(m, op, a, b);
    }
}

static bool extend(struct machine *m, uint8_t op, unsigned bits)
{
    uint64_t a;

    if (!pop(m, &a)) {
        return false;
    }
    if (bits && bits < 64) {
        a &= ((uint64_t)1 << bits) - 1;
        if (op == OP_EXT && a >> (bits - 1)) {
            a |= UINT64_MAX << bits;
        }
    }
    return push(m, a);
}

/* Those that take one value or none from the stack; false: it fails. */
static bool unary(struct machine *m, uint8_t op)
{
    uint64_t a;

    if (!pop(m, &a)) {
        return false;
    }
    switch (op) {
    case OP_LOG_NOT:
        return push(m, !a);
    case OP_BIT_NOT:
        return push(m, ~a);
    case OP_DUP:
        return push(m, a) && push(m, a);
    case OP_POP:
        return true;
    default:
        return push_memory(m, a, 1u << (op - OP_REF8));
    }
}

/* a b c => c a b */
static bool rotate(struct machine *m)
{
    uint64_t a, b, c;

    return pop(m, &c) && pop(m, &b) && pop(m, &a) && push(m, c) && push(m, a) &&
           push(m, b);
}

static bool jump(struct machine *m, uint8_t op)
{
    const uint64_t to = argument(m, 2);
    uint64_t taken = 1;

    if (op == OP_IF_GOTO && !pop(m, &taken)) {
        return false;
    }
    m->pc = taken ? to : m->pc;
    return true;
}

static bool execute(struct machine *m, uint8_t op)
{
    uint64_t n;

    switch (op) {
    case OP_LOG_NOT:
    case OP_BIT_NOT:
    case OP_DUP:
    case OP_POP:
    case OP_REF8:
    case OP_REF16:
    case OP_REF32:
    case OP_REF64:
        return unary(m, op);
    case OP_EXT:
    case OP_ZERO_EXT:
        return extend(m, op, (unsigned)argument(m, 1));
    case OP_IF_GOTO:
    case OP_GOTO:
        return jump(m, op);
    case OP_CONST8:
    case OP_CONST16:
    case OP_CONST32:
    case OP_CONST64:
        return push(m, argument(m, 1u << (op - OP_CONST8)));
    case OP_REG:
        return push_register(m, (unsigned)argument(m, 2));
    case OP_PICK:
        n = argument(m, 1);
        return n < m->n && push(m, m->stack[m->n - 1 - n]);
    case OP_ROT:
        return rotate(m);
    default:
        return binary(m, op);
    }
}

static bool evaluate(struct machine *m)
{
    m->pc = m->n = 0;
    for (unsigned steps = 0; steps < STEPS_MOST && m->pc < m->c->n; steps++) {
        const uint8_t op = m->c->code[m->pc++];

        /* A jump may lead into an argument. */
        if (op == OP_END) {
            return !m->n || m->stack[m->n - 1];
        }
        if (argument_of(op) < 0 || (size_t)argument_of(op) > m->c->n - m->pc ||
            !execute(m, op)) {
            return true;
        }
    }
    return true;
}

bool conditions_hold(struct session *s, const struct conditions *c,
                     const struct instant *at)
{
    struct machine m = {.s = s, .at = at};

    for (size_t i = 0; i < c->n; i++) {
        m.c = &c->v[i];
        if (evaluate(&m)) {
            return true;
        }
    }
    return !c->n;
}
