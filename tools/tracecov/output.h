/* SPDX-License-Identifier: MIT */
/*
 * Shared by the writers of report.h's formats: a buffer in front of a FILE, numbers and
 * escaped text without printf, and the rounding of percentages.
 */
#ifndef TRACECOV_OUTPUT_H
#define TRACECOV_OUTPUT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/textbuf.h"
#include "tracecov/report.h"

/*
 * Buffered text for a file.  After the first error all output is discarded, and out_close
 * returns that error, so callers need not check before.
 */
struct out {
    FILE *file;
    int error; /* negated errno, or 0 */
    struct textbuf scratch;
    size_t n;
    char buf[1u << 16];
};

/* NULL: no memory. */
struct out *out_open(FILE *file);
/* Writes the rest and frees `o'.  Returns the same as an output_ function. */
int out_close(struct out *o);

/* Makes room for n more bytes, at most sizeof(buf). */
void out_flush(struct out *o);
static inline char *out_room(struct out *o, size_t n)
{
    if (sizeof(o->buf) - o->n < n) {
        out_flush(o);
    }
    return o->buf + o->n;
}
static inline void out_done(struct out *o, const char *end)
{
    o->n = (size_t)(end - o->buf);
}

void out_mem(struct out *o, const void *p, size_t n);
static inline void out_str(struct out *o, const char *s)
{
    out_mem(o, s, strlen(s));
}
static inline void out_u64(struct out *o, uint64_t v)
{
    out_done(o, fmt_u64(out_room(o, FMT_U64_MAX), v));
}
/* Blanks before it, up to width (at most 32). */
static inline void out_u64_width(struct out *o, uint64_t v, unsigned width)
{
    out_done(o, fmt_u64_width(out_room(o, 40), v, width));
}
/* Without 0x; zeros before it up to width (at most 16). */
static inline void out_hex(struct out *o, uint64_t v, unsigned width)
{
    out_done(o, fmt_hex_width(out_room(o, FMT_HEX_MAX), v, width));
}
void out_json(struct out *o, const char *s);   /* with its quotes */
void out_markup(struct out *o, const char *s); /* HTML, XML */
/* For rare output: headings and totals. */
void out_printf(struct out *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A decimal number with a comma before each three digits. */
void out_grouped(struct out *o, uint64_t v);

/*
 * Tenths of a percent.  Rounded, but 1000 means all and 0 means none, so that 100.0 %
 * is never shown if something is missing.  0 of 0 is 1000.
 */
unsigned output_permille(uint64_t hit, uint64_t of);
/* "83.3 %", or "-" if `of' is 0. */
void out_percent(struct out *o, uint64_t hit, uint64_t of);

/* Index of the first line, or branch, of a source at or after `line'. */
size_t output_line_from(const struct report_source *s, uint32_t line);
size_t output_branch_from(const struct report_source *s, uint32_t line);

/* The branches of a line. */
struct output_branches {
    const struct report_branch *v;
    size_t n;
    size_t hit; /* branches taken at least once */
};
/*
 * The branches of `line', for callers that query lines in ascending order: *at is the
 * position of the search, at first 0 or the result of output_branch_from.
 */
struct output_branches output_branches_of(const struct report_source *s, uint32_t line,
                                          size_t *at);

#endif
