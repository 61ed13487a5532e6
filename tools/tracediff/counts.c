/* SPDX-License-Identifier: MIT */
/*
 * How often code ran in two traces; see counts.h.
 *
 * The index has the counts of blocks, which two traces cut differently.  So single
 * instructions are counted, by their place in a file; neighbours with the same counts are
 * joined again.
 */
#include "counts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/textbuf.h"
#include "ignored.h"
#include "input/trace.h"
#include "common/map64.h"

static const char *const names[] = {"functions", "blocks"};
const struct words counts_words = WORDS_OF_STRINGS("counts", names);

/* An instruction. */
struct counted {
    const struct module *module; /* NULL: in no file */
    uint64_t vaddr;              /* without a module its address */
    uint32_t len;
    uint64_t n[2];
};

/* What is reported: a function, or neighbours that ran equally often. */
struct item {
    const struct module *module;
    const struct sym_function *function; /* or NULL */
    uint64_t vaddr, end;
    uint64_t insns[2]; /* executed */
    uint64_t runs[2];  /* of its first instruction */
};

struct counting {
    const struct side *side;
    unsigned which; /* of the two */
    struct map64 *index;
    struct counted **v;
    size_t *n, *cap;
};

/* Modules of two traces are the same by their names: they may be two builds. */
static const char *name_of(const struct module *m)
{
    return m ? m->name : "";
}

static struct counted *counted_at(struct counting *c, const struct module *m,
                                  uint64_t vaddr, uint32_t len)
{
    const char *name = name_of(m);
    const uint64_t hash = hash_bytes(HASH_START, name, strlen(name));
    bool added = false;
    uint32_t *i;

    if (*c->n == UINT32_MAX || !array_reserve(c->v, c->cap, *c->n + 1, sizeof(**c->v))) {
        return NULL;
    }
    i = map64_put(c->index, map64_mix(hash, vaddr), (uint32_t)*c->n, &added);
    if (!i) {
        return NULL;
    }
    if (added) {
        (*c->v)[(*c->n)++] = (struct counted){.module = m, .vaddr = vaddr, .len = len};
    }
    /* One of both may have been found without its file, which has the symbols. */
    if (m && m->file && !(*c->v)[*i].module->file) {
        (*c->v)[*i].module = m;
    }
    return &(*c->v)[*i];
}

static bool is_ignored(const struct counting *c, const struct module *m, uint64_t pc)
{
    const struct side *s = c->side;

    for (uint32_t i = 0; i < s->ignored.n; i++) {
        if (pc >= s->ignored.v[i].from && pc < s->ignored.v[i].to) {
            return true;
        }
    }
    return m && s->nr_ignored_modules &&
           module_matches(m, s->ignored_modules, s->nr_ignored_modules);
}

static int on_count(void *arg, const struct ctr_count *count)
{
    struct counting *c = arg;
    const struct ctr_block *b = count->block;
    struct place place;
    /* Where it depends on process or time, the address has to do. */
    bool found = c->side->places && places_find_block(c->side->places, b, &place) == 1;

    for (unsigned i = count->first; i < count->end; i++) {
        const uint64_t pc = ctr_block_pc(b, i);
        struct counted *to;
        if (is_ignored(c, found ? place.module : NULL, pc)) {
            continue;
        }
        to = counted_at(c, found ? place.module : NULL,
                        found ? place.vaddr + (pc - b->pc) : pc, ctr_block_len(b, i));
        if (!to) {
            return -CTR_E_NOMEM;
        }
        to->n[c->which] += count->full + count->partial;
    }
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    const int by_name = strcmp(name_of(x->module), name_of(y->module));

    return by_name ? by_name : (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static uint64_t distance(const struct item *i)
{
    return i->insns[0] > i->insns[1] ? i->insns[0] - i->insns[1]
                                     : i->insns[1] - i->insns[0];
}

static int by_distance(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    const uint64_t dx = distance(x), dy = distance(y);
    const int by_name = strcmp(name_of(x->module), name_of(y->module));

    return dx != dy  ? (dx < dy ? 1 : -1)
           : by_name ? by_name
                     : (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/* Joins sorted instructions to items. */
static struct item *make_items(enum counts_of of, const struct counted *v, size_t n,
                               size_t *items)
{
    struct item *out = calloc(n + 1, sizeof(*out));
    struct item *last = NULL;
    const struct counted *before = NULL;

    *items = 0;
    for (size_t i = 0; out && i < n; before = &v[i++]) {
        const struct module *m = v[i].module;
        const struct sym_function *f =
            m && m->file ? symfile_function(m->file, v[i].vaddr) : NULL;
        const bool same = last && last->module == m && last->function == f;
        const bool goes_on = same && last->end == v[i].vaddr &&
                             before->n[0] == v[i].n[0] && before->n[1] == v[i].n[1];
        if (of == COUNTS_BLOCKS ? !goes_on : !same || !f) {
            last = &out[(*items)++];
            *last =
                (struct item){.module = m,
                              .function = f,
                              .vaddr = f && of == COUNTS_FUNCTIONS ? f->addr : v[i].vaddr,
                              .end = v[i].vaddr};
        }
        last->end = v[i].vaddr + v[i].len;
        for (unsigned k = 0; k < 2; k++) {
            last->insns[k] += v[i].n[k];
            last->runs[k] += v[i].vaddr == last->vaddr ? v[i].n[k] : 0;
        }
    }
    return out;
}

/* ------------------------------------------------------------------- output */

static bool put_name(struct textbuf *b, const struct item *i)
{
    bool ok = true;

    if (i->function) {
        ok = textbuf_printable(b, i->function->name, strlen(i->function->name));
        if (ok && i->vaddr != i->function->addr) {
            ok = textbuf_printf(b, "+0x%" PRIx64, i->vaddr - i->function->addr);
        }
    } else {
        ok = textbuf_printf(b, "0x%" PRIx64, i->vaddr);
    }
    if (ok && i->module) {
        ok = textbuf_printf(b, "  [") &&
             textbuf_printable(b, i->module->name, strlen(i->module->name)) &&
             textbuf_printf(b, "]");
    }
    return ok;
}

static bool put_text(struct textbuf *b, const struct item *i)
{
    return textbuf_printf(b, "%16" PRIu64 " %16" PRIu64 " %12" PRIu64 " %12" PRIu64 "  ",
                          i->insns[0], i->insns[1], i->runs[0], i->runs[1]) &&
           put_name(b, i) && textbuf_printf(b, "\n");
}

static bool put_json(struct textbuf *b, enum counts_of of, const struct item *i)
{
    bool ok =
        textbuf_printf(b, "{\"kind\":\"%s\"", of == COUNTS_BLOCKS ? "block" : "function");

    if (ok && i->module) {
        ok = textbuf_printf(b, ",\"module\":") &&
             textbuf_json_string(b, i->module->path, strlen(i->module->path));
    }
    ok = ok && textbuf_printf(b, ",\"vaddr\":\"0x%" PRIx64 "\",\"end\":\"0x%" PRIx64 "\"",
                              i->vaddr, i->end);
    if (ok && i->function) {
        ok = textbuf_printf(b, ",\"function\":") &&
             textbuf_json_string(b, i->function->name, strlen(i->function->name));
    }
    for (unsigned k = 0; ok && k < 2; k++) {
        ok = textbuf_printf(b,
                            ",\"%c\":{\"instructions\":%" PRIu64 ",\"runs\":%" PRIu64 "}",
                            k ? 'b' : 'a', i->insns[k], i->runs[k]);
    }
    return ok && textbuf_printf(b, "}\n");
}

/* The items that differ, at most opt->max. */
static bool write_items(enum counts_of of, struct item *v, size_t n,
                        const struct report_options *opt, uint64_t *differ)
{
    struct textbuf out = {0};
    bool ok = true;

    qsort(v, n, sizeof(*v), by_distance);
    *differ = 0;
    for (size_t i = 0; ok && i < n; i++) {
        if (v[i].insns[0] == v[i].insns[1] && v[i].runs[0] == v[i].runs[1]) {
            continue;
        }
        if ((*differ)++ >= opt->max) {
            continue;
        }
        if (*differ == 1 && !opt->json) {
            ok = textbuf_printf(&out, "%16s %16s %12s %12s  %s\n", "a: instructions",
                                "b: instructions", "a: runs", "b: runs",
                                of == COUNTS_BLOCKS ? "block" : "function");
        }
        ok = ok && (opt->json ? put_json(&out, of, &v[i]) : put_text(&out, &v[i]));
    }
    if (ok && out.len) {
        fwrite(out.data, 1, out.len, stdout);
    }
    textbuf_fini(&out);
    return ok;
}

/* The threads of one side that count. */
static bool choose_threads(const struct pairs *pairs, unsigned which,
                           struct ctr_filter *filter)
{
    uint32_t *v = pairs ? calloc(pairs->n + 1u, sizeof(*v)) : NULL;

    for (uint32_t i = 0; v && i < pairs->n; i++) {
        if (pairs->v[i].thread[which]) {
            v[filter->nthread++] = pairs->v[i].thread[which]->index;
        }
    }
    filter->threads = v;
    return !pairs || v;
}

int counts_compare(enum counts_of of, const struct side side[2],
                   const struct pairs *pairs, const struct report_options *opt,
                   uint64_t *n)
{
    struct map64 index = {0};
    struct counted *v = NULL;
    struct item *items = NULL;
    size_t used = 0, cap = 0, nitems = 0;
    int ret = 0;
    bool ok = true;

    for (unsigned i = 0; ok && !ret && i < 2; i++) {
        struct counting c = {&side[i], i, &index, &v, &used, &cap};
        struct ctr_filter filter = CTR_FILTER_INIT;
        struct ctr_diag diag = {.off = CTR_NO_OFF};
        ok = choose_threads(pairs, i, &filter);
        if (ok && (!pairs || filter.nthread)) {
            ret = ctr_trace_counts(side[i].view, &filter, on_count, &c, &diag);
        }
        free((void *)(uintptr_t)filter.threads);
        if (ret) {
            tool_trace_error(opt->prog, side[i].path, ret, &diag);
        }
    }
    if (!ret && ok) {
        if (used) {
            qsort(v, used, sizeof(*v), by_place);
        }
        items = make_items(of, v, used, &nitems);
        ok = items && write_items(of, items, nitems, opt, n);
    }
    if (!ok) {
        tool_error(opt->prog, "no memory");
    }
    free(items);
    free(v);
    map64_fini(&index);
    return ret || !ok ? TOOL_FAILED : TOOL_OK;
}
