/* SPDX-License-Identifier: MIT */
/*
 * The data objects of an ELF file, and the types of its DWARF.
 *
 * Everything is in flat arrays that are read-only and live as long as the file; a number
 * of a type, member ... is an index into its array.  SYM_NONE: unknown.
 */
#ifndef TOOLS_SYMFILE_DATA_H
#define TOOLS_SYMFILE_DATA_H

#include "symfile.h"

/* ------------------------------------------------------------------- objects */

/*
 * An object with static storage: STT_OBJECT, STT_COMMON and STT_TLS of all symbol tables,
 * labels in sections that are data, and variables of DWARF at a fixed address, those of
 * functions included.  A variable and the symbol of it are one object; other names of an
 * address are objects of their own, with its type if the size is the same.
 */
struct sym_object {
    uint64_t addr;       /* vaddr; if tls: offset in the thread's block of the module */
    uint64_t end;        /* addr if the size is unknown */
    const char *name;    /* demangled and qualified: "ns::total"; a static variable of a
                            C function f is "f::count" */
    const char *linkage; /* as in the symbol table, without a version: "count.0"; the name
                            in DWARF if there is no symbol */
    uint32_t type;       /* SYM_NONE if unknown */
    uint32_t decl_file, decl_line; /* SYM_NONE, 0: not known */
    uint8_t source;                /* enum sym_source; SYM_DWARF: there is no symbol */
    uint8_t local;                 /* not visible outside of its source file */
    uint8_t tls;                   /* each thread has its own: no vaddr */
};
/* All objects: first those with an address, then those with tls; each part ascending, of
 * several at one address the best name first. */
uint32_t symfile_objects(const struct symfile *f, const struct sym_object **v);
/* The object that contains vaddr, with its best name; NULL if there is none.  If objects
 * overlap, the one that begins last. */
const struct sym_object *symfile_object(const struct symfile *f, uint64_t vaddr);
/* Calls back for each object whose name matches (sym_name_matches), in the order of the
 * array.  The callback returns false to stop.  Returns the number of calls. */
uint32_t symfile_find_objects(const struct symfile *f, const char *pattern,
                              bool (*match)(void *arg, const struct sym_object *o),
                              void *arg);

/* --------------------------------------------------------------------- types */

enum sym_kind {
    SYM_VOID,
    SYM_SIGNED, /* integers */
    SYM_UNSIGNED,
    SYM_BOOL,
    SYM_CHAR, /* see is_signed; wider ones are UTF-16 or UTF-32 */
    SYM_FLOAT,
    SYM_COMPLEX,   /* two floats of half the size */
    SYM_POINTER,   /* to target */
    SYM_REFERENCE, /* an address, like a pointer */
    SYM_STRUCT,
    SYM_UNION,
    SYM_CLASS,
    SYM_ARRAY,       /* count elements of target, without gaps */
    SYM_ENUM,        /* target: its integer type, or SYM_NONE */
    SYM_FUNCTION,    /* target: result */
    SYM_UNSPECIFIED, /* bytes whose meaning is not known here */
    SYM_KINDS
};

/*
 * A type.  Typedefs and qualifiers are resolved: `typedef const int t;' is a type with the
 * name "t" and everything else of "int".  Equal types of several source files are one.
 */
struct sym_type {
    const char *name; /* "struct foo", "char *", "int (*)(int)", "const t"; C++ and others
                         "ns::foo"; "struct {...}" without a name */
    uint64_t size;    /* bytes; 0: none or unknown */
    uint64_t count;   /* array: elements; 0 with no_count */
    uint32_t bare;    /* the same without typedefs and qualifiers on the outside */
    uint32_t target;  /* always less than the number of types, or SYM_NONE */
    uint32_t first, n;  /* members; enum: enumerators; function: parameters, as members */
    uint8_t kind;       /* enum sym_kind */
    uint8_t is_signed;  /* integer, char, enum: values may be negative */
    uint8_t swapped;    /* its byte order is not that of the file */
    uint8_t no_count;   /* array: the number of elements is not constant or not known */
    uint8_t incomplete; /* struct, union, class, enum: declared only */
    uint8_t variadic;   /* function: "..."; also without a prototype */
};
uint32_t symfile_types(const struct symfile *f, const struct sym_type **v);
/* NULL for SYM_NONE. */
const struct sym_type *symfile_type(const struct symfile *f, uint32_t type);
/* The first type with this name ("struct foo", "foo_t"), or SYM_NONE. */
uint32_t symfile_find_type(const struct symfile *f, const char *name);

/* A member of a struct, union or class.  Static members are objects, not members. */
struct sym_member {
    const char *name;    /* "" if anonymous; base class: its name */
    uint64_t bit_offset; /* from the start of its type, as DWARF 5 counts: in big-endian
                            types bit 0 is the most significant one of the first byte */
    uint32_t bit_size;   /* bit field; 0: none */
    uint32_t type;
    uint8_t base;    /* a base class */
    uint8_t dynamic; /* its place is only known at run time (virtual base class) */
    uint8_t variant; /* exists only for some values of another member (Rust, Ada) */
};
uint32_t symfile_members(const struct symfile *f, const struct sym_member **v);
/* The value of a bit field, not sign-extended, from the (bit_offset % 8 + bit_size + 7) / 8
 * bytes at bit_offset / 8.  bit_size is 1 to 64. */
uint64_t sym_bit_field(const uint8_t *p, uint64_t bit_offset, uint32_t bit_size,
                       bool big_endian);

struct sym_enumerator {
    const char *name;
    int64_t value; /* of an unsigned type: its bits */
};
uint32_t symfile_enumerators(const struct symfile *f, const struct sym_enumerator **v);

/* A part of an object. */
struct sym_part {
    uint64_t offset; /* bytes from the start of the type that the path begins at */
    uint64_t size;   /* bytes; of a bit field: those that contain it */
    uint32_t type;
    uint32_t bit_offset; /* bit field: in the byte at offset, 0 to 7, as above */
    uint32_t bit_size;   /* 0: no bit field */
};
/*
 * Follows a path like "a.b[3].c" or "[2].x" from a type; a leading '.' may be left out.
 * Members of anonymous structs and unions and of base classes are found as if they were
 * the type's own.  An index must be less than the count, if that is known.  Pointers are
 * not followed.  An empty path is the type itself.
 * Returns false if there is no such part; `why' then has a sentence without a final
 * period (cut to why_bytes).
 */
bool symfile_member(const struct symfile *f, uint32_t type, const char *path,
                    struct sym_part *out, char *why, size_t why_bytes);

#endif
