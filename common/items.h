/* SPDX-License-Identifier: MIT */
/* Lists of places that a user names (cannoli-names(7)): where each item ends. */
#ifndef COMMON_ITEMS_H
#define COMMON_ITEMS_H

#include <stdbool.h>
#include <stdint.h>

/* The length of the item at the begin of a list with commas; commas in quotes, brackets
 * and parentheses do not end it.  0: it is empty, or a quote or bracket is open at the
 * end. */
uint32_t item_length(const char *text);

/* Whether an item can only be meant as addresses: if it is not one, or a range, it is
 * wrong. */
bool item_looks_numeric(const char *item);

#endif
