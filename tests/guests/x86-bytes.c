/* SPDX-License-Identifier: MIT */
/*
 * x86: which bytes the state-saving and x87 memory instructions access.  To find which
 * bytes a store wrote, it runs over two different patterns: a byte that
 * is the same afterwards was written.  Reserved bytes of an area may be written.
 */
#include "guest.h"

static uint8_t *m;

static NOINLINE void filled(uint8_t *p, unsigned long n, int value)
{
    memset(p, value, n);
}

/* Reports which bytes of [p, p+n) are equal after runs over two patterns. */
static NOINLINE void stored_where_equal(const uint8_t *x, const uint8_t *p,
                                        unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        if (x[i] == p[i]) {
            unsigned long j = i;

            while (j < n && x[j] == p[j]) {
                j++;
            }
            stored(p + i, j - i);
            i = j;
        }
    }
    may_store(p, n);
}

#define SAVE(name, insn, size, lo, hi)                                                   \
    do {                                                                                 \
        SITE(name);                                                                      \
        static uint8_t first[4096];                                                      \
        for (int k = 0; k < 2; k++) {                                                    \
            filled(p, (size), k ? 0x5a : 0xa5);                                          \
            memset(p + 512, 0, 64);                                                      \
            __asm__ volatile("jmp 1f\n" SITE_LABEL(name) insn                            \
                             "\n\tret\n1:\tcall site_" #name                             \
                             :                                                           \
                             : "D"(p), "a"(lo), "d"(hi)                                  \
                             : "memory");                                                \
            if (k == 0) {                                                                \
                memcpy(first, p, (size));                                                \
                executed(site_##name);                                                   \
                may_store(p, (size));                                                    \
                may_load(p, (size));                                                     \
            }                                                                            \
        }                                                                                \
        executed(site_##name);                                                           \
        stored_where_equal(first, p, (size) < 512 ? (size) : 512);                       \
        if ((size) > 512) { /* the header was prepared: only XSTATE_BV is sure */        \
            stored(p + 512, 8);                                                          \
            may_store(p + 512, 64);                                                      \
            stored_where_equal(first + 576, p + 576, (size) - 576);                      \
        }                                                                                \
        may_load(p, (size));                                                             \
    } while (0)

#define LOAD(name, insn, lo, hi, ...)                                                    \
    do {                                                                                 \
        SITE(name);                                                                      \
        __asm__ volatile(SITE_LABEL(name) insn : : "D"(p), "a"(lo), "d"(hi) : "memory"); \
        executed(site_##name);                                                           \
        __VA_ARGS__;                                                                     \
    } while (0)

#define XMM_BYTES (sizeof(long) == 8 ? 256 : 128)

static void fx_area_loaded(const uint8_t *p)
{
    loaded(p, 6);      /* fcw, fsw, ftw, fop */
    loaded(p + 24, 4); /* mxcsr */
    for (int i = 0; i < 8; i++) {
        loaded(p + 32 + 16 * i, 10);
    }
    loaded(p + 160, XMM_BYTES);
    may_load(p, 512);
}

static NOINLINE void state(uint8_t *p)
{
    __asm__ volatile(
        "fninit\n\tfld1\n\tfldpi\n\tfldz\n\tmovdqu (%0), %%xmm0\n\tmovdqu 7(%0), %%xmm5"
        :
        : "r"(m)
        : "xmm0", "xmm5");
    SAVE(fxsave, "fxsave (%%edi)", 512, 0, 0);
    LOAD(fxrstor, "fxrstor (%%edi)", 0, 0, fx_area_loaded(p));
    SAVE(xsave_all, "xsave (%%edi)", 1024, 7, 0);
    LOAD(xrstor_all, "xrstor (%%edi)", 3, 0, fx_area_loaded(p), loaded(p + 512, 8),
         may_load(p + 512, 64));
    SAVE(xsave_sse, "xsave (%%edi)", 1024, 2, 0);
    LOAD(xrstor_sse, "xrstor (%%edi)", 2, 0, loaded(p + 160, XMM_BYTES),
         loaded(p + 24, 4), may_load(p, 576));
    SAVE(xsaveopt, "xsaveopt (%%edi)", 1024, 3, 0);
    SAVE(fnsave, "fnsave (%%edi)\n\tfrstor (%%edi)", 108, 0, 0);
}

static NOINLINE void x87(uint8_t *p)
{
    static const long double v = 3.25L;

    SITE(fldt);
    SITE(fstpt);
    SITE(fbstp);
    SITE(fbld);
    SITE(fnstenv);
    SITE(fldenv);
    SITE(fstl);
    SITE(fildll);

    memcpy(p, &v, 10);
    __asm__ volatile(
        SITE_LABEL(fldt) "fldt (%0)\n" SITE_LABEL(fstpt) "fstpt 16(%0)\n\tfldpi\n" SITE_LABEL(fbstp) "fbstp 32(%0)\n" SITE_LABEL(fbld) "fbld 32(%0)\n" SITE_LABEL(
            fstl) "fstpl 64(%0)\n" SITE_LABEL(fildll) "fildll 64(%0)\n\tfstp %%st(0)\n" SITE_LABEL(fnstenv) "fnstenv 128(%0)\n" SITE_LABEL(fldenv) "fldenv 128(%0)"
        :
        : "r"(p)
        : "memory");
    executed(site_fldt);
    loaded(p, 10);
    executed(site_fstpt);
    stored(p + 16, 10);
    executed(site_fbstp);
    stored(p + 32, 10);
    executed(site_fbld);
    loaded(p + 32, 10);
    executed(site_fstl);
    stored(p + 64, 8);
    executed(site_fildll);
    loaded(p + 64, 8);
    executed(site_fnstenv);
    stored(p + 128, 28);
    executed(site_fldenv);
    for (int i = 0; i < 3; i++) { /* control, status and tag words */
        loaded(p + 128 + 4 * i, 2);
    }
    may_load(p + 128, 28);
}

static NOINLINE void masked(uint8_t *p)
{
    static const uint8_t mask[16] = {0x80, 0, 0xff, 0,    0,    0x81, 0x90, 0,
                                     0,    0, 0,    0x80, 0x80, 0x80, 0,    0xf0};

    SITE(maskmov);
    __asm__ volatile(
        "movdqu (%1), %%xmm1\n" SITE_LABEL(maskmov) "maskmovdqu %%xmm1, %%xmm0"
        :
        : "D"(p), "r"(mask)
        : "memory", "xmm0", "xmm1");
    executed(site_maskmov);
    for (int i = 0; i < 16; i++) {
        if (mask[i] & 0x80) {
            stored(p + i, 1);
        }
    }
    may_store(p, 16);
    may_load(p, 16);
}

int main(void)
{
    m = map_pages(8 * 4096, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 8 * 4096; i++) {
        m[i] = (uint8_t)rnd();
    }
    state(m + 64);
    state(m + 4096 - 192);
    x87(m + 2 * 4096);
    x87(m + 3 * 4096 - 5);
    x87(m + 3 * 4096 - 133);
    masked(m + 4096 * 4);
    masked(m + 4096 * 5 - 9);
    return 0;
}
