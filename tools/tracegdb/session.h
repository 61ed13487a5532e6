/* SPDX-License-Identifier: MIT */
/*
 * tracegdb: gdb's remote protocol, served from a trace.
 *
 * A session is at a position: an instruction of a thread that has not run yet.  gdb sees the
 * process of that thread as a program that stopped there; the other threads are where they
 * were at that time, as far as the trace has times.  Going on, forward or backward, is a
 * search of the trace for what would stop the program.
 *
 *   tracegdb.c   the command line
 *   session.c    begin and end
 *   listen.c     connections
 *   packet.c     packets
 *   serve.c      what each packet requests
 *   words.c      what packets are made of
 *   query.c      packets that begin with q and Q
 *   files.c      files that gdb reads, for symbols
 *   libraries.c  where programs and libraries are, by the mappings
 *   linkmap.c    where libraries are, by the loader's list in memory
 *   kernel.c     where a machine's kernel is
 *   position.c   threads, registers, memory at the position
 *   npc.c        sparc's npc
 *   processes.c  several processes, each at a position of its own
 *   resume.c     going on, to a breakpoint, a watchpoint, a signal, an end
 *   candidate.c  which of two places comes first
 *   step.c       steps
 *   points.c     breakpoints and watchpoints
 *   stepover.c   steps that gdb makes by itself
 *   condition.c  conditions of them
 *   judge.c      where these hold
 *   interrupt.c  gdb's request to end that
 *   syscalls.c   system calls that stop the program
 *   inferiors.c  processes that gdb gets and leaves
 *   births.c     forks, and what runs after execve
 *   thread_events.c  threads that begin and end
 *   signals.c    signals of the process, as gdb numbers them
 *   siginfo.c    what came with one
 *   monitor.c    gdb's command `monitor'
 *   marks.c      places that the user has named
 */
#ifndef TRACEGDB_SESSION_H
#define TRACEGDB_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/textbuf.h"
#include "ctr.h"
#include "gdb/gdb_regs.h"
#include "guest/guest.h"
#include "packet.h"
#include "query/moment.h"
#include "state/memory_files.h"
#include "symbols/places.h"

#define PROG "tracegdb"

/* Conditions of which any one must hold; none: always.  condition.c. */
struct conditions {
    struct condition *v;
    size_t n;
};

/* A breakpoint or watchpoint: what a Z packet says. */
struct point {
    uint64_t addr, size;
    uint32_t process; /* index */
    struct conditions conditions;
    char type; /* '0' and '1' breakpoints; '2' stores, '3' loads, '4' both */
};

/* Registers of consecutive instructions of a thread; position.c. */
struct window {
    bool valid;
    uint32_t thread;
    uint64_t from; /* the first one */
    uint32_t n;
    uint64_t *pcs, *times;
    uint8_t *values; /* of each instruction, packed; NULL: registers are not recorded */
};

/* Signals that came to the process: before which instruction, and which. */
struct signal_stop {
    uint32_t thread;
    uint64_t ordinal;
    uint64_t when;          /* as of a search, if ... */
    bool timed;             /* ... it is known */
    uint8_t number;         /* gdb's */
    struct ctr_signal info; /* what came with it */
};

/* Why the program stopped. */
enum stop_why {
    STOP_THERE, /* it was stopped already, or made a step */
    STOP_BREAK,
    STOP_WATCH,
    STOP_SIGNAL,
    STOP_ENTRY,     /* of a system call ... */
    STOP_RETURN,    /* ... and its return */
    STOP_FORK,      /* it has made a process, ... */
    STOP_VFORK,     /* ... by vfork, ... */
    STOP_VFORKED,   /* ... which holds it no longer */
    STOP_EXEC,      /* it is another program now, or, backward, again */
    STOP_CREATED,   /* the thread begins ... */
    STOP_ENDED,     /* ... or has ended */
    STOP_INTERRUPT, /* gdb wants it */
    STOP_BEGIN,     /* there is nothing before it in the trace ... */
    STOP_END,       /* ... or nothing after it */
};

/*
 * Several things happen at one ordinal, so a stop has a phase there.  Before an instruction
 * runs what came before it is over: the system wrote memory, perhaps made a process, then its
 * call returned.  The instruction makes a call, and what that writes is still ahead.
 */
enum phase {
    PHASE_WRITTEN = -2,
    PHASE_FORKED = -1, /* also of a program that begins */
    PHASE_RETURN = 0,  /* and all that is no call's */
    PHASE_ENTRY = 2,
    PHASE_UNWRITTEN = 3, /* backward */
    PHASE_ENDED = 4,     /* with its thread */
};

struct stop {
    enum stop_why why;
    int8_t phase;
    uint32_t number; /* ENTRY, RETURN: of the call */
    uint32_t child;  /* FORK, VFORK: process (index) */
    char type;       /* WATCH: of the point ... */
    uint64_t addr;   /* ... and what was accessed there; else undefined */
    uint8_t signal;  /* gdb's number, ... */
    size_t nr;       /* ... and which of the session's signals */
};

/* What steps from one position to another one meet: at the end of the last one `stop', which
 * may be nothing, and before it nothing. */
struct ahead {
    bool known, back;
    uint32_t thread;
    uint64_t from, to;
    struct stop stop;
    struct ctr_found event; /* of the access that stops it */
};

/* What a condition is evaluated with: the state before an instruction. */
struct instant {
    const uint8_t *values; /* as of ctr_state_at; NULL: not recorded */
    uint64_t pc;
    struct ctr_moment at;
};

/* The executions of breakpoints in a part of a thread where a condition holds; judge.c. */
struct stretch {
    bool known; /* with these points */
    uint32_t thread;
    uint64_t from, to;
    uint64_t *hits; /* ordinals */
    size_t n, cap;
};

/* An instruction over which gdb steps after a watchpoint: the position after it. */
struct stepover {
    bool pending, back;
    uint64_t ordinal;
    int8_t phase;
    struct ctr_found passed; /* as in the session */
    bool passed_back;
};

/* Where a process is, and how it got there. */
struct process_place {
    uint32_t process;     /* index */
    struct ctr_moment at; /* the position */
    struct stop last;
    struct ctr_found passed; /* the last event on the way there, if kind is not 0: ... */
    bool passed_back;        /* ... it went there backward */
    bool vforked;            /* what goes on first reports VFORKED */
    int8_t phase;            /* of the position; by it calls are reported once */
    size_t signal_next;      /* signals before this one were reported at the position */
    struct stepover stepover;
};

struct session {
    struct ctr_trace *tr;
    const char *path;
    struct ctr_info info;
    struct guest guest;
    const struct places *places; /* NULL: no mappings */
    unsigned jobs;
    uint32_t chunks; /* of a search for what memory held; 0: any number */

    struct gdb_regs *regs;
    uint32_t nr_values;   /* registers of the trace ... */
    uint32_t *value_off;  /* ... and where each is in a packed set */
    uint32_t value_bytes; /* of a packed set */
    uint8_t *values;      /* one set, as of ctr_state_at */
    struct ctr_memory *memory;
    bool memory_there; /* it is there: */
    struct ctr_moment memory_at;

    struct process_place here;    /* of the process that gdb has chosen, ... */
    struct process_place *others; /* ... and of those that it has else */
    size_t nr_others, cap_others;
    struct ctr_moment begin; /* where the session began ... */
    bool begin_signal;       /* ... by the signal there */
    uint32_t chosen;         /* thread (index) whose registers and memory packets mean */
    uint32_t stepping;       /* and the one that makes steps */
    struct window window, other; /* of the position's thread, and of another one */

    struct packet_link *link;
    bool interrupted;   /* gdb wants what goes on to stop, ... */
    uint64_t polled_ns; /* ... as of then */

    struct point *points;
    size_t nr_points, cap_points;
    struct ahead ahead; /* with these points */
    struct stretch stretch;
    struct signal_stop *signals;
    size_t nr_signals, cap_signals;
    bool signals_known;
    uint32_t signals_of;       /* process */
    uint8_t pass[256 / 8];     /* gdb's numbers that do not stop it */
    struct syscalls *syscalls; /* calls that stop it; NULL: none */
    struct birth *births;      /* of processes that the process makes */
    size_t nr_births, cap_births;
    bool births_known;
    uint32_t births_of; /* process */

    struct mark *marks;
    size_t nr_marks, cap_marks;

    /* The connection: */
    struct textbuf out;      /* the answer */
    struct textbuf document; /* what qXfer reads in parts, "name" first */
    bool multiprocess, swbreak, hwbreak, forks, vforks, execs;
    bool thread_events; /* it wants to know of threads that begin and end */
    bool killed;
    struct file_server *files;
    struct ctr_diag diag; /* of the last failed call of libctr */
    int failed;           /* the first error of the session, and what it was */
    struct ctr_diag failure;
};

/* ------------------------------------------------------------------- session.c */

/* Of one with trace, guest and options: goes to the instruction where it begins, signal: where
 * one has stopped it.  Returns 0 or a negated enum ctr_error; either way session_end. */
int session_begin(struct session *s, uint32_t thread, uint64_t ordinal, bool signal);
/* Goes there again; the same. */
int session_rewind(struct session *s);
void session_end(struct session *s);

/* ------------------------------------------------------------------ position.c */

/* Returns 0 or a negated enum ctr_error. */
int position_open(struct session *s);
void position_close(struct session *s);
/* Goes to an instruction, or to the end of the thread; the same. */
int position_go(struct session *s, uint32_t thread, uint64_t ordinal);

/* The instruction at which a thread of the process is then: of another one than the
 * position's, the first of which no earlier time is known; the same. */
int position_of(struct session *s, uint32_t thread, uint64_t *ordinal);
/* A thread's values of all registers, as of ctr_state_at, and its pc; the same.  *values:
 * NULL if none are recorded; valid until the next call. */
int position_state(struct session *s, uint32_t thread, const uint8_t **values,
                   uint64_t *pc);

/* The pc of an instruction of the position's thread; the same. */
int position_pc(struct session *s, uint64_t ordinal, uint64_t *pc);

/* Whether a thread of the process is there at the position. */
bool position_has(const struct session *s, const struct ctr_thread *t);

/* The thread that the process begins with, and the time of its first instruction, when its
 * program is mapped. */
const struct ctr_thread *process_first(const struct session *s);
uint64_t process_begin_ns(struct session *s);

/* As ctr_memory_read, at the position, or anywhere else. */
int position_memory(struct session *s, uint64_t addr, uint8_t *out, uint8_t *known,
                    size_t n);
int position_memory_at(struct session *s, const struct ctr_moment *at, uint64_t addr,
                       uint8_t *out, uint8_t *known, size_t n);

/* One past the last instruction of a thread. */
static inline uint64_t thread_end(const struct ctr_thread *t)
{
    return t->first + t->insns;
}

/* ------------------------------------------------------------------------ npc.c */

/* The value of sparc's npc, of a thread as of position_of; false: not known. */
bool position_npc(struct session *s, uint32_t thread, uint64_t *npc);

/* ----------------------------------------------------------------- processes.c */

/* Of a process (index) that gdb has: where it is; NULL: it does not have it. */
const struct process_place *process_place(const struct session *s, uint32_t process);
/* Goes to a process that gdb has. */
void process_choose(struct session *s, uint32_t process);
/* Of its id: 1 and *process, or 0. */
int process_find(const struct session *s, uint64_t pid, uint32_t *process);
/* Goes to a place, of a process that gdb has. */
void process_be_at(struct session *s, const struct process_place *p);
/* The first thread of a process that has instructions in the trace; NULL: none has. */
const struct ctr_thread *process_thread(const struct session *s, uint32_t process);

/* ----------------------------------------------------------------- inferiors.c */

/* From here on gdb has this one, too, before its first instruction; 0 or a negated enum
 * ctr_error. */
int process_add(struct session *s, uint32_t process);
/* gdb no longer has it, nor its breakpoints; the session stays at the last one. */
void process_leave(struct session *s, uint32_t process);
/* It has the one where the position is, and no other one. */
void process_forget(struct session *s);

/* -------------------------------------------------------------------- births.c */

/* Goes to what runs after execve, or ran before it: 1 and *stop, 0: nothing does, or a negated
 * enum ctr_error. */
int births_exec(struct session *s, bool back, struct stop *stop);
/* After a stop for a fork: gdb has the child now; 0 or a negated enum ctr_error. */
int births_take(struct session *s, const struct stop *stop);
/* Whether what goes on has to report first that vfork's child holds it no longer. */
bool births_vforked(struct session *s, struct stop *stop);

/* ----------------------------------------------------------------- interrupt.c */

/* From here on whether gdb interrupts what goes on; one thread at a time may call it. */
void interrupt_reset(struct session *s);
bool interrupt_pending(struct session *s);
/*
 * Replays what the system did to the process where the session is, with the session as
 * `arg', until gdb interrupts; returns what ctr_replay does.
 */
int interrupt_replay(struct session *s, struct ctr_replay_ops ops);

/* -------------------------------------------------------------------- resume.c */

/* Goes on, forward or backward; returns 0 and *stop, or a negated enum ctr_error. */
int resume_go(struct session *s, bool back, struct stop *stop);

/* ---------------------------------------------------------------------- step.c */

/* One instruction of a thread, forward or backward, or as long as its pc is in a range
 * (range_to 0: none); the same. */
int step_go(struct session *s, bool back, uint32_t thread, uint64_t range_from,
            uint64_t range_to, struct stop *stop);

/* ------------------------------------------------------------------ stepover.c */

/* After a stop for a watchpoint: to where the target's gdb wants it; 0 or a negated enum
 * ctr_error. */
int stepover_stop(struct session *s, bool back);
/* What goes on first makes the step that is due in its direction, if there is one; the same. */
int stepover_go(struct session *s, bool back, bool *done);
/* Whether the instruction at the position is in the delay slot of a branch that is taken. */
bool stepover_in_slot(struct session *s);
/* Whether what goes on from the position may be a step of gdb's own, of which this instruction
 * is the end. */
bool stepover_is_step(const struct session *s, bool back, uint32_t thread,
                      uint64_t ordinal);

/* ------------------------------------------------------------------- signals.c */

/* Reads the signals of the process; returns 0 or a negated enum ctr_error. */
int signals_load(struct session *s);
/* The signal that came at the position has stopped the program; without one, nothing; the same. */
int signals_stop(struct session *s);
/* The number of a signal of the target among gdb's. */
uint8_t signals_gdb(const struct session *s, uint32_t number);
static inline bool signals_passed(const struct session *s, uint8_t number)
{
    return s->pass[number / 8] >> number % 8 & 1;
}

/* -------------------------------------------------------------------- points.c */

static inline bool point_is_break(const struct point *p)
{
    return p->type < '2';
}

/* Answers a packet Z or z into s->out; false: no memory. */
bool points_request(struct session *s, const char *packet);
void points_clear(struct session *s);
/* Whether there is a watchpoint; a breakpoint with a condition; a point of this type at an
 * address. */
bool points_watch(const struct session *s);
bool points_conditional(const struct session *s);
bool points_has(const struct session *s, char type, uint64_t pc);
/* Drops those of a process; gives a process all those of another one, for memory that it has
 * copied or shares: false: no memory. */
void points_drop(struct session *s, uint32_t process);
bool points_copy(struct session *s, uint32_t from, uint32_t to);
/* Whether there is a breakpoint of which a condition holds: then; at the position, if its
 * state can be read. */
bool points_hold(struct session *s, const struct instant *i);
bool points_hold_here(struct session *s);
/* The ranges of the points of some types, for a filter: free(*out); their number, or -1: no
 * memory. */
int points_ranges(const struct session *s, const char *types, struct ctr_range **out);

/* ----------------------------------------------------------------- condition.c */

/* Reads "XLENGTH,BYTES" and so on up to another character: NULL and *out (conditions_free),
 * or what is wrong. */
const char *conditions_parse(const char *p, struct conditions *out);
void conditions_free(struct conditions *c);
bool conditions_hold(struct session *s, const struct conditions *c,
                     const struct instant *i);

/* ------------------------------------------------------------------- siginfo.c */

#define SIGINFO_BYTES 128

/* False: the program has not stopped for a signal, or it is not known what came with it. */
bool siginfo_get(const struct session *s, uint8_t out[SIGINFO_BYTES]);

/* ------------------------------------------------------------------ syscalls.c */

/* Catches calls, as QCatchSyscalls says: "0", "1" or "1;NR;NR.."; false: no memory. */
bool syscalls_catch(struct session *s, const char *list);
void syscalls_close(struct session *s);

/* --------------------------------------------------------------------- serve.c */

/* Serves a connection until it ends; TOOL_OK or TOOL_FAILED after a line on stderr. */
int serve(struct session *s, int in, int out);

/* --------------------------------------------------------------------- words.c */

/* Appends "p1.2", or "2"; false: no memory. */
bool put_thread_id(struct session *s, struct textbuf *b, const struct ctr_thread *t);
/* Parses such an id: 1 and *thread (an index); 0: any, or all, and *thread where the process is
 * that it names, or the one chosen; -1: there is none. */
int parse_thread_id(const struct session *s, const char **p, uint32_t *thread);
/* Hexadecimal numbers of packets: false if there is none. */
bool parse_hex(const char **p, uint64_t *value);
/* Bytes as two digits each, of text and data; -1 if they are no such. */
bool put_hex(struct textbuf *b, const void *data, size_t n);
long parse_hex_bytes(const char *p, uint8_t *out, size_t most);

/* --------------------------------------------------------------------- query.c */

/* Answers a packet that begins with q or Q into s->out; returns false: no memory. */
bool query(struct session *s, const char *packet, size_t n);

/* --------------------------------------------------------------------- files.c */

/* The file of the process's program as the guest names it, or NULL. */
const char *files_program(struct session *s);
/* The auxiliary vector at the begin of the process, if its initial stack is known; NULL */
const uint8_t *files_auxv(struct session *s, size_t *n);
/* Answers a vFile packet, from after "vFile:"; false: no memory. */
bool files_request(struct session *s, const char *packet, size_t n);
void files_close(struct session *s);

/* ----------------------------------------------------------------- libraries.c */

/* Whether gdb cannot find libraries by itself: no memory is known, but mappings are. */
bool libraries_needed(const struct session *s);
/* Whether there is a list of them. */
bool libraries_listed(const struct session *s);
/* The document of qXfer:libraries-svr4, at the position, without the program (as files_program
 * has it, or NULL).  False: no memory; *known: there is one, else gdb reads memory by itself. */
bool libraries_list(struct session *s, const char *program, struct textbuf *b,
                    bool *known);
/* The answer to qOffsets for a program that was not loaded where its file says; nothing: it
 * was, or that is not known.  False: no memory. */
bool libraries_offsets(struct session *s, const char *program, struct textbuf *b);
/* The entries of the auxiliary vector that say where the program and its loader are; their
 * bytes, at most `most', 0 if that is not known or gdb can read the vector. */
size_t libraries_auxv(struct session *s, const char *program, uint8_t *out, size_t most);

/* ------------------------------------------------------------------- linkmap.c */

/* As libraries_list, of memory, by the address of the program's dynamic section. */
bool linkmap_list(struct session *s, uint64_t dynamic, struct textbuf *b, bool *known);

/* -------------------------------------------------------------------- kernel.c */

/* The answer to qOffsets for a machine: by how much gdb has to move its symbols; nothing: not
 * at all. */
bool kernel_offsets(const struct session *s, struct textbuf *b);
/* A line of text that says it. */
bool kernel_slide(const struct session *s, struct textbuf *b);

/* --------------------------------------------------------------------- marks.c */

/* Names the position, or lists all names; text goes to b.  False: no memory. */
bool marks_set(struct session *s, const char *name, struct textbuf *b);
bool marks_list(const struct session *s, struct textbuf *b);
/* The place of a name; false: there is none. */
bool marks_find(const struct session *s, const char *name, struct ctr_moment *out);
void marks_free(struct session *s);

/* ------------------------------------------------------------------- monitor.c */

/* Runs a command of the user; its output, text, goes to b.  False: no memory. */
bool monitor(struct session *s, const char *command, struct textbuf *b);

#endif
