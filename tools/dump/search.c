/* SPDX-License-Identifier: MIT */
/*
 * Finds the last or next access of every byte of a range; see search.h.
 *
 * libctr searches, starting at the moment and reading only the chunks that can match by
 * the index.  The bytes of what was found are taken out of the ranges, and the rest is
 * searched again.  Each event found is printed like any other.  What is left when nothing
 * more is found is searched in the parent, backward from the fork.
 */
#include "dump/search.h"

#include <stdlib.h>

#include "common/array.h"
#include "cannoli/events.h"
#include "input/trace.h"
#include "query/fork.h"

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

/* How many parents are searched; a damaged table of processes may have a circle. */
#define MAX_FORKS 1000u

/* A search that goes on until every byte is found. */
struct searching {
    struct ctr_trace *tr;
    const struct dump_options *opt;
    const struct search_request *request;
    struct moment at; /* where the search of this process begins */
    uint32_t process; /* index */
    unsigned flags;   /* CTR_SEARCH_*, of the next step */
    struct ctr_filter filter;
    struct tool_ranges all;  /* of the moment's process, as of any process */
    struct tool_ranges left; /* bytes without an event yet */
    struct hits {            /* what accessed them in one chunk, in order */
        struct hit *v;
        size_t n, cap;
    } hits;
    struct ctr_chunk chunk;
    struct ctr_diag diag;
    bool any; /* an event was printed; the last one: */
    uint32_t thread;
    uint64_t ordinal;
    bool system;
};

/* An access, or memory that the system used. */
struct hit {
    uint64_t ordinal, addr, size;
    uint32_t seq;
    bool system;
};

static int add_range(struct tool_ranges *list, uint64_t from, uint64_t to)
{
    struct ctr_range *v;

    if (from >= to) {
        return 0;
    }
    v = realloc(list->v, (list->n + 1) * sizeof(*v));
    if (!v) {
        return DUMP_STOP_NOMEM;
    }
    list->v = v;
    v[list->n++] = (struct ctr_range){from, to, 0};
    return 0;
}

/* Takes the bytes of an event out of what is left; *taken: there were any.  Returns 0 or
 * DUMP_STOP_NOMEM. */
static int take_out(struct searching *s, const struct hit *h, bool *taken)
{
    struct tool_ranges after = {0};
    uint64_t end = h->addr + h->size;
    int ret = 0;

    end = end < h->addr ? UINT64_MAX : end;
    *taken = false;
    for (uint32_t i = 0; !ret && i < s->left.n; i++) {
        const struct ctr_range *r = &s->left.v[i];
        if (r->to <= h->addr || r->from >= end) {
            ret = add_range(&after, r->from, r->to);
            continue;
        }
        *taken = true;
        ret = add_range(&after, r->from, h->addr < r->to ? h->addr : r->to);
        ret = ret ? ret : add_range(&after, end > r->from ? end : r->from, r->to);
    }
    free(s->left.v);
    s->left = after;
    return ret;
}

/* Prints the event: an instruction with its accesses there, or an event of the system. */
static int print_hit(struct searching *s, const struct hit *h)
{
    struct dump_options o = *s->opt;

    o.only = ctr_trace_thread(s->tr, s->chunk.thread);
    o.filter.pids = o.filter.tids = NULL;
    o.filter.npid = o.filter.ntid = o.filter.nprocess = 0;
    o.filter.threads = &s->chunk.thread;
    o.filter.nthread = 1;
    o.filter.addrs = s->all.v;
    o.filter.naddr = s->all.n;
    o.filter.from = h->ordinal;
    o.filter.to = h->ordinal + 1;
    o.filter.from_ns = o.filter.to_ns = 0;
    o.filter.from_thread = o.filter.to_thread = 0;
    o.kinds = s->request->kind;
    if (h->system) {
        o.kinds = CTR_KIND_SYS;
        o.filter.npc = o.filter.naddr = 0;
    }
    return dump_events(s->tr, &o);
}

/* ---------------------------------------------------------- one chunk's accesses */

static int add_hit(struct searching *s, struct hit h)
{
    struct hits *l = &s->hits;

    if (!array_reserve(&l->v, &l->cap, l->n + 1, sizeof(*l->v))) {
        return DUMP_STOP_NOMEM;
    }
    h.seq = (uint32_t)l->n;
    l->v[l->n++] = h;
    return 0;
}

/* Whether an event is on the right side of the moment, as ctr_search counts. */
static bool is_side(const struct searching *s, uint64_t ordinal, bool system)
{
    bool here = system && !s->at.before_system; /* it is before the moment */
    bool before = here ? ordinal <= s->at.ordinal : ordinal < s->at.ordinal;

    return s->chunk.thread != s->at.thread || before == s->request->back;
}

static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    struct searching *s = arg;

    if (ctr_job_chunk(job)->index != s->chunk.index || !is_side(s, m->ordinal, false)) {
        return 0;
    }
    return add_hit(s, (struct hit){m->ordinal, m->addr, m->size, 0, false});
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct searching *s = arg;
    struct ctr_usermem m;
    uint32_t kind;

    if (ctr_job_chunk(job)->index != s->chunk.index || ctr_parse_usermem(e, &m) ||
        !m.size || !is_side(s, e->ordinal, true)) {
        return 0;
    }
    kind = m.flags & CTR_USERMEM_WRITE ? CTR_KIND_STORE : CTR_KIND_LOAD;
    return kind == s->request->kind
               ? add_hit(s, (struct hit){e->ordinal, m.addr, m.size, 0, true})
               : 0;
}

static int in_order(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;

    if (x->ordinal != y->ordinal) {
        return x->ordinal < y->ordinal ? -1 : 1;
    }
    if (x->system != y->system) { /* it comes before the instruction */
        return x->system ? -1 : 1;
    }
    return x->seq < y->seq ? -1 : 1;
}

/* Reads the accesses of the chunk that touch bytes that are left. */
static int read_chunk(struct searching *s)
{
    const struct ctr_replay_ops ops = {.mem = on_mem}, os_ops = {.os = on_os};
    struct ctr_filter filter = s->filter;
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    uint64_t first;
    int ret;

    s->hits.n = 0;
    filter.kinds = s->request->kind;
    filter.addrs = s->left.v;
    filter.naddr = s->left.n;
    filter.threads = &s->chunk.thread;
    filter.nthread = 1;
    filter.from_thread = filter.to_thread = 0;
    /* A chunk may begin with the rest of an instruction's accesses. */
    first = s->chunk.first ? s->chunk.first - 1 : 0;
    filter.from = first > filter.from ? first : filter.from;
    if (!filter.to || filter.to > s->chunk.first + s->chunk.insns) {
        filter.to = s->chunk.first + s->chunk.insns + 1;
    }
    ret = ctr_replay(s->tr, &ops, s, &opts, &s->diag);
    if (!ret && s->opt->kinds & CTR_KIND_SYS && !filter.npc) {
        filter.kinds = CTR_KIND_SYS;
        filter.naddr = 0;
        ret = ctr_replay(s->tr, &os_ops, s, &opts, &s->diag);
    }
    if (!ret && s->hits.n > 1) {
        qsort(s->hits.v, s->hits.n, sizeof(*s->hits.v), in_order);
    }
    return ret;
}

/* Prints those of them that are the last or first of a byte. */
static int print_chunk(struct searching *s, bool *progress)
{
    const struct ctr_thread *t = ctr_trace_thread(s->tr, s->chunk.thread);
    int status = TOOL_OK;

    for (size_t i = 0; !status && s->left.n && i < s->hits.n; i++) {
        const struct hit *h = &s->hits.v[s->request->back ? s->hits.n - 1 - i : i];
        bool taken;
        if (take_out(s, h, &taken)) {
            return dump_replay_status(s->opt, DUMP_STOP_NOMEM, 0, NULL);
        }
        if (!taken) {
            continue;
        }
        *progress = true;
        /* An instruction's accesses may be in two chunks. */
        if (!s->any || s->thread != t->index || s->ordinal != h->ordinal ||
            s->system != h->system) {
            status = print_hit(s, h);
        }
        s->any = true;
        s->thread = t->index;
        s->ordinal = h->ordinal;
        s->system = h->system;
    }
    return status;
}

/* Finds the chunk with the event closest to a moment: 1, 0 or an error. */
static int find_chunk(struct searching *s, const struct moment *from)
{
    struct ctr_filter filter = s->filter;
    struct ctr_found found;
    int ret;

    filter.kinds = s->request->kind | (s->opt->kinds & CTR_KIND_SYS);
    filter.addrs = s->left.v;
    filter.naddr = s->left.n;
    ret = ctr_search(s->tr, &filter, from->thread, from->ordinal, s->flags, s->opt->jobs,
                     &found, &s->diag);
    s->flags &= CTR_SEARCH_BACK; /* it goes on from a chunk */
    if (ret == 1) {
        ret = ctr_trace_chunk(s->tr, found.chunk, &s->chunk, &s->diag);
        return ret ? ret : 1;
    }
    return ret;
}

/* Where to go on after a chunk. */
static struct moment after_chunk(const struct searching *s)
{
    uint64_t first = s->chunk.first, last = first + s->chunk.insns;

    return (struct moment){.thread = s->chunk.thread,
                           .ordinal = s->request->back ? first
                                      : last > first   ? last - 1
                                                       : first};
}

static int nothing(const struct searching *s)
{
    const struct search_request *r = s->request;

    tool_error(s->opt->prog, "%s: %s=%s: no %s there is recorded %s it", s->opt->path,
               r->option, r->moment.text, r->kind == CTR_KIND_LOAD ? "read" : "write",
               r->back ? "before" : "after");
    return TOOL_NOTHING;
}

/* Whether there can be no event at all; else a status. */
static int check(const struct searching *s)
{
    struct ctr_info info;

    ctr_trace_info(s->tr, &info);
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
static int begin_ranges(struct searching *s)
{
    const struct ctr_filter *f = &s->opt->filter;
    int ret = 0;

    for (uint32_t i = 0; !ret && i < f->naddr; i++) {
        const struct ctr_range *r = &f->addrs[i];
        if (!r->process || r->process - 1 == s->process) {
            ret = add_range(&s->all, r->from, r->to);
            ret = ret ? ret : add_range(&s->left, r->from, r->to);
        }
    }
    return ret;
}

/* Searches one process from s->at on; *status is that of what was printed.  Returns 0, an
 * enum dump_stop or an error. */
static int search_process(struct searching *s, int *status)
{
    struct moment from = s->at;
    bool progress = true;
    int ret = 0;

    s->filter = s->opt->filter;
    s->filter.processes = &s->process;
    s->filter.nprocess = 1;
    s->filter.npid = 0; /* it chose the moment's process */
    s->flags = (s->request->back ? CTR_SEARCH_BACK : 0) |
               (s->at.before_system ? CTR_SEARCH_SYSTEM : CTR_SEARCH_POINT);
    while (!*status && !ret && progress && s->left.n &&
           (ret = find_chunk(s, &from)) == 1) {
        progress = false;
        ret = read_chunk(s);
        *status = ret ? *status : print_chunk(s, &progress);
        from = after_chunk(s);
    }
    return ret;
}

int dump_search(struct ctr_trace *tr, const struct dump_options *opt,
                const struct search_request *request, const struct moment *at)
{
    struct searching s = {.tr = tr,
                          .opt = opt,
                          .request = request,
                          .at = *at,
                          .process = ctr_trace_thread(tr, at->thread)->process,
                          .diag = {.off = CTR_NO_OFF}};
    int status = check(&s), ret = begin_ranges(&s), forked = 1;

    for (unsigned depth = 0;
         !status && !ret && s.left.n && forked == 1 && depth < MAX_FORKS; depth++) {
        ret = search_process(&s, &status);
        if (ret || status || !s.left.n || !request->back) {
            break;
        }
        forked = fork_find(tr, s.process, &s.at, &s.diag);
        ret = forked < 0 ? forked : 0;
        s.process = ctr_trace_thread(tr, s.at.thread)->process;
    }
    free(s.all.v);
    free(s.left.v);
    free(s.hits.v);
    if (!status && ret) {
        return dump_replay_status(opt, ret, 0, &s.diag);
    }
    return status || s.any ? status : nothing(&s);
}
