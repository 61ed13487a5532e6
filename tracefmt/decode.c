/* SPDX-License-Identifier: MIT */
/*
 * Decoding a chunk: the encoder's predictions are made again, and checked
 * against nothing but themselves, so every index and count that comes from the
 * file is tested before it is used.
 */
#include "decode.h"

#include <string.h>
#include "le.h"

int decoder_bad(struct decoder *d, const char *column, const char *what)
{
    return ctr_fail(d->diag, CTR_E_CORRUPT, d->pub.off, column, "chunk %llu: %s",
                    (unsigned long long)d->pub.index, what);
}

int decoder_room(struct decoder *d, void *p, size_t *cap, size_t n, size_t size)
{
    void *old, *new;
    if (n <= *cap) {
        return 0;
    }
    size_t more = n + n / 2 + 64;
    memcpy(&old, p, sizeof(old));
    new = realloc(old, more * size);
    if (!new) {
        return ctr_fail_nomem(d->diag);
    }
    memcpy(p, &new, sizeof(new));
    *cap = more;
    return 0;
}

int decoder_init(struct decoder *d)
{
    memset(d, 0, sizeof(*d));
    d->count_hi = UINT64_MAX;
    d->dctx = ZSTD_createDCtx();
    /* An empty column has a place, too. */
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
    ZSTD_freeDCtx(d->dctx);
    buf_free(&d->words);
    buf_free(&d->addrs);
    buf_free(&d->extras);
    free(d->tok);
    free(d->loc);
    free(d->pred);
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
    memset(d, 0, sizeof(*d));
}

/* ------------------------------------------------------------------ tokens */

/* Is this a marker that may stand in a file? */
static int marker_ok(uint32_t tok)
{
    switch (CTR_WORD_KIND(tok)) {
    case CTR_WORD_GROUP:
        return (tok & 0x0fff0000u) == 0;
    case CTR_WORD_LEFT_AT:
        return (tok & 0x0f000000u) == 0;
    case CTR_WORD_LEFT:
        return (CTR_LEFT_FLAGS(tok) &
                ~(CTR_LEFT_FAULTED | CTR_LEFT_SUSPEND | CTR_LEFT_UNSURE)) == 0;
    case CTR_WORD_RESUME:
        return (tok & 0x0fff0000u) == 0;
    default:
        return 0;
    }
}

/* The pieces of the values that are wanted, of all slots. */
static int load_pieces(struct decoder *d, size_t slots)
{
    int err =
        decoder_room(d, &d->piece_of, &d->piece_of_cap, slots, sizeof(d->piece_of[0]));
    size_t n = 0;
    for (uint32_t i = 0; !err && i < d->nloc; i++) {
        const struct dlocal *l = &d->loc[i];
        for (unsigned k = 0; k < l->nslot; k++) {
            const struct ctr_slot *s = &l->block->pub.slots[k];
            d->piece_of[l->base + k] = (uint32_t)n;
            if (!(d->want & (s->reg ? DEC_REG : DEC_VAL)) || s->novalue) {
                continue;
            }
            err = decoder_room(d, &d->piece, &d->piece_cap, n + value_pieces(s->size),
                               sizeof(d->piece[0]));
            if (err) {
                return err;
            }
            n += value_pieces_init(&d->piece[n], s, 8);
            if (n > MAX_CHUNK_PIECES) {
                return decoder_bad(d, "chunk.words", "too many slots");
            }
        }
    }
    return err;
}

/* Blocks of the chunk: pointers to definitions, slots laid out. */
static int load_locals(struct decoder *d, const struct ctr_trace *tr, uint32_t nloc,
                       uint32_t max_id)
{
    if (nloc > d->loc_cap) {
        free(d->loc);
        d->loc_cap = 0;
        d->loc = malloc(nloc * sizeof(d->loc[0]));
        if (!d->loc) {
            return ctr_fail_nomem(d->diag);
        }
        d->loc_cap = nloc;
    }
    size_t slots = 0;
    for (uint32_t i = 0; i < nloc; i++) {
        uint32_t id = le32(d->words.p + (size_t)i * 4);
        const struct block *b = id <= max_id ? trace_block(tr, id) : NULL;
        if (!b) {
            return decoder_bad(d, "chunk.words", "a block has no definition");
        }
        if (slots > MAX_CHUNK_SLOTS) {
            return decoder_bad(d, "chunk.words", "too many slots");
        }
        d->loc[i] = (struct dlocal){
            .block = b,
            .next = {TOK_NONE, TOK_NONE},
            .base = (uint32_t)slots,
            .nslot = b->pub.nslot,
            .ninsn = b->pub.ninsn,
            .naccess = (uint16_t)(b->pub.nslot - b->nreg),
            .has_groups = b->has_groups,
        };
        if (b->reg_end > d->nregs) {
            return decoder_bad(d, "chunk.words", "a register that is not in the table");
        }
        slots += b->pub.nslot;
    }
    d->nloc = nloc;
    if (d->want & (DEC_VAL | DEC_REG)) {
        int err = load_pieces(d, slots);
        if (err) {
            return err;
        }
    }
    if (d->want & DEC_MEM) {
        if (slots > d->pred_cap) {
            free(d->pred);
            d->pred_cap = 0;
            d->pred = malloc(slots * sizeof(d->pred[0]));
            if (!d->pred) {
                return ctr_fail_nomem(d->diag);
            }
            d->pred_cap = slots;
        }
        if (slots) {
            memset(d->pred, 0, slots * sizeof(d->pred[0]));
        }
    }
    return 0;
}

/* Makes the whole token array. */
static int load_tokens(struct decoder *d, const uint8_t *bits, const uint8_t *miss,
                       uint32_t ntok, uint32_t nmiss)
{
    /* One number behind each LEFT at most. */
    if ((size_t)ntok * 2 > d->tok_cap) {
        free(d->tok);
        d->tok_cap = 0;
        d->tok = malloc((size_t)ntok * 2 * sizeof(d->tok[0]));
        if (!d->tok) {
            return ctr_fail_nomem(d->diag);
        }
        d->tok_cap = (size_t)ntok * 2;
    }
    struct dlocal *loc = d->loc;
    const uint32_t nloc = d->nloc;
    struct dlocal start = {.next = {TOK_NONE, TOK_NONE}};
    struct dlocal *cur = &start;
    uint32_t *ctx = &start.next[0];
    uint32_t *out = d->tok;
    const uint8_t *end = miss + (size_t)nmiss * 2;
    int resumed = 0;
    for (uint32_t i = 0; i < ntok; i++) {
        uint32_t tok = *ctx;
        if (!(bits[i >> 3] >> (i & 7) & 1)) {
            if (miss == end) {
                return decoder_bad(d, "chunk.words", "tokens missing");
            }
            tok = le16(miss);
            miss += 2;
            if (tok == TOK16_ESCAPE) {
                if (end - miss < 4) {
                    return decoder_bad(d, "chunk.words", "tokens missing");
                }
                tok = le32(miss);
                miss += 4;
            } else if (tok >= TOK16_GROUP) {
                tok = CTR_WORD_GROUP | (tok - TOK16_GROUP);
            }
            *ctx = tok;
        }
        *out++ = tok;
        if (tok < nloc) {
            cur = &loc[tok];
            ctx = &cur->next[0];
            resumed = 0;
            continue;
        }
        if (tok == TOK_NONE || !marker_ok(tok) || resumed) {
            return decoder_bad(d, "chunk.words", "bad token");
        }
        if (CTR_WORD_KIND(tok) == CTR_WORD_RESUME) {
            cur = &start;
            resumed = 1;
        } else if (cur == &start) {
            return decoder_bad(d, "chunk.words", "a marker without a block");
        } else if (CTR_WORD_KIND(tok) == CTR_WORD_LEFT) {
            if (end - miss < 4) {
                return decoder_bad(d, "chunk.words", "tokens missing");
            }
            *out++ = le32(miss);
            miss += 4;
        }
        ctx = &cur->next[1];
    }
    if (miss != end || resumed) {
        return decoder_bad(d, "chunk.words", "tokens left over");
    }
    d->ntok = (uint32_t)(out - d->tok);
    return 0;
}

/* ------------------------------------------------------------------- begin */

static int load_words(struct decoder *d, const struct ctr_trace *tr)
{
    const uint8_t *b = d->chunk->sec.body;
    uint32_t nloc = le32(b + CHUNK_LOCALS);
    uint32_t ntok = le32(b + CHUNK_TOKENS);
    uint32_t nmiss = le32(b + CHUNK_TOKEN_MISS);
    if (nloc > MAX_LOCALS || ntok > MAX_TOKENS || nmiss > (uint64_t)ntok * 5) {
        return decoder_bad(d, "chunk.words", "impossible counts");
    }
    int err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_WORDS, MAX_COLUMN,
                            d->dctx, &d->words, "chunk.words", d->diag);
    if (err) {
        return err;
    }
    size_t ids = (size_t)nloc * 4;
    size_t bits = ((size_t)ntok + 7) / 8;
    if (d->words.n != ids + bits + (size_t)nmiss * 2) {
        return decoder_bad(d, "chunk.words", "length of the column");
    }
    err = load_locals(d, tr, nloc, le32(b + CHUNK_MAX_ID));
    if (err) {
        return err;
    }
    return load_tokens(d, d->words.p + ids, d->words.p + ids + bits, ntok, nmiss);
}

static int load_addrs(struct decoder *d)
{
    const uint8_t *b = d->chunk->sec.body;
    d->addr_n = le32(b + CHUNK_ADDRS);
    d->miss_n = le32(b + CHUNK_ADDR_MISS);
    if (d->addr_n > MAX_ADDRS || d->miss_n > d->addr_n) {
        return decoder_bad(d, "chunk.addrs", "impossible counts");
    }
    int err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_ADDRS, MAX_COLUMN,
                            d->dctx, &d->addrs, "chunk.addrs", d->diag);
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
    d->steps = d->same_bits + same;
    d->steps_end = d->addrs.p + d->addrs.n;
    d->addr_at = d->miss_at = 0;
    d->last_miss = 0;
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
    uint64_t run, rel, insn, what, size, step;
    if (get_varint(&d->meta, d->meta_end, &run) ||
        get_varint(&d->meta, d->meta_end, &rel) ||
        get_varint(&d->meta, d->meta_end, &insn) ||
        get_varint(&d->meta, d->meta_end, &what) ||
        get_varint(&d->delta, d->delta_end, &step)) {
        return decoder_bad(d, "chunk.extras", "bad number");
    }
    size = what >> 2;
    int told = size != 0;
    if (!told && get_varint(&d->meta, d->meta_end, &size)) {
        return decoder_bad(d, "chunk.extras", "bad number");
    }
    if (run > MAX_TOKENS || rel > MAX_ADDRS || insn >= CTR_MAX_BLOCK_INSNS || size == 0 ||
        size > UINT32_MAX) {
        return decoder_bad(d, "chunk.extras", "impossible access");
    }
    d->extra.run += run;
    d->extra.rel = (uint32_t)rel;
    /* The address depends on the block; the step stands in for it until the
     * run is known. */
    d->extra.a = (struct access){
        .addr = unzigzag64(step),
        .size = (uint32_t)size,
        .insn = (uint16_t)insn,
        .store = (uint8_t)(what & 1),
        .flags = (uint8_t)(ACCESS_HELPER | (what & 2 ? ACCESS_BE : 0) |
                           (told ? 0 : ACCESS_NOVALUE)),
    };
    d->have_extra = 1;
    d->extra_left--;
    return 0;
}

static int load_extras(struct decoder *d)
{
    d->extra_left = le32(d->chunk->sec.body + CHUNK_EXTRAS);
    d->have_extra = 0;
    d->extra = (struct extra){0};
    if (d->extra_left > MAX_EXTRAS) {
        return decoder_bad(d, "chunk.extras", "impossible counts");
    }
    int err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_EXTRAS, MAX_COLUMN,
                            d->dctx, &d->extras, "chunk.extras", d->diag);
    if (err) {
        return err;
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
    int err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_VALUES, MAX_COLUMN,
                            d->dctx, &v->column, "chunk.values", d->diag);
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
    int err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_REGS, MAX_COLUMN,
                            d->dctx, &v->column, "chunk.regs", d->diag);
    if (!err) {
        err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_STATE,
                            CTR_MAX_STATE_BYTES, d->dctx, &d->states, "chunk.state",
                            d->diag);
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

/* ------------------------------------------------------------------- begin */

/* What a trace has of what is wanted. */
static unsigned want_of(const struct ctr_trace *tr, unsigned want)
{
    unsigned has = 0;
    has |= tr->events & CTR_EVENTS_MEM ? DEC_MEM : 0;
    has |= has && !(want & DEC_MEM) ? DEC_COUNT : 0;
    has |= (tr->events & CTR_EVENTS_VAL) && (want & DEC_MEM) && has ? DEC_VAL : 0;
    has |= tr->events & CTR_EVENTS_REG ? DEC_REG : 0;
    return has & want;
}

int decoder_begin(struct decoder *d, const struct ctr_trace *tr,
                  const struct raw_chunk *chunk, unsigned want, struct ctr_diag *diag)
{
    uint64_t bytes = 0;
    d->chunk = chunk;
    d->pub = chunk->pub;
    d->diag = diag;
    d->want = want_of(tr, want);
    d->nregs = tr->regs ? tr->regs->n : 0;
    d->state = NULL;
    d->state_bytes = 0;
    d->have_extra = d->have_reg_extra = 0;
    d->reg_at = 0;
    d->addr_bits = tr->addr_bits;
    d->at = 0;
    d->run = 0;
    d->loads = d->stores = 0;
    d->ordinal = chunk->pub.first;
    for (unsigned i = 0; i < CHUNK_FRAMES; i++) {
        bytes += chunk->sec.frame[i].dsize;
    }
    if (bytes > MAX_COLUMN) {
        return ctr_fail(diag, CTR_E_LIMIT, d->pub.off, "chunk", "columns are too large");
    }
    int err = load_words(d, tr);
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
    d->chunk = NULL;
    return err;
}
