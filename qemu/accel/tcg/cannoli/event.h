/*
 * Execution tracing into shared memory: how events are made
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An event is made in three steps: cannoli_event, cannoli_put*, and
 * cannoli_event_end.  Its payload is described in cannoli/events.h.
 */
#ifndef ACCEL_TCG_CANNOLI_EVENT_H
#define ACCEL_TCG_CANNOLI_EVENT_H

#include "qemu/bswap.h"
#include "internal.h"

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

#endif
