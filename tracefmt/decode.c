/* SPDX-License-Identifier: MIT */
/*
 * Decoding a chunk: the encoder's predictions are made again, and checked
 * against nothing but themselves, so every index and count that comes from the
 * file is tested before it is used.
 */
#include "decode.h"

#include <string.h>
#include "le.h"

static int bad(struct decoder *d, const char *column, const char *what)
{
    return ctr_fail(d->diag, CTR_E_CORRUPT, d->pub.off, column, "chunk %llu: %s",
                    (unsigned long long)d->pub.index, what);
}

int decoder_init(struct decoder *d)
{
    memset(d, 0, sizeof(*d));
    d->dctx = ZSTD_createDCtx();
    return d->dctx ? 0 : -CTR_E_NOMEM;
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
            return bad(d, "chunk.words", "a block has no definition");
        }
        if (slots > MAX_CHUNK_SLOTS) {
            return bad(d, "chunk.words", "too many slots");
        }
        d->loc[i] = (struct dlocal){
            .block = b,
            .next = {TOK_NONE, TOK_NONE},
            .base = (uint32_t)slots,
            .nslot = b->pub.nslot,
            .ninsn = b->pub.ninsn,
            .has_groups = b->has_groups,
        };
        slots += b->pub.nslot;
    }
    d->nloc = nloc;
    if (d->mem) {
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
                return bad(d, "chunk.words", "tokens missing");
            }
            tok = le16(miss);
            miss += 2;
            if (tok == TOK16_ESCAPE) {
                if (end - miss < 4) {
                    return bad(d, "chunk.words", "tokens missing");
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
            return bad(d, "chunk.words", "bad token");
        }
        if (CTR_WORD_KIND(tok) == CTR_WORD_RESUME) {
            cur = &start;
            resumed = 1;
        } else if (cur == &start) {
            return bad(d, "chunk.words", "a marker without a block");
        } else if (CTR_WORD_KIND(tok) == CTR_WORD_LEFT) {
            if (end - miss < 4) {
                return bad(d, "chunk.words", "tokens missing");
            }
            *out++ = le32(miss);
            miss += 4;
        }
        ctx = &cur->next[1];
    }
    if (miss != end || resumed) {
        return bad(d, "chunk.words", "tokens left over");
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
        return bad(d, "chunk.words", "impossible counts");
    }
    int err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_WORDS, MAX_COLUMN,
                            d->dctx, &d->words, "chunk.words", d->diag);
    if (err) {
        return err;
    }
    size_t ids = (size_t)nloc * 4;
    size_t bits = ((size_t)ntok + 7) / 8;
    if (d->words.n != ids + bits + (size_t)nmiss * 2) {
        return bad(d, "chunk.words", "length of the column");
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
        return bad(d, "chunk.addrs", "impossible counts");
    }
    int err = section_frame(&d->chunk->sec, &d->chunk->payload, FRAME_ADDRS, MAX_COLUMN,
                            d->dctx, &d->addrs, "chunk.addrs", d->diag);
    if (err) {
        return err;
    }
    size_t bits = ((size_t)d->addr_n + 7) / 8;
    size_t same = ((size_t)d->miss_n + 7) / 8;
    if (d->addrs.n < bits + same) {
        return bad(d, "chunk.addrs", "length of the column");
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
static int next_extra(struct decoder *d)
{
    d->have_extra = 0;
    if (d->extra_left == 0) {
        if (d->meta != d->meta_end || d->delta != d->delta_end) {
            return bad(d, "chunk.extras", "data left over");
        }
        return 0;
    }
    uint64_t run, rel, insn, what, step;
    if (get_varint(&d->meta, d->meta_end, &run) ||
        get_varint(&d->meta, d->meta_end, &rel) ||
        get_varint(&d->meta, d->meta_end, &insn) ||
        get_varint(&d->meta, d->meta_end, &what) ||
        get_varint(&d->delta, d->delta_end, &step)) {
        return bad(d, "chunk.extras", "bad number");
    }
    if (run > MAX_TOKENS || rel > MAX_ADDRS || insn >= CTR_MAX_BLOCK_INSNS ||
        what >> 2 == 0 || what >> 2 > UINT32_MAX) {
        return bad(d, "chunk.extras", "impossible access");
    }
    d->extra.run += run;
    d->extra.rel = (uint32_t)rel;
    /* The address depends on the block; the step stands in for it until the
     * run is known. */
    d->extra.a = (struct access){
        .addr = unzigzag64(step),
        .size = (uint32_t)(what >> 2),
        .insn = (uint16_t)insn,
        .store = (uint8_t)(what & 1),
        .flags = (uint8_t)(ACCESS_HELPER | (what & 2 ? ACCESS_BE : 0)),
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
        return bad(d, "chunk.extras", "impossible counts");
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
            return bad(d, "chunk.extras", "length of the column");
        }
        d->meta_end = d->delta = d->meta + n;
    }
    if (d->extra_left) {
        memset(d->extra_pred, 0, sizeof(d->extra_pred));
    }
    return next_extra(d);
}

int decoder_begin(struct decoder *d, const struct ctr_trace *tr,
                  const struct raw_chunk *chunk, int mem, struct ctr_diag *diag)
{
    d->chunk = chunk;
    d->pub = chunk->pub;
    d->diag = diag;
    d->mem = mem;
    d->addr_bits = tr->addr_bits;
    d->at = 0;
    d->run = 0;
    d->loads = d->stores = 0;
    d->ordinal = chunk->pub.first;
    int err = load_words(d, tr);
    if (!err && mem) {
        err = load_addrs(d);
    }
    if (!err && mem) {
        err = load_extras(d);
    }
    d->chunk = NULL;
    return err;
}

/* --------------------------------------------------------------- addresses */

static int want_access(struct decoder *d, size_t n)
{
    if (n <= d->access_cap) {
        return 0;
    }
    size_t cap = d->access_cap * 2 > n ? d->access_cap * 2 : n + 64;
    void *p = realloc(d->access, cap * sizeof(d->access[0]));
    if (!p) {
        return ctr_fail_nomem(d->diag);
    }
    d->access = p;
    d->access_cap = cap;
    return 0;
}

/*
 * Address of the next inline access, made by slot `at' of the arena.  The
 * caller has made sure that there is one more; returns -1 if the column of
 * steps ends.
 */
static inline int next_addr(struct decoder *d, size_t at, uint64_t *out)
{
    uint32_t i = d->addr_at++;
    uint64_t step;
    if (d->hit_bits[i >> 3] >> (i & 7) & 1) {
        step = d->pred[at].step;
    } else {
        uint32_t m = d->miss_at++;
        if (m >= d->miss_n) {
            return -1;
        }
        if (!(d->same_bits[m >> 3] >> (m & 7) & 1)) {
            uint64_t z;
            if (get_varint(&d->steps, d->steps_end, &z)) {
                return -1;
            }
            d->last_miss = unzigzag64(z);
        }
        step = d->last_miss;
        d->pred[at].step = step;
    }
    uint64_t addr = d->pred[at].last + step;
    if (d->addr_bits == 32) {
        addr = (uint32_t)addr;
    }
    d->pred[at].last = addr;
    *out = addr;
    return 0;
}

static inline int put_access(struct decoder *d, const struct dlocal *l, unsigned slot,
                             struct access *out)
{
    const struct ctr_slot *s = &l->block->pub.slots[slot];
    out->size = s->size;
    out->insn = s->insn;
    out->store = s->store;
    out->flags = s->big_endian ? ACCESS_BE : 0;
    d->stores += s->store;
    d->loads += !s->store;
    return next_addr(d, (size_t)l->base + slot, &out->addr);
}

/* Puts the extra accesses of this run where they belong. */
static int merge_extras(struct decoder *d, struct run *r)
{
    uint32_t in = 0, out = 0;
    while (d->have_extra && d->extra.run == d->run) {
        if (d->extra.rel < in || d->extra.rel > r->naccess || d->extra.a.insn >= r->end ||
            d->extra.a.insn + 1u < r->first) {
            return bad(d, "chunk.extras", "an access out of place");
        }
        size_t need = (size_t)out + (d->extra.rel - in) + 1 + (r->naccess - d->extra.rel);
        if (need > d->merged_cap) {
            void *p = realloc(d->merged, (need + need / 2) * sizeof(d->merged[0]));
            if (!p) {
                return ctr_fail_nomem(d->diag);
            }
            d->merged = p;
            d->merged_cap = need + need / 2;
        }
        while (in < d->extra.rel) {
            d->merged[out++] = r->access[in++];
        }
        struct access *a = &d->merged[out++];
        *a = d->extra.a;
        unsigned h =
            (r->block->pub.id * 31 + a->insn * 2u + a->store) & (EXTRA_PREDS - 1);
        uint64_t step = d->extra_pred[h].step + a->addr;
        a->addr = d->extra_pred[h].last + step;
        d->extra_pred[h].last = a->addr;
        d->extra_pred[h].step = step;
        d->stores += a->store;
        d->loads += !a->store;
        int err = next_extra(d);
        if (err) {
            return err;
        }
    }
    while (in < r->naccess) {
        d->merged[out++] = r->access[in++];
    }
    r->access = d->merged;
    r->naccess = out;
    return 0;
}

/* -------------------------------------------------------------------- runs */

/* What the markers behind a block's token say. */
struct ending {
    uint32_t groups; /* first token behind the id */
    uint32_t groups_end;
    uint32_t slots;  /* LEFT_AT: unconditional slots passed, else maximum */
    uint32_t limit;  /* LEFT: inline accesses of this run, else maximum */
    uint32_t resume; /* instruction + 1, or 0 */
};

static int read_ending(struct decoder *d, struct run *r, struct ending *e)
{
    const uint32_t *tok = d->tok;
    uint32_t i = d->at;
    e->groups = i;
    while (i < d->ntok && CTR_WORD_KIND(tok[i]) == CTR_WORD_GROUP) {
        i++;
    }
    e->groups_end = i;
    e->slots = e->limit = UINT32_MAX;
    r->end = r->block->pub.ninsn;
    if (i < d->ntok && CTR_WORD_KIND(tok[i]) == CTR_WORD_LEFT_AT) {
        r->end = (uint16_t)CTR_LEFT_AT_INSNS(tok[i]);
        e->slots = CTR_LEFT_AT_SLOTS(tok[i]);
        i++;
    } else if (i < d->ntok && CTR_WORD_KIND(tok[i]) == CTR_WORD_LEFT) {
        r->end = (uint16_t)CTR_LEFT_INSNS(tok[i]);
        r->flags = CTR_LEFT_FLAGS(tok[i]) & (CTR_EV_FAULTED | CTR_EV_UNSURE);
        e->limit = tok[i + 1];
        i += 2;
    }
    if (i < d->ntok && tok[i] >> 31 && CTR_WORD_KIND(tok[i]) != CTR_WORD_RESUME) {
        return bad(d, "chunk.words", "a marker out of place");
    }
    if (r->end > r->block->pub.ninsn || r->end < r->first || r->end == 0) {
        return bad(d, "chunk.words", "number of instructions");
    }
    d->at = i;
    return 0;
}

/* Accesses of a run with markers; the counterpart of the encoder's. */
static int slow_accesses(struct decoder *d, const struct dlocal *l, struct run *r,
                         const struct ending *e)
{
    const struct block *b = l->block;
    const struct ctr_slot *slot = b->pub.slots;
    const uint32_t nslot = l->nslot;
    uint32_t next = 0, uncond = 0, made = 0;

#define MAKE(k)                                                                          \
    do {                                                                                 \
        if (made == e->limit) {                                                          \
            goto out;                                                                    \
        }                                                                                \
        if (d->addr_at == d->addr_n || slot[k].insn >= r->end ||                         \
            slot[k].insn + 1u < e->resume) {                                             \
            return bad(d, "chunk.addrs", "an access out of place");                      \
        }                                                                                \
        if (want_access(d, (size_t)made + 1)) {                                          \
            return -CTR_E_NOMEM;                                                         \
        }                                                                                \
        if (put_access(d, l, (k), &d->access[made])) {                                   \
            return bad(d, "chunk.addrs", "steps missing");                               \
        }                                                                                \
        made++;                                                                          \
    } while (0)

    if (e->resume) {
        next = slots_resume_at(slot, nslot, e->resume - 1);
        for (uint32_t k = 0; k < next; k++) {
            uncond += slot[k].group == 0;
        }
    }
    for (uint32_t i = e->groups; i < e->groups_end; i++) {
        uint32_t group = CTR_GROUP_OF(d->tok[i]);
        if (group == 0 || group > b->pub.ngroup) {
            return bad(d, "chunk.words", "no such group");
        }
        uint32_t g = b->group_first[group];
        for (; g < nslot && next < g; next++) {
            if (slot[next].group == 0) {
                MAKE(next);
                uncond++;
            }
        }
        for (uint32_t k = g; k < b->group_end[group]; k++) {
            if (slot[k].group == group) {
                MAKE(k);
            }
        }
    }
    for (; next < nslot && uncond < e->slots; next++) {
        if (slot[next].group == 0) {
            MAKE(next);
            uncond++;
        }
    }
    if ((e->limit != UINT32_MAX && made != e->limit) ||
        (e->slots != UINT32_MAX && uncond != e->slots)) {
        return bad(d, "chunk.words", "number of accesses");
    }
out:
#undef MAKE
    r->access = d->access;
    r->naccess = made;
    return 0;
}

/* At the end everything must have been used, and the sums be as told. */
static int check_end(struct decoder *d)
{
    const struct ctr_chunk *c = &d->pub;
    if (d->ordinal - c->first != c->insns || d->run != c->runs) {
        return bad(d, "chunk.words", "counts are wrong");
    }
    if (d->mem &&
        (d->addr_at != d->addr_n || d->miss_at != d->miss_n || d->steps != d->steps_end ||
         d->have_extra || d->loads != c->loads || d->stores != c->stores)) {
        return bad(d, "chunk.addrs", "counts are wrong");
    }
    return 0;
}

int decoder_next(struct decoder *d, struct run *r)
{
    if (d->at >= d->ntok) {
        int err = check_end(d);
        return err ? err : 0;
    }
    uint32_t tok = d->tok[d->at++];
    struct ending e = {.resume = 0};
    if (tok >> 31) {
        /* load_tokens lets only RESUME stand here, and a block behind it */
        e.resume = CTR_RESUME_INSN(tok) + 1;
        tok = d->tok[d->at++];
    }
    const struct dlocal *l = &d->loc[tok];
    r->block = l->block;
    r->ordinal = d->ordinal;
    r->first = (uint16_t)e.resume;
    r->flags = 0;
    r->naccess = 0;
    r->access = NULL;
    int plain = !e.resume && !(d->at < d->ntok && d->tok[d->at] >> 31);
    if (plain) {
        r->end = l->ninsn;
    } else {
        if (e.resume > l->ninsn || (e.resume && d->ordinal == 0)) {
            return bad(d, "chunk.words", "a run resumed out of place");
        }
        int err = read_ending(d, r, &e);
        if (err) {
            return err;
        }
    }
    if (d->mem) {
        if (plain) {
            /* Without GROUP words only the unconditional slots are made. */
            e.groups = e.groups_end = d->at;
            e.slots = e.limit = UINT32_MAX;
        }
        if (plain && !l->has_groups) {
            if (l->nslot > d->addr_n - d->addr_at) {
                return bad(d, "chunk.addrs", "addresses missing");
            }
            if (want_access(d, l->nslot)) {
                return -CTR_E_NOMEM;
            }
            for (unsigned k = 0; k < l->nslot; k++) {
                if (put_access(d, l, k, &d->access[k])) {
                    return bad(d, "chunk.addrs", "steps missing");
                }
            }
            r->access = d->access;
            r->naccess = l->nslot;
        } else {
            int err = slow_accesses(d, l, r, &e);
            if (err) {
                return err;
            }
        }
        if (d->have_extra && d->extra.run == d->run) {
            int err = merge_extras(d, r);
            if (err) {
                return err;
            }
        }
    }
    d->run++;
    d->ordinal += (uint64_t)(r->end - r->first);
    return 1;
}
