/* SPDX-License-Identifier: MIT */
/*
 * Reads call frame information, in the child: .eh_frame of the file, then .debug_frame
 * for code that it does not describe.  libdw runs the programs; the entries are listed
 * here, because it finds one only by an address in it.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_reader_priv.h"

#define MAX_REGISTERS 128
#define ARM_VFP 256 /* D0 to D31 */
#define MAX_ROWS 20000000

/*
 * libdw (before 0.190) runs no rules of MIPS, of which it does not know what holds where no rule
 * is given.  It gets a copy of the file that says RISC-V: the programs are the same, and of what
 * holds there only the stack pointer's rule is not MIPS', see add_rules.
 */
struct stand_in {
    void *image;
    Elf *elf;
    Dwarf *dwarf;
    Dwarf_CFI *eh;
};
#define STAND_IN_SP 2

struct frame_reader {
    struct reader *r;
    struct symvec starts; /* uint64_t */
    struct symhash sets;  /* rules with the same content, by hash */
    Dwarf_CFI *cfi;
    Dwarf_Addr bias;
    struct stand_in in; /* of the file that cfi is of */
    const uint8_t *e_ident;
    struct symvec rows; /* of this section */
};

/* ------------------------------------------------------------- where they begin */

struct section {
    Elf_Data *data;
    uint64_t addr;
    bool eh;
};

static uint64_t load(const struct frame_reader *c, const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++) {
        v |= (uint64_t)p[i] << (8 * (c->r->file->big_endian ? n - 1 - i : i));
    }
    return v;
}

/* The size of an encoded pointer of fixed size, 0 if it has another form. */
static unsigned pointer_bytes(const struct frame_reader *c, uint8_t encoding)
{
    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
        return c->r->file->is64 ? 8 : 4;
    case DW_EH_PE_udata2:
    case DW_EH_PE_sdata2:
        return 2;
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4:
        return 4;
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        return 8;
    default:
        return 0;
    }
}

/* The encoding of the addresses of a CIE's entries, from its augmentation. */
static uint8_t encoding_of(const struct frame_reader *c, const Dwarf_CIE *cie)
{
    const uint8_t *p = cie->augmentation_data;
    const uint8_t *end = p + cie->augmentation_data_size;
    if (!p || cie->augmentation[0] != 'z') {
        return DW_EH_PE_absptr;
    }
    for (const char *a = cie->augmentation + 1; *a; a++) {
        if (*a == 'R') {
            return p < end ? *p : DW_EH_PE_absptr;
        }
        if (*a == 'L') {
            p++;
        } else if (*a == 'P') {
            unsigned n = p < end ? pointer_bytes(c, *p) : 0;
            if (n == 0) {
                return DW_EH_PE_omit;
            }
            p += 1 + n;
        } else if (*a != 'S' && *a != 'B') {
            return DW_EH_PE_omit;
        }
    }
    return DW_EH_PE_absptr;
}

static void add_start(struct frame_reader *c, const struct section *s,
                      const Dwarf_FDE *fde)
{
    Dwarf_CFI_Entry entry;
    Dwarf_Off next;
    uint8_t encoding = DW_EH_PE_absptr;
    if (dwarf_next_cfi(c->e_ident, s->data, s->eh, (Dwarf_Off)fde->CIE_pointer, &next,
                       &entry) != 0 ||
        !dwarf_cfi_cie_p(&entry)) {
        return;
    }
    if (s->eh) {
        encoding = encoding_of(c, &entry.cie);
    }
    unsigned n = pointer_bytes(c, encoding);
    if (n == 0 || encoding == DW_EH_PE_omit || encoding & DW_EH_PE_indirect ||
        fde->end < fde->start || (size_t)(fde->end - fde->start) < n) {
        return;
    }
    uint64_t v = load(c, fde->start, n);
    if (encoding & 0x08 && n < 8) {
        uint64_t sign = UINT64_C(1) << (8 * n - 1);
        v = (v ^ sign) - sign;
    }
    if ((encoding & 0x70) == DW_EH_PE_pcrel) {
        v += s->addr + (uint64_t)(fde->start - (const uint8_t *)s->data->d_buf);
    } else if ((encoding & 0x70) != DW_EH_PE_absptr) {
        return;
    }
    v = c->r->file->is64 ? v : (uint32_t)v;
    *(uint64_t *)vec_push(c->r, &c->starts, sizeof(uint64_t)) = v;
}

static bool find_section(Elf *elf, const char *name, struct section *s)
{
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0) {
        return false;
    }
    while ((scn = elf_nextscn(elf, scn)) != NULL) {
        const char *have;
        if (gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NOBITS &&
            (have = elf_strptr(elf, names, sh.sh_name)) && strcmp(have, name) == 0) {
            if (sh.sh_flags & SHF_COMPRESSED) {
                elf_compress(scn, 0, 0);
            }
            s->data = elf_rawdata(scn, NULL);
            s->addr = sh.sh_addr;
            return s->data && s->data->d_buf;
        }
    }
    return false;
}

static int by_addr(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return (*a > *b) - (*a < *b);
}

static void list_starts(struct frame_reader *c, Elf *elf, bool eh)
{
    struct section s = {.eh = eh};
    Dwarf_CFI_Entry entry;
    Dwarf_Off off = 0, next;
    c->starts.n = 0;
    if (!find_section(elf, eh ? ".eh_frame" : ".debug_frame", &s)) {
        return;
    }
    /* A status of 1 is the end; a terminator has no content. */
    int status;
    while ((status = dwarf_next_cfi(c->e_ident, s.data, eh, off, &next, &entry)) == 0) {
        if (!dwarf_cfi_cie_p(&entry)) {
            add_start(c, &s, &entry.fde);
        }
        if (next <= off) {
            break;
        }
        off = next;
    }
    if (c->starts.n > 1) {
        qsort(c->starts.p, c->starts.n, sizeof(uint64_t), by_addr);
    }
}

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
        if (reg == STAND_IN_SP && c->in.elf) {
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
    const uint64_t *start = c->starts.p;
    uint64_t covered = 0;
    for (size_t i = 0; i < c->starts.n && c->rows.n < MAX_ROWS; i++) {
        uint64_t pc = start[i] + c->bias;
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

static void stand_in_fini(struct stand_in *in)
{
    dwarf_cfi_end(in->eh);
    dwarf_end(in->dwarf);
    elf_end(in->elf);
    free(in->image);
    *in = (struct stand_in){0};
}

static void stand_in_init(struct frame_reader *c, Elf *of)
{
    struct stand_in *in = &c->in;
    size_t n;
    const char *p = elf_rawfile(of, &n);
    const size_t at = offsetof(Elf32_Ehdr, e_machine); /* in both classes */

    stand_in_fini(in);
    in->image = p && n > at + 2 ? malloc(n) : NULL;
    if (!in->image) {
        return;
    }
    memcpy(in->image, p, n);
    ((uint8_t *)in->image)[at + c->r->file->big_endian] = EM_RISCV;
    ((uint8_t *)in->image)[at + !c->r->file->big_endian] = 0;
    in->elf = elf_memory(in->image, n);
    in->eh = in->elf ? dwarf_getcfi_elf(in->elf) : NULL;
    in->dwarf = in->elf ? dwarf_begin_elf(in->elf, DWARF_C_READ, NULL) : NULL;
    c->bias = 0;
}

void read_frames(struct reader *r)
{
    struct frame_reader c = {.r = r};
    const bool foreign = r->file->machine == EM_MIPS;
    struct symvec eh = {0};
    Dwarf_Addr bias;
    GElf_Addr elf_bias;
    c.e_ident = (const uint8_t *)elf_getident(r->elf, NULL);
    c.cfi = dwfl_module_eh_cfi(r->mod, &c.bias);
    if (c.cfi && foreign) {
        stand_in_init(&c, r->elf);
        c.cfi = c.in.eh;
    }
    if (c.cfi && c.e_ident && dwfl_module_getelf(r->mod, &elf_bias)) {
        list_starts(&c, r->elf, true);
        read_section(&c);
    }
    eh = c.rows;
    c.rows = (struct symvec){0};
    Dwarf *dw = dwfl_module_getdwarf(r->mod, &bias);
    c.cfi = dw ? dwfl_module_dwarf_cfi(r->mod, &c.bias) : NULL;
    if (c.cfi && foreign) {
        stand_in_init(&c, dwarf_getelf(dw));
        c.cfi = c.in.dwarf ? dwarf_getcfi(c.in.dwarf) : NULL;
    }
    if (c.cfi && c.e_ident) {
        list_starts(&c, dwarf_getelf(dw), false);
        read_section(&c);
    }
    merge(r, &eh, &c.rows);
    stand_in_fini(&c.in);
}
