/* SPDX-License-Identifier: MIT */
/*
 * What the drain passes to the pipeline: processes, threads, and jobs about them.
 */
#ifndef RECORDER_JOB_H
#define RECORDER_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/map64.h"
#include "ctr_write.h"
#include "embed_shared.h"
#include "journal.h"
#include "mempipe_host.h"
#include "ring.h"

/*
 * A job packs at most so many segments, and so many bytes of their columns.  A block
 * needs much data when it occurs for the first time in a job: jobs of 2 MiB make larger
 * traces (15 % with exec alone, 4 % with accesses) and use 3 % more of the processor;
 * jobs of 8 MiB are better by as much again.  But a reader seeks to a job's begin, and a
 * worker needs memory for it.
 */
#define JOB_SEGMENTS 16
#define JOB_FULL_BYTES (4u << 20)

/* Only the writer thread reads and writes index.  With a ring it is known as soon as the
 * job is submitted. */
struct guest_process {
    uint32_t serial;   /* of its first pipe, by which its threads name it */
    int32_t pid, ppid; /* as the guest knows them */
    bool nested;       /* ... in a PID namespace below the recorder's command's */
    pid_t host_pid;    /* as the recorder does; 0: it was gone when it was first seen */
    uint64_t start;    /* see struct attached_process */
    int pidfd;         /* -1: none */
    int tie;           /* of lifeline_tie, -1: none */
    int entry;         /* of attached_add, -1: none */
    bool dead;         /* its last event has been written into the pipe */
    bool execed;       /* it lives on as another program, which may be another one here */
    unsigned threads;  /* of it that hold a pipe */
    uint64_t start_ns, end_ns;
    uint32_t end_reason; /* enum ctr_end */
    int32_t end_status;
    bool exec_pending;      /* one of its threads is inside execve */
    bool replaced;          /* a later program of the same process is recorded already */
    uint64_t limbo_ns;      /* since when it is an unattached QEMU, 0: it is not */
    struct epoch *epoch;    /* the drain's: its newest, or NULL */
    struct map64 keyframes; /* pages, see keyframes.h: the writer's */
    struct embed_ranges files;   /* that it has mapped: the writer's */
    struct embed_shared *shared; /* mappings of files: the drain's */
    uint32_t index;
    struct guest_process *next;
};

struct guest_thread {
    struct guest_process *process;
    int32_t tid, ptid;
    uint32_t pipe, serial; /* where it came from */
    uint64_t start_ns, end_ns;
    uint32_t end_reason;
    int32_t end_status;
    bool incomplete;             /* its last events may be missing: known to the drain */
    bool unsure;                 /* ... known to the writer, and the writer's alone */
    struct ctr_physmap *physmap; /* the writer's, with CTR_EVENTS_PHYS */
    uint32_t index;
};

enum job_kind {
    JOB_REGS,        /* regs: the register table */
    JOB_PROCESS,     /* process: a new one */
    JOB_THREAD,      /* thread: a new one */
    JOB_FILE,        /* process, file: that it has mapped */
    JOB_CHUNK,       /* thread, segs */
    JOB_THREAD_END,  /* thread, freed by the writer afterwards */
    JOB_PROCESS_END, /* process, freed by the writer afterwards */
    JOB_DUMP,        /* dump: writes the ring to a file */
};

struct job_segment {
    uint32_t buffer;
    uint32_t seq;
    uint32_t words, units;
    uint32_t flags; /* CTR_SEGMENT_* */
    uint32_t set;   /* of the buffer */
    uint64_t start_ns, end_ns;
    uint32_t from_word, from_unit, from_side, from_insn; /* see struct ctr_segment */
    struct side_records *side; /* the job's (journal.h); NULL: none */
};

struct job {
    enum job_kind kind;
    struct guest_process *process;
    struct guest_thread *thread;
    struct mempipe_side_regtable *regs; /* the job's, malloc'ed, followed by the table */
    struct embed_file *file;            /* the job's, malloc'ed */
    bool trim;                          /* give memory of reserved buffers back */
    struct pipeline_dump *dump;         /* the submitter's, who waits */
    unsigned n_segs;                    /* that it releases */
    uint64_t start_ns, end_ns;          /* of the chunk */
    void *state; /* malloc'ed, if the first one goes on: ctr_encoder_set_state.  NULL: it
                  * is known to the worker, or there are no registers */
    uint32_t state_bytes;
    struct job_segment segs[JOB_SEGMENTS];
    /* private */
    uint64_t serial; /* in the order of submission, from 1; 0: its rest has it */
    bool done;
    int error;
    struct ctr_diag diag;
    struct ctr_packed *packed;
    struct ring_events events; /* with a ring: those that outlive the chunk */
    struct ring_place next;    /* ... and where the thread goes on; state malloc'ed */
    uint64_t bytes;
    struct job *next_todo, *next_ordered;
};

/* Frees a job and what it points to, but not its thread or process. */
void job_free(struct job *job);

/* Frees a process and what is its own. */
void guest_process_free(struct guest_process *p);

/* Bytes of the records of its segments. */
uint64_t job_side_bytes(const struct job *job);

/* The number that the recorder knows a process by, if it is not that of the guest; or 0. */
int32_t guest_process_other_number(const struct guest_process *p);

#endif
