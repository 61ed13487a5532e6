/* SPDX-License-Identifier: MIT */
/* Chunks that are full much earlier than those of a recording. */
#ifndef TESTS_SMALL_H
#define TESTS_SMALL_H

#include <stdint.h>

struct ctr_encoder;

/* A chunk ends after so many blocks plus one, or after so many bytes of records. */
void small_chunks(struct ctr_encoder *e, uint32_t locals, uint32_t side);

#endif
