/* SPDX-License-Identifier: MIT */
/* Functions that are left other than at their end: longjmp, exit, signals. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf place;
static volatile int signals;

static void jump_out(int n)
{
    if (n > 2) {
        longjmp(place, n);
    }
    signals += 0;
}

static int deep(int n)
{
    int r = 0;
    if (n == 0) {
        jump_out(3);
        r = 1;
    } else {
        r = deep(n - 1);
        r++;
    }
    return r;
}

static int try_it(int n)
{
    volatile int before = 1;
    before++;
    int r = setjmp(place);
    if (r) {
        return r;
    }
    jump_out(n);
    deep(n + 2);
    return before;
}

static void handler(int number)
{
    signals++;
    (void)number;
}

static void at_the_end(void)
{
    printf("%d\n", signals);
}

static void fail(int status)
{
    if (status) {
        puts("leaving");
        exit(0);
    }
    puts("staying");
}

int main(void)
{
    int total = 0;
    atexit(at_the_end);
    for (int i = 0; i < 6; i++) {
        total += try_it(i);
    }
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    raise(SIGUSR1);
    printf("%d\n", total);
    fail(0);
    fail(total);
    puts("not reached");
    return 1;
}
