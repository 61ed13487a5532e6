/* SPDX-License-Identifier: MIT */
/*
 * Functions made at run time as a struct symfile, so that all who show symbols show these
 * in the same way: the table that the reader of an ELF file would make (symfile_table_priv.h),
 * with functions and lines, but without anything in the file.
 */
#include "symbols/jit.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "symbols/symfile_table_priv.h"

/* The table being made. */
struct build {
    const struct jit_code *c;
    const struct jit_layer *layer;
    uint64_t *names; /* by function: its string in the table, 0: none yet */
    size_t name_bytes;
    const char **paths; /* of source files, without repetition, ascending */
    size_t nr_paths, path_bytes;
    size_t nr_rows;
};

/* --------------------------------------------------------------------- rows */

/* The first line that may have code in a piece. */
static uint32_t first_line(const struct jit_code *c, const struct jit_piece *p)
{
    const struct jit_function *f = &c->functions[p->function];
    uint32_t low = f->first_line, high = low + f->nr_lines;

    while (low < high) { /* the first one after the piece's begin */
        uint32_t mid = low + (high - low) / 2;
        if (c->lines[mid].addr <= p->addr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low > f->first_line ? low - 1 : low;
}

/* The next range of a piece; *i: the next line, from first_line on. */
static bool next_row(const struct jit_code *c, const struct jit_piece *p, uint32_t *i,
                     struct sym_range *out, const char **path)
{
    const struct jit_function *f = &c->functions[p->function];
    uint32_t last = f->first_line + f->nr_lines;

    for (; *i < last && c->lines[*i].addr < p->end; (*i)++) {
        const struct jit_line *l = &c->lines[*i];
        uint64_t from = l->addr > p->addr ? l->addr : p->addr;
        uint64_t end = *i + 1 < last && l[1].addr < p->end ? l[1].addr : p->end;

        if (from < end && l->file && l->line) {
            *out = (struct sym_range){.addr = from,
                                      .end = end,
                                      .line = l->line,
                                      .scope = SYM_NONE,
                                      .stmt = true};
            *path = c->strings + l->file;
            (*i)++;
            return true;
        }
    }
    return false;
}

/* -------------------------------------------------------------------- paths */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_paths(struct build *b, const struct jit_piece *p)
{
    const char *path, *before = NULL;
    struct sym_range row;

    for (uint32_t i = first_line(b->c, p); next_row(b->c, p, &i, &row, &path);) {
        if (path != before) {
            b->paths[b->nr_paths++] = before = path;
        }
        b->nr_rows++;
    }
}

/* Counts rows and finds their paths; false: no memory. */
static bool find_paths(struct build *b)
{
    size_t n = 0;

    /* A line that is in several pieces has a row in each. */
    b->paths = malloc((b->c->nr_lines + b->layer->n + 1) * sizeof(*b->paths));
    for (size_t i = 0; b->paths && i < b->layer->n; i++) {
        add_paths(b, &b->layer->v[i]);
    }
    if (b->nr_paths) {
        qsort(b->paths, b->nr_paths, sizeof(*b->paths), by_text);
    }
    for (size_t i = 0; i < b->nr_paths; i++) {
        if (!n || strcmp(b->paths[n - 1], b->paths[i])) {
            b->paths[n++] = b->paths[i];
            b->path_bytes += strlen(b->paths[i]) + 1;
        }
    }
    b->nr_paths = n;
    return b->paths != NULL;
}

static uint32_t path_number(const struct build *b, const char *path)
{
    const char **at = bsearch(&path, b->paths, b->nr_paths, sizeof(*b->paths), by_text);

    return (uint32_t)(at - b->paths);
}

/* Gives each function of the layer the place of its name; string 0 is "". */
static bool find_names(struct build *b)
{
    b->names = calloc(b->c->nr_functions + 1, sizeof(*b->names));
    b->name_bytes = 1;
    for (size_t i = 0; b->names && i < b->layer->n; i++) {
        uint32_t function = b->layer->v[i].function;
        if (!b->names[function]) {
            b->names[function] = b->name_bytes;
            b->name_bytes += strlen(b->c->strings + b->c->functions[function].name) + 1;
        }
    }
    return b->names != NULL;
}

/* -------------------------------------------------------------------- table */

#define ALIGNED(n) (((n) + 15) & ~(size_t)15)

/* Gives a part its place; returns where the next one begins. */
static size_t place_part(struct table_header *h, enum table_part part, size_t at,
                         size_t n)
{
    h->part[part].off = at;
    h->part[part].n = n;
    return at + ALIGNED(n * table_elem_bytes[part]);
}

static size_t place_parts(struct table_header *h, const struct build *b)
{
    size_t at = ALIGNED(sizeof(*h));

    for (unsigned i = 0; i < PARTS; i++) {
        h->part[i].off = at;
    }
    at = place_part(h, PART_CODE, at, b->layer->n ? 1 : 0);
    at = place_part(h, PART_FUNCTIONS, at, b->layer->n);
    at = place_part(h, PART_RANGES, at, b->nr_rows);
    at = place_part(h, PART_FILES, at, b->nr_paths);
    return place_part(h, PART_STRINGS, at, b->name_bytes + b->path_bytes);
}

static void fill_strings(const struct build *b, char *strings, const char **files)
{
    size_t at = b->name_bytes;

    for (size_t i = 0; i < b->layer->n; i++) {
        uint32_t function = b->layer->v[i].function;
        char *name = strings + b->names[function];
        if (!*name) { /* not copied for an earlier piece */
            strcpy(name, b->c->strings + b->c->functions[function].name);
        }
    }
    for (size_t i = 0; i < b->nr_paths; i++) {
        strcpy(strings + at, b->paths[i]);
        files[i] = (const char *)(uintptr_t)at;
        at += strlen(b->paths[i]) + 1;
    }
}

static void fill(struct table_header *h, const struct build *b)
{
    const struct jit_layer *layer = b->layer;
    char *base = (char *)h;
    struct sym_code *code = (void *)(base + h->part[PART_CODE].off);
    struct sym_function *functions = (void *)(base + h->part[PART_FUNCTIONS].off);
    struct sym_range *range = (void *)(base + h->part[PART_RANGES].off);
    const char *path;

    if (layer->n) {
        *code = (struct sym_code){layer->v[0].addr, layer->v[layer->n - 1].end, NULL};
    }
    for (size_t i = 0; i < layer->n; i++) {
        const struct jit_piece *p = &layer->v[i];
        const char *name = (const char *)(uintptr_t)b->names[p->function];

        functions[i] = (struct sym_function){.addr = p->addr,
                                             .end = p->end,
                                             .name = name,
                                             .linkage = name,
                                             .source = SYM_SYMTAB};
        for (uint32_t k = first_line(b->c, p); next_row(b->c, p, &k, range, &path);
             range++) {
            range->file = path_number(b, path);
        }
    }
    fill_strings(b, base + h->part[PART_STRINGS].off,
                 (void *)(base + h->part[PART_FILES].off));
}

static bool make_table(struct symfile *f, struct build *b)
{
    struct table_header h = {.magic = TABLE_MAGIC, .finished = 1, .has_symtab = 1};
    void *p;

    h.total = place_parts(&h, b);
    p = mmap(NULL, h.total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return false;
    }
    f->table = p;
    f->table_bytes = h.total;
    *f->table = h;
    fill(p, b);
    return symfile_check_table(f);
}

bool jit_symfile(struct symfile **out, const char *path, const struct symfile_info *like,
                 const struct jit_code *c, const struct jit_layer *layer)
{
    struct build b = {.c = c, .layer = layer};
    struct symfile *f = calloc(1, sizeof(*f));
    bool ok = f && (f->path = strdup(path)) != NULL && find_paths(&b) && find_names(&b);

    if (ok) {
        f->machine = like->machine;
        f->type = ET_EXEC;
        f->is64 = like->addr_bits == 64;
        f->big_endian = like->big_endian;
        ok = make_table(f, &b);
    }
    free(b.paths);
    free(b.names);
    if (!ok) {
        symfile_close(f);
        f = NULL;
    }
    *out = f;
    return ok;
}
