/* SPDX-License-Identifier: MIT */
/*
 * mempipe: the shared memory through which translated code hands events to
 * the recorder.  This header is the one definition of its layout; QEMU and
 * cannoli-record both compile it.  Everything is in host byte order: both ends
 * run on one machine, and a version number refuses all others.
 *
 * The recorder makes two memfds per recording.  Every traced process maps both of
 * them, the second right after the first, before the guest starts, and keeps no
 * descriptor; all offsets count from the start of the first.
 *
 *   struct mempipe_ctl        one            \ first file: written by the recorder
 *   struct mempipe_control    one             | only; the guest cannot map it writable
 *   struct mempipe_requests   nr_pipes       /
 *   struct mempipe_shared     one            \
 *   pages of ids              1 MiB           |
 *   struct mempipe_pipe       nr_pipes        | second file
 *   struct mempipe_buffer     nr_buffers      | (nr_buffers = nr_pipes + nr_pool)
 *   side queues               nr_pipes * side_bytes
 *   buffers                   nr_buffers * buffer_bytes
 *
 * The files are sparse: memory is used only for what has been touched.
 *
 * A guest thread owns one pipe and fills one buffer at a time: words (see
 * events.h) grow up from its start, data units (addr_bytes each) grow down from
 * its end, so unit number i is at buffer + buffer_bytes - (i+1) * addr_bytes.
 * A value of k units beginning with number i is one integer in host byte order
 * at buffer + buffer_bytes - (i+k) * addr_bytes.  The thread hands a full buffer over
 * whole: it fills in the header, then stores the buffer's
 * number + 1 (release) in the next mail slot of the pipe, then rings the
 * doorbell.  The recorder reads the buffer, zeroes what was used and gives it back:
 * buffer number i < nr_pipes always belongs to pipe i (it is *reserved*, so that a
 * thread can always continue in the end), the others go to the shared pool.  A
 * thread that finds neither its reserved buffer nor a pool buffer free waits: nothing
 * is ever dropped.
 *
 * Buffers are zero wherever nothing was written yet.  When a process dies, the
 * recorder finds the last buffer of each of its pipes in live_buffer, and its
 * contents by looking for the last word that is not zero, unless `running' is 0:
 * then quiet_words and quiet_units are exact.
 *
 * The side queue of a pipe is a byte stream of records (u64 aligned) for what
 * translated code cannot put into the columns: block definitions and accesses
 * made inside helpers.  A definition is in the queue before its block can
 * run on any thread; so a reader that looks at a buffer first and then drains
 * every queue knows all ids that occur in the buffer.  The reader must drain
 * queues without waiting for anything else.
 *
 * Epochs end the life of definitions.  A process that discards all its translated code
 * begins a new epoch: nothing that it runs from then on has an id from before.  A
 * thread hands its buffer over before it runs anything of a new epoch, so a buffer has
 * ids of one epoch of its process, or of those that the process was forked in
 * (`from_epoch', and so on).  As soon as no pipe is in an epoch any more, and what was
 * in the pipes then has been read and packed, the ids of the epoch are free.
 *
 * Ids are allocated by pages of MEMPIPE_ID_PAGE: a process allocates a page (sets its
 * byte from 0 to 1) for one epoch, the recorder frees the pages of an epoch.  So ids
 * stay small numbers, however many blocks have been defined.
 *
 * Who may write what, and what a lie can cause.  A guest that breaks out of QEMU, or
 * learns where the memory is, writes whatever it likes, at any time, from several
 * threads.  Nothing in the second file is trusted: the recorder keeps the layout in
 * memory of its own, copies a word once, checks the copy and uses only that.  At most
 * the trace of this guest is wrong, or ends with an error that says why.
 *
 *   words                         written by      a lie causes at most
 *   ctl, control                  recorder        (cannot be written: sealed)
 *   shared.addr_bytes to          QEMU's first    an error (no such width), or a trace
 *     qemu_version                process         that names another target
 *   shared.after_insns, for_insns all             a window elsewhere
 *   shared.loading, failed,       all             a failed library in the error that
 *     failure, libraries                          ends the recording
 *   shared.doorbell, asleep       all             wake-ups that are late by a second
 *   shared.space, space_waiters   all             a guest that waits for space 0.1 s
 *                                                 longer; smaller file chunks
 *   shared.pool_head, next_free,  all             buffers lost, or used by two threads:
 *     busy                                        wrong events, or a guest that waits
 *   shared.next_epoch             all             ids that are allocated again too early:
 *                                                 wrong events, or an error
 *   shared.id_hint, pages of ids  all             an error (another process has it),
 *                                                 or a QEMU that ends for want of ids
 *   shared.next_serial            all             threads grouped wrongly
 *   shared.pipes_high             all             longer rounds; never decreases
 *   shared.nr_exhausted           all             nothing
 *   pipe.state                    thread; FREE:   a thread that ends early in the
 *                                 recorder        trace; its QEMU ends itself when it
 *                                                 next waits for space
 *   pipe.pid, tid, ptid, ppid,    thread, forker  other numbers in the trace.  Whom the
 *     was_pid, was_ppid                           recorder watches and signals it
 *                                                 learns from the system, see
 *                                                 recorder/attached.h
 *   pipe.process, nested          thread          threads shown in another process, a
 *                                                 process that is treated as dead
 *   pipe.start_ns, end_ns,        thread          other times, reasons, status
 *     end_reason, end_status
 *   pipe.live_buffer to quiet_*   thread          a wrong tail after a kill
 *   pipe.inside, inside_end       thread          a wrong library in the error, if the
 *                                                 process really died
 *   pipe.turn to futex_bits,      all             threads that wait for a turn for ever,
 *     shared.turns                                or run at the same time: a wrong order
 *   pipe.epoch, from_epoch,       thread, forker  ids allocated again too early: an
 *     from_process                                error, or wrong events; or too late:
 *                                                 memory
 *   pipe.side_head                thread          an error (a record is impossible)
 *   pipe.side_tail                recorder        records overwritten: an error; the
 *                                                 recorder has its own copy
 *   pipe.mail                     both            an error (header is impossible)
 *   buffer header                 thread          an error (header is impossible)
 *   side queues, buffers          thread          wrong events, or an error
 */
#ifndef CANNOLI_MEMPIPE_H
#define CANNOLI_MEMPIPE_H

#include <stdint.h>
#include "cannoli/events.h"

#define MEMPIPE_MAGIC 0x6570697063726374ull /* "ctrcpipe" */
#define MEMPIPE_VERSION 15u
#define MEMPIPE_LINE 64
/* Mail slots of a pipe, a power of two, more than the buffers one pipe can have in flight. */
#define MEMPIPE_MAIL 128u
#define MEMPIPE_MAX_POOL 96u
#define MEMPIPE_ID_PAGE 256u /* ids of a page; 0 is none */
#define MEMPIPE_ID_PAGES (1u << 20)

/*
 * Free space (bytes) that every buffer keeps between its columns for what C code
 * adds on behalf of a block that is already running (LEFT, FAULT, the SUSPEND
 * mark): a room check in translated code requires its own need plus this.
 */
#define MEMPIPE_SLACK 64u

/*
 * A buffer with more bytes of side records than this is handed over as soon as that
 * is possible, whatever its columns hold: the recorder keeps the records until it has
 * received the buffer.  A system call's data are emitted in records of at most
 * MEMPIPE_DATA_BYTES of payload each, one USERMEM event after the other.
 */
#define MEMPIPE_BUFFER_SIDE_BYTES (1u << 20)
#define MEMPIPE_DATA_BYTES (32u << 10)

/*
 * Sets, with CTR_EVENTS_ORDER.  Threads that run one at a time fill the buffers of a set
 * together, until so many bytes of them were handed over; then the next set begins, and
 * a thread hands over what it has of an older one before it runs again.  So what is in a
 * set was done before all that is in the next one.  A chunk is of one set: a reader that
 * merges threads needs the chunks of one set at a time.
 */
#define MEMPIPE_SET_BYTES (3584u << 10) /* as many as make one chunk */

/*
 * Turns, with CTR_EVENTS_ORDER of programs: one guest thread of all processes runs at a
 * time.  It has the turn (shared.turns.holder) while it executes guest code or works on
 * guest memory for a system call, passes it on when its quantum of instructions is used
 * up and others are ready (qemu/linux-user/cannoli/turns.c), and gives it up while it
 * waits in the host's kernel.  Only the thread that has the turn changes
 * shared.turns, and the turn of a READY thread.  Of a process that has died the recorder
 * passes it on.
 */
enum {
    MEMPIPE_TURN_OUT = 0,   /* it takes no part, or takes none any more */
    MEMPIPE_TURN_AWAY = 1,  /* it waits for something else */
    MEMPIPE_TURN_READY = 2, /* it waits for the turn, on this word */
    MEMPIPE_TURN_RUNS = 3,  /* it has it */
    MEMPIPE_TURN_CALLS = 4, /* it has it, in a call of the host that may wait: who
                                   waits for long changes it to AWAY, and has it */
    MEMPIPE_TURN_WAITS = 5, /* for a futex of the guest, on this word unless it is
                                   shared; who wakes it changes it to READY */
    MEMPIPE_TURN_TAKEN = 6, /* its process was stopped while it ran: the recorder has
                                   passed its turn on, and sent it `stopped_signal',
                                   so that it leaves translated code and waits */
};

/* ctl.follow */
#define MEMPIPE_FOLLOW_FORK 1u /* record child processes, too */
#define MEMPIPE_FOLLOW_EXEC 2u /* start QEMU for guest programs given to execve */

/*
 * What the recorder changes while the program runs.  After a change it increments
 * `generation' (release) and wakes all who wait on it; with ctl.watch every process
 * has a thread that does, and makes the others leave translated code.
 */
#define MEMPIPE_MARKS 64u
#define MEMPIPE_MARK_BYTES 240u
#define MEMPIPE_FILTER_BYTES (64u << 10)
#define MEMPIPE_LIBRARIES 64u
#define MEMPIPE_PATH_BYTES 504u
#define MEMPIPE_TASKS_BYTES 1024u
#define MEMPIPE_CONTEXTS 32u

struct mempipe_mark {
    uint64_t asked_ns; /* CLOCK_MONOTONIC */
    uint32_t bytes;    /* of text, not more than MEMPIPE_MARK_BYTES */
    uint32_t zero;
    char text[MEMPIPE_MARK_BYTES];
};

/*
 * A library that some process has loaded.  Entries are used in order and never
 * change: 0 free, 1 being written, 2 (release) complete.
 */
struct mempipe_library {
    uint32_t state;
    uint32_t zero;
    char path[MEMPIPE_PATH_BYTES]; /* with a NUL; of a long one, the end */
};

struct mempipe_control {
    uint32_t generation;
    uint32_t paused;   /* 1: no thread is recorded */
    uint32_t nr_marks; /* ever made; number n (from 1) is in
                               marks[(n - 1) % MEMPIPE_MARKS] */
    uint32_t window;   /* 1: process gates begin closed (--start-at) */
    /*
     * Libraries that choose what is recorded, one a line: "path,key=value,...", commas in
     * a path or value doubled, a line feed is not possible.  Empty: everything is
     * recorded.  filter_seq is odd while the recorder writes.
     */
    uint32_t filter_seq;
    uint32_t filter_bytes;
    uint32_t coverage; /* 1: record each block once (then no MEM, VAL, REG) */
    /*
     * What of a machine is recorded: tasks of its Linux, a list with commas of pids (of a
     * task or its process) and globs of names, empty: all; and address spaces, by their
     * page tables, none: all.
     */
    uint32_t nr_contexts;
    uint64_t contexts[MEMPIPE_CONTEXTS];
    char tasks[MEMPIPE_TASKS_BYTES];
    struct mempipe_mark marks[MEMPIPE_MARKS];
    char filter[MEMPIPE_FILTER_BYTES];
};

/*
 * Pages that the recorder requests key frames of (CTR_EVENTS_KEY), of the thread of a pipe.
 * It writes entry head % MEMPIPE_REQUESTS, then head + 1 (release).  A thread that reads
 * too late finds newer ones, and those of another thread that had the pipe: a request is
 * no promise.
 */
#define MEMPIPE_REQUESTS 64u

struct mempipe_request {
    uint64_t page;   /* the address of its first byte */
    uint32_t serial; /* of the thread's pipe */
    uint32_t zero;
};

struct mempipe_requests {
    uint32_t head __attribute__((aligned(MEMPIPE_LINE))); /* ever made */
    struct mempipe_request request[MEMPIPE_REQUESTS];
} __attribute__((aligned(MEMPIPE_LINE)));

/* States of a pipe. */
enum {
    MEMPIPE_FREE = 0,    /* may be claimed by compare-and-swap */
    MEMPIPE_CLAIMED = 1, /* a thread or fork is setting it up */
    MEMPIPE_LIVE = 2,    /* identity valid, thread runs */
    MEMPIPE_ENDED = 3,   /* last buffer handed over; recorder frees the pipe */
};

/*
 * One guest thread.  Lines are written by one side only, as said.
 * `state' FREE -> CLAIMED -> LIVE -> ENDED is the producer's, ENDED -> FREE
 * the recorder's (release stores; read with acquire).
 */
struct mempipe_pipe {
    /* line 0: producer, set before LIVE */
    uint32_t state;
    uint32_t is_process; /* 1: first thread of its process */
    union {
        struct {
            uint32_t serial; /* unique in the recording, in order of claims */
            int32_t pid;     /* as getpid(2) returns it to the guest */
        };
        /*
         * Both at once.  A parent that comes late must not name its child in a
         * pipe that another thread has claimed by now: it replaces its own
         * serial and pid 0, or nothing.
         */
        uint64_t serial_pid;
    };
    int32_t tid;         /* as gettid(2) returns it to the guest */
    int32_t ppid;        /* for a process's first thread: who forked it */
    int32_t ptid;        /* thread that made this one, also by fork; 0: none */
    uint32_t end_reason; /* MEMPIPE_END_*, with ENDED */
    uint64_t start_ns;   /* CLOCK_MONOTONIC */
    uint64_t end_ns;
    int32_t end_status; /* exit code, or signal number */
    uint32_t process;   /* serial of the pipe of its process's first thread */
    uint32_t nested;    /* 1: pid and tid are of a PID namespace below that of
                               the recording's first process */
    /* With inputs, the process's numbers when it was recorded; 0: as above.  tid and
     * ptid are those of then. */
    int32_t was_pid, was_ppid;

    /* line 1: producer, while it runs */
    uint32_t live_buffer __attribute__((aligned(MEMPIPE_LINE)));
    /* buffer being filled + 1, 0 if none */
    uint32_t live_seq;    /* its sequence number in this pipe, from 0 */
    uint32_t running;     /* 1: inside translated code */
    uint32_t quiet_words; /* lengths of both columns while running == 0 */
    uint32_t quiet_units;
    uint32_t waits;        /* how often the thread waited for a buffer */
    uint64_t wait_ns;      /* and how long, in all */
    uint32_t inside;       /* number (from 1) of the entry of shared.libraries whose
                               code this thread runs, 0: none; MEMPIPE_LIBRARIES + 1: one
                               that found no free entry */
    uint32_t inside_end;   /* what that code has ended the process with: a signal's
                               number, or MEMPIPE_INSIDE_EXIT */
    uint32_t epoch;        /* of the buffer being filled; set (release) after the mail
                               of the one before */
    uint32_t from_epoch;   /* of a process's first thread: the epoch of its parent
                               that it was forked in; 0: none.  While CLAIMED: the child
                               may be forked in that epoch or in a later one */
    uint32_t from_process; /* and the parent, as `process' names it */

    /* line 2: producer: bytes ever put into the side queue */
    uint64_t side_head __attribute__((aligned(MEMPIPE_LINE)));
    /* line 3: recorder: bytes ever read out of it */
    uint64_t side_tail __attribute__((aligned(MEMPIPE_LINE)));

    /* with turns: MEMPIPE_TURN_*, and what it waits for while it WAITS */
    uint32_t turn __attribute__((aligned(MEMPIPE_LINE)));
    uint32_t turn_calls;   /* how often it was CALLS */
    uint64_t futex;        /* the address in QEMU's memory */
    uint64_t futex_number; /* of waits, in order */
    uint32_t futex_bits;   /* FUTEX_WAIT_BITSET */
    uint32_t futex_shared; /* 1: not FUTEX_PRIVATE_FLAG */
    uint32_t stopped_signal;

    /*
     * Mail: slot seq % MEMPIPE_MAIL holds buffer number + 1, or 0.  Stored by
     * the producer (release), cleared by the recorder (release).
     */
    uint32_t mail[MEMPIPE_MAIL] __attribute__((aligned(MEMPIPE_LINE)));
} __attribute__((aligned(MEMPIPE_LINE)));

enum {
    MEMPIPE_END_EXIT = 1,   /* this thread ended by itself */
    MEMPIPE_END_GROUP = 2,  /* it ended its whole process (end_status) */
    MEMPIPE_END_SIGNAL = 3, /* a signal ended the process (end_status) */
    MEMPIPE_END_EXEC = 4,   /* execve replaced the process: no longer traced
                                unless the pipe turns LIVE again (it failed) */
};

#define MEMPIPE_INSIDE_EXIT 0x100u

/* Header of a buffer, written before its mail. */
struct mempipe_buffer {
    uint32_t next_free; /* pool: next free buffer + 1 */
    uint32_t busy;      /* reserved buffer: 1 from claim until given back */
    uint32_t pipe;      /* whose events it holds */
    uint32_t seq;
    uint32_t words;    /* length of the word column */
    uint32_t units;    /* length of the data column */
    uint64_t side_pos; /* side_head then: later records are later events */
    uint64_t start_ns; /* CLOCK_MONOTONIC when it was begun, handed over ... */
    uint64_t end_ns;   /* ... CTR_EVENTS_ORDER: when its thread ran last */
    uint32_t set;      /* CTR_EVENTS_ORDER: number of its set ... */
    uint32_t first;    /* ... and 1: the first one of that */
} __attribute__((aligned(MEMPIPE_LINE)));

struct mempipe_ctl {
    /* set by the recorder before anybody maps it */
    uint64_t magic;
    uint32_t version;
    uint32_t ctl_bytes;   /* sizeof(struct mempipe_ctl) */
    uint64_t total_bytes; /* of both files */
    uint64_t shared_off;  /* struct mempipe_shared: bytes of the first file */
    uint32_t nr_pipes;
    uint32_t nr_pool;
    uint32_t buffer_bytes; /* power of two, 64 KiB .. 4 MiB */
    uint32_t side_bytes;   /* power of two, 128 KiB or more */
    uint32_t events;       /* CTR_EVENTS_* to make */
    uint32_t discard;      /* 1: nobody reads, buffers are reused at once
                               (what the translated code alone costs) */
    uint64_t pipes_off;    /* bytes from the start of the mapping */
    uint32_t data_limit;   /* bytes of a USERMEM event that are kept */
    uint32_t follow;       /* MEMPIPE_FOLLOW_* */
    int32_t recorder_pid;  /* /proc/<recorder_pid>/fd/<ctl_fd> and <shared_fd> are */
    int32_t ctl_fd;        /* the two files, for programs started by execve */
    int32_t shared_fd;
    uint32_t quantum;     /* with turns: instructions, 1 or more ... */
    uint32_t vary;        /* ... 1: this is the most, and each turn is drawn, ... */
    uint64_t seed;        /* ... from this */
    uint32_t watch;       /* 1: processes watch control.generation */
    uint64_t control_off; /* struct mempipe_control */
    uint64_t requests_off;
    uint64_t ids_off; /* pages of ids: MEMPIPE_ID_PAGES bytes */
    uint64_t headers_off;
    uint64_t side_off;
    uint64_t buffers_off;
    uint32_t live;         /* 1: somebody watches the trace: hand over at system calls */
    uint32_t epoch_blocks; /* not 0: a process begins an epoch after so many
                               definitions, in place of when it has reason to */
    /* With CTR_EVENTS_INPUT, or with inputs: of the guest's random numbers */
    uint64_t random_seed;
    /* Not empty: a folder; QEMU executes again what inputs.h describes */
    char inputs[MEMPIPE_PATH_BYTES];

    /*
     * The recorder's main thread holds this robust process-shared mutex while
     * it lives.  The kernel sets FUTEX_OWNER_DIED in its first word when the
     * recorder dies, however it dies: the other end's sign of life.  Room for
     * a pthread_mutex_t.
     */
    uint32_t owner[32] __attribute__((aligned(MEMPIPE_LINE)));
};

/* Of threads that run one at a time, with CTR_EVENTS_ORDER (order.c, turns.c). */
struct mempipe_turns {
    /* who has the turn: pipe number << 32 | serial + 1; 0: nobody */
    uint64_t holder __attribute__((aligned(MEMPIPE_LINE)));
    uint32_t process;   /* as its pipe names it */
    uint32_t ran;       /* serial + 1 of the thread that ran last; 0: it has ended */
    uint64_t drawn;     /* state of the random numbers; 0: none was drawn */
    uint64_t futexes;   /* waits so far */
    uint64_t slice;     /* number of the slice, from 0 */
    uint64_t last_ns;   /* of all that was begun */
    uint64_t set_bytes; /* that were handed over of the set */
    uint32_t set;
    uint32_t begun; /* 1: there is a slice */
    uint32_t used;  /* 1: something was done in the set, or is about to be */
    uint32_t runs;  /* with inputs: the slice that runs; UINT32_MAX: all end */
};

/* What QEMU and the recorder both write, see the table above. */
struct mempipe_shared {
    /* set by QEMU's first process, before its first LIVE pipe */
    uint32_t addr_bytes;  /* 4 or 8: width of an address, and of a unit of data */
    uint32_t elf_machine; /* e_machine of the target */
    uint32_t big_endian;
    char target[32]; /* QEMU's target name: "arm", "x86_64" */
    char qemu_version[32];

    /*
     * Line number (from 1) in control.filter of the library that is being loaded in
     * some process (0: none), and what failed: set once, failed last (release).
     */
    uint32_t loading;
    uint32_t failed;
    char failure[512];
    struct mempipe_library libraries[MEMPIPE_LIBRARIES];

    /*
     * Instructions that all processes together still execute before they are
     * recorded, and then record; UINT64_MAX: no such limit.  The recorder sets
     * them, threads take slices off.
     */
    uint64_t after_insns __attribute__((aligned(MEMPIPE_LINE)));
    uint64_t for_insns;

    /* Rung (incremented, futex woken if `asleep') after mail, a state change
     * or a side queue that is half full. */
    uint32_t doorbell __attribute__((aligned(MEMPIPE_LINE)));
    uint32_t asleep; /* recorder: about to wait on doorbell */

    /* Incremented by the recorder when a buffer or queue space became free. */
    uint32_t space __attribute__((aligned(MEMPIPE_LINE)));
    uint32_t space_waiters; /* producers about to wait on space */

    /* Head of the free pool: tag << 32 | buffer number + 1 (or 0). */
    uint64_t pool_head __attribute__((aligned(MEMPIPE_LINE)));

    struct mempipe_turns turns;

    uint32_t next_epoch __attribute__((aligned(MEMPIPE_LINE)));
    /* next one to begin, from 1 */
    uint32_t id_hint; /* no page of ids below is free; lowered by the recorder */
    uint32_t next_serial;
    uint32_t pipes_high;   /* pipes ever claimed are below this number */
    uint32_t nr_exhausted; /* threads that found no free pipe (fatal) */
};

/* Side records: u32 bytes (of the whole record, a multiple of 8), u32 type. */
enum {
    MEMPIPE_SIDE_PAD = 1,      /* fills the queue up to its end */
    MEMPIPE_SIDE_BLOCK = 2,    /* struct mempipe_side_block, then a definition */
    MEMPIPE_SIDE_REGTABLE = 3, /* struct mempipe_side_regtable, then entries */
    /* with a place in a buffer: */
    MEMPIPE_SIDE_ACCESS = 8, /* struct mempipe_side_access, then data */
    MEMPIPE_SIDE_REGS = 9,   /* struct mempipe_side_regs, then registers */
    MEMPIPE_SIDE_STATE = 10, /* struct mempipe_side_place, then the state */
    MEMPIPE_SIDE_EVENT = 11, /* struct mempipe_side_event, then its payload */
    MEMPIPE_SIDE_PAGE = 12,  /* struct mempipe_side_page */
};

struct mempipe_side_record {
    uint32_t bytes;
    uint32_t type;
};

struct mempipe_side_block {
    struct mempipe_side_record h;
    uint32_t id;
    uint32_t def_bytes; /* of the block definition that follows */
    uint32_t epoch;     /* of the process */
    uint32_t zero;
};

/*
 * What follows has its place in a buffer: in the buffer with sequence number
 * `seq' of the pipe, when its columns held `words' words and `units' units of
 * data.  The recorder keeps these records as they are, in order, until the buffer
 * is packed.
 */
struct mempipe_side_place {
    struct mempipe_side_record h;
    uint32_t seq;
    uint32_t words;
    uint32_t units;
    uint32_t n; /* by type */
};

/*
 * An access made inside a helper, on behalf of instruction `insn' of the block
 * whose id was the last one among the words.  n: bytes of data that follow: `size',
 * the bytes loaded or stored, in memory order, or 0: without CTR_EVENTS_VAL, or
 * the value is not recorded.
 */
struct mempipe_side_access {
    struct mempipe_side_place p;
    uint16_t insn;
    uint8_t flags; /* MEMPIPE_ACCESS_* */
    uint8_t mmu;   /* with CTR_EVENTS_PHYS as in events.h, else 0 */
    uint32_t size; /* bytes, 1 or more */
    uint64_t addr;
};
#define MEMPIPE_ACCESS_STORE 0x1u
#define MEMPIPE_ACCESS_BE 0x2u /* the value is big-endian in memory */

/*
 * Registers that were changed other than by register slots, n of them:
 * u16 number, u16 zero, u8 value[16] each (MEMPIPE_REG_BYTES).  By instruction
 * `insn' of the last block, at its end, or, with MEMPIPE_OUTSIDE, outside of
 * translated code (system calls, signals).
 */
struct mempipe_side_regs {
    struct mempipe_side_place p;
    uint32_t insn;
    uint32_t zero;
};
#define MEMPIPE_OUTSIDE 0xffffffffu
#define MEMPIPE_REG_BYTES 20u

/*
 * The state of all registers (n bytes follow, see events.h) at the begin of buffer
 * `seq': every buffer has one, with CTR_EVENTS_REG.
 */

/* An event (enum ctr_event_type): n bytes of payload follow. */
struct mempipe_side_event {
    struct mempipe_side_place p;
    uint32_t type;
    uint32_t zero;
    uint64_t time_ns; /* CLOCK_MONOTONIC, 0: not requested */
};

/*
 * With CTR_EVENTS_PHYS: from here on virtual page `page' of MMU index `mmu' is at the
 * physical address `phys'; or, with MEMPIPE_PAGE_FORGET, nothing that was recorded before
 * is in the TLB (then there is no page, and no instruction).  The TLB was filled by
 * instruction `insn' of the last block, for its accesses and all later ones; with
 * MEMPIPE_NO_INSN, after the last run.
 */
struct mempipe_side_page {
    struct mempipe_side_place p; /* n: 0 */
    uint16_t insn;
    uint8_t mmu;
    uint8_t flags; /* CTR_PAGE_* (events.h), MEMPIPE_PAGE_FORGET */
    uint8_t bits;  /* of an address within a page */
    uint8_t zero[3];
    uint64_t page; /* the address of its first byte */
    uint64_t phys;
};
#define MEMPIPE_NO_INSN 0xffffu
#define MEMPIPE_PAGE_FLAGS (CTR_PAGE_DEVICE | CTR_PAGE_SECURE) /* of a page */
#define MEMPIPE_PAGE_FORGET 0x80u
/* Of a thread, that are known before all are forgotten; a power of two. */
#define MEMPIPE_MOST_PAGES (1u << 16)

/* The register table: n entries, `table_bytes' of them follow; before any buffer
 * of the pipe, from the first thread of each process. */
struct mempipe_side_regtable {
    struct mempipe_side_record h;
    uint32_t n;
    uint32_t table_bytes;
};

#endif
