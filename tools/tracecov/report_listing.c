/* SPDX-License-Identifier: MIT */
/*
 * Makes a source for modules without lines: their disassembly, written to DIR/NAME.lst,
 * for formats that need lines, and for genhtml.  A line is an instruction or the name of
 * a function.  The listing does not contain counts: it is the same for all runs, unless
 * code ran that is in no symbol.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cannoli/isa.h"
#include "guest/disas.h"
#include "common/options.h"
#include "tracecov/listing.h"

#define CONDITIONAL (CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND)

struct writer {
    struct report_maker *mk;
    const struct report_code *k;
    uint32_t source;
    struct out *o;
    struct disas *disas;
    uint32_t line; /* the last one written */
};

/* DIR/NAME.lst; a second module of that name also gets its number.  Free it. */
static char *listing_path(const struct report_maker *mk, const struct report_code *k)
{
    const struct module *m = k->module->module;
    const char *hide = *m->name == '.' ? "_" : "";
    bool second = false;
    char *dir = realpath(mk->opt->listing_dir, NULL), *path;
    int n;

    for (const struct cover_module *o = mk->cover->modules; o < k->module; o++) {
        second |= !strcmp(o->module->name, m->name);
    }
    if (second) {
        n = asprintf(&path, "%s/%s%s.%u.lst", dir ? dir : mk->opt->listing_dir, hide,
                     m->name, m->index);
    } else {
        n = asprintf(&path, "%s/%s%s.lst", dir ? dir : mk->opt->listing_dir, hide,
                     m->name);
    }
    free(dir);
    return n < 0 ? NULL : path;
}

static void write_heading(struct writer *w, const struct sym_function *f, uint64_t addr)
{
    if (w->line) {
        out_str(w->o, "\n");
        w->line++;
    }
    if (f) {
        listing_safe(w->o, f->name, strlen(f->name));
    } else {
        out_str(w->o, "0x");
        out_hex(w->o, addr, 1);
    }
    out_str(w->o, ":\n");
    w->line++;
}

/* Writes the text of an instruction, and adds its line to the report. */
static int write_insn(struct writer *w, const struct site *s)
{
    struct site_count n = report_site_count(w->k, s);
    char text[DISAS_TEXT_MAX];
    const uint8_t *bytes;
    size_t have;
    int e;

    if (s->insn != NO_INDEX) {
        bytes = w->k->module->insns[s->insn].bytes;
        have = s->len;
    } else {
        bytes = symfile_bytes(w->k->file, s->addr, &have);
    }
    out_str(w->o, "  0x");
    out_hex(w->o, s->addr, w->k->cover->addr_bits == 64 ? 12 : 8);
    out_str(w->o, "  ");
    if (bytes && have >= s->len) {
        out_mem(w->o, text, disas_insn(w->disas, s->addr, bytes, s->len, text));
    }
    out_str(w->o, "\n");
    w->line++;
    e = report_source_line(w->mk, w->source, w->line, w->k->index, n.count);
    if (!e && (s->flags & CONDITIONAL) == CONDITIONAL) {
        e = report_source_branch(w->mk, w->source, w->line, s, &n, w->k->index);
    }
    return e;
}

static int write_code(struct writer *w, uint32_t *heading)
{
    const struct report_code *k = w->k;
    uint32_t f = 0, in = UINT32_MAX;
    uint64_t end = UINT64_MAX;
    unsigned mode = NO_INDEX;
    int e = 0;

    for (size_t i = 0; i < k->nr_sites && !e; i++) {
        const struct site *s = &k->sites[i];
        bool known, begins;
        while (f < k->nr_functions && k->functions[f].end <= s->addr) {
            f++;
        }
        known = f < k->nr_functions && k->functions[f].addr <= s->addr;
        begins = known ? in != f : in != NO_INDEX || s->addr != end;
        if (begins || w->line == 0) {
            write_heading(w, known ? &k->functions[f] : NULL, s->addr);
            if (known) {
                heading[f] = w->line;
            }
            mode = NO_INDEX;
        }
        if (mode != s->mode) {
            mode = s->mode;
            disas_block(w->disas, mode);
        }
        in = known ? f : NO_INDEX;
        end = s->addr + s->len;
        e = write_insn(w, s);
    }
    return e;
}

int report_listing(struct report_maker *mk, const struct report_code *k, uint32_t *source,
                   uint32_t **heading)
{
    const struct cover *c = k->cover;
    struct writer w = {.mk = mk, .k = k};
    char *path = listing_path(mk, k);
    FILE *file = NULL;
    int e = -CTR_E_NOMEM, ret = 0;

    *heading = calloc((size_t)k->nr_functions + 1, sizeof(**heading));
    w.disas = disas_new(c->machine, c->big_endian, c->target);
    if (!path || !*heading || !w.disas) {
        goto out;
    }
    file = fopen(path, "we");
    if (!file) {
        ret = -errno;
        goto out;
    }
    e = report_source_find(mk, path, false, 0, source);
    if (e || *source == NO_INDEX) {
        unlink(path);
        goto out;
    }
    w.source = *source;
    w.o = out_open(file);
    e = w.o ? write_code(&w, *heading) : -CTR_E_NOMEM;
    ret = w.o ? out_close(w.o) : 0;
out:
    if (file && fclose(file) && !ret) {
        ret = -errno;
    }
    if (ret) {
        tool_error(PROG, "%s: %s", path, strerror(-ret));
        e = -CTR_E_IO;
    }
    disas_free(w.disas);
    free(path);
    return e;
}
