/*
 * Execution tracing into shared memory: what the pass over a block works with
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pass.c finds what a block does and defines it; gen.c inserts the code that
 * records it.  Translation is serialised, by mmap_lock in user mode and by the
 * one thread of all vCPUs in system emulation, so the state is static.
 */
#ifndef ACCEL_TCG_CANNOLI_PASS_H
#define ACCEL_TCG_CANNOLI_PASS_H

#include "tcg/tcg.h"
#include "exec/translator.h"
#include "cannoli/jitter.h"
#include "internal.h"

QEMU_BUILD_BUG_ON(TCG_MAX_INSNS > CTR_MAX_BLOCK_INSNS);

typedef struct OpInfo {
    TCGOp *op;
    int insn;        /* its instruction; -1 none yet, -2 unknown */
    int uncond;      /* unconditional slots surely made before it */
    int slot;        /* of the access that begins here, or -1 */
    int done;        /* of the access that is complete after it, or -1 */
    bool second;     /* second half of an access */
    bool swap;       /* TCG swaps the bytes of its value in other ops */
    bool silent;     /* an access that is not one of the guest's */
    bool loop_head;  /* set_label that a later op jumps back to */
    int stub;        /* set_label that begins the stub it is in, or -1 */
    uint8_t sets;    /* of registers to compare around it */
    bool leaves;     /* control never reaches the op after it */
    bool regs;       /* its instruction's register slots come first */
    bool exit;       /* needs a LEFT_AT word before it */
    bool store_insn; /* branch to code that does not know its origin */
} OpInfo;

typedef struct Slot {
    int insn;
    int group;
    uint8_t access;
    uint8_t mmu;   /* as in the definition */
    uint8_t units; /* that it has in the data column */
    bool first;    /* of its group */
} Slot;

/* An entry of the definition's derive[]. */
typedef struct Derive {
    uint16_t root;
    uint8_t bits, flags;
    int64_t delta;
} Derive;

typedef struct LabelInfo {
    int pos;    /* op index of its set_label, -1 if none */
    int source; /* op index of the first branch to it, -1 */
    int sources;
    bool stub; /* reached from branches only, never comes back */
} LabelInfo;

typedef struct InsnInfo {
    vaddr pc;
    int len;
    uint16_t lazy;        /* deferred units when it begins */
    uint16_t accesses;    /* its access slots, if it is simple */
    uint64_t known;       /* CannoliReg.lazy when it begins */
    uint64_t known_later; /* and inside of it */
    uint16_t writes;      /* registers that it may write */
    int first_write;
    int uncond;        /* unconditional slots up to its register slots */
    bool simple;       /* straight code up to its last access, and only
                             * accesses can leave it */
    bool begun, over;  /* an access was seen; the end of straight code */
    bool loops;        /* contains a backward branch */
    bool recorded;     /* it is recorded */
    bool left_out;     /* but not all of its accesses */
    bool regs;         /* with the registers that it changes */
    uint8_t choice;    /* CANNOLI_NEVER, CANNOLI_ALWAYS or CANNOLI_ONCE */
    uint8_t triggers;  /* CANNOLI_START, CANNOLI_STOP, CANNOLI_TREE */
    uint32_t wants;    /* CANNOLI_INSN_LOADS etc. of what helpers do */
    uint16_t number;   /* of instructions recorded before it */
    CannoliMark *mark; /* if it is recorded once */
} InsnInfo;

typedef struct CannoliPass {
    TCGv_ptr words_ptr, data_ptr;
    unsigned unit; /* bytes of a unit of the data column */
    OpInfo *ops;
    int nr_ops, max_ops;
    LabelInfo *labels;
    int max_labels;
    Slot slots[CTR_MAX_BLOCK_SLOTS];
    int nr_slots, nr_uncond, nr_groups;
    unsigned units; /* of all slots together */
    Derive derived[CTR_MAX_BLOCK_SLOTS];
    int nr_derived;
    InsnInfo insns[TCG_MAX_INSNS];
    int nr_insns;
    int nr_recorded; /* instructions that are recorded */
    int first_recorded;
    int first, last;  /* from the block's id to the last recorded */
    bool all_wanted;  /* all of it, with all accesses */
    bool code;        /* its code records what runs */
    uint8_t triggers; /* those of all instructions */
    int nr_tags;      /* that the definition has */
    int *cover;       /* conditional depth changes by op index */
} CannoliPass;

/*
 * True if nothing of the block is recorded or watched for.  Determined by its
 * addresses and the gate alone, before its ops are analysed.
 */
bool cannoli_choose_nothing(CPUState *cpu, DisasContextBase *db);

/*
 * Query what is recorded of the block: choice and triggers of each instruction,
 * and whether it is recorded; the hooks of cannoli_tb_end then exclude what a
 * closed gate or an earlier run leaves out.
 */
void cannoli_choose(CannoliPass *p, CPUState *cpu, DisasContextBase *db);

/* Exclude what is to be recorded once and was recorded before. */
void cannoli_once_choose(CannoliPass *p, CPUState *cpu, DisasContextBase *db);

/*
 * The block b was defined: it is recorded always, once, or no longer.  Returns
 * whether its code must record it.
 */
bool cannoli_once_block(CannoliPass *p, TranslationBlock *tb, CannoliBlock *b,
                        bool resumes);

/*
 * Translate again, with exactly `insns' instructions (fewer than there are), at
 * least 1; 0: with half as many.  Does not return.
 */
G_NORETURN void cannoli_shorten(TCGContext *s, int insns);
/* The same, with half as many; ends QEMU if there is only one. */
G_NORETURN void cannoli_too_complex(CannoliPass *p, TCGContext *s);
/*
 * Likewise: its definition has `bytes' bytes, more than the side queue holds.
 */
G_NORETURN void cannoli_too_long(CannoliPass *p, TCGContext *s, uint32_t bytes);

/*
 * Steps of the pass, in this order (flow.c, slots.c): which ops may run no time
 * or many times; which instruction an op belongs to; slots, groups and the
 * place of every op (@mem: accesses are recorded); exits before register slots,
 * false if the slots must be found again; which slots are derived (derive.c);
 * which exits the code must record.
 */
void cannoli_find_conditional(CannoliPass *p, TCGContext *s);
void cannoli_find_insns(CannoliPass *p);
void cannoli_find_slots(CannoliPass *p, TCGContext *s, bool mem);
bool cannoli_find_reg_exits(CannoliPass *p);
void cannoli_find_derived(CannoliPass *p, TCGContext *s);
void cannoli_find_exits(CannoliPass *p, TCGContext *s);

/*
 * For blocks of either kind: insert the code that watches for windows before op
 * `start' and at exits; and the code that counts after all other checks, or
 * with the former if there are no others (no code).
 */
void cannoli_gate_insert(CannoliPass *p, TCGContext *s,
                         const DisasContextBase *db, TCGOp *start);
void cannoli_gate_count(TCGContext *s, const DisasContextBase *db);

/* Where a block begins, after the exit-request check. */
TCGOp *cannoli_first_op(CannoliPass *p, TCGContext *s);

/* The access byte of the slot of an access; -1: it is not recorded. */
int cannoli_choose_access(CannoliPass *p, int insn, unsigned access);

/* Tags as they are in the definition; sets nr_tags, returns bytes. */
uint32_t cannoli_put_tags(CannoliPass *p, uint8_t *q);

/* The definition of what the pass has found, as in the dictionary. */
CannoliBlock *cannoli_define(CannoliPass *p, CPUState *cpu,
                             DisasContextBase *db);
/* Decoder mode (CTR_MODE_*) of a block. */
uint8_t cannoli_block_mode(CPUState *cpu, const TranslationBlock *tb);
/* The bytes of an instruction, zero where they cannot be known. */
void cannoli_insn_bytes(const CannoliPass *p, const DisasContextBase *db,
                        int insn, uint8_t *to);

static inline bool cannoli_is_recorded(const CannoliPass *p, int insn)
{
    return insn >= 0 && p->insns[insn].recorded;
}

/* Are the registers that it changes recorded? */
static inline bool cannoli_records_regs(const CannoliPass *p, int insn)
{
    return cannoli_is_recorded(p, insn) && p->insns[insn].regs;
}

/* Between the block's id and the end of the last recorded instruction. */
static inline bool cannoli_is_inside(const CannoliPass *p, int insn)
{
    return insn >= p->first && insn <= p->last;
}

/* Number of recorded instructions up to the end of this one. */
static inline int cannoli_done(const CannoliPass *p, int insn)
{
    return p->insns[insn].number + p->insns[insn].recorded;
}

/* CannoliCPU.insn while an instruction runs. */
static inline uint32_t cannoli_insn_word(const CannoliPass *p, int insn)
{
    const InsnInfo *in = &p->insns[insn];

    if (!cannoli_is_inside(p, insn)) {
        return CANNOLI_INSN_NONE;
    }
    return in->number | (in->recorded ? in->wants : CANNOLI_INSN_UNRECORDED);
}

#ifndef CONFIG_USER_ONLY
/*
 * The op after which another task of the guest's system may run, NULL: none;
 * code that makes the vCPU look for it (system/cannoli/task-gen.c).
 */
TCGOp *cannoli_find_switch(CPUState *cpu, TCGContext *s,
                           const TranslationBlock *tb);
void cannoli_insert_switch(TCGContext *s, TCGOp *op);
/*
 * The same of the instruction that requests something of the recording; it is
 * the last one of its block (system/cannoli/guest.c).
 */
TCGOp *cannoli_find_request(TCGContext *s, const DisasContextBase *db);
void cannoli_insert_request(TCGContext *s, TCGOp *op);
/*
 * After op, unless it is NULL: a call of a helper, and all exits go to the main
 * loop (system/cannoli/exit-gen.c).
 */
void cannoli_insert_exit(TCGContext *s, TCGOp *op, void *helper,
                         TCGHelperInfo *info);
#endif

/* What an op is. */
static inline TCGLabel *cannoli_branch_label(TCGOp *op)
{
    switch (op->opc) {
    case INDEX_op_br:
        return arg_label(op->args[0]);
    case INDEX_op_brcond_i32:
    case INDEX_op_brcond_i64:
        return arg_label(op->args[3]);
    case INDEX_op_brcond2_i32:
        return arg_label(op->args[5]);
    default:
        return NULL;
    }
}

static inline bool cannoli_is_access(const TCGOp *op, bool *store)
{
    switch (op->opc) {
    case INDEX_op_qemu_ld_i32:
    case INDEX_op_qemu_ld_i64:
    case INDEX_op_qemu_ld_i128:
        *store = false;
        return true;
    case INDEX_op_qemu_st_i32:
    case INDEX_op_qemu_st8_i32:
    case INDEX_op_qemu_st_i64:
    case INDEX_op_qemu_st_i128:
        *store = true;
        return true;
    default:
        return false;
    }
}

int cannoli_addr_arg(TCGOp *op);

/* Accesses that are generated now are not the guest's: cmpxchg.c. */
extern bool cannoli_silent;

/*
 * Does the op leave the block?  To be called for each op in turn; *goto_idx is
 * -1 at first.
 */
bool cannoli_is_exit(const TCGOp *op, int *goto_idx);

/*
 * May the op call code that reads the globals?  Others can neither exit nor
 * access.
 */
bool cannoli_is_real_call(TCGOp *op);

/* Does it look up the next block?  Such a call returns. */
bool cannoli_is_lookup(TCGOp *op);

/* Does this helper? */
bool cannoli_finds_jump(const void *helper);

static inline bool cannoli_ends_bb(TCGOp *op)
{
    return tcg_op_defs[op->opc].flags & TCG_OPF_BB_END;
}

/*
 * Determine how much is deferred where, before anything is inserted: lazy[]
 * belongs to the block's content and so to its id, which the inserted code
 * contains.
 */
void cannoli_plan_lazy(CannoliPass *p);

/*
 * Insert the code that records block b, which needs `need' bytes of a buffer.
 */
void cannoli_insert(CannoliPass *p, TCGContext *s, const CannoliBlock *b,
                    uint32_t need, const DisasContextBase *db);

#endif
