/* SPDX-License-Identifier: MIT */
/*
 * Compares two threads.
 *
 *   pair.c     goes through both as long as they are equal, run by run
 *   spot.c     where both are
 *   data.c     their accesses and system calls there, writes.c their registers
 *   align.c    after a difference, finds where both go on alike
 *   skip.c     finds equal chunks, which need not be read
 */
#ifndef TRACEDIFF_PAIR_H
#define TRACEDIFF_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/progress.h"
#include "guest/guest.h"
#include "ids.h"
#include "common/map64.h"
#include "secrets.h"
#include "side.h"
#include "skip.h"
#include "space.h"
#include "stream.h"

enum difference_kind {
    DIFFERENCE_CODE,     /* other instructions ran */
    DIFFERENCE_ACCESS,   /* an access is of one side only, or has another size or kind */
    DIFFERENCE_ADDRESS,  /* it is to another address */
    DIFFERENCE_VALUE,    /* it has another value */
    DIFFERENCE_REGISTER, /* an instruction wrote another value into a register */
    DIFFERENCE_EVENT, /* another system call, result or memory of it, or another signal */
};

/* Side by side: [0] is of the first trace. */
struct difference {
    enum difference_kind kind;
    uint64_t equal; /* instructions of the pair that were equal before it */
    struct difference_side {
        uint64_t ordinal; /* of the instruction; of an event, of the one that follows */
        bool ends;        /* there is none: the thread ends here */
        uint64_t n; /* CODE: instructions until both go on alike; with !again, what was
                             looked at */
        const struct access *access; /* NULL: there is none */
        const struct write *write;
        const struct event *event;
        const uint8_t *data; /* of an access or a write; payload of an event */
    } side[2];
    bool again;    /* CODE: both go on alike after n */
    uint64_t hash; /* of the instruction, or of what the event is */
    size_t at;     /* EVENT: of memory, the byte from which on it differs */
};

/* "code", "end", "access", "address", "value", "register", "call" */
const char *difference_name(const struct difference *d);

struct pair;

#define PAIR_PAGES 64u
#define PAIR_APART 32u

struct pair_options {
    bool ignore_addresses;
    bool by_function;                 /* addresses in files are not compared */
    const char *const *ignored_calls; /* globs */
    unsigned nr_ignored_calls;
    uint32_t lookahead; /* instructions of each side in which align.c looks */
};

/* A place in a stream: instruction `off' of run i. */
struct spot {
    struct batch *b; /* NULL: the stream has nothing */
    bool ended;      /* after its last run */
    bool
        still; /* the thread changes no mappings in this batch: the space is right for it */
    uint32_t i, off;
    size_t access, write, event; /* the next ones */
};

struct pair {
    const struct pair_options *opt;
    const struct side *side[2];
    const struct ctr_thread *thread[2];
    const struct ids *ids[2];
    struct guest guest[2];
    /* A difference; returns false if no more are wanted.  One of an access or event that
     * is like one before. */
    bool (*difference)(void *arg, struct pair *p, const struct difference *d);
    void (*repeated)(void *arg);
    void *arg;
    struct skip *skip; /* of the two traces */
    struct progress *progress;
    struct stream stream[2];
    struct spot at[2];
    struct space space[2];
    struct secrets secrets[2];
    struct secrets *secrets_of[2]; /* of each process, as far as they are known */
    /* How much higher the same page is on side 1, by pages of side 0; as of so many changes
     * of the spaces. */
    struct {
        uint64_t page, distance;
    } higher[PAIR_PAGES];
    uint32_t higher_as_of;
    /* All such distances, for numbers made of pointers; see distance.c. */
    uint64_t apart[PAIR_APART];
    unsigned nr_apart;
    uint32_t apart_as_of;
    bool apart_known;
    struct map64 seen;
    uint64_t equal;      /* instructions compared, ... */
    uint64_t skipped;    /* ... of which were not read */
    uint64_t shown;      /* ... as of the progress line */
    uint64_t other_load; /* instructions compared before and with the last one with a load
                            that has other bytes */
    struct write kept_write; /* see writes.c */
    uint8_t kept[CTR_REG_STRIDE];
    bool call_ignored; /* the last system call is one of opt->ignored_calls */
    bool full;         /* the report wants no more */
    int error;         /* of libctr, of side `failed' */
    unsigned failed;
    struct ctr_diag diag;
};

/*
 * Compares thread[0] from ordinal from[0] on with thread[1] from from[1] on, and reports.
 * The caller has set side, thread, ids, skip, difference, repeated, opt and progress, and keeps the pair for
 * others.  0; or error, also where the data are damaged: everything before was compared.
 */
int pair_compare(struct pair *p, const uint64_t from[2]);
void pair_fini(struct pair *p);

/* ------------------------------------------------------- for the parts of it */

/* The position of a spot in its batch, and the ordinal of a position of a batch. */
static inline uint32_t spot_pos(const struct spot *s)
{
    return batch_at(s->b, s->i) + s->off;
}
uint64_t batch_ordinal(const struct batch *b, uint32_t pos);
/* The hash of the instruction at a position, which must be one of the batch. */
uint64_t batch_insn(const struct pair *p, const struct batch *b, uint32_t pos);
/* The ordinal of a spot; at the end, the one after the last instruction. */
uint64_t spot_ordinal(const struct pair *p, unsigned side);

/*
 * difference.c: reports a difference of an access, a register or an event, unless it repeats one: the same
 * hash, or the same two values, which were copied from one place to the other.  values: a
 * hash of both, or 0.
 */
void difference_report(struct pair *p, const struct difference *d, uint64_t values);

/* data.c: compares what the next n instructions of both sides did, and with `before' what
 * the system did before the one after them. */
void data_compare(struct pair *p, uint32_t n, bool before);

/* align.c: finds the nearest places where both go on alike: how many instructions are in
 * between.  False: none within the limit; then n says how many there are.  Sets p->error to
 * -CTR_E_NOMEM if there is no memory. */
bool align_find(struct pair *p, uint64_t n[2]);

/* skip.c: of equal chunks that both sides have from instructions at[0], at[1] on or later,
 * not later than `within' instructions: begin of the first that is worth skipping in *gap,
 * and how many instructions can be skipped; 0: none. */
uint64_t skip_find(const struct pair *p, const uint64_t at[2], uint64_t *gap);

#endif
