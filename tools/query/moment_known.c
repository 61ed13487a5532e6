/* SPDX-License-Identifier: MIT */
/* The names of the marks or system calls of a trace; see moment_known.h. */
#include "query/moment_known.h"

#include <string.h>

#include "common/words.h"
#include "query/event_names.h"

#define MAX_NAMES 500u  /* of which one is looked for */
#define LIST_BYTES 160u /* after which no more of the list is begun */

static bool put_list(struct textbuf *b, const struct event_names *l)
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
    struct event_names l = {0};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    bool ok = !event_names_load(&l, tr,
                                text->kind == MOMENT_MARK ? EVENT_MARKS : EVENT_SYSCALLS,
                                filter, MAX_NAMES, &diag);
    const struct words w = {"name", l.v, sizeof(*l.v), l.n};
    const char *near = l.n ? words_nearest(&w, text->name, text->name_len) : NULL;

    if (ok && near) {
        ok = textbuf_printf(b, " (did you mean '") &&
             textbuf_printable(b, near, strlen(near)) && textbuf_printf(b, "'?)");
    } else if (ok && l.n) {
        ok = put_list(b, &l);
    }
    event_names_fini(&l);
    return ok;
}
