/* SPDX-License-Identifier: MIT */
/*
 * A run in lines that two witnesses of it can compare: for each 262,144 instructions their
 * order and what they loaded and stored, as hashes.
 *
 * Instructions that zero a cache line count without their store, which the plugin sees as a
 * store of each byte, or not at all.
 *
 * Of a pc only its place in the page of 4 KiB counts: a plugin of QEMU's is shown the
 * address that code was translated at, which is another one where the code is mapped twice.
 */
#ifndef TESTS_ORACLE_WINDOWS_H
#define TESTS_ORACLE_WINDOWS_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#define WINDOW_INSNS (1u << 18)

struct windows {
    FILE *out;
    uint64_t insns; /* of the run */
    uint64_t pcs, loads, stores;
    uint64_t nr_loads, nr_stores; /* of the window */
};

/* FNV-1a, a word at a time. */
static inline uint64_t window_hash(uint64_t h, uint64_t value)
{
    return (h ^ value) * UINT64_C(0x100000001b3) + 1;
}

static inline void window_end(struct windows *w)
{
    fprintf(w->out,
            "%" PRIu64 " %016" PRIx64 " %016" PRIx64 " %" PRIu64 " %016" PRIx64
            " %" PRIu64 "\n",
            w->insns, w->pcs, w->loads, w->nr_loads, w->stores, w->nr_stores);
    w->pcs = w->loads = w->stores = w->nr_loads = w->nr_stores = 0;
}

static inline void window_insn(struct windows *w, uint64_t pc)
{
    if (w->insns && w->insns % WINDOW_INSNS == 0) {
        window_end(w);
    }
    w->insns++;
    w->pcs = window_hash(w->pcs, pc & 4095);
}

static inline void window_access(struct windows *w, uint64_t addr, uint64_t size,
                                 int store)
{
    uint64_t *to = store ? &w->stores : &w->loads;

    *to = window_hash(window_hash(*to, addr), size);
    store ? w->nr_stores++ : w->nr_loads++;
}

#endif
