/*
 * Execution tracing into shared memory: what the parts in linux-user share
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef LINUX_USER_CANNOLI_EVENT_H
#define LINUX_USER_CANNOLI_EVENT_H

#include "user/abitypes.h"
#include "accel/tcg/cannoli/event.h"

/*
 * Copy n bytes of guest memory that may not be there: it may have been checked,
 * but other threads unmap and truncate.  Returns how many could be read.
 */
uint32_t cannoli_peek(void *to, abi_ulong addr, uint32_t n);

#endif
