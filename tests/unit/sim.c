/* SPDX-License-Identifier: MIT */
/* The simulated guest (see sim.h). */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cannoli/mempipe.h"
#include "random.h"

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
    return random_below(&s->rng, n);
}

static int chance(struct sim *s, unsigned percent)
{
    return sim_random(s, 100) < percent;
}

static int has(const struct sim *s, unsigned feature)
{
    return (s->features & feature) != 0;
}

/* Does this choice of what is recorded come up here? */
static int partial(struct sim *s, unsigned percent)
{
    return has(s, SIM_PART) && chance(s, percent);
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

/*
 * May give slot k, an unconditional access, a derived address instead of one of its own.
 * Its root is no slot before `from', because a run may be cut there.
 */
static void derive_slot(struct sim *s, struct sim_block *b, unsigned from, unsigned k)
{
    struct sim_slot *d = &b->slot[k];
    unsigned width = s->addr_bytes * 8;
    if (!has(s, SIM_DERIVED) || !chance(s, 60)) {
        return;
    }
    d->root = CTR_DERIVE_CONST;
    for (unsigned tries = has(s, SIM_CONSTANT) ? 0 : 4;
         tries-- && k > from && !chance(s, 20);) {
        unsigned root = from + sim_random(s, k - from);
        if (!(b->slot[root].access & (CTR_ACCESS_REG | CTR_ACCESS_DERIVED))) {
            d->root = (uint16_t)root;
        }
    }
    d->bits = (uint8_t)width;
    if (d->root == CTR_DERIVE_CONST) {
        d->delta = (int64_t)sim_random(s, 0x7fffffff) << sim_random(s, 33);
        d->delta = chance(s, 20) ? -d->delta : d->delta;
    } else if (chance(s, 50)) {
        d->delta = (int64_t)sim_random(s, 256) - 128;
    } else {
        d->delta = (int64_t)sim_random(s, 2 * CTR_MAX_DERIVE + 1) - CTR_MAX_DERIVE;
    }
    if (chance(s, 30)) {
        d->bits = (uint8_t)(1 + sim_random(s, width));
    } else if (chance(s, 40)) {
        d->bits = width == 64 ? 56 : 24;
    }
    d->is_signed = (uint8_t)chance(s, 40);
    d->access |= CTR_ACCESS_DERIVED;
    b->nderived++;
}

static uint64_t derived_address(const struct sim *s, const struct sim_slot *k,
                                uint64_t root)
{
    uint64_t a = (k->root == CTR_DERIVE_CONST ? 0 : root) + (uint64_t)k->delta;
    uint64_t mask = ~0ull >> (64 - k->bits);
    a &= mask;
    if (k->is_signed && a >> (k->bits - 1)) {
        a |= ~mask;
    }
    return s->addr_bytes == 4 ? (uint32_t)a : a;
}

static void add_slots(struct sim *s, struct sim_block *b, unsigned insn)
{
    unsigned parts = sim_random(s, 3);
    unsigned from = b->nslot;
    while (from > 0 &&
           (b->slot[from - 1].group == 0 || b->slot[from - 1].access & CTR_ACCESS_REG)) {
        from--;
    }
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
                                    (chance(s, 20) ? 0x20u : 0u) |
                                    (partial(s, 30) ? CTR_ACCESS_NOVALUE : 0u)),
            };
            if (group) {
                from = b->nslot;
            } else {
                derive_slot(s, b, from, b->nslot - 1);
            }
        }
    }
}

static uint8_t slot_mmu(const struct sim *s, const struct sim_block *b, unsigned slot)
{
    return has(s, SIM_PHYS) ? (uint8_t)((b->id + slot * 7u) % 3u * 7u) : 0;
}

static void add_reg_slots(struct sim *s, struct sim_block *b, unsigned insn)
{
    unsigned reg = sim_random(s, SIM_SLOT_REGS);
    unsigned n = sim_random(s, 4);
    for (; n-- && b->nslot < 2000; reg = (reg + 1 + sim_random(s, 3)) % SIM_SLOT_REGS) {
        unsigned log2 = 0;
        while (1u << log2 < sim_reg_size(reg)) {
            log2++;
        }
        b->slot[b->nslot++] = (struct sim_slot){
            .insn = (uint16_t)insn,
            .group = (uint16_t)reg,
            .access = (uint8_t)(CTR_ACCESS_REG | log2),
        };
    }
}

/* Tags of some instructions, or of the block. */
static void add_tags(struct sim *s, struct sim_block *b)
{
    b->ntag = 1 + sim_random(s, SIM_TAGS);
    for (unsigned i = 0; i < b->ntag; i++) {
        b->tag[i] = (struct sim_tag){
            .insn = (uint16_t)(chance(s, 30) ? CTR_TAG_BLOCK : sim_random(s, b->ninsn)),
            .library = (uint16_t)sim_random(s, 3),
            .tag = (uint64_t)sim_random(s, 0x7fffffff) << 33 ^ sim_random(s, 9),
        };
    }
}

static void make_block(struct sim *s, struct sim_block *b, uint32_t id)
{
    b->part = (uint8_t)partial(s, 40);
    int scattered = b->part ? chance(s, 90) : chance(s, 5);
    unsigned left_out = 0;
    b->id = id;
    b->ninsn = 1 + sim_random(s, 9);
    if (has(s, SIM_BIG) && chance(s, 3)) {
        b->ninsn = 512;
    }
    b->mode = (uint8_t)sim_random(s, 3);
    uint64_t pc = 0x10000 + (uint64_t)sim_random(s, 1u << 20) * 4;
    if (id > 1 && has(s, SIM_TINY) && chance(s, 50)) {
        const struct sim_block *before = b - 1;
        pc = before->pc[before->ninsn - 1] + before->len[before->ninsn - 1];
    }
    for (unsigned i = 0; i < b->ninsn; i++) {
        b->len[i] = (uint8_t)(1 + sim_random(s, 15));
        b->pc[i] = scattered && !b->part ? pc + sim_random(s, 4096) * (i != 0)
                                         : pc + b->off[i] + left_out;
        left_out += b->part && scattered ? sim_random(s, 3) * 4 : 0;
        b->off[i + 1] = (uint16_t)(b->off[i] + b->len[i]);
        for (unsigned k = b->off[i]; k < b->off[i + 1]; k++) {
            b->code[k] = (uint8_t)sim_random(s, 256);
        }
        if (chance(s, 40)) {
            add_slots(s, b, i);
        }
        if (s->events & CTR_EVENTS_REG) {
            add_reg_slots(s, b, i);
        }
    }
    if (partial(s, 40)) {
        add_tags(s, b);
    }
    b->def_bytes = 40 + b->ninsn + b->off[b->ninsn] + b->nslot * 6u +
                   (scattered ? b->ninsn * 8u : 0u) + (b->ntag ? 4 + b->ntag * 12u : 0u) +
                   b->nderived * CTR_BLOCKDEF_DERIVE;
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
    d[35] =
        (uint8_t)((scattered ? CTR_BLOCK_HAS_PCS : 0u) |
                  (b->ntag ? CTR_BLOCK_HAS_TAGS : 0u) | (b->part ? CTR_BLOCK_PART : 0u) |
                  (b->nderived ? CTR_BLOCK_HAS_DERIVED : 0u));
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
        p[5] = b->slot[i].access & CTR_ACCESS_REG ? 0 : slot_mmu(s, b, i);
    }
    for (unsigned i = 0; scattered && i < b->ninsn; i++, p += 8) {
        w64(p, b->pc[i]);
    }
    if (b->ntag) {
        w16(p, b->ntag);
        p += 4;
    }
    for (unsigned i = 0; i < b->ntag; i++, p += 12) {
        w16(p, b->tag[i].insn);
        w16(p + 2, b->tag[i].library);
        w64(p + 4, b->tag[i].tag);
    }
    for (unsigned i = 0; i < b->nslot; i++) {
        const struct sim_slot *k = &b->slot[i];
        if (k->access & CTR_ACCESS_DERIVED && !(k->access & CTR_ACCESS_REG)) {
            w16(p, k->root);
            p[2] = k->bits;
            p[3] = k->is_signed ? CTR_DERIVE_SIGNED : 0;
            w64(p + 4, (uint64_t)k->delta);
            p += CTR_BLOCKDEF_DERIVE;
        }
    }
}

/* --------------------------------------------------------------- registers */

unsigned sim_reg_size(unsigned reg)
{
    static const uint8_t size[SIM_REGS] = {1, 2, 4,  8, 16, 8,  4, 8, 16, 1, 8, 4,
                                           3, 5, 16, 8, 10, 16, 7, 1, 2,  4, 8, 16};
    return size[reg];
}

size_t sim_reg_table(uint8_t *out)
{
    uint8_t *p = out;
    for (unsigned i = 0; i < SIM_REGS; i++) {
        *p++ = (uint8_t)sim_reg_size(i);
        *p++ = 0;
        *p++ = 2;
        *p++ = 0;
        *p++ = 'q';
        *p++ = (uint8_t)('A' + i);
    }
    return (size_t)(p - out);
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

/* --------------------------------------------------------- recording a run */

static struct sim_segment *cur(struct sim_thread *t)
{
    return &t->seg[t->n_seg - 1];
}

/* A side record with its place; everything after it is zero. */
static void *record(struct sim_thread *t, uint32_t type, size_t fixed, size_t n)
{
    struct sim_segment *g = cur(t);
    uint32_t bytes = (uint32_t)((fixed + n + 7) / 8 * 8);
    if (g->n_side + bytes > g->cap_side) {
        g->cap_side = g->cap_side * 2 + bytes;
        g->side = more(g->side, g->cap_side, 1);
    }
    struct mempipe_side_place *p = (struct mempipe_side_place *)(g->side + g->n_side);
    g->n_side += bytes;
    g->side_units = g->n_units;
    memset(p, 0, bytes);
    p->h.bytes = bytes;
    p->h.type = type;
    p->words = g->n_words;
    p->units = g->n_units;
    p->n = (uint32_t)n;
    t->marks++;
    return p;
}

static void new_segment(const struct sim *s, struct sim_thread *t)
{
    if (t->n_seg == t->cap_seg) {
        t->cap_seg = t->cap_seg * 2 + 4;
        t->seg = more(t->seg, t->cap_seg, sizeof(t->seg[0]));
    }
    struct sim_segment *g = &t->seg[t->n_seg];
    memset(g, 0, sizeof(*g));
    g->start_ns = has(s, SIM_TINY) ? t->time : 1000 + t->n_seg * 100u;
    g->end_ns = g->start_ns + 50;
    t->n_seg++;
    if (s->events & CTR_EVENTS_REG) {
        size_t n = 0;
        for (unsigned i = 0; i < SIM_REGS; i++) {
            n += sim_reg_size(i);
        }
        struct mempipe_side_place *p =
            record(t, MEMPIPE_SIDE_STATE, sizeof(struct mempipe_side_place), n);
        uint8_t *to = (uint8_t *)(p + 1);
        for (unsigned i = 0; i < SIM_REGS; to += sim_reg_size(i), i++) {
            memcpy(to, t->regs[i], sim_reg_size(i));
        }
    }
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

static void unit(const struct sim *s, struct sim_thread *t, uint64_t v)
{
    struct sim_segment *g = cur(t);
    if (g->n_units == g->cap_units) {
        g->cap_units = g->cap_units * 2 + 64;
        g->units = more(g->units, g->cap_units, sizeof(g->units[0]));
    }
    g->units[g->n_units++] = s->addr_bytes == 4 ? (uint32_t)v : v;
}

uint64_t sim_hash(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t h = 14695981039346656037ull;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ p[i]) * 1099511628211ull;
    }
    return h;
}

uint64_t sim_tag_code(unsigned insn, unsigned library, uint64_t tag)
{
    const uint64_t v[3] = {insn, library, tag};
    return sim_hash(v, sizeof(v));
}

/* A value of n bytes, little-endian: often similar to earlier ones, as real values are.
 */
static void some_value(struct sim *s, struct sim_thread *t, uint64_t where, uint8_t *out,
                       unsigned n)
{
    uint64_t *known = &s->memory[where % 256];
    for (unsigned i = 0; i < n; i += 8) {
        uint64_t v = *known;
        switch (sim_random(s, 6)) {
        case 0:
            v += sim_random(s, 200) - 100;
            break;
        case 1:
            v = t->last_value;
            break;
        case 2:
            v = (uint64_t)sim_random(s, 0x7fffffff) << 33 ^ sim_random(s, 0x7fffffff);
            break;
        default:
            break;
        }
        v |= s->nonzero;
        *known = t->last_value = v;
        for (unsigned k = i; k < n && k < i + 8; k++) {
            out[k] = (uint8_t)(v >> (8 * (k - i)));
        }
    }
}

/* The units of an integer, whose lowest part is the last unit on this machine. */
static void value_units(struct sim *s, struct sim_thread *t, const uint8_t *v, unsigned n)
{
    unsigned units = CTR_UNITS(n, s->addr_bytes);
    for (unsigned i = units; i-- > 0;) {
        uint64_t u = (uint64_t)sim_random(s, 0x7fffffff) << 33; /* undefined bits */
        u |= sim_random(s, 0x7fffffff);
        for (unsigned k = 0; k < s->addr_bytes && i * s->addr_bytes + k < n; k++) {
            u &= ~(0xffull << (8 * k));
            u |= (uint64_t)v[i * s->addr_bytes + k] << (8 * k);
        }
        unit(s, t, u);
    }
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

static void emit_exec(struct sim_thread *t, const struct sim_block *b, unsigned insn)
{
    struct sim_event *e = event(t);
    e->ordinal = t->ordinal++;
    e->pc = b->pc[insn];
    e->insn = (uint16_t)insn;
    e->size = b->len[insn];
    e->code = sim_hash(b->code + b->off[insn], b->len[insn]);
    e->code += b->part ? SIM_PART_CODE : 0;
    for (unsigned i = 0; i < b->ntag; i++) {
        const struct sim_tag *g = &b->tag[i];
        if (g->insn == insn || g->insn == CTR_TAG_BLOCK) {
            e->code += sim_tag_code(g->insn, g->library, g->tag);
        }
    }
}

/* Records the registers that changed: in an instruction, or outside of one (b NULL). */
static void emit_regs(struct sim_thread *t, const struct sim_block *b, unsigned insn)
{
    for (unsigned i = 0; i < SIM_REGS; i++) {
        if (memcmp(t->regs[i], t->reported[i], 16) == 0) {
            continue;
        }
        memcpy(t->reported[i], t->regs[i], 16);
        struct sim_event *e = event(t);
        e->reg = 1;
        e->outside = b == NULL;
        e->ordinal = t->ordinal - 1;
        e->pc = b ? b->pc[insn] : 0;
        e->insn = (uint16_t)(b ? insn : 0);
        e->addr = i;
        e->size = sim_reg_size(i);
        e->code = sim_hash(t->regs[i], e->size);
    }
}

static void emit_mem(const struct sim *s, struct sim_thread *t, const struct sim_block *b,
                     unsigned insn, uint64_t addr, uint32_t size, int store, int be,
                     int helper, const uint8_t *data)
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
    e->code = data ? sim_hash(data, size) : 0;
    t->stores += store != 0;
    t->loads += store == 0;
}

/* The physical address of addr, whose page is recorded unless it was. */
static uint64_t fill_page(const struct sim *s, struct sim_thread *t, unsigned insn,
                          uint64_t addr, uint8_t mmu)
{
    const uint64_t page = (s->addr_bytes == 4 ? (uint32_t)addr : addr) >> 12;
    const uint64_t key[3] = {page, mmu, t->mapping};
    const uint64_t phys = sim_hash(key, sizeof(key)) >> 40 << 12;
    struct sim_page *p = &t->tlb[(page * 3 + mmu) % SIM_TLB];
    if (!p->known || p->page != page || p->mmu != mmu) {
        *p = (struct sim_page){page, mmu, 1};
        struct mempipe_side_page *x = record(t, MEMPIPE_SIDE_PAGE, sizeof(*x), 0);
        t->marks--; /* it does not prove that the instruction ran */
        x->insn = (uint16_t)insn;
        x->mmu = mmu;
        x->bits = 12;
        x->page = page << 12;
        x->phys = phys;
    }
    return phys + addr % 4096;
}

/* All pages change now and then, between instructions. */
static void add_phys(struct sim *s, struct sim_thread *t, uint8_t mmu)
{
    struct sim_event e = t->ev[t->n_ev - 1];
    const uint64_t room = 4096 - e.addr % 4096;
    if (!has(s, SIM_PHYS)) {
        return;
    }
    if (t->ordinal != t->mapped && chance(s, 2)) {
        memset(t->tlb, 0, sizeof(t->tlb));
        t->mapping++;
        t->forgets |= (int)sim_random(s, 2);
    }
    t->mapped = t->ordinal;
    e.phys = fill_page(s, t, e.insn, e.addr, mmu);
    e.phys_next = e.size > room ? fill_page(s, t, e.insn, e.addr + room, mmu) : 0;
    t->ev[t->n_ev - 1] = e;
}

/* Between runs: nothing of what was recorded is used again. */
static void forget_pages(struct sim_thread *t)
{
    struct mempipe_side_page *x = record(t, MEMPIPE_SIDE_PAGE, sizeof(*x), 0);
    t->marks--;
    x->insn = MEMPIPE_NO_INSN;
    x->flags = MEMPIPE_PAGE_FORGET;
    x->bits = 12;
    memset(t->tlb, 0, sizeof(t->tlb));
    t->mapping++;
    t->forgets = 0;
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
    unsigned size = 1u << (k->access & 7);
    int be = (k->access & CTR_ACCESS_BE) != 0;
    uint8_t v[128], data[128];
    if (!(s->events & CTR_EVENTS_MEM)) {
        return;
    }
    int valued = s->events & CTR_EVENTS_VAL && !(k->access & CTR_ACCESS_NOVALUE);
    int derived = (k->access & CTR_ACCESS_DERIVED) != 0;
    uint64_t a = derived ? derived_address(s, k, t->addr[k->root % 2048])
                         : some_address(s, b, slot) | (s->nonzero && !valued);
    t->addr[slot] = a;
    if (!derived) {
        unit(s, t, a);
    }
    if (valued) {
        some_value(s, t, a / 8, v, size);
        value_units(s, t, v, size);
        for (unsigned i = 0; i < size; i++) {
            data[be ? size - 1 - i : i] = v[i];
        }
    }
    emit_mem(s, t, b, k->insn, a, size, (k->access & CTR_ACCESS_STORE) != 0, be, 0,
             valued ? data : NULL);
    add_phys(s, t, slot_mmu(s, b, slot));
    t->ev[t->n_ev - 1].unrecorded = derived && !valued;
    if (!derived || valued) {
        t->marks++;
        t->known_ev = t->n_ev;
    }
}

static void extra_access(struct sim *s, struct sim_thread *t, const struct sim_block *b,
                         unsigned insn)
{
    uint32_t size = 1 + sim_random(s, chance(s, 10) ? 20000 : 64);
    size_t n = s->events & CTR_EVENTS_VAL && !partial(s, 30) ? size : 0;
    if (!(s->events & CTR_EVENTS_MEM)) {
        return;
    }
    struct mempipe_side_access *x = record(t, MEMPIPE_SIDE_ACCESS, sizeof(*x), n);
    x->insn = (uint16_t)insn;
    const int store = sim_random(s, 2) != 0, be = sim_random(s, 2) != 0;
    x->flags = (store ? MEMPIPE_ACCESS_STORE : 0) | (be ? MEMPIPE_ACCESS_BE : 0);
    x->size = size;
    x->addr = some_address(s, b, insn + 7);
    uint8_t *data = (uint8_t *)(x + 1);
    int zero = chance(s, 30);
    for (size_t i = 0; !zero && i < n; i++) {
        data[i] = (uint8_t)(chance(s, 80) ? i : sim_random(s, 256));
    }
    x->mmu = slot_mmu(s, b, insn);
    const uint8_t mmu = x->mmu;
    emit_mem(s, t, b, insn, x->addr, x->size, store, be, 1, n ? data : NULL);
    add_phys(s, t, mmu);
}

static void reg_slot(struct sim *s, struct sim_thread *t, const struct sim_block *b,
                     unsigned slot)
{
    const struct sim_slot *k = &b->slot[slot];
    unsigned n = sim_reg_size(k->group);
    uint8_t v[16] = {0};
    if (chance(s, 30) && !s->nonzero) {
        memcpy(v, t->regs[k->group], n);
    } else {
        some_value(s, t, k->group, v, n);
    }
    t->marks++;
    t->known_ev = t->n_ev;
    value_units(s, t, v, n);
    memcpy(t->regs[k->group], v, n);
}

/* Changes registers that have no slot: by an instruction, or outside of one (b NULL). */
static void extra_regs(struct sim *s, struct sim_thread *t, const struct sim_block *b,
                       unsigned insn)
{
    unsigned first = b ? SIM_SLOT_REGS : 0;
    unsigned n = 1 + sim_random(s, 3);
    struct mempipe_side_regs *x =
        record(t, MEMPIPE_SIDE_REGS, sizeof(*x), (size_t)n * MEMPIPE_REG_BYTES);
    x->insn = b ? insn : MEMPIPE_OUTSIDE;
    x->p.n = n;
    uint8_t *p = (uint8_t *)(x + 1);
    unsigned reg = first + sim_random(s, SIM_REGS - first - n);
    for (unsigned i = 0; i < n; i++, reg++, p += MEMPIPE_REG_BYTES) {
        w16(p, reg);
        some_value(s, t, reg, p + 4, sim_reg_size(reg));
        memcpy(t->regs[reg], p + 4, 16);
    }
}

/* Events of the system between two runs. */
static void between_runs(struct sim *s, struct sim_thread *t)
{
    if (t->ordinal == t->between) {
        return; /* once at each place: two would be reported together */
    }
    t->between = t->ordinal;
    if (t->forgets) {
        forget_pages(t);
    }
    if (has(s, SIM_SYSTEM) && chance(s, 10)) {
        int signal = has(s, SIM_TINY) && chance(s, 70);
        int interrupt = signal && chance(s, 50);
        uint32_t n = interrupt ? 48 : signal ? 56 : 8;
        struct mempipe_side_event *x = record(t, MEMPIPE_SIDE_EVENT, sizeof(*x), n);
        struct sim_event *e = event(t);
        x->time_ns = t->time += sim_random(s, 1000);
        cur(t)->end_ns = has(s, SIM_TINY) ? t->time : cur(t)->end_ns;
        if (interrupt) {
            x->type = CTR_EVENT_INTERRUPT;
            w64((uint8_t *)(x + 1), sim_random(s, 2) ? CTR_INT_TRAP : CTR_INT_ASYNC);
            w64((uint8_t *)(x + 1) + 24,
                chance(s, 50) ? t->next_pc : s->block[sim_random(s, s->nblock)].pc[0]);
        } else if (signal) {
            x->type = CTR_EVENT_SIGNAL;
            w64((uint8_t *)(x + 1), 1 + sim_random(s, 60));
            w64((uint8_t *)(x + 1) + 32,
                chance(s, 50) ? t->next_pc : s->block[sim_random(s, s->nblock)].pc[0]);
        } else if (chance(s, 50)) {
            x->type = CTR_EVENT_SIGRETURN;
            w64((uint8_t *)(x + 1), some_address(s, &s->block[0], 1));
        } else {
            x->type = CTR_EVENT_GATE;
            w64((uint8_t *)(x + 1), sim_random(s, 2) | (1ull + sim_random(s, 6)) << 32);
        }
        e->os = 1;
        e->ordinal = t->ordinal;
        e->addr = x->time_ns;
        e->size = n;
        e->code = sim_hash(x + 1, n) + SIM_TYPE_CODE(x->type);
    }
    if (s->events & CTR_EVENTS_REG && chance(s, 10)) {
        extra_regs(s, t, NULL, 0);
        emit_regs(t, NULL, 0);
    }
}

/* ------------------------------------------------------------ running it */

enum exit_kind { WHOLE, LEAVE_AT, LEAVE, FORGET, SUSPEND };

struct running {
    const struct sim_block *b;
    enum exit_kind kind;
    unsigned steps;   /* slots and rounds to go before the exit */
    unsigned uncond;  /* unconditional slots passed */
    unsigned derived; /* derived accesses made in this instruction */
    unsigned can;     /* derived accesses that it has */
    int out;          /* the block was left */
    int resumed_insn; /* the fault of a resumed instruction is not reported */
    unsigned n;       /* instructions when the block was left */
};

/* Is the slot past the last group slot of its instruction? */
static int past_groups(const struct sim_block *b, unsigned slot, unsigned insn)
{
    for (unsigned k = slot; k < b->nslot && b->slot[k].insn == insn; k++) {
        if (b->slot[k].group && !(b->slot[k].access & CTR_ACCESS_REG)) {
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
    while (end < b->nslot && b->slot[end].group == group &&
           !(b->slot[end].access & CTR_ACCESS_REG)) {
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
            word(t, cur(t)->n_units);
            new_segment(s, t);
            word(t, CTR_WORD_RESUME | insn);
            word(t, b->id);
            r->kind = chance(s, 50) ? WHOLE : LEAVE;
            r->steps = sim_random(s, 10);
            r->resumed_insn = (int)insn;
        }
    }
    return end;
}

static int is_derived(const struct sim_slot *k)
{
    return !(k->access & CTR_ACCESS_REG) && k->access & CTR_ACCESS_DERIVED;
}

/* One instruction of a run.  Returns 1 if the block was left in it. */
static int run_insn(struct sim *s, struct sim_thread *t, struct running *r, unsigned insn,
                    unsigned *slot)
{
    const struct sim_block *b = r->b;
    int extras = has(s, SIM_EXTRAS);
    r->derived = r->can = 0;
    for (unsigned k = *slot; k < b->nslot && b->slot[k].insn == insn; k++) {
        r->can += is_derived(&b->slot[k]);
    }
    extras &= r->can == 0; /* an instruction that calls helpers has none */
    while (*slot < b->nslot && b->slot[*slot].insn == insn) {
        const struct sim_slot *k = &b->slot[*slot];
        if (k->access & CTR_ACCESS_REG) {
            break;
        }
        if (extras && chance(s, 8)) {
            extra_access(s, t, b, insn);
        }
        if (k->group) {
            *slot = run_group(s, t, r, *slot);
        } else {
            if (step(r)) {
                return 1;
            }
            inline_access(s, t, b, *slot);
            r->derived += is_derived(k);
            /* Slots of what is not recorded are not counted. */
            r->uncond += (s->events & CTR_EVENTS_MEM) != 0;
            ++*slot;
        }
        if (r->out) {
            return 1;
        }
    }
    if (extras && chance(s, 4)) {
        extra_access(s, t, b, insn);
    }
    for (; *slot < b->nslot && b->slot[*slot].insn == insn; ++*slot) {
        if (step(r)) {
            return 1;
        }
        reg_slot(s, t, b, *slot);
        r->uncond++;
    }
    if (extras && s->events & CTR_EVENTS_REG && chance(s, 5)) {
        extra_regs(s, t, b, insn);
    }
    return 0;
}

/* The marker at the end of a run, and FAULT. */
static void run_end(struct sim *s, struct sim_thread *t, struct running *r,
                    size_t exec_ev)
{
    unsigned n = r->n;
    int fault = has(s, SIM_FAULT) && chance(s, 30) && r->kind != FORGET;
    if (r->out && r->kind == LEAVE_AT) {
        word(t, CTR_WORD_LEFT_AT | n << 14 | r->uncond);
    } else if (r->out) {
        int counted = r->kind != FORGET && s->events & CTR_EVENTS_MEM &&
                      (r->derived != r->can || chance(s, 10));
        word(t, CTR_WORD_LEFT | (r->kind == FORGET ? CTR_LEFT_RESTART << 16 : 0) |
                    (counted ? CTR_LEFT_DERIVED << 16 : 0) | n);
        word(t, cur(t)->n_units);
        if (counted) {
            word(t, r->derived);
        }
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
    if (r.kind == LEAVE_AT && chance(s, 10)) {
        /* left before its first instruction */
        word(t, CTR_WORD_LEFT_AT);
        return;
    }
    if (r.kind == LEAVE && chance(s, 10)) {
        word(t, CTR_WORD_LEFT);
        word(t, cur(t)->n_units);
        return;
    }
    /* Where the block is left, unless its accesses decide that first. */
    unsigned last =
        r.kind == WHOLE || r.kind == SUSPEND ? b->ninsn : 1 + sim_random(s, b->ninsn);
    size_t exec_ev = SIZE_MAX;
    unsigned slot = 0;
    for (unsigned i = 0; i < b->ninsn && !r.out; i++) {
        size_t before = t->n_ev;
        uint64_t loads = t->loads, stores = t->stores, ordinal = t->ordinal;
        uint8_t regs[SIM_REGS][16];
        memcpy(regs, t->regs, sizeof(regs));
        exec_ev = t->n_ev;
        emit_exec(t, b, i);
        run_insn(s, t, &r, i, &slot);
        emit_regs(t, b, i);
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
            memcpy(t->regs, regs, sizeof(regs));
            memcpy(t->reported, regs, sizeof(regs));
            exec_ev = SIZE_MAX;
        }
    }
    run_end(s, t, &r, exec_ev);
    t->next_pc = b->pc[b->ninsn - 1] + b->len[b->ninsn - 1];
}

/* The process is killed inside a block: nothing records how far it came. */
static void run_tail(struct sim *s, struct sim_thread *t, const struct sim_block *b)
{
    struct running r = {.b = b, .kind = LEAVE, .resumed_insn = -1};
    r.steps = sim_random(s, 6);
    const size_t start = t->n_ev;
    unsigned slot = 0, sure = 0;
    t->known_ev = start; /* what it was may belong to a run that was forgotten since */
    s->nonzero = 1;
    word(t, b->id);
    for (unsigned i = 0; i < b->ninsn && !r.out; i++) {
        uint64_t before = t->marks;
        emit_exec(t, b, i);
        run_insn(s, t, &r, i, &slot);
        emit_regs(t, b, i);
        if (t->marks > before) {
            sure = i + 1;
        }
    }
    s->nonzero = 0;
    sure = sure ? sure : 1;
    /* Derived accesses after the last slot with data are not known either. */
    size_t to = t->known_ev;
    for (size_t i = to; i < t->n_ev; i++) {
        if (t->ev[i].unrecorded) {
            t->stores -= t->ev[i].store;
            t->loads -= !t->ev[i].store;
        } else {
            t->ev[to++] = t->ev[i];
        }
    }
    t->n_ev = to;
    /* Instructions after the last access are not known to have run. */
    while (t->n_ev > start && t->ev[t->n_ev - 1].insn >= sure) {
        const struct sim_event *e = &t->ev[--t->n_ev];
        t->stores -= e->mem && e->store;
        t->loads -= e->mem && !e->store;
        t->ordinal -= !e->mem && !e->reg;
    }
    size_t last = t->n_ev - 1;
    while (t->ev[last].mem || t->ev[last].reg) {
        last--;
    }
    t->ev[last].flags |= CTR_EV_UNSURE;
    cur(t)->flags = CTR_SEGMENT_UNSURE;
    t->incomplete = 1;
}

static void lay_out(const struct sim *s, struct sim_segment *g)
{
    size_t words = ((size_t)g->n_words * 4 + 7) / 8 * 8;
    size_t data = (size_t)g->n_units * s->addr_bytes;
    size_t room = (data + 7) / 8 * 8 + 64;
    g->buffer = calloc(1, words + room);
    if (!g->buffer) {
        die("no memory");
    }
    if (g->n_words) {
        memcpy(g->buffer, g->words, (size_t)g->n_words * 4);
    }
    g->data_end = (uint8_t *)g->buffer + words + room;
    for (uint32_t i = 0; i < g->n_units; i++) {
        if (s->addr_bytes == 4) {
            ((uint32_t *)g->data_end)[-(ptrdiff_t)i - 1] = (uint32_t)g->units[i];
        } else {
            ((uint64_t *)g->data_end)[-(ptrdiff_t)i - 1] = g->units[i];
        }
    }
    if (g->flags & CTR_SEGMENT_UNSURE) {
        /* Only where the zeros begin and where the last record is are known. */
        while (g->n_units > g->side_units && g->units[g->n_units - 1] == 0) {
            g->n_units--;
        }
    }
}

void sim_thread_run(struct sim *s, struct sim_thread *t, unsigned runs)
{
    memset(t, 0, sizeof(*t));
    t->time = has(s, SIM_TINY) ? 1 : 0;
    for (unsigned i = 0; i < SIM_REGS; i++) {
        memset(t->regs[i], (int)sim_random(s, 256), sim_reg_size(i));
    }
    memcpy(t->reported, t->regs, sizeof(t->reported));
    new_segment(s, t);
    unsigned at = sim_random(s, s->nblock);
    while (runs) {
        /* mostly loops over a few blocks, as programs do */
        unsigned len = 1 + sim_random(s, 6);
        unsigned times = 1 + sim_random(s, 20);
        for (unsigned k = 0; k < times && runs; k++) {
            for (unsigned i = 0; i < len && runs; i++, runs--) {
                if (has(s, SIM_TINY) && chance(s, 20)) {
                    new_segment(s, t);
                }
                between_runs(s, t);
                run_block(s, t, &s->block[(at + i) % s->nblock]);
                if (chance(s, has(s, SIM_TINY) ? 15 : 1)) {
                    new_segment(s, t);
                }
            }
        }
        at = sim_random(s, s->nblock);
    }
    if (has(s, SIM_UNSURE)) {
        run_tail(s, t, &s->block[at]);
    }
    for (size_t i = 0; i < t->n_ev; i++) {
        t->ev[i].unrecorded = 0; /* readers do not see it */
    }
    for (unsigned i = 0; i < t->n_seg; i++) {
        lay_out(s, &t->seg[i]);
    }
}

void sim_thread_fini(struct sim_thread *t)
{
    for (unsigned i = 0; i < t->n_seg; i++) {
        free(t->seg[i].words);
        free(t->seg[i].units);
        free(t->seg[i].side);
        free(t->seg[i].buffer);
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
            .words = g->buffer,
            .n_words = g->n_words,
            .n_units = g->n_units,
            .data_end = g->data_end,
            .side = g->side,
            .side_bytes = g->n_side,
            .flags = g->flags,
            .start_ns = g->start_ns,
            .end_ns = g->end_ns,
        };
    }
    return out;
}
