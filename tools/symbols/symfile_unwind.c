/* SPDX-License-Identifier: MIT */
/* Applies the rules of a frame row: from the registers of a frame to those of its caller.
 */
#include "symfile_table_priv.h"

struct unwinder {
    const struct dwarf_env *env; /* of the frame itself, without a CFA */
    uint64_t cfa;
    const char *reason;
};

static bool fail(struct unwinder *u, const char *reason)
{
    u->reason = reason;
    return false;
}

static bool reg(struct unwinder *u, uint32_t number, uint64_t *value)
{
    return (u->env->reg && u->env->reg(u->env->arg, number, value)) ||
           fail(u, "a register is not known");
}

static uint64_t fit(const struct unwinder *u, uint64_t v)
{
    return u->env->addr_bytes == 4 ? (uint32_t)v : v;
}

/* A word of memory at an address. */
static bool load(struct unwinder *u, uint64_t addr, uint64_t *value)
{
    uint8_t b[8];
    unsigned n = u->env->addr_bytes == 4 ? 4 : 8;
    if (!u->env->memory || !u->env->memory(u->env->arg, fit(u, addr), b, n)) {
        return fail(u, "memory is not known");
    }
    *value = 0;
    for (unsigned i = 0; i < n; i++) {
        *value |= (uint64_t)b[i] << (8 * (u->env->big_endian ? n - 1 - i : i));
    }
    return true;
}

static bool apply(struct unwinder *u, const struct sym_rule *rule, uint64_t *value)
{
    uint64_t v = 0;
    bool at = rule->kind == SYM_RULE_AT_EXPR;
    switch (rule->kind) {
    case SYM_RULE_AT_OFFSET:
        return load(u, u->cfa + (uint64_t)rule->offset, value);
    case SYM_RULE_IS_OFFSET:
        *value = fit(u, u->cfa + (uint64_t)rule->offset);
        return true;
    case SYM_RULE_REGISTER:
        if (!reg(u, rule->from, &v)) {
            return false;
        }
        *value = fit(u, v + (uint64_t)rule->offset);
        return true;
    case SYM_RULE_AT_EXPR:
    case SYM_RULE_IS_EXPR:
        if (!dwarf_expr_number(rule->expr, rule->expr_bytes, u->env, &u->cfa, &v,
                               &u->reason)) {
            return false;
        }
        *value = v;
        return at ? load(u, v, value) : true;
    default:
        return fail(u, "its value is lost");
    }
}

/* The CFA's expression runs on an empty stack. */
static bool find_cfa(struct unwinder *u, const struct sym_rule *rule)
{
    if (rule->kind == SYM_RULE_IS_EXPR) {
        return dwarf_expr_number(rule->expr, rule->expr_bytes, u->env, NULL, &u->cfa,
                                 &u->reason);
    }
    return rule->kind == SYM_RULE_REGISTER ? apply(u, rule, &u->cfa)
                                           : fail(u, "its rule is damaged");
}

bool symfile_unwind(const struct symfile *f, const struct sym_frame_row *row,
                    const struct dwarf_env *env,
                    void (*set)(void *arg, uint32_t reg, const uint64_t *value),
                    void *arg, struct sym_caller *out)
{
    struct dwarf_env without = *env;
    struct unwinder u = {.env = &without};
    bool has_rule = false;
    *out = (struct sym_caller){0};
    without.cfa = NULL;
    without.frame_base = NULL;
    if (!find_cfa(&u, &row->cfa)) {
        out->reason = u.reason;
        return false;
    }
    out->cfa = u.cfa;
    for (uint32_t i = 0; i < row->n; i++) {
        const struct sym_rule *rule = &f->rules[row->first + i];
        uint64_t v = 0;
        bool known = apply(&u, rule, &v);
        if (rule->reg == row->return_reg) {
            has_rule = true;
            out->pc = v;
            out->pc_known = known;
            out->outermost = rule->kind == SYM_RULE_UNDEFINED;
            out->reason = known ? NULL : u.reason;
        }
        if (set) {
            set(arg, rule->reg, known ? &v : NULL);
        }
    }
    if (!has_rule) {
        out->pc_known = reg(&u, row->return_reg, &out->pc);
        out->reason = out->pc_known ? NULL : u.reason;
    }
    return true;
}
