/* SPDX-License-Identifier: MIT */
/*
 * QEMU gets the options that it had, but those for logs and debuggers; program, arguments and
 * environment as the guest saw them, because the loader copies them to the guest's stack.
 */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/qemu.h"

/* Options of QEMU that the second execution has no use for. */
static const char *const dropped[] = {"g",      "d",      "D",       "dfilter", "trace",
                                      "plugin", "strace", "perfmap", "jitdump", "cannoli",
                                      "0",      "E",      "U",       "seed"};

static bool is_dropped(const char *option)
{
    for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++) {
        if (!strcmp(option, dropped[i])) {
            return true;
        }
    }
    return false;
}

/* Adds the options of the recorded command, if it names a QEMU. */
static int add_options(const char **to, const struct ctr_info *info, int guest_argc)
{
    const int end = info->argc - guest_argc;
    int n = 0;

    if (info->argc < 1 || strncmp(basename(info->argv[0]), "qemu-", 5) != 0) {
        return 0;
    }
    for (int i = 1; i < end;) {
        const char *name = info->argv[i] + (info->argv[i][0] == '-');
        int words;

        name += name[0] == '-';
        words = 1 + qemu_option_has_arg(name);
        if (is_dropped(name)) {
            i += words;
            continue;
        }
        while (words-- && i < end) {
            to[n++] = info->argv[i++];
        }
    }
    return n;
}

/* cannoli-record runs in the guest's environment, so it cannot look for QEMU by that: this program
 * does, in its own. */
static char *find_qemu(const char *prog, const char *target, const char *qemu_dir)
{
    char *name, *path, *looked;

    if (asprintf(&name, "qemu-%s", target) < 0) {
        tool_error(prog, "no memory");
        return NULL;
    }
    path = qemu_find(name, qemu_dir, &looked);
    if (!path) {
        tool_error(prog, "there is no %s in %s: say where it is with --qemu-dir", name,
                   qemu_dir ? qemu_dir : "CANNOLI_QEMU_DIR, ../libexec/cannoli or PATH");
    }
    free(looked);
    free(name);
    return path;
}

int command_make(struct command *c, const struct light *l, const struct start *s,
                 const char *qemu_dir)
{
    int n = 0;

    *c = (struct command){.qemu = NULL};
    c->qemu = find_qemu(l->prog, l->info.target, qemu_dir);
    if (!c->qemu) {
        return TOOL_FAILED;
    }
    c->argv = calloc((size_t)l->info.argc + (size_t)s->argc + 5, sizeof(*c->argv));
    if (!c->argv) {
        return light_refuse(l, "no memory");
    }
    c->envp = s->envp;
    c->argv[n++] = c->qemu;
    n += add_options(c->argv + n, &l->info, s->argc);
    if (strcmp(s->argv[0], s->execfn)) {
        c->argv[n++] = "-0";
        c->argv[n++] = s->argv[0];
    }
    c->argv[n++] = s->execfn;
    for (int i = 1; i < s->argc; i++) {
        c->argv[n++] = s->argv[i];
    }
    return TOOL_OK;
}

void command_free(struct command *c)
{
    free(c->qemu);
    free(c->argv);
}
