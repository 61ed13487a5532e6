/* SPDX-License-Identifier: MIT */
/*
 * The blocks of a chunk. They get numbers local to it, so that all state is dense no
 * matter how many blocks the recording has.
 */
#include "write/encode.h"

#include <string.h>

/* Room for n more elements after `have'. */
static int room(void *p, uint32_t *cap, uint32_t have, uint32_t n, size_t size)
{
    void *q;
    memcpy(&q, p, sizeof(q));
    if (have + n <= *cap && q) {
        return 0;
    }
    uint32_t more = *cap * 2 + 1024 + n;
    q = realloc(q, more * size);
    if (!q) {
        return -CTR_E_NOMEM;
    }
    memcpy(p, &q, sizeof(q));
    *cap = more;
    return 0;
}

static size_t pred_size(const struct ctr_encoder *e)
{
    return e->addr_bytes == 4 ? sizeof(struct pred32) : sizeof(struct pred64);
}

static int room_preds(struct ctr_encoder *e, uint32_t n)
{
    uint32_t cap = e->pred_cap;
    if (room(&e->pred, &cap, e->npred, n, pred_size(e)) ||
        room(&e->reach, &e->pred_cap, e->npred, n, sizeof(e->reach[0]))) {
        return -CTR_E_NOMEM;
    }
    return 0;
}

int encode_local_begin(struct ctr_encoder *e)
{
    /* Moving the base invalidates the local ids of the last chunk. */
    if (e->map_base > UINT32_MAX - 2 * (e->nloc + MAX_LOCALS + 1)) {
        memset(e->map, 0, e->map_cap * sizeof(e->map[0]));
        e->map_base = 1;
    } else {
        e->map_base += e->nloc;
    }
    e->nloc = 0;
    e->nslot = 0;
    e->def_bytes = 0;
    e->npiece = 0;
    e->npred = 0;
    if (room(&e->item, &e->item_cap, 0, NO_ITEM + 1, sizeof(e->item[0]))) {
        return -CTR_E_NOMEM;
    }
    e->nitem = NO_ITEM + 1;
    memset(&e->item[NO_ITEM], 0, sizeof(e->item[0]));
    return 0;
}

/* Room in all arenas for what a block needs. */
static int make_room(struct ctr_encoder *e, const struct dict_entry *d)
{
    uint32_t pieces = 0;
    if (e->nloc >= MAX_LOCALS || e->nslot + d->def.nslot > MAX_CHUNK_SLOTS ||
        e->def_bytes + d->def.bytes > MAX_CHUNK_DEFS) {
        return -CTR_E_LIMIT;
    }
    for (unsigned i = 0; e->data && i < d->def.nslot; i++) {
        pieces += value_pieces(d->slot[i].s.size);
    }
    if (e->npiece + pieces > MAX_CHUNK_PIECES) {
        return -CTR_E_LIMIT;
    }
    if (e->nloc == e->loc_cap) {
        uint32_t cap[4] = {e->loc_cap, e->loc_cap, e->loc_cap, e->loc_cap};
        if (room(&e->loc, &cap[0], e->nloc, 1, sizeof(e->loc[0])) ||
            room(&e->def, &cap[1], e->nloc, 1, sizeof(e->def[0])) ||
            room(&e->follower, &cap[2], e->nloc, 1, sizeof(e->follower[0])) ||
            room(&e->raw_of, &cap[3], e->nloc, 1, sizeof(e->raw_of[0]))) {
            return -CTR_E_NOMEM;
        }
        e->loc_cap = cap[0];
    }
    if (e->data
            ? room(&e->item, &e->item_cap, e->nitem, d->nitem, sizeof(e->item[0])) ||
                  room(&e->piece, &e->piece_cap, e->npiece, pieces, sizeof(e->piece[0]))
            : room_preds(e, d->naddr)) {
        return -CTR_E_NOMEM;
    }
    return 0;
}

/* A derived slot, entry `entry' of its block's; it is the nth item from `base' on. */
static void item_derive(const struct ctr_encoder *e, struct item *it,
                        const struct dict_entry *d, unsigned entry, uint32_t nth,
                        uint32_t base)
{
    struct slot_derive v;
    blockdef_derive(&d->def, entry, &v);
    it->root =
        v.root == CTR_DERIVE_CONST ? base + nth - NO_ITEM : nth - d->slot[v.root].item;
    it->step = (uint64_t)v.delta;
    it->bits = v.bits;
    it->is_signed = v.is_signed;
    if (!v.is_signed || v.bits == 8 * e->addr_bytes) {
        it->kind = ITEM_ACCESS_DERIVED;
        it->last = ~0ull >> (64 - v.bits);
        it->last = e->addr_bytes == 4 ? (uint32_t)it->last : it->last;
    } else {
        it->kind = ITEM_ANY_DERIVED;
    }
}

/* How to encode slot k, whose block's items begin at `base'. */
static struct item item_of(struct ctr_encoder *e, const struct dict_entry *d,
                           const struct dict_slot *k, uint32_t base)
{
    const struct ctr_slot *s = &k->s;
    struct item it = {
        .kind = ITEM_ACCESS, .units = (uint8_t)encode_units(e, s), .piece = e->npiece};
    if (s->derived) {
        item_derive(e, &it, d, k->entry, k->item, base);
    } else if (!s->reg) {
        it.reach = d->reach[k->addr];
    }
    if (s->reg || (e->val && !s->novalue)) {
        it.pieces = (uint16_t)value_pieces_init(&e->piece[e->npiece], s, e->addr_bytes);
        e->npiece += it.pieces;
    }
    if (s->reg) {
        it.kind = ITEM_REGISTER;
    } else if (it.pieces == 1 && e->piece[it.piece].span == e->addr_bytes &&
               it.kind != ITEM_ANY_DERIVED) {
        it.value = e->piece[it.piece];
    } else {
        it.kind = s->derived ? ITEM_ANY_DERIVED : ITEM_ANY;
    }
    return it;
}

static void local_items(struct ctr_encoder *e, struct local *b,
                        const struct dict_entry *d)
{
    struct item *row = NULL, *whole = &e->item[e->nitem];
    b->base = e->nitem;
    b->n = d->nwhole;
    b->need = 0;
    for (unsigned i = 0; i < d->def.nslot; i++) {
        const struct ctr_slot *s = &d->slot[i].s;
        struct item *it = &e->item[b->base + d->slot[i].item];
        *it = item_of(e, d, &d->slot[i], b->base);
        b->need += slot_group(s) ? 0 : it->units;
        b->most = it->units > b->most ? it->units : b->most;
        if (slot_in_row(s) && !row) {
            row = whole++;
            *row = (struct item){.kind = ITEM_ROW, .piece = it->piece};
        } else if (!slot_in_row(s)) {
            row = NULL;
            whole += slot_group(s) == 0;
        }
        if (row) {
            row->pieces++;
        }
    }
    e->nitem += d->nitem;
}

static int local_new(struct ctr_encoder *e, const struct dict_entry *d, uint32_t raw)
{
    uint32_t l = e->nloc, base = e->npred;
    struct local *b = &e->loc[l];
    *b = (struct local){
        .next = {TOK_NONE, TOK_NONE},
        .from = FROM(l, 0),
        .base = base,
        .need = d->nplain,
        .n = d->nplain,
        .ninsn = d->def.ninsn,
        .most = 1,
    };
    if (e->data) {
        local_items(e, b, d);
    } else if (d->naddr) {
        memset((uint8_t *)e->pred + base * pred_size(e), 0, d->naddr * pred_size(e));
        memcpy(e->reach + base, d->reach, d->naddr * sizeof(d->reach[0]));
        e->npred += d->naddr;
        if (BATCH + d->nplain > e->batch_cap) {
            e->batch_cap = BATCH + d->nplain;
        }
    }
    e->def[l] = d;
    e->raw_of[l] = raw;
    e->follower[l] = (struct follower){.pc = d->pc, .end = d->end, .next_pc = d->end + 1};
    e->nslot += d->def.nslot;
    e->def_bytes += d->def.bytes;
    e->nloc++;
    return 0;
}

int encode_local(struct ctr_encoder *e, uint32_t raw, uint32_t *out)
{
    if (encode_knows(e, raw)) {
        *out = e->map[raw] - e->map_base;
        return 0;
    }
    const struct dict_entry *d = dict_raw(e->dict, raw);
    if (!d) {
        return -CTR_E_CORRUPT;
    }
    int err = make_room(e, d);
    if (err) {
        return err;
    }
    if (raw >= e->map_cap) {
        uint32_t from = e->map_cap;
        if (room(&e->map, &e->map_cap, from, raw - from + 1, sizeof(e->map[0]))) {
            return -CTR_E_NOMEM;
        }
        memset(e->map + from, 0, (size_t)(e->map_cap - from) * sizeof(e->map[0]));
    }
    *out = e->nloc;
    err = local_new(e, d, raw);
    if (!err) {
        e->map[raw] = e->map_base + *out;
    }
    return err;
}
