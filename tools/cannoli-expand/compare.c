/* SPDX-License-Identifier: MIT */
/*
 * Instructions are compared by sums (sums.h), which workers make in parallel; events, of which
 * there are few, one by one.  Only where sums differ the instructions themselves are read.  Of
 * several differences the one that comes first counts: the others follow from it.
 */
#include "compare.h"

#include <inttypes.h>

#include "common/options.h"
#include "common/progress.h"
#include "difference.h"
#include "sides.h"
#include "sums.h"

#define NOWHERE UINT64_MAX

/* The two sides: what was recorded, and what was executed now. */
struct comparison {
    struct sides both;
    const struct window *window;
    struct sums sums[2];
    struct progress progress;
    uint64_t lost; /* instructions that could not be executed again */
    bool said;     /* that it differs, by QEMU */
};

/* A difference. */
struct spot {
    uint32_t thread[2];
    uint64_t ordinal;
    uint64_t time_ns;  /* in the order of the threads that were recorded */
    uint32_t kinds;    /* with which it was found, from an ordinal on */
    uint64_t from, to; /* 0: to the end */
};

/* ----------------------------------------------------------------- in step */

static bool pair_equal(const struct sides_pair *p)
{
    return p->have[0] && p->have[1] && sides_same(&p->ev[0], &p->ev[1]) &&
           (p->ev[0].kind == CTR_CURSOR_EXEC ||
            sides_ordinal(&p->ev[0]) == sides_ordinal(&p->ev[1]));
}

/* Moves both on to the first difference; *at: its ordinal, NOWHERE if there is none. */
static int pair_differ(struct sides_pair *p, uint64_t *at)
{
    int status;

    *at = NOWHERE;
    do {
        status = sides_pair_next(p, 0);
        status = status ? status : sides_pair_next(p, 1);
    } while (!status && pair_equal(p));
    for (unsigned i = 0; !status && i < 2; i++) {
        if (p->have[i] && sides_ordinal(&p->ev[i]) < *at) {
            *at = sides_ordinal(&p->ev[i]);
        }
    }
    return status;
}

/* ------------------------------------------------------------- instructions */

/* The instructions of a thread that are compared: from an ordinal on, up to another one. */
struct span {
    uint64_t first, end; /* end: NOWHERE: the last one */
};

static struct span span_of(const struct comparison *c, uint32_t thread)
{
    const uint64_t end = c->window->end[thread];

    return (struct span){
        .first = c->window->first[thread],
        .end = end < ctr_trace_thread(c->both.light->tr, thread)->insns ? end : NOWHERE};
}

/*
 * The last values of clocks that a killed process read are lost with it: where they are needed
 * the second execution ends, too, with less than was recorded.
 */
static void note_lost(struct comparison *c, struct span *s)
{
    const struct ctr_thread *a = ctr_trace_thread(c->both.light->tr, c->both.thread[0]),
                            *b = ctr_trace_thread(c->both.made.tr, c->both.thread[1]);
    const uint64_t end = b->first + b->insns;

    if (!c->said && a->end_reason == CTR_END_KILLED && b->end_reason == CTR_END_KILLED &&
        end < a->insns && end < s->end) {
        s->end = end;
        c->lost += a->insns - end;
    }
}

static int make_sums(struct comparison *c)
{
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct span all = {NOWHERE, 0};

    for (uint32_t i = 0; i < c->both.light->info.threads; i++) {
        const struct span s = span_of(c, i);

        if (window_has(c->window, ctr_trace_thread(c->both.light->tr, i))) {
            all.first = s.first < all.first ? s.first : all.first;
            all.end = s.end > all.end ? s.end : all.end;
        }
    }
    for (unsigned k = 0; k < 2; k++) {
        const int ret = sums_make(&c->sums[k], c->both.side[k]->tr, all.first,
                                  all.end == NOWHERE ? 0 : all.end, &c->progress, &diag);

        progress_clear(&c->progress);
        if (ret) {
            return light_error(c->both.side[k], ret, &diag);
        }
    }
    return TOOL_OK;
}

/* The first instruction of those of a sum that differs, of sums that are wholly within the span;
 * NOWHERE: all are equal. */
static uint64_t find_sum(const struct comparison *c, const struct span *s)
{
    const _Atomic uint64_t *v[2];
    size_t n[2], most, i = (size_t)((s->first + SUM_INSNS - 1) / SUM_INSNS);

    for (unsigned k = 0; k < 2; k++) {
        const size_t *first = &c->sums[k].first[c->both.thread[k]];

        v[k] = c->sums[k].v + first[0];
        n[k] = first[1] - first[0];
    }
    most = n[0] > n[1] ? n[0] : n[1];
    most = s->end == NOWHERE ? most : (size_t)(s->end / SUM_INSNS);
    while (i < most && i < n[0] && i < n[1] && v[0][i] == v[1][i]) {
        i++;
    }
    return i < most ? i * SUM_INSNS : NOWHERE;
}

/* ------------------------------------------------------------------ threads */

/* The first difference of these kinds, from an ordinal on (to 0: to the end), if it is before
 * that of *first. */
static int find(struct comparison *c, uint32_t kinds, uint64_t from, uint64_t to,
                struct spot *first)
{
    struct spot at = {.kinds = kinds,
                      .from = from,
                      .to = to,
                      .thread = {c->both.thread[0], c->both.thread[1]}};
    struct ctr_moment moment;
    struct ctr_diag diag;
    struct sides_pair p;
    int status = sides_pair_open(&p, &c->both, kinds, from, to);

    status = status ? status : pair_differ(&p, &at.ordinal);
    sides_pair_close(&p);
    if (status || at.ordinal == NOWHERE) {
        return status;
    }
    /* One that was made has perhaps more than was recorded. */
    at.time_ns =
        ctr_moment_at(c->both.light->tr, c->both.thread[0], at.ordinal, &moment, &diag)
            ? UINT64_MAX - 1
            : moment.time_ns;
    if (at.time_ns < first->time_ns ||
        (at.time_ns == first->time_ns && at.thread[0] == first->thread[0] &&
         at.ordinal < first->ordinal)) {
        *first = at;
    }
    return TOOL_OK;
}

/* Instructions of the span that are not of a whole sum. */
static int compare_edges(struct comparison *c, const struct span *s, struct spot *first)
{
    const uint64_t begin = (s->first + SUM_INSNS - 1) / SUM_INSNS * SUM_INSNS,
                   end = s->end / SUM_INSNS * SUM_INSNS;
    const bool one = s->end < begin; /* the span has no end of a sum */
    int status = TOOL_OK;

    if (s->first < begin) {
        status = find(c, CTR_KIND_EXEC, s->first, one ? s->end : begin, first);
    }
    if (!status && s->end != NOWHERE && s->end > end && !one) {
        status = find(c, CTR_KIND_EXEC, end, s->end, first);
    }
    return status;
}

/*
 * Events come before the instruction that has their ordinal.  Those of the first one of a span
 * are not compared: with its ordinal the second execution has all mappings before it, too.
 */
static int compare_thread(struct comparison *c, struct spot *first)
{
    const uint32_t kinds = sides_kinds(&c->both);
    struct span s = span_of(c, c->both.thread[0]);
    uint64_t from, to;
    int status;

    note_lost(c, &s);
    if (s.end <= s.first) {
        return TOOL_OK; /* all of it is lost */
    }
    from = find_sum(c, &s);
    to = s.end == NOWHERE ? 0 : s.end;
    status = kinds ? find(c, kinds, s.first + (s.first != 0), to, first) : TOOL_OK;
    status = status ? status : compare_edges(c, &s, first);
    return status || from == NOWHERE ? status : find(c, CTR_KIND_EXEC, from, to, first);
}

static int show(struct comparison *c, const struct spot *at)
{
    uint64_t ordinal;
    struct sides_pair p;
    int status;

    c->both.thread[0] = at->thread[0];
    c->both.thread[1] = at->thread[1];
    status = sides_pair_open(&p, &c->both, at->kinds, at->from, at->to);
    status = status ? status : pair_differ(&p, &ordinal);
    status = status ? status
                    : difference_show(
                          c->both.side,
                          (const struct ctr_event *const[]){p.have[0] ? &p.ev[0] : NULL,
                                                            p.have[1] ? &p.ev[1] : NULL},
                          at->thread[0], at->ordinal);
    sides_pair_close(&p);
    return status;
}

static int compare_both(struct comparison *c, bool *differs)
{
    const uint32_t executed = c->both.made.info.threads;
    struct spot first = {.time_ns = UINT64_MAX};
    uint32_t found = 0, wanted = 0;
    int status = make_sums(c);

    for (uint32_t i = 0; !status && i < c->both.light->info.threads; i++) {
        if (!window_has(c->window, ctr_trace_thread(c->both.light->tr, i))) {
            continue;
        }
        wanted++;
        if (sides_find(&c->both, i)) {
            found++;
            status = compare_thread(c, &first);
        }
    }
    if (status) {
        return status;
    }
    if (first.time_ns != UINT64_MAX) {
        *differs = true;
        return show(c, &first);
    }
    if (found == wanted && (found == executed || c->window->given)) {
        if (c->said) {
            *differs = true;
            return sides_said(&c->both);
        }
        if (c->lost) {
            light_refuse(c->both.light,
                         "the last %" PRIu64 " instructions are not executed again: what "
                         "clocks showed was lost when the program was killed",
                         c->lost);
        }
        return TOOL_OK;
    }
    *differs = true;
    return light_refuse(c->both.light,
                        "the second execution has %" PRIu32 " threads, of which %" PRIu32
                        " are among the %" PRIu32 " recorded ones",
                        executed, found, wanted);
}

int compare(const struct light *l, const struct window *window, const char *path,
            bool quiet, bool *differs)
{
    struct comparison c = {.window = window, .said = *differs};
    int status = sides_open(&c.both, l, path);

    progress_init(&c.progress, l->prog, quiet);
    *differs = false;
    status = status ? status : compare_both(&c, differs);
    sums_free(&c.sums[0]);
    sums_free(&c.sums[1]);
    sides_close(&c.both);
    return status;
}
