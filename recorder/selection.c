/* SPDX-License-Identifier: MIT */
/*
 * The built-in filters are a jitter library of our own: their options become its
 * arguments, so that whatever decides in QEMU is such a library.
 */
#include "selection.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cannoli/mempipe.h"
#include "common/items.h"
#include "common/qemu.h"
#include "common/quantity.h"

#define FILTER_LIBRARY "lib/cannoli/libcannoli-filter.so"

static int no_memory(const char *prog)
{
    tool_error(prog, "out of memory");
    return 125;
}

/* Appends to *to `separator', unless text is the first, and text; false: no memory. */
static bool append(char **to, const char *separator, const char *text)
{
    size_t have = *to ? strlen(*to) : 0;
    size_t sep = have ? strlen(separator) : 0, n = strlen(text);
    char *more = realloc(*to, have + sep + n + 1);

    if (!more) {
        return false;
    }
    memcpy(more + have, separator, sep);
    memcpy(more + have + sep, text, n + 1);
    *to = more;
    return true;
}

/* Every comma twice; malloc'ed. */
static char *double_commas(const char *text)
{
    char *out = malloc(2 * strlen(text) + 1), *p = out;

    if (!out) {
        return NULL;
    }
    do {
        if (*text == ',') {
            *p++ = ',';
        }
        *p++ = *text;
    } while (*text++);
    return out;
}

char *selection_path(const char *line, const char **rest)
{
    char *path = malloc(strlen(line) + 1), *p = path;

    if (!path) {
        return NULL;
    }
    while (*line && (*line != ',' || line[1] == ',')) {
        line += *line == ',';
        *p++ = *line++;
    }
    *p = '\0';
    if (rest) {
        *rest = *line ? line + 1 : line;
    }
    return path;
}

char *selection_line(const char *text)
{
    const char *args = "";
    char *path, *real = NULL, *doubled = NULL, *line = NULL;

    if (strchr(text, '\n')) {
        errno = EINVAL;
        return NULL;
    }
    path = selection_path(text, &args);
    if (!path) {
        return NULL;
    }
    real = realpath(path, NULL);
    if (real && strchr(real, '\n')) {
        errno = EINVAL;
    } else if (real) {
        doubled = double_commas(real);
        if (doubled && asprintf(&line, "%s%s%s", doubled, *args ? "," : "", args) < 0) {
            line = NULL;
        }
    }
    free(doubled);
    free(real);
    free(path);
    return line;
}

/* "KEY=VALUE", after --not "not-KEY=VALUE", for the built-in filters. */
static bool add_builtin(struct selection *sel, const char *key, const char *value)
{
    char *doubled = double_commas(value), *arg = NULL;
    bool ok = doubled &&
              asprintf(&arg, "%s%s=%s", sel->negated ? "not-" : "", key, doubled) >= 0;

    ok = ok && append(&sel->builtin, ",", arg);
    free(doubled);
    if (arg) {
        free(arg);
    }
    return ok;
}

/* Addresses, as the filters write them; false: an item is a name. */
static bool as_addresses(const char *item, char *to, size_t size)
{
    struct tool_ranges one = {0};
    bool is = tool_parse_ranges(item, &one) && one.n == 1;

    if (is) {
        snprintf(to, size, "%#llx-%#llx", (unsigned long long)one.v[0].from,
                 (unsigned long long)one.v[0].to);
    }
    free(one.v);
    return is;
}

static int add_place(struct selection *sel, const char *prog, const char *option,
                     const char *item)
{
    bool function = !strcmp(option, "--function");
    char addresses[64];

    if (!function && as_addresses(item, addresses, sizeof(addresses))) {
        return add_builtin(sel, option + 2, addresses) ? 0 : no_memory(prog);
    }
    if (item[0] == '-' || (!function && item_looks_numeric(item))) {
        return tool_usage_error(prog,
                                "%s: '%s' is no address and no range, as in "
                                "0x1000-0x2000",
                                option, item);
    }
    if (item_malformed(item)) {
        return tool_usage_error(prog, "%s: '%s' %s", option, item, item_malformed(item));
    }
    sel->program = option;
    if (names_add(&sel->names, option, item) || !add_builtin(sel, option + 2, item)) {
        return no_memory(prog);
    }
    return 0;
}

/* A list of places, or of functions. */
static int add_places(struct selection *sel, struct tool_options *o, const char *option)
{
    const char *p = o->arg;

    for (;;) {
        uint32_t n = item_length(p);
        char *item;
        int status;

        if (!n || strchr(o->arg, '\n')) {
            return tool_usage_error(o->prog, "'%s' is no argument of %s", o->arg, option);
        }
        item = strndup(p, n);
        status = item ? add_place(sel, o->prog, option, item) : no_memory(o->prog);
        free(item);
        if (status || !p[n]) {
            return status;
        }
        p += n + 1;
    }
}

static int add_opcodes(struct selection *sel, struct tool_options *o)
{
    const char *p = o->arg;

    for (;;) {
        size_t n = strcspn(p, ",");
        char *one;
        bool ok;

        if (!n || strcspn(p, " \t\n") < n) {
            return tool_usage_error(o->prog, "'%s' is no list of mnemonics", o->arg);
        }
        one = strndup(p, n);
        ok = one && add_builtin(sel, "opcode", one);
        free(one);
        if (!ok) {
            return no_memory(o->prog);
        }
        if (!p[n]) {
            return 0;
        }
        p += n + 1;
    }
}

static int add_text(struct selection *sel, struct tool_options *o, const char *key)
{
    if (!*o->arg || strchr(o->arg, '\n')) {
        return tool_usage_error(o->prog, "'%s' is no argument of --%s", o->arg, key);
    }
    return add_builtin(sel, key, o->arg) ? 0 : no_memory(o->prog);
}

static int add_jitter(struct selection *sel, struct tool_options *o)
{
    char *line = selection_line(o->arg);
    int status = 0;

    if (!line && errno == EINVAL) {
        return tool_usage_error(o->prog, "a library's path and arguments are one line");
    }
    if (!line) {
        char *path = selection_path(o->arg, NULL);

        tool_error(o->prog, "cannot load '%s': %s", path ? path : o->arg,
                   strerror(errno));
        free(path);
        return 125;
    }
    if (!append(&sel->lines, "\n", line)) {
        status = no_memory(o->prog);
    }
    free(line);
    return status;
}

/* Whether a list names tasks: numbers, and names that do not begin with a digit. */
static bool are_tasks(const char *list)
{
    for (;; list++) {
        const size_t n = strcspn(list, ",");
        const bool digits = list[0] >= '0' && list[0] <= '9';

        if (!n || (digits && strspn(list, "0123456789") < n) || (digits && n > 9)) {
            return false;
        }
        list += n;
        if (!*list) {
            return true;
        }
    }
}

static int add_tasks(struct selection *sel, struct tool_options *o)
{
    sel->machine = "--task";
    if (!are_tasks(o->arg)) {
        return tool_usage_error(o->prog, "'%s' is no list of tasks", o->arg);
    }
    if (!append(&sel->tasks, ",", o->arg)) {
        return no_memory(o->prog);
    }
    return strlen(sel->tasks) < MEMPIPE_TASKS_BYTES
               ? 0
               : tool_usage_error(o->prog, "--task: more than %u bytes",
                                  MEMPIPE_TASKS_BYTES - 1);
}

static int add_contexts(struct selection *sel, struct tool_options *o)
{
    char *copy = strdup(o->arg), *rest = copy, *item;
    int status = copy ? 0 : no_memory(o->prog);

    sel->machine = "--context";
    while (!status && (item = strsep(&rest, ","))) {
        if (sel->nr_contexts == MEMPIPE_CONTEXTS) {
            status = tool_usage_error(o->prog, "--context: more than %u page tables",
                                      MEMPIPE_CONTEXTS);
        } else if (!tool_parse_u64(item, &sel->contexts[sel->nr_contexts++])) {
            status = tool_usage_error(o->prog, "'%s' is no list of page tables", o->arg);
        }
    }
    free(copy);
    return status;
}

/* The option, as the user would write it, into the text for the trace. */
static bool remember(struct selection *sel, struct tool_options *o, int key)
{
    char *word = NULL;
    bool ok = asprintf(&word, "%s%s%s", tool_option_name(o, key), o->arg ? "=" : "",
                       o->arg ? o->arg : "") >= 0 &&
              append(&sel->text, " ", word);

    free(word);
    return ok;
}

static int accept_option(struct selection *sel, struct tool_options *o, int key)
{
    static const char *const flags[] = {
        [SELECTION_STORES - SELECTION_OPT] = "stores",
        [SELECTION_LOADS - SELECTION_OPT] = "loads",
        [SELECTION_BRANCHES - SELECTION_OPT] = "branches",
        [SELECTION_USER - SELECTION_OPT] = "user",
        [SELECTION_KERNEL - SELECTION_OPT] = "kernel",
        [SELECTION_CALLEES - SELECTION_OPT] = "callees",
        [SELECTION_ONCE - SELECTION_OPT] = "once",
    };

    switch (key) {
    case SELECTION_MODULE:
        sel->program = "--module";
        return add_text(sel, o, "module");
    case SELECTION_FUNCTION:
        sel->functions |= !sel->negated;
        return add_places(sel, o, "--function");
    case SELECTION_RANGE:
        return add_places(sel, o, "--range");
    case SELECTION_OPCODE:
        return add_opcodes(sel, o);
    case SELECTION_START:
        sel->window = true;
        return add_places(sel, o, "--start-at");
    case SELECTION_STOP:
        return add_places(sel, o, "--stop-at");
    case SELECTION_CALLEES:
    case SELECTION_STORES:
    case SELECTION_LOADS:
    case SELECTION_BRANCHES:
    case SELECTION_USER:
    case SELECTION_KERNEL:
    case SELECTION_ONCE:
        sel->machine = key == SELECTION_USER     ? "--user"
                       : key == SELECTION_KERNEL ? "--kernel"
                                                 : sel->machine;
        sel->callees |= key == SELECTION_CALLEES;
        sel->once |= key == SELECTION_ONCE;
        return add_builtin(sel, flags[key - SELECTION_OPT], "on") ? 0
                                                                  : no_memory(o->prog);
    case SELECTION_TASK:
        return add_tasks(sel, o);
    case SELECTION_CONTEXT:
        return add_contexts(sel, o);
    case SELECTION_JITTER:
        return add_jitter(sel, o);
    case SELECTION_COVERAGE:
        sel->coverage = true;
        return 0;
    case SELECTION_PAUSED:
        sel->paused = true;
        return 0;
    case SELECTION_AFTER:
        if (!quantity_parse(o->arg, &sel->after_insns) ||
            sel->after_insns == UINT64_MAX) {
            return tool_usage_error(o->prog, "'%s' is no number of instructions", o->arg);
        }
        sel->after_insns = sel->after_insns ? sel->after_insns : UINT64_MAX;
        return 0;
    case SELECTION_FOR:
        if (!quantity_parse(o->arg, &sel->for_insns) || !sel->for_insns ||
            sel->for_insns == UINT64_MAX) {
            return tool_usage_error(o->prog, "'%s' is no number of instructions", o->arg);
        }
        return 0;
    default:
        return TOOL_USAGE;
    }
}

int selection_option(struct selection *sel, struct tool_options *o, int key)
{
    bool negatable = key >= SELECTION_MODULE && key <= SELECTION_KERNEL;
    int status;

    if (sel->negated && !negatable) {
        return tool_usage_error(o->prog, "--not goes before a filter, not before %s",
                                tool_option_name(o, key));
    }
    if (!remember(sel, o, key)) {
        return no_memory(o->prog);
    }
    if (key == SELECTION_NOT) {
        sel->negated = true;
        return 0;
    }
    status = accept_option(sel, o, key);
    sel->negated = false;
    return status;
}

/* The library of built-in filters, last. */
static int add_library(struct selection *sel, const char *prog)
{
    char *path = program_beside(FILTER_LIBRARY), *report = NULL;
    char *doubled = path ? double_commas(path) : NULL, *line = NULL;
    int status = 125;

    if (!path || access(path, R_OK) < 0) {
        tool_error(prog, "the built-in filters are not there: '%s': %s",
                   path ? path : FILTER_LIBRARY, strerror(errno));
    } else if (sel->names.n && !(report = names_open(&sel->names))) {
        tool_error(prog, "cannot make the report on names: %s", strerror(errno));
    } else if (!doubled || asprintf(&line, "%s,%s%s%s", doubled, sel->builtin,
                                    report ? ",report=" : "", report ? report : "") < 0) {
        line = NULL;
        no_memory(prog);
    } else {
        status = append(&sel->lines, "\n", line) ? 0 : no_memory(prog);
    }
    free(line);
    free(report);
    free(doubled);
    free(path);
    return status;
}

int selection_finish(struct selection *sel, const char *prog)
{
    if (sel->negated) {
        return tool_usage_error(prog, "--not goes before a filter");
    }
    if (sel->callees && !sel->functions) {
        return tool_usage_error(prog, "--callees needs a --function");
    }
    if (sel->coverage && sel->once) {
        return tool_usage_error(prog,
                                "--coverage is for blocks, --once for instructions: "
                                "only one of them can be used");
    }
    sel->foreign_bytes = sel->lines ? strlen(sel->lines) : 0;
    if (sel->builtin) {
        int status = add_library(sel, prog);

        if (status) {
            return status;
        }
    }
    if (sel->lines && strlen(sel->lines) >= MEMPIPE_FILTER_BYTES) {
        return tool_usage_error(prog,
                                "the filters are too long: %zu bytes of text, with the "
                                "libraries' paths; the limit is %u",
                                strlen(sel->lines), MEMPIPE_FILTER_BYTES - 1);
    }
    return 0;
}

void selection_free(struct selection *sel)
{
    free(sel->lines);
    free(sel->text);
    free(sel->builtin);
    free(sel->tasks);
    names_free(&sel->names);
    *sel = (struct selection)SELECTION_INIT;
}
