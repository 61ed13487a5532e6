/* SPDX-License-Identifier: MIT */
/* Loops of every kind, one statement a line. */
#include <stdio.h>

static int sum_for(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        s += i;
    }
    return s;
}

static int sum_while(int n)
{
    int s = 0;
    while (n > 0) {
        s += n;
        n--;
    }
    return s;
}

static int sum_do(int n)
{
    int s = 0;
    do {
        s += n;
        n--;
    } while (n > 0);
    return s;
}

static int first_multiple(int n, int limit)
{
    int i;
    for (i = 1; i < limit; i++) {
        if (i % n == 0) {
            break;
        }
    }
    return i;
}

static int odd_sum(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (i % 2 == 0) {
            continue;
        }
        s += i;
    }
    return s;
}

static int nested(int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        for (int j = i; j < n; j++) {
            count++;
        }
    }
    return count;
}

static int endless(int n)
{
    int turns = 0;
    for (;;) {
        turns++;
        if (turns > n) {
            break;
        }
    }
    return turns;
}

static int starts_with_loop(int n) /* gcov: its block is that of the loop */
{
    do {
        n -= 3;
    } while (n > 0);
    return n;
}

static int backwards(int n)
{
    int s = 0;
again:
    s += n;
    n--;
    if (n > 0) {
        goto again;
    }
    return s;
}

static void countdown(int n)
{
    while (n--) {
        if (n == 1000) {
            puts("never");
        }
    }
}

static int empty_body(const char *s)
{
    int n = 0;
    while (s[n]) {
        n++;
    }
    return n;
}

static int one_line(int n)
{
    int i = 0;
    /* clang-format off */
    while (i < n) i++;
    for (int j = 0; j < n; j++);
    /* clang-format on */
    return i;
}

static int never_called(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (i & 1) {
            s++;
        }
    }
    return s;
}

int main(int argc, char **argv)
{
    int total = 0;
    (void)argv;
    total += sum_for(10);
    total += sum_for(0);
    total += sum_while(7);
    total += sum_while(-1);
    total += sum_do(5);
    total += sum_do(-5);
    total += first_multiple(7, 100);
    total += first_multiple(200, 100);
    total += odd_sum(9);
    total += nested(6);
    total += endless(12);
    total += starts_with_loop(11);
    total += backwards(8);
    countdown(4);
    total += empty_body("thirteen");
    total += one_line(5);
    if (argc > 100) {
        total += never_called(argc);
    }
    printf("%d\n", total);
    return 0;
}
