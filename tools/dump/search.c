/* SPDX-License-Identifier: MIT */
/*
 * Finds the last or next access of every byte of a range; see search.h.
 *
 * Each thread of the process is searched for itself, away from the moment
 * (search_source.c).  Of what they find the closest is shown like any other event
 * (search_print.c), its bytes are taken out of what is left, and so on.  Between threads
 * times decide: which of two accesses was first is known if a system call or the like is
 * between them; a remark says where it is not.  What is left when nothing more is found is
 * searched in what other threads did at about the time of the moment, and then in the
 * parent, backward from the fork.
 */
#include "dump/search_priv.h"

#include <stdlib.h>

#include "dump/search_print.h"
#include "input/trace.h"
#include "query/threads.h"
#include "query/location.h"

enum tool_parsed search_parse(struct search_request *r, int key, const char *arg)
{
    static const struct search_request kinds[] = {
        {.option = "--last-write-before", .kind = CTR_KIND_STORE, .back = true},
        {.option = "--last-read-before", .kind = CTR_KIND_LOAD, .back = true},
        {.option = "--first-write-after", .kind = CTR_KIND_STORE},
        {.option = "--first-read-after", .kind = CTR_KIND_LOAD},
    };

    if (key < SEARCH_OPT_LAST_WRITE || key > SEARCH_OPT_FIRST_READ) {
        return TOOL_OTHER_GROUP;
    }
    *r = kinds[key - SEARCH_OPT_LAST_WRITE];
    return moment_parse(arg, &r->moment) ? TOOL_PARSED : TOOL_BAD_ARG;
}

int search_check(const struct search_request *r, bool find,
                 const struct filter_options *filter, const char *prog)
{
    if ((r->option || find) && filter->phys_ranges.n) {
        return tool_usage_error(prog,
                                "%s searches virtual addresses: --addr phys: does not "
                                "go with it",
                                r->option ? r->option : "--find");
    }
    if (r->option && !filter->addrs.n) {
        return tool_usage_error(prog, "%s needs --addr", r->option);
    }
    return TOOL_OK;
}

/* How many parents are searched; a damaged table of processes may have a circle. */
#define MAX_FORKS 1000u

/* The answer: the events found, of the moment's process and of those it inherited from. */
struct answer {
    struct search search;
    uint32_t process; /* index */
    struct search_source *sources;
    uint32_t nr_sources;
    struct search_bytes all; /* of the moment's process */
    struct search_print print;
    bool unsure; /* that the order of threads is not known was said */
};

/* Makes a hit a part of the answer; its bytes are not left.  Returns 0 or
 * DUMP_STOP_NOMEM. */
static int take(struct answer *a, const struct search_source *source,
                const struct search_hit *h)
{
    const struct search_event event = {.chunk = source->chunk.index,
                                       .ordinal = h->ordinal,
                                       .thread = source->thread,
                                       .system = h->system};
    int ret = search_print_add(&a->print, &event);

    if (!ret && !search_bytes_remove(&a->search.left, h->addr, search_hit_end(h))) {
        ret = DUMP_STOP_NOMEM;
    }
    return ret;
}

/* ---------------------------------------------------------------- several threads */

/* Whether another thread's access may be the closest to some bytes instead of the hit that
 * is printed for them.  Returns 1, 0 or an error. */
static int may_be_closer(struct answer *a, struct search_source *other,
                         const struct search_hit *h, const struct search_bytes *bytes)
{
    struct search *s = &a->search;
    int ret = search_near_touches(&other->near, other->v, other->n, &h->span, bytes);

    /* What began after a moment that is known this well only. */
    if (ret || !s->request->back || other->thread == s->at.thread) {
        return ret;
    }
    ret = search_source_rest(other, s, &a->all);
    return search_bytes_meet(&other->rest, bytes) ? 1 : ret;
}

/* Says so, once, if another thread's access may be closer than a hit.  Returns 0 or an
 * error. */
static int check_order(struct answer *a, const struct search_source *source,
                       const struct search_hit *h)
{
    const struct search *s = &a->search;
    const char *done = s->request->kind == CTR_KIND_LOAD ? "read" : "wrote";
    struct search_bytes bytes = {0};
    int ret = 0;

    if (a->unsure || s->opt->quiet || !s->timed) {
        return 0;
    }
    if (source->thread != s->at.thread && search_spans_overlap(&s->when, &h->span)) {
        tool_error(s->opt->prog,
                   "%s: thread %d %s there at about the time of the moment: which was "
                   "first is not recorded",
                   s->opt->path, ctr_trace_thread(s->tr, source->thread)->tid, done);
        a->unsure = true;
    }
    if (!a->unsure && !search_bytes_part(&s->left, h->addr, search_hit_end(h), &bytes)) {
        ret = DUMP_STOP_NOMEM;
    }
    for (uint32_t i = 0; !ret && !a->unsure && i < a->nr_sources; i++) {
        struct search_source *other = &a->sources[i];

        ret = other == source ? 0 : may_be_closer(a, other, h, &bytes);
        if (ret == 1) {
            tool_error(s->opt->prog,
                       "%s: thread %d %s there at about the same time: which was %s is "
                       "not recorded",
                       s->opt->path, ctr_trace_thread(s->tr, other->thread)->tid, done,
                       s->request->back ? "last" : "first");
            a->unsure = true;
            ret = 0;
        }
    }
    search_bytes_fini(&bytes);
    return ret;
}

/* Whether a hit of one thread is closer to the moment than that of another, as far as times
 * are known. */
static bool is_closer(const struct search *s, const struct search_hit *h,
                      const struct search_hit *than)
{
    const uint64_t least = s->request->back ? 0 : s->when.from_ns;
    uint64_t x = h->span.from_ns > least ? h->span.from_ns : least;
    uint64_t y = than->span.from_ns > least ? than->span.from_ns : least;

    if (x == y) {
        return s->request->back ? h->span.to_ns > than->span.to_ns
                                : h->span.to_ns < than->span.to_ns;
    }
    return (x > y) == s->request->back;
}

/*
 * Prints what waits before a chunk is searched for, as that may take long.  The chunks of
 * several threads would be decoded again each time, so then there must be at least as much
 * as was printed before.
 */
static int print_early(struct answer *a)
{
    bool due = a->nr_sources == 1 || search_print_is_half(&a->print);

    return due ? search_print_flush(&a->print) : TOOL_OK;
}

/* The source with the closest hit.  Returns 1, 0 if there is none or *status is not
 * TOOL_OK, or as search_source_next. */
static int choose(struct answer *a, struct search_source **chosen, int *status)
{
    *chosen = NULL;
    for (uint32_t i = 0; i < a->nr_sources; i++) {
        struct search_source *source = &a->sources[i];
        int ret;

        if (!source->done && !search_source_has_next(source, &a->search)) {
            *status = print_early(a);
        }
        ret = *status ? 0 : search_source_next(source, &a->search);
        if (*status || (ret && ret != 1)) {
            return ret;
        }
        if (ret && (!*chosen || is_closer(&a->search, &source->v[source->next],
                                          &(*chosen)->v[(*chosen)->next]))) {
            *chosen = source;
        }
    }
    return *chosen != NULL;
}

/* Whether the user's filter and the process have a thread. */
static bool is_source(const struct answer *a, const struct ctr_thread *t)
{
    return threads_selected(&a->search.filter, t);
}

/* Begins at s->at in each thread of the process; its own is first, so that it counts if
 * times are equal.  Returns 0 or an error. */
static int begin_sources(struct answer *a)
{
    struct search *s = &a->search;
    const struct ctr_thread *t;
    uint32_t n = 0;
    int ret = 0;

    for (uint32_t i = 0; (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        n += is_source(a, t);
    }
    a->sources = calloc(n + 1u, sizeof(*a->sources));
    if (!a->sources) {
        return DUMP_STOP_NOMEM;
    }
    s->timed = n > 1 || !is_source(a, ctr_trace_thread(s->tr, s->at.thread));
    if (s->timed && !s->possible) { /* else it is known */
        ret = search_moment_span(s);
        if (ret) {
            return ret;
        }
    }
    t = ctr_trace_thread(s->tr, s->at.thread);
    if (is_source(a, t) && !s->possible) {
        ret = search_source_init(&a->sources[a->nr_sources++], s, t);
    }
    for (uint32_t i = 0; !ret && (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        if (i != s->at.thread && is_source(a, t)) {
            ret = search_source_init(&a->sources[a->nr_sources++], s, t);
        }
    }
    return ret;
}

static void end_sources(struct answer *a)
{
    for (uint32_t i = 0; i < a->nr_sources; i++) {
        search_source_fini(&a->sources[i]);
    }
    free(a->sources);
    a->sources = NULL;
    a->nr_sources = 0;
}

/* --------------------------------------------------------------------------- */

static int nothing(const struct search *s)
{
    const struct search_request *r = s->request;

    const char *moment = r->moment.text; /* NULL: that of another option */

    tool_error(s->opt->prog, "%s: %s%s%s: no %s there is recorded %s it", s->opt->path,
               r->option, moment ? "=" : "", moment ? moment : "",
               r->kind == CTR_KIND_LOAD ? "read" : "write", r->back ? "before" : "after");
    return TOOL_NOTHING;
}

/* Whether there can be no event at all; else a status. */
static int check(struct search *s)
{
    struct ctr_info info;

    ctr_trace_info(s->tr, &info);
    s->ordered = info.events & CTR_HAS_ORDER;
    if (!(info.events & CTR_HAS_MEM) && !(info.events & CTR_HAS_SYS)) {
        tool_error(s->opt->prog, "%s: %s: accesses were not recorded (-e mem)",
                   s->opt->path, s->request->option);
        return TOOL_NOTHING;
    }
    if (!s->opt->quiet) {
        tool_note_part(s->opt->prog, s->opt->path, s->tr, "other accesses are not in it");
    }
    return TOOL_OK;
}

/* The bytes to search in the moment's process; 0 or DUMP_STOP_NOMEM. */
static int begin_ranges(struct answer *a)
{
    const struct ctr_filter *f = &a->search.opt->filter;
    bool ok = true;

    for (uint32_t i = 0; ok && i < f->naddr; i++) {
        const struct ctr_range *r = &f->addrs[i];
        if (location_range_is_of(r, a->process)) {
            ok = search_bytes_append(&a->all, r->from, r->to) &&
                 search_bytes_append(&a->search.left, r->from, r->to);
        }
    }
    search_bytes_merge(&a->all);
    search_bytes_merge(&a->search.left);
    return ok ? 0 : DUMP_STOP_NOMEM;
}

/* Searches the threads of one process from s->at on; *status is that of what was printed.
 * Returns 0, an enum dump_stop or an error. */
static int search_threads(struct answer *a, int *status)
{
    struct search *s = &a->search;
    struct search_source *source;
    int ret = begin_sources(a);

    while (!*status && !ret && s->left.n && (ret = choose(a, &source, status)) == 1) {
        const struct search_hit h = source->v[source->next];

        ret = check_order(a, source, &h);
        ret = ret ? ret : take(a, source, &h);
        if (!ret && search_print_is_full(&a->print)) {
            *status = search_print_flush(&a->print);
        }
    }
    end_sources(a);
    return ret;
}

/* As search_threads, of one process. */
static int search_process(struct answer *a, int *status)
{
    struct search *s = &a->search;
    int ret;

    s->filter = s->opt->filter;
    s->filter.processes = &a->process;
    s->filter.nprocess = 1;
    s->filter.npid = 0; /* it chose the moment's process */
    ret = search_threads(a, status);
    if (!ret && !*status && s->left.n && s->timed && s->request->back) {
        s->possible = true;
        ret = search_threads(a, status);
        s->possible = false;
    }
    return ret;
}

int dump_search(struct ctr_trace *tr, const struct dump_options *opt,
                const struct search_request *request, const struct ctr_moment *at)
{
    struct answer a = {.search = {.tr = tr,
                                  .opt = opt,
                                  .request = request,
                                  .at = *at,
                                  .diag = {.off = CTR_NO_OFF}},
                       .process = ctr_trace_thread(tr, at->thread)->process};
    struct search *s = &a.search;
    int status = check(s), ret = begin_ranges(&a), forked = 1, printed;

    search_print_init(&a.print, tr, opt, request->kind, &a.all);
    for (unsigned depth = 0;
         !status && !ret && s->left.n && forked == 1 && depth < MAX_FORKS; depth++) {
        ret = search_process(&a, &status);
        if (ret || status || !s->left.n || !request->back) {
            break;
        }
        forked = ctr_moment_fork(tr, a.process, &s->at, &s->diag);
        ret = forked < 0 ? forked : 0;
        a.process = ctr_trace_thread(tr, s->at.thread)->process;
    }
    printed = status ? TOOL_OK : search_print_flush(&a.print);
    status = status ? status : printed;
    search_print_fini(&a.print);
    search_bytes_fini(&a.all);
    search_bytes_fini(&s->left);
    if (!status && ret) {
        return dump_replay_status(opt, ret, 0, &s->diag);
    }
    return status || a.print.found ? status : nothing(s);
}
