/* SPDX-License-Identifier: MIT */
/*
 * cannoli-locate: finds named places in one file, for the built-in filters of
 * cannoli-record, which run inside the recorded QEMU and start this program there
 * (jitter/names.c, which describes its output).  It is not for users.
 *
 *   cannoli-locate FILE [USE PLACE]...
 *
 * USE is what the place is wanted for: `code', all of it; `begin', of a function its
 * first instruction, else all of it; `functions', all code of functions; `entries', their
 * first instructions.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cannoli/names.h"
#include "query/locate_file.h"

_Static_assert(LOCATED == CANNOLI_NAME_REASONS, "reasons are numbers of cannoli/names.h");

static const struct use {
    const char *name;
    bool functions;
    enum locate_want want;
} uses[] = {
    {"code", false, LOCATE_CODE},
    {"begin", false, LOCATE_BEGIN},
    {"functions", true, LOCATE_CODE},
    {"entries", true, LOCATE_BEGIN},
};

static const struct use *find_use(const char *name)
{
    for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
        if (!strcmp(uses[i].name, name)) {
            return &uses[i];
        }
    }
    return NULL;
}

/* One line about a name; 0: about the file, whose symbols may contain any character. */
static void print_reason(int name, unsigned reason, const char *text)
{
    printf("%d ?%u ", name, reason);
    for (const char *c = text; *c; c++) {
        putchar((unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c);
    }
    putchar('\n');
}

/* ------------------------------------------------------------------ one place */

struct printer {
    const struct module *module;
    int name;
    bool any;
};

/* Prints offsets in the file for addresses; of a file that is not an ELF file they are the
 * same. */
static void on_piece(void *arg, uint64_t from, uint64_t to)
{
    struct printer *p = arg;

    while (from < to) {
        uint64_t offset = from, n = to - from;

        if (p->module->file && !symfile_offset(p->module->file, from, &offset, &n)) {
            return;
        }
        n = n < to - from ? n : to - from;
        printf("%d %" PRIx64 " %" PRIx64 "\n", p->name, offset, offset + n);
        p->any = true;
        from += n;
    }
}

static void find_place(const struct module *m, int name, const struct use *use,
                       const char *item)
{
    struct printer p = {.module = m, .name = name};
    char why[CANNOLI_NAME_REASONS * 100];
    enum located found = locate_in_file(m, item, use->functions, use->want, on_piece, &p,
                                        why, sizeof(why));

    if (found == LOCATED && !p.any) {
        snprintf(why, sizeof(why), "there is no code at '%s' in %s", item, m->name);
        print_reason(name, LOCATED_NOT, why);
    } else if (found != LOCATED && (m->file || found == LOCATED_NOT_MEANT)) {
        print_reason(name, found, why);
    }
}

/* ------------------------------------------------------------------- the file */

/* Whether a place can be "FILE:LINE" or "FILE:NAME", for which DWARF is read. */
static bool may_have_source(const char *item)
{
    for (const char *c = strchr(item, ':'); c; c = strchr(c + 1, ':')) {
        if (c > item && (c[-1] == '\'' || (c[-1] != ':' && c[1] != ':'))) {
            return true;
        }
    }
    return false;
}

/* The parts of the file that are needed; 0: none of the places can be in it. */
static unsigned parts_of(const struct module *m, int n, char **args)
{
    unsigned flags = 0;

    for (int i = 0; i < n; i++) {
        const char *item = args[2 * i + 1];

        if (locate_can_be_in(m, item)) {
            flags |= SYMFILE_NAMES;
            flags |= may_have_source(item) ? SYMFILE_LINES : 0;
        }
    }
    return flags;
}

/* False: places cannot be looked for in it. */
static bool open_file(struct module *m, unsigned flags)
{
    const struct symfile_options options = {.flags = flags};
    struct symfile_error err;

    if (symfile_open(&m->file, m->path, &options, &err) == SYMFILE_NOTELF) {
        return true;
    }
    if (err.text[0]) {
        print_reason(0, err.status == SYMFILE_BAD ? LOCATED_NOT : LOCATED_UNKNOWN,
                     err.text);
    }
    return m->file != NULL;
}

/* The filters block all signals and a guest may have ignored them. */
static void take_signals_back(void)
{
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++) {
        signal(sig, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "", *slash = strrchr(path, '/');
    struct module m = {
        .path = path,
        .name = slash && slash[1] ? slash + 1 : path,
        .why = "",
    };
    int n = (argc - 2) / 2;
    unsigned flags;

    for (int i = 0; i < n; i++) {
        if (!find_use(argv[2 + 2 * i])) {
            argc = 0;
        }
    }
    if (argc < 2 || argc % 2) {
        fprintf(stderr, "Usage: cannoli-locate FILE [code|begin|functions|entries "
                        "PLACE]...\nFor the filters of cannoli-record.\n");
        return TOOL_USAGE;
    }
    take_signals_back();
    flags = parts_of(&m, n, argv + 2);
    if (!flags || open_file(&m, flags)) {
        for (int i = 0; i < n; i++) {
            find_place(&m, i + 1, find_use(argv[2 + 2 * i]), argv[3 + 2 * i]);
        }
    }
    symfile_close(m.file);
    puts("end");
    return fflush(stdout) == 0 ? TOOL_OK : TOOL_FAILED;
}
