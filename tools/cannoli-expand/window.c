/* SPDX-License-Identifier: MIT */
/*
 * A moment is one of one thread.  Where that is in the others their slices say: those before
 * the slice that has it ran, those after it did not.
 */
#include "window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "input/trace.h"

/* Goes through the slices of a thread. */
struct slices {
    struct ctr_cursor *cursor;
    uint64_t number, ordinal; /* of the last one */
};

static int slices_open(struct slices *s, const struct light *l, uint32_t thread)
{
    const struct ctr_filter filter = {
        .kinds = CTR_KIND_ORDER, .nthread = 1, .threads = &thread};
    struct ctr_diag diag;
    const int ret = ctr_cursor_open(&s->cursor, l->tr, &filter, &diag);

    return ret ? light_error(l, ret, &diag) : TOOL_OK;
}

/* *more: there was another one. */
static int slices_next(struct slices *s, const struct light *l, bool *more)
{
    struct ctr_slice slice;
    struct ctr_event ev;
    struct ctr_diag diag;
    int ret;

    do {
        ret = ctr_cursor_next(s->cursor, &ev, &diag);
    } while (ret > 0 && ctr_parse_slice(&ev.os, &slice));
    *more = ret > 0;
    if (*more) {
        s->number = slice.number;
        s->ordinal = ev.os.ordinal;
    }
    return ret < 0 ? light_error(l, ret, &diag) : TOOL_OK;
}

/* The slice in which a thread executes the instruction before an ordinal, or its first one. */
static int slice_of(const struct light *l, const struct ctr_moment *at, uint64_t *number)
{
    struct slices s = {.number = 0};
    bool more = true, any = false;
    int status = slices_open(&s, l, at->thread);

    *number = 0;
    if (status) {
        return status;
    }
    /* The first thread begins with slice 0, others with one that the trace has. */
    while (!status && !(status = slices_next(&s, l, &more)) && more) {
        if (s.ordinal >= at->ordinal && (any || !at->thread)) {
            break;
        }
        *number = s.number;
        any = true;
    }
    ctr_cursor_close(s.cursor);
    return status;
}

/* The ordinal at which a thread begins its first slice after `number'; WINDOW_ALL: it has
 * none.  *begun: it had one before that. */
static int place_after(const struct light *l, uint32_t thread, uint64_t number,
                       uint64_t *ordinal, bool *begun)
{
    struct slices s = {.number = 0};
    bool more = true;
    int status = slices_open(&s, l, thread);

    *ordinal = WINDOW_ALL;
    *begun = !thread;
    if (status) {
        return status;
    }
    while (!status && !(status = slices_next(&s, l, &more)) && more) {
        if (s.number > number) {
            *ordinal = s.ordinal;
            break;
        }
        *begun = true;
    }
    ctr_cursor_close(s.cursor);
    return status;
}

/* Where each thread is at a moment, and whether it has begun. */
static int places_of(const struct light *l, const struct ctr_moment *at, uint64_t number,
                     uint64_t *places, bool *begun)
{
    int status = TOOL_OK;

    for (uint32_t i = 0; !status && i < l->info.threads; i++) {
        if (i == at->thread) {
            places[i] = at->ordinal;
            begun[i] = true;
        } else {
            status = place_after(l, i, number, &places[i], &begun[i]);
        }
    }
    return status;
}

static int find(const struct light *l, const struct moment_text *text, const char *option,
                uint64_t *slice, uint64_t *places, bool *begun)
{
    const struct locate_request request = {
        .prog = l->prog, .path = l->path, .option = option, .trace = l->tr};
    const struct ctr_filter all = CTR_FILTER_INIT;
    struct ctr_moment at;
    int status = moment_find(text, &all, &request, tool_default_jobs(), &at);

    if (!status) {
        status = slice_of(l, &at, slice);
    }
    return status ? status : places_of(l, &at, *slice, places, begun);
}

int window_make(struct window *w, const struct light *l, const struct moment_text *from,
                const struct moment_text *to)
{
    const size_t n = l->info.threads;
    int status = TOOL_OK;

    *w = (struct window){.given = from->kind || to->kind, .upto = UINT64_MAX};
    w->first = calloc(n, sizeof(*w->first));
    w->end = calloc(n, sizeof(*w->end));
    w->begun = calloc(n, sizeof(*w->begun));
    if (!w->first || !w->end || !w->begun) {
        return light_refuse(l, "no memory");
    }
    for (size_t i = 0; i < n; i++) {
        w->end[i] = WINDOW_ALL;
    }
    snprintf(w->text, sizeof(w->text), "%s%.40s%s%s%.40s", from->kind ? "--from=" : "",
             from->kind ? from->text : "", from->kind && to->kind ? " " : "",
             to->kind ? "--to=" : "", to->kind ? to->text : "");
    if (from->kind) {
        status = find(l, from, "--from", &w->after, w->first, w->begun);
    }
    if (!status && to->kind) {
        status = find(l, to, "--to", &w->upto, w->end, w->begun);
    } else {
        memset(w->begun, true, n * sizeof(*w->begun));
    }
    for (uint32_t i = 0; !status && i < n; i++) { /* if all is wanted, the first one is */
        if (window_has(w, ctr_trace_thread(l->tr, i))) {
            return TOOL_OK;
        }
    }
    return status ? status : light_refuse(l, "no instruction is in %s", w->text);
}

void window_free(struct window *w)
{
    free(w->first);
    free(w->end);
    free(w->begun);
}

bool window_has(const struct window *w, const struct ctr_thread *t)
{
    const uint32_t i = t->index;

    return !w->given ||
           (w->begun[i] && w->first[i] < w->end[i] && w->first[i] < t->insns);
}
