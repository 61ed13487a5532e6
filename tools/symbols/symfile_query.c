/* SPDX-License-Identifier: MIT */
/* Queries of objects, types and variables: searches in checked tables. */
#include <string.h>
#include "symfile_table_priv.h"

uint32_t symfile_objects(const struct symfile *f, const struct sym_object **v)
{
    *v = f->objects;
    return table_count(f, PART_OBJECTS);
}

/* The item of a range that contains vaddr, or SYM_NONE. */
static uint32_t item_at(const struct sym_at *v, uint32_t n, uint64_t vaddr)
{
    uint64_t i = symfile_upto(v, sizeof(*v), n, vaddr);
    return i && vaddr < v[i - 1].end ? v[i - 1].item : SYM_NONE;
}

const struct sym_object *symfile_object(const struct symfile *f, uint64_t vaddr)
{
    uint32_t i = item_at(f->object_at, table_count(f, PART_OBJECT_AT), vaddr);
    return i == SYM_NONE ? NULL : &f->objects[i];
}

uint32_t symfile_types(const struct symfile *f, const struct sym_type **v)
{
    *v = f->types;
    return table_count(f, PART_TYPES);
}

const struct sym_type *symfile_type(const struct symfile *f, uint32_t type)
{
    return type < table_count(f, PART_TYPES) ? &f->types[type] : NULL;
}

uint32_t symfile_find_type(const struct symfile *f, const char *name)
{
    uint32_t incomplete = SYM_NONE;
    for (uint32_t i = 0; i < table_count(f, PART_TYPES); i++) {
        if (strcmp(f->types[i].name, name) == 0) {
            if (!f->types[i].incomplete) {
                return i;
            }
            incomplete = incomplete == SYM_NONE ? i : incomplete;
        }
    }
    return incomplete;
}

uint32_t symfile_members(const struct symfile *f, const struct sym_member **v)
{
    *v = f->members;
    return table_count(f, PART_MEMBERS);
}

uint32_t symfile_enumerators(const struct symfile *f, const struct sym_enumerator **v)
{
    *v = f->enumerators;
    return table_count(f, PART_ENUMERATORS);
}

uint32_t symfile_variables(const struct symfile *f, const struct sym_variable **v)
{
    *v = f->variables;
    return table_count(f, PART_VARIABLES);
}

const struct sym_location *symfile_location(const struct symfile *f, uint32_t first,
                                            uint32_t n, uint64_t vaddr)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct sym_location *l = &f->locations[first + i];
        if (vaddr >= l->addr && vaddr < l->end) {
            return l;
        }
    }
    return NULL;
}

uint32_t symfile_prototypes(const struct symfile *f, const struct sym_prototype **v)
{
    *v = f->prototypes;
    return table_count(f, PART_PROTOTYPES);
}

static bool is_named(const struct sym_function *fn, const struct sym_scope *s)
{
    return strcmp(fn->linkage, s->linkage) == 0 || strcmp(fn->linkage, s->name) == 0;
}

/* The same of the compiler's copies, "name.isra.0". */
static bool is_copy_of(const struct sym_function *fn, const struct sym_scope *s)
{
    size_t n = strlen(s->name);
    return is_named(fn, s) ||
           (strncmp(fn->linkage, s->name, n) == 0 && fn->linkage[n] == '.');
}

const struct sym_prototype *symfile_prototype(const struct symfile *f, uint64_t vaddr)
{
    const struct sym_prototype *found = NULL;
    const struct sym_function *fn = symfile_function(f, vaddr);
    const uint32_t n = table_count(f, PART_PROTOTYPES);
    const uint64_t next = symfile_upto(f->prototypes, sizeof(*f->prototypes), n, vaddr);
    for (uint64_t i = next; i && f->prototypes[i - 1].entry == vaddr; i--) {
        const struct sym_scope *s = &f->scopes[f->prototypes[i - 1].scope];
        found = &f->prototypes[i - 1];
        if (fn && is_named(fn, s)) {
            break;
        }
    }
    /* DWARF leaves out the room for patches at the entry (move_to_symbols). */
    if (!found && fn && fn->addr == vaddr) {
        for (uint64_t i = next; i < n && f->prototypes[i].entry < fn->end; i++) {
            if (is_copy_of(fn, &f->scopes[f->prototypes[i].scope])) {
                return &f->prototypes[i];
            }
        }
    }
    return found;
}

uint32_t symfile_blocks(const struct symfile *f, const struct sym_block **v)
{
    *v = f->blocks;
    return table_count(f, PART_BLOCKS);
}

const struct sym_block *symfile_block(const struct symfile *f, uint64_t vaddr)
{
    uint32_t i = item_at(f->block_at, table_count(f, PART_BLOCK_AT), vaddr);
    return i == SYM_NONE ? NULL : &f->blocks[i];
}

uint32_t symfile_visible(const struct symfile *f, uint64_t vaddr,
                         bool (*visit)(void *arg, const struct sym_variable *v,
                                       const struct sym_block *b),
                         void *arg)
{
    const struct sym_block *b = symfile_block(f, vaddr);
    uint32_t calls = 0;
    while (b) {
        for (uint32_t i = 0; i < b->n; i++) {
            calls++;
            if (!visit(arg, &f->variables[b->first + i], b)) {
                return calls;
            }
        }
        b = b->parent == SYM_NONE ? NULL : &f->blocks[b->parent];
    }
    return calls;
}

uint32_t symfile_frame_rows(const struct symfile *f, const struct sym_frame_row **v)
{
    *v = f->rows;
    return table_count(f, PART_ROWS);
}

uint32_t symfile_frame_rules(const struct symfile *f, const struct sym_rule **v)
{
    *v = f->rules;
    return table_count(f, PART_RULES);
}

const struct sym_frame_row *symfile_frame_row(const struct symfile *f, uint64_t vaddr)
{
    uint64_t i =
        symfile_upto(f->rows, sizeof(*f->rows), table_count(f, PART_ROWS), vaddr);
    return i && vaddr < f->rows[i - 1].end ? &f->rows[i - 1] : NULL;
}
