/* SPDX-License-Identifier: MIT */
/*
 * Replaces a patched QEMU in tests of the recorder: it attaches to the pipe as QEMU
 * does, but "executes" a script, so that everything that it records is known in
 * advance and it can end in every way.
 *
 *   qemu-arm -cannoli pipe=CTL,SHARED,INODE SCRIPT
 *
 * Each line of a script is a command for the main thread:
 *
 *   blocks N       run N blocks of the pattern (fakeguest.h)
 *   noise N        N blocks A, with loads from random addresses
 *   many N M       N different blocks in a row, M times
 *   helper N       N blocks that load 32 bytes by way of a helper
 *   calls N SIZE   N system calls that read SIZE bytes
 *   signals N      N signals, each handled by one block
 *   maps N         N mappings
 *   threads N M    N threads run M blocks each, all at once
 *   forks N M      N children run M blocks each, all at once
 *   orphan N       a child runs N more blocks after its parent has ended
 *   execfork ARG.. a child replaces itself by a host program
 *   exec ARG..     replace this process by a host program
 *   follow SCRIPT  replace this process by a recorded one, which runs SCRIPT
 *   followfork SC  the same in a child
 *   badexec        an execve that fails
 *   print TEXT     to stdout
 *   environ        print the environment
 *   fds            print which descriptors are open
 *   dispositions   print which signals are blocked and ignored
 *   sleep MS       in a "system call"
 *   ready FILE     make an empty file
 *   handle SIG     handle signal SIG by ignoring it
 *   claim          claim a pipe for a thread that never comes
 *   claimfork      claim a pipe for a child that never comes
 *   spin           run blocks, calls and the like forever
 *   kill           SIGKILL in the middle of a block
 *   killcall       SIGKILL in the middle of a system call
 *   signal N       end by a signal, and report that
 *   nonsense       hand over words that mean nothing
 *   lie KIND       overwrite memory that is not its own (fakelies.c)
 *   scribble KIND  put a meaningless record into the side queue
 *   control        print the contents of the control area, and the libraries
 *   await FIELD N  sleep until `paused' is N, or the count `marks' or `seq' (of filters)
 *                  is at least N
 *   marks          print the marks that it holds
 *   loading N      report that library N is being loaded
 *   failed TEXT    report that a library failed
 *   exit N         (without it: exit 0)
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "fakeguest.h"

extern const char cannoli_note[];
const char cannoli_note[] __attribute__((used)) = "cannoli-mempipe-version=15";
_Static_assert(MEMPIPE_VERSION == 15, "the note names another version");

struct thread_arg {
    struct fake *creator;
    int32_t ptid;
    uint64_t blocks;
};

static void *thread_main(void *arg)
{
    const struct thread_arg *a = arg;
    struct fake f = *a->creator;
    struct producer_identity id = {.pid = getpid(),
                                   .tid = gettid(),
                                   .ptid = a->ptid,
                                   .process = a->creator->q.p->process};

    fake_attach(&f, producer_claim(&f.q), &id, NULL);
    fake_blocks(&f, a->blocks);
    fake_end(&f, MEMPIPE_END_EXIT, 0);
    return NULL;
}

static void run_threads(struct fake *f, unsigned n, uint64_t blocks)
{
    struct thread_arg a = {.creator = f, .ptid = gettid(), .blocks = blocks};
    pthread_t *t = calloc(n, sizeof(*t));

    for (unsigned i = 0; i < n; i++) {
        if (pthread_create(&t[i], NULL, thread_main, &a)) {
            producer_die("cannot create a thread");
        }
    }
    for (unsigned i = 0; i < n; i++) {
        pthread_join(t[i], NULL);
    }
    free(t);
}

/* Forks as QEMU does; returns the child's pid, or 0 in the child, which is attached. */
static pid_t fork_traced(struct fake *f)
{
    uint32_t pipe = producer_claim(&f->q);
    struct mempipe_pipe *p = producer_pipe(&f->q, pipe);
    pid_t parent = getpid(), pid;
    struct mempipe_pipe mine = {.serial = p->serial}, named = mine;

    p->ppid = parent;
    pid = fork();
    if (pid < 0) {
        producer_die("cannot fork");
    } else if (pid > 0) {
        /* Only if it is still empty: the pipe may already belong to another thread. */
        named.pid = pid;
        __atomic_compare_exchange_n(&p->serial_pid, &mine.serial_pid, named.serial_pid,
                                    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        producer_ring(&f->q);
    } else {
        struct producer_identity id = {
            .pid = getpid(), .tid = gettid(), .ppid = parent, .is_process = true};
        fake_attach(f, pipe, &id, NULL);
    }
    return pid;
}

static void run_forks(struct fake *f, unsigned n, uint64_t blocks)
{
    for (unsigned i = 0; i < n; i++) {
        if (fork_traced(f) == 0) {
            fake_blocks(f, blocks);
            fake_end(f, MEMPIPE_END_GROUP, 0);
            _exit(0);
        }
    }
    fake_enter_syscall(f);
    for (unsigned i = 0; i < n; i++) {
        wait(NULL);
    }
    fake_leave_syscall(f);
}

static void run_exec(struct fake *f, char **argv)
{
    producer_quiet(&f->q, true);
    producer_hand_over(&f->q);
    producer_quiet(&f->q, true);
    f->q.p->end_ns = producer_now_ns();
    __atomic_store_n(&f->q.p->end_reason, MEMPIPE_END_EXEC, __ATOMIC_RELAXED);
    execv(argv[0], argv);
    __atomic_store_n(&f->q.p->end_reason, 0, __ATOMIC_RELAXED);
    fake_leave_syscall(f);
}

static void run_host_program(struct fake *f, char *command)
{
    char *argv[16], *save;
    int n = 0;

    for (char *w = strtok_r(command, " ", &save); w && n < 15;
         w = strtok_r(NULL, " ", &save)) {
        argv[n++] = w;
    }
    argv[n] = NULL;
    run_exec(f, argv);
}

/* As QEMU with --follow-exec: the next program finds the pipe through the recorder's
 * own descriptor. */
static void run_followed(struct fake *f, char *script)
{
    char self[] = "/proc/self/exe", option[] = "-cannoli", pipe[64];
    char *argv[] = {self, option, pipe, script, NULL};

    if (!(f->q.ctl->follow & MEMPIPE_FOLLOW_EXEC)) {
        producer_die("the recorder does not follow execve");
    }
    snprintf(pipe, sizeof(pipe), "pipe=/proc/%d/fd/%d,exec", f->q.ctl->recorder_pid,
             f->q.ctl->ctl_fd);
    run_exec(f, argv);
    producer_die("cannot execute itself");
}

static void print_fds(void)
{
    for (int fd = 0; fd < 1024; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            printf("%d ", fd);
        }
    }
    putchar('\n');
}

static void print_signals(void)
{
    sigset_t mask;

    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int sig = 1; sig < 32; sig++) {
        struct sigaction sa;
        sigaction(sig, NULL, &sa);
        if (sa.sa_handler != SIG_DFL || sigismember(&mask, sig)) {
            printf("%d%s%s ", sig, sa.sa_handler == SIG_IGN ? "i" : "",
                   sigismember(&mask, sig) ? "b" : "");
        }
    }
    putchar('\n');
}

static void on_signal(int sig)
{
    (void)sig;
}

static void finish(struct fake *f, uint32_t reason, int status)
{
    fflush(stdout);
    if (f->attached) {
        fake_end(f, reason, status);
    }
    if (reason == MEMPIPE_END_SIGNAL) {
        signal(status, SIG_DFL);
        raise(status);
    }
    _exit(status);
}

static void make_file(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0) {
        producer_die("cannot make a file");
    }
    close(fd);
}

/* Commands that also work without a recorder. */
static bool run_plain(struct fake *f, const char *cmd, char *rest)
{
    if (!strcmp(cmd, "print")) {
        printf("%s\n", rest);
        fflush(stdout);
    } else if (!strcmp(cmd, "environ")) {
        extern char **environ;
        for (char **e = environ; *e; e++) {
            puts(*e);
        }
    } else if (!strcmp(cmd, "fds")) {
        print_fds();
    } else if (!strcmp(cmd, "dispositions")) {
        print_signals();
    } else if (!strcmp(cmd, "ready")) {
        make_file(rest);
    } else if (!strcmp(cmd, "handle")) {
        signal(atoi(rest), on_signal);
    } else if (!strcmp(cmd, "exit")) {
        finish(f, MEMPIPE_END_GROUP, atoi(rest));
    } else if (!strcmp(cmd, "signal")) {
        finish(f, MEMPIPE_END_SIGNAL, atoi(rest));
    } else {
        return false;
    }
    return true;
}

static void run_traced(struct fake *f, const char *cmd, char *rest)
{
    unsigned long long n = 0, m = 0;

    sscanf(rest, "%llu %llu", &n, &m);
    if (!strcmp(cmd, "blocks")) {
        fake_blocks(f, n);
    } else if (!strcmp(cmd, "noise")) {
        fake_noise(f, n);
    } else if (!strcmp(cmd, "many")) {
        fake_many(f, n, m);
    } else if (!strcmp(cmd, "helper")) {
        fake_helper(f, n);
    } else if (!strcmp(cmd, "calls")) {
        fake_calls(f, n, m);
    } else if (!strcmp(cmd, "signals")) {
        fake_signals(f, n);
    } else if (!strcmp(cmd, "maps")) {
        fake_maps(f, n);
    } else if (!strcmp(cmd, "threads")) {
        run_threads(f, (unsigned)n, m);
    } else if (!strcmp(cmd, "forks")) {
        run_forks(f, (unsigned)n, m);
    } else if (!strcmp(cmd, "orphan")) {
        if (fork_traced(f) == 0) {
            usleep(300000);
            fake_blocks(f, n);
            finish(f, MEMPIPE_END_GROUP, 0);
        }
    } else if (!strcmp(cmd, "exec") || !strcmp(cmd, "badexec")) {
        fflush(stdout);
        run_host_program(f, cmd[0] == 'e' ? rest : (char[]){"/nonexistent/program"});
    } else if (!strcmp(cmd, "execfork")) {
        if (fork_traced(f) == 0) {
            run_host_program(f, rest);
        }
    } else if (!strcmp(cmd, "follow")) {
        fflush(stdout);
        run_followed(f, rest);
    } else if (!strcmp(cmd, "followfork")) {
        if (fork_traced(f) == 0) {
            run_followed(f, rest);
        }
    } else if (!strcmp(cmd, "sleep")) {
        struct timespec left = {(time_t)(n / 1000), (long)(n % 1000) * 1000000};
        fake_enter_syscall(f);
        while (nanosleep(&left, &left) < 0 && errno == EINTR) {
        }
        fake_leave_syscall(f);
    } else if (!strcmp(cmd, "spin")) {
        for (;;) {
            fake_blocks(f, 15);
            fake_calls(f, 1, 40);
            fake_helper(f, 1);
            fake_signals(f, 1);
            fake_maps(f, 1);
        }
    } else if (!strcmp(cmd, "kill")) {
        fake_half_a_block(f);
        kill(getpid(), SIGKILL);
    } else if (!strcmp(cmd, "killcall")) {
        fake_call_begins(f);
        fake_enter_syscall(f);
        kill(getpid(), SIGKILL);
    } else if (!strcmp(cmd, "claim")) {
        producer_pipe(&f->q, producer_claim(&f->q))->ppid = getppid();
    } else if (!strcmp(cmd, "claimfork")) {
        producer_pipe(&f->q, producer_claim(&f->q))->ppid = getpid();
    } else if (!strcmp(cmd, "nonsense")) {
        producer_word(&f->q, f->ids[BLOCK_B]);
        producer_word(&f->q, 0x7ffffff0);
        producer_hand_over(&f->q);
    } else if (fake_control(f, cmd, rest) ||
               (!strcmp(cmd, "scribble") && fake_scribble(f, rest)) ||
               (!strcmp(cmd, "lie") && fake_lie(f, rest))) {
        return;
    } else {
        producer_die("unknown command in the script");
    }
}

static void run_line(struct fake *f, char *line)
{
    char *rest = line + strcspn(line, " \n");

    line[strcspn(line, "\n")] = '\0';
    if (*rest) {
        *rest++ = '\0';
    }
    if (*line && *line != '#' && !run_plain(f, line, rest) && f->attached) {
        run_traced(f, line, rest);
    }
}

static int open_of(int pid, int number)
{
    char name[64];
    int fd;

    snprintf(name, sizeof(name), "/proc/%d/fd/%d", pid, number);
    fd = open(name, O_RDWR);
    if (fd < 0) {
        producer_die("the recorder's descriptor cannot be opened");
    }
    return fd;
}

static void attach(struct fake *f, const char *pipe)
{
    struct producer_identity id = {
        .pid = getpid(), .tid = gettid(), .ppid = getppid(), .is_process = true};
    int recorder, ctl, shared;
    bool again;

    if (sscanf(pipe, "pipe=/proc/%d/fd/%d,", &recorder, &ctl) == 2) {
        struct mempipe_ctl head;

        ctl = open_of(recorder, ctl);
        if (pread(ctl, &head, sizeof(head), 0) != (ssize_t)sizeof(head)) {
            producer_die("the recorder's descriptor cannot be read");
        }
        shared = open_of(recorder, head.shared_fd);
    } else if (sscanf(pipe, "pipe=%d,%d,", &ctl, &shared) != 2) {
        producer_die("no pipe=CTL,SHARED");
    }
    producer_map(&f->q, ctl, shared);
    again = f->q.shared->addr_bytes != 0;
    producer_target(&f->q, 40 /* ARM */, 4, "arm");
    fake_attach(f, producer_claim(&f->q), &id, again ? "/bin/fake" : NULL);
}

int main(int argc, char **argv)
{
    struct fake f = {0};
    const char *pipe = NULL;
    char *line = NULL;
    size_t cap = 0;
    FILE *script;
    int i = 1;

    while (i + 1 < argc && argv[i][0] == '-') {
        if (!strcmp(argv[i], "-cannoli")) {
            pipe = argv[i + 1];
        }
        i += 2;
    }
    if (i >= argc || !(script = fopen(argv[i], "re"))) {
        fprintf(stderr, "no script\n");
        return 1;
    }
    if (pipe) {
        attach(&f, pipe);
    }
    while (getline(&line, &cap, script) > 0) {
        run_line(&f, line);
    }
    free(line);
    fclose(script);
    finish(&f, MEMPIPE_END_GROUP, 0);
}
