/*
 * Execution tracing into shared memory: what the guest requests
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ACCEL_TCG_CANNOLI_GUEST_H
#define ACCEL_TCG_CANNOLI_GUEST_H

/*
 * Does what a thread that is attached requests (cannoli/guest.h), outside of
 * translated code; 0 or more, or a negated errno of the host.
 */
int64_t cannoli_guest_request(CPUState *cpu, uint64_t op,
                              const uint64_t args[4]);

#endif
