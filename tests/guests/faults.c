/* SPDX-License-Identifier: MIT */
/*
 * Faults in the middle of blocks: the handler opens the page and the
 * instruction runs again, or steps over it, or leaves with siglongjmp.  The
 * accesses before and after the faulting one make the block long.
 */
#include "guest.h"

#include <setjmp.h>

static uint8_t *pages; /* four pages, the odd ones inaccessible */
static long page;
static sigjmp_buf out;
static volatile unsigned faults;

static void repeat(int sig, siginfo_t *si, void *ctx)
{
    uint8_t *at = (uint8_t *)((uintptr_t)si->si_addr & ~(uintptr_t)(page - 1));

    (void)sig;
    (void)ctx;
    faults++;
    if (at < pages || at >= pages + 4 * page) {
        _exit(9);
    }
    mprotect(at, (size_t)page, PROT_READ | PROT_WRITE);
}

static void leave(int sig, siginfo_t *si, void *ctx)
{
    (void)si;
    (void)ctx;
    faults++;
    siglongjmp(out, sig);
}

static void close_pages(void)
{
    mprotect(pages + page, (size_t)page, PROT_NONE);
    mprotect(pages + 3 * page, (size_t)page, PROT_NONE);
}

/* Loads and stores around a faulting one, in one block. */
static NOINLINE uint32_t middle(volatile uint32_t *ok, volatile uint32_t *bad)
{
    uint32_t r = ok[0];

    ok[1] = r + 1;
    r += ok[2];
    bad[0] = r;
    ok[3] = r;
    r ^= bad[1];
    ok[4] = r;
    return r;
}

static NOINLINE uint32_t middle_load(volatile uint32_t *ok, volatile uint32_t *bad)
{
    uint32_t r = ok[0];

    ok[1] = r + 1;
    r += bad[2];
    ok[3] = r;
    return r;
}

static NOINLINE uint64_t unaligned(volatile uint8_t *p)
{
    uint64_t q;

    memcpy(&q, (void *)p, 8);
    q += 3;
    memcpy((void *)(p + 1), &q, 8);
    return q;
}

int main(void)
{
    volatile uint32_t *ok, *bad;

    page = sysconf(_SC_PAGESIZE);
    pages = map_pages((unsigned long)page * 4, PROT_READ | PROT_WRITE);
    for (long i = 0; i < 4 * page; i++) {
        pages[i] = (uint8_t)rnd();
    }
    ok = (uint32_t *)pages;
    bad = (uint32_t *)(pages + page);

    on_signal(SIGSEGV, repeat);
    on_signal(SIGBUS, repeat);
    for (int i = 0; i < 5; i++) {
        close_pages();
        mix(middle(ok + i, bad + i));
        close_pages();
        mix(middle_load(ok + i, bad + i));
        close_pages();
        mix(unaligned(pages + page - 4 - i % 4));
        close_pages();
        memcpy(pages + page - 100, pages + 2 * page, 200);
        memset(pages + 3 * page - 50, i, 100);
        close_pages();
        memmove(pages + 3 * page - 60, pages + page - 61, 120);
    }
    on_signal(SIGSEGV, leave);
    on_signal(SIGBUS, leave);
    for (volatile int i = 0; i < 5; i++) {
        int sig = sigsetjmp(out, 1);

        close_pages();
        if (sig == 0) {
            switch (i) {
            case 0:
                mix(middle(ok, bad));
                break;
            case 1:
                mix(middle_load(ok, bad));
                break;
            case 2:
                mix(unaligned(pages + page - 4));
                break;
            case 3:
                memcpy(pages + page - 100, pages + 2 * page, 200);
                break;
            default:
                mix(*(volatile uint32_t *)8);
            }
        }
        mix((uint64_t)sig);
    }
    on_signal(SIGILL, leave);
    on_signal(SIGTRAP, leave);
    on_signal(SIGFPE, leave);
    on_signal(SIGABRT, leave);
    if (sigsetjmp(out, 1) == 0) {
        __builtin_trap();
    }
    /* A call into a page that may not be executed. */
    if (sigsetjmp(out, 1) == 0) {
        ((void (*)(void))(pages + page))();
    }
#ifndef __hppa__ /* the kernel's gates are there; QEMU's log crashes on other addresses */
    if (sigsetjmp(out, 1) == 0) {
        ((void (*)(void))16)();
    }
#endif
    mix(faults);
    return finish("faults");
}
