/* SPDX-License-Identifier: MIT */
/*
 * The options that choose which events are printed and how, shared by all tools that
 * print events.  Used in the same way as query/filter_options.h.
 */
#ifndef TOOLS_DUMP_OPTIONS_H
#define TOOLS_DUMP_OPTIONS_H

#include "common/options.h"
#include "dump/dump.h"
#include "input/expansion.h"

enum {
    DUMP_OPT_JSON = TOOL_OPT_LONG + 0x300,
    DUMP_OPT_COLOR,
    DUMP_OPT_NO_INDEX,
    DUMP_OPT_READS,
    DUMP_OPT_WRITES,
    DUMP_OPT_STATISTICS,
    DUMP_OPT_NO_PAGER,
    DUMP_OPT_GROUP,
    DUMP_OPT_PHYS,
};

/* The words of --events. */
extern const struct words dump_event_words;

/* Rows of a table of struct tool_option. */
#define DUMP_OPTION_EVENTS(standard)                                                                \
    {'e', "events", "LIST",                                                                         \
     "exec, load, store, mem (both), val (their values), reg,\nsys, sig, map, thr, time, "          \
     "mark, all; of machines phys, int, ctx,\norder, pwr, ram, dma, io, task;\ndefault: " standard, \
     &dump_event_words}
#define DUMP_OPTIONS_ACCESSES                                                            \
    {DUMP_OPT_READS, "reads", NULL, "loads but no stores; alone same as -e load,val"},   \
        {DUMP_OPT_WRITES, "writes", NULL,                                                \
         "stores but no loads; alone same as -e store,val"}
#define DUMP_OPTIONS_HOW                                                                 \
    {'s', "strings", "N", "show N bytes of a system call's buffer; default 32"},         \
        {DUMP_OPT_GROUP, "group", NULL,                                                  \
         "show sys, map, thr, mark thread by thread, in chunks,\n"                       \
         "not in order of time"},                                                        \
        {DUMP_OPT_PHYS, "phys", NULL, "show physical addresses of accesses"},            \
        {DUMP_OPT_JSON, "json", NULL, "one JSON object per line"}
#define DUMP_OPTIONS_TERMINAL                                                            \
    {DUMP_OPT_COLOR, "color", "WHEN", "auto, always or never", &tool_color_words},       \
        {DUMP_OPT_NO_PAGER, "no-pager", NULL, "write to the terminal without a pager"},  \
        {'q', "quiet", NULL, "no progress, no remark on a partial trace"}
#define DUMP_OPTIONS_READ                                                                \
    {'j', "jobs", "N", "use N workers"},                                                 \
        {DUMP_OPT_NO_INDEX, "no-index", NULL,                                            \
         "read from start to end, without the index"},                                   \
        EXPANSION_OPTIONS,                                                               \
        {DUMP_OPT_STATISTICS, "statistics", NULL,                                        \
         "report how much of the file was read"}

/* The parsed options. */
struct dump_choice {
    struct dump_options opt;
    enum tool_color color;
    uint32_t accesses; /* CTR_KIND_LOAD, _STORE of --reads and --writes */
    struct expansion expansion;
    uint32_t needed; /* CTR_HAS_* of the kinds that options name */
};

/* Call before the first option. */
void dump_choice_init(struct dump_choice *c, const char *prog);

enum tool_parsed dump_choice_parse(struct dump_choice *c, int key, const char *arg);

/* Call after the last option; `kinds' is the default of --events, with values and times.
 * Returns TOOL_OK, or TOOL_USAGE after a line on stderr. */
int dump_choice_finish(struct dump_choice *c, uint32_t kinds);

/* dump_file with these options; the trace must have c->needed and `needed' (CTR_HAS_*), so that
 * c->opt.path becomes the one of its expansion if they are only there. */
int dump_choice_file(struct dump_choice *c, uint32_t needed,
                     int (*show)(struct ctr_trace *tr, void *arg), void *arg);

/* Call at the end. */
void dump_choice_fini(struct dump_choice *c);

#endif
