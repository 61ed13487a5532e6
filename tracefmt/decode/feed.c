/* SPDX-License-Identifier: MIT */
/*
 * Chunks in recorded order: from a file, by its chunk table and with the index to
 * exclude those without anything of interest; or from a stream, section by section,
 * filling the tables on the way.
 */
#include "decode/feed.h"

#include <string.h>
#include "base/le.h"
#include "base/ranges.h"

/* ------------------------------------------------------------------ filter */

/* Copies n numbers of 32 bits to *room and moves it past them. */
static void *copy_list(uint32_t **room, const void *list, uint32_t n)
{
    void *copy = *room;
    if (n) {
        memcpy(copy, list, n * sizeof(uint32_t));
    }
    *room += n;
    return copy;
}

/* Copies all lists. */
static int copy_lists(struct feed *f, const struct ctr_filter *src)
{
    struct ctr_filter *flt = &f->filter;
    size_t n = (size_t)src->npid + src->ntid + src->nprocess + src->nthread;
    uint32_t *room = malloc(n * sizeof(*room) + 1);
    f->lists = room;
    if (!room || range_lists_make(&f->pcs, src->pcs, src->npc) ||
        range_lists_make(&f->addrs, src->addrs, src->naddr) ||
        range_lists_make(&f->phys, src->phys, src->nphys)) {
        return -1;
    }
    *flt = *src;
    flt->pcs = flt->addrs = flt->phys = NULL;
    flt->pids = copy_list(&room, src->pids, src->npid);
    flt->tids = copy_list(&room, src->tids, src->ntid);
    flt->processes = copy_list(&room, src->processes, src->nprocess);
    flt->threads = copy_list(&room, src->threads, src->nthread);
    return 0;
}

int feed_init(struct feed *f, struct ctr_trace *tr, const struct ctr_filter *filter,
              struct ctr_diag *diag)
{
    memset(f, 0, sizeof(*f));
    f->tr = tr;
    if (filter && copy_lists(f, filter)) {
        range_lists_free(&f->pcs);
        range_lists_free(&f->addrs);
        range_lists_free(&f->phys);
        free(f->lists);
        return ctr_fail_nomem(diag);
    }
    if (f->filter.to == 0 && !f->filter.to_thread) {
        f->filter.to = UINT64_MAX;
    }
    if (f->filter.to_ns == 0) {
        f->filter.to_ns = UINT64_MAX;
    }
    f->scan = CHUNK_SCAN_ALL;
    if (!f->filter.from_thread) {
        f->scan.from = f->filter.from;
        f->scan.from_ns = f->filter.from_ns;
    }
    if (!f->filter.to_thread) {
        f->scan.to = f->filter.to;
        f->scan.to_ns = f->filter.to_ns;
    }
    evdec_init(&f->times);
    f->kinds = f->filter.kinds ? f->filter.kinds : CTR_KIND_ALL;
    f->follows =
        (f->filter.task ? CTR_KIND_TASK : 0) | (f->filter.context ? CTR_KIND_CTX : 0);
    f->runs = 1;
    part_reader_init(&f->index, tr);
    f->dctx = ZSTD_createDCtx();
    if (!f->dctx) {
        feed_fini(f);
        return ctr_fail_nomem(diag);
    }
    return 0;
}

void feed_fini(struct feed *f)
{
    range_lists_free(&f->pcs);
    range_lists_free(&f->addrs);
    range_lists_free(&f->phys);
    free(f->lists);
    free(f->may);
    free(f->pc_may);
    buf_free(&f->pages);
    free(f->follower);
    buf_free(&f->before.payload);
    evdec_fini(&f->times);
    part_reader_fini(&f->index);
    ZSTD_freeDCtx(f->dctx);
}

static int listed(const int32_t *list, uint32_t n, int32_t v)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == v) {
            return 1;
        }
    }
    return n == 0;
}

static int indexed(const uint32_t *list, uint32_t n, uint32_t v)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == v) {
            return 1;
        }
    }
    return n == 0;
}

int feed_thread(const struct feed *f, const struct ctr_thread *t)
{
    const struct ctr_filter *flt = &f->filter;
    return listed(flt->pids, flt->npid, t->pid) && listed(flt->tids, flt->ntid, t->tid) &&
           indexed(flt->processes, flt->nprocess, t->process) &&
           indexed(flt->threads, flt->nthread, t->index);
}

/* From when to when a thread is selected; leaves the rest of *out unchanged. */
static void select_span(const struct feed *f, const struct ctr_thread *t,
                        struct selection *out)
{
    const struct ctr_filter *flt = &f->filter;
    int from_here = flt->from_thread == t->index + 1;
    int to_here = flt->to_thread == t->index + 1;
    out->from = flt->from_thread && !from_here ? 0 : flt->from;
    out->from_ns = from_here ? 0 : flt->from_ns;
    out->to = flt->to_thread && !to_here ? UINT64_MAX : flt->to;
    out->to_ns = to_here ? UINT64_MAX : flt->to_ns;
}

void feed_selection(const struct feed *f, const struct ctr_thread *t,
                    struct selection *out)
{
    out->kinds = f->kinds;
    out->privileges = f->filter.privileges ? f->filter.privileges : UINT32_MAX;
    out->has_pcs = f->filter.npc != 0;
    out->has_addrs = f->filter.naddr + f->filter.nphys != 0;
    out->pcs = range_lists_of(&f->pcs, t->process);
    out->addrs = range_lists_of(&f->addrs, t->process);
    out->phys = range_lists_of(&f->phys, t->process);
    select_span(f, t, out);
}

/* The flags of chunks with system events that are wanted. */
static uint32_t os_flags(const struct feed *f)
{
    return (f->os & CTR_KIND_SYS ? CHUNK_F_SYSTEM : 0) |
           (f->os & CTR_KIND_MAP ? CHUNK_F_MAPS : 0) |
           (f->os & CTR_KIND_THR ? CHUNK_F_THREADS : 0) |
           (f->os & CTR_KIND_MARK ? CHUNK_F_MARKS : 0) |
           (f->os & CTR_KIND_INT ? CHUNK_F_INTERRUPTS : 0) |
           (f->os & CTR_KIND_CTX ? CHUNK_F_CONTEXTS : 0) |
           (f->os & CTR_KIND_ORDER ? CHUNK_F_SLICES : 0) |
           (f->os & CTR_KIND_PWR ? CHUNK_F_POWER : 0) |
           (f->os & CTR_KIND_RAM ? CHUNK_F_RAM : 0) |
           (f->os & CTR_KIND_DMA ? CHUNK_F_DMA : 0) |
           (f->os & CTR_KIND_IO ? CHUNK_F_IO : 0) |
           (f->os & CTR_KIND_TASK ? CHUNK_F_TASKS | CHUNK_F_AREAS : 0) |
           (f->os & CTR_KIND_KEYFRAME ? CHUNK_F_KEYFRAMES : 0) |
           (f->os & CTR_KIND_INPUT ? CHUNK_F_INPUTS : 0);
}

int feed_chunk(const struct feed *f, const struct ctr_chunk *c)
{
    const struct ctr_thread *t = ctr_trace_thread(f->tr, c->thread);
    struct selection span;
    if (!t || !feed_thread(f, t)) {
        return 0;
    }
    select_span(f, t, &span);
    if (c->end_ns < span.from_ns || c->start_ns >= span.to_ns) {
        return 0;
    }
    const uint32_t os = c->flags & os_flags(f);
    int regs = (f->want & DEC_REG) != 0;
    if (!os && !(f->runs && (c->runs || regs))) {
        return 0;
    }
    /* The rest of the previous instruction; events after the last one. */
    uint64_t before = (c->flags & CHUNK_F_RESUMES || regs) && c->first;
    return c->first - before < span.to && c->first + c->insns + (os != 0) > span.from;
}

struct pc_search {
    const struct feed *feed;
    const struct ranges *pcs;
    int found;
    struct ctr_diag *diag;
};

/* Whether an instruction of a block, from first to before end, is in the ranges. */
static int pc_selected(const struct ranges *pcs, const struct ctr_block *b,
                       unsigned first, unsigned end)
{
    for (unsigned i = first; i < end && i < b->ninsn; i++) {
        uint64_t pc = ctr_block_pc(b, i);
        if (in_ranges(pcs, pc, pc)) {
            return 1;
        }
    }
    return 0;
}

/* Whether any instruction of a block is, in any process. */
static int note_pcs(void *arg, const struct ctr_block *b)
{
    struct feed *f = arg;
    f->pc_may[b->id] = (uint8_t)pc_selected(&f->pcs.any, b, 0, b->ninsn);
    return 0;
}

/*
 * Most blocks have none. All are checked at once, so each definition is needed only
 * once.
 */
static int note_blocks(struct feed *f, struct ctr_diag *diag)
{
    if (f->pc_may || f->pc_unknown) {
        return 0;
    }
    const size_t n = (size_t)blocktab_known(f->tr->blocks) + 1;
    f->pc_may = calloc(n, 1);
    if (!f->pc_may) {
        return ctr_fail_nomem(diag);
    }
    int err = blocktab_each(f->tr->blocks, note_pcs, f, diag);
    if (err) {
        free(f->pc_may);
        f->pc_may = NULL;
    }
    if (err == -CTR_E_NOMEM || err == -CTR_E_IO) {
        return err;
    }
    /* A chunk that needs a damaged definition reports the error when it is read. */
    f->pc_unknown = err != 0;
    return 0;
}

static int pc_in_block(void *arg, const struct part_count *c)
{
    struct pc_search *s = arg;
    const struct feed *f = s->feed;
    const struct block *b;
    if (s->found || c->runs == 0 || (!f->pc_unknown && !f->pc_may[c->id])) {
        return 0;
    }
    if (c->first == 0 && c->end == 0 && f->pcs.nlist == 1) {
        s->found = 1; /* what pc_may says */
        return 0;
    }
    int err = blocktab_hold_one(f->tr->blocks, c->id, &b, s->diag);
    if (err == -CTR_E_NOMEM || err == -CTR_E_IO) {
        return err;
    }
    s->found =
        err || pc_selected(s->pcs, &b->pub, c->first, c->end ? c->end : b->pub.ninsn);
    blocktab_drop_one(f->tr->blocks, b);
    return 0;
}

/* What the index says of a chunk: 1 may match, 0 cannot, or an error. */
static int row_may_match(struct feed *f, const struct ctr_chunk *c, struct ctr_diag *diag)
{
    /* The index has virtual addresses only. */
    int want_addr = f->filter.naddr && !f->filter.nphys;
    /* A resumed instruction may have accesses here without being counted here. */
    int want_pc = f->filter.npc != 0 && !(c->flags & CHUNK_F_RESUMES);
    if (!want_addr && !want_pc) {
        return 1;
    }
    struct selection sel;
    feed_selection(f, ctr_trace_thread(f->tr, c->thread), &sel);
    struct pc_search s = {.feed = f, .pcs = &sel.pcs, .diag = diag};
    struct part_pages pages = {.read = 1, .written = 1};
    int err = want_pc ? note_blocks(f, diag) : 0;
    if (err) {
        return err;
    }
    err = part_reader_chunk(&f->index, c->index, want_pc ? pc_in_block : NULL, &s,
                            want_addr ? &sel.addrs : NULL, &pages, diag);
    if (err) {
        return err;
    }
    if (want_pc && !s.found) {
        return 0;
    }
    return !want_addr || (pages.read && f->kinds & CTR_KIND_LOAD) ||
           (pages.written && f->kinds & CTR_KIND_STORE);
}

/*
 * The same for any chunk. A PART can only be read from its start, and queries do not
 * come in the order of the file, so a whole PART is read at once.
 */
enum { MAY_UNKNOWN = 0, MAY_NOT = 1, MAY_MATCH = 2 };

int feed_may_match(struct feed *f, uint64_t i, struct ctr_diag *diag)
{
    const struct ctr_trace *tr = f->tr;
    if (!tr->has_index || (!f->filter.naddr && !f->filter.npc)) {
        return 1;
    }
    if (!f->may) {
        f->may = calloc(tr->nchunks, 1);
        if (!f->may) {
            return ctr_fail_nomem(diag);
        }
    }
    if (f->may[i] == MAY_UNKNOWN) {
        const uint32_t part = chunktab_find(tr->chunks, i, f->index.part);
        const struct chunk_group *g = chunktab_group(tr->chunks, part);
        int damaged = 0; /* then only the chunks themselves can show it */
        for (uint64_t k = g->first; k < g->first + g->count; k++) {
            struct chunk_row row;
            struct ctr_diag why;
            int may = chunktab_get(tr->chunks, k, &row, &why);
            if (!may && feed_chunk(f, &row.pub)) {
                may = damaged ? 1 : row_may_match(f, &row.pub, &why);
            }
            damaged |= ctr_is_damage(may);
            if (may < 0 && !damaged) {
                if (diag) {
                    *diag = why;
                }
                return may;
            }
            f->may[k] = may ? MAY_MATCH : MAY_NOT;
        }
    }
    return f->may[i] != MAY_NOT;
}

/* -------------------------------------------------------------------- time */

/* Whether the times begin or end within a chunk. */
static int cut_by_time(const struct selection *span, const struct ctr_chunk *c)
{
    return c->start_ns < span->from_ns || c->end_ns >= span->to_ns;
}

/*
 * Determines which instructions of a chunk are selected. Only events have times; within
 * a thread they never fall. Returns 1, 0 if there is nothing, or an error.
 */
static int select_insns(struct feed *f, struct raw_chunk *c, struct ctr_diag *diag)
{
    struct evdec *e = &f->times;
    struct selection span;
    select_span(f, ctr_trace_thread(f->tr, c->pub.thread), &span);
    c->lo = span.from;
    c->hi = span.to;
    if (!cut_by_time(&span, &c->pub)) {
        return 1;
    }
    int in = c->pub.start_ns >= span.from_ns;
    int err = evdec_begin(e, &c->sec, &c->payload, &c->pub, f->dctx, diag);
    for (; !err && e->have; err = evdec_next(e)) {
        uint64_t ordinal = e->ev.ordinal;
        if (!in && e->now >= span.from_ns) {
            in = 1;
            c->lo = c->lo < ordinal ? ordinal : c->lo;
        }
        if (e->now >= span.to_ns) {
            c->hi = c->hi > ordinal ? ordinal : c->hi;
            break;
        }
    }
    return err ? err : in;
}

/* --------------------------------------------------------------- what runs */

/* The last events of a thread before chunk `upto'. */
struct follower {
    int known;
    uint64_t upto;
    struct ev_last task, context;
};

static struct follower *follower_of(struct feed *f, uint32_t thread)
{
    if (thread >= f->nfollowers) {
        const size_t n = thread + (size_t)16;
        struct follower *v = realloc(f->follower, n * sizeof(v[0]));
        if (!v) {
            return NULL;
        }
        memset(v + f->nfollowers, 0, (n - f->nfollowers) * sizeof(v[0]));
        f->follower = v;
        f->nfollowers = n;
    }
    return &f->follower[thread];
}

static void forget_lasts(struct follower *to, uint32_t flags)
{
    if (flags & CHUNK_F_TASKS) {
        to->task.size = 0;
    }
    if (flags & CHUNK_F_CONTEXTS) {
        to->context.size = 0;
    }
}

/* Reads all events of a chunk for the last ones of these kinds. */
static int read_lasts(struct feed *f, const struct raw_chunk *c, uint32_t flags,
                      struct follower *to, struct ctr_diag *diag)
{
    struct evdec *e = &f->times;
    e->task = e->context = (struct ev_last){.size = 0};
    int err = evdec_begin(e, &c->sec, &c->payload, &c->pub, f->dctx, diag);
    while (!err && e->have) {
        err = evdec_next(e);
    }
    if (!err && flags & CHUNK_F_TASKS) {
        to->task = e->task;
    }
    if (!err && flags & CHUNK_F_CONTEXTS) {
        to->context = e->context;
    }
    return err;
}

/* Finds them in the chunks of a file before this one. After a damaged one that may have
 * had them they are not known. */
static int find_lasts(struct feed *f, const struct ctr_chunk *c, struct follower *to,
                      struct ctr_diag *diag)
{
    uint32_t flags = (f->follows & CTR_KIND_TASK ? CHUNK_F_TASKS : 0) |
                     (f->follows & CTR_KIND_CTX ? CHUNK_F_CONTEXTS : 0);
    const uint64_t stop = to->known && to->upto <= c->index ? to->upto : 0;
    struct section *sec = &f->before.sec;
    if (!stop) {
        forget_lasts(to, flags);
    }
    for (uint64_t i = c->index; flags && i > stop; i--) {
        struct chunk_row row;
        struct ctr_diag why;
        uint32_t has = flags;
        int err = chunktab_get(f->tr->chunks, i - 1, &row, &why);
        if (!err) {
            has = row.pub.thread == c->thread ? row.pub.flags & flags : 0;
            if (!has) {
                continue;
            }
            f->before.pub = row.pub;
            err = section_read(&f->tr->src, row.pub.off, sec, &why);
        }
        forget_lasts(to, has);
        err = err ? err
                  : section_columns(&f->tr->src, sec, 1u << FRAME_EVENTS,
                                    &f->before.payload, &why);
        err = err ? err : read_lasts(f, &f->before, has, to, &why);
        if (err < 0 && !ctr_is_damage(err)) {
            if (diag) {
                *diag = why;
            }
            return err;
        }
        flags &= ~has;
    }
    to->known = 1;
    to->upto = c->index;
    return 0;
}

/* What was before the chunk. Returns 1, 0 if none of it can be selected, or an error. */
static int follow(struct feed *f, const struct ctr_chunk *c, struct raw_chunk *out,
                  struct ctr_diag *diag)
{
    if (!f->follows) {
        return 1;
    }
    struct follower *to = follower_of(f, c->thread);
    if (!to) {
        return ctr_fail_nomem(diag);
    }
    const int err = f->tr->src.seekable ? find_lasts(f, c, to, diag) : 0;
    out->task = to->task;
    out->context = to->context;
    return err ? err
               : c->flags & (CHUNK_F_TASKS | CHUNK_F_CONTEXTS) ||
                     feed_selects(f, &out->task, &out->context);
}

/* On a stream: what is after the chunk. */
static int follow_on(struct feed *f, const struct raw_chunk *c, struct ctr_diag *diag)
{
    struct follower *to = f->follows ? follower_of(f, c->pub.thread) : NULL;
    const uint32_t flags = c->pub.flags & (CHUNK_F_TASKS | CHUNK_F_CONTEXTS);
    return to && flags ? read_lasts(f, c, flags, to, diag) : 0;
}

static struct ctr_os_event last_event(const struct ev_last *last, uint32_t type)
{
    return (struct ctr_os_event){
        .type = type, .size = last->size, .payload = last->payload};
}

int feed_selects(const struct feed *f, const struct ev_last *task,
                 const struct ev_last *context)
{
    const struct ctr_filter *flt = &f->filter;
    struct ctr_task t = {.comm = {"", 0}};
    struct ctr_context c = {0};
    struct ctr_os_event e;
    if (flt->task) {
        e = last_event(task, CTR_EVENT_TASK);
        if (task->size) {
            ctr_parse_task(&e, &t);
        }
        if (!flt->task(flt->arg, &t)) {
            return 0;
        }
    }
    if (flt->context) {
        e = last_event(context, CTR_EVENT_CONTEXT);
        if (context->size) {
            ctr_parse_context(&e, &c);
        }
        return flt->context(flt->arg, &c);
    }
    return 1;
}

/* -------------------------------------------------------------------- file */

int feed_read(struct feed *f, const struct ctr_chunk *c, struct raw_chunk *out,
              struct ctr_diag *diag)
{
    struct section *sec = &out->sec;
    out->pub = *c; /* also if the chunk cannot be read */
    int err = section_read(&f->tr->src, c->off, sec, diag);
    if (err < 0) {
        return err;
    }
    if (err || sec->type != SECT_CHUNK || le64(sec->body + CHUNK_NUMBER) != c->index ||
        le32(sec->body + CHUNK_THREAD) != c->thread ||
        le64(sec->body + CHUNK_FIRST) != c->first ||
        le64(sec->body + CHUNK_INSNS) != c->insns ||
        le64(sec->body + CHUNK_LOADS) != c->loads ||
        le64(sec->body + CHUNK_STORES) != c->stores ||
        le32(sec->body + CHUNK_RUNS) != c->runs) {
        return ctr_fail(diag, CTR_E_CORRUPT, c->off, "chunk",
                        "not the chunk of the index");
    }
    atomic_fetch_add_explicit(&f->tr->chunks_read, 1, memory_order_relaxed);
    struct selection span;
    select_span(f, ctr_trace_thread(f->tr, c->thread), &span);
    out->lo = span.from;
    out->hi = span.to;
    unsigned columns =
        (f->runs ? decoder_columns(f->want) : 0) |
        (f->os || f->slices || f->follows || cut_by_time(&span, c) ? 1u << FRAME_EVENTS
                                                                   : 0);
    return section_columns(&f->tr->src, sec, columns, &out->payload, diag);
}

/*
 * Whether the chunk has a page with any of the filter's physical addresses, by its column
 * of pages alone. Returns 1, 0 or an error; reading the chunk reports damage.
 */
static int phys_may_match(struct feed *f, const struct ctr_chunk *c,
                          struct raw_chunk *out, struct ctr_diag *diag)
{
    struct section *sec = &out->sec;
    struct ctr_diag why;
    if (!f->filter.nphys || f->filter.naddr || !(f->tr->events & CTR_HAS_PHYS)) {
        return 1;
    }
    int err = section_read(&f->tr->src, c->off, sec, &why);
    if (err || sec->type != SECT_CHUNK || sec->nframes != CHUNK_PHYS_FRAMES) {
        return 1;
    }
    err = section_columns(&f->tr->src, sec, 1u << FRAME_PAGES, &out->payload, &why);
    err = err ? err
              : section_frame(sec, &out->payload, FRAME_PAGES, f->dctx, &f->pages,
                              "chunk.pages", &why);
    if (err == -CTR_E_NOMEM) {
        return ctr_fail_nomem(diag);
    }
    return err ? 1 : phys_touches(&f->pages, &f->phys.any);
}

int feed_take(struct feed *f, const struct ctr_chunk *c, struct raw_chunk *out,
              struct ctr_diag *diag)
{
    int err = follow(f, c, out, diag);
    err = err == 1 ? phys_may_match(f, c, out, diag) : err;
    if (err != 1) {
        return err;
    }
    err = feed_read(f, c, out, diag);
    return err ? err : select_insns(f, out, diag);
}

static int next_of_file(struct feed *f, struct raw_chunk *out, struct ctr_diag *diag)
{
    struct ctr_trace *tr = f->tr;
    struct chunk_row row;
    int got;
    f->scan.flags = f->runs ? 0 : os_flags(f);
    f->first = 0;
    while ((got = chunktab_next(tr->chunks, &f->scan, &row, diag)) == 1) {
        const struct ctr_chunk *c = &row.pub;
        f->first |= (c->flags & CHUNK_F_FIRST) != 0;
        if (!feed_chunk(f, c)) {
            continue;
        }
        int may = feed_may_match(f, c->index, diag);
        if (may < 0) {
            return may;
        }
        if (may) {
            may = feed_take(f, c, out, diag);
            if (may) {
                return may;
            }
        }
    }
    if (got < 0) {
        return got;
    }
    if (tr->damage.code == CTR_E_CORRUPT) {
        if (diag) {
            *diag = tr->damage;
        }
        return -CTR_E_CORRUPT;
    }
    return 0;
}

/* ------------------------------------------------------------------ stream */

/* Handles one section. Returns 1 for a selected chunk. */
static int stream_section(struct feed *f, struct raw_chunk *out, struct ctr_diag *diag)
{
    struct ctr_trace *tr = f->tr;
    struct section *sec = &out->sec;
    struct chunk_row row;
    int err;
    if (sec->type == 0) {
        return section_skip(&tr->src, sec, diag);
    }
    err = trace_count_section(tr, sec, diag);
    if (err) {
        return err;
    }
    switch (sec->type) {
    case SECT_PROCESS:
        return trace_add_process(tr, sec->body, sec->off, diag);
    case SECT_THREAD:
        return trace_add_thread(tr, sec->body, sec->off, diag);
    case SECT_DICT:
        return blocktab_add_section(tr->blocks, sec, diag);
    case SECT_CHUNK:
        err =
            section_columns(&tr->src, sec, (1u << sec->nframes) - 1, &out->payload, diag);
        if (err) {
            return err;
        }
        atomic_fetch_add_explicit(&tr->chunks_read, 1, memory_order_relaxed);
        err = trace_read_header(tr, sec, &row, diag);
        err = err ? err : trace_count_chunk(tr, &row.pub, diag);
        out->pub = row.pub;
        if (!err) {
            err = follow(f, &out->pub, out, diag);
        }
        if (err >= 0) {
            const int selected = err && feed_chunk(f, &out->pub);
            err = follow_on(f, out, diag);
            return err || !selected ? err : select_insns(f, out, diag);
        }
        return err;
    case SECT_REGS:
        return trace_set_regs(tr, sec, diag);
    case SECT_ROOT:
        return trace_set_root(tr, sec, 0, diag);
    case SECT_END:
        trace_set_end(tr, sec);
        tr->state = CTR_COMPLETE;
        return 0;
    case SECT_META:
        return ctr_fail(diag, CTR_E_CORRUPT, sec->off, "meta", "a second description");
    default:
        return section_skip(&tr->src, sec, diag);
    }
}

/*
 * After END the seek table must follow, whole. It is read, so that the writer does not
 * get an error.
 */
static void end_of_stream(struct ctr_trace *tr)
{
    struct ctr_diag why;
    int err = trace_read_seek_table(tr, &why);
    if (err == -CTR_E_CORRUPT) {
        tr->seek_damage = why; /* see ctr_trace_check */
    } else if (err) {
        tr->state = CTR_TRUNCATED;
        ctr_fail(&tr->damage, CTR_E_TRUNCATED, tr->seek_off, "seek table",
                 "the seek table is missing or damaged");
    }
}

static int next_of_stream(struct feed *f, struct raw_chunk *out, struct ctr_diag *diag)
{
    struct ctr_trace *tr = f->tr;
    struct ctr_diag why;
    while (tr->state == CTR_STREAMING) {
        int err = section_read(&tr->src, tr->src.pos, &out->sec, &why);
        if (err == SECTION_EOF) {
            tr->state = CTR_UNFINISHED;
            break;
        }
        if (!err) {
            err = stream_section(f, out, &why);
        }
        if (err == 1) {
            return 1;
        }
        if (tr->state == CTR_COMPLETE) {
            end_of_stream(tr);
        }
        if (err < 0) {
            tr->state = CTR_TRUNCATED;
            tr->damage = why;
            if (err == -CTR_E_TRUNCATED) {
                break;
            }
            if (diag) {
                *diag = why;
            }
            return err;
        }
    }
    if (tr->nchunks == 0 && tr->state != CTR_COMPLETE) {
        return ctr_fail(diag, CTR_E_TRUNCATED, tr->src.pos, "chunk",
                        "there is no whole chunk in the stream");
    }
    return 0;
}

int feed_next(struct feed *f, struct raw_chunk *out, struct ctr_diag *diag)
{
    return f->tr->src.seekable ? next_of_file(f, out, diag)
                               : next_of_stream(f, out, diag);
}
