/* SPDX-License-Identifier: MIT */
/*
 * System calls of every kind, each in the same way: files, mappings, time, signals,
 * a thread, pipes, sockets, directories, and calls that fail.  The result is
 * compared with the output of qemu -strace.  Works in a new folder below
 * the first argument and removes it.
 */
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

static volatile int caught;

static void count(int sig, siginfo_t *si, void *ctx)
{
    (void)si;
    (void)ctx;
    caught += sig;
}

/* Errors are results, too. */
static void saw(long r)
{
    mix((uint64_t)(r < 0 ? -errno : r));
}

static void files(void)
{
    struct stat st;
    struct iovec v[3] = {{"one ", 4}, {"two ", 4}, {"three", 5}};
    char buf[64], name[64];
    int fd = open("file with space\"", O_RDWR | O_CREAT | O_TRUNC, 0640);

    saw(write(fd, "hello, world\n\0\1\2", 16));
    saw(writev(fd, v, 3));
    saw(lseek(fd, 7, SEEK_SET));
    saw(read(fd, buf, 5));
    saw(pread(fd, buf, sizeof(buf), 3));
    saw(pwrite(fd, "PW", 2, 1));
    saw(ftruncate(fd, 20));
    saw(fstat(fd, &st));
    mix((uint64_t)st.st_size);
    v[0].iov_base = buf, v[1].iov_base = buf + 8, v[2].iov_base = buf + 16;
    saw(lseek(fd, 0, SEEK_SET));
    saw(readv(fd, v, 3));
    saw(fcntl(fd, F_GETFD));
    saw(fcntl(fd, F_SETFD, FD_CLOEXEC));
    saw(dup(fd));
    saw(dup2(fd, 40));
    saw(fsync(fd));
    saw(close(40));
    saw(close(fd));
    saw(stat("file with space\"", &st));
    saw(lstat("no such file", &st));
    saw(symlink("file with space\"", "link"));
    saw(readlink("link", name, sizeof(name)));
    saw(rename("link", "other"));
    saw(access("other", R_OK | W_OK));
    saw(chmod("file with space\"", 0600));
    saw(umask(022));
    saw(unlink("other"));
    saw(mkdir("sub", 0755));
    saw(mkdir("sub", 0755));
    saw(rmdir("sub"));
    saw(truncate("file with space\"", 5));
    saw(utimes("file with space\"", NULL));
    mix(getcwd(name, sizeof(name)) != NULL);
    saw(ioctl(0, TIOCGWINSZ, buf));
}

static void folders(void)
{
    struct dirent *e;
    unsigned n = 0;
    DIR *d = opendir(".");

    while (d && (e = readdir(d))) {
        n += strlen(e->d_name);
    }
    mix(n);
    if (d) {
        closedir(d);
    }
}

static void mappings(void)
{
    long page = 4096;
    uint8_t *p =
        mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = open("file with space\"", O_RDONLY);
    uint8_t *q = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);

    p[5 * page] = q[0];
    saw(mprotect(p, 2 * page, PROT_READ));
    saw(mprotect(p + page, page, PROT_NONE));
    saw(munmap(p + 2 * page, page));
    p = mremap(p + 4 * page, 4 * page, 12 * page, MREMAP_MAYMOVE);
    mix(p[page]);
    saw(madvise(p, page, MADV_DONTNEED));
    saw(msync(p, page, MS_SYNC));
    saw(munmap(q, page));
    saw(close(fd));
    mix(mmap(NULL, 0, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED);
    mix(brk((char *)sbrk(0) + 3 * page) == 0);
    saw(mlock(p, page));
}

static void times_and_limits(void)
{
    struct timespec ts = {0, 1000};
    struct timeval tv;
    struct rlimit rl;
    struct rusage ru;
    struct utsname un;
    struct sysinfo si;
    struct tms tms;
    unsigned char random[40];
    cpu_set_t set;

    saw(clock_gettime(CLOCK_MONOTONIC, &ts));
    saw(clock_gettime(12345, &ts));
    saw(clock_getres(CLOCK_REALTIME, &ts));
    saw(gettimeofday(&tv, NULL));
    ts.tv_sec = 0, ts.tv_nsec = 1000;
    saw(nanosleep(&ts, NULL));
    saw(getrlimit(RLIMIT_NOFILE, &rl));
    saw(getrusage(RUSAGE_SELF, &ru));
    saw(uname(&un));
    saw(sysinfo(&si));
    times(&tms);
    saw(sched_yield());
    saw(sched_getaffinity(0, sizeof(set), &set) > 0);
    saw(syscall(SYS_getrandom, random, sizeof(random), 0));
    saw(getpriority(PRIO_PROCESS, 0));
    mix(getuid() + getgid() + geteuid() + getegid());
    mix(getppid() > 0 && getpid() > 0);
    saw(prctl(PR_SET_NAME, "sys-calls", 0, 0, 0));
    saw(prctl(PR_GET_NAME, random, 0, 0, 0));
}

static void signals(void)
{
    sigset_t set, old;
    stack_t ss = {.ss_sp = malloc(65536), .ss_size = 65536};
    struct itimerval it = {{0, 0}, {0, 0}};

    on_signal(SIGUSR1, count);
    on_signal(SIGUSR2, count);
    saw(kill(getpid(), SIGUSR1));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    saw(sigprocmask(SIG_BLOCK, &set, &old));
    saw(kill(getpid(), SIGUSR2));
    saw(sigpending(&old));
    saw(sigprocmask(SIG_UNBLOCK, &set, NULL));
    saw(sigaltstack(&ss, NULL));
    saw(sigaltstack(NULL, &ss));
    saw(setitimer(ITIMER_REAL, &it, NULL));
    saw(raise(SIGUSR1));
    saw(kill(getpid(), 0));
    saw(kill(getpid(), 12345));
    mix((uint64_t)caught);
}

static void pipes(void)
{
    struct pollfd pf[2];
    struct timeval tv = {0, 0};
    struct msghdr msg;
    struct iovec v;
    fd_set set;
    char buf[32];
    int p[2], s[2];

    saw(pipe(p));
    saw(write(p[1], "through a pipe", 14));
    pf[0].fd = p[0], pf[0].events = POLLIN;
    pf[1].fd = p[1], pf[1].events = POLLIN;
    saw(poll(pf, 2, 10));
    FD_ZERO(&set);
    FD_SET(p[0], &set);
    saw(select(p[0] + 1, &set, NULL, NULL, &tv));
    saw(read(p[0], buf, sizeof(buf)));
    saw(close(p[1]));
    saw(read(p[0], buf, sizeof(buf)));
    saw(close(p[0]));
    saw(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
    saw(send(s[0], "message", 7, 0));
    saw(recv(s[1], buf, sizeof(buf), 0));
    memset(&msg, 0, sizeof(msg));
    v.iov_base = "in a msghdr", v.iov_len = 11;
    msg.msg_iov = &v, msg.msg_iovlen = 1;
    saw(sendmsg(s[1], &msg, 0));
    v.iov_base = buf, v.iov_len = sizeof(buf);
    saw(recvmsg(s[0], &msg, 0));
    saw(shutdown(s[0], SHUT_RDWR));
    saw(close(s[0]));
    saw(close(s[1]));
}

static volatile int go, thread_tid;

static int thread(void *arg)
{
    char byte = 0;

    while (!go) {
    }
    syscall(SYS_prctl, PR_SET_NAME, "second");
    syscall(SYS_write, *(int *)arg, &byte, 1);
    syscall(SYS_exit, 0);
    return 0;
}

/* A thread; only one of the two runs at a time, so that there is one order. */
static void threads(void)
{
    int p[2];
    char byte;

    saw(pipe(p));
    thread_tid = 1;
    mix(clone(thread, (char *)malloc(65536) + 65536,
              CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                  CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID,
              &p[1], NULL, NULL, (void *)&thread_tid) > 0);
    go = 1;
    while (thread_tid) {
    }
    saw(read(p[0], &byte, 1));
}

/* No fork: the output of parent and child would be mixed letter by letter. */
static void processes(char *self)
{
    char *argv[] = {self, "x", NULL};
    char *env[] = {"A=1", NULL};
    int status = 0;

    saw(waitpid(-1, &status, 0));
    saw(execve("/no/such/program", argv, env));
}

/* Invalid pointers. */
static void wild(void)
{
    void *nowhere = (void *)16;
    struct iovec v = {nowhere, 10};

    saw(syscall(SYS_write, 1, nowhere, 10));
    saw(syscall(SYS_read, 0, nowhere, 10));
    saw(syscall(SYS_openat, AT_FDCWD, nowhere, 0));
    saw(syscall(SYS_writev, 1, &v, 1));
    saw(syscall(SYS_writev, 1, nowhere, 3));
    saw(syscall(SYS_uname, nowhere));
    saw(syscall(SYS_getcwd, nowhere, 100));
    saw(syscall(SYS_rt_sigaction, SIGUSR1, nowhere, NULL, 8));
    saw(syscall(SYS_nanosleep, nowhere, NULL));
    saw(syscall(SYS_munmap, 1, 4096));
    saw(close(1000));
    saw(read(-1, nowhere, 1));
    saw(syscall(4999 + 5000));
}

int main(int argc, char **argv)
{
    if (argc < 2 || chdir(argv[1]) || mkdir("guest", 0700) || chdir("guest")) {
        perror("folder");
        return 1;
    }
    files();
    folders();
    mappings();
    times_and_limits();
    signals();
    pipes();
    threads();
    processes(argv[0]);
    wild();
    unlink("file with space\"");
    if (chdir("..") || rmdir("guest")) {
        return 1;
    }
    printf("system calls done\n");
    return 3;
}
