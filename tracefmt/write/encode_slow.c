/* SPDX-License-Identifier: MIT */
/*
 * Runs that are not straight: first it finds their end, then it checks everything, then
 * it emits tokens and accesses. It reports what makes no sense and guesses nothing,
 * except for the tail of a killed process.
 */
#include "write/encode.h"

/* A token, and the word for it. */
static void put_token(struct ctr_encoder *e, uint32_t tok, uint32_t word)
{
    uint32_t *ctx = e->tok.ctx_loc == TOK_NONE
                        ? &e->tok.start.next[e->tok.ctx_which]
                        : &e->blocks.loc[e->tok.ctx_loc].next[e->tok.ctx_which];
    unsigned hit = *ctx == word;
    *ctx = word;
    e->tok.hit[e->tok.n++] = (uint8_t)hit;
    if (hit) {
        return;
    }
    uint64_t *m = e->tok.miss + e->tok.nmiss;
    uint32_t group = CTR_GROUP_OF(tok);
    uint64_t from = e->tok.ctx_which ? FROM_NONE : e->tok.ctx_from;
    if (tok < TOK16_GROUP) {
        m[0] = from | tok;
        e->tok.nmiss++;
    } else if (CTR_WORD_KIND(tok) == CTR_WORD_GROUP && group <= TOK16_GROUP_MAX) {
        m[0] = from | (TOK16_GROUP + group);
        e->tok.nmiss++;
    } else {
        m[0] = from | TOK16_ESCAPE;
        m[1] = FROM_NONE | (tok & 0xffffu);
        m[2] = FROM_NONE | tok >> 16;
        e->tok.nmiss += 3;
    }
}

static void put_marker(struct ctr_encoder *e, uint32_t local, uint32_t tok)
{
    put_token(e, tok, tok);
    e->tok.ctx_loc = local;
    e->tok.ctx_which = 1;
}

/* The number after a LEFT token: not predicted, no bit. */
static void put_number(struct tokens *tok, uint32_t number)
{
    uint64_t *m = tok->miss + tok->nmiss;
    m[0] = FROM_NONE | (number & 0xffffu);
    m[1] = FROM_NONE | number >> 16;
    tok->nmiss += 2;
}

/* Word i of the segment, which belongs to the run at w->word: read once, in order. */
static uint32_t word_at(struct run_parts *run, const struct segment_walk *w, uint32_t i)
{
    const volatile uint32_t *shared = w->seg->words + w->word;
    uint32_t k = i - w->word;
    for (; run->nword <= k; run->nword++) {
        run->word[run->nword] = shared[run->nword];
    }
    return run->word[k];
}

/* Finds the end of the run at w->word and what ended it. */
static int run_scan(struct ctr_encoder *e, const struct segment_walk *w,
                    struct slow_run *r, struct ctr_diag *diag)
{
    uint32_t n = w->seg->n_words;
    uint32_t i = w->word;
    uint32_t word = word_at(&e->run, w, i);
    *r = (struct slow_run){.at = i, .side_end = UINT32_MAX};
    if (!CTR_WORD_IS_BLOCK(word)) {
        if (CTR_WORD_KIND(word) != CTR_WORD_RESUME ||
            word != (CTR_WORD_RESUME | CTR_RESUME_INSN(word))) {
            return encode_bad_word(w, i, diag, "not a block");
        }
        if (i + 1 >= n || !CTR_WORD_IS_BLOCK(word_at(&e->run, w, i + 1))) {
            return encode_bad_word(w, i, diag, "no block to resume");
        }
        r->resumed = 1;
        r->resume_insn = CTR_RESUME_INSN(word);
        i++;
    }
    if (w->rest) {
        r->resumed = 1;
        r->resume_insn = w->rest - 1;
    }
    r->first = r->resumed ? r->resume_insn + 1 : 0;
    r->raw = word_at(&e->run, w, i++);
    int err = encode_local(e, r->raw, &r->local);
    if (err == -CTR_E_CORRUPT) {
        return encode_bad_word(w, i - 1, diag, "unknown block");
    }
    if (err) {
        return err == -CTR_E_NOMEM
                   ? ctr_fail_nomem(diag)
                   : ctr_fail(diag, -err, i - 1, "words", "too many blocks in a chunk");
    }
    const struct blockdef *def = &e->blocks.def[r->local]->def;
    r->n = def->ninsn;
    r->limit = r->most = r->derived = UINT32_MAX;
    r->groups = i;
    while (i < n && CTR_WORD_KIND(word_at(&e->run, w, i)) == CTR_WORD_GROUP) {
        i++;
    }
    r->groups_end = i;
    word = i < n ? word_at(&e->run, w, i) : 0;
    if (CTR_WORD_KIND(word) == CTR_WORD_LEFT_AT) {
        r->left_at = word;
        if (word & 0x0f000000u) {
            return encode_bad_word(w, i, diag, "does not belong here");
        }
        i++;
        r->n = CTR_LEFT_AT_INSNS(r->left_at);
    } else if (CTR_WORD_KIND(word) == CTR_WORD_LEFT) {
        if (i + 1 >= n) {
            return encode_bad_word(w, i, diag, "number missing");
        }
        if (CTR_LEFT_FLAGS(word) &
            ~(CTR_LEFT_FAULTED | CTR_LEFT_RESTART | CTR_LEFT_SUSPEND | CTR_LEFT_UNSURE |
              CTR_LEFT_DERIVED)) {
            return encode_bad_word(w, i, diag, "unknown flags");
        }
        r->left = 1;
        r->n = CTR_LEFT_INSNS(word);
        r->flags = CTR_LEFT_FLAGS(word);
        r->number = word_at(&e->run, w, i + 1);
        i += 2;
        if (r->flags & CTR_LEFT_DERIVED) {
            if (i == n || r->flags & CTR_LEFT_RESTART) {
                return encode_bad_word(w, i - 2, diag, "number missing");
            }
            r->flags &= ~CTR_LEFT_DERIVED;
            r->derived = word_at(&e->run, w, i++);
        }
    }
    if (i < n && word_at(&e->run, w, i) == CTR_WORD_FAULT) {
        r->fault = 1;
        i++;
    }
    r->end = i;
    word = i < n ? word_at(&e->run, w, i) : 0;
    if (!CTR_WORD_IS_BLOCK(word) && i < n && CTR_WORD_KIND(word) != CTR_WORD_RESUME) {
        return encode_bad_word(w, i, diag, "does not belong here");
    }
    if (r->n > def->ninsn || r->first > def->ninsn) {
        return encode_bad_word(w, i - 1, diag, "more instructions than the block has");
    }
    if (r->left && e->rec.slots) {
        if (r->number < w->unit || r->number > w->have) {
            return encode_bad_word(w, i - 1, diag, "impossible length of the data");
        }
        r->limit = r->number - w->unit;
    }
    r->unsure = i == n && !r->left && !r->left_at && !r->fault &&
                (w->seg->flags & CTR_SEGMENT_UNSURE);
    if (r->unsure) {
        r->limit = w->sure > w->unit ? w->sure - w->unit : 0;
    }
    return 0;
}

/*
 * The first slot without units in the data column that the run has not reached, though
 * it may have made all others: it is after the instruction in which the run was left,
 * or in the run's next part.
 */
static uint32_t no_data_end(const struct dict_entry *d, const struct slow_run *r)
{
    uint32_t k = 0;
    if (!r->left || !d->def.nderived) {
        return UINT32_MAX;
    }
    while (k < d->def.nslot && d->slot[k].s.insn < r->n) {
        k++;
    }
    return r->flags & CTR_LEFT_SUSPEND ? encode_resume_at(d, r->n) : k;
}

/* The state of the walk over a run's slots. */
struct making {
    uint32_t from;    /* first slot of this part of the run */
    uint32_t no_data; /* see no_data_end */
    uint32_t stop_insn;
    uint32_t have; /* units left in the segment */
    int put;
};

/* Makes slot k. Returns 1; 0 if the run ends before it; or an error. */
static int make_slot(struct ctr_encoder *e, const struct segment_walk *w,
                     struct slow_run *r, struct making *m, uint32_t k,
                     struct ctr_diag *diag)
{
    const struct dict_entry *d = e->blocks.def[r->local];
    const struct ctr_slot *s = &d->slot[k].s;
    uint32_t units = encode_units(&e->rec, s);
    if (r->slots == r->most || units > r->limit - r->units || s->insn >= m->stop_insn ||
        (units == 0 && k >= m->no_data)) {
        return 0;
    }
    if (units > m->have - r->units) {
        return encode_bad_word(w, r->at, diag, "data missing");
    }
    if (s->derived) {
        struct slot_derive v;
        blockdef_derive(&d->def, d->slot[k].entry, &v);
        if (v.root != CTR_DERIVE_CONST && v.root < m->from) {
            return encode_bad_word(w, r->at, diag,
                                   "what an address follows from is cut off");
        }
        if (s->insn + 1u == r->n) {
            if (r->made_derived == r->derived) {
                return 0;
            }
            r->made_derived++;
        }
    }
    r->last_insn = s->insn + 1u > r->last_insn ? s->insn + 1u : r->last_insn;
    r->units += units;
    r->slots++;
    if (units) {
        r->data_slots = r->slots;
        r->data_insn = r->last_insn;
    }
    if (m->put) {
        e->run.pending[e->run.npending++] = k;
        if (s->derived && d->slot[k].addr == DICT_NO_ADDR &&
            encode_constant(e, dict_constant(d, k))) {
            return ctr_fail_nomem(diag);
        }
    }
    return 1;
}

/*
 * Walks over the slots of a run in the order in which they were made, up to the first
 * slot of instruction stop_insn or later. With `put' it emits tokens and slots become
 * pending; otherwise it only counts them.
 */
static int run_slots(struct ctr_encoder *e, const struct segment_walk *w,
                     struct slow_run *r, int put, uint32_t stop_insn,
                     struct ctr_diag *diag)
{
    const struct dict_entry *d = e->blocks.def[r->local];
    const struct dict_slot *slot = d->slot;
    const uint32_t nslot = d->def.nslot;
    struct making m = {.no_data = no_data_end(d, r),
                       .stop_insn = stop_insn,
                       .have = w->have - w->unit,
                       .put = put};
    uint32_t next = 0;   /* first slot not passed yet */
    uint32_t uncond = 0; /* unconditional ones passed */
    int made;
    r->last_insn = r->data_slots = r->data_insn = r->slots = r->units = r->made_derived =
        0;

#define MAKE(k)                                                                          \
    do {                                                                                 \
        made = make_slot(e, w, r, &m, k, diag);                                          \
        if (made <= 0) {                                                                 \
            return made;                                                                 \
        }                                                                                \
    } while (0)

    if (r->resumed) {
        next = encode_resume_at(d, r->resume_insn + 1);
        m.from = next;
        for (uint32_t k = 0; k < next; k++) {
            uncond += slot_group(&slot[k].s) == 0;
            r->made_derived += slot[k].s.derived && slot[k].s.insn + 1u == r->n;
        }
    }
    for (uint32_t i = r->groups; e->rec.slots && i < r->groups_end; i++) {
        uint32_t word = word_at(&e->run, w, i);
        uint32_t group = CTR_GROUP_OF(word);
        if (group == 0 || group > d->def.ngroup || word != (CTR_WORD_GROUP | group)) {
            return encode_bad_word(w, i, diag, "no such group");
        }
        uint32_t g = d->group_first[group];
        if (g == nslot) {
            continue;
        }
        for (; next < g; next++) {
            if (slot_group(&slot[next].s) == 0) {
                MAKE(next);
                uncond++;
            }
        }
        if (r->limit == r->units || slot[g].s.insn >= stop_insn) {
            return 0;
        }
        if (put) {
            put_marker(e, r->local, CTR_WORD_GROUP | group);
        }
        for (uint32_t k = g; k < d->group_end[group]; k++) {
            if (slot_group(&slot[k].s) == group) {
                MAKE(k);
            }
        }
    }
    uint32_t upto =
        r->left_at && e->rec.slots ? CTR_LEFT_AT_SLOTS(r->left_at) : UINT32_MAX;
    for (; next < nslot && uncond < upto; next++) {
        if (slot_group(&slot[next].s) == 0) {
            MAKE(next);
            uncond++;
        }
    }
    if (r->left_at && e->rec.slots && uncond != upto) {
        return encode_bad_word(w, r->groups_end, diag, "impossible number of slots");
    }
#undef MAKE
    return 0;
}

/* Of the tail of a killed process: ends the run with the last thing that it surely did. */
static int end_unsure(struct ctr_encoder *e, struct segment_walk *w, struct slow_run *r,
                      struct ctr_diag *diag)
{
    uint32_t extra_last = 0;
    int err = run_slots(e, w, r, 0, UINT32_MAX, diag);
    err = err ? err : encode_run_side(e, w, r, 0, &extra_last, diag);
    if (err) {
        return err;
    }
    /* slots after the last data are unknown */
    r->limit = r->units;
    r->most = r->data_slots;
    r->n = r->data_insn > extra_last ? r->data_insn : extra_last;
    r->n = r->n > r->first ? r->n : (r->first ? r->first : 1);
    r->flags |= CTR_LEFT_UNSURE;
    return 0;
}

/* The run that begins at w->word, whatever it is like. */
int encode_slow(struct ctr_encoder *e, struct segment_walk *w, struct ctr_diag *diag)
{
    struct slow_run r;
    e->run.nword = 0;
    if (word_at(&e->run, w, w->word) == CTR_WORD_FAULT) {
        e->sum.dropped_faults++;
        w->word++;
        return 0;
    }
    int err = run_scan(e, w, &r, diag);
    err = !err && r.unsure ? end_unsure(e, w, &r, diag) : err;
    if (err) {
        return err;
    }
    if (e->limits.may_stop && encode_cut(e, w, &r)) {
        return 1;
    }
    e->sum.unsure |= r.unsure;
    struct local *b = &e->blocks.loc[r.local];
    uint32_t taken = 0; /* its data, including what is discarded */
    uint32_t extra_last = 0;
    int keep = 1;
    if (r.flags & CTR_LEFT_RESTART) {
        /* Find what instruction n has done already, and leave that out. */
        taken = r.limit;
        r.restart = 1;
        r.n -= r.n > 0;
        r.flags &= ~CTR_LEFT_RESTART;
        err = run_slots(e, w, &r, 0, r.n, diag);
        if (err) {
            return err;
        }
        r.limit = r.units;
    }
    if (r.n < r.first) {
        r.n = r.first;
    }
    if (r.n == 0) {
        keep = 0; /* left before its first instruction */
        if (e->rec.slots && ((r.limit && r.limit != UINT32_MAX) ||
                             (r.left_at && CTR_LEFT_AT_SLOTS(r.left_at)))) {
            return encode_bad_word(w, r.at, diag, "data without an instruction");
        }
        err = encode_run_side(e, w, &r, 1, &extra_last, diag);
        if (err) {
            return err;
        }
    }
    if (keep) {
        int ran = r.n > r.first; /* it executed instructions of its own */
        e->sum.last_raw = r.raw;
        if (r.resumed) {
            uint32_t word = CTR_WORD_RESUME | r.resume_insn;
            e->sum.flags |= CHUNK_F_RESUMES;
            put_token(e, word, word);
            e->tok.ctx_loc = TOK_NONE;
            e->tok.ctx_which = 1;
            encode_next_rest(e);
            if (ran && encode_next_unknown(e)) {
                return ctr_fail_nomem(diag);
            }
        } else {
            encode_next(e, r.local);
        }
        put_token(e, r.local, r.raw);
        e->tok.ctx_loc = r.local;
        e->tok.ctx_which = 0;
        e->tok.ctx_from = b->from;
        err = run_slots(e, w, &r, 1, UINT32_MAX, diag);
        if (err) {
            return err;
        }
        if (r.last_insn > r.n) {
            return encode_bad_word(w, r.at, diag, "data of an instruction not executed");
        }
        if (r.limit != UINT32_MAX && e->rec.slots && r.units != r.limit) {
            return encode_bad_word(w, r.at, diag, "more data than the block makes");
        }
        if (r.derived != UINT32_MAX && e->rec.mem && r.made_derived != r.derived) {
            return encode_bad_word(w, r.at, diag, "impossible number of slots");
        }
        taken = taken < r.units ? r.units : taken;
        if (r.fault || r.left || r.unsure) {
            uint32_t flags = r.flags | (r.fault ? CTR_LEFT_FAULTED : 0u);
            put_marker(e, r.local, CTR_WORD_LEFT | flags << 16 | r.n);
            put_number(&e->tok, r.slots);
        } else if (r.left_at) {
            put_marker(e, r.local,
                       e->rec.slots ? r.left_at : CTR_WORD_LEFT_AT | r.n << 14);
        }
        uint32_t unit = w->unit;
        encode_pending(e, w, r.local);
        w->unit = unit;
        err = encode_run_side(e, w, &r, 1, &extra_last, diag);
        if (err) {
            return err;
        }
        e->run.npending = 0;
        e->sum.runs++;
        e->sum.insns += r.n - r.first;
        int whole = r.first == 0 && r.n == b->ninsn;
        e->blocks.follower[r.local].full += (uint32_t)whole;
        e->blocks.follower[r.local].slow += (uint32_t)whole;
        if (ran && !whole &&
            countmap_add(&e->follow.cuts, CUT_KEY(r.local, r.first, r.n), 1)) {
            return ctr_fail_nomem(diag);
        }
        if (ran && r.n == b->ninsn &&
            encode_ran(e, r.local, r.first,
                       r.fault || r.flags & (CTR_LEFT_FAULTED | CTR_LEFT_UNSURE))) {
            return ctr_fail_nomem(diag);
        }
    }
    w->unit += taken; /* skips what is not kept */
    if (r.side_end != UINT32_MAX) {
        e->sum.side_read += r.side_end - w->side;
        w->side = r.side_end;
        w->rest = r.n;
        return 1;
    }
    w->word = r.end;
    w->passed = r.end;
    w->rest = 0;
    return encode_between(e, w, r.end, diag);
}
