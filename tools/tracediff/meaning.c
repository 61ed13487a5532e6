/* SPDX-License-Identifier: MIT */
/*
 * Whether addresses and values of both sides mean the same: as numbers, by what is mapped
 * there (space.h), as ids of threads (ids.h), or as what is random in each run (secrets.h).
 */
#include "meaning.h"

#include <string.h>

#include "distance.h"
#include "maplog.h"

/* Whether numbers mean the same at two places; `ordinal' of each side. */
bool same_address(struct pair *p, uint64_t a, uint64_t b)
{
    struct space_place x, y;

    if (a == b) {
        return true;
    }
    x = space_find(&p->space[0], a);
    y = space_find(&p->space[1], b);
    if (p->opt->by_function && maplog_is_file(x.key) && maplog_is_file(y.key)) {
        return true;
    }
    return x.key && space_same(x, y);
}

void same_page_add(struct pair *p, uint64_t a, uint64_t b)
{
    const size_t i = page_slot(a);

    if (a != b && !((a ^ b) & 0xfff)) {
        p->higher[i].page = (a >> 12) + 1;
        p->higher[i].distance = b - a;
    }
}

void same_page_forget(struct pair *p)
{
    const uint32_t changes = p->space[0].changes + p->space[1].changes;

    if (p->higher_as_of != changes) {
        memset(p->higher, 0, sizeof(p->higher));
        p->higher_as_of = changes;
    }
}

static uint64_t load(const struct pair *p, unsigned side, const uint8_t *bytes,
                     unsigned n)
{
    return guest_load(&p->guest[side], bytes, n);
}

static bool same_ids(const struct pair *p, uint64_t a, uint64_t b)
{
    return !(a >> 32) && !(b >> 32) &&
           ids_same(p->ids[0], (uint32_t)a, p->ids[1], (uint32_t)b);
}

/* A word of either side: a number, an address, an id, or one that is different in each run
 * on purpose. */
bool same_word(struct pair *p, uint64_t a, uint64_t b)
{
    const struct secrets *x = &p->secrets[0], *y = &p->secrets[1];
    const unsigned word = p->guest[0].word;

    if (a == b || same_ids(p, a, b) || same_address(p, a, b)) {
        return true;
    }
    if (!x->known || !y->known) {
        return false;
    }
    for (unsigned i = 0; i < SECRET_VARIANTS; i++) {
        const uint64_t u = secrets_unmangle(x, a, word, i);
        const uint64_t v = secrets_unmangle(y, b, word, i);
        if (u == v || same_address(p, u, v)) {
            return true;
        }
    }
    return secrets_same_canary(x, a, y, b, word);
}

/* Whether n bytes, fewer than a word, mean the same; `from' is where they are in a word. */
static bool same_part(struct pair *p, const uint8_t *a, const uint8_t *b, unsigned n,
                      unsigned from)
{
    const uint64_t x = load(p, 0, a, n), y = load(p, 1, b, n);
    const bool begins = !from, ends = from + n == p->guest[0].word;
    const bool low = p->guest[0].big_endian ? ends : begins;

    if (!memcmp(a, b, n) || (n == 4 && same_ids(p, x, y))) {
        return true;
    }
    return n >= 4 && (begins || ends) &&
           (low ? distance_explains_low(p, x, y, n) : distance_explains_high(p, x, y, n));
}

/* The same, of a whole word or less. */
static bool same_piece(struct pair *p, const uint8_t *a, const uint8_t *b, unsigned n,
                       unsigned from)
{
    const unsigned word = p->guest[0].word;
    const unsigned half = from < 4 && from + n > 4 ? 4 - from : 0;

    if (n == word) {
        const uint64_t x = load(p, 0, a, n), y = load(p, 1, b, n);

        if (same_word(p, x, y) || distance_explains_word(p, x, y)) {
            return true;
        }
    } else if (same_part(p, a, b, n, from)) {
        return true;
    }
    return half && same_part(p, a, b, half, from) &&
           same_part(p, a + half, b + half, n - half, 4);
}

bool same_bytes(struct pair *p, const uint8_t *a, const uint8_t *b, size_t n,
                unsigned from, size_t *at)
{
    const unsigned word = p->guest[0].word;
    unsigned m;

    if (n == word) { /* also one of a structure without alignment */
        from = 0;
    }
    for (size_t i = 0; i < n; i += m, from = 0) {
        m = n - i < word - from ? (unsigned)(n - i) : word - from;
        if (memcmp(a + i, b + i, m) && !same_piece(p, a + i, b + i, m, from)) {
            *at = i;
            return false;
        }
    }
    return true;
}
