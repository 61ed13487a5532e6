/* SPDX-License-Identifier: MIT */
/*
 * The parts of tracedump: tracedump.c parses the command line, info.c is --info, state.c
 * is --state, stack.c and its parts are --stack, state_memory.c its --memory,
 * summary.c is --summary, hist.c and its parts are --histogram, places.c finds the files of modules.  dump/ prints
 * events.
 */
#ifndef TRACEDUMP_H
#define TRACEDUMP_H

#include "dump/dump.h"
#include "query/moment.h"

#define PROG "tracedump"

/* Each prints its output and returns the same as dump_events. */
int dump_info(struct ctr_trace *tr, const struct dump_options *opt);
int dump_state(struct ctr_trace *tr, const struct dump_options *opt,
               const struct ctr_moment *at);
/* The calls that the thread is in at the moment; opt->places has lines and frames. */
int dump_stack(struct ctr_trace *tr, const struct dump_options *opt,
               const struct ctr_moment *at);
/* The bytes of opt->filter's addrs at the moment.  The check, also of phys, comes first: TOOL_OK, or
 * TOOL_USAGE after a line on stderr if they are too many. */
int dump_memory_check(const struct ctr_trace *tr, const struct dump_options *opt);
int dump_memory(struct ctr_trace *tr, const struct dump_options *opt,
                const struct ctr_moment *at);
/* The same of its phys, of a machine's physical memory. */
int dump_physical(struct ctr_trace *tr, const struct dump_options *opt,
                  const struct ctr_moment *at);
int dump_summary(struct ctr_trace *tr, const struct dump_options *opt);

/* Opens the files that the trace names, for opt->places; TOOL_OK, or another status after
 * a message.  *places is NULL if no file is known. */
int open_places(struct modset **modset, struct places **places, struct ctr_trace *tr,
                const struct dump_options *opt, const struct modset_options *files);

/* The same with symbols (files->flags), for names. */
int open_symbols(struct modset **modset, struct places **places, struct ctr_trace *tr,
                 const struct dump_options *opt, const struct modset_options *files);

/* --histogram */
enum hist_kind {
    HIST_MNEMONIC,
    HIST_FUNCTION,
    HIST_MODULE,
    HIST_PAGE,
    HIST_SIZE,
    HIST_KINDS,
};
struct hist_request {
    enum hist_kind order[HIST_KINDS]; /* each at most once */
    unsigned n;                       /* 0: no histogram */
    uint64_t top;                     /* rows of each; 0: all */
};
extern const struct words hist_words; /* of the list */
bool hist_parse(struct hist_request *r, const char *list);
/* Whether one of them is of accesses. */
bool hist_of_accesses(const struct hist_request *r);
int dump_histogram(struct ctr_trace *tr, const struct dump_options *opt,
                   const struct hist_request *request,
                   const struct modset_options *files);

/* The group in which a register is shown: general, special, vector. */
#define REG_GROUPS 3u
unsigned reg_group(const struct ctr_reg *r);

/* "  0x1000-0x2000 r-x /bin/x+0x1000\n", and the members of such an object. */
bool put_mapping_text(struct textbuf *b, const struct ctr_mapping *m);
bool put_mapping_json(struct textbuf *b, const struct ctr_mapping *m);

#endif
