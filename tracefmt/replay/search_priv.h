/* SPDX-License-Identifier: MIT */
/*
 * What the parts of ctr_search share.
 *
 *   search.c        the call, its workers
 *   search_place.c  where it begins
 *   search_take.c   which chunks it searches, and when it has the nearest event
 *   search_look.c   the search of one chunk
 *
 * Threads have one of three orders. Where they ran one at a time it is that of their
 * slices (lanes.h): SEARCH_SLICES. Else they are merged by time: SEARCH_MERGED. If only
 * the thread of the place is selected, its ordinals are the order: SEARCH_ALONE.
 *
 * Merged, an event has the time of the thread there: the last time of an event of the
 * system at or before it in its chunk, or when the chunk was begun. Events of one time are
 * ordered by the thread's index, those of one thread by the ordinal. As a key this is a
 * total order of any file, also of one whose times contradict each other, so that searches
 * that go on from what they found come to an end.
 */
#ifndef CTR_SEARCH_PRIV_H
#define CTR_SEARCH_PRIV_H

#include "decode/lanes.h"

#include <pthread.h>

enum search_order {
    SEARCH_ALONE,
    SEARCH_MERGED,
    SEARCH_SLICES,
};

/* Where something is, merged. */
struct search_key {
    uint64_t ns;
    uint32_t thread;
    uint64_t ordinal;
    int insn; /* not the system's, which is before the instruction */
};

struct search {
    struct ctr_trace *tr;
    struct feed feed;   /* instructions and system events */
    struct feed system; /* system events only */
    enum search_order order;
    int back;
    int exec;        /* instructions are searched, not accesses */
    int point;       /* the instruction at the place is after it ... */
    int system_here; /* ... and what the system did right before it */
    uint32_t thread; /* the place */
    uint64_t ordinal;
    uint64_t when; /* its time: merged, or in its slice */
    int found; /* merged: the place is what was found before, of the system or not ... */
    int found_insn;

    pthread_mutex_t lock; /* protects all that follows, and reading */
    uint64_t at;          /* next chunk in order of time ... */
    int begun;            /* ... and whether it was taken already, */
    int left;             /* ... and whether there still is one */
    uint64_t *across;     /* merged: chunks that are searched before these */
    size_t nacross, across_next, across_cap;
    uint32_t taken;         /* chunks to decode */
    uint64_t first_ns;      /* slices, back: all after this was taken */
    uint64_t best;          /* where `result' was found, if that is not 0 ... */
    struct search_key near; /* ... its key, or a time in its slice */
    int result;             /* 1, or an error */
    struct ctr_found out;
    struct ctr_diag diag;
};

struct searcher {
    struct search *s;
    struct walk walk;
    struct raw_chunk raw;
    const struct feed *feed; /* one of the two */
    uint64_t at;
    uint64_t slice_ns;     /* a time in the slice where the walk is ... */
    uint64_t slice_from;   /* ... and its first ordinal in the chunk */
    struct search_key key; /* of what was found, or of an error */
    struct ctr_found out;
    struct ctr_found
        later; /* merged: what the system wrote, not known when; kind 0: none */
    struct ctr_diag diag;
};

/* ------------------------------------------------------------- search_place.c */

/* Which order the selected threads have. */
enum search_order search_order_of(const struct search *s);
/* Finds the place: among the chunks in order of time, and s->when. Returns 0 or an error. */
int search_find_place(struct search *s, struct ctr_diag *diag);

/* The time of the thread after an event of the chunk, where it was `ns' before. */
static inline uint64_t search_time(const struct ctr_chunk *c, uint64_t ns,
                                   const struct ctr_os_event *e)
{
    const uint64_t t = e->time_ns < c->end_ns ? e->time_ns : c->end_ns;
    return t > ns ? t : ns;
}

/* -------------------------------------------------------------- search_take.c */

/* Merged: makes s->across the chunks that a time is in. Returns 0 or an error. */
int search_across(struct search *s, uint64_t ns, struct ctr_diag *diag);
/* Reads the next chunk that may hold something.  Returns 1, 0 if there is none, or an
 * error.  With the lock. */
int search_take(struct search *s, struct searcher *me);
/* Handles the result of a chunk: the nearest one stays.  With the lock. */
void search_keep(struct search *s, const struct searcher *me, int result);
/* All workers have ended. Returns 1 if chunks are left that may have something nearer, 0,
 * or an error. */
int search_more(struct search *s, struct ctr_diag *diag);

/* -------------------------------------------------------------- search_look.c */

/* Searches the chunk that was taken. Returns 1 if something was found, 0 or an error. */
int search_look(struct searcher *me);

#endif
