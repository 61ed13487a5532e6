/* SPDX-License-Identifier: MIT */
/*
 * One line "a;b;c COST" for each call path with self cost, for flame graph programs; of two
 * traces "a;b;c OLDER COST", as difffolded.pl writes them.  See graph.h.
 */
#include "graph_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/textbuf.h"

/* Appends a name to the path, without the separators of names and lines. */
static bool push_name(struct textbuf *path, const char *name)
{
    size_t n = strlen(name);
    char *p = textbuf_reserve(path, n + 1);

    if (!p) {
        return false;
    }
    *p++ = ';';
    for (size_t i = 0; i < n; i++) {
        *p++ = name[i] == ';' ? ':' : text_is_control(name, i, n) ? '?' : name[i];
    }
    textbuf_commit(path, p);
    return true;
}

int graph_folded(const struct calltree *t, const struct graph_options *opt, FILE *out)
{
    struct textbuf path = {0};
    size_t *ends = malloc((t->nr_nodes + (size_t)1) * sizeof(*ends)); /* by depth */
    struct graph_walk w;
    int ret = ends ? graph_walk_init(&w, t, false, opt->cost) : -ENOMEM;

    if (ret) {
        free(ends);
        return ret;
    }
    while (graph_walk_ok(&w)) {
        const struct call_node *n = &t->nodes[w.node];
        struct graph_amount self = graph_self(t, w.node, opt->cost);

        path.len = w.depth ? ends[w.depth - 1] : 0;
        if (!push_name(&path, t->functions[n->function].name)) {
            ret = -ENOMEM;
            break;
        }
        ends[w.depth] = path.len;
        if (self.sum) {
            fwrite(path.data + 1, 1, path.len - 1, out);
            if (t->older) {
                fprintf(out, " %" PRIu64, self.older);
            }
            fprintf(out, " %" PRIu64 "\n", self.now);
        }
        graph_walk_next(&w, true);
    }
    graph_walk_fini(&w);
    textbuf_fini(&path);
    free(ends);
    return ret ? ret : graph_finish(out);
}
