/* SPDX-License-Identifier: MIT */
/* tracesym --functions and --calls; see profile.h. */
#include "profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/textbuf.h"

static const char *const format_names[] = {
    [GRAPH_TEXT] = "text",     [GRAPH_FOLDED] = "folded", [GRAPH_CALLGRIND] = "callgrind",
    [GRAPH_CHROME] = "chrome", [GRAPH_SVG] = "svg",       [GRAPH_JSON] = "json"};
const struct words profile_format_words = WORDS_OF_STRINGS("format", format_names);

static const char *const cost_names[] = {
    [GRAPH_INSNS] = "insns", [GRAPH_LOADS] = "loads", [GRAPH_STORES] = "stores"};
const struct words profile_cost_words = WORDS_OF_STRINGS("cost", cost_names);

bool profile_parse_format(const char *text, enum graph_format *format)
{
    size_t i = words_find(&profile_format_words, text, strlen(text));

    *format = (enum graph_format)i;
    return i < profile_format_words.n;
}

bool profile_parse_cost(const char *text, enum graph_cost *cost)
{
    size_t i = words_find(&profile_cost_words, text, strlen(text));

    *cost = (enum graph_cost)i;
    return i < profile_cost_words.n;
}

/* The recorded command, for a title. */
static bool command_of(const struct ctr_trace *tr, struct textbuf *b)
{
    struct ctr_info info;
    bool ok = true;

    ctr_trace_info(tr, &info);
    for (int i = 0; ok && i < info.argc; i++) {
        ok = textbuf_printf(b, i ? " %s" : "%s", info.argv[i]);
    }
    return ok && textbuf_printf(b, "%c", 0);
}

/* Makes the tree; a format with the times of frames is written at the same time. */
static int make(struct calltree **t, struct ctr_trace *tr, const struct places *places,
                const struct profile_options *opt, struct calltree_options *tree,
                int *error)
{
    struct graph_chrome *chrome = NULL;
    int status;

    if (opt->graph.format == GRAPH_CHROME) {
        *error = graph_chrome_begin(&chrome, stdout, tree);
        if (*error) {
            return TOOL_OK;
        }
    }
    status = calltree_make(t, tr, opt->path, places, tree);
    if (chrome) {
        *error = graph_chrome_end(chrome, *t);
    } else if (*t) {
        *error = graph_write(*t, &opt->graph, stdout);
    }
    return status;
}

int profile_write(struct ctr_trace *tr, const struct places *places,
                  const struct profile_options *opt)
{
    struct calltree_options tree = opt->tree;
    struct profile_options o = *opt;
    struct calltree *t = NULL;
    struct textbuf title = {0};
    struct ctr_info info;
    int error = 0, status;

    ctr_trace_info(tr, &info);
    if (!command_of(tr, &title)) {
        tool_error(PROG, "out of memory");
        return TOOL_FAILED;
    }
    o.graph.title = title.data;
    graph_wants(&o.graph, &tree);
    tree.accesses |= o.graph.functions;
    tree.accesses &= !o.no_accesses && info.events & CTR_HAS_MEM;
    status = make(&t, tr, places, &o, &tree, &error);
    calltree_free(t);
    textbuf_fini(&title);
    if (!error && fflush(stdout)) {
        error = -errno;
    }
    if (error == -EPIPE) {
        return PROFILE_CUT_SHORT;
    }
    if (error) {
        tool_error(PROG, "%s: %s", o.out ? o.out : "standard output", strerror(-error));
        return TOOL_FAILED;
    }
    return status;
}
