/* SPDX-License-Identifier: MIT */
/*
 * The rows of the table of types, in the child: a row whose content is there already is
 * found instead of added.
 */
#include <string.h>
#include <dwarf.h>
#include "symfile_types_priv.h"

static uint64_t row_hash(const struct sym_type *row, const struct sym_member *members)
{
    uint64_t h = hash_bytes(HASH_START, row, sizeof(*row));
    return hash_bytes(h, members, row->n * sizeof(*members));
}

struct sym_type *type_row(struct type_reader *t, uint32_t type)
{
    return (struct sym_type *)t->r->types.p + type;
}

struct type_note *type_note(struct type_reader *t, uint32_t type)
{
    return (struct type_note *)t->notes.p + type;
}

/* Adds a row; `bare' is its own number if SYM_NONE. */
uint32_t type_push(struct type_reader *t, const struct sym_type *row, uint32_t hole)
{
    uint32_t type = (uint32_t)t->r->types.n;
    struct sym_type *to = vec_push(t->r, &t->r->types, sizeof(*to));
    memcpy(to, row, sizeof(*to));
    to->bare = row->bare == SYM_NONE ? type : row->bare;
    struct type_note *note = vec_push(t->r, &t->notes, sizeof(*note));
    note->hole = hole;
    note->copy_of = SYM_NONE;
    return type;
}

static bool same_row(struct type_reader *t, uint32_t type, const struct sym_type *row,
                     const struct sym_member *members, uint32_t hole, uint32_t copy_of)
{
    struct sym_type have;
    memcpy(&have, type_row(t, type), sizeof(have)); /* with its padding */
    uint32_t first = have.first;
    have.first = row->first;
    have.bare = row->bare == SYM_NONE && have.bare == type ? SYM_NONE : have.bare;
    return memcmp(&have, row, sizeof(have)) == 0 && type_note(t, type)->hole == hole &&
           type_note(t, type)->copy_of == copy_of &&
           (row->n == 0 || memcmp((struct sym_member *)t->r->members.p + first, members,
                                  row->n * sizeof(*members)) == 0);
}

/* The number of a type with this content; row->first is not set yet.  copy_of: a type
 * whose content it shares, known later. */
uint32_t type_intern(struct type_reader *t, struct sym_type *row,
                     const struct sym_member *members, uint32_t hole, uint32_t copy_of)
{
    for (uint64_t hash = row_hash(row, members) + copy_of;; hash++) {
        bool found;
        uint32_t *at = hash_at(t->r, &t->rows, hash, &found);
        if (found && same_row(t, *at, row, members, hole, copy_of)) {
            return *at;
        }
        if (!found) {
            row->first = row->n ? (uint32_t)t->r->members.n : 0;
            for (uint32_t i = 0; i < row->n; i++) {
                *(struct sym_member *)vec_push(t->r, &t->r->members, sizeof(*members)) =
                    members[i];
            }
            uint32_t type = type_push(t, row, hole);
            type_note(t, type)->copy_of = copy_of;
            return *at = type;
        }
    }
}

struct sym_type type_blank(enum sym_kind kind)
{
    struct sym_type row;
    memset(&row, 0, sizeof(row)); /* rows are compared as bytes */
    row.kind = (uint8_t)kind;
    row.target = SYM_NONE;
    row.bare = SYM_NONE;
    return row;
}

uint32_t type_named(struct type_reader *t, struct sym_type row, uint32_t name)
{
    row.name = STRING_PTR(name);
    return type_intern(t, &row, NULL, (uint32_t)strlen(string_get(t->r, name)), SYM_NONE);
}

uint32_t type_void(struct type_reader *t)
{
    return type_named(t, type_blank(SYM_VOID), string_add(t->r, "void"));
}

uint32_t type_unspecified(struct type_reader *t, const char *name, uint64_t size)
{
    struct sym_type row = type_blank(SYM_UNSPECIFIED);
    row.size = size;
    return type_named(t, row, string_add(t->r, name && name[0] ? name : "unknown type"));
}

uint32_t type_of_attr(struct type_reader *t, Dwarf_Die *die, unsigned depth)
{
    Dwarf_Attribute a;
    Dwarf_Die target;
    if (!dwarf_attr_integrate(die, DW_AT_type, &a)) {
        return type_void(t);
    }
    if (!dwarf_formref_die(&a, &target)) {
        return type_unspecified(t, NULL, 0);
    }
    return t->of_die(t, &target, depth);
}
