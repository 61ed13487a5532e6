/* SPDX-License-Identifier: MIT */
/*
 * Prints the events of a trace: one line for an instruction with its accesses and
 * registers, one line for each event of the system.
 *
 * events.c replays and has the callbacks, lines.c formats lines, access.c prints single
 * accesses, output.c writes in order, insntext.c caches the text of instructions, os.c
 * formats events of the system, os_touch.c selects them by memory, marks.c formats events
 * about the recording itself, calls.c assembles system calls.
 * Events between instructions alone are printed in order of time: timed.c has the
 * callbacks, order.c merges the threads, held.c keeps the lines that wait, ahead.c finds
 * out how an open call ends.
 * picked.c keeps the text of chosen ordinals, for the searches of search.h.
 */
#ifndef TOOLS_DUMP_H
#define TOOLS_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/guest.h"
#include "common/progress.h"
#include "syscall/syscall_text.h"
#include "common/textbuf.h"
#include "ctr.h"
#include "input/expansion.h"
#include "symbols/places.h"

/* ------------------------------------------------------------ annotations */

/* What a tool adds to the line or object of an instruction, its accesses and registers:
 * text after the instruction, or JSON members, each preceded by a comma. */
struct annotation {
    uint32_t off; /* in block_annotations.text */
    uint32_t len;
    bool hidden; /* neither the instruction nor its accesses and registers are shown */
};

struct block_annotations {
    const char *text;
    const struct annotation *insn; /* of each instruction of the block */
};

/*
 * The source of annotations.  Each worker has a state of its own, made by worker_new
 * (NULL: no memory) and used by one thread at a time.
 */
struct annotator {
    void *arg;
    bool selects; /* it hides instructions: events of the system are not shown */
    void *(*worker_new)(void *arg);
    void (*worker_free)(void *worker);
    /* The time to use at an ordinal of a chunk; *until: the first ordinal that has
     * another time. */
    uint64_t (*time)(void *arg, const struct ctr_chunk *chunk, uint64_t ordinal,
                     uint64_t *until);
    /*
     * The annotations of a block of a process at a time, valid until the next call; NULL:
     * no memory.  Called whenever another block begins, so it has to be quick; `epoch'
     * changes when process, time or chunk_end_ns change.
     */
    const struct block_annotations *(*block)(void *worker, const struct ctr_block *b,
                                             uint64_t epoch, uint32_t process,
                                             uint64_t time_ns, uint64_t chunk_end_ns);
};

/* What the user chose; dump_options.h fills in most of it. */
struct dump_options {
    const char *prog; /* for messages */
    const char *path;
    const char *out; /* what standard output is, for messages; NULL: just that */
    bool json, no_index, quiet, no_pager;
    bool statistics; /* report at the end how much was read */
    bool no_disas;
    bool no_bytes; /* text: show only the pc of an instruction; with no_disas */
    bool color;
    bool values;       /* of accesses */
    bool signals_only; /* of CTR_KIND_SYS */
    bool times;        /* of system calls and other events */
    bool phys;         /* physical addresses of accesses */
    bool group;        /* events between instructions chunk by chunk, too */
    /* For module+offset next to a pc, the offset being an address of the file; NULL: not
     * shown.  dump_shows_modules says whether it is used. */
    const struct places *places;
    unsigned jobs;
    unsigned string_max; /* bytes shown of a system call's buffer */
    uint32_t kinds;      /* CTR_KIND_* to show */
    /* CTR_KIND_LOAD, _STORE: with addresses also calls and signals for which the system
     * read, or wrote, there */
    uint32_t buffers;
    uint64_t
        insns; /* of the only thread, of which the trace is a window; 0: it is none */
    struct ctr_filter filter;
    struct picked *picked; /* keep the text of these ordinals, see picked.h; or NULL */
    const struct annotator *annotator; /* instead of places; or NULL */
};

/* Whether what opt selects has lines with modules. */
bool dump_shows_modules(const struct dump_options *opt);

/* Positive values with which a callback stops ctr_replay. */
enum dump_stop {
    DUMP_STOP_EPIPE = 1,  /* the reader of the output is gone */
    DUMP_STOP_OUTPUT = 2, /* output cannot be written: errno in sys_errno */
    DUMP_STOP_NOMEM = 3,
    DUMP_STOP_HELD = 4, /* the temporary file of held.h fails: errno in sys_errno */
    DUMP_STOP_FULL = 5, /* picked.h: the text exceeds its limit */
};

/* Writes all n bytes to standard output; 0 or an enum dump_stop. */
int dump_write(const void *data, size_t n, int *sys_errno);
/* Whether it has written anything yet. */
bool dump_wrote(void);

/* Call if nothing was written: says why, unless quiet.  Returns TOOL_NOTHING. */
int dump_nothing(struct ctr_trace *tr, const struct dump_options *opt);

/*
 * Prints the events that opt->filter and opt->kinds select to standard output.  Returns
 * an exit status that does not include the status of the trace; DUMP_CUT_SHORT if the
 * reader of the output is gone.
 */
#define DUMP_CUT_SHORT (-1)
#define DUMP_FULL (-2) /* from picked_read only */
int dump_events(struct ctr_trace *tr, const struct dump_options *opt);

/*
 * Opens the trace of opt (expansion_open), starts the pager and calls show, which returns an exit status as
 * dump_events does.  TOOL_OK becomes the status of the trace.  DUMP_CUT_SHORT becomes
 * TOOL_OK, as the rest of the trace was not wanted.  TOOL_NOTHING is kept, with a remark on
 * a partial trace.
 */
int dump_file(struct dump_options *opt, struct expansion *x, uint32_t needed,
              int (*show)(struct ctr_trace *tr, void *arg), void *arg);

/* Says why a replay ended early; returns the exit status. */
int dump_replay_status(const struct dump_options *opt, int ret, int sys_errno,
                       const struct ctr_diag *diag);

/* ------------------------------------------------------------------- tasks */

/* The task of a machine's Linux that runs, for the lines of what it does. */
struct line_task {
    uint64_t task; /* as in ctr_task; 0: not known */
    uint32_t pid, tgid;
    uint32_t comm_bytes;
    char comm[16];
};

void line_task_set(struct line_task *t, const struct ctr_task *task);
/* Sets it to the task there; returns whether it was another one.  With
 * ctr_replay_opts.tasks. */
bool line_task_take(struct line_task *t, const struct ctr_job *job);
/* Of an event: a TASK event belongs to the task that it names. */
void line_task_of(struct line_task *t, const struct ctr_job *job,
                  const struct ctr_os_event *e);

/* --------------------------------------------------------- single accesses */

/*
 * Prints accesses that the caller has chosen, each with its instruction and the address
 * of what was found there.  Used by one thread at a time; different ones at once.
 */
struct access_printer;

/* info: made before the replay begins.  Modules are shown if there are opt->places.  NULL:
 * no memory. */
struct access_printer *access_printer_new(const struct ctr_info *info,
                                          const struct dump_options *opt);
void access_printer_free(struct access_printer *p);

/* Call before the first access of a chunk. */
void access_printer_chunk(struct access_printer *p, const struct ctr_chunk *chunk,
                          const struct ctr_thread *t);

/* The line or object with its newline, valid until the next call; NULL: no memory. */
const struct textbuf *access_printer_put(struct access_printer *p,
                                         const struct ctr_mem *m, uint64_t place,
                                         const struct line_task *task);

/* ---------------------------------------------------------- text of blocks */

/*
 * The text of an instruction, the same in every line for it, up to the accesses.
 * In text form: pc, bytes, disassembly; `pad' blanks fill it up to the column of the
 * accesses.  As JSON: the members from "pc" on; the first pc_len bytes are also
 * used for accesses.
 */
struct insn_text {
    uint32_t off; /* in block_text.text */
    uint32_t len;
    uint16_t pc_len;
    uint16_t pad;
};

struct block_text {
    char *text; /* stored after the last insn */
    /* Where the block is in a file, module NULL: in none; looked up at this `epoch' of the
     * worker. */
    uint64_t epoch;
    struct place place;
    uint64_t bias; /* what to add to a pc in place for its vaddr */
    struct insn_text insn[];
};

/*
 * A worker's cache of block texts.  Workers share nothing.  When the cache exceeds a
 * bound it is emptied.
 */
struct insntext;

struct insntext *insntext_new(const struct ctr_info *info,
                              const struct dump_options *opt);
void insntext_free(struct insntext *t);

/* The text of a block, valid until the next call; NULL: no memory. */
struct block_text *insntext_make(struct insntext *t, const struct ctr_block *b);

/* --------------------------------------------------- events of the system */

/*
 * Formats events into `out'.  The file is not trusted: control characters for a terminal
 * are escaped.
 */
struct os_printer {
    const struct dump_options *opt;
    struct ctr_info info;
    struct guest guest;
    struct line_task task; /* where the event is; set by the caller */
    struct textbuf label;
    struct textbuf out;
    struct textbuf args;
    struct syscall_mem *mem;
    size_t mem_cap;
    bool touching; /* prints only what os_touches selects */
};

void os_printer_init(struct os_printer *p, const struct ctr_trace *tr,
                     const struct dump_options *opt);
void os_printer_fini(struct os_printer *p);

/* Whether opt selects calls by the memory that the system used for them. */
bool os_by_memory(const struct dump_options *opt);
/* Whether memory of a thread's process, of size > 0, is at addresses of opt->filter ... */
bool os_at_addrs(const struct dump_options *opt, const struct ctr_thread *thread,
                 uint64_t addr, uint64_t size);
/* ... and, being used by the system, selected by opt->buffers; size may be 0. */
bool os_touches(const struct dump_options *opt, const struct ctr_thread *thread,
                uint64_t addr, uint64_t size, bool write);

/* Each returns false when there is no memory. */
bool os_print_event(struct os_printer *p, const struct ctr_os_event *e);
/* The same for events about the recording itself. */
bool os_print_own(struct os_printer *p, const struct ctr_os_event *e);
/* And for those of machines, of their memory and devices. */
bool os_print_machine(struct os_printer *p, const struct ctr_os_event *e);
bool os_print_memory(struct os_printer *p, const struct ctr_os_event *e);

/* CTR_DMA_* as JSON has it. */
const char *dump_dma_source(uint32_t source);
/* The member `data' of an object, after another one: bytes in hexadecimal. */
bool os_put_data(struct os_printer *p, const uint8_t *data, uint32_t n);

/* Begins the line or object of an event. */
bool os_put_start(struct os_printer *p, const char *kind, const struct ctr_os_event *e);

/* Prints the innermost open call, if any, and its return; ret is NULL if it did not
 * return. */
struct open_call;
bool os_print_call(struct os_printer *p, const struct open_call *c,
                   const struct ctr_os_event *ret);

/* Width of what a machine's line has of the privilege, after the thread. */
#define PRIVILEGE_WIDTH 7

/* Columns for the task of a machine's Linux. */
#define TASK_WIDTH 20

/* Makes *to the thread (tool_thread_text) and the task, or their JSON members, as every line
 * has them; task: of a trace without tasks it is ignored; NULL: not shown.  False: no
 * memory. */
bool thread_label(struct textbuf *to, const struct ctr_info *info, bool json,
                  const struct ctr_thread *t, const struct line_task *task);

/* "exit", "exit_group", ... of enum ctr_end. */
const char *end_name(uint32_t reason);

/* Seconds since the recording began. */
double seconds_of(const struct ctr_info *info, uint64_t ns);

/* ---------------------------------------------------------- system calls */

/*
 * A call that has begun: copies of its event and of the memory events after it.  The
 * ordered callback gets them in the same form when a call continues in the next piece
 * of its thread.  Another call can begin inside the call "syscall" of some machines.
 */
#define CALL_DEPTH 2u
struct open_call {
    struct textbuf raw;
    unsigned depth;        /* 0: no call is open */
    size_t at[CALL_DEPTH]; /* offset in `raw' of each open call */
    const struct ctr_thread *thread;
    uint64_t ordinal; /* at which the calls began */
};

/* Header of a copied event. */
struct stored_event {
    uint32_t type;
    uint32_t size; /* of the payload, which follows */
    uint64_t ordinal;
    uint64_t time_ns;
};

/* Processes the next event of a thread: prints what is complete.  False: no memory. */
bool call_step(struct os_printer *p, struct open_call *c, const struct ctr_os_event *e);
/* Prints open calls as not returned, because another event came. */
bool call_flush(struct os_printer *p, struct open_call *c);
/* Whether the open calls, if any, did not return before this event, the next of their
 * thread: call_step prints them as such. */
bool call_is_over(const struct open_call *c, const struct ctr_os_event *e);
/* Whether such an event can occur between the begin and the end of a call. */
bool call_may_hold(const struct ctr_os_event *e);

/* Copies an event to the end of `raw'. */
bool call_store(struct textbuf *raw, const struct ctr_os_event *e);
/* Reads the stored event at *pos and moves *pos past it; false at the end.  The caller
 * sets its thread. */
bool call_load(const char *raw, size_t len, size_t *pos, struct ctr_os_event *e);

#endif
