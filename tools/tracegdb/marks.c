/* SPDX-License-Identifier: MIT */
/*
 * Places that the user has named.  A trace is never written: marks last as long as the server,
 * also from one connection to the next, and are printed as options that lead there again.
 */
#include "session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define MARKS_MOST 4096u

struct mark {
    char *name;
    uint32_t thread;
    uint64_t ordinal;
};

static struct mark *find(const struct session *s, const char *name)
{
    for (size_t i = 0; i < s->nr_marks; i++) {
        if (!strcmp(s->marks[i].name, name)) {
            return &s->marks[i];
        }
    }
    return NULL;
}

static bool put(const struct session *s, const struct mark *m, struct textbuf *b)
{
    const struct ctr_thread *t = ctr_trace_thread(s->tr, m->thread);

    return textbuf_printf(b, "%s: --pid=%d --thread=%d --at=%" PRIu64 "\n", m->name,
                          t->pid, t->tid, m->ordinal);
}

bool marks_set(struct session *s, const char *name, struct textbuf *b)
{
    struct mark *m = find(s, name);

    if (!m) {
        if (s->nr_marks == MARKS_MOST) {
            return textbuf_printf(b, "mark: there are too many\n");
        }
        if (!array_reserve(&s->marks, &s->cap_marks, s->nr_marks + 1,
                           sizeof(*s->marks))) {
            return false;
        }
        m = &s->marks[s->nr_marks];
        m->name = strdup(name);
        if (!m->name) {
            return false;
        }
        s->nr_marks++;
    }
    m->thread = s->here.at.thread;
    m->ordinal = s->here.at.ordinal;
    return put(s, m, b);
}

bool marks_list(const struct session *s, struct textbuf *b)
{
    bool ok = s->nr_marks || textbuf_printf(b, "there are no marks\n");

    for (size_t i = 0; ok && i < s->nr_marks; i++) {
        ok = put(s, &s->marks[i], b);
    }
    return ok;
}

bool marks_find(const struct session *s, const char *name, struct ctr_moment *out)
{
    const struct mark *m = find(s, name);

    if (m) {
        *out = (struct ctr_moment){.thread = m->thread, .ordinal = m->ordinal};
    }
    return m != NULL;
}

void marks_free(struct session *s)
{
    for (size_t i = 0; i < s->nr_marks; i++) {
        free(s->marks[i].name);
    }
    free(s->marks);
}
