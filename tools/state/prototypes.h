/* SPDX-License-Identifier: MIT */
/*
 * Prototypes of functions of the C library that programs call often, for libraries without
 * DWARF.
 */
#ifndef TOOLS_PROTOTYPES_H
#define TOOLS_PROTOTYPES_H

#include <stdbool.h>

/*
 * A prototype is a text: the result, then the parameters, a letter each:
 *
 *   i u   int, unsigned        l z   long, unsigned long (size_t)
 *   q     64 bits (off64_t)    x o   int in hexadecimal, mode_t
 *   p     pointer              s     string
 *   c     character            d f   double, float
 *   v     void                 .     more arguments follow
 */

/* NULL: not known.  A version, "@plt", and "__GI_", "__libc_" or "_IO_" before the name do
 * not count. */
const char *prototype_of(const char *linkage);

/* Whether a function is the one for some processors that calls of a function of the C
 * library reach, by an IFUNC: "__strlen_avx2" of "strlen". */
bool prototype_is_variant(const char *linkage, const char *name);

#endif
