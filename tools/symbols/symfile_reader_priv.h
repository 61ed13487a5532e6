/* SPDX-License-Identifier: MIT */
/*
 * The child's side: the state of a reader, and the interfaces between its parts.  A
 * reader that cannot continue ends the process, so nothing here returns "no memory".
 * The parts are below from the lowest to the highest; symfile_child.c calls them.
 */
#ifndef TOOLS_SYMFILE_READER_PRIV_H
#define TOOLS_SYMFILE_READER_PRIV_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "common/hash.h"
#include "symfile_table_priv.h"

/* An array that grows. */
struct symvec {
    void *p;
    size_t n, cap;
};

/* A hash table from a number that is not 0 to a number. */
struct symhash {
    uint64_t *keys;
    uint32_t *values;
    size_t n, cap;
};

/* An interval for symfile_flatten. */
struct span {
    uint64_t addr, end;
    uint32_t depth;
    uint32_t value;
};

struct reader {
    const struct symfile *file; /* filled in by the parent */
    const struct symfile_options *opt;
    enum table_depth depth;
    int fd;                /* of the file */
    int out_fd;            /* of the table */
    uint64_t memory_limit; /* of address space, 0: none */
    char remark[400];

    Dwfl *dwfl;
    Dwfl_Module *mod;
    Elf *elf;
    const char *debug_path; /* of the separate file in use */
    bool searched;          /* for a separate file */

    struct symvec code;      /* struct sym_code, strings as offsets */
    struct symvec functions; /* struct sym_function */
    struct symvec marks;     /* struct sym_mark */
    struct symvec ranges, scopes, files;
    struct symvec aliases;                     /* struct sym_alias */
    struct symvec objects, object_at;          /* struct sym_object, sym_at */
    struct symvec types, members, enumerators; /* struct sym_type, sym_member ... */
    struct symvec variables, locations, prototypes;
    struct symvec blocks, block_at;
    struct symvec rows, rules;
    struct symvec bytes; /* expressions and constants */
    struct symvec strings;
    struct symhash string_index;
    bool has_symtab;
    uint32_t nr_origins;
    struct symhash demangled;  /* of linkage name, by offset */
    struct symhash file_index; /* of a path, by offset + 1 */
    struct symhash path_index; /* by address of libdw's string */
    struct symhash byte_index;
    struct symhash alias_index; /* of a function and a linkage name */

    unsigned want; /* SYMFILE_* */
    struct object_reader *object_reader;
    struct type_reader *type_reader;
    struct vars_reader *vars_reader;
};

/* symfile_reader.c */
void reader_fail(struct reader *r, enum symfile_status status, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
/* Raises the memory limit for a separate debug file: it depends on the files' sizes. */
void reader_more_memory(struct reader *r, uint64_t file_bytes);
/* Keeps the first remark. */
void reader_remark(struct reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* symfile_build.c */
void *vec_push(struct reader *r, struct symvec *v, size_t elem_bytes); /* zeroed */
/* Finds a key, or adds it; *found: it existed.  The value may be changed until the next
 * call. */
uint32_t *hash_at(struct reader *r, struct symhash *h, uint64_t key, bool *found);
uint32_t string_add(struct reader *r, const char *s);
const char *string_get(const struct reader *r, uint32_t off);
/* The demangled form of an added linkage name, or the name itself. */
uint32_t string_demangle(struct reader *r, uint32_t linkage);
/* Adds bytes, once; returns their offset in PART_BYTES. */
uint32_t bytes_add(struct reader *r, const void *p, size_t n);
#define BYTES_PTR(off) ((const uint8_t *)(uintptr_t)(off))
#define STRING_PTR(off) ((const char *)(uintptr_t)(off))
#define STRING_OFF(ptr) ((uint32_t)(uintptr_t)(ptr))
/* Sorts spans and makes them disjoint: where several overlap the deepest counts, among
 * equally deep ones the one that begins last, then the last given. */
void flatten(struct reader *r, struct symvec *spans);
/* Flattens spans into an array of struct sym_at. */
void flatten_at(struct reader *r, struct symvec *spans, struct symvec *out);
void table_write(struct reader *r);

/* symfile_find.c */
int find_debuginfo(Dwfl_Module *mod, void **userdata, const char *modname, GElf_Addr base,
                   const char *file_name, const char *debuglink_file,
                   GElf_Word debuglink_crc, char **debuginfo_file_name);

/* Finds and attaches the dwz file that dw refers to, if any. */
void open_alt(struct reader *r, Dwarf *dw);

/* symfile_code.c: must be called first. */
void read_code(struct reader *r);
/* Whether addr is in code; *end: where that section ends. */
bool is_code_addr(const struct reader *r, uint64_t addr, uint64_t *end);

/* A name for the start of a function. */
struct candidate {
    uint64_t addr, size;
    uint32_t linkage;
    uint8_t source, thumb, local, ifunc;
    uint8_t rank; /* higher is a better name */
    bool label;   /* not a function by type */
};

/* The rank of a name for an address, by which best names come first. */
uint8_t rank_name(const char *name, const GElf_Sym *sym);

/* symfile_elf.c */
void read_symbols(struct reader *r, struct symvec *candidates);
/* Chooses from the candidates of all readers, which must be complete. */
void functions_make(struct reader *r, struct symvec *candidates);

/* symfile_plt.c */
void read_plt(struct reader *r, struct symvec *candidates);

/* symfile_line.c */
struct line_section {
    const uint8_t *p;
    size_t n;
    bool big;
};
struct line_row {
    uint64_t addr, file;
    uint32_t line, column;
    bool stmt;
};
/* Finds .debug_line of a file that libdw has open; false: there is none. */
bool find_line_section(Elf *elf, struct line_section *s);
/* Reads the program at an offset, and calls back for each sequence; false if it is
 * damaged. */
bool read_line_program(struct reader *r, const struct line_section *s, uint64_t off,
                       void (*sequence)(void *arg, const struct line_row *rows, size_t n,
                                        uint64_t end),
                       void *arg);

/* symfile_dwarf.c: ranges, scopes and files; adds functions that only DWARF knows. */
void read_dwarf(struct reader *r, struct symvec *candidates);

/* The source file of a DW_AT_decl_file or DW_AT_call_file; SYM_NONE: not known. */
uint32_t file_of(struct reader *r, Dwarf_Attribute *a);
/* symfile_die.c: the number of a source file, by its path as libdw has it; NULL: none. */
uint32_t path_number(struct reader *r, const char *path, const char *comp_dir);

/*
 * The attributes of a variable, parameter or function, each from the nearest DIE of the
 * chain of abstract origins and specifications that has it.
 */
struct var_attrs {
    Dwarf_Attribute name, linkage, type, location, constant, frame_base, decl_file,
        decl_line;
    bool external, artificial, prototyped;
    bool declaration;   /* of the DIE itself */
    Dwarf_Attribute up; /* of the DIE itself: its origin or specification */
};
/* Adds a span for each range of code of a DIE; *first, *size: of the first one.  Returns
 * false if there is none. */
bool code_spans(struct reader *r, Dwarf_Die *die, Dwarf_Addr bias, struct span like,
                struct symvec *spans, uint64_t *first, uint64_t *size);

/* symfile_vars.c */
void var_attrs_of(Dwarf_Die *die, struct var_attrs *a);
/* A function, inlined function or block: adds its variables, and a function's prototype.
 * Returns its block, or `block', the one around it, if it has none of its own. */
uint32_t vars_function(struct reader *r, Dwarf_Die *die, uint32_t scope, unsigned depth,
                       Dwarf_Addr bias);
uint32_t vars_inner(struct reader *r, Dwarf_Die *die, uint32_t scope, uint32_t block,
                    unsigned depth, Dwarf_Addr bias);
/* When all are read: sorts, and replaces tickets by types. */
void vars_finish(struct reader *r);

/* symfile_expr.c */
/* Adds the locations of an attribute (an expression, a list or none) to r->locations. */
void locations_add(struct reader *r, Dwarf_Attribute *a, Dwarf_Addr bias, uint32_t *first,
                   uint32_t *n);
/* Encodes decoded operations for dwarf_expr.h; returns their offset in PART_BYTES.
 * `attr' is where they come from, or NULL (call frame information). */
uint32_t expr_add(struct reader *r, Dwarf_Attribute *attr, const Dwarf_Op *ops, size_t n,
                  Dwarf_Addr bias, uint32_t *bytes);

/* symfile_types.c: types are converted when all units are read, because only then their
 * names and definitions are known.  Until then a ticket takes the place of a type. */
/* The ticket of the type that an attribute refers to; `none' if there is no such type:
 * TICKET_VOID or SYM_NONE. */
#define TICKET_VOID 0u
uint32_t type_ticket(struct reader *r, Dwarf_Attribute *a, uint32_t none);
/* Notes the name around a type (with its final "::"), and that it is a definition. */
void type_seen(struct reader *r, Dwarf_Die *die, uint32_t prefix);
/* Whether a DW_LANG_* is C. */
bool is_c(int language);
/* The type of a ticket. */
uint32_t type_of_ticket(struct reader *r, uint32_t ticket);
/* Reads the members of the types that are converted; when all tickets are. */
void types_finish(struct reader *r);

/* symfile_objects.c */
void objects_symbol(struct reader *r, const char *name, const GElf_Sym *sym,
                    uint64_t addr, GElf_Word shndx, enum sym_source source);
/* A variable of DWARF; prefix: the names around it; function: the name of that, 0: none. */
void objects_variable(struct reader *r, Dwarf_Die *die, uint32_t prefix,
                      uint32_t function, Dwarf_Addr bias);
void objects_finish(struct reader *r);

/* symfile_cfi.c */
void read_frames(struct reader *r);

/* symfile_path.c */
/* The number of a source file; comp_dir may be NULL.  SYM_NONE: none. */
uint32_t file_number(struct reader *r, const char *path, const char *comp_dir);

#endif
