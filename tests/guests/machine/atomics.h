/* SPDX-License-Identifier: MIT */
/* What vcpus.h needs of machines whose compiler has it. */
#ifndef ATOMICS_H
#define ATOMICS_H

#include <stdint.h>

static inline uint32_t swap(uint32_t *cell, uint32_t value)
{
    return __atomic_exchange_n(cell, value, __ATOMIC_ACQUIRE);
}

static inline void release(uint32_t *cell)
{
    __atomic_store_n(cell, 0, __ATOMIC_RELEASE);
}

#endif
