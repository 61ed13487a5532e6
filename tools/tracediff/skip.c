/* SPDX-License-Identifier: MIT */
/*
 * Chunks that are equal byte for byte in both traces are not read.
 *
 * Chunks hold runs of blocks by the ids of these.  So both traces must have the same
 * definitions up to the highest id in the chunk.  Equal addresses and values are equal
 * whatever is mapped there.  Events have times, which differ: a chunk with system calls is
 * skipped only if its events are the same with their times, as in a copy of a trace.
 */
#include "skip.h"

#include <stdlib.h>

#include "common/hash.h"
#include "pair.h"

/* Reading less is faster than ending a stream and beginning another one. */
#define WORTH 10000u /* instructions */

/* Chunks of one side only after which no more are compared: those of two recordings that do
 * not begin at the same instructions hardly ever will. */
#define MAX_APART 64u

int skip_load_chunks(struct side *side, struct ctr_diag *diag)
{
    const uint32_t threads = side->info.threads;
    size_t *of = calloc(threads + 2u, sizeof(*of));
    struct ctr_chunk c;
    uint64_t i;
    int ret = 0;

    side->chunks_of = of;
    side->chunks = calloc(side->info.chunks + 1, sizeof(*side->chunks));
    if (!of || !side->chunks) {
        return -CTR_E_NOMEM;
    }
    /* Count, then fill: chunks of a thread are in the order of the file. */
    for (i = 0; !ret && i < side->info.chunks; i++) {
        ret = ctr_trace_chunk(side->view, i, &c, diag);
        if (!ret && c.thread < threads) {
            of[c.thread + 1]++;
        }
    }
    for (uint32_t t = 0; t < threads; t++) {
        of[t + 1] += of[t];
    }
    for (i = 0; !ret && i < side->info.chunks; i++) {
        ret = ctr_trace_chunk(side->view, i, &c, diag);
        if (!ret && c.thread < threads) {
            side->chunks[of[c.thread]++] =
                (struct thread_chunk){c.first, c.insns, c.index, c.flags};
        }
    }
    for (uint32_t t = threads; t > 0; t--) {
        of[t] = of[t - 1];
    }
    of[0] = 0;
    return ret;
}

void skip_fini(struct side *side)
{
    free(side->chunks);
    free(side->chunks_of);
}

/* ------------------------------------------------------------------- blocks */

struct definitions {
    uint64_t *hash; /* of those of the first trace */
    uint32_t n;     /* that are known, or equal so far */
    uint32_t most;  /* of the first trace */
};

/* Of all that says which instructions a run is of, and which accesses it has. */
static uint64_t hash_of_block(const struct ctr_block *b)
{
    const unsigned bytes = b->off[b->ninsn];
    uint64_t hash = map64_mix(map64_mix(HASH_START, b->pc), b->ninsn);

    hash = map64_mix(hash, (uint64_t)b->mode << 8 | b->privilege);
    hash = hash_bytes(hash, b->off, (b->ninsn + 1u) * sizeof(b->off[0]));
    hash = hash_bytes(hash, b->code, bytes);
    for (unsigned i = 0; b->pcs && i < b->ninsn; i++) {
        hash = map64_mix(hash, b->pcs[i]);
    }
    for (unsigned i = 0; i < b->nslot; i++) {
        const struct ctr_slot *s = &b->slots[i];
        hash =
            map64_mix(hash, (uint64_t)s->insn << 48 | (uint64_t)s->group << 32 |
                                (uint64_t)s->size << 24 | s->store << 16 | s->reg << 8 |
                                s->novalue << 4 | s->derived << 2 | s->big_endian);
    }
    return hash;
}

static int keep_hash(void *arg, const struct ctr_block *b)
{
    struct definitions *d = arg;

    if (b->id != d->n + 1u || d->n == d->most) {
        return 1;
    }
    d->hash[d->n++] = hash_of_block(b);
    return 0;
}

static int compare_hash(void *arg, const struct ctr_block *b)
{
    struct definitions *d = arg;

    if (b->id != d->n + 1u || d->n == d->most || d->hash[d->n] != hash_of_block(b)) {
        return 1;
    }
    d->n++;
    return 0;
}

/* The number of definitions, from the first on, that are the same in both traces; 0 if they
 * cannot be read. */
static uint32_t same_blocks(const struct pair *p)
{
    const uint32_t most = p->side[0]->info.blocks;
    struct definitions d = {.hash = calloc(most + 1u, sizeof(*d.hash)), .most = most};

    if (!d.hash || ctr_trace_each_block(p->side[0]->view, keep_hash, &d, NULL)) {
        free(d.hash);
        return 0;
    }
    d.n = 0;
    if (ctr_trace_each_block(p->side[1]->view, compare_hash, &d, NULL) < 0) {
        d.n = 0;
    }
    free(d.hash);
    return d.n;
}

/* ------------------------------------------------------------------- chunks */

static bool calls_in(const struct thread_chunk *c)
{
    return c->flags & CTR_CHUNK_SYSTEM;
}

/* Whether two chunks with as many instructions hold the same, as far as it is compared. */
static bool same_chunk(const struct pair *p, const struct thread_chunk *a,
                       const struct thread_chunk *b)
{
    const unsigned compare = p->side[0]->compare;
    struct ctr_chunk_hash x, y;

    if (ctr_trace_chunk_hash(p->side[0]->view, a->index, &x, NULL) ||
        ctr_trace_chunk_hash(p->side[1]->view, b->index, &y, NULL) || x.runs != y.runs ||
        (compare & CTR_HAS_MEM && x.accesses != y.accesses) ||
        (compare & CTR_HAS_VAL && x.values != y.values) ||
        (compare & CTR_HAS_REG && x.registers != y.registers) ||
        (compare & CTR_HAS_SYS && (calls_in(a) || calls_in(b)) && x.events != y.events)) {
        return false;
    }
    if (!p->skip->known) {
        p->skip->known = true;
        p->skip->blocks = same_blocks(p);
    }
    return x.last_block <= p->skip->blocks;
}

/* The first chunk of a thread that begins at an instruction or later. */
static size_t chunk_from(const struct side *s, uint32_t thread, uint64_t ordinal)
{
    size_t low = s->chunks_of[thread], high = s->chunks_of[thread + 1];

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->chunks[mid].first < ordinal) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/*
 * Whether to begin to skip at a chunk: what the system did between it and the one before
 * may be at the end of that.
 */
static bool may_begin(const struct side *s, uint32_t thread, size_t i)
{
    return i == s->chunks_of[thread] || !calls_in(&s->chunks[i - 1]);
}

uint64_t skip_find(const struct pair *p, const uint64_t at[2], uint64_t *gap)
{
    const struct side *x = p->side[0], *y = p->side[1];
    const uint32_t tx = p->thread[0]->index, ty = p->thread[1]->index;
    const uint64_t distance = at[1] - at[0];
    size_t i = chunk_from(x, tx, at[0]), k = chunk_from(y, ty, at[1]);
    unsigned apart = 0;
    uint64_t n = 0;

    while (i < x->chunks_of[tx + 1] && k < y->chunks_of[ty + 1] && apart < MAX_APART) {
        const struct thread_chunk *a = &x->chunks[i], *b = &y->chunks[k];
        const uint64_t begin = a->first + distance;
        if (begin == b->first && a->insns == b->insns &&
            (n || (may_begin(x, tx, i) && may_begin(y, ty, k))) && same_chunk(p, a, b)) {
            *gap = n ? *gap : a->first - at[0];
            n += a->insns;
            i++;
            k++;
            continue;
        }
        if (n >= WORTH) {
            break;
        }
        n = 0;
        apart += begin != b->first;
        if (begin <= b->first) {
            i++;
        }
        if (begin >= b->first) {
            k++;
        }
    }
    return n >= WORTH ? n : 0;
}
