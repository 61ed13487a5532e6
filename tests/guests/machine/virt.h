/* SPDX-License-Identifier: MIT */
/* Devices of arm's -M virt: the serial port and the interrupt controller. */
#ifndef VIRT_H
#define VIRT_H

#include "machine.h"

#define GICD 0x08000000ul
#define GICC 0x08010000ul
#define TIMER_IRQ 27 /* of the virtual timer */

void machine_put(char c)
{
    while (*reg(0x09000018) & 0x20) {
    }
    *reg(0x09000000) = (uint8_t)c;
}

/* control: 1 for IRQ, 9 for FIQ */
static void gic_start(uint32_t control)
{
    *reg(GICD) = 1;
    *reg(GICD + 0x100) = 1u << TIMER_IRQ;
    *reg(GICC + 4) = 0xff;
    *reg(GICC) = control;
}

/* The number of the interrupt, which gic_end() gets. */
static uint32_t gic_begin(void)
{
    return *reg(GICC + 0xc);
}

static void gic_end(uint32_t number)
{
    *reg(GICC + 0x10) = number;
}

#endif
