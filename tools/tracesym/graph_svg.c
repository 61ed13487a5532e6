/* SPDX-License-Identifier: MIT */
/*
 * A flame graph as one SVG file: the width of a frame is its inclusive cost (of two traces
 * the sum of both, so that what is gone has a width), callers are below their callees, or
 * above them, the most expensive callee is on the left.  A script inside lets a browser zoom
 * into a frame and search; the picture is complete without it.
 *
 * Mostly the graph begins with a chain of frames that have nearly the whole cost, from the
 * process to main and further.  The picture is that of the last one, the focus, in the whole
 * width; one frame replaces the others.  All frames are in the file: those of the chain as
 * class `base', those that are not above the focus as class `gone'.
 */
#include "graph_svg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MIN_WIDTH 0.15 /* narrower siblings share one frame */
#define NEARLY_ALL 95u /* percentage that frames of the base must have */
#define MIN_CHAIN 3u   /* shorter ones are not folded */
#define MAX_LISTED 40u /* folded frames that a title lists */

/* The chain of frames with nearly the whole cost. */
struct chain {
    uint32_t *nodes; /* by depth, the focus last */
    uint32_t n;      /* 0: nothing is folded */
};

struct layout {
    struct svg svg;
    const struct calltree *t;
    const struct graph_options *opt;
    struct chain chain;
    uint64_t all;         /* that percentages are of */
    uint64_t scale;       /* cost that has the whole width */
    uint64_t focus_start; /* cost to the left of the focus */
    uint32_t rows;        /* of the whole graph */
    uint32_t focus_rows;  /* up to the deepest frame of the focus */
};

/* A frame's place; costs from the left end of the graph. */
struct box {
    uint64_t start;
    struct graph_amount cost;
    uint32_t depth;
    const char *class; /* after "f" */
    bool focus;
};

/* One colour per module, slightly different for each of its functions. */
static void write_colour(FILE *out, const struct call_function *f)
{
    uint32_t hash = 2166136261u; /* FNV-1a, 32 bits */

    for (const char *p = f->name; *p; p++) {
        hash = (hash ^ (unsigned char)*p) * 16777619u;
    }
    if (f->kind != CALL_FUNCTION) {
        fputs("hsl(0,0%,75%)", out);
        return;
    }
    fprintf(out, "hsl(%u,%u%%,%u%%)",
            f->module ? (30 + f->module->index * 67) % 360 : 300, 55 + hash % 25,
            62 + (hash >> 8) % 12);
}

/* -------------------------------------------------------------------- frames */

static double width_of(const struct layout *l, uint64_t cost)
{
    return l->scale ? (double)cost / (double)l->scale * SVG_WIDTH : 0;
}

static double x_of(const struct layout *l, uint64_t start)
{
    return start < l->focus_start ? -width_of(l, l->focus_start - start)
                                  : width_of(l, start - l->focus_start);
}

/* y in the graph without a folded base. */
static unsigned y_of(const struct layout *l, uint32_t depth)
{
    return SVG_TOP + (l->opt->icicle ? depth : l->rows - 1 - depth) * SVG_ROW;
}

/* Costs and their shares, for a title. */
static void write_costs(struct layout *l, struct graph_amount a, uint32_t parent)
{
    FILE *out = l->svg.out;
    enum graph_cost cost = l->opt->cost;

    fprintf(out, ": %" PRIu64 " %s, %.2f%% of all", a.now, graph_cost_word(cost),
            graph_percent(a.now, graph_all(l->t, cost).now));
    if (parent != SYM_NONE) {
        fprintf(out, ", %.2f%% of parent",
                graph_percent(a.now, graph_inclusive(l->t, parent, cost).now));
    }
    if (l->t->older) {
        bool more = a.now >= a.older;

        fprintf(out, ", before %" PRIu64 ", difference %s%" PRIu64, a.older,
                a.now == a.older ? ""
                : more           ? "+"
                                 : "-",
                more ? a.now - a.older : a.older - a.now);
    }
}

static void write_title(struct layout *l, uint32_t node)
{
    const struct call_node *n = &l->t->nodes[node];
    const struct call_function *f = &l->t->functions[n->function];
    FILE *out = l->svg.out;

    svg_text(&l->svg, f->name, SIZE_MAX);
    if (f->module && f->kind == CALL_FUNCTION) {
        fputs(" [", out);
        svg_text(&l->svg, f->module->name, SIZE_MAX);
        fputc(']', out);
    }
    write_costs(l, graph_inclusive(l->t, node, l->opt->cost), n->parent);
    if (!l->opt->inverted) {
        fprintf(out, ", self %" PRIu64, graph_cost_of(&n->self, l->opt->cost));
    }
    if (n->calls) {
        fprintf(out, ", %" PRIu64 " call%s", n->calls, n->calls == 1 ? "" : "s");
    }
}

/* A frame with a name that is shortened to fit; the title was written. */
static void write_rect(struct layout *l, const struct box *b,
                       const struct call_function *f, const char *name)
{
    double x = x_of(l, b->start), width = width_of(l, b->cost.sum);
    unsigned y = y_of(l, b->depth);
    FILE *out = l->svg.out;

    fprintf(out, "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"",
            x, y, width, SVG_ROW - 1);
    if (l->t->older) {
        svg_change_colour(out, (double)b->cost.now, (double)b->cost.older);
    } else if (f) {
        write_colour(out, f);
    } else {
        fputs("hsl(0,0%,85%)", out);
    }
    fprintf(out, "\"/><text x=\"%.2f\" y=\"%u\">", x + 3, y + SVG_ROW - 5);
    if (width > 3 * SVG_CHAR_WIDTH) {
        svg_text(&l->svg, name, (size_t)((width - 6) / SVG_CHAR_WIDTH));
    }
    fputs("</text></g>\n", out);
}

static void write_frame(struct layout *l, const struct box *b, uint32_t node)
{
    const struct call_function *f = &l->t->functions[l->t->nodes[node].function];

    fprintf(l->svg.out, "<g class=\"f%s\"%s><title>", b->class,
            b->focus ? " id=\"focus\"" : "");
    write_title(l, node);
    write_rect(l, b, f, f->name);
}

/* One frame for `count' siblings that are too narrow. */
static void write_others(struct layout *l, const struct box *b, uint32_t parent,
                         uint32_t count)
{
    char name[32];

    snprintf(name, sizeof(name), "(%" PRIu32 " other%s)", count, count == 1 ? "" : "s");
    fprintf(l->svg.out, "<g class=\"f others%s\"><title>%s", b->class, name);
    write_costs(l, b->cost, parent);
    write_rect(l, b, NULL, name);
}

/* "a > b > c", enough for the width of the picture. */
static void write_fold_names(struct layout *l, uint32_t n)
{
    struct textbuf names = {0};
    bool ok = true;

    for (uint32_t i = 0; ok && i < n && names.len < 4 * (size_t)SVG_WIDTH; i++) {
        const struct call_node *node = &l->t->nodes[l->chain.nodes[i]];

        ok = textbuf_printf(&names, i ? " > %s" : "%s",
                            l->t->functions[node->function].name);
    }
    if (ok && textbuf_printf(&names, "%c", 0)) {
        svg_text(&l->svg, names.data, (size_t)((SVG_WIDTH - 6) / SVG_CHAR_WIDTH));
    } else {
        l->svg.nomem = true;
    }
    textbuf_fini(&names);
}

/* The frame that replaces the base while it is folded: all but the last of the chain. */
static void write_fold(struct layout *l)
{
    uint32_t n = l->chain.n - 1;
    unsigned y = y_of(l, n - 1);
    FILE *out = l->svg.out;

    fprintf(out,
            "<g id=\"fold\"><title>%" PRIu32
            " folded frames; a click shows all of the graph",
            n);
    for (uint32_t i = 0; i < n && i < MAX_LISTED; i++) {
        fputc('\n', out);
        write_title(l, l->chain.nodes[i]);
    }
    fprintf(out,
            "%s</title><rect x=\"0\" y=\"%u\" width=\"%g\" height=\"%u\" "
            "fill=\"hsl(0,0%%,85%%)\"/><text x=\"3\" y=\"%u\">",
            n > MAX_LISTED ? "\n..." : "", y, SVG_WIDTH, SVG_ROW - 1, y + SVG_ROW - 5);
    write_fold_names(l, n);
    fputs("</text></g>\n", out);
}

/* -------------------------------------------------------------------- layout */

/* The node of the list that has nearly the whole cost, or SYM_NONE. */
static uint32_t nearly_all(const struct layout *l, uint32_t first)
{
    uint64_t whole = graph_total(l->t, l->opt->cost).sum;

    for (uint32_t i = first; i != SYM_NONE; i = l->t->nodes[i].next) {
        uint64_t part = graph_inclusive(l->t, i, l->opt->cost).sum;

        if (part && graph_percent(part, whole) >= NEARLY_ALL &&
            graph_percent(part, l->all) >= l->opt->min_percent) {
            return i;
        }
    }
    return SYM_NONE;
}

/* Finds the chain; false: no memory. */
static bool find_chain(struct layout *l)
{
    struct chain *c = &l->chain;
    uint32_t at = SYM_NONE;

    c->nodes = malloc((l->t->nr_nodes + (size_t)1) * sizeof(*c->nodes));
    for (uint32_t i = 0; c->nodes && at == SYM_NONE && i < l->t->nr_threads; i++) {
        at = nearly_all(l, l->t->threads[i].root);
    }
    while (c->nodes && at != SYM_NONE &&
           (!l->opt->max_depth || c->n <= l->opt->max_depth)) {
        c->nodes[c->n++] = at;
        at = nearly_all(l, l->t->nodes[at].first_child);
    }
    c->n = c->n < MIN_CHAIN ? 0 : c->n;
    return c->nodes;
}

/* Whether a frame is drawn, and not one of those that share a frame. */
static bool wide_enough(const struct layout *l, uint64_t cost)
{
    return width_of(l, cost) >= MIN_WIDTH &&
           (!l->opt->min_percent || graph_percent(cost, l->all) >= l->opt->min_percent);
}

/* A walk over the frames; draw: else only the rows are counted. */
struct pass {
    struct layout *l;
    struct graph_walk w;
    uint64_t *starts;  /* for each depth, the start of the next frame there */
    uint32_t in_focus; /* depth of the focus + 1 while in it, or 0 */
    bool draw;
};

/* Completes the class of a box and counts its row. */
static void place(struct pass *p, struct box *b, uint32_t node)
{
    struct layout *l = p->l;
    const struct chain *c = &l->chain;
    uint32_t row = b->depth + 1;

    b->class = "";
    if (b->depth < p->in_focus) {
        p->in_focus = 0;
    }
    if (c->n && b->depth < c->n && c->nodes[b->depth] == node) {
        b->focus = b->depth == c->n - 1;
        b->class = b->focus ? "" : " base";
    } else if (c->n && !p->in_focus) {
        b->class = " gone";
    }
    if (b->focus) {
        p->in_focus = row;
        l->focus_start = b->start;
    }
    l->rows = row > l->rows ? row : l->rows;
    l->focus_rows = p->in_focus && row > l->focus_rows ? row : l->focus_rows;
}

/* Handles a node and the siblings after it, which are too narrow. */
static void pass_others(struct pass *p)
{
    uint32_t parent = p->l->t->nodes[p->w.node].parent;
    struct box b = {.start = p->starts[p->w.depth], .depth = p->w.depth};
    uint32_t count = graph_walk_skip(&p->w, p->l->opt->cost, &b.cost);

    if (b.cost.sum) {
        place(p, &b, SYM_NONE);
        if (p->draw) {
            write_others(p->l, &b, parent, count);
        }
    }
    graph_walk_next(&p->w, false);
}

static void pass_frame(struct pass *p)
{
    const struct graph_options *opt = p->l->opt;
    uint32_t depth = p->w.depth;
    struct box b = {.start = p->starts[depth],
                    .cost = graph_inclusive(p->l->t, p->w.node, opt->cost),
                    .depth = depth};

    place(p, &b, p->w.node);
    if (p->draw) {
        write_frame(p->l, &b, p->w.node);
    }
    p->starts[depth + 1] = p->starts[depth];
    p->starts[depth] += b.cost.sum;
    graph_walk_next(&p->w, !opt->max_depth || depth < opt->max_depth);
}

/* The roots are in the order of the trace: those that are too narrow come last. */
static void pass_small_roots(struct pass *p)
{
    struct layout *l = p->l;
    struct box b = {.start = p->starts[0]};
    uint32_t count = 0;

    for (uint32_t i = 0; i < l->t->nr_threads; i++) {
        struct graph_amount a =
            graph_inclusive(l->t, l->t->threads[i].root, l->opt->cost);

        if (!wide_enough(l, a.sum)) {
            b.cost.now += a.now;
            b.cost.older += a.older;
            b.cost.sum += a.sum;
            count++;
        }
    }
    if (b.cost.sum) {
        place(p, &b, SYM_NONE);
        if (p->draw) {
            write_others(l, &b, SYM_NONE, count);
        }
    }
}

static int pass(struct layout *l, bool draw)
{
    struct pass p = {.l = l, .draw = draw};
    int ret = graph_walk_init(&p.w, l->t, true, l->opt->cost);

    p.starts = calloc(l->t->nr_nodes + (size_t)2, sizeof(*p.starts));
    if (!ret && !p.starts) {
        ret = -ENOMEM;
    }
    while (!ret && graph_walk_ok(&p.w)) {
        bool enough = wide_enough(l, graph_inclusive(l->t, p.w.node, l->opt->cost).sum);

        if (enough) {
            pass_frame(&p);
        } else if (p.w.depth) {
            pass_others(&p);
        } else {
            graph_walk_next(&p.w, false);
        }
    }
    if (!ret) {
        pass_small_roots(&p);
    }
    graph_walk_fini(&p.w);
    free(p.starts);
    return ret;
}

/* -------------------------------------------------------------------- page */

static struct svg_page page_of(const struct layout *l)
{
    uint64_t total = graph_total(l->t, l->opt->cost).sum;
    uint32_t hidden = l->chain.n ? l->chain.n - 2 : 0; /* rows of the folded base */
    uint32_t rows = l->chain.n ? l->focus_rows - hidden : l->rows;
    uint32_t above = l->chain.n ? l->rows - l->focus_rows : 0;

    return (struct svg_page){
        .height = SVG_TOP + l->rows * SVG_ROW + SVG_BOTTOM,
        .folded_height = SVG_TOP + rows * SVG_ROW + SVG_BOTTOM,
        .shift = -(int)((l->opt->icicle ? hidden : above) * SVG_ROW),
        .x = x_of(l, 0),
        .width = width_of(l, total),
        .folded = l->chain.n ? l->chain.n - 1 : 0,
        .outside = graph_percent(total - l->scale, total),
    };
}

int graph_svg(const struct calltree *t, const struct graph_options *opt, FILE *out)
{
    struct layout l = {.svg = {.out = out}, .t = t, .opt = opt, .rows = 1};
    struct svg_page page;
    int ret = -ENOMEM;

    l.all = graph_all(t, opt->cost).sum;
    l.scale = graph_total(t, opt->cost).sum;
    if (find_chain(&l)) {
        if (l.chain.n) {
            l.scale = graph_inclusive(t, l.chain.nodes[l.chain.n - 1], opt->cost).sum;
        }
        ret = pass(&l, false);
    }
    if (!ret) {
        page = page_of(&l);
        svg_begin(&l.svg, t, opt, &page);
        ret = pass(&l, true);
        if (l.chain.n) {
            write_fold(&l);
        }
        svg_end(&l.svg);
    }
    free(l.chain.nodes);
    textbuf_fini(&l.svg.text);
    return ret ? ret : l.svg.nomem ? -ENOMEM : graph_finish(out);
}
