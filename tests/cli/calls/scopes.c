/* SPDX-License-Identifier: MIT */
/*
 * Variables for a debugger to compare with: names that blocks inside of others use again,
 * a pointer to a function; ended by a signal.
 */
#include <stdio.h>
#include <stdlib.h>

static volatile int *volatile nowhere;

__attribute__((noinline)) static int blocks(int n, const char *why)
{
    int (*compare)(const char *) = atoi;
    int x = 1;
    int counted[n];

    counted[n - 1] = 7;
    if (n) {
        volatile long x = 2;

        {
            const char *n = "inner", x = '3';

            *nowhere = n[0] + x;
        }
    }
    return x + n + counted[n - 1] + why[0] + compare(why);
}

int main(int argc, char **argv)
{
    printf("%d %s\n", blocks(argc + 3, "shadow"), argv[0]);
    return 0;
}
