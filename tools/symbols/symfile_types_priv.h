/* SPDX-License-Identifier: MIT */
/* What the files that convert types share, in the child (symfile_types.c). */
#ifndef TOOLS_SYMFILE_TYPES_PRIV_H
#define TOOLS_SYMFILE_TYPES_PRIV_H

#include "symfile_reader_priv.h"

/* A type whose members are still to be read. */
struct work {
    Dwarf_Die die;
    uint32_t type;
};

/* A definition of a struct, union, class or enum; a list for each name. */
struct definition {
    Dwarf_Die die;
    uint32_t next; /* plus 1 */
};

/* Languages that dwarf.h may not have yet. */
enum {
    LANG_C17 = 0x2c,
    LANG_FORTRAN18 = 0x2d,
    LANG_ADA2005 = 0x2e,
    LANG_ADA2012 = 0x2f,
    LANG_C23 = 0x3e
};

struct type_note {
    uint32_t hole;        /* where a declarator goes in the name: "int (|)[3]" */
    uint32_t copy_of;     /* the type that has its content, or SYM_NONE */
    uint32_t simple_name; /* of an incomplete type: string */
    uint32_t definition;
    bool completed;
};

struct type_reader {
    struct reader *r;
    /* The type of a DIE; symfile_types.c, which needs the other files. */
    uint32_t (*of_die)(struct type_reader *t, Dwarf_Die *die, unsigned depth);
    struct symvec notes;   /* struct type_note for each type */
    struct symvec tickets; /* Dwarf_Die */
    struct symhash ticket_index;
    struct symhash by_die;    /* a type, by address of its DIE */
    struct symhash rows;      /* by content */
    struct symhash compounds; /* structs ..., by their key */
    struct symhash prefixes;  /* strings, by address of the DIE */
    struct symvec definitions;
    struct symhash definition_index; /* of a string + 1; number + 1 */
    struct symvec queue;             /* struct work */
    size_t queue_done;
};

/* symfile_typeattr.c */
/* A constant that is not negative; false if there is none. */
bool die_number(Dwarf_Die *die, unsigned name, uint64_t *value);
bool die_flag(Dwarf_Die *die, unsigned name);
uint64_t die_bytes(Dwarf_Die *die); /* DW_AT_byte_size, 0 if not constant */
int die_language(Dwarf_Die *die);   /* DW_LANG_* of its unit, or -1 */
/* A name with the namespaces around its DIE; a string. */
uint32_t die_qualified(struct type_reader *t, Dwarf_Die *die, const char *name);

/* symfile_typerow.c */
struct sym_type *type_row(struct type_reader *t, uint32_t type);
struct type_note *type_note(struct type_reader *t, uint32_t type);
struct sym_type type_blank(enum sym_kind kind);
/* Adds a row; `bare' is its own number if SYM_NONE. */
uint32_t type_push(struct type_reader *t, const struct sym_type *row, uint32_t hole);
/* The number of a type with this content, which row->n members are part of; row->first is
 * set here.  copy_of: a type whose content it shares, known later, or SYM_NONE. */
uint32_t type_intern(struct type_reader *t, struct sym_type *row,
                     const struct sym_member *members, uint32_t hole, uint32_t copy_of);
/* The same, with a simple name (a string). */
uint32_t type_named(struct type_reader *t, struct sym_type row, uint32_t name);
uint32_t type_void(struct type_reader *t);
uint32_t type_unspecified(struct type_reader *t, const char *name, uint64_t size);
/* The type of a DIE's DW_AT_type; void if there is none. */
uint32_t type_of_attr(struct type_reader *t, Dwarf_Die *die, unsigned depth);

/* symfile_array.c */
uint32_t type_array(struct type_reader *t, Dwarf_Die *die, unsigned depth);
uint32_t type_string(struct type_reader *t, Dwarf_Die *die);

/* symfile_compound.c */
uint32_t type_compound(struct type_reader *t, Dwarf_Die *die, enum sym_kind kind,
                       unsigned depth);
/* Finds the definitions of all types that are only declared. */
void type_complete(struct type_reader *t);

/* symfile_members.c: reads the members or enumerators of all types in the queue. */
void type_read_queue(struct type_reader *t);

/* symfile_typename.c: names as C writes them; *hole: where a declarator goes. */
uint32_t type_name_pointer(struct type_reader *t, uint32_t target, const char *mark,
                           uint32_t *hole);
uint32_t type_name_qualified(struct type_reader *t, uint32_t target, const char *word,
                             uint32_t *hole);
uint32_t type_name_array(struct type_reader *t, uint32_t element, bool known,
                         uint64_t count, uint32_t *hole);
uint32_t type_name_function(struct type_reader *t, const struct sym_type *row,
                            const struct sym_member *params, uint32_t *hole);

#endif
