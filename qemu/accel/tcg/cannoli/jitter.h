/*
 * Execution tracing into shared memory: libraries that choose what is told
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * jitter.c loads them and has what they may call, choose.c asks them.
 * Everything here is under mmap_lock, as translation is, so that a library is
 * never called by two threads at a time and fork finds it at rest.
 */
#ifndef ACCEL_TCG_CANNOLI_JITTER_H
#define ACCEL_TCG_CANNOLI_JITTER_H

#include "far.h"
#include "pass.h"

#define CANNOLI_MAX_LIBRARIES 32

typedef struct CannoliLibrary {
    struct cannoli_jitter jitter;
    void *handle;
    void *state;
    char *line;             /* "path,arguments" as it was given */
    uint16_t number;        /* of all ever loaded */
    uint32_t entry;         /* mempipe_pipe.inside, while its code runs */
    bool stays;             /* while the list is brought up to date */
} CannoliLibrary;

extern CannoliLibrary cannoli_libraries[CANNOLI_MAX_LIBRARIES];

/*
 * Around each call of a library: what it allocates is apart, and if the process
 * ends in there the recorder knows where.
 */
extern __thread const CannoliLibrary *cannoli_inside;

static inline void cannoli_set_inside(const CannoliLibrary *lib)
{
    CannoliThread *t = current_cpu ? cannoli_cpu(current_cpu)->thread : NULL;

    cannoli_inside = lib;
    if (t) {
        qatomic_set(&t->pipe->inside, lib ? lib->entry : 0);
    }
}

static inline void cannoli_library_enter(const CannoliLibrary *lib)
{
    cannoli_apart++;
    cannoli_set_inside(lib);
}

static inline void cannoli_library_leave(void)
{
    cannoli_set_inside(NULL);
    cannoli_apart--;
}

/*
 * Where signals may be blocked, in system calls and after fork: a crash must
 * not end the process before it was said where.
 */
void cannoli_unblock_crashes(sigset_t *old);

#define CANNOLI_LIBRARY_CALL(lib, call) \
    ({ \
        cannoli_library_enter(lib); \
        typeof(call) result_ = (call); \
        cannoli_library_leave(); \
        result_; \
    })

/* cannoli_insn.context: whose callback is running, for what. */
typedef struct CannoliAsk {
    CPUState *cpu;
    const DisasContextBase *db;
    const struct cannoli_insn *insn;    /* NULL: for addresses */
    const CannoliLibrary *library;
} CannoliAsk;

/* Functions of struct cannoli_host that belong to a translation. */
void cannoli_tag_insn(void *context, uint64_t tag);
void cannoli_tag_block(void *context, uint64_t tag);

/* The instruction that is asked for as text, NULL if nobody knows; g_free. */
char *cannoli_disas(const CannoliAsk *ask, bool be);
/* In memory, its bytes stand in this order. */
bool cannoli_code_is_big_endian(void);

/* Answers of libraries that are gone, or not yet there, count no more. */
void cannoli_forget_answers(void);

#endif
