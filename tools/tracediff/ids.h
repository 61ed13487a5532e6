/* SPDX-License-Identifier: MIT */
/*
 * The numbers that the system gave to processes and threads: in two runs they differ, but
 * the third thread is the third one in both.
 */
#ifndef TRACEDIFF_IDS_H
#define TRACEDIFF_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"

struct ids {
    struct id {
        uint32_t id;
        uint32_t number; /* its place in the order of creation */
    } *v;
    uint32_t n;
};

/* False: no memory. */
bool ids_load(struct ids *ids, const struct ctr_trace *tr);
void ids_fini(struct ids *ids);

/* Whether both are ids, of threads or processes that correspond. */
bool ids_same(const struct ids *a, uint32_t id_a, const struct ids *b, uint32_t id_b);

#endif
