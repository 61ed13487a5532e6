/* SPDX-License-Identifier: MIT */
/*
 * Of ctr_memory: where the contents of memory come from.  What a range holds began with its
 * process, with a new mapping, or was moved there from elsewhere.
 */
#ifndef CTR_MEMORY_ORIGIN_H
#define CTR_MEMORY_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"

enum memory_origin_kind {
    ORIGIN_UNKNOWN,
    ORIGIN_UNMAPPED, /* nothing is mapped there then, though it is at other times */
    ORIGIN_PROCESS,  /* the process began with it */
    ORIGIN_NEW,      /* zeros, or what the file has there */
    ORIGIN_MOVED,    /* another range held it before */
};

/* Of the contents of some memory at a time. */
struct memory_origin {
    enum memory_origin_kind kind;
    uint64_t start,
        end; /* it holds for these addresses, end exclusive, UINT64_MAX: to the last */
    uint64_t begin_ns; /* when they began, 0 with the process ... */
    uint64_t until_ns; /* ... and when they ended, UINT64_MAX: with it */
    uint32_t prot;     /* all that was permitted since then */
    /* At the time; NULL: none is known.  Valid until the origin of another process's memory is
     * requested. */
    const struct ctr_mapping *mapping;
    bool single; /* the process has one thread */
    bool
        own; /* only the process itself changes it, and the system for it, and all of both
               * is recorded */
};

struct memory_origins;

/* maps: the whole history, which must outlive them; NULL: it is loaded. */
int memory_origins_open(struct memory_origins **out, struct ctr_trace *tr,
                        const struct ctr_maps *maps, struct ctr_diag *diag);
void memory_origins_close(struct memory_origins *o);

/* False: no memory. */
bool memory_origin_at(struct memory_origins *o, uint32_t process, uint64_t addr,
                      uint64_t time_ns, struct memory_origin *out);

/* Whether a thread's events from this instruction on are of the time since then. */
bool memory_origin_since(struct memory_origins *o, uint64_t begin_ns, uint32_t thread,
                         uint64_t ordinal);

/* Whether accesses that are not recorded may have changed memory: a part was selected, or
 * dropped, or it is a machine's. */
bool memory_origins_part(const struct memory_origins *o);

/* The following return 1, 0, or a negated enum ctr_error. */

/* The moment of the fork that made a process, in its parent; 0: none that is recorded. */
int memory_origin_fork(struct memory_origins *o, uint32_t process, struct ctr_moment *out,
                       struct ctr_diag *diag);

/* Of memory that was moved to addr at a time: the moment right before, and *from, where it
 * was; 0: that is not known. */
int memory_origin_moved(struct memory_origins *o, uint32_t process, uint64_t addr,
                        uint64_t begin_ns, struct ctr_moment *out, uint64_t *from,
                        struct ctr_diag *diag);

#endif
