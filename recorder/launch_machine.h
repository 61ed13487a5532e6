/* SPDX-License-Identifier: MIT */
/* What the recorder has to know of a system emulator's arguments before it starts. */
#ifndef RECORDER_LAUNCH_MACHINE_H
#define RECORDER_LAUNCH_MACHINE_H

#include <stdbool.h>

/* Whether vCPUs may run in parallel: then what they do has no one order. */
bool launch_machine_parallel(char **command);

/* Whether the machine can run under KVM only, which QEMU says too late: it looks for firmware
 * of devices first.  False where another accelerator may be used, or none is named. */
bool launch_machine_kvm(char **command);

/* Whether QEMU's events say where page tables of users are (read_context in
 * qemu/system/cannoli/context.c).  target: as in qemu-system-TARGET. */
bool launch_machine_has_contexts(const char *target);

#endif
