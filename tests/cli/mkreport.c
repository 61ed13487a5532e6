/* SPDX-License-Identifier: MIT */
/*
 * Writes a handmade report in every format of tracecov:
 *
 *   mkreport SOURCES FORMAT [OPTION] >FILE
 *
 * SOURCES is the folder that the report names for the sources.  FORMAT is lcov, lcov2,
 * drcov, cobertura, json, html or text; or drcov-far and drcov-many (which drcov cannot
 * express), lcov-part and cobertura-part (unknown branches), big (lcov of a million
 * lines). OPTION: for text, disassembly, color or the glob of a function.
 *
 * Reads no ELF file: the symbol library below knows only these modules.
 */
#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/jitter.h"
#include "symbols/unwind_table.h"
#include "tracecov/function_choice.h"
#include "tracecov/report.h"

#define N(a) (sizeof(a) / sizeof(*(a)))

/* ----------------------------------------------------- two files and symbols */

struct symfile {
    const char *path;
    uint64_t addr; /* of code */
    const uint32_t *code;
    size_t words;
    const struct sym_function *functions;
    uint32_t nr_functions;
    const struct sym_range *ranges;
    uint32_t nr_ranges;
};

static const uint32_t app_code[] = {
    0xe3500000, /* 10100 cmp r0, #0 */
    0x0a000002, /* 10104 beq 0x10114 */
    0xe2800001, /* 10108 add r0, r0, #1 */
    0xe12fff1e, /* 1010c bx lr */
    0xe7f000f0, /* 10110 udf #0 */
    0xe3a00000, /* 10114 mov r0, #0 */
    0xe12fff1e, /* 10118 bx lr */
};
static const struct sym_function app_functions[] = {
    {0x10100, 0x10114, "pair<int, long> twice<int, long>(int, long)", "_Z5twiceIilE", 0,
     0},
    {0x10114, 0x1011c, "never", "never", 0, 0},
};
static const struct sym_range app_ranges[] = {
    {0x10100, 0x10108, 1, 3, 0, SYM_NONE, true},
    {0x10108, 0x10114, 1, 4, 0, SYM_NONE, true},
    {0x10114, 0x1011c, 0, 2, 0, SYM_NONE, true},
};
static const uint32_t lib_code[] = {0xe1a00000, 0xe12fff1e, 0xe1a00000, 0xe12fff1e};
static const struct sym_function lib_functions[] = {
    {0x500, 0x508, "busy", "busy", SYM_DYNSYM, 0},
    {0x508, 0x510, "idle", "idle", SYM_DYNSYM, 0},
};

static struct symfile app = {"/opt/My App/app", 0x10100,       app_code,
                             N(app_code),       app_functions, N(app_functions),
                             app_ranges,        N(app_ranges)};
static struct symfile lib = {
    "/lib/libplain.so", 0x500, lib_code, N(lib_code), lib_functions,
    N(lib_functions),   NULL,  0};

void symfile_info(const struct symfile *f, struct symfile_info *out)
{
    *out = (struct symfile_info){.path = f->path,
                                 .debug_path = f == &app ? "/dbg/app.debug" : "",
                                 .machine = EM_ARM,
                                 .addr_bits = 32,
                                 .has_lines = f->nr_ranges != 0};
}

const uint8_t *symfile_bytes(const struct symfile *f, uint64_t vaddr, size_t *n)
{
    uint64_t size = f->words * sizeof(*f->code);

    if (vaddr < f->addr || vaddr - f->addr >= size) {
        *n = 0;
        return NULL;
    }
    *n = (size_t)(size - (vaddr - f->addr));
    return (const uint8_t *)f->code + (vaddr - f->addr);
}

uint32_t symfile_code(const struct symfile *f, const struct sym_code **v)
{
    static struct sym_code code[2];
    struct sym_code *c = &code[f == &lib];

    *c = (struct sym_code){f->addr, f->addr + 4 * f->words, ".text"};
    *v = c;
    return 1;
}

uint32_t symfile_functions(const struct symfile *f, const struct sym_function **v)
{
    *v = f->functions;
    return f->nr_functions;
}

bool symfile_is_code(const struct symfile *f, uint64_t vaddr)
{
    (void)f;
    return vaddr != 0x10110;
}

bool symfile_is_thumb(const struct symfile *f, uint64_t vaddr)
{
    (void)f;
    (void)vaddr;
    return false;
}

uint32_t symfile_ranges(const struct symfile *f, const struct sym_range **v)
{
    *v = f->ranges;
    return f->nr_ranges;
}

uint32_t symfile_scopes(const struct symfile *f, const struct sym_scope **v)
{
    (void)f;
    *v = NULL;
    return 0;
}

bool function_chosen(const char *pattern, const struct module *m, const char *path,
                     const char *name, const char *linkage)
{
    (void)m;
    (void)path;
    return !pattern || !fnmatch(pattern, name, 0) || !fnmatch(pattern, linkage, 0);
}

int unwind_functions(const struct symfile *f, struct unwind_function **v, size_t *n)
{
    (void)f;
    *v = NULL;
    *n = 0;
    return 0;
}

uint64_t unwind_entry(const struct symfile *f)
{
    (void)f;
    return 0;
}

const char *symfile_file(const struct symfile *f, uint32_t file)
{
    (void)f;
    return file ? "/src/a b.cc" : "/src/missing.c";
}

/* ------------------------------------------------------------------ modules */

static const uint8_t build_id[] = {0xde, 0xad, 0xbe, 0xef, 0x01};
static struct module modules[] = {
    {0, "/opt/My App/app", "app", build_id, sizeof(build_id), &app, ""},
    {2, "/lib/libplain.so", "libplain.so", NULL, 0, &lib, ""},
    {3, "[vdso]", "[vdso]", NULL, 0, NULL, "the guest's own, it is in no file"},
};

#define BRANCH (CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND)
static struct cover_insn app_insns[] = {
    {0x10100, 12, 0, 0, 4, 0, 0, {0x00, 0x00, 0x50, 0xe3}},
    {0x10104, 12, 0, 12, 4, 0, BRANCH, {0x02, 0x00, 0x00, 0x0a}},
    {0x10108, 12, 0, 0, 4, 0, 0, {0x01, 0x00, 0x80, 0xe2}},
    {0x1010c, 12, 0, 0, 4, 0, CANNOLI_INSN_BRANCH, {0x1e, 0xff, 0x2f, 0xe1}},
};
static struct cover_block app_blocks[] = {
    {0x10100, 8, 2, 12}, {0x10108, 8, 2, 12}, {0x10108, 8, 1, 3}, {0x1010c, 4, 1, 0}};
static struct cover_insn lib_insns[] = {
    {0x500, 1234567, 0, 0, 4, 0, 0, {0x00, 0x00, 0xa0, 0xe1}},
    {0x504, 1234567, 0, 0, 4, 0, CANNOLI_INSN_BRANCH, {0x1e, 0xff, 0x2f, 0xe1}},
};
static struct cover_block lib_blocks[] = {{0x500, 8, 2, 1234567},
                                          {0x600, 140000, 35000, 1}};
static struct cover_insn vdso_insns[] = {
    {0x40, 2, 0, 0, 4, 0, 0, {0x00, 0x00, 0xa0, 0xe1}},
    {0x80, 1, 1, 0, 4, 0, BRANCH, {0x02, 0x00, 0x00, 0x0a}},
};
static struct cover_block vdso_blocks[] = {{0x40, 4, 1, 2}, {0x80, 4, 1, 1}};
static struct cover_module cover_modules[] = {
    {&modules[0], app_insns, N(app_insns), app_blocks, N(app_blocks), 48, 0x10000,
     0x12000, 0x10000},
    {&modules[1], lib_insns, N(lib_insns), lib_blocks, N(lib_blocks), 2469134, 0x40800000,
     0x40830000, 0},
    {&modules[2], vdso_insns, N(vdso_insns), vdso_blocks, N(vdso_blocks), 3, 0, 0, 0},
};
/* Two processes had different code at one address. */
static struct cover_insn elsewhere_insns[] = {
    {0x7ff0, 2, 0, 0, 4, 0, 0, {0x00, 0x00, 0xa0, 0xe1}},
    {0x7ff0, 1, 0, 0, 4, 0, 0, {0x01, 0x00, 0x80, 0xe2}},
    {0x7ff8, 2, 0, 0, 4, 0, CANNOLI_INSN_BRANCH, {0x1e, 0xff, 0x2f, 0xe1}},
};
static struct cover cover = {.modules = cover_modules,
                             .nr_modules = N(cover_modules),
                             .total = 2469190,
                             .elsewhere = 5,
                             .elsewhere_code = {.insns = elsewhere_insns,
                                                .nr_insns = N(elsewhere_insns),
                                                .total = 5},
                             .traces = 2,
                             .branches = true,
                             .machine = EM_ARM,
                             .addr_bits = 32,
                             .target = "arm"};

/* ------------------------------------------------------------------ sources */

static struct report_line a_lines[] = {{3, 0, 12}, {4, 0, 12}, {7, 0, 2},
                                       {8, 0, 0},  {11, 0, 1}, {40, 0, 0}};
static struct report_branch a_branches[] = {
    {3, 0, 0, true, 0, 0x10104, 0},  {3, 0, 1, true, 12, 0x10104, 0},
    {3, 1, 0, false, 0, 0x20104, 0}, {3, 1, 1, false, 0, 0x20104, 0},
    {7, 0, 0, false, 0, 0x20204, 0}, {7, 0, 1, false, 0, 0x20204, 0},
    {8, 0, 0, false, 0, 0x20304, 0}, {8, 0, 1, false, 0, 0x20304, 0},
};
static struct report_function a_functions[] = {
    {"pair<int, long> twice<int, long>(int, long)", "_Z5twiceIilE", 2, 5, 12, 0x10100, 0,
     4, 4},
    {"helper<A, B>", "helper<A, B>", 7, 8, 2, 0x20200, 0, 0, 0},
    {"main::{lambda(int, int)#1}::operator()(int, int) const", "_ZZ4mainENKUliiE_clEii",
     7, 7, 0, 0x20280, 0, 2, 0},
    {"helper<A, B>", "helper<A, B>", 10, 11, 1, 0x20300, 0, 3, 3},
    {"(anonymous namespace)::late(char const*)", "_ZN12_GLOBAL__N_14lateEPKc", 41, 0, 0,
     0x20400, 0, 3, 0},
};
static struct report_line zero_lines[] = {{2, 0, 0}, {3, 0, 0}};
static struct report_function zero_functions[] = {
    {"zero", "zero", 2, 3, 0, 0x20500, 0, 9, 0}};
static struct report_line missing_lines[] = {{2, 0, 0}, {3, 0, UINT64_MAX}};
static struct report_branch missing_branches[] = {{3, 0, 0, true, UINT64_MAX, 0x20604, 0},
                                                  {3, 0, 1, true, 1, 0x20604, 0}};
static struct report_function missing_functions[] = {
    {"pair<int, long> twice<int, long>(int, long)", "_Z5twiceIilE", 1, 4, 1, 0x10100, 0,
     4, 4},
    {"never", "never", 2, 2, 0, 0x10114, 0, 2, 0}};
static struct report_line odd_lines[] = {{1, 0, 1}};
static struct report_function odd_functions[] = {
    {"operator<<(A&, \"x\")", "_ZlsR1A", 1, 1, 1, 0x20700, 0, 1, 1}};
static struct report_function lib_report[] = {
    {"busy", "busy", 0, 0, 1234567, 0x500, 2, 2, 2},
    {"idle", "idle", 0, 0, 0, 0x508, 2, 2, 0}};

#define SOURCE(file, l, b, f)                                                            \
    {.path = file,                                                                       \
     .lines = l,                                                                         \
     .nr_lines = N(l),                                                                   \
     .branches = b,                                                                      \
     .nr_branches = N(b),                                                                \
     .functions = f,                                                                     \
     .nr_functions = N(f)}
static struct report_branch no_branches[1];
static struct report_source sources[] = {
    SOURCE("src/a b.cc", a_lines, a_branches, a_functions),
    SOURCE("src/missing.c", missing_lines, missing_branches, missing_functions),
    SOURCE("src/odd <&\">.c", odd_lines, no_branches, odd_functions),
    SOURCE("src/sub/zero.c", zero_lines, no_branches, zero_functions),
    {.path = "/lib/libplain.so",
     .is_module = true,
     .module = 2,
     .functions = lib_report,
     .nr_functions = N(lib_report)},
    {.path = "[vdso]", .is_module = true, .module = 3},
};
static bool app_files[] = {true, true};
static struct report_module report_modules[] = {
    {.selected = true, .rest = true, .files = app_files, .nr_files = N(app_files)},
    {.selected = true, .rest = true},
    {.selected = true, .rest = true},
};
static struct report report = {.cover = &cover,
                               .sources = sources,
                               .nr_sources = N(sources),
                               .modules = report_modules,
                               .nr_files = N(sources) - 2,
                               .nr_lined = 1};

static void add(struct report_totals *sum, const struct report_totals *t)
{
    sum->lines += t->lines;
    sum->lines_hit += t->lines_hit;
    sum->functions += t->functions;
    sum->functions_hit += t->functions_hit;
    sum->branches += t->branches;
    sum->branches_hit += t->branches_hit;
}

static void finish(const char *folder)
{
    for (size_t i = 0; i < N(sources); i++) {
        struct report_source *s = &sources[i];
        struct report_totals *t = &s->totals;
        char *path = NULL;
        if (s->branches == no_branches) {
            s->nr_branches = 0;
        }
        if (!s->is_module && asprintf(&path, "%s/%s", folder, s->path) > 0) {
            s->path = path;
        }
        t->lines = s->nr_lines;
        t->functions = s->nr_functions;
        t->branches = s->nr_branches;
        for (size_t k = 0; k < s->nr_lines; k++) {
            t->lines_hit += s->lines[k].count != 0;
        }
        for (size_t k = 0; k < s->nr_functions; k++) {
            t->functions_hit += s->functions[k].count != 0;
        }
        for (size_t k = 0; k < s->nr_branches; k++) {
            t->branches_hit += s->branches[k].count != 0;
        }
        add(s->is_module ? &report.bare : &report.totals, t);
        for (size_t k = 0; k < s->nr_functions; k++) {
            struct report_module *m = &report_modules[s->functions[k].module != 0];
            m->insns += s->functions[k].insns_total;
            m->insns_hit += s->functions[k].insns_hit;
        }
    }
    report_modules[0].totals = report.totals;
    report_modules[1].bare = report.bare;
}

/* A million lines, to measure how fast they are written. */
static int write_big(FILE *out)
{
    const size_t n = 1000000;
    struct report_line *l = calloc(n, sizeof(*l));
    struct report_branch *b = calloc(n, sizeof(*b));
    struct report_source s = {"/big.c", false, 0, l, n, b, n, zero_functions, 1, {0}};
    struct report r = {.cover = &cover, .sources = &s, .nr_sources = 1};
    int ret = -ENOMEM;

    if (l && b) {
        for (size_t i = 0; i < n; i++) {
            l[i] = (struct report_line){(uint32_t)i + 1, 0, i * 7919 % 100003};
            b[i] = (struct report_branch){
                (uint32_t)(i / 2 * 2) + 1, 0, i & 1, true, 77, i, 0};
        }
        ret = output_lcov(&r, out);
    }
    free(l);
    free(b);
    return ret;
}

static int write_text(FILE *out, const char *option)
{
    struct text_options opt = {0};

    if (option && !strcmp(option, "color")) {
        opt.color = true;
    } else if (option && !strcmp(option, "disassembly")) {
        opt.disassembly = true;
    } else {
        opt.function = option;
    }
    return output_text(&report, &opt, out);
}

static int write_format(const char *format, const char *option, FILE *out)
{
    static struct cover_module many[65537];

    if (!strcmp(format, "lcov")) {
        return output_lcov(&report, out);
    } else if (!strcmp(format, "lcov2")) {
        return output_lcov2(&report, out);
    } else if (!strcmp(format, "lcov-part")) {
        cover.branches = false;
        return output_lcov(&report, out);
    } else if (!strcmp(format, "cobertura-part")) {
        cover.branches = false;
        return output_cobertura(&report, out);
    } else if (!strcmp(format, "big")) {
        return write_big(out);
    } else if (!strcmp(format, "drcov")) {
        return output_drcov(&cover, out);
    } else if (!strcmp(format, "drcov-far")) {
        lib_blocks[1].addr = 1ull << 32;
        return output_drcov(&cover, out);
    } else if (!strcmp(format, "drcov-many")) {
        cover.modules = many;
        cover.nr_modules = N(many);
        return output_drcov(&cover, out);
    } else if (!strcmp(format, "cobertura")) {
        return output_cobertura(&report, out);
    } else if (!strcmp(format, "json")) {
        return output_json(&report, out);
    } else if (!strcmp(format, "html")) {
        return output_html(&report, out);
    }
    return !strcmp(format, "text") ? write_text(out, option) : -EINVAL;
}

int main(int argc, char **argv)
{
    int ret;

    if (argc < 3) {
        fprintf(stderr, "usage: mkreport SOURCES FORMAT [OPTION]\n");
        return 2;
    }
    finish(argv[1]);
    ret = write_format(argv[2], argc > 3 ? argv[3] : NULL, stdout);
    if (ret < 0) {
        fprintf(stderr, "mkreport: %s\n", strerror(-ret));
    }
    return ret ? 1 : 0;
}
