/* SPDX-License-Identifier: MIT */
/* Searches the trace for accesses to bytes of a line; see memory_priv.h. */
#include <string.h>

#include "cannoli/events.h"
#include "memory/memory_priv.h"

/* That are decoded for each of few places. */
#define FEW_CHUNKS 4u

bool lookup_is_open(const struct lookup *l, unsigned i)
{
    return l->line->state[i] == BYTE_OPEN ||
           (l->line->state[i] == BYTE_LATER && !(l->flags & CTR_SEARCH_BACK));
}

bool lookup_text_ends(const struct lookup *l)
{
    for (unsigned i = l->begin; i < l->end && l->line->state[i] >= BYTE_KNOWN; i++) {
        if (l->line->state[i] == BYTE_LOST || !l->line->value[i]) {
            return true;
        }
    }
    return false;
}

bool lookup_any_open(const struct lookup *l)
{
    for (unsigned i = l->begin; i < l->end; i++) {
        if (lookup_is_open(l, i)) {
            return !l->text || !lookup_text_ends(l);
        }
    }
    return false;
}

uint32_t lookup_open_ranges(const struct lookup *l, struct ctr_range *v)
{
    uint32_t n = 0;

    if (l->text && lookup_text_ends(l)) {
        return 0;
    }
    for (unsigned i = l->begin; i < l->end; i++) {
        if (!lookup_is_open(l, i)) {
            continue;
        }
        if (n && v[n - 1].to == l->base + i) {
            v[n - 1].to++;
        } else {
            v[n++] = (struct ctr_range){l->base + i, l->base + i + 1, 0};
        }
    }
    return n;
}

/* What one event says of some bytes: value (NULL: it cannot be known), or nothing. */
struct report {
    uint64_t addr, size;
    uint64_t n; /* bytes of `data' */
    const uint8_t *data;
    bool write;
};

/* The events of one place, or of a chunk's part: what they decide. */
struct reading {
    uint8_t was[LINE_BYTES]; /* states before */
    uint64_t by[LINE_BYTES]; /* which event decided it, in their order; 0: none */
};

/* Whether event number `key' decides byte i: it was open, and the nearest event counts. */
static bool decides(const struct lookup *l, const struct reading *r, unsigned i,
                    uint64_t key)
{
    if (!r->by[i]) {
        return lookup_is_open(l, i);
    }
    return l->flags & CTR_SEARCH_BACK ? key >= r->by[i] : key < r->by[i];
}

/*
 * Backward, an access says what the bytes are; if it wrote without a value, nothing before
 * it does.  Forward, a load says what they are, and a write ends the search for them: before
 * it they are what they were initially, if nothing was found backward.
 */
static void apply(struct lookup *l, const struct report *r, uint64_t key,
                  struct reading *of)
{
    const bool back = l->flags & CTR_SEARCH_BACK;
    const uint64_t skip = r->addr > l->base ? r->addr - l->base : 0;

    for (uint64_t i = skip > l->begin ? skip : l->begin; i < l->end; i++) {
        const uint64_t at = l->base + i - r->addr;
        if (at >= r->size) {
            break;
        }
        if (!decides(l, of, (unsigned)i, key)) {
            continue;
        }
        if (r->data && at < r->n && (back || !r->write)) {
            l->line->value[i] = r->data[at];
            l->line->state[i] = BYTE_KNOWN;
            of->by[i] = key;
        } else if (r->write) {
            l->line->state[i] = back                      ? BYTE_LATER
                                : of->was[i] == BYTE_OPEN ? BYTE_FIRST
                                                          : BYTE_LOST;
            of->by[i] = key;
        }
    }
}

/* Of what the system did before an instruction, only what is on one side of a call has the
 * time of what was found, where threads are merged by time. */
static bool is_of(const struct ctr_found *found, const struct ctr_usermem *u)
{
    return !found->time_ns ||
           (found->kind == CTR_KIND_STORE) == ((u->flags & CTR_USERMEM_WRITE) != 0);
}

static void apply_event(struct lookup *l, const struct ctr_found *found,
                        const struct ctr_event *ev, struct reading *of)
{
    struct ctr_usermem u;

    /* What the system did before an instruction was before its accesses. */
    if (ev->kind == CTR_CURSOR_MEM) {
        const struct ctr_mem *m = &ev->mem;
        apply(l, &(struct report){m->addr, m->size, m->size, m->data, m->store},
              2 * m->ordinal + 2, of);
    } else if (ev->kind == CTR_CURSOR_OS && !ctr_parse_usermem(&ev->os, &u) &&
               (!found->system || is_of(found, &u))) {
        apply(l,
              &(struct report){u.addr, u.size, u.n, u.data,
                               (u.flags & CTR_USERMEM_WRITE) != 0},
              2 * ev->os.ordinal + 1, of);
    }
}

/* Only events of the time in which the contents exist count.  Of several threads the time of
 * each access is not known well enough: see is_outside. */
static void limit_time(const struct lookup *l, struct ctr_filter *filter)
{
    memory_epochs_limit(&l->m->epochs, &l->m->at, l->flags & CTR_SEARCH_BACK, filter);
    if (!l->origin.single) {
        return;
    }
    if (l->flags & CTR_SEARCH_BACK) {
        filter->from_ns = l->origin.begin_ns;
    } else {
        filter->to_ns = l->origin.until_ns;
    }
}

/* Whether a place that was found is of other contents, or perhaps is. */
static bool is_outside(const struct lookup *l, const struct ctr_found *found)
{
    const struct memory_origin *o = &l->origin;

    return !o->single &&
           (l->flags & CTR_SEARCH_BACK
                ? !memory_origin_since(l->m->origins, o->begin_ns, found->thread->index,
                                       found->ordinal)
                : o->until_ns != UINT64_MAX &&
                      memory_origin_since(l->m->origins, o->until_ns,
                                          found->thread->index, found->ordinal));
}

/* Widens the place found to the rest of its slice or chunk in the direction of the search: that
 * takes no longer, and the other bytes are mostly there.  The nearest access to each counts. */
static int widen(struct lookup *l, const struct ctr_found *found,
                 struct ctr_filter *filter)
{
    const struct memory_origin *o = &l->origin;
    struct ctr_chunk chunk;
    int ret =
        ctr_trace_find(l->m->tr, found->thread->index, found->ordinal, &chunk, l->diag);

    if (ret) {
        return ret;
    }
    if (!(l->flags & CTR_SEARCH_BACK)) {
        filter->to = o->single || chunk.end_ns < o->until_ns ? found->to : filter->to;
    } else if (o->single || chunk.start_ns >= o->begin_ns) {
        filter->from = found->from;
    }
    return 0;
}

static int is_space(void *arg, const struct ctr_context *context)
{
    const struct ctr_memory *m = arg;

    return m->known && context->table == m->space;
}

/* Which address spaces count, as of a filter; NULL: all. */
static int (*context_of(const struct lookup *l))(void *, const struct ctr_context *)
{
    return l->m->machine && l->base < l->m->shared ? is_space : NULL;
}

/* Reads the events that a filter selects, and what they say. */
static int read_events(struct lookup *l, const struct ctr_found *found,
                       const struct ctr_filter *filter, struct reading *of)
{
    struct ctr_cursor *c;
    struct ctr_event ev;
    int ret = ctr_cursor_open(&c, l->m->tr, filter, l->diag);

    if (ret) {
        return ret;
    }
    while ((ret = ctr_cursor_next(c, &ev, l->diag)) == 1) {
        apply_event(l, found, &ev, of);
    }
    ctr_cursor_close(c);
    return ret;
}

/* Reads the events at the place found, or around it; the search goes on after them. */
static int read_found(struct lookup *l, const struct ctr_found *found)
{
    struct ctr_range whole = {l->base, l->base + LINE_BYTES, 0};
    struct ctr_filter filter = {
        .threads = &found->thread->index,
        .nthread = 1,
        .from = found->ordinal,
        .to = found->ordinal + 1,
        .kinds = CTR_KIND_SYS,
        .context = context_of(l),
        .arg = l->m,
    };
    struct reading of = {.by = {0}};
    int ret = found->system ? 0 : widen(l, found, &filter);

    limit_time(l, &filter);
    memcpy(of.was, l->line->state, LINE_BYTES);
    if (!ret && (found->system || filter.to - filter.from > 1)) {
        ret = read_events(l, found, &filter, &of);
    }
    /* Not at once: a filter with addresses selects no events of the system. */
    if (!ret && !found->system) {
        filter.kinds = CTR_KIND_LOAD | CTR_KIND_STORE;
        filter.addrs = &whole;
        filter.naddr = 1;
        ret = read_events(l, found, &filter, &of);
    }
    l->pos.found = *found;
    l->pos.found.ordinal = l->flags & CTR_SEARCH_BACK ? filter.from : filter.to - 1;
    l->pos.point = CTR_SEARCH_FOUND;
    return ret;
}

/* The search came to its limit: what may have been before is not known.  After the moment
 * it matters only for what is decided there. */
static void give_up(struct lookup *l)
{
    for (unsigned i = l->begin; l->flags & CTR_SEARCH_BACK && i < l->end; i++) {
        if (lookup_is_open(l, i)) {
            l->line->state[i] = BYTE_LATER;
        }
    }
}

int lookup_search(struct lookup *l, uint64_t most)
{
    const bool few = most != UINT64_MAX;
    struct ctr_range open[LINE_BYTES];
    struct ctr_found found;
    int ret;

    while (most--) {
        struct ctr_filter filter = {
            .kinds = l->access | CTR_KIND_SYS,
            .from = l->floor,
            .processes = &l->pos.process,
            .nprocess = 1,
            .addrs = open,
            .naddr = lookup_open_ranges(l, open),
            .context = context_of(l),
            .arg = l->m,
            .most = few ? FEW_CHUNKS : l->m->most,
        };
        if (!filter.naddr) {
            return 0;
        }
        limit_time(l, &filter);
        found = l->pos.found;
        ret = ctr_search(l->m->tr, &filter, l->pos.thread, l->pos.ordinal,
                         l->flags | l->pos.point, l->m->jobs, &found, l->diag);
        if (ret == -CTR_E_LIMIT) {
            if (!few) {
                give_up(l);
            }
            return 0;
        }
        if (ret != 1) {
            return ret;
        }
        if (is_outside(l, &found)) {
            return 0;
        }
        ret = read_found(l, &found);
        if (ret) {
            return ret;
        }
    }
    return 0;
}
