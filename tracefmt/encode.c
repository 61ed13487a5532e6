/* SPDX-License-Identifier: MIT */
/*
 * The encoder: from the columns that translated code wrote to those of the
 * file.  This is the bottleneck of a recording, hence its shape:
 *
 * encode_fast handles whole runs of blocks met before in the chunk (encode_data
 * where there is more than addresses).  encode_slow handles everything else (blocks
 * left early, resumed runs, the first run of a block) one run at a time, and checks
 * all there is to check.  encode_aux takes what is told beside the columns.
 *
 * Blocks get numbers local to the chunk, so that all state is dense however
 * many blocks the recording has.  Predictors start from nothing in each chunk.
 */
#include "encode.h"

#include <string.h>
#include "le.h"

/* -------------------------------------------------------------- new, free */

static void values_free(struct value_out *o)
{
    free(o->hit);
    free(o->miss);
}

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
    e->val = e->mem && (dict->events & CTR_EVENTS_VAL) != 0;
    e->reg = (dict->events & CTR_EVENTS_REG) != 0;
    e->data = e->val || e->reg;
    e->slots = e->mem || e->reg;
    e->map_base = 1;
    e->level = level;
    e->cctx = ZSTD_createCCtx();
    if (!e->cctx || pageset_init(&e->pages[0]) || pageset_init(&e->pages[1])) {
        ctr_encoder_free(e);
        return -CTR_E_NOMEM;
    }
    if (ZSTD_isError(ZSTD_CCtx_setParameter(e->cctx, ZSTD_c_checksumFlag, 1))) {
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
    free(e->units);
    free(e->piece_of);
    free(e->piece);
    values_free(&e->vals);
    values_free(&e->regvals);
    evenc_fini(&e->events);
    buf_free(&e->reg_meta);
    buf_free(&e->state);
    free(e->pending);
    free(e->tok_hit);
    free(e->tok_miss);
    free(e->follow);
    free(e->follower);
    free(e->addr_hit);
    free(e->addr_hits);
    free(e->addr_miss);
    free(e->cand);
    countmap_fini(&e->cuts);
    countmap_fini(&e->cut_falls);
    countmap_fini(&e->unknown);
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

/* Room for so many pieces of values, and none of them. */
static int values_begin(struct value_out *o, uint64_t pieces)
{
    if (pieces + 1 > o->cap) {
        o->cap = 0;
        if (fresh(&o->hit, pieces + 16, 1) || fresh(&o->miss, pieces + 2, VARINT_MAX)) {
            return -1;
        }
        o->cap = (uint32_t)pieces + 1;
    }
    o->nhit = 0;
    o->nmiss = 0;
    o->prev = o->prev2 = 0;
    return 0;
}

/* Arrays for so many words and units of data, and a clean state. */
static int begin_chunk(struct ctr_encoder *e, uint64_t words, uint64_t units)
{
    uint64_t addrs = units;
    /* A FAULT word can become two tokens, a cut tail adds two; a miss can
     * take three halfwords.  One more, as the arrays are written ahead. */
    uint32_t toks = (uint32_t)words * 2 + 8;
    if (toks > e->tok_cap) {
        e->tok_cap = 0;
        if (fresh(&e->tok_hit, toks + 8, 1) || fresh(&e->tok_miss, toks, 6) ||
            fresh(&e->follow, (size_t)toks * 3, sizeof(e->follow[0]))) {
            return -1;
        }
        e->tok_cap = toks;
    }
    if (addrs + 1 > e->addr_cap) {
        e->addr_cap = 0;
        if ((e->data ? fresh(&e->addr_hits, addrs + 8, 1)
                     : fresh(&e->addr_hit, addrs / 64 + 1, sizeof(e->addr_hit[0]))) ||
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
    e->ctx_since = 0;
    e->ahead = (struct ahead){.last = TOK_NONE, .undo = TOK_NONE};
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
    if (e->val) {
        if (values_begin(&e->vals, units + e->extra_bytes / 8)) {
            return -1;
        }
        memset(e->memory, 0, sizeof(e->memory));
    }
    if (e->reg) {
        if (values_begin(&e->regvals, units)) {
            return -1;
        }
        memset(e->regs, 0, sizeof(e->regs));
    }
    e->npiece = 0;
    e->nregs = 0;
    e->nreg_extra = 0;
    e->reg_run = 0;
    e->reg_meta.n = 0;
    e->state.n = 0;
    evenc_begin(&e->events);
    pageset_clear(&e->pages[0]);
    pageset_clear(&e->pages[1]);
    countmap_clear(&e->cuts);
    countmap_clear(&e->cut_falls);
    countmap_clear(&e->unknown);
    e->runs = 0;
    e->insns = e->loads = e->stores = 0;
    e->dropped_faults = 0;
    e->last_raw = 0;
    e->flags = 0;
    e->unsure = 0;
    return 0;
}

/* Room for the pieces of a block's slots; a place for them also if there are none. */
static int piece_room(struct ctr_encoder *e, const struct blockdef *def)
{
    uint32_t need = 0;
    for (unsigned i = 0; e->data && i < def->nslot; i++) {
        struct ctr_slot s;
        blockdef_slot(def, i, &s);
        need += value_pieces(s.size);
    }
    if (e->npiece + need > MAX_CHUNK_PIECES) {
        return -CTR_E_LIMIT;
    }
    if (e->npiece + need > e->piece_cap || !e->piece) {
        uint32_t cap = e->piece_cap * 2 + 1024 + need;
        if (grow(&e->piece, cap, sizeof(e->piece[0]))) {
            return -CTR_E_NOMEM;
        }
        e->piece_cap = cap;
    }
    return 0;
}

/* The slots of a new block into the arenas, where there is room for them. */
static void local_slots(struct ctr_encoder *e, struct local *b,
                        const struct blockdef *def)
{
    uint32_t sum = 0, most = 0;
    b->pieces = e->npiece;
    b->kinds = LOCAL_SINGLES | LOCAL_REGS;
    for (unsigned i = 0; i < def->nslot; i++) {
        uint32_t at = e->nslot++;
        struct ctr_slot *s = &e->slot[at];
        blockdef_slot(def, i, s);
        int valued = s->reg || (e->val && !s->novalue);
        uint32_t value = valued ? CTR_UNITS(s->size, e->addr_bytes) : 0;
        e->kind[at] = s->store;
        e->units[at] = (uint8_t)(value + !s->reg);
        e->piece_of[at] = e->npiece;
        if (value) {
            e->npiece += value_pieces_init(&e->piece[e->npiece], s, e->addr_bytes);
        }
        if (s->reg) {
            b->kinds &= PIECES_IN_LINE || s->size <= 8 ? LOCAL_REGS : 0;
        } else {
            b->kinds &= value && s->size <= 8 ? LOCAL_SINGLES : 0;
        }
        sum += e->units[at];
        most = e->units[at] > most ? e->units[at] : most;
    }
    if (sum > UINT16_MAX) {
        b->groups = 1;
    }
    b->units = (uint16_t)(b->groups ? most : sum);
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
    int err = piece_room(e, &d->def);
    if (err) {
        return err;
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
            grow(&e->follower, cap, sizeof(e->follower[0])) ||
            grow(&e->raw_of, cap, sizeof(e->raw_of[0]))) {
            return -CTR_E_NOMEM;
        }
        e->loc_cap = cap;
    }
    size_t pred_size = e->addr_bytes == 4 ? sizeof(struct pred32) : sizeof(struct pred64);
    if (e->nslot + d->def.nslot >= e->slot_cap) {
        uint32_t cap = e->slot_cap * 2 + 1024 + d->def.nslot;
        if (grow(&e->pred, cap, pred_size) || grow(&e->slot, cap, sizeof(e->slot[0])) ||
            grow(&e->kind, cap, sizeof(e->kind[0])) ||
            grow(&e->units, cap, sizeof(e->units[0])) ||
            grow(&e->piece_of, cap, sizeof(e->piece_of[0]))) {
            return -CTR_E_NOMEM;
        }
        e->slot_cap = cap;
    }
    uint32_t l = e->nloc++;
    e->map[raw] = e->map_base + l;
    e->def[l] = d;
    e->raw_of[l] = raw;
    e->follower[l] = (struct follower){.pc = d->pc, .end = d->end, .next = TOK_NONE};
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
    local_slots(e, &e->loc[l], &d->def);
    *out = l;
    return 0;
}

/* ------------------------------------------------------------------ chunk */

/*
 * The units of data that a segment's runs may use.  Of a killed process's there
 * are n_units at least, but its columns may end in zeroes: whole runs may take
 * what lies behind, as far as the words.
 */
static uint32_t units_there(const struct ctr_encoder *e, const struct ctr_segment *seg)
{
    if (!(seg->flags & CTR_SEGMENT_UNSURE)) {
        return seg->n_units;
    }
    uintptr_t from = (uintptr_t)(seg->words + seg->n_words);
    uintptr_t end = (uintptr_t)seg->data_end;
    size_t n = end > from ? (end - from) / e->addr_bytes : 0;
    return n > CTR_MAX_CHUNK_UNITS ? CTR_MAX_CHUNK_UNITS : (uint32_t)n;
}

static int segment_run(struct ctr_encoder *e, const struct ctr_segment *seg, int first,
                       struct ctr_diag *diag)
{
    struct ctr_segment own = *seg;
    struct walk w = {.seg = &own, .first = first};
    if (e->slots && seg->data_end) {
        w.sure = seg->n_units;
        w.have = units_there(e, seg);
    } else {
        own.data_end = e->addr_miss; /* anything that is not NULL */
    }
    seg = &own;
    for (;;) {
        int err = encode_between(e, &w, w.word, diag);
        if (err) {
            return err;
        }
        if (w.word >= seg->n_words) {
            break;
        }
        /* The run that ends the segment is a slow one. */
        uint32_t stop = encode_aux_stop(e, &w);
        if (stop > seg->n_words - 1) {
            stop = seg->n_words - 1;
        }
        uint32_t from = w.word;
        encode_fast(e, &w, stop);
        if (w.word > from && w.word == stop) {
            continue; /* what stands there may come between runs */
        }
        err = encode_slow(e, &w, diag);
        if (err) {
            return err;
        }
    }
    if (e->slots && w.unit != seg->n_units && !(seg->flags & CTR_SEGMENT_UNSURE)) {
        return ctr_fail(diag, CTR_E_CORRUPT, seg->n_words, "data",
                        "%u units belong to no block", seg->n_units - w.unit);
    }
    return 0;
}

/* An error in segment i: told with the place. */
static int in_segment(int err, unsigned i, struct ctr_diag *diag)
{
    if (diag && diag->off != CTR_NO_OFF) {
        diag->off |= (uint64_t)i << 32;
    }
    return err;
}

int ctr_encoder_run(struct ctr_encoder *e, const struct ctr_segment *segs,
                    unsigned n_segs, struct ctr_packed *out, struct ctr_diag *diag)
{
    uint64_t words = 0, units = 0, aux = 0;
    e->extra_bytes = 0;
    for (unsigned i = 0; i < n_segs; i++) {
        const struct ctr_segment *seg = &segs[i];
        words += seg->n_words;
        aux += seg->aux_bytes;
        if (e->slots && seg->n_units &&
            (!seg->data_end || (uintptr_t)seg->data_end % e->addr_bytes)) {
            return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "data", "not aligned");
        }
        units += e->slots && seg->data_end ? units_there(e, seg) : 0;
    }
    if (words > CTR_MAX_CHUNK_WORDS || units > CTR_MAX_CHUNK_UNITS ||
        aux > CTR_MAX_CHUNK_AUX) {
        return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "segments",
                        "more than a chunk can hold");
    }
    for (unsigned i = 0; i < n_segs; i++) {
        int err = encode_aux_check(e, &segs[i], diag);
        if (err) {
            return in_segment(err, i, diag);
        }
    }
    if (begin_chunk(e, words, units)) {
        return ctr_fail_nomem(diag);
    }
    for (unsigned i = 0; i < n_segs; i++) {
        int err = segment_run(e, &segs[i], i == 0, diag);
        if (err) {
            return in_segment(err, i, diag);
        }
    }
    out->start_ns = n_segs ? segs[0].start_ns : 0;
    out->end_ns = n_segs ? segs[n_segs - 1].end_ns : 0;
    return encode_pack(e, out, diag);
}
