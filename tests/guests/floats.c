/* SPDX-License-Identifier: MIT */
/* Floating point, conversions, and loops that compilers turn into vectors. */
#include "guest.h"

#include <math.h>

static float f[256];
static double d[256];
static int32_t n[256];

static NOINLINE void vectors(void)
{
    for (int i = 0; i < 256; i++) {
        f[i] = (float)(i * 3) / 7.0f;
        d[i] = sqrt((double)i) + f[i];
    }
    for (int i = 0; i < 256; i++) {
        n[i] = (int32_t)(d[i] * 100) + (i & 3 ? n[255 - i] : 5);
    }
    for (int i = 1; i < 256; i++) {
        d[i] = d[i] * 0.5 + d[i - 1];
        f[i] = f[i] > 10 ? f[i] - 1 : f[i] + 2;
    }
}

static NOINLINE double poly(double x)
{
    double r = 0;

    for (int i = 0; i < 12; i++) {
        r = r * x + i;
    }
    return r;
}

int main(void)
{
    char text[80];

    for (int r = 0; r < 3; r++) {
        vectors();
    }
    for (int i = 0; i < 256; i++) {
        mix((uint64_t)n[i]);
        mix((uint64_t)(d[i] * 16));
    }
    for (int i = 1; i < 20; i++) {
        mix((uint64_t)(int64_t)poly(i / 8.0));
        snprintf(text, sizeof(text), "%d %.3f %g %a", i, i / 3.0, exp(i / 4.0),
                 pow(i, 0.3));
        for (char *p = text; *p; p++) {
            mix((uint64_t)*p);
        }
    }
    mix((uint64_t)strtod("12345.678e-2", NULL));
    return finish("floats");
}
