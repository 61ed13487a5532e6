/* SPDX-License-Identifier: MIT */
/* Checks a string of a table that the child made. */
#include "symfile_table_priv.h"

bool symfile_check_string(const struct symfile *f, const char **p)
{
    if ((uintptr_t)*p >= f->table->part[PART_STRINGS].n) {
        return false;
    }
    *p = f->strings + (uintptr_t)*p;
    return true;
}
