/* SPDX-License-Identifier: MIT */
/*
 * The dispatcher's half: reads everything out of the pipes, keeps track of processes and
 * threads, and makes jobs for the pipeline.  One thread.
 */
#ifndef RECORDER_DRAIN_H
#define RECORDER_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr_write.h"
#include "embed.h"
#include "guests.h"
#include "mempipe_host.h"
#include "pipeline.h"
#include "ring.h"

struct drain;

struct drain_ops {
    /*
     * The first thread has appeared, and with it what is known about the target. Returns
     * the pipeline that gets the jobs, or NULL: from then on everything is dropped.
     */
    struct pipeline *(*begin)(void *arg, const struct mempipe_target *target);
    /* A process has mapped something, or changed that; NULL: nobody wants to know. */
    void (*mapped)(void *arg, int32_t pid, uint64_t time_ns, const struct ctr_map *m);
    void *arg;
};

struct drain_totals {
    uint32_t processes, threads; /* ever seen */
    uint32_t left;           /* processes that became a program that is not recorded */
    uint64_t waits, wait_ns; /* of the guest, for space */
};

/* How the command's own process ended, as wait(2) reports it; -1: not yet. */
#define DRAIN_STATUS_UNKNOWN (-1)

/* Returns NULL when there is no memory.  `dict' gets all block definitions. */
struct drain *drain_new(struct mempipe_host *host, struct guests *guests,
                        struct ctr_dict *dict, unsigned workers,
                        const struct drain_ops *ops);
/* Of which mapped files the trace gets the bytes (at first none); before the first round. */
void drain_set_embed(struct drain *d, enum embed_mode mode);
/* What is recorded is executed again, and has the times of the first time; before the first
 * round. */
void drain_set_again(struct drain *d);
/* Drops whatever the pipes still hold. */
void drain_free(struct drain *d);

/*
 * Does one round.  Returns 1 if there was something to do, 0 if not, a negated enum
 * ctr_error (and one sentence in diag) if the guest's events make no sense.
 */
int drain_round(struct drain *d, uint64_t now_ns, struct ctr_diag *diag);

/*
 * In another process, before the first round: goes on from where the drain of a killed
 * recorder stopped, according to ring and journal, both after their *_recover.  The guest
 * has ended; `dict' is that of ring_make_dict with the journal's definitions.  Calls
 * `begin' if that had been called.
 */
int drain_resume(struct drain *d, const struct ring *r, uint64_t now_ns,
                 struct ctr_diag *diag);

/* Whether nothing is left: no traced process and no pipe that may still come alive. */
bool drain_is_over(const struct drain *d);

/* How long the caller may sleep until something is due, in ms. */
int drain_patience(const struct drain *d);

/*
 * Writes what the ring holds, and what has arrived since, to a file: see
 * pipeline_dump.  Between two rounds.
 */
int drain_dump(struct drain *d, uint64_t now_ns, const char *file, char *name,
               size_t name_bytes, struct ctr_diag *diag);

/*
 * After a round that found something: how long the caller may sleep, in microseconds,
 * without making anybody wait.
 */
int drain_nap_us(const struct drain *d);

/*
 * A process that ended, unannounced, in the code of a jitter library: according to its
 * memory, which the guest can write to, and for the command itself according to wait(2).
 */
struct drain_library_end {
    pid_t pid;
    uint32_t library; /* mempipe_pipe.inside */
    uint32_t how;     /* a signal's number, or MEMPIPE_INSIDE_EXIT */
};

/* Gets the first one; false: there is none. */
bool drain_get_library_end(const struct drain *d, struct drain_library_end *end);

/* The command's process, and its status as soon as it is known. */
void drain_set_root(struct drain *d, pid_t pid, int wait_status);

void drain_get_totals(const struct drain *d, struct drain_totals *totals);

#endif
