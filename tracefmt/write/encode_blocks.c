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

static size_t pred_size(const struct recorded *rec)
{
    return rec->addr_bytes == 4 ? sizeof(struct pred32) : sizeof(struct pred64);
}

static int room_preds(struct slot_preds *s, const struct recorded *rec, uint32_t n)
{
    uint32_t cap = s->pred_cap;
    if (room(&s->pred, &cap, s->npred, n, pred_size(rec)) ||
        room(&s->reach, &s->pred_cap, s->npred, n, sizeof(s->reach[0]))) {
        return -CTR_E_NOMEM;
    }
    return 0;
}

int encode_local_begin(struct ctr_encoder *e)
{
    /* Moving the base invalidates the local ids of the last chunk. */
    if (e->blocks.map_base > UINT32_MAX - 2 * (e->blocks.n + MAX_LOCALS + 1)) {
        memset(e->blocks.map, 0, e->blocks.map_cap * sizeof(e->blocks.map[0]));
        e->blocks.map_base = 1;
    } else {
        e->blocks.map_base += e->blocks.n;
    }
    e->blocks.n = 0;
    e->blocks.nslot = 0;
    e->blocks.def_bytes = 0;
    e->preds.npiece = 0;
    e->preds.npred = 0;
    if (room(&e->preds.item, &e->preds.item_cap, 0, NO_ITEM + 1,
             sizeof(e->preds.item[0]))) {
        return -CTR_E_NOMEM;
    }
    e->preds.nitem = NO_ITEM + 1;
    memset(&e->preds.item[NO_ITEM], 0, sizeof(e->preds.item[0]));
    return 0;
}

/* Room in all arenas for what a block needs. */
static int make_room(struct ctr_encoder *e, const struct dict_entry *d)
{
    uint32_t pieces = 0;
    if (e->blocks.n >= MAX_LOCALS || e->blocks.nslot + d->def.nslot > MAX_CHUNK_SLOTS ||
        e->blocks.def_bytes + d->def.bytes > MAX_CHUNK_DEFS) {
        return -CTR_E_LIMIT;
    }
    for (unsigned i = 0; e->rec.data && i < d->def.nslot; i++) {
        pieces += value_pieces(d->slot[i].s.size);
    }
    if (e->preds.npiece + pieces > MAX_CHUNK_PIECES) {
        return -CTR_E_LIMIT;
    }
    if (e->blocks.n == e->blocks.cap) {
        uint32_t cap[4] = {e->blocks.cap, e->blocks.cap, e->blocks.cap, e->blocks.cap};
        if (room(&e->blocks.loc, &cap[0], e->blocks.n, 1, sizeof(e->blocks.loc[0])) ||
            room(&e->blocks.def, &cap[1], e->blocks.n, 1, sizeof(e->blocks.def[0])) ||
            room(&e->blocks.follower, &cap[2], e->blocks.n, 1,
                 sizeof(e->blocks.follower[0])) ||
            room(&e->blocks.raw_of, &cap[3], e->blocks.n, 1,
                 sizeof(e->blocks.raw_of[0]))) {
            return -CTR_E_NOMEM;
        }
        e->blocks.cap = cap[0];
    }
    if (e->rec.data ? room(&e->preds.item, &e->preds.item_cap, e->preds.nitem, d->nitem,
                           sizeof(e->preds.item[0])) ||
                          room(&e->preds.piece, &e->preds.piece_cap, e->preds.npiece,
                               pieces, sizeof(e->preds.piece[0]))
                    : room_preds(&e->preds, &e->rec, d->naddr)) {
        return -CTR_E_NOMEM;
    }
    return 0;
}

/* A derived slot, entry `entry' of its block's; it is the nth item from `base' on. */
static void item_derive(const struct recorded *rec, struct item *it,
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
    if (!v.is_signed || v.bits == 8 * rec->addr_bytes) {
        it->kind = ITEM_ACCESS_DERIVED;
        it->last = ~0ull >> (64 - v.bits);
        it->last = rec->addr_bytes == 4 ? (uint32_t)it->last : it->last;
    } else {
        it->kind = ITEM_ANY_DERIVED;
    }
}

/* How to encode slot k, whose block's items begin at `base'. */
static struct item item_of(const struct recorded *rec, struct slot_preds *preds,
                           const struct dict_entry *d, const struct dict_slot *k,
                           uint32_t base)
{
    const struct ctr_slot *s = &k->s;
    struct item it = {.kind = ITEM_ACCESS,
                      .units = (uint8_t)encode_units(rec, s),
                      .piece = preds->npiece};
    if (s->derived) {
        item_derive(rec, &it, d, k->entry, k->item, base);
    } else if (!s->reg) {
        it.reach = d->reach[k->addr];
    }
    if (s->reg || (rec->val && !s->novalue)) {
        it.pieces =
            (uint16_t)value_pieces_init(&preds->piece[preds->npiece], s, rec->addr_bytes);
        preds->npiece += it.pieces;
    }
    if (s->reg) {
        it.kind = ITEM_REGISTER;
    } else if (it.pieces == 1 && preds->piece[it.piece].span == rec->addr_bytes &&
               it.kind != ITEM_ANY_DERIVED) {
        it.value = preds->piece[it.piece];
    } else {
        it.kind = s->derived ? ITEM_ANY_DERIVED : ITEM_ANY;
    }
    return it;
}

static void local_items(const struct recorded *rec, struct slot_preds *preds,
                        struct local *b, const struct dict_entry *d)
{
    struct item *row = NULL, *whole = &preds->item[preds->nitem];
    b->base = preds->nitem;
    b->n = d->nwhole;
    b->need = 0;
    for (unsigned i = 0; i < d->def.nslot; i++) {
        const struct ctr_slot *s = &d->slot[i].s;
        struct item *it = &preds->item[b->base + d->slot[i].item];
        *it = item_of(rec, preds, d, &d->slot[i], b->base);
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
    preds->nitem += d->nitem;
}

static int local_new(struct ctr_encoder *e, const struct dict_entry *d, uint32_t raw)
{
    uint32_t l = e->blocks.n, base = e->preds.npred;
    struct local *b = &e->blocks.loc[l];
    *b = (struct local){
        .next = {TOK_NONE, TOK_NONE},
        .from = FROM(l, 0),
        .base = base,
        .need = d->nplain,
        .n = d->nplain,
        .ninsn = d->def.ninsn,
        .most = 1,
    };
    if (e->rec.data) {
        local_items(&e->rec, &e->preds, b, d);
    } else if (d->naddr) {
        memset((uint8_t *)e->preds.pred + base * pred_size(&e->rec), 0,
               d->naddr * pred_size(&e->rec));
        memcpy(e->preds.reach + base, d->reach, d->naddr * sizeof(d->reach[0]));
        e->preds.npred += d->naddr;
        if (BATCH + d->nplain > e->addrs.batch_cap) {
            e->addrs.batch_cap = BATCH + d->nplain;
        }
    }
    e->blocks.def[l] = d;
    e->blocks.raw_of[l] = raw;
    e->blocks.follower[l] =
        (struct follower){.pc = d->pc, .end = d->end, .next_pc = d->end + 1};
    e->blocks.nslot += d->def.nslot;
    e->blocks.def_bytes += d->def.bytes;
    e->blocks.n++;
    return 0;
}

int encode_local(struct ctr_encoder *e, uint32_t raw, uint32_t *out)
{
    if (encode_knows(&e->blocks, raw)) {
        *out = e->blocks.map[raw] - e->blocks.map_base;
        return 0;
    }
    const struct dict_entry *d = dict_raw(e->rec.dict, raw);
    if (!d) {
        return -CTR_E_CORRUPT;
    }
    int err = make_room(e, d);
    if (err) {
        return err;
    }
    if (raw >= e->blocks.map_cap) {
        uint32_t from = e->blocks.map_cap;
        if (room(&e->blocks.map, &e->blocks.map_cap, from, raw - from + 1,
                 sizeof(e->blocks.map[0]))) {
            return -CTR_E_NOMEM;
        }
        memset(e->blocks.map + from, 0,
               (size_t)(e->blocks.map_cap - from) * sizeof(e->blocks.map[0]));
    }
    *out = e->blocks.n;
    err = local_new(e, d, raw);
    if (!err) {
        e->blocks.map[raw] = e->blocks.map_base + *out;
    }
    return err;
}
