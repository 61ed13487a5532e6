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
    bool quick;              /* last is there, and has no open delay slot; no lines */
    const struct spot *last; /* how it left; NULL: as the thread's last event says */
    struct lines *lines;     /* NULL: not asked for */
    struct spot tmp[2];      /* where last points if it is no spot of code's */
    unsigned flip;
    bool own_last; /* lines: the last run was of a block of its own spot */
    struct when when;
    uint64_t until; /* when.time_ns is good for ordinals below */
    uint64_t ordinal, now_ns;
    struct fn *base; /* range of node 0's function */
    uint32_t cur;    /* node that runs */
    uint32_t nr_nodes, nr_frames, peak;
    struct ev_node nodes[MAX_NODES];
    struct ev_frame frames[MAX_FRAMES];
    uint32_t buckets[BUCKETS]; /* node, 0: none */
    struct own_spot own[OWN_SPOTS];
};

/*
 * Hands on what there is, with an event.  e: its type, and what belongs to that; its
 * beginning is filled in here.
 */
int digest_emit(struct digest *d, struct ev *e, const struct spot *to, const void *more,
                size_t more_bytes);
int digest_emit_type(struct digest *d, enum ev_type type, uint32_t number);
/* Looks up d->when for an ordinal, and until when it is good. */
void digest_set_when(struct digest *d, uint64_t ordinal);

#endif
