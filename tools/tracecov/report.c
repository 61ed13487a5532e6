/* SPDX-License-Identifier: MIT */
/* Makes a report: the selected modules, one after the other. */
#include "tracecov/report_priv.h"

#include <stdlib.h>

static bool wanted(const struct report_options *o, const struct module *m)
{
    return o->nr_modules == 0 || module_matches(m, o->modules, o->nr_modules);
}

int report_make(struct report **out, const struct cover *c,
                const struct report_options *opt)
{
    struct report_maker mk = {.cover = c, .opt = opt};
    int e = -CTR_E_NOMEM;

    *out = NULL;
    mk.report = calloc(1, sizeof(*mk.report));
    mk.table = report_source_table_new(c);
    mk.scan = insn_scan_new(c);
    if (!mk.report || !mk.table || !mk.scan) {
        goto out;
    }
    mk.report->cover = c;
    mk.report->modules = calloc(c->nr_modules + 1, sizeof(*mk.report->modules));
    e = mk.report->modules ? 0 : -CTR_E_NOMEM;
    for (size_t i = 0; i < c->nr_modules && !e; i++) {
        if (wanted(opt, c->modules[i].module)) {
            mk.module = &mk.report->modules[i];
            mk.module->selected = true;
            e = report_module(&mk, &c->modules[i]);
        }
    }
    if (!e) {
        report_sources_finish(&mk);
        *out = mk.report;
        mk.report = NULL;
    }
out:
    insn_scan_free(mk.scan);
    report_source_table_free(mk.table);
    report_free(mk.report);
    return e;
}

void report_free(struct report *r)
{
    if (!r) {
        return;
    }
    for (size_t i = 0; r->modules && i < r->cover->nr_modules; i++) {
        free(r->modules[i].files);
    }
    free(r->modules);
    for (size_t i = 0; i < r->nr_sources; i++) {
        report_source_fini(&r->sources[i]);
    }
    free(r->sources);
    free(r);
}
