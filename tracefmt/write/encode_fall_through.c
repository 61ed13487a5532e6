/* SPDX-License-Identifier: MIT */
/*
 * For the index: how often a thread continued directly after a block. For a block that
 * ends with a conditional branch that is how often the branch was not taken.
 *
 * The fast path pays at most two stores a run for it. What follows a straight run is
 * the token that its block's context predicts, until the prediction changes. So the
 * runs between two misses of a context are all alike, and only the misses need to be
 * looked at. Runs with markers after them are few and are counted one by one.
 *
 * If a signal came in between, its handler is not where the branch went; the event
 * records the interrupted pc.
 */
#include "write/encode.h"

static int falls(const struct ctr_encoder *e, uint32_t from, uint32_t to)
{
    return to < e->blocks.n && e->blocks.follower[to].pc == e->blocks.follower[from].end;
}

/* The last run has continued after its block, or elsewhere. */
static void went(struct ctr_encoder *e, int fell)
{
    struct ahead *a = &e->follow.ahead;
    if (a->first == 0) {
        e->blocks.follower[a->last].falls += (uint32_t)fell;
    } else if (fell) { /* encode_ran has made its entry */
        countmap_add(&e->follow.cut_falls,
                     CUT_KEY(a->last, a->first, e->blocks.loc[a->last].ninsn), 1);
    }
}

/* The last run is settled; the fast path's arithmetic must not count it, too. */
static void waits_no_more(struct ahead *a)
{
    a->undo = a->counted ? a->last : TOK_NONE;
    a->last = TOK_NONE;
}

void encode_next(struct ctr_encoder *e, uint32_t to)
{
    struct ahead *a = &e->follow.ahead;
    if (a->head == 0) {
        a->head = CHUNK_F_NEXT;
        a->head_pc = e->blocks.follower[to].pc;
    }
    if (a->undo != TOK_NONE) {
        e->blocks.follower[a->undo].falls -= (uint32_t)falls(e, a->undo, to);
        a->undo = TOK_NONE;
    }
    if (a->last != TOK_NONE && !a->counted) {
        went(e, falls(e, a->last, to));
    }
    a->last = TOK_NONE;
}

void encode_next_rest(struct ctr_encoder *e)
{
    /* A marker follows the straight run: the arithmetic does not count it. */
    e->follow.ahead.counted = 0;
    e->follow.ahead.undo = TOK_NONE;
}

void encode_next_pc(struct ctr_encoder *e, uint64_t pc)
{
    struct ahead *a = &e->follow.ahead;
    if (a->head == 0) {
        a->head = CHUNK_F_NEXT;
        a->head_pc = pc;
    }
    if (a->last != TOK_NONE) {
        went(e, pc == e->blocks.follower[a->last].end);
        waits_no_more(a);
    }
}

int encode_next_unknown(struct ctr_encoder *e)
{
    struct ahead *a = &e->follow.ahead;
    if (a->head == 0) {
        a->head = CHUNK_F_BREAK;
    }
    if (a->last == TOK_NONE) {
        return 0;
    }
    int bad = countmap_add(&e->follow.unknown, CUT_KEY(a->last, a->first, 0), 1);
    waits_no_more(a);
    return bad;
}

int encode_ran(struct ctr_encoder *e, uint32_t local, uint32_t first, int unknown)
{
    uint64_t key = CUT_KEY(local, first, e->blocks.loc[local].ninsn);
    e->follow.ahead.last = local;
    e->follow.ahead.first = first;
    e->follow.ahead.counted = 0;
    if (unknown) {
        return encode_next_unknown(e);
    }
    return first ? countmap_add(&e->follow.cut_falls, key, 0) : 0;
}

/* From straight run number `since' of a block on, the prediction is pc. */
static inline void change(struct follower *f, uint32_t since, uint64_t pc)
{
    /* no branch: half of all changes are from falling through */
    f->falls += (since - f->since) & -(uint32_t)(f->next_pc == f->end);
    f->next_pc = pc;
    f->since = since;
}

void encode_follow_end(struct ctr_encoder *e)
{
    struct follower *const follower = e->blocks.follower;
    for (uint32_t i = 0; i < e->tok.nmiss; i++) {
        uint64_t miss = e->tok.miss[i];
        if (FROM_LOCAL(miss) == FROM_NO_LOCAL) {
            continue;
        }
        struct follower *f = &follower[FROM_LOCAL(miss)];
        uint32_t tok = (uint16_t)miss;
        if (tok == TOK16_ESCAPE) {
            tok = (uint16_t)e->tok.miss[i + 1] | (uint32_t)(uint16_t)e->tok.miss[i + 2]
                                                     << 16;
        } else if (tok >= TOK16_GROUP) {
            tok = TOK_NONE;
        }
        change(f, FROM_SINCE(miss), tok < e->blocks.n ? follower[tok].pc : f->end + 1);
    }
    /* Nothing follows the last run. */
    if (e->tok.ctx_loc != TOK_NONE && e->tok.ctx_which == 0) {
        struct follower *f = &follower[e->tok.ctx_loc];
        change(f, FROM_SINCE(e->tok.ctx_from), f->end + 1);
    }
    for (uint32_t l = 0; l < e->blocks.n; l++) {
        change(&follower[l], FROM_SINCE(e->blocks.loc[l].from), follower[l].end + 1);
    }
}
