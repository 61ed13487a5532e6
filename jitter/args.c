/* SPDX-License-Identifier: MIT */
/*
 * Parses the arguments of the built-in filters.  cannoli-record makes them from its
 * options, one for each, in order; cannoli-jitter(7) lists them for users that pass them
 * to QEMU themselves.
 */
#include "filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes a malloc'ed message for the user; see filter.h. */
#define WRONG(...) (asprintf(&why, __VA_ARGS__) < 0 ? abort() : (void)0, why)

static bool parse_number(const char *text, size_t n, uint64_t *value)
{
    char copy[32], *end;

    if (n == 0 || n >= sizeof(copy) || text[0] < '0' || text[0] > '9') {
        return false;
    }
    memcpy(copy, text, n);
    copy[n] = '\0';
    errno = 0;
    *value = strtoull(copy, &end, copy[0] == '0' && copy[1] == 'x' ? 16 : 10);
    return !errno && !*end;
}

static struct pattern module_pattern(const char *text, size_t n, bool negated)
{
    struct pattern p = {.text = filter_copy(text, n), .negated = negated};

    if (strchr(p.text, '/')) {
        p.real = realpath(p.text, NULL);
    }
    return p;
}

bool filter_module_matches(const struct pattern *p, const char *path)
{
    const char *base = strrchr(path, '/');
    size_t n = strlen(p->text);

    if (strchr(p->text, '/')) {
        return (p->real && !strcmp(p->real, path)) || !fnmatch(p->text, path, 0);
    }
    base = base ? base + 1 : path;
    /* libfoo.so also matches libfoo.so.1.2. */
    return !fnmatch(p->text, base, 0) || (!strncmp(base, p->text, n) && base[n] == '.');
}

static void add_pattern(struct patterns *list, struct pattern p)
{
    list->v = filter_grow(list->v, list->n, &list->cap, sizeof(*list->v));
    list->v[list->n++] = p;
    list->positive |= !p.negated;
}

static void add_name(struct filter_args *args, enum use use, const char *text)
{
    args->names =
        filter_grow(args->names, args->nr_names, &args->cap_names, sizeof(*args->names));
    args->names[args->nr_names++] = (struct name){
        .use = use,
        .text = filter_copy(text, strlen(text)),
    };
}

/* Whether a text can only be meant as numbers, as the tools see it. */
static bool looks_numeric(const char *text)
{
    return text[0] == '-' || (text[0] >= '0' && text[0] <= '9' &&
                              !text[strspn(text, "0123456789abcdefABCDEFxX+-")]);
}

/* "A", "A-B" and "A+LENGTH"; false: none of these. */
static bool parse_addresses(const char *text, struct span *s)
{
    const char *sign = strpbrk(text, "-+");
    size_t n = sign ? (size_t)(sign - text) : strlen(text);

    if (!parse_number(text, n, &s->start)) {
        return false;
    }
    s->end = s->start + 1;
    if (!sign) {
        return true;
    }
    if (!parse_number(sign + 1, strlen(sign + 1), &s->end)) {
        return false;
    }
    s->end += *sign == '+' ? s->start : 0;
    return s->start < s->end;
}

/* Addresses, or a name. */
static bool add_place(struct filter_args *args, enum use use, const char *text)
{
    struct span s;

    if (!looks_numeric(text)) {
        add_name(args, use, text);
        return true;
    }
    if (!parse_addresses(text, &s)) {
        return false;
    }
    spans_add(&args->addresses.of[use], s.start, s.end);
    return true;
}

/* The keys that have no value other than "on". */
static bool *find_flag(struct filter_args *args, const char *key, bool negated)
{
    if (!strcmp(key, "stores")) {
        return negated ? &args->not_stores : &args->stores;
    }
    if (!strcmp(key, "loads")) {
        return negated ? &args->not_loads : &args->loads;
    }
    if (!strcmp(key, "branches")) {
        return negated ? &args->not_branches : &args->branches;
    }
    if (!strcmp(key, "user")) {
        return negated ? &args->not_user : &args->user;
    }
    if (!strcmp(key, "kernel")) {
        return negated ? &args->not_kernel : &args->kernel;
    }
    if (!strcmp(key, "callees") && !negated) {
        return &args->callees;
    }
    return !strcmp(key, "once") && !negated ? &args->once : NULL;
}

/* What a place that is named by this key is for; USES: it names no place. */
static enum use use_of(const char *kind, bool negated)
{
    if (!strcmp(kind, "function")) {
        return negated ? USE_NOT_FUNCTION : USE_FUNCTION;
    }
    if (!strcmp(kind, "range")) {
        return negated ? USE_NOT_RANGE : USE_RANGE;
    }
    if (negated) {
        return USES;
    }
    return !strcmp(kind, "start-at")  ? USE_START
           : !strcmp(kind, "stop-at") ? USE_STOP
                                      : USES;
}

/* value: NULL if there was no '='. */
static char *set_arg(struct filter_args *args, const char *key, const char *value)
{
    bool negated = !strncmp(key, "not-", 4);
    const char *kind = negated ? key + 4 : key;
    bool *flag = find_flag(args, kind, negated);
    enum use use = use_of(kind, negated);
    char *why;

    if (flag) {
        if (value && strcmp(value, "on")) {
            return WRONG("%s takes no value but on, not '%s'", key, value);
        }
        *flag = true;
        return NULL;
    }
    if (use == USES && strcmp(kind, "module") && strcmp(kind, "opcode") &&
        strcmp(key, "report")) {
        return WRONG("there is no filter '%s'", key);
    }
    if (!value || !*value) {
        return WRONG("%s needs a value", key);
    }
    if (!strcmp(kind, "module")) {
        add_pattern(&args->modules, module_pattern(value, strlen(value), negated));
    } else if (!strcmp(kind, "opcode")) {
        add_pattern(&args->opcodes,
                    (struct pattern){.text = filter_copy(value, strlen(value)),
                                     .negated = negated});
    } else if (use == USES) {
        free(args->report);
        args->report = filter_copy(value, strlen(value));
    } else if (use == USE_FUNCTION || use == USE_NOT_FUNCTION) {
        add_name(args, use, value);
    } else if (!add_place(args, use, value)) {
        return WRONG("%s: '%s' is no address and no range, as in 0x1000-0x2000", key,
                     value);
    }
    args->wants_function |= use == USE_FUNCTION;
    args->wants_range |= use == USE_RANGE;
    args->starts_closed |= use == USE_START;
    return NULL;
}

/* With callees, functions are not filters; calls of them open a window. */
static char *finish(struct filter_args *args)
{
    char *why;

    places_finish(&args->addresses);
    if (!args->callees) {
        return NULL;
    }
    if (!args->wants_function) {
        return WRONG("callees needs a function");
    }
    for (size_t i = 0; i < args->nr_names; i++) {
        struct name *n = &args->names[i];

        n->use = n->use == USE_FUNCTION ? USE_TREE : n->use;
    }
    args->wants_function = false;
    args->starts_closed = true;
    return NULL;
}

char *filter_args_parse(struct filter_args *args, const char *text)
{
    char *copy = filter_copy(text, strlen(text)), *p = copy, *why = NULL;

    *args = (struct filter_args){0};
    while (*p && !why) {
        char *begin = p, *to = p, *value = NULL;

        /* Works in place: reading is always ahead of writing. */
        while (*p && (*p != ',' || p[1] == ',')) {
            p += *p == ',';
            if (*p == '=' && !value) {
                *to++ = '\0';
                value = to;
                p++;
            } else {
                *to++ = *p++;
            }
        }
        p += *p == ',';
        *to = '\0';
        why = set_arg(args, begin, value);
    }
    free(copy);
    return why ? why : finish(args);
}

static void free_patterns(struct patterns *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->v[i].text);
        free(list->v[i].real);
    }
    free(list->v);
}

void filter_args_free(struct filter_args *args)
{
    free_patterns(&args->modules);
    free_patterns(&args->opcodes);
    for (size_t i = 0; i < args->nr_names; i++) {
        free(args->names[i].text);
    }
    free(args->names);
    places_free(&args->addresses);
    free(args->report);
    *args = (struct filter_args){0};
}
