/* SPDX-License-Identifier: MIT */
/*
 * Signals anywhere: a timer interrupts a computation, the handler counts and
 * computes a little; sometimes it leaves with siglongjmp.
 */
#include "guest.h"

#include <setjmp.h>
#include <sys/time.h>

static volatile uint32_t ticks, slot;
static sigjmp_buf out;
static volatile int may_leave;

static void tick(int sig, siginfo_t *si, void *ctx)
{
    (void)sig;
    (void)si;
    (void)ctx;
    ticks++;
    if (may_leave && ticks % 7 == 0) {
        siglongjmp(out, 1);
    }
}

static NOINLINE uint32_t compute(uint32_t n)
{
    uint32_t r = 1;

    for (uint32_t i = 1; i < n; i++) {
        r = r * 31 + i % 7;
        slot = r;
        if (r & 64) {
            r ^= slot >> 3;
        }
    }
    return r;
}

int main(void)
{
    struct itimerval it = {{0, 300}, {0, 300}};

    on_signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &it, NULL);
    while (ticks < 8) {
        mix(compute(2000));
    }
    may_leave = 1;
    while (ticks < 24) {
        if (sigsetjmp(out, 1) == 0) {
            mix(compute(20000));
        }
    }
    may_leave = 0;
    memset(&it, 0, sizeof(it));
    setitimer(ITIMER_REAL, &it, NULL);
    on_signal(SIGUSR1, tick);
    uint32_t before = ticks;
    for (int i = 0; i < 50; i++) {
        raise(SIGUSR1);
    }
    printf("stores 0x%lx %u\n", (unsigned long)&ticks, ticks);
    return ticks != before + 50;
}
