/* SPDX-License-Identifier: MIT */
/* gdb's command `monitor': where the session is, and searches. */
#include "session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

static bool put(struct textbuf *b, const char *text)
{
    return textbuf_printf(b, "%s", text);
}

/* "thread 4242, before ordinal 12 of 300, 0.001234 s" */
static bool put_place(struct textbuf *b, const struct ctr_thread *t, uint64_t ordinal)
{
    return textbuf_printf(b, "thread %d, ordinal %" PRIu64 " of %" PRIu64, t->tid,
                          ordinal, thread_end(t));
}

static bool where(struct session *s, const char *arg, struct textbuf *b)
{
    const struct ctr_thread *t = ctr_trace_thread(s->tr, s->here.at.thread);

    (void)arg;
    return put_place(b, t, s->here.at.ordinal) &&
           textbuf_printf(b, ", %.6f s\n",
                          (double)(s->here.at.time_ns - s->info.start_ns) / 1e9);
}

/* A name of the user's, or a moment: of an ordinal or a time the thread is the one chosen in
 * gdb.  *wrong: why there is none. */
static bool find_moment(struct session *s, const char *arg, struct ctr_moment *at,
                        const char **wrong)
{
    const struct locate_request request = {
        .prog = PROG, .path = s->path, .option = "goto", .trace = s->tr};
    struct ctr_filter filter = {.processes = &s->here.process, .nprocess = 1};
    struct moment_text text;

    if (marks_find(s, arg, at)) {
        *wrong = "goto: that mark is in another process\n";
        return ctr_trace_thread(s->tr, at->thread)->process == s->here.process;
    }
    if (!moment_parse(arg, &text)) {
        *wrong = "goto: neither a mark nor a moment: 1234, 1.5s, end, crash, mark:TEXT, "
                 "syscall:NAME/N\n";
        return false;
    }
    if (text.kind == MOMENT_CALL) {
        *wrong = "goto: use a breakpoint for a function\n";
        return false;
    }
    if ((text.kind == MOMENT_ORDINAL || text.kind == MOMENT_TIME) && !text.number) {
        filter.threads = &s->chosen;
        filter.nthread = 1;
    }
    *wrong = "goto: there is no such moment in this process\n";
    return !moment_find(&text, &filter, &request, s->jobs, at);
}

static bool go_to(struct session *s, const char *arg, struct textbuf *b)
{
    struct ctr_moment at;
    const char *wrong;

    if (!find_moment(s, arg, &at, &wrong)) {
        return put(b, wrong);
    }
    if (at.ordinal == thread_end(ctr_trace_thread(s->tr, at.thread)) && at.ordinal) {
        at.ordinal--; /* the last instruction has not run yet */
    }
    if (position_go(s, at.thread, at.ordinal)) {
        return textbuf_printf(b, "goto: %s\n", s->diag.text);
    }
    s->here.last = (struct stop){.why = STOP_THERE};
    if (!strcmp(arg, "crash") && signals_stop(s)) {
        return textbuf_printf(b, "goto: %s\n", s->diag.text);
    }
    return where(s, NULL, b) &&
           put(b, "gdb still shows what it read before: maintenance flush "
                  "register-cache\n");
}

static bool mark(struct session *s, const char *arg, struct textbuf *b)
{
    struct moment_text text;

    return !*arg ? marks_list(s, b)
           : moment_parse(arg, &text)
               ? put(b, "mark: a moment of the trace has that name\n")
               : marks_set(s, arg, b);
}

/* "ADDR" or "ADDR,LENGTH", hexadecimal with 0x, else decimal. */
static bool parse_bytes(const char *arg, struct ctr_range *out)
{
    struct tool_ranges list = {0};
    const bool ok = tool_parse_ranges(arg, &list) && list.n == 1;

    if (ok) {
        *out = list.v[0];
    }
    free(list.v);
    return ok;
}

static bool search(struct session *s, const char *arg, struct textbuf *b, bool back,
                   uint32_t kind)
{
    struct ctr_range range;
    const struct ctr_filter filter = {.kinds = kind | CTR_KIND_SYS,
                                      .processes = &s->here.process,
                                      .nprocess = 1,
                                      .addrs = &range,
                                      .naddr = 1};
    struct ctr_found found;
    int ret;

    if (!parse_bytes(arg, &range)) {
        return put(b, "not an address, A-B or A+LENGTH\n");
    }
    ret =
        ctr_search(s->tr, &filter, s->here.at.thread, s->here.at.ordinal,
                   back ? CTR_SEARCH_BACK : CTR_SEARCH_POINT, s->jobs, &found, &s->diag);
    if (ret != 1) {
        return ret ? textbuf_printf(b, "%s\n", s->diag.text)
                   : put(b,
                         back ? "none before this place\n" : "none from this place on\n");
    }
    return put_place(b, found.thread, found.ordinal) &&
           (found.system ? put(b, ", the system before it")
                         : textbuf_printf(b, ", pc 0x%" PRIx64, found.pc)) &&
           textbuf_printf(b, ": %" PRIu64 " bytes at 0x%" PRIx64 " %s\n", found.size,
                          found.addr, kind == CTR_KIND_STORE ? "written" : "read");
}

static bool last_write(struct session *s, const char *arg, struct textbuf *b)
{
    return search(s, arg, b, true, CTR_KIND_STORE);
}

static bool last_read(struct session *s, const char *arg, struct textbuf *b)
{
    return search(s, arg, b, true, CTR_KIND_LOAD);
}

static bool next_write(struct session *s, const char *arg, struct textbuf *b)
{
    return search(s, arg, b, false, CTR_KIND_STORE);
}

static bool next_read(struct session *s, const char *arg, struct textbuf *b)
{
    return search(s, arg, b, false, CTR_KIND_LOAD);
}

static bool slide(struct session *s, const char *arg, struct textbuf *b)
{
    (void)arg;
    return kernel_slide(s, b);
}

static bool help(struct session *s, const char *arg, struct textbuf *b);

static const struct command {
    const char *name, *help;
    bool (*run)(struct session *s, const char *arg, struct textbuf *b);
} commands[] = {
    {"goto",
     "goto MOMENT: 1234 (an ordinal), 1.5s, end, crash, mark:TEXT, syscall:NAME/N, or a "
     "name of monitor mark",
     go_to},
    {"mark", "mark NAME: names this place; mark: lists the names", mark},
    {"where", "where: thread, ordinal and time", where},
    {"slide", "slide: how far a machine's kernel has moved", slide},
    {"last-write", "last-write ADDRESS[+LENGTH]: what wrote there last", last_write},
    {"last-read", "last-read ADDRESS[+LENGTH]", last_read},
    {"next-write", "next-write ADDRESS[+LENGTH]: what writes there next", next_write},
    {"next-read", "next-read ADDRESS[+LENGTH]", next_read},
    {"help", "help: this list", help},
};
#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static bool help(struct session *s, const char *arg, struct textbuf *b)
{
    bool ok = true;

    (void)s;
    (void)arg;
    for (size_t i = 0; ok && i < NR_COMMANDS; i++) {
        ok = textbuf_printf(b, "monitor %s\n", commands[i].help);
    }
    return ok;
}

bool monitor(struct session *s, const char *command, struct textbuf *b)
{
    const size_t n = strcspn(command, " ");
    const char *arg = command + n + strspn(command + n, " ");

    for (size_t i = 0; i < NR_COMMANDS; i++) {
        if (strlen(commands[i].name) == n && !strncmp(commands[i].name, command, n)) {
            return commands[i].run(s, arg, b);
        }
    }
    return put(b, "no such command: monitor help\n");
}
