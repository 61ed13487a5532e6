/*
 * Execution tracing into shared memory: what else comes from outside
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * With CTR_EVENTS_INPUT a trace has all that the program needs to be executed
 * again (expand.c).  Beside what the system does, that is: the addresses at
 * which the loader places what has no fixed one, a seed for random numbers,
 * and what instructions that read clocks got.
 */
#include "qemu/osdep.h"
#include "qemu/guest-random.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu.h"
#include "user-internals.h"
#include "event.h"
#include "expand.h"

/* A thread leaves translated code when it has so many values of clocks, ... */
#define CLOCKS_ENOUGH 1024
/* ... which is before its next block. */
#define CLOCKS_MAX (CLOCKS_ENOUGH + CTR_MAX_BLOCK_INSNS)

struct CannoliClocks {
    uint32_t n;
    uint64_t value[CLOCKS_MAX];
};

bool cannoli_clocks;

/* What the loader has placed; more than any has. */
static uint64_t layout[64];
static uint32_t nr_layout;

static bool is_light(void)
{
    return cannoli_on && cannoli_ctl->events & CTR_EVENTS_INPUT;
}

/* Whether the user has given a seed, before or after the pipe. */
static bool seeded;

static void check_seed(void)
{
    if (seeded && cannoli_clocks) {
        error_report("cannoli: -seed cannot be given: --light draws one");
        exit(EXIT_FAILURE);
    }
}

void cannoli_light_seeded(void)
{
    seeded = true;
    check_seed();
}

void cannoli_light_open(void)
{
    g_autofree char *seed = NULL;
    uint64_t number = cannoli_ctl->random_seed;

    if (cannoli_ctl->inputs[0]) {
        number = cannoli_expand_open();
    } else if (!is_light()) {
        return;
    }
    cannoli_clocks = true;
    check_seed();
    seed = g_strdup_printf("%" PRIu64, number);
    qemu_guest_random_seed_main(seed, &error_abort);
}

void cannoli_light_placed(abi_ulong start)
{
    if (is_light() && nr_layout < ARRAY_SIZE(layout)) {
        layout[nr_layout++] = start;
    }
}

static void put_input(CPUState *cpu, uint32_t what, const uint64_t *value,
                      uint32_t n)
{
    uint8_t *p =
        cannoli_event(cpu, CTR_EVENT_INPUT, 4 + 4 + n * 8, cannoli_now());

    if (!p) {
        return;
    }
    cannoli_put32(&p, what);
    cannoli_put32(&p, n * 8);
    for (uint32_t i = 0; i < n; i++) {
        cannoli_put64(&p, value[i]);
    }
    cannoli_event_end(cpu, 4 + 4 + n * 8);
}

void cannoli_light_program(CPUState *cpu)
{
    if (is_light()) {
        put_input(cpu, CTR_INPUT_SEED, &cannoli_ctl->random_seed, 1);
        put_input(cpu, CTR_INPUT_LAYOUT, layout, nr_layout);
    }
}

/* ---- second results ---- */

target_ulong *cannoli_second_result(CPUState *cpu)
{
#if defined(TARGET_ALPHA)
    return &cpu_env(cpu)->ir[IR_A4];
#elif defined(TARGET_MIPS)
    return &cpu_env(cpu)->active_tc.gpr[3];
#elif defined(TARGET_SH4)
    return &cpu_env(cpu)->gregs[1];
#elif defined(TARGET_SPARC)
    return &cpu_env(cpu)->regwptr[1];
#else
    return NULL;
#endif
}

uint64_t cannoli_light_second(CPUState *cpu)
{
    const target_ulong *second = cannoli_second_result(cpu);

    return second ? *second : 0;
}

void cannoli_light_return(CPUState *cpu, uint64_t before)
{
    uint64_t now = cannoli_light_second(cpu);

    if (is_light() && now != before) {
        put_input(cpu, CTR_INPUT_SECOND, &now, 1);
    }
}

/* ---- clocks ---- */

uint64_t cannoli_clock(uint64_t value)
{
    CPUState *cpu = thread_cpu;
    CannoliThread *t = cpu ? cannoli_cpu(cpu)->thread : NULL;

    if (!t) {
        return value;
    }
    if (cannoli_expanding) {
        return cannoli_expand_clock(cpu);
    }
    if (!t->clocks) {
        t->clocks = cannoli_alloc(sizeof(*t->clocks));
    }
    g_assert(t->clocks->n < CLOCKS_MAX);
    t->clocks->value[t->clocks->n++] = value;
    if (t->clocks->n >= CLOCKS_ENOUGH) {
        cpu_exit(cpu);
    }
    return value;
}

void cannoli_light_clocks(CPUState *cpu)
{
    struct CannoliClocks *clocks = cannoli_cpu(cpu)->thread->clocks;

    if (clocks && clocks->n) {
        put_input(cpu, CTR_INPUT_CLOCK, clocks->value, clocks->n);
        clocks->n = 0;
    }
}
