/* SPDX-License-Identifier: MIT */
/* Collects the calls of chosen functions from the spans of a call tree; see call_list.h. */
#include "call_list.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/options.h"
#include "nothing.h"
#include "prog.h"
#include "query/function_pattern.h"
#include "state/prototypes.h"

/* Calls of a thread that ended by a jump to another function, or have just ended. */
#define MAX_WAITING 16u

struct waiting {
    size_t call[MAX_WAITING]; /* index + 1 */
    unsigned next;
};

struct collector {
    struct call_list *list;
    size_t cap;
    const char *const *patterns;
    unsigned nr_patterns;
    uint8_t *chosen; /* by function: 0 not known yet, else enum call_match + 1 */
    size_t nr_chosen;
    struct waiting *waiting; /* by thread or task */
    size_t nr_waiting;
    bool no_memory;
};

/* Whether a pattern matches the name of a stub without its "@plt". */
static bool matches_stub(const char *pattern, const char *name)
{
    size_t n = strcspn(name, "@");
    char bare[256];

    if (n >= sizeof(bare)) {
        return false;
    }
    memcpy(bare, name, n);
    bare[n] = 0;
    return sym_name_matches(pattern, bare, bare);
}

static bool is_named(const char *name, const struct call_function *f)
{
    if (!f->symbol) { /* "app+0x1234": not what "a*" means */
        return (strchr(name, '+') || !strncmp(name, "0x", 2)) &&
               !fnmatch(name, f->name, 0);
    }
    if (call_is_stub(f) && !strchr(name, '@')) {
        return matches_stub(name, f->symbol->name);
    }
    return f->symbol->ifunc ? symfile_names_code(f->module->file, f->symbol, name)
                            : symfile_function_matches(f->module->file, f->symbol, name);
}

enum call_match call_match(const char *pattern, const struct call_function *f)
{
    struct function_pattern p;

    if (f->kind != CALL_FUNCTION || !function_pattern_split(pattern, &p) ||
        !function_pattern_is_module(&p, f->module) ||
        !function_pattern_is_source(&p, f->module, f->symbol)) {
        return CALL_OTHER;
    }
    if (is_named(p.name, f)) {
        return CALL_NAMED;
    }
    return f->symbol && prototype_is_variant(f->symbol->linkage, p.name) ? CALL_VARIANT
                                                                         : CALL_OTHER;
}

/* How the patterns mean a function. */
static enum call_match chosen(struct collector *c, const struct calltree *t,
                              uint32_t function)
{
    uint8_t *known;

    if (!array_reserve_zeroed(&c->chosen, &c->nr_chosen, function + (size_t)1,
                              sizeof(*c->chosen))) {
        c->no_memory = true;
        return CALL_OTHER;
    }
    known = &c->chosen[function];
    if (!*known) {
        enum call_match how = CALL_OTHER;
        for (unsigned i = 0; i < c->nr_patterns && how != CALL_NAMED; i++) {
            enum call_match one = call_match(c->patterns[i], &t->functions[function]);
            how = one > how ? one : how;
        }
        *known = (uint8_t)(how + 1);
    }
    return *known - 1;
}

/* The number of the stack that a frame is on. */
static uint32_t stack_of(const struct call_span *s)
{
    return s->task ? s->task->number : s->thread;
}

/* A span that begins where another one of the same depth ended: that function jumped to
 * this one, which returns to its caller.  If this one is listed, a stub before it is not.
 * Returns whether there is such a stub. */
static bool extend(struct collector *c, const struct call_span *s, bool listed)
{
    const struct waiting *w = &c->waiting[stack_of(s)];
    bool stub = false;

    if (s->uncalled && s->opened == s->from && s->opened_thread == s->from_thread) {
        return false;
    }
    for (unsigned i = 0; i < MAX_WAITING; i++) {
        struct call *before = w->call[i] ? &c->list->v[w->call[i] - 1] : NULL;
        if (before && before->depth == s->depth && before->to.ordinal == s->from &&
            before->to.thread == s->from_thread) {
            before->to = (struct instant){s->thread, s->to};
            before->insns += s->insns;
            before->open = s->open;
            before->paused |= s->paused;
            before->gone |= listed && before->stub;
            stub |= before->stub;
        }
    }
    return stub;
}

static int on_span(void *arg, const struct calltree *t, const struct call_span *s)
{
    struct collector *c = arg;
    struct call_list *l = c->list;
    struct waiting *w;
    enum call_match how;
    bool stub;

    if (!array_reserve_zeroed(&c->waiting, &c->nr_waiting, stack_of(s) + (size_t)1,
                              sizeof(*c->waiting))) {
        c->no_memory = true;
        return 1;
    }
    how = chosen(c, t, s->function);
    stub = extend(c, s, how == CALL_NAMED);
    if (how == CALL_OTHER || (how == CALL_VARIANT && stub) || s->running) {
        return c->no_memory;
    }
    if (!array_reserve(&l->v, &c->cap, l->n + 1, sizeof(*l->v))) {
        c->no_memory = true;
        return 1;
    }
    l->v[l->n++] = (struct call){.function = s->function,
                                 .depth = s->depth,
                                 .from = {s->from_thread, s->from},
                                 .opened = {s->opened_thread, s->opened},
                                 .to = {s->thread, s->to},
                                 .insns = s->insns,
                                 .uncalled = s->uncalled,
                                 .open = s->open,
                                 .paused = s->paused,
                                 .stub = call_is_stub(&t->functions[s->function]),
                                 .from_ns = s->from_ns,
                                 .in_task = s->task != NULL};
    if (s->task) {
        l->v[l->n - 1].task = *s->task;
    }
    w = &c->waiting[stack_of(s)];
    w->call[w->next++ % MAX_WAITING] = l->n;
    return 0;
}

static void remove_gone(struct call_list *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++) {
        if (!l->v[i].gone) {
            l->v[n++] = l->v[i];
        }
    }
    l->n = n;
}

static int by_time(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->from_ns != y->from_ns) {
        return x->from_ns < y->from_ns ? -1 : 1;
    }
    if (x->from.thread != y->from.thread) {
        return x->from.thread < y->from.thread ? -1 : 1;
    }
    return x->from.ordinal != y->from.ordinal
               ? (x->from.ordinal < y->from.ordinal ? -1 : 1)
               : (x->depth > y->depth) - (x->depth < y->depth);
}

unsigned call_list_unmatched(const struct calltree *t, const char *path,
                             const struct places *places, const char *const *patterns,
                             unsigned nr_patterns)
{
    unsigned n = 0;

    for (unsigned i = 0; i < nr_patterns; i++) {
        bool ran = false;

        for (uint32_t k = 0; k < t->nr_functions && !ran; k++) {
            ran = call_match(patterns[i], &t->functions[k]) != CALL_OTHER;
        }
        if (!ran && !nothing_named(PROG, path, places, patterns[i], true)) {
            tool_error(PROG, "%s: '%s' was not called in what is selected", path,
                       patterns[i]);
        }
        n += !ran;
    }
    return n;
}

int call_list_make(struct call_list *out, struct ctr_trace *tr, const char *path,
                   const struct places *places, const struct calltree_options *tree,
                   const char *const *patterns, unsigned nr_patterns)
{
    struct collector c = {.list = out, .patterns = patterns, .nr_patterns = nr_patterns};
    struct calltree_options opt = *tree;
    int status;

    *out = (struct call_list){0};
    opt.span = on_span;
    opt.span_arg = &c;
    opt.span_min = 0;
    status = calltree_make(&out->tree, tr, path, places, &opt);
    if (c.no_memory) {
        tool_error(PROG, "%s: out of memory", path);
        status = TOOL_FAILED;
    }
    remove_gone(out);
    if (status != TOOL_FAILED && out->n > 1) {
        qsort(out->v, out->n, sizeof(*out->v), by_time);
    }
    free(c.chosen);
    free(c.waiting);
    return status;
}

void call_list_free(struct call_list *l)
{
    calltree_free(l->tree);
    free(l->v);
    *l = (struct call_list){0};
}
