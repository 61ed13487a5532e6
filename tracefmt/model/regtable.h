/* SPDX-License-Identifier: MIT */
/* The register table of a recording (cannoli/events.h), checked. */
#ifndef CTR_REGTABLE_H
#define CTR_REGTABLE_H

#include "base/util.h"

/* An entry: a register, or a piece of one, as values are recorded. */
struct raw_reg {
    const char *name;
    uint32_t off; /* in a state */
    uint8_t size; /* 1..16 */
    uint8_t flags;
};

struct regtable {
    uint32_t n;
    uint32_t state_bytes;
    struct raw_reg *reg;
    char *names;
};

/*
 * Checks and unpacks a table of n entries, which must be all of the bytes.  off
 * is for the diagnostic.  Returns 0, -CTR_E_CORRUPT, -CTR_E_NOMEM.
 */
int regtable_parse(struct regtable *out, uint32_t n, const void *table, size_t bytes,
                   uint64_t off, struct ctr_diag *diag);
void regtable_fini(struct regtable *t);

/* Sets the places that predict register values (value.h) to those of a whole state. */
void regtable_places(const struct regtable *t, const uint8_t *state, uint64_t *place);

#endif
