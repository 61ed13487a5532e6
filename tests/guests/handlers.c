/* SPDX-License-Identifier: MIT */
/*
 * Signal handlers of every kind.  At the end each prints what it saw: "signal NUMBER
 * CODE 0xPC 0xADDR 0xHANDLER", with PC and ADDR from its frame; "return 0xPC" is where it
 * returned to.  A program that uses these numbers instead of times runs the
 * same each time except for the timer's place.
 */
#include "guest.h"

#include <errno.h>
#include <setjmp.h>
#include <sys/time.h>

#define MAX_SEEN 400

static struct seen {
    int signal, code;
    unsigned long pc, addr, handler;
} seen[MAX_SEEN];
static volatile int nseen;
static sigjmp_buf out;
static uint8_t *page;
static volatile int depth, deepest;
static int pipe_ends[2];
static char alternate[65536];

static void note(int sig, siginfo_t *si, ucontext_t *uc, unsigned long handler)
{
    struct seen *s = &seen[nseen++];

    s->signal = sig;
    s->code = si->si_code;
    s->pc = (unsigned long)UC_PC(uc);
    s->addr = sig == SIGSEGV || sig == SIGBUS ? (unsigned long)si->si_addr : 0;
    s->handler = handler;
}

static void returning(ucontext_t *uc)
{
    seen[nseen].signal = 0;
    seen[nseen++].pc = (unsigned long)UC_PC(uc);
}

static void plain(int sig, siginfo_t *si, void *ctx)
{
    note(sig, si, ctx, (unsigned long)plain);
    returning(ctx);
}

/* Raises the next signal inside itself, three deep. */
static void nested(int sig, siginfo_t *si, void *ctx)
{
    note(sig, si, ctx, (unsigned long)nested);
    depth++;
    deepest = depth > deepest ? depth : deepest;
    if (depth < 4) {
        raise(depth & 1 ? SIGUSR2 : SIGUSR1);
    }
    depth--;
    returning(ctx);
}

static void on_stack(int sig, siginfo_t *si, void *ctx)
{
    char here;

    note(sig, si, ctx, (unsigned long)on_stack);
    if (&here < alternate || &here >= alternate + sizeof(alternate)) {
        _exit(90);
    }
    returning(ctx);
}

static void leaves(int sig, siginfo_t *si, void *ctx)
{
    note(sig, si, ctx, (unsigned long)leaves);
    siglongjmp(out, 1);
}

/* Makes the faulting access possible: it runs again. */
static void mends(int sig, siginfo_t *si, void *ctx)
{
    note(sig, si, ctx, (unsigned long)mends);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    returning(ctx);
}

static void feeds(int sig, siginfo_t *si, void *ctx)
{
    note(sig, si, ctx, (unsigned long)feeds);
    if (write(pipe_ends[1], "x", 1) != 1) {
        _exit(91);
    }
    returning(ctx);
}

static void set(int sig, void (*f)(int, siginfo_t *, void *), int flags)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = f;
    sa.sa_flags = SA_SIGINFO | flags;
    sigaction(sig, &sa, NULL);
}

static void alarm_soon(void)
{
    struct itimerval it = {{0, 0}, {0, 20000}};

    setitimer(ITIMER_REAL, &it, NULL);
}

int main(void)
{
    stack_t ss = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    volatile int left = 0;
    char byte;

    set(SIGUSR1, plain, 0);
    for (int i = 0; i < 5; i++) {
        raise(SIGUSR1);
    }
    set(SIGUSR1, nested, SA_NODEFER);
    set(SIGUSR2, nested, SA_NODEFER);
    raise(SIGUSR1);
    sigaltstack(&ss, NULL);
    set(SIGUSR1, on_stack, SA_ONSTACK);
    raise(SIGUSR1);
    page = map_pages(4096, PROT_NONE);
    set(SIGSEGV, mends, SA_ONSTACK);
    page[100] = 7;
    mprotect(page, 4096, PROT_NONE);
    mix(page[100]);
    mprotect(page, 4096, PROT_NONE);
    set(SIGSEGV, leaves, SA_NODEFER);
    for (int i = 0; i < 3; i++) {
        if (sigsetjmp(out, 1) == 0) {
            mix(page[i]);
        } else {
            left++;
        }
    }
    /* a read that a signal interrupts: once restarted, once given up */
    if (pipe(pipe_ends)) {
        return 1;
    }
    set(SIGALRM, feeds, SA_RESTART);
    alarm_soon();
    if (read(pipe_ends[0], &byte, 1) != 1) {
        return 2;
    }
    set(SIGALRM, plain, 0);
    alarm_soon();
    if (read(pipe_ends[0], &byte, 1) != -1 || errno != EINTR) {
        return 3;
    }
    /* at any place of a computation */
    set(SIGALRM, plain, SA_RESTART);
    for (int before = nseen, i = 0; i < 3; before = nseen, i++) {
        alarm_soon();
        while (nseen == before) {
            mix(rnd());
        }
    }
    for (int i = 0; i < nseen; i++) {
        if (seen[i].signal) {
            printf("signal %d %d 0x%lx 0x%lx 0x%lx\n", seen[i].signal, seen[i].code,
                   seen[i].pc, seen[i].addr, seen[i].handler);
        } else {
            printf("return 0x%lx\n", seen[i].pc);
        }
    }
    return left == 3 && deepest == 4 ? 0 : 4;
}
