/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the drain share: drain.c runs the rounds, drain_dispatch.c makes jobs
 * of buffers, drain_jobs.c decides when, drain_side.c reads the side queues, drain_ends.c
 * keeps track of threads and processes, drain_epoch.c of definitions.  Functions that
 * return int return 0 or a negated enum ctr_error.
 */
#ifndef RECORDER_DRAIN_PRIV_H
#define RECORDER_DRAIN_PRIV_H

#include "drain.h"

/* Reserved buffers below this number keep their memory when they are given back. */
#define WARM_RESERVED 64
/* At most so many bytes of side records are put into one job. */
#define JOB_SIDE_BYTES (4u << 20)

/* The buffers of one chunk are from within this time while threads run side by side:
 * readers merge threads in the order in which their chunks begin. */
#define SPAN_NS 50000000ull

/* The recorder's side of one pipe. */
struct slot {
    struct guest_thread *thread; /* NULL while the owner is not known */
    uint32_t next_seq;           /* of the mail expected */
    bool ended;                  /* the state was ENDED in step 2 */
    bool closing;                /* over, but its reserved buffer is being packed */
    uint64_t claimed_ns;         /* when it was first seen CLAIMED, 0: it is not */
    bool more;                   /* mail was left for the next round */
    bool trim;                   /* reserved buffer's memory goes back to the system */
    unsigned n_pending, n_fresh; /* the last n_fresh came in this round */
    uint64_t pending_bytes, pending_side, pending_ns;
    struct side_records *side;      /* of buffers that have not arrived, oldest first */
    struct side_records **side_end; /* the end of that list */
    uint64_t kept;                  /* bytes of all of them */
    uint32_t last_units;            /* the place of the last record */
    struct job_segment pending[JOB_SEGMENTS];
};

/* A pipe that came alive. */
struct drain_news {
    uint32_t pipe, serial;
};

struct drain {
    struct mempipe_host *host;
    struct guests *guests;
    struct ctr_dict *dict;
    struct pipeline *pipeline;
    struct journal *journal; /* the pipeline's */
    struct drain_ops ops;
    unsigned workers;
    bool begun;
    struct mempipe_target target;
    bool resumed;          /* another process had begun, which was killed */
    uint32_t n_pending;    /* buffers in all slots ... */
    uint64_t pending_side; /* ... and bytes of their side records */
    uint64_t kept;         /* bytes of side records of buffers that have not arrived */
    uint32_t n_threads;    /* slots that have one */
    unsigned n_claimed, n_closing;
    bool exec_pending;
    uint64_t exec_look_ns, claim_look_ns;
    pid_t root;
    int root_status;
    struct drain_library_end library_end; /* pid 0: none */
    struct drain_totals totals;
    struct ctr_diag *diag;              /* of the round under way */
    struct drain_news *news;            /* pipes that came alive, for sorting */
    uint8_t *scratch;                   /* a record, out of the shared memory */
    struct mempipe_side_regtable *regs; /* followed by the table; NULL: none yet */
    uint32_t state_bytes;               /* of all its registers */
    struct epoch *epochs;
    struct epoch **owner; /* of each page of ids below n_owners; NULL: none */
    uint32_t n_owners;
    bool again;       /* times are of an earlier execution */
    uint64_t last_ns; /* the end of all segments so far */
    enum embed_mode embed;
    struct map64 files;      /* that jobs were made of */
    uint32_t n_left, n_over; /* epochs in these states, see drain_epoch.c */
    bool look_epochs;        /* in this round */
    uint64_t epoch_look_ns;
    bool reap; /* definitions are to be freed when job ... is done: */
    uint64_t reap_at;
    uint64_t turn_child;    /* a pipe with the turn whose child is not attached ... */
    uint64_t turn_child_ns; /* ... since */
    uint64_t turn_look_ns;  /* drain_turns_look */
    uint64_t turn_passing;  /* who was passing the turn on then */
    struct slot *slots;
};

/* Pipes that were ever claimed have numbers below this. */
static inline uint32_t drain_pipes_high(const struct drain *d)
{
    return mempipe_host_pipes_high(d->host);
}

/* Only one thread runs at a time, and their buffers are of sets. */
static inline bool drain_is_ordered(const struct drain *d)
{
    return (d->host->layout.events & CTR_EVENTS_ORDER) != 0;
}

/* Whether pending buffer k is of the same set as the first one: a job has one set. */
static inline bool drain_is_of_set(const struct drain *d, const struct slot *s,
                                   unsigned k)
{
    return !drain_is_ordered(d) || s->pending[k].set == s->pending[0].set;
}

/* What is in a buffer, by its header. */
static inline struct job_segment drain_segment(const struct mempipe_mail *mail,
                                               uint32_t seq)
{
    return (struct job_segment){
        .buffer = mail->buffer,
        .seq = seq,
        .words = mail->words,
        .units = mail->units,
        .set = mail->set,
        .flags = mail->first ? CTR_SEGMENT_FIRST : 0,
        .start_ns = mail->start_ns,
        .end_ns = mail->end_ns,
    };
}

/* Bytes in the columns of a buffer. */
static inline uint64_t drain_segment_bytes(const struct drain *d,
                                           const struct job_segment *seg)
{
    return (uint64_t)seg->words * sizeof(uint32_t) +
           (uint64_t)seg->units * d->host->addr_bytes;
}

/* ---- drain.c ---- */

/* Step 4 of a round; 1 if there was something. */
int drain_side_queues(struct drain *d, uint64_t now);

/* ---- drain_dispatch.c ---- */

/* A protocol error: the guest did what it cannot do.  Fills the diag, returns
 * -CTR_E_CORRUPT. */
int drain_reject(struct drain *d, uint32_t pipe, const char *text);

/* NULL when there is no memory; drain_submit understands that. */
struct job *drain_job_new(enum job_kind kind, struct guest_process *p,
                          struct guest_thread *t);

/* Submits a job; without a pipeline what it carries is dropped. */
int drain_submit(struct drain *d, struct job *job);

/* Gives a buffer back without packing it. */
void drain_release_segment(struct drain *d, struct job_segment *s);

/* Adds a buffer to the pending ones of a thread; there must be room for it. */
void drain_push_segment(struct drain *d, struct slot *s, const struct job_segment *seg,
                        uint64_t now);

/* The same for a buffer that a killed recorder had read, and that has its side records;
 * makes room for it. */
int drain_push_old(struct drain *d, struct slot *s, const struct job_segment *seg,
                   uint64_t now);

/* Makes a job of all pending buffers of a thread. */
int drain_dispatch(struct drain *d, struct slot *s);
/* ... of the first n of them. */
int drain_dispatch_first(struct drain *d, struct slot *s, unsigned n);
/* ... one job, of as many as it takes. */
int drain_dispatch_full(struct drain *d, struct slot *s);

/* ---- drain_jobs.c ---- */

/* Makes jobs of what is due; smaller ones when the guest runs out of buffers. */
int drain_make_jobs(struct drain *d, uint64_t now);

/* ---- drain_side.c ---- */

/* Reads one record; a mempipe_record_fn. */
int drain_on_record(void *arg, uint32_t pipe, const struct mempipe_side_record *rec,
                    uint32_t bytes);

/* Gives the segment, buffer `seq', the side records that have their place in it. */
void drain_attach_side(struct drain *d, struct slot *s, struct job_segment *seg,
                       uint32_t seq);

/* Forgets the side records of buffers that have not arrived. */
void drain_drop_side(struct drain *d, struct slot *s);

/* The register table, once: the copy, followed by the table, becomes the drain's. */
void drain_set_regs(struct drain *d, struct mempipe_side_regtable *t);

/* ---- drain_files.c ---- */

/* An event of a thread, after its side record was kept: makes a job of a file that was
 * mapped. */
int drain_look_for_file(struct drain *d, const struct slot *s, const uint8_t *record,
                        uint32_t bytes);

/* ---- drain_epoch.c ---- */

/* A pipe of a process came alive. */
int drain_epoch_adopt(struct drain *d, uint32_t pipe, struct guest_process *p);

/* A block with this id is defined in that epoch. */
int drain_epoch_block(struct drain *d, uint32_t pipe, uint32_t id, uint32_t number);

/* A process has ended; its pipes are closed. */
void drain_epoch_end(struct drain *d, struct guest_process *p);

/* In a round, before mail is read, and when all is done. */
void drain_epochs_look(struct drain *d, uint64_t now);
int drain_epochs_settle(struct drain *d);

void drain_epochs_free(struct drain *d);

/* ---- drain_turns.c ---- */

/* The process has died: its threads get no turn any more, and what it had others get. */
void drain_turns_end(struct drain *d, const struct guest_process *p);

/* The same for a child that has died before it was attached, and a process that is stopped. */
void drain_turns_look(struct drain *d, uint64_t now);

/* ---- drain_ends.c ---- */

/* A pipe came alive: finds its process and thread. */
int drain_adopt(struct drain *d, uint32_t pipe, uint64_t now);

/* Finishes threads and processes that have ended; 1 if there were any. */
int drain_finish_the_dead(struct drain *d, uint64_t now);

/* Frees the pipes of ended threads whose reserved buffers are back. */
void drain_free_closing(struct drain *d);

/* Frees pipes that were claimed for a thread that will never come. */
void drain_sweep_claims(struct drain *d, uint64_t now);

#endif
