/*
 * Execution tracing into shared memory: programs that start programs
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * On demand (MEMPIPE_FOLLOW_EXEC), or where the machine would run it anyway
 * (binfmt.c), an execve of a program for this target becomes an execve of this
 * QEMU with that program, which attaches to the same memory.  The new QEMU
 * opens it through the recorder's /proc/PID/fd, so that no descriptor is kept
 * open.
 *
 * On demand, QEMU must neither interpret the guest's environment as its own
 * (LD_PRELOAD, QEMU_STRACE) nor lose a string (duplicates, strings without
 * '='): each string is passed with a prefix, which the new QEMU removes.
 *
 * What is not for this target (native programs, others' scripts) is executed as
 * usual, and the kernel reports whatever is wrong with a file.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/path.h"
#include "qemu.h"
#include "user-internals.h"
#include "user/safe-syscall.h"
#include "elf.h"
#include "event.h"
#include "exec.h"
#include "expand.h"
#include <sys/syscall.h>

#define MARK '\001'

/* The bytes of a file that the kernel reads to find out its type. */
#define HEAD_BYTES 256

/* Scripts whose interpreters are scripts: as many as the kernel follows. */
#define MAX_SCRIPTS 5

/* Of the running program; another one for this QEMU has the same. */
unsigned cannoli_elf_machine;
static unsigned char elf_class, elf_data;
static unsigned elf_flags;

/* Flags that determine which of several targets a program is for. */
#define ABI_FLAGS(machine) ((machine) == EM_MIPS ? EF_MIPS_ABI2 : 0)

void cannoli_elf_seen(const unsigned char *ident, unsigned machine,
                      unsigned flags)
{
    elf_class = ident[EI_CLASS];
    elf_data = ident[EI_DATA];
    cannoli_elf_machine = machine;
    elf_flags = flags;
}

/* ---- how this QEMU was started ---- */

static GPtrArray *options; /* argument strings that matter to a program */
static char *self_path;

/* Each option given on the command line or in the environment, as it is. */
void cannoli_option(const char *name, const char *value)
{
    /* Not options for a log or a debugger, or that change the environment. */
    static const char *const kept[] = {
        "L",       "s",    "cpu",
        "r",       "B",    "R",
        "t",       "p",    "one-insn-per-tb",
        "tb-size", "seed", "xtensa-abi-call0",
    };

    if (!strcmp(name, "seed")) {
        cannoli_light_seeded();
    }
    if (!options) {
        options = g_ptr_array_new();
    }
    for (int i = 0; i < ARRAY_SIZE(kept); i++) {
        if (!strcmp(name, kept[i])) {
            /* The folder must stay the same after a chdir of the guest. */
            char *full = i == 0 ? realpath(value, NULL) : NULL;

            g_ptr_array_add(options, g_strdup_printf("-%s", name));
            if (value) {
                g_ptr_array_add(options, full ? full : g_strdup(value));
            }
        }
    }
}

/* Replace QEMU's environment in *list by the guest's, if that is marked. */
void cannoli_environ(char ***list)
{
    GPtrArray *env;

    if (!cannoli_on) {
        return;
    }
    self_path = g_file_read_link("/proc/self/exe", NULL);
    cannoli_binfmt_load();
    if (cannoli_execed != CANNOLI_EXECED) {
        return;
    }
    env = g_ptr_array_new();
    for (char **e = environ; *e; e++) {
        if (**e == MARK) {
            g_ptr_array_add(env, g_strdup(*e + 1));
        }
    }
    g_ptr_array_add(env, NULL);
    for (char **e = *list; *e; e++) {
        g_free(*e);
    }
    g_free(*list);
    *list = (char **)g_ptr_array_free(env, false);
}

/* ---- what is to be executed ---- */

/* A path to a descriptor's file that a new program can use. */
static char *fd_path(int fd)
{
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
    int fd_flags = fcntl(fd, F_GETFD);
    struct stat a, b;
    char *real;

    if (fd_flags < 0) {
        return NULL;
    }
    if (!(fd_flags & FD_CLOEXEC)) {
        return g_strdup_printf("/dev/fd/%d", fd);
    }
    real = g_file_read_link(link, NULL);
    if (real && fstat(fd, &a) == 0 && stat(real, &b) == 0 &&
        a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
        return real;
    }
    g_free(real);
    return NULL;
}

/* The path that execveat refers to, NULL if it is not known. */
static char *exec_target(int dirfd, const char *exe, int flags)
{
    g_autofree char *dir = NULL;
    struct stat st;

    if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)) {
        return NULL;
    }
    if ((flags & AT_SYMLINK_NOFOLLOW) &&
        (fstatat(dirfd, exe, &st, flags) < 0 || S_ISLNK(st.st_mode))) {
        return NULL;
    }
    if (dirfd == AT_FDCWD || exe[0] == '/') {
        return exe[0] ? g_strdup(exe) : NULL;
    }
    if (!exe[0]) {
        return flags & AT_EMPTY_PATH ? fd_path(dirfd) : NULL;
    }
    dir = fd_path(dirfd);
    return dir ? g_strdup_printf("%s/%s", dir, exe) : NULL;
}

/*
 * Open the file if the kernel would execute it, as far as its name, rights and
 * place go; -1 otherwise.
 */
static int open_executable(const char *file)
{
    struct stat st;

    /*
     * Arguments that cannot be read: a kernel that opens the file first reports
     * what is wrong with the file, others do not.
     */
    if (syscall(__NR_execve, file, (void *)-1l, NULL) != -1 ||
        errno != EFAULT) {
        return -1;
    }
    if (stat(file, &st) < 0 || !S_ISREG(st.st_mode) ||
        faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) < 0) {
        return -1;
    }
    return open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* What to do about an execve. */
typedef enum Verdict {
    NOT_OURS,          /* as usual */
    OURS,              /* start QEMU */
    OURS_BINFMT,       /* ... as the kernel would */
    OURS_BINFMT_ARGV0, /* ... keeping argv[0] */
    INTERP_MISSING,    /* fail */
} Verdict;

static uint64_t number(const uint8_t *p, unsigned bytes)
{
    bool be = elf_data == ELFDATA2MSB;

    switch (bytes) {
    case 2:
        return be ? lduw_be_p(p) : lduw_le_p(p);
    case 4:
        return (uint32_t)(be ? ldl_be_p(p) : ldl_le_p(p));
    default:
        return be ? ldq_be_p(p) : ldq_le_p(p);
    }
}

/* Whether the file is a program like the one that runs. */
static Verdict judge_elf(int fd, const uint8_t *head, size_t n)
{
    bool is64 = elf_class == ELFCLASS64;
    unsigned word = is64 ? 8 : 4, phnum, phsize = is64 ? 56 : 32;
    unsigned machine, type;
    uint64_t phoff;

    if (n < (is64 ? 64 : 52) || memcmp(head, ELFMAG, SELFMAG) ||
        head[EI_CLASS] != elf_class || head[EI_DATA] != elf_data) {
        return NOT_OURS;
    }
    type = number(head + 16, 2);
    machine = number(head + 18, 2);
    phoff = number(head + (is64 ? 32 : 28), word);
    phnum = number(head + (is64 ? 56 : 44), 2);
    if (machine != cannoli_elf_machine || (type != ET_EXEC && type != ET_DYN) ||
        number(head + (is64 ? 54 : 42), 2) != phsize ||
        ((number(head + (is64 ? 48 : 36), 4) ^ elf_flags) &
         ABI_FLAGS(machine))) {
        return NOT_OURS;
    }
    for (unsigned i = 0; i < phnum; i++) {
        uint8_t ph[56];
        char interp[PATH_MAX];
        uint64_t off, size;

        if (pread(fd, ph, phsize, phoff + i * phsize) != phsize) {
            return NOT_OURS;
        }
        if (number(ph, 4) != PT_INTERP) {
            continue;
        }
        off = number(ph + (is64 ? 8 : 4), word);
        size = number(ph + (is64 ? 32 : 16), word);
        if (size < 2 || size > sizeof(interp) ||
            pread(fd, interp, size, off) != size || interp[size - 1]) {
            return NOT_OURS;
        }
        return access(path(interp), R_OK) ? INTERP_MISSING : OURS;
    }
    return phnum ? OURS : NOT_OURS;
}

static Verdict judge_program(int fd, const uint8_t *head, size_t n)
{
    Verdict v = judge_elf(fd, head, n);
    CannoliBinfmt how = cannoli_binfmt_match(head, n);
    struct stat st;

    if (v == NOT_OURS || (cannoli_ctl->follow & MEMPIPE_FOLLOW_EXEC)) {
        return v;
    }
    if (!how || ((how & CANNOLI_BINFMT_IDS) &&
                 (fstat(fd, &st) < 0 || (st.st_mode & (S_ISUID | S_ISGID))))) {
        return NOT_OURS;
    }
    return how & CANNOLI_BINFMT_ARGV0 ? OURS_BINFMT_ARGV0 : OURS_BINFMT;
}

/*
 * The interpreter that a script names, and its argument (or NULL), cut out of
 * the head as Linux's load_script does; false if it names none.
 */
static bool judge_script(char head[HEAD_BYTES + 1], size_t n, char **interp,
                         char **arg)
{
    char *end, *p;

    if (n < 2 || head[0] != '#' || head[1] != '!') {
        return false;
    }
    head[n] = 0;
    end = memchr(head, '\n', n);
    if (!end) {
        end = head + strlen(head);
        p = head + 2 + strspn(head + 2, " \t");
        /* A name that may extend beyond the head is refused. */
        if (n == HEAD_BYTES && !p[strcspn(p, " \t")]) {
            return false;
        }
    }
    while (end > head + 2 && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    *end = 0;
    p = head + 2 + strspn(head + 2, " \t");
    if (!*p) {
        return false;
    }
    *interp = p;
    p += strcspn(p, " \t");
    *arg = NULL;
    if (*p) {
        *p++ = 0;
        p += strspn(p, " \t");
        *arg = *p ? p : NULL;
    }
    return true;
}

/*
 * Find the program that runs `file'; sets `file' to it, and `args' to its
 * arguments.
 */
static Verdict judge(char **file, GPtrArray *args)
{
    for (int depth = 0; depth <= MAX_SCRIPTS; depth++) {
        char head[HEAD_BYTES + 1], *interp, *arg;
        int fd = open_executable(*file);
        Verdict v;
        ssize_t n;

        if (fd < 0) {
            return NOT_OURS;
        }
        n = read(fd, head, HEAD_BYTES);
        v = n > 0 ? judge_program(fd, (uint8_t *)head, n) : NOT_OURS;
        close(fd);
        if (v != NOT_OURS || n <= 0 || !judge_script(head, n, &interp, &arg)) {
            return v;
        }
        if (args->len) {
            g_ptr_array_remove_index(args, 0);
        }
        g_ptr_array_insert(args, 0, *file);
        if (arg) {
            g_ptr_array_insert(args, 0, g_strdup(arg));
        }
        g_ptr_array_insert(args, 0, g_strdup(interp));
        *file = g_strdup(interp);
    }
    return NOT_OURS;
}

/* ---- doing it ---- */

/*
 * Whether the shared memory can be opened by a path, which is written to name.
 */
static bool pipe_path(char *name, size_t size)
{
    g_autofree char *shared = g_strdup_printf(
        "/proc/%d/fd/%d", cannoli_ctl->recorder_pid, cannoli_ctl->shared_fd);
    struct stat st;

    snprintf(name, size, "/proc/%d/fd/%d", cannoli_ctl->recorder_pid,
             cannoli_ctl->ctl_fd);
    return stat(shared, &st) == 0 && st.st_dev == cannoli_pipe_dev &&
           st.st_ino == cannoli_pipe_ino &&
           faccessat(AT_FDCWD, name, R_OK | W_OK, AT_EACCESS) == 0;
}

/* The environment for a QEMU: its own, but for options, and the guest's. */
static GPtrArray *marked_environment(char **envp)
{
    GPtrArray *env = g_ptr_array_new_with_free_func(g_free);

    for (char **e = environ; *e; e++) {
        if (**e != MARK && strncmp(*e, "QEMU_", 5)) {
            g_ptr_array_add(env, g_strdup(*e));
        }
    }
    for (char **e = envp; *e; e++) {
        g_ptr_array_add(env, g_strdup_printf("%c%s", MARK, *e));
    }
    g_ptr_array_add(env, NULL);
    return env;
}

/* Returns only on failure, with errno set. */
static void exec_qemu(const char *file, GPtrArray *args, char **envp,
                      const char *pipe_name, const char *kind, Verdict how)
{
    GPtrArray *argv = g_ptr_array_new();
    GPtrArray *env = how == OURS ? marked_environment(envp) : NULL;
    g_autofree char *pipe_arg =
        g_strdup_printf("pipe=%s,%s", pipe_name, env ? kind : "binfmt");
    int saved_errno;

    g_ptr_array_add(argv, program_invocation_name);
    for (guint i = 0; env && options && i < options->len; i++) {
        g_ptr_array_add(argv, options->pdata[i]);
    }
    g_ptr_array_add(argv, (char *)"-cannoli");
    g_ptr_array_add(argv, pipe_arg);
    if (how != OURS_BINFMT) {
        g_ptr_array_add(argv, (char *)"-0");
        g_ptr_array_add(argv, args->len ? args->pdata[0] : (char *)"");
    }
    g_ptr_array_add(argv, (char *)"--");
    g_ptr_array_add(argv, (char *)file);
    for (guint i = 1; i < args->len; i++) {
        g_ptr_array_add(argv, args->pdata[i]);
    }
    g_ptr_array_add(argv, NULL);

    safe_syscall(__NR_execve, self_path, argv->pdata,
                 env ? (char **)env->pdata : envp);
    saved_errno = errno;
    if (env) {
        g_ptr_array_free(env, true);
    }
    g_ptr_array_free(argv, true);
    errno = saved_errno;
}

void cannoli_exec_again(uint32_t thread, const char *strings, uint32_t bytes,
                        uint32_t argc)
{
    const char *end = strings + bytes, *file = strings;
    GPtrArray *args = g_ptr_array_new(), *env = g_ptr_array_new();
    char pipe_name[64];

    for (const char *p = file + strlen(file) + 1; p < end; p += strlen(p) + 1) {
        if (args->len < argc) {
            g_ptr_array_add(args, (char *)p);
        } else if (*p) {
            g_ptr_array_add(env, (char *)p);
        }
    }
    g_ptr_array_add(env, NULL);
    if (self_path && pipe_path(pipe_name, sizeof(pipe_name))) {
        g_autofree char *how = g_strdup_printf("exec=%" PRIu32, thread);

        exec_qemu(file, args, (char **)env->pdata, pipe_name, how, OURS);
    }
    error_report("cannoli: cannot start QEMU again: %s", strerror(errno));
}

/*
 * Instead of execve or execveat.  False: it is not for us, go on as usual.
 * True: it has failed, *ret is -1 and errno says why.
 */
bool cannoli_execve(int *ret, int dirfd, const char *exe, char **argv,
                    char **envp, int flags)
{
    GPtrArray *args;
    char pipe_name[64], *file;
    bool done = false;
    Verdict v;

    if (!cannoli_on || !self_path ||
        (!(cannoli_ctl->follow & MEMPIPE_FOLLOW_EXEC) &&
         !cannoli_binfmt_any()) ||
        !pipe_path(pipe_name, sizeof(pipe_name))) {
        return false;
    }
    file = exec_target(dirfd, exe, flags);
    if (!file) {
        return false;
    }
    args = g_ptr_array_new_with_free_func(g_free);
    for (char **a = argv; *a; a++) {
        g_ptr_array_add(args, g_strdup(*a));
    }
    v = judge(&file, args);
    if (v == INTERP_MISSING) {
        errno = ENOENT;
        done = true;
    } else if (v != NOT_OURS) {
        exec_qemu(file, args, envp, pipe_name, "exec", v);
        /* If QEMU itself is missing, go on as usual. */
        done = errno != ENOENT && errno != EACCES && errno != ENOTDIR;
    }
    if (done) {
        int saved_errno = errno;

        *ret = -1;
        g_free(file);
        g_ptr_array_free(args, true);
        errno = saved_errno;
        return true;
    }
    g_free(file);
    g_ptr_array_free(args, true);
    return false;
}
