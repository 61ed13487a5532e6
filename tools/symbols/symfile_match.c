/* SPDX-License-Identifier: MIT */
/*
 * Finds functions and objects by a name or glob of a user.  A demangled name is divided at
 * its "::" and at the space after a result type, outside of brackets; its parameters are
 * the last pair of parentheses that no "::" follows.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_table_priv.h"

#define MAX_PARTS 64

/* A demangled name: where a match may begin, and where its parts end. */
struct parts {
    const char *name;
    size_t start[MAX_PARTS];
    unsigned n;
    size_t base;      /* before the template arguments of the last part */
    size_t no_args;   /* before the parameters */
    size_t with_args; /* after them, before " const" or " [clone" */
    size_t end;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* The length of "operator" and its symbol at the start of a text, 0 if it is none. */
static size_t operator_length(const char *s)
{
    static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "->",
                                          "<<", ">>", "<=",  ">=",  "<",   ">"};
    if (strncmp(s, "operator", 8) != 0 || is_word(s[8])) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        size_t n = strlen(symbols[i]);
        if (strncmp(s + 8, symbols[i], n) == 0) {
            return 8 + n;
        }
    }
    size_t n = 8;
    if (s[n] == ' ') { /* "operator new[]", "operator unsigned long" */
        while (s[n] && s[n] != '(') {
            n++;
        }
    }
    return n;
}

/* The bracket that closes the one at s[i], or the end. */
static size_t skip_bracket(const char *s, size_t i)
{
    unsigned depth = 0;
    for (; s[i]; i++) {
        if (strchr("([{<", s[i])) {
            depth++;
        } else if (strchr(")]}", s[i]) || (s[i] == '>' && s[i - 1] != '-')) {
            if (--depth == 0) {
                return i + 1;
            }
        }
    }
    return i;
}

/* What may follow the parameters. */
static bool is_suffix(const char *s)
{
    static const char *const words[] = {" const", " volatile", " &",
                                        " [",     " noexcept", " restrict"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strncmp(s, words[i], strlen(words[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void add_start(struct parts *p, size_t at)
{
    if (p->n < MAX_PARTS) {
        p->start[p->n++] = at;
    }
}

static void divide(struct parts *p, const char *name)
{
    size_t i = 0;
    memset(p, 0, sizeof(*p));
    p->name = name;
    p->end = strlen(name);
    p->base = p->no_args = p->with_args = p->end;
    add_start(p, 0);
    while (name[i]) {
        size_t op = i == 0 || !is_word(name[i - 1]) ? operator_length(name + i) : 0;
        if (op) {
            i += op;
        } else if (name[i] == ':' && name[i + 1] == ':') {
            i += 2;
            add_start(p, i);
            p->base = p->no_args = p->with_args = p->end;
        } else if (name[i] == ' ' && !is_suffix(name + i)) {
            add_start(p, ++i); /* after a result type */
            p->base = p->no_args = p->with_args = p->end;
        } else if (name[i] == '<' || name[i] == '{' || name[i] == '[') {
            bool tag = strncmp(name + i, "[abi:", 5) == 0;
            if ((name[i] == '<' || tag) && i && p->base == p->end) {
                p->base = i;
            }
            i = skip_bracket(name, i);
        } else if (name[i] == '(') {
            size_t from = i;
            i = skip_bracket(name, i);
            if (from && name[from - 1] != ':' && name[from - 1] != ' ' &&
                p->no_args == p->end) {
                p->no_args = from;
                p->with_args = i;
            }
        } else {
            i++;
        }
    }
    if (p->base > p->no_args) {
        p->base = p->no_args;
    }
}

size_t sym_name_bare_length(const char *name)
{
    struct parts p;

    if (!strchr(name, '(')) {
        return strlen(name);
    }
    divide(&p, name);
    return p.no_args;
}

/* Compares n characters with a pattern; spaces do not count. */
static bool equal(const char *pattern, const char *s, size_t n)
{
    const char *end = s + n;
    for (;;) {
        while (*pattern == ' ') {
            pattern++;
        }
        while (s < end && *s == ' ') {
            s++;
        }
        if (s == end || *pattern == '\0') {
            return s == end && *pattern == '\0';
        }
        if (*pattern++ != *s++) {
            return false;
        }
    }
}

static bool is_glob(const char *pattern)
{
    return strpbrk(pattern, "*?[") != NULL;
}

static bool glob(const char *pattern, const char *s, size_t n)
{
    char small[256], *text = n < sizeof(small) ? small : malloc(n + 1);
    if (!text) {
        return false;
    }
    memcpy(text, s, n);
    text[n] = '\0';
    bool ok = fnmatch(pattern, text, FNM_NOESCAPE) == 0;
    if (text != small) {
        free(text);
    }
    return ok;
}

typedef bool (*compare_fn)(const char *pattern, const char *s, size_t n);

static bool match_parts(const struct parts *p, const char *pattern, bool whole_only,
                        compare_fn same)
{
    bool template = strchr(pattern, '<') != NULL;
    for (unsigned i = 0; i < (whole_only ? 1 : p->n); i++) {
        size_t at = p->start[i];
        const char *s = p->name + at;
        if (same(pattern, s, p->end - at) ||
            (p->with_args > at && same(pattern, s, p->with_args - at)) ||
            (p->no_args > at && same(pattern, s, p->no_args - at)) ||
            (!template && p->base > at && same(pattern, s, p->base - at))) {
            return true;
        }
    }
    return false;
}

bool sym_name_matches(const char *pattern, const char *name, const char *linkage)
{
    bool whole_only = strncmp(pattern, "::", 2) == 0;
    struct parts p;
    pattern += whole_only ? 2 : 0;
    if (strcmp(pattern, linkage) == 0 || strcmp(pattern, name) == 0) {
        return true;
    }
    bool is_pattern = is_glob(pattern);
    if (!is_pattern && name == linkage && !strpbrk(name, ":(")) {
        return false; /* of C */
    }
    divide(&p, name);
    return match_parts(&p, pattern, whole_only, equal) ||
           (is_pattern && (glob(pattern, linkage, strlen(linkage)) ||
                           match_parts(&p, pattern, whole_only, glob)));
}

uint32_t symfile_find_functions(const struct symfile *f, const char *pattern,
                                sym_function_fn match, void *arg)
{
    uint32_t calls = 0, alias = 0, aliases = table_count(f, PART_ALIASES);
    for (uint32_t i = 0; i < table_count(f, PART_FUNCTIONS); i++) {
        const struct sym_function *fn = &f->functions[i];
        const char *name =
            sym_name_matches(pattern, fn->name, fn->linkage) ? fn->name : NULL;
        for (; alias < aliases && f->aliases[alias].function == i; alias++) {
            const struct sym_alias *a = &f->aliases[alias];
            if (!name && sym_name_matches(pattern, a->name, a->linkage)) {
                name = a->name;
            }
        }
        if (name) {
            calls++;
            if (!match(arg, fn, name)) {
                break;
            }
        }
    }
    return calls;
}

/* The first alias of a function, by number; the others follow it. */
static uint32_t first_alias(const struct symfile *f, uint32_t function)
{
    uint32_t low = 0, high = table_count(f, PART_ALIASES);
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (f->aliases[mid].function < function) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* The i-th alias of a function, or NULL. */
static const struct sym_alias *alias_of(const struct symfile *f,
                                        const struct sym_function *fn, uint32_t i)
{
    uint32_t number = (uint32_t)(fn - f->functions);
    uint32_t at = first_alias(f, number) + i;
    return at < table_count(f, PART_ALIASES) && f->aliases[at].function == number
               ? &f->aliases[at]
               : NULL;
}

const char *symfile_other_name(const struct symfile *f, const struct sym_function *fn,
                               uint32_t i)
{
    const struct sym_alias *a = alias_of(f, fn, i);
    return a ? a->name : NULL;
}

bool symfile_function_matches(const struct symfile *f, const struct sym_function *fn,
                              const char *pattern)
{
    const struct sym_alias *a;
    bool any = sym_name_matches(pattern, fn->name, fn->linkage);
    for (uint32_t i = 0; !any && (a = alias_of(f, fn, i)) != NULL; i++) {
        any = sym_name_matches(pattern, a->name, a->linkage);
    }
    return any;
}

bool symfile_names_code(const struct symfile *f, const struct sym_function *fn,
                        const char *pattern)
{
    const struct sym_alias *a;
    bool any = !fn->ifunc && sym_name_matches(pattern, fn->name, fn->linkage);
    for (uint32_t i = 0; !any && (a = alias_of(f, fn, i)) != NULL; i++) {
        any = !a->ifunc && sym_name_matches(pattern, a->name, a->linkage);
    }
    return any;
}

const struct sym_scope *symfile_find_inlined(const struct symfile *f, const char *pattern)
{
    for (uint32_t i = 0; i < table_count(f, PART_SCOPES); i++) {
        const struct sym_scope *s = &f->scopes[i];
        if (s->parent != SYM_NONE && sym_name_matches(pattern, s->name, s->linkage)) {
            return s;
        }
    }
    return NULL;
}

const char *symfile_inlined_into(const struct symfile *f, const struct sym_scope *scope)
{
    while (scope->parent != SYM_NONE) {
        scope = &f->scopes[scope->parent];
    }
    return scope->name;
}

uint32_t symfile_find_objects(const struct symfile *f, const char *pattern,
                              bool (*match)(void *arg, const struct sym_object *o),
                              void *arg)
{
    uint32_t calls = 0;
    for (uint32_t i = 0; i < table_count(f, PART_OBJECTS); i++) {
        const struct sym_object *o = &f->objects[i];
        if (sym_name_matches(pattern, o->name, o->linkage)) {
            calls++;
            if (!match(arg, o)) {
                break;
            }
        }
    }
    return calls;
}
