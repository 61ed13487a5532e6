/* SPDX-License-Identifier: MIT */
/*
 * The parts of tracedump: tracedump.c reads the command line, events.c prints
 * events, insntext.c keeps the text of instructions, info.c is --info.
 */
#ifndef TRACEDUMP_DUMP_H
#define TRACEDUMP_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/progress.h"
#include "common/textbuf.h"
#include "ctr.h"

#define PROG "tracedump"

/* What the user asked for. */
struct dump_options {
    const char *path;
    bool json, info, no_disas, no_index, quiet;
    bool color;
    unsigned jobs;
    uint32_t kinds; /* CTR_KIND_* to show */
    struct ctr_filter filter;
};

/* Positive values with which a callback stops ctr_replay. */
enum dump_stop {
    DUMP_STOP_EPIPE = 1,  /* nobody reads our output any more */
    DUMP_STOP_OUTPUT = 2, /* it cannot be written: errno in sys_errno */
    DUMP_STOP_NOMEM = 3,
};

/* Writes all of it to standard output; 0 or an enum dump_stop. */
int dump_write(const void *data, size_t n, int *sys_errno);

/*
 * Both print everything themselves and return an exit status, without the
 * verdict on the trace; DUMP_CUT_SHORT if the reader of the output went away.
 */
#define DUMP_CUT_SHORT (-1)
int dump_events(struct ctr_trace *tr, const struct dump_options *opt);
int dump_info(struct ctr_trace *tr, const struct dump_options *opt);

/* Says why a replay ended early; returns the exit status. */
int dump_replay_status(const struct dump_options *opt, int ret, int sys_errno,
                       const struct ctr_diag *diag);

/* ---------------------------------------------------------- text of blocks */

/*
 * The text of an instruction as it stands in every line for it, up to the
 * accesses.  In text form: pc, bytes, disassembly, and `pad' is the number of
 * blanks that bring it to the column of the accesses.  As JSON: the members
 * from "pc" on, of which the first pc_len bytes also serve for accesses.
 */
struct insn_text {
    uint32_t off; /* in block_text.text */
    uint16_t len;
    uint16_t pc_len;
    uint16_t pad;
};

struct block_text {
    char *text;
    struct insn_text insn[];
};

/*
 * A cache of them, for one worker.  Each worker has its own, so that nothing
 * is shared; when it has grown beyond a bound it starts afresh.
 */
struct insntext;

struct insntext *insntext_new(const struct ctr_info *info,
                              const struct dump_options *opt);
void insntext_free(struct insntext *t);

/* The text of a block, valid until the next call; NULL: no memory. */
const struct block_text *insntext_make(struct insntext *t, const struct ctr_block *b);

#endif
