/* SPDX-License-Identifier: MIT */
/* What the fuzz targets of tools/symbols share (symbols.c). */
#ifndef FUZZ_SYMBOLS_H
#define FUZZ_SYMBOLS_H

#include <stdio.h>
#include <stdlib.h>
#include "symbols/symfile.h"

#define CHECK(c)                                                                         \
    do {                                                                                 \
        if (!(c)) {                                                                      \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #c);              \
            abort();                                                                     \
        }                                                                                \
    } while (0)

/* Asks a file everything, and checks what symfile.h promises of the answers. */
void fuzz_ask(const struct symfile *f);

/* The bytes of a file; free() them.  NULL if it cannot be read. */
uint8_t *fuzz_read_file(const char *path, size_t *n);

#endif
