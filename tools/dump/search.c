/* SPDX-License-Identifier: MIT */
/*
 * Finds the last or next access of every byte of a range; see search.h.
 *
 * libctr searches, starting at the moment and reading only the chunks that can match by
 * the index.  The bytes of what was found are taken out of the ranges, and the rest is
 * searched again.  Each event found is printed like any other.
 */
#include "dump/search.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"

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

/* A search that goes on until every byte is found. */
struct searching {
    struct ctr_trace *tr;
    const struct dump_options *opt;
    const struct search_request *request;
    const struct moment *at;
    struct tool_ranges left; /* bytes without an event yet */
    bool no_memory;
};

static void add_range(struct searching *s, uint64_t from, uint64_t to, uint32_t process)
{
    struct ctr_range *v;

    if (from >= to) {
        return;
    }
    v = realloc(s->left.v, (s->left.n + 1) * sizeof(*v));
    if (!v) {
        s->no_memory = true;
        return;
    }
    s->left.v = v;
    v[s->left.n++] = (struct ctr_range){from, to, process};
}

/* Takes the bytes of an event out of the ranges of its process. */
static void take_out(struct searching *s, const struct ctr_found *f)
{
    struct tool_ranges before = s->left;
    uint64_t end = f->addr + f->size;

    end = end < f->addr ? UINT64_MAX : end;
    s->left = (struct tool_ranges){0};
    for (uint32_t i = 0; i < before.n; i++) {
        const struct ctr_range *r = &before.v[i];
        if ((r->process && r->process - 1 != f->thread->process) || r->to <= f->addr ||
            r->from >= end) {
            add_range(s, r->from, r->to, r->process);
            continue;
        }
        add_range(s, r->from, f->addr, r->process);
        add_range(s, end, r->to, r->process);
    }
    free(before.v);
}

/* Prints the event: an instruction with its accesses there, or an event of the system. */
static int print_found(struct searching *s, const struct ctr_found *found)
{
    struct dump_options o = *s->opt;

    o.only = found->thread;
    o.filter.pids = o.filter.tids = NULL;
    o.filter.npid = o.filter.ntid = o.filter.nprocess = 0;
    o.filter.threads = &found->thread->index;
    o.filter.nthread = 1;
    o.filter.from = found->ordinal;
    o.filter.to = found->ordinal + 1;
    o.filter.from_ns = o.filter.to_ns = 0;
    o.filter.from_thread = o.filter.to_thread = 0;
    o.kinds = found->kind;
    if (found->system) {
        o.kinds = CTR_KIND_SYS;
        o.filter.npc = o.filter.naddr = 0;
    }
    return dump_events(s->tr, &o);
}

/* Finds the event closest to the moment: 1, 0 or an error. */
static int find_next(struct searching *s, struct ctr_found *found, struct ctr_diag *diag)
{
    struct ctr_filter filter = s->opt->filter;

    filter.kinds = s->request->kind | (s->opt->kinds & CTR_KIND_SYS);
    filter.addrs = s->left.v;
    filter.naddr = s->left.n;
    return ctr_search(s->tr, &filter, s->at->thread, s->at->ordinal,
                      s->request->back ? CTR_SEARCH_BACK : 0, s->opt->jobs, found, diag);
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
    const struct ctr_thread *t = ctr_trace_thread(s->tr, s->at->thread);
    struct ctr_info info;

    ctr_trace_info(s->tr, &info);
    if (!(info.events & CTR_HAS_MEM) && !(info.events & CTR_HAS_SYS)) {
        tool_error(s->opt->prog, "%s: %s: accesses were not recorded (-e mem)",
                   s->opt->path, s->request->option);
        return TOOL_NOTHING;
    }
    return !s->request->back && s->at->ordinal - t->first == t->insns ? nothing(s)
                                                                      : TOOL_OK;
}

/* Whether the system made an event that was printed already for other bytes. */
static bool same_event(const struct ctr_found *a, const struct ctr_found *b)
{
    return a->thread == b->thread && a->ordinal == b->ordinal && a->system == b->system;
}

int dump_search(struct ctr_trace *tr, const struct dump_options *opt,
                const struct search_request *request, const struct moment *at)
{
    struct searching s = {.tr = tr, .opt = opt, .request = request, .at = at};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct ctr_found found, last = {0};
    int status = check(&s), ret = 1;
    bool any = false;

    for (uint32_t i = 0; !status && i < opt->filter.naddr; i++) {
        const struct ctr_range *r = &opt->filter.addrs[i];
        add_range(&s, r->from, r->to, r->process);
    }
    while (!status && !s.no_memory && s.left.n &&
           (ret = find_next(&s, &found, &diag)) == 1) {
        if (!any || !same_event(&found, &last)) {
            status = print_found(&s, &found);
        }
        any = true;
        last = found;
        take_out(&s, &found);
    }
    if (s.no_memory) {
        ret = DUMP_STOP_NOMEM;
    }
    free(s.left.v);
    if (!status && (ret < 0 || s.no_memory)) {
        return dump_replay_status(opt, ret, 0, &diag);
    }
    return status || any ? status : nothing(&s);
}
