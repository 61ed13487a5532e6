/* SPDX-License-Identifier: MIT */
/* Whether addresses and values mean the same on both sides of a pair, where its spaces are. */
#ifndef TRACEDIFF_MEANING_H
#define TRACEDIFF_MEANING_H

#include "pair.h"

bool same_address(struct pair *p, uint64_t a, uint64_t b);

/* Where the page of an address is in p->higher. */
static inline size_t page_slot(uint64_t addr)
{
    const uint64_t page = addr >> 12;

    return (size_t)(page ^ page >> 6) % PAIR_PAGES;
}

/* Whether two other addresses are known to mean the same, as others in their pages do: mappings
 * begin and end with pages. */
static inline bool same_page(const struct pair *p, uint64_t a, uint64_t b)
{
    const size_t i = page_slot(a);

    return p->higher[i].page == (a >> 12) + 1 && p->higher[i].distance == b - a;
}

/* Remembers that these two do, by same_address. */
void same_page_add(struct pair *p, uint64_t a, uint64_t b);
/* Forgets all of that if a mapping has changed. */
void same_page_forget(struct pair *p);

/* A word of either side: a number, an address, an id, or one that is different in each run
 * on purpose. */
bool same_word(struct pair *p, uint64_t a, uint64_t b);

/*
 * Bytes in memory order, of which the first one is byte `from' of a word: each word that differs
 * must mean the same, or each half of it; of the words at both ends, the part that is there.  As
 * many bytes as a word has are one, wherever they are.  If not, *at is where the first one is.
 */
bool same_bytes(struct pair *p, const uint8_t *a, const uint8_t *b, size_t n,
                unsigned from, size_t *at);
/* Where bytes at an address begin in a word, if they do so on both sides; else 0. */
static inline unsigned from_of(const struct pair *p, uint64_t a, uint64_t b)
{
    return (a ^ b) % p->guest[0].word ? 0 : (unsigned)(a % p->guest[0].word);
}

#endif
