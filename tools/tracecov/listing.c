/* SPDX-License-Identifier: MIT */
/* Disassembly with counts; see listing.h. */
#include "tracecov/listing.h"

#include <stdlib.h>

#include "cannoli/isa.h"

bool listing_init(struct listing *l, struct out *o, const struct cover *c, bool color)
{
    *l = (struct listing){.o = o, .cover = c, .color = color};
    l->scan = insn_scan_new(c);
    l->disas = disas_new(c->machine, c->big_endian, c->target);
    l->codes = calloc(c->nr_modules + 1, sizeof(*l->codes));
    return l->scan && l->disas && l->codes;
}

void listing_fini(struct listing *l)
{
    for (size_t i = 0; l->codes && i < l->cover->nr_modules; i++) {
        report_code_fini(&l->codes[i]);
    }
    free(l->codes);
    disas_free(l->disas);
    insn_scan_free(l->scan);
}

bool listing_module(struct listing *l, const struct cover_module *m)
{
    l->code = &l->codes[m - l->cover->modules];
    if (!l->code->file &&
        (report_code_init(l->code, l->cover, m, l->scan) || report_jumps(l->code))) {
        report_code_fini(l->code);
        l->code->file = NULL;
        return false;
    }
    return true;
}

void listing_safe(struct out *o, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *p = out_room(o, 1);
        *p = s[i] != '\t' && text_is_control(s, i, n) ? '?' : s[i];
        out_done(o, p + 1);
    }
}

void listing_count(struct out *o, bool color, uint64_t count)
{
    if (count) {
        out_u64_width(o, count, 9);
    } else if (color) {
        out_str(o, LISTING_RED "    #####" LISTING_PLAIN);
    } else {
        out_str(o, "    #####");
    }
}

static void write_ways(struct listing *l, uint64_t taken, uint64_t not_taken)
{
    bool half = !taken || !not_taken;

    out_str(l->o, half && l->color ? LISTING_YELLOW "  ; taken " : "  ; taken ");
    out_u64(l->o, taken);
    out_str(l->o, ", not taken ");
    out_u64(l->o, not_taken);
    out_str(l->o, half && l->color ? LISTING_PLAIN : "");
}

static void write_insn(struct listing *l, uint64_t addr, const uint8_t *bytes, size_t len,
                       uint16_t flags, struct site_count n)
{
    char text[DISAS_TEXT_MAX];
    unsigned width = l->cover->addr_bits == 64 ? 12 : 8;
    char *p;

    listing_count(l->o, l->color, n.count);
    p = out_room(l->o, 32);
    p = FMT_LIT(p, ": 0x");
    p = fmt_hex_width(p, addr, width);
    p = FMT_LIT(p, ": ");
    out_done(l->o, p);
    out_mem(l->o, text, disas_insn(l->disas, addr, bytes, len, text));
    if (l->cover->branches && (flags & CANNOLI_INSN_COND) && n.taken + n.not_taken) {
        write_ways(l, n.taken, n.not_taken);
    }
    out_str(l->o, "\n");
}

static struct site_count count_of(const struct cover_insn *i)
{
    return (struct site_count){i->count, i->taken, i->not_taken};
}

/* Writes the source line of code, if it differs from the one before. */
static void write_place(struct listing *l, const struct site *s, uint64_t *last)
{
    const struct sym_range *r = s->range != NO_INDEX ? &l->code->ranges[s->range] : NULL;
    const char *path, *name;

    if (!l->places || !r || !r->line || *last == ((uint64_t)r->file << 32 | r->line)) {
        return;
    }
    *last = (uint64_t)r->file << 32 | r->line;
    path = symfile_file(l->code->file, r->file);
    name = strrchr(path, '/');
    name = name ? name + 1 : path;
    out_str(l->o, "        -: ");
    listing_safe(l->o, name, strlen(name));
    out_str(l->o, ":");
    out_u64(l->o, r->line);
    out_str(l->o, "\n");
}

/* Begins a block if the mode changes.  *mode is NO_INDEX before the first one. */
static void set_mode(struct listing *l, unsigned *mode, unsigned now)
{
    if (now != *mode) {
        *mode = now;
        disas_block(l->disas, now);
    }
}

static void write_ran(struct listing *l, const struct cover_insn *i, unsigned *mode)
{
    set_mode(l, mode, i->mode);
    write_insn(l, i->addr, i->bytes, i->len, i->flags, count_of(i));
}

static void write_not_run(struct listing *l, const struct site *s, unsigned *mode)
{
    size_t n;
    const uint8_t *bytes = symfile_bytes(l->code->file, s->addr, &n);

    set_mode(l, mode, s->mode);
    if (bytes && n >= s->len) {
        write_insn(l, s->addr, bytes, s->len, s->flags, (struct site_count){0});
    }
}

/* Index of the first instruction that ran at or after addr. */
static size_t ran_at(const struct cover_module *m, uint64_t addr)
{
    size_t lo = 0, hi = m->nr_insns;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (m->insns[mid].addr < addr) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

bool listing_ran_at(const struct listing *l, uint64_t from, uint64_t to)
{
    const struct cover_module *m = l->code->module;
    size_t i = ran_at(m, from);

    return i < m->nr_insns && m->insns[i].addr < to;
}

/*
 * Sites have one instruction for an address, and none inside another one.  More than that
 * may have run: code that changed, jumps into the middle of an instruction.  So what ran
 * is merged with the sites that did not run.
 */
void listing_range(struct listing *l, uint64_t from, uint64_t to)
{
    const struct report_code *k = l->code;
    const struct cover_module *m = k->module;
    size_t i = report_site_at(k, from), ran = ran_at(m, from);
    uint64_t place = UINT64_MAX;
    unsigned mode = NO_INDEX;

    for (;;) {
        const struct site *s =
            i < k->nr_sites && k->sites[i].addr < to ? &k->sites[i] : NULL;
        const struct cover_insn *c =
            ran < m->nr_insns && m->insns[ran].addr < to ? &m->insns[ran] : NULL;

        if (!s && !c) {
            break;
        }
        if (s && (!c || s->addr <= c->addr)) {
            write_place(l, s, &place);
            if (s->insn == NO_INDEX) {
                write_not_run(l, s, &mode);
            }
            i++;
        } else {
            write_ran(l, c, &mode);
            ran++;
        }
    }
}

/* The name of the section at addr, or NULL. */
static const char *section_at(const struct symfile *f, uint64_t addr)
{
    const struct sym_code *v;
    uint32_t n = symfile_code(f, &v);

    for (uint32_t i = 0; i < n; i++) {
        if (v[i].addr <= addr && addr < v[i].end) {
            return v[i].name;
        }
    }
    return NULL;
}

static void write_section(struct listing *l, const char *section)
{
    out_str(l->o, "\n");
    if (section && *section) {
        listing_safe(l->o, section, strlen(section));
        out_str(l->o, ", in no function:\n");
    } else {
        out_str(l->o, section ? "in no function:\n" : "in no section:\n");
    }
}

void listing_between(struct listing *l, uint64_t from, uint64_t to,
                     bool (*wanted)(const void *arg, uint32_t file), const void *arg)
{
    const struct report_code *k = l->code;
    const struct cover_module *m = k->module;
    const char *section = NULL, *now;
    uint64_t end = 0, place = UINT64_MAX;
    unsigned mode = NO_INDEX;
    bool any = false;

    for (size_t i = ran_at(m, from); i < m->nr_insns && m->insns[i].addr < to; i++) {
        const struct cover_insn *c = &m->insns[i];
        size_t at = report_site_at(k, c->addr);
        const struct site *s =
            at < k->nr_sites && k->sites[at].addr == c->addr ? &k->sites[at] : NULL;

        if (wanted && !wanted(arg, s && s->range != NO_INDEX && k->ranges[s->range].line
                                       ? k->ranges[s->range].file
                                       : SYM_NONE)) {
            continue;
        }
        now = section_at(k->file, c->addr);
        if (!any || now != section) {
            write_section(l, now);
            mode = NO_INDEX;
        } else if (c->addr > end) {
            out_str(l->o, "\n");
            mode = NO_INDEX;
        }
        if (s) {
            write_place(l, s, &place);
        }
        write_ran(l, c, &mode);
        end = c->addr + c->len;
        section = now;
        any = true;
    }
}

void listing_ran(struct listing *l, const struct cover_module *m)
{
    uint64_t end = 0;
    unsigned mode = NO_INDEX;

    for (size_t i = 0; i < m->nr_insns; i++) {
        const struct cover_insn *c = &m->insns[i];

        if (i && c->addr > end) {
            out_str(l->o, "\n");
            mode = NO_INDEX;
        }
        write_ran(l, c, &mode);
        end = c->addr + c->len > end ? c->addr + c->len : end;
    }
}
