/* SPDX-License-Identifier: MIT */
/*
 * Everything together: six threads that fault (and repeat, or leave with siglongjmp),
 * rewrite code on a page that they share, add atomically, allocate, signal one
 * another and fork.  Prints the number of stores to known slots.
 */
#include "emit.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/wait.h>

#define THREADS 6
#define ROUNDS 24

static volatile uint32_t slots[THREADS], child_slot;
static uint32_t shared, ticks;
static pthread_t thread[THREADS];
static volatile int started;
static uint8_t *pages, *code;
static __thread sigjmp_buf out;
static __thread volatile int leaving;

static NOINLINE void touch(volatile uint32_t *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        *p = i;
    }
}

static void tick(int sig, siginfo_t *si, void *ctx)
{
    (void)sig;
    (void)si;
    (void)ctx;
    __atomic_fetch_add(&ticks, 1, __ATOMIC_SEQ_CST);
}

static void fault(int sig, siginfo_t *si, void *ctx)
{
    (void)sig;
    (void)ctx;
    if (leaving) {
        siglongjmp(out, 1);
    }
    mprotect((void *)((uintptr_t)si->si_addr & ~65535ul), 65536, PROT_READ | PROT_WRITE);
}

static NOINLINE uint32_t middle(volatile uint32_t *ok, volatile uint32_t *bad)
{
    uint32_t r = ok[0];

    ok[1] = r + 1;
    bad[0] = r;
    r += bad[1] + ok[2];
    ok[3] = r;
    return r;
}

static void *work(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg, wrong = 0;
    volatile uint32_t *ok = (uint32_t *)(pages + me * 131072);
    uint8_t *bad = pages + me * 131072 + 65536;

    __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
    while (started < THREADS) {
        usleep(50);
    }
    for (unsigned r = 0; r < ROUNDS; r++) {
        touch(&slots[me], 20 + r);
        mprotect(bad, 65536, PROT_NONE);
        leaving = r % 3 == 2;
        if (sigsetjmp(out, 1) == 0) {
            middle(ok, (uint32_t *)bad);
        }
        leaving = 0;
        emit(code + me * 64, (r + me) & 0x7f);
        wrong += call(code + me * 64) != ((r + me) & 0x7f);
        __atomic_fetch_add(&shared, 1, __ATOMIC_SEQ_CST);
        free(malloc(100 + r * 50));
        pthread_kill(thread[(me + 1) % THREADS], SIGUSR1);
        if (r % 12 == me) {
            pid_t p = fork();

            if (p == 0) {
                touch(&child_slot, 30);
                _exit(0);
            }
            waitpid(p, NULL, 0);
        }
    }
    /* no thread ends while others may still signal it */
    __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
    while (started < 2 * THREADS) {
        usleep(50);
    }
    return (void *)(uintptr_t)wrong;
}

int main(void)
{
    uintptr_t bad = 0;

    on_signal(SIGUSR1, tick);
    on_signal(SIGSEGV, fault);
    pages = map_pages(131072 * THREADS, PROT_READ | PROT_WRITE);
    code = mmap((void *)0x30000000, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    for (uintptr_t i = 0; i < THREADS; i++) {
        if (pthread_create(&thread[i], NULL, work, (void *)i)) {
            return 1;
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *wrong;

        pthread_join(thread[i], &wrong);
        bad += (uintptr_t)wrong;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        printf("stores 0x%lx %u\n", (unsigned long)&slots[i],
               ROUNDS * 20 + ROUNDS * (ROUNDS - 1) / 2);
    }
    printf("stores 0x%lx %u\n", (unsigned long)&child_slot, 30 * 2 * THREADS);
    printf("processes %d\n", 1 + 2 * THREADS);
    return bad != 0 || shared != THREADS * ROUNDS || ticks == 0;
}
