/* SPDX-License-Identifier: MIT */
/* Splits a run of a block into its selected instructions, and these into events. */
#ifndef CTR_EXPAND_H
#define CTR_EXPAND_H

#include "decode/select.h"

/*
 * Walks over the selected instructions of a run. After each expand_step that returns 1,
 * the instruction is insn, its accesses are access[a..a_end-1] (select_access shows which
 * of them are selected), and exec shows whether the instruction itself is an event.
 * With regs, *reg_next is the run's first register write that was not made yet;
 * expand_step makes those of each instruction, and regs->changed then lists the changed
 * registers. It leaves instructions from hi on for a later walk.
 */
struct expand {
    const struct selection *sel;
    const struct run *run;
    struct regstate *regs; /* or NULL */
    uint32_t *reg_next;
    uint64_t lo, hi; /* ordinals */
    uint32_t i;      /* next instruction */
    uint32_t a_next;
    uint32_t insn;
    uint64_t ordinal;
    uint64_t pc;
    uint32_t a, a_end;
    int exec;
};

static inline void expand_init(struct expand *x, const struct selection *sel,
                               const struct run *r, struct regstate *regs,
                               uint32_t *reg_next, uint64_t lo, uint64_t hi)
{
    x->sel = sel;
    x->run = r;
    x->regs = regs;
    x->reg_next = reg_next;
    x->lo = lo;
    x->hi = hi;
    x->a_next = 0;
    /* The rest of a resumed instruction comes first. */
    int rest = (r->naccess && r->access[0].insn < r->first) ||
               (r->nreg && r->regs[0].insn < r->first);
    x->i = r->first && rest ? r->first - 1u : r->first;
}

/* Makes the register writes of the run up to instruction i. */
static inline void expand_regs(const struct run *r, struct regstate *regs,
                               uint32_t *reg_next, unsigned i)
{
    while (*reg_next < r->nreg && r->regs[*reg_next].insn <= i) {
        const struct reg_write *w = &r->regs[(*reg_next)++];
        regstate_write(regs, w->reg, w->value);
    }
}

#define EXPAND_INLINE static inline __attribute__((always_inline))

/* regs: 0 if there are certainly none. */
EXPAND_INLINE int expand_step(struct expand *x, const int regs)
{
    const struct run *r = x->run;
    const struct selection *sel = x->sel;
    while (x->i < r->end) {
        uint32_t i = x->i;
        x->ordinal = r->ordinal + i - r->first;
        if (x->ordinal >= x->hi) {
            return 0;
        }
        x->i++;
        x->insn = i;
        x->a = x->a_next;
        while (x->a_next < r->naccess && r->access[x->a_next].insn <= i) {
            x->a_next++;
        }
        x->a_end = x->a_next;
        if (regs && x->regs) {
            expand_regs(r, x->regs, x->reg_next, i);
            regstate_settle(x->regs);
        }
        if (x->ordinal < x->lo) {
            continue;
        }
        x->pc = ctr_block_pc(&r->block->pub, i);
        if (!select_block(sel, &r->block->pub) || !select_pc(sel, x->pc)) {
            continue;
        }
        x->exec = i >= r->first && (sel->kinds & CTR_KIND_EXEC);
        if (sel->has_addrs) {
            uint32_t a = x->a;
            while (a < x->a_end && !select_access(sel, r, a)) {
                a++;
            }
            if (a == x->a_end) {
                continue;
            }
        }
        return 1;
    }
    return 0;
}

/* The exec event at which an expansion is. */
static inline void expand_exec(const struct expand *x, const struct ctr_thread *t,
                               struct ctr_exec *e)
{
    const struct ctr_block *b = &x->run->block->pub;
    e->ordinal = x->ordinal;
    e->pc = x->pc;
    e->bytes = ctr_block_bytes(b, x->insn);
    e->len = (uint8_t)ctr_block_len(b, x->insn);
    e->mode = b->mode;
    e->flags = x->insn + 1u == x->run->end ? x->run->flags : 0;
    e->insn = (uint16_t)x->insn;
    e->block = b;
    e->thread = t;
}

/* The event of access number a. */
static inline void expand_mem(const struct expand *x, const struct ctr_thread *t,
                              uint32_t a, struct ctr_mem *m)
{
    const struct ctr_access *c = &x->run->access[a];
    m->ordinal = x->ordinal;
    m->pc = x->pc;
    m->addr = c->addr;
    m->size = c->size;
    m->store = c->store;
    m->big_endian = (c->flags & CTR_ACC_BE) != 0;
    m->helper = (c->flags & CTR_ACC_HELPER) != 0;
    m->insn = c->insn;
    m->data = c->data;
    m->phys = x->run->phys ? &x->run->phys[a] : NULL;
    m->block = &x->run->block->pub;
    m->thread = t;
}

/* The event of changed register number k of the instruction. */
static inline void expand_reg(const struct expand *x, const struct ctr_thread *t,
                              uint32_t k, struct ctr_reg_change *c)
{
    uint16_t reg = x->regs->changed[k];
    c->ordinal = x->ordinal;
    c->pc = x->pc;
    c->reg = reg;
    c->size = x->regs->view->reg[reg].pub.size;
    c->value = regstate_value(x->regs, reg);
    c->outside = 0;
    c->insn = (uint16_t)x->insn;
    c->block = &x->run->block->pub;
    c->thread = t;
}

#endif
