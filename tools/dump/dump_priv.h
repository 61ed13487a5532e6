/* SPDX-License-Identifier: MIT */
/*
 * Shared by the parts that print events: events.c has the callbacks, lines.c formats
 * lines, output.c writes them in recorded order.  timed.h is for the order of time.
 */
#ifndef TOOLS_DUMP_PRIV_H
#define TOOLS_DUMP_PRIV_H

#include "dump.h"

/* Limit of a line in bytes, without the text of its instruction, values, and names of
 * registers and modules. */
#define LINE_MAX_REST 512

/* Bytes shown, in text form, of values too long to be numbers. */
#define MAX_TEXT_DATA 32u

/* Columns for module+offset. */
#define MODULE_WIDTH 24

/* The state of one worker, on cache lines of its own. */
struct worker {
    /* Used for each instruction. */
    uint64_t watch;                /* before_insn() is called from this ordinal on */
    const struct ctr_block *block; /* the current block; its text is in `text' */
    struct block_text *text;
    uint64_t ordinal; /* text: of the current line */
    bool in_line;     /* text: a line is open */
    bool outside;     /* the open line is one of registers changed by the system */
    bool held;        /* an exec event waits for a matching access */
    bool shown;       /* --addr: shown_ordinal has an access that is shown */
    uint16_t pad;     /* text: blanks before the line's first access */
    uint16_t held_flags;
    uint16_t held_insn;
    bool fresh; /* all events so far may belong to a call of an earlier piece */
    uint64_t shown_ordinal;
    uint64_t held_ordinal;
    uint64_t marked; /* opt->picked: the last mark, or PICKED_NONE */
    const struct ctr_block *held_block;
    struct textbuf label; /* thread and task, as printed in lines */
    struct line_task task;
    const struct ctr_thread *thread;
    struct insntext *texts;
    const struct block_annotations *notes; /* of the current block, or NULL */
    void *annotator;
    struct open_call call;
    struct os_printer printer;
    uint64_t time;  /* at the current instruction, for the modules */
    uint64_t epoch; /* counts changes of time, epoch_end_ns and epoch_process */
    uint64_t epoch_end_ns;
    uint32_t epoch_process;
    uint64_t until;             /* `time' changes at this ordinal */
    struct place place;         /* of the current block, or of one of its instructions */
    uint64_t bias;              /* what to add to a pc in it for its vaddr */
    const struct module *named; /* whose name is in `module' */
    struct textbuf module;
    struct ctr_chunk chunk;
    uint32_t process;
    /* timed.c, of the last line or open call: */
    uint64_t begun_ns; /* time of its first event */
    uint32_t seen;     /* its events so far */
    bool creates;      /* it may have created a thread */
} __attribute__((aligned(128)));

struct dump {
    const struct dump_options *opt;
    struct ctr_trace *trace;
    struct ctr_info info;
    struct worker *workers;
    const struct places *places; /* NULL: no modules are shown */
    struct progress progress;
    bool hold_exec; /* show an instruction only with a selected access */
    bool hide_mem;  /* do not show that access */
    bool addrs;     /* --addr: registers of shown instructions only */
    bool buffers; /* accesses are selected by address here, as events are between them */
    bool tasks;   /* lines name tasks */
    bool selects; /* the annotator hides instructions */
    uint32_t kinds; /* CTR_KIND_* that are read */
    bool stream;
    bool hide_threads;   /* events of threads are read to find the ends of calls only */
    struct order *order; /* NULL: in recorded order ... */
    bool timeless;       /* ... because the recording has no times, ... */
    bool ordered;        /* ... and needs none: it has the order of all threads */
    /* Used by the ordered callback only. */
    int sys_errno;              /* of writing */
    bool calls;                 /* there may be system calls in the output */
    struct os_printer printer;  /* of calls that continue in another piece */
    struct open_call **threads; /* by index in the thread table */
    size_t nr_threads;
};

/* ------------------------------------------------------------------ output.c */

/* The callback of ctr_replay; its argument is the struct dump. */
int output_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n);

/* At the end: calls that never returned.  0 or an enum dump_stop. */
int output_open_calls(struct dump *d);

/* ------------------------------------------------------------------- lines.c */

/* Finds the time at an instruction, for modules and annotations, and until when it is
 * valid. */
void line_time(const struct dump *d, struct worker *w, uint64_t ordinal);

/* Makes b the current block, with its text and module; false: no memory. */
bool line_block(const struct dump *d, struct worker *w, const struct ctr_block *b);

/* The text of an instruction; NULL: no memory. */
static inline const struct insn_text *line_insn(const struct dump *d, struct worker *w,
                                                const struct ctr_block *b, unsigned insn)
{
    return w->block == b || line_block(d, w, b) ? &w->text->insn[insn] : NULL;
}

/* Makes w->place that of a pc of the current block; false: no memory. */
bool line_place(const struct dump *d, struct worker *w, uint64_t pc);

/*
 * Each writes at p and returns the end; there must be room for LINE_MAX_REST bytes
 * plus the limits above.  As text:
 */
/* Begins a line, ending the one before. */
char *text_start(const struct dump *d, const struct worker *w, char *p, uint64_t ordinal);
/* The line of an instruction. */
char *text_exec(const struct dump *d, struct worker *w, char *p, uint64_t ordinal,
                const struct insn_text *it, uint64_t pc, unsigned flags);
char *text_mem(const struct dump *d, struct worker *w, char *p, const struct ctr_mem *m);
/* "r0=0x10", all digits if `whole' */
char *text_reg(const struct dump *d, struct worker *w, char *p, const char *name,
               const struct ctr_reg_change *r, bool whole);

/* And as JSON: */
char *json_exec(const struct dump *d, struct worker *w, char *p, uint64_t ordinal,
                const struct insn_text *it, uint64_t pc, unsigned flags);
char *json_mem(const struct dump *d, struct worker *w, char *p,
               const struct insn_text *it, const struct ctr_mem *m);
char *json_reg(const struct worker *w, char *p, const char *name,
               const struct ctr_reg_change *r, bool whole);

#endif
