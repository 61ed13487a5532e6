/* SPDX-License-Identifier: MIT */
/*
 * cannoli-record runs in the guest's environment, so it cannot look for QEMU by that: this
 * program does, in its own.
 */
#include "programs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/options.h"

static bool is_executable(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* DIR/NAME in one of the folders of a list with colons. */
static char *find_in(const char *dirs, const char *name)
{
    while (dirs) {
        const char *end = strchrnul(dirs, ':');
        char *path;

        if (asprintf(&path, "%.*s/%s", end == dirs ? 1 : (int)(end - dirs),
                     end == dirs ? "." : dirs, name) < 0) {
            return NULL;
        }
        if (is_executable(path)) {
            return path;
        }
        free(path);
        dirs = *end ? end + 1 : NULL;
    }
    return NULL;
}

/* The folder of this program, with `name' after it; to has PATH_MAX bytes. */
static const char *beside(char *to, const char *name)
{
    const ssize_t n = readlink("/proc/self/exe", to, PATH_MAX - 1);
    char *slash;

    to[n > 0 ? n : 0] = 0;
    slash = strrchr(to, '/');
    if (!slash || (size_t)(slash - to) + strlen(name) >= PATH_MAX) {
        return NULL;
    }
    strcpy(slash, name);
    return to;
}

char *program_recorder(const char *prog)
{
    static const char name[] = "cannoli-record";
    char folder[PATH_MAX];
    char *path = find_in(beside(folder, ""), name);

    path = path ? path : find_in(getenv("PATH"), name);
    if (!path) {
        tool_error(prog, "there is no %s, neither beside this program nor in PATH", name);
    }
    return path;
}

char *program_qemu(const char *prog, const char *target, const char *qemu_dir)
{
    const char *env = getenv("CANNOLI_QEMU_DIR");
    char folder[PATH_MAX], *name, *path;

    if (asprintf(&name, "qemu-%s", target) < 0) {
        tool_error(prog, "no memory");
        return NULL;
    }
    if (qemu_dir) {
        path = find_in(qemu_dir, name);
    } else {
        path = env && *env ? find_in(env, name) : NULL;
        path = path ? path : find_in(beside(folder, "/../libexec/cannoli"), name);
        path = path ? path : find_in(getenv("PATH"), name);
    }
    if (!path) {
        tool_error(prog, "there is no %s in %s: say where it is with --qemu-dir", name,
                   qemu_dir ? qemu_dir : "CANNOLI_QEMU_DIR, ../libexec/cannoli or PATH");
    }
    free(name);
    return path;
}
