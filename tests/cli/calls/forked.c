/* SPDX-License-Identifier: MIT */
/* A child of fork is ended by a signal; what it was called by is its parent's. */
#include <sys/wait.h>
#include <unistd.h>

static volatile int *nowhere;

__attribute__((noipa)) void boom(int k)
{
    *nowhere = k;
}

__attribute__((noipa)) void work(int n)
{
    if (n > 3) {
        boom(n);
    }
    work(n + 1);
}

__attribute__((noipa)) int split(int n)
{
    int twice = 2 * n;

    if (!fork()) {
        work(n);
    }
    wait(NULL);
    return twice;
}

int main(void)
{
    return split(2) != 4;
}
