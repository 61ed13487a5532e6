/* SPDX-License-Identifier: MIT */
/* What the files that convert types read of a DIE: attributes, language, qualified name.
 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include "symfile_types_priv.h"

bool die_number(Dwarf_Die *die, unsigned name, uint64_t *value)
{
    Dwarf_Attribute a;
    Dwarf_Word v;
    if (!dwarf_attr(die, name, &a) || dwarf_formudata(&a, &v) != 0) {
        return false;
    }
    *value = v;
    return true;
}

bool die_flag(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute a;
    bool v = false;
    return dwarf_attr(die, name, &a) && dwarf_formflag(&a, &v) == 0 && v;
}

uint64_t die_bytes(Dwarf_Die *die)
{
    uint64_t n = 0;
    return die_number(die, DW_AT_byte_size, &n) && n <= INT64_MAX ? n : 0;
}

int die_language(Dwarf_Die *die)
{
    Dwarf_Die unit;
    return dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;
}

bool is_c(int language)
{
    return language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 ||
           language == DW_LANG_C11 || language == LANG_C17 || language == LANG_C23 ||
           language == DW_LANG_ObjC;
}

/* The names around a DIE, or around the declaration that it specifies (type units). */
static uint32_t prefix_of(struct type_reader *t, Dwarf_Die *die)
{
    Dwarf_Attribute a;
    Dwarf_Die declaration;
    bool found;
    if (t->prefixes.n == 0) {
        return 0;
    }
    /* what is not there is added, with 0 */
    uint32_t prefix = *hash_at(t->r, &t->prefixes, (uintptr_t)die->addr, &found);
    if (!prefix && dwarf_attr(die, DW_AT_specification, &a) &&
        dwarf_formref_die(&a, &declaration)) {
        prefix = *hash_at(t->r, &t->prefixes, (uintptr_t)declaration.addr, &found);
    }
    return prefix;
}

uint32_t die_qualified(struct type_reader *t, Dwarf_Die *die, const char *name)
{
    uint32_t prefix = prefix_of(t, die);
    char *whole = NULL;
    if (!prefix || asprintf(&whole, "%s%s", string_get(t->r, prefix), name) < 0) {
        return string_add(t->r, name);
    }
    uint32_t s = string_add(t->r, whole);
    free(whole);
    return s;
}
