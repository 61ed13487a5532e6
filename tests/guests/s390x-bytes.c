/* SPDX-License-Identifier: MIT */
/* s390x: which bytes the storage-to-storage instructions touch. */
#include "guest.h"

static uint8_t *a, *b; /* two pages each, buffers end across pages */

#define RUN(name, insn, ...)                                                             \
    do {                                                                                 \
        SITE(name);                                                                      \
        __asm__ volatile(SITE_LABEL(name) insn                                           \
                         :                                                               \
                         : "a"(p), "a"(q)                                                \
                         : "cc", "memory", "r0", "r1");                                  \
        executed(site_##name);                                                           \
        __VA_ARGS__;                                                                     \
    } while (0)

static NOINLINE void fields(uint8_t *p, uint8_t *q)
{
    RUN(mvc1, "mvc 0(1,%0), 0(%1)", loaded(q, 1), stored(p, 1));
    RUN(mvc20, "mvc 3(20,%0), 1(%1)", loaded(q + 1, 20), stored(p + 3, 20));
    RUN(mvc256, "mvc 0(256,%0), 0(%1)", loaded(q, 256), stored(p, 256));
    RUN(mvc_spread, "mvc 1(30,%0), 0(%0)", loaded(p, 30), stored(p + 1, 30));
    RUN(mvcin, "mvcin 0(17,%0), 16(%1)", loaded(q, 17), stored(p, 17));
    RUN(nc, "nc 0(33,%0), 5(%1)", loaded(q + 5, 33), loaded(p, 33), stored(p, 33));
    RUN(oc, "oc 0(9,%0), 5(%1)", loaded(q + 5, 9), loaded(p, 9), stored(p, 9));
    RUN(xc, "xc 0(100,%0), 5(%1)", loaded(q + 5, 100), loaded(p, 100), stored(p, 100));
    RUN(xc_clear, "xc 0(77,%0), 0(%0)", may_load(p, 77), stored(p, 77));
    RUN(mvn, "mvn 0(12,%0), 0(%1)", loaded(q, 12), loaded(p, 12), stored(p, 12));
    RUN(mvz, "mvz 0(13,%0), 0(%1)", loaded(q, 13), loaded(p, 13), stored(p, 13));
    RUN(mvo, "mvo 0(6,%0), 0(4,%1)", loaded(q, 4), loaded(p + 5, 1), stored(p, 6));
    memset(q, 0xf5, 16);
    RUN(pack, "pack 0(6,%0), 0(11,%1)", loaded(q, 11), stored(p, 6));
    /* QEMU does not read the first byte, whose upper digit is not used */
    RUN(unpk, "unpk 0(11,%0), 0(6,%1)", loaded(q + 1, 5), may_load(q, 1), stored(p, 11));
    memcpy(p, q, 256);
    RUN(clc1, "clc 0(1,%0), 0(%1)", loaded(q, 1), loaded(p, 1));
    RUN(clc256, "clc 0(256,%0), 0(%1)", loaded(q, 256), loaded(p, 256));
    memset(p, 7, 20);
    RUN(tr, "tr 0(20,%0), 0(%1)", loaded(p, 20), stored(p, 20), loaded(q + 7, 1));
    memset(p, 9, 20);
    q[9] = 0;
    RUN(trt, "trt 0(20,%0), 0(%1)", loaded(p, 20), loaded(q + 9, 1));
}

static NOINLINE void by_register(uint8_t *p, uint8_t *q, unsigned long n)
{
    SITE(ex_mvc);
    SITE(ex_oc);
    SITE(ex_clc);

    __asm__ volatile(
        "j 1f\n2:\tmvc 0(1,%0), 0(%1)\n3:\toc 0(1,%0), 0(%1)\n4:\tclc 0(1,%0), 0(%1)\n1:\n" SITE_LABEL(
            ex_mvc) "exrl %2, 2b\n" SITE_LABEL(ex_oc) "exrl %2, 3b\n" SITE_LABEL(ex_clc) "exrl %2, 4b"
        :
        : "a"(p), "a"(q), "a"(n - 1)
        : "cc", "memory");
    executed(site_ex_mvc);
    loaded(q, n);
    stored(p, n);
    executed(site_ex_oc);
    loaded(q, n);
    loaded(p, n);
    stored(p, n);
    executed(site_ex_clc);
    loaded(q, n);
    loaded(p, n);
}

/* MVCL and CLCL, MVCLE and CLCLE (the loop around them runs once for these). */
static NOINLINE void longs(uint8_t *p, unsigned long pn, uint8_t *q, unsigned long qn)
{
    SITE(mvcl);
    SITE(clcl);
    unsigned long copied = pn < qn ? pn : qn;
    register uint64_t r2 __asm__("r2"), r3 __asm__("r3"), r4 __asm__("r4"),
        r5 __asm__("r5");

    r2 = (uintptr_t)p;
    r3 = pn;
    r4 = (uintptr_t)q;
    r5 = qn | 0x42000000;
    __asm__ volatile(SITE_LABEL(mvcl) "mvcl %0, %2"
                     : "+d"(r2), "+d"(r3), "+d"(r4), "+d"(r5)
                     :
                     : "cc", "memory");
    executed(site_mvcl);
    loaded(q, copied);
    stored(p, pn);
    r2 = (uintptr_t)p;
    r3 = pn;
    r4 = (uintptr_t)q;
    r5 = qn | 0x42000000;
    __asm__ volatile(SITE_LABEL(clcl) "clcl %0, %2"
                     : "+d"(r2), "+d"(r3), "+d"(r4), "+d"(r5)
                     :
                     : "cc", "memory");
    executed(site_clcl);
    loaded(p, copied);
    loaded(q, copied);
    if (pn > qn) {
        loaded(p, pn);
    }
    may_load(q, qn); /* compared with the padding until one differs */
}

/* MVCLE may stop anywhere (cc 3): its registers show how far it came. */
static NOINLINE void extended(uint8_t *p, unsigned long pn, uint8_t *q, unsigned long qn)
{
    SITE(mvcle);
    register uint64_t r2 __asm__("r2"), r3 __asm__("r3"), r4 __asm__("r4"),
        r5 __asm__("r5");
    uint64_t from = (uintptr_t)p, left = pn, src = (uintptr_t)q, srcleft = qn;

    while (left) {
        r2 = from;
        r3 = left;
        r4 = src;
        r5 = srcleft;
        __asm__ volatile(SITE_LABEL(mvcle) "mvcle %0, %2, 0x42"
                         : "+d"(r2), "+d"(r3), "+d"(r4), "+d"(r5)
                         :
                         : "cc", "memory");
        uint64_t n2 = r2, n3 = r3, n4 = r4, n5 = r5;
        executed(site_mvcle);
        stored((void *)from, n2 - from);
        loaded((void *)src, n4 - src);
        from = n2;
        left = n3;
        src = n4;
        srcleft = n5;
    }
}

static NOINLINE void strings(uint8_t *p, uint8_t *q, unsigned long n)
{
    SITE(mvst);
    SITE(clst);
    SITE(srst);
    register uint64_t r0 __asm__("r0") = 0;
    uint64_t d, s;

    memset(q, 'x', n);
    q[n] = 0;
    d = (uintptr_t)p;
    s = (uintptr_t)q;
    for (unsigned long done = 0, cc = 3; cc == 3;) {
        __asm__ volatile(
            SITE_LABEL(mvst) "mvst %0, %1\n\tipm %2\n\tsrlg %2, %2, 28\n\tnill %2, 3"
            : "+a"(d), "+a"(s), "=d"(cc)
            : "d"(r0)
            : "cc", "memory");
        unsigned long to = cc == 3 ? d - (uintptr_t)p : n + 1, from = done;

        done = to;
        executed(site_mvst);
        loaded(q + from, to - from);
        stored(p + from, to - from);
        r0 = 0;
    }
    d = (uintptr_t)p;
    s = (uintptr_t)q;
    r0 = 0;
    __asm__ volatile(SITE_LABEL(clst) "clst %0, %1\n\tjo .-4"
                     : "+a"(d), "+a"(s)
                     : "d"(r0)
                     : "cc", "memory");
    executed(site_clst);
    loaded(q, n + 1);
    loaded(p, n + 1);
    d = (uintptr_t)q + n + 5;
    s = (uintptr_t)q;
    r0 = 0;
    __asm__ volatile(SITE_LABEL(srst) "srst %0, %1\n\tjo .-4"
                     : "+a"(d), "+a"(s)
                     : "d"(r0)
                     : "cc", "memory");
    executed(site_srst);
    loaded(q, n + 1);
}

/* CKSM: sums words; it may stop at a page (cc 3) and continues from its registers. */
static NOINLINE void checksum(uint8_t *q, unsigned long n)
{
    SITE(cksm);
    register uint64_t r2 __asm__("r2"), r3 __asm__("r3"), sum __asm__("r6") = 0;
    uint64_t at = (uintptr_t)q, left = n;

    while (left) {
        r2 = at;
        r3 = left;
        __asm__ volatile(SITE_LABEL(cksm) "cksm %2, %0"
                         : "+d"(r2), "+d"(r3), "+d"(sum)
                         :
                         : "cc", "memory");
        uint64_t to = r2, rest = r3;
        executed(site_cksm);
        loaded((void *)at, to - at);
        at = to;
        left = rest;
    }
}

static NOINLINE void vectors(uint8_t *p, uint8_t *q, unsigned n)
{
    SITE(vll);
    SITE(vstl);

    __asm__ volatile(
        SITE_LABEL(vll) "vll %%v1, %2, 0(%1)\n" SITE_LABEL(vstl) "vstl %%v1, %2, 0(%0)"
        :
        : "a"(p), "a"(q), "d"(n)
        : "memory", "v1");
    executed(site_vll);
    loaded(q, n < 15 ? n + 1 : 16);
    executed(site_vstl);
    stored(p, n < 15 ? n + 1 : 16);
}

static NOINLINE void others(uint8_t *p, uint8_t *q)
{
    RUN(stck, "stck 0(%0)", stored(p, 8));
    RUN(lmg, "lmg %%r0, %%r1, 3(%0)", loaded(p + 3, 16));
    RUN(stm, "stm %%r0, %%r1, 3(%0)", stored(p + 3, 8));
    RUN(mvi, "mvi 9(%1), 3", stored(q + 9, 1));
}

int main(void)
{
    static const unsigned lengths[] = {1, 2, 7, 8, 16, 17, 100, 255, 256};
    uint8_t *m = map_pages(6 * 4096, PROT_READ | PROT_WRITE);

    for (int i = 0; i < 6 * 4096; i++) {
        m[i] = (uint8_t)rnd();
    }
    a = m;
    b = m + 3 * 4096;
    for (int across = 0; across < 2; across++) {
        uint8_t *p = a + (across ? 4096 - 19 : 64), *q = b + (across ? 4096 - 6 : 7);

        fields(p, q);
        for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            unsigned n = lengths[i];

            by_register(p, q, n);
            longs(p, n, q, n);
            longs(p, n + 40, q, n);
            longs(p, n, q, n + 9);
            extended(p, n * 9, q, n * 9);
            extended(p, n * 5, q, n);
            strings(p, q, n);
            vectors(p, q, n - 1);
            checksum(q, n);
        }
        others(p, q);
    }
    return 0;
}
