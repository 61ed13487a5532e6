/* SPDX-License-Identifier: MIT */
/*
 * tracedump --histogram: how many instructions or accesses there are of each mnemonic,
 * function, module, page or size.  Counts are those of all events that the options
 * select.
 */
#include "hist.h"

#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "query/filter_options.h"

bool hist_parse(struct hist_request *r, const char *list)
{
    while (list) {
        size_t k = words_next(&hist_words, &list);
        unsigned i = 0;

        if (k == hist_words.n) {
            return false;
        }
        while (i < r->n && r->order[i] != (enum hist_kind)k) {
            i++;
        }
        r->order[i] = (enum hist_kind)k;
        r->n += i == r->n;
    }
    return true;
}

bool hist_of_accesses(const struct hist_request *r)
{
    for (unsigned i = 0; i < r->n; i++) {
        if (r->order[i] == HIST_PAGE || r->order[i] == HIST_SIZE) {
            return true;
        }
    }
    return false;
}

static void init(struct hist *h, const struct dump_options *opt,
                 const struct hist_request *request, const struct ctr_info *info)
{
    const struct ctr_filter *f = &opt->filter;

    h->opt = opt;
    for (unsigned i = 0; i < request->n; i++) {
        h->want[request->order[i]] = true;
    }
    h->sites = h->want[HIST_FUNCTION] || h->want[HIST_MODULE];
    h->insns = (h->sites || h->want[HIST_MNEMONIC]) && opt->kinds & CTR_KIND_EXEC;
    h->sites = h->sites && h->insns;
    h->accesses = (h->want[HIST_PAGE] || h->want[HIST_SIZE]) &&
                  info->events & CTR_HAS_MEM &&
                  opt->kinds & (CTR_KIND_LOAD | CTR_KIND_STORE);
    h->narrow = f->npc || filter_by_addr(f);
    h->ordered = h->insns && (h->narrow || f->from || f->to || f->from_ns || f->to_ns ||
                              f->from_thread || f->to_thread || f->task || f->context ||
                              !info->seekable);
}

static int count(struct hist *h, struct ctr_trace *tr, struct ctr_diag *diag)
{
    int ret = 0, last;

    if (h->insns && !h->ordered) {
        ret = hist_count_index(h, tr, diag);
    }
    if (!ret && (h->ordered || h->accesses)) {
        ret = hist_count_replay(h, tr, diag);
    }
    if (ret > 0 || !h->insns) {
        return ret;
    }
    last = hist_name_runs(h, tr, diag);
    return ret ? ret : last;
}

/* Says of which histograms nothing was selected; false: of all. */
static bool note_empty(const struct hist *h, const struct hist_request *request,
                       const struct ctr_info *info)
{
    bool any = false;

    for (unsigned i = 0; i < request->n; i++) {
        enum hist_kind kind = request->order[i];
        bool accesses = kind == HIST_PAGE || kind == HIST_SIZE;
        const char *why = "no instruction is selected";

        if (h->by[kind].used) {
            any = true;
            continue;
        }
        if (accesses) {
            why = info->events & CTR_HAS_MEM ? "no access is selected"
                                             : "no accesses were recorded";
        }
        tool_error(PROG, "%s: histogram by %s: %s", h->opt->path,
                   words_at(&hist_words, kind), why);
    }
    return any;
}

/* Why all mnemonics are one. */
static void note_unnamed(const struct hist *h, const struct ctr_info *info)
{
    if (h->unnamed && !h->opt->quiet) {
        tool_error(PROG, "%s: histogram by %s: this build's Capstone does not know %s",
                   h->opt->path, words_at(&hist_words, HIST_MNEMONIC), info->target);
    }
}

static int print(struct hist *h, const struct hist_request *request, int *sys_errno)
{
    struct textbuf b = {0};
    bool ok = true;
    int ret;

    for (unsigned i = 0; ok && i < request->n; i++) {
        if (h->by[request->order[i]].used) {
            ok = (!b.len || h->opt->json || textbuf_printf(&b, "\n")) &&
                 hist_print(&b, h, request->order[i], request->top);
        }
    }
    ret = ok ? dump_write(b.data, b.len, sys_errno) : DUMP_STOP_NOMEM;
    textbuf_fini(&b);
    return ret;
}

static void fini(struct hist *h)
{
    hist_fini(&h->runs);
    for (unsigned k = 0; k < HIST_KINDS; k++) {
        hist_fini(&h->by[k]);
    }
    free(h->site);
    free(h->mnemonic);
}

static int show(struct ctr_trace *tr, const struct dump_options *opt,
                const struct hist_request *request, const struct places *places)
{
    struct hist h = {.places = places};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct ctr_info info;
    int ret, last, sys_errno = 0, status;
    bool any = true;

    ctr_trace_info(tr, &info);
    init(&h, opt, request, &info);
    ret = count(&h, tr, &diag);
    if (ret <= 0) {
        any = ret || note_empty(&h, request, &info);
        note_unnamed(&h, &info);
        last = print(&h, request, &sys_errno);
        ret = ret ? ret : last;
    }
    status = dump_replay_status(opt, ret, sys_errno, &diag);
    fini(&h);
    return status == TOOL_OK && !any ? TOOL_NOTHING : status;
}

int dump_histogram(struct ctr_trace *tr, const struct dump_options *opt,
                   const struct hist_request *request, const struct modset_options *files)
{
    struct modset_options o = *files;
    struct modset *modset = NULL;
    struct places *places = NULL;
    bool function = false, module = false;
    int status = TOOL_OK;

    for (unsigned i = 0; i < request->n; i++) {
        function |= request->order[i] == HIST_FUNCTION;
        module |= request->order[i] == HIST_MODULE;
    }
    if ((function || module) && opt->kinds & CTR_KIND_EXEC) {
        o.flags = function ? 0 : SYMFILE_HEADERS;
        o.missing_ok = !function;
        status = modset_open(&modset, &o);
        status = status ? status : places_load(&places, modset, tr, opt->path);
        status = status ? status : modset_status(modset);
    }
    if (!status) {
        status = show(tr, opt, request, places);
    }
    if (!status) {
        status = places_status(places);
    }
    places_free(places);
    modset_close(modset);
    return status;
}
