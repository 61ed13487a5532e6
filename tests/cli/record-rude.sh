# SPDX-License-Identifier: MIT
# Programs that stress the system or their observer: each behaves as under the same QEMU
# without a recorder, and its trace is whole.
. "$SRC/tests/cli/librecord.sh"
need_qemu_arm

cat >guest.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void maps(void)
{
    uint32_t seed = 1, sum = 0;
    char *at[64] = {0};

    for (int i = 0; i < 20000; i++) {
        seed = seed * 1664525 + 1013904223;
        int k = seed >> 26;
        size_t n = 4096 * (1 + (seed >> 8) % 16);
        if (!at[k]) {
            at[k] = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            at[k][n - 1] = 1;
        } else if (seed & 64) {
            sum += (unsigned)mprotect(at[k], n, PROT_READ);
        } else {
            sum += (unsigned)munmap(at[k], 65536);
            at[k] = NULL;
        }
    }
    printf("maps %u\n", sum);
}

#define TRY(call) (errno = 0, r = (long)(call), printf("%s: %ld %d\n", #call, r, errno))
static void wild(void)
{
    static const uintptr_t bad[] = {1, 4095, 0x1000, 0xfffffff0, 0xffffffff};
    struct iovec v[2];
    long r;

    for (int i = 0; i < 5; i++) {
        void *p = (void *)bad[i];
        TRY(write(1, p, 100));
        TRY(read(open("/dev/zero", O_RDONLY), p, 100));
        TRY(open(p, O_RDONLY));
        TRY(stat(p, p));
        TRY(execve(p, p, p));
        TRY(execve("/bin/true", p, p));
        TRY(getcwd(p, 100));
        TRY(syscall(SYS_rt_sigaction, 10, p, p, 8));
        TRY(syscall(SYS_rt_sigprocmask, 0, p, p, 8));
        TRY(syscall(SYS_futex, p, 0, 0, 0, 0, 0));
        TRY(syscall(SYS_nanosleep, p, p));
        TRY(syscall(SYS_uname, p));
        TRY(syscall(SYS_clone, 0x1234567, p, p, p, p));
        TRY(syscall(SYS_prctl, PR_SET_NAME, p, 0, 0, 0));
        TRY(sendmsg(1, p, 0));
        TRY(syscall(SYS_rt_sigtimedwait, p, p, p, 8));
        v[0] = (struct iovec){(void *)"", 0};
        v[1] = (struct iovec){p, 0x7fffffff};
        TRY(writev(1, v, 2));
        TRY(writev(1, p, 1000000));
        TRY(munmap(p, 10));
        TRY(mprotect(p, 10, PROT_READ));
        TRY(syscall(SYS_mremap, p, 4096, 8192, 1, 0));
    }
    TRY(read(0, (void *)wild, 0xffffffff));
}

static void *again(void *arg);
static void closeall(void)
{
    struct rlimit none = {3, 3};
    int fd;

    for (fd = 3; fd < 2000; fd++) {
        close(fd);
    }
    syscall(SYS_close_range, 3, ~0u, 0);
    setrlimit(RLIMIT_NOFILE, &none);
    again(NULL);
    if (fork() == 0) {
        again(NULL);
        _exit(3);
    }
    wait(&fd);
    printf("child %d\n", WEXITSTATUS(fd));
    fflush(stdout);
    close(1);
    close(2);
    close(0);
    again(NULL);
}

static void controls(void)
{
    struct rlimit core = {0, 0};
    sigset_t all;
    long r;

    TRY(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
    TRY(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    TRY(prctl(PR_SET_NAME, "other", 0, 0, 0));
    TRY(prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0));
    TRY(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
    TRY(prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0));
    TRY(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0));
    TRY(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, 0));
    TRY(setrlimit(RLIMIT_CORE, &core));
    sigfillset(&all);
    TRY(sigprocmask(SIG_BLOCK, &all, NULL));
    TRY(chdir("/"));
    again(NULL);
}

static void memory(void)
{
    unsigned n = 0;

    while (mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED) {
        n++;
    }
    printf("errno %d, more than 20: %d\n", errno, n > 20);
    n = 0;
    while (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
               MAP_FAILED && n < 5000) {
        n++;
    }
    again(NULL);
}

static void forks(void)
{
    int n = 0, status, odd = 0;
    pid_t pid;

    while (n < 400 && (pid = fork()) >= 0) {
        if (pid == 0) {
            pause();
            _exit(0);
        }
        n++;
    }
    printf("refused %d\n", n < 400 ? errno : 0);
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
    while (wait(&status) > 0) {
        odd += !WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM;
    }
    printf("odd %d\n", odd);
}

static volatile sig_atomic_t ticks, faults;
static sigjmp_buf out;
static struct itimerval often = {{0, 500}, {0, 500}};
static void on_tick(int sig)
{
    if (sig == SIGALRM) {
        /* so that a machine too busy to get anywhere between two ticks ends, too */
        if (++ticks % 1000 == 0) {
            often.it_interval.tv_usec *= 2;
            setitimer(ITIMER_REAL, &often, NULL);
        }
    } else {
        faults++;
    }
    if (sig == SIGSEGV || ticks % 3 == 0) {
        siglongjmp(out, 1);
    }
}

static void storm(void)
{
    static const struct itimerval never;
    struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_NODEFER};
    char small[16384];
    stack_t ss = {.ss_sp = small, .ss_size = sizeof(small)};

    sigaltstack(&ss, NULL);
    sa.sa_flags |= SA_ONSTACK;
    sigaction(SIGALRM, &sa, NULL);
    sigaction(SIGSEGV, &sa, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (ticks < 200 || faults < 200) {
        if (sigsetjmp(out, 1) == 0) {
            again(NULL);
            *(volatile int *)8 = 1;
        }
    }
    setitimer(ITIMER_REAL, &never, NULL);
    puts("storm");
}

static void *again(void *arg)
{
    static volatile int counter;

    for (int i = 0; i < 1000; i++) {
        counter++;
    }
    return arg;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"maps", maps},         {"wild", wild},     {"closeall", closeall},
               {"controls", controls}, {"memory", memory}, {"forks", forks},
               {"storm", storm}};

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned i = 0; argc > 1 && i < sizeof(all) / sizeof(all[0]); i++) {
        if (!strcmp(argv[1], all[i].name)) {
            all[i].run();
            return 10 + (int)i;
        }
    }
    return 1;
}
END
$cc -static -O1 -w -o guest guest.c || exit 1

# (in a session of its own: one sends SIGTERM to its whole process group)
for what in maps wild closeall controls memory forks storm; do
    setsid -w env -i "$qemu_dir/qemu-arm" ./guest $what >plain.out 2>plain.err </dev/null
    plain=$?
    [ $plain -ge 10 ] || fail "$what: unrecorded: status $plain"
    for events in exec,mem,sys,map,thr,time all; do
        setsid -w env -i "$record" -q --qemu-dir "$qemu_dir" -e $events --data-limit=all -o a.ctr -- \
            qemu-arm ./guest $what >rec.out 2>rec.err </dev/null
        got=$?
        [ $got -eq $plain ] || fail "$what: status $got, unrecorded $plain: $(head -3 rec.err)"
        same plain.out rec.out "$what: the guest sees a difference"
        same plain.err rec.err "$what: stderr differs"
        "$dump" --no-disas a.ctr >/dev/null 2>err
        status=$?
        # the end of killed children is uncertain
        [ $status -eq 0 ] || [ $what = forks ] || fail "$what: tracedump: $status $(cat err)"
        [ $status -ne 1 ] || fail "$what: tracedump: $(cat err)"
    done
done

# Forks are refused: as an ordinary user, where possible.
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --clear-groups test -x "$record" -a -x guest &&
    chmod 777 .; then
    rm -f b.ctr
    setsid -w setpriv --reuid=65534 --clear-groups bash -c 'ulimit -u 300 && exec "$@"' bash \
        "$record" -q --qemu-dir "$qemu_dir" -e all -o b.ctr -- qemu-arm "$PWD/guest" forks \
        >rec.out 2>rec.err
    got=$?
    [ $got -eq 15 ] || fail "refused forks: status $got: $(head -3 rec.err)"
    grep -qx 'refused 11' rec.out || fail "refused forks: $(cat rec.out)"
fi
finish
