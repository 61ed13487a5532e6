/* SPDX-License-Identifier: MIT */
/*
 * Eight threads: each makes 300,000 atomic additions to one shared counter and
 * 300,000 to its own.  Prints the counters' addresses, the number of additions to
 * each, and the final value.  Where the machine adds with LL/SC, failed attempts
 * are repeated; "attempts" gives their number.
 */
#include "guest.h"

#include <pthread.h>

#define THREADS 8

static uint32_t shared __attribute__((aligned(64)));
static struct {
    uint32_t v __attribute__((aligned(64)));
} own[THREADS];
static unsigned adds = 300000;

static NOINLINE void add(uint32_t *p)
{
    __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST);
}

static void *work(void *arg)
{
    uint32_t *mine = &own[(uintptr_t)arg].v;

    for (unsigned i = 0; i < adds; i++) {
        add(&shared);
        add(mine);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];

    if (argc > 1) {
        adds = (unsigned)atoi(argv[1]);
    }
    for (uintptr_t i = 0; i < THREADS; i++) {
        if (pthread_create(&t[i], NULL, work, (void *)i)) {
            return 1;
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
    }
    printf("final 0x%lx %u\n", (unsigned long)&shared, shared);
    for (unsigned i = 0; i < THREADS; i++) {
        printf("adds 0x%lx %u\n", (unsigned long)&own[i].v, own[i].v);
    }
    printf("adds 0x%lx %u\n", (unsigned long)&shared, adds * THREADS);
    printf("threads %d\n", THREADS + 1);
    return shared != adds * THREADS;
}
