/* SPDX-License-Identifier: MIT */
/* Takes the arguments of a program apart; see args.h. */
#include "input/args.h"

#include <string.h>

struct args_walk args_begin(const struct program *p, size_t room)
{
    struct args_walk w = {.at = p->args.p, .end = p->args.p, .room = room};

    if (p->args.n) {
        w.end += p->args.n;
        w.left = p->argc;
    }
    return w;
}

/* How many of n bytes of text fit; they end with a whole character if it is UTF-8. */
static size_t fitting(const char *s, size_t n, size_t room)
{
    size_t fit = room;

    if (n <= room) {
        return n;
    }
    while (fit && room - fit < 3 && (s[fit] & 0xc0) == 0x80) {
        fit--;
    }
    return (s[fit] & 0xc0) == 0x80 ? room : fit;
}

bool args_next(struct args_walk *w, struct ctr_str *arg, bool *cut)
{
    const char *nul;
    size_t n, shown;

    if (w->at == w->end || (w->begun && !w->room)) {
        return false;
    }
    nul = memchr(w->at, 0, (size_t)(w->end - w->at));
    n = (size_t)((nul ? nul : w->end) - w->at);
    shown = fitting(w->at, n, w->room);
    *arg = (struct ctr_str){.p = w->at, .n = shown};
    *cut = !nul || shown < n;
    w->at = *cut ? w->end : nul + 1;
    w->room -= shown < w->room ? shown + 1 : shown;
    w->left--;
    w->begun = true;
    return true;
}

struct ctr_str args_base(const struct program *p)
{
    struct args_walk w = args_begin(p, SIZE_MAX);
    struct ctr_str arg = {0};
    const char *slash;
    bool cut;

    args_next(&w, &arg, &cut);
    slash = arg.n ? memrchr(arg.p, '/', arg.n) : NULL;
    if (slash) {
        arg.n -= (size_t)(slash + 1 - arg.p);
        arg.p = slash + 1;
    }
    return arg;
}

bool args_put_shell(struct textbuf *b, const struct program *p, size_t room)
{
    struct args_walk w = args_begin(p, room);
    struct ctr_str arg;
    bool ok = true, cut = false;

    for (const char *blank = ""; ok && args_next(&w, &arg, &cut); blank = " ") {
        ok = textbuf_printf(b, "%s", blank) && textbuf_shell_word(b, arg.p, arg.n) &&
             (!cut || textbuf_printf(b, "..."));
    }
    return ok && (cut || !w.left || textbuf_printf(b, " ..."));
}

bool args_put_json(struct textbuf *b, const struct program *p)
{
    struct args_walk w = args_begin(p, SIZE_MAX);
    struct ctr_str arg;
    bool ok = true, cut = false;

    if (!p->args.n) {
        return true;
    }
    ok = textbuf_printf(b, ",\"argv\":[");
    for (const char *comma = ""; ok && args_next(&w, &arg, &cut); comma = ",") {
        ok = textbuf_printf(b, "%s", comma) && textbuf_json_string(b, arg.p, arg.n);
    }
    return ok && textbuf_printf(b, "]") &&
           (!(cut || w.left) || textbuf_printf(b, ",\"argc\":%u", p->argc));
}
