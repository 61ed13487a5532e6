/* SPDX-License-Identifier: MIT */
/* Lists of places that a user names (cannoli-names(7)): where each item ends, and whether it
 * can be one. */
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

/*
 * Splits "REST+NUMBER" at the last '+': *rest is the length of REST, which is not empty.
 * False if the item does not end so.
 */
bool item_offset(const char *text, uint32_t len, uint32_t *rest, uint64_t *number);

/* What makes the form of an item wrong whatever the names are, as the end of a sentence about
 * it: "has no number after its '+'".  NULL: nothing. */
const char *item_malformed(const char *item);

#endif
