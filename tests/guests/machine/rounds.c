/* SPDX-License-Identifier: MIT */
/*
 * A machine's program that counts for ever, for what happens to a machine from outside. Its
 * start, vectors and console are those of the machine's other program.
 */
#include "machine.h"

volatile uintptr_t rounds;

static __attribute__((noinline)) void one_round(uintptr_t n)
{
    sum_loop(40);
    rounds = n;
}

void machine_main(void)
{
    for (uintptr_t n = 1;; n++) {
        one_round(n);
    }
}
