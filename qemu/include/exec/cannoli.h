/*
 * Execution tracing into shared memory ("cannoli"): the hooks
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * accel/tcg/cannoli/pass.c explains the design.  Everything outside of
 * the folders cannoli is one CANNOLI(...) on a line that was there before, so
 * that without CONFIG_CANNOLI the compiler sees the sources of an unpatched
 * QEMU, line numbers included.
 */
#ifndef EXEC_CANNOLI_H
#define EXEC_CANNOLI_H

#ifdef CONFIG_CANNOLI

#include "qemu/int128.h"

/* Code that is there only when tracing is compiled in. */
#define CANNOLI(...) __VA_ARGS__

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
    uint32_t once_seq;      /* see `once' */
    /* What a state restore found, for the exit that follows it */
    const struct CannoliBlock *unwound;
    void *unwound_words;
    struct CannoliThread *thread;
    uint64_t fault_addr;
    /* State of registers as it was told last, see cannoli_regs_shadow */
    void *shadow;
    /* Where `insn' belongs to, if it writes registers */
    const struct CannoliBlock *block;
    /* What the translator knows by itself, see CannoliReg.lazy */
    uint64_t lazy_value;
    bool lazy_known;
    bool fault_addr_valid, fault_write;
    bool fault;
    bool partial;
    /* Where indirect jumps went, see accel/tcg/cannoli/jump.c */
    struct CannoliJump *jumps;
    /* Where to go if guest memory that is being read is gone */
    sigjmp_buf *vanished;
    /* The running block, if it tells something once; where its words begin */
    struct TranslationBlock *once;
    void *once_words;
    /*
     * With CF_CANNOLI_COUNT: instructions that may run before the thread must
     * ask, all of a block taken off when it begins; and how many of them will
     * not have run if it is left by the call that comes.
     */
    int32_t budget;
    int32_t unrun;
    /* With CF_CANNOLI_TREE: the call that began the tree */
    uint64_t tree_sp, tree_return;
    bool parent_paused;
    bool in_code;           /* a block that counts is running */
    /*
     * What most blocks use stands last, close to env, where code for it is
     * short.  Instruction of the running block, stored before calls; or'ed flag
     */
    uint32_t insn;
    /* What a block leaves at that is about to begin, see cannoli_set_limit */
    uintptr_t limit;
    /* TCG globals: end of the words, start of the data of the chunk */
    void *words;
    void *data;
} CannoliCPU;

/*
 * In `insn', beside the number of the instruction among those recorded: nothing
 * of the block is left to do after it; it is not recorded itself; what is wanted
 * of accesses that helpers make.  Blocks of which nothing is recorded do not
 * store it: then it is CANNOLI_INSN_NONE, as it is between calls.
 */
#define CANNOLI_INSN_LAST   0x80000000u
#define CANNOLI_INSN_UNTOLD 0x40000000u
#define CANNOLI_INSN_LOADS  0x20000000u
#define CANNOLI_INSN_STORES 0x10000000u
#define CANNOLI_INSN_LOADED 0x08000000u /* values, too */
#define CANNOLI_INSN_STORED 0x04000000u
#define CANNOLI_INSN_REGS   0x02000000u /* registers */
#define CANNOLI_INSN_ALL    0x3e000000u
#define CANNOLI_INSN_NUMBER 0x0000ffffu
#define CANNOLI_INSN_NONE   0x0000ffffu

/*
 * Compile flags of blocks: the gate of the thread is closed; instructions are
 * counted; the end of a call is looked out for.  No part of what a recording says
 * about a block.
 */
#define CF_CANNOLI_OFF   0x00100000
#define CF_CANNOLI_COUNT 0x00200000
#define CF_CANNOLI_TREE  0x00400000
#define CF_CANNOLI_MASK  (CF_CANNOLI_OFF | CF_CANNOLI_COUNT | CF_CANNOLI_TREE)

/* Tracing is on in this process; set before the first translation. */
extern bool cannoli_on;
/* And so are the values of accesses. */
extern bool cannoli_values;
/* Of what happens outside of translated code, what is wanted (CTR_EVENTS_*) */
extern bool cannoli_sys, cannoli_map, cannoli_thr;

/* Translation. */
void cannoli_tcg_init(void *words, void *data);
void cannoli_insn_start(struct DisasContextBase *db);
void cannoli_note_pair(bool swap);
void cannoli_note_swap(bool swap);
/*
 * A compare-and-swap in a serial context, which QEMU makes of a load and a store
 * that is always made: one that fails is no store
 * (accel/tcg/cannoli/cmpxchg.c).  Return false if nothing was generated.
 */
bool cannoli_cmpxchg_i32(struct TCGv_i32_d *ret, struct TCGTemp *addr,
                         struct TCGv_i32_d *cmp, struct TCGv_i32_d *new,
                         uint64_t idx, unsigned memop);
bool cannoli_cmpxchg_i64(struct TCGv_i64_d *ret, struct TCGTemp *addr,
                         struct TCGv_i64_d *cmp, struct TCGv_i64_d *new,
                         uint64_t idx, unsigned memop);
bool cannoli_cmpxchg_i128(struct TCGv_i128_d *ret, struct TCGTemp *addr,
                          struct TCGv_i128_d *cmp, struct TCGv_i128_d *new,
                          uint64_t idx, unsigned memop);
#define CANNOLI_GEN_CMPXCHG(type) \
    if (cannoli_cmpxchg_##type(retv, addr, cmpv, newv, idx, memop)) { \
        return; \
    }
void cannoli_tb_end(struct CPUState *cpu, struct DisasContextBase *db);
void cannoli_publish(struct CPUState *cpu, struct TranslationBlock *tb);
void cannoli_flushed(void);
int cannoli_max_insns(int max_insns);

/*
 * On x86-64 hosts the two pointers are in registers while translated code runs
 * (the data pointer if there are data), as fixed TCG globals.  CannoliCPU has them
 * only when control is elsewhere: the prologue loads them and the epilogue stores
 * them, and they are stored before calls of helpers that may look at them
 * (cannoli_tb_end; slow paths of accesses do it themselves) and taken out of the
 * context of a signal that translated code has raised.
 *
 * TCG does not write fixed globals.  What moves one is a store with an offset that
 * no other has: CANNOLI_MOVE and the number of bytes; CANNOLI_RELOAD gets both again.
 */
#if defined(__x86_64__) && !defined(CONFIG_TCG_INTERPRETER)
#define CANNOLI_FIXED 1
#else
#define CANNOLI_FIXED 0
#endif
#define CANNOLI_MOVE   0x7ff00000 /* +- CANNOLI_MAX_NEED */
#define CANNOLI_RELOAD 0x7fff0000
/* How many of them: words, data; 0 if tracing was off when TCG began. */
extern int cannoli_fixed;
/* Offset of CannoliCPU.words from env; data stands behind it. */
extern const int cannoli_words_off;

#define CANNOLI_FIXED_REG(r, name) \
    tcg_global_reg_new_internal(s, TCG_TYPE_PTR, r, name)
#if CANNOLI_FIXED
#define CANNOLI_TCG_INIT \
    cannoli_fixed = cannoli_fixed_wanted(); \
    cannoli_tcg_init( \
        cannoli_fixed < 1 ? NULL : temp_tcgv_ptr( \
            CANNOLI_FIXED_REG(TCG_REG_R15, "cannoli_words")), \
        cannoli_fixed < 2 ? NULL : temp_tcgv_ptr( \
            CANNOLI_FIXED_REG(TCG_REG_R14, "cannoli_data")));
#else
#define CANNOLI_TCG_INIT cannoli_tcg_init(NULL, NULL);
#endif
int cannoli_fixed_wanted(void);

/* For tcg/i386. */
#define CANNOLI_OUT(out) \
    for (int fixed = 0; fixed < cannoli_fixed; fixed++) { \
        out(s, TCG_TYPE_PTR, fixed ? TCG_REG_R14 : TCG_REG_R15, TCG_AREG0, \
            cannoli_words_off + fixed * sizeof(void *)); \
    }
#define CANNOLI_OUT_MOVE \
    if ((intptr_t)a2 == CANNOLI_RELOAD) { \
        CANNOLI_OUT(tcg_out_ld) \
        break; \
    } else if ((intptr_t)a2 >= CANNOLI_MOVE - 0x10000) { \
        tgen_arithi(s, ARITH_ADD + P_REXW, a1, a2 - CANNOLI_MOVE, 0); \
        break; \
    }

/* For the handlers of SIGSEGV and SIGBUS. */
#if CANNOLI_FIXED
#define CANNOLI_TAKE_FIXED \
    if (cannoli_fixed && \
        in_code_gen_buffer((void *)(host_signal_pc(uc) - tcg_splitwx_diff))) { \
        cannoli_take_fixed(cpu, uc->uc_mcontext.gregs[REG_R15], \
                           uc->uc_mcontext.gregs[REG_R14]); \
    }
#else
#define CANNOLI_TAKE_FIXED
#endif
void cannoli_take_fixed(struct CPUState *cpu, uintptr_t words, uintptr_t data);

/*
 * A block that tells something once is entered from C and comes back there.
 * STAYS: the next block must not be entered directly.  FRESH: it may have become
 * one that is to be translated again.
 */
extern bool cannoli_once_on;
struct TranslationBlock *cannoli_once_fresh(struct TranslationBlock *tb);
#define CANNOLI_PENDING(tb) \
    (cannoli_once_on && qatomic_load_acquire(&(tb)->cannoli_once))
#define CANNOLI_STAY \
    if (tb && (CANNOLI_PENDING(tb) || cpu->neg.cannoli.once)) { \
        tb = NULL; \
    }
#define CANNOLI_NO_JUMP \
    if (CANNOLI_PENDING(tb)) { \
        last_tb = NULL; \
    }
#define CANNOLI_FRESH \
    if (tb && CANNOLI_PENDING(tb)) { \
        tb = cannoli_once_fresh(tb); \
    }

/*
 * Where an indirect jump goes (accel/tcg/cannoli/jump.c).  gen: the code that
 * finds out, if it is not to be QEMU's own.  forget: a block, or all, when they are thrown away.
 */
bool cannoli_gen_jump(struct TCGv_ptr_d *to);
void cannoli_forget_jump(struct CPUState *cpu, const struct TranslationBlock *tb);
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
void cannoli_loop_exit(struct CPUState *cpu);
void cannoli_fault_addr(struct CPUState *cpu, uint64_t addr, bool known,
                        bool write);
void cannoli_fault(struct CPUState *cpu);
void cannoli_vanished(struct CPUState *cpu, void *mask);

/*
 * An exit is requested: with icount_decr, which blocks that tell nothing look at.
 * Pairs with the barrier in cannoli_set_limit.
 */
#define CANNOLI_REQUEST \
    smp_wmb(); \
    qatomic_set(&cpu->neg.cannoli.limit, 0);

/*
 * Accesses made by helpers, after the fact.  What was loaded or stored can be
 * read at the guest address `data', or is given as bytes, as a number (low, high),
 * or as the contents of memory before and behind an atomic operation.
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
void cannoli_copy(struct CPUArchState *env, uint64_t to, uint64_t from,
                  uint64_t size);
void cannoli_load(struct CPUArchState *env, uint64_t addr, const void *host,
                  uint64_t offset, uint64_t size);
void cannoli_vec(struct CPUArchState *env, const uint64_t *active,
                 uint64_t addr, int first, int last, int esz, int msize,
                 bool store);
void cannoli_partial(struct CPUState *cpu);

/* Threads and processes (linux-user). */
void cannoli_parse(const char *arg);
void cannoli_start(struct CPUState *cpu);
void cannoli_thread_new(struct CPUState *cpu);
void cannoli_thread_start(struct CPUState *cpu);
void cannoli_thread_end(struct CPUState *cpu);
void cannoli_process_end(struct CPUState *cpu, int code, bool signalled);
void cannoli_fork(void);
void cannoli_forked(struct CPUState *cpu, int pid);
void cannoli_child(struct CPUState *cpu);
void cannoli_exec(struct CPUState *cpu, bool failed);
void cannoli_library_ends(int how);

/*
 * linux-user.  The macros are for one place each and use its variables; those
 * that stand in many begin with a test, as they are there for every guest.
 */

/* The kernel does not say where an address of no page was (SI_KERNEL). */
#define CANNOLI_HOST_FAULT \
    { \
        cannoli_vanished(cpu, host_signal_mask(uc)); \
        cannoli_fault_addr(cpu, h2g_nocheck(info->si_addr), \
                           info->si_code != SI_KERNEL, is_write); \
    }

/* System calls, signals, threads: linux-user/cannoli/sys.c. */
void cannoli_syscall(struct CPUState *cpu, int num, const uint64_t args[8]);
void cannoli_sysret(struct CPUState *cpu, int num, const uint64_t args[8],
                    int64_t ret);
void cannoli_signal(struct CPUState *cpu, int sig, const void *info,
                    bool sync, uint64_t handler);
void cannoli_futex(struct CPUState *cpu, int op, uint64_t addr, uint64_t addr2);
void cannoli_cloned(struct CPUState *cpu, int tid, uint64_t child_tidptr,
                    uint64_t parent_tidptr);
void cannoli_task_exit(struct CPUState *cpu, uint64_t child_tidptr);
void cannoli_renamed(struct CPUState *cpu);
int cannoli_get_deathsig(int sig);
void cannoli_set_deathsig(int sig);
/*
 * System calls that are meant for us: linux-user/cannoli/guest.c.  Returns false
 * if it is none.  o32: MIPS' cpu_loop refuses numbers that are not in its table.
 */
bool cannoli_guest(struct CPUState *cpu, int num, const uint64_t args[8],
                   int64_t *ret);
int64_t cannoli_guest_o32(struct CPUState *cpu);
/* Entry i of strace.c's table of names, NULL behind the last. */
const char *cannoli_syscall_name(unsigned i, int *nr);

/* do_syscall: its arguments as they stand in registers */
#define CANNOLI_ARGS \
    (const uint64_t[]) { (abi_ulong)arg1, (abi_ulong)arg2, (abi_ulong)arg3, \
                         (abi_ulong)arg4, (abi_ulong)arg5, (abi_ulong)arg6, \
                         (abi_ulong)arg7, (abi_ulong)arg8 }
#define CANNOLI_SET_DEATHSIG \
    if (cannoli_on) { \
        ret = get_errno(prctl(PR_SET_PDEATHSIG, target_to_host_signal(arg2), \
                              arg3, arg4, arg5)); \
        if (!is_error(ret)) { \
            cannoli_set_deathsig(arg2); \
        } \
        return ret; \
    }
#define CANNOLI_SYSCALL cannoli_syscall(cpu, num, CANNOLI_ARGS);
#define CANNOLI_GUEST_CALLED \
    { \
        int64_t result; \
        if (cannoli_guest(cpu, num, CANNOLI_ARGS, &result)) { \
            return result; \
        } \
    }
#define CANNOLI_SYSRET  cannoli_sysret(cpu, num, CANNOLI_ARGS, ret);
#define CANNOLI_FUTEX   cannoli_futex(cpu, base_op, uaddr, uaddr2);
#define CANNOLI_CLONED \
    cannoli_cloned(cpu, ret, info.child_tidptr, info.parent_tidptr);
#define CANNOLI_SIGNAL \
    cannoli_signal(cpu, sig, &k->info, k == &ts->sync_signal, \
                   sigact_table[sig - 1]._sa_handler);
/*
 * A signal that ends the process is caught, or the host would end it without a word;
 * then QEMU dies by it.  One that the guest ignores from its begin is left alone.
 */
bool cannoli_catches(int sig);
#define CANNOLI_CATCH \
    if (cannoli_catches(tsig)) { \
        sigaction(hsig, &act, NULL); \
    }
#define CANNOLI_SYSCALL_NAMES \
    const char *cannoli_syscall_name(unsigned i, int *nr) \
    { \
        if (i >= nsyscalls) { \
            return NULL; \
        } \
        *nr = scnames[i].nr; \
        return scnames[i].name; \
    }

/*
 * Guest memory that the system reads and writes.  NEXT_LOCK tells how the next
 * lock_user is to be understood; ONLY that the unlocking to come stands for not
 * more than so many bytes written (a result; an error is none), until it is said
 * again; WROTE is for what is written without unlock_user.  STORED is for an atomic
 * operation: memory may hold another thread's value by now, so the bytes are given.
 */
enum { CANNOLI_LOCK_0 = 0, CANNOLI_LOCK_QUIET = 1, CANNOLI_LOCK_STRING = 2 };
#define CANNOLI_WROTE_ALL INT64_MAX
void cannoli_next_lock(int how);
void cannoli_locked(uint64_t addr, int64_t len, bool copy);
void cannoli_unlocked(uint64_t addr, int64_t len);
void cannoli_only(int64_t bytes);
void cannoli_wrote(struct CPUState *cpu, uint64_t addr, uint64_t len);
void cannoli_stored(struct CPUState *cpu, uint64_t addr, const void *bytes,
                    uint64_t len);

#define CANNOLI_IF_SYS(...) \
    if (cannoli_sys) { \
        __VA_ARGS__; \
    }
#define CANNOLI_NEXT_LOCK(how) \
    CANNOLI_IF_SYS(cannoli_next_lock(CANNOLI_LOCK_##how))
#define CANNOLI_LOCKED \
    CANNOLI_IF_SYS(cannoli_locked(guest_addr, len, \
                                  copy || type == VERIFY_READ))
#define CANNOLI_UNLOCKED \
    if (cannoli_sys && host_ptr) { \
        cannoli_unlocked(guest_addr, len); \
    }
#define CANNOLI_ONLY(bytes) CANNOLI_IF_SYS(cannoli_only(bytes))
#define CANNOLI_WROTE(addr, len) \
    CANNOLI_IF_SYS(cannoli_wrote(thread_cpu, addr, len))
#define CANNOLI_STORED(addr, bytes, len) \
    CANNOLI_IF_SYS(cannoli_stored(thread_cpu, addr, bytes, len))
/* hppa's compare-and-swap of up to 4 bytes: 0 returns what there was, 2 success. */
#define CANNOLI_LWS_STORED \
    if (which == 0 ? tswap32(ret) == old : !ret && env->gr[23] < 3) { \
        uint32_t bytes = which == 0 ? 4 : 1 << env->gr[23]; \
        uint8_t stored[4]; \
        stn_he_p(stored, bytes, new); \
        CANNOLI_STORED(addr, stored, bytes) \
    }
#define CANNOLI_MINCORE \
    CANNOLI_WROTE(arg3, ret ? 0 : DIV_ROUND_UP(arg2, TARGET_PAGE_SIZE))
#define CANNOLI_GDT_COPIED \
    CANNOLI_WROTE(new_env->gdt.base, sizeof(uint64_t) * TARGET_GDT_ENTRIES)

/* Mappings: linux-user/cannoli/maps.c.  All under mmap_lock. */
void cannoli_mmap_flags(int flags);
void cannoli_brk(uint64_t heap, uint64_t old_end, uint64_t new_end);
void cannoli_mmap(int64_t ret, uint64_t len, int prot, int flags, int fd,
                  uint64_t offset);
void cannoli_munmap(uint64_t start, uint64_t len);
void cannoli_mprotect(uint64_t start, uint64_t len, int prot);
void cannoli_mremap(uint64_t start, uint64_t len, uint64_t old_start,
                    uint64_t old_len, int flags, int prot);
void cannoli_shmat(uint64_t start, uint64_t len, int shmid, unsigned key,
                   int flags);
void cannoli_shmdt(uint64_t start, uint64_t len);

#define CANNOLI_MREMAP(old) \
    cannoli_mremap(new_addr, new_size, old_addr, old, flags, prot);
#define CANNOLI_SHMAT \
    cannoli_shmat(shmaddr, m_len, shmid, shm_info.shm_perm.__key, shmflg);

/* Programs that start programs: linux-user/cannoli/exec.c. */
void cannoli_option(const char *name, const char *value);
bool cannoli_execve(int *ret, int dirfd, const char *exe, char **argv,
                    char **envp, int flags, bool at);
char **cannoli_environ(char **made);
void cannoli_elf_seen(const unsigned char *ident, unsigned machine,
                      unsigned flags);
#define CANNOLI_UNLESS_EXECED \
    if (!cannoli_execve(&ret, dirfd, exe, argp, envp, flags, is_execveat))

/*
 * For atomic_template.h, which tells its plugins the operand instead of what it
 * stores.  An operation whose one result is not enough for both contents of
 * memory is made here, when values are recorded, by compare-and-swap (at first
 * with a guess: a fault must be that of a write), and the template gets a copy to
 * work on.
 */
#define CANNOLI_RMW_VARS DATA_TYPE old = 0, new = 0, copy
#define CANNOLI_RMW(op, val) \
    if (cannoli_values) { \
        DATA_TYPE *real = haddr, seen = 0; \
        do { \
            old = new = seen; \
            op(&new, val); \
            seen = qatomic_cmpxchg__nocheck(real, old, new); \
        } while (seen != old); \
        copy = old; \
        haddr = &copy; \
    }
#define CANNOLI_RMW_DONE(was, is) \
    cannoli_rmw(env_cpu(env), addr, oi, &(was), &(is))
#define CANNOLI_XCHG(val) \
    do { \
        DATA_TYPE was = ret, put = val; \
        CANNOLI_RMW_DONE(was, put); \
    } while (0)
#define CANNOLI_CMPXCHG(cmp, val) \
    do { \
        DATA_TYPE was = ret, want = cmp, put = val; \
        cannoli_cmpxchg(env_cpu(env), addr, oi, &was, &want, &put); \
    } while (0)

/* s390x: in front of a store that is none; it only faults as one. */
#define CANNOLI_UNLESS(failed, size) \
    if (cannoli_on && (failed)) { \
        probe_write(env, a1, size, mem_idx, ra); \
    } else

/* For linux-user's table of arguments. */
#define CANNOLI_ARGUMENT \
    {"cannoli", "QEMU_CANNOLI", true, cannoli_parse, \
     "pipe=...", "write an execution trace (started by cannoli-record)"}

#else
#define CANNOLI(...)
#endif

#endif
