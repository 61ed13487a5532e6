/* SPDX-License-Identifier: MIT */
/*
 * The parts of tracedump: tracedump.c reads the command line, info.c is --info, state.c is
 * --state; events are printed by dump/.
 */
#ifndef TRACEDUMP_H
#define TRACEDUMP_H

#include "dump/dump.h"

#define PROG "tracedump"

/* --state=N/K */
struct state_request {
    bool given;
    uint64_t ordinal;
    uint32_t which; /* number of the thread among those selected, 0: the only one */
};

/* Both print everything themselves and return what dump_events does. */
int dump_info(struct ctr_trace *tr, const struct dump_options *opt);
int dump_state(struct ctr_trace *tr, const struct dump_options *opt,
               const struct state_request *request);

/* The group in which a register is shown: general, special, vector. */
#define REG_GROUPS 3u
unsigned reg_group(const struct ctr_reg *r);

/* "  0x1000-0x2000 r-x /bin/x+0x1000\n", and the members of such an object. */
bool put_mapping_text(struct textbuf *b, const struct ctr_mapping *m);
bool put_mapping_json(struct textbuf *b, const struct ctr_mapping *m);

#endif
