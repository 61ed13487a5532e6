/*
 * Execution tracing into shared memory: which task of the guest's Linux runs
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A kernel has the address of the running task's task_struct (`current') in a
 * register, or x86 in a variable of the vCPU's own.  The block that changes it
 * requests an exit (task-gen.c), and what it is now is compared before the next
 * block.  Name and numbers are in the task_struct, where btf.c has found it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "exec/address-spaces.h"
#include "exec/exec-all.h"
#include "exec/tb-flush.h"
#include "hw/core/cpu.h"
#include "accel/tcg/cannoli/event.h"
#include "memory.h"
#include "task.h"
#ifdef TARGET_ARM
#include "internals.h"
#endif

#define MAX_PID (4u << 20) /* PID_MAX_LIMIT */

typedef struct CannoliTask {
    uint32_t serial; /* of the pipe */
    CannoliTaskNow now, recorded;
    /* Where they are in QEMU's memory, as of `generation' of its layout: */
    uint32_t generation;
    uint64_t task, base;
    const uint8_t *pid, *tgid, *comm, *current, *mm;
    uint64_t linear; /* virtual minus physical address of the task_struct */
    bool returns;    /* it was in the kernel: it may have other areas now */
} CannoliTask;

static CannoliTaskLayout layout;
static bool known;

/*
 * The kernel is searched for again after a while, less and less often, by one
 * vCPU at a time.
 */
static QemuMutex searching;
static uint64_t search_ns;
static unsigned searches;
#define SEARCHES  12
#define PAUSE_NS  (100 * 1000 * 1000ull)
#define PAUSE_PER 20 /* times what the search took */

static uint32_t generation; /* how often memory was changed */

const CannoliTaskLayout *cannoli_task_layout(void)
{
    return qatomic_load_acquire(&known) ? &layout : NULL;
}

/*
 * The register, if the vCPU executes a kernel's code after it has set it; 0: it
 * does not.  Addresses of a kernel are in the upper half.
 */
static uint64_t kernel_register(CPUState *cpu)
{
    uint64_t value = 0;
#if defined(TARGET_AARCH64)
    CPUARMState *env = cpu_env(cpu);
    int el = is_a64(env) ? arm_current_el(env) : 0;

    if (env->pstate & PSTATE_SP &&
        (el == 1 ? !(arm_hcr_el2_eff(env) & HCR_VM)
                 : el == 2 && arm_hcr_el2_eff(env) & HCR_E2H)) {
        value = env->sp_el[0];
    }
#elif defined(TARGET_RISCV64)
    CPURISCVState *env = cpu_env(cpu);

    /* User code leaves its kernel's value in sscratch, the kernel 0. */
    if (env->priv == PRV_S && !env->virt_enabled && !env->sscratch) {
        value = env->gpr[xTP];
    }
#elif defined(TARGET_X86_64)
    CPUX86State *env = cpu_env(cpu);

    if (!(env->hflags & (HF_CPL_MASK | HF_SMM_MASK)) &&
        env->hflags & HF_CS64_MASK) {
        value = env->segs[R_GS].base;
    }
#endif
    return (int64_t)value < 0 ? value : 0;
}

#ifdef TARGET_X86_64
/* Code that was translated before does not request exits, see task-gen.c. */
static void translate_anew(CPUState *cpu, run_on_cpu_data data)
{
    tb_flush(cpu);
}
#endif

static void __attribute__((constructor)) init_lock(void)
{
    qemu_mutex_init(&searching);
}

static void search_now(CPUState *cpu)
{
    uint64_t now = cannoli_now();

    if (known || searches == SEARCHES || now < search_ns) {
        return;
    }
    if (cannoli_btf_find(&layout)) {
        qatomic_store_release(&known, true);
#ifdef TARGET_X86_64
        async_safe_run_on_cpu(cpu, translate_anew, RUN_ON_CPU_NULL);
#endif
        searches = 0;
    } else {
        uint64_t took = cannoli_now() - now;

        search_ns = cannoli_now() +
                    (MAX(PAUSE_NS, took * PAUSE_PER) << MIN(searches, 6));
        searches++;
    }
}

static bool search(CPUState *cpu)
{
    if (!qatomic_load_acquire(&known) && !qemu_mutex_trylock(&searching)) {
        search_now(cpu);
        qemu_mutex_unlock(&searching);
    }
    return qatomic_load_acquire(&known);
}

/* -1: nowhere. */
static hwaddr phys_of(CPUState *cpu, uint64_t addr)
{
    MemTxAttrs attrs;
    hwaddr page =
        cpu_get_phys_page_attrs_debug(cpu, addr & TARGET_PAGE_MASK, &attrs);

    return page == -1 ? -1 : page | (addr & ~TARGET_PAGE_MASK);
}

const uint8_t *cannoli_ram_at(CPUState *cpu, uint64_t addr, unsigned n)
{
    hwaddr at, len = n;
    MemoryRegion *mr = address_space_translate(cpu->as, addr, &at, &len, false,
                                               MEMTXATTRS_UNSPECIFIED);

    return memory_region_is_ram(mr) && len == n
               ? (const uint8_t *)memory_region_get_ram_ptr(mr) + at
               : NULL;
}

/* Where n bytes of kernel memory are; NULL: nowhere, or not in RAM. */
static const uint8_t *host_of(CPUState *cpu, uint64_t addr, unsigned n)
{
    hwaddr phys = phys_of(cpu, addr);

    return phys == -1 ? NULL : cannoli_ram_at(cpu, phys, n);
}

/* `current'; 0: it is not known. */
static uint64_t current_of(CPUState *cpu, CannoliTask *t, uint64_t base)
{
#ifdef TARGET_X86_64
    if (base != t->base) {
        t->base = base;
        t->current = host_of(cpu, base + layout.current, 8);
    }
    if (!t->current) {
        t->base = 0;
        return 0;
    }
    return ldq_le_p(t->current);
#else
    return base;
#endif
}

static void read_task(CPUState *cpu, CannoliTask *t, uint64_t task)
{
    CannoliTaskNow now = { .task = task };

    if (task != t->task) {
        t->task = task;
        t->pid = host_of(cpu, task + layout.pid, 4);
        t->tgid = host_of(cpu, task + layout.tgid, 4);
        t->comm = host_of(cpu, task + layout.comm, CANNOLI_COMM_BYTES);
        t->mm = layout.has_areas ? host_of(cpu, task + layout.mm, 8) : NULL;
        t->linear = task - phys_of(cpu, task);
    }
    if (!t->pid || !t->tgid || !t->comm) {
        t->task = 0; /* as while the kernel uses the user's page table */
        return;
    }
    now.pid = ldl_le_p(t->pid);
    now.tgid = ldl_le_p(t->tgid);
    memcpy(now.comm, t->comm, CANNOLI_COMM_BYTES);
    if (now.pid <= MAX_PID && now.tgid <= MAX_PID &&
        memchr(now.comm, 0, CANNOLI_COMM_BYTES)) {
        t->now = now;
    }
}

static void put_task(CPUState *cpu, CannoliTask *t, const CannoliTaskNow *now)
{
    size_t len = strnlen(now->comm, CANNOLI_COMM_BYTES);
    uint32_t bytes = 2 * 4 + 8 + 2 + len;
    uint8_t *p = cannoli_event(cpu, CTR_EVENT_TASK, bytes, cannoli_now());

    if (p) {
        t->recorded = *now;
        cannoli_put32(&p, now->pid);
        cannoli_put32(&p, now->tgid);
        cannoli_put64(&p, now->task);
        cannoli_put_str(&p, now->comm, len);
        cannoli_event_end(cpu, bytes);
    }
}

static CannoliTask *task_of(CannoliThread *t)
{
    uint32_t now = qatomic_read(&generation);

    if (!t->task || t->task->serial != t->serial) {
        t->task = t->task ?: g_new(CannoliTask, 1);
        *t->task = (CannoliTask){ .serial = t->serial, .generation = now };
    } else if (t->task->generation != now) {
        t->task->generation = now;
        t->task->task = t->task->base = 0;
    }
    return t->task;
}

/* The vCPU was reset, or has another state: so may have all of them. */
static void forget(CPUState *cpu, CannoliTask *t)
{
    cannoli_cpu(cpu)->task_stale = false;
    t->task = t->base = 0;
    t->now = (CannoliTaskNow){ 0 };
    if (cpu == first_cpu) {
        QEMU_LOCK_GUARD(&searching);

        qatomic_set(&known, false);
        cannoli_areas_forget();
        searches = 0;
        search_ns = 0;
    }
}

/* What runs while nothing is recorded: the task is recorded again after it. */
#define NOT_RECORDED 1

static void put_if_new(CPUState *cpu, CannoliTask *t)
{
    if (!cannoli_cpu(cpu)->thread->gate.open) {
        t->recorded.task = t->recorded.task ? NOT_RECORDED : 0;
    } else if (memcmp(&t->now, &t->recorded, sizeof(t->now))) {
        put_task(cpu, t, &t->now);
    }
}

/*
 * While user code runs, nothing changes.  A task gets another name or number
 * within a system call: both are read again after each exception and return,
 * and before another task runs, so that where they change does not depend on
 * where chains of blocks end.
 */
static CannoliTask *look(CPUState *cpu)
{
    CannoliThread *thread = cannoli_cpu(cpu)->thread;
    CannoliTask *t = task_of(thread);
    uint64_t base, task = 0;

    if (cannoli_cpu(cpu)->task_stale) {
        forget(cpu, t);
    }
    base = kernel_register(cpu);
    if (base && search(cpu)) {
        task = current_of(cpu, t, base);
    }
    task = task ? task : t->now.task;
    if (t->task && (task != t->task || thread->look_again)) {
        read_task(cpu, t, t->task);
        put_if_new(cpu, t);
    }
    if (task != t->task && base) {
        read_task(cpu, t, task);
    }
    t->returns |= thread->look_again;
    thread->look_again = false;
    return t;
}

const CannoliTaskNow *cannoli_task_now(CPUState *cpu)
{
    return &look(cpu)->now;
}

static bool is_in_user_code(CPUState *cpu)
{
#if defined(TARGET_AARCH64)
    return arm_current_el(cpu_env(cpu)) == 0;
#elif defined(TARGET_RISCV64)
    return cpu_env(cpu)->priv == PRV_U && !cpu_env(cpu)->virt_enabled;
#elif defined(TARGET_X86_64)
    return (cpu_env(cpu)->hflags & HF_CPL_MASK) == 3;
#else
    return false;
#endif
}

void cannoli_task(CPUState *cpu)
{
    CannoliTask *t = CANNOLI_TASKS ? look(cpu) : NULL;
    uint64_t mm;

    if (!t) {
        return;
    }
    put_if_new(cpu, t);
    if (t->returns && t->task && t->mm && t->now.tgid &&
        cannoli_cpu(cpu)->thread->gate.open && is_in_user_code(cpu)) {
        t->returns = false;
        mm = ldq_le_p(t->mm);
        if (mm) {
            cannoli_areas(cpu, t->now.tgid, mm, t->linear);
        }
    }
}

/* Memory is not where it was. */
static void changed(MemoryListener *listener)
{
    qatomic_inc(&generation);
}

void cannoli_task_begin(void)
{
    static MemoryListener listener = {
        .name = "cannoli-tasks",
        .begin = changed,
    };

    if (CANNOLI_TASKS && cannoli_ctl->events & CTR_EVENTS_TASK) {
        bql_lock();
        memory_listener_register(&listener, &address_space_memory);
        bql_unlock();
    }
}
