/* SPDX-License-Identifier: MIT */
/*
 * The mixed benchmark program: sorting through a callback, a table-driven CRC,
 * a matrix product, formatted output and the allocator, in about equal parts.
 * The first argument is the number of rounds, the second (default 1) the factor by which
 * a round is smaller than usual; the sum that it prints checks the run.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 50000
#define BYTES (1 << 20)
#define SIDE 120
#define STRINGS 20000
#define BLOCKS 500

static uint32_t table[256];
static double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];

static int compare(const void *x, const void *y)
{
    int l = *(const int *)x, r = *(const int *)y;

    return (l > r) - (l < r);
}

static uint32_t crc32(const unsigned char *p, size_t n)
{
    uint32_t crc = ~0u;

    while (n--) {
        crc = table[(crc ^ *p++) & 255] ^ (crc >> 8);
    }
    return ~crc;
}

static void multiply(int round, int rows)
{
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++) {
            a[i][j] = i + j + round;
            b[i][j] = i - j;
        }
    }
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < SIDE; j++) {
            double sum = 0;

            for (int k = 0; k < SIDE; k++) {
                sum += a[i][k] * b[k][j];
            }
            c[i][j] = sum;
        }
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    int part = argc > 2 ? atoi(argv[2]) : 1;
    int *numbers = malloc(NUMBERS * sizeof(*numbers));
    unsigned char *bytes = malloc(BYTES);
    char *blocks[BLOCKS] = {0};
    char text[200];
    uint32_t seed = 1, sum = 0;

    if (!numbers || !bytes || part < 1) {
        return 1;
    }
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++) {
            table[i] = table[i] & 1 ? 0xedb88320 ^ (table[i] >> 1) : table[i] >> 1;
        }
    }
    while (rounds-- > 0) {
        for (int i = 0; i < NUMBERS / part; i++) {
            seed = seed * 1103515245 + 12345;
            numbers[i] = seed >> 4;
        }
        qsort(numbers, NUMBERS / part, sizeof(*numbers), compare);
        for (int i = 0; i < BYTES / part; i++) {
            bytes[i] = seed >> (i & 15);
        }
        sum += crc32(bytes, BYTES / part);
        multiply(rounds, SIDE / part);
        for (int i = 0; i < STRINGS / part; i++) {
            sum += snprintf(text, sizeof(text), "%d %s %x %f", i, "text", numbers[i],
                            c[i % SIDE][i % 7]);
        }
        for (int i = 0; i < STRINGS / part; i++) {
            char **slot = &blocks[i % BLOCKS];

            free(*slot);
            *slot = malloc(16 + (i * 37) % 2000);
            if (*slot) {
                memset(*slot, i, 16);
            }
        }
    }
    printf("%u\n", (unsigned)sum);
    return 0;
}
