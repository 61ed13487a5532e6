/* SPDX-License-Identifier: MIT */
/*
 * Compares the registers that equal instructions changed.  Where only one side has a change,
 * the register of the other one had that value before: the state there is read, which is
 * slow, but rare as long as both are equal.
 */
#include "writes.h"

#include <stdlib.h>
#include <string.h>

#include "distance.h"
#include "meaning.h"

#define LOOKS                                                                            \
    4u /* at changes of a register that only one side has, of each instruction */

static const uint8_t *write_value(const struct batch *b, const struct write *w)
{
    return w->size <= 8 ? (const uint8_t *)&w->value : b->pool + w->value;
}

/* Registers are little-endian; meaning.h takes memory. */
static void memory_order(const struct pair *p, const uint8_t *v, unsigned n, uint8_t *out)
{
    for (unsigned i = 0; i < n; i++) {
        out[p->guest[0].big_endian ? n - 1 - i : i] = v[i];
    }
}

static uint64_t number(const uint8_t *v, unsigned n)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < n; i++) {
        value |= (uint64_t)v[i] << 8 * i;
    }
    return value;
}

bool registers_same(struct pair *p, const uint8_t *a, const uint8_t *b, unsigned n)
{
    uint8_t x[CTR_REG_STRIDE] = {0}, y[CTR_REG_STRIDE] = {0};
    size_t at;

    if (!memcmp(a, b, n)) {
        return true;
    }
    memory_order(p, a, n, x);
    memory_order(p, b, n, y);
    return same_bytes(p, x, y, n, 0, &at) ||
           (n <= 8 && distance_explains(p, number(a, n), number(b, n), n));
}

static void go_to(struct pair *p, unsigned side, uint32_t pos)
{
    const struct spot *s = &p->at[side];

    if (!s->still) {
        space_go(&p->space[side], batch_ordinal(s->b, pos), true, s->b->time_ns);
    }
}

/* Whether to look at another change of this instruction that only one side has. */
static bool is_worth(struct pair *p, uint32_t pos, const struct write *w)
{
    const uint64_t hash =
        map64_mix(map64_mix(batch_insn(p, p->at[0].b, pos), 1000), w->reg);
    bool added;

    for (unsigned i = 0; i < LOOKS; i++) {
        if (!map64_put(&p->seen, map64_mix(hash, i), 0, &added)) {
            p->error = -CTR_E_NOMEM;
            return false;
        }
        if (added) {
            return true;
        }
    }
    return false;
}

/* What a register holds before an instruction of a side that does not change it: the write
 * that did, with its value in p->kept.  NULL: not known. */
static const struct write *find_kept(struct pair *p, unsigned side, uint32_t pos,
                                     const struct write *like)
{
    const struct side *s = p->side[side];
    const uint64_t ordinal = batch_ordinal(p->at[side].b, pos);
    uint8_t *values = calloc(s->nr_registers + 1u, CTR_REG_STRIDE);
    uint64_t pc, time_ns;
    uint32_t own = 0;
    int ret = values ? 0 : -CTR_E_NOMEM;

    while (own < s->nr_registers && s->registers[own] != like->reg + 1u) {
        own++;
    }
    ret = ret ? ret
              : ctr_state_at(s->view, p->thread[side]->index, ordinal, values, &pc,
                             &time_ns, NULL);
    if (!ret && own < s->nr_registers) {
        memcpy(p->kept, values + (size_t)own * CTR_REG_STRIDE, like->size);
        p->kept_write = *like;
        if (like->size <= 8) {
            p->kept_write.value = 0;
            memcpy(&p->kept_write.value, p->kept, like->size);
        }
    }
    free(values);
    p->error = ret == -CTR_E_NOMEM ? ret : p->error;
    return !ret && own < s->nr_registers ? &p->kept_write : NULL;
}

static const uint8_t *value_of(const struct pair *p, unsigned side, const struct write *w)
{
    return w == &p->kept_write ? p->kept : write_value(p->at[side].b, w);
}

/* Reports a difference; one of the same instruction and register repeats it. */
static void differs(struct pair *p, const struct write *v[2], const uint32_t pos[2],
                    uint64_t equal)
{
    struct difference d = {.kind = DIFFERENCE_REGISTER, .equal = equal};
    uint64_t values = 0;

    for (unsigned i = 0; i < 2; i++) {
        d.side[i].ordinal = batch_ordinal(p->at[i].b, pos[i]);
        d.side[i].write = v[i];
        d.side[i].data = value_of(p, i, v[i]);
    }
    d.hash = map64_mix(map64_mix(batch_insn(p, p->at[0].b, pos[0]), d.kind), v[0]->reg);
    if (v[0]->size >= 4 && v[0]->size <= 8) {
        values = map64_mix(map64_mix(1, v[0]->value), v[1]->value);
    }
    difference_report(p, &d, values);
}

static bool equal_values(const struct batch *x, const struct write *a,
                         const struct batch *y, const struct write *b)
{
    return a->size <= 8 ? a->value == b->value
                        : !memcmp(x->pool + a->value, y->pool + b->value, a->size);
}

/* Whether its value can be an address. */
static bool is_pointer(const struct pair *p, const struct write *w)
{
    return w->size == p->guest[0].word;
}

void writes_pass_equal(struct pair *p, const uint32_t pos[2], uint32_t most)
{
    const struct batch *x = p->at[0].b, *y = p->at[1].b;
    const bool still = p->at[0].still && p->at[1].still;
    const struct write *a = x->write + p->at[0].write, *begin = a;
    const struct write *b = y->write + p->at[1].write;
    const struct write *a_end = x->write + x->nwrite, *b_end = y->write + y->nwrite;

    while (
        a < a_end && b < b_end && a->pos - pos[0] < most &&
        a->pos - pos[0] == b->pos - pos[1] && a->reg == b->reg &&
        (equal_values(x, a, y, b) || (still && is_pointer(p, a) && a->size == b->size &&
                                      same_page(p, a->value, b->value)))) {
        a++;
        b++;
    }
    p->at[0].write += (size_t)(a - begin);
    p->at[1].write += (size_t)(a - begin);
}

uint32_t writes_next(const struct spot *s, uint32_t pos, uint32_t end)
{
    const struct batch *b = s->b;

    return b && s->write < b->nwrite && b->write[s->write].pos < end
               ? b->write[s->write].pos - pos
               : UINT32_MAX;
}

/* Whether the same instruction writes a register later. */
static bool comes_later(const struct spot *s, const struct write *like)
{
    const struct batch *b = s->b;
    const uint32_t pos = b->write[s->write].pos;

    for (size_t i = s->write + 1; i < b->nwrite && b->write[i].pos == pos; i++) {
        if (b->write[i].reg == like->reg) {
            return true;
        }
    }
    return false;
}

void writes_compare(struct pair *p, const uint32_t pos[2], uint32_t at, uint32_t wa,
                    uint32_t wb)
{
    struct spot *s = p->at;
    const struct write *w[2] = {wa == at ? &s[0].b->write[s[0].write] : NULL,
                                wb == at ? &s[1].b->write[s[1].write] : NULL};
    const uint32_t where[2] = {pos[0] + at, pos[1] + at};
    const struct write *v[2];

    if (w[0] && w[1] && w[0]->reg != w[1]->reg) {
        w[comes_later(&s[1], w[0]) ? 0 : 1] = NULL;
    }
    for (unsigned i = 0; i < 2; i++) {
        v[i] = w[i]                           ? w[i]
               : is_worth(p, where[0], w[!i]) ? find_kept(p, i, where[i], w[!i])
                                              : NULL;
    }
    /* What a load with other bytes leads to is decided by these bytes. */
    if (v[0] && v[1] && v[0]->size == v[1]->size && p->other_load != p->equal + at + 1) {
        go_to(p, 0, where[0]);
        go_to(p, 1, where[1]);
        if (!registers_same(p, value_of(p, 0, v[0]), value_of(p, 1, v[1]), v[0]->size)) {
            differs(p, v, where, p->equal + at);
        } else if (is_pointer(p, v[0]) && same_address(p, v[0]->value, v[1]->value)) {
            same_page_add(p, v[0]->value, v[1]->value);
        }
    }
    s[0].write += w[0] != NULL;
    s[1].write += w[1] != NULL;
}
