/* SPDX-License-Identifier: MIT */
/*
 * Runs with very many side records: one instruction may fill or copy as much memory as
 * there is. Such a run is cut inside of it, as translated code cuts one whose buffer is
 * full (LEFT with SUSPEND, then RESUME in the next chunk), so that no chunk is larger
 * than others.
 */
#include "write/encode.h"

/* The units of the slots that this part of the run makes before instruction `insn'. */
static uint32_t units_before(const struct recorded *rec, const struct dict_entry *d,
                             const struct slow_run *r, uint32_t insn)
{
    uint32_t k = r->resumed ? encode_resume_at(d, r->resume_insn + 1) : 0;
    uint32_t units = 0;
    for (; k < d->def.nslot && d->slot[k].s.insn < insn; k++) {
        const struct ctr_slot *s = &d->slot[k].s;
        units += slot_group(s) ? 0 : encode_units(rec, s);
    }
    return units;
}

/*
 * Whether a run can continue within instruction `insn': the instruction has no slot
 * that may be made several times or not at all, and no address from there on follows
 * from one before.
 */
static int can_resume(const struct dict_entry *d, uint32_t insn)
{
    const uint32_t next = encode_resume_at(d, insn + 1);
    for (uint32_t k = 0; k < d->def.nslot; k++) {
        struct slot_derive v;
        if (d->slot[k].s.insn == insn && slot_group(&d->slot[k].s)) {
            return 0;
        }
        if (k < next || !d->slot[k].s.derived) {
            continue;
        }
        blockdef_derive(&d->def, d->slot[k].entry, &v);
        if (v.root != CTR_DERIVE_CONST && v.root < next) {
            return 0;
        }
    }
    return 1;
}

/*
 * Whether the run can end before this record, in the middle of the record's
 * instruction.
 */
static int can_cut(const struct recorded *rec, const struct dict_entry *d,
                   const struct segment_walk *w, const struct slow_run *r,
                   const struct mempipe_side_place *p)
{
    uint32_t insn = encode_side_insn(p);
    return p->h.type == MEMPIPE_SIDE_ACCESS && insn < r->n && insn + 1u >= r->first &&
           p->units - w->unit == units_before(rec, d, r, insn) && can_resume(d, insn);
}

int encode_cut(const struct ctr_encoder *e, const struct segment_walk *w,
               struct slow_run *r)
{
    const struct mempipe_side_place *p;
    uint32_t at = w->side, bytes;
    int between = 0;
    if (r->flags & CTR_LEFT_RESTART || r->n == 0) {
        return 0;
    }
    /* a few records stay with the rest of their run */
    for (; (p = encode_side_next(&e->rec, w, r, &at, &between)) != NULL;
         at += p->h.bytes) {
        bytes = at - w->side;
        if (bytes > e->limits.side / 4 && e->sum.side_read + bytes > e->limits.side &&
            r->groups == r->groups_end && !between &&
            can_cut(&e->rec, e->blocks.def[r->local], w, r, p)) {
            break;
        }
    }
    if (!p) {
        bytes = at - w->side;
        return bytes > e->limits.side / 4 && e->sum.side_read + bytes > e->limits.side &&
               (e->sum.runs || e->events.count || e->regs.nextra);
    }
    uint32_t n = encode_side_insn(p) + 1;
    r->flags |= r->fault ? CTR_LEFT_FAULTED : 0;
    /* this part records the instruction, so also how it ended */
    r->flags = CTR_LEFT_SUSPEND |
               (r->n == n ? r->flags & (CTR_LEFT_FAULTED | CTR_LEFT_UNSURE) : 0);
    r->n = n;
    r->left = 1;
    r->left_at = 0;
    r->fault = 0;
    r->unsure = 0;
    r->derived = UINT32_MAX;
    r->limit = p->units - w->unit;
    r->most = UINT32_MAX;
    r->side_end = at;
    return 0;
}
