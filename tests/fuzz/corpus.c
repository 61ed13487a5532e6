/* SPDX-License-Identifier: MIT */
/* Traces of CANNOLI_TRACE_CORPUS (trace_corpus.sh), for fuzz targets of tools (fuzz.h). */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "fuzz_symbols.h"

void fuzz_corpus_path(char path[FUZZ_PATH], const char *kind, unsigned number)
{
    const char *dir = getenv("CANNOLI_TRACE_CORPUS");

    snprintf(path, FUZZ_PATH, "%s/%s%u.ctr", dir ? dir : ".", kind, number);
}

uint8_t *fuzz_corpus(const char *kind, unsigned number, size_t *n)
{
    char path[FUZZ_PATH];
    uint8_t *p;

    fuzz_corpus_path(path, kind, number);
    p = fuzz_read_file(path, n);
    if (!p) {
        fprintf(stderr, "%s cannot be read: set CANNOLI_TRACE_CORPUS (trace_corpus.sh)\n",
                path);
        exit(77);
    }
    return p;
}
