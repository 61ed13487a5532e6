/* SPDX-License-Identifier: MIT */
/*
 * The parts of tracedump --histogram: hist.c chooses what to read, hist_count.c counts,
 * hist_names.c finds what the counts are of, hist_print.c prints, hist_table.c is their
 * hash table.
 */
#ifndef TRACEDUMP_HIST_H
#define TRACEDUMP_HIST_H

#include "guest/disas.h"
#include "tracedump.h"

/* -------------------------------------------------------------- hist_table.c */

/* n is of loads and stores, or n[0] of instructions; both 0: the entry is free. */
struct hist_entry {
    uint64_t a, b; /* the key */
    uint64_t n[2];
};

/* A hash table of counts; zeroed, it is empty. */
struct hist_table {
    struct hist_entry *v;
    size_t size; /* a power of two, or 0 */
    size_t used;
};

/* Adds a count above 0 to n[which] of a key; a sum stays at UINT64_MAX.  False: no
 * memory. */
bool hist_add(struct hist_table *t, uint64_t a, uint64_t b, unsigned which,
              uint64_t count);
bool hist_add_all(struct hist_table *to, const struct hist_table *from);
/* Moves the entries to the first `used' places: it is a table no more. */
void hist_compact(struct hist_table *t);
void hist_fini(struct hist_table *t);

/* -------------------------------------------------------------- hist_count.c */

/* A file at some address in memory: pc + bias is the vaddr.  module NULL: none. */
struct hist_site {
    const struct module *module;
    uint64_t bias;
};
#define HIST_SITE_ALWAYS 0u        /* the place of a pc is always the same */
#define HIST_SITE_MIXED UINT32_MAX /* the block is in several: counted where it ran */

/* What was executed: the key is a block and a site, and first and end of a run. */
#define HIST_RUN_A(id, site) ((uint64_t)(site) << 32 | (id))
#define HIST_RUN_B(first, end) ((uint64_t)(first) << 16 | (end))

struct hist_worker;

struct hist {
    const struct dump_options *opt;
    const struct places *places; /* NULL: no code is in a file */
    bool want[HIST_KINDS];
    bool sites;    /* function or module is wanted */
    bool insns;    /* they or mnemonics are */
    bool accesses; /* page or size is */
    bool narrow;   /* --pc or --addr: each instruction and access is looked at */
    bool unnamed;  /* Capstone does not know the target: no mnemonic has a name */
    bool ordered;  /* index counts do not suffice: instructions are counted by a replay */
    struct hist_table runs;
    struct hist_table by[HIST_KINDS];
    struct hist_site *site; /* from 1 */
    uint32_t nr_sites, cap_sites;
    char (*mnemonic)[DISAS_TEXT_MAX]; /* by number */
    uint32_t nr_mnemonics;
    struct progress progress;
};

/* 0, an enum dump_stop or an error of libctr.  hist_count_index leaves h->ordered set if
 * places depend on process or time. */
int hist_count_index(struct hist *h, struct ctr_trace *tr, struct ctr_diag *diag);
int hist_count_replay(struct hist *h, struct ctr_trace *tr, struct ctr_diag *diag);

/* -------------------------------------------------------------- hist_names.c */

/* Counts an instruction at a place (NULL: in no file) by function and by module; false:
 * no memory. */
bool hist_add_place(const struct hist *h, struct hist_table by[HIST_KINDS],
                    const struct place *at, uint64_t count);
/* Counts h->runs by mnemonic, function and module; returns as hist_count_index. */
int hist_name_runs(struct hist *h, struct ctr_trace *tr, struct ctr_diag *diag);

/* -------------------------------------------------------------- hist_print.c */

/* Appends one histogram, sorted; false: no memory. */
bool hist_print(struct textbuf *b, struct hist *h, enum hist_kind kind, uint64_t top);

#endif
