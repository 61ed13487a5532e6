/* SPDX-License-Identifier: MIT */
/* What a program had at its start, as its stack shows it: arguments, environment, auxv. */
#ifndef EXPAND_START_H
#define EXPAND_START_H

#include <stdbool.h>

#include "light.h"

struct start {
    uint64_t sp; /* where argc is */
    char **argv; /* NULL at the end; they point into bytes, as all strings here */
    char **envp;
    int argc, envc;
    const char *execfn;         /* the program as it was given to the loader */
    uint64_t phdr, entry, base; /* AT_PHDR, AT_ENTRY, AT_BASE; 0: none */
    bool has_seed;
    uint64_t seed; /* CTR_INPUT_SEED */
    /* private */
    uint8_t *bytes; /* of the stack, from addr on */
    uint64_t addr;
    size_t n;
};

/* Of the thread with this index, the first one of a program.  TOOL_OK, or TOOL_FAILED after one
 * line on stderr. */
int start_read(struct start *s, const struct light *l, uint32_t thread);
void start_free(struct start *s);

#endif
