/* SPDX-License-Identifier: MIT */
/* Numbers for the registers of the tables, and where their values are in the trace's. */
#include "gdb/gdb_regs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "gdb/gdb_regs_priv.h"

#define FEATURES_MAX 16

struct gdb_regs {
    struct gdb_reg *reg;
    unsigned count, cap, in_g;
    int pc, sp;
    bool big_endian;
    struct textbuf xml;
};

/* While registers get their numbers */
struct layout {
    struct gdb_regs *g;
    const struct ctr_trace *trace;
    const struct gdb_target *target;
    bool machine;
    bool *used; /* of each register of the trace: one of gdb's is made of it */
    bool wanted[FEATURES_MAX];
    unsigned width[FEATURES_MAX];
};

/* ------------------------------------------------------------------- names */

/* Reads a list of names: see gdb_tables.h. */
struct names {
    const char *at;
    const char *prefix, *suffix; /* of a range that is being counted; suffix NULL: none */
    size_t prefix_n, suffix_n;
    unsigned next, last;
};

static bool names_next(struct names *n, char out[GDB_NAME_MAX])
{
    if (!n->suffix) {
        n->at += strspn(n->at, " ");
        size_t len = strcspn(n->at, " ");
        const char *word = n->at, *end = word + len;
        if (len == 0) {
            return false;
        }
        n->at = end;
        const char *dots = memmem(word, len, "..", 2);
        if (!dots) {
            snprintf(out, GDB_NAME_MAX, "%.*s", (int)len, word);
            return true;
        }
        const char *digits = dots;
        while (digits > word && digits[-1] >= '0' && digits[-1] <= '9') {
            digits--;
        }
        char *suffix;
        n->prefix = word;
        n->prefix_n = (size_t)(digits - word);
        n->next = (unsigned)strtoul(digits, NULL, 10);
        n->last = (unsigned)strtoul(dots + 2, &suffix, 10);
        n->suffix = suffix;
        n->suffix_n = (size_t)(end - suffix);
    }
    snprintf(out, GDB_NAME_MAX, "%.*s%u%.*s", (int)n->prefix_n, n->prefix, n->next,
             (int)n->suffix_n, n->suffix);
    if (n->next++ == n->last) {
        n->suffix = NULL;
    }
    return true;
}

static unsigned names_count(const char *list)
{
    struct names n = {.at = list};
    char name[GDB_NAME_MAX];
    unsigned count = 0;
    while (names_next(&n, name)) {
        count++;
    }
    return count;
}

/* Whether the list has this word. */
static bool has_word(const char *list, const char *word, size_t n)
{
    while (*list) {
        size_t len = strcspn(list, " ");
        if (len == n && memcmp(list, word, n) == 0) {
            return true;
        }
        list += len + strspn(list + len, " ");
    }
    return false;
}

static const struct ctr_reg *find(const struct layout *l, const char *name)
{
    const struct ctr_reg *r;
    for (uint32_t i = 0; (r = ctr_trace_reg(l->trace, i)); i++) {
        if (strcmp(r->name, name) == 0) {
            return r;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ layout */

/* The entry of this number; NULL: no memory. */
static struct gdb_reg *entry(struct gdb_regs *g, unsigned number)
{
    if (number >= g->cap) {
        unsigned cap = number + number / 2 + 64;
        struct gdb_reg *grown = realloc(g->reg, cap * sizeof(*grown));
        if (!grown) {
            return NULL;
        }
        memset(grown + g->cap, 0, (cap - g->cap) * sizeof(*grown));
        g->reg = grown;
        g->cap = cap;
    }
    return &g->reg[number];
}

/* Adds a part of a register of the trace; with no more bytes than `most', if not 0. */
static void add_part(struct layout *l, struct gdb_reg *r, const struct ctr_reg *from,
                     unsigned skip, unsigned most)
{
    uint32_t size = from->size < GDB_REG_MAX ? from->size : GDB_REG_MAX;
    l->used[from->index] = true;
    if (skip < size) {
        size -= skip;
        r->part[r->nparts++] = (struct gdb_part){from->index * CTR_REG_STRIDE + skip,
                                                 most && most < size ? most : size};
        r->source = GDB_SOURCE_TRACE;
    }
}

/* Where the value of a run's register is; names: the trace's, for the run. */
static void set_source(struct layout *l, const struct gdb_run *run, struct gdb_reg *r,
                       struct names *names, unsigned parts)
{
    const char *from = run->from;
    char name[GDB_NAME_MAX];
    if (from && *from == '=') {
        const bool is_pc = strncmp(from, GDB_FROM_PC, strlen(GDB_FROM_PC)) == 0;
        const char *number = is_pc ? strchr(from, '|') : from;
        r->source = is_pc                                 ? GDB_SOURCE_PC
                    : strcmp(from, GDB_FROM_NOTHING) == 0 ? GDB_SOURCE_NONE
                                                          : GDB_SOURCE_VALUE;
        r->value = number ? strtoull(number + 1, NULL, 0) : 0;
        return;
    }
    for (unsigned i = 0; i < parts && names_next(names, name); i++) {
        const struct ctr_reg *reg = find(l, name);
        if (reg) {
            add_part(l, r, reg, run->skip, run->bits / 8u / parts);
        }
    }
    if (r->nparts != parts) {
        r->source = GDB_SOURCE_NONE;
    } else if (run->bits == 0) {
        r->size = (uint16_t)r->part[0].bytes;
    }
}

/* Gives the registers of a run numbers from *number on.  False: no memory. */
static bool place_run(struct layout *l, unsigned feature, const struct gdb_run *run,
                      unsigned *number)
{
    const char *list = run->from && *run->from != '=' ? run->from : run->names;
    struct names names = {.at = run->names}, from = {.at = list};
    unsigned parts = names_count(list) / names_count(run->names);
    char name[GDB_NAME_MAX];
    for (; names_next(&names, name); ++*number) {
        struct gdb_reg *r = entry(l->g, *number);
        if (!r) {
            return false;
        }
        *r = (struct gdb_reg){.type = run->type,
                              .group = run->group,
                              .feature = (uint16_t)feature,
                              .size = run->bits / 8,
                              .unit = run->unit,
                              .is_signed = run->is_signed};
        set_source(l, run, r, &from, parts);
        if (r->size == 0 || (run->if_recorded && r->source == GDB_SOURCE_NONE) ||
            (run->with && !find(l, run->with))) {
            *r = (struct gdb_reg){0};
            continue;
        }
        memcpy(r->own, name, sizeof(r->own));
        if (r->source == GDB_SOURCE_PC) {
            l->g->pc = (int)*number;
        }
        if (l->target->sp && strcmp(name, l->target->sp) == 0) {
            l->g->sp = (int)*number;
        }
    }
    return true;
}

/* The special registers of the trace that no run has. */
static bool place_others(struct layout *l, unsigned feature, unsigned *number)
{
    const struct gdb_feature *f = &l->target->features[feature];
    const struct ctr_reg *from;
    for (uint32_t i = 0; (from = ctr_trace_reg(l->trace, i)); i++) {
        if (l->used[i] || !(from->flags & CTR_REG_SPECIAL)) {
            continue;
        }
        struct gdb_reg *r = entry(l->g, *number);
        if (!r) {
            return false;
        }
        *r = (struct gdb_reg){.name = from->name,
                              .type = "int",
                              .group = f->others,
                              .feature = (uint16_t)feature,
                              .size = f->others_bits / 8};
        add_part(l, r, from, 0, r->size);
        if (r->size == 0) {
            r->size = (uint16_t)r->part[0].bytes;
        }
        ++*number;
    }
    return true;
}

static bool is_wanted(const struct layout *l, const struct gdb_feature *f)
{
    return (f->when != GDB_PROGRAM || !l->machine) &&
           (f->when != GDB_MACHINE || l->machine) && (!f->with || find(l, f->with)) &&
           (!f->without || !find(l, f->without));
}

/* Places all registers, and finds which features are wanted.  False: no memory. */
static bool place(struct layout *l)
{
    struct gdb_regs *g = l->g;
    unsigned number = 0, left_in_g = l->target->in_g ? l->target->in_g : 1;
    for (unsigned i = 0; i < FEATURES_MAX && l->target->features[i].name; i++) {
        const struct gdb_feature *f = &l->target->features[i];
        l->wanted[i] = is_wanted(l, f);
        if (!l->wanted[i]) {
            continue;
        }
        const struct ctr_reg *width = f->width ? find(l, f->width) : NULL;
        l->width[i] = width ? width->size * 8u : 0;
        if (f->base) {
            number = f->base;
        }
        unsigned base = number;
        for (const struct gdb_run *run = f->runs; run->names; run++) {
            if (run->at) {
                number = base + run->at;
            }
            if (!place_run(l, i, run, &number)) {
                return false;
            }
        }
        if (f->others && !place_others(l, i, &number)) {
            return false;
        }
        if (left_in_g) {
            g->in_g = number;
            left_in_g--;
        }
    }
    for (unsigned i = 0; i < g->cap; i++) {
        if (g->reg[i].own[0]) {
            g->reg[i].name = g->reg[i].own;
        }
        if (g->reg[i].name) {
            g->count = i + 1;
        }
    }
    return true;
}

/* --------------------------------------------------------------- open, get */

static const struct gdb_target *find_target(const struct layout *l, const char *name)
{
    static const struct gdb_target *const families[] = {
        gdb_targets_arm,   gdb_targets_x86, gdb_targets_mips, gdb_targets_riscv,
        gdb_targets_s390x, gdb_targets_ppc, gdb_targets_more};
    static const char machine[] = "-softmmu";
    size_t n = strlen(name), tail = sizeof(machine) - 1;
    if (n > tail && strcmp(name + n - tail, machine) == 0) {
        n -= tail;
    }
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        for (const struct gdb_target *t = families[i]; t->names; t++) {
            if (has_word(t->names, name, n) && (!t->with || find(l, t->with))) {
                return t;
            }
        }
    }
    return NULL;
}

static int fail(struct ctr_diag *diag, int code, const char *text, const char *target)
{
    if (diag) {
        memset(diag, 0, sizeof(*diag));
        diag->code = code;
        diag->off = CTR_NO_OFF;
        snprintf(diag->text, sizeof(diag->text), text, target);
    }
    return -code;
}

/* Fills in l->g.  False: no memory. */
static bool lay_out(struct layout *l)
{
    uint32_t n = 0;
    while (ctr_trace_reg(l->trace, n)) {
        n++;
    }
    l->used = calloc(n + 1u, sizeof(l->used[0]));
    bool ok =
        l->used && place(l) &&
        gdb_xml_write(&l->g->xml, l->target, l->wanted, l->width, l->g->reg, l->g->count);
    free(l->used);
    return ok;
}

int gdb_regs_open(struct gdb_regs **out, const struct ctr_trace *tr,
                  struct ctr_diag *diag)
{
    struct ctr_info info;
    ctr_trace_info(tr, &info);
    struct layout l = {.trace = tr, .machine = info.machine != 0};
    l.target = find_target(&l, info.target);
    if (!l.target) {
        return fail(diag, CTR_E_UNSUPPORTED,
                    "no description for gdb of the registers of %s", info.target);
    }
    l.g = calloc(1, sizeof(*l.g));
    if (!l.g) {
        return fail(diag, CTR_E_NOMEM, "no memory for the registers of target '%s'",
                    info.target);
    }
    l.g->pc = l.g->sp = -1;
    l.g->big_endian = info.big_endian != 0;
    if (!lay_out(&l)) {
        gdb_regs_close(l.g);
        return fail(diag, CTR_E_NOMEM, "no memory for the registers of target '%s'",
                    info.target);
    }
    *out = l.g;
    return 0;
}

void gdb_regs_close(struct gdb_regs *g)
{
    if (g) {
        textbuf_fini(&g->xml);
        free(g->reg);
        free(g);
    }
}

const char *gdb_regs_xml(const struct gdb_regs *g)
{
    return g->xml.data;
}

unsigned gdb_regs_count(const struct gdb_regs *g)
{
    return g->count;
}

uint32_t gdb_regs_size(const struct gdb_regs *g, unsigned i)
{
    return i < g->count && g->reg[i].name ? g->reg[i].size : 0;
}

const char *gdb_regs_name(const struct gdb_regs *g, unsigned i)
{
    return i < g->count ? g->reg[i].name : NULL;
}

unsigned gdb_regs_in_g(const struct gdb_regs *g)
{
    return g->in_g < g->count ? g->in_g : g->count;
}

int gdb_regs_pc(const struct gdb_regs *g)
{
    return g->pc;
}

int gdb_regs_sp(const struct gdb_regs *g)
{
    return g->sp;
}

int gdb_regs_npc(const struct gdb_regs *g)
{
    for (unsigned i = 0; i < gdb_regs_count(g); i++) {
        if (gdb_regs_size(g, i) && strcmp(gdb_regs_name(g, i), "npc") == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* The value, the lowest byte first. */
static void gather(const struct gdb_reg *r, const uint8_t *values, uint8_t *v)
{
    unsigned at = 0;
    for (unsigned i = 0; i < r->nparts; i++) {
        const struct gdb_part *p = &r->part[i];
        unsigned room = r->size / r->nparts;
        unsigned n = p->bytes < room ? p->bytes : room;
        memcpy(v + at, values + p->offset, n);
        bool negative = r->is_signed && n && v[at + n - 1] & 0x80;
        memset(v + at + n, negative ? 0xff : 0, room - n);
        at += room;
    }
}

bool gdb_regs_get(const struct gdb_regs *g, const uint8_t *values, uint64_t pc,
                  unsigned i, uint8_t *out)
{
    if (gdb_regs_size(g, i) == 0) {
        return false;
    }
    const struct gdb_reg *r = &g->reg[i];
    uint8_t v[GDB_REG_MAX] = {0};
    if (r->source == GDB_SOURCE_TRACE && values) {
        gather(r, values, v);
    } else if (r->source == GDB_SOURCE_PC || r->source == GDB_SOURCE_VALUE) {
        uint64_t number = r->source == GDB_SOURCE_PC ? pc | r->value : r->value;
        for (unsigned k = 0; k < 8; k++) {
            v[k] = (uint8_t)(number >> 8 * k);
        }
    } else {
        return false;
    }
    if (!g->big_endian) {
        memcpy(out, v, r->size);
        return true;
    }
    unsigned unit = r->unit && r->unit < r->size ? r->unit : r->size;
    for (unsigned k = 0; k < r->size; k++) {
        unsigned first = k - k % unit;
        unsigned n = r->size - first < unit ? r->size - first : unit;
        out[k] = v[first + n - 1 - k % unit];
    }
    return true;
}
