/* SPDX-License-Identifier: MIT */
/*
 * Checks the child's tables once, so that lookups need no checks: a child that read a
 * hostile file is as hostile as that file.
 */
#include <string.h>
#include "symfile_table_priv.h"

/* The array of a part, or NULL if it is not inside the table. */
static void *part(struct symfile *f, enum table_part i)
{
    uint64_t off = f->table->part[i].off, n = f->table->part[i].n;
    if (off % 16 != 0 || off < sizeof(struct table_header) || off > f->table_bytes ||
        n > UINT32_MAX - 1 || n > (f->table_bytes - off) / table_elem_bytes[i]) {
        return NULL;
    }
    return (char *)f->table + off;
}

/* A bool or small number as a byte in memory: other values are not a valid bool. */
static bool small(const void *p, unsigned max)
{
    return *(const unsigned char *)p <= max;
}

static bool check_code(struct symfile *f, struct sym_code *v)
{
    uint64_t last = 0;
    for (uint64_t i = 0; v && i < f->table->part[PART_CODE].n; i++) {
        if (v[i].addr < last || v[i].end <= v[i].addr ||
            !symfile_check_string(f, &v[i].name)) {
            return false;
        }
        last = v[i].end;
    }
    f->code = v;
    return v != NULL;
}

static bool check_functions(struct symfile *f, struct sym_function *v)
{
    uint64_t last = 0;
    for (uint64_t i = 0; v && i < f->table->part[PART_FUNCTIONS].n; i++) {
        if (v[i].addr < last || v[i].end <= v[i].addr ||
            !symfile_check_string(f, &v[i].name) ||
            !symfile_check_string(f, &v[i].linkage) || v[i].source > SYM_DWARF ||
            v[i].thumb > 1) {
            return false;
        }
        last = v[i].end;
    }
    f->functions = v;
    return v != NULL;
}

static bool check_marks(struct symfile *f, const struct sym_mark *v)
{
    for (uint64_t i = 1; v && i < f->table->part[PART_MARKS].n; i++) {
        if (v[i].addr < v[i - 1].addr) {
            return false;
        }
    }
    f->marks = v;
    return v != NULL;
}

static bool file_ok(const struct symfile *f, uint32_t file)
{
    return file == SYM_NONE || file < f->table->part[PART_FILES].n;
}

static bool check_ranges(struct symfile *f, const struct sym_range *v)
{
    uint64_t last = 0, scopes = f->table->part[PART_SCOPES].n;
    for (uint64_t i = 0; v && i < f->table->part[PART_RANGES].n; i++) {
        if (v[i].addr < last || v[i].end <= v[i].addr ||
            v[i].file >= f->table->part[PART_FILES].n ||
            (v[i].scope != SYM_NONE && v[i].scope >= scopes) || !small(&v[i].stmt, 1)) {
            return false;
        }
        last = v[i].end;
    }
    f->ranges = v;
    return v != NULL;
}

/* Parents must come before their children, so that there is no cycle. */
static bool check_scopes(struct symfile *f, struct sym_scope *v)
{
    for (uint64_t i = 0; v && i < f->table->part[PART_SCOPES].n; i++) {
        if (!symfile_check_string(f, &v[i].name) ||
            !symfile_check_string(f, &v[i].linkage) ||
            v[i].origin >= f->table->nr_origins || !file_ok(f, v[i].decl_file) ||
            !file_ok(f, v[i].call_file) ||
            (v[i].parent != SYM_NONE && v[i].parent >= i)) {
            return false;
        }
    }
    f->scopes = v;
    return v != NULL;
}

static bool check_files(struct symfile *f, const char **v)
{
    for (uint64_t i = 0; v && i < f->table->part[PART_FILES].n; i++) {
        if (!symfile_check_string(f, &v[i])) {
            return false;
        }
    }
    f->files = v;
    return v != NULL;
}

bool symfile_check_table(struct symfile *f)
{
    struct table_header *h = f->table;
    void *p[PARTS];
    for (unsigned i = 0; i < PARTS; i++) {
        p[i] = part(f, i);
        if (!p[i]) {
            return false;
        }
    }
    uint64_t n = h->part[PART_STRINGS].n;
    f->strings = p[PART_STRINGS];
    return n > 0 && f->strings[n - 1] == '\0' && h->debug_path < n &&
           h->build_id_bytes <= sizeof(h->build_id) && small(&h->has_symtab, 1) &&
           small(&h->wants_debug, 1) && check_code(f, p[PART_CODE]) &&
           check_functions(f, p[PART_FUNCTIONS]) && check_marks(f, p[PART_MARKS]) &&
           check_ranges(f, p[PART_RANGES]) && check_scopes(f, p[PART_SCOPES]) &&
           check_files(f, p[PART_FILES]) && symfile_check_data(f, p);
}
