/* SPDX-License-Identifier: MIT */
/* Code that the user excludes: ranges, and modules by their names. */
#include "ignored.h"
#include "query/location.h"

bool ignored_pc(const struct side *s, uint32_t process, uint64_t time_ns,
                uint64_t chunk_end_ns, uint64_t pc)
{
    struct place place;

    for (uint32_t i = 0; i < s->ignored.n; i++) {
        const struct ctr_range *r = &s->ignored.v[i];
        if (pc >= r->from && (pc < r->to || r->to == UINT64_MAX) &&
            location_range_is_of(r, process)) {
            return true;
        }
    }
    return s->nr_ignored_modules && s->places &&
           places_find(s->places, process, time_ns, chunk_end_ns, pc, &place) &&
           module_matches(place.module, s->ignored_modules, s->nr_ignored_modules);
}
