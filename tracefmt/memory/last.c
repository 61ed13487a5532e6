/* SPDX-License-Identifier: MIT */
/*
 * The last stores to some bytes; see last.h.
 *
 * Values are slow to decode, and most stores are not the last one to their byte.  So of each chunk,
 * the last one first until each byte has its store, it is searched first by addresses alone which
 * instructions stored; and if that was the last store to some of the bytes, as it is known as soon
 * as all chunks after it were searched, their values are decoded.
 */
#include "memory/last.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "memory/crew.h"

/* Within so many chunks values are decoded at once. */
#define FEW_CHUNKS 3u

struct search {
    struct memory_since *s;
    struct crew crew;
    /* Under the lock: chunks not taken yet are those before `next'. */
    struct feed feed;
    uint64_t next;
    bool closed; /* none of them has a last store */
    uint64_t
        *stored;  /* of each byte 1 + the instruction that stored last, 0: none yet ... */
    uint64_t *in; /* ... in this chunk: several can have stores of one instruction */
    bool at_once; /* not known: all stores of the chunks count */
    /* Of each worker 1 + the chunk that it searches, 0: none; and when that changes. */
    uint64_t searches[CREW_MOST];
    pthread_cond_t searched;
    /* Of each worker a list as `stored', of the chunk that it decodes. */
    uint64_t *own[CREW_MOST];
};

/* ------------------------------------------------------------------- chunks */

/* Whether a group of chunks may have any before `next' that are selected. */
static bool may_have(const struct search *f, const struct chunk_group *g)
{
    const struct memory_since *s = f->s;

    return s->thread >= g->span.thread && s->thread <= g->span.last_thread &&
           g->span.from <= s->to && g->span.to > s->from;
}

/* The last chunk, among those not taken, that may store to the bytes: 1, 0 or an error. */
static int take_chunk(struct search *f, struct ctr_chunk *out, struct ctr_diag *diag)
{
    struct chunktab *chunks = f->crew.tr->chunks;
    uint32_t at = 0;
    int ret = 0;

    while (f->next && !ret) {
        const uint32_t group = chunktab_find(chunks, f->next - 1, at);
        const struct chunk_group *g = chunktab_group(chunks, group);
        struct chunk_row row;

        at = group;
        if (!may_have(f, g)) {
            f->next = g->first;
            continue;
        }
        ret = chunktab_get(chunks, --f->next, &row, diag);
        if (!ret && feed_chunk(&f->feed, &row.pub)) {
            ret = feed_may_match(&f->feed, f->next, diag);
        }
        if (ret == 1) {
            *out = row.pub;
        }
    }
    return ret;
}

/* ---------------------------------------------------------------- addresses */

/* Whether a store before an instruction can be the last one to any byte. */
static bool any_open(const struct search *f, uint64_t before)
{
    const struct memory_since *s = f->s;
    uint32_t k = 0;

    while (k < s->size && (f->stored[k] > before || s->at[k] >= before)) {
        k++;
    }
    return k < s->size;
}

static void on_touch(void *arg, uint64_t ordinal, uint32_t begin, uint32_t end)
{
    uint64_t *own = arg;

    for (uint32_t k = begin; k < end; k++) {
        own[k] = ordinal + 1;
    }
}

/* The last chunk that is not taken, if it can have last stores: 1, 0 or an error. */
static int begin_search(struct search *f, unsigned worker, struct ctr_chunk *out,
                        struct ctr_diag *diag)
{
    int ret = 0;

    pthread_mutex_lock(&f->crew.lock);
    if (!f->closed) {
        ret = take_chunk(f, out, diag);
        f->closed = ret == 1 && !any_open(f, out->first + out->insns);
        ret = f->closed ? 0 : ret;
    }
    f->searches[worker] = ret == 1 ? out->index + 1 : 0;
    pthread_mutex_unlock(&f->crew.lock);
    return ret;
}

static int search_chunk(const struct search *f, struct crew_member *m,
                        const struct ctr_chunk *chunk, struct ctr_diag *diag)
{
    const struct memory_since *s = f->s;
    struct touches *t = &m->touches;
    int ret;

    memset(f->own[m->number], 0, s->size * sizeof(*f->own[0]));
    ret = crew_begin(m, chunk, DEC_MEM, diag);
    if (ret != 1) {
        return ret;
    }
    t->addr = s->addr;
    t->size = s->size;
    t->lo = m->raw.lo;
    t->hi = m->raw.hi;
    t->fn = on_touch;
    t->arg = f->own[m->number];
    return decoder_touches(&m->decoder, t);
}

/* Whether a chunk after this one is being searched. */
static bool is_before_another(const struct search *f, uint64_t chunk)
{
    bool is = false;

    for (unsigned i = 0; i < f->crew.jobs; i++) {
        is |= f->searches[i] > chunk + 1;
    }
    return is;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/*
 * Ends the search of a chunk.  Returns the number of instructions that have a last store to any
 * byte, which are then in the worker's list, ascending.
 */
static uint32_t end_search(struct search *f, unsigned worker, uint64_t chunk)
{
    const struct memory_since *s = f->s;
    uint64_t *own = f->own[worker];
    uint32_t n = 0;

    pthread_mutex_lock(&f->crew.lock);
    for (uint32_t k = 0; k < s->size; k++) {
        if (own[k] && chunk >= f->in[k]) {
            f->stored[k] = own[k];
            f->in[k] = chunk;
        }
    }
    f->searches[worker] = 0;
    pthread_cond_broadcast(&f->searched);
    while (is_before_another(f, chunk)) {
        pthread_cond_wait(&f->searched, &f->crew.lock);
    }
    for (uint32_t k = 0; k < s->size; k++) {
        const uint64_t ordinal = own[k] - 1;

        if (own[k] && f->in[k] == chunk && ordinal >= s->at[k] &&
            !(n && own[n - 1] == ordinal)) {
            own[n++] = ordinal;
        }
    }
    pthread_mutex_unlock(&f->crew.lock);
    qsort(own, n, sizeof(*own), by_number);
    return n;
}

/* ------------------------------------------------------------------- values */

/* Whether a store is, as far as it is known by now, the last one to byte k. */
static bool is_last(const struct search *f, uint64_t k, uint64_t ordinal, uint64_t chunk)
{
    const struct memory_since *s = f->s;

    if (!f->at_once) {
        return f->stored[k] == ordinal + 1 && f->in[k] == chunk && ordinal >= s->at[k];
    }
    return ordinal > s->at[k] || (ordinal == s->at[k] && chunk >= f->in[k]);
}

/* The bytes of a store that is among what is selected. */
static void take_store(struct search *f, uint64_t chunk, uint64_t ordinal,
                       const struct ctr_access *a)
{
    struct memory_since *s = f->s;
    const uint64_t begin = a->addr > s->addr ? a->addr - s->addr : 0;
    const uint64_t skip = a->addr < s->addr ? s->addr - a->addr : 0;

    for (uint64_t i = skip, k = begin; i < a->size && k < s->size; i++, k++) {
        if (is_last(f, k, ordinal, chunk)) {
            f->in[k] = chunk;
            s->at[k] = ordinal;
            s->value[k] = a->data ? a->data[i] : 0;
            s->written[k] = a->data ? 1 : 2;
        }
    }
}

static bool overlaps(const struct memory_since *s, const struct ctr_access *a)
{
    return (a->addr - s->addr < s->size) | (s->addr - a->addr < a->size);
}

static void take_run(struct search *f, const struct crew_member *m, const struct run *r)
{
    for (uint32_t i = 0; i < r->naccess; i++) {
        const struct ctr_access *a = &r->access[i];
        const uint64_t ordinal = r->ordinal + a->insn - r->first;

        /* Which accesses are stores cannot be predicted. */
        if (a->store & overlaps(f->s, a) && ordinal >= m->raw.lo && ordinal < m->raw.hi) {
            pthread_mutex_lock(&f->crew.lock);
            take_store(f, m->raw.pub.index, ordinal, a);
            pthread_mutex_unlock(&f->crew.lock);
        }
    }
}

/* The values of a chunk that was searched, of n instructions. */
static int read_values(struct search *f, struct crew_member *m, uint32_t n,
                       const struct ctr_chunk *chunk, struct ctr_diag *diag)
{
    const uint64_t *ordinal = f->own[m->number];
    struct run r;
    uint32_t i = 0;
    int ret = crew_begin_values(m, chunk, diag);

    while (i < n && ret == 1 && (ret = decoder_next(&m->decoder, &r)) == 1) {
        const uint64_t end = r.ordinal + r.end - r.first;

        if (ordinal[i] < end) {
            take_run(f, m, &r);
        }
        /* The next run may have the rest of this one's last instruction. */
        while (i < n && ordinal[i] + 1 < end) {
            i++;
        }
    }
    return ret;
}

/* ------------------------------------------------------------------- chunks */

/* A step: the next chunk, its stores first. */
static int find_stores(void *arg, struct crew_member *m, struct ctr_diag *diag)
{
    struct search *f = arg;
    struct ctr_chunk chunk;
    uint32_t n;
    int ret = begin_search(f, m->number, &chunk, diag);

    if (ret != 1) {
        return ret;
    }
    ret = search_chunk(f, m, &chunk, diag);
    n = end_search(f, m->number, chunk.index);
    ret = ret < 0 || !n ? ret : read_values(f, m, n, &chunk, diag);
    return ret < 0 ? ret : 1;
}

/* A step: all stores of the next chunk. */
static int read_stores(void *arg, struct crew_member *m, struct ctr_diag *diag)
{
    struct search *f = arg;
    struct ctr_chunk chunk;
    struct run r;
    int ret;

    pthread_mutex_lock(&f->crew.lock);
    ret = take_chunk(f, &chunk, diag);
    pthread_mutex_unlock(&f->crew.lock);
    if (ret != 1) {
        return ret;
    }
    ret = crew_begin(m, &chunk, DEC_MEM | DEC_VAL, diag);
    while (ret == 1 && decoder_before(&m->decoder, m->raw.hi) &&
           (ret = decoder_next(&m->decoder, &r)) == 1) {
        take_run(f, m, &r);
    }
    return ret < 0 ? ret : 1;
}

/* Whether the instructions are in few chunks. */
static bool is_short(const struct search *f, const struct ctr_chunk *last)
{
    struct ctr_chunk first;

    return !ctr_trace_find(f->crew.tr, f->s->thread, f->s->from, &first, NULL) &&
           last->index - first.index < FEW_CHUNKS;
}

static int make_lists(struct search *f, struct ctr_diag *diag)
{
    f->stored = calloc(f->s->size, sizeof(*f->stored));
    for (unsigned i = 0; f->stored && !f->at_once && i < f->crew.jobs; i++) {
        f->own[i] = malloc(f->s->size * sizeof(*f->own[i]));
        if (!f->own[i]) {
            return ctr_fail_nomem(diag);
        }
    }
    f->in = calloc(f->s->size, sizeof(*f->in));
    return f->stored && f->in ? 0 : ctr_fail_nomem(diag);
}

static int search(struct search *f, struct ctr_diag *diag)
{
    struct ctr_chunk last;
    /* The chunk after them may have the rest of the last one. */
    int ret = ctr_trace_find(f->crew.tr, f->s->thread, f->s->to, &last, diag);

    if (ret) {
        return ret == -CTR_E_INVAL ? 0 : ret; /* the thread has no instruction there */
    }
    f->next = last.index + 1;
    f->at_once = is_short(f, &last);
    ret = make_lists(f, diag);
    return ret ? ret
               : crew_work(&f->crew, f->at_once ? read_stores : find_stores, f, diag);
}

int memory_last_stores(struct memory_since *s, struct ctr_trace *tr, unsigned jobs,
                       struct ctr_diag *diag)
{
    const struct ctr_range range = {s->addr, s->addr + s->size, 0};
    struct ctr_filter filter = {.kinds = CTR_KIND_STORE,
                                .threads = &s->thread,
                                .nthread = 1,
                                .from = s->from,
                                .to = s->to,
                                .from_ns = s->from_ns};
    const struct ctr_filter all = filter;
    struct search *f;
    int ret;

    if (s->from >= s->to || !(tr->events & CTR_HAS_MEM)) {
        return 0;
    }
    f = calloc(1, sizeof(*f));
    if (!f) {
        return ctr_fail_nomem(diag);
    }
    f->s = s;
    filter.addrs = &range;
    filter.naddr = 1;
    crew_init(&f->crew, tr, &all, jobs);
    pthread_cond_init(&f->searched, NULL);
    ret = feed_init(&f->feed, tr, &filter, diag);
    if (!ret) {
        f->feed.want = DEC_MEM;
        ret = search(f, diag);
        feed_fini(&f->feed);
    }
    crew_fini(&f->crew);
    pthread_cond_destroy(&f->searched);
    for (unsigned i = 0; i < CREW_MOST; i++) {
        free(f->own[i]);
    }
    free(f->stored);
    free(f->in);
    free(f);
    return ret;
}
