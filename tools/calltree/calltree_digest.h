/* SPDX-License-Identifier: MIT */
/* The state of a worker's digest, for calltree_digest.c and calltree_events.c. */
#ifndef CALLTREE_DIGEST_H
#define CALLTREE_DIGEST_H

#include "calltree_priv.h"

#define MAX_NODES 16384u
#define MAX_FRAMES 65536u
#define BUCKETS 16384u
#define OWN_SPOTS 4096u

struct own_spot {
    uint32_t id, process;
    uint64_t time_ns;
    struct spot *spot;
};

struct digest {
    struct code *code;
    const struct calltree_options *opt;
    struct ctr_job *job;
    bool quick;              /* last is set and has no open delay slot; no lines */
    const struct spot *last; /* the code that ran last; NULL: see thread_state.last */
    struct lines *lines;     /* NULL: not requested */
    struct spot tmp[2];      /* storage for `last' if it is not a spot of `code' */
    unsigned flip;
    bool own_last; /* lines: the last run was of a block of its own spot */
    struct when when;
    uint64_t until; /* when.time_ns is valid below this ordinal */
    uint64_t ordinal, now_ns;
    struct fn *base; /* range of node 0's function */
    uint32_t cur;    /* current node */
    uint32_t nr_nodes, nr_frames, peak;
    struct ev_node nodes[MAX_NODES];
    struct ev_frame frames[MAX_FRAMES];
    uint32_t buckets[BUCKETS]; /* node, 0: none */
    struct own_spot own[OWN_SPOTS];
};

/*
 * Passes the tree and the open frames to the fold, with an event.  e: its type, and the
 * fields for that type; the counts at its beginning are filled in here.
 */
int digest_emit(struct digest *d, struct ev *e, const struct spot *to, const void *more,
                size_t more_bytes);
int digest_emit_type(struct digest *d, enum ev_type type, uint32_t number);
/* Sets d->when for an ordinal, and d->until. */
void digest_set_when(struct digest *d, uint64_t ordinal);

#endif
