/* SPDX-License-Identifier: MIT */
/* Sums over the instructions of each thread, by which two executions are compared. */
#ifndef EXPAND_SUMS_H
#define EXPAND_SUMS_H

#include "common/progress.h"
#include "ctr.h"

/* Instructions that have one sum. */
#define SUM_INSNS ((uint64_t)1 << 16)

/*
 * Sum number i is of instructions i * SUM_INSNS on: of their addresses, bytes and order.  Two
 * executions with equal sums are taken for equal, as with other hashes of 64 bits.
 */
struct sums {
    _Atomic uint64_t *v;
    size_t *first; /* of each thread (index) in v; and where the last one ends */
};

/* Reads what all threads executed, with all processors: of each, instructions from an ordinal on
 * (to 0: all) up to another one; some more may be read.  0, or an error of libctr. */
int sums_make(struct sums *s, struct ctr_trace *tr, uint64_t from, uint64_t to,
              struct progress *progress, struct ctr_diag *diag);
void sums_free(struct sums *s);

#endif
