/* SPDX-License-Identifier: MIT */
/*
 * Whether addresses and values of both sides mean the same: as numbers, by what is mapped
 * there (space.h), as ids of threads (ids.h), or as what is random in each run (secrets.h).
 */
#include "meaning.h"

#include <string.h>

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

/* Bytes in memory order: each word that differs must mean the same, or each half of it.  If
 * not, *at is where the first one is. */
bool same_bytes(struct pair *p, const uint8_t *a, const uint8_t *b, size_t n, size_t *at)
{
    const unsigned word = p->guest[0].word;

    for (size_t i = 0; i < n; i += word) {
        const unsigned m = n - i < word ? (unsigned)(n - i) : word;
        if (!memcmp(a + i, b + i, m)) {
            continue;
        }
        if (m == word && same_word(p, load(p, 0, a + i, m), load(p, 1, b + i, m))) {
            continue;
        }
        *at = i;
        for (unsigned k = 0; k < m; k += 4) {
            if (m - k < 4 ||
                (memcmp(a + i + k, b + i + k, 4) &&
                 !same_ids(p, load(p, 0, a + i + k, 4), load(p, 1, b + i + k, 4)))) {
                return false;
            }
        }
    }
    return true;
}
