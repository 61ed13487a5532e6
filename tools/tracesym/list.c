/* SPDX-License-Identifier: MIT */
/*
 * tracesym --list; see list.h.  It reads the tables of the trace and the symbols of its
 * modules, no instruction, so that a shell can call it for each key.
 */
#include "list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/options.h"
#include "input/comm.h"
#include "site.h"

static const char *const words[] = {
    [LIST_FUNCTIONS] = "functions", [LIST_MODULES] = "modules",
    [LIST_MOMENTS] = "moments",     [LIST_PROCESSES] = "processes",
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
    return what == LIST_FUNCTIONS || what == LIST_MODULES || what == LIST_MOMENTS;
}

/* A name that is not terminated, or a number if there is no text. */
struct entry {
    const char *text;
    size_t value; /* length of the text, or the number */
};

struct entries {
    struct entry *v;
    size_t n, cap;
};

static bool add(struct entries *e, const char *text, size_t value)
{
    if (!array_reserve(&e->v, &e->cap, e->n + 1, sizeof(*e->v))) {
        return false;
    }
    e->v[e->n++] = (struct entry){text, value};
    return true;
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

static bool collect(struct entries *e, const struct ctr_trace *tr,
                    const struct list_request *r, const struct comm_table *names)
{
    bool ok = true;

    if (!list_needs_modules(r->what)) {
        return add_ids(e, tr, r->what == LIST_THREADS) &&
               (!names || add_names(e, names, tr));
    }
    for (uint32_t i = 0; ok && i < modset_count(r->modset); i++) {
        const struct module *m = modset_module(r->modset, i);
        if (r->nr_modules && !module_matches(m, r->modules, r->nr_modules)) {
            continue;
        }
        ok = r->what == LIST_MODULES ? add(e, m->name, strlen(m->name))
                                     : add_functions(e, m);
    }
    return ok;
}

/* ------------------------------------------------------------------------ output */

static bool print(struct textbuf *b, const struct entries *e, enum list_what what)
{
    static const char moments[] = "crash\nend\nmark:\nsyscall:\n";
    bool ok = what != LIST_MOMENTS || textbuf_printf(b, "%s", moments);

    for (size_t i = 0; ok && i < e->n; i++) {
        const struct entry *x = &e->v[i];
        if (i && !compare(x - 1, x)) {
            continue;
        }
        ok = (what != LIST_MOMENTS || textbuf_printf(b, "call:")) &&
             (x->text ? textbuf_printable(b, x->text, x->value)
                      : textbuf_printf(b, "%zu", x->value)) &&
             textbuf_printf(b, "\n");
    }
    return ok;
}

static int nothing(const struct list_request *r, const struct dump_options *opt)
{
    const char *why = "";

    if (list_needs_modules(r->what)) {
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
    struct entries e = {0};
    struct textbuf b = {0};
    struct ctr_info info;
    struct ctr_diag diag;
    struct comm_table *names = NULL;
    int status, sys_errno = 0;

    ctr_trace_info(tr, &info);
    if (info.state == CTR_STREAMING) {
        tool_error(opt->prog, "--list needs a file, not a stream");
        return TOOL_FAILED;
    }
    if (!list_needs_modules(r->what) && comm_load(&names, tr, &diag)) {
        names = NULL; /* damaged: there still are the ids */
    }
    if (!collect(&e, tr, r, names)) {
        status = DUMP_STOP_NOMEM;
    } else if (!e.n && r->what != LIST_MOMENTS) {
        comm_free(names);
        return nothing(r, opt);
    } else {
        if (e.n) {
            qsort(e.v, e.n, sizeof(*e.v), compare);
        }
        status = print(&b, &e, r->what) ? dump_write(b.data, b.len, &sys_errno)
                                        : DUMP_STOP_NOMEM;
    }
    free(e.v);
    comm_free(names);
    textbuf_fini(&b);
    return dump_replay_status(opt, status, sys_errno, NULL);
}
