/* SPDX-License-Identifier: MIT */
/*
 * Threads: hundreds that live a millisecond, each storing a known number of
 * times to a slot of its own.  Prints "stores ADDRESS COUNT" per slot.
 */
#include "guest.h"

#include <pthread.h>

#define ROUNDS 25
#define AT_ONCE 16

static volatile uint32_t slots[ROUNDS * AT_ONCE];

static NOINLINE void touch(volatile uint32_t *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        *p = i;
    }
}

static void *work(void *arg)
{
    unsigned i = (unsigned)(uintptr_t)arg;

    touch(&slots[i], 10 + i % 90);
    return NULL;
}

int main(void)
{
    for (unsigned r = 0; r < ROUNDS; r++) {
        pthread_t t[AT_ONCE];

        for (unsigned i = 0; i < AT_ONCE; i++) {
            if (pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(r * AT_ONCE + i))) {
                return 1;
            }
        }
        for (unsigned i = 0; i < AT_ONCE; i++) {
            pthread_join(t[i], NULL);
        }
    }
    for (unsigned i = 0; i < ROUNDS * AT_ONCE; i++) {
        printf("stores 0x%lx %u\n", (unsigned long)&slots[i], 10 + i % 90);
    }
    printf("threads %d\n", ROUNDS * AT_ONCE + 1);
    return 0;
}
