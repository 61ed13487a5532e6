/* SPDX-License-Identifier: MIT */
/* What the text of sources and that of instructions have in common. */
#include "tracecov/function_choice.h"
#include "tracecov/output_text_priv.h"

bool text_wanted(const struct text *t, const struct report_source *s,
                 const struct report_function *f)
{
    const struct cover_module *m = t->opt->function ? text_module_of(t, f->module) : NULL;

    return function_chosen(t->opt->function, m ? m->module : NULL,
                           s->is_module ? NULL : s->path, f->name, f->linkage);
}

const struct cover_module *text_module_of(const struct text *t, uint32_t index)
{
    const struct cover *c = t->r->cover;

    for (size_t i = 0; i < c->nr_modules; i++) {
        if (c->modules[i].module->index == index) {
            return &c->modules[i];
        }
    }
    return NULL;
}

void text_ratio(struct out *o, const char *name, uint64_t hit, uint64_t of)
{
    out_str(o, name);
    out_percent(o, hit, of);
    out_str(o, " (");
    out_u64(o, hit);
    out_str(o, " of ");
    out_u64(o, of);
    out_str(o, ")");
}

void text_title(struct text *t, const char *title)
{
    out_str(t->o, t->opt->color ? "\n" LISTING_BOLD : "\n");
    listing_safe(t->o, title, strlen(title));
    out_str(t->o, t->opt->color ? LISTING_PLAIN "\n" : "\n");
}
