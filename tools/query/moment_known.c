/* SPDX-License-Identifier: MIT */
/* The names of the marks or system calls of a trace; see moment_known.h. */
#include "query/moment_known.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/words.h"

#define MAX_NAMES 500u  /* of which one is looked for */
#define LIST_BYTES 160u /* after which no more of the list is begun */

struct names {
    bool marks;
    const char *v[MAX_NAMES]; /* allocated */
    size_t n;
};

static int add_name(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct names *l = arg;
    struct ctr_syscall call;
    struct ctr_mark mark;
    struct ctr_str text = {0};

    (void)job;
    if (l->marks && !ctr_parse_mark(e, &mark)) {
        text = mark.text;
    } else if (!l->marks && e->type == CTR_EVENT_SYSCALL &&
               !ctr_parse_syscall(e, &call)) {
        text = call.name;
    }
    for (size_t i = 0; text.n && i < l->n; i++) {
        if (strlen(l->v[i]) == text.n && !memcmp(l->v[i], text.p, text.n)) {
            return 0;
        }
    }
    if (text.n && !memchr(text.p, 0, text.n)) {
        l->v[l->n] = strndup(text.p, text.n);
        l->n += l->v[l->n] != NULL;
    }
    return l->n == MAX_NAMES;
}

static bool put_list(struct textbuf *b, const struct names *l)
{
    const size_t begin = b->len;
    bool ok = textbuf_printf(b, "; there are");

    for (size_t i = 0; ok && i < l->n; i++) {
        if (b->len - begin > LIST_BYTES) {
            return textbuf_printf(b, ", ...");
        }
        ok = textbuf_printf(b, i ? ", '" : " '") &&
             textbuf_printable(b, l->v[i], strlen(l->v[i])) && textbuf_printf(b, "'");
    }
    return ok;
}

bool moment_put_known(struct textbuf *b, struct ctr_trace *tr,
                      const struct moment_text *text, const struct ctr_filter *filter)
{
    struct names l = {.marks = text->kind == MOMENT_MARK};
    const struct ctr_replay_ops ops = {.os = add_name};
    const struct ctr_replay_opts opts = {.workers = 1, .filter = filter};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    bool ok = ctr_replay(tr, &ops, &l, &opts, &diag) >= 0;
    const struct words w = {"name", &l.v[0], sizeof(l.v[0]), l.n};
    const char *near = l.n ? words_nearest(&w, text->name, text->name_len) : NULL;

    if (ok && near) {
        ok = textbuf_printf(b, " (did you mean '") &&
             textbuf_printable(b, near, strlen(near)) && textbuf_printf(b, "'?)");
    } else if (ok && l.n) {
        ok = put_list(b, &l);
    }
    for (size_t i = 0; i < l.n; i++) {
        free((char *)l.v[i]);
    }
    return ok;
}
