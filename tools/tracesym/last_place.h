/* SPDX-License-Identifier: MIT */
/* Whether what a signal ended was recorded up to its last instruction. */
#ifndef TRACESYM_LAST_PLACE_H
#define TRACESYM_LAST_PLACE_H

#include "ctr.h"

/*
 * Whether the thread was at another place when a fatal signal came than where its last
 * recorded instruction leaves it: code in between was not recorded.  Returns 1 with the
 * place, 0, or a negated CTR_E_*.  Files only.
 */
int last_place_unseen(struct ctr_trace *tr, const struct ctr_thread *t, uint64_t *pc,
                      struct ctr_diag *diag);

#endif
