/* SPDX-License-Identifier: MIT */
/* What DIEs say of files and code, for all that read DWARF in the child. */
#include <dwarf.h>
#include "symfile_reader_priv.h"

uint32_t path_number(struct reader *r, const char *path, const char *comp_dir)
{
    bool found;
    if (!path) {
        return SYM_NONE;
    }
    uint32_t *at = hash_at(r, &r->path_index, (uintptr_t)path, &found);
    if (!found) {
        *at = file_number(r, path, comp_dir);
    }
    return *at;
}

/* Converts a file number of the table of the attribute's unit to ours. */
uint32_t file_of(struct reader *r, Dwarf_Attribute *a)
{
    Dwarf_Files *files;
    size_t n;
    Dwarf_Word i;
    Dwarf_Attribute dir;
    Dwarf_Die unit;
    if (!a->valp || dwarf_formudata(a, &i) != 0 ||
        !dwarf_cu_die(a->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) ||
        dwarf_getsrcfiles(&unit, &files, &n) != 0 || i >= n) {
        return SYM_NONE;
    }
    return path_number(r, dwarf_filesrc(files, i, NULL, NULL),
                       dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &dir)));
}

bool code_spans(struct reader *r, Dwarf_Die *die, Dwarf_Addr bias, struct span like,
                struct symvec *spans, uint64_t *first, uint64_t *size)
{
    Dwarf_Addr base, from, to;
    ptrdiff_t at = 0;
    bool any = false;
    while ((at = dwarf_ranges(die, at, &base, &from, &to)) > 0) {
        uint64_t end;
        from += bias;
        to += bias;
        if (from >= to || !is_code_addr(r, from, &end)) {
            continue;
        }
        to = to < end ? to : end;
        if (!any) {
            *first = from;
            *size = to - from;
        }
        any = true;
        like.addr = from;
        like.end = to;
        *(struct span *)vec_push(r, spans, sizeof(struct span)) = like;
    }
    return any;
}
