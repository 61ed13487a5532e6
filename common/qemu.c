/* SPDX-License-Identifier: MIT */
/* Where programs are, QEMU above all, and its command line. */
#include "qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/options.h"

#define NOT_STARTED 127

bool program_is_executable(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static char *join(const char *dir, size_t dir_len, const char *name)
{
    char *path;

    if (dir_len == 0) {
        dir = ".";
        dir_len = 1;
    }
    return asprintf(&path, "%.*s/%s", (int)dir_len, dir, name) < 0 ? NULL : path;
}

char *program_find(const char *dirs, const char *name)
{
    while (dirs) {
        const char *end = strchrnul(dirs, ':');
        char *path = join(dirs, (size_t)(end - dirs), name);

        if (path && program_is_executable(path)) {
            return path;
        }
        free(path);
        dirs = *end ? end + 1 : NULL;
    }
    return NULL;
}

char *qemu_find(const char *name, const char *qemu_dir, char **looked)
{
    char *libexec = program_beside("libexec/cannoli");
    const char *env = secure_getenv("CANNOLI_QEMU_DIR");
    char *path = NULL;

    *looked = NULL;
    if (qemu_dir) {
        path = program_find(qemu_dir, name);
        if (!path && asprintf(looked, "'%s'", qemu_dir) < 0) {
            *looked = NULL;
        }
        free(libexec);
        return path;
    }
    if (env && *env) {
        path = program_find(env, name);
    }
    if (!path && libexec) {
        path = join(libexec, strlen(libexec), name);
        if (path && !program_is_executable(path)) {
            free(path);
            path = NULL;
        }
    }
    if (!path) {
        path = program_find(secure_getenv("PATH"), name);
    }
    if (!path &&
        asprintf(looked, "%s%s'%s' or PATH", env && *env ? "CANNOLI_QEMU_DIR, " : "", "",
                 libexec ? libexec : "../libexec/cannoli") < 0) {
        *looked = NULL;
    }
    free(libexec);
    return path;
}

/* NAME as seen from the folder of this program, or `up' folders above it. */
static char *from_here(int up, const char *name)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *path;

    for (int cut = 0; cut <= up; cut++) {
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

char *program_beside(const char *name)
{
    return from_here(1, name);
}

char *program_sibling(const char *prog, const char *name)
{
    char *path = from_here(0, name);

    if (path && !program_is_executable(path)) {
        free(path);
        path = NULL;
    }
    path = path ? path : program_find(secure_getenv("PATH"), name);
    if (!path) {
        tool_error(prog, "there is no %s, neither beside this program nor in PATH", name);
    }
    return path;
}

void program_execute(const char *prog, const char *const argv[], char *const envp[])
{
    const int input = open("/dev/null", O_RDONLY);

    if (input >= 0 && dup2(input, STDIN_FILENO) >= 0 &&
        dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
        execve(argv[0], (char *const *)(uintptr_t)argv, envp);
    }
    tool_error(prog, "cannot run %s: %s", argv[0], strerror(errno));
    _exit(NOT_STARTED);
}

bool qemu_option_has_arg(const char *opt)
{
    static const char *const with_arg[] = {
        "g", "L",    "s",     "cpu",    "E",       "U",         "0",
        "r", "B",    "R",     "d",      "dfilter", "D",         "p",
        "t", "seed", "trace", "plugin", "tb-size", "rtsig-map", "cannoli",
    };

    for (size_t i = 0; i < sizeof(with_arg) / sizeof(with_arg[0]); i++) {
        if (!strcmp(opt, with_arg[i])) {
            return true;
        }
    }
    return false;
}

bool qemu_option_alone(const char *opt)
{
    static const char *const alone[] = {
        "one-insn-per-tb", "strace", "perfmap", "jitdump", "xtensa-abi-call0",
    };

    for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
        if (!strcmp(opt, alone[i])) {
            return true;
        }
    }
    return false;
}
