/* SPDX-License-Identifier: MIT */
/*
 * What became of the names that the user gave to the built-in filters.
 *
 * cannoli-record makes a file of these structures and names it in the filters' argument
 * `report'.  Each recorded process maps it and notes which names it found, and why it did
 * not find others; the recorder reads it when all have ended.  A guest can overwrite the
 * file: then the recorder's messages are wrong, and nothing else.
 *
 * The first structure is about the files in which names are looked for; FOUND in it means
 * that a process has mapped the report.  Structure N is about name N, from 1, in the order
 * of the arguments.
 */
#ifndef CANNOLI_NAMES_H
#define CANNOLI_NAMES_H

#include <stdint.h>

/*
 * Reasons for not finding a name, the one that helps most last: another file is meant; it
 * is not in the file; the file has few names; nearly the same name is there, or there is
 * no code at that line ...  In the first structure: reasons for not looking in a file; the
 * last one matters also if all names were found elsewhere.
 */
#define CANNOLI_NAME_REASONS 4u

#define CANNOLI_NAME_FOUND 1u
/* Reason i is being written; is complete. */
#define CANNOLI_NAME_CLAIMED(i) (0x10u << (i))
#define CANNOLI_NAME_WRITTEN(i) (0x100u << (i))

struct cannoli_name {
    uint32_t state; /* of these bits; changed by atomic operations only */
    uint32_t reserved;
    char why[CANNOLI_NAME_REASONS][254]; /* a sentence without its end, with a NUL */
};

#endif
