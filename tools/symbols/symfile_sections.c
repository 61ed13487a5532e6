/* SPDX-License-Identifier: MIT */
/* The tables of headers of an ELF file, read from its mapping. */
#include "symfile_sections.h"

#include <elf.h>
#include <string.h>

static struct header_table bounded(const struct symfile *f, struct header_table t,
                                   unsigned least)
{
    if (t.size < least || t.off > f->map_bytes || t.n > (f->map_bytes - t.off) / t.size) {
        t.n = 0;
    }
    return t;
}

struct header_table symfile_section_table(const struct symfile *f)
{
    bool w = f->is64;
    struct header_table t = {symfile_number(f, w ? 40 : 32, w ? 8 : 4),
                             symfile_number(f, w ? 58 : 46, 2),
                             symfile_number(f, w ? 60 : 48, 2)};
    if (t.off && t.n == 0) {
        t.n = symfile_number(f, t.off + (w ? 32 : 20), w ? 8 : 4);
    }
    return bounded(f, t, w ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
}

struct header_table symfile_program_table(const struct symfile *f)
{
    bool w = f->is64;
    struct header_table t = {symfile_number(f, w ? 32 : 28, w ? 8 : 4),
                             symfile_number(f, w ? 54 : 42, 2),
                             symfile_number(f, w ? 56 : 44, 2)};
    return bounded(f, t, w ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
}

struct elf_section symfile_section(const struct symfile *f, const struct header_table *t,
                                   uint64_t i)
{
    uint64_t at = t->off + i * t->size;
    bool w = f->is64;
    return (struct elf_section){
        .name = symfile_number(f, at, 4),
        .type = symfile_number(f, at + 4, 4),
        .flags = symfile_number(f, at + 8, w ? 8 : 4),
        .addr = symfile_number(f, at + (w ? 16 : 12), w ? 8 : 4),
        .offset = symfile_number(f, at + (w ? 24 : 16), w ? 8 : 4),
        .bytes = symfile_number(f, at + (w ? 32 : 20), w ? 8 : 4),
        .info = symfile_number(f, at + (w ? 44 : 28), 4),
        .align = symfile_number(f, at + (w ? 48 : 32), w ? 8 : 4)};
}

bool symfile_section_is(const struct symfile *f, const struct header_table *t,
                        const struct elf_section *s, const char *prefix)
{
    uint64_t names = symfile_number(f, f->is64 ? 62 : 50, 2);
    size_t n = strlen(prefix);
    struct elf_section v;

    if (names == SHN_XINDEX) { /* section 0 has it */
        names = symfile_number(f, t->off + (f->is64 ? 40 : 24), 4);
    }
    if (names >= t->n) {
        return false;
    }
    v = symfile_section(f, t, names);
    return v.offset <= f->map_bytes && s->name <= f->map_bytes - v.offset &&
           n <= f->map_bytes - v.offset - s->name &&
           !memcmp(f->map + v.offset + s->name, prefix, n);
}
