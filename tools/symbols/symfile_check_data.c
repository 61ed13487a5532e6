/* SPDX-License-Identifier: MIT */
/*
 * Checks the child's tables of objects, types, variables and frames, once, so that
 * lookups need no checks (see symfile_check.c).
 */
#include "symfile_table_priv.h"

static bool in(const struct symfile *f, enum table_part part, uint32_t first, uint32_t n)
{
    uint32_t all = table_count(f, part);
    return first <= all && n <= all - first;
}

static bool is_index(const struct symfile *f, enum table_part part, uint32_t i)
{
    return i == SYM_NONE || i < table_count(f, part);
}

static bool set_bytes(const struct symfile *f, const uint8_t **p, uint32_t n)
{
    uint64_t all = f->table->part[PART_BYTES].n;
    if ((uintptr_t)*p > all || n > all - (uintptr_t)*p) {
        return false;
    }
    *p = f->bytes + (uintptr_t)*p;
    return true;
}

static bool check_aliases(struct symfile *f, struct sym_alias *v)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < table_count(f, PART_ALIASES); i++) {
        if (!symfile_check_string(f, &v[i].name) ||
            !symfile_check_string(f, &v[i].linkage) || v[i].function < last ||
            v[i].function >= table_count(f, PART_FUNCTIONS)) {
            return false;
        }
        last = v[i].function;
    }
    f->aliases = v;
    return true;
}

/* Those of threads come last. */
static bool check_objects(struct symfile *f, struct sym_object *v)
{
    for (uint32_t i = 0; i < table_count(f, PART_OBJECTS); i++) {
        struct sym_object *o = &v[i];
        if (!symfile_check_string(f, &o->name) || !symfile_check_string(f, &o->linkage) ||
            o->end < o->addr || !is_index(f, PART_TYPES, o->type) ||
            !is_index(f, PART_FILES, o->decl_file) || o->source > SYM_DWARF ||
            o->local > 1 || o->tls > 1 ||
            (i && (o->tls < v[i - 1].tls ||
                   (o->tls == v[i - 1].tls && o->addr < v[i - 1].addr)))) {
            return false;
        }
    }
    f->objects = v;
    return true;
}

static bool check_at(const struct symfile *f, enum table_part part,
                     const struct sym_at *v, enum table_part items)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < table_count(f, part); i++) {
        if (v[i].addr < last || v[i].end <= v[i].addr ||
            v[i].item >= table_count(f, items)) {
            return false;
        }
        last = v[i].end;
    }
    return true;
}

/* What `first' and `n' of a type are numbers of. */
static enum table_part content(uint8_t kind)
{
    return kind == SYM_ENUM ? PART_ENUMERATORS : PART_MEMBERS;
}

static bool check_types(struct symfile *f, struct sym_type *v)
{
    for (uint32_t i = 0; i < table_count(f, PART_TYPES); i++) {
        struct sym_type *t = &v[i];
        if (!symfile_check_string(f, &t->name) || t->kind >= SYM_KINDS ||
            t->bare >= table_count(f, PART_TYPES) || v[t->bare].kind != t->kind ||
            !is_index(f, PART_TYPES, t->target) ||
            !in(f, content(t->kind), t->first, t->n) || t->is_signed > 1 ||
            t->swapped > 1 || t->no_count > 1 || t->incomplete > 1 || t->variadic > 1) {
            return false;
        }
    }
    f->types = v;
    return true;
}

static bool check_members(struct symfile *f, struct sym_member *v)
{
    for (uint32_t i = 0; i < table_count(f, PART_MEMBERS); i++) {
        struct sym_member *m = &v[i];
        if (!symfile_check_string(f, &m->name) || m->bit_size > 64 ||
            !is_index(f, PART_TYPES, m->type) || m->base > 1 || m->dynamic > 1 ||
            m->variant > 1) {
            return false;
        }
    }
    f->members = v;
    return true;
}

static bool check_enumerators(struct symfile *f, struct sym_enumerator *v)
{
    for (uint32_t i = 0; i < table_count(f, PART_ENUMERATORS); i++) {
        if (!symfile_check_string(f, &v[i].name)) {
            return false;
        }
    }
    f->enumerators = v;
    return true;
}

static bool check_variables(struct symfile *f, struct sym_variable *v)
{
    for (uint32_t i = 0; i < table_count(f, PART_VARIABLES); i++) {
        struct sym_variable *x = &v[i];
        if (!symfile_check_string(f, &x->name) || !is_index(f, PART_TYPES, x->type) ||
            !is_index(f, PART_FILES, x->decl_file) ||
            !in(f, PART_LOCATIONS, x->first, x->n) ||
            !set_bytes(f, &x->value, x->value_bytes) || x->has_value > 1 ||
            x->parameter > 1 || x->artificial > 1) {
            return false;
        }
    }
    f->variables = v;
    return true;
}

static bool check_locations(struct symfile *f, struct sym_location *v)
{
    for (uint32_t i = 0; i < table_count(f, PART_LOCATIONS); i++) {
        if (v[i].addr >= v[i].end || !set_bytes(f, &v[i].expr, v[i].expr_bytes)) {
            return false;
        }
    }
    f->locations = v;
    return true;
}

static bool check_prototypes(struct symfile *f, struct sym_prototype *v)
{
    for (uint32_t i = 0; i < table_count(f, PART_PROTOTYPES); i++) {
        struct sym_prototype *p = &v[i];
        if ((i && p->entry < v[i - 1].entry) || p->scope >= table_count(f, PART_SCOPES) ||
            !is_index(f, PART_TYPES, p->result) ||
            !in(f, PART_VARIABLES, p->first, p->n) ||
            !in(f, PART_LOCATIONS, p->base_first, p->base_n) || p->variadic > 1 ||
            p->no_prototype > 1) {
            return false;
        }
    }
    f->prototypes = v;
    return true;
}

/* The variables of one block come after those of the last. */
static bool check_blocks(struct symfile *f, struct sym_block *v)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < table_count(f, PART_BLOCKS); i++) {
        if ((v[i].parent != SYM_NONE && v[i].parent >= i) ||
            v[i].scope >= table_count(f, PART_SCOPES) ||
            !is_index(f, PART_PROTOTYPES, v[i].prototype) || v[i].first < last ||
            !in(f, PART_VARIABLES, v[i].first, v[i].n)) {
            return false;
        }
        last = v[i].first + v[i].n;
    }
    f->blocks = v;
    return true;
}

static bool check_rule(const struct symfile *f, struct sym_rule *r)
{
    return r->kind < SYM_RULES && set_bytes(f, &r->expr, r->expr_bytes);
}

static bool check_frames(struct symfile *f, struct sym_frame_row *row,
                         struct sym_rule *rule)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < table_count(f, PART_RULES); i++) {
        if (!check_rule(f, &rule[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < table_count(f, PART_ROWS); i++) {
        if (row[i].addr < last || row[i].end <= row[i].addr ||
            !check_rule(f, &row[i].cfa) || !in(f, PART_RULES, row[i].first, row[i].n) ||
            row[i].signal_frame > 1) {
            return false;
        }
        last = row[i].end;
    }
    f->rows = row;
    f->rules = rule;
    return true;
}

bool symfile_check_data(struct symfile *f, void *const part[PARTS])
{
    f->bytes = part[PART_BYTES];
    f->object_at = part[PART_OBJECT_AT];
    f->block_at = part[PART_BLOCK_AT];
    return check_aliases(f, part[PART_ALIASES]) && check_objects(f, part[PART_OBJECTS]) &&
           check_at(f, PART_OBJECT_AT, f->object_at, PART_OBJECTS) &&
           check_types(f, part[PART_TYPES]) && check_members(f, part[PART_MEMBERS]) &&
           check_enumerators(f, part[PART_ENUMERATORS]) &&
           check_variables(f, part[PART_VARIABLES]) &&
           check_locations(f, part[PART_LOCATIONS]) &&
           check_prototypes(f, part[PART_PROTOTYPES]) &&
           check_blocks(f, part[PART_BLOCKS]) &&
           check_at(f, PART_BLOCK_AT, f->block_at, PART_BLOCKS) &&
           check_frames(f, part[PART_ROWS], part[PART_RULES]);
}
