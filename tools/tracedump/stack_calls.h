/* SPDX-License-Identifier: MIT */
/* For stack.c: the frames of a moment by the calls that ran, and whether another way to find
 * them agrees. */
#ifndef TRACEDUMP_STACK_CALLS_H
#define TRACEDUMP_STACK_CALLS_H

#include "calltree/frames.h"
#include "calltree/known.h"
#include "dump/dump.h"
#include "state/unwind.h"

struct stack_calls {
    struct ctr_trace *tr;
    const struct call_printer *printer;
    char why[CALLS_WHY]; /* why there are none; "": there are */
    struct call_frames frames;
    /* of the instruction that each is at; 0: not known */
    uint64_t *pc;
    uint64_t *cfa; /* what the address (CFA) of the frame that it calls is there */
    struct ctr_diag *diag;
    int error; /* of libctr, of any of these functions */
};

/* Finds them; a TOOL_* status, after a message if it is not TOOL_OK.  c->tr, printer and
 * diag are set. */
int stack_calls_open(struct stack_calls *c, const struct dump_options *opt,
                     const struct ctr_moment *at);
void stack_calls_close(struct stack_calls *c);

const struct call_function *stack_calls_function(const struct stack_calls *c, uint32_t i);
/* Whether frame i is of a signal, an exception or an interrupt. */
bool stack_calls_interrupts(const struct stack_calls *c, uint32_t i);
/* Where frame i goes on: after the call of the next one, or where that interrupted it.  0:
 * not known. */
uint64_t stack_calls_return(struct stack_calls *c, uint32_t i);
/* Whether a frame that was found by rules is frame i. */
bool stack_calls_agree(struct stack_calls *c, uint32_t i, const struct unwind_frame *f);
/* Whether it is where frame i was on the stack when that called; true if that is not
 * known. */
bool stack_calls_same_place(const struct stack_calls *c, uint32_t i,
                            const struct unwind_frame *f);

#endif
