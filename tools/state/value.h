/* SPDX-License-Identifier: MIT */
/*
 * Values as text, by the types of DWARF: "24", "0x7f00", "\"hello\"", "RED",
 * "{x = 1, y = 2}", as gdb prints them.
 */
#ifndef TOOLS_VALUE_H
#define TOOLS_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/textbuf.h"
#include "symbols/symfile_data.h"

/* Reads n bytes of memory; known[i] 0: byte i is not known.  text: only those up to the
 * first NUL are needed.  False: it failed. */
typedef bool value_read(void *arg, uint64_t addr, uint8_t *out, uint8_t *known, size_t n,
                        bool text);

/* Appends " <f>", or " <f+4>", if an address is in a function.  False: no memory. */
typedef bool value_function(void *arg, struct textbuf *b, uint64_t addr);

struct value_options {
    const struct symfile *file; /* of the types */
    bool big_endian;
    unsigned addr_bytes;
    unsigned string_max;      /* bytes shown of a string */
    bool x87;                 /* long double is that of the x87 */
    unsigned items_max;       /* elements and members shown of an array or a structure */
    value_read *read;         /* for strings; NULL: they are shown as addresses */
    value_function *function; /* after pointers to functions; NULL: nothing */
    void *arg;
};

/* A type of C that a function is known to have without DWARF. */
enum value_basic {
    VALUE_INT, /* signed, of the value's size */
    VALUE_UNSIGNED,
    VALUE_HEX,
    VALUE_POINTER,
    VALUE_STRING, /* of char, ends with a NUL */
    VALUE_CHAR,
    VALUE_FLOAT,
    VALUE_OCTAL,
};

/*
 * Appends n bytes (in the order of memory) as a value of a type; known: which of them are,
 * NULL: all.  What is not known is "?".  False: no memory.
 */
bool value_put(struct textbuf *b, const struct value_options *o, uint32_t type,
               const uint8_t *bytes, const uint8_t *known, size_t n);
bool value_put_basic(struct textbuf *b, const struct value_options *o,
                     enum value_basic type, const uint8_t *bytes, size_t n);

/* The value of 10 bytes as the x87 has them: the integer bit is explicit. */
long double value_x87(const uint8_t *bytes);

/* An integer of n bytes; of more than 8, its lowest 64 bits. */
uint64_t value_integer(const struct value_options *o, const uint8_t *bytes, size_t n);

#endif
