/* SPDX-License-Identifier: MIT */
/* The commands of symdump for data, types, variables and frames (symdump_data.c). */
#ifndef TESTS_SYMDUMP_DATA_H
#define TESTS_SYMDUMP_DATA_H

#include "symbols/symfile.h"

/* Returns an exit status, or -1 if there is no such command. */
int symdump_data(const char *what, const struct symfile *f, char **arg);

/* Everything, of a file that may be damaged. */
void symdump_data_all(const struct symfile *f);

#endif
