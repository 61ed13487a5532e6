/* SPDX-License-Identifier: MIT */
/* The calls of chosen functions in a trace, in order of time. */
#ifndef TRACESYM_CALL_LIST_H
#define TRACESYM_CALL_LIST_H

#include "calltree/calltree.h"
#include "calltree/instants.h"

/* Of a task of a machine, the vCPUs that ran it at its begin and end may be different. */
struct call {
    uint32_t function;   /* in tree->functions */
    uint32_t depth;      /* 0: called by the root of the thread or task */
    struct instant from; /* its first instruction */
    struct instant
        opened;        /* the instruction after the one that called it, by way of a stub
                              or not */
    struct instant to; /* the instruction after its last, or after that of the function
                              that it jumped to as its last act */
    uint64_t insns;    /* of the thread or the task, in between */
    uint64_t from_ns;
    bool in_task;
    struct call_task task;       /* if in_task */
    bool uncalled, open, paused; /* as of struct call_span */
    bool gone;                   /* private */
    bool stub; /* a stub of the PLT, of a function that has another name */
};

struct call_list {
    struct calltree *tree;
    struct call *v;
    size_t n;
};

/*
 * Finds all calls whose function has a name that one of the patterns matches: NAME, a glob,
 * MODULE!NAME.  tree: filter, jobs, quiet.  Returns a TOOL_* status, after a message on
 * stderr if it failed.
 */
int call_list_make(struct call_list *out, struct ctr_trace *tr, const char *path,
                   const struct places *places, const struct calltree_options *tree,
                   const char *const *patterns, unsigned nr_patterns);
void call_list_free(struct call_list *l);

/* How a pattern of a user means a function. */
enum call_match {
    CALL_OTHER,   /* it does not */
    CALL_VARIANT, /* by the name that its callers use: "strlen" of "__strlen_avx2" */
    CALL_NAMED,
};
enum call_match call_match(const char *pattern, const struct call_function *f);

/* A stub only jumps to the function itself, which may have another name. */
static inline bool call_is_stub(const struct call_function *f)
{
    return f->symbol && f->symbol->source == SYM_PLT;
}

/* One line on stderr for each pattern that no function matches which ran: that there is no
 * such function, or that it was not called.  Returns their number. */
unsigned call_list_unmatched(const struct calltree *t, const char *path,
                             const struct places *places, const char *const *patterns,
                             unsigned nr_patterns);

#endif
