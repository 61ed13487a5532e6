/* SPDX-License-Identifier: MIT */
/*
 * tracecov, first half: how often each instruction of each module ran, and which way its
 * branches went, added up over any number of traces.  Says nothing of source code
 * (report.h does).
 */
#ifndef TRACECOV_COVER_H
#define TRACECOV_COVER_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"
#include "symbols/places.h"

#define PROG "tracecov"

/* Counts of many traces may be more than 64 bits hold: then the largest number. */
static inline uint64_t sum_u64(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

/* An instruction that ran. */
struct cover_insn {
    uint64_t addr; /* vaddr of its module (offset where the module has no file) */
    uint64_t count;
    uint64_t taken, not_taken; /* conditional branch: which way; else 0.  Their sum is
                                  less than count where the way is not known */
    uint8_t len;
    uint8_t mode;      /* enum ctr_mode */
    uint16_t flags;    /* CANNOLI_INSN_* of cannoli/isa.h (BRANCH, COND, CALL, ...) */
    uint8_t bytes[16]; /* len of them */
};

/* A block that ran, as the JIT cut them: straight code from addr on. */
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
    /* segments it was mapped in, lowest first address (of the first trace that had
     * it): for formats that speak of loaded modules; load_vaddr is the vaddr of the
     * byte at load_start, so that an address of insns was at the guest's pc
     * load_start + (addr - load_vaddr).  All 0 if it is not known. */
    uint64_t load_start, load_end;
    uint64_t load_vaddr;
};

struct cover {
    struct modset *modset;
    struct cover_module *modules; /* those that code ran in, by index of module */
    size_t nr_modules;
    uint64_t total;     /* instructions executed that the filter selects */
    uint64_t elsewhere; /* of them in no file: code made at run time, vdso, ... */
    uint64_t traces;    /* read */
    bool branches;      /* which way branches went is known for all traces */
    bool once;          /* a trace was of a part, or told blocks once: counts are not
                           how often it ran */
    bool incomplete;    /* a trace has no end, is damaged, or was left out */
    uint32_t machine;   /* e_machine, endianness and word of the traces (all the same) */
    bool big_endian;
    uint8_t addr_bits;
    char target[32]; /* QEMU's name */
};

struct cover_filter {
    struct ctr_filter events; /* pids, tids, from, to */
    uint64_t from_ns, to_ns;  /* since the recording's start; to_ns 0: no end */
    unsigned jobs;
    bool no_index;
    bool quiet; /* no remarks */
};

int cover_new(struct cover **out, struct modset *modset);
void cover_free(struct cover *c);

/*
 * Adds a trace.  Uses the index's block counts where the filter needs no more and no
 * block's place depends on process or time; else replays runs in parallel.
 * A trace of another target than the first is refused.
 * Returns a TOOL_* status (common/options.h), having said on stderr what is wrong;
 * TOOL_PARTIAL if the trace is incomplete: what is there was added.
 */
int cover_add(struct cover *c, const char *path, const struct cover_filter *filter);

/* After the last trace: makes the arrays of the modules.  Returns 0 or -CTR_E_NOMEM. */
int cover_finish(struct cover *c);

#endif
