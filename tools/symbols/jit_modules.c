/* SPDX-License-Identifier: MIT */
/*
 * Modules of a Linux kernel, by copies of its files: the lines "NAME BYTES USES USERS STATE
 * ADDRESS" of /proc/modules, or those of /proc/kallsyms with "[NAME]".
 */
#include "symbols/jit.h"

#include <string.h>

struct line {
    const char *name; /* not ended by a NUL */
    size_t n;
    uint64_t addr, bytes;
};

static const char *read_number(const char *p, const char *end, unsigned base, uint64_t *v)
{
    for (*v = 0; p < end && !(*v >> 60); p++) {
        const char *digits = "0123456789abcdef", *d = memchr(digits, *p, base);
        if (!d) {
            break;
        }
        *v = *v * base + (uint64_t)(d - digits);
    }
    return p;
}

/* A line of /proc/modules; false: it is none. */
static bool parse_line(const char *p, const char *end, struct line *l)
{
    const char *space = memchr(p, ' ', (size_t)(end - p)), *at;

    if (!space || space == p || memchr(p, 0, (size_t)(end - p))) {
        return false;
    }
    l->name = p;
    l->n = (size_t)(space - p);
    at = read_number(space + 1, end, 10, &l->bytes);
    if (at == space + 1 || at == end || *at != ' ' ||
        !(at = memmem(at, (size_t)(end - at), " 0x", 3))) {
        return false;
    }
    return read_number(at + 3, end, 16, &l->addr) > at + 3 && l->bytes;
}

bool jit_is_modules(const uint8_t *p, size_t n)
{
    const char *text = (const char *)p, *next,
               *stop = jit_line_end(text, text + n, &next);
    struct line l;

    return stop && parse_line(text, stop, &l);
}

bool jit_parse_modules(struct jit_code *c, const uint8_t *bytes, size_t size)
{
    const char *p = (const char *)bytes, *end = p + size;
    uint64_t any = 0;

    for (uint32_t at = 1; p < end && c->nr_functions < JIT_MAX_FUNCTIONS; at++) {
        const char *next, *stop = jit_line_end(p, end, &next);
        struct jit_function f = {0};
        struct line l;
        char name[66];

        if (!stop || !parse_line(p, stop, &l) || l.n > sizeof(name) - 2 ||
            l.addr > UINT64_MAX - l.bytes) {
            jit_bad(c, at, stop ? "not as in /proc/modules" : "an incomplete line");
        } else if (l.addr) {
            any |= l.addr;
            f.addr = l.addr;
            f.end = l.addr + l.bytes;
            name[0] = '[';
            memcpy(name + 1, l.name, l.n);
            name[l.n + 1] = ']';
            if (!jit_add_string(c, name, l.n + 2, &f.name) || !jit_add(c, &f, at)) {
                return false;
            }
        }
        p = next;
    }
    if (!any && !c->nr_bad) { /* kptr_restrict */
        jit_bad(c, 1, "all addresses are 0: it was not read as root");
    }
    return true;
}

/* ------------------------------------------------------------------ one of them */

/* Whether that is the module's name, in which a file's may have '-' for '_'. */
static bool is_named(const char *p, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (!name[i] || (p[i] != name[i] && !(p[i] == '_' && name[i] == '-'))) {
            return false;
        }
    }
    return !name[n] || name[n] == '.';
}

bool jit_module_base(const uint8_t *bytes, size_t size, const char *name, uint64_t *base)
{
    const char *p = (const char *)bytes, *end = p + size;
    struct line l;

    for (const char *next, *stop; p < end && (stop = jit_line_end(p, end, &next));
         p = next) {
        if (parse_line(p, stop, &l) && l.addr && is_named(l.name, l.n, name)) {
            *base = l.addr;
            return true;
        }
    }
    return false;
}

void jit_module_symbols(const uint8_t *bytes, size_t size, const char *name,
                        bool (*fn)(void *arg, const struct jit_symbol *s), void *arg)
{
    const char *p = (const char *)bytes, *end = p + size;
    struct jit_symbol s;
    bool more = true;

    for (const char *next, *stop; more && p < end && (stop = jit_line_end(p, end, &next));
         p = next) {
        if (jit_kallsyms_line(p, stop, &s) && s.module && s.addr &&
            (s.type | 0x20) == 't' && is_named(s.module, s.module_n, name)) {
            more = fn(arg, &s);
        }
    }
}
