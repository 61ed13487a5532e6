/* SPDX-License-Identifier: MIT */
/* Shared by the parts of a stream: stream.c and stream_regs.c read, stream_queue.c hands over. */
#ifndef TRACEDIFF_STREAM_PRIV_H
#define TRACEDIFF_STREAM_PRIV_H

#include "stream.h"

#define STOP 1 /* result of a callback: the comparison needs no more */

/* An empty batch for what comes next; NULL: no memory. */
struct batch *stream_take_spare(struct stream *s);

/* stream_regs.c: a callback of ctr_replay, after that of the run. */
int stream_on_reg(void *arg, struct ctr_job *job, const struct ctr_reg_change *r);

/* Hands s->batch over, if there is one, and waits while there are many; 0 or STOP. */
int stream_hand_over(struct stream *s);

#endif
