/* SPDX-License-Identifier: MIT */
/*
 * System calls that wait, at their edges: futexes with wrong arguments, of other processes,
 * moved, timed and interrupted; messages that are long or have nowhere to go; memory that
 * vanishes while a read waits; forks while other threads compute. Prints the results.
 */
#include "guest.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static uint32_t word;
static volatile int stop;

static void say(const char *what, long result)
{
    printf("%s %ld %d\n", what, result, result < 0 ? errno : 0);
    fflush(stdout);
}

static long futex(uint32_t *at, int op, uint32_t value, void *timeout, uint32_t *other,
                  uint32_t last)
{
    return syscall(SYS_futex, at, op, value, timeout, other, last);
}

static void arguments(void)
{
    char *none =
        mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    munmap(none, 65536);
    say("no memory", futex((uint32_t *)none, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
    say("no bits", futex(&word, FUTEX_WAIT_BITSET_PRIVATE, word, NULL, NULL, 0));
    say("not aligned",
        futex((uint32_t *)((char *)&word + 1), FUTEX_WAIT_PRIVATE, word, NULL, NULL, 0));
    say("other value", futex(&word, FUTEX_WAIT_PRIVATE, word + 1, NULL, NULL, 0));
    say("requeue",
        futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 0, (void *)1, &word, word + 1));
    say("nobody", futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0));
}

static void *wait_word(void *arg)
{
    (*(volatile int *)arg)++;
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 7) {
        futex(&word, FUTEX_WAIT, 7, NULL, NULL, 0);
    }
    return NULL;
}

/* Parent and child wait at the same address, each for a word of its own. */
static void same_address(void)
{
    volatile int there = 0;
    int to[2], status;
    pthread_t t;
    pid_t p;
    char c;

    word = 7;
    if (pipe(to)) {
        return;
    }
    p = fork();
    pthread_create(&t, NULL, wait_word, (void *)&there);
    while (!there) {
        usleep(1000);
    }
    usleep(20000);
    if (p == 0) {
        if (read(to[0], &c, 1) != 1) {
            _exit(1);
        }
    }
    word = 8;
    futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0);
    pthread_join(t, NULL);
    if (p == 0) {
        _exit(0);
    }
    if (write(to[1], "x", 1) != 1) {
        return;
    }
    waitpid(p, &status, 0);
    say("same address", status);
}

static void *wait_moved(void *arg)
{
    word = 3;
    while (word == 3) {
        futex(&word, FUTEX_WAIT_PRIVATE, 3, NULL, NULL, 0);
    }
    return NULL;
}

static void moved(void)
{
    static uint32_t other;
    pthread_t t;

    word = 0;
    pthread_create(&t, NULL, wait_moved, NULL);
    while (futex(&word, FUTEX_REQUEUE_PRIVATE, 0, (void *)5, &other, 0) == 0) {
        usleep(1000);
    }
    say("left", futex(&word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
    word = 4;
    say("moved", futex(&other, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
    pthread_join(t, NULL);
}

static void tick(int sig)
{
}

static void timed(void)
{
    struct timespec long_time = {20, 0}, short_time = {0, 30000000};
    struct itimerval soon = {{0, 0}, {0, 50000}};
    struct sigaction sa = {.sa_handler = tick, .sa_flags = SA_RESTART};

    word = 1;
    say("timeout", futex(&word, FUTEX_WAIT_PRIVATE, 1, &short_time, NULL, 0));
    say("timeout", futex(&word, FUTEX_WAIT, 1, &short_time, NULL, 0));
    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    say("interrupted", futex(&word, FUTEX_WAIT_PRIVATE, 1, &long_time, NULL, 0));
    setitimer(ITIMER_REAL, &soon, NULL);
    say("interrupted", futex(&word, FUTEX_WAIT, 1, &long_time, NULL, 0));
}

static void *send_late(void *arg)
{
    static char bytes[150000];
    int *fd = arg;

    memset(bytes, 'm', sizeof(bytes));
    usleep(20000);
    if (send(fd[1], bytes, sizeof(bytes), 0) < 0) {
        _exit(2);
    }
    usleep(20000);
    return (void *)write(fd[3], "five", 5);
}

static void messages(void)
{
    static char room[200000];
    int fd[4], size = 400000;
    pthread_t t;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd) || pipe(fd + 2)) {
        return;
    }
    setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    pthread_create(&t, NULL, send_late, fd);
    say("received", recv(fd[0], room, sizeof(room), 0));
    say("the last", room[149999]);
    say("read", read(fd[2], room, sizeof(room)));
    pthread_join(t, NULL);
}

static void *unmap_late(void *arg)
{
    void **what = arg;

    usleep(20000);
    munmap(what[0], 65536);
    if (write((int)(intptr_t)what[1], "gone", 4) != 4) {
        _exit(3);
    }
    return NULL;
}

static void vanished(void)
{
    void *what[2];
    pthread_t t;
    int fd[2];

    if (pipe(fd)) {
        return;
    }
    what[0] =
        mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    what[1] = (void *)(intptr_t)fd[1];
    pthread_create(&t, NULL, unmap_late, what);
    say("vanished", read(fd[0], what[0], 4));
    pthread_join(t, NULL);
}

static void *compute(void *arg)
{
    volatile uint32_t n = 0;

    while (!stop) {
        void *p =
            mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        mprotect(p, 65536, PROT_READ);
        munmap(p, 65536);
        for (int i = 0; i < 20000; i++) {
            n += i;
        }
    }
    return NULL;
}

static void forks(void)
{
    pthread_t t[3];
    int status, good = 0;

    for (int i = 0; i < 3; i++) {
        pthread_create(&t[i], NULL, compute, NULL);
    }
    for (int i = 0; i < 10; i++) {
        pid_t p = fork();

        if (p == 0) {
            _exit(5);
        }
        waitpid(p, &status, 0);
        good += WEXITSTATUS(status) == 5;
    }
    stop = 1;
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
    }
    say("forks", good);
}

int main(void)
{
    arguments();
    same_address();
    moved();
    timed();
    messages();
    vanished();
    forks();
    return 0;
}
