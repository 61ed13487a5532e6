/* SPDX-License-Identifier: MIT */
/*
 * tracecov, first half: the count of each instruction of each module, and the ways of its
 * branches, added up over any number of traces.  Does not know source code (report.h
 * does).
 */
#ifndef TRACECOV_COVER_H
#define TRACECOV_COVER_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"
#include "query/filter_options.h"
#include "symbols/places.h"

#define PROG "tracecov"

/* Sums of many traces may exceed 64 bits: then the largest number. */
static inline uint64_t sum_u64(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

/* An instruction that ran. */
struct cover_insn {
    uint64_t addr; /* vaddr in its module (offset if the module has no file) */
    uint64_t count;
    uint64_t taken, not_taken; /* ways of a conditional branch, else 0.  Their sum is
                                  less than count if some ways are not known */
    uint8_t len;
    uint8_t mode;      /* enum ctr_mode */
    uint16_t flags;    /* CANNOLI_INSN_* of cannoli/isa.h (BRANCH, COND, CALL, ...) */
    uint8_t bytes[16]; /* the first len are used */
};

/* A block of the JIT that ran: straight code from addr on. */
struct cover_block {
    uint64_t addr;
    uint32_t bytes;
    uint32_t insns;
    uint64_t count; /* runs that began at its start */
};

struct cover_module {
    const struct module *module;
    struct cover_insn *insns; /* ascending by addr, then bytes */
    size_t nr_insns;
    struct cover_block *blocks; /* ascending by addr, then size */
    size_t nr_blocks;
    uint64_t total; /* instructions executed = sum of insns[].count */
    /* Lowest address and end of its mapped segments (in the first trace that had it),
     * for formats with loaded modules.  load_vaddr is the vaddr of the byte at
     * load_start, so the guest's pc of an address of insns is
     * load_start + (addr - load_vaddr).  All 0 if not known. */
    uint64_t load_start, load_end;
    uint64_t load_vaddr;
};

#define COVER_IDS 8
struct cover_ids {
    int32_t v[COVER_IDS]; /* the first ones */
    size_t n;             /* all */
    bool found;           /* the filter selects one of them */
};

struct cover {
    struct modset *modset;
    struct cover_module *modules; /* those with code that ran, by index of module */
    size_t nr_modules;
    uint64_t total;     /* instructions executed that the filter selects */
    uint64_t elsewhere; /* of these in no file: code made at run time, vdso, ... */
    /* That code, if cover_filter.elsewhere_code: addresses are the guest's, several
     * instructions at one if the code changed or processes differ.  module is NULL. */
    struct cover_module elsewhere_code;
    uint64_t traces;   /* number of traces read */
    uint64_t unmapped; /* of these recorded without mappings; the first one's path */
    const char *unmapped_path;
    bool system; /* traces of machines, which have no mappings */
    /* For messages: ids in the traces; the longest trace and thread. */
    struct cover_ids pids, tids;
    uint64_t longest_ns, most_insns;
    bool branches;    /* the ways of branches are known for all traces */
    bool once;        /* a trace has only a part of the run, or each block once:
                           counts are not those of the run */
    bool ran_only;    /* of a trace with --once or --coverage: counts are 0 or 1 */
    bool incomplete;  /* a trace has no end, is damaged, or was left out */
    uint32_t machine; /* e_machine, endianness and word of the traces (all the same) */
    bool big_endian;
    uint8_t addr_bits;
    char target[32]; /* QEMU's name */
};

/* A count as reports show it. */
static inline uint64_t cover_shown(const struct cover *c, uint64_t count)
{
    return c->ran_only && count ? 1 : count;
}

struct cover_filter {
    struct filter_options *options; /* what to count */
    struct ctr_filter events;       /* the same, in the trace that was added last */
    unsigned jobs;
    bool elsewhere_code; /* keep the code that is in no file, too */
    bool no_index;
    bool quiet; /* no remarks */
};

int cover_new(struct cover **out, struct modset *modset);
void cover_free(struct cover *c);

/*
 * Adds a trace.  Uses the index's block counts if they are enough for the filter and no
 * block's place depends on process or time; else replays runs in parallel.
 * Rejects a trace with another target than the first.
 * Returns a TOOL_* status (common/options.h), after a message on stderr if it failed;
 * TOOL_PARTIAL if the trace is incomplete: its existing part was added.  Sets
 * filter->events.
 */
int cover_add(struct cover *c, const char *path, struct cover_filter *filter);

/* Call after the last trace: makes the arrays of the modules.  Returns 0 or
 * -CTR_E_NOMEM. */
int cover_finish(struct cover *c);

#endif
