/* SPDX-License-Identifier: MIT */
/*
 * The --elf files of a trace without mappings: at the addresses that they are linked for, or
 * of a machine where they have been moved to, or where its processes have them.
 */
#include "places_priv.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/options.h"
#include "places_slide.h"

static int no_memory(const struct places *p)
{
    tool_error(p->set->opt.prog, "%s: no memory", p->target.path);
    return TOOL_FAILED;
}

/* The offset of code from where the file or module is loaded. */
static uint64_t in_memory(const struct elf_arg *e, uint64_t vaddr)
{
    return e->info.object ? symfile_in_module(e->file, vaddr) : vaddr;
}

static bool is_kept(const struct elf_arg *e, uint64_t vaddr)
{
    return !e->info.object || in_memory(e, vaddr) != SYMFILE_NOT_IN_MODULE;
}

static void code_of(const struct elf_arg *e, struct slide_code *c)
{
    const struct sym_code *v;
    uint32_t n = symfile_code(e->file, &v);

    c->n = 0;
    c->addr_bits = e->info.addr_bits;
    c->is_module = e->info.object;
    c->align = places_module_align(e);
    for (uint32_t i = 0; i < n && c->n < SLIDE_PIECES; i++) {
        size_t bytes;
        const uint8_t *p = symfile_bytes(e->file, v[i].addr, &bytes);
        if (p && is_kept(e, v[i].addr)) {
            bytes = bytes < v[i].end - v[i].addr ? bytes : v[i].end - v[i].addr;
            c->v[c->n++] = (struct slide_piece){in_memory(e, v[i].addr), p, bytes};
        }
    }
}

static int cannot_move(const struct places *p, const struct elf_arg *e, const char *why)
{
    tool_error(p->set->opt.prog,
               "%s: can be loaded anywhere, and %s does not say where (%s)", e->path,
               p->target.path, why);
    return TOOL_FAILED;
}

struct found {
    uint64_t slide;
    /* It may have been moved, and its code may change while it runs: it is not compared. */
    bool moves;
    bool absent; /* it is a program or library that no process had, or a module */
};

/* Where a machine runs the file. */
static int find_slide(const struct places *p, struct ctr_trace *tr, struct elf_arg *e,
                      struct found *f)
{
    const struct modset_options *opt = &p->set->opt;
    struct slide_code code;
    struct slide_fit fit;
    bool found;

    code_of(e, &code);
    f->moves = e->info.movable || e->info.object || slide_in_upper_half(&code);
    if (opt->slide && f->moves && !e->info.object) {
        f->slide = *opt->slide;
        return TOOL_OK;
    }
    found = slide_find(tr, &code, &f->slide) ||
            (e->info.object && places_find_module(p, e, &f->slide));
    f->slide = found ? f->slide : 0;
    f->moves |= f->slide != 0;
    if (!found && (e->info.object ||
                   (e->info.movable && p->tasks && !slide_in_upper_half(&code)))) {
        f->absent = true;
        return TOOL_OK;
    }
    if (!found && e->info.movable && !opt->force) {
        return cannot_move(p, e, "hardly any of its code ran; --slide");
    }
    fit = slide_fit(tr, &code, f->slide);
    if (e->info.object && !slide_fits(&fit) && !opt->force) {
        f->absent = true;
        e->differ = fit.differ;
        e->of = fit.same + fit.differ;
    } else if (f->moves && !slide_fits(&fit) && !opt->force) {
        tool_error(opt->prog,
                   "%s: not the file that ran in %s: its code differs in %" PRIu64
                   " of %" PRIu64 " blocks; --force uses it anyway",
                   e->path, p->target.path, fit.differ, fit.same + fit.differ);
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

static int add_elf(struct places *p, struct elf_arg *e, uint64_t slide)
{
    const struct sym_code *code;
    uint32_t n = symfile_code(e->file, &code);
    struct mapped_file *f;

    if (!array_reserve(&p->files, &p->cap_files, p->nr_files + (size_t)1,
                       sizeof(*p->files))) {
        return no_memory(p);
    }
    f = &p->files[p->nr_files++];
    *f = (struct mapped_file){.path = e->path, .mod = e->mod};
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t start = in_memory(e, code[k].addr) + slide;
        const struct range r = {start,  start + (code[k].end - code[k].addr),
                                e->mod, code[k].addr,
                                true,   e->info.object};
        if (!is_kept(e, code[k].addr)) {
            continue;
        }
        if (!ranges_add(&p->ranges, &r)) {
            return no_memory(p);
        }
        f->start = f->end ? f->start : r.start;
        f->end = r.end;
    }
    return TOOL_OK;
}

static bool note_function(void *arg, const struct sym_function *f, const char *name)
{
    (void)name;
    *(const struct sym_function **)arg = f;
    return false;
}

/* arm64's Linux runs some pages at a second address. */
static int add_alias(struct places *p, struct ctr_trace *tr, const struct elf_arg *e,
                     uint64_t slide)
{
    const struct sym_function *f = NULL;
    struct slide_code code;
    struct slide_alias a;

    if (e->info.machine != EM_AARCH64 ||
        !symfile_find_functions(e->file, SLIDE_ALIAS, note_function, &f)) {
        return TOOL_OK;
    }
    code_of(e, &code);
    if (!slide_find_alias(tr, &code, f->addr, slide, &a)) {
        return TOOL_OK;
    }
    for (uint64_t i = 0; i < SLIDE_ALIAS_PAGES; i++) {
        const uint64_t at = a.vaddr + i * SLIDE_ALIAS_PAGE;
        const struct range r = {
            at + a.slide, at + a.slide + SLIDE_ALIAS_PAGE, e->mod, at, true, true};
        if (a.pages >> i & 1 && !ranges_add(&p->ranges, &r)) {
            return no_memory(p);
        }
    }
    return TOOL_OK;
}

int places_fixed_load(struct places *p, struct ctr_trace *tr, const char *why_unmapped)
{
    struct modset *s = p->set;
    struct ctr_info info;
    int status = TOOL_OK;

    ctr_trace_info(tr, &info);
    s->loaded = true;
    if (places_tasks_wanted(s, &info)) {
        status = places_tasks_read(p, tr)
                     ? modset_resolve(s, &p->target, p->files, p->nr_files)
                     : no_memory(p);
        if (!status && !places_tasks_add_ranges(p)) {
            return no_memory(p);
        }
    }
    for (unsigned i = 0; !status && i < s->opt.nr_elfs; i++) {
        struct elf_arg *e = &s->elfs[i];
        struct found found = {0, false, false};

        if (e->mod && places_tasks_have(p, &e->mod->pub)) {
            continue;
        }
        if (info.machine) {
            status = find_slide(p, tr, e, &found);
        } else if (e->info.movable) {
            status = cannot_move(p, e, why_unmapped);
        }
        if (found.absent) { /* modset_status says so */
            continue;
        }
        status = status ? status : modset_resolve_elf(s, e);
        if (!status) {
            e->mod->trusted |= found.moves;
            e->mod->filled_in = e->info.object && !s->opt.force;
            status = add_elf(p, e, found.slide);
            status = status ? status : add_alias(p, tr, e, found.slide);
            if (found.moves && !e->info.object && !p->has_kernel) {
                p->kernel =
                    (struct place_kernel){symfile_first_vaddr(e->file), found.slide};
                p->has_kernel = true;
            }
        }
    }
    return status;
}
