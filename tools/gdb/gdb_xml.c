/* SPDX-License-Identifier: MIT */
/*
 * gdb's target description out of the tables: "Target Description Format" in gdb's manual.
 * All features are in one document, so that one answer of a server has everything.
 */
#include <stdlib.h>
#include <string.h>

#include "gdb/gdb_regs_priv.h"

/* Reads the words of a type, which end at a ';'. */
struct words {
    const char *at;
};

/* The next word, of *n bytes; 0 at the type's end, which is skipped. */
static const char *next(struct words *w, size_t *n)
{
    w->at += strspn(w->at, " ");
    const char *word = w->at;
    *n = strcspn(word, " ;");
    w->at += *n;
    if (*n == 0 && *w->at == ';') {
        w->at++;
    }
    return word;
}

static bool vector(struct textbuf *b, struct words *w, unsigned width)
{
    size_t idn, typen, n;
    const char *id = next(w, &idn), *type = next(w, &typen), *count = next(w, &n);
    unsigned long number =
        *count == '/' ? width / strtoul(count + 1, NULL, 10) : strtoul(count, NULL, 10);
    next(w, &n);
    return textbuf_printf(b, "<vector id=\"%.*s\" type=\"%.*s\" count=\"%lu\"/>\n",
                          (int)idn, id, (int)typen, type, number);
}

static bool union_of(struct textbuf *b, struct words *w)
{
    size_t n, typen;
    const char *name = next(w, &n);
    bool ok = textbuf_printf(b, "<union id=\"%.*s\">\n", (int)n, name);
    while (ok && (name = next(w, &n), n)) {
        const char *type = next(w, &typen);
        ok = textbuf_printf(b, "<field name=\"%.*s\" type=\"%.*s\"/>\n", (int)n, name,
                            (int)typen, type);
    }
    return ok && textbuf_printf(b, "</union>\n");
}

static bool flags(struct textbuf *b, struct words *w)
{
    size_t n, bytesn, bitn;
    const char *name = next(w, &n), *bytes = next(w, &bytesn);
    bool ok = textbuf_printf(b, "<flags id=\"%.*s\" size=\"%.*s\">\n", (int)n, name,
                             (int)bytesn, bytes);
    while (ok && (name = next(w, &n), n)) {
        const char *bit = next(w, &bitn);
        char *end;
        unsigned long first = strtoul(bit, &end, 10);
        unsigned long last = *end == ':' ? strtoul(end + 1, NULL, 10) : first;
        ok = textbuf_printf(b, "<field name=\"%.*s\" start=\"%lu\" end=\"%lu\"/>\n",
                            (int)n, name, first, last);
    }
    return ok && textbuf_printf(b, "</flags>\n");
}

static bool types(struct textbuf *b, const char *text, unsigned width)
{
    struct words w = {text};
    size_t n;
    const char *kind;
    bool ok = true;
    while (ok && (kind = next(&w, &n), n)) {
        ok = *kind == 'v'   ? vector(b, &w, width)
             : *kind == 'u' ? union_of(b, &w)
                            : flags(b, &w);
    }
    return ok;
}

static bool attribute(struct textbuf *b, const char *name, const char *value)
{
    return !value || textbuf_printf(b, " %s=\"%s\"", name, value);
}

static bool registers(struct textbuf *b, unsigned feature, const struct gdb_reg *reg,
                      unsigned count)
{
    bool ok = true;
    for (unsigned i = 0; i < count && ok; i++) {
        if (!reg[i].name || reg[i].feature != feature) {
            continue;
        }
        /* A name of the trace's table can have any characters. */
        ok = textbuf_printf(b, "<reg name=\"") &&
             textbuf_markup(b, reg[i].name, strlen(reg[i].name)) &&
             textbuf_printf(b, "\" bitsize=\"%u\" regnum=\"%u\"", reg[i].size * 8u, i) &&
             attribute(b, "type", reg[i].type) && attribute(b, "group", reg[i].group) &&
             textbuf_printf(b, "/>\n");
    }
    return ok;
}

bool gdb_xml_write(struct textbuf *b, const struct gdb_target *target, const bool *wanted,
                   const unsigned *width, const struct gdb_reg *reg, unsigned count)
{
    bool ok = textbuf_printf(b,
                             "<?xml version=\"1.0\"?>\n"
                             "<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n"
                             "<target version=\"1.0\">\n"
                             "<architecture>%s</architecture>\n",
                             target->architecture);
    const struct gdb_feature *f = target->features;
    for (unsigned i = 0; f[i].name && ok; i++) {
        if (wanted[i] && *f[i].name) {
            ok = textbuf_printf(b, "<feature name=\"%s\">\n", f[i].name) &&
                 types(b, f[i].types, width[i]) && registers(b, i, reg, count) &&
                 textbuf_printf(b, "</feature>\n");
        }
    }
    return ok && textbuf_printf(b, "</target>\n");
}
