/* SPDX-License-Identifier: MIT */
/*
 * Compares what equal instructions did: accesses with their values, and what the system did
 * between them (events.h), in order.  What is equal as a number is passed over quickly; the
 * rest may mean the same (meaning.h).
 */
#include <string.h>

#include "events.h"
#include "meaning.h"
#include "pair.h"
#include "writes.h"

#define NONE UINT32_MAX

/* ----------------------------------------------------------------- accesses */

static const uint8_t *value_of(const struct batch *b, const struct access *a)
{
    return access_size(a) <= 8 ? (const uint8_t *)&a->value : b->pool + a->value;
}

static bool has_values(const struct access *a, const struct access *b)
{
    return !(a->what & ACCESS_NOVALUE) && !(b->what & ACCESS_NOVALUE);
}

/* The same kind of access. */
static bool same_shape(const struct access *a, const struct access *b)
{
    return !((a->what ^ b->what) & ~(ACCESS_NOVALUE | ACCESS_BE));
}

/* Whether two accesses are the same; if not, what differs is in *kind. */
static bool same_access(struct pair *p, const struct access *a, const struct access *b,
                        enum difference_kind *kind)
{
    const struct batch *x = p->at[0].b, *y = p->at[1].b;
    size_t at;

    *kind = DIFFERENCE_ACCESS;
    if (!same_shape(a, b)) {
        return false;
    }
    if (!p->at[0].still) {
        space_go(&p->space[0], batch_ordinal(x, a->pos), true, x->time_ns);
    }
    if (!p->at[1].still) {
        space_go(&p->space[1], batch_ordinal(y, b->pos), true, y->time_ns);
    }
    *kind = DIFFERENCE_ADDRESS;
    if (!p->opt->ignore_addresses && !same_address(p, a->addr, b->addr)) {
        return false;
    }
    *kind = DIFFERENCE_VALUE;
    return !has_values(a, b) ||
           (secrets_at(&p->secrets[0], a->addr, access_size(a)) &&
            secrets_at(&p->secrets[1], b->addr, access_size(b))) ||
           same_bytes(p, value_of(x, a), value_of(y, b), access_size(a),
                      from_of(p, a->addr, b->addr), &at);
}

/* Reports a difference; one of the same instruction repeats it. */
static void access_differs(struct pair *p, const struct access *a, const struct access *b,
                           enum difference_kind kind, uint64_t equal)
{
    const struct access *v[2] = {a, b};
    struct difference d = {.kind = kind, .equal = equal};
    unsigned first = a ? 0 : 1;
    uint64_t values = 0;
    uint32_t pos[2];

    for (unsigned i = 0; i < 2; i++) {
        const struct access *other = v[!i];
        /* The other side has no such access, but the instruction. */
        pos[i] =
            v[i] ? v[i]->pos : spot_pos(&p->at[i]) + (other->pos - spot_pos(&p->at[!i]));
        d.side[i].ordinal = batch_ordinal(p->at[i].b, pos[i]);
        d.side[i].access = v[i];
        d.side[i].data = v[i] ? value_of(p->at[i].b, v[i]) : NULL;
    }
    d.hash = map64_mix(batch_insn(p, p->at[first].b, pos[first]), kind);
    if (kind == DIFFERENCE_VALUE && access_size(a) >= 4 && access_size(a) <= 8) {
        values = map64_mix(map64_mix(1, a->value), b->value);
    }
    difference_report(p, &d, values);
}

/* ------------------------------------------------------------------ stretch */

/* What is next on a side: its distance from the spot; NONE: nothing before `end'. */
static uint32_t next_access(const struct spot *s, uint32_t pos, uint32_t end)
{
    const struct batch *b = s->b;

    return b && s->access < b->naccess && b->access[s->access].pos < end
               ? b->access[s->access].pos - pos
               : NONE;
}

static uint32_t next_event(const struct spot *s, uint32_t pos, uint32_t end)
{
    const struct batch *b = s->b;

    return b && s->event < b->nevent && b->event[s->event].pos < end
               ? b->event[s->event].pos - pos
               : NONE;
}

/* Events at distance e, of one side or both. */
static void do_event(struct pair *p, uint32_t e, uint32_t ea, uint32_t eb)
{
    struct spot *s = p->at;
    const struct event *a = ea == e ? &s[0].b->event[s[0].event] : NULL;
    const struct event *b = eb == e ? &s[1].b->event[s[1].event] : NULL;
    uint64_t ordinal[2] = {0, 0};

    if (a && b) {
        events_compare(p, a, b, p->equal + e);
    } else {
        for (unsigned i = 0; i < 2; i++) {
            ordinal[i] =
                s[i].b ? batch_ordinal(s[i].b, spot_pos(&s[i]) + e) : spot_ordinal(p, i);
        }
        events_differ(p, a, b, ordinal, 0, p->equal + e);
    }
    s[0].event += a != NULL;
    s[1].event += b != NULL;
}

/* Accesses that are equal, or whose addresses are known to mean the same, from the spots on;
 * most are. */
static void pass_equal(struct pair *p, const uint32_t pos[2], uint32_t most)
{
    const struct batch *x = p->at[0].b, *y = p->at[1].b;
    const struct access *a = x->access + p->at[0].access, *begin = a;
    const struct access *b = y->access + p->at[1].access;
    const struct access *a_end = x->access + x->naccess, *b_end = y->access + y->naccess;
    const bool still = p->at[0].still && p->at[1].still;

    while (a < a_end && b < b_end && a->pos - pos[0] < most &&
           a->pos - pos[0] == b->pos - pos[1] &&
           (a->addr == b->addr || (still && same_page(p, a->addr, b->addr))) &&
           a->what == b->what && a->value == b->value && access_size(a) <= 8) {
        a++;
        b++;
    }
    p->at[0].access += (size_t)(a - begin);
    p->at[1].access += (size_t)(a - begin);
}

/* Whether a load got bytes that decide what the instruction writes: other ones, and no pointers
 * with one meaning. */
static bool is_other_load(struct pair *p, const struct access *a, const struct access *b)
{
    const uint32_t n = access_size(a);
    const unsigned word = p->guest[0].word;
    const uint8_t *x = value_of(p->at[0].b, a), *y = value_of(p->at[1].b, b);

    if (a->what & ACCESS_STORE || !has_values(a, b) || n != access_size(b) ||
        !memcmp(x, y, n)) {
        return false;
    }
    return n != word || !same_address(p, guest_load(&p->guest[0], x, word),
                                      guest_load(&p->guest[1], y, word));
}

static void do_access(struct pair *p, uint32_t at, uint32_t xa, uint32_t xb)
{
    struct spot *s = p->at;
    const struct access *a = xa == at ? &s[0].b->access[s[0].access] : NULL;
    const struct access *b = xb == at ? &s[1].b->access[s[1].access] : NULL;

    enum difference_kind kind = DIFFERENCE_ACCESS;

    const bool same = a && b && same_access(p, a, b, &kind);

    if (a && b && is_other_load(p, a, b)) {
        p->other_load = p->equal + at + 1;
    }
    if (!same) {
        access_differs(p, a, b, kind, p->equal + at);
    } else if (!p->opt->ignore_addresses) {
        same_page_add(p, a->addr, b->addr);
    }
    s[0].access += a != NULL;
    s[1].access += b != NULL;
}

void data_compare(struct pair *p, uint32_t n, bool before)
{
    struct spot *s = p->at;
    uint32_t pos[2];

    for (unsigned i = 0; i < 2; i++) {
        pos[i] = s[i].b ? spot_pos(&s[i]) : 0;
    }
    while (!p->full && !p->error) {
        const uint32_t ea = next_event(&s[0], pos[0], pos[0] + n + before);
        const uint32_t eb = next_event(&s[1], pos[1], pos[1] + n + before);
        const uint32_t e = ea < eb ? ea : eb;
        uint32_t xa, xb, x, wa, wb, w;

        same_page_forget(p);
        if (s[0].b && s[1].b && n) {
            pass_equal(p, pos, e < n ? e : n);
        }
        xa = next_access(&s[0], pos[0], pos[0] + n);
        xb = next_access(&s[1], pos[1], pos[1] + n);
        x = xa < xb ? xa : xb;
        /* An instruction writes registers after its accesses, and before the system. */
        if (s[0].b && s[1].b && n) {
            const uint32_t until = x < e ? x : e;
            writes_pass_equal(p, pos, until < n ? until : n);
        }
        wa = writes_next(&s[0], pos[0], pos[0] + n);
        wb = writes_next(&s[1], pos[1], pos[1] + n);
        w = wa < wb ? wa : wb;
        if (e == NONE && x == NONE && w == NONE) {
            return;
        }
        if (e <= x && e <= w) {
            do_event(p, e, ea, eb);
        } else if (x <= w) {
            do_access(p, x, xa, xb);
        } else {
            writes_compare(p, pos, w, wa, wb);
        }
    }
}
