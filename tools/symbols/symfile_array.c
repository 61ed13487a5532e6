/* SPDX-License-Identifier: MIT */
/* Converts arrays and Fortran's strings, in the child. */
#include <dwarf.h>
#include "symfile_types_priv.h"

/* Of arrays whose lower bound is not given. */
static int64_t lower_bound(int language)
{
    switch (language) {
    case DW_LANG_Ada83:
    case DW_LANG_Ada95:
    case DW_LANG_Cobol74:
    case DW_LANG_Cobol85:
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
    case DW_LANG_Modula2:
    case DW_LANG_Pascal83:
    case LANG_FORTRAN18:
    case LANG_ADA2005:
    case LANG_ADA2012:
    case DW_LANG_PLI:
        return 1;
    default:
        return 0;
    }
}

/* A bound: forms without a sign are unsigned, but all ones in 4 or 8 bytes is the -1 of an
 * array without elements. */
static bool bound(Dwarf_Die *die, unsigned name, int64_t *value)
{
    Dwarf_Attribute a;
    Dwarf_Word v;
    Dwarf_Sword s;
    if (!dwarf_attr_integrate(die, name, &a)) {
        return false;
    }
    unsigned form = dwarf_whatform(&a);
    if (form == DW_FORM_sdata || form == DW_FORM_implicit_const) {
        bool ok = dwarf_formsdata(&a, &s) == 0;
        *value = ok ? s : 0;
        return ok;
    }
    if (dwarf_formudata(&a, &v) != 0) {
        return false;
    }
    *value = form == DW_FORM_data4 && v == UINT32_MAX ? -1 : (int64_t)v;
    return true;
}

/* The number of elements of one dimension; false: not constant. */
static bool dimension(Dwarf_Die *die, int64_t lower, uint64_t *count)
{
    int64_t upper;
    if (dwarf_hasattr_integrate(die, DW_AT_count)) {
        return bound(die, DW_AT_count, &upper) && upper >= 0 &&
               (*count = (uint64_t)upper, true);
    }
    if (dwarf_hasattr_integrate(die, DW_AT_lower_bound) &&
        !bound(die, DW_AT_lower_bound, &lower)) {
        return false;
    }
    if (!bound(die, DW_AT_upper_bound, &upper)) {
        return false;
    }
    *count = upper < lower ? 0 : (uint64_t)upper - (uint64_t)lower + 1;
    return true;
}

static uint32_t type_dimension(struct type_reader *t, uint32_t element, bool known,
                               uint64_t count)
{
    struct sym_type row = type_blank(SYM_ARRAY);
    uint64_t each = type_row(t, element)->size;
    uint32_t hole;
    row.target = element;
    row.count = count;
    row.no_count = !known;
    if (known && each && count > (uint64_t)INT64_MAX / each) {
        row.count = 0;
        row.no_count = 1;
        known = false;
    }
    row.size = known ? each * count : 0;
    row.name = STRING_PTR(type_name_array(t, element, known, row.count, &hole));
    return type_intern(t, &row, NULL, hole, SYM_NONE);
}

uint32_t type_array(struct type_reader *t, Dwarf_Die *die, unsigned depth)
{
    enum { MAX_DIMENSIONS = 16 };
    struct {
        bool known;
        uint64_t count;
    } dim[MAX_DIMENSIONS];
    unsigned n = 0;
    Dwarf_Die child;
    uint64_t stride;
    int64_t lower = lower_bound(die_language(die));
    uint32_t type = type_of_attr(t, die, depth);
    if ((die_number(die, DW_AT_byte_stride, &stride) &&
         stride != type_row(t, type)->size) ||
        dwarf_hasattr(die, DW_AT_bit_stride)) { /* packed, or with gaps */
        return type_unspecified(t, "packed array", die_bytes(die));
    }
    for (int s = dwarf_child(die, &child); s == 0; s = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        if (tag != DW_TAG_subrange_type && tag != DW_TAG_enumeration_type) {
            continue;
        }
        if (n == MAX_DIMENSIONS) {
            return type_unspecified(t, "array", die_bytes(die));
        }
        dim[n].known = false;
        dim[n].count = 0;
        if (tag == DW_TAG_subrange_type) {
            dim[n].known = dimension(&child, lower, &dim[n].count);
        }
        n++;
    }
    if (n == 0) {
        dim[n].known = false;
        dim[n++].count = 0;
    }
    while (n--) {
        type = type_dimension(t, type, dim[n].known, dim[n].count);
    }
    return type;
}

/* Fortran's character(len=N) */
uint32_t type_string(struct type_reader *t, Dwarf_Die *die)
{
    struct sym_type row = type_blank(SYM_CHAR);
    uint64_t n = die_bytes(die);
    row.size = 1;
    uint32_t element = type_named(t, row, string_add(t->r, "character"));
    return type_dimension(t, element, n != 0, n);
}
