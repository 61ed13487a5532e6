/* SPDX-License-Identifier: MIT */
/*
 * Converts types of DWARF, in the child.  A type that several units describe becomes one:
 * structs are compared by name, place and a hash of their members, other types by their
 * content.  Members are read from a queue, after the types that refer to them, so that
 * types may refer to each other in circles and need no deep recursion.
 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_types_priv.h"

#define MAX_DEPTH 64

static uint32_t type_of_die(struct type_reader *t, Dwarf_Die *die, unsigned depth);

static struct type_reader *reader_of(struct reader *r)
{
    if (!r->type_reader) {
        r->type_reader = calloc(1, sizeof(*r->type_reader));
        if (!r->type_reader) {
            reader_fail(r, SYMFILE_BAD, "its types need too much memory");
        }
        r->type_reader->r = r;
        r->type_reader->of_die = type_of_die;
        vec_push(r, &r->type_reader->tickets, sizeof(Dwarf_Die)); /* TICKET_VOID */
    }
    return r->type_reader;
}

uint32_t type_ticket(struct reader *r, Dwarf_Attribute *a, uint32_t none)
{
    struct type_reader *t = reader_of(r);
    Dwarf_Die die;
    bool found;
    if (!a->valp) {
        return none;
    }
    if (!dwarf_formref_die(a, &die)) {
        return SYM_NONE;
    }
    uint32_t *at = hash_at(r, &t->ticket_index, (uintptr_t)die.addr, &found);
    if (!found) {
        *at = (uint32_t)t->tickets.n;
        *(Dwarf_Die *)vec_push(r, &t->tickets, sizeof(die)) = die;
    }
    return *at;
}

void type_seen(struct reader *r, Dwarf_Die *die, uint32_t prefix)
{
    struct type_reader *t = reader_of(r);
    const char *name = dwarf_diename(die);
    int tag = dwarf_tag(die);
    bool found;
    if (!name) {
        return;
    }
    if (prefix) {
        *hash_at(r, &t->prefixes, (uintptr_t)die->addr, &found) = prefix;
    }
    if (tag == DW_TAG_typedef || dwarf_hasattr(die, DW_AT_declaration)) {
        return;
    }
    uint32_t *head =
        hash_at(r, &t->definition_index, (uint64_t)string_add(r, name) + 1, &found);
    struct definition *d = vec_push(r, &t->definitions, sizeof(*d));
    d->die = *die;
    d->next = found ? *head : 0;
    *head = (uint32_t)t->definitions.n;
}

/* ----------------------------------------------------------------- simple ones */

static uint32_t make_base(struct type_reader *t, Dwarf_Die *die)
{
    static const struct {
        uint8_t encoding, kind, is_signed;
    } kinds[] = {
        {DW_ATE_boolean, SYM_BOOL, 0},
        {DW_ATE_address, SYM_UNSIGNED, 0},
        {DW_ATE_signed, SYM_SIGNED, 1},
        {DW_ATE_unsigned, SYM_UNSIGNED, 0},
        {DW_ATE_signed_char, SYM_CHAR, 1},
        {DW_ATE_unsigned_char, SYM_CHAR, 0},
        {DW_ATE_UTF, SYM_CHAR, 0},
        {DW_ATE_ASCII, SYM_CHAR, 0},
        {DW_ATE_float, SYM_FLOAT, 0},
        {DW_ATE_complex_float, SYM_COMPLEX, 0},
        {DW_ATE_imaginary_float, SYM_FLOAT, 0},
    };
    const char *name = dwarf_diename(die);
    uint64_t encoding = 0, endianity = 0;
    struct sym_type row = type_blank(SYM_UNSPECIFIED);
    die_number(die, DW_AT_encoding, &encoding);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].encoding == encoding) {
            row.kind = kinds[i].kind;
            row.is_signed = kinds[i].is_signed;
        }
    }
    row.size = die_bytes(die);
    if (die_number(die, DW_AT_endianity, &endianity)) {
        row.swapped = (endianity == DW_END_big) != t->r->file->big_endian &&
                      endianity != DW_END_default;
    }
    return type_named(t, row, string_add(t->r, name ? name : "unknown type"));
}

static uint32_t make_pointer(struct type_reader *t, Dwarf_Die *die, int tag,
                             unsigned depth)
{
    bool pointer = tag == DW_TAG_pointer_type;
    struct sym_type row = type_blank(pointer ? SYM_POINTER : SYM_REFERENCE);
    row.target = type_of_attr(t, die, depth);
    row.size = die_bytes(die);
    if (row.size == 0) {
        row.size = t->r->file->is64 ? 8 : 4;
    }
    uint32_t hole;
    row.name = STRING_PTR(type_name_pointer(t, row.target,
                                            pointer                        ? "*"
                                            : tag == DW_TAG_reference_type ? "&"
                                                                           : "&&",
                                            &hole));
    return type_intern(t, &row, NULL, hole, SYM_NONE);
}

/* A typedef (name is not NULL) or a qualified type: everything but the name is that of its
 * target, whose members may not be read yet. */
static uint32_t make_copy(struct type_reader *t, uint32_t target, uint32_t name,
                          uint32_t hole, uint64_t size)
{
    struct sym_type row;
    memcpy(&row, type_row(t, target), sizeof(row));
    row.name = STRING_PTR(name);
    row.first = row.n = 0;
    row.size = size ? size : row.size; /* a subrange of Ada may be smaller */
    return type_intern(t, &row, NULL, hole, target);
}

static uint32_t make_typedef(struct type_reader *t, Dwarf_Die *die, unsigned depth)
{
    uint32_t target = type_of_attr(t, die, depth);
    const char *name = dwarf_diename(die);
    if (!name) {
        return target;
    }
    uint32_t s = die_qualified(t, die, name);
    return make_copy(t, target, s, (uint32_t)strlen(string_get(t->r, s)), die_bytes(die));
}

static uint32_t make_qualified(struct type_reader *t, Dwarf_Die *die, const char *word,
                               unsigned depth)
{
    uint32_t target = type_of_attr(t, die, depth), hole;
    uint32_t name = type_name_qualified(t, target, word, &hole);
    return make_copy(t, target, name, hole, 0);
}

/* ------------------------------------------------------------------- functions */

static uint32_t make_function(struct type_reader *t, Dwarf_Die *die, unsigned depth)
{
    struct symvec params = {0};
    struct sym_type row = type_blank(SYM_FUNCTION);
    Dwarf_Die child;
    uint32_t hole;
    row.target = type_of_attr(t, die, depth);
    row.variadic =
        is_c(die_language(die)) && !die_flag(die, DW_AT_prototyped); /* "int ()" */
    for (int s = dwarf_child(die, &child); s == 0; s = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_unspecified_parameters) {
            row.variadic = 1;
        } else if (tag == DW_TAG_formal_parameter) {
            const char *name = dwarf_diename(&child);
            struct sym_member *m = vec_push(t->r, &params, sizeof(*m));
            m->name = STRING_PTR(name ? string_add(t->r, name) : 0);
            m->type = type_of_attr(t, &child, depth);
        }
    }
    row.n = (uint32_t)params.n;
    row.name = STRING_PTR(type_name_function(t, &row, params.p, &hole));
    uint32_t type = type_intern(t, &row, params.p, hole, SYM_NONE);
    free(params.p);
    return type;
}

/* ------------------------------------------------------------------ all kinds */

static const char *qualifier(int tag)
{
    switch (tag) {
    case DW_TAG_const_type:
        return "const";
    case DW_TAG_volatile_type:
        return "volatile";
    case DW_TAG_restrict_type:
        return "restrict";
    case DW_TAG_atomic_type:
        return "_Atomic";
    case DW_TAG_packed_type:
    case DW_TAG_shared_type:
    case DW_TAG_immutable_type:
        return "";
    default:
        return NULL;
    }
}

static uint32_t convert(struct type_reader *t, Dwarf_Die *die, unsigned depth)
{
    int tag = dwarf_tag(die);
    const char *word = qualifier(tag);
    if (word) {
        return word[0] ? make_qualified(t, die, word, depth)
                       : type_of_attr(t, die, depth);
    }
    switch (tag) {
    case DW_TAG_base_type:
        return make_base(t, die);
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        return make_pointer(t, die, tag, depth);
    case DW_TAG_typedef:
    case DW_TAG_template_alias:
    case DW_TAG_subrange_type:
        return make_typedef(t, die, depth);
    case DW_TAG_structure_type:
        return type_compound(t, die, SYM_STRUCT, depth);
    case DW_TAG_class_type:
    case DW_TAG_interface_type:
        return type_compound(t, die, SYM_CLASS, depth);
    case DW_TAG_union_type:
        return type_compound(t, die, SYM_UNION, depth);
    case DW_TAG_enumeration_type:
        return type_compound(t, die, SYM_ENUM, depth);
    case DW_TAG_array_type:
        return type_array(t, die, depth);
    case DW_TAG_string_type:
        return type_string(t, die);
    case DW_TAG_subroutine_type:
    case DW_TAG_subprogram:
        return make_function(t, die, depth);
    default:
        return type_unspecified(t, dwarf_diename(die), die_bytes(die));
    }
}

static uint32_t type_of_die(struct type_reader *t, Dwarf_Die *die, unsigned depth)
{
    bool found;
    uint32_t *at = hash_at(t->r, &t->by_die, (uintptr_t)die->addr, &found);
    if (found) {
        return *at;
    }
    /* One that refers to itself not through a struct has no meaning here. */
    uint32_t unknown = type_unspecified(t, NULL, 0);
    *hash_at(t->r, &t->by_die, (uintptr_t)die->addr, &found) = unknown;
    uint32_t type = depth < MAX_DEPTH ? convert(t, die, depth + 1) : unknown;
    *hash_at(t->r, &t->by_die, (uintptr_t)die->addr, &found) = type;
    return type;
}

uint32_t type_of_ticket(struct reader *r, uint32_t ticket)
{
    struct type_reader *t = reader_of(r);
    if (ticket >= t->tickets.n) {
        return SYM_NONE;
    }
    if (ticket == TICKET_VOID) {
        return type_void(t);
    }
    Dwarf_Die die = ((Dwarf_Die *)t->tickets.p)[ticket];
    return type_of_die(t, &die, 0);
}

/* ---------------------------------------------------------------------- the end */

static void copy_content(struct type_reader *t, uint32_t to, uint32_t from)
{
    struct sym_type *row = type_row(t, to);
    struct sym_type old = *row;
    *row = *type_row(t, from);
    row->name = old.name;
    row->size = old.size ? old.size : row->size;
}

void types_finish(struct reader *r)
{
    struct type_reader *t = r->type_reader;
    if (!t) {
        return;
    }
    type_read_queue(t);
    type_complete(t);
    for (uint32_t i = 0; i < r->types.n; i++) {
        if (type_note(t, i)->completed) {
            copy_content(t, i, type_note(t, i)->definition);
        }
    }
    for (uint32_t i = 0; i < r->types.n; i++) { /* a type comes after its target */
        if (type_note(t, i)->copy_of != SYM_NONE) {
            copy_content(t, i, type_note(t, i)->copy_of);
        }
    }
}
