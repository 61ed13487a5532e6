/* SPDX-License-Identifier: MIT */
/* Numbers as users write them: with commas, and with a unit. */
#ifndef COMMON_QUANTITY_H
#define COMMON_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* Each reads the first `len' bytes of text, all of them; false: they are no such number, or
 * it is too large. */

/* A count: "1234", "1,234,567", "40K", "1.2M", "2G" (powers of ten), "0x10". */
bool quantity_count(const char *text, uint32_t len, uint64_t *value);
/* A time with its unit: "1.5s", "30ms", "20us", "5ns", "2min". */
bool quantity_time(const char *text, uint32_t len, uint64_t *ns);

/* quantity_count of a whole argument. */
bool quantity_parse(const char *text, uint64_t *value);
/* quantity_time of a whole argument; without a unit it is seconds: "1.5". */
bool quantity_parse_seconds(const char *text, uint64_t *ns);
/* A whole argument that is a number of bytes: "4096", "64K", "64KiB" (powers of 1024), "1M", "2G". */
bool quantity_parse_size(const char *text, uint64_t *bytes);

#endif
