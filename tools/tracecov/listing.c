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
    if (!l->code->file && report_code_init(l->code, l->cover, m, l->scan)) {
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
    if ((flags & CANNOLI_INSN_COND) && n.taken + n.not_taken) {
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

/* Writes an instruction of listing_module's code.  *mode is the mode of the one before,
 * NO_INDEX if there is none. */
static void write_site(struct listing *l, const struct site *s, unsigned *mode)
{
    const struct report_code *k = l->code;
    const uint8_t *bytes;
    size_t n;

    if (s->mode != *mode) {
        *mode = s->mode;
        disas_block(l->disas, *mode);
    }
    if (s->insn == NO_INDEX) {
        bytes = symfile_bytes(k->file, s->addr, &n);
        if (bytes && n >= s->len) {
            write_insn(l, s->addr, bytes, s->len, s->flags, (struct site_count){0});
        }
        return;
    }
    /* Several at one address: the code changed. */
    for (size_t j = s->insn;
         j < k->module->nr_insns && k->module->insns[j].addr == s->addr; j++) {
        const struct cover_insn *ci = &k->module->insns[j];
        write_insn(l, s->addr, ci->bytes, ci->len, ci->flags, count_of(ci));
    }
}

void listing_range(struct listing *l, uint64_t from, uint64_t to)
{
    const struct report_code *k = l->code;
    uint64_t place = UINT64_MAX;
    unsigned mode = NO_INDEX;

    for (size_t i = report_site_at(k, from); i < k->nr_sites && k->sites[i].addr < to;
         i++) {
        write_place(l, &k->sites[i], &place);
        write_site(l, &k->sites[i], &mode);
    }
}

void listing_rest(struct listing *l)
{
    const struct report_code *k = l->code;
    uint64_t end = 0, place = UINT64_MAX;
    unsigned mode = NO_INDEX;
    uint32_t function = 0;

    for (size_t i = 0; i < k->nr_sites; i++) {
        const struct site *s = &k->sites[i];
        while (function < k->nr_functions && k->functions[function].end <= s->addr) {
            function++;
        }
        if (s->insn == NO_INDEX ||
            (function < k->nr_functions && k->functions[function].addr <= s->addr)) {
            continue;
        }
        if (s->addr != end) {
            out_str(l->o, "\n");
            mode = NO_INDEX;
        }
        write_place(l, s, &place);
        write_site(l, s, &mode);
        end = s->addr + s->len;
    }
}

void listing_ran(struct listing *l, const struct cover_module *m)
{
    uint64_t end = 0;
    unsigned mode = NO_INDEX;

    for (size_t i = 0; i < m->nr_insns; i++) {
        const struct cover_insn *ci = &m->insns[i];
        bool gap = i && ci->addr != end && ci->addr != ci[-1].addr;

        if (gap) {
            out_str(l->o, "\n");
        }
        if (i == 0 || gap || ci->mode != mode) {
            mode = ci->mode;
            disas_block(l->disas, mode);
        }
        write_insn(l, ci->addr, ci->bytes, ci->len, ci->flags, count_of(ci));
        end = ci->addr + ci->len;
    }
}
