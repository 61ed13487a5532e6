/* SPDX-License-Identifier: MIT */
/*
 * Converts structs, unions, classes and enums, in the child: one for each definition that
 * differs.  Those that are only declared get the definition of another unit, if all units
 * that have one agree.
 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_types_priv.h"

/* A hash of what distinguishes two structs of one name and place: what a compiler option
 * or macro may change. */
static uint64_t hash_children(Dwarf_Die *die)
{
    static const unsigned numbers[] = {DW_AT_data_member_location, DW_AT_bit_size,
                                       DW_AT_data_bit_offset, DW_AT_bit_offset,
                                       DW_AT_const_value};
    uint64_t h = HASH_START;
    Dwarf_Die child, type;
    Dwarf_Attribute a;
    for (int s = dwarf_child(die, &child); s == 0; s = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        if (tag != DW_TAG_member && tag != DW_TAG_inheritance &&
            tag != DW_TAG_enumerator && tag != DW_TAG_variant_part) {
            continue;
        }
        const char *name = dwarf_diename(&child);
        h = hash_bytes(h, &tag, sizeof(tag));
        h = hash_bytes(h, name ? name : "", name ? strlen(name) : 0);
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
            uint64_t v = 0;
            h = die_number(&child, numbers[i], &v) ? hash_bytes(h, &v, sizeof(v))
                                                   : hash_bytes(h, "", 1);
        }
        if (dwarf_attr(&child, DW_AT_type, &a) && dwarf_formref_die(&a, &type)) {
            int kind = dwarf_tag(&type);
            name = dwarf_diename(&type);
            h = hash_bytes(h, &kind, sizeof(kind));
            h = hash_bytes(h, name ? name : "", name ? strlen(name) : 0);
        }
        if (tag == DW_TAG_variant_part) { /* rarely one place: never the same */
            h = hash_bytes(h, &child.addr, sizeof(child.addr));
        }
    }
    return h;
}

static uint32_t compound_name(struct type_reader *t, Dwarf_Die *die, enum sym_kind kind)
{
    static const char *const words[SYM_KINDS] = {[SYM_STRUCT] = "struct",
                                                 [SYM_CLASS] = "class",
                                                 [SYM_UNION] = "union",
                                                 [SYM_ENUM] = "enum"};
    const char *name = dwarf_diename(die);
    char *whole = NULL;
    if (name && !is_c(die_language(die))) {
        return die_qualified(t, die, name);
    }
    if (asprintf(&whole, "%s %s", words[kind], name ? name : "{...}") < 0) {
        return 0;
    }
    uint32_t s = string_add(t->r, whole);
    free(whole);
    return s;
}

uint32_t type_compound(struct type_reader *t, Dwarf_Die *die, enum sym_kind kind,
                       unsigned depth)
{
    struct sym_type row = type_blank(kind);
    Dwarf_Attribute a;
    Dwarf_Die whole;
    bool found;
    if (dwarf_attr(die, DW_AT_signature, &a) && dwarf_formref_die(&a, &whole) &&
        whole.addr != die->addr) {
        return t->of_die(t, &whole, depth);
    }
    uint32_t name = compound_name(t, die, kind);
    row.name = STRING_PTR(name);
    row.size = die_bytes(die);
    if (die_flag(die, DW_AT_declaration)) {
        row.incomplete = 1;
        uint32_t type = type_named(t, row, name);
        const char *simple = dwarf_diename(die);
        type_note(t, type)->simple_name = simple ? string_add(t->r, simple) : 0;
        return type;
    }
    if (kind == SYM_ENUM && dwarf_attr(die, DW_AT_type, &a)) {
        row.target = type_of_attr(t, die, depth);
        row.is_signed = type_row(t, row.target)->is_signed;
        row.size = row.size ? row.size : type_row(t, row.target)->size;
    }
    struct {
        uint64_t children, size;
        uint32_t name, file, line, kind;
    } key = {hash_children(die), row.size, name, SYM_NONE, 0, kind};
    uint64_t line = 0;
    key.file = dwarf_attr(die, DW_AT_decl_file, &a) ? file_of(t->r, &a) : SYM_NONE;
    die_number(die, DW_AT_decl_line, &line);
    key.line = (uint32_t)line;
    uint32_t *at =
        hash_at(t->r, &t->compounds, hash_bytes(HASH_START, &key, sizeof(key)), &found);
    if (!found) {
        *at = type_push(t, &row, (uint32_t)strlen(string_get(t->r, name)));
        struct work *w = vec_push(t->r, &t->queue, sizeof(*w));
        *w = (struct work){*die, (uint32_t)t->r->types.n - 1};
        return w->type;
    }
    return *at;
}

/* The only definition with the name of an incomplete type, or SYM_NONE. */
static uint32_t definition_of(struct type_reader *t, uint32_t type)
{
    struct reader *r = t->r;
    uint32_t simple = type_note(t, type)->simple_name, result = SYM_NONE;
    bool found;
    if (!simple) {
        return SYM_NONE;
    }
    uint32_t next = *hash_at(r, &t->definition_index, (uint64_t)simple + 1, &found);
    while (next) {
        struct definition d = ((struct definition *)t->definitions.p)[next - 1];
        next = d.next;
        uint32_t other = t->of_die(t, &d.die, 0);
        const struct sym_type *a = type_row(t, type), *b = type_row(t, other);
        if (a->name != b->name || b->incomplete ||
            (a->kind != b->kind && (a->kind == SYM_ENUM || b->kind == SYM_ENUM))) {
            continue;
        }
        if (result != SYM_NONE && result != other) {
            return SYM_NONE;
        }
        result = other;
    }
    return result;
}

/* Gives the incomplete types their definitions, which may need more of them. */
void type_complete(struct type_reader *t)
{
    for (uint32_t i = 0; i < t->r->types.n; i++) {
        if (type_row(t, i)->incomplete && type_note(t, i)->copy_of == SYM_NONE) {
            type_note(t, i)->definition = SYM_NONE;
            uint32_t found = definition_of(t, i);
            type_note(t, i)->definition = found;
            type_note(t, i)->completed = found != SYM_NONE;
            type_read_queue(t);
        }
    }
}
