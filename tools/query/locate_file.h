/* SPDX-License-Identifier: MIT */
/*
 * Finds locations (location.h) in one file, without a trace: what an item means in the
 * file's own addresses.  Differences from locate.h, which looks in all files of a trace:
 * MODULE is the file if its name begins with that and a dot, too (libc, libfoo.so), and
 * NAME+N with the file's name is an address of the file, also if there is such a symbol;
 * functions that only select another one (IFUNC) are not found, nor, by a pattern without
 * '@', entries of the PLT.
 */
#ifndef TOOLS_LOCATE_FILE_H
#define TOOLS_LOCATE_FILE_H

#include "query/locate.h"

/* Why an item was not found; the later ones help more. */
enum located {
    LOCATED_NOT_MEANT, /* it names another program or library */
    LOCATED_UNKNOWN,   /* there is no such name */
    LOCATED_BARE,      /* nor are there many others: a stripped file */
    LOCATED_NOT,       /* a reason of its own: no code at that line, a similar name ... */
    LOCATED            /* it was found */
};

/*
 * Calls fn for each piece of code or data that an item is, in no order; pieces may
 * overlap.  functions: the item names functions, as in --function.  m->file NULL: only
 * addresses of the file can be found.  Not found: a sentence without its end in `why', of
 * less than `size' bytes.
 */
enum located locate_in_file(const struct module *m, const char *item, bool functions,
                            enum locate_want want,
                            void (*fn)(void *arg, uint64_t from, uint64_t to), void *arg,
                            char *why, size_t size);

/* Whether an item could be in a file, by the file's name alone. */
bool locate_can_be_in(const struct module *m, const char *item);

#endif
