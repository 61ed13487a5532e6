/* SPDX-License-Identifier: MIT */
/* Small functions that a compiler inlines, in several places. */
#include <stdio.h>
#include <string.h>

static inline int clamp(int v, int low, int high)
{
    if (v < low) {
        return low;
    }
    if (v > high) {
        return high;
    }
    return v;
}

static inline unsigned rotate(unsigned v, int n)
{
    return v << n | v >> (32 - n);
}

static inline __attribute__((always_inline)) int square(int v) /* gcov: gone */
{
    int r = v * v;
    return r; /* gcov: one copy is gone */
}

static inline int clamp_square(int v)
{
    int c = clamp(v, -10, 10);
    return square(c); /* gcov: counts it, there is no code */
}

static inline int unused(int v)
{
    return v + 1;
}

__attribute__((noinline)) static unsigned mix(const char *s)
{
    unsigned h = 17;
    for (size_t i = 0; i < strlen(s); i++) {
        h = rotate(h, 5);
        h ^= (unsigned char)s[i];
    }
    return h;
}

__attribute__((noinline)) static int spread(int n)
{
    int s = 0;
    for (int i = -n; i <= n; i++) {
        s += clamp(i, -3, 4);
        s += clamp_square(i);
    }
    return s;
}

int main(int argc, char **argv)
{
    unsigned r = mix("some text");
    (void)argv;
    r += mix("");
    r += (unsigned)spread(12);
    r += (unsigned)clamp(argc, 0, 100);
    r += (unsigned)square(argc);
    if (argc == 77) {
        r += (unsigned)unused(argc); /* -O2: chosen by a conditional move */
    }
    printf("%u\n", r);
    return 0;
}
