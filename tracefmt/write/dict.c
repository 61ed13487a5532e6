/* SPDX-License-Identifier: MIT */
/*
 * The dictionary of block definitions while a trace is written.
 *
 * Different processes of a recording publish the same definition under different raw
 * ids; the file has it once, under a canonical id. One thread adds and forgets;
 * meanwhile encoders look up raw ids and the writer canonical ones, without locks (see
 * idtab).
 *
 * A definition without a raw id is idle. If it is added again it has its old canonical
 * id. It is freed when no thread can hold a reference to it (`stamp') and it is in the
 * file, which must have all ids. So memory holds what is in use, no matter how much was
 * defined.
 *
 * A ring has no file yet, and its file should have few definitions: there canonical ids
 * are reused, and what is freed depends on the chunks that the ring holds.
 */
#include "write/dict.h"

#include <string.h>
#include <xxhash.h>
#include "base/le.h"

#define DICT_RAW_LIMIT 0x80000000u
/*
 * QEMU hands out raw ids one after the other. So many may be missing or still on their
 * way: a process that forks or is killed loses one at most. Invented larger ones would
 * make our tables, and those of each encoder, as large as the numbers are.
 */
#define DICT_RAW_AHEAD (1u << 24)

int ctr_dict_new(struct ctr_dict **out, unsigned events)
{
    struct ctr_dict *d = calloc(1, sizeof(*d));
    *out = NULL;
    if (!d) {
        return -CTR_E_NOMEM;
    }
    d->events = events;
    d->nbucket = 4096;
    d->bucket = calloc(d->nbucket, sizeof(d->bucket[0]));
    d->idle_end = &d->idle;
    pthread_mutex_init(&d->lock, NULL);
    if (!d->bucket || idtab_init(&d->by_raw, DICT_RAW_LIMIT) ||
        idtab_init(&d->by_id, DICT_MAX_IDS + 1)) {
        ctr_dict_free(d);
        return -CTR_E_NOMEM;
    }
    *out = d;
    return 0;
}

void ctr_dict_free(struct ctr_dict *d)
{
    if (!d) {
        return;
    }
    struct dict_entry *e;
    for (uint32_t id = 1; d->by_id.top && (e = idtab_next(&d->by_id, id)) != NULL;) {
        id = e->id + 1;
        free(e);
    }
    idtab_fini(&d->by_id);
    idtab_fini(&d->by_raw);
    free(d->bucket);
    free(d->free_id);
    pthread_mutex_destroy(&d->lock);
    buf_free(&d->strip);
    if (dict_regs(d)) {
        regtable_fini(d->regs);
        free(d->regs);
    }
    free(d);
}

int ctr_dict_regs(struct ctr_dict *d, uint32_t n, const void *table, size_t bytes,
                  struct ctr_diag *diag)
{
    if (dict_regs(d)) {
        return 0;
    }
    struct regtable *t = calloc(1, sizeof(*t));
    int err =
        t ? regtable_parse(t, n, table, bytes, CTR_NO_OFF, diag) : ctr_fail_nomem(diag);
    if (err) {
        free(t);
        return err;
    }
    atomic_store_explicit(&d->regs, t, memory_order_release);
    return 0;
}

uint32_t ctr_dict_size(const struct ctr_dict *d)
{
    /* pairs with the release in ctr_dict_add: entries up to it are there */
    return atomic_load_explicit(&d->size, memory_order_acquire);
}

int ctr_dict_has(const struct ctr_dict *d, uint32_t raw_id)
{
    return dict_raw(d, raw_id) != NULL;
}

uint32_t ctr_dict_id(const struct ctr_dict *d, uint32_t raw_id)
{
    const struct dict_entry *e = dict_raw(d, raw_id);
    return e ? e->id : 0;
}

/*
 * Removes the slots of what is not recorded. Roots are numbers of slots: they change
 * accordingly.
 */
static int strip_slots(struct ctr_dict *d, struct blockdef *def)
{
    size_t head = CTR_BLOCKDEF_FIXED + (size_t)def->ninsn + def->code_bytes;
    int mem = (d->events & CTR_EVENTS_MEM) != 0;
    int reg = (d->events & CTR_EVENTS_REG) != 0;
    uint16_t *number = malloc((def->nslot + 1u) * sizeof(number[0]));
    if (!number || buf_room(&d->strip, def->bytes)) {
        free(number);
        return -CTR_E_NOMEM;
    }
    memcpy(d->strip.p, def->body, head);
    uint8_t *p = d->strip.p + head;
    unsigned nslot = 0;
    for (unsigned i = 0; i < def->nslot; i++) {
        const uint8_t *s = def->slot + (size_t)i * CTR_BLOCKDEF_SLOT;
        number[i] = (uint16_t)nslot;
        if (s[4] & CTR_ACCESS_REG ? reg : mem) {
            memcpy(p, s, CTR_BLOCKDEF_SLOT);
            p += CTR_BLOCKDEF_SLOT;
            nslot++;
        }
    }
    const uint8_t *rest = def->slot + (size_t)def->nslot * CTR_BLOCKDEF_SLOT;
    size_t rest_n = def->bytes - (size_t)(rest - def->body);
    rest_n -= (size_t)def->nderived * CTR_BLOCKDEF_DERIVE;
    memcpy(p, rest, rest_n);
    p += rest_n;
    for (unsigned i = 0; mem && i < def->nderived; i++, p += CTR_BLOCKDEF_DERIVE) {
        struct slot_derive v;
        blockdef_derive(def, i, &v);
        memcpy(p, def->derive + (size_t)i * CTR_BLOCKDEF_DERIVE, CTR_BLOCKDEF_DERIVE);
        put16(p, v.root == CTR_DERIVE_CONST ? CTR_DERIVE_CONST : number[v.root]);
    }
    free(number);
    put16(d->strip.p + CTR_BLOCKDEF_NSLOT, (uint16_t)nslot);
    if (!mem) {
        d->strip.p[CTR_BLOCKDEF_FLAGS] &= (uint8_t)~CTR_BLOCK_HAS_DERIVED;
        put16(d->strip.p + CTR_BLOCKDEF_NGROUP, 0);
    }
    return blockdef_parse(def, d->strip.p, (size_t)(p - d->strip.p), CTR_NO_OFF, NULL);
}

static int grow_buckets(struct ctr_dict *d)
{
    uint32_t n = d->nbucket * 2;
    struct dict_entry **b = calloc(n, sizeof(b[0]));
    if (!b) {
        return -1;
    }
    for (uint32_t i = 0; i < d->nbucket; i++) {
        for (struct dict_entry *e = d->bucket[i], *next; e; e = next) {
            next = e->next;
            e->next = b[e->hash & (n - 1)];
            b[e->hash & (n - 1)] = e;
        }
    }
    free(d->bucket);
    d->bucket = b;
    d->nbucket = n;
    return 0;
}

static struct dict_entry *find(const struct ctr_dict *d, const struct blockdef *def,
                               uint64_t hash)
{
    for (struct dict_entry *e = d->bucket[hash & (d->nbucket - 1)]; e; e = e->next) {
        if (e->hash == hash && e->def.bytes == def->bytes &&
            memcmp(e->def.body, def->body, def->bytes) == 0) {
            return e;
        }
    }
    return NULL;
}

static unsigned reach_kind(const struct slot_derive *v)
{
    if (v->bits == 64) {
        return REACH_WHOLE;
    }
    for (unsigned kind = 1; kind < REACH_WHOLE; kind++) {
        if (reach_bits(kind) == v->bits && reach_is_signed(kind) == v->is_signed) {
            return kind;
        }
    }
    return 0;
}

/* A derived slot: its root's page determines which pages it can touch. */
static void derived_slot(struct dict_entry *e, struct dict_slot *k)
{
    struct slot_derive v;
    unsigned where = k->s.store ? 3 : 0; /* in REACH_* */
    blockdef_derive(&e->def, k->entry, &v);
    if (v.root == CTR_DERIVE_CONST) {
        k->addr = DICT_NO_ADDR;
        e->constant[e->nconst++] = dict_constant(e, (uint32_t)(k - e->slot));
        return;
    }
    k->addr = e->slot[v.root].addr;
    unsigned r = e->reach[k->addr], kind = reach_kind(&v);
    r |= 2u << where;
    r |= v.delta < 0 ? 1u << where : v.delta > 0 ? 4u << where : 0;
    if (REACH_KIND(r) != REACH_WHOLE && kind != REACH_KIND(r)) {
        kind = kind == REACH_WHOLE ? REACH_KIND(r) : 0;
    }
    e->reach[k->addr] = (uint16_t)((r & 63u) | kind << 6);
}

static void number_slot(struct dict_entry *e, struct dict_slot *k)
{
    if (!k->s.reg && !k->s.derived) {
        k->addr = e->naddr++;
        e->reach[k->addr] = (uint16_t)((k->s.store ? 0x10u : 2u) | REACH_WHOLE << 6);
    }
}

/* Numbers the items. */
static void entry_items(struct dict_entry *e)
{
    int row = 0;
    uint16_t n = 0;
    for (unsigned i = 0; i < e->def.nslot; i++) {
        struct dict_slot *k = &e->slot[i];
        n += slot_in_row(&k->s) && !row;
        row = slot_in_row(&k->s);
        if (!row && slot_group(&k->s) == 0) {
            k->item = n++;
        }
    }
    e->nwhole = n;
    for (unsigned i = 0; i < e->def.nslot; i++) {
        struct dict_slot *k = &e->slot[i];
        if (slot_in_row(&k->s) || slot_group(&k->s)) {
            k->item = n++;
        }
    }
    e->nitem = n;
}

/* Derives the counts and numbers from a definition's slots. */
static void entry_slots(struct dict_entry *e)
{
    unsigned nderived = 0;
    for (unsigned i = 0; i < e->def.nslot; i++) {
        struct dict_slot *k = &e->slot[i];
        blockdef_slot(&e->def, i, &k->s);
        const struct ctr_slot *s = &k->s;
        k->addr = DICT_NO_ADDR;
        k->entry = 0;
        if (slot_group(s)) {
            continue;
        }
        e->nreg += s->reg;
        e->nstore += !s->reg && s->store;
        e->nload += !s->reg && !s->store;
        number_slot(e, k);
        if (s->derived) {
            k->entry = (uint16_t)nderived++;
            derived_slot(e, k);
        }
    }
    e->nplain = e->naddr;
    for (unsigned i = 0; i < e->def.nslot; i++) {
        if (slot_group(&e->slot[i].s)) {
            number_slot(e, &e->slot[i]);
        }
    }
    entry_items(e);
}

static struct dict_entry *entry_new(const struct blockdef *def, uint32_t id,
                                    uint64_t hash)
{
    size_t constants = (size_t)def->nderived * sizeof(uint64_t);
    size_t groups = ((size_t)def->ngroup + 1) * 2 * sizeof(uint16_t);
    size_t slots = def->nslot * sizeof(struct dict_slot);
    size_t reach = def->nslot * sizeof(uint16_t);
    size_t bytes =
        sizeof(struct dict_entry) + constants + groups + slots + reach + def->bytes;
    struct dict_entry *e = malloc(bytes);
    if (!e) {
        return NULL;
    }
    memset(e, 0, sizeof(*e));
    e->bytes = (uint32_t)bytes;
    e->constant = (uint64_t *)(e + 1);
    e->group_first = (uint16_t *)(e->constant + def->nderived);
    e->group_end = e->group_first + def->ngroup + 1;
    e->slot = (struct dict_slot *)(e->group_end + def->ngroup + 1);
    e->reach = (uint16_t *)(e->slot + def->nslot);
    uint8_t *body = (uint8_t *)(e->reach + def->nslot);
    memcpy(body, def->body, def->bytes);
    blockdef_parse(&e->def, body, def->bytes, CTR_NO_OFF, NULL);
    blockdef_groups(&e->def, e->group_first, e->group_end);
    e->id = id;
    e->hash = hash;
    e->pc = le64(e->def.body + CTR_BLOCKDEF_PC);
    e->end = e->pc + e->def.code_bytes;
    if (e->def.pcs) {
        unsigned last = e->def.ninsn - 1u;
        e->end = le64(e->def.pcs + (size_t)last * 8) + e->def.len[last];
    }
    entry_slots(e);
    return e;
}

void ctr_dict_reuse_ids(struct ctr_dict *d)
{
    d->reuse = 1;
}

/* Room for one more definition, in all tables. */
static int make_room(struct ctr_dict *d)
{
    if (d->nentry == d->nbucket && grow_buckets(d)) {
        return -1;
    }
    if (d->reuse && d->nentry + d->nfree == d->free_cap) {
        /* As many as there are ids, so that giving one back cannot fail. */
        uint32_t cap = d->free_cap * 2 + 1024;
        void *p = realloc(d->free_id, cap * sizeof(d->free_id[0]));
        if (!p) {
            return -1;
        }
        d->free_id = p;
        d->free_cap = cap;
    }
    return 0;
}

/* Adds a new definition under its canonical id; id 0: any. */
static int entry_add(struct ctr_dict *d, const struct blockdef *def, uint64_t hash,
                     uint32_t id, struct dict_entry **out, struct ctr_diag *diag)
{
    uint32_t size = atomic_load_explicit(&d->size, memory_order_relaxed);
    struct dict_entry *e;
    *out = NULL;
    if (!id && !d->nfree && size == DICT_MAX_IDS) {
        return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "block.id",
                        "more than %u block definitions", DICT_MAX_IDS);
    }
    if (make_room(d)) {
        return ctr_fail_nomem(diag);
    }
    if (!id) {
        id = d->nfree ? d->free_id[d->nfree - 1] : size + 1;
    }
    e = entry_new(def, id, hash);
    if (!e) {
        return ctr_fail_nomem(diag);
    }
    if (idtab_set(&d->by_id, id, e)) {
        free(e);
        return ctr_fail_nomem(diag);
    }
    d->nfree -= d->nfree && d->free_id[d->nfree - 1] == id;
    e->next = d->bucket[hash & (d->nbucket - 1)];
    d->bucket[hash & (d->nbucket - 1)] = e;
    d->nentry++;
    if (id > size) {
        /* pairs with the acquire in ctr_dict_size */
        atomic_store_explicit(&d->size, id, memory_order_release);
    }
    *out = e;
    return 0;
}

/* Frees a definition that is not referenced. */
static void entry_free(struct ctr_dict *d, struct dict_entry *e)
{
    struct dict_entry **at = &d->bucket[e->hash & (d->nbucket - 1)];
    while (*at != e) {
        at = &(*at)->next;
    }
    *at = e->next;
    d->nentry--;
    idtab_set(&d->by_id, e->id, NULL); /* its page exists: cannot fail */
    idtab_trim(&d->by_id, e->id);
    if (d->reuse) {
        d->free_id[d->nfree++] = e->id;
    }
    free(e);
}

static int add_raw(struct ctr_dict *d, uint32_t raw_id, const struct blockdef *def,
                   struct ctr_diag *diag)
{
    uint64_t hash = XXH3_64bits(def->body, def->bytes);
    struct dict_entry *e = find(d, def, hash);
    const struct dict_entry *known = dict_raw(d, raw_id);
    if (known && known != e) {
        return ctr_fail(diag, CTR_E_CORRUPT, CTR_NO_OFF, "block.id",
                        "block id %u was defined differently before", raw_id);
    }
    int err = e ? 0 : entry_add(d, def, hash, 0, &e, diag);
    if (err || known) {
        return err;
    }
    if (idtab_set(&d->by_raw, raw_id, e)) {
        return ctr_fail_nomem(diag);
    }
    e->raws++;
    d->raws++;
    return 0;
}

/* The added definition without the slots of what is not recorded. */
static int parse_raw(struct ctr_dict *d, struct blockdef *def, const void *bytes,
                     size_t n, struct ctr_diag *diag)
{
    int err = blockdef_parse(def, bytes, n, CTR_NO_OFF, diag);
    if (!err &&
        ((!(d->events & CTR_EVENTS_MEM) && def->nslot - def->nreg + def->ngroup > 0) ||
         (!(d->events & CTR_EVENTS_REG) && def->nreg > 0)) &&
        strip_slots(d, def)) {
        err = ctr_fail_nomem(diag);
    }
    return err;
}

int ctr_dict_add(struct ctr_dict *d, uint32_t raw_id, const void *bytes, size_t n,
                 struct ctr_diag *diag)
{
    struct blockdef def;
    if (raw_id == 0 || raw_id >= DICT_RAW_LIMIT) {
        return ctr_fail(diag, CTR_E_CORRUPT, CTR_NO_OFF, "block.id",
                        "block id %u is out of range", raw_id);
    }
    if (raw_id > DICT_RAW_AHEAD + 2 * d->raws) {
        return ctr_fail(diag, CTR_E_CORRUPT, CTR_NO_OFF, "block.id",
                        "block id %u is far beyond all others", raw_id);
    }
    int err = parse_raw(d, &def, bytes, n, diag);
    if (err) {
        return err;
    }
    pthread_mutex_lock(&d->lock);
    err = add_raw(d, raw_id, &def, diag);
    pthread_mutex_unlock(&d->lock);
    return err;
}

int ctr_dict_restore(struct ctr_dict *d, uint32_t id, const void *bytes, size_t n,
                     struct ctr_diag *diag)
{
    struct blockdef def;
    struct dict_entry *e;
    int err = blockdef_parse(&def, bytes, n, CTR_NO_OFF, diag);
    if (!err && (id == 0 || id > DICT_MAX_IDS)) {
        err = ctr_fail(diag, CTR_E_CORRUPT, CTR_NO_OFF, "block.id", "bad number");
    }
    if (err) {
        return err;
    }
    e = idtab_get(&d->by_id, id);
    if (e) {
        entry_free(d, e);
    }
    return entry_add(d, &def, XXH3_64bits(def.body, def.bytes), id, &e, diag);
}

int ctr_dict_restore_raw(struct ctr_dict *d, uint32_t raw_id, uint32_t id,
                         const void *bytes, size_t n, struct ctr_diag *diag)
{
    struct blockdef def;
    int err = parse_raw(d, &def, bytes, n, diag);
    if (err) {
        return err;
    }
    struct dict_entry *e = id <= DICT_MAX_IDS ? idtab_get(&d->by_id, id) : NULL;
    int other =
        e && (e->def.bytes != def.bytes || memcmp(e->def.body, def.body, def.bytes) != 0);
    if (raw_id == 0 || raw_id >= DICT_RAW_LIMIT || id == 0 || id > DICT_MAX_IDS ||
        dict_raw(d, raw_id) || (other && e->raws)) {
        return ctr_fail(diag, CTR_E_CORRUPT, CTR_NO_OFF, "block.id", "bad number");
    }
    if (other) { /* nothing that is kept refers to the old one */
        entry_free(d, e);
        e = NULL;
    }
    if (!e) {
        err = entry_add(d, &def, XXH3_64bits(def.body, def.bytes), id, &e, diag);
        if (err) {
            return err;
        }
    }
    if (idtab_set(&d->by_raw, raw_id, e)) {
        return ctr_fail_nomem(diag);
    }
    e->raws++;
    d->raws = raw_id > d->raws ? raw_id : d->raws;
    return 0;
}

/* -------------------------------------------------------------- forgetting */

static void put_idle(struct ctr_dict *d, struct dict_entry *e)
{
    e->idle = 1;
    e->next_idle = NULL;
    *d->idle_end = e;
    d->idle_end = &e->next_idle;
    d->nidle++;
}

void ctr_dict_forget(struct ctr_dict *d, uint32_t raw_id, uint64_t stamp)
{
    pthread_mutex_lock(&d->lock);
    struct dict_entry *e = idtab_get(&d->by_raw, raw_id);
    if (e) {
        idtab_set(&d->by_raw, raw_id, NULL); /* its page exists: cannot fail */
        e->raws--;
        e->stamp = stamp;
        if (!e->raws && !e->idle) {
            put_idle(d, e);
        }
    }
    pthread_mutex_unlock(&d->lock);
}

/* Handles one idle definition that is already out of the list. */
static void reap_one(struct ctr_dict *d, struct dict_entry *e, uint64_t done)
{
    /* pairs with the store in dict_written */
    uint32_t written = atomic_load_explicit(&d->written, memory_order_acquire);
    e->idle = 0;
    if (e->raws) {
        return;
    }
    if (e->stamp > done || (!d->reuse && e->id > written)) {
        put_idle(d, e);
    } else if (!e->holds) {
        entry_free(d, e);
    }
}

int ctr_dict_reap(struct ctr_dict *d, uint64_t done)
{
    pthread_mutex_lock(&d->lock);
    for (uint32_t n = d->nidle; n; n--) {
        struct dict_entry *e = d->idle;
        d->idle = e->next_idle;
        d->nidle--;
        if (!d->idle) {
            d->idle_end = &d->idle;
        }
        reap_one(d, e, done);
    }
    int left = d->nidle != 0;
    pthread_mutex_unlock(&d->lock);
    return left;
}

int ctr_dict_hold(struct ctr_dict *d, const uint32_t *ids, uint32_t n,
                  ctr_dict_hold_fn *fn, void *arg)
{
    int err = 0;
    uint32_t held = 0;
    pthread_mutex_lock(&d->lock);
    while (held < n && !err) {
        struct dict_entry *e = idtab_get(&d->by_id, ids[held]);
        if (!e) {
            err = -CTR_E_CORRUPT;
        } else if (!e->holds && fn) {
            err = fn(arg, e->id, e->def.body, e->def.bytes, e->bytes);
        }
        if (!err) {
            e->holds++;
            held++;
        }
    }
    pthread_mutex_unlock(&d->lock);
    if (err) {
        ctr_dict_release(d, ids, held, NULL, NULL);
    }
    return err;
}

void ctr_dict_release(struct ctr_dict *d, const uint32_t *ids, uint32_t n,
                      ctr_dict_hold_fn *fn, void *arg)
{
    pthread_mutex_lock(&d->lock);
    for (uint32_t i = 0; i < n; i++) {
        struct dict_entry *e = idtab_get(&d->by_id, ids[i]);
        if (!e || --e->holds) {
            continue;
        }
        if (fn) {
            fn(arg, e->id, e->def.body, e->def.bytes, e->bytes);
        }
        if (!e->raws && !e->idle) {
            entry_free(d, e);
        }
    }
    pthread_mutex_unlock(&d->lock);
}
