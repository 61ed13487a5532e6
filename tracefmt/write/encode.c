/* SPDX-License-Identifier: MIT */
/*
 * The encoder: turns the columns that translated code wrote into those of the file. It
 * is the bottleneck of a recording, hence its shape:
 *
 * encode_fast handles whole runs of blocks; their data goes through encode_addr, or
 * through encode_data if there is more than addresses. encode_slow handles everything
 * else (blocks left early, resumed runs, what makes no sense) one run at a time, and
 * checks all there is to check. encode_side handles the side records.
 *
 * Predictors start empty in each chunk.
 */
#include "write/encode.h"

#include <string.h>
#include "base/le.h"

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
    e->full_locals = FULL_LOCALS;
    e->full_aux = FULL_AUX;
    e->level = level;
    e->cctx = ZSTD_createCCtx();
    if (!e->cctx || pageset_init(&e->pages[0]) || pageset_init(&e->pages[1])) {
        ctr_encoder_free(e);
        return -CTR_E_NOMEM;
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
    free(e->reach);
    free(e->item);
    free(e->piece);
    values_free(&e->vals);
    values_free(&e->regvals);
    evenc_fini(&e->events);
    buf_free(&e->reg_meta);
    buf_free(&e->state);
    buf_free(&e->carry);
    free(e->pending);
    free(e->tok_hit);
    free(e->tok_miss);
    free(e->run);
    free(e->follower);
    free(e->batch);
    free(e->addr_hit);
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
    buf_free(&p->ids);
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

/* Makes room for that many pieces of values, and empties it. */
static int values_begin(struct value_out *o, uint64_t pieces)
{
    if (pieces + 1 > o->cap) {
        o->cap = 0;
        if (fresh(&o->hit, pieces + 16, 1) ||
            fresh(&o->miss, pieces + 2, sizeof(o->miss[0]))) {
            return -1;
        }
        o->cap = (uint32_t)pieces + 1;
    }
    o->nhit = 0;
    o->nmiss = 0;
    o->prev = o->prev2 = 0;
    return 0;
}

/* Makes arrays for that many words and units of data, and a clean state. */
static int begin_chunk(struct ctr_encoder *e, uint64_t words, uint64_t units)
{
    /* A FAULT word can become two tokens, a cut tail adds two; a miss can
     * take three halfwords.  One more, as the arrays are written ahead. */
    uint32_t toks = (uint32_t)words * 2 + 8;
    if (toks > e->tok_cap) {
        e->tok_cap = 0;
        if (fresh(&e->tok_hit, toks + 16, 1) ||
            fresh(&e->tok_miss, (size_t)toks * 3, sizeof(e->tok_miss[0])) ||
            fresh(&e->run, (size_t)words + 1, sizeof(e->run[0]))) {
            return -1;
        }
        e->tok_cap = toks;
    }
    if (units + 1 > e->addr_cap) {
        e->addr_cap = 0;
        /* derived slots of a run come on top of what has units */
        if (fresh(&e->addr_hit, units + 16, 1) ||
            fresh(&e->addr_miss, units + 1, e->addr_bytes) ||
            fresh(&e->cand, units + 1, sizeof(e->cand[0])) ||
            fresh(&e->pending, units + 2 * CTR_MAX_BLOCK_SLOTS, sizeof(e->pending[0])) ||
            fresh(&e->batch, units + BATCH + 2 * CTR_MAX_BLOCK_SLOTS,
                  sizeof(e->batch[0]))) {
            return -1;
        }
        e->addr_cap = (uint32_t)units + 1;
    }
    if (!e->slots) {
        memset(e->tok_hit, 1, toks); /* take_predicted emits misses only */
    }
    memset(e->seen, 0, sizeof(e->seen));
    e->start = (struct local){.next = {TOK_NONE, TOK_NONE}};
    e->ctx_loc = TOK_NONE;
    e->ctx_which = 0;
    e->ctx_from = FROM_NONE;
    e->batch_cap = BATCH;
    e->ahead = (struct ahead){.last = TOK_NONE, .undo = TOK_NONE};
    e->ntok = e->ntok_miss = 0;
    e->naddr = e->naddr_miss = e->ncand = e->npending = 0;
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
    }
    e->nregs = 0;
    e->nreg_extra = 0;
    e->reg_run = 0;
    e->reg_meta.n = 0;
    e->aux_taken = 0;
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
    return encode_local_begin(e);
}

/* ------------------------------------------------------------------ chunk */

/*
 * The units of data that a segment's runs may use. A killed process has at least
 * n_units, but its columns may end in zeros: whole runs may use what comes after, up to
 * the words.
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

/* Returns 1 if it stopped before the end, at w; 0; or an error. */
static int segment_run(struct ctr_encoder *e, struct segment_walk *w,
                       const struct ctr_segment *seg, struct ctr_diag *diag)
{
    struct ctr_segment own = *seg;
    w->seg = &own;
    w->word = w->passed = seg->from_word;
    w->unit = seg->from_unit;
    w->aux = seg->from_aux;
    w->rest = seg->from_insn;
    if (e->slots && seg->data_end) {
        w->sure = seg->n_units;
        w->have = units_there(e, seg);
    } else {
        own.data_end = e->addr_miss; /* anything that is not NULL */
    }
    seg = &own;
    for (;;) {
        int ret = encode_between(e, w, w->word, diag);
        if (ret) {
            return ret;
        }
        if (w->word >= seg->n_words) {
            break;
        }
        /* The run that ends the segment is a slow one. */
        uint32_t stop = encode_aux_stop(e, w);
        if (stop > seg->n_words - 1) {
            stop = seg->n_words - 1;
        }
        uint32_t from = w->word;
        if (!w->rest) {
            encode_fast(e, w, stop);
        }
        if (w->word > from && w->word == stop) {
            continue; /* a record here may belong between runs */
        }
        if (e->may_stop && encode_is_full(e)) {
            return 1;
        }
        ret = encode_slow(e, w, diag);
        if (ret) {
            return ret;
        }
    }
    if (e->slots && w->unit != seg->n_units && !(seg->flags & CTR_SEGMENT_UNSURE)) {
        return ctr_fail(diag, CTR_E_CORRUPT, seg->n_words, "data",
                        "%u units belong to no block", seg->n_units - w->unit);
    }
    return 0;
}

/* An error in segment i: adds the place. */
static int in_segment(int err, unsigned i, struct ctr_diag *diag)
{
    if (diag && diag->off != CTR_NO_OFF) {
        diag->off |= (uint64_t)i << 32;
    }
    return err;
}

/*
 * The state at the beginning of the chunk: from its first segment, or from where that
 * continues.
 */
static int begin_state(struct ctr_encoder *e, const struct ctr_segment *seg,
                       struct ctr_diag *diag)
{
    struct segment_walk w = {.seg = seg};
    e->state.n = 0;
    if (!e->reg) {
        return 0;
    }
    const struct mempipe_side_place *p = encode_aux_state(&w);
    if (ctr_segment_goes_on(seg) ? buf_append(&e->state, e->carry.p, e->carry.n)
                                 : p && buf_append(&e->state, p + 1, p->n)) {
        return ctr_fail_nomem(diag);
    }
    return encode_regs_begin(e, diag);
}

/*
 * Packs segments; with `some', as many as should be in one chunk. Returns 1 if it
 * stopped within segment number *taken, at w; 0; or an error.
 */
static int pack_segments(struct ctr_encoder *e, const struct ctr_segment *segs,
                         unsigned n_segs, int some, unsigned *taken,
                         struct segment_walk *w, struct ctr_packed *out,
                         struct ctr_diag *diag)
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
    int err = n_segs ? begin_state(e, segs, diag) : 0;
    if (err) {
        return err;
    }
    unsigned n = 0;
    int stopped = 0;
    e->may_stop = some && (!e->reg || e->state.n);
    while (n < n_segs && !stopped && !(some && n && encode_is_full(e))) {
        *w = (struct segment_walk){0};
        stopped = segment_run(e, w, &segs[n], diag);
        if (stopped < 0) {
            return in_segment(stopped, n, diag);
        }
        n += !stopped;
    }
    if (stopped && e->reg && encode_regs_end(e)) {
        return ctr_fail_nomem(diag);
    }
    *taken = n;
    out->start_ns = n_segs ? segs[0].start_ns : 0;
    out->end_ns = n + (unsigned)stopped ? segs[n + (unsigned)stopped - 1].end_ns : 0;
    err = encode_pack(e, out, diag);
    return err ? err : stopped;
}

int ctr_encoder_run_some(struct ctr_encoder *e, struct ctr_segment *segs, unsigned n_segs,
                         unsigned *taken, struct ctr_packed *out, struct ctr_diag *diag)
{
    struct segment_walk w;
    int ret = pack_segments(e, segs, n_segs, 1, taken, &w, out, diag);
    if (ret == 1) {
        segs[*taken].from_word = w.word;
        segs[*taken].from_unit = w.unit;
        segs[*taken].from_aux = w.aux;
        segs[*taken].from_insn = w.rest;
        ret = 0;
    }
    return ret;
}

const void *ctr_encoder_get_state(const struct ctr_encoder *e, size_t *bytes)
{
    *bytes = e->reg ? e->carry.n : 0;
    return *bytes ? e->carry.p : NULL;
}

int ctr_encoder_set_state(struct ctr_encoder *e, const void *state, size_t bytes)
{
    const struct regtable *t = dict_regs(e->dict);
    if (!e->reg || !t || bytes != t->state_bytes) {
        return -CTR_E_CORRUPT;
    }
    e->carry.n = 0;
    return buf_append(&e->carry, state, bytes) ? -CTR_E_NOMEM : 0;
}

int ctr_encoder_run(struct ctr_encoder *e, const struct ctr_segment *segs,
                    unsigned n_segs, struct ctr_packed *out, struct ctr_diag *diag)
{
    struct segment_walk w;
    unsigned taken;
    return pack_segments(e, segs, n_segs, 0, &taken, &w, out, diag);
}
