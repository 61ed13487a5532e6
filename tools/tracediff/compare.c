/* SPDX-License-Identifier: MIT */
/* The work on two traces; see compare.h. */
#include "compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/trace.h"
#include "maplog.h"
#include "pairs.h"
#include "registers.h"
#include "skip.h"

struct comparison {
    struct compare_options *opt;
    struct side side[2];
    struct ids ids[2];
    struct modset *modset;
    struct space_keys keys;
    struct code_table codes;
    struct skip skip;
    struct pairs pairs;
    struct pair pair;
    struct report report;
    struct progress progress;
    struct ctr_diag failure[2]; /* the last one of each side */
};

static int trouble(const struct comparison *c, const char *text)
{
    tool_error(c->opt->report.prog, "%s and %s %s", c->opt->path[0], c->opt->path[1],
               text);
    return COMPARE_TROUBLE;
}

/* --------------------------------------------------------------------- open */

static int open_side(struct comparison *c, unsigned i)
{
    const char *prog = c->opt->report.prog;
    struct side *s = &c->side[i];

    s->path = c->opt->path[i];
    s->codes = &c->codes;
    s->by_function = c->opt->pair.by_function;
    if (tool_trace_open(prog, s->path, c->opt->open_flags, &s->view)) {
        return COMPARE_TROUBLE;
    }
    ctr_trace_info(s->view, &s->info);
    if (!s->info.seekable) {
        tool_error(prog,
                   "%s: a stream cannot be compared: it cannot be read again where "
                   "the runs part",
                   s->path);
        return COMPARE_TROUBLE;
    }
    return tool_trace_open(prog, s->path, c->opt->open_flags, &s->trace) ? COMPARE_TROUBLE
                                                                         : COMPARE_EQUAL;
}

/* Whether comparing them means anything. */
static int check_sides(const struct comparison *c)
{
    const struct ctr_info *a = &c->side[0].info, *b = &c->side[1].info;

    if (a->elf_machine != b->elf_machine || a->big_endian != b->big_endian ||
        a->addr_bits != b->addr_bits || strcmp(a->target, b->target)) {
        tool_error(c->opt->report.prog,
                   "%s is a trace of %s and %s of %s: they cannot be compared",
                   c->opt->path[0], a->target, c->opt->path[1], b->target);
        return COMPARE_TROUBLE;
    }
    if (!(a->events & b->events & CTR_HAS_EXEC)) {
        return trouble(c, "cannot be compared: instructions are not in both");
    }
    if (!c->opt->report.quiet && strcmp(a->selection, b->selection)) {
        tool_error(c->opt->report.prog,
                   "different parts were recorded (%s: %s; %s: %s): what only one has is "
                   "shown as a difference",
                   c->opt->path[0], *a->selection ? a->selection : "all", c->opt->path[1],
                   *b->selection ? b->selection : "all");
    }
    return COMPARE_EQUAL;
}

/* What both have and the user wants to compare. */
static void choose_data(struct comparison *c)
{
    unsigned compare = c->side[0].info.events & c->side[1].info.events &
                       (CTR_HAS_MEM | CTR_HAS_VAL | CTR_HAS_SYS | CTR_HAS_REG);

    compare &= c->opt->ignore & IGNORE_VALUES ? ~(CTR_HAS_VAL | CTR_HAS_REG) : ~0u;
    /* Two builds use other registers for the same. */
    compare &= c->opt->ignore & IGNORE_REGISTERS || c->opt->pair.by_function
                   ? ~CTR_HAS_REG
                   : ~0u;
    compare &= c->opt->ignore & IGNORE_CALLS ? ~CTR_HAS_SYS : ~0u;
    if (c->opt->ignore & IGNORE_ADDRESSES) {
        c->opt->pair.ignore_addresses = true;
        /* Without addresses and values nothing of an access is left to compare. */
        compare &= compare & CTR_HAS_VAL ? ~0u : ~CTR_HAS_MEM;
    }
    c->side[0].compare = c->side[1].compare = compare;
}

static int find_ignored(struct comparison *c, unsigned i)
{
    struct side *s = &c->side[i];
    const struct locate_request request = {.prog = c->opt->report.prog,
                                           .path = s->path,
                                           .option = "--ignore",
                                           .want = LOCATE_CODE,
                                           .trace = s->view,
                                           .places = s->places};

    s->ignored_modules = c->opt->ignored_modules;
    s->nr_ignored_modules = c->opt->nr_ignored_modules;
    return c->opt->ignored.n && locate(&request, &c->opt->ignored, &s->ignored)
               ? COMPARE_TROUBLE
               : COMPARE_EQUAL;
}

/* Symbols, mappings and what else is known of a side. */
static int load_side(struct comparison *c, unsigned i)
{
    const char *prog = c->opt->report.prog;
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    const uint32_t both = c->side[0].info.events & c->side[1].info.events;
    struct side *s = &c->side[i];
    int ret = 0;

    if (places_load(&s->places, c->modset, s->view, s->path)) {
        return COMPARE_TROUBLE;
    }
    /* What the mappings of one side mean, those of the other must say, too. */
    if (both & CTR_HAS_MAP) {
        ret = maplog_load(&s->maps, s->view, &c->keys, both & CTR_HAS_SYS, &diag);
    }
    ret = ret ? ret : skip_load_chunks(s, &diag);
    if (ret) {
        tool_trace_error(prog, s->path, ret, &diag);
        return COMPARE_TROUBLE;
    }
    if (!ids_load(&c->ids[i], s->view)) {
        tool_error(prog, "no memory");
        return COMPARE_TROUBLE;
    }
    return find_ignored(c, i);
}

static int open_both(struct comparison *c)
{
    struct compare_options *opt = c->opt;
    int status = open_side(c, 0);

    status = status ? status : open_side(c, 1);
    status = status ? status : check_sides(c);
    if (status) {
        return status;
    }
    choose_data(c);
    opt->modset.flags =
        (opt->counts ? 0 : SYMFILE_LINES) | locate_flags(&opt->ignored, LOCATE_CODE);
    opt->modset.missing_ok = opt->modset.unmapped_quiet = true;
    if (modset_open(&c->modset, &opt->modset)) {
        return COMPARE_TROUBLE;
    }
    if (!registers_pair((struct side *[]){&c->side[0], &c->side[1]},
                        opt->ignored_registers, opt->nr_ignored_registers)) {
        return trouble(c, "cannot be compared: no memory");
    }
    status = load_side(c, 0);
    status = status ? status : load_side(c, 1);
    return status || modset_status(c->modset) ? COMPARE_TROUBLE : COMPARE_EQUAL;
}

static void close_side(struct side *s)
{
    places_free(s->places);
    maplog_free(s->maps);
    skip_fini(s);
    free(s->ignored.v);
    free(s->registers);
    free(s->wanted);
    ctr_close(s->trace);
    ctr_close(s->view);
}

/* -------------------------------------------------------------------- compare */

/* All threads meet damage of what they share: it is reported once. */
static void report_failure(struct comparison *c, unsigned side, int ret,
                           const struct ctr_diag *diag)
{
    struct ctr_diag *last = &c->failure[side];

    if (last->code == diag->code && last->off == diag->off &&
        !strcmp(last->text, diag->text)) {
        return;
    }
    progress_clear(&c->progress);
    tool_trace_error(c->opt->report.prog, c->side[side].path, ret, diag);
    *last = *diag;
}

static int compare_pair(struct comparison *c, const struct thread_pair *t)
{
    struct pair *p = &c->pair;
    uint64_t from[2];
    int ret;

    for (unsigned i = 0; i < 2; i++) {
        const struct ctr_thread *thread = t->thread[i];
        p->side[i] = &c->side[i];
        p->ids[i] = &c->ids[i];
        p->thread[i] = thread;
        from[i] = c->opt->has_at ? c->opt->at[i] : thread->first;
    }
    ret = pair_compare(p, from);
    report_pair(&c->report, p);
    if (ret) {
        report_failure(c, p->failed, ret, &p->diag);
    }
    return ret ? COMPARE_TROUBLE : COMPARE_EQUAL;
}

/* Whether the only pair has the instructions of --at. */
static int check_at(const struct comparison *c)
{
    const struct compare_options *opt = c->opt;

    if (c->pairs.n != 1 || !c->pairs.v[0].thread[0] || !c->pairs.v[0].thread[1]) {
        tool_error(opt->report.prog,
                   "--at is for one thread of each trace: select it with --thread");
        return COMPARE_TROUBLE;
    }
    for (unsigned i = 0; i < 2; i++) {
        const struct ctr_thread *t = c->pairs.v[0].thread[i];
        if (opt->at[i] < t->first || opt->at[i] > t->first + t->insns) {
            tool_error(opt->report.prog,
                       "%s: the thread has ordinals from %" PRIu64 " to %" PRIu64
                       ": there is no %" PRIu64,
                       c->side[i].path, t->first, t->first + t->insns, opt->at[i]);
            return COMPARE_TROUBLE;
        }
    }
    return COMPARE_EQUAL;
}

static int compare_pairs(struct comparison *c)
{
    int status = COMPARE_EQUAL;

    for (uint32_t i = 0; i < c->pairs.n && !report_full(&c->report); i++) {
        const struct thread_pair *t = &c->pairs.v[i];
        if (t->thread[0] && t->thread[1]) {
            const int one = compare_pair(c, t);
            status = one ? one : status;
        } else {
            report_alone(&c->report, t->thread[1] != NULL,
                         t->thread[t->thread[1] != NULL]);
        }
    }
    progress_clear(&c->progress);
    report_end(&c->report);
    return status;
}

/* Why all may differ: at which address something is, each run decides anew. */
static void explain(const struct comparison *c)
{
    const struct ctr_info *a = &c->side[0].info, *b = &c->side[1].info;

    if (c->report.n && !c->opt->report.quiet && !a->machine &&
        !(a->events & b->events & CTR_HAS_MAP)) {
        tool_error(c->opt->report.prog,
                   "%s has no mappings (-e map): addresses are compared as they are",
                   c->opt->path[(a->events & CTR_HAS_MAP) != 0]);
    }
}

/* The exit status: what is missing from a trace may be what differs. */
static int end_status(const struct comparison *c, int status)
{
    const struct compare_options *opt = c->opt;

    for (unsigned i = 0; i < 2; i++) {
        /* Of damage there is a line already. */
        if ((!c->failure[i].code &&
             tool_trace_status(opt->report.prog, opt->path[i], c->side[i].view,
                               opt->report.quiet)) ||
            places_status(c->side[i].places)) {
            status = COMPARE_TROUBLE;
        }
    }
    status = c->report.status ? COMPARE_TROUBLE : status;
    explain(c);
    return status == COMPARE_EQUAL && c->report.n ? COMPARE_DIFFER : status;
}

static int compare_counts(struct comparison *c)
{
    const struct compare_options *opt = c->opt;
    const bool some = opt->threads.n || opt->with.n;

    return counts_compare(opt->counts, c->side, some ? &c->pairs : NULL, &opt->report,
                          &c->report.n)
               ? COMPARE_TROUBLE
               : COMPARE_EQUAL;
}

static int run(struct comparison *c)
{
    struct compare_options *opt = c->opt;
    int status = open_both(c);

    if (status || pairs_make(&c->pairs, &c->side[0], &c->side[1], &opt->threads,
                             &opt->with, opt->report.prog)) {
        return COMPARE_TROUBLE;
    }
    if (opt->has_at && check_at(c)) {
        return COMPARE_TROUBLE;
    }
    if (opt->counts) {
        status = compare_counts(c);
        return status ? status : end_status(c, status);
    }
    progress_init(&c->progress, opt->report.prog, opt->report.quiet);
    if (!report_init(&c->report, &opt->report, &c->side[0], &c->side[1], &opt->site,
                     &c->progress)) {
        return COMPARE_TROUBLE;
    }
    c->pair.opt = &opt->pair;
    c->pair.difference = report_difference;
    c->pair.repeated = report_repeated;
    c->pair.arg = &c->report;
    c->pair.progress = &c->progress;
    c->pair.skip = &c->skip;
    return end_status(c, compare_pairs(c));
}

int compare_traces(struct compare_options *opt)
{
    struct comparison *c = calloc(1, sizeof(*c));
    int status = COMPARE_TROUBLE;

    if (!c) {
        tool_error(opt->report.prog, "no memory");
        return status;
    }
    c->opt = opt;
    space_keys_init(&c->keys);
    if (code_table_init(&c->codes)) {
        status = run(c);
    } else {
        tool_error(opt->report.prog, "no memory");
    }
    pair_fini(&c->pair);
    report_fini(&c->report);
    pairs_free(&c->pairs);
    for (unsigned i = 0; i < 2; i++) {
        close_side(&c->side[i]);
        ids_fini(&c->ids[i]);
    }
    modset_close(c->modset);
    code_table_fini(&c->codes);
    space_keys_fini(&c->keys);
    free(c);
    return status;
}
