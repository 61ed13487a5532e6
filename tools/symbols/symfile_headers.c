/* SPDX-License-Identifier: MIT */
/*
 * What the headers of an ELF file alone have: its executable sections and build id, for
 * those who need addresses and no symbols.  This process reads them itself, so a file
 * costs no child.  Sections and build id are those that elfutils finds (symfile_code.c,
 * symfile_build.c): a file has the same addresses with and without SYMFILE_HEADERS.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "symfile_sections.h"
#include "symfile_table_priv.h"

/* --------------------------------------------------------------------- code */

struct code {
    struct sym_code *v;
    size_t n;
};

/* Only what has bytes in the file; there is room for it. */
static void add_code(const struct symfile *f, struct code *c, uint64_t addr,
                     uint64_t bytes)
{
    size_t have;
    if (symfile_bytes(f, addr, &have) && bytes > have) {
        bytes = have;
    }
    if (have && bytes && addr + bytes > addr) {
        c->v[c->n++] = (struct sym_code){addr, addr + bytes, NULL};
    }
}

/* Executable sections, or segments if there are none; false: no memory. */
static bool find_code(const struct symfile *f, const struct header_table *sections,
                      struct code *c)
{
    c->v = calloc(sections->n + f->nr_segments + 1, sizeof(*c->v));
    for (uint64_t i = 1; c->v && f->type != ET_REL && i < sections->n; i++) {
        struct elf_section s = symfile_section(f, sections, i);
        if (s.type == SHT_PROGBITS && s.flags & SHF_EXECINSTR && s.flags & SHF_ALLOC) {
            add_code(f, c, s.addr, s.bytes);
        }
    }
    const bool none = c->n == 0;
    for (uint32_t i = 0; c->v && none && i < f->nr_segments; i++) {
        if (f->segments[i].flags & PF_X) {
            add_code(f, c, f->segments[i].vaddr, f->segments[i].filesz);
        }
    }
    if (c->v) {
        c->n = symfile_order_code(c->v, c->n);
    }
    return c->v != NULL;
}

/* ----------------------------------------------------------------- build id */

/* Finds the build id among the notes in a part of the file; false: it is not there. */
static bool find_note(const struct symfile *f, uint64_t off, uint64_t bytes,
                      uint64_t align, struct table_header *h)
{
    uint64_t pad = align == 8 ? 7 : 3;
    if (off > f->map_bytes || bytes > f->map_bytes - off) {
        return false;
    }
    for (uint64_t at = off, end = off + bytes; end - at >= 12;) {
        uint64_t name = symfile_number(f, at, 4), desc = symfile_number(f, at + 4, 4);
        uint64_t where = (12 + name + pad) & ~pad, next = (where + desc + pad) & ~pad;
        if (where + desc > end - at) {
            break;
        }
        if (symfile_number(f, at + 8, 4) == NT_GNU_BUILD_ID && name == 4 && desc &&
            memcmp(f->map + at + 12, "GNU", 4) == 0) {
            if (desc <= sizeof(h->build_id)) {
                h->build_id_bytes = (uint8_t)desc;
                memcpy(h->build_id, f->map + at + where, desc);
            }
            return true;
        }
        if (next >= end - at) {
            break;
        }
        at += next;
    }
    return false;
}

/* In sections of notes; in segments if there are no sections. */
static void find_build_id(const struct symfile *f, const struct header_table *sections,
                          struct table_header *h)
{
    struct header_table t = symfile_program_table(f);
    bool w = f->is64;
    for (uint64_t i = 1; i < sections->n; i++) {
        struct elf_section s = symfile_section(f, sections, i);
        if (s.type == SHT_NOTE && find_note(f, s.offset, s.bytes, s.align, h)) {
            return;
        }
    }
    for (uint64_t i = 0; sections->n <= 1 && i < t.n; i++) {
        uint64_t at = t.off + i * t.size;
        if (symfile_number(f, at, 4) == PT_NOTE &&
            find_note(f, symfile_number(f, at + (w ? 8 : 4), w ? 8 : 4),
                      symfile_number(f, at + (w ? 32 : 16), w ? 8 : 4),
                      symfile_number(f, at + (w ? 48 : 28), w ? 8 : 4), h)) {
            return;
        }
    }
}

/* -------------------------------------------------------------------- table */

#define ALIGNED(n) (((n) + 15) & ~(size_t)15)

bool symfile_read_headers(struct symfile *f)
{
    struct header_table sections = symfile_section_table(f);
    struct code c = {0};
    if (!find_code(f, &sections, &c)) {
        return false;
    }
    size_t head = ALIGNED(sizeof(struct table_header)), bytes = c.n * sizeof(*c.v);
    size_t total = head + ALIGNED(bytes) + 1;
    void *p =
        mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        free(c.v);
        return false;
    }
    struct table_header *h = p;
    *h = (struct table_header){.magic = TABLE_MAGIC, .finished = 1, .total = total};
    for (unsigned i = 0; i < PARTS; i++) {
        h->part[i].off = head;
    }
    h->part[PART_CODE].n = c.n;
    h->part[PART_STRINGS].off = head + ALIGNED(bytes);
    h->part[PART_STRINGS].n = 1; /* "", which is the name of all code */
    memcpy((char *)p + head, c.v, bytes);
    free(c.v);
    find_build_id(f, &sections, h);
    f->table = h;
    f->table_bytes = total;
    return symfile_check_table(f);
}
