/* SPDX-License-Identifier: MIT */
/* Definitions in memory: unpacks, holds and drops them; see blocktab.h. */
#include "file/blocktab.h"

#include <pthread.h>
#include <string.h>
#include "file/dictsect.h"
#include "base/format.h"
#include "base/le.h"

/* Limit of all that is in memory, whatever a file says. */
#define MAX_BYTES ((uint64_t)2 << 30)
/*
 * Limit for each chunk in use: half of this is for definitions that are not held, and
 * half for whole sections in the form of the file, which have three times as many in
 * the same room. Both halves shrink by as much as is held, as a chunk that holds much
 * is a large one in all else, too; but LITTLE_BYTES always remain.
 */
#define CHUNK_BYTES ((uint64_t)20 << 20)
#define LITTLE_BYTES ((uint64_t)1 << 20)
/* Number of definitions passed on with one look into the table. */
#define EACH 64u

struct blocktab {
    uint32_t events;
    _Atomic uint32_t known;
    struct dictsect *sections;

    _Atomic int all; /* all definitions stay, by_id alone finds them */
    struct idtab by_id;

    pthread_mutex_t lock; /* protects all below, sections, and changes of by_id */
    struct slab slab;     /* of blocks */
    uint32_t *in;         /* ids of those in memory */
    uint32_t nin, in_cap;
    uint64_t bytes;
    uint64_t loose;    /* ... of those that are neither held nor kept */
    uint64_t kept;     /* ... of those that are kept */
    uint32_t users;    /* calls of blocktab_hold that are in effect, each for a chunk */
    uint32_t calls;    /* ... total */
    uint64_t *missing; /* of the current call: id << 32 | place */
    size_t missing_cap;
};

static int no_definition(struct ctr_diag *diag)
{
    return ctr_fail(diag, CTR_E_CORRUPT, CTR_NO_OFF, "dict", "a block has no definition");
}

static void free_block(struct blocktab *t, struct block *b)
{
    slab_put(&t->slab, b, b->bytes);
}

struct blocktab *blocktab_new(struct source *src)
{
    struct blocktab *t = calloc(1, sizeof(*t));
    if (!t) {
        return NULL;
    }
    atomic_init(&t->all, !src->seekable);
    pthread_mutex_init(&t->lock, NULL);
    t->sections = dictsect_new(src);
    if (!t->sections || idtab_init(&t->by_id, DICT_MAX_IDS + 1)) {
        blocktab_free(t);
        return NULL;
    }
    return t;
}

void blocktab_free(struct blocktab *t)
{
    if (!t) {
        return;
    }
    for (uint32_t i = 0; i < t->nin; i++) {
        free_block(t, idtab_get(&t->by_id, t->in[i]));
    }
    slab_fini(&t->slab);
    idtab_fini(&t->by_id);
    dictsect_free(t->sections);
    free(t->in);
    free(t->missing);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

uint32_t blocktab_known(const struct blocktab *t)
{
    /* pairs with the store in blocktab_add_section */
    return atomic_load_explicit(&t->known, memory_order_acquire);
}

void blocktab_events(struct blocktab *t, uint32_t events)
{
    t->events = events;
}

void blocktab_reset(struct blocktab *t)
{
    dictsect_reset(t->sections);
    atomic_store_explicit(&t->known, 0, memory_order_relaxed);
}

int blocktab_add_row(struct blocktab *t, uint64_t off, uint32_t first, uint32_t count,
                     struct ctr_diag *diag)
{
    uint32_t known = blocktab_known(t);
    int err = dictsect_add(t->sections, off, first, count, known, diag);
    if (!err) {
        atomic_store_explicit(&t->known, known + count, memory_order_relaxed);
    }
    return err;
}

/* --------------------------------------------------------------- unpacking */

/* Puts a definition into the table, as a loose one. */
static int add_block(struct blocktab *t, uint32_t id, const struct dict_def *raw,
                     struct ctr_diag *diag)
{
    struct blockdef def;
    int err = blockdef_parse(&def, raw->p, raw->n, raw->off, diag);
    if (err) {
        return err;
    }
    if ((def.nreg && !(t->events & CTR_EVENTS_REG)) ||
        (def.nslot > def.nreg && !(t->events & CTR_EVENTS_MEM))) {
        return ctr_fail(diag, CTR_E_CORRUPT, raw->off, "dict",
                        "a slot of what is not recorded");
    }
    if (t->nin == t->in_cap) {
        uint32_t cap = t->in_cap + t->in_cap / 2 + 1024;
        void *p = realloc(t->in, cap * sizeof(t->in[0]));
        if (!p) {
            return ctr_fail_nomem(diag);
        }
        t->in = p;
        t->in_cap = cap;
    }
    struct block *b = block_new(&def, id, &t->slab);
    if (!b) {
        return ctr_fail_nomem(diag);
    }
    if (t->bytes + b->bytes > MAX_BYTES) {
        free_block(t, b);
        return ctr_fail(diag, CTR_E_LIMIT, raw->off, "dict",
                        "too many block definitions");
    }
    if (idtab_set(&t->by_id, id, b)) {
        free_block(t, b);
        return ctr_fail_nomem(diag);
    }
    t->in[t->nin++] = id;
    t->bytes += b->bytes;
    t->loose += b->bytes;
    return 0;
}

/* Reads a known definition that is not in memory; ascending ids are cheapest. */
static int read_block(struct blocktab *t, uint32_t id, struct ctr_diag *diag)
{
    struct dict_def raw;
    int err = dictsect_find(t->sections, id, &raw, diag);
    return err ? err : add_block(t, id, &raw, diag);
}

int blocktab_add_section(struct blocktab *t, const struct section *sec,
                         struct ctr_diag *diag)
{
    const uint32_t first = le32(sec->body + DICT_FIRST);
    const uint32_t count = le32(sec->body + DICT_COUNT);
    const uint32_t known = blocktab_known(t);
    if (first != known + 1 || count > DICT_MAX_IDS - known) {
        return ctr_fail(diag, CTR_E_CORRUPT, sec->off, "dict",
                        "definitions are out of order");
    }
    int err = dictsect_stream(t->sections, sec, diag);
    for (uint32_t i = 0; !err && i < count; i++) {
        struct dict_def raw;
        dictsect_of_stream(t->sections, i, &raw);
        err = add_block(t, first + i, &raw, diag);
        if (!err) {
            atomic_store_explicit(&t->known, first + i, memory_order_release);
        }
    }
    return err;
}

/* -------------------------------------------------------------- forgetting */

static int is_loose(const struct block *b)
{
    return b->holds == 0 && !b->kept;
}

/* Number of calls since its last use, as a power of two. */
static unsigned age_of(const struct blocktab *t, const struct block *b)
{
    uint32_t calls = t->calls - b->last_call;
    return calls ? 32u - (unsigned)__builtin_clz(calls) : 0;
}

/* Drops the oldest, until no more than `most' bytes are loose. */
static void forget(struct blocktab *t, uint64_t most)
{
    uint64_t of_age[33] = {0}, stay = 0;
    unsigned age = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->nin; i++) {
        const struct block *b = idtab_get(&t->by_id, t->in[i]);
        of_age[age_of(t, b)] += is_loose(b) ? b->bytes : 0;
    }
    while (age < 33 && stay + of_age[age] <= most) {
        stay += of_age[age++];
    }
    for (uint32_t i = 0; i < t->nin; i++) {
        uint32_t id = t->in[i];
        struct block *b = idtab_get(&t->by_id, id);
        if (!is_loose(b) || age_of(t, b) < age) {
            t->in[n++] = id;
            continue;
        }
        idtab_set(&t->by_id, id, NULL); /* its page exists: cannot fail */
        idtab_trim(&t->by_id, id);
        t->bytes -= b->bytes;
        t->loose -= b->bytes;
        free_block(t, b);
    }
    t->nin = n;
}

/* Makes room for n definitions. */
static void forget_some(struct blocktab *t, uint32_t n)
{
    const uint64_t chunks = CHUNK_BYTES * (t->users ? t->users : 1);
    const uint64_t all = chunks < MAX_BYTES / 4 ? chunks : MAX_BYTES / 4;
    const uint64_t each = t->nin ? t->bytes / t->nin : sizeof(struct block);
    const uint64_t held = t->bytes - t->kept - t->loose + n * each;
    uint64_t most = held < all / 2 ? all / 2 - held : 0;
    if (most < LITTLE_BYTES) {
        most = LITTLE_BYTES;
    }
    dictsect_keep(t->sections, most);
    if (t->loose > most) {
        forget(t, most / 4 * 3); /* looking through all must not happen too often */
    }
}

/* ----------------------------------------------------------------- holding */

static int all_stay(const struct blocktab *t)
{
    /* pairs with the store in blocktab_keep_all */
    return atomic_load_explicit(&t->all, memory_order_acquire);
}

static void take(struct blocktab *t, struct block *b)
{
    t->loose -= is_loose(b) ? b->bytes : 0;
    b->holds++;
    b->last_call = t->calls;
}

/* `left': bytes that the remaining definitions of a chunk may have. */
static int count_def(uint64_t *left, const struct block *b, struct ctr_diag *diag)
{
    const int fits = b->def_bytes <= *left;
    *left -= fits ? b->def_bytes : 0;
    return fits ? 0
                : ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "dict",
                           "the blocks of a chunk are too large");
}

/* Blocks are only written with the lock held, and only in this file. */
static void let_go(struct blocktab *t, const struct block *held)
{
    struct block *b = (struct block *)held;
    if (b) {
        b->holds--;
        t->loose += is_loose(b) ? b->bytes : 0;
    }
}

/* Reads those of the first n of out that are NULL. */
static int read_missing(struct blocktab *t, const uint8_t *ids, uint32_t n,
                        uint32_t nmissing, uint64_t *left, const struct block **out,
                        struct ctr_diag *diag)
{
    if (nmissing > t->missing_cap) {
        void *p = realloc(t->missing, nmissing * sizeof(t->missing[0]));
        if (!p) {
            return ctr_fail_nomem(diag);
        }
        t->missing = p;
        t->missing_cap = nmissing;
    }
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!out[i]) {
            t->missing[k++] = (uint64_t)le32(ids + 4 * (size_t)i) << 32 | i;
        }
    }
    qsort(t->missing, k, sizeof(t->missing[0]), ctr_by_u64);
    for (uint32_t i = 0; i < k; i++) {
        /* Up and down in turn: the sections read last are the first ones needed. */
        const uint64_t m = t->missing[t->calls & 1 ? k - 1 - i : i];
        uint32_t id = (uint32_t)(m >> 32), place = (uint32_t)m;
        struct block *b = idtab_get(&t->by_id, id);
        if (!b) {
            int err = read_block(t, id, diag);
            if (err) {
                return err;
            }
            b = idtab_get(&t->by_id, id);
        }
        take(t, b);
        out[place] = b;
        int err = count_def(left, b, diag);
        if (err) {
            return err;
        }
    }
    return 0;
}

/* most: limit of the bytes of their definitions. */
static int hold_locked(struct blocktab *t, const uint8_t *ids, uint32_t n,
                       const struct block **out, uint64_t most, struct ctr_diag *diag)
{
    uint32_t nmissing = 0;
    int err = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct block *b = idtab_get(&t->by_id, le32(ids + 4 * (size_t)i));
        if (b) {
            take(t, b);
            err = err ? err : count_def(&most, b, diag);
        }
        nmissing += !b;
        out[i] = b;
    }
    if (!err && nmissing) {
        forget_some(t, nmissing);
        err = read_missing(t, ids, n, nmissing, &most, out, diag);
    }
    for (uint32_t i = 0; err && i < n; i++) {
        let_go(t, out[i]);
    }
    return err;
}

static int hold_all(const struct blocktab *t, const uint8_t *ids, uint32_t n,
                    const struct block **out, uint64_t most, struct ctr_diag *diag)
{
    int err = 0;
    for (uint32_t i = 0; !err && i < n; i++) {
        out[i] = idtab_get(&t->by_id, le32(ids + 4 * (size_t)i));
        err = out[i] ? count_def(&most, out[i], diag) : no_definition(diag);
    }
    return err;
}

/* users: number added to t->users. */
static int hold(struct blocktab *t, const uint8_t *ids, uint32_t n,
                const struct block **out, uint32_t users, struct ctr_diag *diag)
{
    const uint64_t most = users ? MAX_CHUNK_DEFS : UINT64_MAX;
    if (all_stay(t)) {
        return hold_all(t, ids, n, out, most, diag);
    }
    const uint32_t known = blocktab_known(t);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = le32(ids + 4 * (size_t)i);
        if (id == 0 || id > known) {
            return no_definition(diag);
        }
    }
    pthread_mutex_lock(&t->lock);
    t->users += users;
    t->calls += users;
    int err = hold_locked(t, ids, n, out, most, diag);
    t->users -= err ? users : 0;
    pthread_mutex_unlock(&t->lock);
    return err;
}

static void drop(struct blocktab *t, const struct block *const *blocks, uint32_t n,
                 uint32_t users)
{
    if (all_stay(t)) {
        return;
    }
    pthread_mutex_lock(&t->lock);
    t->users -= users;
    for (uint32_t i = 0; i < n; i++) {
        let_go(t, blocks[i]);
    }
    pthread_mutex_unlock(&t->lock);
}

int blocktab_hold(struct blocktab *t, const uint8_t *ids, uint32_t n,
                  const struct block **out, struct ctr_diag *diag)
{
    return n ? hold(t, ids, n, out, 1, diag) : 0;
}

void blocktab_drop(struct blocktab *t, const struct block *const *blocks, uint32_t n)
{
    if (n) {
        drop(t, blocks, n, 1);
    }
}

int blocktab_hold_one(struct blocktab *t, uint32_t id, const struct block **out,
                      struct ctr_diag *diag)
{
    uint8_t ids[4];
    put32(ids, id);
    *out = NULL;
    return hold(t, ids, 1, out, 0, diag);
}

void blocktab_drop_one(struct blocktab *t, const struct block *b)
{
    drop(t, &b, 1, 0);
}

int blocktab_each(struct blocktab *t, blocktab_each_fn *fn, void *arg,
                  struct ctr_diag *diag)
{
    const uint32_t known = blocktab_known(t);
    int ret = 0;
    for (uint32_t first = 1; !ret && first <= known; first += EACH) {
        const struct block *b[EACH];
        uint8_t ids[4 * EACH];
        uint32_t n = known - first + 1 < EACH ? known - first + 1 : EACH;
        for (uint32_t i = 0; i < n; i++) {
            put32(ids + 4 * (size_t)i, first + i);
        }
        ret = hold(t, ids, n, b, 0, diag);
        if (ret) {
            break;
        }
        for (uint32_t i = 0; !ret && i < n; i++) {
            ret = fn(arg, &b[i]->pub);
        }
        drop(t, b, n, 0);
    }
    return ret;
}

/* ----------------------------------------------------------------- keeping */

const struct block *blocktab_keep(struct blocktab *t, uint32_t id)
{
    const struct block *found = NULL;
    uint8_t ids[4];
    if (all_stay(t)) {
        return idtab_get(&t->by_id, id);
    }
    if (id == 0 || id > blocktab_known(t)) {
        return NULL;
    }
    put32(ids, id);
    pthread_mutex_lock(&t->lock);
    if (hold_locked(t, ids, 1, &found, UINT64_MAX, NULL) == 0) {
        struct block *b = (struct block *)found;
        t->kept += b->kept ? 0 : b->bytes;
        b->kept = 1;
        let_go(t, b);
    } else {
        found = NULL;
    }
    pthread_mutex_unlock(&t->lock);
    return found;
}

int blocktab_keep_all(struct blocktab *t, struct ctr_diag *diag)
{
    int err = 0;
    if (all_stay(t)) {
        return 0;
    }
    pthread_mutex_lock(&t->lock);
    for (uint32_t id = 1; !err && id <= blocktab_known(t); id++) {
        if (!idtab_get(&t->by_id, id)) {
            err = read_block(t, id, diag);
        }
    }
    if (!err) {
        /* From now on definitions are looked up without the lock. */
        atomic_store_explicit(&t->all, 1, memory_order_release);
    }
    pthread_mutex_unlock(&t->lock);
    return err;
}
