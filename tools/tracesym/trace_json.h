/* SPDX-License-Identifier: MIT */
/*
 * JSON trace events, which Perfetto and chrome://tracing draw: the array and its commas. One
 * thread.
 */
#ifndef TRACESYM_TRACE_JSON_H
#define TRACESYM_TRACE_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include "common/textbuf.h"

struct trace_json {
    FILE *out;
    struct textbuf text; /* of one event */
    bool any, nomem;
};

void trace_json_begin(struct trace_json *j, FILE *out);
/* Writes the event in `text', and empties it; ok: there was memory for all of it. */
void trace_json_put(struct trace_json *j, bool ok);
/* Whether no more can be written. */
bool trace_json_failed(const struct trace_json *j);
/* 0 or a negated errno. */
int trace_json_end(struct trace_json *j);

#endif
