/* SPDX-License-Identifier: MIT */
/* The rows of --histogram, the highest counts first, as text and as JSON. */
#include "hist.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/words.h"

/* A row with what it is sorted by. */
struct row {
    const struct hist_entry *e;
    uint64_t count;
    uint64_t vaddr;     /* of a function */
    const char *name;   /* of mnemonic, function or module; "" */
    const char *module; /* path of the module, "" */
};

static const char *const words[HIST_KINDS] = {
    [HIST_MNEMONIC] = "mnemonic", [HIST_FUNCTION] = "function", [HIST_MODULE] = "module",
    [HIST_PAGE] = "page",         [HIST_SIZE] = "size",
};

const struct words hist_words = WORDS_OF_STRINGS("histogram", words);

static bool of_accesses(enum hist_kind kind)
{
    return kind == HIST_PAGE || kind == HIST_SIZE;
}

/* "(...)" is no name of a mnemonic, function or file. */
static void name_row(const struct hist *h, enum hist_kind kind, struct row *r)
{
    const struct module *m = (const struct module *)(uintptr_t)r->e->a;
    const struct sym_function *f = (const struct sym_function *)(uintptr_t)r->e->b;

    r->name = r->module = "";
    if (kind == HIST_MNEMONIC) {
        r->name = r->e->a ? h->mnemonic[r->e->a] : "(unknown)";
    } else if (!of_accesses(kind) && !m) {
        r->name = "(no module)";
    } else if (!of_accesses(kind)) {
        r->module = m->path;
        r->name = kind == HIST_MODULE ? m->name : f ? f->name : "(no function)";
        r->vaddr = f ? f->addr : 0;
    }
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_count(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int c = compare(y->count, x->count);

    c = c ? c : strcmp(x->name, y->name);
    c = c ? c : strcmp(x->module, y->module);
    c = c ? c : compare(x->vaddr, y->vaddr);
    /* pages and sizes have no name */
    return c || x->name[0] ? c : compare(x->e->a, y->e->a);
}

/* -------------------------------------------------------------------- text */

static double percent(uint64_t part, uint64_t all)
{
    return all ? 100.0 * (double)part / (double)all : 0;
}

static bool put_counts(struct textbuf *b, enum hist_kind kind, const uint64_t n[2],
                       uint64_t count, uint64_t sum, uint64_t all)
{
    bool ok = of_accesses(kind)
                  ? textbuf_printf(b, "%16" PRIu64 " %16" PRIu64, n[0], n[1])
                  : textbuf_printf(b, "%16" PRIu64, count);

    return ok && textbuf_printf(b, " %6.2f%% %6.2f%%  ", percent(count, all),
                                percent(sum, all));
}

static bool put_name(struct textbuf *b, enum hist_kind kind, const struct row *r)
{
    const char *slash = strrchr(r->module, '/');
    const char *file = slash && slash[1] ? slash + 1 : r->module;

    if (kind == HIST_PAGE) {
        return textbuf_printf(b, "0x%" PRIx64 "\n", r->e->a << 12);
    }
    if (kind == HIST_SIZE) {
        return textbuf_printf(b, "%" PRIu64 "\n", r->e->a);
    }
    return textbuf_printable(b, r->name, strlen(r->name)) &&
           (kind != HIST_FUNCTION || !*file ||
            (textbuf_printf(b, "  [") && textbuf_printable(b, file, strlen(file)) &&
             textbuf_printf(b, "]"))) &&
           textbuf_printf(b, "\n");
}

static bool put_head(struct textbuf *b, enum hist_kind kind)
{
    bool ok = of_accesses(kind) ? textbuf_printf(b, "%16s %16s", "loads", "stores")
                                : textbuf_printf(b, "%16s", "instructions");

    return ok && textbuf_printf(b, " %7s %7s  %s\n", "share", "sum", words[kind]);
}

/* -------------------------------------------------------------------- JSON */

static bool put_json_name(struct textbuf *b, enum hist_kind kind, const struct row *r)
{
    bool has_module = kind == HIST_FUNCTION || kind == HIST_MODULE;
    bool ok = true;

    if (kind == HIST_PAGE) {
        return textbuf_printf(b, ",\"page\":\"0x%" PRIx64 "\"", r->e->a << 12);
    }
    if (kind == HIST_SIZE) {
        return textbuf_printf(b, ",\"size\":%" PRIu64, r->e->a);
    }
    if (kind == HIST_MNEMONIC && r->e->a) {
        return textbuf_printf(b, ",\"mnemonic\":") &&
               textbuf_json_string(b, r->name, strlen(r->name));
    }
    if (has_module && r->e->a) {
        ok = textbuf_printf(b, ",\"module\":") &&
             textbuf_json_string(b, r->module, strlen(r->module));
    }
    if (ok && kind == HIST_FUNCTION && r->e->b) {
        ok = textbuf_printf(b, ",\"function\":") &&
             textbuf_json_string(b, r->name, strlen(r->name)) &&
             textbuf_printf(b, ",\"vaddr\":\"0x%" PRIx64 "\"", r->vaddr);
    }
    return ok;
}

static bool put_json(struct textbuf *b, enum hist_kind kind, const struct row *r,
                     const uint64_t n[2])
{
    bool ok = textbuf_printf(b, "{\"kind\":\"histogram\",\"by\":\"%s\"", words[kind]);

    ok = ok && (!r || put_json_name(b, kind, r));
    ok = ok && (of_accesses(kind)
                    ? textbuf_printf(b, ",\"loads\":%" PRIu64 ",\"stores\":%" PRIu64,
                                     n[0], n[1])
                    : textbuf_printf(b, ",\"instructions\":%" PRIu64, n[0]));
    return ok && (r ? true : textbuf_printf(b, ",\"total\":true")) &&
           textbuf_printf(b, "}\n");
}

/* --------------------------------------------------------------------------- */

/* The rows; v has room for all. */
static void make_rows(const struct hist *h, enum hist_kind kind, struct row *v)
{
    const struct hist_table *t = &h->by[kind];

    for (size_t i = 0; i < t->used; i++) {
        v[i] = (struct row){.e = &t->v[i], .count = t->v[i].n[0] + t->v[i].n[1]};
        name_row(h, kind, &v[i]);
    }
    if (t->used) {
        qsort(v, t->used, sizeof(*v), by_count);
    }
}

static bool put_rows(struct textbuf *b, const struct hist *h, enum hist_kind kind,
                     const struct row *v, uint64_t top)
{
    size_t n = h->by[kind].used, shown = top && top < n ? (size_t)top : n;
    uint64_t all[2] = {0}, rest[2] = {0}, total, sum = 0;
    bool json = h->opt->json, ok = json || put_head(b, kind);

    for (size_t i = 0; i < n; i++) {
        for (unsigned k = 0; k < 2; k++) {
            all[k] += v[i].e->n[k];
            rest[k] += i >= shown ? v[i].e->n[k] : 0;
        }
    }
    total = all[0] + all[1];
    for (size_t i = 0; ok && i < shown; i++) {
        sum += v[i].count;
        ok = json ? put_json(b, kind, &v[i], v[i].e->n)
                  : put_counts(b, kind, v[i].e->n, v[i].count, sum, total) &&
                        put_name(b, kind, &v[i]);
    }
    if (json) {
        return ok && put_json(b, kind, NULL, all);
    }
    if (ok && shown < n) {
        ok = put_counts(b, kind, rest, rest[0] + rest[1], total, total) &&
             textbuf_printf(b, "%zu more\n", n - shown);
    }
    return ok && put_counts(b, kind, all, total, total, total) &&
           textbuf_printf(b, "total\n");
}

bool hist_print(struct textbuf *b, struct hist *h, enum hist_kind kind, uint64_t top)
{
    struct hist_table *t = &h->by[kind];
    struct row *v = calloc(t->used + 1, sizeof(*v));
    bool ok = v;

    if (ok) {
        hist_compact(t);
        make_rows(h, kind, v);
        ok = put_rows(b, h, kind, v, top);
    }
    free(v);
    return ok;
}
