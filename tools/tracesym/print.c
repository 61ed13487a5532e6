/* SPDX-License-Identifier: MIT */
/*
 * Symbols next to instructions: each worker caches, for each block, the text after its
 * instructions, so that a line of a trace costs no more than copying it.
 *
 * At another time or in another process the address of a block may belong to another
 * file.  The place is looked up again when either has changed, and the text is made again
 * only if the place differs.
 */
#include "print.h"

#include <stdlib.h>
#include <string.h>

#include "calltree/calltree.h"
#include "input/idcache.h"
#include "nothing.h"
#include "prog.h"

/* Limit of a worker's cached text of places, besides that of instructions (insntext.c).
 */
#define CACHE_BYTES (6u << 20)

/*
 * Limit of the text for the instructions of one block: 16 KiB for each of the 512 of a
 * QEMU block.  Only files made on purpose exceed it; then the rest has no symbols.
 */
#define BLOCK_BYTES (8u << 20)

struct print {
    const struct places *places;
    const struct site_options *site;
    bool selects;
};

/* Cached for a block, in one allocation: this, insn[], the text. */
struct block_sites {
    struct block_annotations notes;
    uint64_t epoch;              /* at which it was valid */
    const struct module *module; /* of the first instruction */
    uint64_t vaddr;              /* of the first instruction */
    bool whole; /* all instructions are in `module', spaced like their pcs */
    struct annotation insn[];
};

struct print_worker {
    const struct print *print;
    struct idcache cache;
    struct textbuf scratch;
    struct site site;
};

static void *worker_new(void *arg)
{
    struct print_worker *w = calloc(1, sizeof(*w));

    if (w) {
        w->print = arg;
        w->cache.max_bytes = CACHE_BYTES;
    }
    return w;
}

static void worker_free(void *worker)
{
    struct print_worker *w = worker;

    idcache_fini(&w->cache);
    textbuf_fini(&w->scratch);
    free(w);
}

static uint64_t time_at(void *arg, const struct ctr_chunk *chunk, uint64_t ordinal,
                        uint64_t *until)
{
    const struct print *p = arg;

    return places_time(p->places, chunk, ordinal, until);
}

/* The process and time to look up instructions in. */
struct lookup {
    const struct places *places;
    uint32_t process;
    uint64_t time_ns, chunk_end_ns;
};

static bool find(const struct lookup *at, uint64_t pc, struct place *out)
{
    return places_find(at->places, at->process, at->time_ns, at->chunk_end_ns, pc, out);
}

/* Whether the cached text of a block is still valid. */
static bool still_valid(const struct block_sites *bs, const struct ctr_block *b,
                        const struct lookup *at)
{
    struct place place;
    bool found = find(at, ctr_block_pc(b, 0), &place);

    if (!bs->whole) {
        return false;
    }
    return found ? bs->module == place.module && bs->vaddr == place.vaddr &&
                       b->pc + b->off[b->ninsn] - 1 < place.end
                 : !bs->module;
}

/* Makes the text of an instruction, none if the block's limit is reached; false: no
 * memory. */
static bool make_note(struct print_worker *w, size_t head, const struct place *place,
                      struct annotation *out)
{
    const struct site_options *opt = w->print->site;
    size_t off = w->scratch.len - head;
    bool ok;

    site_find(&w->site, place);
    out->off = (uint32_t)off;
    out->hidden = w->print->selects && !site_wanted(&w->site, opt);
    ok = out->hidden || (opt->json ? site_json(&w->scratch, &w->site, opt)
                                   : site_text(&w->scratch, &w->site, opt));
    if (w->scratch.len - head > BLOCK_BYTES) {
        w->scratch.len = head + off;
    }
    out->len = (uint32_t)(w->scratch.len - head - off);
    return ok;
}

/* Makes the data to cache for a block in w->scratch; false: no memory. */
static bool make_block(struct print_worker *w, const struct ctr_block *b,
                       const struct lookup *at)
{
    size_t head =
        offsetof(struct block_sites, insn) + b->ninsn * sizeof(struct annotation);
    bool whole = !b->pcs;
    struct block_sites *bs;
    struct place place = {0};
    bool found = false;

    w->scratch.len = 0;
    if (!textbuf_reserve(&w->scratch, head)) {
        return false;
    }
    memset(w->scratch.data, 0, head);
    w->scratch.len = head;
    bs = (struct block_sites *)w->scratch.data;
    for (unsigned i = 0; i < b->ninsn; i++) {
        uint64_t pc = ctr_block_pc(b, i);
        struct annotation note;
        if (found && pc >= place.start && pc < place.end) {
            place.vaddr += pc - ctr_block_pc(b, i - 1);
        } else {
            found = find(at, pc, &place);
            whole = whole && !i;
        }
        if (i == 0) {
            bs->module = found ? place.module : NULL;
            bs->vaddr = found ? place.vaddr : 0;
        }
        if (!make_note(w, head, found ? &place : NULL, &note)) {
            return false;
        }
        bs = (struct block_sites *)w->scratch.data; /* may have moved */
        bs->insn[i] = note;
    }
    bs->whole = whole;
    return true;
}

static const struct block_annotations *annotate(void *worker, const struct ctr_block *b,
                                                uint64_t epoch, uint32_t process,
                                                uint64_t time_ns, uint64_t chunk_end_ns)
{
    struct print_worker *w = worker;
    struct block_sites *bs = idcache_get(&w->cache, b->id);
    struct lookup at = {w->print->places, process, time_ns, chunk_end_ns};

    if (bs && (bs->epoch == epoch || still_valid(bs, b, &at))) {
        bs->epoch = epoch;
        return &bs->notes;
    }
    if (!make_block(w, b, &at) || !(bs = malloc(w->scratch.len))) {
        return NULL;
    }
    memcpy(bs, w->scratch.data, w->scratch.len);
    bs->epoch = epoch;
    bs->notes.insn = bs->insn;
    bs->notes.text = (const char *)&bs->insn[b->ninsn];
    if (!idcache_put(&w->cache, b->id, bs, w->scratch.len)) {
        free(bs);
        return NULL;
    }
    return &bs->notes;
}

/* Calls `show' with options that make it print symbols. */
static int with_symbols(struct ctr_trace *tr, const struct places *places,
                        const struct dump_options *opt, const struct site_options *site,
                        int (*show)(struct ctr_trace *tr, const struct dump_options *opt,
                                    const void *arg),
                        const void *arg)
{
    struct print p = {.places = places, .site = site};
    struct annotator annotator = {
        .arg = &p,
        .worker_new = worker_new,
        .worker_free = worker_free,
        .time = time_at,
        .block = annotate,
    };
    struct dump_options o = *opt;

    p.selects = annotator.selects = site->nr_modules || site->nr_functions;
    o.annotator = &annotator;
    return show(tr, &o, arg);
}

static int show_events(struct ctr_trace *tr, const struct dump_options *opt,
                       const void *arg)
{
    const struct print *p = arg;
    int status = dump_events(tr, opt);

    if (status != TOOL_OK || dump_wrote()) {
        return status;
    }
    for (unsigned i = 0; !opt->quiet && i < p->site->nr_functions; i++) {
        if (nothing_named(PROG, opt->path, p->places, p->site->functions[i], false)) {
            return TOOL_NOTHING;
        }
    }
    return dump_nothing(tr, opt);
}

int print_trace(struct ctr_trace *tr, const struct places *places,
                const struct dump_options *opt, const struct site_options *site)
{
    const struct print p = {.places = places, .site = site};

    return with_symbols(tr, places, opt, site, show_events, &p);
}

struct found_request {
    const struct search_request *search;
    const struct ctr_moment *at;
};

static int show_found(struct ctr_trace *tr, const struct dump_options *opt,
                      const void *arg)
{
    const struct found_request *r = arg;

    return dump_search(tr, opt, r->search, r->at);
}

int print_found(struct ctr_trace *tr, const struct places *places,
                const struct dump_options *opt, const struct site_options *site,
                const struct search_request *search, const struct ctr_moment *at)
{
    const struct found_request r = {search, at};

    return with_symbols(tr, places, opt, site, show_found, &r);
}

static int show_places(struct ctr_trace *tr, const struct dump_options *opt,
                       const void *arg)
{
    return dump_find(tr, opt, arg);
}

int print_places(struct ctr_trace *tr, const struct places *places,
                 const struct dump_options *opt, const struct site_options *site,
                 const struct find_request *find)
{
    return with_symbols(tr, places, opt, site, show_places, find);
}
