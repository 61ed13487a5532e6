/* SPDX-License-Identifier: MIT */
/*
 * The hot loop over the words of a recording: whole runs of blocks, as nearly all are.
 *
 * Where blocks are poorly predicted it avoids branches that depend on data where a store
 * and a conditional add suffice: whether a prediction was right becomes a byte in an array,
 * and the right value is always stored but only kept after a miss. Where they are well
 * predicted a branch is better, which skips all that, see take_predicted. encode_pack turns
 * these arrays into bitmaps and varints later. For the data this loop only notes whose it
 * is; encode_addr.c or encode_data.c then encodes it.
 */
#include "write/encode.h"

/* What is in `batch' of struct addr_column. */
struct batch {
    uint32_t n;
    uint32_t units; /* units that these take */
};

/* Words of the fast path, from the encoder and back. */
struct fast {
    uint8_t *tok_hit;
    uint64_t *miss;
    uint32_t *ctx;
    uint64_t from;  /* of that context */
    uint32_t first; /* local number of the first straight run of the last stretch */
    struct batch batch;
};

/* Counts the pending slots, and adds their predictors or items to the batch. */
static void add_pending(struct ctr_encoder *e, uint32_t local, struct batch *batch)
{
    const struct dict_slot *slot = e->blocks.def[local]->slot;
    const uint32_t base = e->blocks.loc[local].base;
    uint32_t stores = 0, regs = 0, n = batch->n, units = 0;
    for (uint32_t i = 0; i < e->run.npending; i++) {
        const struct dict_slot *k = &slot[e->run.pending[i]];
        stores += k->s.store;
        regs += k->s.reg;
        if (e->rec.data) {
            e->addrs.batch[n] = base + k->item;
            units += e->preds.item[base + k->item].units;
            n++;
        } else {
            e->addrs.batch[n] = base + k->addr;
            n += !k->s.derived;
        }
    }
    batch->units += e->rec.data ? units : n - batch->n;
    batch->n = n;
    e->sum.stores += stores;
    e->regs.n += regs;
    e->sum.loads += e->run.npending - stores - regs;
}

/* Encodes the data of the batch. */
static void flush(struct ctr_encoder *e, struct segment_walk *w, struct batch *batch)
{
    if (e->rec.data) {
        encode_items(e, w, batch->n);
    } else {
        encode_addrs(e, w, batch->n);
    }
    *batch = (struct batch){0};
}

void encode_pending(struct ctr_encoder *e, struct segment_walk *w, uint32_t local)
{
    struct batch batch = {0};
    add_pending(e, local, &batch);
    flush(e, w, &batch);
}

/* Whether run_groups can handle these n GROUP words with this many units of data left. */
static int groups_ok(const uint32_t *words, uint32_t n, const struct dict_entry *d,
                     uint32_t most, uint32_t left)
{
    uint64_t need = d->def.nslot;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t group = CTR_GROUP_OF(words[i]);
        if (group == 0 || group > d->def.ngroup || group > TOK16_GROUP_MAX ||
            words[i] != (CTR_WORD_GROUP | group)) {
            return 0;
        }
        if (d->group_first[group] == d->def.nslot) {
            return 0;
        }
        need += (uint64_t)(d->group_end[group] - d->group_first[group]);
    }
    return need * most <= left;
}

static inline void put_fast_token(struct fast *f, uint32_t word, uint32_t halfword)
{
    unsigned hit = *f->ctx == word;
    *f->ctx = word;
    *f->tok_hit++ = (uint8_t)hit;
    *f->miss = f->from | halfword;
    f->miss += !hit;
}

/*
 * A whole run of the block that `word' names, with GROUP words from words[at] on. Its
 * slots become pending. Returns the first word after these, or 0, with nothing changed,
 * if encode_slow must handle it. Not inline for the same reason as take_predicted.
 */
static __attribute__((noinline)) uint32_t run_groups(struct ctr_encoder *e,
                                                     struct segment_walk *w,
                                                     struct fast *f, uint32_t word,
                                                     uint32_t at, uint32_t stop,
                                                     uint32_t l)
{
    const volatile uint32_t *shared = w->seg->words + at;
    const struct dict_entry *d = e->blocks.def[l];
    struct local *b = &e->blocks.loc[l];
    uint32_t *out = e->run.pending;
    const uint32_t most =
        stop - at; /* at <= stop, and that word is in the segment, too */
    uint32_t next = 0;
    uint32_t n = 0;
    uint32_t after = shared[0];
    while (n < most && CTR_WORD_KIND(after) == CTR_WORD_GROUP) {
        e->run.word[n++] = after;
        after = shared[n];
    }
    if (n == 0 || after >> 31 ||
        !groups_ok(e->run.word, n, d, b->most, w->have - w->unit - f->batch.units)) {
        return 0;
    }
    put_fast_token(f, word, l);
    f->ctx = &b->next[0];
    f->from = FROM_NONE;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t group = CTR_GROUP_OF(e->run.word[i]);
        for (; next < d->group_first[group]; next++) {
            *out = next;
            out += slot_group(&d->slot[next].s) == 0;
        }
        for (uint32_t k = d->group_first[group]; k < d->group_end[group]; k++) {
            *out = k;
            out += slot_group(&d->slot[k].s) == group;
        }
        put_fast_token(f, e->run.word[i], TOK16_GROUP + group);
        f->ctx = &b->next[1];
    }
    for (; next < d->def.nslot; next++) {
        *out = next;
        out += slot_group(&d->slot[next].s) == 0;
    }
    e->run.npending = (uint32_t)(out - e->run.pending);
    return at + n;
}

typedef uint32_t numbers __attribute__((vector_size(16), aligned(4)));

/* Writes n numbers from `from' on; it may write some more after them. */
static inline void put_numbers(uint32_t *to, uint32_t from, uint32_t n)
{
    numbers v = {from, from + 1, from + 2, from + 3};
    *(numbers *)to = v;
    *(numbers *)(to + 4) = v + 4;
    for (uint32_t i = 8; __builtin_expect(i < n, 0); i += 4) {
        *(numbers *)(to + i) = v + i;
    }
}

/* Blocks count as poorly predicted if more than one in POOR_PREDICTION misses, in a stretch of
 * PIECE_WORDS words. */
#define POOR_PREDICTION 4
#define PIECE_WORDS 2048u

/* What straight runs have besides their tokens. */
enum { RUNS_ALONE, RUNS_ADDRS, RUNS_ITEMS };

/* Accounts for n straight runs, the first one of local block `first'. */
static inline void took(struct ctr_encoder *e, struct segment_walk *w, struct fast *f,
                        uint32_t n, uint32_t first)
{
    f->first = f->first == TOK_NONE ? first : f->first;
    e->sum.runs += n;
    w->word += n;
}

/* The units of data for which there is room. */
static inline __attribute__((always_inline)) uint32_t
units_left(const struct ctr_encoder *e, const struct segment_walk *w,
           const struct fast *f, const int what)
{
    const uint32_t left = w->have - w->unit - f->batch.units;
    const uint32_t room = e->addrs.batch_cap - f->batch.n; /* an address is one unit */
    return what == RUNS_ADDRS && left > room ? room : left;
}

/* Whether there is room for what a straight run of a block has. */
static inline __attribute__((always_inline)) int
fits(const struct local *b, uint32_t left, const uint32_t *batch,
     const uint32_t *batch_end, const int what)
{
    return what == RUNS_ALONE ||
           (b->need <= left && (what != RUNS_ITEMS || batch < batch_end));
}

/*
 * Encodes straight runs from w->word on, as many as fit into a batch: whole runs
 * without GROUP words. The batch then holds the numbers of their predictors or items.
 */
static inline __attribute__((always_inline)) void take_runs(struct ctr_encoder *e,
                                                            struct segment_walk *w,
                                                            struct fast *f, uint32_t stop,
                                                            const int what)
{
    const volatile uint32_t *words = w->seg->words;
    const uint32_t *map = e->blocks.map;
    const uint32_t map_cap = e->blocks.map_cap;
    const uint32_t map_base = e->blocks.map_base;
    const uint32_t nloc = e->blocks.n < TOK16_GROUP ? e->blocks.n : TOK16_GROUP;
    struct local *const loc = e->blocks.loc;
    uint8_t *tok_hit = f->tok_hit;
    uint64_t *miss = f->miss;
    uint64_t from = f->from;
    uint32_t *ctx = f->ctx;
    uint32_t *batch = e->addrs.batch + f->batch.n;
    uint32_t *const batch_end = e->addrs.batch + BATCH;
    const uint32_t left_first = units_left(e, w, f, what);
    uint32_t left = left_first;
    uint32_t i = w->word;
    uint64_t insns = 0;
    uint32_t word = words[i];
    const uint32_t first = i < stop && word < map_cap ? map[word] - map_base : nloc;
    for (; i < stop && word < map_cap; i++) {
        uint32_t next = words[i + 1];
        uint32_t l = map[word] - map_base;
        if (l >= nloc || next >= map_cap) { /* also a marker */
            break;
        }
        struct local *b = &loc[l];
        if (what != RUNS_ALONE) {
            if (!fits(b, left, batch, batch_end, what)) {
                break;
            }
            left -= b->need;
            put_numbers(batch, b->base, b->n);
            batch += b->n;
        }
        unsigned same = *ctx == word;
        *ctx = word;
        ctx = &b->next[0];
        *tok_hit++ = (uint8_t)same;
        *miss = from | l;
        miss += !same;
        from = b->from;
        b->from = from + FROM_ONE_MORE;
        insns += b->ninsn;
        word = next;
    }
    f->tok_hit = tok_hit;
    f->miss = miss;
    f->from = from;
    f->ctx = ctx;
    f->batch.n = (uint32_t)(batch - e->addrs.batch);
    f->batch.units += left_first - left;
    e->sum.insns += insns;
    if (i > w->word) {
        took(e, w, f, i - w->word, first);
    }
}

static void take_runs_alone(struct ctr_encoder *e, struct segment_walk *w, struct fast *f,
                            uint32_t stop)
{
    take_runs(e, w, f, stop, RUNS_ALONE);
}

static void take_runs_addrs(struct ctr_encoder *e, struct segment_walk *w, struct fast *f,
                            uint32_t stop)
{
    take_runs(e, w, f, stop, RUNS_ADDRS);
}

static void take_runs_items(struct ctr_encoder *e, struct segment_walk *w, struct fast *f,
                            uint32_t stop)
{
    take_runs(e, w, f, stop, RUNS_ITEMS);
}

/*
 * The same for well predicted programs. The token of a predicted block needs no output, as its
 * bit is set beforehand, and no check, as it came there before. Only the word after a run shows
 * whether it is straight, so a block that was not predicted is only emitted once its run is
 * certain to be straight.
 */
static inline __attribute__((always_inline)) void
take_predicted(struct ctr_encoder *e, struct segment_walk *w, struct fast *f,
               uint32_t stop, const int what)
{
    const volatile uint32_t *const words = w->seg->words + w->word;
    const volatile uint32_t *const end = w->seg->words + stop;
    /* the next run, if the word after it shows that it is straight */
    const volatile uint32_t *at = words;
    const uint32_t *const map = e->blocks.map;
    const uint32_t map_cap = e->blocks.map_cap;
    const uint32_t map_base = e->blocks.map_base;
    const uint32_t nloc = e->blocks.n < TOK16_GROUP ? e->blocks.n : TOK16_GROUP;
    struct local *const loc = e->blocks.loc;
    uint8_t *const tok_hit = f->tok_hit;
    uint64_t *miss = f->miss;
    uint32_t *batch = e->addrs.batch + f->batch.n;
    uint32_t *const batch_end = e->addrs.batch + BATCH;
    const uint32_t left_first = units_left(e, w, f, what);
    uint32_t left = left_first;
    if (w->word >= stop) {
        return;
    }
    const uint32_t word = at[0];
    uint32_t next = at[1];
    uint32_t l = word < map_cap ? map[word] - map_base : nloc;
    if (l >= nloc || next >= map_cap) {
        return;
    }
    const uint32_t first = l;
    struct local *b = &loc[l];
    if (!fits(b, left, batch, batch_end, what)) {
        return;
    }
    unsigned same = *f->ctx == word;
    *f->ctx = word;
    tok_hit[0] = (uint8_t)same;
    *miss = f->from | l;
    miss += !same;

    uint64_t insns = 0;
    for (;;) {
        b->from += FROM_ONE_MORE;
        insns += b->ninsn;
        if (what != RUNS_ALONE) {
            left -= b->need;
            put_numbers(batch, b->base, b->n);
            batch += b->n;
        }
        if (++at == end) {
            break;
        }
        const uint32_t here = next;
        next = at[1];
        if (next >= map_cap) { /* also a marker */
            break;
        }
        l = map[here] - map_base;
        if (__builtin_expect(here != b->next[0], 0)) {
            if (l >= nloc || !fits(&loc[l], left, batch, batch_end, what)) {
                break;
            }
            tok_hit[at - words] = 0;
            *miss++ = (b->from - FROM_ONE_MORE) | l;
            b->next[0] = here;
        } else if (!fits(&loc[l], left, batch, batch_end, what)) {
            break;
        }
        b = &loc[l];
    }
    f->tok_hit += at - words;
    f->miss = miss;
    f->from = b->from - FROM_ONE_MORE;
    f->ctx = &b->next[0];
    f->batch.n = (uint32_t)(batch - e->addrs.batch);
    f->batch.units += left_first - left;
    e->sum.insns += insns;
    took(e, w, f, (uint32_t)(at - words), first);
}

/* Not inline: these loops need all registers. */
static __attribute__((noinline)) void take_predicted_alone(struct ctr_encoder *e,
                                                           struct segment_walk *w,
                                                           struct fast *f, uint32_t stop)
{
    take_predicted(e, w, f, stop, RUNS_ALONE);
}

static __attribute__((noinline)) void take_predicted_addrs(struct ctr_encoder *e,
                                                           struct segment_walk *w,
                                                           struct fast *f, uint32_t stop)
{
    take_predicted(e, w, f, stop, RUNS_ADDRS);
}

static __attribute__((noinline)) void take_predicted_items(struct ctr_encoder *e,
                                                           struct segment_walk *w,
                                                           struct fast *f, uint32_t stop)
{
    take_predicted(e, w, f, stop, RUNS_ITEMS);
}

static void take_some(struct ctr_encoder *e, struct segment_walk *w, struct fast *f,
                      uint32_t upto)
{
    if (!e->rec.slots) {
        (e->tok.poorly_predicted ? take_runs_alone : take_predicted_alone)(e, w, f, upto);
    } else if (e->rec.data) {
        (e->tok.poorly_predicted ? take_runs_items : take_predicted_items)(e, w, f, upto);
    } else {
        (e->tok.poorly_predicted ? take_runs_addrs : take_predicted_addrs)(e, w, f, upto);
    }
}

/*
 * All straight runs from here on; the batch may hold a rest that does not fill it. Where blocks
 * are mostly predicted, or the processor learns when they are not, a branch for that is cheaper
 * than stores for each block; where they are seldom predicted it is not.
 */
static void straight_runs(struct ctr_encoder *e, struct segment_walk *w, struct fast *f,
                          uint32_t stop)
{
    uint32_t upto;
    int full;
    do {
        const uint32_t first = w->word;
        const uint64_t *miss = f->miss;
        upto = first < stop && stop - first > PIECE_WORDS ? first + PIECE_WORDS : stop;
        take_some(e, w, f, upto);
        e->tok.poorly_predicted =
            (uint32_t)(f->miss - miss) * POOR_PREDICTION > w->word - first;
        full = f->batch.n >= BATCH;
        if (full) {
            flush(e, w, &f->batch);
        }
    } while (full || (w->word == upto && upto < stop));
}

/*
 * Gives a local number to a block that is new to the chunk, unless encode_slow must
 * handle it or the chunk is full.
 */
static int meet(struct ctr_encoder *e, struct fast *f, uint32_t raw)
{
    uint32_t local;
    if (e->limits.may_stop && encode_is_full(e)) {
        return 0;
    }
    int in_loc = f->ctx != &e->tok.start.next[0] && f->ctx != &e->tok.start.next[1];
    size_t at = in_loc ? (size_t)((char *)f->ctx - (char *)e->blocks.loc) : 0;
    int err = encode_local(e, raw, &local);
    if (in_loc) { /* which may have moved */
        f->ctx = (uint32_t *)(void *)((char *)e->blocks.loc + at);
    }
    return !err;
}

/*
 * The block after which the next token comes; must not be called before the first
 * token.
 */
static uint32_t local_of_ctx(const struct ctr_encoder *e, const struct fast *f)
{
    return (uint32_t)((size_t)((char *)f->ctx - (char *)e->blocks.loc) /
                      sizeof(e->blocks.loc[0]));
}

void encode_fast(struct ctr_encoder *e, struct segment_walk *w, uint32_t stop)
{
    const volatile uint32_t *words = w->seg->words;
    struct fast f = {
        .tok_hit = e->tok.hit + e->tok.n,
        .miss = e->tok.miss + e->tok.nmiss,
        .ctx = e->tok.ctx_loc == TOK_NONE
                   ? &e->tok.start.next[e->tok.ctx_which]
                   : &e->blocks.loc[e->tok.ctx_loc].next[e->tok.ctx_which],
        .from = e->tok.ctx_which ? FROM_NONE : e->tok.ctx_from,
    };
    uint32_t last = TOK_NONE; /* local number of the last block */
    for (;;) {
        f.first = TOK_NONE;
        straight_runs(e, w, &f, stop);
        if (f.first != TOK_NONE) {
            last = local_of_ctx(e, &f);
            encode_next(e, f.first);
            e->follow.ahead.last = last;
            e->follow.ahead.first = 0;
            e->follow.ahead.counted = 1;
        }
        uint32_t i = w->word;
        if (i >= stop) {
            break;
        }
        uint32_t word = words[i];
        if (!CTR_WORD_IS_BLOCK(word)) {
            break;
        }
        if (!encode_knows(&e->blocks, word)) {
            if (!CTR_WORD_IS_BLOCK(words[i + 1]) || !meet(e, &f, word)) {
                break;
            }
            continue;
        }
        /* A whole run with GROUP words may have stopped the loop. */
        uint32_t l = e->blocks.map[word] - e->blocks.map_base;
        if (l >= TOK16_GROUP) {
            break;
        }
        uint32_t end = run_groups(e, w, &f, word, i + 1, stop, l);
        if (end == 0) {
            break;
        }
        add_pending(e, l, &f.batch);
        e->run.npending = 0;
        encode_next(e, l);
        e->follow.ahead.last = l;
        e->follow.ahead.first = 0;
        e->follow.ahead.counted = 0;
        e->blocks.follower[l].full++;
        e->sum.insns += e->blocks.loc[l].ninsn;
        e->sum.runs++;
        last = l;
        w->word = end;
    }
    flush(e, w, &f.batch);
    if (last == TOK_NONE) {
        return;
    }
    e->tok.ctx_loc = last;
    e->tok.ctx_from = f.from;
    e->tok.ctx_which = f.ctx == &e->blocks.loc[last].next[1];
    e->sum.last_raw = e->blocks.raw_of[last];
    e->tok.n = (uint32_t)(f.tok_hit - e->tok.hit);
    e->tok.nmiss = (uint32_t)(f.miss - e->tok.miss);
}
