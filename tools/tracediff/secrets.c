/* SPDX-License-Identifier: MIT */
/* What is made of AT_RANDOM; see secrets.h. */
#include "secrets.h"

#define AT_RANDOM 25u /* of the auxiliary vector; its value is the address */

size_t secrets_find(const struct guest *g, const struct ctr_usermem *m)
{
    const unsigned word = g->word;

    for (size_t i = 0; i + 2 * word <= m->n; i += word) {
        const uint64_t at = guest_load(g, m->data + i + word, word) - m->addr;
        if (guest_load(g, m->data + i, word) == AT_RANDOM && at < m->n &&
            m->n - at >= SECRET_BYTES) {
            return (size_t)at;
        }
    }
    return SIZE_MAX;
}

void secrets_set(struct secrets *s, const struct guest *g, const struct ctr_usermem *m,
                 size_t at)
{
    const uint8_t *bytes = m->data + at;

    s->known = true;
    s->addr = m->addr + at;
    s->word[0] = guest_load(g, bytes, g->word);
    s->word[1] = guest_load(g, bytes + g->word, g->word);
}

bool secrets_same_canary(const struct secrets *a, uint64_t va, const struct secrets *b,
                         uint64_t vb, unsigned bytes)
{
    unsigned same = 0;

    if (!a->known || !b->known) {
        return false;
    }
    for (unsigned i = 0; i < 8 * bytes; i += 8) {
        const uint8_t x = (uint8_t)(va >> i), y = (uint8_t)(vb >> i);
        if (x == (uint8_t)(a->word[0] >> i) && y == (uint8_t)(b->word[0] >> i)) {
            same++;
        } else if (x || y) {
            return false;
        }
    }
    return same + 1 >= bytes;
}

uint64_t secrets_unmangle(const struct secrets *s, uint64_t v, unsigned bytes,
                          unsigned variant)
{
    const unsigned bits = 8 * bytes, by = 2 * bytes + 1;
    const uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;

    if (variant) {
        v = (v >> by | v << (bits - by)) & mask;
    }
    return (v ^ s->word[1]) & mask;
}
