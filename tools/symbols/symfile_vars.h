/* SPDX-License-Identifier: MIT */
/*
 * The prototypes of functions, and the variables that are in scope at an address, with
 * their locations.  The locations are expressions for dwarf_expr_run (dwarf_expr.h).
 *
 * Everything is in flat arrays that are read-only and live as long as the file.
 */
#ifndef TOOLS_SYMFILE_VARS_H
#define TOOLS_SYMFILE_VARS_H

#include "dwarf_expr.h"
#include "symfile.h"

/* A parameter or a local variable.  Without SYMFILE_LOCALS there are only parameters of
 * functions, and they have no locations. */
struct sym_variable {
    const char *name;              /* "" if it has none */
    uint32_t type;                 /* for symfile_type; SYM_NONE if unknown */
    uint32_t decl_file, decl_line; /* SYM_NONE, 0: not known */
    uint32_t first, n;             /* locations; none: optimized out, unless has_value */
    /* A constant: its bytes in the order of memory; if the type has more, they are a
     * number to be sign-extended. */
    const uint8_t *value;
    uint32_t value_bytes;
    uint8_t has_value;
    uint8_t parameter;
    uint8_t artificial; /* made by the compiler: "this" */
};
uint32_t symfile_variables(const struct symfile *f, const struct sym_variable **v);

/* An expression that is valid in a range of code. */
struct sym_location {
    uint64_t addr, end;  /* 0, UINT64_MAX: everywhere in the variable's scope */
    const uint8_t *expr; /* of expr_bytes, may be 0: optimized out there */
    uint32_t expr_bytes;
};
/* The location that is valid at vaddr of n from `first' on (of a variable or a frame
 * base); NULL: optimized out there. */
const struct sym_location *symfile_location(const struct symfile *f, uint32_t first,
                                            uint32_t n, uint64_t vaddr);

/*
 * A function that is compiled out of line.  Beware: of a clone by gcc (its symbol ends in
 * ".isra.0", ".constprop.0", ".part.0") these are the parameters in the source; it may
 * get fewer or others.
 */
struct sym_prototype {
    uint64_t entry;              /* that of its scope */
    uint32_t scope;              /* for symfile_scopes; its parent is SYM_NONE */
    uint32_t result;             /* type; SYM_NONE if unknown */
    uint32_t first, n;           /* parameters, in order; for symfile_variables */
    uint32_t base_first, base_n; /* locations of its frame base (DW_AT_frame_base) */
    uint8_t variadic;            /* "..." follows the parameters */
    uint8_t no_prototype;        /* C: "f()" or K&R: callers may pass anything */
};
/* All, ascending by entry. */
uint32_t symfile_prototypes(const struct symfile *f, const struct sym_prototype **v);
/* The function that begins at vaddr (sym_function.addr, sym_scope.entry), or NULL.  Of
 * several (identical code folded by the linker) the one named like the symbol.  Its entry
 * is after vaddr if there is room for patches at the begin of the function. */
const struct sym_prototype *symfile_prototype(const struct symfile *f, uint64_t vaddr);

/* A function, an inlined function, or a block of one; only those that have variables,
 * and every function.  Only with SYMFILE_LOCALS. */
struct sym_block {
    uint32_t parent;    /* less than its own number; SYM_NONE: a function */
    uint32_t scope;     /* the function instance that it belongs to */
    uint32_t prototype; /* of the function around it, SYM_NONE if unknown */
    uint32_t first, n;  /* its own variables */
};
uint32_t symfile_blocks(const struct symfile *f, const struct sym_block **v);
/* The innermost block that contains vaddr, or NULL. */
const struct sym_block *symfile_block(const struct symfile *f, uint64_t vaddr);
/* Calls back for each variable in scope at vaddr: from the innermost block outwards, in
 * each in the order of the source.  A name may come several times; the first one hides
 * the others.  The callback returns false to stop.  Returns the number of calls. */
uint32_t symfile_visible(const struct symfile *f, uint64_t vaddr,
                         bool (*visit)(void *arg, const struct sym_variable *v,
                                       const struct sym_block *b),
                         void *arg);

/*
 * Evaluates where a variable is at vaddr, of which env has the registers; the guest pc is
 * vaddr + env->bias.  env->frame_base and env->cfa may be NULL: they are then those of the
 * function and of the frame rows (with SYMFILE_FRAMES).  A constant is DWARF_BYTES.
 */
void symfile_locate(const struct symfile *f, const struct sym_variable *v, uint64_t vaddr,
                    const struct dwarf_env *env, struct dwarf_result *out);

#endif
