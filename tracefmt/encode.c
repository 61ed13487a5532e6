/* SPDX-License-Identifier: MIT */
/*
 * The encoder: from the columns that translated code wrote to those of the
 * file.  This is the bottleneck of a recording, hence its shape:
 *
 * run_fast handles whole runs of blocks whose slots are all unconditional.  It
 * makes no decision that depends on data where a store and a conditional add
 * will do: whether a prediction was right ends up as a byte in an array, and
 * what it should have been is always stored but only kept if it was wrong.
 * encode_pack turns these arrays into bitmaps and varints afterwards.
 *
 * run_slow handles everything else (groups, blocks left early, resumed runs,
 * extra accesses, the first run of a block in the chunk) one run at a time,
 * looks up its end first, checks all there is to check, and reports what makes
 * no sense.
 *
 * Blocks get numbers local to the chunk, so that all state is dense however
 * many blocks the recording has.  Predictors start from nothing in each chunk.
 */
#include "encode.h"

#include <string.h>
#include "le.h"

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
    if (ZSTD_isError(
            ZSTD_CCtx_setParameter(e->cctx, ZSTD_c_compressionLevel, level)) ||
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
    free(e->pred);
    free(e->slot);
    free(e->tok_hit);
    free(e->tok_miss);
    free(e->addr_hit);
    free(e->addr_miss);
    free(e->cand);
    countmap_fini(&e->cuts);
    buf_free(&e->extra_meta);
    buf_free(&e->extra_delta);
    buf_free(&e->raw);
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
        if (fresh(&e->addr_hit, addrs + 9, 1) ||
            fresh(&e->addr_miss, addrs + 1, e->addr_bytes) ||
            fresh(&e->cand, addrs + 1, sizeof(e->cand[0]))) {
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
    e->naddr = e->naddr_miss = e->ncand = 0;
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

/* The local number of a raw id; met for the first time it gets one. */
static int local_of(struct ctr_encoder *e, uint32_t raw, uint32_t *out)
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
            grow(&e->def, cap, sizeof(e->def[0]))) {
            return -CTR_E_NOMEM;
        }
        e->loc_cap = cap;
    }
    size_t pred_size =
        e->addr_bytes == 4 ? sizeof(struct pred32) : sizeof(struct pred64);
    if (e->nslot + d->def.nslot > e->slot_cap) {
        uint32_t cap = e->slot_cap * 2 + 1024 + d->def.nslot;
        if (grow(&e->pred, cap, pred_size) ||
            grow(&e->slot, cap, sizeof(e->slot[0]))) {
            return -CTR_E_NOMEM;
        }
        e->slot_cap = cap;
    }
    uint32_t l = e->nloc++;
    e->map[raw] = e->map_base + l;
    e->def[l] = d;
    e->loc[l] = (struct local){
        .next = {TOK_NONE, TOK_NONE},
        .base = e->nslot,
        .nslot = d->def.nslot,
        .ninsn = d->def.ninsn,
        .slow = 1,
    };
    if (d->def.nslot) {
        memset((uint8_t *)e->pred + e->nslot * pred_size, 0, d->def.nslot * pred_size);
    }
    for (unsigned i = 0; i < d->def.nslot; i++) {
        blockdef_slot(&d->def, i, &e->slot[e->nslot + i]);
    }
    e->nslot += d->def.nslot;
    *out = l;
    return 0;
}

/* -------------------------------------------------------------- fast runs */

/* A segment while it is walked. */
struct walk {
    const struct ctr_segment *seg;
    uint32_t word;   /* next word */
    uint32_t addr;   /* next address */
    uint32_t extra;  /* next extra access */
};

/*
 * One access on the fast path.  T is the width of an address; a, last, step
 * are all of it.  The page is a candidate for the index when the slot leaves
 * its last one (its first run, on the slow path, put that in).
 */
#define FAST_SLOTS(T, PRED)                                                              \
    do {                                                                                 \
        struct PRED *pr = (struct PRED *)pred + b->base;                                 \
        const struct ctr_slot *sl = slot + b->base;                                      \
        const T *ap = (const T *)addr;                                                   \
        T *ms = (T *)miss;                                                               \
        for (unsigned j = 0; j < ns; j++) {                                              \
            T a = *--ap;                                                                 \
            T last = pr[j].last;                                                         \
            T step = (T)(a - last);                                                      \
            unsigned ok = step == pr[j].step;                                            \
            pr[j].last = a;                                                              \
            pr[j].step = step;                                                           \
            *addr_hit++ = (uint8_t)ok;                                                   \
            *ms = step;                                                                  \
            ms += !ok;                                                                   \
            *cand = ((uint64_t)a & ~(uint64_t)((1u << PAGE_BITS) - 1)) | sl[j].store;    \
            cand += (a ^ last) >> PAGE_BITS != 0;                                        \
        }                                                                                \
        addr = ap;                                                                       \
        miss = ms;                                                                       \
    } while (0)

/* Takes whole runs from w until one needs run_slow or `stop' is reached. */
static inline __attribute__((always_inline)) void
run_fast(struct ctr_encoder *e, struct walk *w, uint32_t stop, const unsigned addr_bytes)
{
    const uint32_t *words = w->seg->words;
    const uint32_t *map = e->map;
    const uint32_t map_cap = e->map_cap;
    const uint32_t map_base = e->map_base;
    const uint32_t nloc = e->nloc < TOK16_GROUP ? e->nloc : TOK16_GROUP;
    struct local *loc = e->loc;
    void *pred = e->pred;
    const struct ctr_slot *slot = e->slot;
    uint8_t *tok_hit = e->tok_hit + e->ntok;
    uint16_t *tok_miss = e->tok_miss + e->ntok_miss;
    uint8_t *addr_hit = e->addr_hit + e->naddr;
    void *miss = (uint8_t *)e->addr_miss + (size_t)e->naddr_miss * addr_bytes;
    uint64_t *cand = e->cand + e->ncand;
    const void *addr = (const uint8_t *)w->seg->addrs_end - (size_t)w->addr * addr_bytes;
    uint32_t left = w->seg->n_addrs - w->addr;
    uint32_t *ctx = e->ctx_loc == TOK_NONE ? &e->start.next[e->ctx_which]
                                           : &loc[e->ctx_loc].next[e->ctx_which];
    uint32_t first = w->word;
    uint32_t i = first;
    uint32_t l = 0;
    struct local *b = NULL;

    for (; i < stop; i++) {
        uint32_t word = words[i];
        if (word >= map_cap || words[i + 1] >> 31) {
            break;
        }
        uint32_t this = map[word] - map_base;
        if (this >= nloc) {
            break;
        }
        unsigned ns = loc[this].nslot;
        if (loc[this].slow || ns > left) {
            break;
        }
        l = this;
        b = &loc[l];
        unsigned hit = *ctx == l;
        *ctx = l;
        ctx = &b->next[0];
        *tok_hit++ = (uint8_t)hit;
        *tok_miss = (uint16_t)l;
        tok_miss += !hit;
        b->fast++;
        left -= ns;
        if (addr_bytes == 4) {
            FAST_SLOTS(uint32_t, pred32);
        } else {
            FAST_SLOTS(uint64_t, pred64);
        }
    }
    if (i == first) {
        return;
    }
    w->word = i;
    w->addr = w->seg->n_addrs - left;
    e->last_raw = words[i - 1];
    e->runs += i - first;
    e->ctx_loc = l;
    e->ctx_which = 0;
    e->ntok = (uint32_t)(tok_hit - e->tok_hit);
    e->ntok_miss = (uint32_t)(tok_miss - e->tok_miss);
    e->naddr = (uint32_t)(addr_hit - e->addr_hit);
    e->naddr_miss =
        (uint32_t)(((uint8_t *)miss - (uint8_t *)e->addr_miss) / addr_bytes);
    e->ncand = (uint32_t)(cand - e->cand);
}

static void run_fast32(struct ctr_encoder *e, struct walk *w, uint32_t stop)
{
    run_fast(e, w, stop, 4);
}

static void run_fast64(struct ctr_encoder *e, struct walk *w, uint32_t stop)
{
    run_fast(e, w, stop, 8);
}

/* -------------------------------------------------------------- slow runs */

/* Everything about one run, found before anything is put out. */
struct run {
    uint32_t at;        /* its first word */
    uint32_t groups;    /* first word behind the id */
    uint32_t groups_end;
    uint32_t end;       /* first word of what follows */
    uint32_t raw;
    uint32_t local;
    uint32_t first;     /* instructions first..n-1 are counted here */
    uint32_t n;
    uint32_t left_at;   /* the LEFT_AT word, or 0 */
    uint32_t flags;     /* CTR_LEFT_* */
    uint32_t number;    /* with left: the length of the address column then */
    uint8_t left;       /* LEFT */
    uint8_t restart;    /* instruction n + 1 is to be forgotten */
    uint8_t resumed;
    uint32_t resume_insn;
    uint8_t fault;
    uint8_t unsure;
    uint32_t limit;     /* inline accesses at most */
    uint32_t accesses;  /* inline accesses made */
    uint32_t last_insn; /* of the accesses: highest instruction + 1 */
};

static int bad_word(const struct walk *w, uint32_t at, struct ctr_diag *diag,
                    const char *what)
{
    uint32_t word = at < w->seg->n_words ? w->seg->words[at] : 0;
    return ctr_fail(diag, CTR_E_CORRUPT, at, "words", "word %u (0x%08x): %s", at, word,
                    what);
}

static void put_token(struct ctr_encoder *e, uint32_t tok)
{
    uint32_t *ctx = e->ctx_loc == TOK_NONE ? &e->start.next[e->ctx_which]
                                           : &e->loc[e->ctx_loc].next[e->ctx_which];
    unsigned hit = *ctx == tok;
    *ctx = tok;
    e->tok_hit[e->ntok++] = (uint8_t)hit;
    if (hit) {
        return;
    }
    uint16_t *m = e->tok_miss + e->ntok_miss;
    uint32_t group = CTR_GROUP_OF(tok);
    if (tok < TOK16_GROUP) {
        m[0] = (uint16_t)tok;
        e->ntok_miss++;
    } else if (CTR_WORD_KIND(tok) == CTR_WORD_GROUP && group <= TOK16_GROUP_MAX) {
        m[0] = (uint16_t)(TOK16_GROUP + group);
        e->ntok_miss++;
    } else {
        m[0] = TOK16_ESCAPE;
        m[1] = (uint16_t)tok;
        m[2] = (uint16_t)(tok >> 16);
        e->ntok_miss += 3;
    }
}

static void put_marker(struct ctr_encoder *e, uint32_t local, uint32_t tok)
{
    put_token(e, tok);
    e->ctx_loc = local;
    e->ctx_which = 1;
}

/* The number behind a LEFT token: not predicted, no bit. */
static void put_number(struct ctr_encoder *e, uint32_t number)
{
    uint16_t *m = e->tok_miss + e->ntok_miss;
    m[0] = (uint16_t)number;
    m[1] = (uint16_t)(number >> 16);
    e->ntok_miss += 2;
}

static inline uint64_t address(const struct ctr_encoder *e, const struct walk *w,
                               uint32_t i)
{
    if (e->addr_bytes == 4) {
        return ((const uint32_t *)w->seg->addrs_end)[-(ptrdiff_t)i - 1];
    }
    return ((const uint64_t *)w->seg->addrs_end)[-(ptrdiff_t)i - 1];
}

/* One inline access of slot `at' in the arena. */
static void put_access(struct ctr_encoder *e, uint32_t at, uint64_t addr)
{
    unsigned hit;
    if (e->addr_bytes == 4) {
        struct pred32 *p = (struct pred32 *)e->pred + at;
        uint32_t step = (uint32_t)addr - p->last;
        hit = step == p->step;
        *p = (struct pred32){(uint32_t)addr, step};
        ((uint32_t *)e->addr_miss)[e->naddr_miss] = step;
    } else {
        struct pred64 *p = (struct pred64 *)e->pred + at;
        uint64_t step = addr - p->last;
        hit = step == p->step;
        *p = (struct pred64){addr, step};
        ((uint64_t *)e->addr_miss)[e->naddr_miss] = step;
    }
    e->addr_hit[e->naddr++] = (uint8_t)hit;
    e->naddr_miss += !hit;
    const struct ctr_slot *s = &e->slot[at];
    e->cand[e->ncand++] =
        (addr & ~(uint64_t)((1u << PAGE_BITS) - 1)) | (uint64_t)s->store;
    e->loads += !s->store;
    e->stores += s->store;
}

/* Finds the end of the run at w->word and what ended it. */
static int run_scan(struct ctr_encoder *e, const struct walk *w, struct run *r,
                    struct ctr_diag *diag)
{
    const uint32_t *words = w->seg->words;
    uint32_t n = w->seg->n_words;
    uint32_t i = w->word;
    *r = (struct run){.at = i};
    if (!CTR_WORD_IS_BLOCK(words[i])) {
        if (CTR_WORD_KIND(words[i]) != CTR_WORD_RESUME) {
            return bad_word(w, i, diag, "not a block");
        }
        if (i + 1 >= n || !CTR_WORD_IS_BLOCK(words[i + 1])) {
            return bad_word(w, i, diag, "no block to resume");
        }
        r->resumed = 1;
        r->resume_insn = CTR_RESUME_INSN(words[i]);
        r->first = r->resume_insn + 1;
        i++;
    }
    r->raw = words[i++];
    int err = local_of(e, r->raw, &r->local);
    if (err == -CTR_E_CORRUPT) {
        return bad_word(w, i - 1, diag, "unknown block");
    }
    if (err) {
        return err == -CTR_E_NOMEM
                   ? ctr_fail_nomem(diag)
                   : ctr_fail(diag, -err, i - 1, "words", "too many blocks in a chunk");
    }
    const struct blockdef *def = &e->def[r->local]->def;
    r->n = def->ninsn;
    r->limit = UINT32_MAX;
    r->groups = i;
    while (i < n && CTR_WORD_KIND(words[i]) == CTR_WORD_GROUP) {
        i++;
    }
    r->groups_end = i;
    if (i < n && CTR_WORD_KIND(words[i]) == CTR_WORD_LEFT_AT) {
        r->left_at = words[i++];
        r->n = CTR_LEFT_AT_INSNS(r->left_at);
    } else if (i < n && CTR_WORD_KIND(words[i]) == CTR_WORD_LEFT) {
        if (i + 1 >= n) {
            return bad_word(w, i, diag, "number missing");
        }
        r->left = 1;
        r->n = CTR_LEFT_INSNS(words[i]);
        r->flags = CTR_LEFT_FLAGS(words[i]);
        r->number = words[i + 1];
        i += 2;
    }
    if (i < n && words[i] == CTR_WORD_FAULT) {
        r->fault = 1;
        i++;
    }
    r->end = i;
    if (i < n && !CTR_WORD_IS_BLOCK(words[i]) &&
        CTR_WORD_KIND(words[i]) != CTR_WORD_RESUME) {
        return bad_word(w, i, diag, "does not belong here");
    }
    if (r->n > def->ninsn || r->first > def->ninsn) {
        return bad_word(w, i - 1, diag, "more instructions than the block has");
    }
    if (r->left && e->mem) {
        if (r->number < w->addr || r->number > w->seg->n_addrs) {
            return bad_word(w, i - 1, diag, "impossible number of accesses");
        }
        r->limit = r->number - w->addr;
    }
    r->unsure = i == n && !r->left && !r->left_at && !r->fault &&
                (w->seg->flags & CTR_SEGMENT_UNSURE);
    if (r->unsure) {
        r->limit = w->seg->n_addrs - w->addr;
    }
    return 0;
}

/*
 * Goes through the accesses of a run in the order in which they were made.
 * With `put' tokens and accesses are put out, else they are only counted, and
 * the first one of instruction stop_insn or later ends it.
 */
static int run_accesses(struct ctr_encoder *e, const struct walk *w, struct run *r,
                        int put, uint32_t stop_insn, struct ctr_diag *diag)
{
    const struct dict_entry *d = e->def[r->local];
    const uint32_t base = e->loc[r->local].base;
    const struct ctr_slot *slot = e->slot + base;
    const uint32_t nslot = d->def.nslot;
    const uint32_t have = w->seg->n_addrs - w->addr;
    uint32_t next = 0;   /* first slot not passed yet */
    uint32_t uncond = 0; /* unconditional ones passed */
    uint32_t made = 0;
    r->last_insn = 0;

/* Slot k is made now, unless the run ends before it. */
#define MAKE(k)                                                                          \
    do {                                                                                 \
        if (made == r->limit || slot[k].insn >= stop_insn) {                             \
            goto out;                                                                    \
        }                                                                                \
        if (made == have) {                                                              \
            return bad_word(w, r->at, diag, "addresses missing");                        \
        }                                                                                \
        if (slot[k].insn >= r->last_insn) {                                              \
            r->last_insn = slot[k].insn + 1u;                                            \
        }                                                                                \
        if (put) {                                                                       \
            put_access(e, base + (k), address(e, w, w->addr + made));                    \
        }                                                                                \
        made++;                                                                          \
    } while (0)

    if (r->resumed) {
        next = slots_resume_at(slot, nslot, r->resume_insn);
        for (uint32_t k = 0; k < next; k++) {
            uncond += slot[k].group == 0;
        }
    }
    for (uint32_t i = r->groups; e->mem && i < r->groups_end; i++) {
        uint32_t group = CTR_GROUP_OF(w->seg->words[i]);
        if (group == 0 || group > d->def.ngroup ||
            w->seg->words[i] != (CTR_WORD_GROUP | group)) {
            return bad_word(w, i, diag, "no such group");
        }
        uint32_t g = d->group_first[group];
        if (g == nslot) {
            continue;
        }
        for (; next < g; next++) {
            if (slot[next].group == 0) {
                MAKE(next);
                uncond++;
            }
        }
        if (made == r->limit || slot[g].insn >= stop_insn) {
            goto out;
        }
        if (put) {
            put_marker(e, r->local, CTR_WORD_GROUP | group);
        }
        for (uint32_t k = g; k < nslot; k++) {
            if (slot[k].group == group) {
                MAKE(k);
            }
        }
    }
    uint32_t upto = r->left_at && e->mem ? CTR_LEFT_AT_SLOTS(r->left_at) : UINT32_MAX;
    for (; next < nslot && uncond < upto; next++) {
        if (slot[next].group == 0) {
            MAKE(next);
            uncond++;
        }
    }
    if (r->left_at && e->mem && uncond != upto) {
        return bad_word(w, r->groups_end, diag, "impossible number of slots");
    }
out:
#undef MAKE
    r->accesses = made;
    return 0;
}

/* Extra accesses of the run: those placed at one of its words. */
static int run_extras(struct ctr_encoder *e, struct walk *w, const struct run *r,
                      int put, uint32_t *last_insn, struct ctr_diag *diag)
{
    const struct ctr_segment *seg = w->seg;
    uint32_t i = w->extra;
    for (; i < seg->n_extras && seg->extras[i].words <= r->end; i++) {
        const struct ctr_extra *x = &seg->extras[i];
        if (!e->mem) {
            continue;
        }
        if (x->words <= r->at || x->addrs < w->addr || x->size == 0 ||
            x->insn >= e->def[r->local]->def.ninsn) {
            return bad_word(w, r->at, diag, "extra access out of place");
        }
        if (x->insn >= *last_insn) {
            *last_insn = x->insn + 1u;
        }
        if (!put || (x->insn >= r->n && r->restart)) {
            continue;
        }
        if (x->insn >= r->n) {
            return bad_word(w, r->at, diag,
                            "extra access of an instruction not executed");
        }
        uint32_t rel = x->addrs - w->addr;
        if (rel > r->accesses) {
            rel = r->accesses;
        }
        if (buf_reserve(&e->extra_meta, 6 * VARINT_MAX) ||
            buf_reserve(&e->extra_delta, VARINT_MAX)) {
            return ctr_fail_nomem(diag);
        }
        uint8_t *m = e->extra_meta.p + e->extra_meta.n;
        uint8_t *m0 = m;
        m += put_varint(m, e->runs - e->extra_run);
        m += put_varint(m, rel);
        m += put_varint(m, x->insn);
        m += put_varint(m, (uint64_t)x->size << 2 | (x->big_endian ? 2u : 0u) |
                               (x->store ? 1u : 0u));
        e->extra_meta.n += (size_t)(m - m0);
        struct pred64 *p =
            &e->extra_pred[(e->def[r->local]->id * 31 + x->insn * 2 + (x->store != 0)) &
                           (EXTRA_PREDS - 1)];
        uint64_t step = x->addr - p->last;
        e->extra_delta.n += put_varint_fast(e->extra_delta.p + e->extra_delta.n,
                                            zigzag64(step - p->step));
        *p = (struct pred64){x->addr, step};
        e->extra_run = e->runs;
        e->nextra++;
        e->loads += !x->store;
        e->stores += x->store != 0;
        /* A set that has become "any page" needs no more. */
        struct pageset *set = &e->pages[x->store != 0];
        uint64_t last = (x->addr + (x->size - 1)) >> PAGE_BITS;
        for (uint64_t page = x->addr >> PAGE_BITS; !set->any; page++) {
            if (pageset_add(set, page)) {
                return ctr_fail_nomem(diag);
            }
            if (page == last) {
                break;
            }
        }
    }
    if (put) {
        w->extra = i;
    }
    return 0;
}

/* The run that begins at w->word, whatever it is like. */
static int run_slow(struct ctr_encoder *e, struct walk *w, struct ctr_diag *diag)
{
    struct run r;
    if (w->seg->words[w->word] == CTR_WORD_FAULT) {
        e->dropped_faults++;
        w->word++;
        return 0;
    }
    int err = run_scan(e, w, &r, diag);
    if (err) {
        return err;
    }
    struct local *b = &e->loc[r.local];
    uint32_t taken = 0; /* addresses that belong to it, also forgotten ones */
    uint32_t extra_last = 0;
    int keep = 1;
    if (r.flags & CTR_LEFT_RESTART) {
        /* Find what instruction n had done already, and leave that away. */
        taken = r.limit;
        r.restart = 1;
        r.n -= r.n > 0;
        r.flags &= ~CTR_LEFT_RESTART;
        err = run_accesses(e, w, &r, 0, r.n, diag);
        if (err) {
            return err;
        }
        r.limit = r.accesses;
    } else if (r.unsure) {
        err = run_accesses(e, w, &r, 0, UINT32_MAX, diag);
        if (!err) {
            err = run_extras(e, w, &r, 0, &extra_last, diag);
        }
        if (err) {
            return err;
        }
        r.limit = r.accesses;
        taken = r.accesses;
        r.n = r.last_insn > extra_last ? r.last_insn : extra_last;
        r.n = r.n > r.first ? r.n : (r.first ? r.first : 1);
        r.flags |= CTR_LEFT_UNSURE;
        e->unsure = 1;
    }
    if (r.n < r.first) {
        r.n = r.first;
    }
    if (r.n == 0) {
        keep = 0; /* left before its first instruction */
        if (r.limit && r.limit != UINT32_MAX && e->mem) {
            return bad_word(w, r.at, diag, "accesses without an instruction");
        }
        err = run_extras(e, w, &r, 1, &extra_last, diag);
        if (err) {
            return err;
        }
    }
    if (keep) {
        e->last_raw = r.raw;
        if (r.resumed) {
            if (e->runs == 0) {
                e->flags |= CHUNK_F_RESUMES;
            }
            put_token(e, CTR_WORD_RESUME | r.resume_insn);
            e->ctx_loc = TOK_NONE;
            e->ctx_which = 1;
        }
        put_token(e, r.local);
        e->ctx_loc = r.local;
        e->ctx_which = 0;
        err = run_accesses(e, w, &r, 1, UINT32_MAX, diag);
        if (err) {
            return err;
        }
        if (r.last_insn > r.n) {
            return bad_word(w, r.at, diag, "accesses of an instruction not executed");
        }
        if (r.limit != UINT32_MAX && e->mem && r.accesses != r.limit) {
            return bad_word(w, r.at, diag, "more accesses than the block has");
        }
        if (taken < r.accesses) {
            taken = r.accesses;
        }
        if (r.fault || r.left || r.unsure) {
            uint32_t flags = r.flags | (r.fault ? CTR_LEFT_FAULTED : 0u);
            put_marker(e, r.local, CTR_WORD_LEFT | flags << 16 | r.n);
            put_number(e, r.accesses);
        } else if (r.left_at) {
            put_marker(e, r.local, e->mem ? r.left_at
                                          : CTR_WORD_LEFT_AT | r.n << 14);
        }
        err = run_extras(e, w, &r, 1, &extra_last, diag);
        if (err) {
            return err;
        }
        e->runs++;
        e->insns += r.n - r.first;
        if (r.first == 0 && r.n == b->ninsn) {
            b->full++;
            b->slow = e->def[r.local]->has_groups || r.accesses < b->nslot;
        } else if (r.n > r.first && countmap_add(&e->cuts, CUT_KEY(r.local, r.first, r.n), 1)) {
            return ctr_fail_nomem(diag);
        }
    }
    w->word = r.end;
    w->addr += e->mem ? taken : 0;
    return 0;
}

/* ------------------------------------------------------------------ chunk */

static int segment_run(struct ctr_encoder *e, const struct ctr_segment *seg,
                       struct ctr_diag *diag)
{
    struct walk w = {.seg = seg};
    if (e->mem && seg->n_addrs && (uintptr_t)seg->addrs_end % e->addr_bytes) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "addrs", "not aligned");
    }
    while (w.word < seg->n_words) {
        /* A run that has extra accesses, or ends the segment, is a slow one. */
        uint32_t stop = seg->n_words - 1;
        if (e->mem && w.extra < seg->n_extras) {
            uint32_t at = seg->extras[w.extra].words;
            if (at == 0) {
                return bad_word(&w, 0, diag, "extra access before the first block");
            }
            stop = at - 1 < stop ? at - 1 : stop;
        }
        if (e->addr_bytes == 4) {
            run_fast32(e, &w, stop);
        } else {
            run_fast64(e, &w, stop);
        }
        int err = run_slow(e, &w, diag);
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
                        "%u extra accesses belong to no block",
                        seg->n_extras - w.extra);
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
