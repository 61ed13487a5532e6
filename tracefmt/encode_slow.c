/* SPDX-License-Identifier: MIT */
/*
 * Runs that are not plain: their end is looked up first, then everything is
 * checked, then tokens and accesses are put out.  What makes no sense is
 * reported and nothing is guessed, except for the tail of a killed process.
 */
#include "encode.h"

#include "le.h"

/* Everything about one run, found before anything is put out. */
struct run {
    uint32_t at;     /* its first word */
    uint32_t groups; /* first word behind the id */
    uint32_t groups_end;
    uint32_t end; /* first word of what follows */
    uint32_t raw;
    uint32_t local;
    uint32_t first; /* instructions first..n-1 are counted here */
    uint32_t n;
    uint32_t left_at; /* the LEFT_AT word, or 0 */
    uint32_t flags;   /* CTR_LEFT_* */
    uint32_t number;  /* with left: the length of the address column then */
    uint8_t left;     /* LEFT */
    uint8_t restart;  /* instruction n + 1 is to be forgotten */
    uint8_t resumed;
    uint32_t resume_insn;
    uint8_t fault;
    uint8_t unsure;
    uint32_t limit;     /* inline accesses at most */
    uint32_t accesses;  /* inline accesses made */
    uint32_t last_insn; /* of the accesses: highest instruction + 1 */
};

int encode_bad_word(const struct walk *w, uint32_t at, struct ctr_diag *diag,
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

/* Finds the end of the run at w->word and what ended it. */
static int run_scan(struct ctr_encoder *e, const struct walk *w, struct run *r,
                    struct ctr_diag *diag)
{
    const uint32_t *words = w->seg->words;
    uint32_t n = w->seg->n_words;
    uint32_t i = w->word;
    *r = (struct run){.at = i};
    if (!CTR_WORD_IS_BLOCK(words[i])) {
        if (CTR_WORD_KIND(words[i]) != CTR_WORD_RESUME ||
            words[i] != (CTR_WORD_RESUME | CTR_RESUME_INSN(words[i]))) {
            return encode_bad_word(w, i, diag, "not a block");
        }
        if (i + 1 >= n || !CTR_WORD_IS_BLOCK(words[i + 1])) {
            return encode_bad_word(w, i, diag, "no block to resume");
        }
        r->resumed = 1;
        r->resume_insn = CTR_RESUME_INSN(words[i]);
        r->first = r->resume_insn + 1;
        i++;
    }
    r->raw = words[i++];
    int err = encode_local(e, r->raw, &r->local);
    if (err == -CTR_E_CORRUPT) {
        return encode_bad_word(w, i - 1, diag, "unknown block");
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
        r->left_at = words[i];
        if (words[i] & 0x0f000000u) {
            return encode_bad_word(w, i, diag, "does not belong here");
        }
        i++;
        r->n = CTR_LEFT_AT_INSNS(r->left_at);
    } else if (i < n && CTR_WORD_KIND(words[i]) == CTR_WORD_LEFT) {
        if (i + 1 >= n) {
            return encode_bad_word(w, i, diag, "number missing");
        }
        if (CTR_LEFT_FLAGS(words[i]) &
            ~(CTR_LEFT_FAULTED | CTR_LEFT_RESTART | CTR_LEFT_SUSPEND | CTR_LEFT_UNSURE)) {
            return encode_bad_word(w, i, diag, "unknown flags");
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
        return encode_bad_word(w, i, diag, "does not belong here");
    }
    if (r->n > def->ninsn || r->first > def->ninsn) {
        return encode_bad_word(w, i - 1, diag, "more instructions than the block has");
    }
    if (r->left && e->mem) {
        if (r->number < w->addr || r->number > w->seg->n_addrs) {
            return encode_bad_word(w, i - 1, diag, "impossible number of accesses");
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
            return encode_bad_word(w, r->at, diag, "addresses missing");                 \
        }                                                                                \
        if (slot[k].insn >= r->last_insn) {                                              \
            r->last_insn = slot[k].insn + 1u;                                            \
        }                                                                                \
        if (put) {                                                                       \
            e->pending[e->npending++] = base + (k);                                      \
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
            return encode_bad_word(w, i, diag, "no such group");
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
        for (uint32_t k = g; k < d->group_end[group]; k++) {
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
        return encode_bad_word(w, r->groups_end, diag, "impossible number of slots");
    }
out:
#undef MAKE
    r->accesses = made;
    return 0;
}

/* Extra accesses of the run: those placed at one of its words. */
static int run_extras(struct ctr_encoder *e, struct walk *w, const struct run *r, int put,
                      uint32_t *last_insn, struct ctr_diag *diag)
{
    const struct ctr_segment *seg = w->seg;
    uint32_t i = w->extra;
    uint32_t before = 0;
    for (; i < seg->n_extras && seg->extras[i].words <= r->end; i++) {
        const struct ctr_extra *x = &seg->extras[i];
        if (!e->mem) {
            continue;
        }
        if (x->words <= r->at || x->addrs < w->addr + before || x->size == 0 ||
            x->insn + 1u < r->first || x->insn >= e->def[r->local]->def.ninsn) {
            return encode_bad_word(w, r->at, diag, "extra access out of place");
        }
        before = x->addrs - w->addr;
        if (x->insn >= *last_insn) {
            *last_insn = x->insn + 1u;
        }
        if (!put || (x->insn >= r->n && r->restart)) {
            continue;
        }
        if (x->insn >= r->n) {
            return encode_bad_word(w, r->at, diag,
                                   "extra access of an instruction not executed");
        }
        uint32_t rel = before;
        if (rel > r->accesses) {
            return encode_bad_word(w, r->at, diag, "extra access out of place");
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
int encode_slow(struct ctr_encoder *e, struct walk *w, struct ctr_diag *diag)
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
            return encode_bad_word(w, r.at, diag, "accesses without an instruction");
        }
        err = run_extras(e, w, &r, 1, &extra_last, diag);
        if (err) {
            return err;
        }
    }
    if (keep) {
        e->last_raw = r.raw;
        if (r.resumed) {
            e->flags |= CHUNK_F_RESUMES;
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
            return encode_bad_word(w, r.at, diag,
                                   "accesses of an instruction not executed");
        }
        if (r.limit != UINT32_MAX && e->mem && r.accesses != r.limit) {
            return encode_bad_word(w, r.at, diag, "more accesses than the block has");
        }
        taken = taken < r.accesses ? r.accesses : taken;
        if (r.fault || r.left || r.unsure) {
            uint32_t flags = r.flags | (r.fault ? CTR_LEFT_FAULTED : 0u);
            put_marker(e, r.local, CTR_WORD_LEFT | flags << 16 | r.n);
            put_number(e, r.accesses);
        } else if (r.left_at) {
            put_marker(e, r.local, e->mem ? r.left_at : CTR_WORD_LEFT_AT | r.n << 14);
        }
        err = run_extras(e, w, &r, 1, &extra_last, diag);
        if (err) {
            return err;
        }
        e->runs++;
        e->insns += r.n - r.first;
        if (r.first == 0 && r.n == b->ninsn) {
            b->full++;
        } else if (r.n > r.first &&
                   countmap_add(&e->cuts, CUT_KEY(r.local, r.first, r.n), 1)) {
            return ctr_fail_nomem(diag);
        }
    }
    w->word = r.end;
    if (e->mem) {
        /* Addresses that are not kept are passed over. */
        uint32_t end = w->addr + taken;
        encode_pending(e, w);
        w->addr = end;
    }
    return 0;
}
