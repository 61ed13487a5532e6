/* SPDX-License-Identifier: MIT */
/*
 * Reads DWARF 2 to 5, in the child: instances of functions (scopes) with the functions
 * inlined into them, and lines, made into disjoint ranges.  On the way it finds variables
 * and types, which other files read.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_reader_priv.h"

#define MAX_DEPTH 512

/* A source function, by the DIE that inlined copies refer to. */
struct source {
    uint32_t name, linkage; /* strings */
    uint32_t decl_file, decl_line;
};

struct unit {
    Dwarf_Die die; /* the current unit */
    Dwarf_Addr bias;
    const char *comp_dir; /* or NULL */
    Dwarf_Files *files;
    size_t nr_files;
};

struct dwarf_reader {
    struct reader *r;
    struct symvec *candidates;
    struct unit unit;
    struct line_section lines;
    struct symhash programs; /* offsets of those that were read, + 1 */
    struct symvec scope_spans;
    struct symvec rows; /* struct row */
    struct symvec row_spans;
    struct symvec sources;       /* struct source */
    struct symhash source_index; /* by address of the DIE */
    struct symhash origin_index;
    struct symhash symbols; /* mangled names, by address + 1 */
    unsigned bad_units;
};

struct row {
    uint32_t file, line, column;
    bool stmt;
};

/* ------------------------------------------------------------------ functions */

/* The attributes of a DIE that are used here, found in one pass. */
struct attrs {
    Dwarf_Attribute abstract_origin, specification, name, linkage, entry, call_file,
        call_line, call_column, decl_file, decl_line;
    bool low, high, ranges, declaration;
};

static int collect(Dwarf_Attribute *a, void *arg)
{
    struct attrs *v = arg;
    switch (dwarf_whatattr(a)) {
    case DW_AT_low_pc:
        v->low = true;
        break;
    case DW_AT_high_pc:
        v->high = true;
        break;
    case DW_AT_ranges:
        v->ranges = true;
        break;
    case DW_AT_declaration:
        v->declaration = true;
        break;
    case DW_AT_abstract_origin:
        v->abstract_origin = *a;
        break;
    case DW_AT_specification:
        v->specification = *a;
        break;
    case DW_AT_name:
        v->name = *a;
        break;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        v->linkage = *a;
        break;
    case DW_AT_entry_pc:
        v->entry = *a;
        break;
    case DW_AT_call_file:
        v->call_file = *a;
        break;
    case DW_AT_call_line:
        v->call_line = *a;
        break;
    case DW_AT_call_column:
        v->call_column = *a;
        break;
    case DW_AT_decl_file:
        v->decl_file = *a;
        break;
    case DW_AT_decl_line:
        v->decl_line = *a;
        break;
    default:
        break;
    }
    return DWARF_CB_OK;
}

static uint32_t number_of(Dwarf_Attribute *a)
{
    Dwarf_Word v;
    return a->valp && dwarf_formudata(a, &v) == 0 && v < UINT32_MAX ? (uint32_t)v : 0;
}

static uint32_t text_of(struct reader *r, Dwarf_Attribute *a)
{
    const char *s = a->valp ? dwarf_formstring(a) : NULL;
    return s ? string_add(r, s) : 0;
}

/* Collects along a chain of abstract origins and specifications; the nearest counts. */
static void follow(struct dwarf_reader *d, Dwarf_Die die, struct source *s, unsigned hops)
{
    struct attrs a = {0};
    Dwarf_Die next;
    dwarf_getattrs(&die, collect, &a, 0);
    if (!s->linkage) {
        s->linkage = text_of(d->r, &a.linkage);
    }
    if (!s->name) {
        s->name = text_of(d->r, &a.name);
    }
    if (s->decl_line == 0 && a.decl_line.valp) {
        s->decl_line = number_of(&a.decl_line);
        s->decl_file = a.decl_file.valp ? file_of(d->r, &a.decl_file) : s->decl_file;
    }
    Dwarf_Attribute *up = a.abstract_origin.valp ? &a.abstract_origin : &a.specification;
    if (up->valp && hops && dwarf_formref_die(up, &next)) {
        follow(d, next, s, hops - 1);
    }
}

static struct source source_at(struct dwarf_reader *d, Dwarf_Attribute *ref)
{
    Dwarf_Die die;
    bool found;
    struct source s = {.decl_file = SYM_NONE};
    if (!ref->valp || !dwarf_formref_die(ref, &die)) {
        return s;
    }
    uint32_t *at = hash_at(d->r, &d->source_index, (uintptr_t)die.addr, &found);
    if (!found) {
        follow(d, die, &s, 16);
        *at = (uint32_t)d->sources.n;
        *(struct source *)vec_push(d->r, &d->sources, sizeof(s)) = s;
        return s;
    }
    return ((struct source *)d->sources.p)[*at];
}

/* Functions of one name, declared at one line, are one function. */
static uint32_t origin_of(struct dwarf_reader *d, const struct source *s, uint32_t name)
{
    char key[64];
    bool found;
    snprintf(key, sizeof(key), "\001%x.%x.%x", name, s->decl_file, s->decl_line);
    uint32_t *at =
        hash_at(d->r, &d->origin_index, (uint64_t)string_add(d->r, key) + 1, &found);
    if (!found) {
        *at = d->r->nr_origins++;
    }
    return *at;
}

static uint64_t entry_of(struct dwarf_reader *d, Dwarf_Die *die, struct attrs *a,
                         uint64_t first)
{
    Dwarf_Addr addr;
    Dwarf_Word off;
    if (a->entry.valp && dwarf_formaddr(&a->entry, &addr) == 0) {
        return addr + d->unit.bias;
    }
    if (a->entry.valp && dwarf_formudata(&a->entry, &off) == 0) {
        return first + off;
    }
    return a->low && dwarf_lowpc(die, &addr) == 0 ? addr + d->unit.bias : first;
}

/* The symbol at an address, if it is mangled. */
static uint32_t symbol_at(struct dwarf_reader *d, uint64_t addr)
{
    bool found;
    uint32_t *at = hash_at(d->r, &d->symbols, addr + 1, &found);
    return found ? *at : 0;
}

static void index_symbols(struct dwarf_reader *d)
{
    const struct candidate *c = d->candidates->p;
    for (size_t i = 0; i < d->candidates->n; i++) {
        bool found;
        if (!c[i].label && string_demangle(d->r, c[i].linkage) != c[i].linkage) {
            *hash_at(d->r, &d->symbols, c[i].addr + 1, &found) = c[i].linkage;
        }
    }
}

/* Adds an instance; returns its number, or `parent' if it has no code. */
static uint32_t add_scope(struct dwarf_reader *d, Dwarf_Die *die, struct attrs *a,
                          bool inlined, uint32_t parent, unsigned depth)
{
    struct reader *r = d->r;
    uint32_t number = (uint32_t)r->scopes.n;
    uint64_t first = 0, size = 0;
    if (!code_spans(r, die, d->unit.bias, (struct span){.depth = depth, .value = number},
                    &d->scope_spans, &first, &size)) {
        return inlined ? parent : SYM_NONE;
    }
    /* The copies of a constructor in the file have names of their own. */
    struct source s = {.decl_file = SYM_NONE};
    uint32_t own = a->abstract_origin.valp ? text_of(r, &a->linkage) : 0;
    if (a->abstract_origin.valp) {
        s = source_at(d, &a->abstract_origin);
    } else {
        follow(d, *die, &s, 16);
    }
    uint32_t name = s.linkage ? string_demangle(r, s.linkage) : s.name;
    uint32_t origin = origin_of(d, &s, name);
    s.linkage = own ? own : s.linkage;
    if (!inlined && !s.linkage) {
        s.linkage = symbol_at(d, first); /* methods of local classes */
    }
    name = s.linkage ? string_demangle(r, s.linkage) : s.name;
    struct sym_scope *scope = vec_push(r, &r->scopes, sizeof(*scope));
    scope->name = STRING_PTR(name);
    scope->linkage = STRING_PTR(s.linkage);
    scope->origin = origin;
    scope->parent = inlined ? parent : SYM_NONE;
    scope->decl_file = s.decl_file;
    scope->decl_line = s.decl_line;
    scope->call_file = inlined ? file_of(d->r, &a->call_file) : SYM_NONE;
    scope->call_line = number_of(&a->call_line);
    scope->call_column = number_of(&a->call_column);
    scope->entry = entry_of(d, die, a, first);
    if (!inlined && name) {
        struct candidate *c = vec_push(r, d->candidates, sizeof(*c));
        c->addr = first;
        c->size = size;
        c->linkage = s.linkage ? s.linkage : s.name;
        c->source = SYM_DWARF;
    }
    return number;
}

/* Where a DIE is. */
struct where {
    uint32_t scope, block; /* innermost function instance, block of variables */
    uint32_t function;     /* its name, 0: none */
    uint32_t prefix;       /* names of namespaces and types around it, with a "::" */
    unsigned depth;
};

static void walk(struct dwarf_reader *d, Dwarf_Die *die, struct where w);

/* Whether variables and types are read, and not only functions and lines. */
static bool has_types(const struct reader *r)
{
    return r->depth == DEPTH_FULL && r->want & (SYMFILE_DATA | SYMFILE_TYPES);
}

static uint32_t prefix_of(struct dwarf_reader *d, Dwarf_Die *die, uint32_t outer)
{
    const char *name = dwarf_diename(die);
    char *whole = NULL;
    if (!has_types(d->r)) {
        return 0;
    }
    if (!name && dwarf_tag(die) != DW_TAG_namespace) {
        return outer;
    }
    if (asprintf(&whole, "%s%s::", string_get(d->r, outer),
                 name ? name : "(anonymous namespace)") < 0) {
        return outer;
    }
    uint32_t s = string_add(d->r, whole);
    free(whole);
    return s;
}

static void walk_function(struct dwarf_reader *d, Dwarf_Die *die, struct where w)
{
    struct reader *r = d->r;
    struct attrs a = {0};
    dwarf_getattrs(die, collect, &a, 0);
    if ((a.low && a.high) || a.ranges) {
        bool inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine && w.scope != SYM_NONE;
        uint32_t outer = w.scope;
        w.scope = add_scope(d, die, &a, inlined, outer, w.depth);
        if (inlined) {
            w.block = vars_inner(r, die, w.scope, w.block, w.depth, d->unit.bias);
        } else {
            w.block = w.scope != SYM_NONE && r->want & SYMFILE_TYPES
                          ? vars_function(r, die, w.scope, w.depth, d->unit.bias)
                          : SYM_NONE;
        }
    } else if (!a.declaration) {
        w.scope = w.block = SYM_NONE;
    } else {
        return;
    }
    const char *name = has_types(r) ? dwarf_diename(die) : NULL;
    w.function = name ? string_add(r, name) : 0;
    w.prefix = 0;
    w.depth++;
    walk(d, die, w);
}

static void visit(struct dwarf_reader *d, Dwarf_Die *die, struct where w)
{
    struct reader *r = d->r;
    switch (dwarf_tag(die)) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_entry_point:
        walk_function(d, die, w);
        break;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
        w.block = vars_inner(r, die, w.scope, w.block, w.depth, d->unit.bias);
        w.depth++;
        walk(d, die, w);
        break;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        if (has_types(r)) {
            type_seen(r, die, w.prefix);
        }
        /* fall through */
    case DW_TAG_namespace:
    case DW_TAG_module:
        w.prefix = prefix_of(d, die, w.prefix);
        w.depth++;
        walk(d, die, w);
        break;
    case DW_TAG_enumeration_type:
    case DW_TAG_typedef:
        if (has_types(r)) {
            type_seen(r, die, w.prefix);
        }
        break;
    case DW_TAG_variable:
        if (has_types(r) && r->want & SYMFILE_DATA) {
            objects_variable(r, die, w.prefix, w.function, d->unit.bias);
        }
        break;
    default:
        break;
    }
}

static void walk(struct dwarf_reader *d, Dwarf_Die *die, struct where w)
{
    Dwarf_Die child;
    int status = w.depth < MAX_DEPTH ? dwarf_child(die, &child) : 1;
    while (status == 0) {
        visit(d, &child, w);
        status = dwarf_siblingof(&child, &child);
    }
    if (status < 0) {
        d->bad_units++;
    }
}

/* ---------------------------------------------------------------------- lines */

/* The rows of one sequence: each extends to the next, so of several at one address the
 * last counts.  A sequence that does not begin in code belongs to a function that the
 * linker discarded. */
static void add_sequence(void *arg, const struct line_row *rows, size_t n, uint64_t last)
{
    struct dwarf_reader *d = arg;
    struct reader *r = d->r;
    uint64_t end;
    if (n == 0 || !is_code_addr(r, rows[0].addr + d->unit.bias, &end)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t addr = rows[i].addr + d->unit.bias;
        uint64_t next = (i + 1 < n ? rows[i + 1].addr : last) + d->unit.bias;
        uint32_t file = SYM_NONE;
        if (next <= addr || !is_code_addr(r, addr, &end)) {
            continue;
        }
        if (rows[i].file < d->unit.nr_files) {
            file = path_number(r, dwarf_filesrc(d->unit.files, rows[i].file, NULL, NULL),
                               d->unit.comp_dir);
        }
        if (file == SYM_NONE) {
            continue;
        }
        *(struct span *)vec_push(r, &d->row_spans, sizeof(struct span)) =
            (struct span){addr, next < end ? next : end, 0, (uint32_t)d->rows.n};
        *(struct row *)vec_push(r, &d->rows, sizeof(struct row)) =
            (struct row){file, rows[i].line, rows[i].column, rows[i].stmt};
    }
}

static void read_lines(struct dwarf_reader *d)
{
    Dwarf_Attribute stmt_list;
    Dwarf_Word off;
    bool found;
    if (!dwarf_attr(&d->unit.die, DW_AT_stmt_list, &stmt_list)) {
        return;
    }
    if (dwarf_formudata(&stmt_list, &off) != 0 ||
        dwarf_getsrcfiles(&d->unit.die, &d->unit.files, &d->unit.nr_files) != 0) {
        d->bad_units++;
        return;
    }
    hash_at(d->r, &d->programs, off + 1, &found); /* units may share one */
    if (!found && !read_line_program(d->r, &d->lines, off, add_sequence, d)) {
        d->bad_units++;
    }
}

/* Splits the rows where the scope changes. */
static void make_ranges(struct dwarf_reader *d)
{
    struct reader *r = d->r;
    flatten(r, &d->row_spans);
    flatten(r, &d->scope_spans);
    const struct span *rows = d->row_spans.p, *scopes = d->scope_spans.p;
    size_t k = 0;
    for (size_t i = 0; i < d->row_spans.n; i++) {
        const struct row *row = (struct row *)d->rows.p + rows[i].value;
        uint64_t pos = rows[i].addr;
        while (pos < rows[i].end) {
            while (k < d->scope_spans.n && scopes[k].end <= pos) {
                k++;
            }
            bool in = k < d->scope_spans.n && scopes[k].addr <= pos;
            uint64_t end = rows[i].end;
            if (in && scopes[k].end < end) {
                end = scopes[k].end;
            } else if (!in && k < d->scope_spans.n && scopes[k].addr < end) {
                end = scopes[k].addr;
            }
            struct sym_range *range = vec_push(r, &r->ranges, sizeof(*range));
            *range = (struct sym_range){.addr = pos,
                                        .end = end,
                                        .file = row->file,
                                        .line = row->line,
                                        .column = row->column,
                                        .scope = in ? scopes[k].value : SYM_NONE,
                                        .stmt = row->stmt && pos == rows[i].addr};
            pos = end;
        }
    }
}

/* Reads a unit; of one with types only, and of shared ones (dwz), only the types. */
static void read_unit(struct dwarf_reader *d, uint8_t type, Dwarf_Die *sub, bool alt)
{
    Dwarf_Attribute dir;
    struct where w = {.scope = SYM_NONE, .block = SYM_NONE, .depth = 1};
    bool types = type == DW_UT_type || type == DW_UT_split_type;
    if ((types || alt) && !has_types(d->r)) {
        return;
    }
    d->unit.comp_dir = dwarf_formstring(dwarf_attr(&d->unit.die, DW_AT_comp_dir, &dir));
    if (type != DW_UT_partial && !types && !alt && d->lines.n) {
        read_lines(d);
    }
    if (type == DW_UT_skeleton && sub->addr) {
        d->unit.die = *sub;
    }
    walk(d, &d->unit.die, w);
}

static void read_units(struct dwarf_reader *d, Dwarf *dw, bool alt)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die sub;
    int status;
    while ((status = dwarf_get_units(dw, cu, &cu, &version, &type, &d->unit.die, &sub)) ==
           0) {
        read_unit(d, type, &sub, alt);
    }
    d->bad_units += status < 0;
}

void read_dwarf(struct reader *r, struct symvec *candidates)
{
    struct dwarf_reader d = {.r = r, .candidates = candidates};
    Dwarf *dw = dwfl_module_getdwarf(r->mod, &d.unit.bias);
    if (!dw) {
        return;
    }
    open_alt(r, dw);
    index_symbols(&d);
    find_line_section(dwarf_getelf(dw), &d.lines);
    read_units(&d, dw, false);
    if (has_types(r) && dwarf_getalt(dw)) {
        read_units(&d, dwarf_getalt(dw), true);
    }
    if (d.bad_units) {
        reader_remark(r,
                      "its debug information is damaged: lines or functions are missing");
    }
    make_ranges(&d);
}
