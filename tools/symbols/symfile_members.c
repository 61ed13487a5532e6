/* SPDX-License-Identifier: MIT */
/* Reads the members of structs, unions and classes, and the values of enums, in the child.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_types_priv.h"

struct member_reader {
    struct type_reader *t;
    struct symvec members; /* the type's own, until all are read */
    unsigned depth;        /* of variant parts */
};

/* The offset in bytes; DWARF 2 has an expression for it.  False: not constant. */
static bool place(Dwarf_Die *die, uint64_t *bytes)
{
    Dwarf_Attribute a;
    Dwarf_Op *ops;
    size_t n;
    *bytes = 0;
    if (!dwarf_attr(die, DW_AT_data_member_location, &a)) {
        return true; /* of a union, or the first one */
    }
    if (die_number(die, DW_AT_data_member_location, bytes)) {
        return *bytes <= UINT64_MAX / 16;
    }
    if (dwarf_getlocation(&a, &ops, &n) == 0 && n == 1 &&
        (ops[0].atom == DW_OP_plus_uconst || ops[0].atom == DW_OP_constu)) {
        *bytes = ops[0].number;
        return *bytes <= UINT64_MAX / 16;
    }
    return false;
}

/*
 * The first bit.  DWARF 4 counts from the start; before, DW_AT_bit_offset counted from the
 * most significant bit of a storage unit.
 */
static uint64_t first_bit(struct member_reader *m, Dwarf_Die *die,
                          const struct sym_member *to, uint64_t bytes)
{
    uint64_t v, unit;
    if (die_number(die, DW_AT_data_bit_offset, &v)) {
        return 8 * bytes + v;
    }
    if (!die_number(die, DW_AT_bit_offset, &v)) {
        return 8 * bytes;
    }
    if (m->t->r->file->big_endian) {
        return 8 * bytes + v;
    }
    if (!die_number(die, DW_AT_byte_size, &unit)) {
        unit = type_row(m->t, to->type)->size;
    }
    return 8 * (bytes + unit) - v - to->bit_size;
}

static void add_member(struct member_reader *m, Dwarf_Die *die, bool base, bool variant)
{
    struct reader *r = m->t->r;
    const char *name = dwarf_diename(die);
    uint64_t bytes, bits = 0;
    if (!base &&
        (dwarf_hasattr(die, DW_AT_declaration) || dwarf_hasattr(die, DW_AT_external))) {
        return; /* static */
    }
    uint32_t type = type_of_attr(m->t, die, 0);
    struct sym_member *to = vec_push(r, &m->members, sizeof(*to));
    to->type = type;
    to->name = name   ? STRING_PTR(string_add(r, name))
               : base ? type_row(m->t, type)->name
                      : STRING_PTR(0);
    to->base = base;
    to->variant = variant;
    to->dynamic = !place(die, &bytes) || (base && dwarf_hasattr(die, DW_AT_virtuality));
    if (to->dynamic) {
        return;
    }
    if (die_number(die, DW_AT_bit_size, &bits) && bits && bits <= 64) {
        to->bit_size = (uint32_t)bits;
        to->bit_offset = first_bit(m, die, to, bytes);
    } else {
        to->dynamic = bits > 64;
        to->bit_offset = 8 * bytes;
        if (die_number(die, DW_AT_data_bit_offset, &bits)) {
            to->bit_offset += bits;
        }
    }
}

static void add_members(struct member_reader *m, Dwarf_Die *die, bool variant)
{
    Dwarf_Die child;
    if (m->depth == 16) {
        return;
    }
    m->depth++;
    for (int s = dwarf_child(die, &child); s == 0; s = dwarf_siblingof(&child, &child)) {
        switch (dwarf_tag(&child)) {
        case DW_TAG_member:
            add_member(m, &child, false, variant);
            break;
        case DW_TAG_inheritance:
            add_member(m, &child, true, variant);
            break;
        case DW_TAG_variant_part: /* its discriminant always exists */
            add_members(m, &child, variant);
            break;
        case DW_TAG_variant:
            add_members(m, &child, true);
            break;
        default:
            break;
        }
    }
    m->depth--;
}

static void read_enumerators(struct type_reader *t, Dwarf_Die *die, uint32_t type)
{
    struct reader *r = t->r;
    Dwarf_Die child;
    Dwarf_Attribute a;
    uint32_t first = (uint32_t)r->enumerators.n;
    bool negative = false;
    for (int s = dwarf_child(die, &child); s == 0; s = dwarf_siblingof(&child, &child)) {
        const char *name = dwarf_diename(&child);
        Dwarf_Sword v;
        Dwarf_Word u;
        if (dwarf_tag(&child) != DW_TAG_enumerator || !name ||
            !dwarf_attr(&child, DW_AT_const_value, &a)) {
            continue;
        }
        unsigned form = dwarf_whatform(&a);
        bool is_signed = form == DW_FORM_sdata || form == DW_FORM_implicit_const;
        if (is_signed ? dwarf_formsdata(&a, &v) != 0 : dwarf_formudata(&a, &u) != 0) {
            continue;
        }
        struct sym_enumerator *e = vec_push(r, &r->enumerators, sizeof(*e));
        e->name = STRING_PTR(string_add(r, name));
        e->value = is_signed ? v : (int64_t)u;
        negative |= e->value < 0 && is_signed;
    }
    struct sym_type *row = type_row(t, type);
    row->first = first;
    row->n = (uint32_t)r->enumerators.n - first;
    row->is_signed |= negative;
}

static void read_members(struct type_reader *t, Dwarf_Die *die, uint32_t type)
{
    struct member_reader m = {.t = t};
    if (type_row(t, type)->kind == SYM_ENUM) {
        read_enumerators(t, die, type);
        return;
    }
    add_members(&m, die, false);
    struct sym_type *row = type_row(t, type);
    row->first = (uint32_t)t->r->members.n;
    row->n = (uint32_t)m.members.n;
    for (size_t i = 0; i < m.members.n; i++) {
        *(struct sym_member *)vec_push(t->r, &t->r->members, sizeof(struct sym_member)) =
            ((struct sym_member *)m.members.p)[i];
    }
    free(m.members.p);
}

void type_read_queue(struct type_reader *t)
{
    while (t->queue_done < t->queue.n) {
        struct work w = ((struct work *)t->queue.p)[t->queue_done++];
        read_members(t, &w.die, w.type);
    }
}
