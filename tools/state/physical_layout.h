/* SPDX-License-Identifier: MIT */
/*
 * For physical.h: where a machine's RAM was up to a moment, and what describes its contents.
 * RAM is in blocks, whose bytes can be at several addresses, and at others later.
 */
#ifndef TOOLS_PHYSICAL_LAYOUT_H
#define TOOLS_PHYSICAL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"

/* A place in the order of all vCPUs. */
struct physical_place {
    uint64_t slice_ns; /* when the slice was begun; 0: the first, or the only one */
    uint64_t step;     /* twice the ordinal, and 1 more of what the instruction did */
};

static inline int physical_place_cmp(const struct physical_place *a,
                                     const struct physical_place *b)
{
    return a->slice_ns != b->slice_ns ? (a->slice_ns < b->slice_ns ? -1 : 1)
                                      : (a->step > b->step) - (a->step < b->step);
}

/* Bytes of a block at an address, from a place on, up to another one. */
struct physical_range {
    uint64_t addr, size, offset;
    uint32_t block;
    bool rom; /* stores do not change it */
    struct physical_place from, until;
    uint64_t from_ns, until_ns; /* the same as times; UINT64_MAX: to the moment */
};

/* What some memory held when it was described: an event RAM. */
struct physical_contents {
    uint64_t addr, size;
    uint64_t from; /* SAME: where the same is */
    uint64_t ordinal, time_ns;
    struct physical_place place;
    uint32_t thread;
    uint32_t number; /* among the RAM events at its place, from 0 */
    uint32_t n;      /* bytes that the event has; the others are `fill' */
    uint8_t fill;
    bool same;
    bool wanted; /* the bytes themselves are read */
};

struct physical_layout {
    struct ctr_trace *tr;
    struct ctr_moment at;
    struct physical_range *ranges;
    size_t nr_ranges, ranges_cap;
    struct physical_contents *contents; /* in their order */
    size_t nr_contents, contents_cap;
    uint64_t floor_ns; /* nothing before that time counts */
    bool paused;       /* at the moment not all is recorded */
    /* private */
    struct ctr_str *blocks;
    size_t nr_blocks, blocks_cap;
    struct physical_thread {
        struct physical_slice {
            uint64_t ordinal, time_ns;
        } *slices; /* up to the moment */
        size_t n, cap;
        uint64_t begun_ns; /* of the last one before floor_ns; 0: none */
        bool closed,
            chosen;       /* its gate; not all of it is recorded since it was selected */
        uint64_t ordinal; /* of the last RAM event ... */
        uint32_t number;  /* ... and how many there were at its place */
    } *threads;
    uint32_t nr_threads;
};

/* Zeroed but for tr and at.  Free it also after an error.  Returns 0 or a negated enum
 * ctr_error. */
int physical_layout_read(struct physical_layout *l, unsigned jobs, struct ctr_diag *diag);
void physical_layout_free(struct physical_layout *l);

/* The place of an instruction's accesses. */
struct physical_place physical_place_of(const struct physical_layout *l, uint32_t thread,
                                        uint64_t ordinal);
/* What of a machine is up to the moment: of events (events true) or of instructions. */
struct ctr_filter physical_filter(const struct physical_layout *l, uint32_t kinds,
                                  bool events);

#endif
