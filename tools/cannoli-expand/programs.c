/* SPDX-License-Identifier: MIT */
/*
 * cannoli-record runs in the guest's environment, so it cannot look for QEMU by that: this
 * program does, in its own.
 */
#include "programs.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/options.h"
#include "common/qemu.h"

char *program_recorder(const char *prog)
{
    static const char name[] = "cannoli-record";
    char *path = program_sibling(name);

    if (!path) {
        tool_error(prog, "there is no %s, neither beside this program nor in PATH", name);
    }
    return path;
}

char *program_qemu(const char *prog, const char *target, const char *qemu_dir)
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
