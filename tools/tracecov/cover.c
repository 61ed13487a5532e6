/* SPDX-License-Identifier: MIT */
/*
 * Adds up traces.  The index of a trace has the count of each block.  Runs are replayed
 * (cover_replay.c) only if a filter selects a part of a thread, or for blocks that were
 * at several places over time.
 */
#include "cover_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "input/trace.h"
#include "spool.h"

int cover_new(struct cover **out, struct modset *modset)
{
    struct cover_state *c = calloc(1, sizeof(*c));

    *out = NULL;
    if (!c) {
        return -CTR_E_NOMEM;
    }
    c->pub.modset = modset;
    c->pub.branches = true;
    *out = &c->pub;
    return 0;
}

void cover_free(struct cover *pub)
{
    struct cover_state *c = (struct cover_state *)pub;

    if (!c) {
        return;
    }
    for (size_t i = 0; i < c->pub.nr_modules; i++) {
        free(c->pub.modules[i].insns);
        free(c->pub.modules[i].blocks);
    }
    free(c->pub.modules);
    free(c->pub.elsewhere_code.insns);
    free(c->pub.elsewhere_code.blocks);
    free(c->loads);
    tallies_fini(&c->tallies);
    free(c);
}

/* ------------------------------------------------------------------ places */

static int place_block(void *arg, const struct ctr_block *b)
{
    struct adding *a = arg;
    struct block_place *at = &a->blocks[b->id];
    struct place place;

    at->found = (int8_t)places_find_block(a->places, b, &place);
    if (at->found > 0 && place.module->system) {
        at->found = 0;
    } else if (at->found > 0) {
        at->module = place.module->index;
        at->vaddr = place.vaddr;
    }
    a->depends |= at->found < 0;
    a->part |= b->part != 0;
    return 0;
}

/* Finds the place of each block. */
static int place_blocks(struct adding *a)
{
    ctr_trace_info(a->tr, &a->info);
    a->nr_blocks = a->info.blocks + 1;
    a->blocks = calloc(a->nr_blocks, sizeof(*a->blocks));
    a->number = calloc(a->nr_blocks, sizeof(*a->number));
    if (!a->blocks || !a->number) {
        return -CTR_E_NOMEM;
    }
    return ctr_trace_each_block(a->tr, place_block, a, &a->diag);
}

/* Stores the load addresses of modules that no earlier trace had. */
static int note_loads(struct adding *a)
{
    struct cover_state *c = a->cover;
    uint32_t n = modset_count(c->pub.modset);

    if (n > c->nr_loads) {
        struct place_load *v = realloc(c->loads, n * sizeof(*v));
        if (!v) {
            return -CTR_E_NOMEM;
        }
        memset(v + c->nr_loads, 0, (n - c->nr_loads) * sizeof(*v));
        c->loads = v;
        c->nr_loads = n;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct place_load load;
        if (!c->loads[i].end &&
            places_loaded(a->places, modset_module(c->pub.modset, i), &load)) {
            c->loads[i] = load;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------- a trace */

/* Checks that the trace has the same target as the first one: TOOL_OK. */
static int check_target(struct adding *a)
{
    const struct cover *c = &a->cover->pub;

    if (a->cover->first && (strncmp(c->target, a->info.target, sizeof(c->target) - 1) ||
                            c->machine != a->info.elf_machine)) {
        tool_error(PROG,
                   "%s: a trace of %s, but those before are of %s: add up traces of one "
                   "target (--keep-going leaves out others)",
                   a->path, a->info.target, c->target);
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

static void note_id(struct cover_ids *ids, int32_t id, const int32_t *wanted, uint32_t n)
{
    bool known = false;

    for (size_t i = 0; i < ids->n && i < COVER_IDS; i++) {
        known |= ids->v[i] == id;
    }
    if (!known) {
        if (ids->n < COVER_IDS) {
            ids->v[ids->n] = id;
        }
        ids->n++;
    }
    for (uint32_t i = 0; i < n; i++) {
        ids->found |= wanted[i] == id;
    }
}

/* Stores what an empty result is explained by. */
static void note_ids(struct adding *a)
{
    struct cover *c = &a->cover->pub;
    const struct ctr_filter *f = &a->filter->events;
    const struct ctr_process *p;
    const struct ctr_thread *t;
    uint64_t ns = a->info.end_ns - a->info.start_ns;

    for (uint32_t i = 0; (p = ctr_trace_process(a->tr, i)) != NULL; i++) {
        note_id(&c->pids, p->pid, f->pids, f->npid);
    }
    for (uint32_t i = 0; (t = ctr_trace_thread(a->tr, i)) != NULL; i++) {
        note_id(&c->tids, t->tid, f->tids, f->ntid);
        c->most_insns = t->insns > c->most_insns ? t->insns : c->most_insns;
    }
    c->longest_ns = ns > c->longest_ns ? ns : c->longest_ns;
}

/* After the trace's counts were added: updates the properties of the sums. */
static void note_added(struct adding *a)
{
    struct cover *c = &a->cover->pub;

    if (!a->cover->first) {
        a->cover->first = true;
        c->machine = a->info.elf_machine;
        c->big_endian = a->info.big_endian != 0;
        c->addr_bits = a->info.addr_bits;
        c->system = a->info.machine;
        snprintf(c->target, sizeof(c->target), "%s", a->info.target);
    }
    if (a->part) {
        c->branches = false;
        c->once = true;
    }
    c->ran_only |=
        tool_selected_by(&a->info, "--once") || tool_selected_by(&a->info, "--coverage");
    c->traces++;
    if (!(a->info.events & CTR_HAS_MAP)) {
        c->unmapped_path = c->unmapped ? c->unmapped_path : a->path;
        c->unmapped++;
    }
    note_ids(a);
}

/* Warns once if a part was selected for recording, or dropped: counts cover the rest. */
static void warn_part(struct adding *a)
{
    struct cover_state *c = a->cover;

    a->part |= a->info.selection[0] != 0;
    if (c->warned_part || a->filter->quiet) {
        return;
    }
    c->warned_part = true;
    if (a->info.selection[0]) {
        tool_error(PROG,
                   "%s: only a part was recorded (%s): counts are of that, and branches "
                   "are not known",
                   a->path, a->info.selection);
    } else if (a->part) {
        tool_error(PROG,
                   "%s: only a part of each block was recorded: counts are of that, and "
                   "branches are not known",
                   a->path);
    } else if (a->info.dropped_insns) {
        tool_error(PROG,
                   "%s: only the end of the recording was kept (%" PRIu64
                   " instructions were dropped): counts are of that",
                   a->path, a->info.dropped_insns);
    } else {
        c->warned_part = false;
    }
}

static bool wants_replay(const struct cover_filter *f)
{
    return f->events.from || f->events.to || f->events.from_ns || f->events.to_ns ||
           f->events.task || f->events.context;
}

static int count_trace(struct adding *a)
{
    if (wants_replay(a->filter)) {
        return adding_replay(a, false);
    }
    return a->depends ? adding_replay(a, true) : adding_index(a);
}

/* Finds what the options name in this trace. */
static int resolve_filter(struct adding *a)
{
    const struct locate_request request = {
        .prog = PROG, .path = a->path, .trace = a->tr, .places = a->places};
    int status = filter_options_resolve(a->filter->options, &request, a->filter->jobs,
                                        &a->filter->events);

    return status == TOOL_USAGE ? TOOL_FAILED : status;
}

static int add_opened(struct adding *a)
{
    int status, ret;

    ctr_trace_info(a->tr, &a->info);
    status = check_target(a);
    status =
        status ? status : places_load(&a->places, a->cover->pub.modset, a->tr, a->path);
    status = status ? status : resolve_filter(a);
    if (status) {
        return status;
    }
    ret = place_blocks(a);
    if (!ret) {
        warn_part(a);
        ret = count_trace(a);
    }
    ret = ret ? ret : note_loads(a);
    if (ret) {
        /* A callback that has no memory returns 1. */
        tool_trace_error(PROG, a->path, ret > 0 ? -CTR_E_NOMEM : ret, &a->diag);
        return TOOL_FAILED;
    }
    note_added(a);
    status = places_status(a->places);
    return status ? status : tool_trace_status(PROG, a->path, a->tr, a->filter->quiet);
}

int cover_add(struct cover *pub, const char *path, struct cover_filter *filter)
{
    struct adding a = {.cover = (struct cover_state *)pub,
                       .filter = filter,
                       .path = path,
                       .diag = {.off = CTR_NO_OFF}};
    int status = spool_open(&a.tr, path, filter->no_index ? CTR_OPEN_NO_INDEX : 0);

    if (status) {
        return status;
    }
    status = add_opened(&a);
    places_free(a.places);
    free(a.blocks);
    free(a.number);
    ctr_close(a.tr);
    return status;
}

/* ------------------------------------------------------------------ finish */

static int by_place(const void *pa, const void *pb, void *arg)
{
    const struct tally *v = arg, *a = &v[*(const uint32_t *)pa],
                       *b = &v[*(const uint32_t *)pb];

    if (a->module != b->module) {
        return a->module < b->module ? -1 : 1;
    }
    if (a->addr != b->addr) {
        return a->addr < b->addr ? -1 : 1;
    }
    if (a->off[a->ninsn] != b->off[b->ninsn]) {
        return a->off[a->ninsn] < b->off[b->ninsn] ? -1 : 1;
    }
    /* The result must not depend on the order of the traces. */
    if (a->kind != b->kind || a->mode != b->mode) {
        return a->kind * 256 + a->mode - b->kind * 256 - b->mode;
    }
    return memcmp(a->code, b->code, a->off[a->ninsn]);
}

int cover_finish(struct cover *pub)
{
    struct cover_state *c = (struct cover_state *)pub;
    const struct tally *v = c->tallies.v;
    uint32_t *order = malloc((c->tallies.n + 1u) * sizeof(*order));
    uint32_t n = 0;
    int ret = -CTR_E_NOMEM;

    pub->modules = calloc(modset_count(pub->modset) + 1u, sizeof(*pub->modules));
    if (!order || !pub->modules) {
        goto out;
    }
    for (uint32_t i = 0; i < c->tallies.n; i++) {
        if (v[i].full || v[i].cut) {
            order[n++] = i;
        }
    }
    if (n) {
        qsort_r(order, n, sizeof(*order), by_place, c->tallies.v);
    }
    for (uint32_t i = 0, k; i < n; i = k) {
        struct cover_module *m = &pub->elsewhere_code;
        uint32_t index = v[order[i]].module;
        for (k = i; k < n && v[order[k]].module == index; k++) {
        }
        if (index != NO_MODULE) {
            m = &pub->modules[pub->nr_modules++];
            m->module = modset_module(pub->modset, index);
        }
        if (index < c->nr_loads) {
            m->load_start = c->loads[index].start;
            m->load_end = c->loads[index].end;
            m->load_vaddr = c->loads[index].vaddr;
        }
        if (!finish_module(c, m, order + i, k - i)) {
            goto out;
        }
    }
    ret = 0;
out:
    free(order);
    return ret;
}
