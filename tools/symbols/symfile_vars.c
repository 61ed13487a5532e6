/* SPDX-License-Identifier: MIT */
/*
 * Reads prototypes, parameters and local variables, in the child.  The variables of a
 * block follow each other in the table: they are read when the block begins, before the
 * blocks inside of it.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_reader_priv.h"

struct vars_reader {
    struct symvec spans;   /* of blocks */
    struct symvec numbers; /* variables whose value is a number, not bytes */
};

/* ---------------------------------------------------------------- attributes */

static void keep(Dwarf_Attribute *to, const Dwarf_Attribute *from)
{
    if (!to->valp) {
        *to = *from;
    }
}

static void keep_flag(bool *to, Dwarf_Attribute *a)
{
    bool v = false;
    *to |= dwarf_formflag(a, &v) == 0 && v;
}

static int collect(Dwarf_Attribute *a, void *arg)
{
    struct var_attrs *v = arg;
    switch (dwarf_whatattr(a)) {
    case DW_AT_name:
        keep(&v->name, a);
        break;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        keep(&v->linkage, a);
        break;
    case DW_AT_type:
        keep(&v->type, a);
        break;
    case DW_AT_location:
        keep(&v->location, a);
        break;
    case DW_AT_const_value:
        keep(&v->constant, a);
        break;
    case DW_AT_frame_base:
        keep(&v->frame_base, a);
        break;
    case DW_AT_decl_file:
        keep(&v->decl_file, a);
        break;
    case DW_AT_decl_line:
        keep(&v->decl_line, a);
        break;
    case DW_AT_external:
        keep_flag(&v->external, a);
        break;
    case DW_AT_artificial:
        keep_flag(&v->artificial, a);
        break;
    case DW_AT_prototyped:
        keep_flag(&v->prototyped, a);
        break;
    case DW_AT_declaration:
        keep_flag(&v->declaration, a);
        break;
    case DW_AT_abstract_origin:
    case DW_AT_specification:
        v->up = *a;
        break;
    default:
        break;
    }
    return DWARF_CB_OK;
}

void var_attrs_of(Dwarf_Die *die, struct var_attrs *a)
{
    Dwarf_Attribute up;
    Dwarf_Die next = *die;
    memset(a, 0, sizeof(*a));
    dwarf_getattrs(&next, collect, a, 0);
    up = a->up;
    bool declaration = a->declaration;
    for (int hops = 16; hops && a->up.valp && dwarf_formref_die(&a->up, &next); hops--) {
        a->up.valp = NULL;
        dwarf_getattrs(&next, collect, a, 0);
    }
    a->up = up;
    a->declaration = declaration; /* a definition refers to one */
}

static uint32_t number_of(Dwarf_Attribute *a)
{
    Dwarf_Word v;
    return a->valp && dwarf_formudata(a, &v) == 0 && v < UINT32_MAX ? (uint32_t)v : 0;
}

/* ------------------------------------------------------------------- variables */

static struct vars_reader *reader_of(struct reader *r)
{
    if (!r->vars_reader && !(r->vars_reader = calloc(1, sizeof(*r->vars_reader)))) {
        reader_fail(r, SYMFILE_BAD, "its variables need too much memory");
    }
    return r->vars_reader;
}

static bool is_number_form(unsigned form)
{
    return form == DW_FORM_data1 || form == DW_FORM_data2 || form == DW_FORM_data4 ||
           form == DW_FORM_data8 || form == DW_FORM_udata || form == DW_FORM_sdata ||
           form == DW_FORM_implicit_const;
}

/* The value of a number as 8 bytes; vars_finish cuts it to the size of the type. */
static void set_number(struct reader *r, struct sym_variable *v, uint64_t value,
                       uint32_t index)
{
    uint8_t b[8];
    for (unsigned i = 0; i < 8; i++) {
        b[i] = (uint8_t)(value >> (r->file->big_endian ? 56 - 8 * i : 8 * i));
    }
    v->value = BYTES_PTR(bytes_add(r, b, 8));
    v->value_bytes = 8;
    v->has_value = 1;
    *(uint32_t *)vec_push(r, &reader_of(r)->numbers, sizeof(uint32_t)) = index;
}

static void set_value(struct reader *r, Dwarf_Attribute *a, struct sym_variable *v,
                      uint32_t index)
{
    unsigned form = dwarf_whatform(a);
    Dwarf_Word u;
    Dwarf_Sword s;
    Dwarf_Block block;
    const char *text;
    if (is_number_form(form)) {
        bool is_signed = form == DW_FORM_sdata || form == DW_FORM_implicit_const;
        if (is_signed ? dwarf_formsdata(a, &s) == 0 : dwarf_formudata(a, &u) == 0) {
            set_number(r, v, is_signed ? (uint64_t)s : u, index);
        }
    } else if (dwarf_formblock(a, &block) == 0 && block.length < UINT32_MAX) {
        v->value = BYTES_PTR(bytes_add(r, block.data, block.length));
        v->value_bytes = (uint32_t)block.length;
        v->has_value = 1;
    } else if ((text = dwarf_formstring(a))) {
        v->value = BYTES_PTR(bytes_add(r, text, strlen(text) + 1));
        v->value_bytes = (uint32_t)strlen(text) + 1;
        v->has_value = 1;
    }
}

/* located: the DIE with the location, or NULL: the parameter is optimized out. */
static void add_variable(struct reader *r, Dwarf_Die *die, bool parameter, bool located,
                         Dwarf_Addr bias)
{
    struct var_attrs a;
    const char *name;
    uint32_t index = (uint32_t)r->variables.n;
    var_attrs_of(die, &a);
    struct sym_variable v = {.decl_file = SYM_NONE};
    name = a.name.valp ? dwarf_formstring(&a.name) : NULL;
    v.name = STRING_PTR(name ? string_add(r, name) : 0);
    v.type = type_ticket(r, &a.type, SYM_NONE);
    v.decl_file = a.decl_file.valp ? file_of(r, &a.decl_file) : SYM_NONE;
    v.decl_line = number_of(&a.decl_line);
    v.parameter = parameter;
    v.artificial = a.artificial;
    if (located && r->want & SYMFILE_LOCALS) {
        locations_add(r, &a.location, bias, &v.first, &v.n);
        if (a.constant.valp) {
            set_value(r, &a.constant, &v, index);
        }
    }
    *(struct sym_variable *)vec_push(r, &r->variables, sizeof(v)) = v;
}

/* Variables that only declare another one have no place here. */
static bool is_local(Dwarf_Die *die)
{
    return dwarf_tag(die) == DW_TAG_variable && !dwarf_hasattr(die, DW_AT_declaration);
}

static void add_locals(struct reader *r, Dwarf_Die *die, bool parameters, Dwarf_Addr bias)
{
    Dwarf_Die child;
    for (int s = dwarf_child(die, &child); s == 0; s = dwarf_siblingof(&child, &child)) {
        if (parameters && dwarf_tag(&child) == DW_TAG_formal_parameter) {
            add_variable(r, &child, true, true, bias);
        } else if (is_local(&child)) {
            add_variable(r, &child, false, true, bias);
        }
    }
}

/* A parameter of an instance, and the DIE of its function's abstract one. */
struct actual {
    Dwarf_Die die;
    void *origin; /* or NULL */
    bool used;
};

static void find_actuals(struct reader *r, Dwarf_Die *die, struct symvec *actuals)
{
    Dwarf_Die child, origin;
    Dwarf_Attribute a;
    for (int s = dwarf_child(die, &child); s == 0; s = dwarf_siblingof(&child, &child)) {
        if (dwarf_tag(&child) == DW_TAG_formal_parameter) {
            struct actual *p = vec_push(r, actuals, sizeof(*p));
            p->die = child;
            p->origin = dwarf_attr(&child, DW_AT_abstract_origin, &a) &&
                                dwarf_formref_die(&a, &origin)
                            ? origin.addr
                            : NULL;
        }
    }
}

static struct actual *actual_of(struct symvec *actuals, const void *origin)
{
    struct actual *v = actuals->p;
    for (size_t i = 0; i < actuals->n; i++) {
        if (v[i].origin == origin) {
            return &v[i];
        }
    }
    return NULL;
}

/* All parameters in order: an instance of an inline function may lack some. */
static void add_parameters(struct reader *r, Dwarf_Die *die, const struct var_attrs *a,
                           Dwarf_Addr bias)
{
    struct symvec actuals = {0};
    Dwarf_Attribute up = a->up;
    Dwarf_Die origin, child;
    find_actuals(r, die, &actuals);
    if (actuals.n < 256 && up.valp && dwarf_whatattr(&up) == DW_AT_abstract_origin &&
        dwarf_formref_die(&up, &origin)) {
        for (int s = dwarf_child(&origin, &child); s == 0;
             s = dwarf_siblingof(&child, &child)) {
            if (dwarf_tag(&child) == DW_TAG_formal_parameter) {
                struct actual *p = actual_of(&actuals, child.addr);
                add_variable(r, p ? &p->die : &child, true, p != NULL, bias);
                if (p) {
                    p->used = true;
                }
            }
        }
    }
    struct actual *v = actuals.p;
    for (size_t i = 0; i < actuals.n; i++) {
        if (!v[i].used) {
            add_variable(r, &v[i].die, true, true, bias);
        }
    }
    free(actuals.p);
}

/* -------------------------------------------------------- functions and blocks */

static bool is_variadic(Dwarf_Die *die, const struct var_attrs *a)
{
    Dwarf_Attribute up = a->up;
    Dwarf_Die child, origin = *die;
    for (int hop = 0; hop < 2; hop++) {
        for (int s = dwarf_child(&origin, &child); s == 0;
             s = dwarf_siblingof(&child, &child)) {
            if (dwarf_tag(&child) == DW_TAG_unspecified_parameters) {
                return true;
            }
        }
        if (!up.valp || !dwarf_formref_die(&up, &origin)) {
            break;
        }
    }
    return false;
}

static uint32_t add_block(struct reader *r, Dwarf_Die *die, struct sym_block b,
                          unsigned depth, Dwarf_Addr bias)
{
    uint32_t number = (uint32_t)r->blocks.n;
    uint64_t first, size;
    *(struct sym_block *)vec_push(r, &r->blocks, sizeof(b)) = b;
    code_spans(r, die, bias, (struct span){.depth = depth, .value = number},
               &reader_of(r)->spans, &first, &size);
    return number;
}

uint32_t vars_function(struct reader *r, Dwarf_Die *die, uint32_t scope, unsigned depth,
                       Dwarf_Addr bias)
{
    struct var_attrs a;
    Dwarf_Die unit;
    bool has_unit = dwarf_diecu(die, &unit, NULL, NULL) != NULL;
    if (has_unit && dwarf_srclang(&unit) == DW_LANG_Mips_Assembler) {
        return SYM_NONE; /* the assembler lists functions, not what they take */
    }
    var_attrs_of(die, &a);
    struct sym_prototype p = {.scope = scope};
    p.entry = ((struct sym_scope *)r->scopes.p)[scope].entry;
    p.result = type_ticket(r, &a.type, TICKET_VOID);
    p.first = (uint32_t)r->variables.n;
    add_parameters(r, die, &a, bias);
    p.n = (uint32_t)r->variables.n - p.first;
    p.variadic = is_variadic(die, &a);
    p.no_prototype = !a.prototyped && has_unit && is_c(dwarf_srclang(&unit));
    struct sym_block b = {
        .parent = SYM_NONE, .scope = scope, .prototype = (uint32_t)r->prototypes.n};
    b.first = p.first;
    if (r->want & SYMFILE_LOCALS) {
        locations_add(r, &a.frame_base, bias, &p.base_first, &p.base_n);
        add_locals(r, die, false, bias);
    }
    b.n = (uint32_t)r->variables.n - b.first;
    *(struct sym_prototype *)vec_push(r, &r->prototypes, sizeof(p)) = p;
    return r->want & SYMFILE_LOCALS ? add_block(r, die, b, depth, bias) : SYM_NONE;
}

uint32_t vars_inner(struct reader *r, Dwarf_Die *die, uint32_t scope, uint32_t block,
                    unsigned depth, Dwarf_Addr bias)
{
    if (block == SYM_NONE || scope == SYM_NONE) {
        return block;
    }
    struct sym_block b = ((struct sym_block *)r->blocks.p)[block];
    b.parent = block;
    b.scope = scope;
    b.first = (uint32_t)r->variables.n;
    add_locals(r, die, dwarf_tag(die) == DW_TAG_inlined_subroutine, bias);
    b.n = (uint32_t)r->variables.n - b.first;
    return b.n ? add_block(r, die, b, depth, bias) : block;
}

/* -------------------------------------------------------------------- the end */

struct order {
    uint64_t entry;
    uint32_t old;
};

static int by_entry(const void *pa, const void *pb)
{
    const struct order *a = pa, *b = pb;
    return a->entry != b->entry ? (a->entry < b->entry ? -1 : 1)
                                : (a->old > b->old) - (a->old < b->old);
}

static void sort_prototypes(struct reader *r)
{
    size_t n = r->prototypes.n;
    struct sym_prototype *v = r->prototypes.p;
    struct order *o = calloc(n + 1, sizeof(*o));
    struct sym_prototype *sorted = calloc(n + 1, sizeof(*sorted));
    uint32_t *now = calloc(n + 1, sizeof(*now));
    if (!o || !sorted || !now) {
        reader_fail(r, SYMFILE_BAD, "its variables need too much memory");
    }
    for (size_t i = 0; i < n; i++) {
        o[i] = (struct order){v[i].entry, (uint32_t)i};
    }
    qsort(o, n, sizeof(*o), by_entry);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = v[o[i].old];
        sorted[i].result = type_of_ticket(r, sorted[i].result);
        now[o[i].old] = (uint32_t)i;
    }
    struct sym_block *b = r->blocks.p;
    for (size_t i = 0; i < r->blocks.n; i++) {
        b[i].prototype = now[b[i].prototype];
    }
    free(v);
    free(o);
    free(now);
    r->prototypes.p = sorted;
}

/* A number gets as many bytes as its type has. */
static void fit_numbers(struct reader *r)
{
    const uint32_t *numbers = reader_of(r)->numbers.p;
    for (size_t i = 0; i < reader_of(r)->numbers.n; i++) {
        struct sym_variable *v = (struct sym_variable *)r->variables.p + numbers[i];
        uint64_t size =
            v->type == SYM_NONE ? 0 : ((struct sym_type *)r->types.p)[v->type].size;
        if (size && size < 8) {
            v->value_bytes = (uint32_t)size;
            v->value += r->file->big_endian ? 8 - size : 0;
        }
    }
}

void vars_finish(struct reader *r)
{
    struct sym_variable *v = r->variables.p;
    for (size_t i = 0; i < r->variables.n; i++) {
        v[i].type = type_of_ticket(r, v[i].type);
    }
    if (r->prototypes.n) {
        sort_prototypes(r);
    }
    if (r->vars_reader) {
        fit_numbers(r);
        flatten_at(r, &r->vars_reader->spans, &r->block_at);
    }
}
