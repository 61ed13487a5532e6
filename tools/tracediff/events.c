/* SPDX-License-Identifier: MIT */
/* Compares what the system did: calls with their memory, signals. */
#include "events.h"

#include <fnmatch.h>
#include <string.h>

#include "cannoli/events.h"
#include "meaning.h"
#include "syscall/syscall_text.h"

static struct ctr_os_event os_event(const struct pair *p, unsigned side,
                                    const struct event *e)
{
    return (struct ctr_os_event){.ordinal = e->ordinal,
                                 .time_ns = e->time_ns,
                                 .type = e->type,
                                 .size = e->size,
                                 .payload = p->at[side].b->pool + e->payload,
                                 .thread = p->thread[side]};
}

/* How many arguments of a call count: what is in other registers means nothing. */
static unsigned count_args(const struct guest *g, struct ctr_str name)
{
    const struct syscall_desc *d = syscall_find(name.p, name.n);
    unsigned n = 0, more = 0;

    if (!d) {
        return 6;
    }
    while (n < SYSCALL_MAX_ARGS && d->args[n] != A_NONE) {
        more += d->args[n] == A_OFF64 && g->word == 4 ? 2 : 0;
        n++;
    }
    return n + more < 8 ? n + more : 8;
}

static bool same_names(struct ctr_str a, struct ctr_str b)
{
    return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

static bool same_call(struct pair *p, const struct ctr_os_event *x,
                      const struct ctr_os_event *y)
{
    struct ctr_syscall a, b;
    struct ctr_str name;
    unsigned n;

    if (ctr_parse_syscall(x, &a) || ctr_parse_syscall(y, &b)) {
        return false;
    }
    name = syscall_name(&p->guest[0], &a);
    if (a.nr != b.nr || !same_names(name, syscall_name(&p->guest[1], &b))) {
        return false;
    }
    if (x->type == CTR_EVENT_SYSRET) {
        return a.flags == b.flags &&
               same_word(p, guest_word(&p->guest[0], (uint64_t)a.result),
                         guest_word(&p->guest[1], (uint64_t)b.result));
    }
    n = count_args(&p->guest[0], name);
    for (unsigned i = 0; i < n; i++) {
        if (!same_word(p, guest_word(&p->guest[0], a.args[i]),
                       guest_word(&p->guest[1], b.args[i]))) {
            return false;
        }
    }
    return true;
}

/* The memory that a program is started with: its random bytes are known from then on. */
static bool same_start(struct pair *p, const struct ctr_usermem *a,
                       const struct ctr_usermem *b, size_t *at)
{
    const size_t x = secrets_find(&p->guest[0], a), y = secrets_find(&p->guest[1], b);
    const unsigned from = from_of(p, a->addr, b->addr);
    size_t after;

    if (x == SIZE_MAX || y == SIZE_MAX) {
        return same_bytes(p, a->data, b->data, a->n, from, at);
    }
    secrets_set(&p->secrets[0], &p->guest[0], a, x);
    secrets_set(&p->secrets[1], &p->guest[1], b, y);
    after = x + SECRET_BYTES;
    if (x != y || !same_bytes(p, a->data, b->data, x, from, at)) {
        return x == y ? false : same_bytes(p, a->data, b->data, a->n, from, at);
    }
    if (!same_bytes(p, a->data + after, b->data + after, a->n - after,
                    from_of(p, a->addr + after, b->addr + after), at)) {
        *at += after;
        return false;
    }
    return true;
}

static bool same_memory(struct pair *p, const struct ctr_os_event *x,
                        const struct ctr_os_event *y, size_t *at)
{
    struct ctr_usermem a, b;

    *at = 0;
    if (ctr_parse_usermem(x, &a) || ctr_parse_usermem(y, &b)) {
        return false;
    }
    if (!x->ordinal && !y->ordinal && a.n != b.n) {
        /* Other arguments or variables; the random bytes are there all the same. */
        const size_t i = secrets_find(&p->guest[0], &a),
                     k = secrets_find(&p->guest[1], &b);
        if (i != SIZE_MAX && k != SIZE_MAX) {
            secrets_set(&p->secrets[0], &p->guest[0], &a, i);
            secrets_set(&p->secrets[1], &p->guest[1], &b, k);
        }
    }
    if (a.size != b.size || a.n != b.n || a.flags != b.flags ||
        !same_address(p, a.addr, b.addr)) {
        return false;
    }
    return x->ordinal || y->ordinal
               ? same_bytes(p, a.data, b.data, a.n, from_of(p, a.addr, b.addr), at)
               : same_start(p, &a, &b, at);
}

static bool same_signal(struct pair *p, const struct ctr_os_event *x,
                        const struct ctr_os_event *y)
{
    struct ctr_signal a, b;

    return !ctr_parse_signal(x, &a) && !ctr_parse_signal(y, &b) && a.signo == b.signo &&
           a.code == b.code && same_address(p, a.addr, b.addr) &&
           same_address(p, a.handler, b.handler) && same_address(p, a.pc, b.pc);
}

static bool same_event(struct pair *p, const struct ctr_os_event *x,
                       const struct ctr_os_event *y, size_t *at)
{
    if (x->type != y->type) {
        return false;
    }
    return x->type == CTR_EVENT_USERMEM  ? same_memory(p, x, y, at)
           : x->type == CTR_EVENT_SIGNAL ? same_signal(p, x, y)
                                         : same_call(p, x, y);
}

/* Whether an event is of a call that the user excludes; its memory follows it. */
static bool is_ignored(struct pair *p, const struct ctr_os_event *e)
{
    struct ctr_syscall call;
    struct ctr_str name;
    char text[64];

    if (e->type == CTR_EVENT_SYSCALL && !ctr_parse_syscall(e, &call)) {
        name = syscall_name(&p->guest[0], &call);
        p->call_ignored = false;
        for (unsigned i = 0; i < p->opt->nr_ignored_calls && name.n < sizeof(text); i++) {
            memcpy(text, name.p, name.n);
            text[name.n] = 0;
            p->call_ignored |= !fnmatch(p->opt->ignored_calls[i], text, 0);
        }
    }
    return p->call_ignored && e->type != CTR_EVENT_SIGNAL;
}

/* Words that differ in memory that the system wrote: where they are loaded later, that is
 * the same difference. */
static bool remember_memory(struct pair *p, const struct ctr_os_event *x,
                            const struct ctr_os_event *y)
{
    const unsigned word = p->guest[0].word;
    struct ctr_usermem a, b;
    bool added;

    if (ctr_parse_usermem(x, &a) || ctr_parse_usermem(y, &b)) {
        return true;
    }
    for (size_t i = 0; i + word <= a.n && i + word <= b.n; i += word) {
        uint64_t u = 0, v = 0;
        memcpy(&u, a.data + i, word);
        memcpy(&v, b.data + i, word);
        if (u != v && !map64_put(&p->seen, map64_mix(map64_mix(1, u), v), 0, &added)) {
            return false;
        }
    }
    return true;
}

/* Of what differs: a call from the same place often differs each time, as its time does. */
static uint64_t hash_of(const struct pair *p, const struct difference *d)
{
    const unsigned side = d->side[0].event ? 0 : 1;
    const struct event *e = d->side[side].event;
    const struct batch *b = p->at[side].b;
    const bool both = d->side[0].event && d->side[1].event;
    uint64_t hash =
        map64_mix(DIFFERENCE_EVENT, (uint64_t)e->type << 2 | side << 1 | both);

    /* At the end of the thread there is no instruction; that is a place, too. */
    return map64_mix(hash, e->pos < b->ninsn ? batch_insn(p, b, e->pos) : 1);
}

void events_differ(struct pair *p, const struct event *a, const struct event *b,
                   const uint64_t ordinal[2], size_t at, uint64_t equal)
{
    const struct event *v[2] = {a, b};
    struct difference d = {.kind = DIFFERENCE_EVENT, .equal = equal, .at = at};

    for (unsigned i = 0; i < 2; i++) {
        d.side[i].ordinal = v[i] ? v[i]->ordinal : ordinal[i];
        d.side[i].event = v[i];
        d.side[i].data = v[i] ? p->at[i].b->pool + v[i]->payload : NULL;
    }
    d.hash = hash_of(p, &d);
    difference_report(p, &d, 0);
}

/*
 * Compares two events at the same instruction.  An address that a call passes was mapped
 * before the call, one that it returns may be mapped by it.
 */
void events_compare(struct pair *p, const struct event *a, const struct event *b,
                    uint64_t equal)
{
    struct ctr_os_event x = os_event(p, 0, a), y = os_event(p, 1, b);
    const uint64_t ordinal[2] = {a->ordinal, b->ordinal};
    const bool ignored = is_ignored(p, &x);
    size_t at = 0;

    for (unsigned after = 0; after < 2; after++) {
        space_go(&p->space[0], a->ordinal, after, a->time_ns);
        space_go(&p->space[1], b->ordinal, after, b->time_ns);
        if (same_event(p, &x, &y, &at)) {
            return;
        }
    }
    if (!remember_memory(p, &x, &y)) {
        p->error = -CTR_E_NOMEM;
    } else if (!ignored) {
        events_differ(p, a, b, ordinal, at, equal);
    }
}
