/* SPDX-License-Identifier: MIT */
/*
 * Long string instructions: around 65,536 rounds (after which QEMU leaves the block
 * and enters it again), up to 100,000.
 */
#include "guest.h"

static uint8_t a[100064 * 4], b[100064 * 4];

int main(void)
{
    static const unsigned long rounds[] = {65535, 65536, 65537, 100000};

    for (unsigned i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        unsigned long c = rounds[i];
        uint8_t *d = b, *s = a;

        __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(c) : : "memory");
        mix((uint64_t)(d - b));
        d = b;
        s = a;
        c = rounds[i];
        __asm__ volatile("repe cmpsb" : "+D"(d), "+S"(s), "+c"(c) : : "memory", "cc");
        mix((uint64_t)(d - b));
        d = b;
        c = rounds[i];
        __asm__ volatile("rep stosl" : "+D"(d), "+c"(c) : "a"(i) : "memory");
        mix((uint64_t)(d - b));
        b[rounds[i] - 2] = 9;
        d = b;
        c = rounds[i];
        __asm__ volatile("repne scasb" : "+D"(d), "+c"(c) : "a"(9) : "memory", "cc");
        mix(c);
        s = a;
        c = rounds[i];
        __asm__ volatile("rep lodsw" : "+S"(s), "+c"(c) : : "memory", "cc", "eax");
        mix((uint64_t)(s - a));
    }
    return finish("x86rep");
}
