/* SPDX-License-Identifier: MIT */
/*
 * Debug information from servers, by build id, through elfutils' libdebuginfod, which is
 * loaded when it is needed, as libdwfl does.  It has its own cache.
 *
 * A child process downloads, bounded in time and size: a library with threads and a server
 * can harm only that.  Then the ELF file is read again with the file that came; if that
 * does not fit, what was read before stays.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/progress.h"
#include "symfile_table_priv.h"

#define LIBRARY "libdebuginfod.so.1"
#define FETCH_SECONDS 900
#define FETCH_BYTES (UINT64_C(8) << 30)

/* What the child reports. */
struct fetched {
    int error;       /* 0, an errno, or NO_LIBRARY */
    char text[4096]; /* the path, or what dlopen reports */
};
#define NO_LIBRARY (-1)

/* ----------------------------------------------------------------- the child */

/* The part of the library that is used; a client is opaque. */
struct library {
    void *(*begin)(void);
    int (*find_debuginfo)(void *client, const unsigned char *id, int id_bytes,
                          char **path);
    void (*set_progressfn)(void *client, int (*fn)(void *client, long done, long total));
    void (*set_user_data)(void *client, void *data);
};

struct download {
    struct progress progress;
    const char *prog, *name;
};

/* dlsym returns an object pointer, which C cannot convert. */
static bool find_symbol(void *handle, const char *name, void *function)
{
    void *p = dlsym(handle, name);
    memcpy(function, &p, sizeof(p));
    return p != NULL;
}

static bool load_library(struct library *l)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return handle && find_symbol(handle, "debuginfod_begin", &l->begin) &&
           find_symbol(handle, "debuginfod_find_debuginfo", &l->find_debuginfo) &&
           find_symbol(handle, "debuginfod_set_progressfn", &l->set_progressfn) &&
           find_symbol(handle, "debuginfod_set_user_data", &l->set_user_data);
}

/* The library calls this all the time; total 0: not known. */
static int on_progress(void *client, long done, long total)
{
    static const double mib = 1048576.0;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    void *(*get_user_data)(void *) = NULL;
    if (!library || !find_symbol(library, "debuginfod_get_user_data", &get_user_data)) {
        return 0;
    }
    struct download *d = get_user_data(client);
    if (d->progress.on) {
        fprintf(stderr, "\r%s: downloading debug information of %s: %.1f", d->prog,
                d->name, (double)done / mib);
        if (total > 0 && done <= total) {
            fprintf(stderr, " of %.1f", (double)total / mib);
        }
        fprintf(stderr, " MiB\033[K");
        fflush(stderr);
        d->progress.shown = true;
    }
    return 0;
}

static void confine(void)
{
    static const int fatal[] = {SIGINT, SIGTERM, SIGALRM, SIGHUP, SIGXFSZ, SIGPIPE};
    struct rlimit none = {0, 0}, size = {FETCH_BYTES, FETCH_BYTES};
    sigset_t empty;
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
        signal(fatal[i], SIG_DFL);
    }
    sigemptyset(&empty);
    sigprocmask(SIG_SETMASK, &empty, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &size);
    alarm(FETCH_SECONDS);
}

static void fetch(const struct symfile_servers *s, const char *name, const uint8_t *id,
                  unsigned id_bytes, struct fetched *out)
{
    struct library l = {0};
    struct download d = {.prog = s->prog, .name = name};
    char *path = NULL;
    out->error = NO_LIBRARY;
    if (!load_library(&l)) {
        const char *why = dlerror();
        snprintf(out->text, sizeof(out->text), "%s", why ? why : "it lacks functions");
        return;
    }
    void *client = l.begin();
    if (!client) {
        out->error = errno ? errno : ENOMEM;
        return;
    }
    progress_init_before_output(&d.progress, s->prog, s->quiet);
    l.set_user_data(client, &d);
    l.set_progressfn(client, on_progress);
    int fd = l.find_debuginfo(client, id, (int)id_bytes, &path);
    progress_clear(&d.progress);
    out->error = fd < 0 ? -fd : 0;
    if (fd >= 0 && (!path || strlen(path) >= sizeof(out->text))) {
        out->error = ENAMETOOLONG;
    } else if (fd >= 0) {
        strcpy(out->text, path);
    }
}

/* ---------------------------------------------------------------- the parent */

/* Reads the child's report; false: it made none. */
static bool read_report(int fd, struct fetched *out)
{
    size_t n = 0;
    while (n < sizeof(*out)) {
        ssize_t got = read(fd, (char *)out + n, sizeof(*out) - n);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        n += (size_t)got;
    }
    return memchr(out->text, 0, sizeof(out->text)) != NULL;
}

/* Runs the child; an error that is not the server's is EIO. */
static void run(const struct symfile_servers *s, const char *name, const uint8_t *id,
                unsigned id_bytes, struct fetched *out)
{
    int ends[2], status = 0;
    *out = (struct fetched){.error = EIO};
    if (pipe(ends)) {
        out->error = errno;
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        confine();
        close(ends[0]);
        fetch(s, name, id, id_bytes, out);
        _exit(write(ends[1], out, sizeof(*out)) != (ssize_t)sizeof(*out));
    }
    if (pid < 0) {
        out->error = errno;
    }
    close(ends[1]);
    if (pid > 0 && !read_report(ends[0], out)) {
        *out = (struct fetched){.error = EIO};
    }
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        out->error = ETIMEDOUT;
    }
}

__attribute__((format(printf, 2, 3))) static void remark(struct symfile_error *err,
                                                         const char *fmt, ...)
{
    va_list ap;
    if (!err->text[0]) {
        va_start(ap, fmt);
        vsnprintf(err->text, sizeof(err->text), fmt, ap);
        va_end(ap);
    }
}

/* Says why there is no file.  After an error of the servers or the library none is queried
 * any more: it takes long. */
static void describe(const struct symfile *f, struct symfile_servers *s,
                     const struct fetched *r, struct symfile_error *err)
{
    if (r->error == NO_LIBRARY) {
        remark(err, "--debuginfod: %s cannot be loaded (%.200s)", LIBRARY, r->text);
    } else if (r->error == ENOENT) {
        remark(err, "%s: no server of DEBUGINFOD_URLS has its debug information",
               f->label);
        return;
    } else {
        remark(err,
               "%s: its debug information cannot be downloaded (%s); the servers of "
               "DEBUGINFOD_URLS are not queried any more",
               f->label, strerror(r->error));
    }
    s->down = true;
}

/* Reads the file again with the downloaded one; false: it stays as it is. */
static bool read_again(struct symfile *f, int fd, const struct symfile_options *opt,
                       enum table_depth depth, struct symfile_error *err)
{
    struct symfile old = *f;
    struct symfile_error ignored = {SYMFILE_OK, ""};
    f->table = NULL;
    if (symfile_run_child(f, fd, opt, depth, &ignored) == 0 && symfile_check_table(f) &&
        !f->table->wants_debug) {
        munmap(old.table, old.table_bytes);
        if (f->table->text[0]) {
            remark(err, "%s: %.200s", f->label, f->table->text);
        }
        return true;
    }
    if (f->table) {
        munmap(f->table, f->table_bytes);
    }
    *f = old;
    return false;
}

void symfile_fetch_debug(struct symfile *f, int fd, const struct symfile_options *opt,
                         enum table_depth depth, struct symfile_error *err)
{
    struct symfile_servers *s = opt->servers;
    struct symfile_options with = *opt;
    const char *slash = strrchr(f->label, '/');
    struct fetched r;
    if (!f->table->wants_debug || !f->table->build_id_bytes || !s || s->down) {
        return;
    }
    run(s, slash ? slash + 1 : f->label, f->table->build_id, f->table->build_id_bytes,
        &r);
    with.debug_file = r.text;
    if (r.error) {
        describe(f, s, &r, err);
    } else if (!read_again(f, fd, &with, depth, err)) {
        remark(err,
               "%s: what a server of DEBUGINFOD_URLS sent is not its debug information",
               f->label);
    }
}
