/* SPDX-License-Identifier: MIT */
/*
 * The order of threads that ran one at a time (CTR_HAS_ORDER). Chunks whose times overlap
 * are a bundle. They are walked together, each in a lane: a lane goes on up to the SLICE
 * event at which its thread went on later, then that lane goes on which was next. Chunks
 * of other traces are bundles of one chunk.
 */
#ifndef CTR_LANES_H
#define CTR_LANES_H

#include "cannoli/events.h"
#include "decode/walk.h"

/* A writer keeps bundles small: the recorder has some MiB, and a buffer of each thread. */
#define BUNDLE_CHUNKS 1024u
#define BUNDLE_RAW (64u << 20) /* bytes of all columns */

struct bundle {
    struct raw_chunk *v;
    unsigned n, cap; /* v[n..cap) keep their memory */
};
void bundle_free(struct bundle *b);

/* Reads the chunks of a feed as bundles. */
struct bundles {
    struct feed *feed;
    struct raw_chunk ahead; /* of the next bundle, if state is 1 */
    int state;              /* of ahead: 0 nothing, 1 a chunk, 2 the end, or an error */
    struct ctr_diag why;
};
void bundles_init(struct bundles *s, struct feed *f);
void bundles_fini(struct bundles *s);
/* The feed goes on elsewhere. */
void bundles_forget(struct bundles *s);
/* Returns 1, 0 at the end, or an error. */
int bundles_next(struct bundles *s, struct bundle *out, struct ctr_diag *diag);

/*
 * Moves a place to the first, or last, chunk that may be in one bundle with the chunk
 * there. Returns 0 or an error.
 */
int bundle_begin(struct chunktab *t, uint64_t *at, struct ctr_diag *diag);
int bundle_end(struct chunktab *t, uint64_t *at, struct ctr_diag *diag);

/* Whether the feed's threads have one order, and slices must be decoded for it. */
int lanes_needed(const struct ctr_trace *tr);

/* One chunk of a bundle. */
struct lane {
    struct walk walk;
    const struct raw_chunk *raw;
    struct lane *after; /* of the same thread: goes on where this one ends */
    uint64_t next_ns;   /* when it goes on, if it ... */
    int waits;          /* ... is to go on */
    int begun;
    int at_slice; /* it waits at a SLICE event */
};

struct lanes {
    struct lane **v;
    unsigned n, cap;
    struct lane *now;
};
void lanes_fini(struct lanes *l);
/* Makes lanes of a bundle, which must stay as it is. Returns 0 or -1: no memory. */
int lanes_set(struct lanes *l, const struct bundle *b);
/*
 * Goes on in the lane that is next, l->now, which is between two runs. Returns 1, 0: all
 * have ended, or an error.
 */
int lanes_go(struct lanes *l, const struct feed *f, struct ctr_diag *diag);
/* All have ended.  Frees most of the memory of many. */
#define LANES_KEPT 8u
void lanes_trim(struct lanes *l);
/* The lane has ended, or what follows in it is not selected. */
void lanes_end(struct lanes *l);

/* Whether the lane stops before its current event (walk_event was 1). */
static inline int lanes_stop(struct lanes *l)
{
    struct lane *a = l->now;
    const struct ctr_os_event *e = &a->walk.events.ev;
    if (e->type != CTR_EVENT_SLICE || l->n == 1) {
        return 0;
    }
    if (a->at_slice) {
        a->at_slice = 0;
        return 0;
    }
    a->at_slice = 1;
    a->next_ns = e->time_ns;
    return 1;
}

#endif
