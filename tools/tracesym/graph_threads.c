/* SPDX-License-Identifier: MIT */
/* The flat profile of one thread, out of a call tree of all; see graph_priv.h. */
#include "graph_priv.h"

#include <errno.h>
#include <stdlib.h>

int graph_thread_init(struct calltree *out, const struct calltree *t, uint32_t i)
{
    size_t n = t->nr_functions + (size_t)1;

    *out = *t;
    out->threads = &t->threads[i];
    out->nr_threads = 1;
    out->functions = malloc(n * sizeof(*out->functions));
    out->older_functions = t->older ? calloc(n, sizeof(*out->older_functions)) : NULL;
    if (!out->functions || (t->older && !out->older_functions)) {
        graph_thread_fini(out);
        return -ENOMEM;
    }
    for (uint32_t k = 0; k < t->nr_functions; k++) {
        struct call_function *f = &out->functions[k];

        *f = t->functions[k];
        f->calls = 0;
        f->self = f->inclusive = (struct cost){0};
    }
    if (calltree_sum_functions(out)) {
        graph_thread_fini(out);
        return -ENOMEM;
    }
    return 0;
}

void graph_thread_fini(struct calltree *t)
{
    free(t->functions);
    free(t->older_functions);
    t->functions = NULL;
    t->older_functions = NULL;
}
