/* SPDX-License-Identifier: MIT */
/* For stack.c: the frames of --stack, one by one, as text or JSON. */
#ifndef TRACEDUMP_STACK_H
#define TRACEDUMP_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/textbuf.h"
#include "symbols/places.h"

/* By which a frame is known. */
#define STACK_STATE 1u /* the moment itself */
#define STACK_CFI 2u   /* call frame information */
#define STACK_CALLS 4u /* the calls that ran */

struct stack_frame {
    unsigned by; /* STACK_* */
    bool has_pc;
    bool after_call;  /* pc is after the call of the frame before */
    bool has_place;   /* place is of pc, or of the byte before it if after_call */
    uint64_t pc;      /* in memory */
    const char *name; /* of what has no place: a signal, a function; or NULL */
    bool is_signal;
    struct place place;
    uint64_t other_pc; /* what the other way has, if it differs; or 0 */
    const char *why; /* CALLS alone, where registers are known: why not by CFI; or NULL */
};

struct stack_printer {
    bool json;
    int digits;      /* of an address */
    unsigned number; /* of the next frame */
    const char *why; /* the last that was shown */
    struct textbuf out;
};

/* A frame, after those that the compiler inlined in it.  False: no memory. */
bool stack_put(struct stack_printer *p, const struct stack_frame *f);
/* The end of the walk, and why it is there; whole: nothing called the last frame. */
bool stack_put_end(struct stack_printer *p, const char *why, const char *more,
                   bool whole);

#endif
