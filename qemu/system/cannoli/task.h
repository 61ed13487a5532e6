/*
 * Execution tracing into shared memory: tasks of the guest's Linux
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What task.c, task-gen.c and btf.c share.
 */
#ifndef SYSTEM_CANNOLI_TASK_H
#define SYSTEM_CANNOLI_TASK_H

#include "accel/tcg/cannoli/os.h"

/*
 * Targets whose kernels have what is needed: a register that has the address of
 * the task_struct, or of the vCPU's own variables.
 */
#if defined(TARGET_AARCH64) || defined(TARGET_X86_64) || defined(TARGET_RISCV64)
#define CANNOLI_TASKS 1
#else
#define CANNOLI_TASKS 0
#endif

/* Of the kernel that runs, in bytes. */
typedef struct {
    uint32_t pid, tgid, comm; /* offsets in task_struct */
    int64_t current; /* x86: where the variable is, from the base of GS */
} CannoliTaskLayout;

#define CANNOLI_COMM_BYTES 16

/* All 0: it is not known which one runs. */
typedef struct {
    uint32_t pid, tgid;
    uint64_t task;
    char comm[CANNOLI_COMM_BYTES];
} CannoliTaskNow;

/* The task that the vCPU runs; where the page table of user addresses is. */
const CannoliTaskNow *cannoli_task_now(CPUState *cpu);
uint64_t cannoli_page_table(CPUState *cpu);

/* NULL: it is not known. */
const CannoliTaskLayout *cannoli_task_layout(void);

/* Searches RAM for a kernel's type information (btf.c). */
bool cannoli_btf_find(CannoliTaskLayout *to);

#endif
