/* SPDX-License-Identifier: MIT */
/*
 * Which files the processes of a machine's Linux have as code, by its AREA events.
 *
 * Where an instruction of a vCPU is depends on the process that it runs.  So the time of
 * a place (places_time) is the number of a stretch here: what a vCPU did while it ran one
 * process that had the same files.
 */
#include "places_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"

#define MAX_FILES 16384u
#define NR_SLOTS (2 * MAX_FILES) /* a power of two */
#define MAX_CHANGES (1u << 22)   /* areas, and as many stretches */
#define NOT_KNOWN UINT32_MAX     /* a process */
#define MAX_SCANNED 4096u        /* areas that begin at or before an address */
#define MAX_HAD 4096u            /* of a process at once; QEMU records 1024 */

/* A process had this as code for some time. */
struct area {
    uint32_t tgid;
    uint32_t file; /* of places.files */
    uint64_t start, end, offset;
    uint64_t from_ns, to_ns;
    union {
        uint64_t ordinal; /* while they are read: where it was announced */
        uint64_t highest; /* then: end of this one and those before it of the process */
    };
    uint32_t thread; /* the same */
    bool ended;
};

struct stretch {
    uint32_t thread, tgid;
    uint64_t from; /* ordinal; it ends where the next one begins */
    uint64_t time_ns;
};

struct path {
    char *text;
    size_t n;
    uint64_t hash;
};

struct task_places {
    struct area *areas;        /* by tgid, start */
    struct stretch *stretches; /* by thread, from */
    struct path *paths;
    uint32_t *slots; /* of paths by hash: number + 1, or 0; while they are read */
    uint32_t nr_paths;
    size_t nr_areas, nr_stretches, cap_areas, cap_stretches, cap_paths;
    uint32_t *last; /* by thread, while they are read: the process that it runs */
    size_t cap_last;
    bool failed; /* no memory */
    bool full;   /* what comes later is not known */
    int error;   /* of the trace, or 0 */
    struct ctr_diag diag;
};

/* --------------------------------------------------------------------- reading */

static uint32_t *last_of(struct task_places *t, uint32_t thread)
{
    return array_reserve_zeroed(&t->last, &t->cap_last, thread + (size_t)1,
                                sizeof(*t->last))
               ? &t->last[thread]
               : NULL;
}

/* The number of a path; UINT32_MAX: no memory, or there are too many. */
static uint32_t number_of(struct task_places *t, const struct ctr_str *path)
{
    const uint64_t hash = hash_bytes(HASH_START, path->p, path->n);
    uint32_t slot = hash % NR_SLOTS;
    char *text;

    for (; t->slots[slot]; slot = (slot + 1) % NR_SLOTS) {
        const struct path *p = &t->paths[t->slots[slot] - 1];
        if (p->hash == hash && p->n == path->n && !memcmp(p->text, path->p, path->n)) {
            return t->slots[slot] - 1;
        }
    }
    if (t->nr_paths == MAX_FILES || memchr(path->p, 0, path->n) ||
        !array_reserve(&t->paths, &t->cap_paths, t->nr_paths + (size_t)1,
                       sizeof(*t->paths)) ||
        !(text = strndup(path->p, path->n))) {
        return UINT32_MAX;
    }
    t->paths[t->nr_paths] = (struct path){text, path->n, hash};
    t->slots[slot] = ++t->nr_paths;
    return t->nr_paths - 1;
}

static bool add_stretch(struct task_places *t, const struct ctr_os_event *e,
                        uint32_t tgid)
{
    const struct stretch new = {e->thread->index, tgid, e->ordinal, e->time_ns};
    struct stretch *last = t->nr_stretches ? &t->stretches[t->nr_stretches - 1] : NULL;

    if (last && last->thread == new.thread && last->from == new.from &&
        last->time_ns <= new.time_ns) {
        *last = new;
        return true;
    }
    if (!array_reserve(&t->stretches, &t->cap_stretches, t->nr_stretches + 1,
                       sizeof(*t->stretches))) {
        return false;
    }
    t->stretches[t->nr_stretches++] = new;
    return true;
}

static bool add_area(struct task_places *t, const struct ctr_os_event *e,
                     const struct ctr_area *a)
{
    struct area new = {.tgid = a->tgid,
                       .start = a->start,
                       .end = a->end,
                       .offset = a->offset,
                       .from_ns = e->time_ns,
                       .to_ns = UINT64_MAX,
                       .thread = e->thread->index,
                       .ordinal = e->ordinal,
                       .ended = a->flags != 0};

    new.file = new.ended ? 0 : number_of(t, &a->path);
    if (new.file == UINT32_MAX) {
        return true;
    }
    if (!array_reserve(&t->areas, &t->cap_areas, t->nr_areas + 1, sizeof(*t->areas))) {
        return false;
    }
    t->areas[t->nr_areas++] = new;
    return true;
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct task_places *t = arg;
    uint32_t *last = last_of(t, e->thread->index);
    struct ctr_task task;
    struct ctr_area area;
    bool ok = last != NULL;

    (void)job;
    t->full |= t->nr_areas == MAX_CHANGES || t->nr_stretches == MAX_CHANGES;
    if (ok && t->full) { /* once for each vCPU */
        ok = *last == NOT_KNOWN || add_stretch(t, e, NOT_KNOWN);
        *last = NOT_KNOWN;
    } else if (ok && ctr_parse_task(e, &task) == 0) {
        *last = task.tgid;
        ok = add_stretch(t, e, task.tgid);
    } else if (ok && ctr_parse_area(e, &area) == 0) {
        ok = add_area(t, e, &area) && add_stretch(t, e, *last);
    }
    t->failed = !ok;
    return !ok;
}

/* -------------------------------------------------------------------- in order */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_time(const void *a, const void *b)
{
    const struct area *x = a, *y = b;
    int c = compare(x->tgid, y->tgid);

    c = c ? c : compare(x->from_ns, y->from_ns);
    c = c ? c : (int)y->ended - (int)x->ended;
    return c ? c : compare(x->start, y->start);
}

static int by_start(const void *a, const void *b)
{
    const struct area *x = a, *y = b;
    int c = compare(x->tgid, y->tgid);

    c = c ? c : compare(x->start, y->start);
    return c ? c : compare(x->from_ns, y->from_ns);
}

static int by_place(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    int c = compare(x->thread, y->thread);

    c = c ? c : compare(x->from, y->from);
    return c ? c : compare(x->time_ns, y->time_ns);
}

/*
 * What a process has while its events are read: areas that have not ended, and after an event
 * that ended all of them those that may be announced again at the same place.
 */
struct having {
    size_t v[MAX_HAD]; /* indexes of areas */
    unsigned n;
    uint32_t tgid;
    bool all_ended; /* at this place */
    uint32_t thread;
    uint64_t ordinal;
};

/* Keeps those that have not ended. */
static void keep_open(const struct task_places *t, struct having *h)
{
    unsigned n = 0;

    for (unsigned i = 0; i < h->n; i++) {
        if (t->areas[h->v[i]].to_ns == UINT64_MAX) {
            h->v[n++] = h->v[i];
        }
    }
    h->n = n;
    h->all_ended = false;
}

static bool same_place(const struct area *a, const struct area *b)
{
    return a->start == b->start && a->end == b->end && a->offset == b->offset;
}

static void end_some(struct task_places *t, struct having *h, const struct area *e)
{
    const bool all = e->start == e->end;

    for (unsigned i = 0; i < h->n; i++) {
        struct area *a = &t->areas[h->v[i]];
        if (a->to_ns == UINT64_MAX && (all || same_place(a, e))) {
            a->to_ns = e->from_ns;
        }
    }
    if (all) {
        h->all_ended = true;
        h->thread = e->thread;
        h->ordinal = e->ordinal;
    } else {
        keep_open(t, h);
    }
}

/* Whether the process already has this: then it goes on. */
static bool goes_on(struct task_places *t, const struct having *h, const struct area *e)
{
    for (unsigned i = 0; i < h->n; i++) {
        struct area *a = &t->areas[h->v[i]];
        if (a->file == e->file && same_place(a, e)) {
            a->to_ns = UINT64_MAX;
            return true;
        }
    }
    return false;
}

/*
 * Each area ends with the event that says so: of all, if it has no address.  QEMU says again
 * what a process has for each set of buffers, so what is announced where all ended goes on:
 * otherwise a process had as many areas as there were sets.
 */
static void end_areas(struct task_places *t, struct having *h)
{
    size_t n = 0;

    for (size_t i = 0; i < t->nr_areas; i++) {
        const struct area e = t->areas[i];
        if (h->tgid != e.tgid) {
            h->n = 0;
            h->all_ended = false;
            h->tgid = e.tgid;
        }
        if (h->all_ended && (h->thread != e.thread || h->ordinal != e.ordinal)) {
            keep_open(t, h);
        }
        if (e.ended) {
            end_some(t, h, &e);
        } else if (!goes_on(t, h, &e) && h->n < MAX_HAD) {
            h->v[h->n++] = n;
            t->areas[n++] = e;
        }
    }
    t->nr_areas = n;
}

/* After the sort by address. */
static void set_highest(struct task_places *t)
{
    for (size_t i = 0; i < t->nr_areas; i++) {
        struct area *a = &t->areas[i];
        const struct area *before = i && a[-1].tgid == a->tgid ? a - 1 : NULL;
        a->highest = before && before->highest > a->end ? before->highest : a->end;
    }
}

/* What is known of a vCPU at one instruction is what the last event there says; what it runs
 * sees what others changed before its own next event. */
static void end_stretches(struct task_places *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->nr_stretches; i++) {
        struct stretch s = t->stretches[i];
        const struct stretch *next =
            i + 1 < t->nr_stretches ? &t->stretches[i + 1] : NULL;
        if (next && next->thread == s.thread && next->from == s.from) {
            continue;
        }
        if (!next || next->thread != s.thread) {
            s.time_ns = UINT64_MAX - 1;
        } else if (next->time_ns > s.time_ns) {
            s.time_ns = next->time_ns - 1;
        }
        t->stretches[n++] = s;
    }
    t->nr_stretches = n;
}

/* --------------------------------------------------------------------- loading */

static struct range range_of(const struct places *p, const struct area *a)
{
    return (struct range){a->start, a->end, p->files[a->file].mod, a->offset, false};
}

/* Adds the files to those of the trace. */
static bool add_files(struct places *p)
{
    struct task_places *t = p->tasks;

    if (!array_reserve(&p->files, &p->cap_files, t->nr_paths + (size_t)1,
                       sizeof(*p->files))) {
        return false;
    }
    for (uint32_t i = 0; i < t->nr_paths; i++) {
        p->files[i] = (struct mapped_file){.path = t->paths[i].text, .seq = i};
    }
    p->nr_files = t->nr_paths;
    for (size_t i = 0; i < t->nr_areas; i++) {
        struct mapped_file *f = &p->files[t->areas[i].file];
        if (!f->end) {
            f->start = t->areas[i].start;
            f->end = t->areas[i].end;
        }
    }
    return true;
}

/* Kernels are in the upper half of the addresses, and so are their modules. */
static bool is_of_users(const struct elf_arg *e)
{
    const struct sym_code *code;

    return !e->info.object && (!symfile_code(e->file, &code) ||
                               !(code[0].addr >> (e->info.addr_bits - 1) & 1));
}

bool places_tasks_wanted(const struct modset *s, const struct ctr_info *info)
{
    bool some = s->opt.sysroot != NULL;

    for (unsigned i = 0; !some && i < s->opt.nr_elfs; i++) {
        some = is_of_users(&s->elfs[i]);
    }
    return some && info->machine && info->seekable && info->events & CTR_HAS_TASK;
}

bool places_tasks_read(struct places *p, struct ctr_trace *tr)
{
    struct task_places *t = calloc(1, sizeof(*t));
    struct having *having;
    const struct ctr_filter filter = {.kinds = CTR_KIND_TASK};
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    const struct ctr_replay_ops ops = {.os = on_os};

    p->tasks = t;
    if (!t || !(t->slots = calloc(NR_SLOTS, sizeof(*t->slots)))) {
        return false;
    }
    t->diag.off = CTR_NO_OFF;
    t->error = ctr_replay(tr, &ops, t, &opts, &t->diag);
    if (!t->error && t->full) {
        t->error = -CTR_E_LIMIT;
        snprintf(t->diag.text, sizeof(t->diag.text), "too many changes");
        t->diag.code = CTR_E_LIMIT;
    }
    having = t->failed ? NULL : calloc(1, sizeof(*having));
    if (!having) {
        return false;
    }
    if (t->nr_areas) {
        qsort(t->areas, t->nr_areas, sizeof(*t->areas), by_time);
    }
    end_areas(t, having);
    free(having);
    if (t->nr_areas) {
        qsort(t->areas, t->nr_areas, sizeof(*t->areas), by_start);
    }
    set_highest(t);
    if (t->nr_stretches) {
        qsort(t->stretches, t->nr_stretches, sizeof(*t->stretches), by_place);
    }
    end_stretches(t);
    return add_files(p);
}

bool places_tasks_add_ranges(struct places *p)
{
    for (size_t i = 0; i < p->tasks->nr_areas; i++) {
        const struct range r = range_of(p, &p->tasks->areas[i]);
        if (!ranges_add(&p->ranges, &r)) {
            return false;
        }
    }
    return true;
}

void places_tasks_fini(struct places *p)
{
    struct task_places *t = p->tasks;

    if (t) {
        for (uint32_t i = 0; i < t->nr_paths; i++) {
            free(t->paths[i].text);
        }
        free(t->paths);
        free(t->slots);
        free(t->areas);
        free(t->stretches);
        free(t->last);
        free(t);
    }
}

/* --------------------------------------------------------------------- queries */

int places_tasks_error(const struct places *p, struct ctr_diag *diag)
{
    if (p->tasks) {
        *diag = p->tasks->diag;
    }
    return p->tasks ? p->tasks->error : 0;
}

bool places_tasks_have(const struct places *p, const struct module *m)
{
    uint32_t i = 0, n = p->tasks ? p->tasks->nr_paths : 0;

    while (i < n && !(p->files[i].mod && &p->files[i].mod->pub == m)) {
        i++;
    }
    return i < n;
}

uint64_t places_tasks_time(const struct task_places *t, uint32_t thread, uint64_t ordinal,
                           uint64_t *until)
{
    size_t low = 0, high = t->nr_stretches;

    while (low < high) { /* count those that begin by then */
        const size_t mid = low + (high - low) / 2;
        const struct stretch *s = &t->stretches[mid];
        if (s->thread < thread || (s->thread == thread && s->from <= ordinal)) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    *until = low < t->nr_stretches && t->stretches[low].thread == thread
                 ? t->stretches[low].from
                 : UINT64_MAX;
    return low && t->stretches[low - 1].thread == thread ? low : 0;
}

bool places_tasks_find(const struct places *p, uint64_t time, uint64_t pc,
                       struct range *out)
{
    const struct task_places *t = p->tasks;
    const struct stretch *s =
        time && time <= t->nr_stretches ? &t->stretches[time - 1] : NULL;
    size_t low = 0, high = t->nr_areas;

    if (!s) {
        return false;
    }
    while (low < high) { /* count those of lower processes and addresses */
        const size_t mid = low + (high - low) / 2;
        const struct area *a = &t->areas[mid];
        if (a->tgid < s->tgid || (a->tgid == s->tgid && a->start <= pc)) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    for (unsigned i = 0; i < MAX_SCANNED && low-- && t->areas[low].tgid == s->tgid; i++) {
        const struct area *a = &t->areas[low];
        if (a->highest <= pc) { /* as with all code of the kernel */
            break;
        }
        if (pc < a->end && a->from_ns <= s->time_ns && s->time_ns < a->to_ns) {
            *out = range_of(p, a);
            return out->mod != NULL;
        }
    }
    return false;
}
