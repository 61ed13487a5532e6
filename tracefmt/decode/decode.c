/* SPDX-License-Identifier: MIT */
/*
 * Decoding a chunk: it repeats the encoder's predictions. Nothing else confirms them,
 * so every index and count that comes from the file is checked before it is used.
 */
#include "decode/decode.h"

#include <string.h>
#include "base/le.h"

int decoder_init(struct decoder *d)
{
    memset(d, 0, sizeof(*d));
    d->count_hi = UINT64_MAX;
    d->dctx = ZSTD_createDCtx();
    /* Even an empty column has a pointer. */
    if (!d->dctx || buf_room(&d->words, 1) || buf_room(&d->addrs, 1) ||
        buf_room(&d->extras, 1) || buf_room(&d->states, 1) ||
        buf_room(&d->vals.column, 1) || buf_room(&d->regvals.column, 1) ||
        buf_room(&d->data, 1)) {
        decoder_fini(d);
        return -CTR_E_NOMEM;
    }
    return 0;
}

void decoder_fini(struct decoder *d)
{
    decoder_drop(d);
    ZSTD_freeDCtx(d->dctx);
    free(d->held);
    buf_free(&d->words);
    buf_free(&d->addrs);
    buf_free(&d->extras);
    free(d->tok);
    free(d->loc);
    free(d->next);
    free(d->slot);
    free(d->step);
    free(d->access);
    free(d->merged);
    buf_free(&d->states);
    buf_free(&d->vals.column);
    buf_free(&d->regvals.column);
    buf_free(&d->data);
    free(d->piece_of);
    free(d->piece);
    free(d->reg);
    free(d->reg_merged);
    free(d->out);
    phys_fini(&d->phys);
    memset(d, 0, sizeof(*d));
}

/* ------------------------------------------------------------------- begin */

/* The column of addresses, whose parts are known, from its beginning on. */
static void first_addrs(struct decoder *d)
{
    d->steps = d->same_bits + ((size_t)d->miss_n + 7) / 8;
    d->addr_at = d->miss_at = d->missed_to = 0;
    d->last_miss = 0;
}

static int load_addrs(struct decoder *d)
{
    const uint8_t *b = d->chunk->sec.body;
    d->addr_n = le32(b + CHUNK_ADDRS);
    d->miss_n = le32(b + CHUNK_ADDR_MISS);
    if (d->addr_n > MAX_ADDRS || d->miss_n > d->addr_n) {
        return decoder_bad(d, "chunk.addrs", "impossible counts");
    }
    /* decoder_plain_addrs reads 8 bytes at any position */
    if (buf_room(&d->addrs, (size_t)d->chunk->sec.frame[FRAME_ADDRS].dsize + 8)) {
        return ctr_fail_nomem(d->diag);
    }
    int err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_ADDRS, d->dctx,
                            &d->addrs, "chunk.addrs", d->diag);
    if (err) {
        return err;
    }
    size_t bits = ((size_t)d->addr_n + 7) / 8;
    size_t same = ((size_t)d->miss_n + 7) / 8;
    if (d->addrs.n < bits + same) {
        return decoder_bad(d, "chunk.addrs", "length of the column");
    }
    d->hit_bits = d->addrs.p;
    d->same_bits = d->addrs.p + bits;
    d->steps_end = d->addrs.p + d->addrs.n;
    first_addrs(d);
    return 0;
}

/* Reads the next record of the extra accesses, if there is one. */
int decoder_next_extra(struct decoder *d)
{
    d->have_extra = 0;
    if (d->extra_left == 0) {
        if (d->meta != d->meta_end || d->delta != d->delta_end) {
            return decoder_bad(d, "chunk.extras", "data left over");
        }
        return 0;
    }
    uint64_t run, rel, insn, what, size, step, mmu = 0;
    if (get_varint(&d->meta, d->meta_end, &run) ||
        get_varint(&d->meta, d->meta_end, &rel) ||
        get_varint(&d->meta, d->meta_end, &insn) ||
        get_varint(&d->meta, d->meta_end, &what) ||
        get_varint(&d->delta, d->delta_end, &step)) {
        return decoder_bad(d, "chunk.extras", "bad number");
    }
    size = what >> 2;
    int has_value = size != 0;
    if (!has_value && get_varint(&d->meta, d->meta_end, &size)) {
        return decoder_bad(d, "chunk.extras", "bad number");
    }
    if (d->has_mmu && (get_varint(&d->meta, d->meta_end, &mmu) || mmu >= CTR_MMUS)) {
        return decoder_bad(d, "chunk.extras", "bad number");
    }
    if (run > MAX_TOKENS || rel > MAX_ADDRS || insn >= CTR_MAX_BLOCK_INSNS || size == 0 ||
        size > UINT32_MAX) {
        return decoder_bad(d, "chunk.extras", "impossible access");
    }
    d->extra.run += run;
    d->extra.rel = (uint32_t)rel;
    /*
     * The address depends on the block; the step takes its place until the run is
     * known.
     */
    d->extra.a = (struct ctr_access){
        .addr = unzigzag64(step),
        .size = (uint32_t)size,
        .insn = (uint16_t)insn,
        .store = (uint8_t)(what & 1),
        .flags = (uint8_t)(CTR_ACC_HELPER | (what & 2 ? CTR_ACC_BE : 0) |
                           (has_value ? 0 : CTR_ACC_NOVALUE) | mmu << 4),
    };
    d->have_extra = 1;
    d->extra_left--;
    return 0;
}

/* The first record of the column, which is in memory. */
static int first_extra(struct decoder *d)
{
    d->extra_left = le32(d->chunk->sec.body + CHUNK_EXTRAS);
    d->have_extra = 0;
    d->extra = (struct extra){0};
    if (d->extra_left > MAX_EXTRAS) {
        return decoder_bad(d, "chunk.extras", "impossible counts");
    }
    d->meta = d->meta_end = d->delta = d->delta_end = d->extras.p;
    if (d->extras.n) {
        uint64_t n;
        d->delta_end = d->extras.p + d->extras.n;
        if (get_varint(&d->meta, d->delta_end, &n) ||
            n > (uint64_t)(d->delta_end - d->meta)) {
            return decoder_bad(d, "chunk.extras", "length of the column");
        }
        d->meta_end = d->delta = d->meta + n;
    }
    if (d->extra_left) {
        memset(d->extra_pred, 0, sizeof(d->extra_pred));
    }
    return decoder_next_extra(d);
}

static int load_extras(struct decoder *d)
{
    int err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_EXTRAS, d->dctx,
                            &d->extras, "chunk.extras", d->diag);
    return err ? err : first_extra(d);
}

/* ------------------------------------------------------------------ values */

/* Hits and misses of n pieces, in *pp up to end. */
static int value_bits(struct decoder *d, struct value_in *v, const uint8_t **pp,
                      const uint8_t *end, uint32_t n, const char *column)
{
    size_t bits = ((size_t)n + 7) / 8;
    if (n > MAX_PIECES || bits > (size_t)(end - *pp)) {
        return decoder_bad(d, column, "length of the column");
    }
    v->hit = *pp;
    v->n = n;
    v->at = 0;
    v->prev = v->prev2 = 0;
    *pp += bits;
    return 0;
}

static int load_vals(struct decoder *d)
{
    struct value_in *v = &d->vals;
    int err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_VALUES, d->dctx,
                            &v->column, "chunk.values", d->diag);
    if (err) {
        return err;
    }
    memset(d->memory, 0, sizeof(d->memory));
    const uint8_t *p = v->column.p, *end = p + v->column.n;
    uint32_t n = 0;
    if (v->column.n) {
        if (v->column.n < 4) {
            return decoder_bad(d, "chunk.values", "length of the column");
        }
        n = le32(p);
        p += 4;
    }
    err = value_bits(d, v, &p, end, n, "chunk.values");
    v->miss = p;
    v->miss_end = end;
    return err;
}

/* Reads the next extra register change, if there is one. */
int decoder_next_reg_extra(struct decoder *d)
{
    struct reg_extra *x = &d->reg_extra;
    uint64_t run, which, reg;
    d->have_reg_extra = 0;
    if (d->reg_extra_left == 0) {
        if (d->reg_meta != d->reg_meta_end) {
            return decoder_bad(d, "chunk.regs", "data left over");
        }
        return 0;
    }
    if (get_varint(&d->reg_meta, d->reg_meta_end, &run) ||
        get_varint(&d->reg_meta, d->reg_meta_end, &which) ||
        get_varint(&d->reg_meta, d->reg_meta_end, &reg) ||
        get_varint(&d->reg_meta, d->reg_meta_end, &x->step[0]) ||
        get_varint(&d->reg_meta, d->reg_meta_end, &x->step[1])) {
        return decoder_bad(d, "chunk.regs", "bad number");
    }
    if (run > MAX_TOKENS || which > CTR_MAX_BLOCK_INSNS || reg >= d->nregs) {
        return decoder_bad(d, "chunk.regs", "impossible change");
    }
    x->run += run;
    x->which = (uint16_t)which;
    x->reg = (uint16_t)reg;
    d->have_reg_extra = 1;
    d->reg_extra_left--;
    return 0;
}

static int load_regs(struct decoder *d, const struct ctr_trace *tr)
{
    struct value_in *v = &d->regvals;
    const uint8_t *b = d->chunk->sec.body;
    d->reg_n = le32(b + CHUNK_REGS);
    d->reg_extra_left = le32(b + CHUNK_REG_EXTRAS);
    int err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_REGS, d->dctx,
                            &v->column, "chunk.regs", d->diag);
    if (!err) {
        err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_STATE, d->dctx,
                            &d->states, "chunk.state", d->diag);
    }
    if (err) {
        return err;
    }
    if (d->states.n && (!tr->regs || d->states.n != tr->regs->state_bytes)) {
        return decoder_bad(d, "chunk.state", "length of the column");
    }
    d->state = d->states.n ? d->states.p : NULL;
    d->state_bytes = (uint32_t)d->states.n;
    memset(d->regs, 0, sizeof(d->regs));
    if (d->state) {
        regtable_places(tr->regs, d->state, d->regs);
    }
    const uint8_t *p = v->column.p, *end = p + v->column.n;
    uint32_t n = 0, bytes = 0;
    if (v->column.n) {
        if (v->column.n < 8) {
            return decoder_bad(d, "chunk.regs", "length of the column");
        }
        n = le32(p);
        bytes = le32(p + 4);
        p += 8;
    }
    err = value_bits(d, v, &p, end, n, "chunk.regs");
    if (err) {
        return err;
    }
    if (bytes > (size_t)(end - p)) {
        return decoder_bad(d, "chunk.regs", "length of the column");
    }
    v->miss = p;
    v->miss_end = d->reg_meta = p + bytes;
    d->reg_meta_end = end;
    d->reg_extra = (struct reg_extra){0};
    return decoder_next_reg_extra(d);
}

/* ------------------------------------------------------------------- pages */

static int load_pages(struct decoder *d)
{
    int err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_PAGES, d->dctx,
                            &d->phys.column, "chunk.pages", d->diag);
    return err ? err : decoder_pages(d, phys_begin(&d->phys, d->addr_mask));
}

/* ------------------------------------------------------------------- begin */

/* The part of `want' that the trace has. */
static unsigned want_of(const struct ctr_trace *tr, unsigned want)
{
    unsigned has = 0;
    has |= tr->events & CTR_EVENTS_MEM ? DEC_MEM : 0;
    has |= has && !(want & DEC_MEM) ? DEC_COUNT : 0;
    has |= (tr->events & CTR_EVENTS_VAL) && (want & DEC_MEM) && has ? DEC_VAL : 0;
    has |= tr->events & CTR_EVENTS_REG ? DEC_REG : 0;
    has |=
        (tr->events & CTR_EVENTS_PHYS) && has & DEC_MEM && want & DEC_MEM ? DEC_PHYS : 0;
    return has & want;
}

/* As before the first run. */
static void first_run(struct decoder *d, const struct raw_chunk *chunk)
{
    d->at = 0;
    d->run = 0;
    d->loads = d->stores = 0;
    d->ordinal = chunk->pub.first;
}

int decoder_begin_values(struct decoder *d, const struct ctr_trace *tr,
                         const struct raw_chunk *chunk, struct ctr_diag *diag)
{
    d->chunk = chunk;
    d->diag = diag;
    d->want = want_of(tr, DEC_MEM | DEC_VAL);
    first_run(d, chunk);
    first_addrs(d);
    int err = decoder_first_slots(d);
    err = err || !(d->want & DEC_VAL) ? err : load_vals(d);
    err = err ? err : first_extra(d);
    d->chunk = NULL;
    return err;
}

int decoder_begin(struct decoder *d, const struct ctr_trace *tr,
                  const struct raw_chunk *chunk, unsigned want, struct ctr_diag *diag)
{
    d->chunk = chunk;
    d->pub = chunk->pub;
    d->diag = diag;
    d->want = want_of(tr, want);
    d->nregs = tr->regs ? tr->regs->n : 0;
    d->state = NULL;
    d->state_bytes = 0;
    d->have_extra = d->have_reg_extra = 0;
    d->reg_at = 0;
    d->has_mmu = (tr->events & CTR_EVENTS_PHYS) != 0;
    d->addr_mask = tr->addr_bits == 32 ? UINT32_MAX : UINT64_MAX;
    first_run(d, chunk);
    int err = decoder_words(d, tr);
    if (!err && d->want & DEC_MEM) {
        err = load_addrs(d);
    }
    if (!err && d->want & DEC_VAL) {
        err = load_vals(d);
    }
    if (!err && d->want & (DEC_MEM | DEC_COUNT)) {
        err = load_extras(d);
    }
    if (!err && d->want & DEC_REG) {
        err = load_regs(d, tr);
    }
    if (!err && d->want & DEC_PHYS) {
        err = load_pages(d);
    }
    d->chunk = NULL;
    return err;
}
