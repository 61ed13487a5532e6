/* SPDX-License-Identifier: MIT */
/*
 * A program that becomes a daemon: the first process ends at once, its
 * grandchild continues without a terminal and stores to a slot.  Recording ends
 * with the last process.
 */
#include "guest.h"

static volatile uint32_t slots[3];

static NOINLINE void touch(volatile uint32_t *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        *p = i;
    }
}

int main(void)
{
    touch(&slots[0], 11);
    printf("stores 0x%lx 11\nstores 0x%lx 22\nstores 0x%lx 33\nprocesses 3\n",
           (unsigned long)&slots[0], (unsigned long)&slots[1], (unsigned long)&slots[2]);
    fflush(stdout);
    if (fork()) {
        _exit(6);
    }
    setsid();
    touch(&slots[1], 22);
    if (fork()) {
        _exit(0);
    }
    chdir("/");
    close(0);
    close(1);
    close(2);
    usleep(150000);
    touch(&slots[2], 33);
    return 0;
}
