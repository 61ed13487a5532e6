/* SPDX-License-Identifier: MIT */
/*
 * Runs the line number program of a unit (.debug_line of DWARF 2 to 5), row by row. libdw
 * does too, but sorts the rows of all sequences of a unit by address: then a sequence of
 * a function that the linker discarded (at address 0) mixes with others, and a row
 * without length before the end of a sequence seems to extend to the next.  Here
 * sequences are kept separate.  libdw reads the tables of file names.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_reader_priv.h"

/* The bytes left to read; `shorter': a read went past the end. */
struct bytes {
    const uint8_t *p, *end;
    bool big, shorter;
};

static uint64_t fixed(struct bytes *b, unsigned n)
{
    uint64_t v = 0;
    if ((size_t)(b->end - b->p) < n) {
        b->shorter = true;
        b->p = b->end;
        return 0;
    }
    for (unsigned i = 0; i < n; i++) {
        v |= (uint64_t)b->p[i] << (b->big ? 8 * (n - 1 - i) : 8 * i);
    }
    b->p += n;
    return v;
}

static uint64_t leb128(struct bytes *b, bool is_signed)
{
    uint64_t v = 0, byte;
    unsigned shift = 0;
    do {
        byte = fixed(b, 1);
        if (shift < 64) {
            v |= (byte & 0x7f) << shift;
        }
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && byte & 0x40) {
        v |= ~UINT64_C(0) << shift;
    }
    return v;
}

struct program {
    struct bytes b;
    unsigned version, min_bytes, max_ops, line_range, opcode_base;
    int line_base;
    bool default_stmt;
    uint8_t operands[256];
};

static bool read_header(struct program *p)
{
    struct bytes *b = &p->b;
    unsigned w = 4;
    uint64_t length = fixed(b, 4);
    if (length == 0xffffffff) {
        w = 8;
        length = fixed(b, 8);
    }
    if (length > (uint64_t)(b->end - b->p)) {
        return false;
    }
    b->end = b->p + length;
    p->version = (unsigned)fixed(b, 2);
    if (p->version >= 5) {
        fixed(b, 2); /* sizes of addresses and segment selectors */
    }
    uint64_t header = fixed(b, w);
    if (p->version < 2 || p->version > 5 || header > (uint64_t)(b->end - b->p)) {
        return false;
    }
    const uint8_t *start = b->p + header;
    p->min_bytes = (unsigned)fixed(b, 1);
    p->max_ops = p->version >= 4 ? (unsigned)fixed(b, 1) : 1;
    p->default_stmt = fixed(b, 1) != 0;
    p->line_base = (int8_t)fixed(b, 1);
    p->line_range = (unsigned)fixed(b, 1);
    p->opcode_base = (unsigned)fixed(b, 1);
    for (unsigned i = 1; i < p->opcode_base; i++) {
        p->operands[i] = (uint8_t)fixed(b, 1);
    }
    if (b->shorter || p->line_range == 0 || p->max_ops == 0 || p->opcode_base == 0) {
        return false;
    }
    b->p = start;
    return true;
}

struct machine {
    struct line_row row;
    uint64_t op; /* within the instruction, of machines with several in one */
};

static void restart(const struct program *p, struct machine *m)
{
    *m = (struct machine){.row = {.file = 1, .line = 1, .stmt = p->default_stmt}};
}

static void advance(const struct program *p, struct machine *m, uint64_t ops)
{
    uint64_t sum = m->op + ops;
    m->row.addr += p->min_bytes * (sum / p->max_ops);
    m->op = sum % p->max_ops;
}

/* Runs a standard opcode; returns whether it makes a row. */
static bool standard(struct program *p, struct machine *m, unsigned op)
{
    struct bytes *b = &p->b;
    switch (op) {
    case DW_LNS_copy:
        return true;
    case DW_LNS_advance_pc:
        advance(p, m, leb128(b, false));
        break;
    case DW_LNS_advance_line:
        m->row.line += (uint32_t)leb128(b, true);
        break;
    case DW_LNS_set_file:
        m->row.file = leb128(b, false);
        break;
    case DW_LNS_set_column:
        m->row.column = (uint32_t)leb128(b, false);
        break;
    case DW_LNS_negate_stmt:
        m->row.stmt = !m->row.stmt;
        break;
    case DW_LNS_const_add_pc:
        advance(p, m, (255 - p->opcode_base) / p->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        m->row.addr += fixed(b, 2);
        m->op = 0;
        break;
    default:
        for (unsigned i = 0; i < p->operands[op]; i++) {
            leb128(b, false);
        }
    }
    return false;
}

/* Runs an extended opcode; returns whether it ends the sequence. */
static bool extended(struct program *p, struct machine *m)
{
    struct bytes *b = &p->b;
    uint64_t n = leb128(b, false);
    if (n == 0 || n > (uint64_t)(b->end - b->p)) {
        b->shorter |= n != 0;
        return false;
    }
    const uint8_t *next = b->p + n;
    unsigned op = (unsigned)fixed(b, 1);
    if (op == DW_LNE_set_address && n - 1 <= 8) {
        m->row.addr = fixed(b, (unsigned)n - 1);
        m->op = 0;
    }
    b->p = next;
    return op == DW_LNE_end_sequence;
}

bool read_line_program(struct reader *r, const struct line_section *s, uint64_t off,
                       void (*sequence)(void *arg, const struct line_row *rows, size_t n,
                                        uint64_t end),
                       void *arg)
{
    struct program p = {.b = {s->p + off, s->p + s->n, s->big, false}};
    struct symvec rows = {0};
    struct machine m;
    if (off >= s->n || !read_header(&p)) {
        return false;
    }
    restart(&p, &m);
    while (p.b.p < p.b.end && !p.b.shorter) {
        unsigned op = (unsigned)fixed(&p.b, 1);
        bool row = false;
        if (op >= p.opcode_base) {
            unsigned special = op - p.opcode_base;
            advance(&p, &m, special / p.line_range);
            m.row.line += (uint32_t)(p.line_base + (int)(special % p.line_range));
            row = true;
        } else if (op == 0) {
            if (extended(&p, &m)) {
                sequence(arg, rows.p, rows.n, m.row.addr);
                rows.n = 0;
                restart(&p, &m);
            }
        } else {
            row = standard(&p, &m, op);
        }
        if (row) {
            *(struct line_row *)vec_push(r, &rows, sizeof(struct line_row)) = m.row;
        }
    }
    free(rows.p);
    return !p.b.shorter;
}

bool find_line_section(Elf *elf, struct line_section *s)
{
    size_t shstrndx = 0;
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;
    GElf_Ehdr eh;
    elf_getshdrstrndx(elf, &shstrndx);
    while (gelf_getehdr(elf, &eh) && (scn = elf_nextscn(elf, scn)) != NULL) {
        const char *name = NULL;
        if (gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NOBITS) {
            name = elf_strptr(elf, shstrndx, sh.sh_name);
        }
        /* libdw has already decompressed it */
        if (name &&
            (strcmp(name, ".debug_line") == 0 || strcmp(name, ".zdebug_line") == 0)) {
            Elf_Data *data = elf_getdata(scn, NULL);
            s->p = data ? data->d_buf : NULL;
            s->n = data && data->d_buf ? data->d_size : 0;
            s->big = eh.e_ident[EI_DATA] == ELFDATA2MSB;
            return s->n != 0;
        }
    }
    return false;
}
