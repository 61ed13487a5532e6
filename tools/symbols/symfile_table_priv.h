/* SPDX-License-Identifier: MIT */
/*
 * The result that the child passes to its parent: one memory file with a header, arrays
 * of the public structures of symfile.h, and a blob of strings.  Both are the same
 * program, so layouts agree.  In place of a pointer to a string the child stores the
 * string's offset in the blob; the parent checks the offset and replaces it by the
 * pointer (symfile_check.c).  Pointers to other bytes (expressions) are offsets in
 * PART_BYTES.
 */
#ifndef TOOLS_SYMFILE_TABLE_PRIV_H
#define TOOLS_SYMFILE_TABLE_PRIV_H

#include "symfile.h"
#include "symfile_data.h"
#include "symfile_frames.h"
#include "symfile_vars.h"

#define TABLE_MAGIC UINT64_C(0x31424154464d5953)

enum table_part {
    PART_CODE,        /* struct sym_code */
    PART_FUNCTIONS,   /* struct sym_function */
    PART_MARKS,       /* struct sym_mark */
    PART_RANGES,      /* struct sym_range */
    PART_SCOPES,      /* struct sym_scope */
    PART_FILES,       /* const char * */
    PART_ALIASES,     /* struct sym_alias */
    PART_OBJECTS,     /* struct sym_object */
    PART_OBJECT_AT,   /* struct sym_at: objects by address */
    PART_TYPES,       /* struct sym_type */
    PART_MEMBERS,     /* struct sym_member */
    PART_ENUMERATORS, /* struct sym_enumerator */
    PART_VARIABLES,   /* struct sym_variable */
    PART_LOCATIONS,   /* struct sym_location */
    PART_PROTOTYPES,  /* struct sym_prototype */
    PART_BLOCKS,      /* struct sym_block */
    PART_BLOCK_AT,    /* struct sym_at: blocks by address */
    PART_ROWS,        /* struct sym_frame_row */
    PART_RULES,       /* struct sym_rule */
    PART_BYTES,       /* uint8_t */
    PART_STRINGS,     /* char; begins with "" and ends with a NUL */
    PARTS
};

/* A mapping symbol: the kind from addr on, code ('a', 't', 'x') or data ('d'); 0: not
 * known, at the start of a section. */
struct sym_mark {
    uint64_t addr;
    uint32_t seq; /* order of those at one address; the last counts */
    char kind;
};

/* One more name of a function. */
struct sym_alias {
    const char *name, *linkage;
    uint32_t function; /* number */
    uint8_t ifunc;     /* as of struct sym_function, of this name */
};

/* Which item a range of addresses belongs to; disjoint, ascending. */
struct sym_at {
    uint64_t addr, end;
    uint32_t item;
};

struct table_header {
    uint64_t magic;
    uint32_t status;  /* enum symfile_status */
    char text[400];   /* an error or a remark; without the file's name */
    uint8_t finished; /* set last */
    uint8_t has_symtab;
    uint8_t wants_debug; /* separate debug information was looked for and not found */
    uint8_t build_id_bytes;
    uint8_t build_id[64];
    uint32_t nr_origins;
    uint64_t debug_path; /* a string's offset */
    uint64_t total;      /* size of the memory file */
    struct {
        uint64_t off, n;
    } part[PARTS];
};

static const size_t table_elem_bytes[PARTS] = {
    [PART_CODE] = sizeof(struct sym_code),
    [PART_FUNCTIONS] = sizeof(struct sym_function),
    [PART_MARKS] = sizeof(struct sym_mark),
    [PART_RANGES] = sizeof(struct sym_range),
    [PART_SCOPES] = sizeof(struct sym_scope),
    [PART_FILES] = sizeof(const char *),
    [PART_ALIASES] = sizeof(struct sym_alias),
    [PART_OBJECTS] = sizeof(struct sym_object),
    [PART_OBJECT_AT] = sizeof(struct sym_at),
    [PART_TYPES] = sizeof(struct sym_type),
    [PART_MEMBERS] = sizeof(struct sym_member),
    [PART_ENUMERATORS] = sizeof(struct sym_enumerator),
    [PART_VARIABLES] = sizeof(struct sym_variable),
    [PART_LOCATIONS] = sizeof(struct sym_location),
    [PART_PROTOTYPES] = sizeof(struct sym_prototype),
    [PART_BLOCKS] = sizeof(struct sym_block),
    [PART_BLOCK_AT] = sizeof(struct sym_at),
    [PART_ROWS] = sizeof(struct sym_frame_row),
    [PART_RULES] = sizeof(struct sym_rule),
    [PART_BYTES] = 1,
    [PART_STRINGS] = 1,
};

/* The parts of a file that the child reads; each value includes those before. */
enum table_depth {
    DEPTH_FILE,  /* the file itself only */
    DEPTH_DEBUG, /* symbols of separate files too */
    DEPTH_LINES,
    DEPTH_FULL, /* types, variables and frames too */
};

/* The parent's data of a file, for lookups. */
struct symfile {
    char *path;
    char label[300]; /* the path for messages: the end of a long one */
    uint8_t *map;    /* the ELF file */
    size_t map_bytes;
    bool image; /* nothing is at its path */
    uint32_t machine;
    uint16_t type;
    uint32_t eflags;
    bool big_endian, is64;
    struct segment {
        uint64_t vaddr, offset, filesz, memsz;
        uint64_t in_module; /* of objects: as symfile_in_module */
        uint32_t flags;
        uint32_t section; /* of objects: its number */
    } *segments; /* PT_LOAD, in the file's order; of objects: sections with bytes */
    uint32_t nr_segments;
    uint64_t *filled_in; /* of objects: where code has relocations, ascending */
    size_t nr_filled_in;

    struct table_header *table; /* private mapping */
    size_t table_bytes;
    const struct sym_code *code;
    const struct sym_function *functions;
    const struct sym_mark *marks;
    const struct sym_range *ranges;
    const struct sym_scope *scopes;
    const char *const *files;
    const struct sym_alias *aliases; /* ascending by function */
    const struct sym_object *objects;
    const struct sym_at *object_at;
    const struct sym_type *types;
    const struct sym_member *members;
    const struct sym_enumerator *enumerators;
    const struct sym_variable *variables;
    const struct sym_location *locations;
    const struct sym_prototype *prototypes;
    const struct sym_block *blocks;
    const struct sym_at *block_at;
    const struct sym_frame_row *rows;
    const struct sym_rule *rules;
    const uint8_t *bytes;
    const char *strings;
};

/* A number of n bytes at an offset of the ELF file; 0 past its end. */
static inline uint64_t symfile_number(const struct symfile *f, uint64_t off, unsigned n)
{
    uint64_t v = 0;
    if (off > f->map_bytes || n > f->map_bytes - off) {
        return 0;
    }
    for (unsigned i = 0; i < n; i++) {
        v |= (uint64_t)f->map[off + i] << (f->big_endian ? 8 * (n - 1 - i) : 8 * i);
    }
    return v;
}

/* Where the first section of an object is that has no address. */
#define SYMFILE_OBJECT_BASE UINT64_C(0x10000)

/* symfile_headers.c: fills in f->table for SYMFILE_HEADERS; false: no memory. */
bool symfile_read_headers(struct symfile *f);

/* symfile_code.c: sorts code and cuts what overlaps; returns how many are left. */
size_t symfile_order_code(struct sym_code *v, size_t n);
/* The number of elements of a part. */
static inline uint32_t table_count(const struct symfile *f, enum table_part part)
{
    return (uint32_t)f->table->part[part].n;
}

/* symfile_lookup.c: the number of elements whose address is at most vaddr; an element
 * begins with its address, and they are ascending. */
uint64_t symfile_upto(const void *v, size_t elem, uint64_t n, uint64_t vaddr);

/* symfile_child.c: runs a reader in a child; fills in f->table or err. */
int symfile_run_child(struct symfile *f, int fd, const struct symfile_options *opt,
                      enum table_depth depth, struct symfile_error *err);

/* symfile_fetch.c: if f->table lacks debug information, downloads it and reads the file
 * again.  A remark goes to err->text unless there is one. */
void symfile_fetch_debug(struct symfile *f, int fd, const struct symfile_options *opt,
                         enum table_depth depth, struct symfile_error *err);

/* symfile_check.c: checks f->table and sets the pointers; false: it is invalid. */
bool symfile_check_table(struct symfile *f);

/* symfile_check_data.c: the parts of symfile_data.h, symfile_vars.h, symfile_frames.h. */
bool symfile_check_data(struct symfile *f, void *const part[PARTS]);
bool symfile_check_string(const struct symfile *f, const char **p);

#endif
