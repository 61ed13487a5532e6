/* SPDX-License-Identifier: MIT */
/*
 * From counts of instructions to counts of lines: in each instance of a function the
 * largest count of an instruction of the line; summed over the instances.
 */
#include "tracecov/report_private.h"

#include <stdlib.h>

/* The code of one line in one instance of a function. */
struct piece {
    uint32_t source, line, instance;
    uint64_t count;
};

static int by_place(const void *va, const void *vb)
{
    const struct piece *a = va, *b = vb;

    if (a->source != b->source) {
        return a->source < b->source ? -1 : 1;
    }
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return a->instance < b->instance ? -1 : a->instance > b->instance;
}

static bool same_place(const struct piece *a, const struct piece *b)
{
    return a->source == b->source && a->line == b->line && a->instance == b->instance;
}

int report_lines(struct report_maker *mk, const struct report_code *k,
                 const uint32_t *file_source)
{
    struct piece *v = NULL;
    size_t n = 0, cap = 0;
    int e = 0;

    for (size_t i = 0; i < k->nr_sites; i++) {
        const struct site *s = &k->sites[i];
        const struct sym_range *r = s->range != NO_INDEX ? &k->ranges[s->range] : NULL;
        struct piece p;

        if (!r || !r->line || file_source[r->file] == NO_INDEX) {
            continue;
        }
        p = (struct piece){.source = file_source[r->file],
                           .line = r->line,
                           .instance = report_instance(k, s),
                           .count = report_site_count(k, s).count};
        if (n && same_place(&v[n - 1], &p)) {
            v[n - 1].count = p.count > v[n - 1].count ? p.count : v[n - 1].count;
            continue;
        }
        if (!report_grow(&v, &cap, n + 1, sizeof(*v))) {
            free(v);
            return -CTR_E_NOMEM;
        }
        v[n++] = p;
    }
    if (n) {
        qsort(v, n, sizeof(*v), by_place);
    }
    for (size_t i = 0; i < n && !e;) {
        struct piece p = v[i];

        for (; i < n && same_place(&p, &v[i]); i++) {
            p.count = v[i].count > p.count ? v[i].count : p.count;
        }
        e = report_source_line(mk, p.source, p.line, p.count);
    }
    free(v);
    return e;
}

uint64_t report_entries(const struct report_code *k, size_t site, uint32_t scope)
{
    (void)scope;
    return report_site_count(k, &k->sites[site]).count;
}
