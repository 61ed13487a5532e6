/* SPDX-License-Identifier: MIT */
/*
 * For record-order.sh: threads and children make system calls that carry a serial number
 * (writes of so many bytes to no file) and read the clock around each.  At the end it
 * prints "serial before after" of each, in nanoseconds of CLOCK_MONOTONIC.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ACTORS 7
#define CALLS 150

struct entry {
    uint64_t before, after;
};

static struct entry (*entries)[CALLS]; /* shared by all processes */

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *act(void *arg)
{
    unsigned actor = *(const unsigned *)arg, rng = actor + 1;

    for (unsigned i = 0; i < CALLS; i++) {
        struct entry *e = &entries[actor][i];
        struct timespec pause = {.tv_sec = 0};

        rng = rng * 1103515245u + 12345u;
        e->before = now();
        syscall(SYS_write, -1, "", 1 + actor * CALLS + i);
        e->after = now();
        pause.tv_nsec = 50000 + (rng >> 16) % 16384 * 16;
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* One thread besides the process's first, and the first itself. */
static void process(unsigned actor)
{
    unsigned ids[2] = {actor, actor + 1};
    pthread_t thread;

    if (pthread_create(&thread, NULL, act, &ids[1])) {
        exit(1);
    }
    act(&ids[0]);
    pthread_join(thread, NULL);
}

int main(void)
{
    static unsigned last = ACTORS - 1;

    entries = mmap(NULL, ACTORS * sizeof(*entries), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (entries == MAP_FAILED) {
        return 1;
    }
    for (unsigned child = 0; child < 2; child++) {
        if (!fork()) {
            process(2 + 2 * child);
            _exit(0);
        }
    }
    process(0);
    while (wait(NULL) > 0) {
    }
    act(&last);
    for (unsigned i = 0; i < ACTORS * CALLS; i++) {
        const struct entry *e = &entries[i / CALLS][i % CALLS];
        printf("%u %llu %llu\n", i + 1, (unsigned long long)e->before,
               (unsigned long long)e->after);
    }
    return 0;
}
