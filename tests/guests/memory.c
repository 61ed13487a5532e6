/* SPDX-License-Identifier: MIT */
/* Accesses of every size and alignment, block copies, and the C library's. */
#include "guest.h"

static uint8_t a[512] __attribute__((aligned(64)));
static uint8_t b[512] __attribute__((aligned(64)));

struct __attribute__((packed)) odd {
    uint8_t c;
    uint64_t q;
    uint16_t h;
    uint32_t w;
    double d;
};

struct big {
    uint64_t v[24];
};

static NOINLINE void copy_odd(struct odd *to, const struct odd *from)
{
    to->c = from->c;
    to->q = from->q + 1;
    to->h = from->h + 2;
    to->w = from->w + 3;
    to->d = from->d * 1.5;
}

static NOINLINE struct big pass(struct big x, int i)
{
    x.v[i % 24] += (uint64_t)i;
    return x;
}

int main(void)
{
    struct big x;

    for (unsigned i = 0; i < sizeof(a); i++) {
        a[i] = (uint8_t)rnd();
    }
    for (unsigned off = 0; off < 20; off++) {
        copy_odd((struct odd *)(b + off), (struct odd *)(a + off * 3));
        mix(b[off]);
    }
    memcpy(&x, a, sizeof(x));
    for (int i = 0; i < 24; i++) {
        x = pass(x, i);
        mix(x.v[i]);
    }
    for (unsigned len = 0; len < 200; len += 1 + len / 8) {
        for (unsigned off = 0; off < 17; off += 1 + off / 3) {
            memcpy(b + off, a + 3, len);
            memmove(b + off + 5, b + off, len);
            memset(b + 256 + off, (int)len, len);
            mix((uint64_t)memcmp(b + off, a, len) + 1000);
            b[off + len] = 0;
            mix(strlen((char *)b + off));
            mix((uintptr_t)memchr(a + off, 0x77, len) ? 1 : 2);
        }
    }
    strcpy((char *)b, "a string that is copied, searched and cut");
    mix(strstr((char *)b, "cut") ? 3 : 4);
    strcat((char *)b, " and joined");
    mix(strlen((char *)b));
    for (char *p = strtok((char *)b, " ,"); p; p = strtok(NULL, " ,")) {
        mix((uint64_t)*p);
    }
    for (unsigned i = 1; i < 3000; i += 97) {
        char *p = malloc(i);

        memset(p, 1, i);
        p = realloc(p, i * 2);
        mix((uint64_t)p[i - 1]);
        free(p);
    }
#ifdef __SIZEOF_INT128__
    unsigned __int128 wide = 1;

    for (unsigned i = 0; i < 40; i++) {
        unsigned __int128 y;

        memcpy(&y, a + i, 16);
        wide = wide * 3 + y;
        memcpy(b + 100 + i, &wide, 16);
        mix((uint64_t)(wide >> 64));
    }
#endif
    return finish("memory");
}
