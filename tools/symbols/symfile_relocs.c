/* SPDX-License-Identifier: MIT */
/* Which instructions of a relocatable object are filled in when it is loaded. */
#include <elf.h>
#include <stdlib.h>

#include "symfile_sections.h"

/* A relocation may be for this many bytes: two instructions of RISC-V, or the one after a call
 * of PowerPC. */
#define MAX_BYTES 8u

static int by_addr(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The segment that a section is, if it is code. */
static const struct segment *code_of(const struct symfile *f, uint64_t section)
{
    uint32_t low = 0, high = f->nr_segments;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (f->segments[mid].section < section) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < f->nr_segments && f->segments[low].section == section &&
                   f->segments[low].flags & PF_X
               ? &f->segments[low]
               : NULL;
}

bool symfile_read_relocs(struct symfile *f)
{
    const struct header_table t = symfile_section_table(f);
    const size_t word = f->is64 ? 8 : 4, most = f->map_bytes / (2 * word);

    f->filled_in = malloc((most + 1) * sizeof(*f->filled_in));
    for (uint64_t i = 1; f->filled_in && i < t.n; i++) {
        const struct elf_section s = symfile_section(f, &t, i);
        const struct segment *g = code_of(f, s.info);
        const size_t entry = (s.type == SHT_RELA ? 3 : 2) * word;

        if ((s.type != SHT_RELA && s.type != SHT_REL) || !g || s.offset > f->map_bytes ||
            s.bytes > f->map_bytes - s.offset) {
            continue;
        }
        for (uint64_t at = 0; at + entry <= s.bytes && f->nr_filled_in < most;
             at += entry) {
            uint64_t off = symfile_number(f, s.offset + at, (unsigned)word);
            if (off < g->filesz) {
                f->filled_in[f->nr_filled_in++] = g->vaddr + off;
            }
        }
    }
    if (f->nr_filled_in) {
        qsort(f->filled_in, f->nr_filled_in, sizeof(*f->filled_in), by_addr);
    }
    return f->filled_in != NULL;
}

bool symfile_is_filled_in(const struct symfile *f, uint64_t vaddr, size_t n)
{
    const uint64_t first = vaddr < MAX_BYTES ? 0 : vaddr - MAX_BYTES + 1;
    const uint64_t i = first ? symfile_upto(f->filled_in, sizeof(*f->filled_in),
                                            f->nr_filled_in, first - 1)
                             : 0;

    return i < f->nr_filled_in && f->filled_in[i] < vaddr + n;
}
