/* SPDX-License-Identifier: MIT */
/* Shared by the parts of a stream: stream.c, stream_access.c and stream_regs.c read,
 * stream_queue.c hands over. */
#ifndef TRACEDIFF_STREAM_PRIV_H
#define TRACEDIFF_STREAM_PRIV_H

#include "stream.h"

#define STOP 1 /* result of a callback: the comparison needs no more */

/* An empty batch for what comes next; NULL: no memory. */
struct batch *stream_take_spare(struct stream *s);

/* stream_access.c: adds an access at a position of the batch; all accesses of a run that was
 * added, of whose instructions none is ignored.  0 or -CTR_E_NOMEM. */
int stream_add_access(struct batch *b, const struct ctr_access *a, uint32_t pos,
                      bool values);
int stream_add_accesses(const struct stream *s, struct batch *b, const struct ctr_run *r);

/* stream_regs.c: a callback of ctr_replay, after that of the run. */
int stream_on_reg(void *arg, struct ctr_job *job, const struct ctr_reg_change *r);

/* Hands s->batch over, if there is one, and waits while there are many; 0 or STOP. */
int stream_hand_over(struct stream *s);

#endif
