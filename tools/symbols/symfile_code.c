/* SPDX-License-Identifier: MIT */
/*
 * The addresses of code in an ELF file: executable sections, or segments if there are no
 * sections.  All other readers reject addresses outside of them.
 */
#include <stdlib.h>
#include "symfile_reader_priv.h"

static int code_by_addr(const void *pa, const void *pb)
{
    const struct sym_code *a = pa, *b = pb;
    return (a->addr > b->addr) - (a->addr < b->addr);
}

size_t symfile_order_code(struct sym_code *v, size_t nr)
{
    size_t n = 0;
    uint64_t last = 0;
    if (nr > 1) {
        qsort(v, nr, sizeof(*v), code_by_addr);
    }
    for (size_t i = 0; i < nr; i++) { /* overlapping sections are cut */
        if (v[i].addr < last) {
            v[i].addr = last;
        }
        if (v[i].addr < v[i].end) {
            last = v[i].end;
            v[n++] = v[i];
        }
    }
    return n;
}

/* Only sections with bytes in the file, so that the file's size bounds the work. */
static void add_code(struct reader *r, uint64_t addr, uint64_t size, const char *name)
{
    size_t have;
    if (symfile_bytes(r->file, addr, &have) && size > have) {
        size = have;
    }
    if (have && size && addr + size > addr) {
        struct sym_code *c = vec_push(r, &r->code, sizeof(*c));
        c->addr = addr;
        c->end = addr + size;
        c->name = STRING_PTR(string_add(r, name));
    }
}

void read_code(struct reader *r)
{
    size_t shstrndx = 0;
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;
    elf_getshdrstrndx(r->elf, &shstrndx);
    while ((scn = elf_nextscn(r->elf, scn)) != NULL) {
        if (gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_EXECINSTR &&
            sh.sh_flags & SHF_ALLOC && sh.sh_type == SHT_PROGBITS) {
            const char *name = elf_strptr(r->elf, shstrndx, sh.sh_name);
            add_code(r, sh.sh_addr, sh.sh_size, name ? name : "");
        }
    }
    const bool none = r->code.n == 0;
    for (uint32_t i = 0; none && i < r->file->nr_segments; i++) {
        const struct segment *s = &r->file->segments[i];
        if (s->flags & PF_X) {
            add_code(r, s->vaddr, s->filesz, "");
        }
    }
    r->code.n = symfile_order_code(r->code.p, r->code.n);
}

bool is_code_addr(const struct reader *r, uint64_t addr, uint64_t *end)
{
    const struct sym_code *v = r->code.p;
    size_t lo = 0, hi = r->code.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (v[mid].end <= addr) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == r->code.n || addr < v[lo].addr) {
        return false;
    }
    *end = v[lo].end;
    return true;
}
