/* SPDX-License-Identifier: MIT */
/* Finds threads and processes by id and name; see threads.h. */
#include "query/threads.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "input/comm.h"
#include "input/machine.h"
#include "input/trace.h"

/* What a message lists of those that there are: bytes of the arguments of each, and of the
 * whole, after which no more is begun. */
#define KNOWN_ARGS 30u
#define KNOWN_TEXT 240u

/* --------------------------------------------------------------------- syntax */

/* "4242" or "4242/2"; false: neither. */
static bool parse_id(const char *text, uint32_t len, struct thread_name *out)
{
    char copy[40], *slash;
    uint64_t id, which = 0;

    if (len >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = 0;
    slash = strchr(copy, '/');
    if (slash) {
        *slash = 0;
        if (!tool_parse_u64(slash + 1, &which) || !which || which > UINT32_MAX) {
            return false;
        }
    }
    if (!tool_parse_u64(copy, &id) || !id || id > INT32_MAX) {
        return false;
    }
    out->id = (int32_t)id;
    out->which = (uint32_t)which;
    return true;
}

bool thread_names_add(struct thread_names *list, const char *text)
{
    for (;;) {
        struct thread_name *v = realloc(list->v, (list->n + 1) * sizeof(*v));
        size_t len = strcspn(text, ",");
        struct thread_name one = {.text = text, .len = (uint32_t)len};
        if (v) {
            list->v = v;
        }
        if (!v || !len || len > 1000) {
            return false;
        }
        if (len > 5 && (!strncmp(text, "comm:", 5) || !strncmp(text, "args:", 5))) {
            one.of = *text == 'c' ? THREAD_NAME_COMM : THREAD_NAME_ARGS;
            one.text += 5;
            one.len -= 5;
        } else if (!parse_id(text, one.len, &one) && text[0] >= '0' && text[0] <= '9') {
            return false; /* a number that is no id, not a name */
        }
        v[list->n++] = one;
        if (!text[len]) {
            return true;
        }
        text += len + 1;
    }
}

bool thread_names_add_vcpus(struct thread_names *list, const char *text)
{
    for (;;) {
        struct thread_name *v = realloc(list->v, (list->n + 1) * sizeof(*v));
        size_t len;

        text += strncmp(text, "cpu", 3) ? 0 : 3; /* as the tools call it */
        len = strspn(text, "0123456789");
        if (v) {
            list->v = v;
        }
        if (!v || !len || len > 9 || (text[len] && text[len] != ',')) {
            return false;
        }
        v[list->n++] = (struct thread_name){
            .text = text, .len = (uint32_t)len, .of = THREAD_NAME_CPU};
        if (!text[len]) {
            return true;
        }
        text += len + 1;
    }
}

void thread_names_free(struct thread_names *list)
{
    free(list->v);
    *list = (struct thread_names){0};
}

bool thread_names_ids(const struct thread_names *list, int32_t **ids)
{
    int32_t *v = calloc(list->n + 1, sizeof(*v));

    *ids = v;
    for (uint32_t i = 0; v && i < list->n; i++) {
        v[i] = list->v[i].id;
        if (!v[i] || list->v[i].which) {
            free(v);
            *ids = NULL;
            return false;
        }
    }
    return v != NULL;
}

/* ---------------------------------------------------------------------- search */

struct search {
    struct ctr_trace *tr;
    bool processes;
    struct ctr_info info;
    const struct comm_table *names; /* NULL: not read */
    struct thread_choice *out;
    bool no_memory;
};

static void add_index(struct search *s, uint32_t index)
{
    uint32_t *v = realloc(s->out->v, (s->out->n + 1) * sizeof(*v));

    if (!v) {
        s->no_memory = true;
        return;
    }
    s->out->v = v;
    v[s->out->n++] = index;
}

/* Whether n bytes of text match. */
static bool matches(struct search *s, const char *glob, const char *text, size_t n)
{
    char *copy = strndup(text, n);
    bool found = copy && !fnmatch(glob, copy, 0);

    s->no_memory |= !copy;
    free(copy);
    return found;
}

/* Whether the arguments match, with a blank between each. */
static bool args_match(struct search *s, const char *glob, const struct program *p)
{
    struct args_walk w = args_begin(p, SIZE_MAX);
    struct textbuf b = {0};
    struct ctr_str arg;
    bool ok = true, cut, found;

    for (const char *blank = ""; ok && args_next(&w, &arg, &cut); blank = " ") {
        ok = textbuf_printf(&b, "%s%.*s", blank, (int)arg.n, arg.p);
    }
    s->no_memory |= !ok;
    found = ok && matches(s, glob, b.data, b.len);
    textbuf_fini(&b);
    return found;
}

/* Whether the threads have the names of vCPUs, recorded or not. */
static bool are_vcpus(const struct search *s)
{
    return !s->processes && s->info.machine;
}

/* Whether a thread had a name at some time. */
static bool has_name(struct search *s, const struct ctr_thread *t,
                     const struct thread_name *n, const char *glob)
{
    char cpu[THREAD_TEXT];
    struct comm c;

    if (n->of == THREAD_NAME_CPU) {
        return s->info.machine &&
               (uint32_t)t->tid - (uint32_t)t->pid == strtoul(glob, NULL, 10);
    }
    if (are_vcpus(s) && n->of != THREAD_NAME_ARGS &&
        !fnmatch(glob, tool_thread_text(&s->info, t->pid, t->tid, cpu), 0)) {
        return true;
    }
    for (uint32_t at = 0; comm_next(s->names, t->index, &at, &c);) {
        const struct ctr_str base = args_base(&c.program);
        const bool args = c.program.args.n != 0;
        if ((n->of != THREAD_NAME_ARGS && *c.name && !fnmatch(glob, c.name, 0)) ||
            (n->of == THREAD_NAME_ANY && base.n && matches(s, glob, base.p, base.n)) ||
            (n->of == THREAD_NAME_ARGS && args && args_match(s, glob, &c.program))) {
            return true;
        }
    }
    return false;
}

/* A process has the names of the thread that it began with. */
static bool is_first_thread(const struct ctr_trace *tr, const struct ctr_thread *t)
{
    const struct ctr_thread *other;

    for (uint32_t i = 0; i < t->index && (other = ctr_trace_thread(tr, i)) != NULL; i++) {
        if (other->process == t->process) {
            return false;
        }
    }
    return true;
}

static void add_named(struct search *s, const struct thread_name *n)
{
    char *glob = strndup(n->text, n->len);
    const struct ctr_thread *t;

    s->no_memory |= !glob;
    for (uint32_t i = 0; glob && (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        if (has_name(s, t, n, glob) && (!s->processes || is_first_thread(s->tr, t))) {
            add_index(s, s->processes ? t->process : t->index);
        }
    }
    free(glob);
}

static void add_id(struct search *s, const struct thread_name *n)
{
    const struct ctr_process *p;
    const struct ctr_thread *t;
    uint32_t seen = 0;

    for (uint32_t i = 0; s->processes && (p = ctr_trace_process(s->tr, i)) != NULL; i++) {
        if (p->pid == n->id && (++seen == n->which || !n->which)) {
            add_index(s, i);
        }
    }
    for (uint32_t i = 0; !s->processes && (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        if (t->tid == n->id && (++seen == n->which || !n->which)) {
            add_index(s, i);
        }
    }
}

/* " (cat file)" of a process, " (cat)" of a thread, or nothing if it is not known. */
static bool put_known_name(const struct search *s, const struct ctr_thread *t,
                           struct textbuf *b)
{
    const char *name = comm_last(s->names, t->index);
    struct program p = comm_program(s->names, t->process);
    const struct ctr_str base = args_base(&p);

    if (s->processes && p.args.n) {
        if (base.n) { /* without the folder */
            p.args.n -= (size_t)(base.p - p.args.p);
            p.args.p = base.p;
        }
        return textbuf_printf(b, " (") && args_put_shell(b, &p, KNOWN_ARGS) &&
               textbuf_printf(b, ")");
    }
    return !*name || (textbuf_printf(b, " (") &&
                      textbuf_printable(b, name, strlen(name)) && textbuf_printf(b, ")"));
}

/* "23563 (sh -c x), 23569 (cat), ..." */
static bool list_known(const struct search *s, struct textbuf *b)
{
    const struct ctr_thread *t;
    char cpu[THREAD_TEXT];
    bool ok = true;

    for (uint32_t i = 0; ok && (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        if (s->processes && !is_first_thread(s->tr, t)) {
            continue;
        }
        if (b->len > KNOWN_TEXT) {
            return textbuf_printf(b, ", ...");
        }
        if (are_vcpus(s)) {
            ok = textbuf_printf(b, "%s%s", b->len ? ", " : "",
                                tool_thread_text(&s->info, t->pid, t->tid, cpu));
            continue;
        }
        ok = textbuf_printf(b, "%s%d", b->len ? ", " : "",
                            s->processes ? t->pid : t->tid) &&
             put_known_name(s, t, b);
    }
    return ok;
}

static void say_unknown(struct search *s, const struct thread_name *n, const char *prog,
                        const char *path)
{
    const char *what = s->processes               ? "process"
                       : n->of == THREAD_NAME_CPU ? "vCPU"
                                                  : "thread";
    const char *why = "";
    struct textbuf known = {0};

    if (!n->id && !(s->info.events & CTR_HAS_THR) && !s->info.machine) {
        why = ": names were not recorded (-e thr)";
    }
    if (list_known(s, &known)) {
        tool_error(prog, "%s: no %s '%.*s'%s; there are %.*s", path, what, (int)n->len,
                   n->text, why, (int)known.len, known.data);
    } else {
        s->no_memory = true;
    }
    textbuf_fini(&known);
}

int threads_find(const struct thread_names *list, bool processes, struct ctr_trace *tr,
                 const char *prog, const char *path, struct thread_choice *out)
{
    struct search s = {.tr = tr, .processes = processes, .out = out};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct comm_table *names;
    int status = TOOL_OK;
    int ret = list->n ? comm_load(&names, tr, &diag) : 0;

    ctr_trace_info(tr, &s.info);
    if (ret) {
        tool_trace_error(prog, path, ret, &diag);
        return TOOL_FAILED;
    }
    for (uint32_t i = 0; !status && i < list->n; i++) {
        uint32_t before = out->n;
        s.names = names;
        if (list->v[i].id) {
            add_id(&s, &list->v[i]);
        } else {
            add_named(&s, &list->v[i]);
        }
        if (!s.no_memory && out->n == before) {
            say_unknown(&s, &list->v[i], prog, path);
        }
        if (s.no_memory) {
            tool_error(prog, "out of memory");
            status = TOOL_FAILED;
        }
    }
    if (!status && list->n && !out->n) {
        status = TOOL_NOTHING;
    }
    if (list->n) {
        comm_free(names);
    }
    return status;
}

/* --------------------------------------------------------------------- filter */

static bool has_id(const int32_t *v, uint32_t n, int32_t id)
{
    for (uint32_t i = 0; i < n; i++) {
        if (v[i] == id) {
            return true;
        }
    }
    return n == 0;
}

static bool has_index(const uint32_t *v, uint32_t n, uint32_t index)
{
    for (uint32_t i = 0; i < n; i++) {
        if (v[i] == index) {
            return true;
        }
    }
    return n == 0;
}

bool threads_selected(const struct ctr_filter *f, const struct ctr_thread *t)
{
    return has_id(f->pids, f->npid, t->pid) && has_id(f->tids, f->ntid, t->tid) &&
           has_index(f->processes, f->nprocess, t->process) &&
           has_index(f->threads, f->nthread, t->index);
}

uint64_t threads_time(const struct ctr_info *info, uint64_t ns)
{
    return ns > UINT64_MAX - info->start_ns ? UINT64_MAX : info->start_ns + ns;
}
