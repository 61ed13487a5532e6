/* SPDX-License-Identifier: MIT */
/*
 * The tables that the ELF-reading child produces, as a child under a hostile file's
 * control could write them: queries on what symfile_check_table accepts must be safe.
 */
#include <string.h>
#include "fuzz.h"
#include "fuzz_symbols.h"
#include "symbols/symfile_table_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static char path[] = "table";
    static uint8_t byte;
    struct symfile f = {.path = path, .map = &byte, .map_bytes = 1, .table_bytes = n};
    void *p;
    if (n < sizeof(struct table_header) || posix_memalign(&p, 16, n) != 0) {
        return 0;
    }
    memcpy(p, data, n);
    f.table = p;
    if (symfile_check_table(&f)) {
        fuzz_query(&f);
    }
    free(p);
    return 0;
}

/* A small table with an item of every kind, as symfile_build.c writes it. */
uint8_t *fuzz_seed(unsigned i, size_t *n)
{
    enum { N = 4, BYTES = 4096 };
    uint8_t *p = calloc(1, BYTES);
    struct table_header h = {.magic = TABLE_MAGIC,
                             .finished = 1,
                             .has_symtab = 1,
                             .build_id_bytes = 20,
                             .nr_origins = N,
                             .total = BYTES};
    CHECK(p);
    uint64_t off = (sizeof(h) + 15) & ~UINT64_C(15);
    for (unsigned k = 0; k < PARTS; k++) {
        h.part[k].off = off;
        h.part[k].n = k == PART_STRINGS ? 64 : N + i % 3;
        off += (h.part[k].n * table_elem_bytes[k] + 15) & ~UINT64_C(15);
    }
    CHECK(off <= BYTES);
    memcpy(p, &h, sizeof(h));
    for (uint64_t k = 0; k < N + i % 3; k++) {
        const char *text = (const char *)(uintptr_t)(k * 7);
        uint64_t from = 0x1000 + 64 * k, to = from + 32 + 8 * (i % 4);
        struct sym_code c = {from, to, text};
        struct sym_function fn = {from, to, text, text, (uint8_t)k % 5, k & 1};
        struct sym_mark m = {from, 0, "atdx"[k % 4]};
        struct sym_range r = {
            from, to, (uint32_t)k, 10, 2, k ? (uint32_t)k - 1 : SYM_NONE, 1};
        struct sym_scope s = {.name = text,
                              .linkage = text,
                              .origin = (uint32_t)k % N,
                              .parent = k ? (uint32_t)k - 1 : SYM_NONE,
                              .decl_file = SYM_NONE,
                              .call_file = (uint32_t)k,
                              .entry = from};
        const void *v[PARTS] = {&c, &fn, &m, &r, &s, &text};
        for (unsigned part = 0; part < PART_STRINGS; part++) {
            memcpy(p + h.part[part].off + k * table_elem_bytes[part], v[part],
                   table_elem_bytes[part]);
        }
    }
    memset(p + h.part[PART_STRINGS].off, 'x', 63);
    *n = BYTES;
    return p;
}
