/* SPDX-License-Identifier: MIT */
/*
 * Selecting: which chunks must be read, and which of their events count.
 * A feed delivers the chunks of a trace in recorded order.
 */
#ifndef CTR_FEED_H
#define CTR_FEED_H

#include "decode/decode.h"
#include "model/evcol.h"
#include "model/regview.h"

/* Walks over the rows of the index's PARTs (indexed files). */
struct part_reader {
    struct ctr_trace *tr;
    int loaded;
    uint32_t part;
    uint64_t chunk; /* whose row comes next */
    struct buf counts, pages;
    const uint8_t *c, *c_end;
    const uint8_t *p, *p_end;
};

void part_reader_init(struct part_reader *r, struct ctr_trace *tr);
void part_reader_fini(struct part_reader *r);
/*
 * Positions at chunk i (never backwards), then reads its row: fn gets its
 * block counts, and *reads and *writes tell whether a page of the ranges is touched.
 * fn and ranges may be NULL.
 */
struct part_count {
    uint32_t id;
    uint16_t first;
    uint16_t end;     /* 0: the block's */
    uint64_t runs;    /* 0: only tells unknown */
    uint64_t falls;   /* fall-throughs among them */
    uint64_t unknown; /* of the runs from first to the block's end */
};
typedef int part_count_fn(void *arg, const struct part_count *c);
int part_reader_chunk(struct part_reader *r, uint64_t i, part_count_fn *fn, void *arg,
                      const struct ctr_range *addrs, uint32_t naddr, int *reads,
                      int *writes, struct ctr_diag *diag);

struct feed {
    struct ctr_trace *tr;
    struct ctr_filter filter; /* lists copied */
    void *lists;
    uint8_t *pc_may; /* of each block: it has instructions of pcs; NULL: not asked yet */
    int pc_unknown;  /* or a definition is damaged: any may */
    uint32_t kinds;
    int runs;      /* runs of blocks will be decoded; 1 at first ... */
    unsigned want; /* ... and DEC_* with them */
    uint32_t os;   /* CTR_KIND_* of the system's events that are wanted */
    struct chunk_scan scan; /* files */
    struct part_reader index;
    struct evdec times; /* of chunks that reach out of the filter's time */
    uint8_t *may;       /* what the index says of each chunk, as far as it was asked */
};

int feed_init(struct feed *f, struct ctr_trace *tr, const struct ctr_filter *filter,
              struct ctr_diag *diag);
void feed_fini(struct feed *f);

/*
 * Reads the next chunk that is selected, and what it needs.  Returns 1, 0 at
 * the end, or an error.
 */
int feed_next(struct feed *f, struct raw_chunk *out, struct ctr_diag *diag);

/* Reads this chunk of a file, and what it needs; the filter's times do not count. */
int feed_read(struct feed *f, const struct ctr_chunk *c, struct raw_chunk *out,
              struct ctr_diag *diag);

/* The same, and which of its instructions are selected.  Returns 1, 0 if none is, or an
 * error. */
int feed_take(struct feed *f, const struct ctr_chunk *c, struct raw_chunk *out,
              struct ctr_diag *diag);

/*
 * Can chunk i hold anything that the filter's pcs and addrs select, as far as the index
 * tells?  Returns 1, 0 or an error.
 */
int feed_may_match(struct feed *f, uint64_t i, struct ctr_diag *diag);

int feed_thread(const struct feed *f, const struct ctr_thread *t);
/* Can a chunk hold anything of interest, as far as the chunk table tells? */
int feed_chunk(const struct feed *f, const struct ctr_chunk *c);

/* The system's events that the filter lets through: 0 if it is for instructions. */
static inline uint32_t feed_os_kinds(const struct feed *f)
{
    return f->filter.npc || f->filter.naddr
               ? 0
               : f->kinds & (CTR_KIND_SYS | CTR_KIND_MAP | CTR_KIND_THR | CTR_KIND_MARK);
}

static inline int in_ranges(const struct ctr_range *r, uint32_t n, uint64_t first,
                            uint64_t last)
{
    for (uint32_t i = 0; i < n; i++) {
        if (first < r[i].to && last >= r[i].from) {
            return 1;
        }
        if (r[i].to == UINT64_MAX && last == UINT64_MAX) {
            return 1;
        }
    }
    return 0;
}

/* Does the filter take an access of this kind at this address? */
static inline int feed_access(const struct feed *f, const struct ctr_access *a)
{
    if (!(f->kinds & (a->store ? CTR_KIND_STORE : CTR_KIND_LOAD))) {
        return 0;
    }
    if (f->filter.naddr == 0) {
        return 1;
    }
    uint64_t last = a->addr + (a->size - 1);
    return in_ranges(f->filter.addrs, f->filter.naddr, a->addr,
                     last < a->addr ? UINT64_MAX : last);
}

/*
 * May the filter take anything of the instructions of a run?  Runs are many and what is
 * searched for is rare, so most of them need not be gone through.
 */
static inline int feed_run(const struct feed *f, const struct run *r)
{
    const struct ctr_block *b = &r->block->pub;
    if (f->filter.naddr) {
        uint32_t a = 0;
        while (a < r->naccess && !feed_access(f, &r->access[a])) {
            a++;
        }
        return a < r->naccess;
    }
    if (f->filter.npc && !b->pcs) {
        /* What is left of a resumed instruction stands before the first. */
        unsigned first = r->first ? r->first - 1u : 0;
        return in_ranges(f->filter.pcs, f->filter.npc, ctr_block_pc(b, first),
                         ctr_block_pc(b, r->end - 1u));
    }
    return 1;
}

/*
 * Goes through the instructions of a run that are selected.  After each
 * expand_step that returns 1: instruction insn, with its accesses
 * access[a..a_end-1] (feed_access says which), and exec says whether the
 * instruction itself is an event.  With regs, *reg_next is the run's first
 * register write that was not made yet; those of each instruction are made, and
 * regs->changed tells what became of them.  Instructions from hi on are left
 * for another time.
 */
struct expand {
    const struct feed *feed;
    const struct run *run;
    struct regstate *regs; /* or NULL */
    uint32_t *reg_next;
    uint64_t lo, hi; /* ordinals */
    uint32_t i;      /* next instruction */
    uint32_t a_next;
    uint32_t insn;
    uint64_t ordinal;
    uint64_t pc;
    uint32_t a, a_end;
    int exec;
};

static inline void expand_init(struct expand *x, const struct feed *f,
                               const struct run *r, struct regstate *regs,
                               uint32_t *reg_next, uint64_t lo, uint64_t hi)
{
    x->feed = f;
    x->run = r;
    x->regs = regs;
    x->reg_next = reg_next;
    x->lo = lo;
    x->hi = hi;
    x->a_next = 0;
    /* What is left of a resumed instruction comes first. */
    int rest = (r->naccess && r->access[0].insn < r->first) ||
               (r->nreg && r->regs[0].insn < r->first);
    x->i = r->first && rest ? r->first - 1u : r->first;
}

/* Makes the register writes of the run up to instruction i. */
static inline void expand_regs(const struct run *r, struct regstate *regs,
                               uint32_t *reg_next, unsigned i)
{
    while (*reg_next < r->nreg && r->regs[*reg_next].insn <= i) {
        const struct reg_write *w = &r->regs[(*reg_next)++];
        regstate_write(regs, w->reg, w->value);
    }
}

#define EXPAND_INLINE static inline __attribute__((always_inline))

/* regs: 0 if it is known that there are none. */
EXPAND_INLINE int expand_step(struct expand *x, const int regs)
{
    const struct run *r = x->run;
    const struct feed *f = x->feed;
    while (x->i < r->end) {
        uint32_t i = x->i;
        x->ordinal = r->ordinal + i - r->first;
        if (x->ordinal >= x->hi) {
            return 0;
        }
        x->i++;
        x->insn = i;
        x->a = x->a_next;
        while (x->a_next < r->naccess && r->access[x->a_next].insn <= i) {
            x->a_next++;
        }
        x->a_end = x->a_next;
        if (regs && x->regs) {
            expand_regs(r, x->regs, x->reg_next, i);
            regstate_settle(x->regs);
        }
        if (x->ordinal < x->lo) {
            continue;
        }
        x->pc = ctr_block_pc(&r->block->pub, i);
        if (f->filter.npc && !in_ranges(f->filter.pcs, f->filter.npc, x->pc, x->pc)) {
            continue;
        }
        x->exec = i >= r->first && (f->kinds & CTR_KIND_EXEC);
        if (f->filter.naddr) {
            uint32_t a = x->a;
            while (a < x->a_end && !feed_access(f, &r->access[a])) {
                a++;
            }
            if (a == x->a_end) {
                continue;
            }
        }
        return 1;
    }
    return 0;
}

/* The exec event at which an expansion stands. */
static inline void expand_exec(const struct expand *x, const struct ctr_thread *t,
                               struct ctr_exec *e)
{
    const struct ctr_block *b = &x->run->block->pub;
    e->ordinal = x->ordinal;
    e->pc = x->pc;
    e->bytes = ctr_block_bytes(b, x->insn);
    e->len = (uint8_t)ctr_block_len(b, x->insn);
    e->mode = b->mode;
    e->flags = x->insn + 1u == x->run->end ? x->run->flags : 0;
    e->insn = (uint16_t)x->insn;
    e->block = b;
    e->thread = t;
}

/* The event of access number a. */
static inline void expand_mem(const struct expand *x, const struct ctr_thread *t,
                              uint32_t a, struct ctr_mem *m)
{
    const struct ctr_access *c = &x->run->access[a];
    m->ordinal = x->ordinal;
    m->pc = x->pc;
    m->addr = c->addr;
    m->size = c->size;
    m->store = c->store;
    m->big_endian = (c->flags & CTR_ACC_BE) != 0;
    m->helper = (c->flags & CTR_ACC_HELPER) != 0;
    m->insn = c->insn;
    m->data = c->data;
    m->block = &x->run->block->pub;
    m->thread = t;
}

/* The event of changed register number k of the instruction. */
static inline void expand_reg(const struct expand *x, const struct ctr_thread *t,
                              uint32_t k, struct ctr_reg_change *c)
{
    uint16_t reg = x->regs->changed[k];
    c->ordinal = x->ordinal;
    c->pc = x->pc;
    c->reg = reg;
    c->size = x->regs->view->reg[reg].pub.size;
    c->value = regstate_value(x->regs, reg);
    c->outside = 0;
    c->insn = (uint16_t)x->insn;
    c->block = &x->run->block->pub;
    c->thread = t;
}

#endif
