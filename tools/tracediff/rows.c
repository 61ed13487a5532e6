/* SPDX-License-Identifier: MIT */
/* Rows as text or HTML; see rows.h.  The page needs no other file and no script. */
#include "rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RED "\033[31m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

static const char style[] =
    ":root{--bg:#fff;--fg:#1d2129;--dim:#667080;--line:#dde1e7;--hit:#fbe3e4}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#16191e;--fg:#e3e6ea;--dim:#98a1ae;"
    "--line:#2d323a;--hit:#4a2a2d}}\n"
    "html{color-scheme:light dark}\n"
    "body{margin:0;padding:1.5rem;background:var(--bg);color:var(--fg);"
    "font:15px/1.45 system-ui,sans-serif}\n"
    "h1{font-size:1.4rem;margin:0}h2{font-size:1.05rem;margin:2rem 0 .4rem}\n"
    "p{margin:.3rem 0;color:var(--dim)}\n"
    "div{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%;font:.82rem/1.35 ui-monospace,monospace}\n"
    "td{white-space:pre;padding:0 .5rem;border-bottom:1px solid var(--line);width:50%}\n"
    "td.s{width:1rem;text-align:center}tr.d td{background:var(--hit)}\n";

bool rows_field(struct textbuf *b, const char *text, size_t n, size_t room, size_t width)
{
    const size_t shown = n < room ? n : room;
    const size_t pad = width > shown ? width - shown : 0;

    return textbuf_printable(b, text, shown) && textbuf_printf(b, "%*s", (int)pad, "");
}

static bool markup(struct report *r, const struct textbuf *text)
{
    return !text->len || textbuf_markup(&r->out, text->data, text->len);
}

/* The table of rows begins with the first of them. */
static bool in_table(struct report *r, bool in)
{
    const bool was = r->in_table;

    r->in_table = in;
    return was == in ||
           textbuf_printf(&r->out, in ? "<div><table>\n" : "</table></div>\n");
}

/* The command that a trace is of. */
static bool put_command(struct report *r, unsigned side)
{
    const struct side *s = r->side[side];
    bool ok = textbuf_printf(&r->out, "<p>%c: ", side ? 'b' : 'a') &&
              textbuf_markup(&r->out, s->path, strlen(s->path)) &&
              textbuf_printf(&r->out, ":");

    for (int i = 0; ok && i < s->info.argc; i++) {
        ok = textbuf_printf(&r->out, " ") &&
             textbuf_markup(&r->out, s->info.argv[i], strlen(s->info.argv[i]));
    }
    return ok && textbuf_printf(&r->out, "</p>\n");
}

bool rows_begin(struct report *r)
{
    return !r->opt->html ||
           (textbuf_printf(
                &r->out,
                "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                "<meta name=\"viewport\" content=\"width=device-width\">"
                "<title>tracediff</title>\n<style>\n%s</style></head>\n"
                "<body><h1>Where two runs part</h1>\n",
                style) &&
            put_command(r, 0) && put_command(r, 1));
}

bool rows_end(struct report *r)
{
    return !r->opt->html ||
           (in_table(r, false) && textbuf_printf(&r->out, "</body></html>\n"));
}

bool rows_title(struct report *r, const struct textbuf *text)
{
    if (r->opt->html) {
        return in_table(r, false) && textbuf_printf(&r->out, "<h2>") && markup(r, text) &&
               textbuf_printf(&r->out, "</h2>\n");
    }
    return textbuf_printf(&r->out, "%s@@ ", r->opt->color ? BOLD : "") &&
           textbuf_printable(&r->out, text->data, text->len) &&
           textbuf_printf(&r->out, " @@%s\n", r->opt->color ? PLAIN : "");
}

bool rows_note(struct report *r, const struct textbuf *text)
{
    if (r->opt->html) {
        return in_table(r, false) && textbuf_printf(&r->out, "<p>") && markup(r, text) &&
               textbuf_printf(&r->out, "</p>\n");
    }
    return textbuf_printable(&r->out, text->data, text->len) &&
           textbuf_printf(&r->out, "\n");
}

bool rows_put(struct report *r, const struct textbuf *left, const struct textbuf *right,
              char sign)
{
    const size_t width = (r->opt->width - 3) / 2;
    const bool colored = r->opt->color && sign != ' ';

    if (r->opt->html) {
        return in_table(r, true) &&
               textbuf_printf(&r->out, "<tr%s><td>", sign == ' ' ? "" : " class=\"d\"") &&
               markup(r, left) && textbuf_printf(&r->out, "</td><td class=\"s\">") &&
               textbuf_markup(&r->out, &sign, 1) &&
               textbuf_printf(&r->out, "</td><td>") && markup(r, right) &&
               textbuf_printf(&r->out, "</td></tr>\n");
    }
    return textbuf_printf(&r->out, "%s", colored ? RED : "") &&
           rows_field(&r->out, left->data ? left->data : "", left->len, width, width) &&
           textbuf_printf(&r->out, " %c%s", sign, right->len ? " " : "") &&
           rows_field(&r->out, right->data ? right->data : "", right->len, width, 0) &&
           textbuf_printf(&r->out, "%s\n", colored ? PLAIN : "");
}

bool rows_gap(struct report *r)
{
    return r->opt->html ? in_table(r, false) : textbuf_printf(&r->out, "\n");
}
