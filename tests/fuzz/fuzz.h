/* SPDX-License-Identifier: MIT */
/*
 * A fuzz target is a file with these two functions.  Built with libFuzzer
 * (CANNOLI_FUZZER=ON, clang) it runs as any other; else driver.c runs it over
 * seeds that it mutates itself, the same ones each time.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Input number i that is good, or as good as it gets; free() it. */
uint8_t *fuzz_seed(unsigned i, size_t *n);

/* What the targets share (read.c): reads a trace in every way there is. */
void fuzz_read(const uint8_t *data, size_t n, unsigned flags);
/* Makes the hashes of all sections right that can be found. */
void fuzz_fix_hashes(uint8_t *data, size_t n);
/* A small recording; free() it. */
uint8_t *fuzz_trace(unsigned seed, size_t *n);

#endif
