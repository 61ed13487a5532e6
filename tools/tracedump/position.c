/* SPDX-License-Identifier: MIT */
/* A position in a thread: the argument of --state and the searches. */
#include "tracedump.h"

#include <inttypes.h>
#include <string.h>

#include "common/options.h"

bool position_parse(const char *text, struct position *position)
{
    const char *slash = strchr(text, '/');
    char ordinal[32];
    uint64_t k = 0;

    if (slash) {
        if ((size_t)(slash - text) >= sizeof(ordinal) || !tool_parse_u64(slash + 1, &k) ||
            !k || k > UINT32_MAX) {
            return false;
        }
        memcpy(ordinal, text, (size_t)(slash - text));
        ordinal[slash - text] = 0;
        text = ordinal;
    }
    position->given = true;
    position->which = (uint32_t)k;
    return tool_parse_u64(text, &position->ordinal);
}

static bool selected(const int32_t *list, uint32_t n, int32_t id)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == id) {
            return true;
        }
    }
    return n == 0;
}

/*
 * The one thread that --pid and --thread select, or the K-th of them.  Ids alone may
 * select several: after an execve the trace has another process with the same ids.
 */
static const struct ctr_thread *choose_thread(const struct ctr_trace *tr,
                                              const struct dump_options *opt,
                                              const struct position *position,
                                              const char *option)
{
    const struct ctr_filter *f = &opt->filter;
    const struct ctr_thread *t, *found = NULL;
    unsigned n = 0;

    for (uint32_t i = 0; (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        if (selected(f->pids, f->npid, t->pid) && selected(f->tids, f->ntid, t->tid)) {
            n++;
            found = n == (position->which ? position->which : 1) ? t : found;
        }
    }
    if (!found) {
        tool_error(PROG, "%s: no such thread", opt->path);
        return NULL;
    }
    if (n > 1 && !position->which) {
        tool_error(PROG,
                   "%s: %u threads: choose one with --pid and --thread, or the K-th with "
                   "%s=%" PRIu64 "/K",
                   opt->path, n, option, position->ordinal);
        return NULL;
    }
    return found;
}

const struct ctr_thread *position_thread(const struct ctr_trace *tr,
                                         const struct dump_options *opt,
                                         const struct position *position,
                                         const char *option)
{
    const struct ctr_thread *t = choose_thread(tr, opt, position, option);

    if (!t) {
        return NULL;
    }
    if (position->ordinal < t->first) {
        tool_error(PROG,
                   "%s: events of thread %d/%d before ordinal %" PRIu64 " were dropped",
                   opt->path, t->pid, t->tid, t->first);
        return NULL;
    }
    if (position->ordinal - t->first > t->insns) {
        tool_error(PROG, "%s: thread %d/%d has %" PRIu64 " instructions only", opt->path,
                   t->pid, t->tid, t->first + t->insns);
        return NULL;
    }
    return t;
}
