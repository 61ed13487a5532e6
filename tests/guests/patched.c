/* SPDX-License-Identifier: MIT */
/*
 * One thread writes code and others call it through pointers, all of it on one page:
 * while a function is rewritten the others continue to call its neighbours, and when it
 * is finished each thread must run the new one.
 */
#include "emit.h"

#include <pthread.h>

#define CALLERS 3
#define SLOTS 8
#define ROUNDS 60
#define SLOT_BYTES 64

static uint8_t *code;
static unsigned value[SLOTS]; /* result of each slot; written between barriers */
static pthread_barrier_t begin, made, end;
static unsigned wrong[CALLERS];

static uint8_t *slot(unsigned i)
{
    return code + i * SLOT_BYTES;
}

static void *caller(void *arg)
{
    unsigned id = (unsigned)(uintptr_t)arg, bad = 0;

    for (unsigned r = 0; r < ROUNDS; r++) {
        unsigned fresh = r % SLOTS;

        pthread_barrier_wait(&begin);
        for (unsigned i = 1; i < 6 * SLOTS; i++) {
            unsigned other = (fresh + i) % SLOTS;

            if (other != fresh) {
                bad += call(slot(other)) != value[other];
            }
        }
        pthread_barrier_wait(&made);
        for (unsigned i = 0; i < 3; i++) {
            bad += call(slot(fresh)) != (r * 7 + 5) % 128;
        }
        pthread_barrier_wait(&end);
    }
    wrong[id] = bad;
    return NULL;
}

int main(void)
{
    pthread_t t[CALLERS];

    code = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < SLOTS; i++) {
        emit(slot(i), value[i] = i);
    }
    pthread_barrier_init(&begin, NULL, CALLERS + 1);
    pthread_barrier_init(&made, NULL, CALLERS + 1);
    pthread_barrier_init(&end, NULL, CALLERS + 1);
    for (unsigned i = 0; i < CALLERS; i++) {
        if (pthread_create(&t[i], NULL, caller, (void *)(uintptr_t)i)) {
            return 1;
        }
    }
    for (unsigned r = 0; r < ROUNDS; r++) {
        unsigned fresh = r % SLOTS;

        pthread_barrier_wait(&begin);
        emit(slot(fresh), (r * 7 + 5) % 128);
        pthread_barrier_wait(&made);
        pthread_barrier_wait(&end);
        value[fresh] = (r * 7 + 5) % 128;
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        pthread_join(t[i], NULL);
        printf("wrong %u %u\n", i, wrong[i]);
    }
    printf("threads %d\n", CALLERS + 1);
    return wrong[0] || wrong[1] || wrong[2];
}
