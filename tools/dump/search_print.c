/* SPDX-License-Identifier: MIT */
/*
 * Prints what a search finds, see search_print.h.
 *
 * The events that wait are sorted by chunk, the text of those of one chunk is made at a
 * time (picked.c), and when all have theirs it is written in the order of the search.  If
 * it is too much text they are done in parts.
 */
#include "dump/search_print.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/options.h"
#include "dump/picked.h"

/* Limits of what waits: events, and bytes of their text. */
#define MAX_EVENTS 65536u
#define MAX_TEXT (32u << 20)

/* Output is written in pieces of this size. */
#define WRITE_BYTES (64u << 10)

void search_print_init(struct search_print *p, struct ctr_trace *tr,
                       const struct dump_options *opt, uint32_t kind,
                       const struct search_bytes *addrs)
{
    const struct ctr_filter filter = {.pcs = opt->filter.pcs,
                                      .npc = opt->filter.npc,
                                      .privileges = opt->filter.privileges,
                                      .addrs = addrs->v,
                                      .naddr = addrs->n};

    *p =
        (struct search_print){.tr = tr, .opt = *opt, .kind = kind, .at_once = MAX_EVENTS};
    p->opt.filter = filter;
}

void search_print_fini(struct search_print *p)
{
    free(p->v);
    textbuf_fini(&p->text);
    textbuf_fini(&p->out);
}

int search_print_add(struct search_print *p, const struct search_event *event)
{
    const struct search_event *last = &p->last;

    /* An instruction may have several accesses, also in two chunks. */
    if (p->found && last->thread == event->thread && last->ordinal == event->ordinal &&
        last->system == event->system) {
        return 0;
    }
    if (!array_reserve(&p->v, &p->cap, p->n + 1, sizeof(*p->v))) {
        return DUMP_STOP_NOMEM;
    }
    p->v[p->n++] = p->last = *event;
    p->found++;
    return 0;
}

bool search_print_is_full(const struct search_print *p)
{
    return p->n >= MAX_EVENTS;
}

bool search_print_is_half(const struct search_print *p)
{
    return 2 * p->n >= p->found;
}

/* -------------------------------------------------------------------- the text */

/* Those that are read together are neighbours. */
static int by_group(const void *a, const void *b)
{
    const struct search_event *x = *(struct search_event *const *)a;
    const struct search_event *y = *(struct search_event *const *)b;

    if (x->chunk != y->chunk) {
        return x->chunk < y->chunk ? -1 : 1;
    }
    if (x->system != y->system) {
        return x->system ? 1 : -1;
    }
    return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

/* Makes the text of events of one chunk, either of the system or not, by ordinal. */
static int read_group(struct search_print *p, struct search_event **v, size_t n,
                      struct picked_text *texts, size_t max)
{
    struct dump_options o = p->opt;
    struct picked picked = {.thread = ctr_trace_thread(p->tr, v[0]->thread),
                            .v = texts,
                            .text = &p->text,
                            .max = max};
    int status;

    for (size_t i = 0; i < n; i++) {
        if (!i || v[i]->ordinal != v[i - 1]->ordinal) {
            texts[picked.n++] = (struct picked_text){.ordinal = v[i]->ordinal};
        }
    }
    o.kinds = p->kind;
    if (v[0]->system) {
        o.kinds = CTR_KIND_SYS;
        o.filter.npc = o.filter.naddr = 0;
    }
    status = picked_read(p->tr, &o, &picked);
    for (size_t i = 0, at = 0; i < n; i++) {
        at += texts[at].ordinal != v[i]->ordinal;
        v[i]->at = texts[at].at;
        v[i]->len = texts[at].len;
    }
    return status;
}

/* Makes the text of all events given; `order' and `texts' have room for them. */
static int read_all(struct search_print *p, struct search_event *v, size_t n,
                    struct search_event **order, struct picked_text *texts)
{
    int status = TOOL_OK;

    p->text.len = 0;
    for (size_t i = 0; i < n; i++) {
        v[i].len = 0;
        order[i] = &v[i];
    }
    qsort(order, n, sizeof(struct search_event *), by_group);
    for (size_t i = 0, end; !status && i < n; i = end) {
        for (end = i + 1; end < n && order[end]->chunk == order[i]->chunk &&
                          order[end]->system == order[i]->system;
             end++) {
        }
        status = read_group(p, &order[i], end - i, texts, n > 1 ? MAX_TEXT : SIZE_MAX);
    }
    return status;
}

/* ---------------------------------------------------------------------- output */

/* Appends the text of an event to the output; 0 or an enum dump_stop. */
static int put_text(struct search_print *p, const struct search_event *event,
                    int *sys_errno)
{
    char *to = event->len ? textbuf_reserve(&p->out, event->len) : NULL;
    int ret = 0;

    if (!event->len) {
        return 0; /* it is hidden */
    }
    if (!to) {
        return DUMP_STOP_NOMEM;
    }
    textbuf_commit(&p->out, fmt_mem(to, p->text.data + event->at, event->len));
    if (p->out.len >= WRITE_BYTES) {
        ret = dump_write(p->out.data, p->out.len, sys_errno);
        p->out.len = 0;
    }
    return ret;
}

/* Writes the text of events that were read; after a failure up to what failed. */
static int write_texts(struct search_print *p, const struct search_event *v, size_t n,
                       int status)
{
    int sys_errno = 0, ret = 0;

    for (size_t i = 0; !ret && i < n && (v[i].len || !status); i++) {
        ret = put_text(p, &v[i], &sys_errno);
    }
    ret = ret ? ret : dump_write(p->out.data, p->out.len, &sys_errno);
    p->out.len = 0;
    return ret ? dump_replay_status(&p->opt, ret, sys_errno, NULL) : status;
}

/* Prints the events in parts, each small enough for its text. */
static int print_parts(struct search_print *p, struct search_event **order,
                       struct picked_text *texts)
{
    int status = TOOL_OK;

    for (size_t at = 0, n; !status && at < p->n;) {
        n = p->n - at < p->at_once ? p->n - at : p->at_once;
        status = read_all(p, &p->v[at], n, order, texts);
        if (status == DUMP_FULL) {
            p->at_once = n / 2;
            status = TOOL_OK;
            continue;
        }
        status = write_texts(p, &p->v[at], n, status);
        at += n;
    }
    return status;
}

int search_print_flush(struct search_print *p)
{
    struct search_event **order = malloc(p->n * sizeof(struct search_event *) + 1);
    struct picked_text *texts = malloc(p->n * sizeof(*texts) + 1);
    int status = order && texts ? print_parts(p, order, texts)
                                : dump_replay_status(&p->opt, DUMP_STOP_NOMEM, 0, NULL);

    free(order);
    free(texts);
    p->n = 0;
    return status;
}
