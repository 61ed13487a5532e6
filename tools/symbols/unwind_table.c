/* SPDX-License-Identifier: MIT */
/*
 * Reads unwind tables; see unwind_table.h.  They are found by the program headers, and read
 * where they are loaded, so that section headers are needed only where there is no search
 * table.
 *
 * Every read is checked against the segment that the address is in.  The number of
 * entries is bounded by the bytes that they take.
 */
#include "symbols/unwind_table.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "ctr.h"
#include "symfile_table_priv.h"

#define PT_ARM_UNWIND                                                                    \
    0x70000001u /* PT_ARM_EXIDX; others use the number for other things */

/* The encodings of pointers (DW_EH_PE_*) that linkers write in .eh_frame_hdr. */
#define ENC_UDATA4 0x03u
#define ENC_SDATA4 0x0bu
#define ENC_SIGNED 0x08u
#define ENC_PCREL 0x10u
#define ENC_DATAREL 0x30u
#define ENC_OMIT 0xffu

/* Bytes of the smallest frame description: length, CIE, address and size. */
#define FDE_LEAST 16u

/* Bytes at the start of a CIE that are read; its augmentation is in some 30. */
#define CIE_MOST 64u

struct elf {
    const struct symfile *file;
    bool big, is64;
};

/* A table in memory. */
struct table {
    const uint8_t *p;
    size_t n;
    uint64_t addr;
};

static uint64_t number(const struct elf *e, const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++) {
        v = v << 8 | p[e->big ? i : bytes - 1 - i];
    }
    return v;
}

/* The number at vaddr; false if the file has no such bytes. */
static bool number_at(const struct elf *e, uint64_t vaddr, unsigned bytes, uint64_t *v)
{
    size_t n;
    const uint8_t *p = symfile_bytes(e->file, vaddr, &n);

    if (!p || n < bytes) {
        return false;
    }
    *v = number(e, p, bytes);
    return true;
}

/* The file's header; NULL if it is not loaded. */
static const uint8_t *header(const struct elf *e, size_t *n)
{
    uint64_t vaddr;
    const uint8_t *p =
        symfile_vaddr(e->file, 0, &vaddr) ? symfile_bytes(e->file, vaddr, n) : NULL;

    return p && *n >= sizeof(Elf64_Ehdr) ? p : NULL;
}

static struct elf open_elf(const struct symfile *f, struct symfile_info *info)
{
    symfile_info(f, info);
    return (struct elf){f, info->big_endian, info->addr_bits == 64};
}

uint64_t unwind_entry(const struct symfile *f)
{
    struct symfile_info info;
    const struct elf e = open_elf(f, &info);
    size_t n;
    const uint8_t *h = header(&e, &n);

    return h ? number(&e, h + 24, e.is64 ? 8 : 4) : 0; /* e_entry */
}

/* Finds the segment of a type by the program headers. */
static bool find_segment(const struct elf *e, uint32_t type, struct table *t)
{
    size_t n, have;
    const uint8_t *h = header(e, &n), *p;
    unsigned entry = e->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    unsigned word = e->is64 ? 8 : 4;
    uint64_t at, count, vaddr, size;

    if (!h) {
        return false;
    }
    at = number(e, h + (e->is64 ? 32 : 28), word);
    count = number(e, h + (e->is64 ? 56 : 44), 2);
    if (number(e, h + (e->is64 ? 54 : 42), 2) != entry ||
        !symfile_vaddr(e->file, at, &vaddr)) {
        return false;
    }
    h = symfile_bytes(e->file, vaddr, &n);
    for (uint64_t i = 0; h && i < count && (i + 1) * entry <= n; i++) {
        p = h + i * entry;
        if (number(e, p, 4) != type) {
            continue;
        }
        t->addr = number(e, p + (e->is64 ? 16 : 8), word);
        size = number(e, p + (e->is64 ? 32 : 16), word);
        t->p = symfile_bytes(e->file, t->addr, &have);
        t->n = have < size ? have : (size_t)size;
        return t->p != NULL;
    }
    return false;
}

/* A field of the ELF header; the other is that of 32-bit files. */
static uint64_t header_field(const struct elf *e, unsigned at64, unsigned at32,
                             unsigned bytes)
{
    return symfile_number(e->file, e->is64 ? at64 : at32, bytes);
}

/* Finds a section that is loaded by its name. */
static bool find_section(const struct elf *e, const char *name, struct table *t)
{
    unsigned word = e->is64 ? 8 : 4;
    uint64_t at = header_field(e, 40, 32, word), bytes = header_field(e, 58, 46, 2);
    uint64_t count = header_field(e, 60, 48, 2), names = header_field(e, 62, 50, 2), size;
    size_t have;

    names = symfile_number(e->file, at + names * bytes + (e->is64 ? 24 : 16), word);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t s = at + i * bytes, text = names + symfile_number(e->file, s, 4);
        size_t k = 0;

        while (symfile_number(e->file, text + k, 1) == (uint8_t)name[k] && name[k]) {
            k++;
        }
        if (name[k] || symfile_number(e->file, text + k, 1)) {
            continue;
        }
        t->addr = symfile_number(e->file, s + (e->is64 ? 16 : 12), word);
        size = symfile_number(e->file, s + (e->is64 ? 32 : 20), word);
        t->p = symfile_bytes(e->file, t->addr, &have);
        t->n = have < size ? have : (size_t)size;
        return t->p != NULL;
    }
    return false;
}

/* ------------------------------------------------------------------ .eh_frame */

/* A number in LEB128, of which only the end matters; false: it has none. */
static bool skip_leb(const uint8_t **p, const uint8_t *end)
{
    while (*p < end && **p & 0x80) {
        ++*p;
    }
    return (*p)++ < end;
}

/* Bytes of a pointer of that encoding; 0: they are not fixed. */
static unsigned encoded_bytes(const struct elf *e, uint8_t encoding)
{
    static const uint8_t bytes[8] = {0, 0, 2, 4, 8, 0, 0, 0};

    return (encoding & 7) == 0 ? (e->is64 ? 8 : 4) : bytes[encoding & 7];
}

/* The encoding of the addresses in frame descriptions that refer to a CIE; ENC_OMIT: not
 * known. */
static uint8_t cie_encoding(const struct elf *e, uint64_t vaddr)
{
    size_t n;
    const uint8_t *p = symfile_bytes(e->file, vaddr, &n), *end, *augmentation;
    unsigned version, skip;

    if (!p || n < 16) {
        return ENC_OMIT;
    }
    end = p + (n < CIE_MOST ? n : CIE_MOST);
    version = p[8]; /* after length and id */
    augmentation = p + 9;
    for (p = augmentation; p < end && *p; p++) {
    }
    p++;
    if (augmentation[0] != 'z') {
        return augmentation[0] ? ENC_OMIT : 0;
    }
    /* alignments of code and data, the return address, the augmentation's length */
    if (!skip_leb(&p, end) || !skip_leb(&p, end) ||
        !(version == 1 ? p++ < end : skip_leb(&p, end)) || !skip_leb(&p, end)) {
        return ENC_OMIT;
    }
    for (const uint8_t *a = augmentation + 1; a < end && *a && p < end; a++) {
        switch (*a) {
        case 'R':
            return *p;
        case 'L':
            p++;
            break;
        case 'P':
            skip = encoded_bytes(e, *p);
            if (!skip || (size_t)(end - p) <= skip) {
                return ENC_OMIT;
            }
            p += 1 + skip;
            break;
        case 'S':
        case 'B':
            break;
        default:
            return ENC_OMIT;
        }
    }
    return 0;
}

/* The function that a frame description is for; false: not known. */
static bool read_frame(const struct elf *e, uint64_t vaddr, struct unwind_function *out)
{
    uint64_t length, to_cie, size;
    uint8_t encoding;
    unsigned bytes;

    if (!number_at(e, vaddr, 4, &length) || length == UINT32_MAX ||
        !number_at(e, vaddr + 4, 4, &to_cie) || !to_cie) {
        return false;
    }
    encoding = cie_encoding(e, vaddr + 4 - to_cie);
    bytes = encoding == ENC_OMIT ? 0 : encoded_bytes(e, encoding);
    if (!bytes || !number_at(e, vaddr + 8, bytes, &out->addr) ||
        !number_at(e, vaddr + 8 + bytes, bytes, &size)) {
        return false;
    }
    if (encoding & ENC_SIGNED && bytes < 8) {
        uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
        out->addr = (out->addr ^ sign) - sign;
    }
    if ((encoding & 0x70) == ENC_PCREL) {
        out->addr += vaddr + 8;
    } else if (encoding & 0xf0) {
        return false;
    }
    out->addr = e->is64 ? out->addr : out->addr & UINT32_MAX;
    out->end = out->addr + size > out->addr ? out->addr + size : 0;
    return true;
}

/* The frame descriptions one after the other: a static program has no search table. */
static int read_section(const struct elf *e, const struct table *t,
                        struct unwind_function **v, size_t *n)
{
    *v = malloc((t->n / FDE_LEAST + 1) * sizeof(**v));
    if (!*v) {
        return -CTR_E_NOMEM;
    }
    for (size_t at = 0; t->n - at >= FDE_LEAST;) {
        uint64_t length = number(e, t->p + at, 4);

        if (!length || length > t->n - at - 4) {
            break;
        }
        *n += read_frame(e, t->addr + at, &(*v)[*n]);
        at += 4 + (length < FDE_LEAST - 4 ? FDE_LEAST - 4 : length);
        if (at > t->n) {
            break;
        }
    }
    return 0;
}

static uint64_t relative(const struct elf *e, const struct table *t, const uint8_t *p)
{
    uint64_t v = t->addr + (uint64_t)(int64_t)(int32_t)(uint32_t)number(e, p, 4);

    return e->is64 ? v : v & UINT32_MAX;
}

static int read_frames(const struct elf *e, const struct table *t,
                       struct unwind_function **v, size_t *n)
{
    unsigned skip = t->n >= 12 ? encoded_bytes(e, t->p[1]) : 0;
    const uint8_t *p;
    uint64_t count;

    if (!skip || t->p[0] != 1 || t->p[2] != ENC_UDATA4 ||
        t->p[3] != (ENC_DATAREL | ENC_SDATA4) || t->n < 8 + skip) {
        return 0;
    }
    p = t->p + 4 + skip;
    count = number(e, p, 4);
    p += 4;
    if (count > (t->n - 8 - skip) / 8) {
        count = (t->n - 8 - skip) / 8;
    }
    *v = malloc((size_t)(count + 1) * sizeof(**v));
    if (!*v) {
        return -CTR_E_NOMEM;
    }
    for (uint64_t i = 0; i < count; i++, p += 8) {
        struct unwind_function *u = &(*v)[(*n)++];
        uint64_t addr = relative(e, t, p);

        if (!read_frame(e, relative(e, t, p + 4), u) || u->addr != addr) {
            *u = (struct unwind_function){addr, 0};
        }
    }
    return 0;
}

/* ----------------------------------------------------------------- .ARM.exidx */

/* Two words for each function; the first is its address, relative to the word, 31 bits. */
static int read_exidx(const struct elf *e, const struct table *t,
                      struct unwind_function **v, size_t *n)
{
    *v = malloc((t->n / 8 + 1) * sizeof(**v));
    if (!*v) {
        return -CTR_E_NOMEM;
    }
    for (size_t i = 0; i + 8 <= t->n; i += 8) {
        uint64_t word = number(e, t->p + i, 4);
        uint64_t off = (word & 0x3fffffff) - (word & 0x40000000);

        (*v)[(*n)++] = (struct unwind_function){(t->addr + i + off) & 0xfffffffe, 0};
    }
    return 0;
}

/* -------------------------------------------------------------------- result */

static int by_addr(const void *va, const void *vb)
{
    const struct unwind_function *a = va, *b = vb;

    if (a->addr != b->addr) {
        return a->addr < b->addr ? -1 : 1;
    }
    return (a->end < b->end) - (a->end > b->end);
}

int unwind_functions(const struct symfile *f, struct unwind_function **v, size_t *n)
{
    struct symfile_info info;
    const struct elf e = open_elf(f, &info);
    struct table t;
    size_t once = 0;
    int ret = 0;

    *v = NULL;
    *n = 0;
    if (info.machine == EM_ARM && find_segment(&e, PT_ARM_UNWIND, &t)) {
        ret = read_exidx(&e, &t, v, n);
    } else if (find_segment(&e, PT_GNU_EH_FRAME, &t)) {
        ret = read_frames(&e, &t, v, n);
    } else if (find_section(&e, ".eh_frame", &t)) {
        ret = read_section(&e, &t, v, n);
    }
    if (*n) {
        qsort(*v, *n, sizeof(**v), by_addr);
    }
    for (size_t i = 0; i < *n; i++) {
        if (!once || (*v)[once - 1].addr != (*v)[i].addr) {
            (*v)[once++] = (*v)[i];
        }
    }
    *n = once;
    return ret;
}
