/* SPDX-License-Identifier: MIT */
/*
 * Perf maps, jitdump files, copies of /proc/kallsyms and /proc/modules, and kernels of any
 * content, and all queries on the functions that are in them.
 */
#include <elf.h>
#include <string.h>
#include "fuzz.h"
#include "fuzz_symbols.h"
#include "jitdump.h"
#include "cli/mkkernel.h"
#include "symbols/jit_kernel.h"

#define LAYERS 3u

static void query(const struct jit_code *c)
{
    const struct symfile_info like = {.machine = EM_ARM, .addr_bits = 32};
    struct jit_layer layers[LAYERS];
    struct symfile *f;
    unsigned n;
    for (size_t i = 0; i < c->nr_functions; i++) {
        const struct jit_function *fn = &c->functions[i];
        CHECK(fn->addr < fn->end && fn->name && fn->name < c->string_bytes);
        CHECK(fn->first_line + (size_t)fn->nr_lines <= c->nr_lines);
    }
    CHECK((c->nr_bad != 0) == (c->bad_why != NULL));
    CHECK(jit_layers(c, LAYERS, layers, &n) && n <= LAYERS);
    CHECK((n != 0) == (c->nr_functions != 0));
    for (unsigned i = 0; i < n; i++) {
        CHECK(jit_symfile(&f, "jit", &like, c, &layers[i]));
        fuzz_query(f);
        symfile_close(f);
    }
    jit_layers_free(layers, n);
}

static bool on_symbol(void *arg, const struct jit_symbol *s)
{
    uint64_t *sum = arg;
    CHECK(s->n && s->addr);
    *sum += (unsigned char)s->name[s->n - 1];
    return true;
}

/* The name of a file ends where the memory does. */
static void query_module(const uint8_t *data, size_t n)
{
    char *name = strdup("mod-ule.ko");
    uint64_t base = 0;
    CHECK(name);
    CHECK(!jit_module_base(data, n, name, &base) || base);
    jit_module_symbols(data, n, name, on_symbol, &base);
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct jit_code c = {0};
    bool dump = jit_is_dump(data, n);
    CHECK(dump ? jit_parse_dump(&c, data, n) : jit_parse_perf_map(&c, data, n));
    query(&c);
    jit_code_fini(&c);
    CHECK(jit_parse_kallsyms(&c, data, n));
    query(&c);
    jit_code_fini(&c);
    CHECK(jit_parse_modules(&c, data, n));
    query(&c);
    jit_code_fini(&c);
    query_module(data, n);
    if (jit_is_kernel(data, n)) {
        struct jit_kernel k;
        CHECK(jit_parse_kernel(&c, &k, data, n));
        query(&c);
        jit_kernel_fini(&k);
        jit_code_fini(&c);
    }
    return 0;
}

uint8_t *fuzz_seed(unsigned i, size_t *n)
{
    static const char map[] = "1000 10 f\n1008 10 py::g:/x y.py\n0x1000 4 h\n2000 8 i\n";
    static const char kernel[] = "ffff800080000000 T _text\nffff800080000000 t alias\n"
                                 "ffff800080000010 D data\n20 w g\t[module]\r\n"
                                 "ffff800000001010 t h\t[mod_ule]\n";
    static const char modules[] = "mod_ule 20480 1 b, Live 0xffff800000001000 (OE)\r\n"
                                  "b 20 0 - Live 0x1000\n";
    struct jitdump d = {.big = i & 1};
    const void *p = d.p;
    uint8_t *copy;
    jitdump_fill(&d, i >> 1 & 1);
    *n = d.n;
    if (i % 5 == 4) {
        p = map;
        *n = sizeof(map) - 1;
    } else if (i % 10 == 8) {
        static struct kernel_image image;
        kernel_make(&image, 0xffff800080000000,
                    (enum kernel_layout)(i / 8 % KERNEL_LAYOUTS));
        p = image.p;
        *n = image.n;
    } else if (i % 20 == 13) {
        p = modules;
        *n = sizeof(modules) - 1;
    } else if (i % 5 == 3) {
        p = kernel;
        *n = sizeof(kernel) - 1;
    }
    copy = malloc(*n);
    CHECK(copy);
    memcpy(copy, p, *n);
    return copy;
}
