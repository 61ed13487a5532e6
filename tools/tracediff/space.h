/* SPDX-License-Identifier: MIT */
/*
 * What an address means, whatever the run's address space layout: an offset in a mapping,
 * which is known by the file or by its number among the mappings like it.
 *
 *   maplog   the changes of mappings of one trace, in order of time, read once
 *   space    the mappings of a process as one of its threads sees them at an instruction;
 *            it only goes forward
 *
 * A mapping is, in this order: the file that is mapped (by name; the offset is that in the
 * file); [stack], [heap], [vdso] by name, the stack from where it begins or its end; memory without a file
 * that follows a file's mapping as part of the same module; else number N of the mappings
 * of this size that thread T of its process made.  So that one more mapping in one run does
 * not change what the others are.
 */
#ifndef TRACEDIFF_SPACE_H
#define TRACEDIFF_SPACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"
#include "common/map64.h"

/* Numbers of what is mapped, the same for both traces.  Any thread. */
struct space_keys {
    pthread_mutex_t lock;
    struct map64 keys;
    uint32_t n;
};
void space_keys_init(struct space_keys *k);
void space_keys_fini(struct space_keys *k);

struct maplog;

/* Reads the changes of a trace: 0 or a negated enum ctr_error; where the file is damaged
 * they end, without an error.  Without CTR_HAS_MAP, or on a machine, there are none.  calls:
 * both traces have CTR_HAS_SYS, so that the begin of the stack is known. */
int maplog_load(struct maplog **out, struct ctr_trace *tr, struct space_keys *keys,
                bool calls, struct ctr_diag *diag);
void maplog_free(struct maplog *l);

/* An address: key 0 is not in any mapping, and `off' the address itself. */
struct space_place {
    uint32_t key;
    uint64_t off;
};

static inline bool space_same(struct space_place a, struct space_place b)
{
    return a.key == b.key && a.off == b.off;
}

struct region {
    uint64_t start, end;
    uint64_t off; /* of start */
    uint32_t key;
};

#define SPACE_CACHE 64u /* pages */

struct space {
    const struct maplog *log;
    const struct ctr_thread *thread;
    const struct map_change *v; /* of its process */
    size_t n, at, own;          /* applied, and the next one of the thread itself */
    struct region *region;      /* ascending */
    size_t nregions, cap;
    bool initial, replaced, failed;
    uint32_t removals; /* a mapping was removed or replaced */
    uint32_t changes;  /* that were applied */
    struct {
        uint64_t page;
        uint32_t region; /* + 1; 0: nothing cached */
    } cache[SPACE_CACHE];
};

/* log: NULL is allowed, then nothing is mapped. */
void space_begin(struct space *s, const struct maplog *log, const struct ctr_thread *t);
void space_fini(struct space *s);

/*
 * Goes on to the instruction `ordinal' of the thread, or with `after' 0 to the point before
 * what the system did right before it.  time_ns: the last time known there; of other threads'
 * changes those count that came before it.
 */
void space_go(struct space *s, uint64_t ordinal, bool after, uint64_t time_ns);

/* The ordinal of the next change that the thread itself makes; UINT64_MAX: there is none.
 * After space_go. */
uint64_t space_next(const struct space *s);

struct space_place space_find(struct space *s, uint64_t addr);

#endif
