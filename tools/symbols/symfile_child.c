/* SPDX-License-Identifier: MIT */
/*
 * The child process that reads ELF and DWARF.  Its resources are bounded: processor time
 * and time, memory beyond what its parent had at the fork, no core file.  It writes a
 * memory file that no other process can access, and ends before the parent reads that.
 * elfutils exits the process when memory runs out: the parent's exit handlers must not
 * run then, nor its output be written twice.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "symfile_reader_priv.h"

#define DEFAULT_SECONDS 60
#define TABLE_BYTES (UINT64_C(2) << 30)  /* limit of the child's table */
#define MEMORY_BYTES (UINT64_C(3) << 30) /* plus a multiple of the file's size */

/* ----------------------------------------------------------------- the child */

static void leave_at_once(void)
{
    _exit(1);
}

/* Address space in use; address sanitizers reserve theirs before main. */
static uint64_t memory_now(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f) {
        if (fscanf(f, "%lu", &pages) != 1) {
            pages = 0;
        }
        fclose(f);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Lowers a limit; the user's own stays if it is lower. */
static void limit(int what, uint64_t value)
{
    struct rlimit l;
    if (getrlimit(what, &l) == 0 && (l.rlim_cur == RLIM_INFINITY || l.rlim_cur > value)) {
        l.rlim_cur = value;
        setrlimit(what, &l);
    }
}

/* Returns the limit of address space, 0 if there is none. */
static uint64_t confine(const struct symfile *f, unsigned seconds)
{
    static const int fatal[] = {SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGABRT, SIGINT,
                                SIGTERM, SIGXCPU, SIGALRM, SIGPIPE, SIGXFSZ, SIGHUP};
    sigset_t none;
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
        signal(fatal[i], SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    atexit(leave_at_once);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, seconds);
    limit(RLIMIT_FSIZE, TABLE_BYTES); /* applies to memory files, too */
    alarm(4 * seconds);
    uint64_t memory = memory_now();
    if (memory) {
        memory += MEMORY_BYTES + 16 * (uint64_t)f->map_bytes;
        limit(RLIMIT_AS, memory);
    }
    /* Discard output of libraries; fetch nothing from servers. */
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    unsetenv("DEBUGINFOD_URLS");
    return memory;
}

/* What is read besides functions and lines: of symbols always, of DWARF at full depth. */
static unsigned wanted(const struct reader *r)
{
    unsigned flags = r->opt->flags, symbols = SYMFILE_NAMES | SYMFILE_DATA;
    flags |= flags & SYMFILE_LOCALS ? SYMFILE_TYPES : 0;
    return r->depth == DEPTH_FULL ? flags : flags & symbols;
}

static void read_parts(struct reader *r)
{
    struct symvec candidates = {0};
    r->want = wanted(r);
    read_code(r);
    read_symbols(r, &candidates);
    read_plt(r, &candidates);
    if (r->depth >= DEPTH_LINES) {
        read_dwarf(r, &candidates);
    }
    functions_make(r, &candidates);
    if (r->want & SYMFILE_DATA) {
        objects_finish(r);
    }
    vars_finish(r);
    types_finish(r);
    if (r->want & SYMFILE_FRAMES) {
        read_frames(r);
    }
}

static void read_file(struct reader *r)
{
    static char *no_path[1];
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = no_path,
    };
    GElf_Addr bias, base = r->file->type == ET_REL ? SYMFILE_OBJECT_BASE : 0;
    string_add(r, "");
    r->dwfl = dwfl_begin(&callbacks);
    if (!r->dwfl) {
        reader_fail(r, SYMFILE_BAD, "it cannot be read (%s)", dwfl_errmsg(-1));
    }
    dwfl_report_begin(r->dwfl);
    r->mod = dwfl_report_elf(r->dwfl, r->file->path, r->file->path, r->fd, base, true);
    void **userdata;
    if (r->mod &&
        dwfl_module_info(r->mod, &userdata, NULL, NULL, NULL, NULL, NULL, NULL)) {
        *userdata = r;
    }
    dwfl_report_end(r->dwfl, NULL, NULL);
    r->elf = r->mod ? dwfl_module_getelf(r->mod, &bias) : NULL;
    if (!r->elf) {
        reader_fail(r, SYMFILE_BAD, "it cannot be read (%s)", dwfl_errmsg(-1));
    }
    read_parts(r);
    table_write(r);
    _exit(0);
}

/* ---------------------------------------------------------------- the parent */

/* Describes why a child did not finish. */
static void describe_death(struct symfile_error *err, const char *path, int status,
                           unsigned seconds)
{
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    err->status = SYMFILE_BAD;
    if (sig == SIGXCPU || sig == SIGALRM || sig == SIGKILL) {
        snprintf(err->text, sizeof(err->text),
                 "%s: reading its symbols took more than %u seconds", path, seconds);
    } else if (sig && sig != SIGXFSZ) {
        snprintf(err->text, sizeof(err->text),
                 "%s: it is damaged: reading its symbols failed (%s)", path,
                 strsignal(sig));
    } else {
        snprintf(err->text, sizeof(err->text),
                 "%s: it is damaged, or its symbols need too much memory", path);
    }
}

/* Seals the file first, so that its size and bytes cannot change any more. */
static bool map_table(struct symfile *f, int fd)
{
    struct stat st;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0 ||
        fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof(struct table_header)) {
        return false;
    }
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
        return false;
    }
    f->table = p;
    f->table_bytes = (size_t)st.st_size;
    if (f->table->magic != TABLE_MAGIC || f->table->finished != 1 ||
        !memchr(f->table->text, 0, sizeof(f->table->text))) {
        return false;
    }
    for (char *c = f->table->text; *c; c++) { /* it may contain names from the file */
        *c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
    }
    return true;
}

int symfile_run_child(struct symfile *f, int fd, const struct symfile_options *opt,
                      enum table_depth depth, struct symfile_error *err)
{
    unsigned seconds = opt->seconds ? opt->seconds : DEFAULT_SECONDS;
    int out = memfd_create("symfile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    pid_t pid = out >= 0 ? fork() : -1;
    if (pid < 0) {
        err->status = errno == ENOMEM ? SYMFILE_NOMEM : SYMFILE_IO;
        snprintf(err->text, sizeof(err->text), "%s: no process to read it: %s", f->label,
                 strerror(errno));
        if (out >= 0) {
            close(out);
        }
        return -1;
    }
    if (pid == 0) {
        static struct reader r;
        uint64_t memory = confine(f, seconds);
        r = (struct reader){.file = f,
                            .opt = opt,
                            .depth = depth,
                            .fd = fd,
                            .out_fd = out,
                            .memory_limit = memory};
        read_file(&r);
        _exit(0);
    }
    int status;
    pid_t got;
    do {
        got = waitpid(pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    /* If SIGCHLD is ignored there is no status: a finished table is enough. */
    bool ok = got != pid || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (!ok || !map_table(f, out)) {
        describe_death(err, f->label, got == pid ? status : 0, seconds);
        ok = false;
    } else if (f->table->status != SYMFILE_OK) {
        err->status = SYMFILE_BAD;
        snprintf(err->text, sizeof(err->text), "%s: %.200s", f->label, f->table->text);
        ok = false;
    }
    close(out);
    return ok ? 0 : -1;
}
