/* SPDX-License-Identifier: MIT */
#include "common/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool array_reserve(void *array, size_t *cap, size_t need, size_t size)
{
    size_t n = *cap ? *cap : 16;
    void *v;

    if (need <= *cap) {
        return true;
    }
    if (need > SIZE_MAX / 2 / size) {
        return false;
    }
    while (n < need) {
        n += n / 2;
    }
    memcpy(&v, array, sizeof(v)); /* a pointer of any type */
    v = realloc(v, n * size);
    if (!v) {
        return false;
    }
    memcpy(array, &v, sizeof(v));
    *cap = n;
    return true;
}

bool array_reserve_zeroed(void *array, size_t *cap, size_t need, size_t size)
{
    size_t had = *cap;
    char *v;

    if (!array_reserve(array, cap, need, size)) {
        return false;
    }
    memcpy(&v, array, sizeof(v));
    if (*cap > had) {
        memset(v + had * size, 0, (*cap - had) * size);
    }
    return true;
}
