/* SPDX-License-Identifier: MIT */
/*
 * Call trees from a trace: each thread's calls and returns, rebuilt from its branches
 * (cannoli/isa.h recognizes calls and returns by an instruction's bytes), with the cost
 * of each.
 *
 * Each thread has a stack of return addresses.  A call pushes the address after it; a
 * branch to an address on the stack (a return, by any instruction) pops everything above
 * it.  A jump to the start of another function is a tail call: that function replaces the
 * one on top.  A signal pushes a frame of its own, which sigreturn pops.  longjmp returns
 * to the frame nearest to the top that called setjmp there, an exception to the nearest
 * frame of the function that it lands in.  A stack that a switch of coroutines left is
 * kept, and resumes when a branch goes to a return address on it; it replaces the
 * function that switched.  A process made by fork begins with its parent's stack, a
 * thread with an empty one.  Tasks of a machine have stacks of their own if CONTEXT events
 * have ids: the vCPUs switch between these.  A branch that matches nothing replaces the function on top;
 * later branches correct the stack.  However wrong a guess is, each instruction counts in
 * exactly one node, once.
 *
 * In a trace of a part (ctr_info.selection) a return, or an indirect jump from the same
 * function, may be followed by the start of a function that was called by what is not in
 * the trace: that begins another call, and nothing is known of its caller.
 *
 * Stack pointers are not used, so two things are ambiguous: which of several frames of
 * one function an exception, or a longjmp without a setjmp of that name, goes to (the
 * nearest is assumed, and corrected when it returns), and which of several coroutines
 * that wait at the same place resumes (the one that was left first is assumed).
 *
 * Code without symbols: a function begins at an address that was called and extends to
 * the next such address or the next symbol.  Direct jumps within such code are not
 * treated as tail calls.  A part that the compiler moved elsewhere ("f.cold") counts as
 * its function.
 *
 * Workers digest chunks in parallel into small trees of calls that returned; only those
 * are folded in order (calltree_priv.h).
 */
#ifndef TOOLS_CALLTREE_H
#define TOOLS_CALLTREE_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"
#include "symbols/places.h"

struct cost {
    uint64_t insns, loads, stores;
};

/* What a node of the tree represents. */
enum call_kind {
    CALL_FUNCTION,
    CALL_THREAD,    /* the root of a thread */
    CALL_SIGNAL,    /* delivery of signal `number' */
    CALL_EXCEPTION, /* of an exception or interrupt of a machine */
};

struct call_function {
    uint32_t index; /* in calltree.functions */
    enum call_kind kind;
    const struct module *module; /* NULL: in no file */
    uint64_t vaddr;   /* start of the function; without a symbol the called address */
    uint64_t end;     /* its end, 0 if not known */
    const char *name; /* demangled; "0x1234" or "libfoo.so+0x1234" without a symbol;
                         "signal SIGALRM"; of a thread "comm-PID" or "comm-PID/TID" */
    const struct sym_function *symbol; /* or NULL */
    struct cost self;
    struct cost inclusive; /* an instruction counts once, however deep the recursion */
    uint64_t calls;        /* times it was entered: by call, tail call, signal */
};

/* A call path.  Children of a node differ in function. */
struct call_node {
    uint32_t function;
    uint32_t parent;            /* SYM_NONE: a root */
    uint32_t first_child, next; /* SYM_NONE: none; children in order of first call */
    uint64_t calls;
    struct cost self;
    struct cost inclusive;
};

/* What a node or a function had in the older one of two traces that are compared. */
struct call_older {
    uint64_t calls;
    struct cost self, inclusive;
};

/* Calls from one function to another from one place. */
struct call_edge {
    uint32_t caller, callee; /* functions */
    uint64_t site;           /* vaddr of the calling instruction in the caller's module */
    uint64_t calls;
    struct cost inclusive;
};

/* Self cost of an instruction address (only if requested).  The function is that of the
 * address, while a function's self cost is by the stack; for functions with symbols the
 * sums are equal. */
struct call_line {
    uint32_t function;
    uint64_t vaddr;
    struct cost self;
};

struct calltree_thread {
    uint32_t thread;   /* index in the trace */
    uint32_t root;     /* node */
    struct cost total; /* = inclusive of root */
};

struct calltree {
    struct ctr_trace *trace;
    struct call_function *functions;
    uint32_t nr_functions;
    struct call_node *nodes;
    uint32_t nr_nodes;
    bool full;               /* calls are missing: they count in their callers */
    struct call_edge *edges; /* by caller, site, callee; only with options.edges */
    size_t nr_edges;
    struct call_line *lines; /* by function, vaddr; only with options.lines */
    size_t nr_lines;
    struct calltree_thread *threads;
    uint32_t nr_threads;
    struct cost total;
    uint64_t unmatched; /* branches that matched nothing */
    uint32_t max_depth;
    uint32_t nr_tasks; /* of a machine: that had an id; 0 if tasks had no stacks of their
                          own */
    /* Only in trees that graph.h derives from others: */
    bool selected; /* the tree is a part of another, whose totals are `all' */
    struct cost all, older_all;
    struct call_older *older;           /* by node; NULL: no trace is compared */
    struct call_older *older_functions; /* by function; NULL: the same */
    struct cost older_total;
};

/* A task of a machine whose stack is of its own. */
struct call_task {
    uint32_t
        number; /* from 0; of vCPUs that ran in parallel, each has its own for a task */
    uint32_t pid, tgid; /* 0: what a vCPU does for no task */
    uint32_t thread; /* index in the trace: the vCPU that ran it first, or in parallel */
    char name[16];   /* the last one; "": not known */
};

/* A frame that opened or closed, passed in order within a thread or task (options.span). */
struct call_span {
    uint32_t thread; /* index in the trace; of a task, the vCPU that ran it at the end */
    uint32_t function;
    uint32_t depth;          /* 0: called by the root of the thread or task */
    uint64_t from, to;       /* ordinals; to: after its last */
    uint64_t from_ns, to_ns; /* last times known; equal for short ones */
    uint64_t opened;         /* ordinal at which the frame was called: before `from' if it
                                replaced another function by a jump */
    /* The threads that `from' and `opened' are ordinals of.  Other ones than `thread' for
     * a task that another vCPU ran then, and for a frame that a process got from its parent
     * by fork, and then only with options.open; options.span sees such a frame as begun with
     * the thread. */
    uint32_t from_thread, opened_thread;
    const struct call_task *task; /* whose stack it is on; NULL: the thread's own */
    uint64_t at;    /* instructions of the task before it; `from' of a thread */
    uint64_t insns; /* that the thread, or the task, executed in it */
    bool uncalled;  /* the call of it is not in the trace: who called is not known */
    bool running;   /* the same, and it was running already when the trace began */
    bool midway;    /* `from' is not the function's first instruction: how it began is not
                      in the trace, or it resumed there */
    bool open;      /* it did not end before the selected part, or the trace, does */
    bool paused;    /* recording was off for a while in it */
};

struct calltree_options {
    const char *prog;         /* for messages */
    struct ctr_filter filter; /* pids, tids, from, to */
    unsigned jobs;
    bool accesses; /* count loads and stores (slower; the trace must have them) */
    bool edges;
    bool lines;
    bool separate_threads; /* else all threads of a process have one tree under one root:
                              threads[] then has one entry per process; and vCPUs have
                              stacks, not tasks */
    bool
        by_task; /* each task of a machine has a tree of its own, where CONTEXT events have
                     ids; else all have one */
    bool quiet;
    uint32_t
        max_nodes; /* 0: 512 Ki, of a machine 4 Mi (120 bytes each); beyond it new nodes
                           count in their caller, and the tree is full */
    /* If not NULL, called when a frame has closed (children before parents) that lasted
     * span_min instructions or more; returns nonzero to stop. */
    int (*span)(void *arg, const struct calltree *t, const struct call_span *s);
    void *span_arg;
    uint64_t span_min;
    /* If not NULL, called at the end for each frame that is still open, those of a thread
     * from the root on. */
    int (*open)(void *arg, const struct calltree *t, const struct call_span *s);
    void *open_arg;
};

/* Returns TOOL_OK, or TOOL_FAILED after a message on stderr.  The trace may be partial: see
 * tool_trace_status. */
int calltree_make(struct calltree **out, struct ctr_trace *tr, const char *path,
                  const struct places *places, const struct calltree_options *opt);
void calltree_free(struct calltree *t);

#define CALL_TASK_TEXT 48 /* bytes */
/* calltree_result.c: "bash-1977", "task 1977" without a name, "idle cpu0". */
const char *call_task_text(const struct ctr_trace *tr, const struct call_task *k,
                           char text[CALL_TASK_TEXT]);

/* calltree_result.c: for those that make a tree of self costs. */
void cost_add(struct cost *to, const struct cost *c);
/* Sets the inclusive costs of all nodes, and the totals.  Children have higher numbers than
 * their parents. */
void calltree_sum_nodes(struct calltree *t);
/* Adds the costs and calls of all nodes below the roots to their functions.  0 or
 * -CTR_E_NOMEM. */
int calltree_sum_functions(struct calltree *t);
/*
 * Calls `visit' for each node below the roots that has an item (of[node], below n; SYM_NONE:
 * none; `of' NULL: its function).  first: the item is on no node between it and its root.
 * 0 or -CTR_E_NOMEM.
 */
int calltree_visit(const struct calltree *t, const uint32_t *of, uint32_t n,
                   void (*visit)(void *arg, uint32_t node, uint32_t item, bool first),
                   void *arg);

#endif
