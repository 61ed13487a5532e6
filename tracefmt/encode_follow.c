/* SPDX-License-Identifier: MIT */
/*
 * How often the block behind a block came next, for the index: of a block that ends
 * with a conditional branch that is how often it was not taken.
 *
 * The fast path pays two stores a run for it.  What follows a plain run is the token
 * that its block's context foretells, until it is another one.  So the runs between
 * two misses of a context are all alike, and only the misses need to be looked at.
 * Runs with markers behind them are few and are counted one by one.
 */
#include "encode.h"

static int falls(const struct ctr_encoder *e, uint32_t from, uint32_t to)
{
    return to < e->nloc && e->follower[to].pc == e->follower[from].end;
}

void encode_follow(struct ctr_encoder *e, uint32_t from, uint32_t to)
{
    e->follower[from].falls += (uint32_t)falls(e, from, to);
}

/* From plain run number `since' of block `from' on, `next' is foretold. */
static void change(struct ctr_encoder *e, uint32_t from, uint32_t since, uint32_t next)
{
    struct follower *f = &e->follower[from];
    if (falls(e, from, f->next)) {
        f->falls += since - f->since;
    }
    f->next = next;
    f->since = since;
}

void encode_follow_end(struct ctr_encoder *e)
{
    for (uint32_t i = 0; i < e->ntok_miss; i++) {
        const struct follow *f = &e->follow[i];
        if (f->from == TOK_NONE) {
            continue;
        }
        uint32_t tok = e->tok_miss[i];
        if (tok == TOK16_ESCAPE) {
            tok = e->tok_miss[i + 1] | (uint32_t)e->tok_miss[i + 2] << 16;
        } else if (tok >= TOK16_GROUP) {
            tok = TOK_NONE;
        }
        change(e, f->from, f->since, tok);
    }
    /* Nothing follows the last run. */
    if (e->ctx_loc != TOK_NONE && e->ctx_which == 0) {
        change(e, e->ctx_loc, e->ctx_since, TOK_NONE);
    }
    for (uint32_t l = 0; l < e->nloc; l++) {
        change(e, l, e->loc[l].fast, TOK_NONE);
    }
}
