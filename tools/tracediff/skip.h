/* SPDX-License-Identifier: MIT */
/* The chunks of each thread of a trace, for skip_find (pair.h). */
#ifndef TRACEDIFF_SKIP_H
#define TRACEDIFF_SKIP_H

#include "side.h"

/* What is known of the definitions of both traces; zeroed: nothing yet. */
struct skip {
    bool known;
    uint32_t blocks; /* these are the same, from the first on */
};

struct thread_chunk {
    uint64_t first, insns; /* ordinals */
    uint64_t index;        /* number of the chunk in the file */
    uint32_t flags;        /* CTR_CHUNK_* */
};

/* Fills in side->chunks; 0 or a negated enum ctr_error. */
int skip_load_chunks(struct side *side, struct ctr_diag *diag);
void skip_fini(struct side *side);

#endif
