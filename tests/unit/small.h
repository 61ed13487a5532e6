/* SPDX-License-Identifier: MIT */
/* Chunks that are full long before those of a recording are. */
#ifndef TESTS_SMALL_H
#define TESTS_SMALL_H

#include <stdint.h>

struct ctr_encoder;

/* They end behind so many blocks and one, or so many bytes of records. */
void small_chunks(struct ctr_encoder *e, uint32_t locals, uint32_t aux);

#endif
