/* SPDX-License-Identifier: MIT */
/*
 * Location expressions of hostile bytes: the evaluator ends, reads nothing outside of
 * them, and gives a place or a reason.
 */
#include <string.h>
#include "fuzz.h"
#include "fuzz_symbols.h"
#include "symbols/dwarf_expr.h"

static bool reg(void *arg, uint32_t number, uint64_t *value)
{
    (void)arg;
    *value = UINT64_C(0x8000000000000001) * number;
    return number < 64;
}

static bool number(void *arg, uint64_t *value)
{
    (void)arg;
    *value = 0x7fff0000;
    return true;
}

static bool tls(void *arg, uint64_t offset, uint64_t *value)
{
    (void)arg;
    *value = offset + 16;
    return true;
}

static bool memory(void *arg, uint64_t addr, uint8_t *out, size_t n)
{
    (void)arg;
    CHECK(n > 0);
    memset(out, (int)addr, n);
    return (addr & 7) != 7;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct dwarf_env env = {.reg = reg,
                            .entry_reg = reg,
                            .memory = memory,
                            .frame_base = number,
                            .cfa = number,
                            .tls = tls};
    struct dwarf_result r;
    uint8_t bytes[40], known[sizeof(bytes)];
    uint64_t value, first = 3;
    const char *reason;
    if (n == 0) {
        return 0;
    }
    env.addr_bytes = data[0] & 1 ? 4 : 8;
    env.big_endian = data[0] & 2;
    /* A copy of its own size, so that a sanitizer sees reads past its end. */
    uint8_t *expr = malloc(n);
    CHECK(expr);
    memcpy(expr, data + 1, n - 1);
    dwarf_expr_run(expr, n - 1, &env, &r);
    CHECK((r.place.where == DWARF_UNKNOWN) == (r.reason != NULL));
    CHECK(r.nr_pieces <= DWARF_MAX_PIECES);
    for (size_t size = 0; size <= sizeof(bytes); size += 5) {
        CHECK(dwarf_expr_read(&r, &env, bytes, known, size, &reason) || reason);
    }
    CHECK(dwarf_expr_number(expr, n - 1, &env, &first, &value, &reason) || reason);
    CHECK(dwarf_expr_frame_base(expr, n - 1, &env, &value, &reason) || reason);
    free(expr);
    return 0;
}

uint8_t *fuzz_seed(unsigned i, size_t *n)
{
    static const uint8_t seeds[][24] = {
        {0, 0x91, 0x70, 0x06, 0x23, 0x08},                   /* fbreg, deref, plus */
        {1, 0x50, 0x93, 0x04, 0x51, 0x93, 0x04},             /* two registers */
        {2, 0x9e, 0x04, 1, 2, 3, 4},                         /* implicit_value */
        {0, 0x32, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff, 0x9f}, /* a loop */
        {3, 0xa3, 0x02, 0x90, 0x05, 0x9f},                   /* entry_value */
        {0, 0xa5, 0x01, 5, 4, 0xa8, 7, 8, 0xa6, 4, 5, 4, 0x22, 0x9f}, /* typed */
        {1, 0x9d, 0x05, 0x03, 0x52, 0x9d, 0x0b, 0x00},                /* bit pieces */
        {0, 0x0e, 8, 0, 0, 0, 0, 0, 0, 0, 0x9b},                      /* thread storage */
        {0, 0x77, 0x08, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22},    /* a PLT's CFA */
    };
    enum { SEEDS = sizeof(seeds) / sizeof(seeds[0]) };
    uint8_t *p = malloc(sizeof(seeds[0]));
    CHECK(p);
    memcpy(p, seeds[i % SEEDS], sizeof(seeds[0]));
    *n = sizeof(seeds[0]);
    return p;
}
