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

/* Offsets in structures of a process's memory; see areas.c. */
typedef struct {
    bool tree;      /* areas are in a maple tree, not a list */
    uint32_t areas; /* in mm_struct: its root, or the first one */
    uint32_t exec_vm, start_code, start_stack, exe_file;
    uint32_t range_pivot, range_slot, arange_pivot, arange_slot;
    uint32_t vm_start, vm_end, vm_flags, vm_pgoff, vm_file, vm_next;
    uint32_t f_mnt, f_dentry, d_parent, d_name; /* d_name: of the text */
    uint32_t mnt_root, mount_mnt, mnt_parent, mnt_mountpoint;
} CannoliAreaLayout;

/* Of the kernel that runs, in bytes. */
typedef struct {
    uint32_t pid, tgid, comm; /* offsets in task_struct */
    int64_t current; /* x86: where the variable is, from the base of GS */
    bool has_areas;  /* the rest is known */
    uint32_t mm;     /* in task_struct */
    CannoliAreaLayout area;
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
#ifdef TARGET_ARM
/* Where a system like Linux runs: 2 if it is a hypervisor's host (VHE). */
int cannoli_kernel_el(CPUARMState *env);
#endif

/* NULL: it is not known. */
const CannoliTaskLayout *cannoli_task_layout(void);

/* n bytes of RAM at a physical address; NULL: that is not in RAM. */
const uint8_t *cannoli_ram_at(CPUState *cpu, uint64_t addr, unsigned n);

/*
 * The vCPU is back in user code of a process: records which files it has as
 * code now.  mm: of its task_struct; linear: the virtual minus the physical
 * address of that.
 */
void cannoli_areas(CPUState *cpu, uint32_t tgid, uint64_t mm, uint64_t linear);
void cannoli_areas_forget(void);

/* Searches RAM for a kernel's type information (btf.c). */
bool cannoli_btf_find(CannoliTaskLayout *to);

#endif
