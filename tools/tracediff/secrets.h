/* SPDX-License-Identifier: MIT */
/*
 * The random bytes that the system gives each program when it starts (AT_RANDOM), and what C
 * libraries make of them: the canary of the stack protector and mangled pointers.  They differ
 * in each run, but mean the same.
 */
#ifndef TRACEDIFF_SECRETS_H
#define TRACEDIFF_SECRETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"
#include "guest/guest.h"

#define SECRET_BYTES 16u

struct secrets {
    bool known;
    uint64_t addr;    /* of the bytes */
    uint64_t word[2]; /* the first two words of the bytes */
};

/* Where the random bytes are in the memory that a program is started with; SIZE_MAX: there
 * are none in it. */
size_t secrets_find(const struct guest *g, const struct ctr_usermem *m);
/* They are the bytes from `at' on. */
void secrets_set(struct secrets *s, const struct guest *g, const struct ctr_usermem *m,
                 size_t at);

/* Whether an access of n bytes is to some of them. */
static inline bool secrets_at(const struct secrets *s, uint64_t addr, uint32_t n)
{
    return s->known && addr - s->addr < SECRET_BYTES &&
           n <= SECRET_BYTES - (addr - s->addr);
}

/* Whether a word of each side is made of the first word of the bytes in the same way: equal
 * to it but for bytes that are zero. */
bool secrets_same_canary(const struct secrets *a, uint64_t va, const struct secrets *b,
                         uint64_t vb, unsigned bytes);

/*
 * A word that hides a pointer by the second word of the bytes: in variant 0 it is xor'ed with
 * it, in variant 1 rotated then, too (glibc on x86).
 */
#define SECRET_VARIANTS 2u
uint64_t secrets_unmangle(const struct secrets *s, uint64_t v, unsigned bytes,
                          unsigned variant);

#endif
