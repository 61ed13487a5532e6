/* SPDX-License-Identifier: MIT */
/*
 * A guest that misbehaves, in the way that its first argument names:
 *
 *   maps     maps and unmaps in a loop
 *   wild     calls every system call with wild pointers
 *   close    closes every descriptor
 *   prctl    uses prctl and seccomp on itself
 *   memory   maps until the system refuses
 *   forks    forks until the system refuses (as a user of its own, with a small limit)
 *
 * Prints the results, which are the same in every run.
 */
#include "guest.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifdef __mips__
#if _MIPS_SIM == _ABI64
#define FIRST_CALL 5001
#else
#define FIRST_CALL 4001
#endif
#elif defined(__alpha__)
#define FIRST_CALL 110 /* the numbers that all machines share begin here */
#else
#define FIRST_CALL 1
#endif

static void maps(void)
{
    for (int i = 0; i < 2000; i++) {
        long n = 4096 * (1 + i % 7);
        uint8_t *p = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED) {
            _exit(80);
        }
        p[n - 1] = (uint8_t)i;
        if (i % 3) {
            mprotect(p, 4096, PROT_READ);
        } else {
            p = mremap(p, (size_t)n, (size_t)n * 2, MREMAP_MAYMOVE);
            mix(p[n - 1]);
            n *= 2;
        }
        munmap(p, (size_t)n);
    }
}

/* These end, stop or fork the caller, change its thread pointer, or affect others; or look
 * for a process by number, which may be there or not. */
static int left_out(long nr)
{
    static const long calls[] = {
        SYS_exit, SYS_exit_group, SYS_clone, SYS_rt_sigreturn, SYS_reboot, SYS_vhangup,
        SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
        SYS_personality, SYS_setpriority, SYS_sched_setscheduler, SYS_sched_setparam,
        SYS_sched_setaffinity, SYS_prlimit64, SYS_sync, SYS_ptrace, SYS_setns,
        SYS_unshare, SYS_sethostname, SYS_setdomainname, SYS_mount, SYS_umount2,
        SYS_pivot_root, SYS_swapon, SYS_swapoff, SYS_acct, SYS_settimeofday,
        SYS_clock_settime, SYS_adjtimex, SYS_syslog, SYS_init_module, SYS_delete_module,
        SYS_kexec_load, SYS_rt_sigsuspend, SYS_wait4, SYS_setpgid, SYS_ioprio_set,
        SYS_getpgid, SYS_getsid, SYS_getpriority, SYS_sched_getscheduler,
        SYS_sched_getparam, SYS_sched_getaffinity, SYS_sched_rr_get_interval, SYS_capget,
        SYS_capset, SYS_ioprio_get, SYS_get_robust_list, SYS_waitid, SYS_process_vm_readv,
        SYS_process_vm_writev, SYS_kcmp, SYS_sched_setattr, SYS_sched_getattr,
        SYS_perf_event_open, SYS_move_pages, SYS_migrate_pages,
        FIRST_CALL + 422 /* sched_rr_get_interval_time64 */,
        FIRST_CALL + 433 /* pidfd_open */, FIRST_CALL + 434 /* clone3 */,
        /* open_tree .. fspick, mount_setattr: QEMU itself dies */
        FIRST_CALL + 427, FIRST_CALL + 428, FIRST_CALL + 429, FIRST_CALL + 430,
        FIRST_CALL + 431, FIRST_CALL + 432, FIRST_CALL + 441,
#ifdef SYS_fork
        SYS_fork,
#endif
#ifdef SYS_pause
        SYS_pause,
#endif
#ifdef SYS_vfork
        SYS_vfork,
#endif
#ifdef SYS_sigreturn
        SYS_sigreturn, SYS_sigsuspend,
#endif
#ifdef SYS_nice
        SYS_nice,
#endif
#ifdef SYS_stime
        SYS_stime,
#endif
#ifdef SYS_umount
        SYS_umount,
#endif
#ifdef SYS_set_thread_area
        SYS_set_thread_area,
#endif
#ifdef SYS_arch_prctl
        SYS_arch_prctl,
#endif
#ifdef SYS_syscall
        SYS_syscall,
#endif
#ifdef SYS_socketcall
        SYS_ipc,
#endif
#ifdef SYS_atomic_cmpxchg_32
        SYS_atomic_cmpxchg_32, /* faults */
#endif
    };

    for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (calls[i] == nr) {
            return 1;
        }
    }
    return 0;
}

static void wild(void)
{
    static const long pointers[] = {16, 4099};
    unsigned refused = 0;

    for (unsigned k = 0; k < sizeof(pointers) / sizeof(pointers[0]); k++) {
        long p = pointers[k];

        for (long nr = FIRST_CALL; nr < FIRST_CALL + 460; nr++) {
            if (left_out(nr)) {
                continue;
            }
            errno = 0;
            if (syscall(nr, p, p, p, p, p, p) == -1) {
                refused++;
                mix((uint64_t)nr << 16 | (uint64_t)errno);
            }
        }
    }
    printf("refused %u\n", refused);
}

static void close_all(void)
{
    for (int i = 0; i < 1100; i++) {
        close(i);
    }
    syscall(SYS_close_range, 0, ~0u, 0);
    for (int i = 0; i < 20; i++) { /* all are free */
        if (open("/dev/null", O_RDWR) != i) {
            _exit(81);
        }
    }
    _exit(17);
}

static void prctl_seccomp(void)
{
    static const int options[] = {PR_SET_DUMPABLE,
                                  PR_SET_KEEPCAPS,
                                  PR_SET_PDEATHSIG,
                                  PR_SET_TIMERSLACK,
                                  PR_SET_CHILD_SUBREAPER,
                                  PR_SET_NO_NEW_PRIVS,
                                  PR_MCE_KILL_GET,
                                  PR_GET_DUMPABLE,
                                  PR_GET_SECCOMP,
                                  PR_SET_SECCOMP,
                                  PR_SET_MM,
                                  PR_SET_THP_DISABLE};

    for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        for (long v = 0; v < 3; v++) {
            int r = prctl(options[i], v, 0, 0, 0);

            mix((uint64_t)(r < 0 ? -errno : r));
        }
    }
    prctl(PR_SET_NAME, "a name that is much too long for it");
    prctl(PR_SET_NAME, "\n\"\\\1\377");
    mix((uint64_t)prctl(PR_SET_NAME, 16));
    mix((uint64_t)syscall(SYS_seccomp, 0, 0, 0));
    mix((uint64_t)syscall(SYS_seccomp, 1, 0, 16));
}

static void memory(void)
{
    struct rlimit rl = {1 << 20, 1 << 20};
    size_t size = (size_t)1 << 20;
    unsigned n = 0;
    void *p;

    setrlimit(RLIMIT_AS, &rl);
    setrlimit(RLIMIT_DATA, &rl);
    while (size &&
           (p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0)) != MAP_FAILED) {
        munmap(p, size);
        size *= 2;
        n++;
    }
    printf("refused at 2^%u\n", 20 + n);
    p = malloc((size_t)-1 / 2);
    printf("%s\n", p ? "given" : "not given");
    mix(brk((char *)sbrk(0) + (sizeof(long) == 4 ? 0x7ff00000l : 1l << 45)) == 0);
    /* all of a small address space */
    if (sizeof(long) == 4) {
        for (n = 0;
             mmap(NULL, 16 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0) != MAP_FAILED;
             n++) {
        }
        mix(n > 50);
        mix(malloc(100 << 20) != NULL);
    }
}

static void forks(void)
{
    struct rlimit rl = {40, 40};
    int hold[2], n = 0;
    pid_t p;
    char byte;

    if (getuid() != 0) {
        printf("a user's processes are too many to know\n");
        return;
    }
    /* a uid of its own: programs like this may run in parallel */
    if (pipe(hold) || setgid(54321) || setuid((uid_t)(50000 + getpid() % 10000)) ||
        setrlimit(RLIMIT_NPROC, &rl)) {
        _exit(82);
    }
    while (n < 100 && (p = fork()) > 0) {
        n++;
    }
    if (n < 100 && p == 0) {
        close(hold[1]);
        _exit(read(hold[0], &byte, 1) == 0 ? 3 : 4);
    }
    printf("refused after %s: %d\n", n < 100 && n > 5 ? "some" : "none", errno);
    close(hold[1]);
    while (n-- > 0 && wait(NULL) > 0) {
    }
    mix((uint64_t)n);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*f)(void);
    } all[] = {{"maps", maps},           {"wild", wild},     {"close", close_all},
               {"prctl", prctl_seccomp}, {"memory", memory}, {"forks", forks}};

    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (argc > 1 && strcmp(argv[1], all[i].name) == 0) {
            all[i].f();
            return finish(all[i].name);
        }
    }
    return 2;
}
