/* SPDX-License-Identifier: MIT */
/*
 * A summary for a browser: one page that needs no other file and nothing from the net.
 * It is readable without its script, which only sorts and filters the tables.
 */
#include "tracecov/output.h"

#include <errno.h>
#include <stdlib.h>

/* Limit of rows in the table of functions; all functions of a C library would not be a
 * summary. */
#define FUNCTIONS_MOST 2000

static const char style[] =
    ":root{--bg:#fff;--fg:#1d2129;--dim:#667080;--line:#dde1e7;--card:#f5f6f8;"
    "--bar:#e3e6eb;--good:#2e9e5b;--fair:#d69a1c;--poor:#cf4444;--link:#2a62c9}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#16191e;--fg:#e3e6ea;--dim:#98a1ae;"
    "--line:#2d323a;--card:#1f242b;--bar:#343a44;--good:#3fb36f;--fair:#dca93a;"
    "--poor:#e06060;--link:#83acff}}\n"
    "*{box-sizing:border-box}\n"
    "html{color-scheme:light dark}\n"
    "body{margin:0 auto;max-width:78rem;padding:1.5rem 1.2rem 3rem;background:var(--bg);"
    "color:var(--fg);font:15px/1.45 system-ui,sans-serif}\n"
    "h1{font-size:1.5rem;margin:0 0 .2rem}h2{font-size:1.15rem;margin:2.2rem 0 .6rem}\n"
    "p{margin:.2rem 0 1rem;color:var(--dim)}\n"
    ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(13rem,1fr));"
    "gap:.8rem}\n"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:.5rem;"
    "padding:.7rem .9rem}\n"
    ".card b{display:block;font-size:1.6rem;line-height:1.3;"
    "font-variant-numeric:tabular-nums}\n"
    ".card span{color:var(--dim);font-size:.87rem}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%;font-size:.9rem}\n"
    "th,td{padding:.28rem .55rem;border-bottom:1px solid var(--line);text-align:right;"
    "white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "th{color:var(--dim);font-weight:600;position:sticky;top:0;background:var(--bg)}\n"
    "th.sorts{cursor:pointer}th.sorts:hover,th.sorts:focus{color:var(--link)}\n"
    "td.name,th.name{text-align:left;white-space:normal;overflow-wrap:anywhere;"
    "font-family:ui-monospace,monospace;font-size:.85rem}\n"
    "th.name{font-family:inherit;font-size:inherit}\n"
    "td.bar{min-width:3rem;width:5rem}\n"
    ".meter{height:.5rem;border-radius:.25rem;background:var(--bar);overflow:hidden;"
    "margin-top:.35rem}.meter i{display:block;height:100%}\n"
    ".good i{background:var(--good)}.fair i{background:var(--fair)}"
    ".poor i{background:var(--poor)}\n"
    ".dim{color:var(--dim)}\n"
    "input{font:inherit;width:100%;max-width:26rem;padding:.35rem .6rem;"
    "margin-bottom:.6rem;color:inherit;background:var(--card);"
    "border:1px solid var(--line);border-radius:.4rem}\n";

static const char script[] =
    "document.querySelectorAll('table').forEach(function(t){"
    "var body=t.tBodies[0],heads=t.tHead.rows[0].cells;"
    "function key(r,i){var c=r.cells[i],k=c.getAttribute('data-k');"
    "return k===null?c.textContent:Number(k)}"
    "function sort(i){var h=heads[i],up=h.getAttribute('aria-sort')==='descending';"
    "var rows=Array.from(body.rows);"
    "rows.sort(function(a,b){var x=key(a,i),y=key(b,i);"
    "return (x<y?-1:x>y?1:0)*(up?1:-1)});"
    "Array.from(heads).forEach(function(o){o.removeAttribute('aria-sort')});"
    "h.setAttribute('aria-sort',up?'ascending':'descending');"
    "rows.forEach(function(r){body.appendChild(r)})}"
    "Array.from(heads).forEach(function(h,i){if(!h.textContent)return;"
    "h.className+=' sorts';h.tabIndex=0;h.onclick=function(){sort(i)};"
    "h.onkeydown=function(e){if(e.key==='Enter')sort(i)}});"
    "if(body.rows.length<10)return;"
    "var f=document.createElement('input');f.type='search';f.placeholder='Filter';"
    "f.setAttribute('aria-label','Filter');"
    "f.oninput=function(){var q=f.value.toLowerCase();"
    "Array.from(body.rows).forEach(function(r){"
    "r.hidden=r.textContent.toLowerCase().indexOf(q)<0})};"
    "t.parentNode.parentNode.insertBefore(f,t.parentNode)});\n";

static const char *rating(unsigned permille)
{
    return permille >= 900 ? "good" : permille >= 700 ? "fair" : "poor";
}

static void write_meter(struct out *o, uint64_t hit, uint64_t of)
{
    unsigned v = output_permille(hit, of);

    if (of) {
        out_printf(o, "<div class=\"meter %s\"><i style=\"width:%u.%u%%\"></i></div>",
                   rating(v), v / 10, v % 10);
    }
}

static void write_card(struct out *o, const char *name, uint64_t hit, uint64_t of)
{
    out_str(o, "<div class=\"card\">");
    out_str(o, name);
    out_str(o, "<b>");
    out_percent(o, hit, of);
    out_str(o, "</b><span>");
    out_grouped(o, hit);
    out_str(o, " of ");
    out_grouped(o, of);
    out_str(o, "</span>");
    write_meter(o, hit, of);
    out_str(o, "</div>\n");
}

/* The totals: of the source files; of what has none. */
static void write_cards(struct out *o, const struct report *r)
{
    if (r->nr_files) {
        out_printf(o,
                   "<p>Lines, functions and branches of %zu source file%s of %zu "
                   "program%s or librar%s with line information:</p>\n",
                   r->nr_files, r->nr_files == 1 ? "" : "s", r->nr_lined,
                   r->nr_lined == 1 ? "" : "s", r->nr_lined == 1 ? "y" : "ies");
    }
    out_str(o, "<div class=\"cards\">\n");
    if (r->nr_files) {
        write_card(o, "Lines", r->totals.lines_hit, r->totals.lines);
        write_card(o, "Functions", r->totals.functions_hit, r->totals.functions);
    }
    if (r->cover->branches && r->totals.branches) {
        write_card(o, "Branches", r->totals.branches_hit, r->totals.branches);
    }
    if (r->bare.functions) {
        write_card(o, "Functions without line information", r->bare.functions_hit,
                   r->bare.functions);
    }
    out_str(o, "</div>\n");
}

static void write_header(struct out *o, const struct report *r)
{
    const struct cover *c = r->cover;

    out_str(o, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
               "<title>Coverage</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n");
    out_str(o, style);
    out_str(o, "</style>\n</head>\n<body>\n<h1>Coverage</h1>\n<p>");
    out_grouped(o, c->total);
    out_str(o, " instructions of ");
    out_markup(o, c->target);
    out_printf(o, " in %llu trace%s", (unsigned long long)c->traces,
               c->traces == 1 ? "" : "s");
    if (c->elsewhere) {
        out_str(o, ", ");
        out_grouped(o, c->elsewhere);
        out_str(o, " of them in no file");
    }
    out_str(o, c->once ? ". A trace holds only a part of what ran.</p>\n" : ".</p>\n");
    write_cards(o, r);
}

/* A percentage with its bar and the total. */
static void write_cells(struct out *o, uint64_t hit, uint64_t of)
{
    if (!of) {
        out_str(o, "<td data-k=\"-1\" class=\"dim\">-</td><td></td><td></td>");
        return;
    }
    out_printf(o, "<td data-k=\"%u\">", output_permille(hit, of));
    out_percent(o, hit, of);
    out_str(o, "</td><td class=\"bar\">");
    write_meter(o, hit, of);
    out_str(o, "</td><td class=\"dim\">");
    out_grouped(o, hit);
    out_str(o, " / ");
    out_grouped(o, of);
    out_str(o, "</td>");
}

static void write_files(struct out *o, const struct report *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->nr_sources; i++) {
        n += !r->sources[i].is_module;
    }
    if (!n) {
        return;
    }
    out_str(o, "<h2>Source files</h2>\n<div class=\"scroll\"><table><thead><tr>"
               "<th class=\"name\">File</th><th>Lines</th><th></th><th></th>"
               "<th>Functions</th><th></th><th></th>"
               "<th>Branches</th><th></th><th></th></tr></thead><tbody>\n");
    for (size_t i = 0; i < r->nr_sources; i++) {
        const struct report_source *s = &r->sources[i];
        if (s->is_module) {
            continue;
        }
        out_str(o, "<tr><td class=\"name\">");
        out_markup(o, s->path);
        out_str(o, "</td>");
        write_cells(o, s->totals.lines_hit, s->totals.lines);
        write_cells(o, s->totals.functions_hit, s->totals.functions);
        write_cells(o, s->totals.branches_hit,
                    r->cover->branches ? s->totals.branches : 0);
        out_str(o, "</tr>\n");
    }
    out_str(o, "</tbody></table></div>\n");
}

static void write_module(struct out *o, const struct cover_module *c,
                         const struct report_module *m, bool branches)
{
    out_str(o, "<tr><td class=\"name\">");
    out_markup(o, c->module->path);
    if (!c->module->file) {
        out_str(o, "<br><span class=\"dim\">");
        out_markup(o, c->module->why);
        out_str(o, "</span>");
    }
    out_printf(o, "</td><td data-k=\"%llu\">", (unsigned long long)c->total);
    out_grouped(o, c->total);
    out_str(o, "</td>");
    write_cells(o, m->totals.lines_hit, m->totals.lines);
    write_cells(o, m->totals.functions_hit, m->totals.functions);
    write_cells(o, m->totals.branches_hit, branches ? m->totals.branches : 0);
    write_cells(o, m->bare.functions_hit, m->bare.functions);
    write_cells(o, m->insns_hit, m->insns);
    out_str(o, "</tr>\n");
}

static void write_modules(struct out *o, const struct report *r)
{
    out_str(o, "<h2>Programs and libraries</h2>\n<div class=\"scroll\"><table><thead><tr>"
               "<th class=\"name\">File</th><th>Executed</th>"
               "<th>Lines</th><th></th><th></th>"
               "<th>Functions of sources</th><th></th><th></th>"
               "<th>Branches</th><th></th><th></th>"
               "<th>Functions without lines</th><th></th><th></th>"
               "<th>Instructions of functions</th><th></th><th></th></tr></thead>"
               "<tbody>\n");
    for (size_t i = 0; i < r->cover->nr_modules; i++) {
        if (r->modules[i].selected) {
            write_module(o, &r->cover->modules[i], &r->modules[i], r->cover->branches);
        }
    }
    out_str(o, "</tbody></table></div>\n");
}

struct row {
    const struct report_function *f;
    const struct report_source *s;
};

static int by_count(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;
    int d;

    if (a->f->count != b->f->count) {
        return a->f->count < b->f->count ? 1 : -1;
    }
    d = strcmp(a->f->name, b->f->name);
    d = d ? d : strcmp(a->s->path, b->s->path);
    return d ? d : (a->f > b->f) - (a->f < b->f);
}

static void write_row(struct out *o, const struct row *row)
{
    const struct report_function *f = row->f;

    out_printf(o, "<tr><td data-k=\"%llu\">", (unsigned long long)f->count);
    out_grouped(o, f->count);
    out_str(o, "</td>");
    write_cells(o, f->insns_hit, f->insns_total);
    out_str(o, "<td class=\"name\">");
    out_markup(o, f->name);
    out_str(o, "</td><td class=\"name dim\">");
    out_markup(o, row->s->path);
    if (f->line) {
        out_str(o, ":");
        out_u64(o, f->line);
    }
    out_str(o, "</td></tr>\n");
}

static void write_functions(struct out *o, const struct report *r)
{
    size_t n = 0, all = 0;
    struct row *v;

    for (size_t i = 0; i < r->nr_sources; i++) {
        all += r->sources[i].nr_functions;
    }
    v = malloc((all + 1) * sizeof(*v));
    if (!v) {
        o->error = o->error ? o->error : -ENOMEM;
        return;
    }
    for (size_t i = 0; i < r->nr_sources; i++) {
        const struct report_source *s = &r->sources[i];
        for (size_t k = 0; k < s->nr_functions; k++) {
            v[n++] = (struct row){&s->functions[k], s};
        }
    }
    qsort(v, n, sizeof(*v), by_count);
    out_str(o, "<h2>Functions by count</h2>\n");
    if (n > FUNCTIONS_MOST) {
        out_printf(o, "<p>The first %d of %zu.</p>\n", FUNCTIONS_MOST, n);
        n = FUNCTIONS_MOST;
    }
    out_str(o, "<div class=\"scroll\"><table><thead><tr><th>Count</th>"
               "<th>Instructions</th><th></th><th></th><th class=\"name\">Function</th>"
               "<th class=\"name\">Where</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < n; i++) {
        write_row(o, &v[i]);
    }
    out_str(o, "</tbody></table></div>\n");
    free(v);
}

int output_html(const struct report *r, FILE *file)
{
    struct out *o = out_open(file);

    if (!o) {
        return -ENOMEM;
    }
    write_header(o, r);
    write_files(o, r);
    write_modules(o, r);
    write_functions(o, r);
    out_str(o, "<script>\n");
    out_str(o, script);
    out_str(o, "</script>\n</body>\n</html>\n");
    return out_close(o);
}
