/* SPDX-License-Identifier: MIT */
/* All queries on a file of symbols, for fuzz_elf and fuzz_symtable. */
#include <stdlib.h>
#include <string.h>
#include "fuzz_symbols.h"
#include "symbols/symfile_data.h"
#include "symbols/symfile_frames.h"
#include "symbols/symfile_vars.h"
#include "symbols/unwind_table.h"

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
        CHECK(symfile_functions_upto(f, v[i].addr) == i + 1);
    }
}

static void query_unwind(const struct symfile *f)
{
    struct unwind_function *v;
    size_t n;
    CHECK(!unwind_functions(f, &v, &n));
    for (size_t i = 0; i < n; i++) {
        CHECK((!v[i].end || v[i].addr < v[i].end) &&
              (i == 0 || v[i - 1].addr < v[i].addr));
    }
    free(v);
    sum += (unsigned)unwind_entry(f);
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

/* ------------------------------------------------------- data, types, variables */

static bool count_function(void *arg, const struct sym_function *fn, const char *name)
{
    (void)arg;
    query_text(name);
    query_text(fn->name);
    return true;
}

static bool count_object(void *arg, const struct sym_object *o)
{
    (void)arg;
    query_text(o->name);
    return true;
}

static bool count_range(void *arg, const struct sym_range *r)
{
    sum += (unsigned)r->addr;
    return ++*(unsigned *)arg < 1000;
}

static void query_objects(const struct symfile *f)
{
    const struct sym_object *v;
    uint32_t n = symfile_objects(f, &v), files = symfile_nr_files(f);
    for (uint32_t i = 0; i < n; i++) {
        query_text(v[i].name);
        query_text(v[i].linkage);
        CHECK(v[i].addr <= v[i].end && v[i].source <= SYM_DWARF && v[i].tls <= 1);
        CHECK(v[i].type == SYM_NONE || symfile_type(f, v[i].type));
        CHECK(v[i].decl_file == SYM_NONE || v[i].decl_file < files);
        const struct sym_object *o = symfile_object(f, v[i].addr);
        sum += o ? o->local : 0;
        if (i < 8) {
            symfile_find_objects(f, v[i].name, count_object, NULL);
        }
    }
    symfile_find_objects(f, "*a[b-x]?*", count_object, NULL);
    symfile_find_functions(f, "*x*", count_function, NULL);
    symfile_find_functions(f, "main", count_function, NULL);
}

static void query_types(const struct symfile *f)
{
    const struct sym_type *t;
    const struct sym_member *m;
    const struct sym_enumerator *e;
    uint32_t n = symfile_types(f, &t), members = symfile_members(f, &m);
    uint32_t enumerators = symfile_enumerators(f, &e);
    struct sym_part part;
    char why[100], path[120];
    for (uint32_t i = 0; i < n; i++) {
        query_text(t[i].name);
        CHECK(t[i].kind < SYM_KINDS && t[i].bare < n && t[t[i].bare].kind == t[i].kind);
        CHECK(t[i].target == SYM_NONE || t[i].target < n);
        uint32_t all = t[i].kind == SYM_ENUM ? enumerators : members;
        CHECK(t[i].first <= all && t[i].n <= all - t[i].first);
        if (t[i].kind != SYM_ENUM && t[i].n && i < 1000) {
            snprintf(path, sizeof(path), "%.100s", m[t[i].first + t[i].n - 1].name);
            CHECK(symfile_member(f, i, path, &part, why, sizeof(why)) || why[0]);
        }
        CHECK(symfile_member(f, i, "[1].no[2]", &part, why, sizeof(why)) || why[0]);
    }
    for (uint32_t i = 0; i < members; i++) {
        query_text(m[i].name);
        CHECK(m[i].bit_size <= 64 && (m[i].type == SYM_NONE || m[i].type < n));
    }
    for (uint32_t i = 0; i < enumerators; i++) {
        query_text(e[i].name);
    }
    sum += symfile_find_type(f, "struct pair");
}

static bool any_reg(void *arg, uint32_t number, uint64_t *value)
{
    (void)arg;
    *value = 0x1000 + number;
    return number < 32;
}

static bool any_memory(void *arg, uint64_t addr, uint8_t *out, size_t n)
{
    (void)arg;
    CHECK(n > 0);
    memset(out, (int)addr, n);
    return addr & 1;
}

static void any_set(void *arg, uint32_t reg, const uint64_t *value)
{
    (void)arg;
    sum += reg + (value ? (unsigned)*value : 0);
}

static struct dwarf_env any_env(const struct symfile *f)
{
    struct symfile_info info;
    symfile_info(f, &info);
    return (struct dwarf_env){.reg = any_reg,
                              .memory = any_memory,
                              .addr_bytes = info.addr_bits / 8,
                              .big_endian = info.big_endian};
}

struct place {
    const struct symfile *f;
    uint64_t vaddr;
    unsigned calls;
};

static bool query_variable(void *arg, const struct sym_variable *v,
                           const struct sym_block *b)
{
    struct place *at = arg;
    struct dwarf_env env = any_env(at->f);
    struct dwarf_result r;
    uint8_t bytes[16], known[16];
    const char *reason;
    query_text(v->name);
    for (uint32_t i = 0; i < v->value_bytes; i++) {
        sum += v->value[i];
    }
    symfile_locate(at->f, v, at->vaddr, &env, &r);
    CHECK(r.nr_pieces <= DWARF_MAX_PIECES);
    CHECK((r.place.where == DWARF_UNKNOWN) == (r.reason != NULL));
    if (dwarf_expr_read(&r, &env, bytes, known, sizeof(bytes), &reason)) {
        sum += bytes[0] + known[15];
    } else {
        query_text(reason);
    }
    sum += b->scope;
    return ++at->calls < 1000;
}

static void query_variables(const struct symfile *f)
{
    const struct sym_prototype *p;
    const struct sym_block *b;
    const struct sym_variable *v;
    const struct sym_range *r;
    uint32_t n = symfile_prototypes(f, &p), ranges = symfile_ranges(f, &r);
    symfile_blocks(f, &b);
    symfile_variables(f, &v);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(i == 0 || p[i - 1].entry <= p[i].entry);
        const struct sym_prototype *q = symfile_prototype(f, p[i].entry);
        CHECK(q && q->entry == p[i].entry);
    }
    for (uint32_t i = 0; i < ranges && i < 1000; i++) {
        struct place at = {f, r[i].addr, 0};
        symfile_visible(f, r[i].addr, query_variable, &at);
        unsigned calls = 0;
        struct sym_line_match m =
            symfile_lines(f, symfile_file(f, r[i].file), r[i].line, count_range, &calls);
        CHECK(m.nr_ranges == calls);
    }
}

static void query_frames(const struct symfile *f)
{
    const struct sym_frame_row *v;
    uint32_t n = symfile_frame_rows(f, &v);
    struct dwarf_env env = any_env(f);
    for (uint32_t i = 0; i < n; i++) {
        struct sym_caller c;
        CHECK(v[i].addr < v[i].end && (i == 0 || v[i - 1].end <= v[i].addr));
        CHECK(symfile_frame_row(f, v[i].end - 1) == &v[i]);
        if (i < 1000 && !symfile_unwind(f, &v[i], &env, any_set, NULL, &c)) {
            query_text(c.reason);
        }
    }
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
    query_objects(f);
    query_types(f);
    query_variables(f);
    query_frames(f);
    query_unwind(f);
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
