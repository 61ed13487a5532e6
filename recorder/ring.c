/* SPDX-License-Identifier: MIT */
/*
 * Keeping chunks: the memory of the ring, and what goes into it and out.
 */
#include "ring_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Room that is only used as far as there is something to say; a limit on address
 * space or on the size of files makes it smaller. */
#define MAX_THREADS (1u << 22)
#define LOG_BYTES (1ull << 30)
#define AREA_BYTES (1ull << 30)
#define MIN_SHARE (1ull << 20)
/* Memory for definitions, beside as much as the chunks may take. */
#define DEFS_BYTES (32ull << 20)
/* Items of the log that are needed are copied when there are this many bytes of others,
 * or a few times what a small ring has. */
#define STALE_BYTES (1ull << 20)
#define STALE_RINGS 4
/* In item_at, while all that is needed is looked for. */
#define FOUND (1ull << 63)
/* Events of dropped chunks are folded when there are this many bytes more than before, or
 * a few times what a small ring has. */
#define FOLD_BYTES (1u << 20)
#define FOLD_RINGS 4

static int fail(struct ctr_diag *diag, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(struct ctr_diag *diag, int code, const char *format, ...)
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

/* -------------------------------------------------------------- the memory */

static uint64_t pages(uint64_t n)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    return (n + page - 1) / page * page;
}

static uint64_t lay_out(struct ring *r)
{
    uint64_t at = pages(sizeof(struct ring_image));
    uint64_t proc = at, thread, log, area;

    at += pages(r->max_threads * sizeof(struct ring_proc));
    thread = at;
    at += pages(r->max_threads * sizeof(struct ring_thread));
    log = at;
    at += 2 * pages(r->log_bytes);
    area = at;
    at += 2 * pages(r->area_bytes);
    if (r->base) {
        r->image = (struct ring_image *)r->base;
        r->proc = (struct ring_proc *)(r->base + proc);
        r->thread = (struct ring_thread *)(r->base + thread);
        r->log[0] = r->base + log;
        r->log[1] = r->log[0] + pages(r->log_bytes);
        r->area[0] = r->base + area;
        r->area[1] = r->area[0] + pages(r->area_bytes);
    }
    return at;
}

static uint64_t most_bytes(void)
{
    struct rlimit as, fsize;
    uint64_t most = UINT64_MAX;

    if (getrlimit(RLIMIT_AS, &as) == 0 && as.rlim_cur != RLIM_INFINITY) {
        most = as.rlim_cur / 8;
    }
    if (getrlimit(RLIMIT_FSIZE, &fsize) == 0 && fsize.rlim_cur / 2 < most) {
        most = fsize.rlim_cur / 2;
    }
    return most;
}

/* The chunks twice in a row. */
static int map_chunks(struct ring *r)
{
    const int prot = PROT_READ | PROT_WRITE;
    uint8_t *p;

    if (r->size > SIZE_MAX / 2) {
        return -ENOMEM;
    }
    p = mmap(NULL, 2 * r->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
             -1, 0);
    if (p == MAP_FAILED) {
        return -errno;
    }
    r->chunks = p;
    for (int i = 0; i < 2; i++, p += r->size) {
        if (mmap(p, r->size, prot, MAP_SHARED | MAP_FIXED, r->fd, (off_t)r->bytes) ==
            MAP_FAILED) {
            return -errno;
        }
    }
    return 0;
}

int ring_new(struct ring **out, uint64_t bytes)
{
    struct ring *r = calloc(1, sizeof(*r));
    uint64_t most = most_bytes();
    int err;

    *out = NULL;
    if (!r) {
        return -ENOMEM;
    }
    pthread_mutex_init(&r->log_lock, NULL);
    r->size = pages(bytes);
    r->max_threads = MAX_THREADS;
    r->log_bytes = LOG_BYTES;
    r->area_bytes = AREA_BYTES;
    while (lay_out(r) > most && r->area_bytes > MIN_SHARE) {
        r->max_threads /= 2;
        r->log_bytes /= 2;
        r->area_bytes /= 2;
    }
    r->bytes = lay_out(r);
    r->fd = memfd_create("cannoli-ring", MFD_CLOEXEC);
    if (r->fd < 0) {
        err = -errno;
        goto out_free;
    }
    if (r->size > INT64_MAX - r->bytes) {
        err = -ENOMEM;
        goto out_free;
    }
    if (ftruncate(r->fd, (off_t)(r->bytes + r->size)) < 0) {
        err = -errno;
        goto out_free;
    }
    r->base = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (r->base == MAP_FAILED) {
        r->base = NULL;
        err = -errno;
        goto out_free;
    }
    lay_out(r);
    /* Number 0 is that of no chunk. */
    r->image->state[0].head_seq = r->image->state[0].tail_seq = 1;
    err = map_chunks(r);
    if (err) {
        goto out_free;
    }
    *out = r;
    return 0;

out_free:
    ring_free(r);
    return err;
}

void ring_free(struct ring *r)
{
    if (!r) {
        return;
    }
    if (r->chunks) {
        munmap(r->chunks, 2 * r->size);
    }
    if (r->base) {
        munmap(r->base, r->bytes);
    }
    if (r->fd >= 0) {
        close(r->fd);
    }
    pthread_mutex_destroy(&r->log_lock);
    free(r->item_at);
    free(r);
}

uint64_t ring_size(const struct ring *r)
{
    return r->size;
}

uint32_t ring_chunk_bytes(uint64_t ring_bytes, uint32_t most)
{
    uint32_t n = 64u << 10;

    while (n < most && (uint64_t)n * 16 <= ring_bytes) {
        n *= 2;
    }
    return n;
}

/* --------------------------------------------------------------------- log */

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
        return fail(diag, CTR_E_LIMIT,
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
        return fail(diag, CTR_E_LIMIT,
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
    madvise(r->log[old], pages(r->log_bytes), MADV_REMOVE);
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

static int hold_blocks(struct ring *r, const struct ctr_packed *packed,
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
               ? fail(diag, CTR_E_LIMIT, "there are too many block definitions")
           : err ? fail(diag, -err, "the blocks of a chunk are not known")
                 : 0;
}

static void drop_blocks(struct ring *r, const struct ring_chunk *c)
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

/* -------------------------------------------------- processes and threads */

int ring_process(struct ring *r, int32_t pid, int32_t ppid, int32_t host_pid,
                 uint64_t start_ns, uint32_t serial, uint32_t *index,
                 struct ctr_diag *diag)
{
    uint32_t n = r->image->nproc;

    if (n >= r->max_threads) {
        return fail(diag, CTR_E_LIMIT, "there are too many processes");
    }
    r->proc[n] = (struct ring_proc){.pid = pid,
                                    .ppid = ppid,
                                    .host_pid = host_pid,
                                    .serial = serial,
                                    .start_ns = start_ns};
    __atomic_store_n(&r->image->nproc, n + 1, __ATOMIC_RELEASE);
    *index = n;
    return 0;
}

int ring_thread(struct ring *r, uint32_t process, int32_t tid, int32_t ptid,
                uint64_t start_ns, uint32_t pipe, uint32_t serial, uint32_t *index,
                struct ctr_diag *diag)
{
    uint32_t n = r->image->nthread;

    if (n >= r->max_threads) {
        return fail(diag, CTR_E_LIMIT, "there are too many threads");
    }
    r->thread[n] = (struct ring_thread){.process = process,
                                        .tid = tid,
                                        .ptid = ptid,
                                        .start_ns = start_ns,
                                        .pipe = pipe,
                                        .serial = serial,
                                        .last_ns = start_ns};
    __atomic_store_n(&r->image->nthread, n + 1, __ATOMIC_RELEASE);
    *index = n;
    return 0;
}

void ring_process_ending(struct ring *r, uint32_t process, uint64_t end_ns,
                         uint32_t reason, int32_t status)
{
    struct ring_proc *p = &r->proc[process];

    p->end_ns = end_ns;
    p->reason = reason;
    p->status = status;
    __atomic_store_n(&p->ending, 1, __ATOMIC_RELEASE);
}

int ring_process_end(struct ring *r, uint32_t process, uint64_t end_ns, uint32_t reason,
                     int32_t status)
{
    ring_process_ending(r, process, end_ns, reason, status);
    __atomic_store_n(&r->proc[process].ended, 1, __ATOMIC_RELEASE);
    return 0;
}

void ring_thread_ending(struct ring *r, uint32_t thread, uint64_t end_ns, uint32_t reason,
                        int32_t status, bool incomplete)
{
    struct ring_thread *t = &r->thread[thread];

    t->end_ns = end_ns;
    t->reason = reason;
    t->status = status;
    t->incomplete = incomplete;
    __atomic_store_n(&t->ending, 1, __ATOMIC_RELEASE);
}

int ring_thread_end(struct ring *r, uint32_t thread, uint64_t end_ns, uint32_t reason,
                    int32_t status, bool incomplete)
{
    ring_thread_ending(r, thread, end_ns, reason, status, incomplete);
    __atomic_store_n(&r->thread[thread].ended, 1, __ATOMIC_RELEASE);
    return 0;
}

/* ------------------------------------------------------------------ events */

/* Whether what comes later is not understood without it. */
static bool outlives(uint32_t type)
{
    return type == CTR_EVENT_MAP || type == CTR_EVENT_THREAD || type == CTR_EVENT_LABEL ||
           type == CTR_EVENT_GATE || type == CTR_EVENT_SELECT;
}

int ring_events_collect(struct ring_events *e, const void *aux, uint32_t aux_bytes)
{
    const uint8_t *p = aux;

    for (uint32_t at = 0; at < aux_bytes;) {
        const struct mempipe_aux_event *x = (const void *)(p + at);
        uint32_t bytes = (uint32_t)ring_round(sizeof(struct ring_event) + x->p.n);
        struct ring_event *to;

        at += x->p.h.bytes;
        if (x->p.h.type != MEMPIPE_AUX_EVENT || !outlives(x->type)) {
            continue;
        }
        if (e->cap - e->bytes < bytes) {
            uint32_t cap = 2 * e->cap + bytes + 1024;
            void *more = realloc(e->data, cap);
            if (!more) {
                return -CTR_E_NOMEM;
            }
            e->data = more;
            e->cap = cap;
        }
        to = (struct ring_event *)((uint8_t *)e->data + e->bytes);
        memset(to, 0, bytes);
        to->bytes = bytes;
        to->type = x->type;
        to->time_ns = x->time_ns;
        to->n = x->p.n;
        memcpy(to + 1, x + 1, x->p.n);
        e->bytes += bytes;
    }
    return 0;
}

/* Folds what was kept of dropped chunks, into the other area. */
static int fold(struct ring *r, struct ctr_diag *diag)
{
    struct ring_fold f;
    uint32_t other = 1 - r->image->area;
    uint64_t used = 0;
    int err = ring_fold_make(&f, r, diag);

    for (size_t i = 0; !err && i < f.n; i++) {
        const struct ring_event *e = f.kept[i].event;
        struct ring_event *to = (struct ring_event *)(r->area[other] + used);

        if (e->bytes > r->area_bytes - used) {
            err = fail(diag, CTR_E_LIMIT, "there are too many mappings");
            break;
        }
        memcpy(to, e, e->bytes);
        to->seq = 0;
        to->thread = f.kept[i].thread;
        to->time_ns = f.kept[i].time_ns;
        used += e->bytes;
    }
    ring_fold_free(&f);
    if (err) {
        return err;
    }
    r->image->area_used[other] = used;
    r->image->folded = used;
    /* pairs with the load in ring_fold_make */
    __atomic_store_n(&r->image->area, other, __ATOMIC_RELEASE);
    return 0;
}

static uint64_t fold_bytes(const struct ring *r)
{
    return r->size < FOLD_BYTES / FOLD_RINGS ? FOLD_RINGS * r->size : FOLD_BYTES;
}

/* Keeps the events of the chunk that is about to be dropped. */
static int save_events(struct ring *r, const struct ring_chunk *c, struct ctr_diag *diag)
{
    const uint8_t *from = (const uint8_t *)(c + 1) + ring_round(c->packed_bytes);
    uint64_t used = r->image->area_used[r->image->area], at;

    if (used + c->event_bytes > r->area_bytes ||
        used > 2 * r->image->folded + fold_bytes(r)) {
        int err = fold(r, diag);

        if (err) {
            return err;
        }
        used = r->image->area_used[r->image->area];
    }
    if (c->event_bytes > r->area_bytes - used) {
        return fail(diag, CTR_E_LIMIT, "there are too many mappings");
    }
    memcpy(r->area[r->image->area] + used, from, c->event_bytes);
    for (at = used; at < used + c->event_bytes;) {
        struct ring_event *e = (struct ring_event *)(r->area[r->image->area] + at);

        e->seq = c->seq;
        e->thread = c->thread;
        at += e->bytes;
    }
    /* pairs with the load in ring_fold_make */
    __atomic_store_n(&r->image->area_used[r->image->area], at, __ATOMIC_RELEASE);
    return 0;
}

/* ------------------------------------------------------------------ chunks */

static void set_state(struct ring *r, const struct ring_state *s)
{
    uint32_t other = 1 - r->image->now;

    r->image->state[other] = *s;
    /* pairs with the load in ring_state */
    __atomic_store_n(&r->image->now, other, __ATOMIC_RELEASE);
    /* A process killed from here on has done nothing of what comes after. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void count_dropped(struct ring_numbers *n, const struct ring_chunk *c)
{
    n->dropped_chunks++;
    n->dropped_insns += c->insns;
    n->dropped_loads += c->loads;
    n->dropped_stores += c->stores;
}

static bool too_many_blocks(const struct ring *r)
{
    return r->needed_mem > r->size + DEFS_BYTES;
}

static int drop_oldest(struct ring *r, struct ctr_diag *diag)
{
    struct ring_state s = *ring_state(r);
    const struct ring_chunk *c = ring_at(r, s.tail);

    if (c->event_bytes) {
        int err = save_events(r, c, diag);
        if (err) {
            return err;
        }
    }
    s.tail += c->bytes;
    s.tail_seq++;
    s.numbers.bytes -= c->bytes;
    s.numbers.chunks--;
    s.numbers.insns -= c->insns;
    s.numbers.loads -= c->loads;
    s.numbers.stores -= c->stores;
    count_dropped(&s.numbers, c);
    set_state(r, &s);
    /* Only now may others have the numbers of its blocks. */
    drop_blocks(r, c);
    return 0;
}

/* A chunk that the ring could not hold by itself is dropped as soon as it comes; nothing
 * is left then of what was before it. */
static int drop_new(struct ring *r, struct ring_chunk *c,
                    const struct ring_events *events, const struct ring_last *last,
                    struct ctr_diag *diag)
{
    struct ring_chunk *with = malloc(sizeof(*c) + c->event_bytes);
    struct ring_state s;
    int err = 0;

    if (!with) {
        return fail(diag, CTR_E_NOMEM, "out of memory");
    }
    c->packed_bytes = 0;
    *with = *c;
    if (c->event_bytes) {
        memcpy(with + 1, events->data, c->event_bytes);
        err = save_events(r, with, diag);
    }
    free(with);
    s = *ring_state(r);
    s.head_seq++;
    s.tail_seq++;
    s.last = *last;
    s.last.state_bytes = 0; /* gone with the chunk */
    count_dropped(&s.numbers, c);
    if (!err) {
        set_state(r, &s);
    }
    return err;
}

static void put_chunk(struct ring *r, const struct ring_chunk *c,
                      const struct ctr_packed *packed, const struct ring_events *events,
                      const void *state)
{
    uint8_t *to = r->chunks + ring_state(r)->head % r->size;

    memcpy(to, c, sizeof(*c));
    to += sizeof(*c);
    ctr_packed_save(packed, to);
    to += ring_round(c->packed_bytes);
    if (c->event_bytes) {
        memcpy(to, events->data, c->event_bytes);
    }
    if (c->state_bytes) {
        memcpy(to + c->event_bytes, state, c->state_bytes);
    }
}

/* What the last chunk says of its thread. */
static void thread_goes_on(struct ring *r, const struct ring_last *last)
{
    struct ring_thread *t;

    if (last->thread) {
        t = &r->thread[last->thread - 1];
        t->next = last->next;
        t->last_ns = last->last_ns;
        t->seq = last->seq;
        t->unsure |= last->unsure;
    }
}

int ring_chunk(struct ring *r, uint32_t thread, const struct ctr_packed *packed,
               uint64_t start_ns, uint64_t end_ns, const struct ring_events *events,
               const struct ring_place *next, struct ctr_diag *diag)
{
    const struct ring_thread *t = &r->thread[thread];
    struct ctr_packed_info info;
    struct ring_state s;
    struct ring_chunk c = {.thread = thread, .start_ns = start_ns, .end_ns = end_ns};
    struct ring_last last;
    int err = 0;

    ctr_packed_info(packed, &info);
    last = (struct ring_last){.thread = thread + 1,
                              .seq = next->seq,
                              .from_word = next->from_word,
                              .from_unit = next->from_unit,
                              .from_aux = next->from_aux,
                              .from_insn = next->from_insn,
                              .state_bytes = next->state_bytes,
                              .unsure = info.unsure,
                              .next = t->next + info.insns,
                              .last_ns = end_ns > t->last_ns ? end_ns : t->last_ns};
    c.state_bytes = next->state_bytes;
    c.packed_bytes = ctr_packed_bytes(packed);
    c.event_bytes = events->bytes;
    c.bytes = sizeof(c) + ring_round(c.packed_bytes) + c.event_bytes +
              ring_round(c.state_bytes);
    c.first = t->next;
    c.insns = info.insns;
    c.loads = info.loads;
    c.stores = info.stores;
    s = *ring_state(r);
    while (!err && s.head != s.tail &&
           (s.head - s.tail + c.bytes > r->size || too_many_blocks(r))) {
        err = drop_oldest(r, diag);
        s = *ring_state(r);
    }
    if (!err && c.bytes <= r->size) {
        err = hold_blocks(r, packed, diag);
    }
    c.seq = s.head_seq;
    if (!err && c.bytes > r->size) {
        err = drop_new(r, &c, events, &last, diag);
    } else if (!err) {
        put_chunk(r, &c, packed, events, next->state);
        s.head += c.bytes;
        s.head_seq++;
        s.numbers.bytes += c.bytes;
        s.numbers.chunks++;
        s.numbers.insns += c.insns;
        s.numbers.loads += c.loads;
        s.numbers.stores += c.stores;
        s.last = last;
        set_state(r, &s);
    }
    if (!err) {
        thread_goes_on(r, &last);
    }
    return err;
}

/* ------------------------------------------------------- after a sudden end */

/* Events of a chunk that was about to be dropped, and is still there. */
static void cut_area(struct ring *r)
{
    const uint64_t tail_seq = ring_state(r)->tail_seq;
    struct ring_image *m = r->image;
    uint64_t at = 0;

    while (at < m->area_used[m->area]) {
        const struct ring_event *e = (const void *)(r->area[m->area] + at);

        if (e->seq && e->seq >= tail_seq) {
            m->area_used[m->area] = at;
            break;
        }
        at += e->bytes;
    }
}

void ring_recover(struct ring *r)
{
    cut_area(r);
    thread_goes_on(r, &ring_state(r)->last);
}

void ring_set_output(struct ring *r, enum ring_output output)
{
    __atomic_store_n(&r->image->output, output, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

enum ring_output ring_get_output(const struct ring *r)
{
    return (enum ring_output)r->image->output;
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
    return err ? fail(diag, -err, "the blocks of a chunk are not known") : 0;
}

void ring_goes_on(const struct ring *r, uint32_t thread, struct ring_place *next)
{
    const struct ring_state *s = ring_state(r);
    const struct ring_last *last = &s->last;

    *next = (struct ring_place){.seq = r->thread[thread].seq};
    if (last->thread != thread + 1) {
        return;
    }
    next->from_word = last->from_word;
    next->from_unit = last->from_unit;
    next->from_aux = last->from_aux;
    next->from_insn = last->from_insn;
    next->state_bytes = last->state_bytes;
    if (last->state_bytes) {
        /* It ends where the head is, in one piece, as all is mapped twice. */
        next->state = r->chunks + (s->head - ring_round(last->state_bytes)) % r->size;
    }
}

void ring_numbers(const struct ring *r, struct ring_numbers *n)
{
    *n = ring_state(r)->numbers;
}
