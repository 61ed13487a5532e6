/* SPDX-License-Identifier: MIT */
/* Functions that the fuzz targets of tools/symbols share (symbols.c). */
#ifndef FUZZ_SYMBOLS_H
#define FUZZ_SYMBOLS_H

#include <stdio.h>
#include <stdlib.h>
#include "symbols/symfile.h"

#define CHECK(c)                                                                         \
    do {                                                                                 \
        if (!(c)) {                                                                      \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #c);              \
            abort();                                                                     \
        }                                                                                \
    } while (0)

/* Makes all queries on a file, and checks what symfile.h promises about the answers. */
void fuzz_query(const struct symfile *f);

/* The bytes of a file; free() them.  NULL if it cannot be read. */
uint8_t *fuzz_read_file(const char *path, size_t *n);

#endif
