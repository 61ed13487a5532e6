/* SPDX-License-Identifier: MIT */
/*
 * The parser of perf maps: lines "START SIZE NAME", both numbers hexadecimal, the name to
 * the end of the line.  A line that is no such line is left out.
 */
#include "symbols/jit.h"

#include <string.h>

static int digit_of(uint8_t c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* A number and the blanks after it; returns what follows, or NULL. */
static const uint8_t *number(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
    const uint8_t *first;

    if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
        p += 2;
    }
    *v = 0;
    for (first = p; p < end && digit_of(*p) >= 0; p++) {
        if (*v >> 60) {
            return NULL;
        }
        *v = *v << 4 | (uint64_t)digit_of(*p);
    }
    if (p == first || p == end || (*p != ' ' && *p != '\t')) {
        return NULL;
    }
    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    return p;
}

static bool parse_line(struct jit_code *c, const uint8_t *p, const uint8_t *end,
                       uint64_t line)
{
    struct jit_function f = {0};
    uint64_t size = 0;

    p = number(p, end, &f.addr);
    p = p ? number(p, end, &size) : NULL;
    if (!p || p == end || memchr(p, 0, (size_t)(end - p))) {
        jit_bad(c, line, "not START SIZE NAME");
        return true;
    }
    f.end = size > UINT64_MAX - f.addr ? 0 : f.addr + size;
    return jit_add_string(c, p, (size_t)(end - p), &f.name) && jit_add(c, &f, line);
}

bool jit_parse_perf_map(struct jit_code *c, const uint8_t *p, size_t n)
{
    const uint8_t *end = p + n;
    uint64_t line = 1;

    for (; p < end; line++) {
        const uint8_t *next = memchr(p, '\n', (size_t)(end - p));

        if (!next) { /* its name may lack its end */
            jit_bad(c, line, "an incomplete line");
            return true;
        }
        if (next > p && !parse_line(c, p, next, line)) {
            return false;
        }
        p = next + 1;
    }
    return true;
}
