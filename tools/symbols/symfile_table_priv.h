/* SPDX-License-Identifier: MIT */
/*
 * The result that the child passes to its parent: one memory file with a header, arrays
 * of the public structures of symfile.h, and a blob of strings.  Both are the same
 * program, so layouts agree.  In place of a pointer to a string the child stores the
 * string's offset in the blob; the parent checks the offset and replaces it by the
 * pointer (symfile_check.c).
 */
#ifndef TOOLS_SYMFILE_TABLE_PRIV_H
#define TOOLS_SYMFILE_TABLE_PRIV_H

#include "symfile.h"

#define TABLE_MAGIC UINT64_C(0x31424154464d5953)

enum table_part {
    PART_CODE,      /* struct sym_code */
    PART_FUNCTIONS, /* struct sym_function */
    PART_MARKS,     /* struct sym_mark */
    PART_RANGES,    /* struct sym_range */
    PART_SCOPES,    /* struct sym_scope */
    PART_FILES,     /* const char * */
    PART_STRINGS,   /* char; begins with "" and ends with a NUL */
    PARTS
};

/* A mapping symbol: the kind from addr on, code ('a', 't', 'x') or data ('d'); 0: not
 * known, at the start of a section. */
struct sym_mark {
    uint64_t addr;
    uint32_t seq; /* order of those at one address; the last counts */
    char kind;
};

struct table_header {
    uint64_t magic;
    uint32_t status;  /* enum symfile_status */
    char text[400];   /* an error or a remark; without the file's name */
    uint8_t finished; /* set last */
    uint8_t has_symtab;
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
    [PART_STRINGS] = 1,
};

/* The parts of a file that the child reads; each value includes those before. */
enum table_depth {
    DEPTH_FILE,  /* the file itself only */
    DEPTH_DEBUG, /* symbols of separate files too */
    DEPTH_LINES,
};

/* The parent's data of a file, for lookups. */
struct symfile {
    char *path;
    char label[300]; /* the path for messages: the end of a long one */
    uint8_t *map;    /* the ELF file */
    size_t map_bytes;
    uint32_t machine;
    uint16_t type;
    uint32_t eflags;
    bool big_endian, is64;
    struct segment {
        uint64_t vaddr, offset, filesz, memsz;
        uint32_t flags;
    } *segments; /* PT_LOAD, in the file's order */
    uint32_t nr_segments;

    struct table_header *table; /* private mapping */
    size_t table_bytes;
    const struct sym_code *code;
    const struct sym_function *functions;
    const struct sym_mark *marks;
    const struct sym_range *ranges;
    const struct sym_scope *scopes;
    const char *const *files;
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

/* symfile_headers.c: fills in f->table for SYMFILE_HEADERS; false: no memory. */
bool symfile_read_headers(struct symfile *f);

/* symfile_code.c: sorts code and cuts what overlaps; returns how many are left. */
size_t symfile_order_code(struct sym_code *v, size_t n);

/* symfile_child.c: runs a reader in a child; fills in f->table or err. */
int symfile_run_child(struct symfile *f, int fd, const struct symfile_options *opt,
                      enum table_depth depth, struct symfile_error *err);

/* symfile_check.c: checks f->table and sets the pointers; false: it is invalid. */
bool symfile_check_table(struct symfile *f);

#endif
