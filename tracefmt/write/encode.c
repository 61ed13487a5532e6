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
    e->rec.dict = dict;
    e->rec.addr_bytes = addr_bytes;
    e->rec.mem = (dict->events & CTR_EVENTS_MEM) != 0;
    e->rec.val = e->rec.mem && (dict->events & CTR_EVENTS_VAL) != 0;
    e->rec.reg = (dict->events & CTR_EVENTS_REG) != 0;
    e->rec.phys = (dict->events & CTR_EVENTS_PHYS) != 0;
    e->rec.key = (dict->events & CTR_EVENTS_KEY) != 0;
    e->rec.data = e->rec.val || e->rec.reg;
    e->rec.slots = e->rec.mem || e->rec.reg;
    e->blocks.map_base = 1;
    e->limits.locals = FULL_LOCALS;
    e->limits.side = FULL_SIDE;
    e->pack.level = level;
    e->pack.cctx = ZSTD_createCCtx();
    if (!e->pack.cctx || pageset_init(&e->pages.set[0]) ||
        pageset_init(&e->pages.set[1]) || pageset_init(&e->pages.keys)) {
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
    ZSTD_freeCCtx(e->pack.cctx);
    pageset_fini(&e->pages.set[0]);
    pageset_fini(&e->pages.set[1]);
    pageset_fini(&e->pages.keys);
    free(e->blocks.map);
    free(e->blocks.loc);
    free(e->blocks.def);
    free(e->blocks.raw_of);
    free(e->preds.pred);
    free(e->preds.reach);
    free(e->preds.item);
    free(e->preds.piece);
    values_free(&e->vals.out);
    values_free(&e->regs.out);
    evenc_fini(&e->events);
    buf_free(&e->regs.meta);
    buf_free(&e->regs.state);
    buf_free(&e->regs.carry);
    free(e->run.pending);
    free(e->tok.hit);
    free(e->tok.miss);
    free(e->run.word);
    free(e->blocks.follower);
    free(e->addrs.batch);
    free(e->addrs.hit);
    free(e->addrs.miss);
    free(e->pages.cand);
    countmap_fini(&e->follow.cuts);
    countmap_fini(&e->follow.cut_falls);
    countmap_fini(&e->follow.unknown);
    buf_free(&e->extra.meta);
    buf_free(&e->extra.delta);
    buf_free(&e->phys.fills);
    buf_free(&e->pack.raw);
    buf_free(&e->pack.same);
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
    for (unsigned i = 0; i < CHUNK_PHYS_FRAMES; i++) {
        buf_free(&p->frame[i].z);
    }
    buf_free(&p->counts);
    buf_free(&p->pages);
    buf_free(&p->ids);
    buf_free(&p->fills);
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

static int tokens_begin(struct tokens *tok, uint32_t words)
{
    /* A FAULT word can become two tokens, a cut tail adds two; a miss can
     * take three halfwords.  One more, as the arrays are written ahead. */
    const uint32_t toks = words * 2 + 8;
    if (toks > tok->cap) {
        tok->cap = 0;
        if (fresh(&tok->hit, toks + 16, 1) ||
            fresh(&tok->miss, (size_t)toks * 3, sizeof(tok->miss[0]))) {
            return -1;
        }
        tok->cap = toks;
    }
    memset(tok->hit, 1, toks); /* take_predicted emits misses only */
    tok->n = tok->nmiss = 0;
    tok->start = (struct local){.next = {TOK_NONE, TOK_NONE}};
    tok->ctx_loc = TOK_NONE;
    tok->ctx_which = 0;
    tok->ctx_from = FROM_NONE;
    return 0;
}

static int addrs_begin(struct addr_column *a, uint64_t units, unsigned addr_bytes)
{
    if (units + 1 > a->cap) {
        a->cap = 0;
        /* derived slots of a run come on top of what has units */
        if (fresh(&a->hit, units + 16, 1) || fresh(&a->miss, units + 1, addr_bytes) ||
            fresh(&a->batch, units + BATCH + 2 * CTR_MAX_BLOCK_SLOTS,
                  sizeof(a->batch[0]))) {
            return -1;
        }
        a->cap = (uint32_t)units + 1;
    }
    a->batch_cap = BATCH;
    a->n = a->nmiss = 0;
    return 0;
}

static int run_begin(struct run_parts *run, uint32_t words, uint64_t units)
{
    if (words + 1 > run->word_cap) {
        run->word_cap = 0;
        if (fresh(&run->word, (size_t)words + 1, sizeof(run->word[0]))) {
            return -1;
        }
        run->word_cap = words + 1;
    }
    if (units + 1 > run->unit_cap) {
        run->unit_cap = 0;
        if (fresh(&run->pending, units + 2 * CTR_MAX_BLOCK_SLOTS,
                  sizeof(run->pending[0]))) {
            return -1;
        }
        run->unit_cap = (uint32_t)units + 1;
    }
    run->npending = 0;
    return 0;
}

static int pages_begin(struct touched *pages, uint64_t units)
{
    if (units + 1 > pages->cap) {
        pages->cap = 0;
        if (fresh(&pages->cand, units + 1, sizeof(pages->cand[0]))) {
            return -1;
        }
        pages->cap = (uint32_t)units + 1;
    }
    pages->ncand = 0;
    memset(pages->seen, 0, sizeof(pages->seen));
    pageset_clear(&pages->set[0]);
    pageset_clear(&pages->set[1]);
    pageset_clear(&pages->keys);
    return 0;
}

static void extra_begin(struct extra_column *x)
{
    if (x->n) {
        memset(x->pred, 0, sizeof(x->pred));
    }
    x->meta.n = x->delta.n = 0;
    x->n = x->run = 0;
}

/* All of these but the places, which encode_regs_begin sets. */
static int regs_begin(struct reg_column *regs, uint64_t units, int recorded)
{
    regs->n = regs->nextra = regs->run = 0;
    regs->meta.n = 0;
    return recorded ? values_begin(&regs->out, units) : 0;
}

static void follow_begin(struct follow *f)
{
    f->ahead = (struct ahead){.last = TOK_NONE, .undo = TOK_NONE};
    countmap_clear(&f->cuts);
    countmap_clear(&f->cut_falls);
    countmap_clear(&f->unknown);
}

/* Makes arrays for that many words and units of data, and a clean state. */
static int begin_chunk(struct ctr_encoder *e, uint64_t words, uint64_t units)
{
    if (tokens_begin(&e->tok, (uint32_t)words) ||
        addrs_begin(&e->addrs, units, e->rec.addr_bytes) ||
        run_begin(&e->run, (uint32_t)words, units) || pages_begin(&e->pages, units) ||
        regs_begin(&e->regs, units, e->rec.reg)) {
        return -1;
    }
    if (e->rec.val) {
        if (values_begin(&e->vals.out, units + e->extra.bytes / 8)) {
            return -1;
        }
        memset(e->vals.memory, 0, sizeof(e->vals.memory));
    }
    extra_begin(&e->extra);
    e->phys.fills.n = 0;
    evenc_begin(&e->events);
    follow_begin(&e->follow);
    e->sum = (struct summary){0};
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
    size_t n = end > from ? (end - from) / e->rec.addr_bytes : 0;
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
    w->side = seg->from_side;
    w->rest = seg->from_insn;
    if (e->rec.slots && seg->data_end) {
        w->sure = seg->n_units;
        w->have = units_there(e, seg);
    } else {
        own.data_end = e->addrs.miss; /* anything that is not NULL */
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
        uint32_t stop = encode_side_stop(&e->rec, w);
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
        if (e->limits.may_stop && encode_is_full(e)) {
            return 1;
        }
        ret = encode_slow(e, w, diag);
        if (ret) {
            return ret;
        }
    }
    if (e->rec.slots && w->unit != seg->n_units && !(seg->flags & CTR_SEGMENT_UNSURE)) {
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
    e->regs.state.n = 0;
    if (!e->rec.reg) {
        return 0;
    }
    const struct mempipe_side_place *p = encode_side_state(&w);
    if (ctr_segment_goes_on(seg)
            ? buf_append(&e->regs.state, e->regs.carry.p, e->regs.carry.n)
            : p && buf_append(&e->regs.state, p + 1, p->n)) {
        return ctr_fail_nomem(diag);
    }
    return encode_regs_begin(&e->regs, &e->rec, diag);
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
    uint64_t words = 0, units = 0, side = 0;
    e->extra.bytes = 0;
    for (unsigned i = 0; i < n_segs; i++) {
        const struct ctr_segment *seg = &segs[i];
        words += seg->n_words;
        side += seg->side_bytes;
        if (e->rec.slots && seg->n_units &&
            (!seg->data_end || (uintptr_t)seg->data_end % e->rec.addr_bytes)) {
            return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "data", "not aligned");
        }
        units += e->rec.slots && seg->data_end ? units_there(e, seg) : 0;
    }
    if (words > CTR_MAX_CHUNK_WORDS || units > CTR_MAX_CHUNK_UNITS ||
        side > CTR_MAX_CHUNK_SIDE) {
        return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "segments",
                        "more than a chunk can hold");
    }
    for (unsigned i = 0; i < n_segs; i++) {
        int err = encode_side_check(&e->rec, &segs[i], &e->extra.bytes, diag);
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
    e->limits.may_stop = some && (!e->rec.reg || e->regs.state.n);
    while (n < n_segs && !stopped && !(some && n && encode_is_full(e))) {
        *w = (struct segment_walk){0};
        stopped = segment_run(e, w, &segs[n], diag);
        if (stopped < 0) {
            return in_segment(stopped, n, diag);
        }
        n += !stopped;
    }
    if (stopped && e->rec.reg && encode_regs_end(&e->regs, &e->rec)) {
        return ctr_fail_nomem(diag);
    }
    *taken = n;
    out->start_ns = n_segs ? segs[0].start_ns : 0;
    out->end_ns = n + (unsigned)stopped ? segs[n + (unsigned)stopped - 1].end_ns : 0;
    if (n_segs && segs[0].flags & CTR_SEGMENT_FIRST && !ctr_segment_goes_on(&segs[0])) {
        e->sum.flags |= CHUNK_F_FIRST;
    }
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
        segs[*taken].from_side = w.side;
        segs[*taken].from_insn = w.rest;
        /* The rest was later than the events before it. */
        const uint64_t ns = e->events.count ? e->events.ctx.time : 0;
        if (ns > segs[*taken].start_ns && ns <= segs[*taken].end_ns) {
            segs[*taken].start_ns = ns;
        }
        ret = 0;
    }
    return ret;
}

const void *ctr_encoder_get_state(const struct ctr_encoder *e, size_t *bytes)
{
    *bytes = e->rec.reg ? e->regs.carry.n : 0;
    return *bytes ? e->regs.carry.p : NULL;
}

int ctr_encoder_set_state(struct ctr_encoder *e, const void *state, size_t bytes)
{
    const struct regtable *t = dict_regs(e->rec.dict);
    if (!e->rec.reg || !t || bytes != t->state_bytes) {
        return -CTR_E_CORRUPT;
    }
    e->regs.carry.n = 0;
    return buf_append(&e->regs.carry, state, bytes) ? -CTR_E_NOMEM : 0;
}

int ctr_encoder_run(struct ctr_encoder *e, const struct ctr_segment *segs,
                    unsigned n_segs, struct ctr_packed *out, struct ctr_diag *diag)
{
    struct segment_walk w;
    unsigned taken;
    return pack_segments(e, segs, n_segs, 0, &taken, &w, out, diag);
}
