/* SPDX-License-Identifier: MIT */
/*
 * Making the history of address spaces from the map events of a trace.
 *
 * All threads of a process change one address space, so the events of a process
 * are sorted by time first; those of one thread keep their order.  Then they are
 * done one after the other on the set of pieces that are mapped at the moment.
 * A piece that vanishes, or changes in any way, ends a record and begins others.
 */
#include "maps.h"

#include <string.h>
#include "mapset.h"
#include "walk.h"
#include "cannoli/events.h"

#define MAP_SHARED_BIT 0x1u  /* the same on all of Linux's machines */
#define MREMAP_KEEP_OLD 0x4u /* MREMAP_DONTUNMAP */
#define BASE_STEPS 32u       /* pieces looked at for a module's begin */

/* An event, taken out of its payload. */
struct map_event {
    uint64_t time;
    uint64_t seq; /* in which they were met */
    uint64_t start, size, offset, old_start, old_size;
    uint32_t process;
    uint32_t flags;
    uint32_t file;
    uint8_t op; /* CTR_MAP_*, or 0: execve */
    uint8_t prot;
};

/* An address space while its history is made. */
struct space {
    struct ctr_maps *m;
    struct map_history *h;
    struct ctr_diag *diag;
    uint32_t process;
    struct mapset set;
    int initial;  /* the last event told what was there at first */
    int replaced; /* the program was replaced since */
    uint64_t heap_start, heap_end;
    struct map_record *taken; /* scratch: pieces of a range */
    uint32_t ntaken, taken_cap;
};

/* ----------------------------------------------------------------- records */

static struct map_record *record(const struct space *s, const struct map_piece *p)
{
    return &s->m->rec[p->rec];
}

static uint32_t now(const struct space *s)
{
    return s->h->moments - 1;
}

/* A new record like `like' for another range; its piece is put into the set. */
static int add(struct space *s, const struct map_record *like, uint64_t start,
               uint64_t end)
{
    struct ctr_maps *m = s->m;
    if (m->nrec == MAPS_MAX_RECORDS) {
        return ctr_fail(s->diag, CTR_E_LIMIT, CTR_NO_OFF, "maps", "too many mappings");
    }
    struct map_record r = *like; /* may stand in the array that moves */
    if (m->nrec == m->rec_cap) {
        uint32_t cap = m->rec_cap + m->rec_cap / 2 + 256;
        void *p = realloc(m->rec, cap * sizeof(m->rec[0]));
        if (!p) {
            return ctr_fail_nomem(s->diag);
        }
        m->rec = p;
        m->rec_cap = cap;
    }
    if (m->file[r.file].is_file) {
        r.pub.offset += start - r.pub.start;
    }
    r.pub.start = start;
    r.pub.end = end;
    r.pub.process = s->process;
    r.from = now(s);
    r.to = UINT32_MAX;
    m->rec[m->nrec] = r;
    if (mapset_insert(&s->set, (struct map_piece){start, end, m->nrec})) {
        return ctr_fail_nomem(s->diag);
    }
    m->nrec++;
    return 0;
}

static uint64_t end_of(uint64_t start, uint64_t size)
{
    return size > UINT64_MAX - start ? UINT64_MAX : start + size;
}

static int take(struct space *s, const struct map_record *r, uint64_t start, uint64_t end)
{
    if (s->ntaken == s->taken_cap) {
        uint32_t cap = s->taken_cap * 2 + 16;
        void *p = realloc(s->taken, cap * sizeof(s->taken[0]));
        if (!p) {
            return ctr_fail_nomem(s->diag);
        }
        s->taken = p;
        s->taken_cap = cap;
    }
    struct map_record *t = &s->taken[s->ntaken++];
    *t = *r;
    if (s->m->file[t->file].is_file) {
        t->pub.offset += start - t->pub.start;
    }
    t->pub.start = start;
    t->pub.end = end;
    return 0;
}

/*
 * Unmaps a range.  With keep 1 what was there is in s->taken, cut to the range;
 * with keep 2 it also stays mapped.
 */
static int carve(struct space *s, uint64_t start, uint64_t end, int keep)
{
    s->ntaken = 0;
    struct map_pos at = mapset_find(&s->set, start);
    struct map_piece *p;
    int err = 0;
    while (!err && start < end && (p = mapset_at(&s->set, at)) && p->start < end) {
        struct map_piece old = *p;
        if (keep) {
            err = take(s, record(s, &old), old.start > start ? old.start : start,
                       old.end < end ? old.end : end);
        }
        if (keep == 2) {
            at = mapset_next(&s->set, at);
            continue;
        }
        record(s, &old)->to = now(s);
        mapset_remove(&s->set, &at);
        if (!err && old.start < start) {
            err = add(s, record(s, &old), old.start, start);
            at = mapset_find(&s->set, old.end);
        }
        if (!err && old.end > end) {
            err = add(s, record(s, &old), end, old.end);
            break;
        }
    }
    return err;
}

/* Where offset 0 of a file stands that is mapped at start: found by the next
 * piece of the same module below. */
static uint64_t base_of(const struct space *s, uint32_t file, uint64_t start,
                        uint64_t offset)
{
    if (!s->m->file[file].is_file) {
        return start;
    }
    struct map_pos at = mapset_find(&s->set, start);
    for (unsigned i = 0; i < BASE_STEPS && mapset_prev(&s->set, &at); i++) {
        const struct map_record *r = record(s, mapset_at(&s->set, at));
        if (r->file == file) {
            if (r->pub.offset <= offset) {
                return r->pub.base;
            }
            break;
        }
        if (s->m->file[r->file].is_file) {
            break;
        }
    }
    return start - offset;
}

/* ------------------------------------------------------------------ events */

static int map(struct space *s, const struct map_event *e)
{
    uint64_t end = end_of(e->start, e->size);
    int err = carve(s, e->start, end, 0);
    if (err || e->start >= end) {
        return err;
    }
    const struct map_file *f = &s->m->file[e->file];
    struct map_record r = {
        .file = e->file,
        .shared = e->flags & MAP_SHARED_BIT || e->op == CTR_MAP_SHMAT,
        .pub = {.start = e->start, .offset = f->is_file ? e->offset : 0, .prot = e->prot},
    };
    r.pub.base = base_of(s, e->file, e->start, e->offset);
    if (e->op == CTR_MAP_INITIAL && strcmp(f->path, "[heap]") == 0) {
        s->heap_start = e->start;
        s->heap_end = end;
    }
    return add(s, &r, e->start, end);
}

static int protect(struct space *s, const struct map_event *e)
{
    int err = carve(s, e->start, end_of(e->start, e->size), 1);
    for (uint32_t i = 0; !err && i < s->ntaken; i++) {
        struct map_record *r = &s->taken[i];
        r->pub.prot = e->prot;
        err = add(s, r, r->pub.start, r->pub.end);
    }
    return err;
}

/* The old pieces at the new place; the last one grows to its end. */
static int move(struct space *s, const struct map_event *e)
{
    int keep = e->flags & MREMAP_KEEP_OLD || e->old_size == 0 ? 2 : 1;
    uint64_t size = e->old_size ? e->old_size : e->size;
    int err = carve(s, e->old_start, end_of(e->old_start, size), keep);
    uint32_t n = s->ntaken;
    if (err) {
        return err;
    }
    if (n == 0) {
        return map(s, e);
    }
    struct map_record *moved = s->taken; /* carve must not touch them */
    s->taken = NULL;
    s->ntaken = s->taken_cap = 0;
    err = carve(s, e->start, end_of(e->start, e->size), 0);
    uint64_t by = e->start - e->old_start;
    for (uint32_t i = 0; !err && i < n; i++) {
        struct map_record *r = &moved[i];
        uint64_t at = r->pub.start - e->old_start;
        uint64_t end = i + 1 < n ? r->pub.end - e->old_start : e->size;
        end = end < e->size ? end : e->size;
        if (at < end) {
            r->pub.start += by;
            r->pub.base += by;
            err = add(s, r, e->start + at, end_of(e->start, end));
        }
    }
    free(moved);
    return err;
}

static int heap(struct space *s, const struct map_event *e)
{
    uint64_t end = end_of(e->start, e->size);
    if (s->heap_start != e->start || s->heap_end < e->start) {
        s->heap_start = s->heap_end = e->start;
    }
    int err = 0;
    if (end > s->heap_end) {
        struct map_event more = *e;
        more.start = s->heap_end;
        more.size = end - s->heap_end;
        err = map(s, &more);
    } else {
        err = carve(s, end, s->heap_end, 0);
    }
    s->heap_end = end;
    return err;
}

static int do_event(struct space *s, const struct map_event *e)
{
    struct map_history *h = s->h;
    int again = e->op == CTR_MAP_INITIAL && s->initial && !s->replaced;
    if (e->op == 0) {
        s->replaced = 1;
        return 0;
    }
    /* All that was there at first was there at one moment. */
    if (h->moments == 0 || (h->time[now(s)] != e->time && !again)) {
        if (h->moments == h->moments_cap) {
            uint32_t cap = h->moments_cap * 2 + 64;
            void *p = realloc(h->time, cap * sizeof(h->time[0]));
            if (!p) {
                return ctr_fail_nomem(s->diag);
            }
            h->time = p;
            h->moments_cap = cap;
        }
        h->time[h->moments++] = e->time;
    }
    int err = 0;
    if (e->op == CTR_MAP_INITIAL && !again) {
        err = carve(s, 0, UINT64_MAX, 0);
    }
    s->initial = e->op == CTR_MAP_INITIAL;
    s->replaced = s->replaced && !s->initial;
    if (err) {
        return err;
    }
    switch (e->op) {
    case CTR_MAP_MUNMAP:
    case CTR_MAP_SHMDT:
        return carve(s, e->start, end_of(e->start, e->size), 0);
    case CTR_MAP_MPROTECT:
        return protect(s, e);
    case CTR_MAP_MREMAP:
        return move(s, e);
    case CTR_MAP_BRK:
        return heap(s, e);
    default:
        return map(s, e);
    }
}

/* ----------------------------------------------------------------- process */

/* Fills in what callers see of the records. */
static void finish_records(struct space *s)
{
    struct ctr_maps *m = s->m;
    const struct map_history *h = s->h;
    for (uint32_t i = h->first; i < h->end; i++) {
        struct map_record *r = &m->rec[i];
        const struct map_file *f = &m->file[r->file];
        r->pub.from_ns = h->time[r->from];
        r->pub.to_ns = r->to < h->moments ? h->time[r->to] : UINT64_MAX;
        r->to = r->to < h->moments ? r->to : h->moments;
        r->pub.base = f->is_file ? r->pub.base : r->pub.start;
        r->pub.dev = f->dev;
        r->pub.inode = f->inode;
        r->pub.path = f->path;
        r->pub.build_id = f->build_id;
        r->pub.build_id_bytes = f->build_id_bytes;
    }
}

/* All events of one process; they are in order. */
static int do_process(struct ctr_maps *m, const struct map_event *e, uint32_t n,
                      struct ctr_diag *diag)
{
    struct space s = {.m = m, .h = &m->process[e->process], .diag = diag};
    int err = 0;
    s.process = e->process;
    s.h->first = m->nrec;
    for (uint32_t i = 0; !err && i < n; i++) {
        err = do_event(&s, &e[i]);
    }
    s.h->end = m->nrec;
    if (!err) {
        finish_records(&s);
        if (map_history_index(m, s.h)) {
            err = ctr_fail_nomem(diag);
        }
    }
    mapset_fini(&s.set);
    free(s.taken);
    return err;
}

/* -------------------------------------------------------------------- load */

struct loading {
    struct ctr_maps *m;
    struct map_event *event;
    uint32_t n, cap;
    uint64_t *last; /* of each thread: no event is earlier than those before */
    struct ctr_diag *diag;
};

static int keep_event(struct loading *l, const struct ctr_os_event *ev,
                      const struct ctr_thread *t)
{
    struct ctr_map e = {.path = {"", 0}, .build_id = {"", 0}};
    struct ctr_thread_event te;
    if (ctr_parse_map(ev, &e) &&
        (ctr_parse_thread(ev, &te) || te.op != CTR_THREAD_EXEC)) {
        return 0;
    }
    if (l->n == l->cap) {
        uint32_t cap = l->cap * 2 + 256;
        void *p =
            l->n < MAPS_MAX_EVENTS ? realloc(l->event, cap * sizeof(l->event[0])) : NULL;
        if (!p) {
            return l->n < MAPS_MAX_EVENTS ? ctr_fail_nomem(l->diag)
                                          : ctr_fail(l->diag, CTR_E_LIMIT, CTR_NO_OFF,
                                                     "maps", "too many map events");
        }
        l->event = p;
        l->cap = cap;
    }
    if (e.op == CTR_MAP_BRK && e.path.n == 0) {
        e.path = (struct ctr_str){"[heap]", 6};
    }
    uint32_t file;
    int err = map_file_get(l->m, &e, &file, l->diag);
    if (err) {
        return err;
    }
    if (l->last[t->index] < ev->time_ns) {
        l->last[t->index] = ev->time_ns;
    }
    l->event[l->n] = (struct map_event){
        .time = l->last[t->index],
        .seq = l->n,
        .start = e.start,
        .size = e.size,
        .offset = e.offset,
        .old_start = e.old_start,
        .old_size = e.old_size,
        .process = t->process,
        .flags = e.flags,
        .file = file,
        .op = (uint8_t)e.op,
        .prot = (uint8_t)(e.prot & 7),
    };
    l->n++;
    return 0;
}

static int read_events(struct loading *l, struct ctr_trace *tr)
{
    struct feed f;
    struct walk w;
    struct raw_chunk raw = {.payload = {0}};
    int ret = feed_init(&f, tr, NULL, l->diag);
    if (ret) {
        return ret;
    }
    f.runs = 0;
    f.os = CTR_KIND_MAP | CTR_KIND_THR;
    ret = walk_init(&w) ? ctr_fail_nomem(l->diag) : 0;
    while (!ret && (ret = feed_next(&f, &raw, l->diag)) == 1) {
        ret = walk_begin(&w, &f, &raw, l->diag);
        while (!ret && w.events.have) {
            ret = keep_event(l, &w.events.ev, w.thread);
            if (!ret) {
                ret = evdec_next(&w.events);
            }
        }
    }
    walk_fini(&w);
    buf_free(&raw.payload);
    feed_fini(&f);
    /* What cannot be read ends the history, as it ends a replay. */
    return ret == -CTR_E_CORRUPT || ret == -CTR_E_TRUNCATED ? 0 : ret;
}

static int by_process_and_time(const void *a, const void *b)
{
    const struct map_event *x = a, *y = b;
    if (x->process != y->process) {
        return x->process < y->process ? -1 : 1;
    }
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return (x->seq > y->seq) - (x->seq < y->seq);
}

int ctr_maps_load(struct ctr_maps **out, struct ctr_trace *tr, struct ctr_diag *diag)
{
    *out = NULL;
    if (!tr->src.seekable) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "maps", "not on a stream");
    }
    struct ctr_maps *m = calloc(1, sizeof(*m));
    struct loading l = {.m = m, .diag = diag};
    int err = 0;
    l.last = calloc((size_t)tr->nthreads + 1, sizeof(l.last[0]));
    if (m) {
        m->process = calloc((size_t)tr->nprocs + 1, sizeof(m->process[0]));
    }
    if (!m || !l.last || !m->process) {
        err = ctr_fail_nomem(diag);
        goto out_free;
    }
    m->nprocess = tr->nprocs;
    err = read_events(&l, tr);
    if (err) {
        goto out_free;
    }
    if (l.n) {
        qsort(l.event, l.n, sizeof(l.event[0]), by_process_and_time);
    }
    for (uint32_t i = 0, end; !err && i < l.n; i = end) {
        for (end = i + 1; end < l.n && l.event[end].process == l.event[i].process;) {
            end++;
        }
        err = do_process(m, l.event + i, end - i, diag);
    }
out_free:
    free(l.event);
    free(l.last);
    if (err) {
        ctr_maps_free(m);
    } else {
        *out = m;
    }
    return err;
}
