/*
 * Execution tracing into shared memory: exceptions and interrupts
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SYSTEM_CANNOLI_INTERRUPT_H
#define SYSTEM_CANNOLI_INTERRUPT_H

#include "accel/tcg/cannoli/internal.h"

/* One that was delivered; the fields are those of CTR_EVENT_INTERRUPT. */
typedef struct {
    uint32_t flags, number;
    uint64_t syndrome, addr, from;
    bool none;    /* nothing was delivered */
    bool returns; /* it was a return */
} CannoliInterrupt;

/* A processor before the delivery. */
typedef struct {
    int index;      /* exception_index; negative: it may be an interrupt */
    uint64_t pc;    /* as blocks have it */
    uint64_t frame; /* cannoli_frame */
    unsigned privilege;
} CannoliBefore;

/* Cortex-M: where the running handler's stack ends; others: 0. */
uint64_t cannoli_frame(CPUState *cpu);

/*
 * What was delivered.  i->from is the pc before, or what
 * cannoli_interrupt_vector has noted, with the flags and numbers.
 */
void cannoli_describe(CPUState *cpu, const CannoliBefore *before,
                      CannoliInterrupt *i);

#endif
