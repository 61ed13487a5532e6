/* SPDX-License-Identifier: MIT */
/*
 * A flame graph as one SVG file: the width of a frame is its inclusive cost, callers are
 * below their callees, the most expensive callee is on the left.  A script inside lets a
 * browser zoom into a frame and search; the picture is complete without it.
 */
#include "graph_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/textbuf.h"

#define WIDTH 1200.0   /* of the graph */
#define ROW 18u        /* height of a frame */
#define TOP 58u        /* above the graph */
#define BOTTOM 34u     /* below it */
#define CHAR_WIDTH 7.0 /* of a letter, approximately */
#define MIN_WIDTH 0.15 /* narrower frames are left out */

struct svg {
    FILE *out;
    struct textbuf text; /* escaped, for write_text */
    bool nomem;
};

/* At most `max' characters of a name; a shortened one ends in "..". */
static void write_text(struct svg *s, const char *name, size_t max)
{
    size_t count = 0, cut = 0, n = 0;

    for (; name[n] && count <= max; n++) {
        if (((unsigned char)name[n] & 0xc0) != 0x80 && count++ + 2 == max) {
            cut = n;
        }
    }
    s->text.len = 0;
    if (!textbuf_markup(&s->text, name, count > max ? cut : n)) {
        s->nomem = true;
        return;
    }
    fwrite(s->text.data, 1, s->text.len, s->out);
    if (count > max) {
        fputs("..", s->out);
    }
}

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

struct box {
    double x, width;
    uint32_t depth;
};

static void write_frame(struct svg *s, const struct calltree *t,
                        const struct graph_options *opt, const struct call_node *n,
                        const struct box *b, uint32_t rows)
{
    const struct call_function *f = &t->functions[n->function];
    uint64_t part = graph_cost_of(&n->inclusive, opt->cost);
    FILE *out = s->out;
    unsigned y = TOP + (rows - 1 - b->depth) * ROW;

    fputs("<g class=\"f\"><title>", out);
    write_text(s, f->name, SIZE_MAX);
    if (f->module && f->kind == CALL_FUNCTION) {
        fputs(" [", out);
        write_text(s, f->module->name, SIZE_MAX);
        fputc(']', out);
    }
    fprintf(out, ": %" PRIu64 " (%.2f%%), self %" PRIu64, part,
            graph_percent(part, graph_cost_of(&t->total, opt->cost)),
            graph_cost_of(&n->self, opt->cost));
    if (n->calls) {
        fprintf(out, ", %" PRIu64 " call%s", n->calls, n->calls == 1 ? "" : "s");
    }
    fprintf(out, "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"",
            b->x, y, b->width, ROW - 1);
    write_colour(out, f);
    fprintf(out, "\"/><text x=\"%.2f\" y=\"%u\">", b->x + 3, y + ROW - 5);
    if (b->width > 3 * CHAR_WIDTH) {
        write_text(s, f->name, (size_t)((b->width - 6) / CHAR_WIDTH));
    }
    fputs("</text></g>\n", out);
}

static const char style[] = "<style>\n"
                            "svg { background: #fff; font: 12px monospace; }\n"
                            "text { fill: #111; }\n"
                            ".f { cursor: pointer; }\n"
                            ".f text { pointer-events: none; }\n"
                            ".f:hover rect { stroke: #000; }\n"
                            ".up { opacity: 0.5; }\n"
                            ".hit rect { fill: #e600e6; }\n"
                            ".gone { display: none; }\n"
                            "#title { font-size: 15px; }\n"
                            ".button { cursor: pointer; text-decoration: underline; }\n"
                            "@media (prefers-color-scheme: dark) {\n"
                            "  svg { background: #1b1b1b; }\n"
                            "  .label { fill: #ddd; }\n"
                            "  .f:hover rect { stroke: #fff; }\n"
                            "}\n"
                            "</style>\n";

/*
 * x and width of a frame are those of the picture without zoom; a zoom to one frame
 * stretches it to the whole width, and its callers stay below it.
 */
static const char script[] =
    "<script><![CDATA[\n"
    "'use strict';\n"
    "(function () {\n"
    "  const WIDTH = 1200, CHAR = 7;\n"
    "  const number = (e, name) => parseFloat(e.getAttribute(name));\n"
    "  const frames = Array.from(document.querySelectorAll('g.f'), g => {\n"
    "    const [title, rect, text] = g.children;\n"
    "    const name = title.textContent;\n"
    "    const label = name.replace(/( \\[[^\\]]*\\])?: \\d+ \\([^)]*\\), self .*$/, "
    "'');\n"
    "    return {g, rect, text, name, label, x: number(rect, 'x'), y: number(rect, "
    "'y'),\n"
    "            w: number(rect, 'width')};\n"
    "  });\n"
    "  const status = document.getElementById('status');\n"
    "  const reset = document.getElementById('reset');\n"
    "  function place(f, x, w) {\n"
    "    f.rect.setAttribute('x', x);\n"
    "    f.rect.setAttribute('width', w);\n"
    "    f.text.setAttribute('x', x + 3);\n"
    "    const fits = Math.floor((w - 6) / CHAR);\n"
    "    f.text.textContent = fits < 3 ? '' : f.label.length <= fits ? f.label :\n"
    "      f.label.slice(0, fits - 2) + '..';\n"
    "  }\n"
    "  function zoom(to) {\n"
    "    const scale = WIDTH / to.w, end = to.x + to.w;\n"
    "    for (const f of frames) {\n"
    "      const below = f.y > to.y && f.x <= to.x + 0.01 && f.x + f.w >= end - 0.01;\n"
    "      const gone = !below && (f.y > to.y || f.x + f.w <= to.x + 0.005 ||\n"
    "                              f.x >= end - 0.005);\n"
    "      f.g.classList.toggle('up', below);\n"
    "      f.g.classList.toggle('gone', gone);\n"
    "      if (!gone) {\n"
    "        place(f, below ? 0 : (f.x - to.x) * scale, below ? WIDTH : f.w * scale);\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "  const whole = {x: 0, y: 1e9, w: WIDTH};\n"
    "  function search(words) {\n"
    "    let test = () => false;\n"
    "    try {\n"
    "      const re = words ? new RegExp(words) : null;\n"
    "      test = f => re !== null && re.test(f.label);\n"
    "    } catch (e) {\n"
    "      status.textContent = 'not a regular expression: ' + words;\n"
    "      return;\n"
    "    }\n"
    "    let spans = [];\n"
    "    for (const f of frames) {\n"
    "      const hit = test(f);\n"
    "      f.g.classList.toggle('hit', hit);\n"
    "      if (hit) { spans.push([f.x, f.x + f.w]); }\n"
    "    }\n"
    "    spans.sort((a, b) => a[0] - b[0]);\n"
    "    let covered = 0, end = 0;\n"
    "    for (const [from, to] of spans) {\n"
    "      if (to > end) { covered += to - Math.max(from, end); end = to; }\n"
    "    }\n"
    "    status.textContent = words ? 'found: ' + (100 * covered / WIDTH).toFixed(1) + ' "
    "%'\n"
    "      : '';\n"
    "  }\n"
    "  for (const f of frames) {\n"
    "    f.g.addEventListener('click', () => zoom(f));\n"
    "    f.g.addEventListener('mouseenter', () => { status.textContent = f.name; });\n"
    "  }\n"
    "  reset.addEventListener('click', () => { zoom(whole); search(''); });\n"
    "  function query() {\n"
    "    const words = prompt('Regular expression to search for');\n"
    "    if (words !== null) { search(words); }\n"
    "  }\n"
    "  document.getElementById('search').addEventListener('click', query);\n"
    "  window.addEventListener('keydown', e => {\n"
    "    if (e.key === 'Escape') { zoom(whole); search(''); }\n"
    "    if (e.key === '/') { e.preventDefault(); query(); }\n"
    "  });\n"
    "})();\n"
    "]]></script>\n";

static void write_head(struct svg *s, const struct graph_options *opt, unsigned height)
{
    FILE *out = s->out;

    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %u\" "
            "width=\"%g\" height=\"%u\">\n",
            WIDTH, height, WIDTH, height);
    fputs(style, out);
    fputs("<text id=\"title\" class=\"label\" x=\"3\" y=\"20\">", out);
    write_text(s, opt->title ? opt->title : PROG, 150);
    fprintf(out,
            "</text>\n<text id=\"reset\" class=\"label button\" x=\"3\" "
            "y=\"42\">reset</text>\n"
            "<text id=\"search\" class=\"label button\" x=\"60\" y=\"42\">search</text>\n"
            "<text class=\"label\" x=\"130\" y=\"42\">by %s</text>\n"
            "<text id=\"status\" class=\"label\" x=\"3\" y=\"%u\"></text>\n",
            opt->cost == GRAPH_LOADS    ? "loads"
            : opt->cost == GRAPH_STORES ? "stores"
                                        : "instructions",
            height - 12);
}

/* Whether a frame is drawn. */
static bool wide_enough(const struct graph_options *opt, double width)
{
    return width >= MIN_WIDTH && width / WIDTH * 100 >= opt->min_percent;
}

/*
 * Walks over the frames that are wide enough.  With s NULL only the rows are counted.
 * starts: for each depth, the start of the next frame there, in units of cost.
 */
static int frames(const struct calltree *t, const struct graph_options *opt,
                  struct svg *s, uint32_t *rows)
{
    uint64_t whole = graph_cost_of(&t->total, opt->cost);
    uint64_t *starts = calloc(t->nr_nodes + (size_t)2, sizeof(*starts));
    struct graph_walk w;
    int ret = starts ? graph_walk_init(&w, t, true, opt->cost) : -ENOMEM;
    uint32_t deepest = 0;

    if (ret) {
        free(starts);
        return ret;
    }
    while (graph_walk_ok(&w)) {
        const struct call_node *n = &t->nodes[w.node];
        uint64_t part = graph_cost_of(&n->inclusive, opt->cost);
        struct box b = {
            .x = whole ? (double)starts[w.depth] / (double)whole * WIDTH : 0,
            .width = whole ? (double)part / (double)whole * WIDTH : 0,
            .depth = w.depth,
        };
        bool enough = wide_enough(opt, b.width);

        if (enough && s) {
            write_frame(s, t, opt, n, &b, *rows);
        }
        if (enough && w.depth > deepest) {
            deepest = w.depth;
        }
        starts[w.depth + 1] = starts[w.depth];
        starts[w.depth] += part;
        graph_walk_next(&w, enough && (!opt->max_depth || w.depth < opt->max_depth));
    }
    graph_walk_fini(&w);
    free(starts);
    *rows = deepest + 1;
    return 0;
}

int graph_svg(const struct calltree *t, const struct graph_options *opt, FILE *out)
{
    struct svg s = {.out = out};
    uint32_t rows = 1;
    int ret = frames(t, opt, NULL, &rows);

    if (!ret) {
        write_head(&s, opt, TOP + rows * ROW + BOTTOM);
        ret = frames(t, opt, &s, &rows);
    }
    fputs(script, out);
    fputs("</svg>\n", out);
    textbuf_fini(&s.text);
    return ret ? ret : s.nomem ? -ENOMEM : graph_finish(out);
}
