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

/* The items of every kind with number k; k-th of all. */
static void put_code_parts(uint8_t *p, const struct table_header *h, uint64_t k,
                           uint64_t bytes)
{
    const char *text = (const char *)(uintptr_t)(k * 7);
    uint64_t from = 0x1000 + 64 * k, to = from + bytes;
    uint32_t before = k ? (uint32_t)k - 1 : SYM_NONE;
    struct sym_code c = {from, to, text};
    struct sym_function fn = {from, to, text, text, (uint8_t)k % 5, k & 1};
    struct sym_mark m = {from, 0, "atdx"[k % 4]};
    struct sym_range r = {from, to, (uint32_t)k, 10, 2, before, 1};
    struct sym_scope s = {.name = text,
                          .linkage = text,
                          .origin = (uint32_t)k % h->nr_origins,
                          .parent = before,
                          .decl_file = SYM_NONE,
                          .call_file = (uint32_t)k,
                          .entry = from};
    struct sym_alias a = {text, text, (uint32_t)k};
    const void *v[PARTS] = {
        [PART_CODE] = &c,   [PART_FUNCTIONS] = &fn, [PART_MARKS] = &m,
        [PART_RANGES] = &r, [PART_SCOPES] = &s,     [PART_FILES] = &text,
        [PART_ALIASES] = &a};
    for (unsigned part = 0; part <= PART_ALIASES; part++) {
        memcpy(p + h->part[part].off + k * table_elem_bytes[part], v[part],
               table_elem_bytes[part]);
    }
}

/* Types of all kinds that refer to each other in a circle, variables with expressions. */
static void put_data_parts(uint8_t *p, const struct table_header *h, uint64_t k,
                           uint64_t bytes)
{
    const char *text = (const char *)(uintptr_t)(k * 7);
    const uint8_t *expr = (const uint8_t *)(uintptr_t)k;
    uint64_t from = 0x1000 + 64 * k, to = from + bytes;
    uint32_t i = (uint32_t)k;
    struct sym_object o = {from, to, text, text, i, SYM_NONE, 3, SYM_DWARF, k & 1, 0};
    struct sym_at at = {from, to, i};
    struct sym_type t = {text, 8 * k, k, i, i ? i - 1 : 1, i, 1, 0};
    t.kind = (uint8_t)(SYM_STRUCT + k % 5);
    struct sym_member m = {text, 8 * k + 3, k & 1 ? 5 : 0, i ^ 1, k & 1, 0, k & 1};
    struct sym_enumerator e = {text, -1};
    struct sym_variable x = {text, i, SYM_NONE, 4, i, 1, expr, 3, k & 1, k & 1, 0};
    struct sym_location l = {k & 1 ? 0 : from, k & 1 ? UINT64_MAX : to, expr, 12};
    struct sym_prototype f = {from, i, i, i, 1, i, 1, 1, 0};
    struct sym_block b = {i ? i - 1 : SYM_NONE, i, i, i, 1};
    struct sym_rule rule = {-8, expr, 9, i, i + 1, (uint8_t)(k % SYM_RULES)};
    struct sym_frame_row row = {from, to, rule, 3, i, 1, k & 1};
    const void *v[PARTS] = {
        [PART_OBJECTS] = &o,   [PART_OBJECT_AT] = &at,  [PART_TYPES] = &t,
        [PART_MEMBERS] = &m,   [PART_ENUMERATORS] = &e, [PART_VARIABLES] = &x,
        [PART_LOCATIONS] = &l, [PART_PROTOTYPES] = &f,  [PART_BLOCKS] = &b,
        [PART_BLOCK_AT] = &at, [PART_ROWS] = &row,      [PART_RULES] = &rule};
    for (unsigned part = PART_OBJECTS; part <= PART_RULES; part++) {
        memcpy(p + h->part[part].off + k * table_elem_bytes[part], v[part],
               table_elem_bytes[part]);
    }
}

/* A small table with an item of every kind, as symfile_build.c writes it. */
uint8_t *fuzz_seed(unsigned i, size_t *n)
{
    enum { N = 4, BYTES = 8192 };
    /* fbreg -16, deref, lit1, plus, skip -2, piece 4, entry_value, stack_value */
    static const uint8_t expr[] = {0x91, 0x70, 0x06, 0x31, 0x22, 0x2f, 0xfe, 0xff, 0x93,
                                   0x04, 0xa3, 0x02, 0x90, 0x05, 0x9f, 0x50, 0x93, 0x08};
    uint8_t *p = calloc(1, BYTES);
    struct table_header h = {.magic = TABLE_MAGIC,
                             .finished = 1,
                             .has_symtab = 1,
                             .build_id_bytes = 20,
                             .nr_origins = N,
                             .total = BYTES};
    CHECK(p);
    uint64_t off = (sizeof(h) + 15) & ~UINT64_C(15), count = N + i % 3;
    for (unsigned k = 0; k < PARTS; k++) {
        h.part[k].off = off;
        h.part[k].n = k == PART_STRINGS ? 64 : k == PART_BYTES ? sizeof(expr) : count;
        off += (h.part[k].n * table_elem_bytes[k] + 15) & ~UINT64_C(15);
    }
    CHECK(off <= BYTES);
    memcpy(p, &h, sizeof(h));
    for (uint64_t k = 0; k < count; k++) {
        put_code_parts(p, &h, k, 32 + 8 * (i % 4));
        put_data_parts(p, &h, k, 32 + 8 * (i % 4));
    }
    memcpy(p + h.part[PART_BYTES].off, expr, sizeof(expr));
    memset(p + h.part[PART_STRINGS].off, 'x', 63);
    *n = BYTES;
    return p;
}
