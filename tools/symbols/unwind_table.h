/* SPDX-License-Identifier: MIT */
/*
 * Functions that a file's unwind tables know, for files without symbols: the search table
 * of .eh_frame_hdr with its frame descriptions, else .eh_frame, and .ARM.exidx.
 */
#ifndef TOOLS_UNWIND_TABLE_H
#define TOOLS_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/symfile.h"

struct unwind_function {
    uint64_t addr;
    uint64_t end; /* 0: not known */
};

/*
 * The functions, ascending by addr, one for each; *v is to be freed.  None if the file has
 * no such table, or a damaged one: it is not trusted.  Returns 0 or -CTR_E_NOMEM.
 */
int unwind_functions(const struct symfile *f, struct unwind_function **v, size_t *n);

/* The address at which the file says to begin, 0 if it says none.  arm: odd for T32. */
uint64_t unwind_entry(const struct symfile *f);

#endif
