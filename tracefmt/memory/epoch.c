/* SPDX-License-Identifier: MIT */
/* Snapshots of a machine that were loaded; see epoch.h. */
#include "memory/epoch.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    const struct memory_load load = {e->thread->index, e->ordinal, e->time_ns};
    struct ctr_power power;
    struct ctr_ram ram;

    (void)arg;
    if ((ctr_parse_ram(e, &ram) || ram.op != CTR_RAM_ANEW) &&
        (ctr_parse_power(e, &power) || power.op != CTR_POWER_LOADED)) {
        return 0;
    }
    return ctr_job_append(job, &load, sizeof(load));
}

static int add_loads(void *arg, const struct ctr_job *job, const void *data, size_t bytes)
{
    struct memory_epochs *e = arg;
    const size_t n = bytes / sizeof(*e->v);

    (void)job;
    if (e->n + n > e->cap) {
        const size_t cap = 2 * e->cap + n;
        void *v = realloc(e->v, cap * sizeof(*e->v));

        if (!v) {
            return -CTR_E_NOMEM;
        }
        e->v = v;
        e->cap = cap;
    }
    memcpy(e->v + e->n, data, bytes);
    e->n += n;
    return 0;
}

int memory_epochs_read(struct memory_epochs *e, struct ctr_trace *tr)
{
    struct ctr_info info;
    struct ctr_filter filter = {.kinds = 0};
    const struct ctr_replay_opts opts = {.filter = &filter, .slices = 1};
    const struct ctr_replay_ops ops = {.os = on_os, .ordered = add_loads};

    ctr_trace_info(tr, &info);
    /* RAM is described once for all vCPUs, and in few chunks. */
    filter.kinds = info.events & CTR_HAS_RAM   ? CTR_KIND_RAM
                   : info.events & CTR_HAS_PWR ? CTR_KIND_PWR
                                               : 0;
    return info.machine && filter.kinds &&
                   ctr_replay(tr, &ops, e, &opts, NULL) == -CTR_E_NOMEM
               ? -CTR_E_NOMEM
               : 0;
}

void memory_epochs_free(struct memory_epochs *e)
{
    free(e->v);
    *e = (struct memory_epochs){0};
}

static bool is_before(const struct memory_load *load, const struct ctr_moment *at)
{
    return load->thread != at->thread ? load->time_ns < at->time_ns
                                      : load->ordinal + at->before_system <= at->ordinal;
}

void memory_epochs_limit(const struct memory_epochs *e, const struct ctr_moment *at,
                         bool back, struct ctr_filter *filter)
{
    for (size_t i = 0; i < e->n; i++) {
        const struct memory_load *load = &e->v[i];

        if (back && is_before(load, at) && load->time_ns > filter->from_ns) {
            filter->from_ns = load->time_ns;
        }
        if (!back && !is_before(load, at) &&
            (!filter->to_ns || load->time_ns < filter->to_ns)) {
            filter->to_ns = load->time_ns;
        }
    }
}
