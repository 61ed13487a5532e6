/* SPDX-License-Identifier: MIT */
/*
 * What several vCPUs do together, as many as there are: they take turns with a lock and
 * count. The program that includes it has
 *   swap(cell, value)        an atomic swap
 *   release(cell)            stores 0, after all before
 *   add(cell, value)         an atomic addition
 *   relax()                  another vCPU runs, if there is one
 *   start_vcpu(number, code) 0 if there is such a vCPU
 *   secondary()              the code, which calls machine_secondary(number)
 */
#ifndef VCPUS_H
#define VCPUS_H

#include "machine.h"

#define MAX_VCPUS 4
#define ROUNDS 300

uint8_t stacks[MAX_VCPUS][4096] __attribute__((aligned(4096)));
void secondary(void);

static struct {
    uint32_t lock;
    uint64_t guarded, added, turns[MAX_VCPUS];
    uint64_t done;
} shared;

static void work(uintptr_t number)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        while (swap(&shared.lock, 1)) {
            relax();
        }
        shared.guarded += number + 1;
        shared.turns[number]++;
        if (i % 7 == number) { /* the next one runs, and waits for the lock */
            relax();
        }
        release(&shared.lock);
        add(&shared.added, i);
    }
    add(&shared.done, 1);
}

void machine_secondary(uintptr_t number)
{
    work(number);
}

static uintptr_t vcpus(void)
{
    uintptr_t n = 1;

    while (n < MAX_VCPUS && start_vcpu(n, secondary) == 0) {
        n++;
    }
    work(0);
    while (*(volatile uintptr_t *)&shared.done < n) {
        relax();
    }
    return (uintptr_t)shared.guarded * 1000 + (uintptr_t)shared.added % 1000;
}

#endif
