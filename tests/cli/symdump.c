/* SPDX-License-Identifier: MIT */
/*
 * Prints the results of symfile.h for a file as text, for the tests.
 * usage: symdump [--debug-dir DIR]... [--seconds N] [--no-lines | --headers | --full]
 *                COMMAND FILE [ARG...]
 *   info        what kind of file it is
 *   functions   addr end source thumb linkage name
 *   ranges      addr end file:line:column stmt scope
 *   scopes      entry origin parent linkage name declared called
 *   code        sections
 *   pcs N SEED  N random addresses of code
 *   addr2line   reads addresses from stdin, writes as addr2line -i -f -C -a does
 *   marks       reads addresses; writes for each whether code, whether T32
 *   bytes       reads addresses; writes up to 4 bytes each
 *   all         everything, condensed (for bad files)
 * With --full also:
 *   objects, types, prototypes, frames
 *   type NAME, object ADDR, find-functions PATTERN, find-objects PATTERN
 *   variables PC [NUMBER=HEX]...   those in scope, with registers by number
 *   value OBJECT PATH the number there, from the file
 *   line FILE:N, part TYPE-OR-OBJECT PATH, match PATTERN NAME LINKAGE
 *   demangle NAME...  (instead of FILE)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbols/symfile.h"
#include "symdump_data.h"
#include "../unit/random.h"

static const char *or_unknown(const char *s)
{
    return s ? s : "??";
}

static void print_info(const struct symfile *f)
{
    struct symfile_info i;
    symfile_info(f, &i);
    printf(
        "path %s\ndebug_path %s\nmachine %u\nbig_endian %d\naddr_bits %u\nmovable %d\n",
        i.path, i.debug_path, i.machine, i.big_endian, i.addr_bits, i.movable);
    printf("has_symtab %d\nhas_lines %d\nbuild_id ", i.has_symtab, i.has_lines);
    for (uint32_t k = 0; k < i.build_id_bytes; k++) {
        printf("%02x", i.build_id[k]);
    }
    printf("\n");
}

static void print_functions(const struct symfile *f)
{
    static const char *const source[] = {"symtab", "dynsym", "debugdata", "plt", "dwarf"};
    const struct sym_function *v;
    uint32_t n = symfile_functions(f, &v);
    for (uint32_t i = 0; i < n; i++) {
        printf("%" PRIx64 " %" PRIx64 " %s %d %s %s\n", v[i].addr, v[i].end,
               source[v[i].source], v[i].thumb, v[i].linkage, v[i].name);
    }
}

static void print_ranges(const struct symfile *f)
{
    const struct sym_range *v;
    uint32_t n = symfile_ranges(f, &v);
    for (uint32_t i = 0; i < n; i++) {
        printf("%" PRIx64 " %" PRIx64 " %s:%u:%u %d %d\n", v[i].addr, v[i].end,
               symfile_file(f, v[i].file), v[i].line, v[i].column, v[i].stmt,
               (int)v[i].scope);
    }
}

static void print_scopes(const struct symfile *f)
{
    const struct sym_scope *v;
    uint32_t n = symfile_scopes(f, &v);
    for (uint32_t i = 0; i < n; i++) {
        printf("%u %" PRIx64 " %u %d \"%s\" \"%s\" %s:%u %s:%u:%u\n", i, v[i].entry,
               v[i].origin, (int)v[i].parent, v[i].linkage, v[i].name,
               or_unknown(symfile_file(f, v[i].decl_file)), v[i].decl_line,
               or_unknown(symfile_file(f, v[i].call_file)), v[i].call_line,
               v[i].call_column);
    }
}

static uint64_t state;

static uint64_t rnd(uint64_t n)
{
    return (random_bits(&state) >> 11) % n;
}

static void print_pcs(const struct symfile *f, unsigned long n, uint64_t seed)
{
    const struct sym_code *v;
    uint32_t sections = symfile_code(f, &v);
    uint64_t total = 0;
    state = seed * 2654435761u + 1;
    for (uint32_t i = 0; i < sections; i++) {
        total += v[i].end - v[i].addr;
    }
    while (total && n--) {
        uint64_t at = rnd(total);
        uint32_t i = 0;
        for (; at >= v[i].end - v[i].addr; i++) {
            at -= v[i].end - v[i].addr;
        }
        printf("0x%" PRIx64 "\n", v[i].addr + at);
    }
}

static void print_frames(const struct symfile *f, uint64_t addr)
{
    enum { MAX = 64 };
    struct sym_frame frame[MAX];
    unsigned n = symfile_frames(f, addr, frame, MAX);
    struct symfile_info info;
    symfile_info(f, &info);
    printf("0x%0*" PRIx64 "\n", info.addr_bits / 4, addr);
    for (unsigned i = 0; i < n && i < MAX; i++) {
        printf("%s\n%s:", or_unknown(frame[i].function), or_unknown(frame[i].file));
        if (frame[i].line) {
            printf("%u\n", frame[i].line);
        } else {
            printf("?\n");
        }
    }
}

static void print_bytes(const struct symfile *f, uint64_t addr)
{
    size_t n;
    const uint8_t *p = symfile_bytes(f, addr, &n);
    printf("0x%" PRIx64, addr);
    for (size_t i = 0; i < n && i < 4; i++) {
        printf(" %02x", p[i]);
    }
    printf("\n");
}

static void for_addresses(const struct symfile *f, char what)
{
    char line[128];
    while (fgets(line, sizeof(line), stdin)) {
        uint64_t addr = strtoull(line, NULL, 16);
        if (what == 'a') {
            print_frames(f, addr);
        } else if (what == 'b') {
            print_bytes(f, addr);
        } else {
            printf("%d %d\n", symfile_is_code(f, addr), symfile_is_thumb(f, addr));
        }
    }
}

/* Reads everything, including all bytes of code. */
static void print_all(const struct symfile *f)
{
    const struct sym_code *code;
    uint32_t n = symfile_code(f, &code);
    unsigned sum = 0;
    print_info(f);
    print_functions(f);
    print_ranges(f);
    print_scopes(f);
    for (uint32_t i = 0; i < n; i++) {
        size_t bytes;
        const uint8_t *p = symfile_bytes(f, code[i].addr, &bytes);
        for (size_t k = 0; k < bytes; k++) {
            sum = sum * 31 + p[k];
        }
        print_frames(f, code[i].addr);
        print_frames(f, code[i].end - 1);
    }
    symdump_data_all(f);
    printf("sum %x\n", sum);
}

static void print_code(const struct symfile *f)
{
    const struct sym_code *v;
    uint32_t n = symfile_code(f, &v);
    for (uint32_t i = 0; i < n; i++) {
        printf("%" PRIx64 " %" PRIx64 " %s\n", v[i].addr, v[i].end, v[i].name);
    }
}

static int demangle(char **names)
{
    for (; *names; names++) {
        char *text = NULL;
        bool ok = sym_demangle(*names, &text);
        printf("%s\n", ok ? text : "-");
        free(text);
    }
    return 0;
}

static int command(const char *what, const struct symfile *f, char **arg)
{
    if (strcmp(what, "info") == 0) {
        print_info(f);
    } else if (strcmp(what, "functions") == 0) {
        print_functions(f);
    } else if (strcmp(what, "ranges") == 0) {
        print_ranges(f);
    } else if (strcmp(what, "scopes") == 0) {
        print_scopes(f);
    } else if (strcmp(what, "code") == 0) {
        print_code(f);
    } else if (strcmp(what, "pcs") == 0 && arg[0] && arg[1]) {
        print_pcs(f, strtoul(arg[0], NULL, 0), strtoul(arg[1], NULL, 0));
    } else if (strcmp(what, "addr2line") == 0 || strcmp(what, "bytes") == 0 ||
               strcmp(what, "marks") == 0) {
        for_addresses(f, what[0]);
    } else if (strcmp(what, "all") == 0) {
        print_all(f);
    } else {
        int status = symdump_data(what, f, arg);
        if (status < 0) {
            fprintf(stderr, "symdump: unknown command '%s'\n", what);
        }
        return status < 0 ? 2 : status;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *dirs[16];
    struct symfile_options opt = {.flags = SYMFILE_LINES, .debug_dirs = dirs};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--no-lines") == 0) {
            opt.flags = 0;
        } else if (strcmp(argv[i], "--headers") == 0) {
            opt.flags = SYMFILE_HEADERS;
        } else if (strcmp(argv[i], "--full") == 0) {
            opt.flags = SYMFILE_LINES | SYMFILE_NAMES | SYMFILE_DATA | SYMFILE_TYPES |
                        SYMFILE_LOCALS | SYMFILE_FRAMES;
        } else if (strcmp(argv[i], "--debug-dir") == 0 && i + 1 < argc &&
                   opt.nr_debug_dirs < 16) {
            dirs[opt.nr_debug_dirs++] = argv[++i];
        } else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
            opt.seconds = (unsigned)atoi(argv[++i]);
        }
    }
    if (argc - i < 2) {
        fprintf(stderr, "usage: symdump [OPTION]... COMMAND FILE [ARG...]\n");
        return 2;
    }
    if (strcmp(argv[i], "demangle") == 0) {
        return demangle(argv + i + 1);
    }
    struct symfile *f;
    struct symfile_error err;
    if (symfile_open(&f, argv[i + 1], &opt, &err) != SYMFILE_OK) {
        fprintf(stderr, "symdump: %s\n", err.text);
        return 10 + (int)err.status;
    }
    if (err.text[0]) {
        fprintf(stderr, "symdump: remark: %s\n", err.text);
    }
    int status = command(argv[i], f, argv + i + 2);
    symfile_close(f);
    return status;
}
