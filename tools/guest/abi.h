/* SPDX-License-Identifier: MIT */
/*
 * Calling conventions: where a function of Linux finds its arguments when its first
 * instruction begins, and where its result is after its return.  By the processors'
 * System V ABI supplements.
 *
 * Registers have the names of the trace's table (gdb's).
 */
#ifndef TOOLS_ABI_H
#define TOOLS_ABI_H

#include <stdbool.h>
#include <stdint.h>

struct abi;

/*
 * The convention of a machine (e_machine); soft_float: arm without floating-point
 * registers for arguments.  NULL: not known.
 */
const struct abi *abi_find(uint32_t machine, unsigned addr_bits, bool big_endian,
                           bool soft_float);

/* The stack pointer's register, and the width of an address and integer register in
 * bytes. */
const char *abi_stack_pointer(const struct abi *a);
unsigned abi_word(const struct abi *a);

enum abi_class {
    ABI_INTEGER, /* integers and pointers */
    ABI_FLOAT,   /* float, double */
    ABI_STRUCT,  /* by value */
    ABI_LONG_DOUBLE,
};

/* An argument's type, as far as it matters. */
struct abi_type {
    enum abi_class what;
    uint32_t size;       /* bytes, not 0 */
    uint8_t eight[2];    /* STRUCT of at most 16 bytes: enum abi_class of its halves,
                           ABI_INTEGER or ABI_FLOAT */
    uint8_t same_floats; /* STRUCT: the number of its members if all are floats of one
                            size, at most 4; else 0 */
};

/* One piece of a value. */
struct abi_piece {
    const char *reg; /* a register, or NULL: memory */
    uint32_t skip;   /* bytes of the register's value below the piece, little-endian */
    int64_t offset;  /* memory: from the stack pointer at the function's entry */
    uint32_t size;   /* bytes */
};

#define ABI_PIECES 4u

/* Where a value is: the pieces follow each other in the memory image of the value. */
struct abi_place {
    uint32_t n;     /* 0: not known */
    bool reference; /* the piece is a pointer to the value */
    struct abi_piece piece[ABI_PIECES];
};

/* The state of a walk over the arguments of one call. */
struct abi_walk {
    const struct abi *abi;
    unsigned ints, floats; /* registers used */
    unsigned hole;         /* arm: 1 + the half of a register that is free below them */
    unsigned slots;        /* of memory, or of registers and memory together */
    unsigned args;
    bool variadic; /* the next arguments are in the "..." part */
    bool lost;     /* an argument before had no known place: the next ones have none */
};

/* result: the function's, NULL for void; a struct may take the first register. */
void abi_begin(struct abi_walk *w, const struct abi *a, const struct abi_type *result);
/* The place of the next argument. */
void abi_next(struct abi_walk *w, const struct abi_type *type, struct abi_place *out);
/* The place of a result after the return; pointer: it is a pointer. */
void abi_result(const struct abi *a, const struct abi_type *type, bool pointer,
                struct abi_place *out);

#endif
