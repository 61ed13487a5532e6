/* SPDX-License-Identifier: MIT */
/*
 * Call frame information (.eh_frame, .debug_frame): how to find the caller's frame at an
 * address.  Only with SYMFILE_FRAMES, and on machines whose conventions libdw knows: not
 * on MIPS, where there are no rows.
 */
#ifndef TOOLS_SYMFILE_FRAMES_H
#define TOOLS_SYMFILE_FRAMES_H

#include "dwarf_expr.h"
#include "symfile.h"

enum sym_rule_kind {
    SYM_RULE_UNDEFINED, /* its value in the caller is lost; of the return address: there
                            is no caller */
    SYM_RULE_AT_OFFSET, /* saved in memory at CFA + offset */
    SYM_RULE_IS_OFFSET, /* its value is CFA + offset */
    SYM_RULE_REGISTER,  /* its value is that of register `from', plus offset */
    SYM_RULE_AT_EXPR,   /* saved in memory at the value of the expression */
    SYM_RULE_IS_EXPR,   /* its value is that of the expression */
    SYM_RULES
};
/* How to find a register of the caller. */
struct sym_rule {
    int64_t offset;
    const uint8_t *expr; /* the CFA is pushed before it runs */
    uint32_t expr_bytes;
    uint32_t reg, from; /* DWARF's numbers */
    uint8_t kind;       /* enum sym_rule_kind */
};

/* A range of code with the same rules. */
struct sym_frame_row {
    uint64_t addr, end;
    struct sym_rule cfa;  /* REGISTER or IS_EXPR; reg is not used */
    uint32_t return_reg;  /* the column of the return address; no real register on some
                             machines (x86) */
    uint32_t first, n;    /* rules, ascending by register; the others are unchanged */
    uint8_t signal_frame; /* the caller was interrupted: its pc is not after a call */
};
/* Ascending, disjoint. */
uint32_t symfile_frame_rows(const struct symfile *f, const struct sym_frame_row **v);
uint32_t symfile_frame_rules(const struct symfile *f, const struct sym_rule **v);
/* The row for vaddr, or NULL.  Query a caller's frame with its pc less 1, unless the frame
 * that it called has signal_frame set. */
const struct sym_frame_row *symfile_frame_row(const struct symfile *f, uint64_t vaddr);

/* The caller's frame.  Registers without a rule keep their value; of those with one, the
 * callback gets the value, or NULL if it is not known.  On most machines the caller's
 * stack pointer is the CFA and has no rule. */
struct sym_caller {
    uint64_t cfa;
    uint64_t pc;        /* the return address; with the mode bit on arm and mips */
    bool pc_known;      /* false: see reason */
    bool outermost;     /* there is no caller; then pc_known is false */
    const char *reason; /* why cfa or pc is not known, as dwarf_result's; else NULL */
};
/* Applies a row; env->cfa is not used.  Returns false if the CFA is not known. */
bool symfile_unwind(const struct symfile *f, const struct sym_frame_row *row,
                    const struct dwarf_env *env,
                    void (*set)(void *arg, uint32_t reg, const uint64_t *value),
                    void *arg, struct sym_caller *out);

#endif
