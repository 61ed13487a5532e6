/* SPDX-License-Identifier: MIT */
/* Which calls and signals --addr selects: those for which the system used memory there. */
#include "dump.h"
#include "query/location.h"

bool os_by_memory(const struct dump_options *opt)
{
    return opt->buffers && opt->filter.naddr && !opt->filter.npc && !opt->picked &&
           !(opt->annotator && opt->annotator->selects);
}

bool os_at_addrs(const struct dump_options *opt, const struct ctr_thread *thread,
                 uint64_t addr, uint64_t size)
{
    uint64_t last = addr + (size - 1);

    last = last < addr ? UINT64_MAX : last;
    for (uint32_t i = 0; i < opt->filter.naddr; i++) {
        const struct ctr_range *r = &opt->filter.addrs[i];
        if (location_range_is_of(r, thread->process) && last >= r->from &&
            (addr < r->to || r->to == UINT64_MAX)) {
            return true;
        }
    }
    return false;
}

bool os_touches(const struct dump_options *opt, const struct ctr_thread *thread,
                uint64_t addr, uint64_t size, bool write)
{
    return size && opt->buffers & (write ? CTR_KIND_STORE : CTR_KIND_LOAD) &&
           os_at_addrs(opt, thread, addr, size);
}
