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
/* The largest alignment of a member of a structure. */
unsigned abi_alignment(const struct abi *a);

enum abi_class {
    ABI_INTEGER, /* integers and pointers */
    ABI_FLOAT,   /* float, double */
    ABI_STRUCT,  /* by value */
    ABI_LONG_DOUBLE,
};

/* A member of a structure that is no structure itself. */
struct abi_basic {
    uint32_t offset;
    uint8_t size;
    bool is_float;
};

/* An argument's type, as far as it matters. */
struct abi_type {
    enum abi_class what;
    uint32_t size;  /* bytes, not 0 */
    uint32_t align; /* bytes */
    /* STRUCT only: */
    uint8_t eight[2];          /* of at most 16 bytes: enum abi_class of its halves,
                                  ABI_INTEGER or ABI_FLOAT */
    uint8_t same_floats;       /* the number of its members if all are floats of one
                                  size, at most 8; else 0 */
    uint8_t doubles;           /* bit i: its i-th 8 bytes are one double */
    bool floats;               /* it has any */
    uint8_t nr_basic;          /* of all its members, at most 255 */
    struct abi_basic basic[2]; /* the first of them */
};

/* One piece of a value. */
struct abi_piece {
    const char *reg; /* a register, or NULL: memory */
    uint32_t skip;   /* bytes of the register's value below the piece, little-endian */
    int64_t offset;  /* memory: from the stack pointer at the function's entry */
    uint32_t size;   /* bytes of the value */
    uint32_t at;     /* from the value's begin */
    uint8_t from;    /* 8: the register has a double, the value is a float; 10: the
                        register has 80 bits of the x87; else 0 */
};

#define ABI_PIECES 12u

/* Where a value is. */
struct abi_place {
    uint32_t n;     /* 0: not known */
    bool reference; /* the piece is a pointer to the value */
    bool at_entry;  /* result: the pointer is where it was when the function began */
    struct abi_piece piece[ABI_PIECES];
};

/* The state of a walk over the arguments of one call. */
struct abi_walk {
    const struct abi *abi;
    bool big_endian;
    unsigned ints, floats; /* registers used */
    unsigned hole;         /* arm: 1 + the half of a register that is free below them */
    unsigned slots;        /* of memory, or of registers and memory together */
    unsigned args;
    bool variadic; /* the next arguments are in the "..." part */
    bool lost;     /* an argument before had no known place: the next ones have none */
};

/* variadic: the function is.  result: the function's, NULL for void; a struct may take the
 * first register. */
void abi_begin(struct abi_walk *w, const struct abi *a, bool big_endian, bool variadic,
               const struct abi_type *result);
/* The place of the next argument. */
void abi_next(struct abi_walk *w, const struct abi_type *type, struct abi_place *out);
/* The place of a result after the return; pointer: it is a pointer. */
void abi_result(const struct abi *a, const struct abi_type *type, bool pointer,
                bool big_endian, struct abi_place *out);

#endif
