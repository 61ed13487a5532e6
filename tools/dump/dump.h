/* SPDX-License-Identifier: MIT */
/*
 * Printing the events of a trace, for the tools that do: one line for an instruction with
 * its accesses and registers, one for what the system did.
 *
 * events.c replays and has the callbacks, lines.c makes their lines, output.c writes them
 * in order, insntext.c keeps the text of instructions; os.c shows what the system did,
 * marks.c what the recording tells of itself, calls.c puts system calls together.
 */
#ifndef TOOLS_DUMP_H
#define TOOLS_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/guest.h"
#include "common/mappings.h"
#include "common/progress.h"
#include "common/syscall_text.h"
#include "common/textbuf.h"
#include "ctr.h"

/* ------------------------------------------------------------ annotations */

/* What a tool adds to the line or object of an instruction, its accesses and registers:
 * as text it stands behind the instruction, as JSON it is members, each behind a comma. */
struct annotation {
    uint32_t off; /* in block_annotations.text */
    uint32_t len;
    bool hidden; /* the instruction is not shown, nor what belongs to it */
};

struct block_annotations {
    const char *text;
    const struct annotation *insn; /* of each instruction of the block */
};

/*
 * Whoever makes them.  Each worker has one of its own, made by worker_new (NULL: no
 * memory) and asked by one thread at a time.
 */
struct annotator {
    void *arg;
    bool selects; /* there are hidden ones: what the system did is not shown */
    void *(*worker_new)(void *arg);
    void (*worker_free)(void *worker);
    /* The time that counts at an ordinal of a chunk, and in *until the ordinal from which
     * on it is another one. */
    uint64_t (*time)(void *arg, const struct ctr_chunk *chunk, uint64_t ordinal,
                     uint64_t *until);
    /*
     * Those of a block of a process at a time, valid until the next call; NULL: no
     * memory.  Called whenever another block begins, so it has to be quick; `epoch'
     * is another number when process, time or chunk_end_ns are others than before.
     */
    const struct block_annotations *(*block)(void *worker, const struct ctr_block *b,
                                             uint64_t epoch, uint32_t process,
                                             uint64_t time_ns, uint64_t chunk_end_ns);
};

/* What the user asked for; dump_options.h fills in most of it. */
struct dump_options {
    const char *prog; /* for messages */
    const char *path;
    bool json, no_index, quiet;
    bool statistics; /* in the end, how much was read */
    bool no_disas;
    bool no_bytes; /* text: of an instruction only its pc; with no_disas */
    bool color;
    bool values;     /* of accesses */
    bool times;      /* of system calls and other events */
    bool no_modules; /* no module+offset beside a pc */
    unsigned jobs;
    unsigned string_max; /* bytes shown of a buffer of a system call */
    uint32_t kinds;      /* CTR_KIND_* to show */
    struct ctr_filter filter;
    const struct ctr_thread *only; /* nothing of other threads; NULL: all of the filter */
    const struct annotator *annotator; /* instead of modules; or NULL */
};

/* Positive values with which a callback stops ctr_replay. */
enum dump_stop {
    DUMP_STOP_EPIPE = 1,  /* nobody reads our output any more */
    DUMP_STOP_OUTPUT = 2, /* it cannot be written: errno in sys_errno */
    DUMP_STOP_NOMEM = 3,
};

/* Writes all of it to standard output; 0 or an enum dump_stop. */
int dump_write(const void *data, size_t n, int *sys_errno);

/*
 * Prints the events that opt->filter and opt->kinds select on standard output.  Returns
 * an exit status, without the verdict on the trace; DUMP_CUT_SHORT if the reader of the
 * output went away.
 */
#define DUMP_CUT_SHORT (-1)
int dump_events(struct ctr_trace *tr, const struct dump_options *opt);

/*
 * Opens the trace of opt and has it shown.  show returns an exit status as dump_events
 * does; TOOL_OK becomes the verdict on the trace, but DUMP_CUT_SHORT TOOL_OK: what else
 * is in the trace, nobody asked.  TOOL_NOTHING stays, with a remark on a partial trace.
 */
int dump_file(const struct dump_options *opt,
              int (*show)(struct ctr_trace *tr, const void *arg), const void *arg);

/* Says why a replay ended early; returns the exit status. */
int dump_replay_status(const struct dump_options *opt, int ret, int sys_errno,
                       const struct ctr_diag *diag);

/* ---------------------------------------------------------- text of blocks */

/*
 * The text of an instruction as it stands in every line for it, up to the
 * accesses.  In text form: pc, bytes, disassembly, and `pad' is the number of
 * blanks that bring it to the column of the accesses.  As JSON: the members
 * from "pc" on, of which the first pc_len bytes also serve for accesses.
 */
struct insn_text {
    uint32_t off; /* in block_text.text */
    uint32_t len;
    uint16_t pc_len;
    uint16_t pad;
};

struct block_text {
    char *text; /* behind the last insn */
    /* The file that has the block, or NULL, found at that `epoch' of the worker. */
    uint64_t epoch;
    const char *module;
    uint64_t module_base;
    struct insn_text insn[];
};

/*
 * A cache of them, for one worker.  Each worker has its own, so that nothing
 * is shared; when it has grown beyond a bound it starts afresh.
 */
struct insntext;

struct insntext *insntext_new(const struct ctr_info *info,
                              const struct dump_options *opt);
void insntext_free(struct insntext *t);

/* The text of a block, valid until the next call; NULL: no memory. */
struct block_text *insntext_make(struct insntext *t, const struct ctr_block *b);

/* ------------------------------------------------- what the system did */

/*
 * Formats events into `out'.  Everything in it comes from a file of anybody: what
 * would steer a terminal is escaped.
 */
struct os_printer {
    const struct dump_options *opt;
    struct ctr_info info;
    struct guest guest;
    struct textbuf out;
    struct textbuf args;
    struct syscall_mem *mem;
    size_t mem_cap;
};

void os_printer_init(struct os_printer *p, const struct ctr_trace *tr,
                     const struct dump_options *opt);
void os_printer_fini(struct os_printer *p);

/* Each returns false when there is no memory. */
bool os_print_event(struct os_printer *p, const struct ctr_os_event *e);
/* The same of events that are about the recording itself. */
bool os_print_own(struct os_printer *p, const struct ctr_os_event *e);

/* Begins the line or object of an event. */
bool os_put_start(struct os_printer *p, const char *kind, const struct ctr_os_event *e);

/* The innermost open call, if there is one, and its return, if it did. */
struct open_call;
bool os_print_call(struct os_printer *p, const struct open_call *c,
                   const struct ctr_os_event *ret);

/* "pid/tid" or its JSON members, as every line has them. */
size_t thread_label(char *to, size_t size, bool json, int32_t pid, int32_t tid);

/* "exit", "exit_group", ... of enum ctr_end. */
const char *end_name(uint32_t reason);

/* Seconds since the recording began. */
double seconds_of(const struct ctr_info *info, uint64_t ns);

/* ---------------------------------------------------------- system calls */

/*
 * A call that has begun: its event and those of memory behind it, copied.  In
 * this form they also travel to the ordered callback, when a call goes on in
 * the next piece of its thread.  Inside of the call "syscall", which some machines
 * have, another one can begin.
 */
#define CALL_DEPTH 2u
struct open_call {
    struct textbuf raw;
    unsigned depth;        /* 0: none is open */
    size_t at[CALL_DEPTH]; /* where in `raw' each begins */
    const struct ctr_thread *thread;
    uint64_t ordinal; /* at which they began */
};

/* One copied event, and where the next one begins. */
struct stored_event {
    uint32_t type;
    uint32_t size; /* of the payload, which follows */
    uint64_t ordinal;
    uint64_t time_ns;
};

/*
 * Takes the next event of a thread: prints what is complete.  False: no memory.
 */
bool call_step(struct os_printer *p, struct open_call *c, const struct ctr_os_event *e);
/* Something else came: open calls did not return. */
bool call_flush(struct os_printer *p, struct open_call *c);
/* Such an event can come between the begin and the end of a call. */
bool call_may_hold(const struct ctr_os_event *e);

/* Copies an event to the end of `raw'. */
bool call_store(struct textbuf *raw, const struct ctr_os_event *e);
/* Reads the stored event at *pos and moves *pos behind it; false at the end.  Its thread
 * is filled in by the caller. */
bool call_load(const char *raw, size_t len, size_t *pos, struct ctr_os_event *e);

#endif
