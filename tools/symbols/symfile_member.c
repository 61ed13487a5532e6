/* SPDX-License-Identifier: MIT */
/* Parts of an object: follows a path of members and indexes through types. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/words.h"
#include "symfile_table_priv.h"

/* Of anonymous structs and base classes: a damaged table may have circles. */
#define MAX_NESTED 32
#define MAX_STEPS 100000

struct walker {
    const struct symfile *f;
    struct sym_part at;
    char *why;
    size_t why_bytes;
    uint32_t steps;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct walker *w, const char *fmt,
                                                       ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(w->why, w->why_bytes, fmt, ap);
    va_end(ap);
    return false;
}

uint64_t sym_bit_field(const uint8_t *p, uint64_t bit_offset, uint32_t bit_size,
                       bool big_endian)
{
    uint64_t v = 0;
    unsigned first = (unsigned)(bit_offset % 8);
    for (uint32_t i = 0; i < bit_size; i++) {
        unsigned at = first + i;
        unsigned bit = p[at / 8] >> (big_endian ? 7 - at % 8 : at % 8) & 1;
        v |= (uint64_t)bit << (big_endian ? bit_size - 1 - i : i);
    }
    return v;
}

static bool is_compound(const struct sym_type *t)
{
    return t->kind == SYM_STRUCT || t->kind == SYM_UNION || t->kind == SYM_CLASS;
}

/* Adds the offset of a member to a place. */
static void enter(struct walker *w, const struct sym_member *m, struct sym_part *at)
{
    const struct sym_type *t = symfile_type(w->f, m->type);
    at->offset += m->bit_offset / 8;
    at->type = m->type;
    at->bit_offset = m->bit_size ? (uint32_t)(m->bit_offset % 8) : 0;
    at->bit_size = m->bit_size;
    at->size = m->bit_size ? (at->bit_offset + m->bit_size + 7) / 8 : t ? t->size : 0;
}

enum found { FOUND, ABSENT, DYNAMIC };

static enum found find(struct walker *w, const struct sym_type *t, const char *name,
                       size_t n, struct sym_part *at, unsigned depth)
{
    enum found result = ABSENT;
    for (int nested = 0; nested < 2; nested++) { /* its own members first */
        for (uint32_t i = 0; i < t->n && w->steps++ < MAX_STEPS; i++) {
            const struct sym_member *m = &w->f->members[t->first + i];
            const struct sym_type *inner = symfile_type(w->f, m->type);
            bool own = strlen(m->name) == n && memcmp(m->name, name, n) == 0;
            if (nested ? !(inner && is_compound(inner) && (m->base || !m->name[0]))
                       : !own || n == 0) {
                continue;
            }
            struct sym_part to = *at;
            enum found how = m->dynamic ? DYNAMIC : FOUND;
            enter(w, m, &to);
            if (nested) {
                enum found in =
                    depth < MAX_NESTED ? find(w, inner, name, n, &to, depth + 1) : ABSENT;
                how = in == FOUND ? how : in;
            }
            if (how == FOUND) {
                *at = to;
                return FOUND;
            }
            result = how == DYNAMIC ? DYNAMIC : result;
        }
    }
    return result;
}

static bool no_member(struct walker *w, const struct sym_type *t, const char *name,
                      size_t n)
{
    const struct words members = {.what = "member",
                                  .first = t->n ? &w->f->members[t->first].name : NULL,
                                  .stride = sizeof(*w->f->members),
                                  .n = t->n};
    const char *meant = words_nearest(&members, name, n);

    if (meant && *meant) {
        return fail(w, "'%s' has no member '%.*s' (did you mean '%s'?)", t->name, (int)n,
                    name, meant);
    }
    return fail(w, "'%s' has no member '%.*s'", t->name, (int)n, name);
}

static bool member(struct walker *w, const char *name, size_t n)
{
    const struct sym_type *t = symfile_type(w->f, w->at.type);
    if (!t || !is_compound(t)) {
        return fail(w, "'%s' has no members%s", t ? t->name : "an unknown type",
                    t && t->kind == SYM_POINTER ? ": pointers are not followed"
                    : t && t->kind == SYM_ARRAY ? ": its elements are [0], [1], ..."
                                                : "");
    }
    if (t->incomplete) {
        return fail(w, "the members of '%s' are not known", t->name);
    }
    if (n == 0) {
        return fail(w, "the name of a member of '%s' is missing", t->name);
    }
    struct sym_part to = w->at;
    enum found how = find(w, t, name, n, &to, 0);
    if (how == DYNAMIC) {
        return fail(w, "the place of '%.*s' in '%s' is only known at run time", (int)n,
                    name, t->name);
    }
    if (how == ABSENT) {
        return no_member(w, t, name, n);
    }
    w->at = to;
    return true;
}

/* "3]"; *path: after it */
static bool element(struct walker *w, const char **path)
{
    const struct sym_type *t = symfile_type(w->f, w->at.type);
    const char *c = *path;
    uint64_t index = 0;
    if (!t || t->kind != SYM_ARRAY) {
        return fail(w, "'%s' is not an array%s", t ? t->name : "an unknown type",
                    t && t->kind == SYM_POINTER ? ": pointers are not followed" : "");
    }
    if (*c < '0' || *c > '9') {
        return fail(w, "an index is a number in brackets: '[%.20s'", c);
    }
    for (; *c >= '0' && *c <= '9'; c++) {
        if (index > UINT32_MAX) {
            return fail(w, "the index in '[%.20s' is too large", *path);
        }
        index = 10 * index + (uint64_t)(*c - '0');
    }
    if (*c != ']') {
        return fail(w, "an index is a number in brackets: '[%.20s'", *path);
    }
    *path = c + 1;
    if (!t->no_count && index >= t->count) {
        return fail(w, "'%s' has no element %llu", t->name, (unsigned long long)index);
    }
    const struct sym_type *e = symfile_type(w->f, t->target);
    if (!e || e->size == 0 || index > UINT64_MAX / 2 / e->size) {
        return fail(w, "the size of the elements of '%s' is not known", t->name);
    }
    w->at.offset += index * e->size;
    w->at.type = t->target;
    w->at.size = e->size;
    w->at.bit_size = w->at.bit_offset = 0;
    return true;
}

bool symfile_member(const struct symfile *f, uint32_t type, const char *path,
                    struct sym_part *out, char *why, size_t why_bytes)
{
    const struct sym_type *t = symfile_type(f, type);
    struct walker w = {.f = f, .why = why, .why_bytes = why_bytes};
    bool first = true;
    w.at.type = type;
    w.at.size = t ? t->size : 0;
    while (*path) {
        if (*path == '[') {
            path++;
            if (!element(&w, &path)) {
                return false;
            }
        } else if (*path == '.' || first) {
            path += *path == '.';
            size_t n = strcspn(path, ".[");
            if (!member(&w, path, n)) {
                return false;
            }
            path += n;
        } else {
            return fail(&w, "'%.20s' is not a part of a type: write .NAME or [N]", path);
        }
        first = false;
    }
    *out = w.at;
    return true;
}
