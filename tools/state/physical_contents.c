/* SPDX-License-Identifier: MIT */
/*
 * What RAM held when it was described; see physical_priv.h.  First the events themselves say
 * which one describes each byte last; then those are read again whose bytes count.
 */
#include "state/physical_priv.h"

#include <string.h>

#include "cannoli/events.h"

static bool is_there(const struct physical_range *r, const struct physical_place *place)
{
    return physical_place_cmp(&r->from, place) <= 0 &&
           physical_place_cmp(place, &r->until) < 0;
}

/* The contents that the same report has of an address; NULL: none. */
static const struct physical_contents *find_same(const struct physical_layout *l,
                                                 size_t before, uint64_t addr)
{
    const struct physical_contents *same = &l->contents[before];

    while (before--) {
        const struct physical_contents *c = &l->contents[before];

        if (c->thread != same->thread || c->ordinal != same->ordinal) {
            return NULL;
        }
        if (!c->same && addr - c->addr < c->size) {
            return c;
        }
    }
    return NULL;
}

/* Byte number `at' of an event's contents. */
static void describe(const struct physical_layout *l, size_t number, uint64_t at,
                     struct physical_byte *b)
{
    const struct physical_contents *c = &l->contents[number];

    b->place = c->place;
    b->described_ns = c->time_ns;
    b->stores_ns = b->stores_ns == UINT64_MAX ? UINT64_MAX : c->time_ns;
    b->contents = (uint32_t)number;
    b->at = at;
    b->value = c->fill;
    b->state = at < c->n || c->same ? PHYSICAL_READ : PHYSICAL_KNOWN;
}

/* Where the bytes of SAME are. */
static void follow_same(struct physical_read *r)
{
    const struct physical_layout *l = r->layout;
    const struct physical_contents *c = NULL;

    for (size_t i = 0; i < r->n; i++) {
        struct physical_byte *b = &r->bytes[i];
        const struct physical_contents *same = &l->contents[b->contents];
        const uint64_t addr = same->from + b->at;

        if (b->state != PHYSICAL_READ || !same->same) {
            continue;
        }
        if (!c || c->same || c->thread != same->thread || c->ordinal != same->ordinal ||
            c > same || addr - c->addr >= c->size) {
            c = find_same(l, b->contents, addr);
        }
        if (!c) {
            b->state = PHYSICAL_LOST;
            continue;
        }
        describe(l, (size_t)(c - l->contents), addr - c->addr, b);
    }
}

/* ------------------------------------------------------------ bytes of events */

/* The events at one place, in their order. */
struct reading {
    struct physical_read *read;
    uint32_t thread, number;
    uint64_t ordinal;
    size_t
        next; /* the contents of the first event that was not read yet, or a later one */
};

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct reading *at = arg;
    const struct physical_layout *l = at->read->layout;
    const struct physical_contents *c;
    struct ctr_ram ram;

    (void)job;
    if (ctr_parse_ram(e, &ram) || e->ordinal != at->ordinal) {
        return 0;
    }
    c = at->next < l->nr_contents ? &l->contents[at->next] : NULL;
    if (!c || c->thread != at->thread || c->ordinal != at->ordinal ||
        c->number != at->number++) {
        return 0;
    }
    for (size_t i = 0; c->wanted && i < at->read->n; i++) {
        struct physical_byte *b = &at->read->bytes[i];

        if (b->state == PHYSICAL_READ && b->contents == at->next) {
            b->value = b->at < ram.n ? ram.data[b->at] : ram.fill;
            b->state = PHYSICAL_KNOWN;
        }
    }
    at->next++;
    return 0;
}

/* Reads what is wanted of the events at the place of one of them. */
static int read_place(struct physical_read *r, size_t number)
{
    const struct physical_layout *l = r->layout;
    const struct physical_contents *c = &l->contents[number];
    struct reading at = {.read = r, .thread = c->thread, .ordinal = c->ordinal};
    const struct ctr_filter filter = {.kinds = CTR_KIND_RAM,
                                      .threads = &at.thread,
                                      .nthread = 1,
                                      .from = c->ordinal,
                                      .to = c->ordinal + 1};
    /* one worker calls back in the order of the trace */
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    const struct ctr_replay_ops ops = {.os = on_os};

    for (at.next = number; at.next && l->contents[at.next - 1].thread == c->thread &&
                           l->contents[at.next - 1].ordinal == c->ordinal;
         at.next--) {
    }
    return ctr_replay(l->tr, &ops, &at, &opts, r->diag);
}

int physical_read_contents(struct physical_read *r)
{
    struct physical_layout *l = r->layout;
    int ret = 0;

    for (size_t k = 0; k < l->nr_contents; k++) {
        const struct physical_contents *c = &l->contents[k];

        for (size_t i = 0; i < r->nr_spans; i++) {
            const struct physical_span *s = &r->spans[i];
            uint64_t at, n = physical_part(s, c->addr, c->size, &at);

            for (uint64_t j = is_there(&s->range, &c->place) ? 0 : n; j < n; j++) {
                describe(l, k, s->range.addr + at + j - c->addr,
                         &r->bytes[s->first + at + j]);
            }
        }
    }
    follow_same(r);
    for (size_t i = 0; i < r->n; i++) {
        if (r->bytes[i].state == PHYSICAL_READ) {
            l->contents[r->bytes[i].contents].wanted = true;
        }
    }
    for (size_t i = 0; !ret && i < r->n; i++) {
        if (r->bytes[i].state == PHYSICAL_READ) {
            ret = read_place(r, r->bytes[i].contents);
        }
        if (r->bytes[i].state == PHYSICAL_READ) {
            r->bytes[i].state = PHYSICAL_LOST;
        }
    }
    return ret;
}
