/* SPDX-License-Identifier: MIT */
/* The layout of event payloads (cannoli/events.h). */
#ifndef CTR_PAYLOAD_H
#define CTR_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

/*
 * A payload begins with a fixed part of numbers, and ends with parts whose length it
 * contains itself: strings, data, or strings and data.
 */
#define PAYLOAD_MAX_FIELDS 12u
struct payload_kind {
    uint8_t nfields;
    uint8_t counted; /* a u32 and so many bytes at the end, at most the u64 at offset 8 */
    uint8_t strings; /* u16 and so many bytes each */
    uint8_t more;    /* so many strings may follow these */
    uint8_t field[PAYLOAD_MAX_FIELDS]; /* bytes of each: 4 or 8 */
};

/* The layout for an event type, or NULL for an unknown one. */
const struct payload_kind *payload_kind(uint32_t type);

/* Bytes of the fixed part. */
uint32_t payload_fixed(const struct payload_kind *k);
/* Bytes before the rest, whose length alone says how long the payload is: the fixed part,
 * and the length of data if nothing but data comes after it. */
uint32_t payload_before_rest(const struct payload_kind *k);

/*
 * Whether this is a payload of that type, whole and with nothing after it. Returns NULL
 * or what is wrong.
 */
const char *payload_check(uint32_t type, const uint8_t *p, size_t n);

#endif
