/* SPDX-License-Identifier: MIT */
/*
 * tracegdb: debugs a recorded program in gdb, forward and backward; see tracegdb(1).  This
 * file is its command line.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/hash.h"
#include "common/options.h"
#include "input/expansion.h"
#include "input/trace.h"
#include "listen.h"
#include "query/filter_options.h"
#include "session.h"
#include "symbols/sym_options.h"

#define SEARCH_CHUNKS 32u

enum {
    OPT_GDB = TOOL_OPT_LONG,
    OPT_AT,
    OPT_MULTI,
    OPT_CHUNKS,
};

static const struct tool_option option_table[] = {
    {0, NULL, NULL, "How gdb connects; default: standard input and output"},
    {OPT_GDB, "gdb", "[=PROGRAM]", "start gdb (gdb-multiarch, else gdb), connected"},
    {'l', "listen", "ADDRESS",
     "listen at PORT, on this machine only, or HOST:PORT;\na path: on a UNIX socket"},
    {OPT_MULTI, "multi", NULL, "with --listen: wait for the next connection after one"},
    {0, NULL, NULL, "Where to begin"},
    FILTER_OPTIONS_THREADS,
    {OPT_AT, "at", "MOMENT",
     "there: ordinal N of a thread, 1.5s, crash, end,\nsyscall:NAME/N, mark:TEXT"},
    {0, NULL, NULL, "Where programs and libraries are"},
    SYM_OPTIONS_FILES,
    {0, NULL, NULL, "Other"},
    EXPANSION_OPTIONS,
    {OPT_CHUNKS, "search-chunks", "N",
     "decode at most N chunks of the trace to find what a byte\nheld; default 32, 0: any "
     "number"},
    {'j', "jobs", "N", "use N workers"},
    {'q', "quiet", NULL, "no remark on a partial trace, or on files"},
    TOOL_OPTIONS_COMMON,
    {0},
};

struct command_line {
    struct filter_options filter;
    struct sym_options sym;
    struct moment_text at;
    struct expansion expansion;
    const char *listen, *gdb;
    unsigned jobs;
    uint64_t chunks;
    bool start_gdb, multi, quiet;
};

static bool set_option(void *to, int key, const char *arg)
{
    struct command_line *c = to;
    enum tool_parsed parsed = filter_options_parse(&c->filter, key, arg);

    if (parsed == TOOL_OTHER_GROUP) {
        parsed = sym_options_parse(&c->sym, key, arg);
    }
    if (parsed != TOOL_OTHER_GROUP) {
        return parsed == TOOL_PARSED;
    }
    switch (key) {
    case OPT_GDB:
        c->start_gdb = true;
        c->gdb = arg;
        return true;
    case OPT_AT:
        return moment_parse(arg, &c->at) && c->at.kind != MOMENT_CALL;
    case OPT_MULTI:
        return c->multi = true;
    case OPT_CHUNKS:
        return tool_parse_u64(arg, &c->chunks) && c->chunks <= UINT32_MAX;
    case 'l':
        c->listen = arg;
        return listen_valid(arg);
    case 'j':
        return tool_parse_jobs(arg, &c->jobs);
    case 'q':
        return c->quiet = true;
    default:
        return expansion_parse(&c->expansion, key, arg) == TOOL_PARSED;
    }
}

/* ------------------------------------------------------------------ opening it */

/* gdb waits for an answer some seconds after each byte that it gets: an acknowledgement more
 * means nothing to it. */
static void keep_waiting(void *arg)
{
    (void)arg;
    if (write(STDOUT_FILENO, "+", 1) < 0) {
        return; /* it is gone: the session will find out */
    }
}

/* All that gdb can query */
#define NEEDED (CTR_HAS_MEM | CTR_HAS_VAL | CTR_HAS_REG)

/* Whether gdb can do anything with the trace; else a line on stderr says why not. */
static int check_trace(const struct session *s, bool quiet)
{
    if (!s->info.seekable) {
        tool_error(PROG, "%s: a stream cannot be debugged: write it to a file", s->path);
        return TOOL_FAILED;
    }
    if (!s->info.insns) {
        tool_error(PROG, "%s: there are no instructions in it", s->path);
        return TOOL_NOTHING;
    }
    if (!(s->info.events & CTR_HAS_REG) && !quiet) {
        tool_error(PROG, "%s: registers were not recorded (-e reg): gdb sees the pc only",
                   s->path);
    }
    if (!(s->info.events & CTR_HAS_VAL) && !quiet) {
        tool_error(PROG,
                   "%s: values were not recorded (-e val): gdb sees memory of files only",
                   s->path);
    }
    return TOOL_OK;
}

/* The first instruction of a thread that the options select, unless --at says another. */
static int find_begin(struct session *s, struct command_line *c, struct ctr_moment *out)
{
    const struct locate_request request = {
        .prog = PROG, .path = s->path, .option = "--at", .trace = s->tr};
    struct ctr_filter filter = CTR_FILTER_INIT;
    const struct ctr_thread *t;
    int status = filter_options_resolve(&c->filter, &request, s->jobs, &filter);

    if (status || c->at.kind) {
        return status ? status : moment_find(&c->at, &filter, &request, s->jobs, out);
    }
    for (uint32_t i = 0; (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        if (t->insns && threads_selected(&filter, t)) {
            *out = (struct ctr_moment){.thread = i, .ordinal = t->first};
            return TOOL_OK;
        }
    }
    tool_error(PROG, "%s: no instruction of the threads selected", s->path);
    return TOOL_NOTHING;
}

static int begin(struct session *s, struct command_line *c)
{
    struct ctr_moment at;
    int status = find_begin(s, c, &at), ret;
    const struct ctr_thread *t = status ? NULL : ctr_trace_thread(s->tr, at.thread);

    if (status) {
        return status;
    }
    if (!t->insns) {
        tool_error(PROG, "%s: thread %d has no instruction", s->path, t->tid);
        return TOOL_NOTHING;
    }
    at.ordinal -= at.ordinal == thread_end(t); /* the last one has not run yet */
    ret = session_begin(s, at.thread, at.ordinal, c->at.kind == MOMENT_CRASH);
    if (ret) {
        tool_trace_error(PROG, s->path, ret, &s->diag);
    }
    return ret ? TOOL_FAILED : TOOL_OK;
}

/* ------------------------------------------------------------------ connections */

static int serve_socket(struct session *s, const struct command_line *c)
{
    const int fd = listen_open(c->listen);
    int status = fd < 0 ? TOOL_FAILED : TOOL_OK;

    while (!status) {
        const int gdb = listen_accept(fd);

        if (gdb < 0) {
            status = TOOL_FAILED;
            break;
        }
        status = serve(s, gdb, gdb);
        close(gdb);
        if (!c->multi) {
            break;
        }
        status = TOOL_OK;
        if (session_rewind(s)) {
            tool_trace_error(PROG, s->path, -s->diag.code, &s->diag);
            status = TOOL_FAILED;
        }
    }
    if (fd >= 0) {
        listen_close(fd, c->listen);
    }
    return status;
}

static int run(struct command_line *c, const char *path)
{
    struct session s = {.path = path, .jobs = c->jobs, .chunks = (uint32_t)c->chunks};
    struct modset_options files = {
        .prog = PROG, .quiet = c->quiet, .missing_ok = true, .unmapped_quiet = true};
    struct modset *modset = NULL;
    struct places *places = NULL;
    int status = sym_options_finish(&c->sym, PROG, &files);

    files.flags = SYMFILE_HEADERS;
    status = status
                 ? status
                 : expansion_open(&c->expansion, PROG, &path, 0, NEEDED, c->quiet, &s.tr);
    s.path = path;
    if (!status) {
        ctr_trace_info(s.tr, &s.info);
        guest_init(&s.guest, &s.info);
        status = check_trace(&s, c->quiet);
    }
    status = status ? status : modset_open(&modset, &files);
    status = status ? status : places_load(&places, modset, s.tr, path);
    s.places = places;
    status = status ? status : begin(&s, c);
    if (!status) {
        status = c->listen ? serve_socket(&s, c) : serve(&s, STDIN_FILENO, STDOUT_FILENO);
    }
    if (!status && s.failed) {
        tool_trace_error(PROG, path, s.failed, &s.failure);
        status = TOOL_FAILED;
    }
    if (!status) {
        status = tool_trace_status(PROG, path, s.tr, c->quiet);
    }
    session_end(&s);
    places_free(places);
    modset_close(modset);
    ctr_close(s.tr);
    return status;
}

/* -------------------------------------------------------------------------- gdb */

/* Whether an argument is --gdb, perhaps shortened, as getopt_long(3) takes it. */
static bool is_gdb(const char *arg)
{
    const size_t n = strcspn(arg, "=");

    return n > 2 && n <= strlen("--gdb") && !strncmp(arg, "--gdb", n);
}

/*
 * Whether a program without a loader and libraries is recorded from its begin on.  Of such a one
 * gdb takes all code for the loader's if the C library has begun when it connects, and goes
 * backward through each function that it should leave: it has to connect at the begin.
 */
static bool is_static(struct ctr_trace *tr)
{
    static const struct ctr_filter filter = {.kinds = CTR_KIND_MAP, .to = 1};
    const struct ctr_thread *first = ctr_trace_thread(tr, 0);
    struct ctr_cursor *cursor;
    struct ctr_event ev;
    struct ctr_map m;
    struct ctr_diag diag;
    uint64_t program = 0;
    bool alone = first && first->insns && !first->first;

    if (!alone || ctr_cursor_open(&cursor, tr, &filter, &diag)) {
        return false;
    }
    while (alone && ctr_cursor_next(cursor, &ev, &diag) == 1) {
        if (ev.kind == CTR_CURSOR_OS && ev.os.thread == first &&
            !ctr_parse_map(&ev.os, &m) && m.path.n && m.path.p[0] != '[') {
            const uint64_t file = hash_bytes(HASH_START, m.path.p, m.path.n);

            alone = !program || program == file;
            program = file;
        }
    }
    ctr_cursor_close(cursor);
    return alone && program;
}

/* What gdb does not find out by itself: NULL: nothing. */
struct gdb_needs {
    const char *setting;
    const char *file; /* before it connects, as it moves it then (kernel.c) */
    bool go_later;    /* to --at: it has to connect at the begin */
};

static struct gdb_needs needs_of(struct command_line *c, const char *path)
{
    struct gdb_needs needs = {0};
    struct ctr_info info = {0};
    struct ctr_trace *tr;

    if (!ctr_open(&tr, path, 0, NULL)) {
        ctr_trace_info(tr, &info);
        needs.go_later = c->at.kind && !info.machine && is_static(tr);
        /* gdb does not wait for it then. */
        expansion_find(&c->expansion, PROG, path, tr, NEEDED, c->quiet);
        ctr_close(tr);
    }
    if (info.machine && c->sym.elfs.n) { /* its code is in no memory that the trace has */
        needs.setting = "set trust-readonly-sections on";
        needs.file = c->sym.elfs.v[0];
    } else if (!info.machine && info.elf_machine == EM_68K) {
        /* gdb takes its programs for those of SVR4, and finds no libraries. */
        needs.setting = "set osabi GNU/Linux";
    }
    return needs;
}

/* The command line of gdb from its second word on. */
static void gdb_words(const struct gdb_needs *needs, const char *connect, const char *go,
                      const char *words[16])
{
    size_t n = 1;

    words[n++] = "-q";
    if (needs->setting) {
        words[n++] = "-ex";
        words[n++] = needs->setting;
    }
    words[n++] = "-ex";
    words[n++] = connect;
    if (needs->go_later) {
        words[n++] = "-ex";
        words[n++] = go;
        words[n++] = "-ex";
        words[n++] = "maintenance flush register-cache";
        words[n++] = "-ex";
        words[n++] = "frame";
    }
    words[n] = needs->file;
}

/* Replaces this program by gdb, which starts it again at the other end of a pipe. */
static int start_gdb(struct command_line *c, const char *path, int argc, char **argv)
{
    static const char *const found[] = {"gdb-multiarch", "gdb"};
    struct textbuf b = {0}, go = {0};
    const char *words[16] = {NULL};
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    const struct gdb_needs needs = needs_of(c, path);
    const char *const begin = length > 0 ? (self[length] = 0, self) : argv[0];
    const char *connect_at = needs.go_later ? " --at=0" : ""; /* the last one counts */
    bool said = false;
    bool ok = textbuf_printf(&b, "target remote | exec ") &&
              textbuf_shell_word(&b, begin, strlen(begin));

    for (int i = 1; ok && i < argc; i++) {
        if (!strcmp(argv[i], "--")) { /* the file comes next, and no option */
            ok = textbuf_printf(&b, "%s", connect_at);
            connect_at = "";
        }
        if (ok && !is_gdb(argv[i])) {
            ok = textbuf_printf(&b, " ") &&
                 textbuf_shell_word(&b, argv[i], strlen(argv[i]));
        }
    }
    ok = ok && textbuf_printf(&b, "%s%c", connect_at, 0) &&
         textbuf_printf(&go, "monitor goto %s%c", needs.go_later ? c->at.text : "", 0);
    gdb_words(&needs, b.data, go.data, words);
    for (size_t i = 0; ok && !said && i < sizeof(found) / sizeof(found[0]); i++) {
        const char *gdb = c->gdb ? c->gdb : found[i];

        words[0] = gdb;
        execvp(gdb, (char *const *)words);
        if (c->gdb || errno != ENOENT) {
            tool_error(PROG, "%s: %s", gdb, strerror(errno));
            said = true;
        }
    }
    if (!said) {
        tool_error(PROG, ok ? "no gdb-multiarch or gdb is installed" : "out of memory");
    }
    textbuf_fini(&b);
    textbuf_fini(&go);
    return TOOL_FAILED;
}

int main(int argc, char **argv)
{
    struct command_line c = {.jobs = tool_default_jobs(),
                             .chunks = SEARCH_CHUNKS,
                             .expansion = EXPANSION_INIT};
    struct tool_options o = {
        .prog = PROG,
        .usage = "[OPTION]... FILE",
        .about =
            "Debug a recorded program in gdb, forward and backward; FILE is a trace made by\n"
            "cannoli-record, best with -e all. In gdb: target remote | tracegdb FILE",
        .table = option_table,
        .argc = argc,
        .argv = argv,
    };
    const char *path = NULL;
    int status;

    /* gdb is in the foreground, and ^C is for it. */
    signal(SIGPIPE, SIG_IGN);
    status = tool_options_parse(&o, set_option, &c, &path);
    if (status == TOOL_OK && path) {
        status = filter_options_check(&c.filter, PROG);
        if (!status && c.start_gdb && c.listen) {
            status = tool_usage_error(PROG, "--gdb and --listen cannot be used together");
        }
        if (!status && !c.listen && !strcmp(path, "-")) {
            status = tool_usage_error(PROG, "standard input is gdb's: name a file");
        }
        if (!status && c.multi && !c.listen) {
            status = tool_usage_error(PROG, "--multi is for --listen only");
        }
        if (!c.start_gdb && !c.listen && !isatty(STDOUT_FILENO)) {
            c.expansion.tick = keep_waiting;
        }
        status = status        ? status
                 : c.start_gdb ? start_gdb(&c, path, argc, argv)
                               : run(&c, path);
    }
    tool_options_fini(&o);
    expansion_fini(&c.expansion);
    filter_options_fini(&c.filter);
    sym_options_fini(&c.sym);
    return status;
}
