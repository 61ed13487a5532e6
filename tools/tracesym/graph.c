/* SPDX-License-Identifier: MIT */
/* The table of formats; see graph.h. */
#include "graph_priv.h"

void graph_wants(const struct graph_options *opt, struct calltree_options *tree)
{
    tree->accesses = opt->functions || opt->cost != GRAPH_INSNS ||
                     opt->format == GRAPH_JSON || opt->format == GRAPH_CALLGRIND;
    if (opt->format == GRAPH_CALLGRIND) {
        tree->edges = true;
        tree->lines = true;
    }
}

int graph_write(const struct calltree *t, const struct graph_options *opt, FILE *out)
{
    switch (opt->format) {
    case GRAPH_TEXT:
        return opt->functions ? graph_functions(t, opt, out) : graph_text(t, opt, out);
    case GRAPH_FOLDED:
        return graph_folded(t, opt, out);
    case GRAPH_CALLGRIND:
        return graph_callgrind(t, opt, out);
    case GRAPH_SVG:
        return graph_svg(t, opt, out);
    case GRAPH_JSON:
        return graph_json(t, opt, out);
    case GRAPH_CHROME:
        break; /* written while the tree was made */
    }
    return 0;
}
