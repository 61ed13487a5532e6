/* SPDX-License-Identifier: MIT */
/* The tables of headers of an ELF file, and its sections, without elfutils. */
#ifndef TOOLS_SYMFILE_SECTIONS_H
#define TOOLS_SYMFILE_SECTIONS_H

#include "symfile_table_priv.h"

/* A table of headers in the file: n entries of `size' bytes at `off'; n is 0 if it is not
 * all in the file. */
struct header_table {
    uint64_t off, size, n;
};

/* If the number of sections does not fit its field, section 0 has it. */
struct header_table symfile_section_table(const struct symfile *f);
struct header_table symfile_program_table(const struct symfile *f);

struct elf_section {
    uint64_t name; /* offset in the section of names */
    uint64_t type, flags, addr, offset, bytes, info, align;
};
struct elf_section symfile_section(const struct symfile *f, const struct header_table *t,
                                   uint64_t i);
/* Whether a section's name begins with `prefix'. */
bool symfile_section_is(const struct symfile *f, const struct header_table *t,
                        const struct elf_section *s, const char *prefix);

/* Of an object: each of them is looked at in turn. */
#define SYMFILE_MAX_SECTIONS 10000u

/* symfile_layout.c: lays out the sections of a relocatable object, as segments of f; false:
 * no memory.  Those that are not in the file are left out. */
bool symfile_lay_out(struct symfile *f);

/* symfile_relocs.c: reads where the code of an object that was laid out has relocations; false:
 * no memory. */
bool symfile_read_relocs(struct symfile *f);

#endif
