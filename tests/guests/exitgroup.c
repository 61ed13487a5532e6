/* SPDX-License-Identifier: MIT */
/*
 * The first thread calls exit_group while six others compute forever (four of
 * them with system calls in between).
 */
#include "guest.h"

#include <pthread.h>

static volatile uint32_t slots[8], started;

static void *work(void *arg)
{
    volatile uint32_t *p = &slots[(uintptr_t)arg];

    __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        (*p)++;
        if ((uintptr_t)arg > 2) {
            getppid();
        }
    }
    return NULL;
}

static NOINLINE void touch(volatile uint32_t *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        *p = i;
    }
}

int main(void)
{
    pthread_t t;

    for (uintptr_t i = 1; i < 7; i++) {
        pthread_create(&t, NULL, work, (void *)i);
    }
    while (started < 6) {
        usleep(100);
    }
    touch(&slots[0], 1234);
    usleep(300);
    printf("stores 0x%lx 1234\nthreads 7\n", (unsigned long)&slots[0]);
    fflush(stdout);
    _exit(5);
}
