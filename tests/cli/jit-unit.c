/* SPDX-License-Identifier: MIT */
/*
 * The parsers of perf maps and jitdump files: what well-formed ones contain, which function
 * counts where several overlap, that every kind of damage is one remark and leaves the
 * rest, and that overlaps do not take long.  fuzz/jit has any other input.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/jit.h"

#include "check.h"
#include "jitdump.h"

/* -------------------------------------------------------------- what is in it */

/* Copies exactly the input, so that a sanitizer finds reads after it. */
static uint8_t *copy_of(const void *p, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);

    memcpy(copy, p, n);
    return copy;
}

/* A file as the tools see it: "ADDR-END NAME" of each function of each layer, and
 * "ADDR FILE:LINE". */
static char *text_of(const struct jit_code *c, char *out, size_t size)
{
    const struct symfile_info like = {.machine = EM_X86_64, .addr_bits = 64};
    struct jit_layer layers[4];
    const struct sym_function *fn;
    const struct sym_range *range;
    struct symfile *file;
    unsigned n;
    size_t at = 0;

    CHECK(jit_layers(c, 4, layers, &n), "no layers");
    *out = 0;
    for (unsigned k = 0; k < n; k++) {
        at += (size_t)snprintf(out + at, size - at, k ? "; " : "");
        if (!jit_symfile(&file, "x", &like, c, &layers[k])) {
            CHECK(false, "no file of layer %u", k);
            continue;
        }
        uint32_t nr = symfile_functions(file, &fn), nr_ranges;
        CHECK(nr == layers[k].n, "%u functions of %zu", nr, layers[k].n);
        for (uint32_t i = 0; i < nr && at < size; i++) {
            at += (size_t)snprintf(out + at, size - at, "%s%llx-%llx %s", i ? ", " : "",
                                   (unsigned long long)fn[i].addr,
                                   (unsigned long long)fn[i].end, fn[i].name);
        }
        nr_ranges = symfile_ranges(file, &range);
        for (uint32_t i = 0; i < nr_ranges && at < size; i++) {
            at += (size_t)snprintf(out + at, size - at, ", %llx %s:%u",
                                   (unsigned long long)range[i].addr,
                                   symfile_file(file, range[i].file), range[i].line);
        }
        symfile_close(file);
    }
    jit_layers_free(layers, n);
    return out;
}

static void check_code(const char *what, const struct jit_code *c, const char *want,
                       uint64_t nr_bad, uint64_t bad_at)
{
    char text[4096];

    CHECK(!strcmp(text_of(c, text, sizeof(text)), want), "%s: '%s', not '%s'", what, text,
          want);
    CHECK(c->nr_bad == nr_bad && (!nr_bad || c->bad_at == bad_at),
          "%s: %llu wrong, the first at %llu (%s)", what, (unsigned long long)c->nr_bad,
          (unsigned long long)c->bad_at, c->bad_why ? c->bad_why : "-");
}

/* ------------------------------------------------------------------- perf maps */

static void perf_map(const char *text, const char *want, uint64_t nr_bad, uint64_t bad_at)
{
    size_t n = strlen(text);
    uint8_t *p = copy_of(text, n);
    struct jit_code c = {0};

    CHECK(!jit_is_dump(p, n), "%s: a jitdump", text);
    CHECK(jit_parse_perf_map(&c, p, n), "%s: no memory", text);
    check_code(text, &c, want, nr_bad, bad_at);
    jit_code_fini(&c);
    free(p);
}

static void check_perf_maps(void)
{
    perf_map("", "", 0, 0);
    perf_map("1000 10 f\n2000 8 py::g:/x y.py\n", "1000-1010 f, 2000-2008 py::g:/x y.py",
             0, 0);
    perf_map("0x1000\t0x10 \tf\n\nFfff800000000000 aB g\n",
             "1000-1010 f, ffff800000000000-ffff8000000000ab g", 0, 0);
    /* a later line counts: the same place, a part, the whole, a hole */
    perf_map("1000 10 f\n1000 10 g\n", "1000-1010 g", 0, 0);
    perf_map("1000 10 f\n1008 10 g\n", "1000-1008 f, 1008-1018 g", 0, 0);
    perf_map("1008 10 f\n1000 10 g\n", "1000-1010 g, 1010-1018 f", 0, 0);
    perf_map("1004 4 f\n1000 10 g\n", "1000-1010 g", 0, 0);
    perf_map("1000 10 f\n1004 4 g\n", "1000-1004 f, 1004-1008 g, 1008-1010 f", 0, 0);
    perf_map("1004 4 f\n1000 10 g\n1008 2 h\n", "1000-1008 g, 1008-100a h, 100a-1010 g",
             0, 0);
    /* damage */
    perf_map("1000 10\n1000 10 \nzz 10 f\n1000 xx f\n 1000 10 f\n2000 10 ok\n",
             "2000-2010 ok", 5, 1);
    perf_map("2000 10 ok\n10000000000000000 10 f\n3000 0 g\nfffffffffffffff0 11 h\n",
             "2000-2010 ok", 3, 2);
    perf_map("fffffffffffffff0 f last\n", "fffffffffffffff0-ffffffffffffffff last", 0, 0);
    perf_map("2000 10 ok\n1000 10 f", "2000-2010 ok", 1, 2);
    perf_map("\x7f"
             "ELF\n2000 10 ok\n",
             "2000-2010 ok", 1, 1);
}

/* -------------------------------------------------------------------- jitdumps */

static void dump(const char *what, const struct jitdump *b, const char *want,
                 uint64_t nr_bad, uint64_t bad_at)
{
    uint8_t *p = copy_of(b->p, b->n);
    struct jit_code c = {0};

    CHECK(jit_is_dump(p, b->n) || nr_bad, "%s: no jitdump", what);
    CHECK(jit_parse_dump(&c, p, b->n), "%s: no memory", what);
    check_code(what, &c, want, nr_bad, bad_at);
    jit_code_fini(&c);
    free(p);
}

static void check_dumps(void)
{
    for (int big = 0; big < 2; big++) {
        struct jitdump timed = {.big = big}, other = {.big = big};

        jitdump_fill(&timed, 0);
        dump("timed", &timed,
             "1000-1008 g, 3000-3010 f, 3004 /src/b.js:11, 3008 /src/a.js:12, "
             "300c /src/b.js:13; 1000-1010 f, 1004 /src/b.js:11, 1008 /src/a.js:12, "
             "100c /src/b.js:13",
             0, 0);
        jitdump_fill(&other, 1);
        dump("other clock", &other,
             "1000-1008 g, 1008-1010 f, 3000-3010 f, 1008 /src/a.js:12, "
             "100c /src/b.js:13, 3004 /src/b.js:11, 3008 /src/a.js:12, 300c /src/b.js:13",
             0, 0);
    }
}

/* Lines counted from the begin of an ELF file that the function would be in. */
static void check_shifted_lines(void)
{
    struct jitdump b = {0}, plain = {0};

    jitdump_header(&b, 0);
    jitdump_lines(&b, 0x1000, 2);
    jitdump_line(&b, 0x1040, 1, "/a");
    jitdump_line(&b, 0x1048, 2, "/a");
    jitdump_end(&b);
    jitdump_load(&b, 1000, 0x1000, 16, 1, "f");
    dump("shifted lines", &b, "1000-1010 f, 1000 /a:1, 1008 /a:2", 0, 0);

    jitdump_header(&plain, 0);
    jitdump_lines(&plain, 0x1000, 2);
    jitdump_line(&plain, 0x1000, 1, "/a");
    jitdump_line(&plain, 0x1048, 2, "/a");
    jitdump_end(&plain);
    jitdump_load(&plain, 1000, 0x1000, 0x50, 1, "f");
    dump("lines", &plain, "1000-1050 f, 1000 /a:1, 1048 /a:2", 0, 0);
}

static void check_damaged_dumps(void)
{
    struct jitdump b = {0}, bad;
    size_t second;

    jitdump_header(&b, 0);
    jitdump_load(&b, 1000, 0x1000, 16, 1, "f");
    second = b.n;
    jitdump_load(&b, 1000, 0x2000, 16, 2, "g");
    bad = b;
    bad.n -= 3;
    dump("cut off", &bad, "1000-1010 f", 1, second);
    bad.n = second + 5;
    dump("cut off in a prefix", &bad, "1000-1010 f", 1, second);
    bad = b;
    bad.p[second + 4] = 15; /* its size */
    dump("size", &bad, "1000-1010 f", 1, second);
    bad = b;
    bad.p[40 + 16 + 24] = 17; /* code_size of the first */
    dump("code size", &bad, "2000-2010 g", 1, 40);
    bad = b;
    memset(bad.p + 40 + 16 + 40, 1, 18); /* its name and code */
    dump("name", &bad, "2000-2010 g", 1, 40);
    bad = b;
    jitdump_move(&bad, 2000, 0x1008, 0x3000, 16, 1); /* it is elsewhere */
    jitdump_move(&bad, 2000, 0x1000, 0x3000, 16, 3); /* there is none */
    dump("moves", &bad, "1000-1010 f, 2000-2010 g", 2, b.n);
    bad = b;
    jitdump_lines(&bad, 0x3000, 1000);
    jitdump_line(&bad, 0x3000, 5, "/a");
    jitdump_end(&bad);
    jitdump_load(&bad, 1000, 0x3000, 16, 3, "h");
    dump("lines", &bad, "1000-1010 f, 2000-2010 g, 3000-3010 h, 3000 /a:5", 1, b.n);
    bad = b;
    bad.p[4] = 2;
    dump("version", &bad, "", 1, 0);
    bad = b;
    bad.n = 39;
    dump("half a header", &bad, "", 1, 0);
    bad.n = 0;
    dump("nothing", &bad, "", 1, 0);
}

/* Functions that all overlap: no more than n log n steps.  All are in the last layers in
 * part, which is still a consistent file. */
static void check_many(void)
{
    struct jit_code c = {.timed = true};
    struct jit_layer layers[4];
    unsigned n;

    for (uint64_t i = 0; i < 200000; i++) {
        struct jit_function f = {.addr = 0x1000 + i, .end = 0x1000000 - i, .time_ns = i};
        CHECK(jit_add(&c, &f, i), "no memory");
    }
    CHECK(jit_layers(&c, 4, layers, &n) && n == 4, "%u layers", n);
    CHECK(layers[0].n == 1 && layers[0].v[0].function == 199999, "not the newest one");
    CHECK(layers[3].n == 2 * (200000 - 3) - 1, "%zu pieces", layers[3].n);
    jit_layers_free(layers, n);
    jit_code_fini(&c);
}

int main(void)
{
    check_perf_maps();
    check_dumps();
    check_shifted_lines();
    check_damaged_dumps();
    check_many();
    return failures != 0;
}
