/* SPDX-License-Identifier: MIT */
/*
 * tracedump --last-write-before and similar: which event accessed these addresses last,
 * or next?
 *
 * libctr searches, starting at the position and reading only the chunks that can match by
 * the index.  The event found is printed like any other.
 */
#include "tracedump.h"

#include "common/options.h"

/* Prints the event: an instruction with its accesses there, or an event of the system. */
static int print_found(struct ctr_trace *tr, const struct dump_options *opt,
                       const struct ctr_found *found)
{
    struct dump_options o = *opt;

    o.only = found->thread;
    o.filter.pids = &found->thread->pid;
    o.filter.tids = &found->thread->tid;
    o.filter.npid = o.filter.ntid = 1;
    o.filter.from = found->ordinal;
    o.filter.to = found->ordinal + 1;
    o.filter.from_ns = o.filter.to_ns = 0;
    o.kinds = found->kind;
    if (found->system) {
        o.kinds = CTR_KIND_SYS;
        o.filter.npc = o.filter.naddr = 0;
    }
    return dump_events(tr, &o);
}

int dump_search(struct ctr_trace *tr, const struct dump_options *opt,
                const struct search_request *request)
{
    const unsigned flags = request->back ? CTR_SEARCH_BACK : 0;
    struct ctr_filter filter = opt->filter;
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct ctr_found found;
    struct ctr_info info;
    const struct ctr_thread *t;
    int ret;

    ctr_trace_info(tr, &info);
    if (!info.seekable) {
        tool_error(PROG, "%s needs a file, not a stream", request->option);
        return TOOL_FAILED;
    }
    t = position_thread(tr, opt, &request->position, request->option);
    if (!t) {
        return TOOL_FAILED;
    }
    if (!request->back && request->position.ordinal - t->first == t->insns) {
        return TOOL_NOTHING;
    }
    filter.kinds = request->kind | (opt->kinds & CTR_KIND_SYS);
    ret = ctr_search(tr, &filter, t->index, request->position.ordinal, flags, opt->jobs,
                     &found, &diag);
    if (ret == 1) {
        return print_found(tr, opt, &found);
    }
    return ret ? dump_replay_status(opt, ret, 0, &diag) : TOOL_NOTHING;
}
