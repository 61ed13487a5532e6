/*
 * Execution tracing into shared memory: a machine's memory and devices
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SYSTEM_CANNOLI_MEMORY_H
#define SYSTEM_CANNOLI_MEMORY_H

#include "exec/memory.h"
#include "exec/ramblock.h"
#include "accel/tcg/cannoli/event.h"
#include "devices.h"

/* Bytes of memory in one event, so that it is not too long. */
#define CANNOLI_PIECE (CANNOLI_MAX_EVENT - 4096)

/* ---- turns.c: vCPUs and devices take turns ---- */

/* From here on this thread, which runs a vCPU now, waits for devices. */
void cannoli_turns_begin(void);
/* Lock it; no device waits for this thread meanwhile. */
void cannoli_turn_wait(QemuMutex *mutex);
/* Whether this thread runs vCPUs. */
bool cannoli_turns_mine(void);

/* ---- ram.c: where memory is, and what is in it ---- */

/* A part of a region, and the physical addresses that it is at. */
typedef struct {
    uint64_t addr, size, offset;
    MemoryRegion *mr;
    bool rom;  /* of memory: stores do not change it */
    bool port; /* of a device: they are numbers of ports */
} CannoliRange;

void cannoli_ram_begin(void);
/* All of it may have changed: a snapshot was loaded. */
void cannoli_ram_anew(void);
/*
 * A range that this byte is in, of memory, of devices; false: there is none.
 * Any thread.
 */
bool cannoli_ram_find(const MemoryRegion *mr, uint64_t offset,
                      CannoliRange *to);
bool cannoli_io_find(const MemoryRegion *mr, uint64_t offset, CannoliRange *to);
/* Events of what has changed there, if something has.  No vCPU runs. */
extern bool cannoli_ram_changed;
void cannoli_ram_report(CPUState *cpu);

/* ---- parallel.c: vCPUs that run in parallel ---- */

/* Whether they do. */
bool cannoli_parallel(void);
/*
 * cannoli_ram_report while no other vCPU runs.  A vCPU that is in cpu_exec
 * requests that, and leaves to the main loop.
 */
void cannoli_report_alone(CPUState *cpu);

/* ---- queue.c: events that wait for a vCPU to leave translated code ---- */

/*
 * Begin an event with a payload of n bytes, which follow; any thread.  The lock
 * is held until the end.
 */
uint8_t *cannoli_queue_event(uint32_t type, uint32_t n);
void cannoli_queue_end(void);
/* Forget those of this type. */
void cannoli_queue_drop(uint32_t type);
/* Something else is to be done before a vCPU goes on: cannoli_ram_report. */
void cannoli_queue_wake(void);
bool cannoli_queue_pending(void);

#endif
