/* SPDX-License-Identifier: MIT */
/* The options that select a part of a trace; see filter_options.h. */
#include "input/filter_options.h"

#include <stdlib.h>

static bool set_option(struct filter_options *o, int key, const char *arg)
{
    switch (key) {
    case FILTER_OPT_FROM:
        return tool_parse_u64(arg, &o->from);
    case FILTER_OPT_TO:
        o->has_to = true;
        return tool_parse_u64(arg, &o->to);
    case 'n':
        o->has_count = true;
        return tool_parse_u64(arg, &o->count);
    case 'p':
        return tool_parse_ids(arg, &o->pids);
    case 't':
        return tool_parse_ids(arg, &o->tids);
    case FILTER_OPT_PC:
        return tool_parse_ranges(arg, &o->pcs);
    case FILTER_OPT_FROM_TIME:
        return tool_parse_seconds(arg, &o->from_ns);
    case FILTER_OPT_TO_TIME:
        return tool_parse_seconds(arg, &o->to_ns) && o->to_ns;
    default:
        return tool_parse_ranges(arg, &o->addrs);
    }
}

enum tool_parsed filter_options_parse(struct filter_options *o, int key, const char *arg)
{
    switch (key) {
    case FILTER_OPT_FROM:
    case FILTER_OPT_TO:
    case FILTER_OPT_PC:
    case FILTER_OPT_FROM_TIME:
    case FILTER_OPT_TO_TIME:
    case 'n':
    case 'p':
    case 't':
    case 'a':
        return set_option(o, key, arg) ? TOOL_PARSED : TOOL_BAD_ARG;
    default:
        return TOOL_OTHER_GROUP;
    }
}

int filter_options_finish(const struct filter_options *o, const char *prog,
                          struct ctr_filter *out)
{
    uint64_t to = o->to;

    if (o->has_to && o->has_count) {
        return tool_usage_error(prog, "--to and --count cannot be used together");
    }
    if (o->has_to && to < o->from) {
        return tool_usage_error(prog, "--to is below --from");
    }
    if (o->to_ns && o->to_ns <= o->from_ns) {
        return tool_usage_error(prog, "--to-time is not above --from-time");
    }
    if (o->has_count) {
        to = o->count > UINT64_MAX - o->from ? UINT64_MAX : o->from + o->count;
    }
    out->from = o->from;
    out->to = to;
    if ((o->has_to || o->has_count) && to == o->from) {
        out->from = out->to = UINT64_MAX; /* selects nothing; to == 0 would mean no end */
    }
    out->pids = o->pids.v;
    out->npid = o->pids.n;
    out->tids = o->tids.v;
    out->ntid = o->tids.n;
    out->pcs = o->pcs.v;
    out->npc = o->pcs.n;
    out->addrs = o->addrs.v;
    out->naddr = o->addrs.n;
    return TOOL_OK;
}

void filter_options_times(const struct filter_options *o, const struct ctr_trace *tr,
                          struct ctr_filter *out)
{
    struct ctr_info info;

    ctr_trace_info(tr, &info);
    if (o->from_ns) {
        out->from_ns = o->from_ns > UINT64_MAX - info.start_ns
                           ? UINT64_MAX
                           : info.start_ns + o->from_ns;
    }
    if (o->to_ns) {
        out->to_ns =
            o->to_ns > UINT64_MAX - info.start_ns ? UINT64_MAX : info.start_ns + o->to_ns;
    }
}

void filter_options_fini(struct filter_options *o)
{
    free(o->pids.v);
    free(o->tids.v);
    free(o->pcs.v);
    free(o->addrs.v);
    *o = (struct filter_options){0};
}
