/* SPDX-License-Identifier: MIT */
/*
 * What several vCPUs of x86_64 do together. The first one starts the others by INIT and SIPI:
 * they come from real mode, as it did. It is no part of the machine's other program, which has
 * no local APIC and whose timer interrupts it.
 */
#include "atomics.h"
#include "machine.h"
#include "x86.h"

#define INIT 0x4500
#define STARTUP 0x46f0 /* at 0xf0000: there, too, are the program's first bytes */

static void add(uint64_t *cell, uint64_t value)
{
    __atomic_fetch_add(cell, value, __ATOMIC_RELAXED);
}

static void relax(void)
{
    __asm__ volatile("pause");
}

/* The machine's CMOS memory has the number of the last vCPU. */
static uint8_t last_vcpu(void)
{
    out(0x70, 0x5f);
    return in(0x71);
}

/* The code is that which the program begins with; secondary() is where it leads to. */
static int start_vcpu(uintptr_t number, void (*code)(void))
{
    volatile uint32_t *command = (void *)(WINDOW + 200 * PAGE + 0x300);

    (void)code;
    if (number > last_vcpu()) {
        return 1;
    }
    command[4] = (uint32_t)number << 24;
    command[0] = INIT;
    command[4] = (uint32_t)number << 24;
    command[0] = STARTUP;
    return 0;
}

#include "vcpus.h"

void machine_main(void)
{
    map(200, (void *)APIC);
    put_number("vcpus", vcpus());
    put("calls 1010\n");
}
