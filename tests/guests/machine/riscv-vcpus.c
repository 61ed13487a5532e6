/* SPDX-License-Identifier: MIT */
/*
 * What several vCPUs of riscv64 and riscv32 do together. It is no part of the machine's other
 * program, because without a timer one vCPU runs until it waits: where QEMU lets another one run
 * does not depend on how long its blocks are.
 */
#include "atomics.h"
#include "machine.h"

#define SOFTWARE_INTERRUPTS 0x02000000 /* of a hart each */

volatile uint8_t present[4]; /* harts */
void machine_off(void);

/* riscv32 adds to the low half, which has room for all. */
static void add(uint64_t *cell, uint64_t value)
{
    __atomic_fetch_add((uintptr_t *)cell, (uintptr_t)value, __ATOMIC_RELAXED);
}

/* An interrupt of this vCPU is pending. */
static void relax(void)
{
    __asm__ volatile("wfi" ::: "memory");
}

/* It waits in front of the code. */
static int start_vcpu(uintptr_t number, void (*code)(void))
{
    (void)code;
    if (!present[number]) {
        return 1;
    }
    *reg(SOFTWARE_INTERRUPTS + 4 * number) = 1;
    return 0;
}

#include "vcpus.h"

void machine_main(void)
{
    __asm__ volatile("csrsi sie, 2\n csrsi sip, 2"); /* SSIP stays pending */
    relax();                                         /* they say that they are there */
    put_number("vcpus", vcpus());
    put("calls 1010\n");
    machine_off();
}
