/* SPDX-License-Identifier: MIT */
/*
 * Programs that are as hard to record as possible, for one kind of event each:
 *   branches   short blocks, in an unpredictable order
 *   addresses  loads and stores all over 16 MiB
 *   values     random numbers, written and read in order
 * The first argument selects the program, the second gives millions of rounds.  The
 * printed sum prevents the compiler from removing the work.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS (1u << 22)

static uint32_t words[WORDS];

/* xorshift, G. Marsaglia 2003 */
static uint32_t next(uint32_t x)
{
    x ^= x << 13;
    x ^= x >> 17;
    return x ^ x << 5;
}

static uint32_t branches(uint64_t rounds)
{
    uint32_t x = 1, sum = 0;

    while (rounds--) {
        x = next(x);
        /* the asm keeps each case a block of its own */
        for (int bit = 0; bit < 8; bit++) {
            if (x >> bit & 1) {
                __asm__ volatile("" : "+r"(sum) : : "memory");
                sum += 3;
            } else {
                __asm__ volatile("" : "+r"(sum) : : "cc");
                sum ^= 5;
            }
        }
    }
    return sum;
}

static uint32_t addresses(uint64_t rounds)
{
    uint32_t x = 1, sum = 0;

    while (rounds--) {
        x = next(x);
        sum += words[x % WORDS];
        words[x / 7 % WORDS] = sum + x;
    }
    return sum;
}

static uint32_t values(uint64_t rounds)
{
    uint32_t x = 1, sum = 0;

    while (rounds--) {
        volatile uint32_t *w = &words[rounds % WORDS];

        x = next(x);
        *w = x;
        sum += *w;
    }
    return sum;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint32_t (*run)(uint64_t rounds);
    } kinds[] = {{"branches", branches}, {"addresses", addresses}, {"values", values}};

    for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            printf("%u\n", (unsigned)kinds[i].run((uint64_t)(atof(argv[2]) * 1e6)));
            return 0;
        }
    }
    return 2;
}
