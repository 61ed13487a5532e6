/* SPDX-License-Identifier: MIT */
/* Options that only some of the tools have: a message names these tools. */
#ifndef COMMON_OPTIONS_ELSEWHERE_H
#define COMMON_OPTIONS_ELSEWHERE_H

#include <stddef.h>

/*
 * Which tools have the option with the long name text[0..len-1], as "tracedump has";
 * NULL: none, or all of them.
 */
const char *options_elsewhere(const char *text, size_t len);

#endif
