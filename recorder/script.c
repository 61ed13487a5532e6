/* SPDX-License-Identifier: MIT */
/* The first line of a script, as execve(2) describes it. */
#include "script.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char blanks[] = " \t";

int script_read(const char *path, struct script *script)
{
    FILE *f = fopen(path, "re");
    char *line = script->line, *end;
    size_t n;
    int err;

    if (!f) {
        return -1;
    }
    n = fread(line, 1, SCRIPT_LINE_MAX, f);
    err = ferror(f) ? errno : 0;
    fclose(f);
    if (err) {
        errno = err;
        return -1;
    }
    line[n] = '\0';
    if (n < 2 || line[0] != '#' || line[1] != '!') {
        return 0;
    }
    /* A line that is too long is cut in its argument, never in the name. */
    const bool whole = memchr(line, '\n', n) || n < SCRIPT_LINE_MAX;

    if (!whole) {
        line[SCRIPT_LINE_MAX - 1] = '\0';
    }
    end = line + strcspn(line, "\n");
    while (end > line + 2 && strchr(blanks, end[-1])) {
        end--;
    }
    *end = '\0';
    script->interpreter = line + 2 + strspn(line + 2, blanks);
    end = script->interpreter + strcspn(script->interpreter, blanks);
    if (end == script->interpreter || (!*end && !whole)) {
        return 0;
    }
    script->argument = *end ? end + 1 + strspn(end + 1, blanks) : NULL;
    *end = '\0';
    return 1;
}
