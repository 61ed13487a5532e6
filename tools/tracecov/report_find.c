/* SPDX-License-Identifier: MIT */
/* Finds the part of a report that a module has. */
#include "report_priv.h"

struct report_module *report_module_of(const struct report *r, uint32_t index)
{
    size_t lo = 0, hi = r->cover->nr_modules;

    while (lo + 1 < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (r->cover->modules[mid].module->index <= index) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return &r->modules[lo];
}
