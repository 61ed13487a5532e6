/* SPDX-License-Identifier: MIT */
/*
 * Shared by the parts of calltree*.c, which make call trees:
 *
 *   code     functions and, for each block, its fixed properties: the function it begins
 *            in, the kind of its last branch (calltree_code.c, calltree_branch.c;
 *            calltree_cold.c: parts of functions that were moved elsewhere)
 *   digest   on workers: turns the runs of a chunk into small trees of calls that
 *            returned, and events (calltree_digest.c, calltree_events.c)
 *   fold     in recorded order: the thread's stack, the whole tree (calltree_fold.c,
 *            calltree_stack.c; calltree_land.c: branches to no return address;
 *            calltree_park.c: stacks left by a switch of coroutines;
 *            calltree_task.c: stacks of a machine's tasks;
 *            calltree_power.c: a machine that was reset or loaded;
 *            calltree_budget.c: the limit of stored frames)
 *   lines    the cost of each address, if requested (calltree_lines.c)
 *   sum      the final result (calltree_sum.c)
 *
 * A digest does not know the frames below those that it pushed itself.  It handles calls,
 * returns from them, and tail calls in them; before anything else it passes on its tree,
 * with the transition for the fold to handle.  So only the fold has all rules, and its
 * work grows with the number of distinct paths in a chunk, not with the number of calls.
 */
#ifndef CALLTREE_PRIV_H
#define CALLTREE_PRIV_H

#include "calltree.h"

#include <pthread.h>
#include <stdatomic.h>
#include "cannoli/events.h"

/* ------------------------------------------------------------------- code */

enum fn_kind {
    FN_CODE,    /* a symbol, or an address of code without symbols that was entered */
    FN_STRETCH, /* code without symbols, up to the next symbol: not a function */
    FN_SIGNAL,  /* or an exception or interrupt of a machine, see INTERRUPT_NUMBER */
    FN_THREAD,
};

/* fn.number of an interrupt: the flags and the number by which it is named. */
#define INTERRUPT 0x80000000u
#define INTERRUPT_BITS 20
#define INTERRUPT_NUMBER(flags, number)                                                  \
    (INTERRUPT | ((flags) & INTERRUPT_FLAGS) << INTERRUPT_BITS |                         \
     ((number) & ((1u << INTERRUPT_BITS) - 1)))
#define INTERRUPT_FLAGS                                                                  \
    (CTR_INT_ASYNC | CTR_INT_TRAP | CTR_INT_FAST | CTR_INT_VECTOR | CTR_INT_VIRTUAL |    \
     CTR_INT_ERROR)

/* A function, or a stretch of code without symbols.  One object each. */
struct fn {
    struct fn *chain;
    struct fn *range; /* itself for functions with a symbol, else the stretch */
    const struct module *module;
    const struct sym_function *symbol;
    uint64_t vaddr, end;
    enum fn_kind kind;
    uint32_t number; /* signal, or root */
    bool twice;      /* may return to its caller again: setjmp */
    uint32_t index;  /* in calltree.functions, SYM_NONE if not yet; the fold's */
    char *name;      /* thread */
};

/* How control leaves a piece of code. */
enum leave {
    LEAVE_NONE,
    LEAVE_JUMP,
    LEAVE_CALL,
    LEAVE_RETURN,
    LEAVE_INDIRECT,
    /* in events only */
    LEAVE_KEEP,    /* use thread_state.last */
    LEAVE_HANDLER, /* to a signal handler */
    LEAVE_LAND,    /* anywhere: sigreturn, recording switched on */
};

/*
 * The properties of a block: of its instructions from `first' on that are contiguous and
 * in one function; `next' has the rest.
 */
struct spot {
    _Alignas(64) uint64_t pc; /* of its first instruction */
    uint64_t vaddr;           /* the same in its module */
    uint64_t fall;            /* address after its last instruction */
    struct fn *range;
    _Atomic(struct fn *)
        entry; /* the function that a call to pc enters; NULL: not looked up yet.
                  Stored (release) and loaded (acquire) by any worker */
    struct spot *next;
    uint16_t first, end; /* instructions of the block */
    uint16_t site_off;   /* of its last branch, from pc */
    uint8_t leave;       /* enum leave, of its last instruction */
    bool cond;
    bool start;             /* pc is the start of the function */
    bool delay_open;        /* its branch's delay slot is the next block */
    bool after_call;        /* pc may be a return address */
    _Atomic(uint8_t) state; /* in a page: enum spot_state; stored (release) under the lock
                               when the rest is complete, loaded (acquire) by workers */
};

struct spot_page;

#define CODE_KUSER 0xffff0f00u /* arm: the kernel's helpers for programs */

struct code {
    const struct places *places;
    struct ctr_trace *trace;
    uint32_t machine;
    uint32_t isa_flags; /* CANNOLI_ISA_32 or 0 */
    bool big_endian;
    bool partial; /* instructions were left out of the recording */
    uint64_t pc_mask;
    pthread_mutex_t lock; /* the table, and making spots */
    struct fn **table;
    size_t nr_fns, nr_buckets;
    struct spot_page *_Atomic *pages; /* by block id; stored (release) under lock, loaded
                                         (acquire) by workers */
    uint32_t nr_pages;
    struct cold *_Atomic *cold; /* by module; stored (release) and loaded (acquire) by any
                                   worker */
    struct extents *_Atomic *extents; /* the same */
};

/* Limit of modules whose cold parts and extents are resolved; in others cold parts are
 * functions, and code without symbols is what calls make of it. */
#define MAX_RESOLVED 65536u
struct cold;
/* calltree_cold.c: resolves the cold parts of a module; m may be NULL.  Call it before
 * cold_whole, without the lock: it reads all functions, once. */
void cold_resolve(struct code *c, const struct module *m);
/* The function that a symbol is a part of; mostly the symbol itself. */
const struct sym_function *cold_whole(const struct code *c, const struct module *m,
                                      const struct sym_function *s);
void cold_fini(struct code *c);

struct extents;
/* calltree_extent.c: reads the unwind table of a module; m may be NULL.  Call it before
 * extents_find, without the lock. */
void extents_resolve(struct code *c, const struct module *m);
/* Whether vaddr, which is in no function with a symbol, is in one that the unwind table
 * has: *begin and *end are its.  Else the code around it without one is between them;
 * before the call they are the limits of that. */
bool extents_find(const struct code *c, const struct module *m, uint64_t vaddr,
                  uint64_t *begin, uint64_t *end);
void extents_fini(struct code *c);

int code_init(struct code *c, struct ctr_trace *tr, const struct places *places);
void code_fini(struct code *c);

/* The only object for this function; NULL: no memory. */
struct fn *code_fn(struct code *c, enum fn_kind kind, const struct module *m,
                   uint64_t vaddr);
/* The same for a process or thread (number) or a signal. */
struct fn *code_numbered(struct code *c, enum fn_kind kind, uint32_t number);

/* The function that a call to vaddr enters. */
struct fn *code_enter(struct code *c, struct fn *range, uint64_t vaddr);
static inline struct fn *spot_entry(struct code *c, struct spot *s)
{
    struct fn *f = atomic_load_explicit(&s->entry, memory_order_acquire);

    if (__builtin_expect(!f, 0)) {
        f = code_enter(c, s->range, s->vaddr);
        atomic_store_explicit(&s->entry, f, memory_order_release);
    }
    return f;
}

/* A worker's current process and time, for code that was not always mapped there. */
struct when {
    uint32_t process;
    uint64_t time_ns, chunk_end_ns;
};

enum spot_state {
    SPOT_NEW,
    SPOT_KNOWN,
    SPOT_WHOLE,   /* known, covers the whole block, and has no open delay slot */
    SPOT_DEPENDS, /* depends on struct when: call code_spot_at */
};
#define SPOT_PAGE_BITS 10u
struct spot_page {
    struct spot v[1u << SPOT_PAGE_BITS];
};

/* The spot of a block; check its state; NULL: no memory. */
struct spot *code_spot_new(struct code *c, const struct ctr_block *b);

/* The same without waiting: if it is NULL or its state is SPOT_NEW, call
 * code_spot_new. */
static inline struct spot *code_spot(struct code *c, const struct ctr_block *b)
{
    struct spot_page *page =
        atomic_load_explicit(&c->pages[b->id >> SPOT_PAGE_BITS], memory_order_acquire);

    return page ? &page->v[b->id & ((1u << SPOT_PAGE_BITS) - 1)] : NULL;
}
/* Makes a spot that the caller owns; NULL: no memory. */
struct spot *code_spot_at(struct code *c, const struct ctr_block *b,
                          const struct when *w);
void spot_drop(struct spot *s);
/* Describes a single address; false: no memory. */
bool code_locate(struct code *c, uint64_t pc, const struct when *w, struct spot *out);
/* calltree_branch.c: whether the instruction before vaddr may be a call, by the file's
 * bytes. */
bool code_may_return_to(const struct code *c, const struct module *m, uint64_t vaddr,
                        uint8_t mode);
/* How control leaves after instruction i of a block: sets leave, cond, site_off (from the
 * pc of instruction `from'), delay_open. */
void code_leave(const struct code *c, const struct ctr_block *b, unsigned from,
                unsigned i, struct spot *s);

/* ---------------------------------------------------------------- records */

enum ev_type {
    EV_GO,     /* a transition that the digest does not handle */
    EV_FLUSH,  /* passes on the tree only */
    EV_END,    /* end of a piece, with how its last block was left */
    EV_SIGNAL, /* a transition to the interrupted code, then a handler */
    EV_ENTRY,  /* a handler only: the interrupted code is not selected */
    EV_SIGRETURN,
    EV_EXEC,
    EV_NAME,
    EV_GAP,  /* recording was switched on or off */
    EV_TASK, /* the kernel switches to task `number' of process `pc', whose name follows */
    EV_RUNS,   /* as EV_TASK: it runs already when the piece begins */
    EV_POWER,  /* the vCPU was reset or loaded, or is off: number is CTR_POWER_* */
    EV_FORK,   /* a system call begins that may make a process */
    EV_FORKED, /* it made one: number is its thread */
    EV_THREAD_END,
    EV_SPAN,
};

/* Followed by its nodes, then its frames. */
struct ev {
    uint32_t type;
    uint32_t nr_nodes;  /* the first is the frame on top of the stack */
    uint32_t nr_frames; /* pushed and still open */
    uint32_t number;    /* signal, thread */
    uint32_t peak;      /* maximum of open frames */
    /* transition */
    uint8_t leave;
    bool cond;
    bool start;
    uint64_t fall;
    uint64_t site;
    uint64_t pc, vaddr;
    struct fn *range;
    struct fn *entry; /* or NULL */
    uint64_t ordinal, time_ns;
};

struct ev_node {
    struct fn *fn;
    uint64_t site;
    uint64_t calls;
    struct cost self;
    uint32_t parent; /* index among the event's nodes */
    uint32_t hot;    /* digest: child that was entered last */
    uint32_t chain;  /* digest: hash */
    uint32_t global; /* fold */
};

struct ev_frame {
    uint64_t ret;
    uint64_t from, from_ns; /* when its function began */
    uint64_t opened;        /* when it was called */
    uint32_t node;
    bool twice, midway;
};

/* EV_SPAN */
struct ev_span {
    struct fn *fn;
    uint64_t from, to, from_ns, to_ns, opened;
    uint32_t depth; /* above the stack's depth */
    bool uncalled, running, midway, open, paused;
    /* the fold's */
    uint32_t from_thread, opened_thread;
    uint64_t at, insns;
};

struct ev_name {
    char text[64];
};
/* calltree_events.c: the name that an event gives a thread, escaped for output. */
void event_name(struct ev_name *name, const struct ctr_str *s);

/* ------------------------------------------------------------------ lines */

struct lines; /* one for each worker */
struct fold;
struct lines *lines_new(void);
void lines_free(struct lines *l);
/* Each returns 0 or -CTR_E_NOMEM. */
int lines_run(struct lines *l, const struct ctr_block *b, unsigned first, unsigned end);
int lines_access(struct lines *l, const struct ctr_mem *m);
int lines_add(struct lines *l, struct fn *range, uint64_t vaddr, const struct cost *c);
/* Makes calltree.lines from the lines of n workers. */
int lines_sum(struct fold *f, struct lines *const *v, unsigned n);

/* ----------------------------------------------------------------- digest */

struct digest;

/* One for each worker. */
struct digest *digest_new(struct code *c, const struct calltree_options *opt);
void digest_free(struct digest *d);
struct lines *digest_lines(const struct digest *d);
int digest_begin(struct digest *d, struct ctr_job *job);
/* Passes on which task runs when the piece begins, if that is known. */
int digest_task(struct digest *d);
int digest_run(struct digest *d, struct ctr_job *job, const struct ctr_run *r);
int digest_mem(struct digest *d, const struct ctr_mem *m);
int digest_os(struct digest *d, struct ctr_job *job, const struct ctr_os_event *e);
int digest_end(struct digest *d, struct ctr_job *job);

/* ------------------------------------------------------------------- fold */

#define RET_UNKNOWN UINT64_MAX /* returns to an address not known */

struct frame {
    uint64_t ret;       /* return address */
    uint64_t setjmp_pc; /* return address of the setjmp that it called last; 0: none */
    uint64_t site;      /* address of the call */
    uint64_t from, from_ns, opened;
    uint64_t at; /* when `from' was, by the clock of its thread or task */
    uint32_t from_thread, opened_thread; /* of these ordinals: as of struct call_span */
    uint32_t gaps;                       /* that there were before it */
    struct fn *fn;
    uint32_t node;
    bool twice;
    bool uncalled, running, midway; /* as of struct call_span */
};

struct stack {
    struct frame *v; /* [0] is the root */
    uint32_t n, cap;
};

struct park; /* calltree_park.c */
/* Stores copies of n frames, the last on top.  Drops the oldest when there are too many,
 * or when there is no memory. */
void park_put(struct park **p, const struct frame *v, uint32_t n);
/*
 * Removes the stack with a frame that returns to pc; of several, the one parked first.
 * Appends the frames below that frame to *to; those above it stay as a stack of their
 * own.  Returns the number of frames, 0 if there is none.
 */
uint32_t park_remove(struct park *p, uint64_t pc, struct stack *to);
/* The number of frames that memory is allocated for. */
uint32_t park_frames(const struct park *p);
void park_free(struct park *p);

/* Makes room for n more frames; false: no memory. */
bool stack_reserve(struct stack *s, uint32_t n);
/* Frees unused room. */
void stack_fit(struct stack *s);

struct thread_state {
    struct stack stack;
    struct park *parked;
    struct ev last;       /* how the last block was left */
    struct stack forking; /* the stack when a forking system call began */
    uint32_t process, root;
    uint32_t signals; /* signal frames on the stack */
    uint32_t task;    /* fold.tasks: whose stack it is */
    bool young;       /* that has not run before: it begins with a return */
    uint64_t held;    /* this thread's share of fold.held */
    uint64_t credit;  /* frames that unsuccessful searches may check */
    uint64_t ordinal, time_ns;
    uint64_t first, first_ns; /* the same when it began */
    uint64_t clock; /* what to add to an ordinal for the time of its task: how much
                                 that has executed; 0 without tasks */
    uint32_t gaps;  /* how often recording was switched on or off */
    uint32_t loads; /* of a snapshot: as fold.loads when it was loaded last */
    bool begun;
    bool placed; /* its first task is known */
    bool off;    /* of a vCPU */
};

/* The stack of a task that does not run. */
struct task {
    struct call_task is; /* pid 0: of vCPU `thread', when it is idle */
    uint32_t root;       /* the first one with this pid */
    uint32_t chain;
    uint32_t last; /* thread that left it last */
    uint64_t executed;
    uint32_t signals;
    struct stack stack;
    struct park *parked;
};

/* calltree_park.c: frees its stacks. */
void task_drop(struct task *k);

/* A node's further fields. */
struct node_more {
    struct fn *fn;
    uint64_t site;
    uint32_t last_child, chain;
};

struct fork_stack {
    struct fork_stack *next;
    int32_t tid;
    struct stack stack;
};

struct fold {
    struct calltree *tree; /* nodes are made here */
    struct code *code;
    const struct calltree_options *opt;
    struct node_more *more; /* by node */
    uint32_t cap_nodes, max_nodes;
    uint32_t cap_functions;
    struct fn **fns; /* by function */
    uint32_t *buckets;
    uint32_t nr_buckets;
    struct thread_state *threads;
    uint32_t nr_threads;
    uint32_t *roots; /* node by process; SYM_NONE: none */
    uint32_t nr_roots;
    struct fork_stack *forks; /* the youngest first */
    uint32_t task_kind; /* CTR_KIND_* of the events that say which task a vCPU runs */
    bool parallel;      /* vCPUs ran in parallel */
    struct task *tasks;
    uint32_t nr_tasks, cap_tasks;
    uint32_t *task_buckets;
    uint32_t gaps;  /* of all vCPUs: a task may be away meanwhile */
    uint32_t loads; /* how often a machine was loaded from a snapshot */
    uint64_t held;  /* frames that memory is allocated for, in all stacks */
    bool ended;     /* only frames that are still open are left */
    int result;     /* returned by span */
};

int fold_init(struct fold *f, struct calltree *t, struct code *c,
              const struct calltree_options *opt);
/* As ctr_replay_ops.ordered. */
int fold_records(struct fold *f, const struct ctr_thread *thread, const uint8_t *data,
                 size_t n);
/* Closes all open frames. */
int fold_finish(struct fold *f);
void fold_fini(struct fold *f);

/* calltree_name.c: names function number `function' (anew).  0 or -CTR_E_NOMEM. */
int fold_name(struct fold *f, uint32_t function);
/* Gives a function its number and name; false: no memory. */
bool fold_number(struct fold *f, struct fn *fn);

/* Between calltree_fold.c, calltree_stack.c and calltree_land.c. */
/* Grows *v to at least n elements; false: no memory. */
bool fold_grow(void *v, uint32_t *cap, uint32_t n, size_t size);
/* Makes room for one more frame; drops the oldest frames of a stack that is too deep. */
bool fold_room(struct thread_state *t);
/* Drops the older half of a stack, except the root. */
void fold_forget(struct thread_state *t);
/* Puts a root on an empty stack: of the process, the thread or the task. */
int fold_root(struct fold *f, struct thread_state *t);
/* calltree_task.c: the events that say which task runs, 0 if tasks have no stacks of their
 * own; a thread begins; it switches to a task (EV_TASK, EV_RUNS). */
void fold_tasks_init(struct fold *f, const struct ctr_trace *tr);
int fold_first_task(struct fold *f, struct thread_state *t);
int fold_switch(struct fold *f, struct thread_state *t, const struct ev *e,
                const struct ev_name *name);
/* Calls fn with each stack of a task that does not run, of one vCPU or of all (NULL), as that
 * of the vCPU which left it last; stops when fn fails. */
int fold_end_tasks(struct fold *f, const struct thread_state *vcpu,
                   int (*fn)(struct fold *f, struct thread_state *t));
/* Closes all open frames of tasks that do not run. */
int fold_tasks_finish(struct fold *f);
/* calltree_power.c: a vCPU was reset or loaded, or is off. */
int fold_power(struct fold *f, struct thread_state *t, uint32_t op);
void fold_tasks_fini(struct fold *f);
/* calltree_budget.c: a task's stack begins, or ends, to be stored. */
void fold_hold(struct fold *f, const struct task *k, bool stored);
/* calltree_budget.c: call it when a thread's stacks have changed; keeps the frames of all
 * stacks bounded.  Code that adds a fork counts its frames in fold.held. */
void fold_budget(struct fold *f, struct thread_state *t);
void fold_drop_fork(struct fold *f, struct fork_stack **at);
void fold_see_depth(struct fold *f, uint32_t depth);
/* How often recording was switched on or off where this thread, or its task, may have run. */
static inline uint32_t *fold_gaps(struct fold *f, struct thread_state *t)
{
    return f->task_kind ? &f->gaps : &t->gaps;
}
int fold_span(struct fold *f, const struct thread_state *t, struct fn *fn,
              const struct ev_span *s);
uint32_t fold_child(struct fold *f, uint32_t parent, struct fn *fn, uint64_t site);
int fold_push(struct fold *f, struct thread_state *t, struct fn *fn, uint64_t ret,
              uint64_t site, bool entered);
int fold_pop_to(struct fold *f, struct thread_state *t, uint32_t n); /* keeps n frames */
int fold_replace(struct fold *f, struct thread_state *t, struct fn *fn, bool entered);
/* Begins a call by what is not in the trace; the stack keeps n frames. */
int fold_begin_uncalled(struct fold *f, struct thread_state *t, const struct ev *e,
                        struct fn *fn, uint32_t n);
/* Handles a return, an indirect jump, or any other transition. */
int fold_land(struct fold *f, struct thread_state *t, enum leave leave,
              const struct ev *e);

/* -------------------------------------------------------------------- sum */

/* Inclusive costs, functions' sums and names, edges.  0 or -CTR_E_NOMEM. */
int calltree_sum(struct fold *f);

#endif
