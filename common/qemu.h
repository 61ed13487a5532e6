/* SPDX-License-Identifier: MIT */
/*
 * Where programs are, QEMU above all, and its command line.  Strings that are returned are
 * malloc'ed; NULL: there is none, or no memory.
 */
#ifndef COMMON_QEMU_H
#define COMMON_QEMU_H

#include <stdbool.h>

bool program_is_executable(const char *path);
/* Looks for `name' in one folder, or in a list with colons; NULL: in none. */
char *program_find(const char *dirs, const char *name);
/* ../NAME as seen from the folder that holds this program. */
char *program_beside(const char *name);
/* The program NAME of this project: in the folder of this program, or in PATH; NULL also after a
 * line on stderr, as `prog'. */
char *program_sibling(const char *prog, const char *name);

/* In a child that was forked for it: executes argv[0], with nothing to read, and with standard
 * error as its standard output; ends with status 127, after a line on stderr, if it cannot. */
_Noreturn void program_execute(const char *prog, const char *const argv[],
                               char *const envp[]);

/*
 * The QEMU `name': in qemu_dir, if it is not NULL; else where CANNOLI_QEMU_DIR says, beside this
 * program, or in PATH.  *looked: if it is in none of them, which these were, or NULL.
 */
char *qemu_find(const char *name, const char *qemu_dir, char **looked);

/* Options of qemu-user, without the dash: with an argument of their own, and without. */
bool qemu_option_has_arg(const char *opt);
bool qemu_option_alone(const char *opt);

#endif
