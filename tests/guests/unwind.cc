// SPDX-License-Identifier: MIT
// C++ exceptions: thrown through frames with and without destructors, caught at
// several depths, rethrown.  The program counts its own calls, as calltree.c does; calls of
// libraries are left out.
#include <cstdio>
#include <unistd.h>

#define FN extern "C" __attribute__((noipa)) unsigned

static volatile unsigned sink;

enum { main_, catcher, passer, cleaner, thrower, rethrower, leaf, destroyed, climber, NR };
static const char *const names[] = {"main",    "catcher",   "passer", "cleaner",  "thrower",
                                    "rethrower", "leaf", "destroyed", "climber"};
static unsigned counts[NR][NR];

static inline __attribute__((always_inline)) void enter(int from, int me)
{
    counts[from][me]++;
}

FN f_leaf(int from, unsigned n) asm("leaf");
FN f_leaf(int from, unsigned n)
{
    enter(from, leaf);
    return n + 1;
}

FN f_destroyed(int from) asm("destroyed");
FN f_destroyed(int from)
{
    enter(from, destroyed);
    sink += f_leaf(destroyed, 1);
    return sink;
}

struct guard {
    int from;
    __attribute__((always_inline)) ~guard()
    {
        sink += f_destroyed(from);
    }
};

FN f_thrower(int from, unsigned n) asm("thrower");
FN f_thrower(int from, unsigned n)
{
    enter(from, thrower);
    if (n % 3 == 0) {
        throw n;
    }
    return f_leaf(thrower, n) + 1;
}

FN f_passer(int from, unsigned n) asm("passer");
FN f_passer(int from, unsigned n)
{
    enter(from, passer);
    unsigned r = n & 1 ? f_thrower(passer, n) : f_leaf(passer, n);
    sink += r;
    return r + f_thrower(passer, n + 1) + 1;
}

FN f_cleaner(int from, unsigned n) asm("cleaner");
FN f_cleaner(int from, unsigned n)
{
    enter(from, cleaner);
    guard g = {cleaner};
    return f_passer(cleaner, n) + f_leaf(cleaner, n) + 1;
}

FN f_rethrower(int from, unsigned n) asm("rethrower");
FN f_rethrower(int from, unsigned n)
{
    enter(from, rethrower);
    try {
        return f_cleaner(rethrower, n) + 1;
    } catch (unsigned v) {
        sink += f_leaf(rethrower, v);
        if (v % 2) {
            throw;
        }
        return 1;
    }
}

FN f_climber(int from, unsigned n) asm("climber");
FN f_climber(int from, unsigned n)
{
    enter(from, climber);
    unsigned r = n > 20 ? f_climber(climber, n - 7) : f_rethrower(climber, n);
    sink += r;
    return r + f_leaf(climber, n);
}

FN f_catcher(int from, unsigned n) asm("catcher");
FN f_catcher(int from, unsigned n)
{
    enter(from, catcher);
    try {
        sink += f_climber(catcher, n);
    } catch (unsigned v) {
        sink += f_leaf(catcher, v);
    }
    return f_leaf(catcher, n) + 1;
}

int main()
{
    for (unsigned i = 0; i < 60; i++) {
        sink += f_catcher(main_, i);
    }
    for (int a = 0; a < NR; a++) {
        for (int b = 0; b < NR; b++) {
            if (counts[a][b]) {
                std::printf("%d %s %s %u\n", (int)getpid(), names[a], names[b], counts[a][b]);
            }
        }
    }
    return 0;
}
