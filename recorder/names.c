/* SPDX-License-Identifier: MIT */
/* Names of places, and whether they were found; see names.h. */
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cannoli/names.h"
#include "common/array.h"

#define SERIOUS (CANNOLI_NAME_REASONS - 1)

int names_add(struct names *names, const char *option, const char *text)
{
    char *copy = strdup(text);

    if (!copy ||
        !array_reserve(&names->v, &names->cap, names->n + 1, sizeof(*names->v))) {
        free(copy);
        return -ENOMEM;
    }
    names->v[names->n++] = (struct given_name){option, copy};
    return 0;
}

char *names_open(struct names *names)
{
    off_t bytes = (off_t)((names->n + 1) * sizeof(struct cannoli_name));
    char *path;

    names->fd = memfd_create("cannoli-names", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    /* As of the pipe's files: processes that may inspect this one open it by /proc. */
    if (names->fd < 0 || fchmod(names->fd, 0600) < 0 || ftruncate(names->fd, bytes) < 0 ||
        fcntl(names->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        return NULL;
    }
    return asprintf(&path, "/proc/%d/fd/%d", (int)getpid(), names->fd) < 0 ? NULL : path;
}

/* Reads structure i; a guest may have written anything into it. */
static bool read_name(const struct names *names, size_t i, struct cannoli_name *to)
{
    off_t at = (off_t)(i * sizeof(*to));

    if (pread(names->fd, to, sizeof(*to), at) != (ssize_t)sizeof(*to)) {
        return false;
    }
    for (unsigned r = 0; r < CANNOLI_NAME_REASONS; r++) {
        to->why[r][sizeof(to->why[r]) - 1] = '\0';
        for (char *c = to->why[r]; *c; c++) {
            *c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
        }
    }
    return true;
}

/* The reason that helps most, or NULL. */
static const char *best_reason(const struct cannoli_name *name)
{
    for (unsigned r = CANNOLI_NAME_REASONS; r-- > 0;) {
        if (name->state & CANNOLI_NAME_WRITTEN(r)) {
            return name->why[r];
        }
    }
    return NULL;
}

void names_report(const struct names *names, void (*line)(void *arg, const char *text),
                  void *arg)
{
    struct cannoli_name files, name;
    bool missing = false;

    if (names->fd < 0 || !read_name(names, 0, &files) ||
        !(files.state & CANNOLI_NAME_FOUND)) {
        return;
    }
    for (size_t i = 0; i < names->n && read_name(names, i + 1, &name); i++) {
        const struct given_name *given = &names->v[i];
        const char *why = best_reason(&name);
        char text[512];

        if (name.state & CANNOLI_NAME_FOUND) {
            continue;
        }
        missing = true;
        if (why) {
            snprintf(text, sizeof(text), "%s: %s", given->option, why);
        } else {
            snprintf(text, sizeof(text), "%s: '%s' was not looked for in any file",
                     given->option, given->text);
        }
        line(arg, text);
    }
    if (best_reason(&files) &&
        (missing || (files.state & CANNOLI_NAME_WRITTEN(SERIOUS)))) {
        line(arg, best_reason(&files));
    }
}

void names_free(struct names *names)
{
    if (names->fd >= 0) {
        close(names->fd);
    }
    for (size_t i = 0; i < names->n; i++) {
        free(names->v[i].text);
    }
    free(names->v);
    *names = (struct names)NAMES_INIT;
}
