/* SPDX-License-Identifier: MIT */
/* Code that the unit tests share: writes a simulated run, reads it back. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "sim.h"

#define MAX_SIM_THREADS 8

/* A simulated recording. */
struct recording {
    struct sim sim;
    struct sim_thread thread[MAX_SIM_THREADS];
    unsigned nthread;
    uint8_t *file; /* the trace */
    size_t bytes;
};

/*
 * Simulates threads and writes their trace with `group' segments in each chunk and the
 * chunks of the threads in turn.  finish 0: the trace has no end.
 */
void recording_make(struct recording *r, uint64_t seed, unsigned nthread, unsigned runs,
                    unsigned nblock, unsigned addr_bytes, unsigned events,
                    unsigned features, unsigned group, int finish);
void recording_free(struct recording *r);
/* Writes the trace to fd; returns the writer's first error. */
int recording_write(struct recording *r, int fd, unsigned group, int finish);

/* A trace that a test writes itself, in a file in memory. */
struct out {
    struct ctr_dict *dict;
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ctr_writer *w;
    int fd;
};
void out_open(struct out *o, const struct ctr_meta *meta);
/* One process with so many threads, from tid 1. */
void out_threads(struct out *o, uint32_t n);
/* Ends the trace; returns fd, which is the caller's. */
int out_finish(struct out *o);

/* A descriptor of a file with these bytes, positioned at its start. */
int file_of(const void *data, size_t n);
struct ctr_trace *open_bytes(const void *data, size_t n, unsigned flags);

/* An event that was read back. */
struct got {
    uint32_t thread;
    struct sim_event e;
};
struct events {
    struct got *e;
    size_t n, cap;
    int runs; /* count runs instead */
    uint64_t run_insns;
};

/* Replays; returns what ctr_replay returned.  Events are in *out. */
int read_events(struct ctr_trace *tr, const struct ctr_replay_opts *opts,
                struct events *out, struct ctr_diag *diag);
void events_free(struct events *e);
void event_of_exec(const struct ctr_exec *e, struct got *out);
void event_of_mem(const struct ctr_mem *m, struct got *out);
void event_of_reg(const struct ctr_reg_change *r, struct got *out);
void event_of_os(const struct ctr_os_event *o, struct got *out);

/* The events must be what was simulated, all of it, thread by thread. */
void check_events(const struct recording *r, const struct events *got);
/* The same, but the end may be missing; returns the number of events. */
size_t check_prefix(const struct recording *r, const struct events *got);

/*
 * A definition of a block of ninsn 4-byte instructions at pc, each with one load of size
 * 4; the last instruction has the remaining slots.  Returns the definition's length.
 */
size_t simple_def(uint8_t *def, uint64_t pc, unsigned ninsn, unsigned nslot);

#endif
