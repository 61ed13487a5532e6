/* SPDX-License-Identifier: MIT */
/*
 * A machine's program that controls its recording (cannoli/guest.h). Its start, vectors and
 * console are those of the machine's other program.
 */
#include "machine.h"
#include "../../../include/cannoli/guest.h"

volatile uint64_t cells[16];

void machine_off(void);

__attribute__((noinline)) void not_recorded(void)
{
    for (unsigned i = 0; i < 1000; i++) {
        cells[i % 16] += i;
    }
}

__attribute__((noinline)) void recorded(void)
{
    for (unsigned i = 0; i < 1000; i++) {
        cells[i % 16] ^= i;
    }
}

void machine_main(void)
{
    put_number("recorded", (uint64_t)(cannoli_status() + 1));
    cannoli_mark("begin, \"of\" it", 12345);
    cannoli_label(cells, sizeof(cells), "uint64_t [16]", "cells");
    cannoli_pause(CANNOLI_THREAD);
    not_recorded();
    cannoli_mark("in between", ~0ul);
    put_number("paused", (uint64_t)(cannoli_status() + 1));
    cannoli_resume(CANNOLI_THREAD);
    recorded();
    cannoli_pause(CANNOLI_PROCESS);
    not_recorded();
    cannoli_resume(CANNOLI_PROCESS);
    cannoli_unlabel(cells);
    put_number("wrong", cannoli_guest_call(99, 0, 0, 0, 0) < 0);
    put_number("no scope", cannoli_pause(7) < 0);
    cannoli_mark("end", 0);
    put("calls 1010\n");
    machine_off();
}
