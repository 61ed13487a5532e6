/* SPDX-License-Identifier: MIT */
/*
 * Stands in for a patched QEMU in tests of the recorder: it attaches to the
 * pipe as QEMU does, but "executes" a script, so that everything it records is
 * known beforehand and every way to end can be asked for.
 *
 *   qemu-arm -cannoli pipe=FD SCRIPT
 *
 * Lines of a script, each a command for the main thread:
 *
 *   blocks N       run N blocks of the pattern (below)
 *   helper N       N blocks that load 32 bytes by way of a helper
 *   threads N M    N threads run M blocks each, all at once
 *   forks N M      N children run M blocks each, all at once
 *   orphan N       a child goes on for N blocks when its parent has ended
 *   execfork ARG.. a child replaces itself by a host program
 *   exec ARG..     replace this process by a host program
 *   badexec        an execve that fails
 *   print TEXT     to stdout
 *   environ        print the environment
 *   fds            print which descriptors are open
 *   signals        print which signals are blocked and ignored
 *   sleep MS       in a "system call"
 *   ready FILE     make an empty file
 *   handle SIG     handle signal SIG by ignoring it
 *   claim          claim a pipe for a thread that never comes
 *   claimfork      claim a pipe for a child that never comes
 *   spin           run blocks for ever
 *   kill           SIGKILL in the middle of a block
 *   signal N       end by a signal, having told so
 *   nonsense       hand over words that mean nothing
 *   exit N         (without it: exit 0)
 *
 * The pattern, block number i: i % 3 = 0 is A (4 instructions, a load by the
 * second, a store by the third), 1 is B (1 instruction), 2 is C (3
 * instructions; its second loads i % 5 times).  15 blocks are 40 instructions,
 * 15 loads and 5 stores.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "producer.h"

extern const char cannoli_note[];
const char cannoli_note[] __attribute__((used)) = "cannoli-mempipe-version=1";

enum { BLOCK_A, BLOCK_B, BLOCK_C, BLOCK_D, BLOCKS };

struct fake {
    struct producer q;
    bool attached;
    uint32_t ids[BLOCKS];
};

struct slot {
    uint16_t insn, group;
    uint8_t access;
};

static void define(struct fake *f, int which, uint64_t pc, unsigned ninsn,
                   const struct slot *slots, unsigned nslot)
{
    uint8_t def[256] = {0};
    uint16_t n16;
    uint32_t n32 = ninsn * 4;
    size_t at = CTR_BLOCKDEF_FIXED;

    if (!(f->q.ctl->events & CTR_EVENTS_MEM)) {
        nslot = 0;
    }
    memcpy(def + CTR_BLOCKDEF_PC, &pc, 8);
    memcpy(def + CTR_BLOCKDEF_NINSN, &(uint16_t){(uint16_t)ninsn}, 2);
    memcpy(def + CTR_BLOCKDEF_NSLOT, &(uint16_t){(uint16_t)nslot}, 2);
    n16 = nslot ? slots[nslot - 1].group : 0;
    memcpy(def + CTR_BLOCKDEF_NGROUP, &n16, 2);
    memcpy(def + CTR_BLOCKDEF_CODELEN, &n32, 4);
    memset(def + at, 4, ninsn);
    at += ninsn;
    for (unsigned i = 0; i < ninsn; i++, at += 4) {
        memcpy(def + at, &(uint32_t){0xe320f000}, 4); /* nop */
    }
    for (unsigned i = 0; i < nslot; i++, at += CTR_BLOCKDEF_SLOT) {
        memcpy(def + at, &slots[i].insn, 2);
        memcpy(def + at + 2, &slots[i].group, 2);
        def[at + 4] = slots[i].access;
    }
    f->ids[which] = producer_define(&f->q, def, (uint32_t)at);
}

/* Every process translates for itself, so the recorder meets each block often. */
static void define_all(struct fake *f)
{
    static const struct slot a[] = {{1, 0, 2}, {2, 0, 2 | CTR_ACCESS_STORE}};
    static const struct slot c[] = {{1, 1, 3}};

    define(f, BLOCK_A, 0x1000, 4, a, 2);
    define(f, BLOCK_B, 0x2000, 1, NULL, 0);
    define(f, BLOCK_C, 0x3000, 3, c, 1);
    define(f, BLOCK_D, 0x4000, 1, NULL, 0);
}

static void addr(struct fake *f, uint64_t a)
{
    if (f->q.ctl->events & CTR_EVENTS_MEM) {
        producer_addr(&f->q, a);
    }
}

static void run_blocks(struct fake *f, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        producer_room(&f->q, 8, 8);
        switch (i % 3) {
        case 0:
            producer_word(&f->q, f->ids[BLOCK_A]);
            addr(f, 0x10000 + 4 * i);
            addr(f, 0x80000000 - 4 * i);
            break;
        case 1:
            producer_word(&f->q, f->ids[BLOCK_B]);
            break;
        case 2:
            producer_word(&f->q, f->ids[BLOCK_C]);
            for (unsigned k = 0; k < i % 5 && (f->q.ctl->events & CTR_EVENTS_MEM); k++) {
                producer_word(&f->q, CTR_WORD_GROUP | 1);
                addr(f, 0x20000 + 8 * k);
            }
            break;
        }
    }
}

static void run_helper(struct fake *f, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct mempipe_aux_access a = {
            .seq = f->q.seq,
            .addr = 0x50000 + 32 * i,
            .size = 32,
        };
        producer_room(&f->q, 1, 0);
        producer_word(&f->q, f->ids[BLOCK_D]);
        a.seq = f->q.seq;
        a.words = producer_words(&f->q);
        a.addrs = producer_addrs(&f->q);
        producer_aux(&f->q, MEMPIPE_AUX_ACCESS, &a.h, sizeof(a), NULL, 0);
    }
}

/* As if in a system call; with a recorder that is watched, events are shown. */
static void enter_syscall(struct fake *f)
{
    if (f->q.ctl->live && producer_words(&f->q)) {
        producer_hand_over(&f->q);
    }
    producer_quiet(&f->q, true);
}

static void leave_syscall(struct fake *f)
{
    producer_quiet(&f->q, false);
}

struct thread_arg {
    struct fake *creator;
    int32_t ptid;
    uint64_t blocks;
};

static void *thread_main(void *arg)
{
    const struct thread_arg *a = arg;
    struct fake f = *a->creator;
    struct producer_identity id = {.pid = getpid(), .tid = gettid(), .ptid = a->ptid};

    producer_attach(&f.q, producer_claim(&f.q), &id);
    run_blocks(&f, a->blocks);
    producer_end(&f.q, MEMPIPE_END_EXIT, 0);
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

/* As QEMU forks; returns the child's pid, or 0 in the child, attached. */
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
        /* Only into an empty place: by now it may be somebody else's pipe. */
        named.pid = pid;
        __atomic_compare_exchange_n(&p->serial_pid, &mine.serial_pid, named.serial_pid,
                                    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        producer_ring(&f->q);
    } else {
        struct producer_identity id = {
            .pid = getpid(), .tid = gettid(), .ppid = parent, .is_process = true};
        producer_attach(&f->q, pipe, &id);
        define_all(f);
    }
    return pid;
}

static void run_forks(struct fake *f, unsigned n, uint64_t blocks)
{
    for (unsigned i = 0; i < n; i++) {
        if (fork_traced(f) == 0) {
            run_blocks(f, blocks);
            producer_end(&f->q, MEMPIPE_END_GROUP, 0);
            _exit(0);
        }
    }
    enter_syscall(f);
    for (unsigned i = 0; i < n; i++) {
        wait(NULL);
    }
    leave_syscall(f);
}

static void run_exec(struct fake *f, char *command)
{
    char *argv[16], *save;
    int n = 0;

    for (char *w = strtok_r(command, " ", &save); w && n < 15;
         w = strtok_r(NULL, " ", &save)) {
        argv[n++] = w;
    }
    argv[n] = NULL;
    producer_quiet(&f->q, true);
    producer_hand_over(&f->q);
    producer_quiet(&f->q, true);
    f->q.p->end_ns = producer_now_ns();
    __atomic_store_n(&f->q.p->end_reason, MEMPIPE_END_EXEC, __ATOMIC_RELAXED);
    execv(argv[0], argv);
    __atomic_store_n(&f->q.p->end_reason, 0, __ATOMIC_RELAXED);
    leave_syscall(f);
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
        producer_end(&f->q, reason, status);
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

/* Commands that work without a recorder, too. */
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
    } else if (!strcmp(cmd, "signals")) {
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
        run_blocks(f, n);
    } else if (!strcmp(cmd, "helper")) {
        run_helper(f, n);
    } else if (!strcmp(cmd, "threads")) {
        run_threads(f, (unsigned)n, m);
    } else if (!strcmp(cmd, "forks")) {
        run_forks(f, (unsigned)n, m);
    } else if (!strcmp(cmd, "orphan")) {
        if (fork_traced(f) == 0) {
            usleep(300000);
            run_blocks(f, n);
            finish(f, MEMPIPE_END_GROUP, 0);
        }
    } else if (!strcmp(cmd, "exec") || !strcmp(cmd, "badexec")) {
        fflush(stdout);
        run_exec(f, cmd[0] == 'e' ? rest : (char[]){"/nonexistent/program"});
    } else if (!strcmp(cmd, "execfork")) {
        if (fork_traced(f) == 0) {
            run_exec(f, rest);
        }
    } else if (!strcmp(cmd, "sleep")) {
        struct timespec left = {(time_t)(n / 1000), (long)(n % 1000) * 1000000};
        enter_syscall(f);
        while (nanosleep(&left, &left) < 0 && errno == EINTR) {
        }
        leave_syscall(f);
    } else if (!strcmp(cmd, "spin")) {
        for (;;) {
            run_blocks(f, 15);
        }
    } else if (!strcmp(cmd, "kill")) {
        producer_room(&f->q, 8, 8);
        producer_word(&f->q, f->ids[BLOCK_A]);
        addr(f, 0x12340);
        kill(getpid(), SIGKILL);
    } else if (!strcmp(cmd, "claim")) {
        producer_pipe(&f->q, producer_claim(&f->q))->ppid = getppid();
    } else if (!strcmp(cmd, "claimfork")) {
        producer_pipe(&f->q, producer_claim(&f->q))->ppid = getpid();
    } else if (!strcmp(cmd, "nonsense")) {
        producer_word(&f->q, f->ids[BLOCK_B]);
        producer_word(&f->q, 0x7ffffff0);
        producer_hand_over(&f->q);
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

static void attach(struct fake *f, const char *pipe)
{
    struct producer_identity id = {
        .pid = getpid(), .tid = gettid(), .ppid = getppid(), .is_process = true};
    struct mempipe_ctl *ctl;

    if (strncmp(pipe, "pipe=", 5)) {
        producer_die("no pipe=FD");
    }
    producer_map(&f->q, atoi(pipe + 5), NULL);
    ctl = f->q.ctl;
    ctl->elf_machine = 40; /* ARM */
    strcpy(ctl->target, "arm");
    strcpy(ctl->qemu_version, "fake");
    ctl->addr_bytes = 4;
    producer_attach(&f->q, producer_claim(&f->q), &id);
    define_all(f);
    f->attached = true;
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
