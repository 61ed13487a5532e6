/*
 * Execution tracing into shared memory: registers
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * regs.c keeps the table of registers and compares states, regs-pass.c finds
 * and records what a block writes, and regs-target.c contains what is specific
 * to a target.
 */
#ifndef ACCEL_TCG_CANNOLI_REGS_H
#define ACCEL_TCG_CANNOLI_REGS_H

#include "tcg/tcg.h"
#include "pass.h"

/* What registers a helper may write: bit mask. */
enum {
    CANNOLI_REGS_GLOBAL = 1, /* TCG globals */
    CANNOLI_REGS_VECTOR = 2,
    CANNOLI_REGS_FLOAT = 4, /* floating point status and control */
    CANNOLI_REGS_X87 = 8,
    CANNOLI_REGS_OTHER = 16,
    CANNOLI_REGS_LAZY = 32, /* known to the translator */
    CANNOLI_REGS_SYSTEM = 64,
    CANNOLI_REGS_DEVICES = 128, /* compared where those of SYSTEM are */
    CANNOLI_REGS_ALL = 31 | CANNOLI_REGS_SYSTEM,
};

/*
 * A register or a part of one: some bytes of env, or of what a pointer in env
 * points to.
 */
typedef struct CannoliReg {
    const char *name;
    intptr_t off;
    intptr_t pointer;   /* offset of that pointer in env, 0: none */
    TCGTemp *temp;      /* the global that it is, or NULL */
    uint32_t state_off; /* offset of its value in a state */
    uint8_t size;       /* 1, 2, 4, 8 or 16 */
    uint8_t flags;      /* CTR_REG_* */
    uint8_t set;        /* CANNOLI_REGS_* */
    uint8_t device;     /* with CANNOLI_REGS_DEVICES: index of its value */
    /*
     * The translator knows its value when an instruction begins; it is the
     * second argument of insn_start, unless that is one of `dynamic'.  Memory
     * is updated at exits only.
     */
    bool lazy;
    uint64_t dynamic[2];
} CannoliReg;

extern CannoliReg *cannoli_regs;
extern unsigned cannoli_nr_regs;

/* Registers are recorded. */
static inline bool cannoli_regs_on(void)
{
    return cannoli_ctl->events & CTR_EVENTS_REG;
}

/*
 * Code that records nothing may run between blocks that do: then translated
 * code keeps the last recorded state (CannoliCPU.shadow), and blocks begin with
 * a comparison.
 */
static inline bool cannoli_regs_shadow(void)
{
    return cannoli_regs_on() && cannoli_nr_libraries;
}

/* Is that the value of a lazy register? */
static inline bool cannoli_regs_is_known(const CannoliReg *r, uint64_t said)
{
    return said != r->dynamic[0] && said != r->dynamic[1];
}

/* ---- the table ---- */

/*
 * Add registers name%d for first <= %d < first + count, `bytes' wide each,
 * `stride' bytes apart in env.
 */
void cannoli_regs_add(const char *name, int first, int count, intptr_t off,
                      intptr_t stride, unsigned bytes, uint8_t flags,
                      uint8_t set);
/* One of what a pointer at this offset in env points to. */
void cannoli_regs_add_pointed(const char *name, intptr_t pointer, intptr_t off,
                              unsigned bytes, uint8_t flags, uint8_t set);
/* The register that was added last is known to the translator. */
void cannoli_regs_lazy(uint64_t dynamic, uint64_t dynamic2);
/*
 * The register that was added last, of 8 bytes at most, is also written by
 * devices, on any thread.  The recording has that before the next block that
 * the main loop runs, or with the instruction of a helper that may read it.
 */
void cannoli_regs_by_devices(void);
/*
 * A helper that gets a pointer to one of `count' objects may write all of its
 * `bytes'; with `vector', only as many as a vector has then.
 */
void cannoli_regs_object(intptr_t off, intptr_t stride, int count,
                         unsigned bytes, bool vector);

/* The registers that overlap some bytes of env: next one from *at on, or -1. */
int cannoli_regs_next(intptr_t *at, intptr_t end);
/* The register that a global is, or -1. */
int cannoli_regs_of_global(const TCGTemp *ts);
/* How many bytes a helper may write that gets a pointer to this offset. */
unsigned cannoli_regs_extent(intptr_t off, unsigned vector_bytes);

/* ---- what a target has: regs-target.c ---- */

/* Add the registers that are no TCG globals. */
void cannoli_regs_target(CPUState *cpu);
#ifndef CONFIG_USER_ONLY
/* Add those of code with privileges (system/cannoli/regs-system.c). */
void cannoli_regs_system(CPUState *cpu);
/*
 * What the target has set before it left the block by an exception, which is
 * delivered now.
 */
void cannoli_regs_excepted(CPUState *cpu);
/* Record these as changed from outside, with what they are now. */
void cannoli_regs_touch(CPUState *cpu, const intptr_t *off, int n);
#endif
/* gdb's name for a global, NULL if it is no register; *flags are CTR_REG_*. */
const char *cannoli_regs_name(const char *name, uint8_t *flags);
/* What a helper may write, a list of names; NULL: nothing is known. */
const char *cannoli_regs_rule(const char *helper);
/* Bytes of a vector register in this block, 0: the register's own. */
unsigned cannoli_regs_vector_bytes(const TranslationBlock *tb);
/* Outside of cpu_exec some registers have another form: convert them. */
void cannoli_regs_outside_form(CPUState *cpu, uint8_t *state);
void cannoli_regs_put(uint8_t *state, const char *name, uint64_t value);

/* ---- states and changes ---- */

void cannoli_regs_init(CPUState *cpu);
void cannoli_regs_attach(CPUState *cpu, bool process);
/* STATE record of a buffer that begins. */
void cannoli_regs_state(CPUState *cpu);
/* Record what was changed outside of translated code. */
void cannoli_regs_outside(CPUState *cpu);
/*
 * An instruction of block b does not complete: record what it may have changed,
 * as a change of its own or, when it will run again, from outside.
 */
void cannoli_regs_left(CPUState *cpu, const CannoliBlock *b, int insn,
                       bool outside);
/*
 * An exit by longjmp, or an interrupt of a machine: until the next cpu_exec,
 * and for machines until the next block, changes are from outside.
 */
void cannoli_regs_loop_exit(CPUState *cpu);
void cannoli_regs_inside(CPUState *cpu);
/* All registers, for an instruction that left the block by shared code. */
void cannoli_regs_all(CPUState *cpu, int insn);

void helper_cannoli_regs_begin(CPUArchState *env);
void helper_cannoli_regs_before(CPUArchState *env, uint32_t sets);
void helper_cannoli_regs_after(CPUArchState *env, uint32_t insn, void *block);

/* ---- the pass ---- */

/* Registers that a front end discards keep their values. */
void cannoli_regs_keep(TCGContext *s);
void cannoli_regs_find(CannoliPass *p, TCGContext *s,
                       const TranslationBlock *tb);
/* The k-th register that an instruction writes. */
int cannoli_regs_written(const CannoliPass *p, int insn, int k);
/* May one of the ops from..to-1 be the instruction's and write a register? */
bool cannoli_regs_written_between(const CannoliPass *p, int insn, int from,
                                  int to);
/* Before the first recorded instruction: code not recorded may have run. */
void cannoli_regs_begin(void);
/* Registers of an instruction that ends here, or is left (not at_end). */
void cannoli_regs_emit(CannoliPass *p, int insn, bool at_end, int *lazy);
/* What the translator knows inside an instruction. */
#define CANNOLI_LAZY_UNKNOWN UINT64_MAX
uint64_t cannoli_regs_lazy_at(const CannoliPass *p, int insn);
/*
 * Around a helper that may write registers.  later: registers with slots are
 * stored after it (sparc's save makes a window, then writes into it).
 */
void cannoli_regs_before(CannoliPass *p, const OpInfo *o);
void cannoli_regs_after(CannoliPass *p, const CannoliBlock *b, const OpInfo *o,
                        bool later);

#endif
