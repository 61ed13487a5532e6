/* SPDX-License-Identifier: MIT */
/*
 * A fuzz target is a file with these two functions.  With libFuzzer
 * (CANNOLI_FUZZER=ON, clang) it is an ordinary target; otherwise driver.c runs it on
 * seeds that driver.c mutates, the same ones each time.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Good input number i, or nearly good; free() it. */
uint8_t *fuzz_seed(unsigned i, size_t *n);

/* Functions that the targets share (read.c): reads a trace in every possible way. */
void fuzz_read(const uint8_t *data, size_t n, unsigned flags);
/* Corrects the hashes of all sections that can be found (hashes.c). */
void fuzz_fix_hashes(uint8_t *data, size_t n);
/* A trace of the corpus, by a letter and its number (corpus.c); the same. */
#define FUZZ_PATH 4096
void fuzz_corpus_path(char path[FUZZ_PATH], const char *kind, unsigned number);
uint8_t *fuzz_corpus(const char *kind, unsigned number, size_t *n);
/* A small recording; free() it. */
uint8_t *fuzz_trace(unsigned seed, size_t *n);

#endif
