/* SPDX-License-Identifier: MIT */
/* All queries on a file of symbols, for fuzz_elf and fuzz_symtable. */
#include <string.h>
#include "fuzz_symbols.h"

static unsigned sum; /* uses what is read, so that no read is optimized away */

static void query_text(const char *s)
{
    CHECK(s);
    for (; *s; s++) {
        sum = sum * 31 + (unsigned char)*s;
    }
}

static void query_address(const struct symfile *f, uint64_t addr)
{
    struct sym_frame frame[4];
    size_t n;
    unsigned frames = symfile_frames(f, addr, frame, 4);
    CHECK(frames >= 1);
    for (unsigned i = 0; i < frames && i < 4; i++) {
        CHECK(frame[i].inlined == (i + 1 < frames));
        if (frame[i].function) {
            query_text(frame[i].function);
        }
        if (frame[i].file) {
            query_text(frame[i].file);
        }
    }
    const struct sym_function *fn = symfile_function(f, addr);
    CHECK(!fn || (fn->addr <= addr && addr < fn->end));
    const struct sym_range *r = symfile_range(f, addr);
    CHECK(!r || (r->addr <= addr && addr < r->end));
    sum += symfile_is_code(f, addr) + symfile_is_thumb(f, addr);
    const uint8_t *bytes = symfile_bytes(f, addr, &n);
    if (bytes) {
        CHECK(n);
        sum += bytes[0] + bytes[n - 1];
    }
}

static void query_functions(const struct symfile *f)
{
    const struct sym_function *v;
    uint32_t n = symfile_functions(f, &v);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(v[i].addr < v[i].end && (i == 0 || v[i - 1].end <= v[i].addr));
        query_text(v[i].name);
        query_text(v[i].linkage);
        CHECK(v[i].source <= SYM_DWARF && v[i].thumb <= 1);
        query_address(f, v[i].addr);
        query_address(f, v[i].end);
        CHECK(symfile_function(f, v[i].end - 1) == &v[i]);
    }
}

static void query_lines(const struct symfile *f)
{
    const struct sym_range *r;
    const struct sym_scope *s;
    uint32_t n = symfile_ranges(f, &r), scopes = symfile_scopes(f, &s);
    uint32_t files = symfile_nr_files(f), origins = symfile_nr_origins(f);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(r[i].addr < r[i].end && (i == 0 || r[i - 1].end <= r[i].addr));
        CHECK(r[i].file < files && (r[i].scope == SYM_NONE || r[i].scope < scopes));
        query_address(f, r[i].addr);
    }
    for (uint32_t i = 0; i < scopes; i++) {
        query_text(s[i].name);
        query_text(s[i].linkage);
        CHECK(s[i].origin < origins && (s[i].parent == SYM_NONE || s[i].parent < i));
        CHECK(s[i].decl_file == SYM_NONE || s[i].decl_file < files);
        CHECK(s[i].call_file == SYM_NONE || s[i].call_file < files);
    }
    for (uint32_t i = 0; i < files; i++) {
        query_text(symfile_file(f, i));
    }
    CHECK(!symfile_file(f, SYM_NONE));
}

void fuzz_query(const struct symfile *f)
{
    struct symfile_info info;
    const struct sym_code *code;
    uint64_t vaddr;
    symfile_info(f, &info);
    query_text(info.path);
    query_text(info.debug_path);
    for (uint32_t i = 0; i < info.build_id_bytes; i++) {
        sum += info.build_id[i];
    }
    uint32_t n = symfile_code(f, &code);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(code[i].addr < code[i].end && (i == 0 || code[i - 1].end <= code[i].addr));
        query_text(code[i].name);
        query_address(f, code[i].addr);
        query_address(f, code[i].end - 1);
        query_address(f, code[i].end);
    }
    query_functions(f);
    query_lines(f);
    query_address(f, 0);
    query_address(f, UINT64_MAX);
    for (uint64_t off = 0; off < 1 << 16; off += 997) {
        size_t bytes;
        CHECK(!symfile_vaddr(f, off, &vaddr) || symfile_bytes(f, vaddr, &bytes));
    }
    symfile_vaddr(f, UINT64_MAX, &vaddr);
}

uint8_t *fuzz_read_file(const char *path, size_t *n)
{
    FILE *in = fopen(path, "rb");
    uint8_t *p = NULL;
    size_t cap = 0;
    *n = 0;
    while (in && !feof(in) && !ferror(in)) {
        if (*n == cap) {
            cap = cap ? 2 * cap : 65536;
            p = realloc(p, cap);
            CHECK(p);
        }
        *n += fread(p + *n, 1, cap - *n, in);
    }
    if (in) {
        fclose(in);
    }
    return p;
}
