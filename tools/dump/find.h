/* SPDX-License-Identifier: MIT */
/*
 * --find: where bytes were loaded, stored, read or written by the system.  Shared by
 * tracedump and tracesym.
 */
#ifndef TOOLS_FIND_H
#define TOOLS_FIND_H

#include "common/options.h"
#include "dump/dump.h"

enum {
    FIND_OPT_FIND = TOOL_OPT_LONG + 0x600,
    FIND_OPT_WITHIN,
};

/* Rows of a table of struct tool_option. */
#define FIND_OPTIONS                                                                        \
    {FIND_OPT_FIND, "find", "WHAT",                                                         \
     "where WHAT was loaded, stored, read or written: bytes in\nhexadecimal as in memory, " \
     "a string in double quotes, or\nTYPE:NUMBER, such as u32:7, i16:-1, f64:0.5"},         \
        {FIND_OPT_WITHIN, "within", "N",                                                    \
         "join pieces that are at most N instructions apart;\ndefault 65536"}

/* --find=WHAT: bytes in memory order, or in that of the target. */
#define FIND_PATTERN_MAX 256u
struct find_request {
    const char *text;                /* WHAT; NULL: no search */
    uint8_t bytes[FIND_PATTERN_MAX]; /* a number is little-endian */
    uint32_t n;
    bool number;      /* in the byte order of the target, */
    bool ordered;     /* or in this one: */
    bool big_endian;  /* the bytes must be reversed */
    bool has_within;  /* --within was given */
    uint64_t within;  /* instructions from a piece of it to the next, at most */
    const char *prog; /* for messages; set by find_finish */
};

/* TOOL_OTHER_GROUP: the key is not one of these. */
enum tool_parsed find_option(struct find_request *r, int key, const char *arg);

/* Completes the request for a search among CTR_KIND_* kinds, if there is one; TOOL_OK, or
 * TOOL_USAGE after a line on stderr. */
int find_finish(struct find_request *r, const char *prog, uint32_t kinds);

/* Prints each access, or call of the system, that brought the last byte of WHAT.  Returns as
 * dump_events; TOOL_NOTHING after a line on stderr if there is none. */
int dump_find(struct ctr_trace *tr, const struct dump_options *opt,
              const struct find_request *request);

#endif
