/* SPDX-License-Identifier: MIT */
/*
 * Where functions without a symbol begin and end, in the child: compilers describe each
 * function to the unwinder by an entry of its own in .eh_frame, which strip(1) keeps.
 */
#include "symfile_reader_priv.h"

/* The first function that ends after addr, by index. */
static size_t first_after(const struct reader *r, size_t i, uint64_t addr)
{
    const struct sym_function *fn = r->functions.p;
    while (i < r->functions.n && fn[i].end <= addr) {
        i++;
    }
    return i;
}

void read_extents(struct reader *r)
{
    struct symvec fdes = {0};
    const struct sym_function *fn = r->functions.p;
    struct sym_extent *last = NULL;
    size_t f = 0;
    if (r->has_symtab) {
        return;
    }
    fdes_list(r, r->elf, true, &fdes);
    for (size_t i = 0; i < fdes.n; i++) {
        const struct fde_span *fde = (struct fde_span *)fdes.p + i;
        uint64_t end;
        if (!is_code_addr(r, fde->addr, &end) || (last && last->addr == fde->addr)) {
            continue;
        }
        f = first_after(r, f, fde->addr);
        if (f < r->functions.n && fn[f].addr <= fde->addr) {
            continue; /* it has a symbol */
        }
        end = fde->end < end ? fde->end : end;
        end = f < r->functions.n && fn[f].addr < end ? fn[f].addr : end;
        if (end <= fde->addr) {
            continue;
        }
        if (last && last->end > fde->addr) {
            last->end = fde->addr;
        }
        last = vec_push(r, &r->extents, sizeof(*last));
        *last = (struct sym_extent){fde->addr, end};
    }
}
