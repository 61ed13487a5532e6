/* SPDX-License-Identifier: MIT */
/* Why no event was printed. */
#include "dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/options.h"
#include "query/filter_options.h"
#include "query/tasks.h"
#include "query/threads.h"

static const struct {
    uint32_t kinds, has;
    const char *what;
} recorded[] = {
    {CTR_KIND_EXEC, CTR_HAS_EXEC, "instructions"},
    {CTR_KIND_LOAD | CTR_KIND_STORE, CTR_HAS_MEM, "accesses"},
    {CTR_KIND_REG, CTR_HAS_REG, "registers"},
    {CTR_KIND_SYS, CTR_HAS_SYS, "system calls"},
    {CTR_KIND_MAP, CTR_HAS_MAP, "mappings"},
    {CTR_KIND_THR, CTR_HAS_THR, "threads"},
    {CTR_KIND_INT, CTR_HAS_INT, "exceptions"},
    {CTR_KIND_CTX, CTR_HAS_CTX, "address spaces"},
    {CTR_KIND_ORDER, CTR_HAS_ORDER, "slices of threads"},
    {CTR_KIND_PWR, CTR_HAS_PWR, "halted vCPUs"},
    {CTR_KIND_RAM, CTR_HAS_RAM, "contents of RAM"},
    {CTR_KIND_DMA, CTR_HAS_DMA, "writes of devices"},
    {CTR_KIND_IO, CTR_HAS_IO, "accesses to devices"},
    {CTR_KIND_TASK, CTR_HAS_TASK, "tasks"},
    {CTR_KIND_KEYFRAME, CTR_HAS_KEY, "key frames"},
    {CTR_KIND_INPUT, CTR_HAS_INPUT, "inputs"},
};

/* Events between instructions that no option selects by an address */
#define OF_MACHINES                                                                      \
    (CTR_KIND_INT | CTR_KIND_CTX | CTR_KIND_ORDER | CTR_KIND_PWR | CTR_KIND_RAM |        \
     CTR_KIND_DMA | CTR_KIND_IO | CTR_KIND_TASK)

/* What of the kinds was not recorded, as a list; "" if some of it was. */
static void list_missing(const struct ctr_info *info, uint32_t kinds, char *to,
                         size_t size)
{
    size_t n = 0;

    to[0] = 0;
    for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++) {
        if (!(recorded[i].kinds & kinds)) {
            continue;
        }
        if (info->events & recorded[i].has) {
            to[0] = 0;
            return;
        }
        n += (size_t)snprintf(to + n, size - n, "%s%s", n ? ", " : "", recorded[i].what);
    }
}

/* How many instructions the longest thread selected has, if they begin after its end; or
 * 0. */
static uint64_t too_far(struct ctr_trace *tr, const struct ctr_filter *f)
{
    const struct ctr_thread *t;
    struct ctr_info info;
    uint64_t most = 0;

    ctr_trace_info(tr, &info);
    for (uint32_t i = 0; info.seekable && (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        if (threads_selected(f, t) && t->first + t->insns > most) {
            most = t->first + t->insns;
        }
    }
    return f->from_thread || f->from < most || f->from == UINT64_MAX ? 0 : most;
}

/* The first ordinal that was kept, if all that is selected is before it; or 0. */
static uint64_t dropped_before(struct ctr_trace *tr, const struct ctr_filter *f)
{
    const struct ctr_thread *t;
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        if (threads_selected(f, t) && t->first < least) {
            least = t->first;
        }
    }
    return f->to && !f->to_thread && f->to <= least && least != UINT64_MAX ? least : 0;
}

int dump_nothing(struct ctr_trace *tr, const struct dump_options *opt)
{
    const struct ctr_filter *f = &opt->filter;
    uint32_t kinds = opt->kinds & ~(filter_by_addr(f) || f->npc ? CTR_KIND_MARK : 0u);
    struct ctr_info info;
    const uint64_t far = too_far(tr, f), dropped = dropped_before(tr, f);
    char missing[160];

    ctr_trace_info(tr, &info);
    list_missing(&info, kinds & ~CTR_KIND_MARK ? kinds : 0, missing, sizeof(missing));
    if (opt->quiet) {
        return TOOL_NOTHING;
    }
    if (filter_by_addr(f) && !(info.events & CTR_HAS_MEM)) {
        tool_error(opt->prog, "%s: accesses were not recorded (-e mem)", opt->path);
    } else if (missing[0]) {
        tool_error(opt->prog, "%s: %s were not recorded", opt->path, missing);
    } else if ((filter_by_addr(f) || f->npc) && kinds && !(kinds & ~OF_MACHINES)) {
        tool_error(opt->prog,
                   "%s: --addr and --pc select instructions and their accesses, none of "
                   "these events",
                   opt->path);
    } else if (dropped) {
        tool_error(opt->prog,
                   "%s: what was before ordinal %" PRIu64 " was dropped (--ring)",
                   opt->path, dropped);
    } else if (far) {
        tool_error(opt->prog,
                   "%s: no thread selected has more than %" PRIu64 " instructions",
                   opt->path, far);
    } else if (tasks_none(tr, f, opt->prog, opt->path)) {
        return TOOL_NOTHING;
    } else if (filter_by_addr(f) || f->npc || f->from || f->to || f->from_ns ||
               f->to_ns || f->npid || f->ntid || f->nprocess || f->nthread ||
               f->privileges || f->task || f->context ||
               (opt->annotator && opt->annotator->selects)) {
        tool_error(opt->prog, "%s: there is no such event in what is selected",
                   opt->path);
    } else {
        tool_error(opt->prog, "%s: there is no such event", opt->path);
    }
    return TOOL_NOTHING;
}
