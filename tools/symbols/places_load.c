/* SPDX-License-Identifier: MIT */
/*
 * Loads the mappings of a trace: first the files, to find their modules, then the ranges.
 * If nothing else shows whether a file is the one that was recorded, compares the code
 * that ran with it.
 */
#include "places_priv.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "input/mappings.h"
#include "common/options.h"
#include "places_slide.h"
#include "input/trace.h"

/* ------------------------------------------------------- files of mappings */

/* The address range of the file in the first process that mapped it: all its pieces. */
static void note_load(struct mapped_file *f, const struct ctr_mapping *m)
{
    if (f->end == 0) {
        f->process = m->process;
        f->start = m->base;
        f->end = m->end;
    } else if (f->process == m->process && f->start == m->base && m->end > f->end) {
        f->end = m->end;
    }
}

/* 1: no memory. */
static int add_range(void *arg, const struct ctr_mapping *m)
{
    struct places *p = arg;
    struct mapped_file *f = places_file(p, m);
    struct range r = range_of_mapping(m, f ? f->mod : NULL);

    if (f) {
        note_load(f, m);
    }
    if (r.mod && r.mod->verify && m->prot & 2 && !ranges_add(&p->writable, &r)) {
        return 1;
    }
    if (m->prot & 4 && !f) {
        return !places_jit_add_ranges(p, m);
    }
    return m->prot & 4 && !ranges_add(&p->ranges, &r);
}

static int add_file(void *arg, const struct ctr_mapping *m)
{
    places_jit_note(arg, m);
    return places_add_file(arg, m);
}

static int each_mapping(const struct places *p, struct ctr_trace *tr,
                        int (*fn)(void *arg, const struct ctr_mapping *m))
{
    const struct ctr_maps *maps = p->at_once ? mappings_at_once(p->mappings)
                                             : mappings_history(p->mappings, UINT64_MAX);
    int ret = 0;

    for (uint32_t i = 0; !ret && ctr_trace_process(tr, i); i++) {
        ret = ctr_maps_history(maps, i, fn, (void *)(uintptr_t)p);
    }
    return ret;
}

/* -------------------------------------------------------------------- load */

static int no_memory(const struct places *p)
{
    tool_error(p->set->opt.prog, "%s: no memory", p->target.path);
    return TOOL_FAILED;
}

/* Counts the blocks that ran and that a file contains. */
struct comparison {
    const struct places *p;
    struct {
        uint64_t same, differ;
    } *counts;         /* by file */
    uint32_t *file_of; /* by module */
};

static int compare_block(void *arg, const struct ctr_block *b)
{
    struct comparison *c = arg;
    const struct places *p = c->p;
    const struct range_piece *piece = ranges_find(&p->ranges, b->pc);
    const struct range *r =
        piece && piece->n == 1 ? &p->ranges.v[p->ranges.list[piece->first]] : NULL;
    struct place place;
    enum likeness like;
    uint32_t i;

    if (!r || !mod_needs_check(r->mod) || ranges_find(&p->writable, b->pc) ||
        (p->tasks && !r->fixed && b->privilege != CTR_PRIVILEGE_USER)) {
        return 0;
    }
    i = c->file_of[r->mod->pub.index];
    like =
        range_place(r, b->pc, &place) ? places_compare(b, r->mod, place.vaddr) : DIFFERS;
    c->counts[i].same += like == SAME;
    c->counts[i].differ += like == DIFFERS;
    return 0;
}

/*
 * Whether the code that ran is that of another file.  Blocks of a machine do not say which
 * process ran them: some may be what another process had there, or have breakpoints.
 */
static bool is_other(const struct places *p, uint64_t same, uint64_t differ)
{
    const struct slide_fit fit = {.same = same, .differ = differ};

    return p->tasks ? !slide_fits(&fit) : differ != 0;
}

/*
 * A file whose build id is missing, in the file or in the trace, is checked by its code:
 * code that ran in memory that was never writable must equal the file's.
 */
static int compare_code(struct places *p, struct ctr_trace *tr, bool *rejected)
{
    struct comparison c = {
        .p = p,
        .counts = calloc(p->nr_files + 1, sizeof(*c.counts)),
        .file_of = calloc(p->set->nr_mods + 1, sizeof(*c.file_of)),
    };
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int status = TOOL_OK, ret;

    if (!c.counts || !c.file_of) {
        free(c.counts);
        free(c.file_of);
        return no_memory(p);
    }
    for (uint32_t i = p->nr_files; i-- > 0;) {
        if (p->files[i].mod) {
            c.file_of[p->files[i].mod->pub.index] = i;
        }
    }
    ret = ctr_trace_each_block(tr, compare_block, &c, &diag);
    if (ret) {
        tool_trace_error(p->set->opt.prog, p->target.path, ret, &diag);
        status = TOOL_FAILED;
    }
    for (uint32_t i = 0; !status && i < p->nr_files; i++) {
        if (is_other(p, c.counts[i].same, c.counts[i].differ)) {
            status =
                modset_reject(p->set, &p->target, &p->files[i].mod, c.counts[i].differ,
                              c.counts[i].same + c.counts[i].differ);
            *rejected = true;
        }
    }
    free(c.counts);
    free(c.file_of);
    return status;
}

static int verify(struct places *p, struct ctr_trace *tr, bool *rejected)
{
    bool wanted = false;

    for (uint32_t i = 0; i < p->nr_files; i++) {
        wanted |= mod_needs_check(p->files[i].mod);
    }
    if (!wanted) {
        return TOOL_OK;
    }
    return compare_code(p, tr, rejected);
}

static int make_ranges(struct places *p, struct ctr_trace *tr)
{
    ranges_fini(&p->ranges);
    ranges_fini(&p->writable);
    memset(&p->ranges, 0, sizeof(p->ranges));
    memset(&p->writable, 0, sizeof(p->writable));
    if (each_mapping(p, tr, add_range) || !ranges_finish(&p->ranges) ||
        !ranges_finish(&p->writable)) {
        return no_memory(p);
    }
    return TOOL_OK;
}

static int load_mapped(struct places *p, struct ctr_trace *tr)
{
    bool rejected = false;
    int status;

    if (each_mapping(p, tr, add_file)) {
        return no_memory(p);
    }
    status = modset_resolve(p->set, &p->target, p->files, p->nr_files);
    status = status ? status : places_jit_load(p, tr);
    status = status ? status : make_ranges(p, tr);
    if (status) {
        return status;
    }
    status = verify(p, tr, &rejected);
    return status || !rejected ? status : make_ranges(p, tr);
}

/* Why the mappings are not known. */
static const char *why_unmapped(const struct ctr_trace *tr)
{
    struct ctr_info info;

    ctr_trace_info(tr, &info);
    return info.seekable || !(info.events & CTR_HAS_MAP)
               ? "recorded without mappings"
               : "names need a file, not a stream";
}

/* As verify; the ranges of a file that is not the one that ran have no file then. */
static int verify_fixed(struct places *p, struct ctr_trace *tr)
{
    struct mod **old = calloc(p->nr_files + (size_t)1, sizeof(*old));
    bool rejected = false;
    int status;

    if (!old) {
        return no_memory(p);
    }
    for (uint32_t i = 0; i < p->nr_files; i++) {
        old[i] = p->files[i].mod;
    }
    status = verify(p, tr, &rejected);
    for (size_t k = 0; rejected && k < p->ranges.n; k++) {
        struct range *r = &p->ranges.v[k];
        for (uint32_t i = 0; i < p->nr_files; i++) {
            r->mod = r->mod == old[i] ? p->files[i].mod : r->mod;
        }
    }
    free(old);
    return status;
}

static int load_fixed(struct places *p, struct ctr_trace *tr)
{
    const struct modset_options *opt = &p->set->opt;
    int status = places_fixed_load(p, tr, why_unmapped(tr));

    status = status ? status : places_kallsyms_load(p, tr);
    if (status) {
        return status;
    }
    if (!opt->nr_elfs && !opt->nr_kallsyms && !p->tasks && !opt->quiet &&
        !opt->unmapped_quiet) {
        if (p->target.is_machine) {
            tool_error(opt->prog, "%s: " PLACES_MACHINE_UNKNOWN, p->target.path);
        } else {
            tool_error(opt->prog,
                       "%s: %s: which programs and libraries ran is not known (--elf)",
                       p->target.path, why_unmapped(tr));
        }
    }
    return ranges_finish(&p->ranges) ? verify_fixed(p, tr) : no_memory(p);
}

/* Places with the mappings of a trace, and nothing else: TOOL_OK, or TOOL_FAILED after a
 * message.  reopen: as `path' of mappings_load. */
static int new_places(struct places **out, struct modset *s, struct ctr_trace *tr,
                      const char *path, const char *reopen, unsigned open_flags)
{
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct places *p = calloc(1, sizeof(*p));
    struct ctr_info info;
    int ret;

    *out = p;
    if (!p) {
        tool_error(s->opt.prog, "%s: no memory", path);
        return TOOL_FAILED;
    }
    ctr_trace_info(tr, &info);
    p->set = s;
    p->target = (struct target){
        info.machine,         path,           info.target,     info.elf_machine,
        info.big_endian != 0, info.addr_bits, embedded_new(tr)};
    if (!p->target.embedded) {
        return no_memory(p);
    }
    if (modset_check_machine(s, &p->target)) {
        return TOOL_FAILED;
    }
    if (!places_jit_init(p, tr)) {
        return no_memory(p);
    }
    ret = mappings_load(&p->mappings, tr, reopen, open_flags, CTR_MAPS_CODE, &diag);
    if (ret) {
        tool_trace_error(s->opt.prog, path, ret, &diag);
        return TOOL_FAILED;
    }
    if (!p->mappings && s->opt.nr_perf_maps && !s->opt.quiet) {
        tool_error(s->opt.prog, "%s: %s, which --perf-map needs", path, why_unmapped(tr));
    }
    if (s->opt.slide && !info.machine && !s->opt.quiet) {
        tool_error(s->opt.prog, "--slide: %s is not the trace of a machine", path);
    }
    return TOOL_OK;
}

int places_load(struct places **out, struct modset *s, struct ctr_trace *tr,
                const char *path)
{
    int status = new_places(out, s, tr, path, NULL, 0);

    if (!status) {
        status = (*out)->mappings ? load_mapped(*out, tr) : load_fixed(*out, tr);
    }
    if (status) {
        places_free(*out);
        *out = NULL;
    }
    return status;
}

static const struct whole_places whole = {places_load, places_free};

/* With --elf files all is loaded, which shows at once whether they fit. */
int places_load_lazily(struct places **out, struct modset *s, struct ctr_trace *tr,
                       const char *path, unsigned open_flags)
{
    const char *reopen = s->opt.nr_elfs ? NULL : path;
    int status = new_places(out, s, tr, path, reopen, open_flags);
    struct places *p = *out;
    struct ctr_info info;

    ctr_trace_info(tr, &info);
    if (!status && !p->mappings && !s->opt.nr_elfs && !s->opt.nr_kallsyms &&
        !places_tasks_wanted(s, &info)) {
        places_free(p);
        *out = NULL;
        return TOOL_OK;
    }
    if (!status && !p->mappings) {
        status = load_fixed(p, tr);
    } else if (!status && mappings_at_once(p->mappings)) {
        p->at_once = true;
        status = load_mapped(p, tr);
    } else if (!status && !places_lazy_init(p, path, open_flags, &whole)) {
        status = no_memory(p);
    }
    if (status) {
        places_free(p);
        *out = NULL;
    }
    return status;
}

int places_status(const struct places *p)
{
    int status = p ? places_lazy_status(p) : TOOL_OK;
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int error = p ? places_tasks_error(p, &diag) : 0;

    if (!status && error) {
        return tool_events_status(p->set->opt.prog, p->target.path, "processes", error,
                                  &diag);
    }
    error = p ? embedded_error(p->target.embedded, &diag) : 0;
    if (!status && error) {
        return tool_events_status(p->set->opt.prog, p->target.path, "files", error,
                                  &diag);
    }
    return status || !p
               ? status
               : tool_mappings_status(p->set->opt.prog, p->target.path, p->mappings);
}

void places_free(struct places *p)
{
    if (p) {
        places_lazy_fini(p);
        places_jit_fini(p);
        places_tasks_fini(p);
        mappings_free(p->mappings);
        embedded_free(p->target.embedded);
        ranges_fini(&p->ranges);
        ranges_fini(&p->writable);
        free(p->files);
        free(p);
    }
}
