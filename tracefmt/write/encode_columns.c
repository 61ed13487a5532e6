/* SPDX-License-Identifier: MIT */
/*
 * Turns the encoder's arrays into the columns of the file: bytes of 0 and 1 into
 * bitmaps, steps into varints, then zstd.
 */
#include "write/encode.h"

#include <string.h>
#include <xxhash.h>
#include "base/le.h"

/* Packs n bytes of 0 or 1, lowest bit first.  Reads up to 8 bytes ahead. */
static size_t pack_bits(uint8_t *out, const uint8_t *bytes, size_t n)
{
    size_t full = n / 8;
    for (size_t i = 0; i < full; i++) {
        /* Each byte's lowest bit is moved into its place in the top byte. */
        out[i] = (uint8_t)(le64(bytes + 8 * i) * 0x0102040810204080ull >> 56);
    }
    if (n % 8) {
        uint8_t last = 0;
        for (size_t i = 0; i < n % 8; i++) {
            last |= (uint8_t)(bytes[8 * full + i] << i);
        }
        out[full++] = last;
    }
    return full;
}

/*
 * Level 1 with a table that fits into the nearest cache, and without matches too short
 * to pay, is faster by a sixth and loses a fiftieth. What prediction leaves of register
 * values is large and nearly random: a lower level than the usual lowest packs it
 * nearly as well.
 */
static size_t set_level(struct ctr_encoder *e, unsigned frame)
{
    int fast = e->level == 1;
    int level = fast && frame == FRAME_REGS ? -1 : e->level;
    size_t z = ZSTD_CCtx_setParameter(e->cctx, ZSTD_c_compressionLevel, level);
    if (!ZSTD_isError(z)) {
        z = ZSTD_CCtx_setParameter(e->cctx, ZSTD_c_hashLog, fast ? 13 : 0);
    }
    if (!ZSTD_isError(z)) {
        z = ZSTD_CCtx_setParameter(e->cctx, ZSTD_c_minMatch, fast ? 7 : 0);
    }
    return z;
}

/* Compresses e->raw into column i. */
static int compress(struct ctr_encoder *e, unsigned i, struct ctr_packed *out,
                    uint64_t *raw_bytes, struct ctr_diag *diag)
{
    struct packed_frame *f = &out->frame[i];
    f->dsize = (uint32_t)e->raw.n;
    f->z.n = 0;
    f->hash = 0;
    if (e->raw.n == 0) {
        return 0;
    }
    size_t bound = ZSTD_compressBound(e->raw.n);
    if (buf_room(&f->z, bound)) {
        return ctr_fail_nomem(diag);
    }
    size_t z = set_level(e, i);
    if (!ZSTD_isError(z)) {
        z = ZSTD_compress2(e->cctx, f->z.p, bound, e->raw.p, e->raw.n);
    }
    if (ZSTD_isError(z)) {
        return ctr_fail(diag, CTR_E_NOMEM, CTR_NO_OFF, "zstd", "%s",
                        ZSTD_getErrorName(z));
    }
    f->z.n = z;
    f->hash = XXH64(f->z.p, z, 0);
    *raw_bytes += e->raw.n;
    return 0;
}

/* WORDS: ids of the blocks, bitmap of the tokens, misses. */
static int pack_words(struct ctr_encoder *e, struct buf *ids, uint32_t *max_id)
{
    if (buf_room(&e->raw,
                 (size_t)e->nloc * 4 + e->ntok / 8 + 1 + (size_t)e->ntok_miss * 2)) {
        return -1;
    }
    ids->n = 0;
    if (buf_reserve(ids, e->nloc * sizeof(uint32_t))) {
        return -1;
    }
    uint8_t *p = e->raw.p;
    for (uint32_t i = 0; i < e->nloc; i++, p += 4) {
        uint32_t id = e->def[i]->id;
        *max_id = id > *max_id ? id : *max_id;
        put32(p, id);
        memcpy(ids->p + ids->n, &id, sizeof(id));
        ids->n += sizeof(id);
    }
    p += pack_bits(p, e->tok_hit, e->ntok);
    for (uint32_t i = 0; i < e->ntok_miss; i++) {
        put16(p + 2 * (size_t)i, (uint16_t)e->tok_miss[i]);
    }
    p += (size_t)e->ntok_miss * 2;
    e->raw.n = (size_t)(p - e->raw.p);
    return 0;
}

/*
 * ADDRS: bitmap of the accesses whose step was predicted; for the others, bitmap of
 * steps equal to that of the previous miss; then the remaining steps. Whether a step is
 * kept is a conditional add again.
 */
#define PACK_STEPS(T, ZIGZAG)                                                            \
    do {                                                                                 \
        const T *miss = (const T *)e->addr_miss;                                         \
        T last = 0;                                                                      \
        for (uint32_t i = 0; i < e->naddr_miss; i++) {                                   \
            unsigned again = miss[i] == last;                                            \
            last = miss[i];                                                              \
            same_bits[i] = (uint8_t)again;                                               \
            size_t len = put_varint_fast(p, ZIGZAG(last));                               \
            p += again ? 0 : len;                                                        \
        }                                                                                \
    } while (0)

static int pack_addrs(struct ctr_encoder *e)
{
    e->raw.n = 0;
    if (e->naddr == 0) {
        return 0;
    }
    size_t bits = ((size_t)e->naddr + 7) / 8;
    size_t same = ((size_t)e->naddr_miss + 7) / 8;
    if (buf_room(&e->raw, bits + same + (size_t)e->naddr_miss * VARINT_MAX + 16) ||
        buf_room(&e->same, (size_t)e->naddr_miss + 8)) {
        return -1;
    }
    pack_bits(e->raw.p, e->addr_hit, e->naddr);
    uint8_t *p = e->raw.p + bits + same;
    uint8_t *same_bits = e->same.p;
    if (e->addr_bytes == 4) {
        PACK_STEPS(uint32_t, zigzag32);
    } else {
        PACK_STEPS(uint64_t, zigzag64);
    }
    pack_bits(e->raw.p + bits, same_bits, e->naddr_miss);
    e->raw.n = (size_t)(p - e->raw.p);
    return 0;
}

/* EXTRAS: varint length of the first part, where and what, then the steps. */
static int pack_extras(struct ctr_encoder *e)
{
    e->raw.n = 0;
    if (e->nextra == 0) {
        return 0;
    }
    if (buf_room(&e->raw, VARINT_MAX + e->extra_meta.n + e->extra_delta.n)) {
        return -1;
    }
    e->raw.n = put_varint(e->raw.p, e->extra_meta.n);
    if (buf_append(&e->raw, e->extra_meta.p, e->extra_meta.n) ||
        buf_append(&e->raw, e->extra_delta.p, e->extra_delta.n)) {
        return -1;
    }
    return 0;
}

/*
 * Writes to *pp the bitmap of predicted pieces and the misses of the others, and
 * returns the size of the misses in bytes. Writes up to 8 bytes ahead.
 */
static size_t put_values(const struct value_out *o, uint8_t **pp)
{
    uint8_t *p = *pp;
    p += pack_bits(p, o->hit, o->nhit);
    const uint8_t *misses = p;
    for (uint32_t i = 0; i < o->nmiss; i++) {
        p += put_varint_fast(p, o->miss[i]);
    }
    *pp = p;
    return (size_t)(p - misses);
}

/* VALUES: number of pieces; hits; misses. */
static int pack_vals(struct ctr_encoder *e)
{
    const struct value_out *o = &e->vals;
    e->raw.n = 0;
    if (!e->val || o->nhit == 0) {
        return 0;
    }
    if (buf_room(&e->raw,
                 4 + (size_t)o->nhit / 8 + 1 + (size_t)o->nmiss * VARINT_MAX + 8)) {
        return -1;
    }
    uint8_t *p = e->raw.p;
    put32(p, o->nhit);
    p += 4;
    put_values(o, &p);
    e->raw.n = (size_t)(p - e->raw.p);
    return 0;
}

/* REGS: number of pieces, bytes of misses; hits; misses; extra changes. */
static int pack_regs(struct ctr_encoder *e)
{
    const struct value_out *o = &e->regvals;
    e->raw.n = 0;
    if (!e->reg || (o->nhit == 0 && e->nreg_extra == 0)) {
        return 0;
    }
    if (buf_room(&e->raw, 8 + (size_t)o->nhit / 8 + 1 + (size_t)o->nmiss * VARINT_MAX +
                              8 + e->reg_meta.n)) {
        return -1;
    }
    uint8_t *p = e->raw.p;
    put32(p, o->nhit);
    p += 8;
    put32(e->raw.p + 4, (uint32_t)put_values(o, &p));
    if (e->reg_meta.n) {
        memcpy(p, e->reg_meta.p, e->reg_meta.n);
    }
    e->raw.n = (size_t)(p - e->raw.p) + e->reg_meta.n;
    return 0;
}

static int pack_state(struct ctr_encoder *e)
{
    e->raw.n = 0;
    return e->state.n ? buf_append(&e->raw, e->state.p, e->state.n) : 0;
}

static int pack_events(struct ctr_encoder *e)
{
    return evenc_pack(&e->events, &e->raw);
}

int encode_pack(struct ctr_encoder *e, struct ctr_packed *out, struct ctr_diag *diag)
{
    uint64_t raw = 0;
    uint32_t max_id = 0;
    if (pack_words(e, &out->ids, &max_id)) {
        return ctr_fail_nomem(diag);
    }
    int err = compress(e, FRAME_WORDS, out, &raw, diag);
    if (err) {
        return err;
    }
    if (pack_addrs(e)) {
        return ctr_fail_nomem(diag);
    }
    err = compress(e, FRAME_ADDRS, out, &raw, diag);
    if (err) {
        return err;
    }
    for (unsigned i = FRAME_EXTRAS; i < CHUNK_FRAMES; i++) {
        static int (*const pack[])(struct ctr_encoder *) = {
            [FRAME_EXTRAS] = pack_extras, [FRAME_VALUES] = pack_vals,
            [FRAME_REGS] = pack_regs,     [FRAME_EVENTS] = pack_events,
            [FRAME_STATE] = pack_state,
        };
        if (pack[i](e)) {
            return ctr_fail_nomem(diag);
        }
        if (raw + e->raw.n > MAX_COLUMN || e->vals.nhit > MAX_PIECES) {
            return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "segments",
                            "more data than a chunk can hold");
        }
        err = compress(e, i, out, &raw, diag);
        if (err) {
            return err;
        }
    }
    encode_follow_end(e);
    if (encode_counts(e, &out->counts) || encode_pages(e, &out->pages)) {
        return ctr_fail_nomem(diag);
    }
    for (uint32_t i = 0; i < e->nloc; i++) {
        uint64_t n = FROM_SINCE(e->loc[i].from);
        e->loads += n * e->def[i]->nload;
        e->stores += n * e->def[i]->nstore;
        e->nregs += (uint32_t)n * e->def[i]->nreg;
    }
    out->flags = e->flags | e->events.flags | e->ahead.head;
    out->max_id = max_id;
    out->last = e->ahead.last == TOK_NONE ? 0 : e->def[e->ahead.last]->id;
    out->last_first = e->ahead.last == TOK_NONE ? 0 : e->ahead.first;
    out->next = e->ahead.head_pc;
    out->locals = e->nloc;
    out->tokens = e->ntok;
    out->token_miss = e->ntok_miss;
    out->addrs = e->naddr;
    out->addr_miss = e->naddr_miss;
    out->extras = e->nextra;
    out->regs = e->nregs;
    out->reg_extras = e->nreg_extra;
    out->events = e->events.count;
    out->info = (struct ctr_packed_info){
        .insns = e->insns,
        .loads = e->loads,
        .stores = e->stores,
        .runs = e->runs,
        .events = e->events.count,
        .raw_bytes = raw,
        .unsure = e->unsure,
        .dropped_faults = e->dropped_faults,
        .last_raw = e->last_raw,
    };
    for (unsigned i = 0; i < CHUNK_FRAMES; i++) {
        out->info.bytes += out->frame[i].z.n;
    }
    return 0;
}
