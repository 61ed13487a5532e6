/* SPDX-License-Identifier: MIT */
/*
 * The parts of tracedump: tracedump.c parses the command line, info.c is --info, state.c
 * is --state, search.c is --last-write-before and similar, summary.c is --summary, hist.c
 * and its parts are --histogram, places.c finds the files of modules.  dump/ prints
 * events.
 */
#ifndef TRACEDUMP_H
#define TRACEDUMP_H

#include "dump/dump.h"

#define PROG "tracedump"

/* N/K: before instruction N of a thread */
struct position {
    bool given;
    uint64_t ordinal;
    uint32_t which; /* number among the selected threads, from 1; 0: the only one */
};

/* "N" or "N/K" */
bool position_parse(const char *text, struct position *position);

/* The thread of a position that is within it, or NULL after a message; `option' is for
 * messages. */
const struct ctr_thread *position_thread(const struct ctr_trace *tr,
                                         const struct dump_options *opt,
                                         const struct position *position,
                                         const char *option);

/* --last-write-before=N/K, ... */
struct search_request {
    const char *option; /* the option; NULL: no search */
    struct position position;
    bool back;
    uint32_t kind; /* CTR_KIND_LOAD or _STORE */
};

/* Each prints its output and returns the same as dump_events; dump_search returns
 * TOOL_NOTHING if it finds nothing. */
int dump_info(struct ctr_trace *tr, const struct dump_options *opt);
int dump_state(struct ctr_trace *tr, const struct dump_options *opt,
               const struct position *request);
int dump_search(struct ctr_trace *tr, const struct dump_options *opt,
                const struct search_request *request);
int dump_summary(struct ctr_trace *tr, const struct dump_options *opt);

/* Opens the files that the trace names, for opt->places; TOOL_OK, or another status after
 * a message.  *places is NULL if no file is known. */
int open_places(struct modset **modset, struct places **places, struct ctr_trace *tr,
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
