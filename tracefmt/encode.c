/* SPDX-License-Identifier: MIT */
/*
 * The encoder: from the columns that translated code wrote to those of the
 * file.  This is the bottleneck of a recording, hence its shape:
 *
 * encode_fast handles whole runs of blocks met before in the chunk.  encode_slow
 * handles everything else (blocks left early, resumed runs, extra accesses, the
 * first run of a block) one run at a time, and checks all there is to check.
 *
 * Blocks get numbers local to the chunk, so that all state is dense however
 * many blocks the recording has.  Predictors start from nothing in each chunk.
 */
#include "encode.h"

#include <string.h>

/* -------------------------------------------------------------- new, free */

int ctr_encoder_new(struct ctr_encoder **out, const struct ctr_dict *dict,
                    unsigned addr_bytes, int level)
{
    *out = NULL;
    if (addr_bytes != 4 && addr_bytes != 8) {
        return -CTR_E_INVAL;
    }
    struct ctr_encoder *e = calloc(1, sizeof(*e));
    if (!e) {
        return -CTR_E_NOMEM;
    }
    e->dict = dict;
    e->addr_bytes = addr_bytes;
    e->mem = (dict->events & CTR_EVENTS_MEM) != 0;
    e->map_base = 1;
    e->cctx = ZSTD_createCCtx();
    if (!e->cctx || pageset_init(&e->pages[0]) || pageset_init(&e->pages[1])) {
        ctr_encoder_free(e);
        return -CTR_E_NOMEM;
    }
    if (ZSTD_isError(ZSTD_CCtx_setParameter(e->cctx, ZSTD_c_compressionLevel, level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(e->cctx, ZSTD_c_checksumFlag, 1))) {
        ctr_encoder_free(e);
        return -CTR_E_INVAL;
    }
    *out = e;
    return 0;
}

void ctr_encoder_free(struct ctr_encoder *e)
{
    if (!e) {
        return;
    }
    ZSTD_freeCCtx(e->cctx);
    pageset_fini(&e->pages[0]);
    pageset_fini(&e->pages[1]);
    free(e->map);
    free(e->loc);
    free(e->def);
    free(e->raw_of);
    free(e->pred);
    free(e->slot);
    free(e->kind);
    free(e->pending);
    free(e->tok_hit);
    free(e->tok_miss);
    free(e->addr_hit);
    free(e->addr_miss);
    free(e->cand);
    countmap_fini(&e->cuts);
    buf_free(&e->extra_meta);
    buf_free(&e->extra_delta);
    buf_free(&e->raw);
    buf_free(&e->same);
    free(e);
}

int ctr_packed_new(struct ctr_packed **out)
{
    *out = calloc(1, sizeof(**out));
    return *out ? 0 : -CTR_E_NOMEM;
}

void ctr_packed_free(struct ctr_packed *p)
{
    if (!p) {
        return;
    }
    for (unsigned i = 0; i < CHUNK_FRAMES; i++) {
        buf_free(&p->frame[i].z);
    }
    buf_free(&p->counts);
    buf_free(&p->pages);
    free(p);
}

void ctr_packed_info(const struct ctr_packed *p, struct ctr_packed_info *out)
{
    *out = p->info;
}

/* ---------------------------------------------------------------- scratch */

/* Replaces *p by an array of n elements, contents lost. */
static int fresh(void *p, size_t n, size_t size)
{
    void *q = malloc(n * size);
    if (!q) {
        return -1;
    }
    free(*(void **)p);
    memcpy(p, &q, sizeof(q));
    return 0;
}

static int grow(void *p, size_t n, size_t size)
{
    void *q;
    memcpy(&q, p, sizeof(q));
    q = realloc(q, n * size);
    if (!q) {
        return -1;
    }
    memcpy(p, &q, sizeof(q));
    return 0;
}

/* Arrays for so many words and addresses, and a clean state. */
static int begin_chunk(struct ctr_encoder *e, uint64_t words, uint64_t addrs)
{
    /* A FAULT word can become two tokens, a cut tail adds two; a miss can
     * take three halfwords.  One more, as the arrays are written ahead. */
    uint32_t toks = (uint32_t)words * 2 + 8;
    if (toks > e->tok_cap) {
        e->tok_cap = 0;
        if (fresh(&e->tok_hit, toks + 8, 1) || fresh(&e->tok_miss, toks, 6)) {
            return -1;
        }
        e->tok_cap = toks;
    }
    if (addrs + 1 > e->addr_cap) {
        e->addr_cap = 0;
        if (fresh(&e->addr_hit, addrs / 64 + 1, sizeof(e->addr_hit[0])) ||
            fresh(&e->addr_miss, addrs + 1, e->addr_bytes) ||
            fresh(&e->cand, addrs + 1, sizeof(e->cand[0])) ||
            fresh(&e->pending, addrs + 1, sizeof(e->pending[0]))) {
            return -1;
        }
        e->addr_cap = (uint32_t)addrs + 1;
    }
    /* The local ids of the last chunk are forgotten by moving the base. */
    if (e->map_base > UINT32_MAX - 2 * (e->nloc + MAX_LOCALS + 1)) {
        memset(e->map, 0, e->map_cap * sizeof(e->map[0]));
        e->map_base = 1;
    } else {
        e->map_base += e->nloc;
    }
    e->nloc = 0;
    e->start = (struct local){.next = {TOK_NONE, TOK_NONE}};
    e->ctx_loc = TOK_NONE;
    e->ctx_which = 0;
    e->nslot = 0;
    e->ntok = e->ntok_miss = 0;
    e->naddr_hit = e->naddr_miss = e->ncand = e->npending = 0;
    e->addr_bits = ADDR_BITS_EMPTY;
    if (e->nextra) {
        memset(e->extra_pred, 0, sizeof(e->extra_pred));
    }
    e->extra_meta.n = e->extra_delta.n = 0;
    e->nextra = 0;
    e->extra_run = 0;
    pageset_clear(&e->pages[0]);
    pageset_clear(&e->pages[1]);
    countmap_clear(&e->cuts);
    e->runs = 0;
    e->insns = e->loads = e->stores = 0;
    e->dropped_faults = 0;
    e->last_raw = 0;
    e->flags = 0;
    e->unsure = 0;
    return 0;
}

int encode_local(struct ctr_encoder *e, uint32_t raw, uint32_t *out)
{
    if (raw < e->map_cap && e->map[raw] - e->map_base < e->nloc) {
        *out = e->map[raw] - e->map_base;
        return 0;
    }
    const struct dict_entry *d = dict_raw(e->dict, raw);
    if (!d) {
        return -CTR_E_CORRUPT;
    }
    if (e->nloc >= MAX_LOCALS || e->nslot + d->def.nslot > MAX_CHUNK_SLOTS) {
        return -CTR_E_LIMIT;
    }
    if (raw >= e->map_cap) {
        uint32_t cap = raw + raw / 2 + 1024;
        if (grow(&e->map, cap, sizeof(e->map[0]))) {
            return -CTR_E_NOMEM;
        }
        memset(e->map + e->map_cap, 0, (size_t)(cap - e->map_cap) * sizeof(e->map[0]));
        e->map_cap = cap;
    }
    if (e->nloc == e->loc_cap) {
        uint32_t cap = e->loc_cap * 2 + 512;
        if (grow(&e->loc, cap, sizeof(e->loc[0])) ||
            grow(&e->def, cap, sizeof(e->def[0])) ||
            grow(&e->raw_of, cap, sizeof(e->raw_of[0]))) {
            return -CTR_E_NOMEM;
        }
        e->loc_cap = cap;
    }
    size_t pred_size = e->addr_bytes == 4 ? sizeof(struct pred32) : sizeof(struct pred64);
    if (e->nslot + d->def.nslot >= e->slot_cap) {
        uint32_t cap = e->slot_cap * 2 + 1024 + d->def.nslot;
        if (grow(&e->pred, cap, pred_size) || grow(&e->slot, cap, sizeof(e->slot[0])) ||
            grow(&e->kind, cap, sizeof(e->kind[0]))) {
            return -CTR_E_NOMEM;
        }
        e->slot_cap = cap;
    }
    uint32_t l = e->nloc++;
    e->map[raw] = e->map_base + l;
    e->def[l] = d;
    e->raw_of[l] = raw;
    e->loc[l] = (struct local){
        .next = {TOK_NONE, TOK_NONE},
        .base = e->nslot,
        .nslot = d->def.nslot,
        .ninsn = d->def.ninsn,
        .groups = d->has_groups,
    };
    if (d->def.nslot) {
        memset((uint8_t *)e->pred + e->nslot * pred_size, 0, d->def.nslot * pred_size);
    }
    for (unsigned i = 0; i < d->def.nslot; i++) {
        blockdef_slot(&d->def, i, &e->slot[e->nslot + i]);
        e->kind[e->nslot + i] = e->slot[e->nslot + i].store;
    }
    e->nslot += d->def.nslot;
    *out = l;
    return 0;
}

/* ------------------------------------------------------------------ chunk */

static int segment_run(struct ctr_encoder *e, const struct ctr_segment *seg,
                       struct ctr_diag *diag)
{
    struct ctr_segment own = *seg;
    struct walk w = {.seg = &own};
    if (e->mem && seg->n_addrs &&
        (!seg->addrs_end || (uintptr_t)seg->addrs_end % e->addr_bytes)) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "addrs", "not aligned");
    }
    if (!e->mem || seg->n_addrs == 0) {
        own.n_addrs = 0;
        own.addrs_end = e->addr_miss; /* anything that is not NULL */
    }
    seg = &own;
    while (w.word < seg->n_words) {
        /* A run that has extra accesses, or ends the segment, is a slow one. */
        uint32_t stop = seg->n_words - 1;
        if (e->mem && w.extra < seg->n_extras) {
            uint32_t at = seg->extras[w.extra].words;
            if (at == 0) {
                return encode_bad_word(&w, 0, diag,
                                       "extra access before the first block");
            }
            stop = at - 1 < stop ? at - 1 : stop;
        }
        encode_fast(e, &w, stop);
        int err = encode_slow(e, &w, diag);
        if (err) {
            return err;
        }
    }
    if (e->mem && w.addr != seg->n_addrs && !(seg->flags & CTR_SEGMENT_UNSURE)) {
        return ctr_fail(diag, CTR_E_CORRUPT, seg->n_words, "addrs",
                        "%u addresses belong to no block", seg->n_addrs - w.addr);
    }
    if (e->mem && w.extra != seg->n_extras) {
        return ctr_fail(diag, CTR_E_CORRUPT, seg->n_words, "extras",
                        "%u extra accesses belong to no block", seg->n_extras - w.extra);
    }
    return 0;
}

int ctr_encoder_run(struct ctr_encoder *e, const struct ctr_segment *segs,
                    unsigned n_segs, struct ctr_packed *out, struct ctr_diag *diag)
{
    uint64_t words = 0, addrs = 0, extras = 0;
    for (unsigned i = 0; i < n_segs; i++) {
        words += segs[i].n_words;
        addrs += e->mem ? segs[i].n_addrs : 0;
        extras += segs[i].n_extras;
    }
    if (words > CTR_MAX_CHUNK_WORDS || addrs > CTR_MAX_CHUNK_ADDRS ||
        extras > CTR_MAX_CHUNK_EXTRAS) {
        return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "segments",
                        "more than a chunk can hold");
    }
    if (begin_chunk(e, words, addrs)) {
        return ctr_fail_nomem(diag);
    }
    for (unsigned i = 0; i < n_segs; i++) {
        int err = segment_run(e, &segs[i], diag);
        if (err) {
            if (diag && diag->off != CTR_NO_OFF) {
                diag->off |= (uint64_t)i << 32;
            }
            return err;
        }
    }
    out->start_ns = n_segs ? segs[0].start_ns : 0;
    out->end_ns = n_segs ? segs[n_segs - 1].end_ns : 0;
    return encode_pack(e, out, diag);
}
