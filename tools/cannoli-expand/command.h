/* SPDX-License-Identifier: MIT */
/* The command that executes the program again. */
#ifndef EXPAND_COMMAND_H
#define EXPAND_COMMAND_H

#include "light.h"
#include "start.h"

struct command {
    char *qemu; /* path */
    const char *
        *argv;   /* QEMU, its options, the program and its arguments; NULL at the end */
    char **envp; /* the guest's, of struct start: QEMU passes on what it has */
};

/* qemu_dir: where QEMU is, or NULL: in the usual places.  TOOL_OK, or TOOL_FAILED after one
 * line on stderr. */
int command_make(struct command *c, const struct light *l, const struct start *s,
                 const char *qemu_dir);
void command_free(struct command *c);

#endif
