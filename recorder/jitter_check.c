/* SPDX-License-Identifier: MIT */
/*
 * A library's constructors may do anything: crash, hang, exit, write where they should
 * not.  So they run in a fresh process, this program executed anew, that has nothing of
 * the recording's.  It forks once more: the outer process waits, sees how the inner one
 * ends, and reports that in one line on its standard output, which is a pipe to us.  The
 * outer process's own end does not matter: the recorder's main loop may collect it like
 * any child's.
 */
#include "jitter_check.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cannoli/jitter.h"
#include "elf_target.h"
#include "selection.h"

/* Arguments of the process, all texts. */
enum {
    ARG_LINE = 1,
    ARG_TARGET,
    ARG_PROGRAM,
    ARG_NUMBERS, /* elf_machine big_endian addr_bytes events */
    ARGS,
};

#define FINE "fine"
#define WAIT_S 10

extern char **environ;

/* --------------------------------------------------------- the inner process */

/* The reason that the library gives: the host's function has no other place for it. */
static char reason[400];

__attribute__((format(printf, 2, 3))) static void report(int fd, const char *format, ...)
{
    char text[512];
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (n >= (int)sizeof(text)) {
        n = (int)sizeof(text) - 1;
        memcpy(text + n - 3, "...", 3); /* says that there is more */
    }
    for (int i = 0; i < n; i++) {
        text[i] = text[i] == '\n' ? ' ' : text[i];
    }
    while (n > 0 && text[n - 1] == ' ') {
        n--;
    }
    if (write(fd, text, (size_t)n) != n) {
        _exit(EXIT_FAILURE); /* nobody reads it */
    }
}

static int no_module(void *context, uint64_t addr, struct cannoli_module *m)
{
    (void)context;
    (void)addr;
    (void)m;
    return 0;
}

static size_t no_read(void *context, uint64_t addr, void *to, size_t n)
{
    (void)context;
    (void)addr;
    (void)to;
    (void)n;
    return 0;
}

static size_t no_disas(void *context, char *text, size_t size)
{
    (void)context;
    (void)text;
    (void)size;
    return 0;
}

static void no_tag(void *context, uint64_t tag)
{
    (void)context;
    (void)tag;
}

static void starts_closed(void)
{
}

/* Whether it can be is known in QEMU only. */
static int per_vcpu(void)
{
    return 1;
}

static void host_error(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    if (vsnprintf(reason, sizeof(reason), format, ap) >= (int)sizeof(reason)) {
        memcpy(reason + sizeof(reason) - 4, "...", 3);
    }
    va_end(ap);
}

static bool call_load(const struct cannoli_jitter *lib, char **argv, const char *args,
                      int fd)
{
    unsigned machine = 0, big_endian = 0, addr_bytes = 0, events = 0;
    struct cannoli_host host = {
        .version = CANNOLI_JITTER_VERSION,
        .bytes = sizeof(host),
        .target = argv[ARG_TARGET],
        .program = argv[ARG_PROGRAM],
        .module = no_module,
        .read = no_read,
        .disas = no_disas,
        .tag_insn = no_tag,
        .tag_block = no_tag,
        .starts_closed = starts_closed,
        .error = host_error,
        .per_vcpu = per_vcpu,
    };
    void *state = NULL;
    int err;

    sscanf(argv[ARG_NUMBERS], "%u %u %u %u", &machine, &big_endian, &addr_bytes, &events);
    host.elf_machine = machine;
    host.big_endian = big_endian != 0;
    host.addr_bytes = (uint8_t)addr_bytes;
    host.events = events;
    err = lib->load(&host, args, &state);
    if (err && *reason) {
        report(fd, "%s", reason);
    } else if (err) {
        report(fd, "it refuses to work (its load returned %d)", err);
    } else if (lib->unload) {
        lib->unload(state);
    }
    return !err;
}

static void try_library(char **argv, const char *path, const char *args, int fd)
{
    const struct cannoli_jitter *lib;
    const size_t n = strlen(path);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        const char *error = dlerror();

        error = error ? error : "it cannot be loaded";
        if (!strncmp(error, path, n) && !strncmp(error + n, ": ", 2)) {
            error += n + 2;
        }
        report(fd, "%s", error);
        return;
    }
    lib = dlsym(handle, CANNOLI_JITTER_SYMBOL);
    if (!lib) {
        report(fd, "it is no jitter library: it has no symbol " CANNOLI_JITTER_SYMBOL);
    } else if (!cannoli_jitter_bytes(lib->version)) {
        report(fd, "it was made for version %u of cannoli/jitter.h, this is version %u",
               lib->version, CANNOLI_JITTER_VERSION);
    } else if (lib->bytes < cannoli_jitter_bytes(lib->version)) {
        report(fd,
               "it was made for another cannoli/jitter.h: its description has %u bytes, "
               "not %zu",
               lib->bytes, cannoli_jitter_bytes(lib->version));
    } else if (!lib->load || !*argv[ARG_TARGET] || call_load(lib, argv, args, fd)) {
        report(fd, FINE);
    }
}

/* --------------------------------------------------------- the outer process */

/* Whether the file is one for this machine; else prints what it is. */
static bool fits_machine(const char *path)
{
    uint8_t own[EI_NIDENT + 4], h[EI_NIDENT + 4];
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool read_both = self >= 0 && fd >= 0 && pread(self, own, sizeof(own), 0) > 0 &&
                     pread(fd, h, sizeof(h), 0) == (ssize_t)sizeof(h);
    const char *target = NULL;

    if (fd < 0) {
        printf("%s", strerror(errno));
        return false;
    }
    if (!read_both || memcmp(h, ELFMAG, SELFMAG)) {
        printf("it is no shared library");
        return false;
    }
    /* class, byte order, and after the identification type and machine */
    if (h[EI_CLASS] == own[EI_CLASS] && h[EI_DATA] == own[EI_DATA] &&
        !memcmp(h + EI_NIDENT + 2, own + EI_NIDENT + 2, 2)) {
        return true;
    }
    if (elf_target(path, &target) == ELF_FILE) {
        printf("it is made for another machine (%s): a jitter library runs in QEMU, on "
               "this one",
               target);
    } else {
        printf("it is made for another machine: a jitter library runs in QEMU, on this "
               "one");
    }
    return false;
}

static void print_ending(int status, bool late)
{
    if (late) {
        printf("it does not come back from being loaded");
    } else if (WIFSIGNALED(status)) {
        printf("it crashes while it is loaded (%s)", strsignal(WTERMSIG(status)));
    } else {
        printf("it ends its process while it is loaded");
    }
}

/* Waits for the inner process, but not for ever; fills in what it reported. */
static void hear(int fd, pid_t pid, char *text, size_t size)
{
    struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    bool late = p.fd >= 0 && poll(&p, 1, WAIT_S * 1000) == 0;
    int status = 0;
    ssize_t n;

    if (late) {
        kill(pid, SIGKILL);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    /* Less than a pipe holds, so all of it is there, whoever may still have the other
     * end. */
    n = read(fd, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    if (n <= 0) {
        print_ending(status, late);
    }
}

int jitter_check_main(int argc, char **argv)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    const struct rlimit no_core = {0, 0};
    const char *args = "";
    char text[512];
    char *path;
    int fds[2];
    pid_t pid;

    if (argc != ARGS || !(path = selection_path(argv[ARG_LINE], &args))) {
        return EXIT_FAILURE;
    }
    setrlimit(RLIMIT_CORE, &no_core);
    if (!fits_machine(path) || pipe2(fds, O_CLOEXEC) < 0) {
        goto out;
    }
    pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);

        close(fds[0]);
        /* A crash must look like one, also under a sanitizer. */
        for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
            signal(crashes[i], SIG_DFL);
        }
        /* What it prints is for the real load. */
        for (int fd = 0; fd < 3 && null >= 0; fd++) {
            dup2(null, fd);
        }
        try_library(argv, path, args, fds[1]);
        _exit(0);
    }
    if (pid > 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0) {
        hear(fds[0], pid, text, sizeof(text));
        printf("%s", text);
    }
out:
    free(path);
    return fflush(stdout);
}

/* ------------------------------------------------------------- the recorder's */

static int start(char **argv, int to)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    pid_t pid;
    int err;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    err = posix_spawn(&pid, "/proc/self/exe", &actions, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return err ? -err : pid;
}

int jitter_check(const char *line, const struct jitter_target *target, char *why,
                 size_t size)
{
    char name[] = JITTER_CHECK_NAME, numbers[64];
    char *argv[ARGS + 1] = {
        name,    (char *)line, (char *)target->target, (char *)target->program,
        numbers, NULL,
    };
    size_t n = 0;
    int fds[2];
    ssize_t got;
    pid_t pid;

    snprintf(numbers, sizeof(numbers), "%u %u %u %u", target->elf_machine,
             target->big_endian, target->addr_bytes, target->events);
    if (pipe2(fds, O_CLOEXEC) < 0) {
        snprintf(why, size, "%s", strerror(errno));
        return -1;
    }
    pid = start(argv, fds[1]);
    close(fds[1]);
    if (pid < 0) {
        snprintf(why, size, "it cannot be tried: %s", strerror(-pid));
        close(fds[0]);
        return -1;
    }
    while (n < size - 1 && (got = read(fds[0], why + n, size - 1 - n)) != 0) {
        if (got < 0 && errno != EINTR) {
            break;
        }
        n += got > 0 ? (size_t)got : 0;
    }
    close(fds[0]);
    why[n] = '\0';
    /* While the main loop runs, that may have collected it already. */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    if (!n) {
        snprintf(why, size, "it cannot be tried");
    }
    return strcmp(why, FINE) ? -1 : 0;
}
