/* SPDX-License-Identifier: MIT */
/* What resume.c and step.c share: places where the program would stop. */
#ifndef TRACEGDB_RESUME_PRIV_H
#define TRACEGDB_RESUME_PRIV_H

#include "session.h"

/* A place where the program would stop. */
struct candidate {
    bool found;
    uint32_t thread;
    uint64_t ordinal; /* the position */
    uint64_t when;    /* its time in the order of threads, as of ctr_search */
    bool passed;      /* it is after `event', or before it: that of an access */
    struct ctr_found event;
    struct stop stop;
};

/* An ordinal and a phase as one number, in the order of a thread; and back. */
static inline uint64_t resume_key(uint64_t ordinal, int phase)
{
    return ordinal * 8 + (uint64_t)(phase - PHASE_WRITTEN);
}

static inline uint64_t resume_key_ordinal(uint64_t key)
{
    return key / 8;
}

static inline int8_t resume_key_phase(uint64_t key)
{
    return (int8_t)((int)(key % 8) + PHASE_WRITTEN);
}

/* What is searched: forward or backward, in all threads of the process or in one alone. */
struct course {
    bool back, alone;
};

/* Whether a is met before b, in this direction. */
bool resume_nearer(bool back, const struct candidate *a, const struct candidate *b);
/* Finds when a candidate is, if it is after no event of its own; 0 or a negated enum
 * ctr_error. */
int resume_when(struct session *s, struct candidate *c);
/* Makes a candidate of the position, of one that goes on in a direction; the same. */
int resume_here(struct session *s, bool back, struct candidate *c);
/* The next access that a point waits for, if it is nearer than *best; the same. */
int resume_find_watch(struct session *s, const struct course *way,
                      struct candidate *best);
/* The next system call that gdb catches, of all threads or of one (an index) only; the same. */
int syscalls_find(struct session *s, bool back, const uint32_t *only,
                  struct candidate *best);
/* The next fork; the same. */
int births_find(struct session *s, bool back, const uint32_t *only,
                struct candidate *best);
/* The next thread that begins or ends, forward; the same. */
int thread_events_find(struct session *s, struct candidate *best);

#endif
