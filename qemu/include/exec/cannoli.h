/*
 * Execution tracing into shared memory ("cannoli"): the hooks
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * accel/tcg/cannoli/pass.c explains the design.  What QEMU's own files call is
 * here and, for linux-user, in linux-user/cannoli/hooks.h: a hook is a line of
 * its own.  Without CONFIG_CANNOLI each of them is an empty macro (the end of
 * this file), so that the compiler generates the same code as for an unpatched
 * QEMU.
 *
 * Macros with names in capitals act in place: they declare, return or guard the
 * statement that follows.
 */
#ifndef EXEC_CANNOLI_H
#define EXEC_CANNOLI_H

#ifdef CONFIG_CANNOLI

#include "qemu/int128.h"

/* Leave the function (with a value), or the switch, if the condition holds. */
#define CANNOLI_RETURN_IF(condition, ...) \
    if (condition) { \
        return __VA_ARGS__; \
    }
#define CANNOLI_BREAK_IF(condition) \
    if (condition) { \
        break; \
    }
/*
 * The statement that follows is executed only if the condition does not hold.
 */
#define CANNOLI_UNLESS(condition) if (!(condition))

struct CannoliBlock;
struct CannoliThread;
struct CPUArchState;
struct CPUState;
struct DisasContextBase;
struct TCGTemp;
struct TCGv_i32_d;
struct TCGv_i64_d;
struct TCGv_i128_d;
struct TCGv_ptr_d;
struct TranslationBlock;

/* Part of CPUState.neg: what translated code and its helpers work with. */
typedef struct CannoliCPU {
    /* tid of the thread that made this one */
    int32_t parent_tid;
    uint32_t once_seq; /* see `once' */
    /* What a state restore found, for the exit that follows it */
    const struct CannoliBlock *unwound;
    void *unwound_words;
    struct CannoliThread *thread;
    uint64_t fault_addr;
    /* The last recorded state of registers, see cannoli_regs_shadow */
    void *shadow;
    /* The block of `insn', if it writes registers */
    const struct CannoliBlock *block;
    /* What the translator knows, see CannoliReg.lazy */
    uint64_t lazy_value;
    bool lazy_known;
    bool fault_addr_valid, fault_write;
    bool fault;
    bool walked; /* a walk over page tables has written, see phys.c */
    bool partial;
    bool task_stale; /* so that its task is not what it was, see task.c */
    uint8_t moments; /* CANNOLI_MOMENT_*, see system/cannoli/power.c */
    /* Where indirect jumps went, see accel/tcg/cannoli/jump.c */
    struct CannoliJump *jumps;
    /* Where to go if guest memory vanishes while it is read */
    sigjmp_buf *vanished;
    /* The running block, if it records something once; start of its words */
    struct TranslationBlock *once;
    void *once_words;
    /*
     * With CF_CANNOLI_COUNT: instructions that may run before the thread needs
     * a new slice, a whole block subtracted when it begins; and how many of
     * them will not have run if the next call leaves the block.
     */
    int32_t budget;
    int32_t unrun;
    /* With CF_CANNOLI_TREE: the call that began the tree */
    uint64_t tree_sp, tree_return;
    bool parent_paused;
    bool in_code; /* a block that counts is running */
    /* What its last instruction did, for system/cannoli/interrupt.c */
    uint16_t transition;
    /*
     * What most blocks use is last, close to env, where code for it is short.
     * Instruction of the running block, stored before calls; or'ed flag
     */
    uint32_t insn;
    /* A block leaves before it begins at this limit, see cannoli_set_limit */
    uintptr_t limit;
    /* TCG globals: end of the words, start of the data of the buffer */
    void *words;
    void *data;
} CannoliCPU;

/* In CPUNegativeOffsetState and in TranslationBlock */
#define CANNOLI_CPU_FIELDS CannoliCPU cannoli;
#define CANNOLI_TB_FIELDS \
    struct CannoliBlock *cannoli; \
    void *cannoli_once;

/*
 * In `insn', beside the number of the instruction among those recorded: nothing
 * of the block is left to do after it; it is not recorded itself; what is
 * wanted of accesses that helpers make.  Blocks of which nothing is recorded do
 * not store it: then it is CANNOLI_INSN_NONE, as it is between calls.
 */
#define CANNOLI_INSN_LAST       0x80000000u
#define CANNOLI_INSN_UNRECORDED 0x40000000u
#define CANNOLI_INSN_LOADS      0x20000000u
#define CANNOLI_INSN_STORES     0x10000000u
#define CANNOLI_INSN_LOADED     0x08000000u /* values, too */
#define CANNOLI_INSN_STORED     0x04000000u
#define CANNOLI_INSN_REGS       0x02000000u /* registers */
#define CANNOLI_INSN_ALL        0x3e000000u
#define CANNOLI_INSN_NUMBER     0x0000ffffu
#define CANNOLI_INSN_NONE       0x0000ffffu

/*
 * Compile flags of blocks: the gate of the thread is closed; instructions are
 * counted; the end of a call is watched for.  Not part of a block definition.
 */
#define CF_CANNOLI_OFF   0x00100000
#define CF_CANNOLI_COUNT 0x00200000
#define CF_CANNOLI_TREE  0x00400000
#define CF_CANNOLI_MASK  (CF_CANNOLI_OFF | CF_CANNOLI_COUNT | CF_CANNOLI_TREE)

/* Tracing is on in this process; set before the first translation. */
extern bool cannoli_on;
/* The values of accesses are recorded, too. */
extern bool cannoli_values;
/* Which events outside of translated code are recorded (CTR_EVENTS_*) */
extern bool cannoli_sys, cannoli_map, cannoli_thr;
/* The program is executed again, with what a recording has (linux-user). */
extern bool cannoli_expanding;
/* What instructions read of clocks is recorded, or comes from a recording. */
extern bool cannoli_clocks;
uint64_t cannoli_clock(uint64_t value);
#define CANNOLI_RETURN_CLOCK(value) \
    CANNOLI_RETURN_IF(cannoli_clocks, cannoli_clock(value))
#define cannoli_read_clock(value) \
    do { \
        if (cannoli_clocks) { \
            *(value) = cannoli_clock(*(value)); \
        } \
    } while (0)

/* Translation. */
void cannoli_tcg_init(void *words, void *data);
void cannoli_tb_start(struct DisasContextBase *db);
void cannoli_insn_start(struct DisasContextBase *db);
void cannoli_note_pair(bool swap);
void cannoli_note_swap(bool swap);
/*
 * A compare-and-swap in a serial context, which QEMU implements as a load and a
 * store that is always made: one that fails is no store
 * (accel/tcg/cannoli/cmpxchg.c).  Return false if nothing was generated.
 */
bool cannoli_cas_i32(struct TCGv_i32_d *ret, struct TCGTemp *addr,
                     struct TCGv_i32_d *cmp, struct TCGv_i32_d *new,
                     uint64_t idx, unsigned memop);
bool cannoli_cas_i64(struct TCGv_i64_d *ret, struct TCGTemp *addr,
                     struct TCGv_i64_d *cmp, struct TCGv_i64_d *new,
                     uint64_t idx, unsigned memop);
bool cannoli_cas_i128(struct TCGv_i128_d *ret, struct TCGTemp *addr,
                      struct TCGv_i128_d *cmp, struct TCGv_i128_d *new,
                      uint64_t idx, unsigned memop);
void cannoli_tb_end(struct CPUState *cpu, struct DisasContextBase *db);
void cannoli_publish(struct CPUState *cpu, struct TranslationBlock *tb);
void cannoli_flushed(void);
void cannoli_max_insns(int *max_insns);

/*
 * On x86-64 hosts the two pointers are in registers while translated code runs
 * (the data pointer if there are data), as fixed TCG globals.  CannoliCPU has
 * them only while other code runs: the prologue loads them and the epilogue
 * stores them, and they are stored before calls of helpers that may look at
 * them (cannoli_tb_end; slow paths of accesses do it themselves) and read from
 * the context of a signal that translated code has raised.
 *
 * TCG does not write fixed globals.  What moves one is a store with an offset
 * that no other has: CANNOLI_MOVE and the number of bytes; CANNOLI_RELOAD gets
 * both again.
 */
#if defined(__x86_64__) && !defined(CONFIG_TCG_INTERPRETER)
#define CANNOLI_FIXED 1
#else
#define CANNOLI_FIXED 0
#endif
#define CANNOLI_MOVE   0x7ff00000 /* +- CANNOLI_MAX_NEED */
#define CANNOLI_RELOAD 0x7fff0000
/*
 * The number of fixed globals: words, data; 0 if tracing was off when TCG
 * began.
 */
extern int cannoli_fixed;
/* Offset of CannoliCPU.words from env; data is right after it. */
extern const int cannoli_words_off;

/* For tcg/tcg.c */
#if CANNOLI_FIXED
#define CANNOLI_FIXED_REG(s, r, name) \
    temp_tcgv_ptr(tcg_global_reg_new_internal(s, TCG_TYPE_PTR, r, name))
#define CANNOLI_TCG_INIT(s) \
    cannoli_fixed = cannoli_fixed_wanted(); \
    cannoli_tcg_init(cannoli_fixed < 1 \
                         ? NULL \
                         : CANNOLI_FIXED_REG(s, TCG_REG_R15, "cannoli_words"), \
                     cannoli_fixed < 2 \
                         ? NULL \
                         : CANNOLI_FIXED_REG(s, TCG_REG_R14, "cannoli_data"))
#else
#define CANNOLI_TCG_INIT(s) cannoli_tcg_init(NULL, NULL)
#endif
int cannoli_fixed_wanted(void);

/* For tcg/i386: load or store the fixed ones */
#define CANNOLI_OUT_FIXED(s, out) \
    for (int fixed = 0; fixed < cannoli_fixed; fixed++) { \
        out(s, TCG_TYPE_PTR, fixed ? TCG_REG_R14 : TCG_REG_R15, TCG_AREG0, \
            cannoli_words_off + fixed * sizeof(void *)); \
    }
/* True if a store with this offset moves or reloads them instead. */
#define cannoli_out_move(s, reg, off) \
    ({ \
        bool moves = (intptr_t)(off) >= CANNOLI_MOVE - 0x10000; \
        if ((intptr_t)(off) == CANNOLI_RELOAD) { \
            CANNOLI_OUT_FIXED(s, tcg_out_ld) \
        } else if (moves) { \
            tgen_arithi(s, ARITH_ADD + P_REXW, reg, (off) - CANNOLI_MOVE, 0); \
        } \
        moves; \
    })

/*
 * For the handlers of SIGSEGV and SIGBUS.  The kernel does not report the
 * address if it is not canonical (SI_KERNEL).
 */
#if CANNOLI_FIXED
#define CANNOLI_READ_FIXED(cpu, uc) \
    if (cannoli_fixed && \
        in_code_gen_buffer((void *)(host_signal_pc(uc) - tcg_splitwx_diff))) { \
        cannoli_read_fixed(cpu, (uc)->uc_mcontext.gregs[REG_R15], \
                           (uc)->uc_mcontext.gregs[REG_R14]); \
    }
#else
#define CANNOLI_READ_FIXED(cpu, uc)
#endif
#define cannoli_host_fault(cpu, info, uc, is_write) \
    do { \
        CANNOLI_READ_FIXED(cpu, uc) \
        cannoli_vanished(cpu, host_signal_mask(uc)); \
        cannoli_fault_addr(cpu, h2g_nocheck((info)->si_addr), \
                           (info)->si_code != SI_KERNEL, is_write); \
    } while (0)
void cannoli_read_fixed(struct CPUState *cpu, uintptr_t words, uintptr_t data);

/*
 * A block that records something once is entered from C and returns there.
 * stay: the next block must not be entered directly, *tb becomes NULL.
 * fresh: *tb may be one that has to be translated again; then it becomes NULL.
 * no_jump: *last_tb becomes NULL if it must not be chained to tb.
 */
extern bool cannoli_once_on;
struct TranslationBlock *cannoli_once_find_fresh(struct TranslationBlock *tb);
#define cannoli_once_pending(tb) \
    (cannoli_once_on && qatomic_load_acquire(&(tb)->cannoli_once))
#define cannoli_once_stay(cpu, tb) \
    do { \
        if (*(tb) && \
            (cannoli_once_pending(*(tb)) || (cpu)->neg.cannoli.once)) { \
            *(tb) = NULL; \
        } \
    } while (0)
#define cannoli_once_fresh(tb) \
    do { \
        if (*(tb) && cannoli_once_pending(*(tb))) { \
            *(tb) = cannoli_once_find_fresh(*(tb)); \
        } \
    } while (0)
#define cannoli_once_no_jump(tb, last_tb) \
    do { \
        if (cannoli_once_pending(tb)) { \
            *(last_tb) = NULL; \
        } \
    } while (0)

/*
 * Where an indirect jump goes (accel/tcg/cannoli/jump.c).  gen: generates the
 * lookup, unless QEMU's own is to be used.  forget: a block, or all, when they
 * are invalidated.
 */
bool cannoli_gen_jump(struct TCGv_ptr_d *to);
void cannoli_forget_jump(struct CPUState *cpu,
                         const struct TranslationBlock *tb);
void cannoli_forget_jumps(struct CPUState *cpu);

/* Execution. */
void cannoli_set_limit(struct CPUState *cpu);
void cannoli_enter(struct CPUState *cpu, const struct TranslationBlock *tb);
void cannoli_leave(struct CPUState *cpu, const struct TranslationBlock *tb,
                   int tb_exit);
void cannoli_cpu_enter(struct CPUState *cpu);
void cannoli_cpu_exit(struct CPUState *cpu);
void cannoli_restored(struct CPUState *cpu, const struct TranslationBlock *tb,
                      int insn);
/* CannoliCPU.insn of instruction `insn' of a block's code */
uint32_t cannoli_insn_in(const struct CannoliBlock *b, unsigned insn);
void cannoli_loop_exit(struct CPUState *cpu);
void cannoli_fault_addr(struct CPUState *cpu, uint64_t addr, bool known,
                        bool write);
void cannoli_fault(struct CPUState *cpu);
void cannoli_vanished(struct CPUState *cpu, void *mask);

/*
 * An exit is requested: with icount_decr, which blocks that record nothing
 * read.  Pairs with the barrier in cannoli_set_limit.
 */
#define cannoli_request_exit(cpu) \
    do { \
        smp_wmb(); \
        qatomic_set(&(cpu)->neg.cannoli.limit, 0); \
    } while (0)

/*
 * The last four things that were done to a vCPU since power.c looked: two bits
 * each, last lowest.  (More bits would move what translated code uses.)
 */
#define CANNOLI_MOMENT_RESET  1u
#define CANNOLI_MOMENT_SAVED  2u
#define CANNOLI_MOMENT_LOADED 3u

#define cannoli_moment(cpu, what) \
    ((cpu)->neg.cannoli.moments = (cpu)->neg.cannoli.moments << 2 | (what))

/* The vCPU was reset. */
#define cannoli_was_reset(cpu) \
    ((cpu)->neg.cannoli.task_stale = true, \
     cannoli_moment(cpu, CANNOLI_MOMENT_RESET))

/*
 * Accesses made by helpers, after the fact.  What was loaded or stored can be
 * read at the guest address `data', or is given as bytes, as a number (low,
 * high), or as the contents of memory before and after an atomic operation.
 */
void cannoli_access(struct CPUState *cpu, uint64_t addr, uint64_t size,
                    bool store, uint64_t data);
void cannoli_access_bytes(struct CPUState *cpu, uint64_t addr, uint32_t size,
                          bool store, const void *bytes);
void cannoli_access_oi(struct CPUState *cpu, uint64_t addr, uint32_t oi,
                       bool store, uint64_t low, uint64_t high);
void cannoli_rmw(struct CPUState *cpu, uint64_t addr, uint32_t oi,
                 const void *old, const void *new);
void cannoli_cmpxchg(struct CPUState *cpu, uint64_t addr, uint32_t oi,
                     const void *old, const void *want, const void *new);
Int128 cannoli_ld_i128(struct CPUArchState *env, uint64_t addr, uint32_t oi,
                       uintptr_t ra);
#define cannoli_st_i128(env, addr, oi, val) \
    cannoli_access_oi(env_cpu(env), addr, oi, true, int128_getlo(val), \
                      int128_gethi(val))
/* Where plugins learn of an access by cpu_ldst.h */
#define cannoli_load_cb(env, addr, oi, low, high) \
    cannoli_access_oi(env_cpu(env), addr, oi, false, low, high)
#define cannoli_store_cb(env, addr, oi, low, high) \
    cannoli_access_oi(env_cpu(env), addr, oi, true, low, high)

/*
 * Accesses that helpers of a target made on host memory:
 * accel/tcg/cannoli/target.c.
 */
void cannoli_ld(struct CPUArchState *env, uint64_t addr, uint64_t size);
void cannoli_st(struct CPUArchState *env, uint64_t addr, uint64_t size);
void cannoli_st_bytes(struct CPUArchState *env, uint64_t addr, uint32_t size,
                      const void *bytes);
void cannoli_ldst(struct CPUArchState *env, uint64_t addr, uint64_t size,
                  bool is_load);
/* From addr up to the host address end */
void cannoli_ld_until(struct CPUArchState *env, uint64_t addr, const void *end);
void cannoli_st_until(struct CPUArchState *env, uint64_t addr, const void *end);
void cannoli_copy(struct CPUArchState *env, uint64_t to, uint64_t from,
                  uint64_t size);
/* The addresses are those of the last bytes. */
void cannoli_copy_rev(struct CPUArchState *env, uint64_t to, uint64_t from,
                      uint64_t size);
void cannoli_load(struct CPUArchState *env, uint64_t addr, const void *host,
                  uint64_t offset, uint64_t size);
void cannoli_vec(struct CPUArchState *env, const uint64_t *active,
                 uint64_t addr, int first, int last, int esz, int msize,
                 bool store);
void cannoli_partial(struct CPUState *cpu);

/* Threads and processes: accel/tcg/cannoli/pipe.c, for linux-user. */
void cannoli_parse(const char *arg);
void cannoli_start(struct CPUState *cpu);
void cannoli_thread_new(struct CPUState *cpu);
void cannoli_thread_ready(struct CPUState *cpu);
void cannoli_thread_start(struct CPUState *cpu);
void cannoli_thread_end(struct CPUState *cpu);
void cannoli_process_end(struct CPUState *cpu, int code, bool signalled);
void cannoli_fork(void);
void cannoli_forked(struct CPUState *cpu, int pid);
void cannoli_child(struct CPUState *cpu);
void cannoli_exec(struct CPUState *cpu, bool failed);
void cannoli_library_ends(int how);
void cannoli_get_deathsig(int *sig);
int cannoli_set_host_deathsig(int sig);

/*
 * For atomic_template.h, which passes plugins the operand instead of what it
 * stores.  before, after: the contents of memory, in memory's byte order.
 */
#define cannoli_atomic_rmw(env, addr, oi, before, after) \
    do { \
        DATA_TYPE was = before, is = after; \
        cannoli_rmw(env_cpu(env), addr, oi, &was, &is); \
    } while (0)
#define cannoli_atomic_cmpxchg(env, addr, oi, before, cmp, val) \
    do { \
        DATA_TYPE was = before, want = cmp, put = val; \
        cannoli_cmpxchg(env_cpu(env), addr, oi, &was, &want, &put); \
    } while (0)
/*
 * The result of some operations does not determine the contents of memory both
 * before and after.  When values are recorded, these are done here by
 * compare-and-swap (first with a guess: a fault must be that of a write), and
 * the template works on a copy.
 */
#define CANNOLI_RMW_BEGIN(haddr, op, val) \
    DATA_TYPE rmw_old = 0, rmw_new = 0, rmw_copy; \
    if (cannoli_values) { \
        DATA_TYPE *real = haddr, seen = 0; \
        do { \
            rmw_old = rmw_new = seen; \
            op(&rmw_new, val); \
            seen = qatomic_cmpxchg__nocheck(real, rmw_old, rmw_new); \
        } while (seen != rmw_old); \
        rmw_copy = rmw_old; \
        haddr = &rmw_copy; \
    }
#define CANNOLI_RMW_END(env, addr, oi) \
    cannoli_rmw(env_cpu(env), addr, oi, &rmw_old, &rmw_new)

/*
 * s390x: a compare-and-swap in a serial context stores even if it fails.  Then
 * this is not recorded as a store; it only faults as one.
 */
#define cannoli_no_store(env, failed, addr, size, mmu_idx, ra) \
    ({ \
        bool none = cannoli_on && (failed); \
        if (none) { \
            probe_write(env, addr, size, mmu_idx, ra); \
        } \
        none; \
    })

#else /* CONFIG_CANNOLI */

#define CANNOLI_RETURN_IF(...)
#define CANNOLI_BREAK_IF(...)
#define CANNOLI_UNLESS(...)
#define CANNOLI_RETURN_CLOCK(value)
#define cannoli_read_clock(value)
#define CANNOLI_CPU_FIELDS
#define CANNOLI_TB_FIELDS

/* Translation */
#define cannoli_tb_start(db)
#define cannoli_insn_start(db)
#define cannoli_note_pair(swap)
#define cannoli_note_swap(swap)
#define cannoli_tb_end(cpu, db)
#define cannoli_publish(cpu, tb)
#define cannoli_flushed()
#define cannoli_max_insns(max_insns)
#define cannoli_forget_jump(cpu, tb)
#define cannoli_forget_jumps(cpu)
#define CANNOLI_TCG_INIT(s)
#define CANNOLI_OUT_FIXED(s, out)

/* Execution */
#define cannoli_once_stay(cpu, tb)
#define cannoli_once_fresh(tb)
#define cannoli_once_no_jump(tb, last_tb)
#define cannoli_set_limit(cpu)
#define cannoli_request_exit(cpu)
#define cannoli_was_reset(cpu)
#define cannoli_enter(cpu, tb)
#define cannoli_leave(cpu, tb, tb_exit)
#define cannoli_cpu_enter(cpu)
#define cannoli_cpu_exit(cpu)
#define cannoli_restored(cpu, tb, insn)
#define cannoli_loop_exit(cpu)
#define cannoli_fault(cpu)
#define cannoli_fault_addr(cpu, addr, known, write)
#define cannoli_host_fault(cpu, info, uc, is_write)

/* Accesses by helpers */
#define cannoli_st_i128(env, addr, oi, val)
#define cannoli_load_cb(env, addr, oi, low, high)
#define cannoli_store_cb(env, addr, oi, low, high)
#define cannoli_atomic_rmw(env, addr, oi, before, after)
#define cannoli_atomic_cmpxchg(env, addr, oi, before, cmp, val)
#define CANNOLI_RMW_BEGIN(haddr, op, val)
#define CANNOLI_RMW_END(env, addr, oi)
#define cannoli_ld(env, addr, size)
#define cannoli_st(env, addr, size)
#define cannoli_ld_until(env, addr, end)
#define cannoli_st_until(env, addr, end)
#define cannoli_st_bytes(env, addr, size, bytes)
#define cannoli_ldst(env, addr, size, is_load)
#define cannoli_copy(env, to, from, size)
#define cannoli_copy_rev(env, to, from, size)
#define cannoli_load(env, addr, host, offset, size)
#define cannoli_vec(env, active, addr, first, last, esz, msize, store)
#define cannoli_partial(cpu)

/* Threads and processes */
#define cannoli_start(cpu)
#define cannoli_thread_new(cpu)
#define cannoli_thread_ready(cpu)
#define cannoli_thread_start(cpu)
#define cannoli_process_end(cpu, code, signalled)
#define cannoli_fork()
#define cannoli_forked(cpu, pid)
#define cannoli_child(cpu)
#define cannoli_exec(cpu, failed)
#define cannoli_library_ends(how)
#define cannoli_get_deathsig(sig)

#endif /* CONFIG_CANNOLI */

#endif
