/* SPDX-License-Identifier: MIT */
/*
 * Relocatable objects, as modules of the Linux kernel are: where their sections are.
 *
 * In the file's own addresses sections follow one another as libdwfl lays them out
 * (dwfl_report_elf), which relocates the debug information to that.  In memory Linux puts
 * together what is code and not of the start (kernel/module/main.c, layout_sections).
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_sections.h"

/* How far libdwfl has come: once it has given a section an address after the first one, and
 * the first had none, it does so where padding is needed, else addresses are kept. */
struct layout {
    uint64_t end;
    uint64_t bias; /* the lowest address, if the first section has one, else 0 */
    bool begun;
};

static bool place(struct layout *l, const struct elf_section *s, uint64_t *addr)
{
    uint64_t align = s->align ? s->align : 1, next = (l->end + align - 1) & ~(align - 1);
    bool given = s->addr && (l->bias || l->end <= SYMFILE_OBJECT_BASE || l->end == next);

    if (align & (align - 1) || align > SYMFILE_OBJECT_BASE ||
        (given ? s->addr : next) > UINT64_MAX - s->bytes) {
        return false;
    }
    *addr = given ? s->addr : next;
    if (!given || !l->begun || l->end < s->addr + s->bytes) {
        l->end = *addr + s->bytes;
    }
    if (given && (!l->begun || l->bias > s->addr)) {
        l->bias = s->addr;
    }
    l->begun = true;
    return true;
}

/* The next place in the code of a module. */
static uint64_t in_module(uint64_t *end, const struct elf_section *s)
{
    uint64_t align = s->align ? s->align : 1;
    uint64_t at = (*end + align - 1) & ~(align - 1);

    *end = at + s->bytes;
    return at;
}

bool symfile_lay_out(struct symfile *f)
{
    const struct header_table t = symfile_section_table(f);
    struct layout l = {.end = SYMFILE_OBJECT_BASE};
    uint64_t end = 0;

    f->segments = calloc(t.n + 1, sizeof(*f->segments));
    for (uint64_t i = 1; f->segments && i < t.n; i++) {
        const struct elf_section s = symfile_section(f, &t, i);
        const bool bits = s.type != SHT_NOBITS && s.offset <= f->map_bytes &&
                          s.bytes <= f->map_bytes - s.offset;
        struct segment g = {.offset = s.offset,
                            .filesz = s.bytes,
                            .memsz = s.bytes,
                            .section = (uint32_t)i,
                            .in_module = SYMFILE_NOT_IN_MODULE};

        if (!(s.flags & SHF_ALLOC) || !place(&l, &s, &g.vaddr)) {
            continue;
        }
        g.flags = (s.flags & SHF_EXECINSTR ? PF_X : 0) | (s.flags & SHF_WRITE ? PF_W : 0);
        if (g.flags & PF_X && !symfile_section_is(f, &t, &s, ".init")) {
            g.in_module = in_module(&end, &s);
        }
        if (bits && s.bytes) {
            f->segments[f->nr_segments++] = g;
        }
    }
    return f->segments != NULL;
}
