/* SPDX-License-Identifier: MIT */
/*
 * tracesym --list; see list.h.  It reads the tables of the trace, its events, and the
 * symbols of its modules, no instruction, so that a shell can call it for each key.
 */
#include "list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/options.h"
#include "input/comm.h"
#include "query/event_names.h"
#include "query/site.h"
#include "symbols/symfile_data.h"

static const char *const words[] = {
    [LIST_FUNCTIONS] = "functions", [LIST_MARKS] = "marks",
    [LIST_MODULES] = "modules",     [LIST_MOMENTS] = "moments",
    [LIST_OBJECTS] = "objects",     [LIST_PROCESSES] = "processes",
    [LIST_SYSCALLS] = "syscalls",   [LIST_TASKS] = "tasks",
    [LIST_THREADS] = "threads",
};
const struct words list_words = WORDS_OF_STRINGS("list", words);

bool list_parse(const char *text, enum list_what *what)
{
    size_t i = words_find(&list_words, text, strlen(text));

    *what = (enum list_what)i;
    return i < list_words.n;
}

bool list_needs_modules(enum list_what what)
{
    return what == LIST_FUNCTIONS || what == LIST_MODULES || what == LIST_MOMENTS ||
           what == LIST_OBJECTS;
}

/* A name that is not terminated, or a number if there is no text. */
struct entry {
    const char *text;
    size_t value; /* length of the text, or the number */
    bool last;    /* after all others */
};

struct entries {
    struct entry *v;
    size_t n, cap;
    bool last;                 /* of entries that are added */
    struct comm_table *comms;  /* with the texts of processes and threads */
    struct event_names events; /* with those of marks, system calls and tasks */
};

static bool add(struct entries *e, const char *text, size_t value)
{
    if (!array_reserve(&e->v, &e->cap, e->n + 1, sizeof(*e->v))) {
        return false;
    }
    e->v[e->n++] = (struct entry){text, value, e->last};
    return true;
}

static void entries_fini(struct entries *e)
{
    free(e->v);
    comm_free(e->comms);
    event_names_fini(&e->events);
}

/* Numbers come before texts. */
static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    size_t n = x->value < y->value ? x->value : y->value;
    int order;

    if (!x->text != !y->text) {
        return x->text ? 1 : -1;
    }
    order = x->text ? memcmp(x->text, y->text, n) : 0;
    return order ? order : (x->value > y->value) - (x->value < y->value);
}

/* ----------------------------------------------------------------- what there is */

static bool add_functions(struct entries *e, const struct module *m)
{
    const struct sym_function *v;
    uint32_t n = m->file ? symfile_functions(m->file, &v) : 0;
    bool ok = true;

    for (uint32_t i = 0; ok && i < n; i++) {
        const char *name = v[i].name;
        for (uint32_t k = 0; ok && name; k++) {
            ok = add(e, name, sym_name_bare_length(name));
            name = symfile_other_name(m->file, &v[i], k);
        }
    }
    return ok;
}

static bool add_ids(struct entries *e, const struct ctr_trace *tr, bool threads)
{
    const struct ctr_process *p;
    const struct ctr_thread *t;
    bool ok = true;

    for (uint32_t i = 0; threads && ok && (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        ok = add(e, NULL, (size_t)t->tid);
    }
    for (uint32_t i = 0; !threads && ok && (p = ctr_trace_process(tr, i)) != NULL; i++) {
        ok = add(e, NULL, (size_t)p->pid);
    }
    return ok;
}

/* Limit of bytes of a thread's name in a list. */
#define NAME_BYTES 64u

/* The names that --pid and --thread know. */
static bool add_names(struct entries *e, const struct comm_table *names,
                      const struct ctr_trace *tr)
{
    const struct ctr_thread *t;
    bool ok = true;

    for (uint32_t i = 0; ok && (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        struct comm c;
        for (uint32_t at = 0; ok && comm_next(names, t->index, &at, &c);) {
            const struct ctr_str base = args_base(&c.program);
            size_t n = strlen(c.name);
            ok = (!n || n > NAME_BYTES || add(e, c.name, n)) &&
                 (!base.n || base.n > NAME_BYTES || add(e, base.p, base.n));
        }
    }
    return ok;
}

/* Whether a path has a folder like /lib or /usr/lib64 in it. */
static bool in_lib_folder(const char *path)
{
    const char *lib = path;

    while ((lib = strstr(lib, "/lib")) != NULL) {
        lib += strlen("/lib");
        if (lib[strspn(lib, "0123456789x")] == '/') {
            return true;
        }
    }
    return false;
}

/* Objects that users name: local ones only of the user's own sources, nothing that a
 * compiler made for C++, and none that each thread has its own of. */
static bool add_objects(struct entries *e, const struct module *m)
{
    const struct sym_object *v;
    uint32_t n = m->file ? symfile_objects(m->file, &v) : 0;
    bool ok = true;

    e->last = in_lib_folder(m->path);
    for (uint32_t i = 0; ok && i < n; i++) {
        const struct sym_object *o = &v[i];
        if (!o->tls && (!o->local || (o->decl_line && !e->last)) &&
            strncmp(o->linkage, "_ZT", 3) != 0 && strncmp(o->linkage, "_ZG", 3) != 0) {
            ok = add(e, o->name, strlen(o->name));
        }
    }
    return ok;
}

static bool add_modules(struct entries *e, const struct list_request *r,
                        enum list_what what)
{
    bool ok = true;

    for (uint32_t i = 0; ok && i < modset_count(r->modset); i++) {
        const struct module *m = modset_module(r->modset, i);
        if (r->nr_modules && !module_matches(m, r->modules, r->nr_modules)) {
            continue;
        }
        ok = what == LIST_MODULES   ? add(e, m->name, strlen(m->name))
             : what == LIST_OBJECTS ? add_objects(e, m)
                                    : add_functions(e, m);
    }
    return ok;
}

/* 0, or what dump_replay_status takes; of a damaged trace there are the names up to the
 * damage. */
static int add_events(struct entries *e, struct ctr_trace *tr, enum event_names_of of,
                      struct ctr_diag *diag)
{
    const struct ctr_filter all = {0};
    int ret = event_names_load(&e->events, tr, of, &all, SIZE_MAX, diag);
    bool ok = ret <= 0;

    for (size_t i = 0; ok && i < e->events.n; i++) {
        ok = add(e, e->events.v[i], strlen(e->events.v[i]));
    }
    return ok ? ret : DUMP_STOP_NOMEM;
}

static int collect(struct entries *e, struct ctr_trace *tr, const struct list_request *r,
                   enum list_what what, struct ctr_diag *diag)
{
    bool ok;

    if (what == LIST_MARKS || what == LIST_SYSCALLS || what == LIST_TASKS) {
        return add_events(e, tr,
                          what == LIST_MARKS   ? EVENT_MARKS
                          : what == LIST_TASKS ? EVENT_TASKS
                                               : EVENT_SYSCALLS,
                          diag);
    }
    if (list_needs_modules(what)) {
        ok = add_modules(e, r, what);
    } else {
        if (comm_load(&e->comms, tr, diag)) {
            e->comms = NULL; /* damaged: there still are the ids */
        }
        ok = add_ids(e, tr, what == LIST_THREADS) &&
             (!e->comms || add_names(e, e->comms, tr));
    }
    return ok ? 0 : DUMP_STOP_NOMEM;
}

/* ------------------------------------------------------------------------ output */

static int by_text(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = compare(x, y);

    return order ? order : x->last - y->last;
}

static bool put_entries(struct textbuf *b, struct entries *e, const char *prefix)
{
    bool ok = true;

    if (e->n) {
        qsort(e->v, e->n, sizeof(*e->v), by_text);
    }
    for (size_t k = 0; ok && k < 2 * e->n; k++) {
        size_t i = k % e->n;
        const struct entry *x = &e->v[i];
        if (x->last != (k >= e->n) || (i && !compare(x - 1, x))) {
            continue;
        }
        ok = textbuf_printf(b, "%s", prefix) &&
             (x->text ? textbuf_printable(b, x->text, x->value)
                      : textbuf_printf(b, "%zu", x->value)) &&
             textbuf_printf(b, "\n");
    }
    return ok;
}

/* Puts one list, each name after `prefix'; *any becomes true if there are some. */
static int put_list(struct textbuf *b, struct ctr_trace *tr, const struct list_request *r,
                    enum list_what what, const char *prefix, bool *any,
                    struct ctr_diag *diag)
{
    struct entries e = {0};
    int status = collect(&e, tr, r, what, diag);

    *any = *any || e.n;
    if (!put_entries(b, &e, prefix)) {
        status = DUMP_STOP_NOMEM;
    }
    entries_fini(&e);
    return status;
}

static int put_moments(struct textbuf *b, struct ctr_trace *tr,
                       const struct list_request *r, struct ctr_diag *diag)
{
    static const struct {
        enum list_what what;
        const char *prefix;
    } named[] = {
        {LIST_MARKS, "mark:"}, {LIST_SYSCALLS, "syscall:"}, {LIST_FUNCTIONS, "call:"}};
    int status = 0;
    bool any = false;

    if (!textbuf_printf(b, "crash\nend\nmark:\nsyscall:\ncall:\n")) {
        return DUMP_STOP_NOMEM;
    }
    for (size_t i = 0; !status && i < sizeof(named) / sizeof(named[0]); i++) {
        status = put_list(b, tr, r, named[i].what, named[i].prefix, &any, diag);
    }
    return status;
}

static int nothing(const struct ctr_info *info, const struct list_request *r,
                   const struct dump_options *opt)
{
    const char *why = "";

    if (r->what == LIST_SYSCALLS && !(info->events & CTR_HAS_SYS)) {
        why = ": they were not recorded (-e sys)";
    } else if (r->what == LIST_TASKS && !(info->events & CTR_HAS_TASK)) {
        why = ": they were not recorded (-e task)";
    } else if (list_needs_modules(r->what)) {
        why = !modset_count(r->modset) ? ": the trace has no mappings of programs"
              : r->nr_modules ? ": see --list=modules for what --module can match"
                              : ": no file with symbols was found";
    }
    tool_error(opt->prog, "%s: no %s%s", opt->path, words[r->what], why);
    return TOOL_NOTHING;
}

int list_write(struct ctr_trace *tr, const struct list_request *r,
               const struct dump_options *opt)
{
    struct textbuf b = {0};
    struct ctr_info info;
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    bool any = r->what == LIST_MOMENTS;
    int status, ret, sys_errno = 0;

    ctr_trace_info(tr, &info);
    if (info.state == CTR_STREAMING) {
        tool_error(opt->prog, "--list needs a file, not a stream");
        return TOOL_FAILED;
    }
    status = r->what == LIST_MOMENTS ? put_moments(&b, tr, r, &diag)
                                     : put_list(&b, tr, r, r->what, "", &any, &diag);
    if (!status && !any) {
        return nothing(&info, r, opt);
    }
    ret = dump_write(b.data, b.len, &sys_errno);
    textbuf_fini(&b);
    return dump_replay_status(opt, ret ? ret : status, sys_errno, &diag);
}
