/*
 * Execution tracing into shared memory: libraries that choose what is recorded
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * jitter.c loads them and has what they may call, choose.c queries them.
 * Everything here is under mmap_lock, as translation is, so that two threads
 * never call a library at a time, and none is in one at fork.
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
    char *line;      /* "path,arguments" as it was given */
    uint16_t number; /* of all ever loaded */
    uint32_t entry;  /* mempipe_pipe.inside, while its code runs */
    bool stays;      /* while the list is brought up to date */
} CannoliLibrary;

extern CannoliLibrary cannoli_libraries[CANNOLI_MAX_LIBRARIES];

/*
 * Set around each call of a library: it allocates from a separate heap, and if
 * the process ends in there the recorder knows where.
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
 * not end the process before its place is reported.
 */
void cannoli_unblock_crashes(sigset_t *old);

#define CANNOLI_LIBRARY_CALL(lib, call) \
    ({ \
        cannoli_library_enter(lib); \
        typeof(call) result_ = (call); \
        cannoli_library_leave(); \
        result_; \
    })

/* cannoli_insn.context: which callback is running, for what. */
typedef struct CannoliQuery {
    CPUState *cpu;
    const DisasContextBase *db;
    const struct cannoli_insn *insn; /* NULL: for addresses */
    const CannoliLibrary *library;
} CannoliQuery;

/* Functions of struct cannoli_host that belong to a translation. */
void cannoli_tag_insn(void *context, uint64_t tag);
void cannoli_tag_block(void *context, uint64_t tag);

/* The queried instruction as text, NULL if it is unknown; g_free it. */
char *cannoli_disas(const CannoliQuery *query, bool be);
/* The byte order of instructions in memory. */
bool cannoli_code_is_big_endian(void);

/* Forget cached answers, after libraries were loaded or unloaded. */
void cannoli_forget_answers(void);

#endif
