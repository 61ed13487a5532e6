/* SPDX-License-Identifier: MIT */
/*
 * The page around a flame graph; see graph_svg.h.
 *
 * The script works on the frames as they are in the file: a zoom to one frame stretches it
 * to the whole width, and its callers remain.  While the base of the graph is folded, the
 * class `folded' of the document hides its frames and shows the one that replaces them.
 */
#include "graph_svg.h"
#include "prog.h"

void svg_text(struct svg *s, const char *text, size_t max)
{
    size_t count = 0, cut = 0, n = 0;

    for (; text[n] && count <= max; n++) {
        if (((unsigned char)text[n] & 0xc0) != 0x80 && count++ + 2 == max) {
            cut = n;
        }
    }
    s->text.len = 0;
    if (!textbuf_markup(&s->text, text, count > max ? cut : n)) {
        s->nomem = true;
        return;
    }
    fwrite(s->text.data, 1, s->text.len, s->out);
    if (count > max) {
        fputs("..", s->out);
    }
}

static const char style[] = "<style>\n"
                            "svg { background: #fff; font: 12px monospace; }\n"
                            "text { fill: #111; }\n"
                            ".f, #fold { cursor: pointer; }\n"
                            ".f text, #fold text { pointer-events: none; }\n"
                            ".f:hover rect, #fold:hover rect { stroke: #000; }\n"
                            ".up { opacity: 0.5; }\n"
                            ".hit rect { fill: #e600e6; }\n"
                            ".gone, .folded .base { display: none; }\n"
                            "svg:not(.folded) #fold { display: none; }\n"
                            "#title { font-size: 15px; }\n"
                            ".button { cursor: pointer; text-decoration: underline; }\n"
                            "@media (prefers-color-scheme: dark) {\n"
                            "  svg { background: #1b1b1b; }\n"
                            "  .label { fill: #ddd; }\n"
                            "  .f:hover rect, #fold:hover rect { stroke: #fff; }\n"
                            "}\n"
                            "</style>\n";

static const char script[] =
    "<script><![CDATA[\n"
    "'use strict';\n"
    "(function () {\n"
    "  const WIDTH = 1200, CHAR = 7;\n"
    "  const number = (e, name) => parseFloat(e.getAttribute(name));\n"
    "  const svg = document.documentElement;\n"
    "  const graph = document.getElementById('frames');\n"
    "  const down = number(graph, 'data-down');\n"
    "  const frames = Array.from(document.querySelectorAll('g.f'), g => {\n"
    "    const [title, rect, text] = g.children;\n"
    "    const name = title.textContent;\n"
    "    const label = name.replace(/( \\[[^\\]]*\\])?: \\d+ [a-z]+, [\\d.]+% of "
    "all[^:]*$/, '');\n"
    "    return {g, rect, text, name, label, x: number(rect, 'x'),\n"
    "            y: down * number(rect, 'y'), w: number(rect, 'width')};\n"
    "  });\n"
    "  const status = document.getElementById('status');\n"
    "  const fold = document.getElementById('fold');\n"
    "  const base = document.getElementById('base');\n"
    "  const whole = {x: number(graph, 'data-x'), y: -1e9, w: number(graph, "
    "'data-width')};\n"
    "  const focus = frames.find(f => f.g.id === 'focus') || whole;\n"
    "  let home = focus;\n"
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
    "      const below = f.y < to.y && f.x <= to.x + 0.01 && f.x + f.w >= end - 0.01;\n"
    "      const gone = !below && (f.y < to.y || f.x + f.w <= to.x + 0.005 ||\n"
    "                              f.x >= end - 0.005);\n"
    "      f.g.classList.toggle('up', below);\n"
    "      f.g.classList.toggle('gone', gone);\n"
    "      if (!gone) {\n"
    "        place(f, below ? 0 : (f.x - to.x) * scale, below ? WIDTH : f.w * scale);\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "  function show(folded) {\n"
    "    const height = number(graph, folded ? 'data-folded-height' : 'data-height');\n"
    "    home = folded ? focus : whole;\n"
    "    svg.classList.toggle('folded', folded);\n"
    "    svg.setAttribute('height', height);\n"
    "    svg.setAttribute('viewBox', `0 0 ${WIDTH} ${height}`);\n"
    "    graph.setAttribute('transform',\n"
    "      `translate(0,${folded ? number(graph, 'data-shift') : 0})`);\n"
    "    base.textContent = folded ? base.getAttribute('data-text') : 'fold the base';\n"
    "    zoom(home);\n"
    "  }\n"
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
    "    let covered = 0, end = -Infinity;\n"
    "    for (const [from, to] of spans) {\n"
    "      if (to > end) { covered += to - Math.max(from, end); end = to; }\n"
    "    }\n"
    "    status.textContent = words ? 'found: ' + (100 * covered / whole.w).toFixed(1) +\n"
    "      ' %' : '';\n"
    "  }\n"
    "  for (const f of frames) {\n"
    "    f.g.addEventListener('click', () => zoom(f));\n"
    "    f.g.addEventListener('mouseenter', () => { status.textContent = f.name; });\n"
    "  }\n"
    "  if (fold) {\n"
    "    fold.addEventListener('click', () => show(false));\n"
    "    base.addEventListener('click', () => show(home === whole));\n"
    "  }\n"
    "  function reset() { zoom(home); search(''); }\n"
    "  document.getElementById('reset').addEventListener('click', reset);\n"
    "  function query() {\n"
    "    const words = prompt('Regular expression to search for');\n"
    "    if (words !== null) { search(words); }\n"
    "  }\n"
    "  document.getElementById('search').addEventListener('click', query);\n"
    "  window.addEventListener('keydown', e => {\n"
    "    if (e.key === 'Escape') { reset(); }\n"
    "    if (e.key === '/') { e.preventDefault(); query(); }\n"
    "  });\n"
    "})();\n"
    "]]></script>\n";

void svg_change_colour(FILE *out, double now, double older)
{
    double change = now + older > 0 ? (now - older) / (now + older) : 0; /* -1 to 1 */

    if (change == 0) {
        fputs("hsl(0,0%,90%)", out);
    } else {
        fprintf(out, "hsl(%d,85%%,%.0f%%)", change > 0 ? 0 : 220,
                93 - 33 * (change > 0 ? change : -change));
    }
}

/* The colours of changes. */
static void write_legend(FILE *out)
{
    static const struct {
        const char *text;
        double now, older;
    } steps[] = {
        {"gone", 0, 1}, {"half", 1, 2}, {"same", 1, 1}, {"twice", 2, 1}, {"new", 1, 0}};

    fputs("<g id=\"legend\">\n", out);
    for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        unsigned x = 850 + 70 * i;

        fprintf(out, "<rect x=\"%u\" y=\"8\" width=\"14\" height=\"14\" fill=\"", x);
        svg_change_colour(out, steps[i].now, steps[i].older);
        fprintf(out, "\"/><text class=\"label\" x=\"%u\" y=\"20\">%s</text>\n", x + 18,
                steps[i].text);
    }
    fputs("</g>\n", out);
}

/* What widths and rows mean. */
static void write_meaning(const struct calltree *t, const struct graph_options *opt,
                          FILE *out)
{
    fprintf(out,
            "<text class=\"label\" x=\"130\" y=\"42\">by %s%s; %s a frame %s</text>\n",
            graph_cost_word(opt->cost), t->older ? ", before and after together" : "",
            opt->icicle ? "below" : "above",
            opt->inverted ? "are its callers" : "is what it called");
}

/* The button that unfolds the base, and folds it again. */
static void write_base_button(const struct svg_page *page, FILE *out)
{
    char text[160];

    snprintf(text, sizeof(text),
             "show all: %u frames at the base are folded, %.2f%% of the cost is outside",
             page->folded, page->outside);
    fprintf(out,
            "<text id=\"base\" class=\"label button\" x=\"670\" y=\"42\" "
            "data-text=\"%s\">%s</text>\n",
            text, text);
}

void svg_begin(struct svg *s, const struct calltree *t, const struct graph_options *opt,
               const struct svg_page *page)
{
    FILE *out = s->out;

    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %u\" "
            "width=\"%g\" height=\"%u\"%s>\n",
            SVG_WIDTH, page->folded_height, SVG_WIDTH, page->folded_height,
            page->folded ? " class=\"folded\"" : "");
    fputs(style, out);
    fputs("<text id=\"title\" class=\"label\" x=\"3\" y=\"20\">", out);
    svg_text(s, opt->title ? opt->title : PROG, t->older ? 90 : 130);
    fputs("</text>\n<text id=\"reset\" class=\"label button\" x=\"3\" "
          "y=\"42\">reset</text>\n"
          "<text id=\"search\" class=\"label button\" x=\"60\" y=\"42\">search</text>\n",
          out);
    write_meaning(t, opt, out);
    if (page->folded) {
        write_base_button(page, out);
    }
    if (t->older) {
        write_legend(out);
    }
    fputs("<text id=\"status\" class=\"label\" x=\"3\" y=\"64\"></text>\n", out);
    fprintf(out,
            "<g id=\"frames\" transform=\"translate(0,%d)\" data-down=\"%d\" "
            "data-x=\"%.2f\" data-width=\"%.2f\" data-height=\"%u\" "
            "data-folded-height=\"%u\" data-shift=\"%d\">\n",
            page->shift, opt->icicle ? 1 : -1, page->x, page->width, page->height,
            page->folded_height, page->shift);
}

void svg_end(struct svg *s)
{
    fputs("</g>\n", s->out);
    fputs(script, s->out);
    fputs("</svg>\n", s->out);
}
