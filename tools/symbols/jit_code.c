/* SPDX-License-Identifier: MIT */
/* The list of functions made at run time, which the parsers fill in; see jit.h. */
#include "symbols/jit.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

void jit_bad(struct jit_code *c, uint64_t at, const char *why)
{
    if (!c->nr_bad++) {
        c->bad_at = at;
        c->bad_why = why;
    }
}

bool jit_add(struct jit_code *c, const struct jit_function *f, uint64_t at)
{
    if (f->end <= f->addr) {
        jit_bad(c, at, "a function without bytes, or beyond the end of memory");
        return true;
    }
    if (c->nr_functions == JIT_MAX_FUNCTIONS) {
        jit_bad(c, at, "too many functions");
        return true;
    }
    if (!array_reserve(&c->functions, &c->cap_functions, c->nr_functions + 1,
                       sizeof(*c->functions))) {
        return false;
    }
    c->functions[c->nr_functions++] = *f;
    return true;
}

bool jit_add_string(struct jit_code *c, const void *text, size_t n, uint32_t *out)
{
    /* The first string is "". */
    size_t at = c->string_bytes ? c->string_bytes : 1;

    /* Files are bounded, and so are the strings in them; jit_kernel.c bounds its own. */
    if (!array_reserve(&c->strings, &c->cap_strings, at + n + 1, 1)) {
        return false;
    }
    c->strings[0] = 0;
    memcpy(c->strings + at, text, n);
    c->strings[at + n] = 0;
    c->string_bytes = at + n + 1;
    *out = (uint32_t)at;
    return true;
}

void jit_code_fini(struct jit_code *c)
{
    free(c->functions);
    free(c->lines);
    free(c->strings);
    *c = (struct jit_code){0};
}
