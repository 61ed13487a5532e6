/* SPDX-License-Identifier: MIT */
/* --find: looks for the pattern, and for pieces of it, in the bytes of one access. */
#include "dump/find_priv.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define SHORT_ACCESS 64u

/*
 * What pattern_may_be goes by.  An access that the pattern begins in has the pattern's first
 * byte, or, unless the piece is weak, the first one that is not 0.  Any other piece begins
 * with a later byte of the pattern; without weak pieces that is not 0, or one that is not 0
 * follows it.
 */
static void init_tests(struct pattern *p)
{
    uint32_t first = 0;

    while (first < p->n - 1 && !p->bytes[first]) {
        first++;
    }
    p->has[false] = p->bytes[first];
    p->has[true] = p->bytes[0];
    /* The pattern itself may begin with it, too. */
    for (unsigned weak = 0; weak < 2; weak++) {
        p->begins[weak][p->has[weak]] = true;
        for (uint32_t i = 1; p->joins && i < p->n; i++) {
            if (weak || p->strong[p->n] > p->strong[i]) {
                p->begins[weak][p->bytes[i]] = true;
            }
        }
    }
}

void pattern_init(struct pattern *p, const struct find_request *request, bool big_endian)
{
    const bool reverse =
        request->number && (request->ordered ? request->big_endian : big_endian);
    unsigned count[256] = {0}, most = 0;

    *p = (struct pattern){.n = request->n};
    for (uint32_t i = 0; i < p->n; i++) {
        uint8_t byte = request->bytes[reverse ? p->n - 1 - i : i];

        p->bytes[i] = byte;
        p->strong[i + 1] = (uint16_t)(p->strong[i] + (byte != 0));
        count[byte]++;
        most = most < count[byte] ? count[byte] : most;
    }
    p->joins = p->n > 1 && most <= PIECE_PLACES_MAX && p->strong[p->n];
    init_tests(p);
}

void hits_fini(struct hits *h)
{
    free(h->at);
}

static bool put_hit(struct hits *h, int64_t at)
{
    if (!array_reserve(&h->at, &h->cap, h->n + 1, sizeof(*h->at))) {
        return false;
    }
    h->at[h->n++] = at;
    return true;
}

static bool search_whole(const struct pattern *p, const uint8_t *data, size_t n,
                         struct hits *h)
{
    const uint8_t *at = data, *end = data + n;

    if (n <= SHORT_ACCESS) { /* memmem prepares itself for longer ones */
        for (; (size_t)(end - at) >= p->n; at++) {
            if (*at == p->bytes[0] && !memcmp(at, p->bytes, p->n) &&
                !put_hit(h, at - data)) {
                return false;
            }
        }
        return true;
    }
    while ((at = memmem(at, (size_t)(end - at), p->bytes, p->n)) != NULL) {
        if (!put_hit(h, at - data)) {
            return false;
        }
        at++;
    }
    return true;
}

/* The pattern's bytes from k on agree with `len' bytes of the access: a piece. */
static bool put_piece(const struct pattern *p, struct hits *h, int64_t at, size_t k,
                      size_t len)
{
    h->strong |= p->strong[k + len] > p->strong[k];
    return put_hit(h, at);
}

/* Pieces that begin in the pattern: perhaps they end in it, too. */
static bool search_ends(const struct pattern *p, const uint8_t *data, size_t n,
                        struct hits *h)
{
    for (uint32_t k = p->n - 1; k > 0; k--) {
        size_t len = n < p->n - k ? n : p->n - k;

        if (p->bytes[k] == data[0] && !memcmp(p->bytes + k, data, len) &&
            !put_piece(p, h, -(int64_t)k, k, len)) {
            return false;
        }
    }
    return true;
}

/* Pieces that the pattern begins in, and does not end. */
static bool search_begins(const struct pattern *p, const uint8_t *data, size_t n,
                          struct hits *h)
{
    size_t from = n < p->n ? 0 : n - p->n + 1;
    const uint8_t *at = data + from, *end = data + n;

    while (at < end && (at = memchr(at, p->bytes[0], (size_t)(end - at))) != NULL) {
        size_t len = (size_t)(end - at);

        if (!memcmp(at, p->bytes, len) && !put_piece(p, h, at - data, 0, len)) {
            return false;
        }
        at++;
    }
    return true;
}

bool pattern_search(const struct pattern *p, const uint8_t *data, size_t n,
                    struct hits *h)
{
    h->n = h->nwhole = 0;
    h->strong = false;
    if (n >= p->n && !search_whole(p, data, n, h)) {
        return false;
    }
    h->nwhole = h->n;
    return !p->joins || (search_ends(p, data, n, h) && search_begins(p, data, n, h));
}
