/* SPDX-License-Identifier: MIT */
/* The simulated guest (see sim.h). */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cannoli/events.h"

static void die(const char *what)
{
    fprintf(stderr, "sim: %s\n", what);
    abort();
}

static void *more(void *p, size_t n, size_t size)
{
    p = realloc(p, n * size);
    if (!p) {
        die("no memory");
    }
    return p;
}

uint32_t sim_random(struct sim *s, uint32_t n)
{
    s->rng ^= s->rng >> 12;
    s->rng ^= s->rng << 25;
    s->rng ^= s->rng >> 27;
    return (uint32_t)((s->rng * 0x2545f4914f6cdd1dull) >> 33) % n;
}

static int chance(struct sim *s, unsigned percent)
{
    return sim_random(s, 100) < percent;
}

static int has(const struct sim *s, unsigned feature)
{
    return (s->features & feature) != 0;
}

/* ------------------------------------------------------------------ blocks */

static void w16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static void w64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++) {
        p[i] = (uint8_t)(v >> (8 * i));
    }
}

static void add_slots(struct sim *s, struct sim_block *b, unsigned insn)
{
    unsigned parts = sim_random(s, 3);
    while (parts-- && b->nslot + 4 < 2000) {
        unsigned n = 1 + sim_random(s, 3);
        unsigned group = 0;
        if (has(s, SIM_GROUPS) && chance(s, 25)) {
            group = ++b->ngroup;
        }
        while (n--) {
            b->slot[b->nslot++] = (struct sim_slot){
                .insn = (uint16_t)insn,
                .group = (uint16_t)group,
                .access = (uint8_t)(sim_random(s, 8) | (chance(s, 40) ? 0x10u : 0u) |
                                    (chance(s, 20) ? 0x20u : 0u)),
            };
        }
    }
}

static void make_block(struct sim *s, struct sim_block *b, uint32_t id)
{
    int scattered = chance(s, 5);
    b->id = id;
    b->ninsn = 1 + sim_random(s, 9);
    if (has(s, SIM_BIG) && chance(s, 3)) {
        b->ninsn = 512;
    }
    b->mode = (uint8_t)sim_random(s, 3);
    uint64_t pc = 0x10000 + (uint64_t)sim_random(s, 1u << 20) * 4;
    for (unsigned i = 0; i < b->ninsn; i++) {
        b->len[i] = (uint8_t)(1 + sim_random(s, 15));
        b->pc[i] = scattered ? pc + sim_random(s, 4096) : pc + b->off[i];
        b->off[i + 1] = (uint16_t)(b->off[i] + b->len[i]);
        for (unsigned k = b->off[i]; k < b->off[i + 1]; k++) {
            b->code[k] = (uint8_t)sim_random(s, 256);
        }
        if (chance(s, 40)) {
            add_slots(s, b, i);
        }
    }
    b->def_bytes = 40 + b->ninsn + b->off[b->ninsn] + b->nslot * 6u +
                   (scattered ? b->ninsn * 8u : 0u);
    uint8_t *d = b->def = calloc(1, b->def_bytes);
    if (!d) {
        die("no memory");
    }
    w64(d, scattered ? pc : b->pc[0]);
    w64(d + 8, sim_random(s, 2));
    w64(d + 16, sim_random(s, 1000));
    w16(d + 28, b->ninsn);
    w16(d + 30, b->nslot);
    w16(d + 32, b->ngroup);
    d[34] = b->mode;
    d[35] = (uint8_t)scattered;
    w16(d + 36, b->off[b->ninsn]);
    uint8_t *p = d + 40;
    memcpy(p, b->len, b->ninsn);
    p += b->ninsn;
    memcpy(p, b->code, b->off[b->ninsn]);
    p += b->off[b->ninsn];
    for (unsigned i = 0; i < b->nslot; i++, p += 6) {
        w16(p, b->slot[i].insn);
        w16(p + 2, b->slot[i].group);
        p[4] = b->slot[i].access;
    }
    for (unsigned i = 0; scattered && i < b->ninsn; i++, p += 8) {
        w64(p, b->pc[i]);
    }
}

void sim_init(struct sim *s, uint64_t seed, unsigned nblock, unsigned addr_bytes,
              unsigned events, unsigned features)
{
    *s = (struct sim){
        .rng = seed * 0x9e3779b97f4a7c15ull + 0x1234567,
        .features = features,
        .addr_bytes = addr_bytes,
        .events = events,
        .nblock = nblock,
    };
    s->block = calloc(nblock, sizeof(s->block[0]));
    if (!s->block) {
        die("no memory");
    }
    for (unsigned i = 0; i < nblock; i++) {
        make_block(s, &s->block[i], i * 3 + 1);
    }
}

void sim_fini(struct sim *s)
{
    for (unsigned i = 0; i < s->nblock; i++) {
        free(s->block[i].def);
    }
    free(s->block);
}

void sim_fill_dict(const struct sim *s, struct ctr_dict *dict)
{
    for (unsigned i = 0; i < s->nblock; i++) {
        struct ctr_diag diag;
        if (ctr_dict_add(dict, s->block[i].id, s->block[i].def, s->block[i].def_bytes,
                         &diag)) {
            die(diag.text);
        }
    }
}

/* --------------------------------------------------------- telling a run */

static struct sim_segment *cur(struct sim_thread *t)
{
    return &t->seg[t->n_seg - 1];
}

static void new_segment(struct sim_thread *t)
{
    if (t->n_seg == t->cap_seg) {
        t->cap_seg = t->cap_seg * 2 + 4;
        t->seg = more(t->seg, t->cap_seg, sizeof(t->seg[0]));
    }
    memset(&t->seg[t->n_seg++], 0, sizeof(t->seg[0]));
}

static void word(struct sim_thread *t, uint32_t w)
{
    struct sim_segment *g = cur(t);
    if (g->n_words == g->cap_words) {
        g->cap_words = g->cap_words * 2 + 64;
        g->words = more(g->words, g->cap_words, sizeof(g->words[0]));
    }
    g->words[g->n_words++] = w;
}

static struct sim_event *event(struct sim_thread *t)
{
    if (t->n_ev == t->cap_ev) {
        t->cap_ev = t->cap_ev * 2 + 1024;
        t->ev = more(t->ev, t->cap_ev, sizeof(t->ev[0]));
    }
    struct sim_event *e = &t->ev[t->n_ev++];
    memset(e, 0, sizeof(*e));
    return e;
}

static void tell_exec(struct sim_thread *t, const struct sim_block *b, unsigned insn)
{
    struct sim_event *e = event(t);
    e->ordinal = t->ordinal++;
    e->pc = b->pc[insn];
    e->insn = (uint16_t)insn;
    e->size = b->len[insn];
    e->code = 14695981039346656037ull;
    for (unsigned k = b->off[insn]; k < b->off[insn + 1]; k++) {
        e->code = (e->code ^ b->code[k]) * 1099511628211ull;
    }
}

static void tell_mem(const struct sim *s, struct sim_thread *t, const struct sim_block *b,
                     unsigned insn, uint64_t addr, uint32_t size, int store, int be,
                     int helper)
{
    if (!(s->events & CTR_EVENTS_MEM)) {
        return;
    }
    struct sim_event *e = event(t);
    e->mem = 1;
    e->ordinal = t->ordinal - 1;
    e->pc = b->pc[insn];
    e->insn = (uint16_t)insn;
    e->addr = addr;
    e->size = size;
    e->store = (uint8_t)store;
    e->big_endian = (uint8_t)be;
    e->helper = (uint8_t)helper;
    t->stores += store != 0;
    t->loads += store == 0;
}

static uint64_t some_address(struct sim *s, const struct sim_block *b, unsigned slot)
{
    uint64_t a;
    switch (sim_random(s, 8)) {
    case 0:
        a = (uint64_t)sim_random(s, 0x7fffffff) << 17 ^ sim_random(s, 0x7fffffff);
        break;
    case 1:
        a = sim_random(s, 4096); /* page 0 too */
        break;
    case 2:
        a = ~0ull - sim_random(s, 64);
        break;
    default:
        a = 0x40000000ull + b->id * 65536ull + slot * 64 + s->rng % 4 * 8;
    }
    return s->addr_bytes == 4 ? (uint32_t)a : a;
}

static void inline_access(struct sim *s, struct sim_thread *t, const struct sim_block *b,
                          unsigned slot)
{
    const struct sim_slot *k = &b->slot[slot];
    struct sim_segment *g = cur(t);
    if (!(s->events & CTR_EVENTS_MEM)) {
        return;
    }
    uint64_t a = some_address(s, b, slot);
    if (g->n_addrs == g->cap_addrs) {
        g->cap_addrs = g->cap_addrs * 2 + 64;
        g->addrs = more(g->addrs, g->cap_addrs, sizeof(g->addrs[0]));
    }
    g->addrs[g->n_addrs++] = a;
    tell_mem(s, t, b, k->insn, a, 1u << (k->access & 7), (k->access & 0x10) != 0,
             (k->access & 0x20) != 0, 0);
}

static void extra_access(struct sim *s, struct sim_thread *t, const struct sim_block *b,
                         unsigned insn)
{
    struct sim_segment *g = cur(t);
    if (!(s->events & CTR_EVENTS_MEM)) {
        return;
    }
    if (g->n_extras == g->cap_extras) {
        g->cap_extras = g->cap_extras * 2 + 64;
        g->extras = more(g->extras, g->cap_extras, sizeof(g->extras[0]));
    }
    struct ctr_extra *x = &g->extras[g->n_extras++];
    *x = (struct ctr_extra){
        .words = g->n_words,
        .addrs = g->n_addrs,
        .insn = (uint16_t)insn,
        .store = (uint8_t)sim_random(s, 2),
        .big_endian = (uint8_t)sim_random(s, 2),
        .size = 1 + sim_random(s, chance(s, 10) ? 20000 : 64),
        .addr = some_address(s, b, insn + 7),
    };
    tell_mem(s, t, b, insn, x->addr, x->size, x->store, x->big_endian, 1);
}

/* ------------------------------------------------------------ running it */

enum exit_kind { WHOLE, LEAVE_AT, LEAVE, FORGET, SUSPEND };

struct running {
    const struct sim_block *b;
    enum exit_kind kind;
    unsigned steps;   /* slots and rounds to go before the exit */
    unsigned uncond;  /* unconditional slots passed */
    int out;          /* left */
    int resumed_insn; /* fault of a resumed instruction is not told */
    unsigned n;       /* instructions when left */
};

/* Is a slot the first behind which no group slot of its instruction comes? */
static int past_groups(const struct sim_block *b, unsigned slot, unsigned insn)
{
    for (unsigned k = slot; k < b->nslot && b->slot[k].insn == insn; k++) {
        if (b->slot[k].group) {
            return 0;
        }
    }
    return 1;
}

static int step(struct running *r)
{
    if (r->kind == WHOLE || r->kind == SUSPEND) {
        return 0;
    }
    if (r->steps == 0) {
        r->out = 1;
        return 1;
    }
    r->steps--;
    return 0;
}

/* One or more rounds of the group that starts at `slot'; returns its end. */
static unsigned run_group(struct sim *s, struct sim_thread *t, struct running *r,
                          unsigned slot)
{
    const struct sim_block *b = r->b;
    unsigned group = b->slot[slot].group;
    unsigned insn = b->slot[slot].insn;
    unsigned end = slot;
    while (end < b->nslot && b->slot[end].group == group) {
        end++;
    }
    unsigned rounds = chance(s, 50) ? sim_random(s, 3) : sim_random(s, 12);
    for (unsigned i = 0; i < rounds && !r->out; i++) {
        if (s->events & CTR_EVENTS_MEM) {
            word(t, CTR_WORD_GROUP | group);
        }
        for (unsigned k = slot; k < end && !r->out; k++) {
            /* LEFT_AT leaves at whole rounds only; it has no other count. */
            if (r->kind != LEAVE_AT && step(r)) {
                break;
            }
            inline_access(s, t, b, k);
        }
        if (r->kind == SUSPEND && !r->out && past_groups(b, end, insn)) {
            word(t, CTR_WORD_LEFT | CTR_LEFT_SUSPEND << 16 | (insn + 1));
            word(t, cur(t)->n_addrs);
            new_segment(t);
            word(t, CTR_WORD_RESUME | insn);
            word(t, b->id);
            r->kind = chance(s, 50) ? WHOLE : LEAVE;
            r->steps = sim_random(s, 10);
            r->resumed_insn = (int)insn;
        }
    }
    return end;
}

/* One instruction of a run.  Returns 1 if the block was left in it. */
static int run_insn(struct sim *s, struct sim_thread *t, struct running *r, unsigned insn,
                    unsigned *slot)
{
    const struct sim_block *b = r->b;
    while (*slot < b->nslot && b->slot[*slot].insn == insn) {
        if (has(s, SIM_EXTRAS) && chance(s, 8)) {
            extra_access(s, t, b, insn);
        }
        if (b->slot[*slot].group) {
            *slot = run_group(s, t, r, *slot);
        } else {
            if (step(r)) {
                return 1;
            }
            inline_access(s, t, b, *slot);
            r->uncond++;
            ++*slot;
        }
        if (r->out) {
            return 1;
        }
    }
    if (has(s, SIM_EXTRAS) && chance(s, 4)) {
        extra_access(s, t, b, insn);
    }
    return 0;
}

/* The marker at the end, and FAULT. */
static void run_end(struct sim *s, struct sim_thread *t, struct running *r,
                    size_t exec_ev)
{
    unsigned n = r->n;
    int fault = has(s, SIM_FAULT) && chance(s, 30) && r->kind != FORGET;
    if (r->out && r->kind == LEAVE_AT) {
        word(t, CTR_WORD_LEFT_AT | n << 14 | r->uncond);
    } else if (r->out) {
        word(t, CTR_WORD_LEFT | (r->kind == FORGET ? CTR_LEFT_RESTART << 16 : 0) | n);
        word(t, cur(t)->n_addrs);
    } else if (!fault || !chance(s, 30)) {
        return;
    }
    if (fault) {
        word(t, CTR_WORD_FAULT);
        if (exec_ev != SIZE_MAX && r->resumed_insn != (int)n - 1) {
            t->ev[exec_ev].flags |= CTR_EV_FAULTED;
        }
    }
}

static void run_block(struct sim *s, struct sim_thread *t, const struct sim_block *b)
{
    struct running r = {.b = b, .kind = WHOLE, .resumed_insn = -1};
    if (has(s, SIM_LEFT) && chance(s, 15)) {
        r.kind = chance(s, 50) ? LEAVE_AT : LEAVE;
    }
    if (has(s, SIM_RESTART) && chance(s, 5)) {
        r.kind = FORGET;
    }
    if (has(s, SIM_SUSPEND) && chance(s, 5)) {
        r.kind = SUSPEND;
    }
    r.steps = sim_random(s, 12);
    word(t, b->id);
    if (r.kind == LEAVE && chance(s, 10)) {
        /* left before its first instruction */
        word(t, CTR_WORD_LEFT);
        word(t, cur(t)->n_addrs);
        return;
    }
    /* Where it is left, should its accesses not decide that before. */
    unsigned last =
        r.kind == WHOLE || r.kind == SUSPEND ? b->ninsn : 1 + sim_random(s, b->ninsn);
    size_t exec_ev = SIZE_MAX;
    unsigned slot = 0;
    for (unsigned i = 0; i < b->ninsn && !r.out; i++) {
        size_t before = t->n_ev;
        uint64_t loads = t->loads, stores = t->stores, ordinal = t->ordinal;
        exec_ev = t->n_ev;
        tell_exec(t, b, i);
        run_insn(s, t, &r, i, &slot);
        r.n = i + 1;
        if (!r.out && i + 1 == last && i + 1 < b->ninsn && r.kind != SUSPEND &&
            r.kind != WHOLE) {
            r.out = 1;
        }
        if (r.out && r.kind == FORGET) {
            t->n_ev = before;
            t->loads = loads;
            t->stores = stores;
            t->ordinal = ordinal;
            exec_ev = SIZE_MAX;
        }
    }
    run_end(s, t, &r, exec_ev);
}

/* The process is killed inside a block: nobody tells how far it came. */
static void run_tail(struct sim *s, struct sim_thread *t, const struct sim_block *b)
{
    struct running r = {.b = b, .kind = LEAVE, .resumed_insn = -1};
    r.steps = sim_random(s, 6);
    size_t start = t->n_ev;
    unsigned slot = 0, sure = 0;
    word(t, b->id);
    for (unsigned i = 0; i < b->ninsn && !r.out; i++) {
        size_t before = t->n_ev;
        tell_exec(t, b, i);
        run_insn(s, t, &r, i, &slot);
        if (t->n_ev > before + 1) {
            sure = i + 1;
        }
    }
    sure = sure ? sure : 1;
    /* Instructions behind the last access are not known to have run. */
    while (t->n_ev > start && t->ev[t->n_ev - 1].insn >= sure) {
        t->n_ev--;
        t->ordinal--;
    }
    size_t last = t->n_ev - 1;
    while (t->ev[last].mem) {
        last--;
    }
    t->ev[last].flags |= CTR_EV_UNSURE;
    cur(t)->flags = CTR_SEGMENT_UNSURE;
    t->incomplete = 1;
}

static void lay_out(const struct sim *s, struct sim_segment *g)
{
    size_t n = (size_t)g->n_addrs * s->addr_bytes;
    g->column = malloc(n + 8);
    if (!g->column) {
        die("no memory");
    }
    g->column_end = (uint8_t *)g->column + n;
    for (uint32_t i = 0; i < g->n_addrs; i++) {
        if (s->addr_bytes == 4) {
            ((uint32_t *)g->column_end)[-(ptrdiff_t)i - 1] = (uint32_t)g->addrs[i];
        } else {
            ((uint64_t *)g->column_end)[-(ptrdiff_t)i - 1] = g->addrs[i];
        }
    }
}

void sim_thread_run(struct sim *s, struct sim_thread *t, unsigned runs)
{
    memset(t, 0, sizeof(*t));
    new_segment(t);
    unsigned at = sim_random(s, s->nblock);
    while (runs) {
        /* mostly loops over a few blocks, as programs do */
        unsigned len = 1 + sim_random(s, 6);
        unsigned times = 1 + sim_random(s, 20);
        for (unsigned k = 0; k < times && runs; k++) {
            for (unsigned i = 0; i < len && runs; i++, runs--) {
                run_block(s, t, &s->block[(at + i) % s->nblock]);
                if (chance(s, 1)) {
                    new_segment(t);
                }
            }
        }
        at = sim_random(s, s->nblock);
    }
    if (has(s, SIM_UNSURE)) {
        run_tail(s, t, &s->block[at]);
    }
    for (unsigned i = 0; i < t->n_seg; i++) {
        lay_out(s, &t->seg[i]);
    }
}

void sim_thread_fini(struct sim_thread *t)
{
    for (unsigned i = 0; i < t->n_seg; i++) {
        free(t->seg[i].words);
        free(t->seg[i].addrs);
        free(t->seg[i].extras);
        free(t->seg[i].column);
    }
    free(t->seg);
    free(t->ev);
}

struct ctr_segment *sim_segments(const struct sim_thread *t)
{
    struct ctr_segment *out = calloc(t->n_seg, sizeof(out[0]));
    if (!out) {
        die("no memory");
    }
    for (unsigned i = 0; i < t->n_seg; i++) {
        const struct sim_segment *g = &t->seg[i];
        out[i] = (struct ctr_segment){
            .words = g->words,
            .n_words = g->n_words,
            .n_addrs = g->n_addrs,
            .addrs_end = g->column_end,
            .extras = g->extras,
            .n_extras = g->n_extras,
            .flags = g->flags,
            .start_ns = 1000 + i * 100,
            .end_ns = 1000 + i * 100 + 50,
        };
    }
    return out;
}
