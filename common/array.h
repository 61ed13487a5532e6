/* SPDX-License-Identifier: MIT */
/* Arrays that grow.  No state of their own: any thread, one array at a time. */
#ifndef COMMON_ARRAY_H
#define COMMON_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes room for `need' elements of `size' bytes in an array of malloc, which has *cap.
 * array: the address of the pointer, NULL for an empty array; the caller frees the array.
 * *cap grows by a factor, so that appending is cheap.  False: no memory, nothing is changed.
 */
bool array_reserve(void *array, size_t *cap, size_t need, size_t size);

/* The same; new elements are zero. */
bool array_reserve_zeroed(void *array, size_t *cap, size_t need, size_t size);

#endif
