/* SPDX-License-Identifier: MIT */
/* One address space, to which map events are applied one after the other. */
#ifndef CTR_MAPS_SPACE_H
#define CTR_MAPS_SPACE_H

#include "maps/pending.h"
#include "maps/maps.h"
#include "maps/current.h"

#define MAP_SHARED_BIT 0x1u /* the same on all Linux machines */

/* Which pieces become records when they end. */
enum map_keep {
    MAP_KEEP_ALL,
    MAP_KEEP_CODE, /* CTR_MAPS_CODE */
    MAP_KEEP_NONE, /* the address space alone matters */
};

/* An address space while its history is made. */
struct map_space {
    struct ctr_maps *m;
    struct map_history *h;
    struct ctr_diag *diag;
    enum map_keep keep;
    struct mapset set;
    uint32_t pieces; /* in it */
    uint64_t time;   /* the current moment ... */
    int marked;      /* ... has a number, the last one */
    int initial;     /* the last event was an initial mapping */
    int replaced;    /* the program was replaced since */
    uint64_t heap_start, heap_end;
    struct map_piece *taken; /* scratch: pieces of a range */
    uint32_t ntaken, taken_cap;
};

/*
 * Reads a MAP or an EXEC event of a thread; its time and seq stay as they are.
 * Returns 1, 0 for an event of another kind, or an error.
 */
int map_event_read(struct ctr_maps *m, const struct ctr_os_event *ev,
                   struct map_event *out, struct ctr_diag *diag);

/* Applies one. Returns 0 or an error. */
int map_space_event(struct map_space *s, const struct map_event *e);
/* After the last event: pieces that still exist get no end. Returns 0 or an error. */
int map_space_end(struct map_space *s);
void map_space_fini(struct map_space *s);

#endif
