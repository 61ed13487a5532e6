/* SPDX-License-Identifier: MIT */
/* Sessions of tracegdb with a gdb whose input is known before (talk.c). */
#ifndef FUZZ_TALK_H
#define FUZZ_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracegdb/session.h"

/* What a gdb sends: zeroed at first; free(p). */
struct talk {
    uint8_t *p;
    size_t n, cap;
    bool no_ack; /* packets have no acknowledgement after them */
};

void talk_byte(struct talk *t, int c);
/* A packet with a right sum. */
__attribute__((format(printf, 2, 3))) void talk_packet(struct talk *t, const char *fmt,
                                                       ...);
/* Several, up to a NULL. */
void talk_packets(struct talk *t, const char *const *packets);
/* "monitor COMMAND" */
void talk_monitor(struct talk *t, const char *command);
/* Up to the first stop, as gdb does it; without acknowledgements from there on. */
void talk_connect(struct talk *t);

/* A session on a trace from the begin of its first thread with instructions, with all of the
 * input; checks that the answers are packets of the protocol.  `places' may be NULL. */
void talk_serve(struct ctr_trace *tr, const struct places *places, const uint8_t *data,
                size_t n);

#endif
