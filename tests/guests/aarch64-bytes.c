/* SPDX-License-Identifier: MIT */
/* aarch64: which bytes DC ZVA, the MOPS and the SVE instructions touch. */
#include "guest.h"

static uint8_t *m;       /* six pages, the last closed */
static unsigned long vl; /* bytes of a vector */

static NOINLINE void zero_block(uint8_t *p)
{
    SITE(dczva);
    unsigned long id, size;

    __asm__ volatile("mrs %0, dczid_el0" : "=r"(id));
    size = 4ul << (id & 15);
    __asm__ volatile(SITE_LABEL(dczva) "dc zva, %0" : : "r"(p) : "memory");
    executed(site_dczva);
    stored((void *)((uintptr_t)p & ~(size - 1)), size);
}

/* The effect of one step of a copy, by its count register before and after. */
static void copy_step(const char *site, uint8_t *d, uint8_t *s, long n, long before,
                      long after)
{
    executed(site);
    if (before > 0 && after > 0) { /* backward: from the end */
        loaded(s + after, (unsigned long)(before - after));
        stored(d + after, (unsigned long)(before - after));
    } else { /* forward: -remaining */
        unsigned long from = before > 0 ? 0 : (unsigned long)(n + before);
        unsigned long to = (unsigned long)(n + after);

        if (s) {
            loaded(s + from, to - from);
        }
        stored(d + from, to - from);
    }
}

#define COPY(name, letters)                                                              \
    static NOINLINE void name(uint8_t *to, uint8_t *from, long n)                        \
    {                                                                                    \
        SITE(name##_p);                                                                  \
        SITE(name##_m);                                                                  \
        SITE(name##_e);                                                                  \
        uint8_t *d = to, *s = from;                                                      \
        long c = n, c1, c2;                                                              \
                                                                                         \
        __asm__ volatile(".arch armv8.7-a+mops\n" SITE_LABEL(name##_p) letters           \
                         "p [%0]!, [%1]!, %2!\n\tmov %3, %2\n" SITE_LABEL(name##_m)      \
                             letters                                                     \
                         "m [%0]!, [%1]!, %2!\n\tmov %4, %2\n" SITE_LABEL(name##_e)      \
                             letters "e [%0]!, [%1]!, %2!"                               \
                         : "+r"(d), "+r"(s), "+r"(c), "=&r"(c1), "=&r"(c2)               \
                         :                                                               \
                         : "cc", "memory");                                              \
        if (n == 0) {                                                                    \
            c1 = c2 = 0;                                                                 \
        }                                                                                \
        if (c1 > 0) { /* backward ends at 0, not at -0 */                                \
            executed(site_##name##_p);                                                   \
            loaded(from + c1, (unsigned long)(n - c1));                                  \
            stored(to + c1, (unsigned long)(n - c1));                                    \
            executed(site_##name##_m);                                                   \
            loaded(from + c2, (unsigned long)(c1 - c2));                                 \
            stored(to + c2, (unsigned long)(c1 - c2));                                   \
            executed(site_##name##_e);                                                   \
            loaded(from, (unsigned long)c2);                                             \
            stored(to, (unsigned long)c2);                                               \
            return;                                                                      \
        }                                                                                \
        copy_step(site_##name##_p, to, from, n, n, c1);                                  \
        copy_step(site_##name##_m, to, from, n, c1, c2);                                 \
        copy_step(site_##name##_e, to, from, n, c2, 0);                                  \
    }

COPY(cpyf, "cpyf")
COPY(cpy, "cpy")

static NOINLINE void set(uint8_t *to, long n)
{
    SITE(set_p);
    SITE(set_m);
    SITE(set_e);
    uint8_t *d = to;
    long c = n, c1, c2;

    __asm__ volatile(
        ".arch armv8.7-a+mops\n" SITE_LABEL(set_p) "setp [%0]!, %1!, %4\n\tmov %2, %1\n" SITE_LABEL(
            set_m) "setm [%0]!, %1!, %4\n\tmov %3, %1\n" SITE_LABEL(set_e) "sete [%0]!, %1!, %4"
        : "+r"(d), "+r"(c), "=&r"(c1), "=&r"(c2)
        : "r"(0x77l)
        : "cc", "memory");
    if (n == 0) {
        c1 = c2 = 0;
    }
    copy_step(site_set_p, to, NULL, n, n, c1);
    copy_step(site_set_m, to, NULL, n, c1, c2);
    copy_step(site_set_e, to, NULL, n, c2, 0);
}

/* ---- SVE: n elements active ---- */

#define SVE(name, size, insn, ...)                                                       \
    do {                                                                                 \
        SITE(name);                                                                      \
        __asm__ volatile(                                                                \
            ".arch armv8.2-a+sve\n\tptrue p1.b\n\twhilelo p0." size ", xzr, %2\n\t"      \
            "mov z0.b, #0\n\tindex z4." size ", #0, #5\n" SITE_LABEL(name) insn          \
            :                                                                            \
            : "r"(p), "r"(q), "r"(n), "r"(2l)                                            \
            : "memory", "cc", "v0", "v1", "v2", "v3", "v4");                             \
        executed(site_##name);                                                           \
        __VA_ARGS__;                                                                     \
    } while (0)

static NOINLINE void contiguous(uint8_t *p, uint8_t *q, unsigned long n)
{
    unsigned long nb = n < vl ? n : vl, nh = n < vl / 2 ? n : vl / 2;
    unsigned long nw = n < vl / 4 ? n : vl / 4, nd = n < vl / 8 ? n : vl / 8;

    SVE(ld1b, "b", "ld1b {z1.b}, p0/z, [%0]", loaded(p, nb));
    SVE(ld1h, "h", "ld1h {z1.h}, p0/z, [%0, #1, mul vl]", loaded(p + vl, nh * 2));
    SVE(ld1w, "s", "ld1w {z1.s}, p0/z, [%0, %3, lsl #2]", loaded(p + 8, nw * 4));
    SVE(ld1d, "d", "ld1d {z1.d}, p0/z, [%0]", loaded(p, nd * 8));
    SVE(ld1b_d, "d", "ld1b {z1.d}, p0/z, [%0]", loaded(p, nd));
    SVE(ld1sh_s, "s", "ld1sh {z1.s}, p0/z, [%0]", loaded(p, nw * 2));
    SVE(st1b, "b", "st1b {z1.b}, p0, [%1]", stored(q, nb));
    SVE(st1w, "s", "st1w {z1.s}, p0, [%1]", stored(q, nw * 4));
    SVE(st1b_d, "d", "st1b {z1.d}, p0, [%1]", stored(q, nd));
    SVE(st1d, "d", "st1d {z1.d}, p0, [%1, #1, mul vl]", stored(q + vl, nd * 8));
    SVE(ld2b, "b", "ld2b {z0.b, z1.b}, p0/z, [%0]", loaded(p, nb * 2));
    SVE(ld3w, "s", "ld3w {z0.s, z1.s, z2.s}, p0/z, [%0]", loaded(p, nw * 12));
    SVE(ld4d, "d", "ld4d {z0.d, z1.d, z2.d, z3.d}, p0/z, [%0]", loaded(p, nd * 32));
    SVE(st2h, "h", "st2h {z0.h, z1.h}, p0, [%1]", stored(q, nh * 4));
    SVE(st3d, "d", "st3d {z0.d, z1.d, z2.d}, p0, [%1]", stored(q, nd * 24));
    SVE(st4b, "b", "st4b {z0.b, z1.b, z2.b, z3.b}, p0, [%1]", stored(q, nb * 4));
    SVE(ldr_z, "b", "ldr z1, [%0, #3, mul vl]", loaded(p + 3 * vl, vl));
    SVE(str_z, "b", "str z1, [%1]", stored(q, vl));
    SVE(ldr_p, "b", "ldr p2, [%0]", loaded(p, vl / 8));
    SVE(str_p, "b", "str p2, [%1]", stored(q, vl / 8));
    SVE(ldnt1b, "b", "ldnt1b {z1.b}, p0/z, [%0]", loaded(p, nb));
    SVE(stnt1d, "d", "stnt1d {z1.d}, p0, [%1]", stored(q, nd * 8));
    if (n >= 1) {
        SVE(ld1rqb, "b", "ld1rqb {z1.b}, p0/z, [%0]", loaded(p, n < 16 ? n : 16));
        SVE(ld1rw, "s", "ld1rw {z1.s}, p0/z, [%0, #8]", loaded(p + 8, 4));
    }
    SVE(gather_d, "d", "ld1d {z1.d}, p0/z, [%0, z4.d]",
        for (unsigned long i = 0; i < nd; i++) loaded(p + 5 * i, 8));
    SVE(gather_w, "s", "ld1w {z1.s}, p0/z, [%0, z4.s, uxtw]",
        for (unsigned long i = 0; i < nw; i++) loaded(p + 5 * i, 4));
    SVE(gather_b, "s", "ld1b {z1.s}, p0/z, [%0, z4.s, sxtw]",
        for (unsigned long i = 0; i < nw; i++) loaded(p + 5 * i, 1));
    SVE(scatter_d, "d", "st1d {z1.d}, p0, [%1, z4.d]",
        for (unsigned long i = 0; i < nd; i++) stored(q + 5 * i, 8));
    SVE(scatter_h, "s", "st1h {z1.s}, p0, [%1, z4.s, uxtw]",
        for (unsigned long i = 0; i < nw; i++) stored(q + 5 * i, 2));
}

/* First-fault and no-fault loads whose end is in the closed page. */
static NOINLINE void first_fault(uint8_t *p)
{
    SITE(ldff1b);
    SITE(ldnf1b);
    SITE(ldff1d);
    uint8_t ffr[64];
    unsigned long n;

#define FFR_COUNT(step)                                                                  \
    for (n = 0; n < vl && (ffr[n / 8] >> (n % 8) & 1); n += (step)) {                    \
    }
    __asm__ volatile(".arch armv8.2-a+sve\n\tptrue p1.b\n\tsetffr\n" SITE_LABEL(
                         ldff1b) "ldff1b {z1.b}, p1/z, [%0]\n\trdffr p2.b\n\tstr p2, [%1]"
                     :
                     : "r"(p), "r"(ffr)
                     : "memory", "v1");
    FFR_COUNT(1);
    executed(site_ldff1b);
    loaded(p, n);
    __asm__ volatile(".arch armv8.2-a+sve\n\tptrue p1.b\n\tsetffr\n" SITE_LABEL(
                         ldnf1b) "ldnf1b {z1.b}, p1/z, [%0]\n\trdffr p2.b\n\tstr p2, [%1]"
                     :
                     : "r"(p), "r"(ffr)
                     : "memory", "v1");
    FFR_COUNT(1);
    executed(site_ldnf1b);
    loaded(p, n);
    __asm__ volatile(".arch armv8.2-a+sve\n\tptrue p1.b\n\tsetffr\n" SITE_LABEL(
                         ldff1d) "ldff1d {z1.d}, p1/z, [%0]\n\trdffr p2.b\n\tstr p2, [%1]"
                     :
                     : "r"(p), "r"(ffr)
                     : "memory", "v1");
    FFR_COUNT(8);
    executed(site_ldff1d);
    loaded(p, n);
}

/* SME: rows and columns of the ZA tile, in streaming mode. */
static NOINLINE void tiles(uint8_t *p, uint8_t *q, unsigned long n)
{
    SITE(sme_ld1b);
    SITE(sme_st1b);
    SITE(sme_ld1d);
    SITE(sme_st1w);
    SITE(sme_ldr);
    SITE(sme_str);
    unsigned long svl, k;

    __asm__ volatile(
        ".arch armv8.2-a+sve+sme\n\trdsvl %0, #1\n\tsmstart\n\tmov w12, #1\n\twhilelo p0.b, xzr, %3\n" SITE_LABEL(sme_ld1b) "ld1b {za0h.b[w12, 0]}, p0/z, [%1]\n" SITE_LABEL(sme_st1b) "st1b {za0v.b[w12, 1]}, p0, [%2]\n\twhilelo p0.d, xzr, %3\n" SITE_LABEL(
            sme_ld1d) "ld1d {za1h.d[w12, 0]}, p0/z, [%1]\n\twhilelo p0.s, xzr, %3\n" SITE_LABEL(sme_st1w) "st1w {za2v.s[w12, 1]}, p0, [%2]\n" SITE_LABEL(sme_ldr) "ldr za[w12, 1], [%1, #1, mul vl]\n" SITE_LABEL(sme_str) "str za[w12, 0], [%2]\n\tsmstop"
        : "=&r"(svl)
        : "r"(p), "r"(q), "r"(n)
        : "memory", "cc", "x12", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8",
          "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19",
          "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
          "v31");
    k = n < svl ? n : svl;
    executed(site_sme_ld1b);
    loaded(p, k);
    executed(site_sme_st1b);
    stored(q, k);
    k = n < svl / 8 ? n : svl / 8;
    executed(site_sme_ld1d);
    loaded(p, k * 8);
    k = n < svl / 4 ? n : svl / 4;
    executed(site_sme_st1w);
    stored(q, k * 4);
    executed(site_sme_ldr);
    loaded(p + svl, svl);
    executed(site_sme_str);
    stored(q, svl);
}

int main(void)
{
    static const long lengths[] = {0, 1, 7, 16, 63, 64, 100, 1000, 4096, 5000};
    static const unsigned long counts[] = {0, 1, 3, 8, 16, 31, 64, 255, 256, 1000};

    m = map_pages(14 * 4096, PROT_READ | PROT_WRITE);
    mprotect(m + 13 * 4096, 4096, PROT_NONE);
    __asm__ volatile(".arch armv8.2-a+sve\n\trdvl %0, #1" : "=r"(vl));
    for (int i = 0; i < 13 * 4096; i++) {
        m[i] = (uint8_t)rnd();
    }
    for (int i = 0; i < 5; i++) {
        zero_block(m + 4096 * 2 + i * 777);
    }
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        cpyf(m + 100, m + 5 * 4096 + 50, lengths[i]);
        cpy(m + 4096 - 7, m + 6 * 4096 - 9, lengths[i]);
        cpy(m + 100, m + 50, lengths[i]);
        cpy(m + 50, m + 100, lengths[i]);
        set(m + 4096 * 3 - 3, lengths[i]);
    }
    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        contiguous(m + 64, m + 4096, counts[i]);
        contiguous(m + 4096 * 4 - 37, m + 4096 * 8 - 51, counts[i]);
        tiles(m + 64, m + 4096, counts[i]);
        tiles(m + 4096 * 4 - 37, m + 4096 * 8 - 51, counts[i]);
    }
    for (int i = 0; i < 5; i++) {
        first_fault(m + 4096);
        first_fault(m + 13 * 4096 - 8 - i * 13);
    }
    return 0;
}
