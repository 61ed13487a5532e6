/* SPDX-License-Identifier: MIT */
/*
 * The directions of a branch, counted by the program itself while a timer interrupts it
 * repeatedly: a signal directly after a branch must not count as its direction.
 * Prints how often the branch of walk() ran and how often its condition held.  With
 * an argument it calls walk() that many times, and nothing interrupts it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile sig_atomic_t signals;
static unsigned long sum;

static void on_alarm(int number)
{
    (void)number;
    signals++;
}

/* Does nothing, but only under a condition: the compiler must branch around it. */
#define KEEP_BRANCH __asm__ volatile("" ::: "memory", "cc")

__attribute__((noinline)) unsigned long walk(unsigned n, unsigned *seed)
{
    unsigned long odd = 0;
    unsigned s = *seed;
    for (unsigned i = 0; i < n; i++) {
        s = s * 1103515245u + 12345u;
        if (s & 0x10000) {
            KEEP_BRANCH;
            odd++;
            sum += 3;
            KEEP_BRANCH;
        } else {
            KEEP_BRANCH;
            sum -= 1;
            KEEP_BRANCH;
        }
    }
    *seed = s;
    return odd;
}

int main(int argc, char **argv)
{
    const long rounds = argc > 1 ? atol(argv[1]) : 0;
    const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    unsigned seed = 12345;
    unsigned long met = 0, held = 0;
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, rounds ? &never : &often, NULL);
    for (long i = 0; rounds ? i < rounds : signals < 100; i++) {
        held += walk(20000, &seed);
        met += 20000;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%lu %lu\n", met, held);
    return 0;
}
