/*
 * Execution tracing into shared memory: what the parts in linux-user share
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An event is made in three steps: cannoli_event, cannoli_put*, and
 * cannoli_event_end.  Its payload is described in cannoli/events.h.
 */
#ifndef LINUX_USER_CANNOLI_EVENT_H
#define LINUX_USER_CANNOLI_EVENT_H

#include "qemu/bswap.h"
#include "user/abitypes.h"
#include "accel/tcg/cannoli/internal.h"

/* The most that a string of an event can be here. */
#define CANNOLI_MAX_STR PATH_MAX

static inline void cannoli_put32(uint8_t **p, uint32_t v)
{
    stl_le_p(*p, v);
    *p += 4;
}

static inline void cannoli_put64(uint8_t **p, uint64_t v)
{
    stq_le_p(*p, v);
    *p += 8;
}

static inline void cannoli_put_str(uint8_t **p, const void *s, size_t len)
{
    len = MIN(len, CANNOLI_MAX_STR);
    stw_le_p(*p, len);
    memcpy(*p + 2, s, len);
    *p += 2 + len;
}

/*
 * Copy n bytes of guest memory that may not be there: it may have been checked,
 * but other threads unmap and truncate.  Returns how many could be read.
 */
uint32_t cannoli_peek(void *to, abi_ulong addr, uint32_t n);

#endif
