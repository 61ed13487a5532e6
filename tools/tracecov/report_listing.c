/* SPDX-License-Identifier: MIT */
/*
 * Makes sources for modules without lines: their disassembly, in files
 * DIR/NAME-ID/ADDRESS-FUNCTION.lst, for formats that need lines, and for genhtml.
 *
 * lcov adds runs up by file name and line number.  So names and lines follow from the ELF
 * file alone (report_pieces.c), never from what ran: ID distinguishes builds; every byte
 * of code is in one line; neighbouring functions share a file up to a number of lines.
 * Code that ran in another way than it is listed (data decoded as code, T32 code in a file
 * without symbols) counts at the line that has its address.
 *
 * Lines of functions have counts whether they ran or not.  Bytes between functions may be
 * padding, so their lines have counts only if they ran.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cannoli/isa.h"
#include "guest/disas.h"
#include "common/options.h"
#include "tracecov/listing.h"

#define CONDITIONAL (CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND)

/* A page of genhtml has some 180 bytes for each line.  A file ends before a function with
 * which it would be longer than LINES; a function is cut after LINES_MOST. */
#define LINES 2000u
#define LINES_MOST 4000u

/* Limit of a function's name in a file name. */
#define NAME_MOST 60

struct writer {
    struct report_maker *mk;
    const struct report_code *k;
    const char *dir;
    struct disas *disas;
    unsigned width; /* of addresses in names */
    /* The current file. */
    char *path; /* NULL: none was begun */
    FILE *file;
    struct out *o; /* NULL: none, or it is not selected */
    uint32_t source;
    uint32_t line; /* the last one */
    /* The current piece. */
    uint32_t heading, insns, insns_hit;
    uint32_t heading_source;
    unsigned mode;
    size_t ran; /* the first instruction that ran at or after the next line */
};

/* A line of code. */
struct row {
    uint64_t addr;
    unsigned len;
    uint8_t mode;
    uint16_t flags;
    bool insn; /* else data */
};

/* -------------------------------------------------------------------- names */

/* The first digits of the build id, or of a hash of the code. */
static void module_id(const struct report_code *k, char text[9])
{
    const struct module *m = k->module->module;
    const struct sym_code *code;
    uint32_t n = symfile_code(k->file, &code), hash = 2166136261u;

    if (m->build_id_bytes >= 4) {
        snprintf(text, 9, "%02x%02x%02x%02x", m->build_id[0], m->build_id[1],
                 m->build_id[2], m->build_id[3]);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        size_t have;
        const uint8_t *p = symfile_bytes(k->file, code[i].addr, &have);

        for (size_t j = 0; p && j < have && j < code[i].end - code[i].addr; j++) {
            hash = (hash ^ p[j]) * 16777619u;
        }
    }
    snprintf(text, 9, "%08x", hash);
}

/* DIR/NAME-ID; free it. */
static char *module_dir(const struct report_maker *mk, const struct report_code *k)
{
    const char *name = k->module->module->name;
    char *dir = realpath(mk->opt->listing_dir, NULL), *path = NULL, id[9];

    module_id(k, id);
    if (asprintf(&path, "%s/%s%s-%s", dir ? dir : mk->opt->listing_dir,
                 *name == '.' ? "_" : "", name, id) < 0) {
        path = NULL;
    }
    free(dir);
    return path;
}

/* DIR/NAME-ID/ADDRESS-FUNCTION.lst; free it. */
static char *file_path(const struct writer *w, const struct piece *p, uint64_t addr)
{
    const char *name = p->symbol ? p->symbol->linkage : p->section;
    char safe[NAME_MOST + 1], *path;
    size_t n = 0;

    for (; name[n] && n < NAME_MOST; n++) {
        bool plain = (name[n] >= '0' && name[n] <= '9') ||
                     (name[n] >= 'A' && name[n] <= 'Z') ||
                     (name[n] >= 'a' && name[n] <= 'z') || strchr("_.$@+-", name[n]);

        safe[n] = plain ? name[n] : '_';
    }
    safe[n] = 0;
    return asprintf(&path, "%s/%0*llx%s%s.lst", w->dir, (int)w->width,
                    (unsigned long long)addr, n ? "-" : "", safe) < 0
               ? NULL
               : path;
}

/* -------------------------------------------------------------------- files */

static int io_error(const char *path, int error)
{
    tool_error(PROG, "%s: %s", path, strerror(error));
    return -CTR_E_IO;
}

static int end_file(struct writer *w)
{
    int ret = w->o ? out_close(w->o) : 0, e = 0;

    if (w->file && fclose(w->file) && !ret) {
        ret = -errno;
    }
    if (ret) {
        e = io_error(w->path, -ret);
    }
    free(w->path);
    w->o = NULL;
    w->file = NULL;
    w->path = NULL;
    return e;
}

static int begin_file(struct writer *w, const struct piece *p, uint64_t addr)
{
    int e = end_file(w);

    w->line = 0;
    w->path = e ? NULL : file_path(w, p, addr);
    if (!w->path) {
        return e ? e : -CTR_E_NOMEM;
    }
    w->file = fopen(w->path, "we"); /* first, as --existing looks for it */
    if (!w->file) {
        return io_error(w->path, errno);
    }
    e = report_source_find(w->mk, w->path, false, 0, &w->source);
    if (e || w->source == NO_INDEX) {
        unlink(w->path);
        return e;
    }
    w->o = out_open(w->file);
    return w->o ? 0 : -CTR_E_NOMEM;
}

/* -------------------------------------------------------------------- lines */

static void write_heading(struct writer *w, const struct piece *p, uint64_t addr)
{
    bool first = w->line == 0;

    w->line += first ? 1 : 2;
    w->mode = NO_INDEX;
    if (!w->o) {
        return;
    }
    out_str(w->o, first ? "" : "\n");
    if (p->symbol) {
        listing_safe(w->o, p->symbol->name, strlen(p->symbol->name));
    } else if (!p->function) {
        listing_safe(w->o, p->section, strlen(p->section));
    }
    if (!p->symbol) {
        out_str(w->o, p->function || !*p->section ? "0x" : " 0x");
        out_hex(w->o, p->addr, 1);
    }
    if (addr != p->addr) {
        out_str(w->o, "+0x");
        out_hex(w->o, addr - p->addr, 1);
    }
    out_str(w->o, p->function ? ":\n" : ", in no function:\n");
}

static void write_text(struct writer *w, uint64_t addr, const uint8_t *bytes,
                       unsigned len, unsigned mode)
{
    char text[DISAS_TEXT_MAX];

    if (mode != w->mode) {
        w->mode = mode;
        disas_block(w->disas, mode);
    }
    out_mem(w->o, text, disas_insn(w->disas, addr, bytes, len, text));
}

static void write_data(struct writer *w, const uint8_t *bytes, unsigned len)
{
    w->mode = NO_INDEX;
    out_str(w->o, ".byte");
    for (unsigned i = 0; i < len; i++) {
        out_str(w->o, i ? ", 0x" : " 0x");
        out_hex(w->o, bytes[i], 2);
    }
}

/* Whether what ran in a row is what the row shows. */
static bool as_listed(const struct row *r, const struct cover_insn *v, size_t n)
{
    return n == 1 && r->insn && v->addr == r->addr && v->len == r->len &&
           v->mode == r->mode;
}

/* The row's text; v has the n instructions that ran in it. */
static void write_row(struct writer *w, const struct row *r, const struct cover_insn *v,
                      size_t n)
{
    size_t have;
    const uint8_t *bytes = symfile_bytes(w->k->file, r->addr, &have);

    out_str(w->o, "  0x");
    out_hex(w->o, r->addr, w->k->cover->addr_bits == 64 ? 12 : 8);
    out_str(w->o, "  ");
    if (n && !as_listed(r, v, n)) {
        for (size_t i = 0; i < n; i++) {
            out_str(w->o, i ? "; " : "");
            write_text(w, v[i].addr, v[i].bytes, v[i].len, v[i].mode);
        }
    } else if (bytes && have >= r->len && r->insn) {
        write_text(w, r->addr, bytes, r->len, r->mode);
    } else if (bytes && have >= r->len) {
        write_data(w, bytes, r->len);
    }
    out_str(w->o, "\n");
}

/* The count of a row: the largest of the instructions that ran and begin in it. */
static struct site_count row_count(const struct report_code *k,
                                   const struct cover_insn *v, size_t n)
{
    struct site_count most = {0};

    for (size_t i = 0; i < n; i++) {
        size_t at = report_site_at(k, v[i].addr);
        struct site_count c = {v[i].count, v[i].taken, v[i].not_taken};

        if (at < k->nr_sites && k->sites[at].addr == v[i].addr) {
            c = report_site_count(k, &k->sites[at]);
        }
        most = c.count > most.count ? c : most;
    }
    return most;
}

static int add_row(struct writer *w, const struct piece *p, const struct row *r)
{
    const struct cover_module *m = w->k->module;
    const struct site site = {.addr = r->addr};
    const struct cover_insn *v;
    struct site_count c;
    size_t n = 0;
    uint16_t flags = r->flags;
    int e;

    while (w->ran < m->nr_insns && m->insns[w->ran].addr < r->addr) {
        w->ran++;
    }
    v = m->insns + w->ran;
    while (w->ran + n < m->nr_insns && v[n].addr - r->addr < r->len) {
        flags |= v[n].flags;
        n++;
    }
    w->line++;
    w->insns += r->insn;
    w->insns_hit += n != 0 && r->insn;
    if (!w->o) {
        return 0;
    }
    write_row(w, r, v, n);
    if (!n && !(p->function && r->insn)) {
        return 0;
    }
    c = row_count(w->k, v, n);
    e = report_source_line(w->mk, w->source, w->line, w->k->index, c.count);
    if (!e && (flags & CONDITIONAL) == CONDITIONAL) {
        e = report_source_branch(w->mk, w->source, w->line, &site, &c, w->k->index);
    }
    return e;
}

/* ------------------------------------------------------------------- pieces */

/* The row at addr in a piece. */
static struct row row_at(const struct writer *w, const struct piece *p, uint64_t addr)
{
    const struct report_code *k = w->k;
    struct row r = {.addr = addr, .mode = CTR_ISA_DEFAULT};
    uint32_t machine = k->cover->machine;
    bool x86 = machine == CANNOLI_EM_X86_64 || machine == CANNOLI_EM_386;

    if (machine == CANNOLI_EM_ARM && (p->thumb || symfile_is_thumb(k->file, addr))) {
        r.mode = CTR_ISA_THUMB;
    }
    if (symfile_is_code(k->file, addr)) {
        r.len = insn_scan_mode(w->mk->scan, k->file, addr, r.mode, &r.flags);
    }
    r.insn = r.len && r.len <= p->end - addr;
    if (!r.insn) {
        r.flags = 0;
        r.len = x86 ? 1 : addr & 2 ? 2 : 4;
        r.len = r.len > p->end - addr ? (unsigned)(p->end - addr) : r.len;
    }
    return r;
}

/*
 * Adds the function of a piece to the report.  Code between functions is one, too, if it
 * ran: for lcov, lines belong to the function before them, which may not have run.
 */
static int add_function(struct writer *w, const struct piece *p, uint32_t end_line)
{
    const struct report_code *k = w->k;
    const struct sym_function range = {.addr = p->addr, .end = p->end};
    struct report_function f = {.module = k->index,
                                .addr = p->addr,
                                .line = w->heading,
                                .end_line = end_line,
                                .insns_total = w->insns,
                                .insns_hit = w->insns_hit};
    size_t at = report_site_at(k, p->addr);
    char name[64];

    if (!(p->function ? w->insns : w->insns_hit) || w->heading_source == NO_INDEX ||
        (p->symbol && (p->symbol->source == SYM_PLT || p->symbol->addr != p->addr))) {
        return 0;
    }
    snprintf(name, sizeof(name), "%.30s%s0x%llx", p->function ? "" : p->section,
             p->function || !*p->section ? "" : ":", (unsigned long long)p->addr);
    f.name = p->symbol ? p->symbol->name : name;
    f.linkage = p->symbol && p->symbol->linkage && *p->symbol->linkage
                    ? p->symbol->linkage
                    : f.name;
    if (at < k->nr_sites && k->sites[at].addr == p->addr &&
        k->sites[at].insn != NO_INDEX) {
        f.count = report_entries(k, at, SYM_NONE, &range);
    }
    f.count = f.count || !f.insns_hit ? f.count : 1;
    return report_source_function(w->mk, w->heading_source, &f);
}

static int write_piece(struct writer *w, const struct piece *p)
{
    uint64_t addr = p->addr;
    uint32_t end_line = 0; /* in the first file */
    int e = 0;

    write_heading(w, p, addr);
    w->heading = w->line;
    w->heading_source = w->source;
    w->insns = w->insns_hit = 0;
    while (addr < p->end && !e) {
        const struct row r = row_at(w, p, addr);

        if (w->line >= LINES_MOST) {
            end_line = end_line ? end_line : w->line;
            e = begin_file(w, p, addr);
            write_heading(w, p, addr);
        }
        e = e ? e : add_row(w, p, &r);
        addr += r.len;
    }
    return e ? e : add_function(w, p, end_line ? end_line : w->line);
}

/* The pieces in files.  A file has code of one section; a piece's lines are estimated by
 * its bytes, as the file is chosen before it is written. */
static int write_pieces(struct writer *w, const struct piece *v, size_t n)
{
    int e = 0, last;

    for (size_t i = 0; i < n && !e; i++) {
        uint64_t lines = w->line + (v[i].end - v[i].addr) / 4;

        if (!w->path || v[i].section_number != v[i - 1].section_number || lines > LINES) {
            e = begin_file(w, &v[i], v[i].addr);
        }
        e = e ? e : write_piece(w, &v[i]);
    }
    last = end_file(w);
    return e ? e : last;
}

int report_listing(struct report_maker *mk, const struct report_code *k)
{
    const struct cover *c = k->cover;
    char *dir = module_dir(mk, k);
    struct writer w = {.mk = mk, .k = k, .dir = dir, .source = NO_INDEX, .width = 4};
    struct piece *pieces = NULL;
    size_t n = 0;
    int e = -CTR_E_NOMEM;

    w.disas = disas_new(c->machine, c->big_endian, c->target);
    if (!dir || !w.disas) {
        goto out;
    }
    if (mkdir(dir, 0777) && errno != EEXIST) {
        e = io_error(dir, errno);
        goto out;
    }
    e = report_pieces(k, &pieces, &n);
    while (n && w.width < 16 && pieces[n - 1].end >> (4 * w.width)) {
        w.width++;
    }
    e = e ? e : write_pieces(&w, pieces, n);
out:
    free(pieces);
    disas_free(w.disas);
    free(dir);
    return e;
}
