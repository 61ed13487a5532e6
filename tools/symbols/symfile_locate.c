/* SPDX-License-Identifier: MIT */
/*
 * Evaluates the location of a variable: with the frame base of its function and, if the
 * caller has no CFA, the one of the frame rows.
 */
#include "symfile_table_priv.h"

/* What the callbacks of the inner evaluations get. */
struct locator {
    const struct symfile *f;
    uint64_t vaddr;
    const struct dwarf_env *env; /* of the caller */
    unsigned depth;              /* a frame base must not need a frame base */
};

static struct dwarf_env env_of(struct locator *l);

static bool reg(void *arg, uint32_t number, uint64_t *value)
{
    const struct locator *l = arg;
    return l->env->reg && l->env->reg(l->env->arg, number, value);
}

static bool entry_reg(void *arg, uint32_t number, uint64_t *value)
{
    const struct locator *l = arg;
    return l->env->entry_reg && l->env->entry_reg(l->env->arg, number, value);
}

static bool memory(void *arg, uint64_t addr, uint8_t *out, size_t n)
{
    const struct locator *l = arg;
    return l->env->memory && l->env->memory(l->env->arg, addr, out, n);
}

static bool tls(void *arg, uint64_t offset, uint64_t *value)
{
    const struct locator *l = arg;
    return l->env->tls && l->env->tls(l->env->arg, offset, value);
}

static bool cfa(void *arg, uint64_t *value)
{
    struct locator *l = arg;
    if (l->env->cfa) {
        return l->env->cfa(l->env->arg, value);
    }
    const struct sym_frame_row *row = symfile_frame_row(l->f, l->vaddr);
    struct sym_caller caller;
    if (!row || !symfile_unwind(l->f, row, l->env, NULL, NULL, &caller)) {
        return false;
    }
    *value = caller.cfa;
    return true;
}

static bool frame_base(void *arg, uint64_t *value)
{
    struct locator *l = arg;
    const char *reason;
    const struct sym_block *b = symfile_block(l->f, l->vaddr);
    if (l->env->frame_base) {
        return l->env->frame_base(l->env->arg, value);
    }
    if (!b || b->prototype == SYM_NONE || l->depth) {
        return false;
    }
    const struct sym_prototype *p = &l->f->prototypes[b->prototype];
    const struct sym_location *at =
        symfile_location(l->f, p->base_first, p->base_n, l->vaddr);
    if (!at) {
        return false;
    }
    l->depth++;
    struct dwarf_env env = env_of(l);
    bool ok = dwarf_expr_frame_base(at->expr, at->expr_bytes, &env, value, &reason);
    l->depth--;
    return ok;
}

static struct dwarf_env env_of(struct locator *l)
{
    return (struct dwarf_env){.arg = l,
                              .reg = reg,
                              .entry_reg = entry_reg,
                              .memory = memory,
                              .frame_base = frame_base,
                              .cfa = cfa,
                              .tls = tls,
                              .bias = l->env->bias,
                              .addr_bytes = l->env->addr_bytes,
                              .big_endian = l->env->big_endian};
}

void symfile_locate(const struct symfile *f, const struct sym_variable *v, uint64_t vaddr,
                    const struct dwarf_env *env, struct dwarf_result *out)
{
    struct locator l = {.f = f, .vaddr = vaddr, .env = env};
    struct dwarf_env inner = env_of(&l);
    const struct sym_location *at = symfile_location(f, v->first, v->n, vaddr);
    dwarf_expr_run(at ? at->expr : NULL, at ? at->expr_bytes : 0, &inner, out);
    if (!at && v->has_value) {
        out->place.where = DWARF_BYTES;
        out->place.bytes = v->value;
        out->place.nr_bytes = v->value_bytes;
    }
}
