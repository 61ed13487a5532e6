/* SPDX-License-Identifier: MIT */
/*
 * Stacks to walk: recursion, inlined functions, frames of variable size, callbacks of the
 * C library, a signal handler.  With an argument it overwrites its return addresses instead,
 * with two it switches to another stack in the middle of a recursion.
 */
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static volatile int sink;

__attribute__((noinline)) static int leaf(int n)
{
    sink += n;
    return sink ^ n;
}

static inline __attribute__((always_inline)) int inner(int n)
{
    return leaf(n) + leaf(n + 1);
}

__attribute__((noinline)) static int recurse(int n)
{
    return n ? recurse(n - 1) + leaf(n) : inner(3);
}

__attribute__((noinline)) static int dynamic(int n)
{
    char *p = alloca((size_t)n * 3 + 1);

    memset(p, n, (size_t)n * 3 + 1);
    return recurse(n) + p[n] + leaf(p[n - 1]);
}

__attribute__((noinline)) static int floats(double x, int n)
{
    for (int i = 0; i < n; i++) {
        x = x * 1.5 + recurse(2);
    }
    return (int)x;
}

static void handler(int sig)
{
    sink += recurse(sig % 7);
}

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return leaf(x) == leaf(y) ? 0 : x - y;
}

__attribute__((noinline)) static void fill(volatile long *p, int n)
{
    while (n--) {
        *p++ = 0x1233;
    }
}

__attribute__((noinline)) static int overwritten(int n)
{
    volatile long v[2] = {n, n};

    fill(v, n);
    return (int)v[0] + sink;
}

static ucontext_t outside, inside;

__attribute__((noinline)) static int yield(int n)
{
    swapcontext(&inside, &outside);
    return n;
}

__attribute__((noinline)) static int nest(int n)
{
    int below = n ? nest(n - 1) : yield(1);

    return below + leaf(n);
}

static void coroutine(void)
{
    sink = nest(3) + nest(2);
}

__attribute__((noinline)) static int switched(void)
{
    static char stack[1 << 16];

    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof(stack);
    inside.uc_link = &outside;
    makecontext(&inside, coroutine, 0);
    for (int i = 0; i < 3; i++) {
        swapcontext(&outside, &inside);
        sink += recurse(1);
    }
    return sink & 3;
}

int main(int argc, char **argv)
{
    int v[9] = {5, 3, 8, 1, 9, 2, 7, 4, 6};

    if (argc > 2) {
        return switched();
    }
    if (argc > 1) {
        return overwritten(argc * 8) + 1;
    }
    signal(SIGUSR1, handler);
    printf("%d\n", dynamic(argc + 4));
    raise(SIGUSR1);
    qsort(v, 9, sizeof(v[0]), compare);
    printf("%d %d %s\n", v[0], floats(1.25, 3), argv[0]);
    return sink & 3;
}
