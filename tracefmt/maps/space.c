/* SPDX-License-Identifier: MIT */
/*
 * An address space is a set of pieces.  A piece that vanishes, or changes in any
 * way, becomes a record of the history, and others may begin.
 */
#include "maps/space.h"

#include <string.h>
#include "base/util.h"
#include "cannoli/events.h"

#define MREMAP_KEEP_OLD 0x4u /* MREMAP_DONTUNMAP */
#define PROT_WRITABLE 2u
#define PROT_EXECUTE 4u
#define BASE_STEPS 32u /* pieces searched for a module's start */

/* ----------------------------------------------------------------- records */

/* Gives the current moment a number. Few do anything that must be known later. */
static int mark(struct map_space *s)
{
    struct map_history *h = s->h;
    if (s->marked) {
        return 0;
    }
    if (s->m->moments++ == MAPS_MAX_MOMENTS) {
        return ctr_fail(s->diag, CTR_E_LIMIT, CTR_NO_OFF, "maps", "too many map events");
    }
    if (h->moments == h->moments_cap) {
        uint32_t cap = h->moments_cap + h->moments_cap / 2 + 16;
        void *p = realloc(h->time, cap * sizeof(h->time[0]));
        if (!p) {
            return ctr_fail_nomem(s->diag);
        }
        h->time = p;
        h->moments_cap = cap;
    }
    h->time[h->moments++] = s->time;
    s->marked = 1;
    return 0;
}

/* Keeps what was there until before a moment. */
static int keep(struct map_space *s, const struct map_piece *p, uint32_t to)
{
    struct map_history *h = s->h;
    if (h->nrec == h->rec_cap) {
        uint32_t cap = h->rec_cap + h->rec_cap / 2 + 16;
        void *v = realloc(h->rec, cap * sizeof(h->rec[0]));
        if (!v) {
            return ctr_fail_nomem(s->diag);
        }
        h->rec = v;
        h->rec_cap = cap;
    }
    h->rec[h->nrec++] = (struct map_record){
        .start = p->start,
        .end = p->end,
        .offset = p->offset,
        .from = p->from,
        .to = to,
        .skew = p->skew,
        .file = p->file & ((1u << 26) - 1),
        .prot = p->prot & 7,
        .shared = p->shared & 1,
        .began = p->began & 3,
    };
    return 0;
}

static int is_kept(const struct map_space *s, const struct map_piece *p)
{
    const int written = p->prot & PROT_WRITABLE && s->m->file[p->file].is_file;
    return s->keep == MAP_KEEP_ALL ||
           (s->keep == MAP_KEEP_CODE && (written || p->prot & PROT_EXECUTE));
}

/* A piece ends that is no longer in the set. */
static int ended(struct map_space *s, const struct map_piece *p)
{
    if (!is_kept(s, p)) {
        return 0;
    }
    int err = mark(s);
    uint32_t now = s->h->moments - 1;
    return err || p->from == now ? err : keep(s, p, now);
}

/* How what is left of a piece that ended, or is changed, begins. */
static uint8_t continued(const struct map_space *s, const struct map_piece *p)
{
    /* If both are of one moment, there is no record of the piece. */
    return s->marked && p->from == s->h->moments - 1 ? p->began : CTR_MAPPING_KEPT;
}

static uint64_t offset_at(const struct map_space *s, const struct map_piece *p,
                          uint64_t start)
{
    return s->m->file[p->file].is_file ? p->offset + (start - p->start) : p->offset;
}

/* Puts a new piece like `like' for another range into the set. */
static int add(struct map_space *s, const struct map_piece *like, uint64_t start,
               uint64_t end)
{
    struct map_piece p = *like;
    if (s->m->changes == MAPS_MAX_CHANGES || s->pieces == MAPS_MAX_PIECES) {
        return ctr_fail(s->diag, CTR_E_LIMIT, CTR_NO_OFF, "maps", "too many mappings");
    }
    int err = is_kept(s, &p) ? mark(s) : 0;
    if (err) {
        return err;
    }
    p.offset = offset_at(s, like, start);
    p.start = start;
    p.end = end;
    p.from = s->h->moments - 1;
    if (mapset_insert(&s->set, p)) {
        return ctr_fail_nomem(s->diag);
    }
    s->m->changes++;
    s->pieces++;
    return 0;
}

static uint64_t end_of(uint64_t start, uint64_t size)
{
    return size > UINT64_MAX - start ? UINT64_MAX : start + size;
}

static int take(struct map_space *s, const struct map_piece *old, uint64_t start,
                uint64_t end)
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
    struct map_piece *t = &s->taken[s->ntaken++];
    *t = *old;
    t->offset = offset_at(s, old, start);
    t->start = start;
    t->end = end;
    return 0;
}

/*
 * Unmaps a range.  With keep 1 what was there is in s->taken, cut to the range;
 * with keep 2 it also stays mapped.
 */
static int carve(struct map_space *s, uint64_t start, uint64_t end, int keep)
{
    s->ntaken = 0;
    struct map_pos at = mapset_find(&s->set, start);
    struct map_piece *p;
    int err = 0;
    while (!err && start < end && (p = mapset_at(&s->set, at)) && p->start < end) {
        struct map_piece old = *p;
        if (keep) {
            err = take(s, &old, old.start > start ? old.start : start,
                       old.end < end ? old.end : end);
        }
        if (keep == 2) {
            at = mapset_next(&s->set, at);
            continue;
        }
        mapset_remove(&s->set, &at);
        s->pieces--;
        if (!err) {
            err = ended(s, &old);
        }
        old.began = continued(s, &old);
        if (!err && old.start < start) {
            err = add(s, &old, old.start, start);
            at = mapset_find(&s->set, old.end);
        }
        if (!err && old.end > end) {
            err = add(s, &old, end, old.end);
            break;
        }
    }
    return err;
}

/*
 * Where offset 0 of the file that is mapped at start would be: found by the next piece
 * of the same module below.
 */
static uint64_t base_of(const struct map_space *s, uint32_t file, uint64_t start,
                        uint64_t offset)
{
    struct map_pos at = mapset_find(&s->set, start);
    for (unsigned i = 0; i < BASE_STEPS && mapset_prev(&s->set, &at); i++) {
        const struct map_piece *p = mapset_at(&s->set, at);
        if (p->file == file) {
            if (p->offset <= offset) {
                return map_base(s->m, p->start, p->offset, p->skew);
            }
            break;
        }
        if (s->m->file[p->file].is_file) {
            break;
        }
    }
    return start - offset;
}

/* Whether a file with a build id is file f, of which none is known. */
static int is_build_of(const struct map_file *build, const struct map_file *f)
{
    return build->build_id_bytes && build->dev == f->dev && build->inode == f->inode &&
           strcmp(build->path, f->path) == 0;
}

/*
 * Only the mapping of offset 0 comes with the build id of a file.  The other mappings of the
 * same file that exist near it have the same one, and no other mapping is of another build:
 * so the number of the file with the build id, or file if none is known.
 */
static uint32_t with_build_id(const struct map_space *s, uint32_t file, uint64_t start)
{
    const struct map_file *f = &s->m->file[file];
    struct map_pos at = mapset_find(&s->set, start);
    const struct map_piece *p;

    if (!f->is_file || f->build_id_bytes) {
        return file;
    }
    for (unsigned i = 0; i < BASE_STEPS && mapset_prev(&s->set, &at); i++) {
        p = mapset_at(&s->set, at);
        if (is_build_of(&s->m->file[p->file], f)) {
            return p->file;
        }
    }
    at = mapset_find(&s->set, start);
    for (unsigned i = 0; i < BASE_STEPS && (p = mapset_at(&s->set, at)); i++) {
        if (is_build_of(&s->m->file[p->file], f)) {
            return p->file;
        }
        at = mapset_next(&s->set, at);
    }
    return file;
}

/* ------------------------------------------------------------------ events */

static int map(struct map_space *s, const struct map_event *e)
{
    uint64_t end = end_of(e->start, e->size);
    int err = carve(s, e->start, end, 0);
    if (err || e->start >= end) {
        return err;
    }
    const struct map_file *f = &s->m->file[e->file];
    const uint32_t file = e->offset ? with_build_id(s, e->file, e->start) : e->file;
    struct map_piece p = {
        .start = e->start,
        .offset = f->is_file ? e->offset : 0,
        .file = file,
        .prot = e->prot,
        .shared = e->flags & MAP_SHARED_BIT || e->op == CTR_MAP_SHMAT,
        .began = e->op == CTR_MAP_INITIAL  ? CTR_MAPPING_INITIAL
                 : e->op == CTR_MAP_MREMAP ? CTR_MAPPING_MOVED
                                           : CTR_MAPPING_NEW,
    };
    if (f->is_file) {
        uint64_t base = base_of(s, file, e->start, e->offset);
        if (map_skew_get(s->m, base - (e->start - e->offset), &p.skew)) {
            return ctr_fail_nomem(s->diag);
        }
    }
    if (e->op == CTR_MAP_INITIAL && strcmp(f->path, "[heap]") == 0) {
        s->heap_start = e->start;
        s->heap_end = end;
    }
    return add(s, &p, e->start, end);
}

/* Replaces the pieces of a range by what `edit' makes of them. */
static int change(struct map_space *s, const struct map_event *e, uint64_t start,
                  uint64_t end,
                  void (*edit)(const struct map_space *s, const struct map_event *e,
                               struct map_piece *p))
{
    int err = carve(s, start, end, 1);
    for (uint32_t i = 0; !err && i < s->ntaken; i++) {
        struct map_piece *p = &s->taken[i];
        p->began = continued(s, p);
        edit(s, e, p);
        err = add(s, p, p->start, p->end);
    }
    return err;
}

static void protect(const struct map_space *s, const struct map_event *e,
                    struct map_piece *p)
{
    (void)s;
    p->prot = e->prot;
}

static void discard(const struct map_space *s, const struct map_event *e,
                    struct map_piece *p)
{
    (void)s;
    (void)e;
    p->began = p->shared ? p->began : CTR_MAPPING_NEW;
}

/* What has no name is of the heap. */
static void name_heap(const struct map_space *s, const struct map_event *e,
                      struct map_piece *p)
{
    p->file = *s->m->file[p->file].path ? p->file : e->file;
}

/* The old pieces at the new place; the last one grows to its end. */
static int move(struct map_space *s, const struct map_event *e)
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
    struct map_piece *moved = s->taken; /* carve must not touch them */
    s->taken = NULL;
    s->ntaken = s->taken_cap = 0;
    err = carve(s, e->start, end_of(e->start, e->size), 0);
    uint64_t by = e->start - e->old_start;
    for (uint32_t i = 0; !err && i < n; i++) {
        struct map_piece *p = &moved[i];
        uint64_t at = p->start - e->old_start;
        uint64_t end = p->end - e->old_start;
        end = end < e->size ? end : e->size;
        p->began = by ? CTR_MAPPING_MOVED : continued(s, p);
        p->start += by;
        if (at < end) {
            err = add(s, p, e->start + at, end_of(e->start, end));
        }
        if (!err && i + 1 == n && end < e->size) {
            p->began = CTR_MAPPING_NEW;
            err = add(s, p, e->start + end, end_of(e->start, e->size));
        }
    }
    free(moved);
    return err;
}

/* Whether the event says where the heap ended before it. */
static int has_old_end(const struct map_event *e)
{
    return e->old_start == e->start;
}

/*
 * The heap of a process that was forked: no initial mapping said which it is, or one
 * was for its first part only, since its host has it as several mappings.
 */
static int find_heap(struct map_space *s, const struct map_event *e)
{
    s->heap_start = e->start;
    s->heap_end = has_old_end(e) ? end_of(e->start, e->old_size) : e->start;
    int err = change(s, e, s->heap_start, s->heap_end, name_heap);
    if (!s->ntaken) { /* nor is it mapped: all of it is new */
        s->heap_end = e->start;
    }
    return err;
}

static int heap(struct map_space *s, const struct map_event *e)
{
    uint64_t end = end_of(e->start, e->size);
    int err = 0;
    if (s->heap_start != e->start || s->heap_end < e->start ||
        (has_old_end(e) && end_of(e->start, e->old_size) != s->heap_end)) {
        err = find_heap(s, e);
    }
    if (err) {
        return err;
    }
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

int map_space_event(struct map_space *s, const struct map_event *e)
{
    int again = e->op == CTR_MAP_INITIAL && s->initial && !s->replaced;
    int err = 0;
    if (e->op == 0) {
        s->replaced = 1;
        return 0;
    }
    /* All initial mappings are of one moment. */
    if (s->h->moments == 0 || (s->time != e->time && !again)) {
        s->time = e->time;
        s->marked = 0;
    }
    /*
     * The first moment stands for all time before; events of initial mappings may come
     * after the time has advanced.
     */
    if (s->h->moments == 0 || e->op == CTR_MAP_INITIAL) {
        err = mark(s);
    }
    if (!err && e->op == CTR_MAP_INITIAL && !again) {
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
        return change(s, e, e->start, end_of(e->start, e->size), protect);
    case CTR_MAP_DISCARD:
        return change(s, e, e->start, end_of(e->start, e->size), discard);
    case CTR_MAP_MREMAP:
        return move(s, e);
    case CTR_MAP_BRK:
        return heap(s, e);
    default:
        return map(s, e);
    }
}

int map_space_end(struct map_space *s)
{
    struct map_pos at = {0, 0};
    int err = 0;
    for (const struct map_piece *p; !err && (p = mapset_at(&s->set, at));
         at = mapset_next(&s->set, at)) {
        err = is_kept(s, p) ? keep(s, p, s->h->moments) : 0;
    }
    return err;
}

void map_space_fini(struct map_space *s)
{
    mapset_fini(&s->set);
    free(s->taken);
}

/* ----------------------------------------------------------------- reading */

int map_event_read(struct ctr_maps *m, const struct ctr_os_event *ev,
                   struct map_event *out, struct ctr_diag *diag)
{
    struct ctr_map e = {.path = {"", 0}, .build_id = {"", 0}};
    struct ctr_thread_event te;
    if (ctr_parse_map(ev, &e) &&
        (ctr_parse_thread(ev, &te) || te.op != CTR_THREAD_EXEC)) {
        return 0;
    }
    if (e.op == CTR_MAP_BRK && e.path.n == 0) {
        e.path = (struct ctr_str){"[heap]", 6};
    }
    int err = map_file_get(m, &e, &out->file, diag);
    if (err) {
        return err;
    }
    out->start = e.start;
    out->size = e.size;
    out->offset = e.offset;
    out->old_start = e.old_start;
    out->old_size = e.old_size;
    out->flags = (uint8_t)(e.flags & MAP_EVENT_FLAGS);
    out->op = (uint8_t)e.op;
    out->prot = (uint8_t)(e.prot & 7);
    return 1;
}
