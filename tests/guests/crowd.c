/* SPDX-License-Identifier: MIT */
/*
 * 32 concurrent threads: each waits until all are there, stores its number of times into
 * a slot of its own, and all add to a shared one.  Prints "stores", "adds", "threads".
 */
#include "guest.h"

#include <pthread.h>

#define N 32

static volatile uint32_t slot[N];
static uint32_t shared;
static pthread_barrier_t all;

static void *work(void *arg)
{
    int n = (int)(intptr_t)arg;

    pthread_barrier_wait(&all);
    for (int i = 0; i < 100 * (n + 1); i++) {
        slot[n] = (uint32_t)i;
    }
    for (int i = 0; i < 20; i++) {
        __atomic_fetch_add(&shared, 1, __ATOMIC_SEQ_CST);
    }
    pthread_barrier_wait(&all);
    return arg;
}

int main(void)
{
    pthread_t t[N];

    pthread_barrier_init(&all, NULL, N);
    for (int i = 0; i < N; i++) {
        if (pthread_create(&t[i], NULL, work, (void *)(intptr_t)i)) {
            return 1;
        }
    }
    for (int i = 0; i < N; i++) {
        pthread_join(t[i], NULL);
    }
    for (int i = 0; i < N; i++) {
        printf("stores 0x%lx %d\n", (unsigned long)&slot[i], 100 * (i + 1));
    }
    printf("adds 0x%lx %d\n", (unsigned long)&shared, 20 * N);
    printf("threads %d\n", N + 1);
    return shared != 20 * N;
}
