/* SPDX-License-Identifier: MIT */
/*
 * 16 threads that count in memory, while their recording is paused, resumed or changed
 * from outside.  Each stores 1, 2, 3 .. into a place of its own
 * by one(), and then the same number into another by two(); sometimes it sleeps.
 * At the end of the input it prints "one ADDRESS COUNT" and "two ADDRESS COUNT".
 *
 * With an argument the threads pause and resume themselves instead, that many times:
 * two() runs while its thread is paused, one() while it is recorded.
 */
#include "guest.h"

#include <pthread.h>

#include "../../include/cannoli/guest.h"

#define N 16

static volatile uint32_t first[N * 32], second[N * 32];
static volatile int ending;
static unsigned often;

__attribute__((noinline, noclone, used)) void one(volatile uint32_t *p, uint32_t n)
{
    *p = n;
}

__attribute__((noinline, noclone, used)) void two(volatile uint32_t *p, uint32_t n)
{
    *p = n;
}

static void *work(void *arg)
{
    uintptr_t i = (uintptr_t)arg * 32;

    for (uint32_t n = 1; often ? n <= often : !ending; n++) {
        one(&first[i], n);
        if (often) {
            cannoli_pause(CANNOLI_THREAD);
            two(&second[i], n);
            cannoli_resume(CANNOLI_THREAD);
        } else {
            two(&second[i], n);
            if (n % 4 == 0) {
                usleep(1000);
            }
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[N];
    char c;

    often = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    for (uintptr_t i = 0; i < N; i++) {
        if (pthread_create(&t[i], NULL, work, (void *)i)) {
            return 1;
        }
    }
    while (!often && read(0, &c, 1) > 0) {
    }
    ending = 1;
    for (unsigned i = 0; i < N; i++) {
        pthread_join(t[i], NULL);
    }
    for (unsigned i = 0; i < N; i++) {
        printf("one 0x%lx %u\n", (unsigned long)&first[i * 32], first[i * 32]);
        printf("two 0x%lx %u\n", (unsigned long)&second[i * 32], second[i * 32]);
    }
    return 0;
}
