/* SPDX-License-Identifier: MIT */
/*
 * The column of words of a chunk: its blocks, prepared for decoding, and all tokens.
 *
 * Each token depends on the one before, so there must be as little work as possible
 * between two of them: one load from the table of contexts while the bits say that the
 * prediction is right.
 */
#include "decode/decode.h"

#include <string.h>
#include "base/le.h"

/* The pieces of all slots' values that are wanted. */
static int load_pieces(struct decoder *d)
{
    int err =
        decoder_room(d, &d->piece_of, &d->piece_of_cap, d->nslot, sizeof(d->piece_of[0]));
    size_t n = 0, at = 0;
    for (uint32_t i = 0; !err && i < d->nloc; i++) {
        const struct ctr_block *b = &d->loc[i].block->pub;
        for (unsigned k = 0; k < b->nslot; k++) {
            const struct ctr_slot *s = &b->slots[k];
            d->piece_of[at++] = (uint32_t)n;
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

/* The accesses of all blocks, none of which was made yet. */
static int load_accesses(struct decoder *d)
{
    const size_t n = d->naccess;
    int err = decoder_room(d, &d->slot, &d->slot_cap, n, sizeof(d->slot[0]));
    if (!err) {
        err = decoder_room(d, &d->step, &d->step_cap, n, sizeof(d->step[0]));
    }
    for (uint32_t i = 0; !err && i < d->nloc; i++) {
        const struct dlocal *l = &d->loc[i];
        const struct ctr_block *b = &l->block->pub;
        const uint16_t *number = block_at(l->block);
        for (unsigned k = 0; k < b->nslot; k++) {
            if (!b->slots[k].reg) {
                d->slot[l->access + number[k]] = slot_access(&b->slots[k]);
            }
        }
    }
    if (!err && n) {
        memset(d->step, 0, n * sizeof(d->step[0]));
    }
    return err;
}

int decoder_first_slots(struct decoder *d)
{
    int err = d->want & (DEC_VAL | DEC_REG) ? load_pieces(d) : 0;
    return err || !(d->want & DEC_MEM) ? err : load_accesses(d);
}

/* Blocks of the chunk: pointers to definitions, slots laid out. */
static int load_locals(struct decoder *d, const struct ctr_trace *tr, uint32_t nloc,
                       uint32_t max_id)
{
    decoder_drop(d);
    d->blocks = tr->blocks;
    if (decoder_room(d, &d->loc, &d->loc_cap, nloc, sizeof(d->loc[0])) ||
        decoder_room(d, &d->held, &d->held_cap, nloc, sizeof(d->held[0])) ||
        decoder_room(d, &d->next, &d->next_cap, 2 * (size_t)nloc + 2,
                     sizeof(d->next[0]))) {
        return -CTR_E_NOMEM;
    }
    for (uint32_t i = 0; i < nloc; i++) {
        if (le32(d->words.p + (size_t)i * 4) > max_id) {
            return decoder_bad(d, "chunk.words", "a block has no definition");
        }
    }
    int err = blocktab_hold(tr->blocks, d->words.p, nloc, d->held, d->diag);
    if (err) {
        return err;
    }
    d->nheld = nloc;
    size_t slots = 0, accesses = 0;
    for (uint32_t i = 0; i < nloc; i++) {
        const struct block *b = d->held[i];
        if (slots + b->pub.nslot > MAX_CHUNK_SLOTS) {
            return decoder_bad(d, "chunk.words", "too many slots");
        }
        if (b->reg_end > d->nregs) {
            return decoder_bad(d, "chunk.words", "a register that is not in the table");
        }
        d->loc[i] = (struct dlocal){
            .block = b,
            .slot = (uint32_t)slots,
            .access = (uint32_t)accesses,
            .ninsn = b->pub.ninsn,
            .nplain = b->nplain,
            .nown = b->nown,
            .nderived = b->nderived,
            .nreg = b->nreg,
            .has_data = !b->value_bytes ? DATA_NONE
                        : b->single     ? DATA_SINGLE
                                        : DATA_ANY,
            .loads = block_group_loads(b)[0],
            .stores = block_group_stores(b)[0],
        };
        slots += b->pub.nslot;
        accesses += b->naccess;
    }
    d->nloc = nloc;
    d->nslot = (uint32_t)slots;
    d->naccess = (uint32_t)accesses;
    memset(d->next, 0xff, (2 * (size_t)nloc + 2) * sizeof(d->next[0])); /* TOK_NONE */
    return decoder_first_slots(d);
}

/* Whether this is a marker that a file may have. */
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

/* The next token from the misses. Returns -1 if there is none. */
static inline int miss_token(const uint8_t **miss, const uint8_t *end, uint32_t *out)
{
    const uint8_t *p = *miss;
    if (p == end) {
        return -1;
    }
    uint32_t tok = le16(p);
    p += 2;
    if (tok == TOK16_ESCAPE) {
        if (end - p < 4) {
            return -1;
        }
        tok = le32(p);
        p += 4;
    } else if (tok >= TOK16_GROUP) {
        tok = CTR_WORD_GROUP | (tok - TOK16_GROUP);
    }
    *miss = p;
    *out = tok;
    return 0;
}

/* Makes the whole token array, with one more token after it, which is a block's. */
static int load_tokens(struct decoder *d, const uint8_t *bits, const uint8_t *miss,
                       uint32_t ntok, uint32_t nmiss)
{
    /* A LEFT is followed by a number, of two halfwords. */
    size_t numbers = nmiss / 2 < ntok ? nmiss / 2 : ntok;
    if (ntok + numbers > MAX_TOKENS) {
        numbers = MAX_TOKENS - ntok;
    }
    if (decoder_room(d, &d->tok, &d->tok_cap, ntok + numbers + 1, sizeof(d->tok[0]))) {
        return -CTR_E_NOMEM;
    }
    const uint32_t nloc = d->nloc;
    const uint8_t *end = miss + (size_t)nmiss * 2;
    uint32_t *const next = d->next;
    uint32_t *out = d->tok;
    uint32_t *last = &next[2 * (size_t)nloc]; /* contexts of the last block; the start */
    uint32_t *const start = last;
    uint32_t *ctx = start;
    int resumed = 0;
    for (uint32_t i = 0; i < ntok; i++) {
        uint32_t tok = *ctx;
        if ((i & 63) == 0) {
            /* 64 predicted tokens, as long as they are blocks */
            while (ntok - i >= 64 && le64(bits + (i >> 3)) == UINT64_MAX) {
                uint32_t k = 0;
                for (; k < 64 && tok < nloc; k++) {
                    out[k] = tok;
                    last = &next[2 * (size_t)tok];
                    tok = *last;
                }
                ctx = k ? last : ctx;
                resumed = k ? 0 : resumed;
                i += k;
                out += k;
                if (k < 64) {
                    break;
                }
            }
            if (i == ntok) {
                break;
            }
        }
        if (!(bits[i >> 3] >> (i & 7) & 1)) {
            if (miss_token(&miss, end, &tok)) {
                return decoder_bad(d, "chunk.words", "tokens missing");
            }
            *ctx = tok;
        }
        *out++ = tok;
        if (tok < nloc) {
            ctx = last = &next[2 * (size_t)tok];
            resumed = 0;
            continue;
        }
        if (tok == TOK_NONE || !marker_ok(tok) || resumed) {
            return decoder_bad(d, "chunk.words", "bad token");
        }
        if (CTR_WORD_KIND(tok) == CTR_WORD_RESUME) {
            last = start;
            resumed = 1;
        } else if (last == start) {
            return decoder_bad(d, "chunk.words", "a marker without a block");
        } else if (CTR_WORD_KIND(tok) == CTR_WORD_LEFT) {
            if (end - miss < 4) {
                return decoder_bad(d, "chunk.words", "tokens missing");
            }
            if (numbers-- == 0) {
                return decoder_bad(d, "chunk.words", "too many tokens");
            }
            *out++ = le32(miss);
            miss += 4;
        }
        ctx = last + 1;
    }
    if (miss != end || resumed) {
        return decoder_bad(d, "chunk.words", "tokens left over");
    }
    d->ntok = (uint32_t)(out - d->tok);
    *out = 0;
    return 0;
}

int decoder_words(struct decoder *d, const struct ctr_trace *tr)
{
    const uint8_t *b = d->chunk->sec.body;
    uint32_t nloc = le32(b + CHUNK_LOCALS);
    uint32_t ntok = le32(b + CHUNK_TOKENS);
    uint32_t nmiss = le32(b + CHUNK_TOKEN_MISS);
    if (nloc > MAX_LOCALS || ntok > MAX_TOKENS || nmiss > (uint64_t)ntok * 5) {
        return decoder_bad(d, "chunk.words", "impossible counts");
    }
    int err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_WORDS, d->dctx,
                            &d->words, "chunk.words", d->diag);
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
