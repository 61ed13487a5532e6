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

char *selection_beside(const char *name)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *path;

    for (int cut = 0; cut < 2; cut++) {
        while (n > 0 && self[n - 1] != '/') {
            n--;
        }
        if (n <= 0) {
            return NULL;
        }
        n--;
    }
    return asprintf(&path, "%.*s/%s", (int)n, self, name) < 0 ? NULL : path;
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

static int add_ranges(struct selection *sel, struct tool_options *o)
{
    struct tool_ranges list = {0};
    int status = 0;

    if (!tool_parse_ranges(o->arg, &list)) {
        status = tool_usage_error(
            o->prog, "'%s' is no range of addresses, as in 0x1000-0x2000", o->arg);
    }
    for (uint32_t i = 0; i < list.n && !status; i++) {
        char value[64];

        snprintf(value, sizeof(value), "%#llx-%#llx", (unsigned long long)list.v[i].from,
                 (unsigned long long)list.v[i].to);
        status = add_builtin(sel, "range", value) ? 0 : no_memory(o->prog);
    }
    free(list.v);
    return status;
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
        [SELECTION_CALLEES - SELECTION_OPT] = "callees",
        [SELECTION_ONCE - SELECTION_OPT] = "once",
    };

    switch (key) {
    case SELECTION_MODULE:
        return add_text(sel, o, "module");
    case SELECTION_FUNCTION:
        sel->functions |= !sel->negated;
        return add_text(sel, o, "function");
    case SELECTION_RANGE:
        return add_ranges(sel, o);
    case SELECTION_OPCODE:
        return add_opcodes(sel, o);
    case SELECTION_START:
        sel->window = true;
        return add_text(sel, o, "start-at");
    case SELECTION_STOP:
        return add_text(sel, o, "stop-at");
    case SELECTION_CALLEES:
    case SELECTION_STORES:
    case SELECTION_LOADS:
    case SELECTION_BRANCHES:
    case SELECTION_ONCE:
        sel->callees |= key == SELECTION_CALLEES;
        sel->once |= key == SELECTION_ONCE;
        return add_builtin(sel, flags[key - SELECTION_OPT], "on") ? 0
                                                                  : no_memory(o->prog);
    case SELECTION_JITTER:
        return add_jitter(sel, o);
    case SELECTION_COVERAGE:
        sel->coverage = true;
        return 0;
    case SELECTION_PAUSED:
        sel->paused = true;
        return 0;
    case SELECTION_AFTER:
        if (!tool_parse_u64(o->arg, &sel->after_insns) ||
            sel->after_insns == UINT64_MAX) {
            return tool_usage_error(o->prog, "'%s' is no number of instructions", o->arg);
        }
        sel->after_insns = sel->after_insns ? sel->after_insns : UINT64_MAX;
        return 0;
    case SELECTION_FOR:
        if (!tool_parse_u64(o->arg, &sel->for_insns) || !sel->for_insns ||
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
    bool negatable = key >= SELECTION_MODULE && key <= SELECTION_BRANCHES;
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
        char *path = selection_beside(FILTER_LIBRARY), *doubled, *line = NULL;
        bool ok;

        if (!path || access(path, R_OK) < 0) {
            tool_error(prog, "the built-in filters are not there: '%s': %s",
                       path ? path : FILTER_LIBRARY, strerror(errno));
            free(path);
            return 125;
        }
        doubled = double_commas(path);
        ok = doubled && asprintf(&line, "%s,%s", doubled, sel->builtin) >= 0 &&
             append(&sel->lines, "\n", line);
        free(line);
        free(doubled);
        free(path);
        if (!ok) {
            return no_memory(prog);
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
    memset(sel, 0, sizeof(*sel));
}
