/* SPDX-License-Identifier: MIT */
/*
 * The ring as a trace.  Each thread begins with a chunk that has no runs, only what is
 * left of its dropped part; the kept chunks follow as they are.  Threads and processes of
 * which nothing is left are left out.
 */
#include "ring_priv.h"

#include <stdlib.h>
#include <string.h>

#include "embed.h"

/* Events of one chunk without runs. */
#define EVENT_BYTES (4u << 20)

struct writing {
    const struct ring *r;
    const struct ring_state *state;
    struct ctr_writer *w;
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    const struct ctr_meta *meta;
    int level;
    struct ring_fold fold;
    uint32_t nproc, nthread;
    uint32_t *proc, *thread; /* their numbers in the file, or NOT_THERE */
    uint64_t *first;         /* ordinal of each thread's first chunk, or NO_CHUNK */
    bool *has_past;          /* of each thread: something of a dropped part is written */
    const struct ring_tail *tails;
    uint32_t n_tails;
    bool killed; /* those that had not ended have been killed since */
    struct ctr_diag *diag;
};

#define NOT_THERE UINT32_MAX
#define NO_CHUNK UINT64_MAX

static int failed(struct ctr_diag *diag, int err)
{
    if (diag && !diag->code) {
        diag->code = -err;
        diag->off = CTR_NO_OFF;
    }
    return err;
}

/* ---------------------------------------------------------------- the head */

/* The description, pointing into the log; argv is the caller's to free. */
static const char **get_meta(const struct ring *r, struct ctr_meta *meta)
{
    const struct ring_item *item = ring_item_next(r, NULL);
    const char *at = (const char *)(item + 1) + sizeof(*meta);
    const char **strings[] = {&meta->target, &meta->qemu_version, &meta->recorder,
                              &meta->selection};
    const char **argv;

    memcpy(meta, item + 1, sizeof(*meta));
    argv = calloc((size_t)meta->argc + 1, sizeof(*argv));
    for (unsigned i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        *strings[i] = at;
        at += strlen(at) + 1;
    }
    for (int i = 0; argv && i < meta->argc; i++) {
        argv[i] = at;
        at += strlen(at) + 1;
    }
    meta->argv = argv;
    return argv;
}

/* As far as chunks need it, with its numbers. */
int ring_make_dict(const struct ring *r, struct ctr_dict **out, struct ctr_diag *diag)
{
    const struct ring_item *first = ring_item_next(r, NULL);
    struct ctr_meta meta;
    int err;

    memcpy(&meta, first + 1, sizeof(meta));
    err = ctr_dict_new(out, meta.events);
    if (!err) {
        ctr_dict_reuse_ids(*out); /* some are of nothing that is kept */
    }
    for (const struct ring_item *i = first; !err && i; i = ring_item_next(r, i)) {
        if (i->kind == RING_BLOCK) {
            err = ctr_dict_restore(*out, i->n, i + 1, i->bytes, diag);
        } else if (i->kind == RING_REGS) {
            err = ctr_dict_regs(*out, i->n, i + 1, i->bytes, diag);
        }
    }
    return err;
}

static int write_regs(struct writing *x)
{
    for (const struct ring_item *i = NULL; (i = ring_item_next(x->r, i)) != NULL;) {
        if (i->kind == RING_REGS) {
            return ctr_writer_regs(x->w, i->n, i + 1, i->bytes, x->diag);
        }
    }
    return 0;
}

/* ------------------------------------------------------------- who is there */

static int choose(struct writing *x)
{
    const struct ring *r = x->r;

    x->has_past = calloc((size_t)x->nthread + 1, sizeof(*x->has_past));
    x->proc = malloc(((size_t)x->nproc + 1) * sizeof(*x->proc));
    x->thread = malloc(((size_t)x->nthread + 1) * sizeof(*x->thread));
    x->first = malloc(((size_t)x->nthread + 1) * sizeof(*x->first));
    if (!x->has_past || !x->proc || !x->thread || !x->first) {
        return -CTR_E_NOMEM;
    }
    for (size_t i = 0; i < x->fold.n; i++) {
        x->has_past[x->fold.kept[i].thread] = true;
    }
    for (uint32_t i = 0; i < x->nproc; i++) {
        x->proc[i] = r->proc[i].ended ? NOT_THERE : 0;
    }
    for (uint32_t i = 0; i < x->nthread; i++) {
        x->first[i] = NO_CHUNK;
        x->thread[i] =
            x->fold.chunks[i] || x->has_past[i] || !r->thread[i].ended ? 0 : NOT_THERE;
        if (x->thread[i] != NOT_THERE) {
            x->proc[r->thread[i].process] = 0;
        }
    }
    for (uint64_t at = x->state->tail; at < x->state->head;) {
        const struct ring_chunk *c = ring_at(r, at);

        if (x->first[c->thread] == NO_CHUNK) {
            x->first[c->thread] = c->first;
        }
        at += c->bytes;
    }
    return 0;
}

/* A process or thread that could not be written is not there, nor are later ones. */
static int write_tables(struct writing *x)
{
    int err = 0;

    for (uint32_t i = 0; i < x->nproc; i++) {
        const struct ring_proc *p = &x->r->proc[i];

        if (!err && x->proc[i] != NOT_THERE) {
            err = ctr_writer_nested_process(x->w, p->pid, p->ppid, p->host_pid,
                                            p->start_ns, &x->proc[i], x->diag);
        }
        x->proc[i] = err ? NOT_THERE : x->proc[i];
    }
    for (uint32_t i = 0; i < x->nthread; i++) {
        const struct ring_thread *t = &x->r->thread[i];
        uint64_t first = x->first[i] != NO_CHUNK ? x->first[i] : t->next;

        if (!err && x->thread[i] != NOT_THERE) {
            err = ctr_writer_thread(x->w, x->proc[t->process], t->tid, t->ptid,
                                    t->start_ns, &x->thread[i], x->diag);
            if (!err && (first || x->has_past[i])) {
                err = ctr_writer_thread_first(x->w, x->thread[i], first);
            }
        }
        x->thread[i] = err ? NOT_THERE : x->thread[i];
    }
    return err;
}

static int write_ends(struct writing *x)
{
    int err = 0;

    for (uint32_t i = 0; !err && i < x->nthread; i++) {
        const struct ring_thread *t = &x->r->thread[i];

        if (x->thread[i] == NOT_THERE) {
            continue;
        }
        if (t->ended) {
            err = ctr_writer_thread_end(x->w, x->thread[i], t->end_ns, t->reason,
                                        t->status, t->incomplete != 0);
        } else {
            err = ctr_writer_thread_end(x->w, x->thread[i], x->killed ? t->last_ns : 0,
                                        x->killed ? CTR_END_KILLED : CTR_END_UNKNOWN, 0,
                                        true);
        }
    }
    for (uint32_t i = 0; !err && i < x->nproc; i++) {
        const struct ring_proc *p = &x->r->proc[i];

        if (x->proc[i] != NOT_THERE && p->ended) {
            err =
                ctr_writer_process_end(x->w, x->proc[i], p->end_ns, p->reason, p->status);
        } else if (x->proc[i] != NOT_THERE && x->killed) {
            err = ctr_writer_process_end(x->w, x->proc[i], 0, CTR_END_KILLED, 0);
        }
    }
    return err;
}

/* ------------------------------------------------------------------ chunks */

static uint32_t record_bytes(const struct ring_event *e)
{
    return (uint32_t)ring_round(sizeof(struct mempipe_side_event) + e->n);
}

/* One chunk of events n of a thread; returns how many fitted, or an error. */
static int64_t write_events(struct writing *x, const struct ring_kept *k, size_t n)
{
    const uint32_t words = 0;
    struct ctr_segment seg = {.words = &words, .data_end = &words + 1};
    uint32_t bytes = 0;
    size_t i = 0;
    uint8_t *side;
    int err;

    while (i < n && k[i].thread == k[0].thread &&
           (i == 0 || bytes + record_bytes(k[i].event) <= EVENT_BYTES)) {
        bytes += record_bytes(k[i++].event);
    }
    n = i;
    side = calloc(1, bytes);
    if (!side) {
        return -CTR_E_NOMEM;
    }
    seg.side = side;
    seg.side_bytes = bytes;
    seg.start_ns = k[0].time_ns;
    seg.end_ns = k[n - 1].time_ns;
    for (i = 0; i < n; i++) {
        const struct ring_event *e = k[i].event;
        struct mempipe_side_event *to = (struct mempipe_side_event *)side;

        to->p.h.bytes = record_bytes(e);
        to->p.h.type = MEMPIPE_SIDE_EVENT;
        to->p.n = e->n;
        to->type = e->type;
        to->time_ns = e->time_ns ? k[i].time_ns : 0;
        memcpy(to + 1, e + 1, e->n);
        side += to->p.h.bytes;
    }
    err = ctr_encoder_run(x->enc, &seg, 1, x->packed, x->diag);
    free((void *)(uintptr_t)seg.side);
    if (!err) {
        err = ctr_writer_chunk(x->w, x->thread[k[0].thread], x->packed, x->diag);
    }
    return err ? err : (int64_t)n;
}

int ring_learn_pages(const struct ring *r, uint32_t thread, struct ctr_physmap *map)
{
    const struct ring_state *s = ring_state(r);
    struct ctr_packed *packed;
    int err = ctr_packed_new(&packed);

    for (uint64_t at = s->tail; !err && at < s->head;) {
        const struct ring_chunk *c = ring_at(r, at);

        if (c->thread == thread) {
            err = ctr_packed_load(packed, c + 1, c->packed_bytes);
            err = err ? err : ctr_physmap_learn(map, packed);
        }
        at += c->bytes;
    }
    ctr_packed_free(packed);
    return err;
}

/* What a thread of a killed process had not handed over. */
static int write_tail(struct writing *x, const struct ring_tail *t)
{
    struct ctr_segment seg = t->seg;
    struct ctr_physmap *map = NULL;
    unsigned taken = 0;
    int err = 0;

    if (x->meta->events & CTR_EVENTS_PHYS) {
        err = ctr_physmap_new(&map, x->meta->addr_bits / 8u, x->level);
        err = err ? err : ring_learn_pages(x->r, t->thread, map);
    }
    while (!err && !taken) {
        err = ctr_encoder_run_some(x->enc, &seg, 1, &taken, x->packed, NULL);
        if (!err && map) {
            err = ctr_physmap_apply(map, x->packed, NULL);
        }
        if (!err) {
            err = ctr_writer_chunk(x->w, x->thread[t->thread], x->packed, x->diag);
        }
    }
    ctr_physmap_free(map);
    return err;
}

static int write_chunks(struct writing *x)
{
    for (size_t i = 0; i < x->fold.n;) {
        int64_t got = write_events(x, x->fold.kept + i, x->fold.n - i);

        if (got < 0) {
            return (int)got;
        }
        i += (size_t)got;
    }
    for (uint64_t at = x->state->tail; at < x->state->head;) {
        const struct ring_chunk *c = ring_at(x->r, at);
        int err = ctr_packed_load(x->packed, c + 1, c->packed_bytes);

        if (!err) {
            err = ctr_writer_chunk(x->w, x->thread[c->thread], x->packed, x->diag);
        }
        if (err) {
            return err;
        }
        at += c->bytes;
    }
    for (uint32_t i = 0; i < x->n_tails; i++) {
        int err = write_tail(x, &x->tails[i]);

        if (err && err != -CTR_E_CORRUPT) {
            return err;
        }
    }
    return 0;
}

/* Of the files that were mapped, as they are now. */
static int write_files(struct writing *x)
{
    struct embed *e = embed_new(x->meta, 0, NULL);
    int err = e ? 0 : -CTR_E_NOMEM;

    for (const struct ring_item *i = NULL;
         !err && (i = ring_item_next(x->r, i)) != NULL;) {
        if (i->kind == RING_FILE) {
            err =
                embed_mapped(e, x->w, NULL, (const struct embed_file *)(i + 1), x->diag);
        }
    }
    /* Of one that is missing it may not be known that it was written to. */
    if (!err && !x->r->image->files_missing) {
        err = embed_finish(e, x->w, x->diag);
    }
    embed_free(e);
    return err;
}

static int write_all(struct writing *x, int fd, struct ctr_dict *dict)
{
    int err = ctr_writer_new(&x->w, fd, dict, x->meta, x->level, x->diag);

    if (!err) {
        err = ctr_encoder_new(&x->enc, dict, x->meta->addr_bits / 8, x->level);
    }
    if (!err) {
        err = ctr_packed_new(&x->packed);
    }
    if (!err) {
        err = write_regs(x);
    }
    if (!err) {
        err = write_tables(x);
    }
    if (!err) {
        err = write_chunks(x);
    }
    if (!err) {
        err = write_files(x);
    }
    if (x->w && (!err || err == -CTR_E_IO)) {
        /* The end may fit where a chunk did not. */
        int ends = write_ends(x);
        int end = ends ? ends : ctr_writer_finish(x->w, err ? NULL : x->diag);

        err = err ? err : end;
    }
    return err;
}

int ring_write(const struct ring *r, int fd, struct ctr_dict *dict, int level,
               const struct ring_tail *tails, uint32_t n_tails,
               struct ctr_writer_stats *stats, struct ctr_diag *diag)
{
    struct ctr_meta meta;
    struct writing x = {.r = r,
                        .state = ring_state(r),
                        .nproc = __atomic_load_n(&r->image->nproc, __ATOMIC_ACQUIRE),
                        .nthread = __atomic_load_n(&r->image->nthread, __ATOMIC_ACQUIRE),
                        .meta = &meta,
                        .level = level,
                        .tails = tails,
                        .n_tails = n_tails,
                        .killed = !dict,
                        .diag = diag};
    struct ctr_dict *own = NULL;
    const char **argv = get_meta(r, &meta);
    int err = argv ? ring_fold_make(&x.fold, r, diag) : -CTR_E_NOMEM;

    memset(stats, 0, sizeof(*stats));
    if (!err && !dict) {
        err = ring_make_dict(r, &own, diag);
    }
    if (!err) {
        err = choose(&x);
    }
    if (!err) {
        meta.dropped_chunks = x.state->numbers.dropped_chunks;
        meta.dropped_insns = x.state->numbers.dropped_insns;
        meta.dropped_loads = x.state->numbers.dropped_loads;
        meta.dropped_stores = x.state->numbers.dropped_stores;
        err = write_all(&x, fd, dict ? dict : own);
    }
    if (x.w) {
        ctr_writer_stats(x.w, stats);
    }
    ctr_packed_free(x.packed);
    ctr_encoder_free(x.enc);
    ctr_writer_free(x.w);
    ctr_dict_free(own);
    ring_fold_free(&x.fold);
    free(x.proc);
    free(x.thread);
    free(x.first);
    free(x.has_past);
    free(argv);
    return err ? failed(diag, err) : 0;
}
