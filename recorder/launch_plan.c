/* SPDX-License-Identifier: MIT */
/*
 * What to execute for the user's command: the QEMU that was named, or the one that runs the
 * program or the interpreter of a script.
 */
#include "launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cannoli/mempipe.h"
#include "common/options.h"
#include "common/qemu.h"
#include "elf_target.h"
#include "launch_machine.h"
#include "script.h"
#include "selection.h"

#define PROG "cannoli-record"

/* Whether a patched QEMU is at `path'; a wrapper script is accepted. */
static int check_qemu(const char *path)
{
    unsigned version = 0;

    switch (elf_cannoli_version(path, &version)) {
    case ELF_NOTE_FOUND:
        if (version == MEMPIPE_VERSION) {
            return 0;
        }
        tool_error(PROG,
                   "'%s' was built for version %u of the recording interface, this "
                   "program has %u: build both from the same sources",
                   path, version, MEMPIPE_VERSION);
        return LAUNCH_NOT_EXECUTABLE;
    case ELF_NOTE_ABSENT:
        tool_error(PROG,
                   "'%s' is a QEMU without the cannoli patch: build a patched one with "
                   "scripts/setup.sh, or say where it is with --qemu-dir",
                   path);
        return LAUNCH_NOT_EXECUTABLE;
    case ELF_NOTE_ERROR:
        tool_error(PROG, "cannot read '%s': %s", path, strerror(errno));
        return LAUNCH_NOT_EXECUTABLE;
    case ELF_NOTE_NOT_ELF:
        break;
    }
    return 0;
}

#define QEMU "qemu-"
#define QEMU_SYSTEM "qemu-system-"

static bool is_system_name(const char *base)
{
    return !strncmp(base, QEMU_SYSTEM, strlen(QEMU_SYSTEM)) &&
           elf_is_target(base + strlen(QEMU_SYSTEM));
}

static bool is_qemu_name(const char *base)
{
    return is_system_name(base) ||
           (!strncmp(base, QEMU, strlen(QEMU)) && elf_is_target(base + strlen(QEMU)));
}

/*
 * QEMU reports a missing program in its own way, on stdout and with status 1.  Where its
 * options leave no doubt which argument the program is, it is checked here, and a mistake
 * ends as in a shell.
 */
static int check_guest(char **argv, const char **program)
{
    struct stat st;
    int i = 1, err;

    while (argv[i] && argv[i][0] == '-') {
        const char *opt = argv[i] + 1 + (argv[i][1] == '-');
        if (qemu_option_has_arg(opt)) {
            if (!argv[i + 1]) {
                return 0;
            }
            i += 2;
        } else if (qemu_option_alone(opt)) {
            i++;
        } else {
            return 0;
        }
    }
    if (!argv[i]) {
        return 0;
    }
    *program = argv[i];
    if (stat(argv[i], &st) < 0 || access(argv[i], R_OK) < 0) {
        err = errno;
    } else if (S_ISDIR(st.st_mode)) {
        err = EISDIR;
    } else {
        return 0;
    }
    tool_error(PROG, "cannot run '%s': %s", argv[i], strerror(err));
    return err == ENOENT || err == ENOTDIR ? LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTABLE;
}

/* Puts `n' strings in the place of the first argument. */
static int replace_first(struct launch_plan *plan, const char *const *head, int n)
{
    char **argv = calloc((size_t)(plan->argc + n), sizeof(char *));
    bool complete = argv != NULL;

    for (int i = 0; complete && i < n; i++) {
        argv[i] = strdup(head[i]);
        complete = argv[i] != NULL;
    }
    if (!complete) {
        for (int i = 0; argv && i < n; i++) {
            free(argv[i]);
        }
        free(argv);
        tool_error(PROG, "out of memory");
        return LAUNCH_FAILED;
    }
    memcpy(argv + n, plan->argv + 1, (size_t)(plan->argc - 1) * sizeof(char *));
    free(plan->argv[0]);
    free(plan->argv);
    plan->argv = argv;
    plan->argc += n - 1;
    return 0;
}

/* The user's command as the plan's arguments. */
static int plan_argv(struct launch_plan *plan, char **command)
{
    int n = 0;

    while (command[n]) {
        n++;
    }
    plan->argv = calloc((size_t)n + 1, sizeof(char *));
    for (int i = 0; plan->argv && i < n; i++) {
        plan->argv[i] = strdup(command[i]);
        if (!plan->argv[i]) {
            break;
        }
        plan->argc++;
    }
    if (plan->argc < n) {
        tool_error(PROG, "out of memory");
        return LAUNCH_FAILED;
    }
    return 0;
}

static int plan_qemu(struct launch_plan *plan, char **command, const char *qemu_dir)
{
    int err;

    if (strchr(command[0], '/')) {
        plan->qemu = strdup(command[0]);
        if (access(command[0], F_OK) < 0) {
            tool_error(PROG, "cannot run '%s': %s", command[0], strerror(errno));
            return LAUNCH_NOT_FOUND;
        }
        if (!program_is_executable(command[0])) {
            tool_error(PROG, "cannot run '%s': %s", command[0], strerror(EACCES));
            return LAUNCH_NOT_EXECUTABLE;
        }
    } else {
        char *looked;
        plan->qemu = qemu_find(command[0], qemu_dir, &looked);
        if (!plan->qemu) {
            tool_error(PROG,
                       "there is no %s in %s: build it with scripts/setup.sh, or say "
                       "where it is with --qemu-dir",
                       command[0], looked ? looked : "the usual folders");
            free(looked);
            return LAUNCH_NOT_FOUND;
        }
    }
    err = check_qemu(plan->qemu);
    return err || plan->system || plan->has_program
               ? err
               : check_guest(plan->argv, &plan->program);
}

/* Where the program `name' is, as the shell looks for it; NULL after one line on stderr. */
static char *find_program(const char *name, int *status)
{
    char *path =
        strchr(name, '/') ? strdup(name) : program_find(secure_getenv("PATH"), name);
    struct stat st;

    *status = LAUNCH_NOT_FOUND;
    if (!path || access(path, F_OK) < 0) {
        tool_error(PROG, "cannot run '%s': %s", name,
                   path ? strerror(errno) : "there is no such program in PATH");
        free(path);
        return NULL;
    }
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        tool_error(PROG, "cannot run '%s': %s", path, strerror(EISDIR));
        *status = LAUNCH_NOT_EXECUTABLE;
        free(path);
        return NULL;
    }
    return path;
}

/* The target whose QEMU runs the program at `path'; *script: it is no ELF file. */
static int find_target(const char *path, const char **target, bool *script)
{
    *script = false;
    switch (elf_target(path, target)) {
    case ELF_UNREADABLE:
        tool_error(PROG, "cannot read '%s': %s", path, strerror(errno));
        return LAUNCH_NOT_EXECUTABLE;
    case ELF_UNKNOWN:
        tool_error(PROG,
                   "'%s' is a program for a machine that QEMU's user mode does not "
                   "know",
                   path);
        return LAUNCH_NOT_EXECUTABLE;
    case ELF_NOT_ELF:
        *script = true;
        break;
    case ELF_FILE:
        break;
    }
    return 0;
}

/*
 * A script is run by its interpreter, which gets the line's argument and the script's
 * path: as execve does it.  *path becomes that of the interpreter.
 */
static int plan_script(struct launch_plan *plan, char **path)
{
    struct script script;
    const int known = script_read(*path, &script);
    const char *head[3];
    int n = 0, err;

    if (known < 0) {
        tool_error(PROG, "cannot read '%s': %s", *path, strerror(errno));
        return LAUNCH_NOT_EXECUTABLE;
    }
    if (!known) {
        tool_error(PROG, "'%s' is no ELF program and no script with #!", *path);
        return LAUNCH_NOT_EXECUTABLE;
    }
    if (access(*path, X_OK) < 0) {
        tool_error(PROG, "cannot run '%s': %s", *path, strerror(errno));
        return LAUNCH_NOT_EXECUTABLE;
    }
    if (access(script.interpreter, F_OK) < 0) {
        err = errno;
        tool_error(PROG, "cannot run '%s', the interpreter of '%s': %s",
                   script.interpreter, *path, strerror(err));
        return LAUNCH_NOT_FOUND;
    }
    head[n++] = script.interpreter;
    if (script.argument) {
        head[n++] = script.argument;
    }
    head[n++] = *path;
    err = replace_first(plan, head, n);
    if (!err) {
        free(*path);
        *path = strdup(script.interpreter);
    }
    return err || *path ? err : LAUNCH_FAILED;
}

/* QEMU's name and the program's path before the program's arguments. */
static int plan_program(struct launch_plan *plan, const char *path, const char *target,
                        const char *qemu_dir)
{
    char *name = NULL, *looked;
    int status;

    if (asprintf(&name, "qemu-%s", target) < 0) {
        return LAUNCH_FAILED;
    }
    plan->qemu = qemu_find(name, qemu_dir, &looked);
    if (!plan->qemu) {
        tool_error(PROG,
                   "'%s' needs %s, and there is none in %s: build it with "
                   "scripts/setup.sh, or say where it is with --qemu-dir",
                   plan->argv[0], name, looked ? looked : "the usual folders");
        free(looked);
        free(name);
        return LAUNCH_NOT_FOUND;
    }
    status = check_qemu(plan->qemu);
    if (!status && strcmp(path, plan->argv[0]) != 0) {
        /* Found in PATH: the program sees the name that was typed. */
        const char *const head[] = {name, "-0", plan->argv[0], path};
        status = replace_first(plan, head, 4);
        plan->program = status ? "" : plan->argv[3];
    } else if (!status) {
        const char *const head[] = {name, path};
        status = replace_first(plan, head, 2);
        plan->program = status ? "" : plan->argv[1];
    }
    plan->target = target;
    free(name);
    return status;
}

/* A guest program: QEMU is chosen by its ELF header, or by that of its interpreter. */
static int plan_guest(struct launch_plan *plan, const char *qemu_dir)
{
    const char *target = NULL;
    bool script = true;
    int status, depth = 0;
    char *path = find_program(plan->argv[0], &status);

    if (!path) {
        return status;
    }
    status = find_target(path, &target, &script);
    while (!status && script) {
        if (depth++ == SCRIPT_DEPTH_MAX) {
            tool_error(PROG, "cannot run '%s': %s", path, strerror(ELOOP));
            status = LAUNCH_NOT_EXECUTABLE;
            break;
        }
        status = plan_script(plan, &path);
        if (!status) {
            status = find_target(path, &target, &script);
        }
    }
    if (!status) {
        status = plan_program(plan, path, target, qemu_dir);
    }
    free(path);
    return status;
}

int launch_plan_make(struct launch_plan *plan, char **command, const char *qemu_dir,
                     bool has_program)
{
    const char *slash = strrchr(command[0], '/');
    const char *base = slash ? slash + 1 : command[0];
    unsigned version;
    int status;

    *plan = (struct launch_plan){.target = "", .program = "", .has_program = has_program};
    status = plan_argv(plan, command);
    if (status) {
        return status;
    }
    plan->system = is_system_name(base);
    plan->parallel = plan->system && launch_machine_parallel(command);
    if (plan->system && launch_machine_kvm(command)) {
        tool_error(
            PROG, "machines that run under TCG (-accel tcg) are recorded, not under KVM");
        return LAUNCH_FAILED;
    }
    if (is_qemu_name(base)) {
        plan->target = base + strlen(plan->system ? QEMU_SYSTEM : QEMU);
    }
    /* By its name, or, with a slash, by the note that a patched QEMU carries. */
    if (is_qemu_name(base) ||
        (slash && elf_cannoli_version(command[0], &version) == ELF_NOTE_FOUND)) {
        return plan_qemu(plan, command, qemu_dir);
    }
    return plan_guest(plan, qemu_dir);
}

void launch_plan_free(struct launch_plan *plan)
{
    free(plan->qemu);
    for (int i = 0; i < plan->argc; i++) {
        free(plan->argv[i]);
    }
    free(plan->argv);
    memset(plan, 0, sizeof(*plan));
}
