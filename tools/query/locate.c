/* SPDX-License-Identifier: MIT */
/*
 * Locations other than plain names; see locate.h.  Each item is first found in the
 * addresses of modules, then put where these were loaded.
 */
#include "query/locate_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/items.h"
#include "symbols/symfile_data.h"

/* ------------------------------------------------------------------- an item */

struct line_search {
    struct finder *finder;
    const struct module *module;
};

static bool on_line(void *arg, const struct sym_range *r)
{
    struct line_search *s = arg;

    return hits_add(&s->finder->hits, s->module, r->addr, r->end);
}

/* "parse.c:120"; false if the text has no such form. */
static bool find_line(struct finder *f, const char *glob, uint32_t glob_len,
                      const char *text, uint32_t len)
{
    uint32_t line, before = f->hits.n, files = 0, modules = 0;
    char *copy = strndup(text, len);
    const struct module *m;
    size_t bytes;

    if (!copy || !sym_parse_line(copy, &bytes, &line)) {
        free(copy);
        return false;
    }
    copy[bytes] = 0;
    for (uint32_t i = 0; (m = finder_nth(f, i)) != NULL; i++) {
        struct line_search s = {f, m};
        bool meant = finder_module(f, m, glob, glob_len);

        modules += meant;
        if (m->file && meant) {
            files += symfile_lines(m->file, copy, line, on_line, &s).nr_files;
        }
    }
    if (f->hits.n == before && files) {
        finder_why(f, WHY_EXACT, "no code of %s at line %" PRIu32 " or after it", copy,
                   line);
    } else if (f->hits.n == before && glob_len && !modules) {
        finder_why_module(f, glob, glob_len);
    } else if (f->hits.n == before) {
        finder_why(f, WHY_NAME, "no source file '%s' in the line information of what ran",
                   copy);
    }
    free(copy);
    return true;
}

/* An address of every module with a name. */
static void add_address(struct finder *f, const char *glob, uint32_t len, uint64_t vaddr)
{
    uint32_t before = f->hits.n;
    const struct module *m;

    for (uint32_t i = 0; (m = finder_nth(f, i)) != NULL; i++) {
        if (finder_module(f, m, glob, len)) {
            hits_add(&f->hits, m, vaddr, vaddr + 1);
        }
    }
    if (f->hits.n == before) {
        finder_why_module(f, glob, len);
    }
}

/* Moves what was found from number `first' on to N bytes after its begin. */
static void move_hits(struct finder *f, uint32_t first, uint64_t offset, uint64_t length)
{
    for (uint32_t i = first; i < f->hits.n; i++) {
        struct hit *h = &f->hits.v[i];
        h->from += offset;
        h->to = h->from + length;
    }
}

/* A name, with or without a module, or a line. */
static void find_plain(struct finder *f, const char *text, uint32_t len)
{
    uint32_t module = location_module(text, len);
    const char *rest = module < len ? text + module + 1 : text;
    uint32_t n = module < len ? len - module - 1 : len;
    uint32_t glob_len = module < len ? module : 0;
    char number[24] = "";
    uint64_t vaddr;

    if (glob_len && n && n < sizeof(number)) {
        memcpy(number, rest, n);
        if (tool_parse_u64(number, &vaddr)) {
            add_address(f, text, glob_len, vaddr);
            return;
        }
    }
    if (!find_line(f, text, glob_len, rest, n)) {
        find_named(f, text, glob_len, rest, n);
    }
}

/*
 * "NAME+N": N bytes into a name, or address N of a module.  Of a name that is both, the
 * user has to say which: the two are far apart.
 */
static int find_offset(struct finder *f, const char *text, uint32_t len, uint64_t offset,
                       uint64_t length)
{
    const struct locate_request *r = f->request;
    uint32_t before = f->hits.n;
    const struct module *m = finder_module_named(f, text, len);

    if (!m || !f->only) {
        f->begins = true;
        find_plain(f, text, len);
        f->begins = false;
    }
    if (m && f->hits.n > before) {
        return tool_usage_error(
            r->prog,
            "%s: '%.*s' is a module and a name in %s: write %s!0x%" PRIx64
            " or %s!%.*s+0x%" PRIx64,
            r->option, (int)len, text, f->hits.v[before].module->name, m->name, offset,
            f->hits.v[before].module->name, (int)len, text, offset);
    }
    if (m) {
        f->why[0] = 0;
        add_address(f, text, len, offset);
        offset = 0;
    }
    move_hits(f, before, offset, length);
    return TOOL_OK;
}

static int find_single(struct finder *f, const char *text, uint32_t len)
{
    uint32_t rest, inner;
    uint64_t number, offset;

    if (!item_offset(text, len, &rest, &number)) {
        find_plain(f, text, len);
        return TOOL_OK;
    }
    if (item_offset(text, rest, &inner, &offset)) {
        return number ? find_offset(f, text, inner, offset, number)
                      : tool_usage_error(f->request->prog, "%s: '%s' is empty",
                                         f->request->option, text);
    }
    return find_offset(f, text, rest, number, 1);
}

/* "A-B", split at a '-' outside of quotes.  If A is found, it is meant as a range: then the
 * reason for nothing is that of B or of both. */
static int find_range(struct finder *f, const char *text, uint32_t len, uint32_t minus,
                      bool *meant)
{
    struct hits *h = &f->hits;
    uint32_t first = h->n, second;
    int status = find_single(f, text, minus);

    second = h->n;
    if (!status && second > first) {
        status = find_single(f, text + minus + 1, len - minus - 1);
    }
    *meant = second > first;
    if (status || second == first || h->n == second) {
        h->n = first;
        return status;
    }
    if (h->v[first].module != h->v[second].module ||
        h->v[second].from <= h->v[first].from) {
        finder_why(f, WHY_EXACT,
                   "'%s' is no range: the second place is not after the first", text);
        h->n = first;
        return TOOL_OK;
    }
    h->v[first].to = h->v[second].from;
    h->n = first + 1;
    return TOOL_OK;
}

/* As a whole, else as a range. */
int finder_item(struct finder *f, const char *text)
{
    uint32_t len = (uint32_t)strlen(text), before = f->hits.n;
    bool quoted = false, meant = false;
    char first[sizeof(f->why)];
    int status = find_single(f, text, len);
    enum why kind = f->kind;

    memcpy(first, f->why, sizeof(first));
    for (uint32_t i = 1; !status && !meant && f->hits.n == before && i + 1 < len; i++) {
        quoted ^= text[i] == '\'';
        if (text[i] == '-' && text[i + 1] != '>' && !quoted) {
            f->why[0] = 0;
            status = find_range(f, text, len, i, &meant);
        }
    }
    if (f->hits.n == before && !meant) {
        memcpy(f->why, first, sizeof(first));
        f->kind = kind;
    }
    return status;
}

/* ------------------------------------------------------------ into processes */

struct mapper {
    const struct hit *hit;
    struct tool_ranges *out;
    uint64_t mask; /* of addresses */
    bool no_memory;
};

static bool add_range(struct tool_ranges *out, struct ctr_range r)
{
    struct ctr_range *v = realloc(out->v, (out->n + 1) * sizeof(*v));

    if (v) {
        out->v = v;
        v[out->n++] = r;
    }
    return v != NULL;
}

static bool on_bias(void *arg, const struct place_bias *b)
{
    struct mapper *m = arg;
    uint64_t first = m->hit->from > b->first ? m->hit->from : b->first;
    uint64_t end = m->hit->to - 1 < b->last ? m->hit->to - 1 : b->last;
    uint64_t from = (first + b->bias) & m->mask, last = (end + b->bias) & m->mask;

    if (first > end) {
        return true;
    }
    if (last < from) { /* at the end of the address space */
        last = m->mask;
    }
    m->no_memory = !add_range(
        m->out, (struct ctr_range){
                    .from = from,
                    .to = last == UINT64_MAX ? last : last + 1,
                    .process = b->process == PLACE_ANY_PROCESS ? 0 : b->process + 1,
                });
    return !m->no_memory;
}

/* Never leaves `out' as it is with TOOL_OK: a filter without ranges would mean
 * everything. */
static int map_hits(const struct finder *f, const char *text, struct tool_ranges *out)
{
    const struct locate_request *r = f->request;
    const uint32_t before = out->n;
    struct ctr_info info;
    struct mapper m = {.out = out};

    ctr_trace_info(r->trace, &info);
    m.mask = info.addr_bits == 32 ? UINT32_MAX : UINT64_MAX;
    for (uint32_t i = 0; i < f->hits.n; i++) {
        m.hit = &f->hits.v[i];
        if (!places_each_bias(r->places, r->trace, m.hit->module, on_bias, &m) ||
            m.no_memory) {
            tool_error(r->prog, "out of memory");
            return TOOL_FAILED;
        }
    }
    if (out->n == before) {
        tool_error(r->prog, "%s: %s: no process mapped '%s'", r->path, r->option, text);
        return TOOL_NOTHING;
    }
    return TOOL_OK;
}

/* --------------------------------------------------------------------------- */

unsigned locate_flags(const struct locations *list, enum locate_want want)
{
    unsigned flags = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        const char *text = list->v[i].text;
        if (list->v[i].numeric) {
            continue;
        }
        flags |= SYMFILE_NAMES;
        flags |= strchr(text, ':') ? SYMFILE_LINES : 0;
        if (want == LOCATE_DATA) {
            flags |= SYMFILE_DATA | (strpbrk(text, ".[") ? SYMFILE_TYPES : 0);
        }
    }
    return flags;
}

static int find_one(const struct locate_request *r, const char *text,
                    struct tool_ranges *out)
{
    struct finder f = {.request = r};
    int status;

    if (!r->places) {
        return tool_usage_error(r->prog, "%s: '%s' is no number", r->option, text);
    }
    f.modules = places_modules(r->places, &f.nr_modules);
    f.hits.no_memory = !f.modules;
    status = f.modules ? finder_item(&f, text) : TOOL_FAILED;
    if (f.hits.no_memory) {
        tool_error(r->prog, "out of memory");
        status = TOOL_FAILED;
    } else if (!status && !f.hits.n) {
        tool_error(r->prog, "%s: %s: %s", r->path, r->option,
                   f.why[0] ? f.why : "nothing has that name");
        status = TOOL_NOTHING;
    }
    status = status ? status : map_hits(&f, text, out);
    free(f.modules);
    free(f.hits.v);
    return status;
}

int locate(const struct locate_request *r, const struct locations *list,
           struct tool_ranges *out)
{
    int status = TOOL_OK;

    for (uint32_t i = 0; !status && i < list->n; i++) {
        const struct location *l = &list->v[i];
        if (!l->numeric) {
            status = find_one(r, l->text, out);
        } else if (!add_range(out, l->range)) {
            tool_error(r->prog, "out of memory");
            status = TOOL_FAILED;
        }
    }
    return status;
}
