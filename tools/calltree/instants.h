/* SPDX-License-Identifier: MIT */
/* The states at instructions of several threads. */
#ifndef TOOLS_INSTANTS_H
#define TOOLS_INSTANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"

/* An instruction of a thread. */
struct instant {
    uint32_t thread; /* index in the trace */
    uint64_t ordinal;
};

/* One whose state is wanted, and what for: the caller's. */
struct instant_wanted {
    struct instant at;
    void *to;
    bool flag;
};

/*
 * Calls `put' with the state at each of v[0..n-1], as of ctr_states, until it returns
 * nonzero; sorts v.  Returns that, 0, a negative CTR_E_* with *diag filled in, or no_memory.
 */
int instants_read(struct ctr_trace *tr, struct instant_wanted *v, size_t n,
                  int (*put)(void *arg, const struct instant_wanted *w,
                             const struct ctr_state_point *s),
                  void *arg, int no_memory, struct ctr_diag *diag);

#endif
