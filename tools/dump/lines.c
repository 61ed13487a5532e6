/* SPDX-License-Identifier: MIT */
/* The lines of instructions, accesses and registers, as text and as JSON. */
#include "dump_priv.h"

#include <string.h>

/* Values of accesses up to this size are numbers, longer ones bytes. */
#define MAX_NUMBER 16u

#define MODULE_NAME_MAX 200u

#define COLOR_LOAD "\033[32m"
#define COLOR_STORE "\033[31m"
#define COLOR_FAULT "\033[33m"
#define COLOR_REG "\033[36m"
#define COLOR_FAINT "\033[2m"
#define COLOR_PLAIN "\033[0m"

/* ---------------------------------------------------------------- modules */

/* Makes the escaped name of the current module, once; false: no memory. */
static bool name_module(const struct dump *d, struct worker *w)
{
    const struct module *m = w->place.module;

    if (!m || m == w->named) {
        return true;
    }
    w->named = m;
    w->module.len = 0;
    if (d->opt->json) {
        return textbuf_json_string(&w->module, m->path, strlen(m->path));
    }
    return textbuf_printable(&w->module, m->name, strnlen(m->name, MODULE_NAME_MAX));
}

/* Files are mapped by pages: if a pc is in no file, the rest of its page is in none. */
#define PAGE_MASK UINT64_C(0xfff)

static void find_place(const struct dump *d, const struct worker *w, uint64_t pc,
                       struct place *place, uint64_t *bias)
{
    if (!places_find(d->places, w->process, w->time, w->chunk.end_ns, pc, place)) {
        *place = (struct place){.vaddr = pc, .start = pc, .end = (pc | PAGE_MASK) + 1};
    }
    *bias = place->vaddr - pc;
}

/* Finds the place of the current block; false: no memory. */
static bool find_module(const struct dump *d, struct worker *w, const struct ctr_block *b)
{
    struct block_text *text = w->text;

    if (text->epoch != w->epoch) {
        find_place(d, w, b->pc, &text->place, &text->bias);
        text->epoch = w->epoch;
    }
    w->place = text->place;
    w->bias = text->bias;
    return name_module(d, w);
}

bool line_place(const struct dump *d, struct worker *w, uint64_t pc)
{
    if (pc - w->place.start < w->place.end - w->place.start) {
        return true;
    }
    find_place(d, w, pc, &w->place, &w->bias);
    return name_module(d, w);
}

static char *put_module(const struct worker *w, char *p, uint64_t pc)
{
    char *column = p;

    *p++ = ' ';
    if (w->place.module) {
        p = fmt_mem(p, w->module.data, w->module.len);
        p = FMT_LIT(p, "+0x");
        p = fmt_hex(p, pc + w->bias);
    }
    while (p - column < MODULE_WIDTH) {
        *p++ = ' ';
    }
    return p;
}

void line_time(const struct dump *d, struct worker *w, uint64_t ordinal)
{
    const struct annotator *a = d->opt->annotator;
    uint64_t time = a ? a->time(a->arg, &w->chunk, ordinal, &w->until)
                      : places_time(d->places, &w->chunk, ordinal, &w->until);

    if (time != w->time || w->process != w->epoch_process ||
        w->chunk.end_ns != w->epoch_end_ns || !w->epoch) {
        w->time = time;
        w->epoch_process = w->process;
        w->epoch_end_ns = w->chunk.end_ns;
        w->epoch++;
    }
    w->block = NULL; /* look up its module again */
}

/* Gets the block's annotations; false: no memory. */
static bool annotate(const struct dump *d, struct worker *w, const struct ctr_block *b)
{
    w->notes = d->opt->annotator->block(w->annotator, b, w->epoch, w->process, w->time,
                                        w->chunk.end_ns);
    return w->notes != NULL;
}

bool line_block(const struct dump *d, struct worker *w, const struct ctr_block *b)
{
    bool ok;

    w->text = insntext_make(w->texts, b);
    ok = w->text && (!d->places || find_module(d, w, b)) &&
         (!d->opt->annotator || annotate(d, w, b));
    w->block = ok ? b : NULL;
    return ok;
}

static char *put_note(const struct worker *w, char *p, unsigned insn)
{
    const struct annotation *a = &w->notes->insn[insn];

    return fmt_mem(p, w->notes->text + a->off, a->len);
}

/* A little-endian integer as 0x..., all its digits if `whole'. */
static char *put_value(char *p, const uint8_t *le, unsigned bytes, bool whole)
{
    unsigned n = bytes;

    p = FMT_LIT(p, "0x");
    while (!whole && n > 1 && !le[n - 1]) {
        n--;
    }
    p = fmt_hex_width(p, le[n - 1], whole ? 2 : 1);
    while (--n) {
        p = fmt_bytes(p, &le[n - 1], 1);
    }
    return p;
}

/* ------------------------------------------------------------------- text */

static inline char *start_line(const struct dump *d, const struct worker *w, char *p,
                               uint64_t ordinal)
{
    if (w->in_line) {
        *p++ = '\n';
    }
    if (d->opt->color) {
        p = FMT_LIT(p, COLOR_FAINT);
    }
    p = fmt_u64_width(p, ordinal, 10);
    p = fmt_mem(p, w->label.data, w->label.len);
    if (d->opt->color) {
        p = FMT_LIT(p, COLOR_PLAIN);
    }
    return p;
}

char *text_start(const struct dump *d, const struct worker *w, char *p, uint64_t ordinal)
{
    p = start_line(d, w, p, ordinal);
    if (d->info.machine) {
        memset(p, ' ', PRIVILEGE_WIDTH);
        p += PRIVILEGE_WIDTH;
    }
    return p;
}

/* The index of the instruction in the current block. */
static unsigned insn_number(const struct worker *w, const struct insn_text *it)
{
    return (unsigned)(it - w->text->insn);
}

char *text_exec(const struct dump *d, struct worker *w, char *p, uint64_t ordinal,
                const struct insn_text *it, uint64_t pc, unsigned flags)
{
    p = start_line(d, w, p, ordinal);
    if (d->places) {
        p = fmt_mem(p, w->text->text + it->off, it->pc_len);
        p = put_module(w, p, pc);
        p = fmt_mem(p, w->text->text + it->off + it->pc_len,
                    (size_t)it->len - it->pc_len);
    } else {
        p = fmt_mem(p, w->text->text + it->off, it->len);
    }
    w->pad = it->pad;
    if (w->notes) {
        memset(p, ' ', it->pad);
        p = put_note(w, p + it->pad, insn_number(w, it));
        w->pad = 0;
    }
    if (flags) {
        if (d->opt->color) {
            p = FMT_LIT(p, COLOR_FAULT);
        }
        if (flags & CTR_EV_FAULTED) {
            p = FMT_LIT(p, "  faulted");
        }
        if (flags & CTR_EV_UNSURE) {
            p = FMT_LIT(p, "  unsure");
        }
        if (d->opt->color) {
            p = FMT_LIT(p, COLOR_PLAIN);
        }
    }
    w->in_line = true;
    w->outside = false;
    w->pad = flags ? 0 : w->pad; /* with flags the column is gone anyway */
    w->ordinal = ordinal;
    return p;
}

/* Writes two blanks, or as many as bring the first access to its column. */
static inline char *text_gap(struct worker *w, char *p)
{
    memset(p, ' ', w->pad);
    p += w->pad;
    w->pad = 0;
    *p++ = ' ';
    *p++ = ' ';
    return p;
}

/* Up to 16 bytes of memory as a number in the guest's byte order. */
static char *put_number(char *p, const struct ctr_mem *m)
{
    uint8_t le[MAX_NUMBER];

    for (unsigned i = 0; i < m->size; i++) {
        le[i] = m->data[m->big_endian ? m->size - 1 - i : i];
    }
    return put_value(p, le, m->size, false);
}

/* "@0x1000", of a device "@dev:0x1000", of secure memory "@sec:0x1000", of two pages
 * "@0x1ffc+0x5000"; "@?". */
static char *put_phys(char *p, const struct ctr_mem *m)
{
    const struct ctr_phys *phys = m->phys;

    if (!phys->flags) {
        return FMT_LIT(p, "@?");
    }
    p = phys->flags & CTR_PHYS_DEVICE   ? FMT_LIT(p, "@dev:0x")
        : phys->flags & CTR_PHYS_SECURE ? FMT_LIT(p, "@sec:0x")
                                        : FMT_LIT(p, "@0x");
    p = fmt_hex(p, phys->addr);
    if (phys->size < m->size) {
        p = FMT_LIT(p, "+0x");
        p = fmt_hex(p, phys->next);
    }
    return p;
}

char *text_mem(const struct dump *d, struct worker *w, char *p, const struct ctr_mem *m)
{
    p = text_gap(w, p);
    if (d->opt->color) {
        p = m->store ? FMT_LIT(p, COLOR_STORE) : FMT_LIT(p, COLOR_LOAD);
    }
    *p++ = m->store ? 'w' : 'r';
    p = FMT_LIT(p, " 0x");
    p = fmt_hex(p, m->addr);
    *p++ = '/';
    p = fmt_u64(p, m->size);
    p = m->phys ? put_phys(p, m) : p;
    if (m->data && d->opt->values) {
        *p++ = '=';
        if (m->size <= MAX_NUMBER) {
            p = put_number(p, m);
        } else {
            bool cut = m->size > MAX_TEXT_DATA;
            *p++ = '[';
            p = fmt_bytes(p, m->data, cut ? MAX_TEXT_DATA : m->size);
            p = cut ? FMT_LIT(p, "...]") : FMT_LIT(p, "]");
        }
    }
    if (d->opt->color) {
        p = FMT_LIT(p, COLOR_PLAIN);
    }
    return p;
}

char *text_reg(const struct dump *d, struct worker *w, char *p, const char *name,
               const struct ctr_reg_change *r, bool whole)
{
    p = text_gap(w, p);
    if (d->opt->color) {
        p = FMT_LIT(p, COLOR_REG);
    }
    p = fmt_mem(p, name, strlen(name));
    *p++ = '=';
    p = put_value(p, r->value, r->size, whole);
    if (d->opt->color) {
        p = FMT_LIT(p, COLOR_PLAIN);
    }
    return p;
}

/* ------------------------------------------------------------------- JSON */

static char *json_start(const struct worker *w, char *p, uint64_t ordinal,
                        const struct insn_text *it, size_t len)
{
    p = FMT_LIT(p, ",\"ordinal\":");
    p = fmt_u64(p, ordinal);
    p = fmt_mem(p, w->label.data, w->label.len);
    return fmt_mem(p, w->text->text + it->off, len);
}

char *json_exec(const struct dump *d, struct worker *w, char *p, uint64_t ordinal,
                const struct insn_text *it, uint64_t pc, unsigned flags)
{
    p = FMT_LIT(p, "{\"kind\":\"exec\"");
    p = json_start(w, p, ordinal, it, it->len);
    if (d->places && w->place.module) {
        p = FMT_LIT(p, ",\"module\":");
        p = fmt_mem(p, w->module.data, w->module.len);
        p = FMT_LIT(p, ",\"module_offset\":\"0x");
        p = fmt_hex(p, pc + w->bias);
        *p++ = '"';
    }
    if (w->notes) {
        p = put_note(w, p, insn_number(w, it));
    }
    if (flags & CTR_EV_FAULTED) {
        p = FMT_LIT(p, ",\"faulted\":true");
    }
    if (flags & CTR_EV_UNSURE) {
        p = FMT_LIT(p, ",\"unsure\":true");
    }
    return FMT_LIT(p, "}\n");
}

static char *json_phys(char *p, const struct ctr_mem *m)
{
    p = FMT_LIT(p, ",\"phys\":\"0x");
    p = fmt_hex(p, m->phys->addr);
    if (m->phys->size < m->size) {
        p = FMT_LIT(p, "\",\"phys_next\":\"0x");
        p = fmt_hex(p, m->phys->next);
    }
    *p++ = '"';
    p = m->phys->flags & CTR_PHYS_DEVICE ? FMT_LIT(p, ",\"device\":true") : p;
    return m->phys->flags & CTR_PHYS_SECURE ? FMT_LIT(p, ",\"secure\":true") : p;
}

char *json_mem(const struct dump *d, struct worker *w, char *p,
               const struct insn_text *it, const struct ctr_mem *m)
{
    p = m->store ? FMT_LIT(p, "{\"kind\":\"store\"") : FMT_LIT(p, "{\"kind\":\"load\"");
    p = json_start(w, p, m->ordinal, it, it->pc_len);
    if (w->notes) {
        p = put_note(w, p, m->insn);
    }
    p = FMT_LIT(p, ",\"addr\":\"0x");
    p = fmt_hex(p, m->addr);
    p = FMT_LIT(p, "\",\"size\":");
    p = fmt_u64(p, m->size);
    p = m->phys && m->phys->flags ? json_phys(p, m) : p;
    if (m->data && d->opt->values) {
        if (m->size <= MAX_NUMBER) {
            p = FMT_LIT(p, ",\"value\":\"");
            p = put_number(p, m);
        } else {
            p = FMT_LIT(p, ",\"data\":\"");
            p = fmt_bytes(p, m->data, m->size);
        }
        *p++ = '"';
    }
    return FMT_LIT(p, "}\n");
}

char *json_reg(const struct worker *w, char *p, const char *name,
               const struct ctr_reg_change *r, bool whole)
{
    p = FMT_LIT(p, "{\"kind\":\"reg\",\"ordinal\":");
    p = fmt_u64(p, r->ordinal);
    p = fmt_mem(p, w->label.data, w->label.len);
    p = FMT_LIT(p, ",\"pc\":\"0x");
    p = fmt_hex(p, r->pc);
    *p++ = '"';
    if (w->notes && r->block) {
        p = put_note(w, p, r->insn);
    }
    p = FMT_LIT(p, ",\"name\":\"");
    p = fmt_mem(p, name, strlen(name));
    p = FMT_LIT(p, "\",\"value\":\"");
    p = put_value(p, r->value, r->size, whole);
    *p++ = '"';
    if (r->outside) {
        p = FMT_LIT(p, ",\"outside\":true");
    }
    return FMT_LIT(p, "}\n");
}
