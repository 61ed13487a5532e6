/* SPDX-License-Identifier: MIT */
/*
 * Finds the places that have names in a file, as offsets in the file, because the host
 * describes an address by file and offset.
 *
 * A program beside this library, cannoli-locate, does it, with what the tools know of
 * names, symbols and source lines: so names mean the same there, and a file that would
 * crash their reader crashes another process.  For each name it prints lines
 *
 *   N FROM TO     name number N, from 1, is code from one offset to below another (hex)
 *   N ?R TEXT     it is not there; TEXT is reason R of cannoli/names.h
 *   0 ?R TEXT     the file could not be read, or not all of it
 *   end           the last line
 */
#include "filter.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROGRAM "cannoli-locate"
#define SERIOUS (CANNOLI_NAME_REASONS - 1)

/* How cannoli-locate calls each use. */
static const char *const words[USES] = {
    [USE_FUNCTION] = "functions", [USE_NOT_FUNCTION] = "functions",
    [USE_RANGE] = "code",         [USE_NOT_RANGE] = "code",
    [USE_START] = "begin",        [USE_STOP] = "begin",
    [USE_TREE] = "entries",
};

#ifdef CANNOLI_LOCATE
static char *find_program(void)
{
    return filter_copy(CANNOLI_LOCATE, strlen(CANNOLI_LOCATE));
}
#else
/* Beside the library itself. */
static char *find_program(void)
{
    Dl_info info;
    const char *slash;
    char *path;

    if (!dladdr(&cannoli_jitter, &info) || !info.dli_fname ||
        !(slash = strrchr(info.dli_fname, '/'))) {
        return filter_copy(PROGRAM, strlen(PROGRAM));
    }
    if (asprintf(&path, "%.*s/" PROGRAM, (int)(slash - info.dli_fname), info.dli_fname) <
        0) {
        abort();
    }
    return path;
}
#endif

char *names_open(struct names *n, const struct filter_args *args)
{
    char *why;

    *n = (struct names){.args = args};
    if (!args->nr_names) {
        return NULL;
    }
    n->program = find_program();
    if (access(n->program, X_OK) < 0) {
        if (asprintf(&why, "what finds names is not there: '%s': %s", n->program,
                     strerror(errno)) < 0) {
            abort();
        }
        return why;
    }
    if (args->report) {
        report_open(&n->report, args->report, args->nr_names);
    }
    return NULL;
}

void names_close(struct names *n)
{
    report_close(&n->report);
    free(n->program);
    *n = (struct names){0};
}

/* ---- running the program ---- */

struct search {
    const struct names *names;
    char **argv;
    void *output;
    size_t bytes;
    int error;
};

static int search(void *arg)
{
    struct search *s = arg;

    s->output = child_output(s->names->program, s->argv, &s->bytes, &s->error);
    return 0;
}

/* The program's output, with a NUL; malloc'ed.  NULL: it could not be run. */
static char *look_for(const struct names *n, const char *path)
{
    const struct filter_args *args = n->args;
    struct search s = {.names = n};
    char *text = NULL;
    size_t argc = 0;
    int err;

    s.argv = calloc(2 * args->nr_names + 3, sizeof(*s.argv));
    if (!s.argv) {
        abort();
    }
    s.argv[argc++] = (char *)(uintptr_t)PROGRAM;
    s.argv[argc++] = (char *)(uintptr_t)path;
    for (size_t i = 0; i < args->nr_names; i++) {
        s.argv[argc++] = (char *)(uintptr_t)words[args->names[i].use];
        s.argv[argc++] = args->names[i].text;
    }
    err = child_run(search, &s);
    err = err ? err : s.error;
    if (err) {
        char why[254];
        int len =
            snprintf(why, sizeof(why), "cannot run '%s': %s", n->program, strerror(-err));

        report_why(&n->report, 0, SERIOUS, why, len > 0 ? strlen(why) : 0);
    } else {
        text = filter_copy(s.output ? s.output : "", s.bytes);
    }
    if (s.output) {
        munmap(s.output, s.bytes);
    }
    free(s.argv);
    return text;
}

/* ---- its output ---- */

/* Skips a number and the space after it. */
static bool take_number(char **p, int base, uint64_t *value)
{
    char *end;

    if (**p == ' ' || **p == '-' || **p == '+') {
        return false;
    }
    errno = 0;
    *value = strtoull(*p, &end, base);
    if (errno || end == *p || (*end && *end != ' ')) {
        return false;
    }
    *p = end + (*end == ' ');
    return true;
}

/* False: this is no line that the program prints. */
static bool take_line(const struct names *n, struct places *to, char *line)
{
    uint64_t name, from, end;

    if (!take_number(&line, 10, &name) || name > n->args->nr_names) {
        return false;
    }
    if (line[0] == '?' && line[1] >= '0' && line[1] <= '9' && line[2] == ' ') {
        report_why(&n->report, (size_t)name, (unsigned)(line[1] - '0'), line + 3,
                   strlen(line + 3));
        return true;
    }
    if (!name || !take_number(&line, 16, &from) || !take_number(&line, 16, &end)) {
        return false;
    }
    spans_add(&to->of[n->args->names[name - 1].use], from, end);
    report_found(&n->report, (size_t)name);
    return true;
}

void names_find(const struct names *n, struct places *to, const char *path)
{
    char *text = n->args->nr_names ? look_for(n, path) : NULL, *line = text;
    bool complete = false;

    *to = (struct places){0};
    while (line && *line && !complete) {
        char *end = strchrnul(line, '\n'), *next = *end ? end + 1 : end;

        *end = '\0';
        complete = !strcmp(line, "end");
        if (!complete && !take_line(n, to, line)) {
            break;
        }
        line = next;
    }
    if (text && !complete) {
        char why[254];

        snprintf(why, sizeof(why), "looking for names failed in '%s'", path);
        report_why(&n->report, 0, SERIOUS, why, strlen(why));
    }
    free(text);
    places_finish(to);
}
