/* SPDX-License-Identifier: MIT */
/* ppc64le: which bytes dcbz and the length-controlled accesses access. */
#include "guest.h"

static NOINLINE void zero_line(uint8_t *p)
{
    SITE(dcbz);
    __asm__ volatile(SITE_LABEL(dcbz) "dcbz 0, %0" : : "r"(p) : "memory");
    executed(site_dcbz);
    stored((void *)((uintptr_t)p & ~127ul), 128);
}

static NOINLINE void by_length(uint8_t *p, uint8_t *q, unsigned long n)
{
    SITE(lxvl);
    SITE(stxvl);
    SITE(lxvll);
    SITE(stxvll);
    unsigned long touched = n > 16 ? 16 : n;

    __asm__ volatile(
        ".machine power9\n" SITE_LABEL(lxvl) "lxvl 40, %0, %2\n" SITE_LABEL(
            stxvl) "stxvl 40, %1, %2\n" SITE_LABEL(lxvll) "lxvll 40, %0, %2\n" SITE_LABEL(stxvll) "stxvll 40, %1, %2"
        :
        : "b"(p), "b"(q), "r"(n << 56)
        : "memory", "v8");
    executed(site_lxvl);
    loaded(p, touched);
    executed(site_stxvl);
    stored(q, touched);
    executed(site_lxvll);
    loaded(p, touched);
    executed(site_stxvll);
    stored(q, touched);
}

static NOINLINE void quads(uint8_t *p)
{
    SITE(lq);
    SITE(stq);
    SITE(lxv);
    SITE(stxv);
    SITE(lvx);
    SITE(stvx);

    __asm__ volatile(
        ".machine power9\n" SITE_LABEL(lq) "lq 8, 0(%0)\n" SITE_LABEL(stq) "stq 8, 16(%0)\n" SITE_LABEL(
            lxv) "lxvx 40, 0, %1\n" SITE_LABEL(stxv) "stxvx 40, 0, %1\n" SITE_LABEL(lvx) "lvx 8, 0, %1\n" SITE_LABEL(stvx) "stvx 8, 0, %1"
        :
        : "b"(p), "b"(p + 5)
        : "memory", "8", "9", "v8");
    executed(site_lq);
    loaded(p, 16);
    executed(site_stq);
    stored(p + 16, 16);
    executed(site_lxv);
    loaded(p + 5, 16);
    executed(site_stxv);
    stored(p + 5, 16);
    executed(site_lvx);
    loaded(p, 16);
    executed(site_stvx);
    stored(p, 16);
}

int main(void)
{
    uint8_t *m = map_pages(3 * 65536, PROT_READ | PROT_WRITE);

    for (int i = 0; i < 3 * 65536; i++) {
        m[i] = (uint8_t)rnd();
    }
    for (int i = 0; i < 9; i++) {
        zero_line(m + 500 + i * 131);
        quads(m + 4096 + i * 48);
    }
    for (unsigned long n = 0; n < 19; n++) {
        by_length(m + 64, m + 300, n);
        by_length(m + 65536 - 5, m + 2 * 65536 - 9, n);
    }
    return 0;
}
