/* SPDX-License-Identifier: MIT */
/*
 * All results, for scripts: one JSON document with each source line, branch, function and
 * module on a line of its own.  tracecov(1) describes it; new members may be added,
 * "version" is increased when old ones change.
 */
#include "tracecov/output.h"

#include <errno.h>

static void write_totals(struct out *o, const struct report_totals *t)
{
    out_printf(o,
               "{\"lines\":%llu,\"lines_hit\":%llu,\"functions\":%llu,"
               "\"functions_hit\":%llu,\"branches\":%llu,\"branches_hit\":%llu}",
               (unsigned long long)t->lines, (unsigned long long)t->lines_hit,
               (unsigned long long)t->functions, (unsigned long long)t->functions_hit,
               (unsigned long long)t->branches, (unsigned long long)t->branches_hit);
}

static void write_bare(struct out *o, const struct report_totals *t)
{
    out_printf(o, "{\"functions\":%llu,\"functions_hit\":%llu}",
               (unsigned long long)t->functions, (unsigned long long)t->functions_hit);
}

static void write_number(struct out *o, const char *name, uint64_t v)
{
    out_str(o, name);
    out_u64(o, v);
}

static void write_addr(struct out *o, uint64_t addr)
{
    out_str(o, ",\"addr\":\"0x");
    out_hex(o, addr, 1);
    out_str(o, "\"");
}

static void write_lines(struct out *o, const struct report_source *s)
{
    out_str(o, ",\n\"lines\":[");
    for (size_t i = 0; i < s->nr_lines; i++) {
        char *p = out_room(o, 64);
        p = fmt_mem(p, ",\n", i ? 2 : 0);
        p = FMT_LIT(p, "{\"line\":");
        p = fmt_u64(p, s->lines[i].line);
        p = FMT_LIT(p, ",\"count\":");
        p = fmt_u64(p, s->lines[i].count);
        *p++ = '}';
        out_done(o, p);
    }
    out_str(o, "]");
}

static void write_branches(struct out *o, const struct report_source *s, bool known)
{
    out_str(o, ",\n\"branches\":[");
    for (size_t i = 0; i < s->nr_branches; i++) {
        const struct report_branch *b = &s->branches[i];
        out_str(o, i ? ",\n" : "");
        write_number(o, "{\"line\":", b->line);
        write_number(o, ",\"block\":", b->block);
        out_str(o,
                b->branch ? ",\"taken\":false,\"count\":" : ",\"taken\":true,\"count\":");
        if (known && b->reached) {
            out_u64(o, b->count);
        } else {
            out_str(o, "null");
        }
        write_addr(o, b->addr);
        write_number(o, ",\"module\":", b->module);
        out_str(o, "}");
    }
    out_str(o, "]");
}

static void write_functions(struct out *o, const struct report_source *s)
{
    out_str(o, ",\n\"functions\":[");
    for (size_t i = 0; i < s->nr_functions; i++) {
        const struct report_function *f = &s->functions[i];
        out_str(o, i ? ",\n{\"name\":" : "{\"name\":");
        out_json(o, f->name);
        out_str(o, ",\"linkage\":");
        out_json(o, f->linkage);
        if (f->line) {
            write_number(o, ",\"line\":", f->line);
        }
        if (f->end_line) {
            write_number(o, ",\"end_line\":", f->end_line);
        }
        write_number(o, ",\"count\":", f->count);
        write_addr(o, f->addr);
        write_number(o, ",\"module\":", f->module);
        write_number(o, ",\"insns\":", f->insns_total);
        write_number(o, ",\"insns_hit\":", f->insns_hit);
        out_str(o, "}");
    }
    out_str(o, "]");
}

static void write_source(struct out *o, const struct report_source *s, bool known)
{
    out_str(o, "{\"path\":");
    out_json(o, s->path);
    if (s->is_module) {
        write_number(o, ",\"module\":", s->module);
    }
    out_str(o, ",\n\"totals\":");
    write_totals(o, &s->totals);
    if (!s->is_module) {
        write_lines(o, s);
        write_branches(o, s, known);
    }
    write_functions(o, s);
    out_str(o, "}");
}

static void write_module(struct out *o, const struct cover_module *c,
                         const struct report_module *r)
{
    const struct module *m = c->module;

    write_number(o, "{\"index\":", m->index);
    out_str(o, ",\"path\":");
    out_json(o, m->path);
    out_str(o, ",\"build_id\":");
    if (m->build_id_bytes) {
        out_str(o, "\"");
        for (uint32_t i = 0; i < m->build_id_bytes; i++) {
            out_hex(o, m->build_id[i], 2);
        }
        out_str(o, "\"");
    } else {
        out_str(o, "null");
    }
    if (m->file) {
        struct symfile_info info;
        symfile_info(m->file, &info);
        out_str(o, ",\"file\":");
        out_json(o, info.path);
        if (*info.debug_path) {
            out_str(o, ",\"debug_file\":");
            out_json(o, info.debug_path);
        }
        out_str(o, info.has_lines ? ",\"has_lines\":true" : ",\"has_lines\":false");
    } else {
        out_str(o, ",\"file\":null,\"why\":");
        out_json(o, m->why);
    }
    if (c->load_end) {
        out_printf(o, ",\"load_start\":\"0x%llx\",\"load_end\":\"0x%llx\"",
                   (unsigned long long)c->load_start, (unsigned long long)c->load_end);
    }
    write_number(o, ",\"insns\":", c->nr_insns);
    write_number(o, ",\"blocks\":", c->nr_blocks);
    write_number(o, ",\"instructions\":", c->total);
    out_str(o, ",\"totals\":");
    write_totals(o, &r->totals);
    out_str(o, ",\"without_lines\":");
    write_bare(o, &r->bare);
    out_str(o, "}");
}

int output_json(const struct report *r, FILE *file)
{
    const struct cover *c = r->cover;
    struct out *o = out_open(file);

    if (!o) {
        return -ENOMEM;
    }
    out_str(o, "{\"format\":\"tracecov\",\"version\":2,\"target\":");
    out_json(o, c->target);
    write_number(o, ",\"traces\":", c->traces);
    write_number(o, ",\"instructions\":", c->total);
    write_number(o, ",\"elsewhere\":", c->elsewhere);
    out_str(o, c->once || c->incomplete ? ",\"whole\":false" : ",\"whole\":true");
    out_str(o, c->branches ? ",\"branches_known\":true" : ",\"branches_known\":false");
    out_str(o, ",\n\"totals\":");
    write_totals(o, &r->totals);
    out_str(o, ",\n\"without_lines\":");
    write_bare(o, &r->bare);
    out_str(o, ",\n\"modules\":[");
    for (size_t i = 0; i < c->nr_modules; i++) {
        out_str(o, i ? ",\n" : "");
        write_module(o, &c->modules[i], &r->modules[i]);
    }
    out_str(o, "],\n\"sources\":[");
    for (size_t i = 0; i < r->nr_sources; i++) {
        out_str(o, i ? ",\n" : "");
        write_source(o, &r->sources[i], c->branches);
    }
    out_str(o, "]}\n");
    return out_close(o);
}
