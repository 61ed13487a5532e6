/* SPDX-License-Identifier: MIT */
/*
 * The side records of a segment (mempipe.h): accesses and register changes that belong
 * to an instruction of a run, and what happened between runs. A record comes after
 * `words' words. A record of an instruction belongs to the run that one of these words
 * began and whose own words reach at least that far.
 */
#include "write/encode.h"

#include "base/le.h"

static int bad_side(struct ctr_diag *diag, const struct segment_walk *w, const char *what)
{
    return ctr_fail(diag, CTR_E_CORRUPT, w->word, "side", "record at %u: %s", w->side,
                    what);
}

/* Bytes of a record's fixed part, 0 for a type that has no place here. */
static size_t fixed_bytes(uint32_t type)
{
    switch (type) {
    case MEMPIPE_SIDE_ACCESS:
        return sizeof(struct mempipe_side_access);
    case MEMPIPE_SIDE_REGS:
        return sizeof(struct mempipe_side_regs);
    case MEMPIPE_SIDE_STATE:
        return sizeof(struct mempipe_side_place);
    case MEMPIPE_SIDE_EVENT:
        return sizeof(struct mempipe_side_event);
    case MEMPIPE_SIDE_PAGE:
        return sizeof(struct mempipe_side_page);
    default:
        return 0;
    }
}

static int page_is_possible(const struct mempipe_side_page *x)
{
    const unsigned flags = MEMPIPE_PAGE_FLAGS | MEMPIPE_PAGE_FORGET;
    if (x->mmu >= CTR_MMUS || x->flags & ~flags || x->bits < PAGE_MIN_BITS ||
        x->bits > PAGE_MAX_BITS ||
        (x->insn > CTR_MAX_BLOCK_INSNS && x->insn != MEMPIPE_NO_INSN)) {
        return 0;
    }
    return ((x->page | x->phys) & ((1u << x->bits) - 1)) == 0;
}

int encode_side_check(const struct recorded *rec, const struct ctr_segment *seg,
                      uint64_t *extra_bytes, struct ctr_diag *diag)
{
    struct segment_walk w = {.seg = seg};
    uint32_t words = 0;
    if (seg->side_bytes && (!seg->side || (uintptr_t)seg->side % 8)) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "side", "not aligned");
    }
    while (w.side < seg->side_bytes) {
        uint32_t left = seg->side_bytes - w.side;
        const struct mempipe_side_place *p = encode_side(&w, w.side);
        size_t fixed = left < sizeof(*p) ? 0 : fixed_bytes(p->h.type);
        if (fixed == 0 || p->h.bytes > left || p->h.bytes % 8 || p->h.bytes < fixed) {
            return bad_side(diag, &w, "bad header");
        }
        uint64_t n = p->n;
        if (p->h.type == MEMPIPE_SIDE_REGS) {
            n *= MEMPIPE_REG_BYTES;
        }
        if (n > p->h.bytes - fixed) {
            return bad_side(diag, &w, "longer than it is");
        }
        if (p->words < words || p->words > seg->n_words) {
            return bad_side(diag, &w, "out of order");
        }
        words = p->words;
        if (p->h.type == MEMPIPE_SIDE_ACCESS) {
            const struct mempipe_side_access *x = (const void *)p;
            if (x->size == 0 || (rec->val && p->n && p->n != x->size) ||
                x->mmu >= CTR_MMUS) {
                return bad_side(diag, &w, "size of an access");
            }
            *extra_bytes += rec->val && p->n ? (uint64_t)x->size + 7 : 0;
        }
        if (p->h.type == MEMPIPE_SIDE_PAGE && !page_is_possible((const void *)p)) {
            return bad_side(diag, &w, "a page");
        }
        w.side += p->h.bytes;
    }
    return 0;
}

const struct mempipe_side_place *encode_side_state(const struct segment_walk *w)
{
    const struct mempipe_side_place *p;
    uint32_t at = 0;
    while ((p = encode_side(w, at)) != NULL && p->words == 0) {
        if (p->h.type == MEMPIPE_SIDE_STATE) {
            return p;
        }
        at += p->h.bytes;
    }
    return NULL;
}

uint32_t encode_side_stop(const struct recorded *rec, const struct segment_walk *w)
{
    const struct mempipe_side_place *p;
    for (uint32_t at = w->side; (p = encode_side(w, at)) != NULL; at += p->h.bytes) {
        if (!encode_side_unwanted(rec, p)) {
            return encode_side_of_insn(p) && p->words ? p->words - 1 : p->words;
        }
    }
    return UINT32_MAX;
}

/* --------------------------------------------------------------- registers */

/* The registers of a REGS record, after so many runs; which: 0 outside of runs, else instruction + 1. */
static int put_regs(struct reg_column *regs, uint32_t runs,
                    const struct mempipe_side_regs *x, uint32_t which,
                    const struct segment_walk *w, struct ctr_diag *diag)
{
    const uint8_t *p = (const uint8_t *)(x + 1);
    if (buf_reserve(&regs->meta, (size_t)x->p.n * 5 * VARINT_MAX)) {
        return ctr_fail_nomem(diag);
    }
    for (uint32_t i = 0; i < x->p.n; i++, p += MEMPIPE_REG_BYTES) {
        uint16_t reg;
        uint64_t half[2];
        memcpy(&reg, p, sizeof(reg));
        half[0] = le64(p + 4);
        half[1] = le64(p + 12);
        if (reg >= CTR_MAX_REGS) {
            return bad_side(diag, w, "no such register");
        }
        uint8_t *m = regs->meta.p + regs->meta.n;
        m += put_varint(m, runs - regs->run);
        m += put_varint(m, which);
        m += put_varint(m, reg);
        for (unsigned k = 0; k < 2; k++) {
            m += put_varint(m, zigzag64(half[k] - regs->place[reg * 2u + k]));
            regs->place[reg * 2u + k] = half[k];
        }
        regs->meta.n = (size_t)(m - regs->meta.p);
        regs->run = runs;
        regs->nextra++;
    }
    return 0;
}

/* ------------------------------------------------------------------- pages */

/*
 * From instruction insn of the next run on. The number may be too high, that of a later
 * instruction, where a walk over page tables has filled a page for itself: the fill that
 * it was made for follows, and corrects it.
 */
static int put_page(struct ctr_encoder *e, const struct mempipe_side_page *x,
                    uint32_t insn, const struct segment_walk *w, struct ctr_diag *diag)
{
    const struct page_fill f = {.run = e->sum.runs,
                                .insn = (uint16_t)insn,
                                .mmu = x->mmu,
                                .flags = x->flags,
                                .page = x->page >> x->bits,
                                .phys = x->phys >> x->bits};
    if (e->phys.bits && e->phys.bits != x->bits) {
        return bad_side(diag, w, "a page of another size");
    }
    e->phys.bits = x->bits;
    if (buf_reserve(&e->phys.fills, sizeof(f))) {
        return ctr_fail_nomem(diag);
    }
    struct page_fill *fill = (struct page_fill *)(void *)e->phys.fills.p;
    size_t n = e->phys.fills.n / sizeof(f);
    fill[n] = f;
    e->phys.fills.n += sizeof(f);
    for (; n && fill[n - 1].run == f.run && fill[n - 1].insn > insn; n--) {
        fill[n - 1].insn = (uint16_t)insn;
    }
    return 0;
}

/* The pages of a key frame, whose payload was checked. */
static int put_keyframe(struct ctr_encoder *e, const uint8_t *payload,
                        struct ctr_diag *diag)
{
    const struct ctr_os_event ev = {
        .type = CTR_EVENT_KEYFRAME, .size = UINT32_MAX, .payload = payload};
    struct ctr_keyframe key;
    ctr_parse_keyframe(&ev, &key);
    e->sum.key_bytes += key.n;
    return pageset_add(&e->pages.keys, key.addr >> PAGE_BITS) ? ctr_fail_nomem(diag) : 0;
}

/* ----------------------------------------------------------- between runs */

/* Notes where the thread went, as far as the event says so. */
static int put_next(struct ctr_encoder *e, uint32_t type, const uint8_t *payload,
                    struct ctr_diag *diag)
{
    const struct ctr_os_event ev = {.type = type, .size = UINT32_MAX, .payload = payload};
    uint64_t pc;
    switch (ctr_event_next(&ev, &pc)) {
    case CTR_NEXT_PC:
        encode_next_pc(e, pc);
        return 0;
    case CTR_NEXT_UNKNOWN:
        return encode_next_unknown(e) ? ctr_fail_nomem(diag) : 0;
    default:
        return 0;
    }
}

static int put_between(struct ctr_encoder *e, const struct mempipe_side_place *p,
                       const struct segment_walk *w, struct ctr_diag *diag)
{
    if (p->h.type == MEMPIPE_SIDE_EVENT) {
        const struct mempipe_side_event *x = (const void *)p;
        const uint8_t *payload = (const uint8_t *)(x + 1);
        int err = evenc_add(&e->events, e->sum.runs, e->sum.insns, x->type, x->time_ns,
                            payload, p->n, diag);
        if (!err && x->type == CTR_EVENT_KEYFRAME) {
            err = e->rec.key ? put_keyframe(e, payload, diag)
                             : bad_side(diag, w, "a key frame");
        }
        return err ? err : put_next(e, x->type, payload, diag);
    }
    if (p->h.type == MEMPIPE_SIDE_REGS) {
        return put_regs(&e->regs, e->sum.runs, (const void *)p, 0, w, diag);
    }
    if (p->h.type == MEMPIPE_SIDE_PAGE) {
        return put_page(e, (const void *)p, 0, w, diag);
    }
    return 0; /* a state: only that of the chunk's first segment is used */
}

int encode_between(struct ctr_encoder *e, struct segment_walk *w, uint32_t upto,
                   struct ctr_diag *diag)
{
    const struct mempipe_side_place *p;
    while ((p = encode_side(w, w->side)) != NULL && p->words <= upto) {
        if (!encode_side_unwanted(&e->rec, p)) {
            if (encode_side_of_insn(p) && (p->words == 0 || p->words > w->passed)) {
                return bad_side(diag, w, "belongs to no block");
            }
            if (!encode_side_of_insn(p) && e->limits.may_stop && encode_is_full(e)) {
                return 1;
            }
            int err = encode_side_of_insn(p) ? 0 : put_between(e, p, w, diag);
            if (err) {
                return err;
            }
        }
        w->side += p->h.bytes;
        e->sum.side_read += p->h.bytes;
    }
    return 0;
}

/* ------------------------------------------------------------------ of runs */

/* The position of an extra access among the slots of the run. */
struct position {
    uint32_t slot;     /* pending slots before it */
    uint32_t units;    /* units of these slots */
    uint32_t accesses; /* accesses among them */
};

/*
 * Moves on to the position after so many units, before slots of instruction insn that
 * take none: these are derived, and their instruction has no extra accesses.
 */
static int find_position(const struct recorded *rec, const struct run_parts *run,
                         const struct dict_entry *d, struct position *at, uint32_t units,
                         uint32_t insn)
{
    for (; at->slot < run->npending; at->slot++) {
        const struct ctr_slot *s = &d->slot[run->pending[at->slot]].s;
        uint32_t take = encode_units(rec, s);
        if (at->units >= units && (take || s->insn >= insn)) {
            break;
        }
        at->units += take;
        at->accesses += !s->reg;
    }
    return at->units == units ? 0 : -1;
}

static int put_access(struct ctr_encoder *e, const struct mempipe_side_access *x,
                      uint32_t local, uint32_t before, struct ctr_diag *diag)
{
    if (buf_reserve(&e->extra.meta, 8 * VARINT_MAX) ||
        buf_reserve(&e->extra.delta, VARINT_MAX)) {
        return ctr_fail_nomem(diag);
    }
    unsigned store = (x->flags & MEMPIPE_ACCESS_STORE) != 0;
    const int big_endian = (x->flags & MEMPIPE_ACCESS_BE) != 0;
    uint8_t *m = e->extra.meta.p + e->extra.meta.n;
    uint8_t *m0 = m;
    m += put_varint(m, e->sum.runs - e->extra.run);
    m += put_varint(m, before);
    m += put_varint(m, x->insn);
    /* A size of 0: no value is recorded, and the size follows. */
    int has_value = !e->rec.val || x->p.n;
    m += put_varint(m, (has_value ? (uint64_t)x->size << 2 : 0) | (big_endian ? 2u : 0u) |
                           store);
    if (!has_value) {
        m += put_varint(m, x->size);
    }
    if (e->rec.phys) {
        m += put_varint(m, x->mmu);
    }
    e->extra.meta.n += (size_t)(m - m0);
    struct pred64 *p =
        &e->extra.pred[(e->blocks.def[local]->id * 31 + x->insn * 2u + store) &
                       (EXTRA_PREDS - 1)];
    uint64_t step = x->addr - p->last;
    e->extra.delta.n +=
        put_varint_fast(e->extra.delta.p + e->extra.delta.n, zigzag64(step - p->step));
    *p = (struct pred64){x->addr, step};
    e->extra.run = e->sum.runs;
    e->extra.n++;
    e->sum.loads += !store;
    e->sum.stores += store;
    if (e->rec.val && has_value) {
        encode_data_extra(e, x->addr, big_endian, (const uint8_t *)(x + 1), x->size);
    }
    /* A set that has become "any page" needs no more. */
    struct pageset *set = &e->pages.set[store];
    uint64_t last = x->addr + (x->size - 1);
    last = (last < x->addr ? UINT64_MAX : last) >> PAGE_BITS; /* as readers compute it */
    for (uint64_t page = x->addr >> PAGE_BITS; !set->any; page++) {
        if (pageset_add(set, page)) {
            return ctr_fail_nomem(diag);
        }
        if (page == last) {
            break;
        }
    }
    return 0;
}

int encode_run_side(struct ctr_encoder *e, struct segment_walk *w,
                    const struct slow_run *r, int put, uint32_t *last_insn,
                    struct ctr_diag *diag)
{
    const struct mempipe_side_place *p;
    struct position pos = {0};
    uint32_t before = w->unit, last_reg = 0;
    int regs = 0;
    for (uint32_t at = w->side; (p = encode_side_next(&e->rec, w, r, &at, NULL)) != NULL;
         at += p->h.bytes) {
        const struct mempipe_side_access *x = (const void *)p;
        int access = p->h.type == MEMPIPE_SIDE_ACCESS;
        uint32_t insn = encode_side_insn(p);
        if (p->h.type == MEMPIPE_SIDE_PAGE) {
            /* of a run that is not kept it counts for the next one */
            int err = put ? put_page(e, (const void *)p, r->n ? insn : 0, w, diag) : 0;
            if (err) {
                return err;
            }
            continue;
        }
        if (p->words <= r->at || insn >= e->blocks.def[r->local]->def.ninsn ||
            insn + 1u < r->first || (access ? p->units < before : insn < last_reg)) {
            return encode_bad_word(w, r->at, diag, "side record out of place");
        }
        if (insn >= *last_insn) {
            *last_insn = insn + 1u;
        }
        before = access ? p->units : before;
        last_reg = access ? last_reg : insn;
        if (!put || (insn >= r->n && r->restart)) {
            continue;
        }
        if (insn >= r->n) {
            return encode_bad_word(w, r->at, diag,
                                   "side record of an instruction not executed");
        }
        if (access && find_position(&e->rec, &e->run, e->blocks.def[r->local], &pos,
                                    p->units - w->unit, insn)) {
            return encode_bad_word(w, r->at, diag, "side record out of place");
        }
        int err =
            access ? put_access(e, x, r->local, pos.accesses, diag)
                   : put_regs(&e->regs, e->sum.runs, (const void *)p, insn + 1, w, diag);
        if (err) {
            return err;
        }
        regs |= !access;
    }
    if (regs) {
        encode_regs_settle(e, w, r);
    }
    return 0;
}
