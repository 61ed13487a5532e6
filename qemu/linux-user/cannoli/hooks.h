/*
 * Execution tracing into shared memory: the hooks of linux-user
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * exec/cannoli.h explains hooks; those for threads, processes and faults are
 * there.  Hooks in many places begin with a test of what is recorded, because
 * every guest runs them.
 */
#ifndef LINUX_USER_CANNOLI_HOOKS_H
#define LINUX_USER_CANNOLI_HOOKS_H

#include "exec/cannoli.h"

#ifdef CONFIG_CANNOLI

/* ---- system calls, signals, threads: sys.c ---- */

void cannoli_record_syscall(CPUState *cpu, int num, const uint64_t args[8]);
void cannoli_record_sysret(CPUState *cpu, int num, const uint64_t args[8],
                           int64_t ret);
void cannoli_record_signal(CPUState *cpu, int sig, const void *info, bool sync,
                           uint64_t handler);
void cannoli_futex(CPUState *cpu, int op, uint64_t addr, uint64_t addr2);
void cannoli_cloned(CPUState *cpu, int tid, uint64_t child_tidptr,
                    uint64_t parent_tidptr);
void cannoli_task_exit(CPUState *cpu, uint64_t child_tidptr);
void cannoli_renamed(CPUState *cpu);
/*
 * Threads that run one at a time: turns.c.  ready: a new one will run when its
 * creator goes on; gone: nothing is left that other threads could notice.
 */
void cannoli_turn_call(int number);
void cannoli_turn_called(int number);
void cannoli_turn_cleared(uint64_t addr);
void cannoli_thread_gone(void);
/* Entry i of strace.c's table of names, NULL after the last. */
const char *cannoli_syscall_name(unsigned i, int *nr);

/* The arguments of do_syscall as they are in registers */
#define CANNOLI_ARGS(a1, a2, a3, a4, a5, a6, a7, a8) \
    ((const uint64_t[]){ (abi_ulong)(a1), (abi_ulong)(a2), (abi_ulong)(a3), \
                         (abi_ulong)(a4), (abi_ulong)(a5), (abi_ulong)(a6), \
                         (abi_ulong)(a7), (abi_ulong)(a8) })
#define cannoli_syscall(cpu, num, ...) \
    cannoli_record_syscall(cpu, num, CANNOLI_ARGS(__VA_ARGS__))
#define cannoli_sysret(cpu, num, ret, ...) \
    cannoli_record_sysret(cpu, num, CANNOLI_ARGS(__VA_ARGS__), ret)
#define cannoli_signal(cpu, sig, k, ts, table) \
    cannoli_record_signal(cpu, sig, &(k)->info, (k) == &(ts)->sync_signal, \
                          (table)[(sig) - 1]._sa_handler)
#define CANNOLI_SYSCALL_NAMES(table, count) \
    const char *cannoli_syscall_name(unsigned i, int *nr) \
    { \
        if (i >= count) { \
            return NULL; \
        } \
        *nr = table[i].nr; \
        return table[i].name; \
    }

/*
 * A signal that ends the process is caught, or the host would end it without an
 * event; then QEMU dies by it.  A signal that the guest ignores from its start
 * is not caught.
 */
bool cannoli_catches(int sig);
#define cannoli_catch_signal(tsig, hsig, act) \
    do { \
        if (cannoli_catches(tsig)) { \
            sigaction(hsig, act, NULL); \
        } \
    } while (0)
#define cannoli_catch_default(sig, act, handler) \
    do { \
        if (cannoli_catches(sig)) { \
            (act)->sa_sigaction = handler; \
        } \
    } while (0)

/*
 * At the begin of a signal's handler: whether a thread of QEMU's own got what
 * was sent to the process; it is sent again, for a thread of the guest.  (Such
 * threads do not block SIGSEGV, SIGFPE and SIGILL, and QEMU's handler died in
 * them.)
 */
bool cannoli_strays(int sig, void *siginfo, void *ucontext);
#define cannoli_stray(sig, siginfo, ucontext) \
    do { \
        if (cannoli_strays(sig, siginfo, ucontext)) { \
            return; \
        } \
    } while (0)

/* Some targets set up a frame and never unlock it. */
#define cannoli_unlock_frame(frame, addr) unlock_user_struct(frame, addr, 1)

/* prctl(PR_SET_PDEATHSIG) for the guest; returns what prctl does. */
#define cannoli_set_deathsig(sig) \
    cannoli_set_host_deathsig(target_to_host_signal(sig))

/*
 * ---- system calls for the recording: guest.c ----
 *
 * False if it is none.  o32: MIPS' cpu_loop refuses numbers that are not in its
 * table; *ret is -TARGET_ENOSYS, and stays so if it is none.
 */
bool cannoli_guest_syscall(CPUState *cpu, int num, const uint64_t args[8],
                           abi_long *ret);
void cannoli_guest_o32(CPUState *cpu, abi_long *ret);
#define cannoli_guest(cpu, num, a1, a2, a3, a4, a5, a6, ret) \
    cannoli_guest_syscall(cpu, num, \
                          CANNOLI_ARGS(a1, a2, a3, a4, a5, a6, 0, 0), ret)

/*
 * ---- a program that is executed again: expand.c, light.c ----
 *
 * The program's file, and that of its ELF interpreter; where something without
 * a fixed address goes.  call: false: QEMU executes the system call.  pending:
 * a signal that is due, whose information is in the thread's table; 0: none.
 */
void cannoli_expand_program_file(int *fd);
bool cannoli_expand_loader_file(int *fd);
void cannoli_expand_place(abi_ulong *start, int *flags);
bool cannoli_expand_call(CPUState *cpu, int num, abi_long *ret,
                         const uint64_t args[8]);
void cannoli_expand_return(CPUState *cpu, int num, abi_long *ret);
int cannoli_expand_pending(CPUState *cpu);
#define cannoli_open_program(fd)         cannoli_expand_program_file(fd)
#define cannoli_open_loader(fd)          cannoli_expand_loader_file(fd)
#define cannoli_mmap_place(start, flags) cannoli_expand_place(start, flags)
#define cannoli_expand(cpu, num, ret, ...) \
    (cannoli_expanding && \
     cannoli_expand_call(cpu, num, ret, CANNOLI_ARGS(__VA_ARGS__)))
#define cannoli_expanded(cpu, num, ret) \
    do { \
        if (cannoli_expanding) { \
            cannoli_expand_return(cpu, num, ret); \
        } \
    } while (0)
#define cannoli_pending(env, ts) \
    do { \
        int cannoli_sig; \
        while ((cannoli_sig = cannoli_expand_pending(env_cpu(env)))) { \
            handle_pending_signal(env, cannoli_sig, \
                                  &(ts)->sigtab[cannoli_sig - 1]); \
        } \
    } while (0)

/*
 * ---- guest memory that the system reads and writes: sys.c ----
 *
 * next_lock: how to interpret the next lock_user.  limit_written: what is
 * unlocked from now on counts as at most so many bytes written (a result; an
 * error is none), until the next such call.  wrote: for what is written without
 * unlock_user.  stored: for an atomic operation; memory may hold another
 * thread's value by now, so the bytes are given.
 */
enum { CANNOLI_LOCK_PLAIN, CANNOLI_LOCK_QUIET, CANNOLI_LOCK_STRING };
#define CANNOLI_WROTE_ALL INT64_MAX
void cannoli_set_next_lock(int how);
void cannoli_record_lock(uint64_t addr, int64_t len, bool copy);
void cannoli_record_unlock(uint64_t addr, int64_t len);
void cannoli_set_written_limit(int64_t bytes);
void cannoli_record_write(CPUState *cpu, uint64_t addr, uint64_t len);
void cannoli_record_store(CPUState *cpu, uint64_t addr, const void *bytes,
                          uint64_t len);

#define CANNOLI_IF_SYS(...) \
    do { \
        if (cannoli_sys) { \
            __VA_ARGS__; \
        } \
    } while (0)
#define cannoli_next_lock(how) CANNOLI_IF_SYS(cannoli_set_next_lock(how))
#define cannoli_locked(addr, len, copy) \
    CANNOLI_IF_SYS(cannoli_record_lock(addr, len, copy))
#define cannoli_unlocked(host, addr, len) \
    do { \
        if (cannoli_sys && (host)) { \
            cannoli_record_unlock(addr, len); \
        } \
    } while (0)
#define cannoli_limit_written(bytes) \
    CANNOLI_IF_SYS(cannoli_set_written_limit(bytes))
#define cannoli_wrote(addr, len) \
    CANNOLI_IF_SYS(cannoli_record_write(thread_cpu, addr, len))
#define cannoli_stored(addr, bytes, len) \
    CANNOLI_IF_SYS(cannoli_record_store(thread_cpu, addr, bytes, len))
/*
 * hppa's compare-and-swap of up to 4 bytes: 0 returns what there was, 2
 * success.
 */
#define cannoli_lws_stored(env, which, addr, old, new, ret) \
    do { \
        if ((which) == 0 ? tswap32(ret) == (old) \
                         : !(ret) && (env)->gr[23] < 3) { \
            uint32_t bytes = (which) == 0 ? 4 : 1 << (env)->gr[23]; \
            uint8_t stored[4]; \
            stn_he_p(stored, bytes, new); \
            cannoli_stored(addr, stored, bytes); \
        } \
    } while (0)
#define cannoli_mincore(vec, len, ret) \
    cannoli_wrote(vec, (ret) ? 0 : DIV_ROUND_UP(len, TARGET_PAGE_SIZE))

/* ---- mappings: maps.c; all under mmap_lock ---- */

void cannoli_mmap_flags(int flags);
void cannoli_brk(uint64_t heap, uint64_t old_end, uint64_t new_end);
void cannoli_mmap(int64_t ret, uint64_t len, int prot, int flags, int fd,
                  uint64_t offset);
void cannoli_munmap(uint64_t start, uint64_t len);
void cannoli_madvise(uint64_t start, uint64_t len, int advice, int ret);
void cannoli_mprotect(uint64_t start, uint64_t len, int prot);
void cannoli_mremap(uint64_t start, uint64_t len, uint64_t old_start,
                    uint64_t old_len, int flags, int prot);
void cannoli_shmat(uint64_t start, uint64_t len, int shmid, unsigned key,
                   int flags);
void cannoli_shmdt(uint64_t start, uint64_t len);

/* ---- programs that start programs: exec.c ---- */

void cannoli_option(const char *name, const char *value);
bool cannoli_execve(int *ret, int dirfd, const char *exe, char **argv,
                    char **envp, int flags);
void cannoli_environ(char ***made);
void cannoli_elf_seen(const unsigned char *ident, unsigned machine,
                      unsigned flags);
/* Hide the option from the guest. */
#define cannoli_hide_option(envlist) \
    ((void)envlist_unsetenv(envlist, "QEMU_CANNOLI"))

/* For the table of arguments */
#define CANNOLI_ARGUMENT \
    { "cannoli",  "QEMU_CANNOLI", \
      true,       cannoli_parse, \
      "pipe=...", "write an execution trace (started by cannoli-record)" },

#else /* CONFIG_CANNOLI */

#define cannoli_syscall(cpu, num, ...)
#define cannoli_sysret(cpu, num, ret, ...)
#define cannoli_signal(cpu, sig, k, ts, table)
#define CANNOLI_SYSCALL_NAMES(table, count)
#define cannoli_catch_signal(tsig, hsig, act)
#define cannoli_catch_default(sig, act, handler)
#define cannoli_stray(sig, siginfo, ucontext)
#define cannoli_unlock_frame(frame, addr)
#define cannoli_futex(cpu, op, addr, addr2)
#define cannoli_cloned(cpu, tid, child_tidptr, parent_tidptr)
#define cannoli_task_exit(cpu, child_tidptr)
#define cannoli_renamed(cpu)
#define cannoli_thread_gone()
#define cannoli_guest_o32(cpu, ret)

#define cannoli_open_program(fd)
#define cannoli_mmap_place(start, flags)
#define cannoli_expanded(cpu, num, ret)
#define cannoli_pending(env, ts)

#define cannoli_next_lock(how)
#define cannoli_locked(addr, len, copy)
#define cannoli_unlocked(host, addr, len)
#define cannoli_limit_written(bytes)
#define cannoli_wrote(addr, len)
#define cannoli_stored(addr, bytes, len)
#define cannoli_lws_stored(env, which, addr, old, new, ret)
#define cannoli_mincore(vec, len, ret)

#define cannoli_mmap_flags(flags)
#define cannoli_brk(heap, old_end, new_end)
#define cannoli_mmap(ret, len, prot, flags, fd, offset)
#define cannoli_munmap(start, len)
#define cannoli_madvise(start, len, advice, ret)
#define cannoli_mprotect(start, len, prot)
#define cannoli_mremap(start, len, old_start, old_len, flags, prot)
#define cannoli_shmat(start, len, shmid, key, flags)
#define cannoli_shmdt(start, len)

#define cannoli_option(name, value)
#define cannoli_environ(made)
#define cannoli_elf_seen(ident, machine, flags)
#define cannoli_hide_option(envlist)
#define CANNOLI_ARGUMENT

#endif /* CONFIG_CANNOLI */

#endif
