/*
 * Execution tracing into shared memory: system calls, signals, threads
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * This file knows no individual system call.  What a call reads and writes in
 * the guest's memory passes lock_user and unlock_user, with few exceptions
 * (cannoli_wrote), so recording these between the call's entry and return
 * covers every call of every target; readers of the trace match them with the
 * arguments.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu.h"
#include "user-internals.h"
#include "user-mmap.h"
#include "loader.h"
#include "signal-common.h"
#include "event.h"
#include "expand.h"
#include "turn.h"
#include <setjmp.h>
#include <linux/futex.h>
#include <sys/prctl.h>

/*
 * Readers merge threads by the times of chunks: a buffer older than this is
 * handed over at a system call.
 */
#define MAX_AGE_NS (20 * 1000 * 1000)

/* A piece of guest memory in one event. */
#define PIECE_FIXED (8 + 8 + 4 + 4)
#define PIECE_BYTES (CANNOLI_MAX_EVENT - PIECE_FIXED)

/* The thread, if what the system does is recorded for it. */
static CannoliThread *sys_thread(CPUState *cpu)
{
    CannoliThread *t = cannoli_sys && cpu ? cannoli_cpu(cpu)->thread : NULL;

    return t && t->gate.open ? t : NULL;
}

static uint64_t sys_time(void)
{
    return cannoli_ctl->events & CTR_EVENTS_TIME ? cannoli_now() : 0;
}

/* ---- guest memory ---- */

uint32_t cannoli_peek(void *to, abi_ulong addr, uint32_t n)
{
    CannoliCPU *c = cannoli_cpu(thread_cpu);
    volatile uint32_t done = 0;
    sigjmp_buf vanished;

    if (!sigsetjmp(vanished, 0)) {
        c->vanished = &vanished;
        barrier();
        while (done < n) {
            uint32_t part =
                TARGET_PAGE_SIZE - ((addr + done) & ~TARGET_PAGE_MASK);

            part = MIN(part, n - done);
            memcpy((uint8_t *)to + done, g2h_untagged(addr + done), part);
            barrier();
            done += part;
        }
    }
    c->vanished = NULL;
    return done;
}

/*
 * The system has read or written `size' bytes: record that, in pieces if there
 * are many, with the memory's contents or with `bytes'.  Keeps errno for the
 * caller.
 */
static void user_memory(CPUState *cpu, abi_ulong addr, uint64_t size,
                        uint32_t flags, const void *bytes)
{
    uint64_t keep = MIN(size, cannoli_ctl->data_limit), got;
    int saved_errno = errno;

    if (cannoli_cpu(cpu)->thread->sys.quiet & 1) {
        return;
    }
    do {
        uint32_t n = MIN(keep, PIECE_BYTES);
        uint8_t *p = cannoli_event(cpu, CTR_EVENT_USERMEM, PIECE_FIXED + n, 0);

        if (!p) {
            break;
        }
        if (bytes) {
            memcpy(p + PIECE_FIXED, bytes, n);
            got = n;
        } else {
            got = cannoli_peek(p + PIECE_FIXED, addr, n);
        }
        keep = got == n ? keep - n : 0;
        stq_le_p(p, addr);
        stq_le_p(p + 8, keep ? got : size);
        stl_le_p(p + 16, flags);
        stl_le_p(p + 20, got);
        cannoli_event_end(cpu, PIECE_FIXED + got);
        addr += got;
        size -= got;
    } while (keep);
    errno = saved_errno;
}

void cannoli_set_next_lock(int how)
{
    CannoliThread *t = sys_thread(thread_cpu);

    if (t) {
        t->sys.next_lock = how;
    }
}

void cannoli_record_lock(uint64_t addr, int64_t len, bool copy)
{
    CannoliThread *t = sys_thread(thread_cpu);
    int how;

    if (!t) {
        return;
    }
    how = t->sys.next_lock;
    t->sys.next_lock = 0;
    if (t->sys.depth && copy && len > 0 && how != CANNOLI_LOCK_QUIET) {
        user_memory(thread_cpu, addr, len,
                    how == CANNOLI_LOCK_STRING ? CTR_USERMEM_STRING : 0, NULL);
    }
}

void cannoli_record_unlock(uint64_t addr, int64_t len)
{
    CannoliThread *t = sys_thread(thread_cpu);

    if (!t || len <= 0) {
        return;
    }
    if (t->sys.depth) {
        len = MIN(len, t->sys.may_write);
        if (t->sys.may_write != CANNOLI_WROTE_ALL) {
            t->sys.may_write -= len;
        }
    }
    cannoli_record_write(thread_cpu, addr, len);
}

void cannoli_set_written_limit(int64_t bytes)
{
    CannoliThread *t = sys_thread(thread_cpu);

    if (t) {
        t->sys.may_write = MAX(bytes, 0);
    }
}

void cannoli_record_write(CPUState *cpu, uint64_t addr, uint64_t len)
{
    if (sys_thread(cpu) && len) {
        user_memory(cpu, cpu_untagged_addr(cpu, addr), len, CTR_USERMEM_WRITE,
                    NULL);
    }
}

void cannoli_record_store(CPUState *cpu, uint64_t addr, const void *bytes,
                          uint64_t len)
{
    if (sys_thread(cpu) && len) {
        user_memory(cpu, cpu_untagged_addr(cpu, addr), len, CTR_USERMEM_WRITE,
                    bytes);
    }
}

/* A 32-bit number that was or will be written, if the guest can write there. */
static void wrote_u32(CPUState *cpu, abi_ulong addr, uint32_t value)
{
    if (sys_thread(cpu) && addr && access_ok(cpu, VERIFY_WRITE, addr, 4)) {
        value = tswap32(value);
        user_memory(cpu, cpu_untagged_addr(cpu, addr), 4, CTR_USERMEM_WRITE,
                    &value);
    }
}

/* Before a futex call: what the kernel may have written when it returns. */
void cannoli_futex(CPUState *cpu, int op, uint64_t addr, uint64_t addr2)
{
    CannoliThread *t = sys_thread(cpu);
    uint64_t word = 0;

    switch (op) {
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_TRYLOCK_PI:
    case FUTEX_UNLOCK_PI:
        word = addr;
        break;
    case FUTEX_WAKE_OP:
    case FUTEX_CMP_REQUEUE_PI:
    case FUTEX_WAIT_REQUEUE_PI:
        word = addr2;
        break;
    }
    if (t && word && t->sys.depth) {
        t->sys.later = word;
    }
}

/* ---- system calls ---- */

/* Names by number, from the lowest one on; none if numbers are far apart. */
static const char **names;
static unsigned nr_names;
static int first_name;

static void load_names(void)
{
    int nr, first = INT_MAX, last = INT_MIN;

    for (unsigned i = 0; cannoli_syscall_name(i, &nr); i++) {
        first = MIN(first, nr);
        last = MAX(last, nr);
    }
    if (first > last || (int64_t)last - first >= 64 * 1024) {
        return;
    }
    first_name = first;
    nr_names = last - first + 1;
    names = g_new0(const char *, nr_names);
    for (unsigned i = 0; cannoli_syscall_name(i, &nr); i++) {
        if (!names[nr - first]) {
            names[nr - first] = cannoli_syscall_name(i, &nr);
        }
    }
}

static const char *syscall_name(int num)
{
    int64_t at = (int64_t)num - first_name;
    const char *name;
    int nr;

    if (nr_names) {
        return at >= 0 && at < nr_names && names[at] ? names[at] : "";
    }
    for (unsigned i = 0; (name = cannoli_syscall_name(i, &nr)); i++) {
        if (nr == num) {
            return name;
        }
    }
    return "";
}

static void syscall_event(CPUState *cpu, uint32_t type, int num,
                          const uint64_t args[8], int64_t ret, uint32_t flags,
                          uint64_t time)
{
    const char *name = syscall_name(num);
    size_t len = strlen(name);
    uint32_t bytes = 4 + 4 + 8 + 8 * 8 + 2 + len;
    uint8_t *p = cannoli_event(cpu, type, bytes, time);

    if (!p) {
        return;
    }
    cannoli_put32(&p, num);
    cannoli_put32(&p, flags);
    cannoli_put64(&p, ret);
    for (int i = 0; i < 8; i++) {
        cannoli_put64(&p, args[i]);
    }
    cannoli_put_str(&p, name, len);
    cannoli_event_end(cpu, bytes);
}

/*
 * Threads act on each other through system calls: what came before this call is
 * handed over, if it is old or somebody watches.
 */
static void share(CPUState *cpu, uint64_t now)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (cannoli_buffer_empty(cpu)) {
        return;
    }
    if (!now) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
        now = ts.tv_sec * 1000000000ull + ts.tv_nsec;
    }
    if (qatomic_read(&cannoli_ctl->live) ||
        (int64_t)(now - t->buffer->start_ns) > MAX_AGE_NS) {
        cannoli_hand_over(cpu);
    }
}

void cannoli_record_syscall(CPUState *cpu, int num, const uint64_t args[8])
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    bool open = sys_thread(cpu), recorded;
    uint64_t time = 0;

    if (!t) {
        return;
    }
    if (cannoli_turns) {
        cannoli_turn_regain();
    }
    cannoli_check_recorder(t);
    if (cannoli_expanding) {
        return; /* to cannoli_expand_call */
    }
    cannoli_light_clocks(cpu);
    if (open) {
        time = sys_time();
    }
    share(cpu, time);
    recorded = open && cannoli_choose_syscall(num, syscall_name(num));
    t->sys = (CannoliSys){
        .depth = t->sys.depth + open,
        .may_write = CANNOLI_WROTE_ALL,
        .quiet = open ? t->sys.quiet << 1 | !recorded : t->sys.quiet,
        .second = cannoli_light_second(cpu),
    };
    if (recorded) {
        syscall_event(cpu, CTR_EVENT_SYSCALL, num, args, 0, 0, time);
    }
    cannoli_turn_call(num);
}

void cannoli_record_sysret(CPUState *cpu, int num, const uint64_t args[8],
                           int64_t ret)
{
    CannoliThread *t = sys_thread(cpu);
    bool none = ret == -QEMU_ESIGRETURN || ret == -QEMU_ERESTARTSYS;
    int saved_errno = errno;
    bool recorded;

    cannoli_turn_called(num);
    if (cannoli_on) {
        cannoli_check_recorder(cannoli_cpu(cpu)->thread);
    }
    if (cannoli_expanding) {
        return; /* cannoli_expand_return did it */
    }
    if (!t) {
        return;
    }
    if (t->sys.later) {
        cannoli_record_write(cpu, t->sys.later, 4);
    }
    cannoli_light_return(cpu, t->sys.second);
    recorded = !(t->sys.quiet & 1);
    t->sys = (CannoliSys){
        .depth = t->sys.depth ? t->sys.depth - 1 : 0,
        .may_write = CANNOLI_WROTE_ALL,
        .quiet = t->sys.quiet >> 1,
    };
    if (recorded) {
        syscall_event(cpu, CTR_EVENT_SYSRET, num, args, none ? 0 : ret,
                      none ? CTR_SYSCALL_NORETURN : 0, sys_time());
    }
    /* A sigreturn from a bad frame raises another signal. */
    if (ret == -QEMU_ESIGRETURN && !get_task_state(cpu)->sync_signal.pending &&
        strstr(syscall_name(num), "sigreturn")) {
        uint8_t *p = cannoli_event(cpu, CTR_EVENT_SIGRETURN, 8, sys_time());

        if (p) {
            cannoli_put64(&p, cpu->cc->get_pc(cpu));
            cannoli_event_end(cpu, 8);
        }
    }
    errno = saved_errno;
}

/* ---- signals ---- */

/* What the default action of a signal is, as handle_pending_signal has it. */
static bool ends_process(int sig)
{
    switch (sig) {
    case TARGET_SIGSTOP:
    case TARGET_SIGTSTP:
    case TARGET_SIGTTIN:
    case TARGET_SIGTTOU:
    case TARGET_SIGCHLD:
    case TARGET_SIGURG:
    case TARGET_SIGWINCH:
    case TARGET_SIGCONT:
        return false;
    default:
        return true;
    }
}

bool cannoli_catches(int sig)
{
    return cannoli_on && ends_process(sig);
}

/* What strayed; by signal of the host. */
static struct {
    siginfo_t info;
    int any;
} strayed[_NSIG];

static bool is_fault(int sig)
{
    return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL ||
           sig == SIGTRAP;
}

bool cannoli_strays(int sig, void *siginfo, void *ucontext)
{
    siginfo_t *info = siginfo;
    ucontext_t *uc = ucontext;

    if (!cannoli_on) {
        return false;
    }
    if (cannoli_expanding && (info->si_code <= 0 || !is_fault(sig))) {
        return true; /* from outside: it has those of the recording */
    }
    if (thread_cpu) {
        if (qatomic_read(&strayed[sig].any) && info->si_code == SI_USER &&
            info->si_pid == getpid() && qatomic_xchg(&strayed[sig].any, 0)) {
            *info = strayed[sig].info;
        }
        return false;
    }
    if (info->si_code > 0) { /* a fault of this thread */
        return false;
    }
    /* Only the first thread of a process could send the same siginfo. */
    strayed[sig].info = *info;
    qatomic_xchg(&strayed[sig].any, 1);
    sigaddset(&uc->uc_sigmask, sig);
    kill(getpid(), sig);
    return true;
}

void cannoli_record_signal(CPUState *cpu, int sig, const void *siginfo,
                           bool sync, uint64_t handler)
{
    const target_siginfo_t *info = siginfo;
    const uint32_t bytes = 4 * 4 + 4 * 8 + 2 * 4;
    uint32_t flags = sync ? CTR_SIGNAL_SYNC : 0, uid = 0;
    uint64_t addr = 0, value = 0;
    int32_t pid = 0;
    uint8_t *p;

    if (cannoli_expanding && cannoli_cpu(cpu)->thread) {
        cannoli_expand_signal(cpu, sig);
        return;
    }
    if (!sys_thread(cpu)) {
        return;
    }
    switch (extract32(info->si_code, 16, 16)) {
    case QEMU_SI_KILL:
        pid = info->_sifields._kill._pid;
        uid = info->_sifields._kill._uid;
        break;
    case QEMU_SI_POLL:
        value = (abi_ulong)info->_sifields._sigpoll._band;
        break;
    case QEMU_SI_FAULT:
        flags |= CTR_SIGNAL_SYNC;
        addr = info->_sifields._sigfault._addr;
        break;
    case QEMU_SI_CHLD:
        pid = info->_sifields._sigchld._pid;
        uid = info->_sifields._sigchld._uid;
        value = (uint32_t)info->_sifields._sigchld._status;
        break;
    case QEMU_SI_RT:
        pid = info->_sifields._rt._pid;
        uid = info->_sifields._rt._uid;
        value = (abi_ulong)info->_sifields._rt._sigval.sival_ptr;
        break;
    }
    if (handler == TARGET_SIG_ERR ||
        (handler == TARGET_SIG_DFL && ends_process(sig))) {
        flags |= CTR_SIGNAL_FATAL;
    } else if (handler != TARGET_SIG_DFL && handler != TARGET_SIG_IGN) {
        flags |= CTR_SIGNAL_HANDLER;
    }
    p = cannoli_event(cpu, CTR_EVENT_SIGNAL, bytes, sys_time());
    if (!p) {
        return;
    }
    cannoli_put32(&p, sig);
    cannoli_put32(&p, sextract32(info->si_code, 0, 16));
    cannoli_put32(&p, pid);
    cannoli_put32(&p, uid);
    cannoli_put64(&p, addr);
    cannoli_put64(&p, value);
    cannoli_put64(&p, cpu->cc->get_pc(cpu));
    cannoli_put64(&p, flags & CTR_SIGNAL_HANDLER ? handler : 0);
    cannoli_put32(&p, flags);
    cannoli_put32(&p, 0);
    cannoli_event_end(cpu, bytes);
}

/* ---- threads and processes ---- */

/* QEMU's own name, which a thread has until the guest sets another. */
static char qemu_comm[16];

/*
 * The thread's name.  If the guest has set none, prctl returns QEMU's, which is
 * useless: use the program's then.
 */
void cannoli_thread_name(CPUState *cpu, char name[16])
{
    memset(name, 0, 16);
    prctl(PR_GET_NAME, name, 0, 0, 0);
    if (!strcmp(name, qemu_comm)) {
        const char *base = strrchr(exec_path, '/');

        pstrcpy(name, 16, base ? base + 1 : exec_path);
    }
}

int cannoli_thread_id(CPUState *cpu)
{
    return qemu_get_thread_id();
}

/* Threads are attached where they begin. */
bool cannoli_attach_late(CPUState *cpu)
{
    return false;
}

/* The program is loaded and starts. */
void cannoli_program(CPUState *cpu)
{
    const struct linux_binprm *bprm = get_task_state(cpu)->bprm;

    if (cannoli_sys) {
        load_names();
    }
    for (int i = 0; i < bprm->argc; i++) {
        cannoli_add_argument(bprm->argv[i]);
    }
    prctl(PR_GET_NAME, qemu_comm, 0, 0, 0);
    cannoli_thread_event(cpu,
                         cannoli_execed ? CTR_THREAD_EXEC : CTR_THREAD_START, 0,
                         0, cannoli_execed ? real_exec_path : NULL);
    cannoli_maps_initial(cpu, true);
    cannoli_light_program(cpu);
}

void cannoli_renamed(CPUState *cpu)
{
    char name[16] = "";

    if (cannoli_thr) {
        prctl(PR_GET_NAME, name, 0, 0, 0);
        cannoli_thread_event(cpu, CTR_THREAD_NAME, 0, 0, name);
    }
}

/*
 * The new thread has written these before it had a pipe; the creator waited for
 * that.
 */
void cannoli_cloned(CPUState *cpu, int tid, uint64_t child_tidptr,
                    uint64_t parent_tidptr)
{
    cannoli_turn_redraw();
    wrote_u32(cpu, child_tidptr, tid);
    if (parent_tidptr != child_tidptr) {
        wrote_u32(cpu, parent_tidptr, tid);
    }
}

/*
 * The thread ends.  What it still does shows others that it has ended, so its
 * events must be handed over before.
 */
void cannoli_task_exit(CPUState *cpu, uint64_t child_tidptr)
{
    cannoli_turn_cleared(child_tidptr);
    wrote_u32(cpu, child_tidptr, 0);
#ifdef TARGET_I386
    /* Its descriptor table is the guest's memory, too. */
    mmap_lock();
    cannoli_munmap(cpu_env(cpu)->gdt.base,
                   sizeof(uint64_t) * TARGET_GDT_ENTRIES);
    mmap_unlock();
#endif
    cannoli_thread_end(cpu);
}
