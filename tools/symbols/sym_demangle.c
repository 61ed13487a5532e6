/* SPDX-License-Identifier: MIT */
/*
 * Names of C++, Rust and D functions as people write them, by libiberty as addr2line -C
 * shows them.  A mangled name of a few hundred bytes can stand for gigabytes (it may
 * refer to parts of itself), so the text comes in pieces, and is given up when it is too
 * long.
 */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include "symfile.h"

#define MAX_MANGLED 8192
#define MAX_DEMANGLED 65536

struct out {
    char *text;
    size_t n, cap;
    jmp_buf give_up;
};

static void append(const char *piece, size_t n, void *opaque)
{
    struct out *o = opaque;
    if (n > MAX_DEMANGLED - o->n) {
        longjmp(o->give_up, 1);
    }
    if (o->n + n + 1 > o->cap) {
        size_t cap = 2 * (o->n + n) + 64;
        char *p = realloc(o->text, cap);
        if (!p) {
            longjmp(o->give_up, 1);
        }
        o->text = p;
        o->cap = cap;
    }
    memcpy(o->text + o->n, piece, n);
    o->n += n;
    o->text[o->n] = '\0';
}

static bool demangle_into(const char *name, struct out *o)
{
    const int options = DMGL_PARAMS | DMGL_ANSI;
    if (setjmp(o->give_up)) {
        return false;
    }
    if (rust_demangle_callback(name, options, append, o)) {
        return true;
    }
    o->n = 0;
    return cplus_demangle_v3_callback(name, options, append, o);
}

bool sym_demangle(const char *linkage, char **out)
{
    /* D's demangler has no form that calls back, and none of the other's repetitions. */
    if (linkage[0] != '_' || strlen(linkage) > MAX_MANGLED) {
        return false;
    }
    if (linkage[1] == 'D') {
        *out = cplus_demangle(linkage, DMGL_PARAMS | DMGL_ANSI | DMGL_DLANG);
        return *out != NULL;
    }
    struct out *o = calloc(1, sizeof(*o));
    if (!o) {
        return false;
    }
    bool ok = demangle_into(linkage, o) && o->n > 0;
    if (ok) {
        *out = o->text;
    } else {
        free(o->text);
    }
    free(o);
    return ok;
}
