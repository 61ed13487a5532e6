/* SPDX-License-Identifier: MIT */
/* The priority of the local APIC's task, which is CR8 and a register of a device. */
#include "machine.h"
#include "x86.h"

void machine_main(void)
{
    volatile uint32_t *priority = (void *)(WINDOW + 200 * PAGE + 0x80);
    uint64_t sum = 0, cr8;

    map(200, (void *)APIC);
    for (uint64_t i = 0; i < 16; i++) {
        __asm__ volatile("movq %0, %%cr8" ::"r"(i));
        sum += *priority;
        *priority = (uint32_t)((15 - i) << 4);
        sum += sum_loop(3);
        __asm__ volatile("movq %%cr8, %0" : "=r"(cr8));
        sum += cr8;
    }
    put_number("priorities", sum);
    put("calls 1010\n");
}
