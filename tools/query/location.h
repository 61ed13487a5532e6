/* SPDX-License-Identifier: MIT */
/*
 * Locations: how a user names code or data.  This is their syntax; locate.h finds them in
 * a trace.
 *
 *   0x1234, 4660          an address
 *   A-B, A+LENGTH         a range of addresses; B is not included
 *   NAME                  a function or an object, all of it; in quotes if it contains
 *                         commas or operators: 'Foo::bar(int, char)'
 *   NAME.field[2]         a part of an object
 *   NAME+N                the byte N bytes after its begin
 *   NAME+N+LENGTH         LENGTH bytes from there on
 *   parse.c:120           the code of a source line
 *   parse.c:NAME          the function or object of that source file, 'parse.c'::NAME
 *   MODULE+0x1234         an address of a file, as nm and objdump show it; MODULE!0x1234
 *   MODULE!NAME           a name in one program or library
 *   A-B with names        from the begin of A to before the begin of B
 *   str*                  a glob: each function or object with such a name
 */
#ifndef TOOLS_LOCATION_H
#define TOOLS_LOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"

/* One item of a list. */
struct location {
    const char *text; /* as the user wrote it; owned by the list */
    bool numeric;     /* `range' is all that is needed */
    struct ctr_range range;
};

/* Grows with each option given; a zeroed list is empty. */
struct locations {
    struct location *v;
    uint32_t n;
};

/* Adds the items of a list with commas.  False: not such a list, or no memory. */
bool location_list_add(struct locations *list, const char *text);
void location_list_free(struct locations *list);

/* Whether an item is a name, so that symbols are needed. */
bool location_list_named(const struct locations *list);

/* ------------------------------------------------------------ parts of an item */

/* The position of the '!' after a module's name, or len if there is none. */
uint32_t location_module(const char *text, uint32_t len);

/*
 * Splits "parse.c:NAME" and "'parse.c'::NAME": the file's name is *file_len bytes from *file
 * on, NAME begins at *name.  False if the item has no such form; without quotes a file has
 * a dot or slash in it, since code made at run time has names such as "Function:main".
 */
bool location_source(const char *text, uint32_t len, uint32_t *file, uint32_t *file_len,
                     uint32_t *name);

/* Copies a name without its quotes to `to', which has room for len + 1 bytes.  Returns
 * whether it was quoted. */
bool location_name(const char *text, uint32_t len, char *to);

/* Whether a range that was found counts in a process (index): a name may be elsewhere in another. */
static inline bool location_range_is_of(const struct ctr_range *r, uint32_t process)
{
    return !r->process || r->process - 1 == process;
}

#endif
