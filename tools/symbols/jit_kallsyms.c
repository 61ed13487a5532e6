/* SPDX-License-Identifier: MIT */
/*
 * The parser of /proc/kallsyms, as Linux writes it: lines "ADDRESS TYPE NAME", of modules
 * with a tab and "[MODULE]".  A function ends where the next symbol begins.
 */
#include "symbols/jit.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

/* What comes after the last symbol of a part of memory belongs to nobody. */
#define MAX_FUNCTION_BYTES (UINT64_C(1) << 20)

struct symbol {
    struct jit_symbol s;
    uint32_t line;
    uint8_t rank; /* of several at one address the lowest is used */
};

static int by_addr(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;

    if (x->s.addr != y->s.addr) {
        return x->s.addr < y->s.addr ? -1 : 1;
    }
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    return (x->line > y->line) - (x->line < y->line);
}

#define RANK_DATA 9u /* no function: ends the one before */

static uint8_t rank_of(char type)
{
    switch (type) {
    case 'T':
        return 0;
    case 't':
        return 1;
    case 'W':
    case 'w':
        return 2;
    default:
        return RANK_DATA;
    }
}

const char *jit_line_end(const char *p, const char *end, const char **next)
{
    const char *nl = memchr(p, '\n', (size_t)(end - p));

    *next = nl ? nl + 1 : end;
    return nl && nl > p && nl[-1] == '\r' ? nl - 1 : nl;
}

bool jit_kallsyms_line(const char *p, const char *end, struct jit_symbol *s)
{
    const char *first = p, *tab;

    *s = (struct jit_symbol){0};
    for (; p < end; p++) {
        int c = *p | 0x20, digit = c >= '0' && c <= '9'   ? c - '0'
                                   : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                          : -1;
        if (digit < 0) {
            break;
        }
        if (s->addr >> 60) {
            return false;
        }
        s->addr = s->addr << 4 | (uint64_t)digit;
    }
    if (p == first || end - p < 4 || p[0] != ' ' || p[2] != ' ') {
        return false;
    }
    s->type = p[1];
    s->name = p + 3;
    tab = memchr(s->name, '\t', (size_t)(end - s->name));
    s->n = (uint32_t)((tab ? tab : end) - s->name);
    if (tab && end - tab > 3 && tab[1] == '[' && end[-1] == ']') {
        s->module = tab + 2;
        s->module_n = (uint32_t)(end - tab) - 3;
    }
    return s->n > 0 && !memchr(p, 0, (size_t)(end - p));
}

static bool add_functions(struct jit_code *c, const struct symbol *v, size_t n)
{
    for (size_t i = 0, next; i < n; i = next) {
        struct jit_function f = {.addr = v[i].s.addr};

        for (next = i + 1; next < n && v[next].s.addr == v[i].s.addr; next++) {
        }
        if (v[i].rank == RANK_DATA) {
            continue;
        }
        f.end = next < n ? v[next].s.addr : UINT64_MAX;
        if (f.end - f.addr > MAX_FUNCTION_BYTES) {
            f.end = f.addr > UINT64_MAX - MAX_FUNCTION_BYTES
                        ? UINT64_MAX
                        : f.addr + MAX_FUNCTION_BYTES;
        }
        if (!jit_add_string(c, v[i].s.name, v[i].s.n, &f.name) ||
            !jit_add(c, &f, v[i].line)) {
            return false;
        }
    }
    return true;
}

bool jit_parse_kallsyms(struct jit_code *c, const uint8_t *bytes, size_t size)
{
    const char *p = (const char *)bytes, *end = p + size;
    struct symbol *v = NULL;
    size_t n = 0, cap = 0;
    uint64_t any = 0;
    bool ok = true;

    for (uint32_t line = 1; ok && p < end; line++) {
        const char *next, *stop = jit_line_end(p, end, &next);
        struct symbol s = {.line = line};

        if (!stop || !jit_kallsyms_line(p, stop, &s.s)) {
            jit_bad(c, line, stop ? "not ADDRESS TYPE NAME" : "an incomplete line");
        } else if (n < JIT_MAX_FUNCTIONS) {
            s.rank = rank_of(s.s.type);
            ok = array_reserve(&v, &cap, n + 1, sizeof(*v));
            if (ok) {
                v[n++] = s;
                any |= s.s.addr;
            }
        }
        p = next;
    }
    if (ok && n && !any) { /* kptr_restrict */
        jit_bad(c, 1, "all addresses are 0: it was not read as root");
    } else if (ok && n) {
        qsort(v, n, sizeof(*v), by_addr);
        ok = add_functions(c, v, n);
    }
    free(v);
    return ok;
}
