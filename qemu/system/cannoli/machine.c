/*
 * Execution tracing into shared memory: machines
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A machine is recorded as one process whose threads are its vCPUs.  A vCPU is
 * attached when it runs first and detached when the machine ends.  With one
 * host thread for all vCPUs, which is the default of a recording, they run one
 * after the other, and what they do has one order; parallel.c is about others.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/lockable.h"
#include "cpu.h"
#include "elf.h"
#include "exec/cpu-common.h"
#include "exec/translation-block.h"
#include "hw/boards.h"
#include "hw/core/cpu.h"
#include "system/runstate.h"
#include "accel/tcg/cannoli/event.h"
#include "accel/tcg/cannoli/regs.h"
#include "cannoli/jitter.h"
#include "hooks.h"
#include "memory.h"

#if defined(TARGET_AARCH64)
#define MACHINE EM_AARCH64
#elif defined(TARGET_ARM)
#define MACHINE EM_ARM
#elif defined(TARGET_X86_64)
#define MACHINE EM_X86_64
#elif defined(TARGET_I386)
#define MACHINE EM_386
#elif defined(TARGET_RISCV)
#define MACHINE EM_RISCV
#elif defined(TARGET_MIPS)
#define MACHINE EM_MIPS
#elif defined(TARGET_PPC64)
#define MACHINE EM_PPC64
#elif defined(TARGET_PPC)
#define MACHINE EM_PPC
#elif defined(TARGET_S390X)
#define MACHINE EM_S390
#elif defined(TARGET_ALPHA)
#define MACHINE EM_ALPHA
#elif defined(TARGET_HPPA)
#define MACHINE EM_PARISC
#elif defined(TARGET_LOONGARCH64)
#define MACHINE EM_LOONGARCH
#elif defined(TARGET_M68K)
#define MACHINE EM_68K
#elif defined(TARGET_SH4)
#define MACHINE EM_SH
#elif defined(TARGET_SPARC64)
#define MACHINE EM_SPARCV9
#elif defined(TARGET_SPARC)
#define MACHINE EM_SPARC
#else
#define MACHINE EM_NONE
#endif

unsigned cannoli_elf_machine = MACHINE;
bool cannoli_modules_on;
uint64_t cannoli_modules_generation;

/* ---- begin and end ---- */

void cannoli_open_machine(void)
{
    const char *arg = getenv("QEMU_CANNOLI");

    if (arg) {
        cannoli_parse(arg);
    }
}

/* It runs on no other thread than this one. */
static bool is_at_rest(CPUState *cpu)
{
    return cpu_is_stopped(cpu) ||
           (cannoli_parallel() ? cpu == current_cpu : current_cpu != NULL);
}

/*
 * QEMU ends.  If not all vCPUs stand still, the recorder saves what they have
 * as it does of a process that was killed.
 */
static void end_machine(int status, void *pid)
{
    CPUState *cpu;

    /* Not in a process that QEMU has forked */
    if (getpid() != GPOINTER_TO_INT(pid)) {
        return;
    }
    CPU_FOREACH (cpu) {
        const CannoliThread *t = cannoli_cpu(cpu)->thread;

        if (t && (t->running || !is_at_rest(cpu))) {
            return;
        }
    }
    CPU_FOREACH (cpu) {
        if (cannoli_cpu(cpu)->thread) {
            cannoli_queue_enter(cpu);
        }
        cannoli_process_end(cpu, status, false);
    }
}

/* ---- vCPUs that share no translations ---- */

bool cannoli_vcpus_split;

/*
 * A translation is of one cluster of vCPUs: QEMU looks it up by the cluster's
 * number, too, which is nothing but a number there.  Two vCPUs of different
 * clusters do not get the same one by this, either.
 */
static uint32_t with_vcpu(uint32_t cflags, const CPUState *cpu)
{
    return (cflags & ~CF_CLUSTER_MASK) | cpu->cpu_index << CF_CLUSTER_SHIFT;
}

static void split(CPUState *cpu)
{
    cpu->tcg_cflags = with_vcpu(cpu->tcg_cflags, cpu);
    if (cpu->cflags_next_tb != -1) {
        cpu->cflags_next_tb = with_vcpu(cpu->cflags_next_tb, cpu);
    }
}

/* No vCPU runs: this one is the first of all, or the others are stopped. */
bool cannoli_split_vcpus(void)
{
    CPUState *cpu;

    if (current_machine->smp.max_cpus > 256) {
        return false;
    }
    CPU_FOREACH (cpu) {
        split(cpu);
    }
    cannoli_vcpus_split = true;
    return true;
}

static QemuMutex attaching;

static void __attribute__((constructor)) init_lock(void)
{
    qemu_mutex_init(&attaching);
}

void cannoli_vcpu_end(CPUState *cpu)
{
    if (cannoli_cpu(cpu)->thread) {
        cannoli_queue_enter(cpu);
    }
    cannoli_thread_end(cpu);
}

/* A vCPU runs for the first time. */
bool cannoli_attach_late(CPUState *cpu)
{
    static bool started;

    if (!cannoli_on) {
        return false;
    }
    /* Definitions have addresses, not distances. */
    cpu->tcg_cflags &= ~CF_PCREL;
    QEMU_LOCK_GUARD(&attaching);
    if (cannoli_vcpus_split) {
        split(cpu);
    }
    cannoli_devices_begin();
    if (!started) {
        cannoli_task_begin();
    }
    if (started) {
        cannoli_thread_start(cpu);
    } else {
        started = true;
        cannoli_start(cpu);
        on_exit(end_machine, GINT_TO_POINTER(getpid()));
    }
    return true;
}

/* ---- what accel/tcg/cannoli/os.h declares ---- */

static void add_arguments(void)
{
    g_autofree char *text = NULL;
    gsize size;

    if (g_file_get_contents("/proc/self/cmdline", &text, &size, NULL)) {
        for (gsize at = 0; at < size; at += strlen(text + at) + 1) {
            cannoli_add_argument(text + at);
        }
    }
}

void cannoli_program(CPUState *cpu)
{
    add_arguments();
    cannoli_thread_event(cpu, CTR_THREAD_START, 0, 0, NULL);
}

int cannoli_thread_id(CPUState *cpu)
{
    return getpid() + cpu->cpu_index;
}

void cannoli_thread_name(CPUState *cpu, char name[16])
{
    snprintf(name, 16, "cpu%d", cpu->cpu_index);
}

void cannoli_maps_initial(CPUState *cpu, bool new_program)
{
}

bool cannoli_module_at(uint64_t addr, struct cannoli_module *to)
{
    return false;
}

size_t cannoli_read_guest(void *to, uint64_t addr, size_t n)
{
    return cpu_memory_rw_debug(current_cpu ? current_cpu : first_cpu, addr, to,
                               n, false)
               ? 0
               : n;
}

const char *cannoli_program_path(void)
{
    return "";
}

void cannoli_hold_threads(bool hold)
{
}

uint64_t cannoli_stack_pointer(CPUState *cpu)
{
    intptr_t off = cannoli_stack_pointer_off();

    return off < 0 ? 0
                   : *(const target_ulong *)((const char *)cpu_env(cpu) + off);
}

bool cannoli_tree_elsewhere(CPUState *cpu, uint64_t tree_sp)
{
    return false;
}
