/* SPDX-License-Identifier: MIT */
/*
 * riscv64: which bytes the vector loads and stores touch: unit-stride, strided,
 * indexed, segment, whole-register, mask and fault-only-first, masked or not.
 */
#include "guest.h"

static uint8_t *m;
static unsigned long vlenb;

/* 16 bytes of mask: elements 0, 2, 3, 7, 8, 13 of each 16 */
#define MASK_WORD 0x218d
static uint16_t mask_words[64];

static int active(unsigned long i)
{
    return MASK_WORD >> (i % 16) & 1;
}

/*
 * One instruction with vl = n (less if the registers are shorter) elements of
 * `sew' bits, group `lmul'; index vector in v8 (5 * i), mask in v0.
 */
#define RVV(name, sew, lmul, insn, ...)                                                  \
    do {                                                                                 \
        SITE(name);                                                                      \
        unsigned long vl, t;                                                             \
        __asm__ volatile(                                                                \
            ".option push\n\t.option arch, +v\n\tvsetvli %1, zero, e8, m1, ta, ma\n\t"   \
            "vle8.v v0, (%6)\n\tvsetvli %1, zero, e" sew ", " lmul ", ta, ma\n\t"        \
            "vid.v v8\n\tli %1, 5\n\tvmul.vx v8, v8, %1\n\t"                             \
            "vsetvli %0, %5, e" sew ", " lmul ", ta, ma\n" SITE_LABEL(name) insn         \
            "\n\tcsrr %0, vl\n\t.option pop"                                             \
            : "=&r"(vl), "=&r"(t)                                                        \
            : "r"(p), "r"(q), "r"(13l), "r"(n), "r"(mask_words)                          \
            : "memory");                                                                 \
        (void)vl;                                                                        \
        executed(site_##name);                                                           \
        __VA_ARGS__;                                                                     \
    } while (0)

#define EACH(...)                                                                        \
    for (unsigned long i = 0; i < vl; i++) {                                             \
        __VA_ARGS__;                                                                     \
    }
#define EACH_ACTIVE(...) EACH(if (active(i)) { __VA_ARGS__; })

static NOINLINE void loads(uint8_t *p, uint8_t *q, unsigned long n)
{
    RVV(vle8, "8", "m1", "vle8.v v4, (%2)", loaded(p, vl));
    RVV(vle16, "16", "m2", "vle16.v v4, (%2)", loaded(p, vl * 2));
    RVV(vle32, "32", "m1", "vle32.v v4, (%2)", loaded(p, vl * 4));
    RVV(vle64, "64", "m4", "vle64.v v4, (%2)", loaded(p, vl * 8));
    RVV(vle32_m, "32", "m1", "vle32.v v4, (%2), v0.t", EACH_ACTIVE(loaded(p + 4 * i, 4)));
    RVV(vle8_m, "8", "m2", "vle8.v v4, (%2), v0.t", EACH_ACTIVE(loaded(p + i, 1)));
    RVV(vlse16, "16", "m1", "vlse16.v v4, (%2), %4", EACH(loaded(p + 13 * i, 2)));
    RVV(vlse64_m, "64", "m1", "vlse64.v v4, (%2), %4, v0.t",
        EACH_ACTIVE(loaded(p + 13 * i, 8)));
    RVV(vluxei32, "32", "m1", "vluxei32.v v4, (%2), v8", EACH(loaded(p + 5 * i, 4)));
    RVV(vloxei64_m, "64", "m1", "vloxei64.v v4, (%2), v8, v0.t",
        EACH_ACTIVE(loaded(p + 5 * i, 8)));
    RVV(vlseg2e8, "8", "m1", "vlseg2e8.v v4, (%2)", loaded(p, vl * 2));
    RVV(vlseg3e32, "32", "m1", "vlseg3e32.v v4, (%2)", loaded(p, vl * 12));
    RVV(vlseg4e16_m, "16", "m1", "vlseg4e16.v v4, (%2), v0.t",
        EACH_ACTIVE(loaded(p + 8 * i, 8)));
    RVV(vlsseg2e32, "32", "m1", "vlsseg2e32.v v4, (%2), %4", EACH(loaded(p + 13 * i, 8)));
    RVV(vluxseg2ei32, "32", "m1", "vluxseg2ei32.v v4, (%2), v8",
        EACH(loaded(p + 5 * i, 8)));
    RVV(vl1re8, "8", "m1", "vl1re8.v v4, (%2)", loaded(p, vlenb));
    RVV(vl4re32, "32", "m1", "vl4re32.v v4, (%2)", loaded(p, vlenb * 4));
    RVV(vlm, "8", "m1", "vlm.v v4, (%2)", loaded(p, (vl + 7) / 8));
    RVV(vse8, "8", "m1", "vse8.v v4, (%3)", stored(q, vl));
    RVV(vse64, "64", "m2", "vse64.v v4, (%3)", stored(q, vl * 8));
    RVV(vse16_m, "16", "m1", "vse16.v v4, (%3), v0.t", EACH_ACTIVE(stored(q + 2 * i, 2)));
    RVV(vsse32, "32", "m1", "vsse32.v v4, (%3), %4", EACH(stored(q + 13 * i, 4)));
    RVV(vsuxei16, "16", "m1", "vsuxei16.v v4, (%3), v8", EACH(stored(q + 5 * i, 2)));
    RVV(vsseg3e16, "16", "m1", "vsseg3e16.v v4, (%3)", stored(q, vl * 6));
    RVV(vssseg2e8, "8", "m1", "vssseg2e8.v v4, (%3), %4", EACH(stored(q + 13 * i, 2)));
    RVV(vsuxseg2ei8_m, "8", "m1", "vsuxseg2ei8.v v4, (%3), v8, v0.t",
        EACH_ACTIVE(stored(q + (uint8_t)(5 * i), 2)));
    RVV(vs1r, "8", "m1", "vs1r.v v4, (%3)", stored(q, vlenb));
    RVV(vs8r, "8", "m1", "vs8r.v v8, (%3)", stored(q, vlenb * 8));
    RVV(vsm, "8", "m1", "vsm.v v0, (%3)", stored(q, (vl + 7) / 8));
}

/* Fault-only-first: vl is the number of elements that were read. */
static NOINLINE void first_fault(uint8_t *p, unsigned long n)
{
    uint8_t *q = m;

    RVV(vle8ff, "8", "m1", "vle8ff.v v4, (%2)", loaded(p, vl));
    RVV(vle16ff, "16", "m1", "vle16ff.v v4, (%2)", loaded(p, vl * 2));
    RVV(vle64ff, "64", "m2", "vle64ff.v v4, (%2)", loaded(p, vl * 8));
    RVV(vlseg2e8ff, "8", "m1", "vlseg2e8ff.v v4, (%2)", loaded(p, vl * 2));
}

static NOINLINE void zero_block(uint8_t *p)
{
    SITE(cbo_zero);

    __asm__ volatile(".option push\n\t.option arch, +zicboz\n" SITE_LABEL(
                         cbo_zero) "cbo.zero (%0)\n\t.option pop"
                     :
                     : "r"(p)
                     : "memory");
    executed(site_cbo_zero);
    stored((void *)((uintptr_t)p & ~63ul), 64);
}

int main(void)
{
    static const unsigned long counts[] = {0, 1, 2, 3, 5, 8, 16, 17, 100};

    m = map_pages(9 * 4096, PROT_READ | PROT_WRITE);
    mprotect(m + 8 * 4096, 4096, PROT_NONE);
    for (int i = 0; i < 8 * 4096; i++) {
        m[i] = (uint8_t)rnd();
    }
    for (int i = 0; i < 64; i++) {
        mask_words[i] = MASK_WORD;
    }
    __asm__ volatile("csrr %0, 0xc22" : "=r"(vlenb));
    for (int i = 0; i < 9; i++) {
        zero_block(m + 4096 + i * 37);
    }
    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        loads(m + 64, m + 4096, counts[i]);
        loads(m + 3 * 4096 - 24, m + 5 * 4096 - 40, counts[i]);
        loads(m + 3 * 4096 - 19, m + 5 * 4096 - 13, counts[i]);
        first_fault(m + 8 * 4096 - 16, counts[i]);
        first_fault(m + 8 * 4096 - 80, counts[i]);
    }
    return 0;
}
