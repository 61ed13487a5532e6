/* SPDX-License-Identifier: MIT */
/*
 * Demangles names of C++, Rust and D functions with libiberty, like addr2line -C.  A
 * mangled name of a few hundred bytes can expand to gigabytes (it may refer to parts of
 * itself).  So the text is received in pieces and dropped when it is too long; for D, the
 * length is estimated first.
 */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include "symfile.h"

#define MAX_MANGLED 8192
#define MAX_DEMANGLED 65536
#define MAX_D_MANGLED 2048

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

/* ------------------------------------------------------------------------- D */

/*
 * The distance of a back reference of D, after its 'Q': base 26 in capitals, the last
 * digit in lower case.  0 if there is none, or if it points outside the name.
 */
static size_t d_distance(const char *name, size_t q)
{
    size_t d = 0, i = q + 1;
    while (name[i] >= 'A' && name[i] <= 'Z' && d <= q) {
        d = 26 * d + (size_t)(name[i++] - 'A');
    }
    if (name[i] < 'a' || name[i] > 'z') {
        return 0;
    }
    d = 26 * d + (size_t)(name[i] - 'a');
    return d <= q ? d : 0;
}

/*
 * Upper bound of the characters of the name that are read again for the reference at q
 * to `from': an identifier, a type of few letters, or anything up to q.  sum[i]:
 * characters read for those before i.
 */
static uint64_t d_again(const char *name, size_t from, size_t q, const uint64_t *sum)
{
    size_t i = from;
    if (name[i] >= '0' && name[i] <= '9') {
        return strtoul(name + i, NULL, 10) % MAX_MANGLED;
    }
    i += strspn(name + i, "AOPxy");
    if (i < q && name[i] >= 'a' && name[i] <= 'w') {
        return i + 1 - from;
    }
    if (i < q && name[i] == 'Q') {
        return i - from + sum[i + 1] - sum[i];
    }
    return sum[q] - sum[from];
}

/*
 * D's demangler has no form with a callback, and each reference to a type that contains
 * another reference can double the text: it gets only names whose text stays short.
 */
static bool d_stays_short(const char *name)
{
    uint64_t sum[MAX_D_MANGLED + 1] = {0};
    size_t n = strlen(name);
    if (n > MAX_D_MANGLED) {
        return !strchr(name, 'Q');
    }
    for (size_t i = 0; i < n; i++) {
        size_t d = name[i] == 'Q' ? d_distance(name, i) : 0;
        sum[i + 1] = sum[i] + 1 + (d ? d_again(name, i - d, i, sum) : 0);
        if (sum[i + 1] > MAX_DEMANGLED) {
            return false;
        }
    }
    return true;
}

static bool demangle_d(const char *name, char **out)
{
    char *text = d_stays_short(name)
                     ? cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_DLANG)
                     : NULL;
    if (text && strlen(text) > MAX_DEMANGLED) {
        free(text);
        text = NULL;
    }
    *out = text;
    return text != NULL;
}

bool sym_demangle(const char *linkage, char **out)
{
    if (linkage[0] != '_' || strlen(linkage) > MAX_MANGLED) {
        return false;
    }
    if (linkage[1] == 'D') {
        return demangle_d(linkage, out);
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
