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
    *value = strtoull(copy, &end, 0);
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

/* [MODULE!]FUNCTION */
static struct function *add_function(struct filter_args *args, const char *text)
{
    const char *bang = strchr(text, '!');
    struct function *f;

    args->functions = filter_grow(args->functions, args->nr_functions,
                                  &args->cap_functions, sizeof(*args->functions));
    f = &args->functions[args->nr_functions++];
    *f = (struct function){0};
    if (bang) {
        f->module = module_pattern(text, (size_t)(bang - text), false);
        text = bang + 1;
    }
    f->name = filter_copy(text, strlen(text));
    return f;
}

/* 0xADDRESS, FUNCTION, MODULE!FUNCTION, MODULE+0xOFFSET */
static void add_trigger(struct filter_args *args, const char *text, int trigger)
{
    const char *plus = strrchr(text, '+');
    struct trigger_point p = {.triggers = trigger};

    if (parse_number(text, strlen(text), &p.value)) {
        plus = text;
    } else if (plus && plus != text && !strchr(text, '!') &&
               parse_number(plus + 1, strlen(plus + 1), &p.value)) {
        p.module = module_pattern(text, (size_t)(plus - text), false);
    } else {
        add_function(args, text)->triggers = trigger;
        return;
    }
    args->points = filter_grow(args->points, args->nr_points, &args->cap_points,
                               sizeof(*args->points));
    args->points[args->nr_points++] = p;
}

static bool add_range(struct filter_args *args, const char *text, bool negated)
{
    const char *dash = strchr(text, '-');
    uint64_t start, end;

    if (!dash || !parse_number(text, (size_t)(dash - text), &start) ||
        !parse_number(dash + 1, strlen(dash + 1), &end) || start >= end) {
        return false;
    }
    spans_add(negated ? &args->not_ranges : &args->ranges, start, end);
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
    if (!strcmp(key, "callees") && !negated) {
        return &args->callees;
    }
    return !strcmp(key, "once") && !negated ? &args->once : NULL;
}

/* value: NULL if there was no '='. */
static char *set_arg(struct filter_args *args, const char *key, const char *value)
{
    bool negated = !strncmp(key, "not-", 4);
    const char *kind = negated ? key + 4 : key;
    bool *flag = find_flag(args, kind, negated);
    char *why;

    if (flag) {
        if (value && strcmp(value, "on")) {
            return WRONG("%s takes no value but on, not '%s'", key, value);
        }
        *flag = true;
        return NULL;
    }
    if (strcmp(kind, "module") && strcmp(kind, "function") && strcmp(kind, "range") &&
        strcmp(kind, "opcode") && (negated || strcmp(kind, "start-at")) &&
        (negated || strcmp(kind, "stop-at"))) {
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
    } else if (!strcmp(kind, "function")) {
        struct function *f = add_function(args, value);

        f->member = true;
        f->negated = negated;
    } else if (!strcmp(kind, "range")) {
        if (!add_range(args, value, negated)) {
            return WRONG("'%s' is no range of addresses, as in 0x1000-0x2000", value);
        }
    } else if (!strcmp(kind, "start-at")) {
        add_trigger(args, value, CANNOLI_START);
        args->starts_closed = true;
    } else {
        add_trigger(args, value, CANNOLI_STOP);
    }
    return NULL;
}

/* With callees, functions are not filters; calls of them open a window. */
static char *finish(struct filter_args *args)
{
    bool any = false;
    char *why;

    spans_finish(&args->ranges);
    spans_finish(&args->not_ranges);
    for (size_t i = 0; i < args->nr_functions; i++) {
        struct function *f = &args->functions[i];

        if (f->member && !f->negated) {
            any = true;
            if (args->callees) {
                f->member = false;
                f->triggers |= CANNOLI_TREE;
            }
        }
    }
    if (args->callees && !any) {
        return WRONG("callees needs a function");
    }
    args->functions_positive = any && !args->callees;
    args->starts_closed |= args->callees;
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
    for (size_t i = 0; i < args->nr_functions; i++) {
        free(args->functions[i].module.text);
        free(args->functions[i].module.real);
        free(args->functions[i].name);
    }
    for (size_t i = 0; i < args->nr_points; i++) {
        free(args->points[i].module.text);
        free(args->points[i].module.real);
    }
    free(args->functions);
    free(args->points);
    spans_free(&args->ranges);
    spans_free(&args->not_ranges);
    *args = (struct filter_args){0};
}
