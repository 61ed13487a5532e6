/*
 * Execution tracing into shared memory: the hooks of system emulation
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * exec/cannoli.h explains hooks; those for translated code are there.
 */
#ifndef SYSTEM_CANNOLI_HOOKS_H
#define SYSTEM_CANNOLI_HOOKS_H

#include "exec/cannoli.h"

/* In conditions, which are not there when it is off: */
#ifdef CONFIG_USER_ONLY
#define cannoli_machine_on()       false
#define cannoli_refuse_mttcg(errp) false
#else
/* Is a machine recorded?  Then one host thread runs all vCPUs. */
#define cannoli_machine_on() cannoli_on
/* For accel's property thread=multi; sets errp and returns true if so. */
bool cannoli_refuse_mttcg(Error **errp);
#endif

#if defined(CONFIG_CANNOLI) && !defined(CONFIG_USER_ONLY)

/*
 * QEMU_CANNOLI of the environment: map what the recorder has laid out.  Before
 * TCG is initialised.
 */
void cannoli_open_machine(void);

/* An exception or an interrupt may be delivered now. */
void cannoli_interrupt(CPUState *cpu);

/* The vCPU is removed. */
#define cannoli_vcpu_end(cpu) cannoli_thread_end(cpu)

#else /* CONFIG_CANNOLI */

#define cannoli_open_machine()
#define cannoli_interrupt(cpu)
#define cannoli_vcpu_end(cpu)

#endif /* CONFIG_CANNOLI */

#endif
