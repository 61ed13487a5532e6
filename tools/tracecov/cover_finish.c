/* SPDX-License-Identifier: MIT */
/*
 * Converts counts of blocks to counts of instructions and ways of branches.
 *
 * Control leaves a block after its last instruction, so the next block shows the way of
 * the branch at its end.  On machines with delay slots the branch is the last instruction
 * but one, also for a likely branch, whose slot is recorded as executed when it is
 * skipped.
 */
#include "cover_priv.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/isa.h"
#include "report.h"

#define COND_BRANCH (CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND)

/* The machine, for isa.h. */
struct machine {
    uint32_t elf;
    uint32_t mode; /* or'ed into the mode of blocks */
    bool big_endian;
};

/* ----------------------------------------------------------------- branches */

/* mips: whether a conditional branch has a delay slot; those of MIPS16 have none. */
static bool has_slot(const struct machine *m, const struct cover_insn *i)
{
    uint32_t half, op;

    if (m->elf != CANNOLI_EM_MIPS || i->mode == CANNOLI_ISA_MIPS16 || i->len < 2) {
        return false;
    }
    if (i->mode != CANNOLI_ISA_MICROMIPS) {
        return true;
    }
    half = cannoli_isa_u16(i->bytes, m->big_endian);
    op = half >> 5 & 31;
    return !(half >> 10 == 0x10 && (op == 5 || op == 7)); /* BNEZC, BEQZC */
}

/* The ways of instruction i of a block, a conditional branch. */
static void set_ways(const struct machine *m, const struct tally *t,
                     struct cover_insn *insns, unsigned i)
{
    struct cover_insn *b = &insns[i];
    unsigned last = t->ninsn - 1u;
    uint64_t falls = t->falls, leaves = t->ways - t->falls;

    if (has_slot(m, b)) {
        if (i + 1 == last) {
            b->not_taken = falls;
            b->taken = leaves;
        }
        /* else the block of its slot has them: add_slot_ways */
    } else if (i == last) {
        b->not_taken = falls;
        b->taken = leaves;
    } else {
        b->not_taken = insns[i + 1].count < b->count ? insns[i + 1].count : b->count;
        b->taken = b->count - b->not_taken;
    }
}

/* The instructions of a block, with the counts of this block alone. */
static void make_insns(const struct machine *m, const struct tally *t,
                       struct cover_insn *out)
{
    unsigned it = 0;

    for (unsigned i = 0; i < t->ninsn; i++) {
        unsigned len = (unsigned)(t->off[i + 1] - t->off[i]);
        uint32_t flags = 0;
        struct cover_insn *o = &out[i];
        memset(o, 0, sizeof(*o));
        o->addr = t->pcs ? t->pcs[i] : t->addr + t->off[i];
        o->count = sum_u64(t->full, t->cut ? t->cut[i] : 0);
        o->len = (uint8_t)(len < sizeof(o->bytes) ? len : sizeof(o->bytes));
        o->mode = t->mode;
        memcpy(o->bytes, t->code + t->off[i], o->len);
        cannoli_isa_flags(m->elf, t->mode | m->mode, m->big_endian, o->bytes, o->len,
                          &flags);
        if (t->mode == CANNOLI_ISA_THUMB && m->elf == CANNOLI_EM_ARM) {
            if (it && flags & CANNOLI_INSN_BRANCH) {
                flags |= CANNOLI_INSN_COND;
            }
            it = it ? it - 1 : 0;
            if (o->len == 2) {
                unsigned n = insn_it_length(cannoli_isa_u16(o->bytes, m->big_endian));
                it = n ? n : it;
            }
        }
        o->flags = (uint16_t)flags;
    }
    for (unsigned i = 0; i < t->ninsn; i++) {
        if ((out[i].flags & COND_BRANCH) == COND_BRANCH) {
            set_ways(m, t, out, i);
        }
    }
}

/* -------------------------------------------------------------------- merge */

static int compare_insns(const struct cover_insn *a, const struct cover_insn *b)
{
    if (a->addr != b->addr) {
        return a->addr < b->addr ? -1 : 1;
    }
    if (a->len != b->len || memcmp(a->bytes, b->bytes, a->len)) {
        int c = memcmp(a->bytes, b->bytes, sizeof(a->bytes));
        return c ? c : a->len - b->len;
    }
    return a->mode - b->mode;
}

static int sort_insns(const void *a, const void *b)
{
    return compare_insns(a, b);
}

static void join(struct cover_insn *to, const struct cover_insn *from)
{
    to->count = sum_u64(to->count, from->count);
    to->taken = sum_u64(to->taken, from->taken);
    to->not_taken = sum_u64(to->not_taken, from->not_taken);
    to->flags |= from->flags;
}

struct building {
    struct cover_module *m;
    size_t cap;
    struct cover_insn *new;  /* of a block */
    struct cover_insn *both; /* merged */
    size_t both_cap;
};

static bool reserve(struct building *b, size_t n)
{
    struct cover_module *m = b->m;

    if (m->nr_insns + n > b->cap) {
        size_t cap = b->cap + b->cap / 2 + n + 64;
        struct cover_insn *v = realloc(m->insns, cap * sizeof(*v));
        if (!v) {
            return false;
        }
        m->insns = v;
        b->cap = cap;
    }
    return true;
}

/*
 * Merges a block's instructions into the module's.  Blocks come in order of address, so
 * only the last few of those are compared.
 */
static bool merge(struct building *b, unsigned n)
{
    struct cover_module *m = b->m;
    size_t from = m->nr_insns, i, k = 0, out = 0;
    unsigned once = 0;

    for (i = 1; i < n; i++) { /* a duplicate */
        if (compare_insns(&b->new[once], &b->new[i]) == 0) {
            join(&b->new[once], &b->new[i]);
        } else {
            b->new[++once] = b->new[i];
        }
    }
    n = once + 1;

    while (from && compare_insns(&m->insns[from - 1], &b->new[0]) >= 0) {
        from--;
    }
    if (!reserve(b, n)) {
        return false;
    }
    if (m->nr_insns - from + n > b->both_cap) {
        size_t cap = 2 * (m->nr_insns - from + n);
        struct cover_insn *v = realloc(b->both, cap * sizeof(*v));
        if (!v) {
            return false;
        }
        b->both = v;
        b->both_cap = cap;
    }
    for (i = from; i < m->nr_insns || k < n;) {
        int c = i == m->nr_insns ? 1
                : k == n         ? -1
                                 : compare_insns(&m->insns[i], &b->new[k]);
        b->both[out] = c <= 0 ? m->insns[i] : b->new[k];
        if (c == 0) {
            join(&b->both[out], &b->new[k]);
        }
        i += c <= 0;
        k += c >= 0;
        out++;
    }
    if (out) {
        memcpy(m->insns + from, b->both, out * sizeof(*b->both));
    }
    m->nr_insns = from + out;
    return true;
}

/* The ways of a conditional branch that ends its block are those of its slot's block. */
static void add_slot_ways(struct cover_module *m, const struct tally *t)
{
    size_t low = 0, high = m->nr_insns;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (m->insns[mid].addr < t->addr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low && (m->insns[low - 1].flags & COND_BRANCH) == COND_BRANCH &&
        m->insns[low - 1].addr + m->insns[low - 1].len == t->addr) {
        struct cover_insn *b = &m->insns[low - 1];
        b->not_taken = sum_u64(b->not_taken, t->falls);
        b->taken = sum_u64(b->taken, t->ways - t->falls);
    }
}

static void add_block(struct cover_module *m, const struct tally *t)
{
    struct cover_block *last = m->nr_blocks ? &m->blocks[m->nr_blocks - 1] : NULL;
    uint32_t bytes = 0;
    unsigned n = 0;

    /* Straight code only: leaves out instructions of a block that are elsewhere. */
    while (n < t->ninsn && (!t->pcs || t->pcs[n] == t->addr + t->off[n])) {
        bytes = t->off[++n];
    }
    if (last && last->addr == t->addr && last->bytes == bytes) {
        last->count = sum_u64(last->count, t->begun);
    } else {
        m->blocks[m->nr_blocks++] = (struct cover_block){t->addr, bytes, n, t->begun};
    }
}

bool finish_module(struct cover_state *c, struct cover_module *m, const uint32_t *order,
                   size_t n)
{
    const struct machine machine = {
        c->pub.machine, c->pub.addr_bits == 32 ? CANNOLI_ISA_32 : 0, c->pub.big_endian};
    struct building b = {.m = m};
    bool ok = false;

    m->blocks = malloc((n + 1) * sizeof(*m->blocks));
    b.new = malloc((UINT16_MAX + 1) * sizeof(*b.new));
    if (!m->blocks || !b.new) {
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        const struct tally *t = &c->tallies.v[order[i]];
        make_insns(&machine, t, b.new);
        if (t->pcs) {
            qsort(b.new, t->ninsn, sizeof(*b.new), sort_insns);
        }
        if (t->ninsn && !merge(&b, t->ninsn)) {
            goto out;
        }
        add_block(m, t);
    }
    for (size_t i = 0; i < n; i++) {
        const struct tally *t = &c->tallies.v[order[i]];
        if (t->kind == TALLY_SLOT) {
            add_slot_ways(m, t);
        }
    }
    for (size_t i = 0; i < m->nr_insns; i++) {
        struct cover_insn *insn = &m->insns[i];

        m->total = sum_u64(m->total, insn->count);
        insn->count = cover_shown(&c->pub, insn->count);
    }
    ok = true;
out:
    free(b.new);
    free(b.both);
    return ok;
}
