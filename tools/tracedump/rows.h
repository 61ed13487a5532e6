/* SPDX-License-Identifier: MIT */
/*
 * Rows of --info's tables, found by key, in the order in which they came until they are
 * sorted. No state of its own: any thread, one table at a time.
 */
#ifndef TOOLS_ROWS_H
#define TOOLS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/textbuf.h"

/* Rows of a table that text shows. */
#define ROWS_TEXT 16u

/* The first member of each row. */
struct row_key {
    void *bytes; /* of malloc, owned by the row */
    size_t n;
};

/* All 0 but row_bytes, the size of a row: empty. */
struct rows {
    size_t row_bytes;
    void *row;
    size_t n, cap;
    uint32_t *index; /* hash table of numbers of rows from 1, 0: free */
    size_t size;     /* of that: a power of two, or 0 */
};

/* The row of a key, whose n bytes need no alignment, or a new one of zeros; NULL: no
 * memory. It is valid until the next call. Not after rows_sort. */
void *rows_get(struct rows *t, const void *key, size_t n);
void rows_sort(struct rows *t, int (*compare)(const void *, const void *));
/* Says how many rows text does not show, if there are any. */
bool rows_more_text(struct textbuf *b, const struct rows *t);
void rows_free(struct rows *t);

#endif
