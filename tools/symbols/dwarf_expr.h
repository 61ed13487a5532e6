/* SPDX-License-Identifier: MIT */
/*
 * Evaluates location expressions of DWARF.  Neither libdw nor a file is used: only the
 * bytes of an expression and the callbacks.  The bytes may be hostile; steps and stack are
 * bounded, and nothing outside of the bytes is read.
 *
 * The bytes are those of DWARF 5 in one encoding for all machines, as symfile.h's reader
 * writes them (symfile_expr.c): numbers of fixed size are little-endian; the operand of
 * DW_OP_addr has 8 bytes; lengths in blocks and registers are ULEB128; a type operand is
 * two bytes, its DW_ATE_* encoding and its size (0, 0: the generic type) in place of the
 * offset of a DIE; indexes into tables and references to other expressions do not occur.
 *
 * Results do not change; threads may evaluate at the same time if the callbacks allow it.
 */
#ifndef TOOLS_DWARF_EXPR_H
#define TOOLS_DWARF_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state of the program.  A callback returns false if the value is not known; one that
 * is NULL knows nothing. */
struct dwarf_env {
    void *arg;
    /* The low 64 bits of a register, by its number in DWARF. */
    bool (*reg)(void *arg, uint32_t number, uint64_t *value);
    /* The same, at the entry of the function (DW_OP_entry_value). */
    bool (*entry_reg)(void *arg, uint32_t number, uint64_t *value);
    /* n bytes of memory, n at least 1. */
    bool (*memory)(void *arg, uint64_t addr, uint8_t *out, size_t n);
    bool (*frame_base)(void *arg, uint64_t *value); /* of the function (DW_OP_fbreg) */
    bool (*cfa)(void *arg, uint64_t *value);        /* DW_OP_call_frame_cfa */
    /* The address of an offset in the thread's block of the module. */
    bool (*tls)(void *arg, uint64_t offset, uint64_t *value);
    uint64_t bias;      /* added to addresses in the expression: guest pc less vaddr */
    uint8_t addr_bytes; /* 4 or 8 */
    bool big_endian;
};

enum dwarf_where {
    DWARF_UNKNOWN,  /* see reason */
    DWARF_NOWHERE,  /* optimized out */
    DWARF_ADDRESS,  /* in memory at number */
    DWARF_REGISTER, /* in the register with that number */
    DWARF_VALUE,    /* it is number itself */
    DWARF_BYTES,    /* it is the bytes, in the order of memory */
    DWARF_PIECES    /* in several pieces, from the lowest address on */
};

struct dwarf_place {
    enum dwarf_where where; /* of a piece never DWARF_PIECES */
    uint64_t number;
    const uint8_t *bytes; /* points into the expression */
    size_t nr_bytes;
    uint64_t bit_size; /* of a piece */
    uint64_t
        bit_offset; /* of a piece: how far from the start of memory, or from the least
                            significant bit of a register or value */
};

#define DWARF_MAX_PIECES 32

struct dwarf_result {
    struct dwarf_place place;
    const char *reason; /* DWARF_UNKNOWN: why, as the end of a sentence, e.g. "it needs
                           the value of a register at the function's entry"; else NULL */
    unsigned nr_pieces;
    struct dwarf_place piece[DWARF_MAX_PIECES];
};

/* Evaluates a location.  No bytes: DWARF_NOWHERE.  Always fills in out. */
void dwarf_expr_run(const uint8_t *expr, size_t n, const struct dwarf_env *env,
                    struct dwarf_result *out);

/* Evaluates an expression of frame rules, whose result is a number; `first' is pushed
 * before it begins, if not NULL.  Returns false with a reason. */
bool dwarf_expr_number(const uint8_t *expr, size_t n, const struct dwarf_env *env,
                       const uint64_t *first, uint64_t *value, const char **reason);

/* Evaluates a frame base, which may be a register (its content is the base). */
bool dwarf_expr_frame_base(const uint8_t *expr, size_t n, const struct dwarf_env *env,
                           uint64_t *value, const char **reason);

/*
 * Reads n bytes of an object at its evaluated place, in the order of the guest's memory;
 * known[i] is 1 if out[i] is right, else 0: of an object in pieces some may be optimized
 * out (as padding is).  Returns false with a reason if no byte is known ("it is optimized
 * out", "memory is not known" ...).
 */
bool dwarf_expr_read(const struct dwarf_result *r, const struct dwarf_env *env,
                     uint8_t *out, uint8_t *known, size_t n, const char **reason);

#endif
