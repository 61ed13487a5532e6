/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without a fuzzer: on the named files, or on mutated
 * seeds.  usage: TARGET [ROUNDS | FILE...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fuzz.h"
#include "../unit/random.h"

#define INPUT_SECONDS                                                                    \
    300 /* far more than any takes: a loop without an end stops the test */

static uint64_t state = 0x853c49e6748fea9bull;

static uint32_t rnd(uint32_t n)
{
    return random_below(&state, n);
}

static size_t mutate(uint8_t *p, size_t n, size_t cap)
{
    static const uint64_t special[] = {0,          1,          0x7f,       0x80,
                                       0xff,       0xffff,     0x7fffffff, 0x80000000,
                                       0xffffffff, UINT64_MAX, 1ull << 63, 0x200000};
    for (unsigned times = 1 + rnd(4); times && n > 16; times--) {
        size_t at = rnd((uint32_t)n);
        size_t len = 1 + rnd(16);
        len = len < n - at ? len : n - at;
        uint64_t v = special[rnd(sizeof(special) / sizeof(special[0]))];
        switch (rnd(7)) {
        case 0:
            p[at] ^= (uint8_t)(1u << rnd(8));
            break;
        case 1:
            p[at] = (uint8_t)rnd(256);
            break;
        case 2: /* a number */
            memcpy(p + at, &v, len < 8 ? len : 8);
            break;
        case 3: /* remove a piece */
            memmove(p + at, p + at + len, n - at - len);
            n -= len;
            break;
        case 4: /* insert bytes */
            if (n + len <= cap) {
                memmove(p + at + len, p + at, n - at);
                n += len;
            }
            break;
        case 5: /* copy a piece */
            memmove(p + at, p + rnd((uint32_t)(n - len + 1)), len);
            break;
        default: /* change a byte slightly */
            p[at] = (uint8_t)(p[at] + rnd(5) - 2);
        }
    }
    return n;
}

static void run_input(const uint8_t *data, size_t n)
{
    alarm(INPUT_SECONDS);
    LLVMFuzzerTestOneInput(data, n);
    alarm(0);
}

static int run_file(const char *name)
{
    FILE *f = fopen(name, "rb");
    static uint8_t data[1 << 20];
    if (!f) {
        perror(name);
        return 1;
    }
    size_t n = fread(data, 1, sizeof(data), f);
    fclose(f);
    run_input(data, n);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 2000;
    if (argc > 1 && rounds == 0) {
        int bad = 0;
        for (int i = 1; i < argc; i++) {
            bad |= run_file(argv[i]);
        }
        return bad;
    }
    enum { SEEDS = 16 };
    uint8_t *seed[SEEDS];
    size_t len[SEEDS];
    for (unsigned i = 0; i < SEEDS; i++) {
        seed[i] = fuzz_seed(i, &len[i]);
        run_input(seed[i], len[i]);
    }
    for (unsigned long i = 0; i < rounds; i++) {
        unsigned k = (unsigned)(i % SEEDS);
        size_t cap = len[k] + 256;
        uint8_t *p = malloc(cap);
        if (!p) {
            return 1;
        }
        memcpy(p, seed[k], len[k]);
        size_t n = mutate(p, len[k], cap);
        /* exactly n bytes, so that a sanitizer notices a read past the end */
        uint8_t *exact = malloc(n ? n : 1);
        if (!exact) {
            return 1;
        }
        memcpy(exact, p, n);
        free(p);
        run_input(exact, n);
        free(exact);
    }
    for (unsigned i = 0; i < SEEDS; i++) {
        free(seed[i]);
    }
    printf("%lu inputs\n", rounds + SEEDS);
    return 0;
}
