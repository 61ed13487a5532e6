/*
 * Execution tracing into shared memory: memory out of the guest's way
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * far.c explains it.
 */
#ifndef ACCEL_TCG_CANNOLI_FAR_H
#define ACCEL_TCG_CANNOLI_FAR_H

#include "internal.h"

/*
 * Map `bytes' out of the guest's way; MAP_FAILED with errno on failure.
 * Nothing can be accessed yet: a guest that locks all its memory must not bring
 * in all of ours.
 */
void *cannoli_map_far(size_t bytes, int flags, int fd);

/* RLIMIT_AS is set: reserved memory reduces what the guest can map. */
bool cannoli_address_space_is_limited(void);

/*
 * Between these two calls the kernel places mappings far away, too.  Under
 * mmap_lock, so that no guest thread maps anything meanwhile.
 */
void cannoli_crowd(void);
void cannoli_uncrowd(void);

/*
 * Not 0: this thread runs code of a library that chooses (or ours on its
 * behalf), and allocates from the separate heap.
 */
extern __thread int cannoli_apart;

/* Make that heap if it is possible, once, before the guest runs. */
void cannoli_heap_init(void);

/*
 * As mmap without an address, for such code, below the heap that ends there.
 */
void cannoli_far_zone(void *end);
void *cannoli_map_apart(size_t bytes, int prot, int flags, int fd,
                        off_t offset);

#endif
