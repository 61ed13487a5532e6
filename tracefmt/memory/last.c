/* SPDX-License-Identifier: MIT */
/*
 * The last stores to some bytes; see last.h.
 *
 * Values are slow to decode, and most stores are not the last one to their byte.  So first which
 * instructions stored last, by addresses alone, the last chunks first until each byte has its
 * store; and then the values of the few chunks that these are in.
 */
#include "memory/last.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "memory/crew.h"

/* Within so many chunks values are decoded at once. */
#define FEW_CHUNKS 3u

/* A chunk, and its instructions that stored last to some bytes. */
struct span {
    struct ctr_chunk chunk;
    uint64_t from, to; /* ordinals */
};

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
    bool at_once; /* not known: all stores of the spans count */
    struct span *span;
    uint32_t spans, next_span;
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

/* The stores of the next chunk. */
static int find_stores(void *arg, struct crew_member *m, struct ctr_diag *diag)
{
    struct search *f = arg;
    const struct memory_since *s = f->s;
    uint64_t *own = f->own[m->number];
    struct touches *t = &m->touches;
    struct ctr_chunk chunk;
    int ret = 0;

    pthread_mutex_lock(&f->crew.lock);
    if (!f->closed) {
        ret = take_chunk(f, &chunk, diag);
        f->closed = ret == 1 && !any_open(f, chunk.first + chunk.insns);
        ret = f->closed ? 0 : ret;
    }
    pthread_mutex_unlock(&f->crew.lock);
    ret = ret == 1 ? crew_begin(m, &chunk, DEC_MEM, diag) : ret;
    if (ret != 1) {
        return ret;
    }
    memset(own, 0, s->size * sizeof(*own));
    t->addr = s->addr;
    t->size = s->size;
    t->lo = m->raw.lo;
    t->hi = m->raw.hi;
    t->fn = on_touch;
    t->arg = own;
    ret = decoder_touches(&m->decoder, t);
    pthread_mutex_lock(&f->crew.lock);
    for (uint32_t k = 0; !ret && k < s->size; k++) {
        if (own[k] && chunk.index >= f->in[k]) {
            f->stored[k] = own[k];
            f->in[k] = chunk.index;
        }
    }
    pthread_mutex_unlock(&f->crew.lock);
    return ret ? ret : 1;
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
    return a->addr - s->addr < s->size || s->addr - a->addr < a->size;
}

static void take_run(struct search *f, const struct span *span, const struct run *r)
{
    for (uint32_t i = 0; i < r->naccess; i++) {
        const struct ctr_access *a = &r->access[i];
        const uint64_t ordinal = r->ordinal + a->insn - r->first;

        if (a->store && overlaps(f->s, a) && ordinal >= span->from &&
            ordinal < span->to) {
            pthread_mutex_lock(&f->crew.lock);
            take_store(f, span->chunk.index, ordinal, a);
            pthread_mutex_unlock(&f->crew.lock);
        }
    }
}

static int read_span(void *arg, struct crew_member *m, struct ctr_diag *diag)
{
    struct search *f = arg;
    struct span span = {.from = 0};
    struct run r;
    int ret = 0;

    pthread_mutex_lock(&f->crew.lock);
    if (f->next_span < f->spans) {
        span = f->span[f->next_span++];
        ret = 1;
    }
    pthread_mutex_unlock(&f->crew.lock);
    if (!ret) {
        return 0;
    }
    ret = crew_begin(m, &span.chunk, DEC_MEM | DEC_VAL, diag);
    if (ret != 1) {
        return ret < 0 ? ret : 1;
    }
    span.from = span.from > m->raw.lo ? span.from : m->raw.lo;
    span.to = span.to < m->raw.hi ? span.to : m->raw.hi;
    while (decoder_before(&m->decoder, span.to) &&
           (ret = decoder_next(&m->decoder, &r)) == 1) {
        take_run(f, &span, &r);
    }
    return ret < 0 ? ret : 1;
}

/* -------------------------------------------------------------------- spans */

static int add_span(struct search *f, const struct span *span, struct ctr_diag *diag)
{
    struct span *v;

    if (f->spans % 16 == 0) {
        v = realloc(f->span, (f->spans + (size_t)16) * sizeof(*v));
        if (!v) {
            return ctr_fail_nomem(diag);
        }
        f->span = v;
    }
    f->span[f->spans++] = *span;
    return 0;
}

/* All chunks that may store to the bytes. */
static int add_chunks(struct search *f, struct ctr_diag *diag)
{
    struct span span = {.from = f->s->from, .to = f->s->to};
    int ret;

    while ((ret = take_chunk(f, &span.chunk, diag)) == 1) {
        ret = add_span(f, &span, diag);
        if (ret) {
            break;
        }
    }
    return ret;
}

/* The chunk that stored last to byte k, unless the system wrote there later; *done: of each
 * byte whether it is in a span. */
static int add_store(struct search *f, uint32_t k, uint8_t *done, struct ctr_diag *diag)
{
    const uint64_t *stored = f->stored;
    struct span span = {.from = stored[k] - 1, .to = stored[k]};
    struct chunk_row row;
    int ret;

    if (done[k] || !stored[k] || stored[k] - 1 < f->s->at[k]) {
        return 0;
    }
    ret = chunktab_get(f->crew.tr->chunks, f->in[k], &row, diag);
    span.chunk = row.pub;
    for (uint32_t i = k; !ret && i < f->s->size; i++) {
        if (stored[i] && f->in[i] == f->in[k] && stored[i] - 1 >= f->s->at[i]) {
            span.from = stored[i] - 1 < span.from ? stored[i] - 1 : span.from;
            span.to = stored[i] > span.to ? stored[i] : span.to;
            done[i] = 1;
        }
    }
    return ret ? ret : add_span(f, &span, diag);
}

static int add_stores(struct search *f, struct ctr_diag *diag)
{
    uint8_t *done = calloc(f->s->size, 1);
    int ret = done ? 0 : ctr_fail_nomem(diag);

    for (uint32_t k = 0; !ret && k < f->s->size; k++) {
        ret = add_store(f, k, done, diag);
    }
    free(done);
    return ret;
}

/* --------------------------------------------------------------------- both */

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
    if (f->at_once) {
        ret = ret ? ret : add_chunks(f, diag);
    } else {
        ret = ret ? ret : crew_work(&f->crew, find_stores, f, diag);
        ret = ret ? ret : add_stores(f, diag);
    }
    return ret || !f->spans ? ret : crew_work(&f->crew, read_span, f, diag);
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
    ret = feed_init(&f->feed, tr, &filter, diag);
    if (!ret) {
        f->feed.want = DEC_MEM;
        ret = search(f, diag);
        feed_fini(&f->feed);
    }
    crew_fini(&f->crew);
    for (unsigned i = 0; i < CREW_MOST; i++) {
        free(f->own[i]);
    }
    free(f->stored);
    free(f->in);
    free(f->span);
    free(f);
    return ret;
}
