/* SPDX-License-Identifier: MIT */
/*
 * Reads call frame information, in the child: .eh_frame of the file, then .debug_frame
 * for code that it does not describe.  libdw runs the programs; symfile_fde.c lists the entries.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_reader_priv.h"

#define MAX_REGISTERS 128
#define ARM_VFP 256 /* D0 to D31 */
#define MAX_ROWS 20000000

struct frame_reader {
    struct reader *r;
    struct symvec fdes;  /* struct fde_span */
    struct symhash sets; /* rules with the same content, by hash */
    Dwarf_CFI *cfi;
    Dwarf_Addr bias;
    struct symvec rows; /* of this section */
};

/* ------------------------------------------------------------------------ rows */

static bool is_base(const Dwarf_Op *op)
{
    return op->atom == DW_OP_bregx ||
           (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31);
}

static void set_expr(struct frame_reader *c, struct sym_rule *rule, const Dwarf_Op *ops,
                     size_t n)
{
    rule->expr = BYTES_PTR(expr_add(c->r, NULL, ops, n, c->bias, &rule->expr_bytes));
}

/* A register's rule as libdw has it: a location that begins with the CFA. */
static bool set_rule(struct frame_reader *c, struct sym_rule *rule, const Dwarf_Op *ops,
                     size_t n)
{
    if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31 && n == 1) {
        rule->kind = SYM_RULE_REGISTER;
        rule->from = ops[0].atom - DW_OP_reg0;
        return true;
    }
    if (ops[0].atom == DW_OP_regx && n == 1 && ops[0].number <= UINT32_MAX) {
        rule->kind = SYM_RULE_REGISTER;
        rule->from = (uint32_t)ops[0].number;
        return true;
    }
    if (ops[0].atom != DW_OP_call_frame_cfa) {
        return false;
    }
    bool value = ops[n - 1].atom == DW_OP_stack_value;
    size_t middle = n - 1 - value;
    if (middle == 0 || (middle == 1 && ops[1].atom == DW_OP_plus_uconst)) {
        rule->kind = value ? SYM_RULE_IS_OFFSET : SYM_RULE_AT_OFFSET;
        rule->offset = middle ? (int64_t)ops[1].number : 0;
        return true;
    }
    rule->kind = value ? SYM_RULE_IS_EXPR : SYM_RULE_AT_EXPR;
    set_expr(c, rule, ops + 1, middle);
    return true;
}

static void add_rules(struct frame_reader *c, Dwarf_Frame *frame, uint32_t ra,
                      struct symvec *rules)
{
    Dwarf_Op mem[3], *ops;
    size_t n;
    bool arm = c->r->file->machine == EM_ARM;
    /* Of a register that is not mentioned: unchanged, or not known to be. */
    bool same = dwarf_frame_register(frame, 1000, mem, &ops, &n) == 0 && n == 0 && !ops;
    bool virtual_ra = c->r->file->machine == EM_X86_64 || c->r->file->machine == EM_386;
    for (uint32_t i = 0; i < MAX_REGISTERS + (arm ? 32u : 0u); i++) {
        uint32_t reg = i < MAX_REGISTERS ? i : ARM_VFP + (i - MAX_REGISTERS);
        struct sym_rule rule;
        memset(&rule, 0, sizeof(rule)); /* rules are compared as bytes */
        rule.reg = reg;
        if (dwarf_frame_register(frame, (int)reg, mem, &ops, &n) != 0) {
            continue;
        }
        if (n == 0 && ops == mem && reg == ra && (same || virtual_ra)) {
            rule.kind = SYM_RULE_UNDEFINED;
        } else if (n == 0 || !set_rule(c, &rule, ops, n)) {
            continue;
        }
        memcpy(vec_push(c->r, rules, sizeof(rule)), &rule, sizeof(rule));
    }
}

/* Rules that another row has, too, are stored once. */
static uint32_t intern(struct frame_reader *c, const struct symvec *rules)
{
    struct reader *r = c->r;
    size_t bytes = rules->n * sizeof(struct sym_rule);
    for (uint64_t hash = hash_bytes(HASH_START + rules->n, rules->p, bytes);; hash++) {
        bool found;
        uint32_t *at = hash_at(r, &c->sets, hash, &found);
        if (!found) {
            *at = (uint32_t)r->rules.n;
            for (size_t i = 0; i < rules->n; i++) {
                memcpy(vec_push(r, &r->rules, sizeof(struct sym_rule)),
                       (struct sym_rule *)rules->p + i, sizeof(struct sym_rule));
            }
            return (uint32_t)r->rules.n - (uint32_t)rules->n;
        }
        if (rules->n == 0) {
            return 0;
        }
        if (rules->n <= r->rules.n - *at &&
            memcmp((struct sym_rule *)r->rules.p + *at, rules->p, bytes) == 0) {
            return *at;
        }
    }
}

static bool set_cfa(struct frame_reader *c, Dwarf_Frame *frame, struct sym_rule *rule)
{
    Dwarf_Op *ops;
    size_t n;
    if (dwarf_frame_cfa(frame, &ops, &n) != 0 || n == 0) {
        return false;
    }
    if (n == 1 && is_base(&ops[0])) {
        bool x = ops[0].atom == DW_OP_bregx;
        rule->kind = SYM_RULE_REGISTER;
        rule->from = x ? (uint32_t)ops[0].number : (uint32_t)(ops[0].atom - DW_OP_breg0);
        rule->offset = (int64_t)(x ? ops[0].number2 : ops[0].number);
        return true;
    }
    rule->kind = SYM_RULE_IS_EXPR;
    set_expr(c, rule, ops, n);
    return true;
}

/* Adds the row at an address; returns where the next one begins, 0: there is none. */
static uint64_t add_row(struct frame_reader *c, uint64_t pc, struct symvec *rules)
{
    Dwarf_Frame *frame;
    Dwarf_Addr start, end;
    bool signal_frame = false;
    uint64_t section_end;
    if (!is_code_addr(c->r, pc, &section_end) ||
        dwarf_cfi_addrframe(c->cfi, pc - c->bias, &frame) != 0) {
        return 0;
    }
    int ra = dwarf_frame_info(frame, &start, &end, &signal_frame);
    uint64_t next = end + c->bias;
    if (ra >= 0 && next > pc) {
        next = next < section_end ? next : section_end;
        struct sym_frame_row row = {.addr = pc, .end = next};
        rules->n = 0;
        if (set_cfa(c, frame, &row.cfa)) {
            add_rules(c, frame, (uint32_t)ra, rules);
            row.return_reg = (uint32_t)ra;
            row.signal_frame = signal_frame;
            row.first = intern(c, rules);
            row.n = (uint32_t)rules->n;
            *(struct sym_frame_row *)vec_push(c->r, &c->rows, sizeof(row)) = row;
        }
    } else {
        next = 0;
    }
    free(frame);
    return next;
}

static void read_section(struct frame_reader *c)
{
    struct symvec rules = {0};
    const struct fde_span *fde = c->fdes.p;
    uint64_t covered = 0;
    for (size_t i = 0; i < c->fdes.n && c->rows.n < MAX_ROWS; i++) {
        uint64_t pc = fde[i].addr + c->bias;
        if (pc < covered) {
            continue;
        }
        while ((pc = add_row(c, pc, &rules)) != 0 && c->rows.n < MAX_ROWS) {
            covered = pc;
        }
    }
    free(rules.p);
}

/* ---------------------------------------------------------------------- public */

/* Adds the rows of both sections; where they overlap, the first one counts. */
static void merge(struct reader *r, const struct symvec *first,
                  const struct symvec *second)
{
    const struct sym_frame_row *a = first->p, *b = second->p;
    size_t i = 0, k = 0;
    uint64_t done = 0;
    while (i < first->n || k < second->n) {
        bool take_a = i < first->n && (k == second->n || a[i].addr <= b[k].addr);
        struct sym_frame_row row = take_a ? a[i++] : b[k++];
        row.addr = row.addr < done ? done : row.addr;
        if (!take_a && i < first->n && row.end > a[i].addr) {
            row.end = a[i].addr;
        }
        if (row.addr < row.end) {
            *(struct sym_frame_row *)vec_push(r, &r->rows, sizeof(row)) = row;
            done = row.end;
        }
    }
}

void read_frames(struct reader *r)
{
    struct frame_reader c = {.r = r};
    struct symvec eh = {0};
    Dwarf_Addr bias;
    GElf_Addr elf_bias;
    c.cfi = dwfl_module_eh_cfi(r->mod, &c.bias);
    if (c.cfi && dwfl_module_getelf(r->mod, &elf_bias)) {
        fdes_list(r, r->elf, true, &c.fdes);
        read_section(&c);
    }
    eh = c.rows;
    c.rows = (struct symvec){0};
    Dwarf *dw = dwfl_module_getdwarf(r->mod, &bias);
    c.cfi = dw ? dwfl_module_dwarf_cfi(r->mod, &c.bias) : NULL;
    if (c.cfi) {
        fdes_list(r, dwarf_getelf(dw), false, &c.fdes);
        read_section(&c);
    }
    merge(r, &eh, &c.rows);
}
