/* SPDX-License-Identifier: MIT */
/* Call trees and flat profiles, one JSON object per line; see graph.h. */
#include "graph_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/textbuf.h"

static const char *const kind_names[] = {
    [CALL_FUNCTION] = "function",
    [CALL_THREAD] = "thread",
    [CALL_SIGNAL] = "signal",
    [CALL_EXCEPTION] = "exception",
};

/* "function": ..., "kind": ..., and its place. */
static bool add_function(struct textbuf *b, const struct call_function *f)
{
    bool ok =
        textbuf_printf(b, "\"kind\": \"%s\", \"function\": ", kind_names[f->kind]) &&
        textbuf_json_string(b, f->name, strlen(f->name)) &&
        textbuf_printf(b, ", \"module\": ");

    if (f->module) {
        ok = ok && textbuf_json_string(b, f->module->path, strlen(f->module->path)) &&
             textbuf_printf(b, ", \"address\": \"0x%" PRIx64 "\"", f->vaddr);
    } else {
        ok = ok && textbuf_printf(b, "null");
    }
    return ok;
}

/* The costs of one trace, the names with a prefix; accesses: of any node. */
static bool add_costs(struct textbuf *b, const char *prefix, bool accesses,
                      uint64_t calls, const struct cost *self,
                      const struct cost *inclusive)
{
    bool ok = textbuf_printf(
        b,
        ", \"%scalls\": %" PRIu64 ", \"%sself\": %" PRIu64 ", \"%sinclusive\": %" PRIu64,
        prefix, calls, prefix, self->insns, prefix, inclusive->insns);

    if (accesses) {
        ok = ok &&
             textbuf_printf(b,
                            ", \"%sself_loads\": %" PRIu64 ", \"%sself_stores\": %" PRIu64
                            ", \"%sinclusive_loads\": %" PRIu64
                            ", \"%sinclusive_stores\": %" PRIu64,
                            prefix, self->loads, prefix, self->stores, prefix,
                            inclusive->loads, prefix, inclusive->stores);
    }
    return ok;
}

static bool add_older(struct textbuf *b, const struct calltree *t,
                      const struct call_older *o)
{
    return !o || add_costs(b, "older_", graph_has_accesses(t), o->calls, &o->self,
                           &o->inclusive);
}

static bool write_line(struct textbuf *b, FILE *out)
{
    if (!textbuf_printf(b, "}\n")) {
        return false;
    }
    fwrite(b->data, 1, b->len, out);
    b->len = 0;
    return true;
}

/* "thread": the only root of the tree, and its ids if it is one thread. */
static bool add_thread(struct textbuf *b, const struct calltree *t, bool threads)
{
    const char *name = graph_thread_name(t, 0);
    const struct ctr_thread *th =
        t->older || !threads ? NULL : ctr_trace_thread(t->trace, t->threads[0].thread);
    bool ok = textbuf_printf(b, "\"thread\": ") &&
              textbuf_json_string(b, name, strlen(name)) && textbuf_printf(b, ", ");

    return ok &&
           (!th || textbuf_printf(b, "\"pid\": %d, \"tid\": %d, ", th->pid, th->tid));
}

static bool write_functions(const struct calltree *t, const struct graph_options *opt,
                            struct textbuf *b, FILE *out)
{
    const struct call_function **list;
    size_t n;
    bool ok = !graph_by_self(t, opt, &list, &n);

    if (!ok) {
        return false;
    }
    for (size_t i = 0; ok && i < n; i++) {
        ok = textbuf_printf(b, "{") &&
             (!opt->by_thread || add_thread(b, t, !opt->roots)) &&
             add_function(b, list[i]) &&
             add_costs(b, "", graph_has_accesses(t), list[i]->calls, &list[i]->self,
                       &list[i]->inclusive) &&
             add_older(b, t, t->older ? &t->older_functions[list[i]->index] : NULL) &&
             write_line(b, out);
    }
    free(list);
    return ok;
}

/* The functions of each root by itself. */
static bool write_threads(const struct calltree *t, const struct graph_options *opt,
                          struct textbuf *b, FILE *out)
{
    bool ok = true;

    for (uint32_t i = 0; ok && i < t->nr_threads; i++) {
        struct calltree one;

        ok = !graph_thread_init(&one, t, i);
        if (ok) {
            ok = write_functions(&one, opt, b, out);
            graph_thread_fini(&one);
        }
    }
    return ok;
}

static bool write_tree(const struct calltree *t, const struct graph_options *opt,
                       struct textbuf *b, FILE *out)
{
    struct graph_walk w;
    bool ok = !graph_walk_init(&w, t, false, opt->cost);

    for (; ok && graph_walk_ok(&w); graph_walk_next(&w, true)) {
        const struct call_node *n = &t->nodes[w.node];

        ok = textbuf_printf(b, "{\"node\": %" PRIu32 ", \"parent\": ", w.node) &&
             (n->parent == SYM_NONE ? textbuf_printf(b, "null")
                                    : textbuf_printf(b, "%" PRIu32, n->parent)) &&
             textbuf_printf(b, ", \"depth\": %" PRIu32 ", ", w.depth) &&
             add_function(b, &t->functions[n->function]) &&
             add_costs(b, "", graph_has_accesses(t), n->calls, &n->self, &n->inclusive) &&
             add_older(b, t, t->older ? &t->older[w.node] : NULL) && write_line(b, out);
    }
    graph_walk_fini(&w);
    return ok;
}

int graph_json(const struct calltree *t, const struct graph_options *opt, FILE *out)
{
    struct textbuf b = {0};
    bool ok = !opt->functions  ? write_tree(t, opt, &b, out)
              : opt->by_thread ? write_threads(t, opt, &b, out)
                               : write_functions(t, opt, &b, out);

    textbuf_fini(&b);
    return ok ? graph_finish(out) : -ENOMEM;
}
