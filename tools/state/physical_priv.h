/* SPDX-License-Identifier: MIT */
/* Inside physical.h: the bytes of a read. */
#ifndef TOOLS_PHYSICAL_PRIV_H
#define TOOLS_PHYSICAL_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"
#include "state/physical_layout.h"

/* What is known of a byte so far, by what has written it last. */
struct physical_byte {
    struct physical_place place;
    uint64_t described_ns; /* when its contents were described */
    /* No store before that time counts: when the last event but a store was, UINT64_MAX: none at
     * all, as its last store was found, or as none changes it */
    uint64_t stores_ns;
    enum physical_state {
        PHYSICAL_NONE, /* nothing says what it holds */
        PHYSICAL_KNOWN,
        PHYSICAL_READ, /* byte `at' of contents number `contents', to be read */
        PHYSICAL_LOST, /* it was written, but not with what */
    } state;
    uint8_t value;
    uint32_t contents;
    uint64_t at;
};

/* Addresses at which some of the bytes were, for some time. */
struct physical_span {
    struct physical_range range; /* cut to these bytes */
    size_t first;                /* which byte is at its begin */
};

/* Some bytes that are read together. */
struct physical_read {
    struct physical_layout *layout;
    struct physical_byte *bytes;
    size_t n;
    struct physical_span *spans;
    size_t nr_spans, spans_cap;
    unsigned jobs;
    struct ctr_diag *diag;
};

/* The part of `size' bytes at addr that is in a span: their number, and *at, the first one's
 * offset in the span. */
static inline uint64_t physical_part(const struct physical_span *s, uint64_t addr,
                                     uint64_t size, uint64_t *at)
{
    const struct physical_range *r = &s->range;
    const uint64_t from = addr > r->addr ? addr : r->addr;
    const uint64_t last = addr + (size - 1), range_last = r->addr + (r->size - 1);
    const uint64_t to = last < range_last ? last : range_last;

    *at = from - r->addr;
    return from > to ? 0 : to - from + 1;
}

/* The following return 0 or a negated enum ctr_error.
 *
 * What the bytes held when they were described last. */
int physical_read_contents(struct physical_read *r);
/* What was written since then. */
int physical_read_writes(struct physical_read *r);

#endif
