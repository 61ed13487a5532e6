/* SPDX-License-Identifier: MIT */
/* Compares what the system did between the instructions of a pair. */
#ifndef TRACEDIFF_EVENTS_H
#define TRACEDIFF_EVENTS_H

#include "pair.h"

/* Compares two events at the same instruction, after `equal' equal ones, and reports. */
void events_compare(struct pair *p, const struct event *a, const struct event *b,
                    uint64_t equal);

/* Reports an event that only one side has (the other is NULL) at these ordinals. */
void events_differ(struct pair *p, const struct event *a, const struct event *b,
                   const uint64_t ordinal[2], size_t at, uint64_t equal);

#endif
