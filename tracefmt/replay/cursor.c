/* SPDX-License-Identifier: MIT */
/* One event after the other, and seeking. */
#include "decode/lanes.h"

#include <string.h>

/* The position of a cursor. */
enum stage {
    NO_CHUNK,
    BETWEEN, /* before the run: events ... */
    OUTSIDE, /* ... then changes of registers from outside, from number `at' on */
    IN_RUN,  /* x expands the run */
    IN_INSN, /* on an instruction: accesses from `at' on ... */
    IN_REGS, /* ... then its register changes */
};

struct ctr_cursor {
    struct feed feed;
    struct bundles bundles;
    struct bundle bundle;
    struct lanes lanes;
    struct walk *walk; /* of the lane that goes on; NULL: none */
    enum stage stage;
    int delivered; /* walk's event was delivered */
    struct expand x;
    uint32_t at;
    struct ctr_exec exec;
    uint64_t seek_chunk; /* in this chunk, events before seek_lo are skipped ... */
    uint64_t seek_lo;
    int seeking;      /* ... and in others what was before; 2: it is not selected */
    uint64_t seek_ns; /* when it was begun */
    int holding;      /* `held' is to be delivered next */
    struct ctr_event held;
};

int ctr_cursor_open(struct ctr_cursor **out, struct ctr_trace *tr,
                    const struct ctr_filter *filter, struct ctr_diag *diag)
{
    *out = NULL;
    struct ctr_cursor *c = calloc(1, sizeof(*c));
    if (!c) {
        return ctr_fail_nomem(diag);
    }
    struct feed *f = &c->feed;
    int err = feed_init(f, tr, filter, diag);
    if (err) {
        free(c);
        return err;
    }
    if (tr->events & CTR_HAS_MEM && f->kinds & (CTR_KIND_LOAD | CTR_KIND_STORE)) {
        f->want |= DEC_MEM | (tr->events & CTR_HAS_VAL ? DEC_VAL : 0u) |
                   (tr->events & CTR_HAS_PHYS ? DEC_PHYS : 0u);
    }
    if (tr->events & CTR_HAS_REG && f->kinds & CTR_KIND_REG) {
        f->want |= DEC_REG;
    }
    f->os = feed_os_kinds(f);
    f->runs = f->kinds & CTR_KIND_EXEC || f->want;
    f->slices = lanes_needed(tr);
    bundles_init(&c->bundles, f);
    c->seek_chunk = UINT64_MAX;
    *out = c;
    return 0;
}

void ctr_cursor_close(struct ctr_cursor *c)
{
    if (!c) {
        return;
    }
    lanes_fini(&c->lanes);
    bundle_free(&c->bundle);
    bundles_fini(&c->bundles);
    feed_fini(&c->feed);
    free(c);
}

/* The first selected ordinal of the current chunk. */
static uint64_t lowest(const struct ctr_cursor *c)
{
    uint64_t lo = c->walk->lo;
    return c->walk->pub.index == c->seek_chunk && lo < c->seek_lo ? c->seek_lo : lo;
}

/* Begins the next bundle.  Returns 1, 0 at the end of the trace, or an error. */
static int next_bundle(struct ctr_cursor *c, struct ctr_diag *diag)
{
    c->walk = NULL; /* its lane may go */
    lanes_trim(&c->lanes);
    int ret = bundles_next(&c->bundles, &c->bundle, diag);
    if (ret == 1 && lanes_set(&c->lanes, &c->bundle)) {
        ret = ctr_fail_nomem(diag);
    }
    if (ret == 1 && c->seeking) {
        unsigned i = 0;
        while (i < c->bundle.n && c->bundle.v[i].pub.index != c->seek_chunk) {
            i++;
        }
        c->seeking = i < c->bundle.n                            ? 1
                     : c->bundle.v[0].pub.start_ns < c->seek_ns ? 2
                                                                : 0;
    }
    return ret;
}

/* Goes on with the next chunk, or slice of one.  Returns as next_bundle. */
static int next_lane(struct ctr_cursor *c, struct ctr_diag *diag)
{
    int ret;
    while ((ret = lanes_go(&c->lanes, &c->feed, diag)) == 0) {
        ret = next_bundle(c, diag);
        if (ret != 1) {
            return ret;
        }
    }
    if (ret == 1) {
        c->walk = &c->lanes.now->walk;
        c->stage = BETWEEN;
        c->delivered = 0;
    }
    return ret;
}

/* The chunk has nothing more that is selected. */
static void end_lane(struct ctr_cursor *c)
{
    if (c->walk->pub.index == c->seek_chunk) {
        c->seeking = 0;
    }
    lanes_end(&c->lanes);
    c->stage = NO_CHUNK;
}

/* The next event between the previous run and this one. Returns 1, 0, or an error. */
static int next_between(struct ctr_cursor *c, struct ctr_event *ev)
{
    struct walk *w = c->walk;
    for (;;) {
        int ret = c->delivered ? evdec_next(&w->events) : 0;
        c->delivered = 0;
        if (!ret) {
            ret = walk_event(w);
        }
        if (ret != 1) {
            return ret;
        }
        if (lanes_stop(&c->lanes)) {
            c->stage = NO_CHUNK;
            return 0;
        }
        c->delivered = 1;
        if (walk_event_selected(w) && w->events.ev.ordinal >= lowest(c)) {
            ev->kind = CTR_CURSOR_OS;
            ev->os = w->events.ev;
            ev->os.thread = w->thread;
            return 1;
        }
    }
}

/* The next selected change from outside. */
static int next_out(struct ctr_cursor *c, struct ctr_event *ev)
{
    struct walk *w = c->walk;
    if (c->at >= w->regs.nchanged || !walk_out_selected(w)) {
        return 0;
    }
    walk_out_event(w, c->at++, &ev->reg);
    ev->kind = CTR_CURSOR_REG;
    return ev->reg.ordinal >= lowest(c);
}

static int next_mem(struct ctr_cursor *c, struct ctr_event *ev)
{
    while (c->at < c->x.a_end) {
        uint32_t a = c->at++;
        if (select_access(&c->walk->sel, &c->walk->run, a)) {
            ev->kind = CTR_CURSOR_MEM;
            ev->exec = c->exec;
            expand_mem(&c->x, c->walk->thread, a, &ev->mem);
            return 1;
        }
    }
    return 0;
}

static int next_reg(struct ctr_cursor *c, struct ctr_event *ev)
{
    if (!c->walk->view || c->at >= c->walk->regs.nchanged) {
        return 0;
    }
    ev->kind = CTR_CURSOR_REG;
    ev->exec = c->exec;
    expand_reg(&c->x, c->walk->thread, c->at++, &ev->reg);
    return 1;
}

/* The next instruction of the run; returns 1 if it is an event itself. */
static int next_insn(struct ctr_cursor *c, struct ctr_event *ev)
{
    if (!expand_step(&c->x, 1)) {
        return 0;
    }
    c->stage = IN_INSN;
    c->at = c->x.a;
    expand_exec(&c->x, c->walk->thread, &c->exec);
    ev->kind = CTR_CURSOR_EXEC;
    ev->exec = c->exec;
    return c->x.exec;
}

/* Registers change after the events before the run; then the run begins. */
static int begin_run(struct ctr_cursor *c)
{
    struct walk *w = c->walk;
    if (!w->more) {
        end_lane(c);
        return 0;
    }
    if (w->pub.index == c->seek_chunk && walk_end(w) > c->seek_lo) {
        c->seeking = 0;
    }
    if (walk_end(w) < lowest(c) || !walk_selects(w)) {
        c->stage = BETWEEN;
        return walk_next(w);
    }
    if (w->view) {
        regstate_settle(&w->regs);
    }
    expand_init(&c->x, &w->sel, &w->run, w->view ? &w->regs : NULL, &w->reg_next,
                lowest(c), w->hi);
    c->stage = IN_RUN;
    return 0;
}

/* Moves on to the next stage, when this one has nothing left to deliver. */
static int next_stage(struct ctr_cursor *c)
{
    struct walk *w = c->walk;
    switch (c->stage) {
    case BETWEEN:
        c->stage = OUTSIDE;
        c->at = 0;
        w->regs.nchanged = 0;
        if (w->view) {
            walk_outs(w);
        }
        return 0;
    case OUTSIDE:
        return begin_run(c);
    case IN_RUN:
        if (walk_end(w) > w->hi) {
            end_lane(c);
            return 0;
        }
        c->stage = BETWEEN;
        return walk_next(w);
    case IN_INSN:
        c->stage = IN_REGS;
        c->at = 0;
        return 0;
    case IN_REGS:
    case NO_CHUNK:
        c->stage = IN_RUN;
        break;
    }
    return 0;
}

static int next_event(struct ctr_cursor *c, struct ctr_event *ev, struct ctr_diag *diag)
{
    for (;;) {
        enum stage stage = c->stage;
        int ret = 0;
        switch (stage) {
        case NO_CHUNK:
            ret = next_lane(c, diag);
            if (ret != 1) {
                return ret;
            }
            continue;
        case BETWEEN:
            ret = next_between(c, ev);
            break;
        case OUTSIDE:
            ret = next_out(c, ev);
            break;
        case IN_RUN:
            ret = next_insn(c, ev);
            break;
        case IN_INSN:
            ret = next_mem(c, ev);
            break;
        case IN_REGS:
            ret = next_reg(c, ev);
            break;
        }
        if (!ret && c->stage == stage) {
            ret = next_stage(c);
        }
        if (ret) {
            return ret;
        }
    }
}

/* Whether an event is after the place to which the cursor was moved. */
static int is_reached(const struct ctr_cursor *c)
{
    return c->seeking == 0 || (c->seeking == 1 ? c->walk->pub.index == c->seek_chunk
                                               : c->lanes.now->next_ns >= c->seek_ns);
}

/* The next event from the place on. */
static int next_reached(struct ctr_cursor *c, struct ctr_event *ev, struct ctr_diag *diag)
{
    int ret;
    do {
        ret = next_event(c, ev, diag);
    } while (ret == 1 && !is_reached(c));
    if (ret == 1) {
        c->seeking = 0;
    }
    return ret;
}

int ctr_cursor_next(struct ctr_cursor *c, struct ctr_event *ev, struct ctr_diag *diag)
{
    if (c->holding) {
        c->holding = 0;
        *ev = c->held;
        return 1;
    }
    if (c->walk) {
        walk_diag(c->walk, diag);
    }
    return next_reached(c, ev, diag);
}

static int jump(struct ctr_cursor *c, uint64_t at, const struct chunk_row *row,
                uint64_t lo, struct ctr_diag *diag)
{
    if (c->feed.slices) {
        int err = bundle_begin(c->feed.tr->chunks, &at, diag);
        if (err) {
            return err;
        }
    }
    c->feed.scan.at = at;
    c->seek_chunk = row->pub.index;
    c->seek_lo = lo;
    c->seek_ns = row->pub.start_ns;
    c->seeking = c->feed.slices;
    c->stage = NO_CHUNK;
    bundles_forget(&c->bundles);
    c->lanes.n = 0;
    c->holding = 0;
    return 0;
}

static int jump_to(struct ctr_cursor *c, const struct chunk_row *row, uint64_t lo,
                   struct ctr_diag *diag)
{
    uint64_t at;
    int err = chunktab_place(c->feed.tr->chunks, row, &at, diag);
    return err ? err : jump(c, at, row, lo, diag);
}

/*
 * What the system did before the first instruction of a chunk may be at the end of
 * chunks before it.  Returns whether it did something that is selected, which is then
 * the next event.
 */
static int hold_before(struct ctr_cursor *c, const struct ctr_chunk *chunk)
{
    struct chunk_scan s = CHUNK_SCAN_ALL;
    struct chunk_row row;
    s.stored = 1; /* within a thread the same order */
    s.from = s.to = chunk->first;
    s.thread = s.last_thread = chunk->thread;
    while (chunktab_next(c->feed.tr->chunks, &s, &row, NULL) == 1 &&
           row.pub.index != chunk->index) {
        if (row.pub.thread == chunk->thread &&
            row.pub.first + row.pub.insns == chunk->first &&
            jump_to(c, &row, chunk->first, NULL) == 0 &&
            next_reached(c, &c->held, NULL) == 1 && c->walk->pub.index == row.pub.index) {
            c->holding = 1;
            return 1;
        }
    }
    return 0;
}

static int no_place(int err, struct ctr_diag *diag, const char *what)
{
    return err ? err : ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "seek", "%s", what);
}

int ctr_cursor_seek_ordinal(struct ctr_cursor *c, uint32_t thread, uint64_t ordinal,
                            struct ctr_diag *diag)
{
    struct chunk_row row;
    int got = chunktab_ordinal(c->feed.tr->chunks, thread, ordinal, 0, &row, diag);
    if (got != 1) {
        return no_place(got, diag, "no such instruction");
    }
    if (row.pub.first == ordinal && hold_before(c, &row.pub)) {
        return 0;
    }
    return jump_to(c, &row, ordinal, diag);
}

int ctr_cursor_seek_thread(struct ctr_cursor *c, uint32_t thread, struct ctr_diag *diag)
{
    struct chunk_scan s = CHUNK_SCAN_ALL;
    struct chunk_row row;
    int got;
    s.stored = 1; /* within a thread the same order */
    s.thread = s.last_thread = thread;
    while ((got = chunktab_next(c->feed.tr->chunks, &s, &row, diag)) == 1) {
        if (row.pub.thread == thread) {
            return jump_to(c, &row, 0, diag);
        }
    }
    return no_place(got, diag, "no such thread");
}

int ctr_cursor_seek_time(struct ctr_cursor *c, uint64_t ns, struct ctr_diag *diag)
{
    struct chunk_scan s = CHUNK_SCAN_ALL;
    struct chunk_row row;
    int got;
    s.from_ns = ns;
    while ((got = chunktab_next(c->feed.tr->chunks, &s, &row, diag)) == 1) {
        if (row.pub.end_ns >= ns) {
            got = jump(c, s.at - 1, &row, 0, diag);
            c->seek_chunk = UINT64_MAX; /* what others did meanwhile belongs to it */
            return got;
        }
    }
    return no_place(got, diag, "no such time");
}
