/* SPDX-License-Identifier: MIT */
/*
 * The log of the ring: what the trace is of, registers, and the block definitions that
 * the kept chunks need.
 */
#include "ring_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Items of the log that are needed are copied when there are this many bytes of others,
 * or a few times what a small ring has. */
#define STALE_BYTES (1ull << 20)
#define STALE_RINGS 4
/* In item_at, while all that is needed is looked for. */
#define FOUND (1ull << 63)

int ring_fail(struct ctr_diag *diag, int code, const char *format, ...)
{
    va_list ap;

    if (diag) {
        memset(diag, 0, sizeof(*diag));
        diag->code = code;
        diag->off = CTR_NO_OFF;
        snprintf(diag->field, sizeof(diag->field), "ring");
        va_start(ap, format);
        vsnprintf(diag->text, sizeof(diag->text), format, ap);
        va_end(ap);
    }
    return -code;
}

static uint64_t item_bytes(const struct ring_item *item)
{
    return sizeof(*item) + ring_round(item->bytes);
}

const struct ring_item *ring_item_next(const struct ring *r, const struct ring_item *at)
{
    /* pairs with the store in shrink_log */
    const uint32_t log = __atomic_load_n(&r->image->log, __ATOMIC_ACQUIRE) & 1;
    /* pairs with the store in log_add */
    uint64_t used = __atomic_load_n(&r->image->log_used[log], __ATOMIC_ACQUIRE), off = 0;

    if (at) {
        off = (uint64_t)((const uint8_t *)at - r->log[log]) + item_bytes(at);
    }
    return off < used ? (const struct ring_item *)(r->log[log] + off) : NULL;
}

/* Room for an item at the end of the log, to be filled in and added; or NULL. */
static struct ring_item *log_room(struct ring *r, uint64_t bytes)
{
    const uint32_t log = r->image->log;
    uint64_t used = r->image->log_used[log];

    return bytes < r->log_bytes &&
                   used + sizeof(struct ring_item) + bytes + 8 < r->log_bytes
               ? (struct ring_item *)(r->log[log] + used)
               : NULL;
}

static void log_add(struct ring *r, const struct ring_item *item)
{
    const uint32_t log = r->image->log;
    uint64_t used = r->image->log_used[log] + item_bytes(item);

    /* pairs with the load in ring_item_next */
    __atomic_store_n(&r->image->log_used[log], used, __ATOMIC_RELEASE);
}

static int log_data_locked(struct ring *r, uint32_t kind, uint32_t n, const void *data,
                           uint64_t bytes, struct ctr_diag *diag)
{
    struct ring_item *item = log_room(r, bytes);

    if (!item) {
        return ring_fail(
            diag, CTR_E_LIMIT,
            "one more description, of %llu bytes, does not fit after %llu of the "
            "%llu bytes that there are for them",
            (unsigned long long)bytes,
            (unsigned long long)r->image->log_used[r->image->log],
            (unsigned long long)r->log_bytes);
    }
    *item = (struct ring_item){.kind = kind, .n = n, .bytes = bytes};
    memcpy(item + 1, data, bytes);
    log_add(r, item);
    return 0;
}

static int log_data(struct ring *r, uint32_t kind, uint32_t n, const void *data,
                    uint64_t bytes, struct ctr_diag *diag)
{
    int err;

    pthread_mutex_lock(&r->log_lock);
    err = log_data_locked(r, kind, n, data, bytes, diag);
    pthread_mutex_unlock(&r->log_lock);
    return err;
}

/* Strings are put one after the other, each with its NUL. */
static uint64_t put_string(uint8_t *to, const char *s)
{
    size_t n = strlen(s ? s : "") + 1;

    if (to) {
        memcpy(to, s ? s : "", n);
    }
    return n;
}

static uint64_t put_meta(uint8_t *to, const struct ctr_meta *m)
{
    uint64_t n = sizeof(*m);

    if (to) {
        memcpy(to, m, sizeof(*m));
    }
    n += put_string(to ? to + n : NULL, m->target);
    n += put_string(to ? to + n : NULL, m->qemu_version);
    n += put_string(to ? to + n : NULL, m->recorder);
    n += put_string(to ? to + n : NULL, m->selection);
    for (int i = 0; i < m->argc; i++) {
        n += put_string(to ? to + n : NULL, m->argv[i]);
    }
    return n;
}

int ring_begin(struct ring *r, const struct ctr_meta *meta, struct ctr_dict *dict,
               struct ctr_diag *diag)
{
    uint64_t bytes = put_meta(NULL, meta);
    struct ring_item *item = log_room(r, bytes);

    if (!item) {
        return ring_fail(
            diag, CTR_E_LIMIT,
            "the command line and what was chosen are too long: %llu bytes, the "
            "limit is %llu",
            (unsigned long long)bytes,
            (unsigned long long)r->log_bytes - sizeof(*item) - 9);
    }
    r->dict = dict;
    ctr_dict_reuse_ids(dict);
    *item = (struct ring_item){.kind = RING_META, .bytes = bytes};
    put_meta((uint8_t *)(item + 1), meta);
    log_add(r, item);
    return 0;
}

bool ring_has_begun(const struct ring *r)
{
    return ring_item_next(r, NULL) != NULL;
}

uint32_t ring_addr_bytes(const struct ring *r)
{
    struct ctr_meta meta;

    memcpy(&meta, ring_item_next(r, NULL) + 1, sizeof(meta));
    return meta.addr_bits / 8;
}

/* ------------------------------------------------- definitions of what is kept */

/* Whether the item is of a block of a chunk that is kept, or of something else. */
static bool is_needed(const struct ring *r, const struct ring_item *item)
{
    const uint64_t at = (uint64_t)((const uint8_t *)item - r->log[r->image->log]);

    return item->kind != RING_BLOCK ||
           (item->n < r->n_items && r->item_at[item->n] == at + 1);
}

/* Copies what is needed to the other log, and uses that. */
static void shrink_log(struct ring *r)
{
    const uint32_t old = r->image->log, other = 1 - old;
    uint64_t used = 0;

    for (const struct ring_item *i = NULL; (i = ring_item_next(r, i)) != NULL;) {
        if (!is_needed(r, i)) {
            continue;
        }
        memcpy(r->log[other] + used, i, item_bytes(i));
        if (i->kind == RING_BLOCK) {
            r->item_at[i->n] = used + 1;
        }
        used += item_bytes(i);
    }
    r->image->log_used[other] = used;
    /* pairs with the load in ring_item_next */
    __atomic_store_n(&r->image->log, other, __ATOMIC_RELEASE);
    /* Memory of the file; if it cannot be given back, it is used next time. */
    madvise(r->log[old], ring_pages(r->log_bytes), MADV_REMOVE);
}

/* Room in item_at for this id. */
static int items_room(struct ring *r, uint32_t id)
{
    uint32_t n = id + id / 2 + 1024;
    uint64_t *more;

    if (id < r->n_items) {
        return 0;
    }
    more = realloc(r->item_at, n * sizeof(*more));
    if (!more) {
        return -CTR_E_NOMEM;
    }
    memset(more + r->n_items, 0, (n - r->n_items) * sizeof(*more));
    r->item_at = more;
    r->n_items = n;
    return 0;
}

/* A chunk that is about to be kept has a block that no other has: a ctr_dict_hold_fn. */
static int log_block(void *arg, uint32_t id, const void *def, size_t bytes, size_t memory)
{
    struct ring *r = arg;
    struct ring_item *item = log_room(r, bytes);

    if (!item) {
        return -CTR_E_LIMIT;
    }
    if (items_room(r, id)) {
        return -CTR_E_NOMEM;
    }
    *item = (struct ring_item){.kind = RING_BLOCK, .n = id, .bytes = bytes};
    memcpy(item + 1, def, bytes);
    r->item_at[id] = (uint64_t)((uint8_t *)item - r->log[r->image->log]) + 1;
    r->needed += item_bytes(item);
    r->needed_mem += memory + item_bytes(item);
    log_add(r, item);
    return 0;
}

/* The last chunk that had it was dropped. */
static int unlog_block(void *arg, uint32_t id, const void *def, size_t bytes,
                       size_t memory)
{
    struct ring *r = arg;
    const uint64_t n = sizeof(struct ring_item) + ring_round(bytes);

    (void)def;
    r->item_at[id] = 0;
    r->needed -= n;
    r->needed_mem -= memory + n;
    return 0;
}

static uint64_t stale_bytes(const struct ring *r)
{
    return r->size < STALE_BYTES / STALE_RINGS ? STALE_RINGS * r->size : STALE_BYTES;
}

int ring_hold_blocks(struct ring *r, const struct ctr_packed *packed,
                     struct ctr_diag *diag)
{
    uint32_t n;
    const uint32_t *ids;
    int err;

    pthread_mutex_lock(&r->log_lock);
    if (r->image->log_used[r->image->log] > 2 * r->needed + stale_bytes(r)) {
        shrink_log(r);
    }
    ids = ctr_packed_ids(packed, &n);
    err = ctr_dict_hold(r->dict, ids, n, log_block, r);
    pthread_mutex_unlock(&r->log_lock);
    return err == -CTR_E_LIMIT
               ? ring_fail(diag, CTR_E_LIMIT, "there are too many block definitions")
           : err ? ring_fail(diag, -err, "the blocks of a chunk are not known")
                 : 0;
}

void ring_drop_blocks(struct ring *r, const struct ring_chunk *c)
{
    uint32_t n;
    const uint32_t *ids = ctr_packed_saved_ids(c + 1, &n);

    ctr_dict_release(r->dict, ids, n, unlog_block, r);
}

int ring_regs(struct ring *r, uint32_t n, const void *table, size_t bytes,
              struct ctr_diag *diag)
{
    return log_data(r, RING_REGS, n, table, bytes, diag);
}

void ring_file(struct ring *r, const void *file, size_t bytes)
{
    pthread_mutex_lock(&r->log_lock);
    if (!log_data_locked(r, RING_FILE, 0, file, bytes, NULL)) {
        r->needed += sizeof(struct ring_item) + ring_round(bytes);
    } else {
        r->image->files_missing = 1;
    }
    pthread_mutex_unlock(&r->log_lock);
}

/* A definition that was in the log is needed: a ctr_dict_hold_fn. */
static int find_block(void *arg, uint32_t id, const void *def, size_t bytes,
                      size_t memory)
{
    struct ring *r = arg;
    const uint64_t n = sizeof(struct ring_item) + ring_round(bytes);

    (void)def;
    if (id >= r->n_items || !r->item_at[id]) {
        return -CTR_E_CORRUPT;
    }
    r->item_at[id] |= FOUND;
    r->needed += n;
    r->needed_mem += memory + n;
    return 0;
}

int ring_resume(struct ring *r, struct ctr_dict *dict, struct ctr_diag *diag)
{
    const struct ring_state *s = ring_state(r);
    int err = 0;

    r->dict = dict;
    for (const struct ring_item *i = NULL; !err && (i = ring_item_next(r, i)) != NULL;) {
        r->needed += i->kind == RING_FILE ? item_bytes(i) : 0;
        if (i->kind == RING_BLOCK) {
            err = items_room(r, i->n);
            if (!err) {
                r->item_at[i->n] =
                    (uint64_t)((const uint8_t *)i - r->log[r->image->log]) + 1;
            }
        }
    }
    for (uint64_t at = s->tail; !err && at < s->head;) {
        const struct ring_chunk *c = ring_at(r, at);
        uint32_t n;
        const uint32_t *ids = ctr_packed_saved_ids(c + 1, &n);

        err = ctr_dict_hold(dict, ids, n, find_block, r);
        at += c->bytes;
    }
    for (uint32_t id = 0; id < r->n_items; id++) {
        r->item_at[id] = r->item_at[id] & FOUND ? r->item_at[id] & ~FOUND : 0;
    }
    return err ? ring_fail(diag, -err, "the blocks of a chunk are not known") : 0;
}
