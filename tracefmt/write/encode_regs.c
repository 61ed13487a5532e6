/* SPDX-License-Identifier: MIT */
/*
 * The values of all registers while a chunk is made, which is what predicts them. They
 * begin with the chunk's state, and after each run they are as recorded; so a chunk can
 * end there and the next one have a state.
 */
#include "write/encode.h"

#include "base/le.h"
#include "model/regtable.h"

int encode_regs_begin(struct reg_column *regs, const struct recorded *rec,
                      struct ctr_diag *diag)
{
    const struct regtable *t = dict_regs(rec->dict);
    memset(regs->place, 0, sizeof(regs->place));
    if (regs->state.n == 0 || !t) {
        regs->state.n = 0; /* the thread does not record its registers */
        return 0;
    }
    if (regs->state.n != t->state_bytes) {
        return ctr_fail(diag, CTR_E_CORRUPT, CTR_NO_OFF, "side", "size of a state");
    }
    regtable_places(t, regs->state.p, regs->place);
    return 0;
}

int encode_regs_end(struct reg_column *regs, const struct recorded *rec)
{
    const struct regtable *t = dict_regs(rec->dict);
    if (buf_room(&regs->carry, t->state_bytes)) {
        return -1;
    }
    regs->carry.n = t->state_bytes;
    for (uint32_t i = 0; i < t->n; i++) {
        for (unsigned at = 0; at < t->reg[i].size; at += 8) {
            unsigned left = t->reg[i].size - at;
            value_put(regs->carry.p + t->reg[i].off + at, regs->place[i * 2u + at / 8],
                      left < 8 ? left : 8, 0);
        }
    }
    return 0;
}

/*
 * The two places of a slot that comes after `unit' units of its run. The data is read a
 * second time: a guest that writes there meanwhile gets wrong values.
 */
static void slot_places(const struct segment_walk *w, const struct ctr_slot *s,
                        uint32_t unit, unsigned ab, uint64_t place[2])
{
    uint32_t units = CTR_UNITS(s->size, ab);
    const uint8_t *p =
        (const uint8_t *)w->seg->data_end - (size_t)(w->unit + unit + units) * ab;
    uint8_t value[16] = {0};
    for (unsigned i = 0; i < s->size; i++) {
        /* one integer of this machine */
        const int high_first = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
        value[i] = p[high_first ? units * ab - 1 - i : i];
    }
    place[0] = le64(value);
    place[1] = le64(value + 8);
}

/* Applies the record's changes. */
static void record_places(struct reg_column *regs, const struct mempipe_side_regs *x)
{
    const uint8_t *p = (const uint8_t *)(x + 1);
    for (uint32_t i = 0; i < x->p.n; i++, p += MEMPIPE_REG_BYTES) {
        uint16_t reg;
        memcpy(&reg, p, sizeof(reg)); /* was checked */
        regs->place[reg * 2u] = le64(p + 4);
        regs->place[reg * 2u + 1] = le64(p + 12);
    }
}

/* The run's next record with registers. */
static const struct mempipe_side_regs *next_regs(const struct recorded *rec,
                                                 const struct segment_walk *w,
                                                 const struct slow_run *r, uint32_t *at)
{
    const struct mempipe_side_place *p;
    while ((p = encode_side_next(rec, w, r, at, NULL)) != NULL) {
        *at += p->h.bytes;
        if (p->h.type == MEMPIPE_SIDE_REGS && encode_side_insn(p) < r->n) {
            return (const void *)p;
        }
    }
    return NULL;
}

void encode_regs_settle(struct ctr_encoder *e, const struct segment_walk *w,
                        const struct slow_run *r)
{
    const struct dict_entry *d = e->blocks.def[r->local];
    uint32_t at = w->side, unit = 0;
    const struct mempipe_side_regs *x = next_regs(&e->rec, w, r, &at);
    int changed = 0; /* a record came before the slot */
    for (uint32_t i = 0; i < e->run.npending; i++) {
        const struct ctr_slot *s = &d->slot[e->run.pending[i]].s;
        for (; x && x->insn < s->insn; x = next_regs(&e->rec, w, r, &at)) {
            record_places(&e->regs, x);
            changed = 1;
        }
        if (s->reg && changed) {
            slot_places(w, s, unit, e->rec.addr_bytes, &e->regs.place[s->group * 2u]);
        }
        unit += encode_units(&e->rec, s);
    }
    for (; x; x = next_regs(&e->rec, w, r, &at)) {
        record_places(&e->regs, x);
    }
}
