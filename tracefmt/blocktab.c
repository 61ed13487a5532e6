/* SPDX-License-Identifier: MIT */
/* Definitions in memory: reading sections of them, and forgetting; see blocktab.h. */
#include "blocktab.h"

#include <pthread.h>
#include <string.h>
#include "format.h"
#include "le.h"

/* All that is in memory, whatever a file says. */
#define MAX_BYTES ((uint64_t)2 << 30)
/* What nobody holds is forgotten when there is more than this. */
#define FORGET_BYTES ((uint64_t)12 << 20)
/* At first only what was not asked for in so many calls. */
#define FORGET_AGE 16u
/* A buffer for a section; larger ones are not kept. */
#define RAW_BYTES ((size_t)2 << 20)

struct row {
    uint64_t off;
    uint32_t first;
    uint32_t count;
};

/* The section that was read last, and how far its definitions have been looked at. */
struct at_hand {
    const struct row *row; /* NULL: none */
    struct buf raw;
    size_t at;
    uint32_t id; /* whose definition stands there */
};

struct blocktab {
    struct source *src;
    uint32_t events;
    uint32_t known;
    struct row *row;
    uint32_t nrow, row_cap;

    _Atomic int all; /* every definition that there is stays, by_id alone finds it */
    struct idtab by_id;

    pthread_mutex_t lock; /* all below, and changes of by_id */
    uint32_t *in;         /* numbers of those in memory */
    uint32_t nin, in_cap;
    uint64_t bytes;
    uint64_t loose; /* ... of those that nobody holds and that are not kept */
    uint32_t calls;
    uint64_t *missing; /* of the call at hand: number << 32 | place */
    size_t missing_cap;
    struct at_hand hand;
    struct buf payload;
    ZSTD_DCtx *dctx;
};

static int corrupt(struct ctr_diag *diag, uint64_t off, const char *what)
{
    return ctr_fail(diag, CTR_E_CORRUPT, off, "dict", "%s", what);
}

static int no_definition(struct ctr_diag *diag)
{
    return corrupt(diag, CTR_NO_OFF, "a block has no definition");
}

struct blocktab *blocktab_new(struct source *src)
{
    struct blocktab *t = calloc(1, sizeof(*t));
    if (!t) {
        return NULL;
    }
    t->src = src;
    atomic_init(&t->all, !src->seekable);
    pthread_mutex_init(&t->lock, NULL);
    t->dctx = ZSTD_createDCtx();
    if (!t->dctx || idtab_init(&t->by_id, DICT_MAX_IDS + 1)) {
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
        free(idtab_get(&t->by_id, t->in[i]));
    }
    idtab_fini(&t->by_id);
    free(t->in);
    free(t->row);
    free(t->missing);
    buf_free(&t->hand.raw);
    buf_free(&t->payload);
    ZSTD_freeDCtx(t->dctx);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

uint32_t blocktab_known(const struct blocktab *t)
{
    return t->known;
}

void blocktab_events(struct blocktab *t, uint32_t events)
{
    t->events = events;
}

/* -------------------------------------------------------------------- rows */

void blocktab_reset(struct blocktab *t)
{
    t->nrow = 0;
    t->known = 0;
}

int blocktab_add_row(struct blocktab *t, uint64_t off, uint32_t first, uint32_t count,
                     struct ctr_diag *diag)
{
    if (first != t->known + 1 || count == 0 || count > DICT_MAX_IDS - t->known) {
        return corrupt(diag, off, "definitions are out of order");
    }
    if (t->nrow == t->row_cap) {
        uint32_t cap = t->row_cap * 2 + 16;
        void *p = realloc(t->row, cap * sizeof(t->row[0]));
        if (!p) {
            return ctr_fail_nomem(diag);
        }
        t->row = p;
        t->row_cap = cap;
    }
    t->row[t->nrow++] = (struct row){off, first, count};
    t->known += count;
    return 0;
}

/* The row of a number that is known. */
static const struct row *find_row(const struct blocktab *t, uint32_t id)
{
    uint32_t lo = 0, hi = t->nrow;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        *(t->row[mid].first <= id ? &lo : &hi) = mid;
    }
    return &t->row[lo];
}

/* ----------------------------------------------------------------- reading */

/* Puts a checked definition into the table. */
static int add_block(struct blocktab *t, const struct blockdef *def, uint32_t id,
                     uint64_t off, struct ctr_diag *diag)
{
    if ((def->nreg && !(t->events & CTR_EVENTS_REG)) ||
        (def->nslot > def->nreg && !(t->events & CTR_EVENTS_MEM))) {
        return corrupt(diag, off, "a slot of what is not recorded");
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
    struct block *b = block_new(def, id);
    if (!b) {
        return ctr_fail_nomem(diag);
    }
    if (t->bytes + b->bytes > MAX_BYTES) {
        free(b);
        return ctr_fail(diag, CTR_E_LIMIT, off, "dict", "too many block definitions");
    }
    if (idtab_set(&t->by_id, id, b)) {
        free(b);
        return ctr_fail_nomem(diag);
    }
    t->in[t->nin++] = id;
    t->bytes += b->bytes;
    t->loose += b->bytes;
    return 0;
}

/* Goes on over the definition at hand; with `make' it is put into the table. */
static int next_definition(struct blocktab *t, uint64_t off, int make,
                           struct ctr_diag *diag)
{
    struct at_hand *h = &t->hand;
    const uint8_t *p = h->raw.p + h->at;
    size_t left = h->raw.n - h->at;
    if (left < 8 || le32(p) != h->id || le32(p + 4) > left - 8) {
        return corrupt(diag, off, "definitions are out of order");
    }
    uint32_t n = le32(p + 4);
    if (make) {
        struct blockdef def;
        int err = blockdef_parse(&def, p + 8, n, off, diag);
        err = err ? err : add_block(t, &def, h->id, off, diag);
        if (err) {
            return err;
        }
    }
    h->at += 8 + (size_t)n;
    h->id++;
    return 0;
}

static int begin_section(struct blocktab *t, const struct section *sec,
                         struct ctr_diag *diag)
{
    t->hand.row = NULL;
    t->hand.at = 0;
    t->hand.id = le32(sec->body + DICT_FIRST);
    return section_frame(sec, &t->payload, 0, DICT_MAX_RAW, t->dctx, &t->hand.raw, "dict",
                         diag);
}

static int read_section(struct blocktab *t, const struct row *row, struct ctr_diag *diag)
{
    struct section sec;
    int err = section_read(t->src, row->off, &sec, diag);
    if (err == 0 && (sec.type != SECT_DICT || le32(sec.body + DICT_FIRST) != row->first ||
                     le32(sec.body + DICT_COUNT) != row->count)) {
        err = corrupt(diag, row->off, "not the section of the index");
    }
    if (err > 0) {
        err = ctr_fail(diag, CTR_E_TRUNCATED, row->off, "dict",
                       "the file has become shorter");
    }
    err = err ? err : section_payload(t->src, &sec, 1, &t->payload, diag);
    err = err ? err : begin_section(t, &sec, diag);
    if (!err) {
        t->hand.row = row;
    }
    return err;
}

/* Reads a definition that is known and not in memory; ascending numbers are cheap. */
static int read_block(struct blocktab *t, uint32_t id, struct ctr_diag *diag)
{
    const struct row *row = find_row(t, id);
    int err = 0;
    if (t->hand.row != row) {
        err = read_section(t, row, diag);
    } else if (t->hand.id > id) {
        t->hand.at = 0;
        t->hand.id = row->first;
    }
    while (!err && t->hand.id <= id) {
        err = next_definition(t, row->off, t->hand.id == id, diag);
    }
    if (!err && t->hand.id == row->first + row->count && t->hand.at != t->hand.raw.n) {
        err = corrupt(diag, row->off, "data left over");
    }
    if (err) {
        t->hand.row = NULL;
    }
    return err;
}

int blocktab_add_section(struct blocktab *t, const struct section *sec,
                         struct ctr_diag *diag)
{
    const uint32_t first = le32(sec->body + DICT_FIRST);
    const uint32_t count = le32(sec->body + DICT_COUNT);
    if (first != t->known + 1 || count > DICT_MAX_IDS - t->known) {
        return corrupt(diag, sec->off, "definitions are out of order");
    }
    int err = section_payload(t->src, sec, 1, &t->payload, diag);
    err = err ? err : begin_section(t, sec, diag);
    for (uint32_t i = 0; !err && i < count; i++) {
        err = next_definition(t, sec->off, 1, diag);
        t->known += !err;
    }
    if (!err && t->hand.at != t->hand.raw.n) {
        err = corrupt(diag, sec->off, "data left over");
    }
    return err;
}

/* -------------------------------------------------------------- forgetting */

static int is_loose(const struct block *b)
{
    return b->holds == 0 && !b->kept;
}

static void forget(struct blocktab *t, uint32_t age)
{
    uint32_t stay = 0;
    for (uint32_t i = 0; i < t->nin; i++) {
        uint32_t id = t->in[i];
        struct block *b = idtab_get(&t->by_id, id);
        if (!is_loose(b) || t->calls - b->asked < age) {
            t->in[stay++] = id;
            continue;
        }
        idtab_set(&t->by_id, id, NULL); /* has its page: cannot fail */
        t->bytes -= b->bytes;
        t->loose -= b->bytes;
        free(b);
    }
    t->nin = stay;
}

static void forget_some(struct blocktab *t)
{
    if (t->loose <= FORGET_BYTES) {
        return;
    }
    forget(t, FORGET_AGE);
    if (t->loose > FORGET_BYTES / 2) {
        forget(t, 0); /* otherwise it would soon have to look through all again */
    }
}

/* Large sections leave no large buffers behind. */
static void forget_section(struct blocktab *t)
{
    if (t->hand.raw.cap > RAW_BYTES) {
        buf_free(&t->hand.raw);
        t->hand.row = NULL;
    }
    if (t->payload.cap > RAW_BYTES) {
        buf_free(&t->payload);
    }
}

/* ----------------------------------------------------------------- holding */

static int all_stay(const struct blocktab *t)
{
    /* pairs with the store in blocktab_keep_all */
    return atomic_load_explicit(&t->all, memory_order_acquire);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void take(struct blocktab *t, struct block *b)
{
    t->loose -= is_loose(b) ? b->bytes : 0;
    b->holds++;
    b->asked = t->calls;
}

/* Blocks are written to with the lock only, and by this file only. */
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
                        uint32_t nmissing, const struct block **out,
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
    qsort(t->missing, k, sizeof(t->missing[0]), by_number);
    for (uint32_t i = 0; i < k; i++) {
        uint32_t id = (uint32_t)(t->missing[i] >> 32), place = (uint32_t)t->missing[i];
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
    }
    return 0;
}

static int hold_locked(struct blocktab *t, const uint8_t *ids, uint32_t n,
                       const struct block **out, struct ctr_diag *diag)
{
    uint32_t nmissing = 0;
    t->calls++;
    for (uint32_t i = 0; i < n; i++) {
        struct block *b = idtab_get(&t->by_id, le32(ids + 4 * (size_t)i));
        if (b) {
            take(t, b);
        }
        nmissing += !b;
        out[i] = b;
    }
    if (nmissing == 0) {
        return 0;
    }
    forget_some(t);
    int err = read_missing(t, ids, n, nmissing, out, diag);
    for (uint32_t i = 0; err && i < n; i++) {
        let_go(t, out[i]);
    }
    forget_section(t);
    return err;
}

int blocktab_hold(struct blocktab *t, const uint8_t *ids, uint32_t n,
                  const struct block **out, struct ctr_diag *diag)
{
    if (all_stay(t)) {
        for (uint32_t i = 0; i < n; i++) {
            out[i] = idtab_get(&t->by_id, le32(ids + 4 * (size_t)i));
            if (!out[i]) {
                return no_definition(diag);
            }
        }
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = le32(ids + 4 * (size_t)i);
        if (id == 0 || id > t->known) {
            return no_definition(diag);
        }
    }
    pthread_mutex_lock(&t->lock);
    int err = hold_locked(t, ids, n, out, diag);
    pthread_mutex_unlock(&t->lock);
    return err;
}

void blocktab_drop(struct blocktab *t, const struct block *const *blocks, uint32_t n)
{
    if (n == 0 || all_stay(t)) {
        return;
    }
    pthread_mutex_lock(&t->lock);
    for (uint32_t i = 0; i < n; i++) {
        let_go(t, blocks[i]);
    }
    pthread_mutex_unlock(&t->lock);
}

int blocktab_hold_one(struct blocktab *t, uint32_t id, const struct block **out,
                      struct ctr_diag *diag)
{
    uint8_t ids[4];
    put32(ids, id);
    *out = NULL;
    return blocktab_hold(t, ids, 1, out, diag);
}

void blocktab_drop_one(struct blocktab *t, const struct block *b)
{
    blocktab_drop(t, &b, 1);
}

/* ----------------------------------------------------------------- keeping */

const struct block *blocktab_keep(struct blocktab *t, uint32_t id)
{
    const struct block *found = NULL;
    if (all_stay(t)) {
        return idtab_get(&t->by_id, id);
    }
    if (blocktab_hold_one(t, id, &found, NULL)) {
        return NULL;
    }
    pthread_mutex_lock(&t->lock);
    struct block *b = idtab_get(&t->by_id, id);
    b->kept = 1;
    let_go(t, b);
    pthread_mutex_unlock(&t->lock);
    return b;
}

int blocktab_keep_all(struct blocktab *t, struct ctr_diag *diag)
{
    int err = 0;
    if (all_stay(t)) {
        return 0;
    }
    pthread_mutex_lock(&t->lock);
    for (uint32_t id = 1; !err && id <= t->known; id++) {
        if (!idtab_get(&t->by_id, id)) {
            err = read_block(t, id, diag);
        }
    }
    if (!err) {
        /* From now on they are looked up without the lock. */
        atomic_store_explicit(&t->all, 1, memory_order_release);
    }
    forget_section(t);
    pthread_mutex_unlock(&t->lock);
    return err;
}
