/* SPDX-License-Identifier: MIT */
/*
 * Call trees from a trace: each thread's calls and returns, rebuilt from the branches it
 * made (cannoli/isa.h tells calls and returns from an instruction's bytes), with what
 * was executed in each.
 *
 * A stack of return addresses is kept for each thread.  A call pushes the address behind
 * it; a branch to an address on the stack (a return, by whatever instruction) takes down
 * everything above it.  A jump to the start of another function is a tail call: it takes
 * the place of the function on top.  A signal pushes a frame of its own that sigreturn
 * takes down.  longjmp comes back to the frame nearest to the top that called setjmp
 * there, an exception to the nearest frame of the function that it lands in.  A stack
 * that was left by a switch of coroutines is kept, and goes on when a branch goes to a
 * return address on it; it takes the place of the function that switched.  A process
 * made by fork begins with its parent's stack, a thread with none.  What fits nothing
 * takes the place of the function on top; what comes later is right again.  However wrong
 * a guess, each instruction counts in exactly one node, once.
 *
 * What that cannot tell, as stack pointers are not looked at: which of several frames of
 * one function an exception, or a longjmp without a setjmp of that name, goes to (the
 * nearest is taken, and put right when it returns), and which of several coroutines
 * that wait at the same place goes on (the one that was left first).
 *
 * Code without symbols: a function is what was called at an address, up to the next one
 * or to the next symbol.  Direct jumps within such code are not seen as tail calls.
 * A part that the compiler took elsewhere ("f.cold") is its function.
 *
 * Chunks are digested in parallel, into small trees of what was called and returned;
 * only those are folded in order (calltree_priv.h).
 */
#ifndef TRACESYM_CALLTREE_H
#define TRACESYM_CALLTREE_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"
#include "symbols/places.h"

#define PROG "tracesym"

struct cost {
    uint64_t insns, loads, stores;
};

/* What a node of the tree stands for. */
enum call_kind {
    CALL_FUNCTION,
    CALL_THREAD, /* the root of a thread */
    CALL_SIGNAL, /* delivery of signal `number' */
};

struct call_function {
    uint32_t index; /* in calltree.functions */
    enum call_kind kind;
    const struct module *module; /* NULL: in no file */
    uint64_t vaddr;   /* start of the function; without a symbol where it was called */
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

/* Calls from one function to another from one place. */
struct call_edge {
    uint32_t caller, callee; /* functions */
    uint64_t site;           /* vaddr of the calling instruction in the caller's module */
    uint64_t calls;
    struct cost inclusive;
};

/* Self cost of an instruction address (only if asked for).  By where it lies, while a
 * function's self cost is by the stack: of functions with symbols the sums are the same.
 */
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
    const struct ctr_trace *trace;
    struct call_function *functions;
    uint32_t nr_functions;
    struct call_node *nodes;
    uint32_t nr_nodes;
    struct call_edge *edges; /* by caller, site, callee; only with options.edges */
    size_t nr_edges;
    struct call_line *lines; /* by function, vaddr; only with options.lines */
    size_t nr_lines;
    struct calltree_thread *threads;
    uint32_t nr_threads;
    struct cost total;
    uint64_t unmatched; /* branches that fitted nothing */
    uint32_t max_depth;
};

/* A frame that opened or closed, told in order within a thread (options.span). */
struct call_span {
    uint32_t thread; /* index in the trace */
    uint32_t function;
    uint32_t depth;          /* 0: called by the thread's root */
    uint64_t from, to;       /* ordinals; to: behind its last */
    uint64_t from_ns, to_ns; /* last times known; equal for short ones */
};

struct calltree_options {
    struct ctr_filter filter; /* pids, tids, from, to */
    unsigned jobs;
    bool accesses; /* count loads and stores (slower; the trace must hold them) */
    bool edges;
    bool lines;
    bool separate_threads; /* else calls of all threads are one tree under one root per
                              process: threads[] then has one entry a process */
    bool quiet;
    uint32_t max_nodes; /* 0: 512 Ki (120 bytes each); beyond it what is new counts in its
                           caller */
    /* Told when a frame has closed (children before parents) if not NULL and it lasted
     * span_min instructions or more; returns nonzero to stop. */
    int (*span)(void *arg, const struct calltree *t, const struct call_span *s);
    void *span_arg;
    uint64_t span_min;
};

/* Returns a TOOL_* status, having said what is wrong on stderr. */
int calltree_make(struct calltree **out, struct ctr_trace *tr, const char *path,
                  const struct places *places, const struct calltree_options *opt);
void calltree_free(struct calltree *t);

#endif
