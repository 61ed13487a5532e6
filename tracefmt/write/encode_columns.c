/* SPDX-License-Identifier: MIT */
/*
 * Turns the encoder's arrays into the columns of the file: bytes of 0 and 1 into
 * bitmaps, steps into varints, then zstd.
 */
#include "write/encode.h"

#include <string.h>
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

#define EVENTS_LEVEL 3

/*
 * Level 1 with a table that fits into the nearest cache, and without matches too short
 * to pay, is 17 % faster, and its output 2 % larger. What prediction leaves of register
 * values is large and nearly random: a lower level than the usual lowest packs it
 * nearly as well.  Events are few bytes, and key frames among them full of pointers, whose
 * matches are short.
 */
static size_t set_level(struct packer *pack, unsigned frame)
{
    int fast = pack->level == 1 && frame != FRAME_EVENTS;
    int level = fast && frame == FRAME_REGS ? -1 : pack->level;
    level = frame == FRAME_EVENTS && level < EVENTS_LEVEL ? EVENTS_LEVEL : level;
    size_t z = ZSTD_CCtx_setParameter(pack->cctx, ZSTD_c_compressionLevel, level);
    if (!ZSTD_isError(z)) {
        z = ZSTD_CCtx_setParameter(pack->cctx, ZSTD_c_hashLog, fast ? 13 : 0);
    }
    if (!ZSTD_isError(z)) {
        z = ZSTD_CCtx_setParameter(pack->cctx, ZSTD_c_minMatch, fast ? 7 : 0);
    }
    return z;
}

/* Compresses `raw' into column i. */
static int compress(struct packer *pack, unsigned i, struct ctr_packed *out,
                    uint64_t *raw_bytes, struct ctr_diag *diag)
{
    const size_t z = pack->raw.n ? set_level(pack, i) : 0;
    if (ZSTD_isError(z)) {
        return ctr_fail(diag, CTR_E_NOMEM, CTR_NO_OFF, "zstd", "%s",
                        ZSTD_getErrorName(z));
    }
    *raw_bytes += pack->raw.n;
    return packed_frame_compress(&out->frame[i], pack->cctx, &pack->raw, diag);
}

/* WORDS: ids of the blocks, bitmap of the tokens, misses. */
static int pack_words(struct ctr_encoder *e, struct buf *ids, uint32_t *max_id)
{
    if (buf_room(&e->pack.raw,
                 (size_t)e->blocks.n * 4 + e->tok.n / 8 + 1 + (size_t)e->tok.nmiss * 2)) {
        return -1;
    }
    ids->n = 0;
    if (buf_reserve(ids, e->blocks.n * sizeof(uint32_t))) {
        return -1;
    }
    uint8_t *p = e->pack.raw.p;
    for (uint32_t i = 0; i < e->blocks.n; i++, p += 4) {
        uint32_t id = e->blocks.def[i]->id;
        *max_id = id > *max_id ? id : *max_id;
        put32(p, id);
        memcpy(ids->p + ids->n, &id, sizeof(id));
        ids->n += sizeof(id);
    }
    p += pack_bits(p, e->tok.hit, e->tok.n);
    for (uint32_t i = 0; i < e->tok.nmiss; i++) {
        put16(p + 2 * (size_t)i, (uint16_t)e->tok.miss[i]);
    }
    p += (size_t)e->tok.nmiss * 2;
    e->pack.raw.n = (size_t)(p - e->pack.raw.p);
    return 0;
}

/*
 * ADDRS: bitmap of the accesses whose step was predicted; for the others, bitmap of
 * steps equal to that of the previous miss; then the remaining steps. Whether a step is
 * kept is a conditional add again.
 */
#define PACK_STEPS(T, ZIGZAG)                                                            \
    do {                                                                                 \
        const T *miss = (const T *)e->addrs.miss;                                        \
        T last = 0;                                                                      \
        for (uint32_t i = 0; i < e->addrs.nmiss; i++) {                                  \
            unsigned again = miss[i] == last;                                            \
            last = miss[i];                                                              \
            same_bits[i] = (uint8_t)again;                                               \
            size_t len = put_varint_fast(p, ZIGZAG(last));                               \
            p += again ? 0 : len;                                                        \
        }                                                                                \
    } while (0)

static int pack_addrs(struct ctr_encoder *e)
{
    e->pack.raw.n = 0;
    if (e->addrs.n == 0) {
        return 0;
    }
    size_t bits = ((size_t)e->addrs.n + 7) / 8;
    size_t same = ((size_t)e->addrs.nmiss + 7) / 8;
    if (buf_room(&e->pack.raw, bits + same + (size_t)e->addrs.nmiss * VARINT_MAX + 16) ||
        buf_room(&e->pack.same, (size_t)e->addrs.nmiss + 8)) {
        return -1;
    }
    pack_bits(e->pack.raw.p, e->addrs.hit, e->addrs.n);
    uint8_t *p = e->pack.raw.p + bits + same;
    uint8_t *same_bits = e->pack.same.p;
    if (e->rec.addr_bytes == 4) {
        PACK_STEPS(uint32_t, zigzag32);
    } else {
        PACK_STEPS(uint64_t, zigzag64);
    }
    pack_bits(e->pack.raw.p + bits, same_bits, e->addrs.nmiss);
    e->pack.raw.n = (size_t)(p - e->pack.raw.p);
    return 0;
}

/* EXTRAS: varint length of the first part, where and what, then the steps. */
static int pack_extras(struct ctr_encoder *e)
{
    e->pack.raw.n = 0;
    if (e->extra.n == 0) {
        return 0;
    }
    if (buf_room(&e->pack.raw, VARINT_MAX + e->extra.meta.n + e->extra.delta.n)) {
        return -1;
    }
    e->pack.raw.n = put_varint(e->pack.raw.p, e->extra.meta.n);
    if (buf_append(&e->pack.raw, e->extra.meta.p, e->extra.meta.n) ||
        buf_append(&e->pack.raw, e->extra.delta.p, e->extra.delta.n)) {
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
    const struct value_out *o = &e->vals.out;
    e->pack.raw.n = 0;
    if (!e->rec.val || o->nhit == 0) {
        return 0;
    }
    if (buf_room(&e->pack.raw,
                 4 + (size_t)o->nhit / 8 + 1 + (size_t)o->nmiss * VARINT_MAX + 8)) {
        return -1;
    }
    uint8_t *p = e->pack.raw.p;
    put32(p, o->nhit);
    p += 4;
    put_values(o, &p);
    e->pack.raw.n = (size_t)(p - e->pack.raw.p);
    return 0;
}

/* REGS: number of pieces, bytes of misses; hits; misses; extra changes. */
static int pack_regs(struct ctr_encoder *e)
{
    const struct value_out *o = &e->regs.out;
    e->pack.raw.n = 0;
    if (!e->rec.reg || (o->nhit == 0 && e->regs.nextra == 0)) {
        return 0;
    }
    if (buf_room(&e->pack.raw, 8 + (size_t)o->nhit / 8 + 1 +
                                   (size_t)o->nmiss * VARINT_MAX + 8 + e->regs.meta.n)) {
        return -1;
    }
    uint8_t *p = e->pack.raw.p;
    put32(p, o->nhit);
    p += 8;
    put32(e->pack.raw.p + 4, (uint32_t)put_values(o, &p));
    if (e->regs.meta.n) {
        memcpy(p, e->regs.meta.p, e->regs.meta.n);
    }
    e->pack.raw.n = (size_t)(p - e->pack.raw.p) + e->regs.meta.n;
    return 0;
}

static int pack_state(struct ctr_encoder *e)
{
    e->pack.raw.n = 0;
    return e->regs.state.n ? buf_append(&e->pack.raw, e->regs.state.p, e->regs.state.n)
                           : 0;
}

static int pack_events(struct ctr_encoder *e)
{
    return evenc_pack(&e->events, &e->pack.raw);
}

int encode_pack(struct ctr_encoder *e, struct ctr_packed *out, struct ctr_diag *diag)
{
    uint64_t raw = 0;
    uint32_t max_id = 0;
    if (pack_words(e, &out->ids, &max_id)) {
        return ctr_fail_nomem(diag);
    }
    int err = compress(&e->pack, FRAME_WORDS, out, &raw, diag);
    if (err) {
        return err;
    }
    if (pack_addrs(e)) {
        return ctr_fail_nomem(diag);
    }
    err = compress(&e->pack, FRAME_ADDRS, out, &raw, diag);
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
        if (raw + e->pack.raw.n > MAX_COLUMN || e->vals.out.nhit > MAX_PIECES) {
            return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "segments",
                            "more data than a chunk can hold");
        }
        err = compress(&e->pack, i, out, &raw, diag);
        if (err) {
            return err;
        }
    }
    encode_follow_end(e);
    if (encode_counts(&e->blocks, &e->follow, &out->counts) ||
        encode_pages(e, &out->pages)) {
        return ctr_fail_nomem(diag);
    }
    for (uint32_t i = 0; i < e->blocks.n; i++) {
        uint64_t n = FROM_SINCE(e->blocks.loc[i].from);
        e->sum.loads += n * e->blocks.def[i]->nload;
        e->sum.stores += n * e->blocks.def[i]->nstore;
        e->regs.n += (uint32_t)n * e->blocks.def[i]->nreg;
    }
    out->flags = e->sum.flags | e->events.flags | e->follow.ahead.head;
    out->max_id = max_id;
    out->last =
        e->follow.ahead.last == TOK_NONE ? 0 : e->blocks.def[e->follow.ahead.last]->id;
    out->last_first = e->follow.ahead.last == TOK_NONE ? 0 : e->follow.ahead.first;
    out->next = e->follow.ahead.head_pc;
    out->locals = e->blocks.n;
    out->tokens = e->tok.n;
    out->token_miss = e->tok.nmiss;
    out->addrs = e->addrs.n;
    out->addr_miss = e->addrs.nmiss;
    out->extras = e->extra.n;
    out->regs = e->regs.n;
    out->reg_extras = e->regs.nextra;
    out->events = e->events.count;
    out->frame[FRAME_PAGES].z.n = 0;
    out->frame[FRAME_PAGES].dsize = 0;
    out->frame[FRAME_PAGES].hash = 0;
    out->page_bits = e->phys.bits;
    out->fills.n = 0;
    if (buf_append(&out->fills, e->phys.fills.p, e->phys.fills.n)) {
        return ctr_fail_nomem(diag);
    }
    out->info = (struct ctr_packed_info){
        .insns = e->sum.insns,
        .loads = e->sum.loads,
        .stores = e->sum.stores,
        .runs = e->sum.runs,
        .events = e->events.count,
        .raw_bytes = raw,
        .unsure = e->sum.unsure,
        .dropped_faults = e->sum.dropped_faults,
        .last_raw = e->sum.last_raw,
    };
    for (unsigned i = 0; i < CHUNK_FRAMES; i++) {
        out->info.bytes += out->frame[i].z.n;
    }
    if (e->sum.key_bytes) {
        const struct packed_frame *f = &out->frame[FRAME_EVENTS];
        out->info.key_bytes = (uint32_t)((uint64_t)f->z.n * e->sum.key_bytes / f->dsize);
    }
    return 0;
}
