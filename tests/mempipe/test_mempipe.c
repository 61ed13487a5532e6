/* SPDX-License-Identifier: MIT */
/*
 * The mempipe between threads of one process: many producers, one drainer, and
 * a releaser, as in the recorder.  Every word, address and record must arrive
 * once and in order, however small the pool.  In one process the thread sanitizer
 * can check this, too.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>

#include "mempipe_host.h"
#include "producer.h"

#define PRODUCERS 6
#define LIVES 8       /* successive threads on one pipe */
#define WORDS 200000u /* of each life */
#define RECORD_EVERY 512u
#define TASKS 256

static int failures;

#define CHECK(cond, ...)                                                                 \
    do {                                                                                 \
        if (!(cond)) {                                                                   \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                              \
            fprintf(stderr, __VA_ARGS__);                                                \
            fputc('\n', stderr);                                                         \
            __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                          \
        }                                                                                \
    } while (0)

struct task {
    uint32_t buffer, words, units;
};

/* The drainer's view of a pipe. */
struct view {
    bool alive, closing;
    uint32_t next_seq;
    uint64_t words, addrs; /* seen of this life */
    uint64_t records;
    uint32_t tag;
};

struct bench {
    struct mempipe_host host;
    struct view views[64];
    uint64_t lives_over;
    /* buffers on their way to the releaser */
    struct task tasks[TASKS];
    uint32_t put, got; /* atomic */
    bool stop;         /* atomic */
};

static uint32_t word_of(uint32_t tag, uint64_t i)
{
    return 1 + (uint32_t)((i * 2654435761u + tag * 40503u) & 0x3fffffffu);
}

static uint64_t addr_of(uint32_t tag, uint64_t i)
{
    return (i << 16) ^ tag;
}

static void *produce(void *arg)
{
    struct bench *b = arg;

    for (int life = 0; life < LIVES; life++) {
        struct producer q;
        uint64_t addrs = 0;
        uint32_t tag;

        producer_use(&q, b->host.base);
        producer_attach(&q, producer_claim(&q), &(struct producer_identity){.pid = 1});
        tag = q.p->serial;
        for (uint64_t i = 0; i < WORDS; i++) {
            producer_room(&q, 1, 2);
            producer_word(&q, word_of(tag, i));
            for (uint64_t k = i % 3; k; k--) {
                producer_addr(&q, addr_of(tag, addrs++));
            }
            if (i % RECORD_EVERY == 0) {
                struct mempipe_side_access a = {.addr = i, .size = tag};
                producer_placed(&q, MEMPIPE_SIDE_ACCESS, &a.p, sizeof(a), NULL, 0);
            }
            if (i % 50000 == 49999) {
                producer_hand_over(&q); /* also small and empty buffers */
                producer_hand_over(&q);
            }
        }
        producer_end(&q, MEMPIPE_END_EXIT, (int32_t)addrs);
    }
    return NULL;
}

static void *release(void *arg)
{
    struct bench *b = arg;

    for (;;) {
        uint32_t got = b->got;
        /* pairs with the drainer's release store of put */
        if (__atomic_load_n(&b->put, __ATOMIC_ACQUIRE) != got) {
            struct task t = b->tasks[got % TASKS];
            mempipe_host_release(&b->host, t.buffer, t.words, t.units, got % 5 == 0);
            __atomic_store_n(&b->got, got + 1, __ATOMIC_RELEASE);
        } else if (__atomic_load_n(&b->stop, __ATOMIC_ACQUIRE)) {
            return NULL;
        } else {
            sched_yield();
        }
    }
}

static int on_record(void *arg, uint32_t pipe, const struct mempipe_side_record *rec,
                     uint32_t bytes)
{
    struct bench *b = arg;
    const struct mempipe_side_access *a = (const struct mempipe_side_access *)rec;
    struct view *v = &b->views[pipe];

    CHECK(rec->type == MEMPIPE_SIDE_ACCESS && bytes == sizeof(*a),
          "record of type %u, %u bytes", rec->type, bytes);
    CHECK(a->size == b->host.pipes[pipe].serial, "record of another life");
    CHECK(a->addr == v->records * RECORD_EVERY, "record %" PRIu64 " is %" PRIu64,
          v->records, a->addr);
    v->records++;
    return 0;
}

static void read_buffer(struct bench *b, uint32_t pipe, const struct mempipe_mail *mail)
{
    const uint8_t *mem = mempipe_host_buffer(&b->host, mail->buffer);
    const uint32_t *words = (const uint32_t *)mem;
    struct view *v = &b->views[pipe];
    unsigned bad = 0;

    for (uint32_t i = 0; i < mail->words; i++) {
        bad += words[i] != word_of(v->tag, v->words++);
    }
    for (uint32_t i = 0; i < mail->units; i++) {
        uint64_t a;
        memcpy(&a, mem + b->host.layout.buffer_bytes - (i + 1) * 8, 8);
        bad += a != addr_of(v->tag, v->addrs++);
    }
    CHECK(!bad, "%u wrong entries in buffer %u of pipe %u", bad, mail->buffer, pipe);
    v->next_seq++;
    while (b->put - __atomic_load_n(&b->got, __ATOMIC_ACQUIRE) == TASKS) {
        sched_yield();
    }
    b->tasks[b->put % TASKS] = (struct task){mail->buffer, mail->words, mail->units};
    __atomic_store_n(&b->put, b->put + 1, __ATOMIC_RELEASE);
}

static bool drain_pipe(struct bench *b, uint32_t i)
{
    struct mempipe_pipe *p = &b->host.pipes[i];
    struct view *v = &b->views[i];
    uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
    struct mempipe_mail mail;
    bool any = false;
    int got;

    if (v->closing) {
        if (mempipe_host_reserved_is_back(&b->host, i)) {
            v->closing = false;
            mempipe_host_free_pipe(&b->host, i);
        }
        return true;
    }
    if (state != MEMPIPE_LIVE && state != MEMPIPE_ENDED) {
        return false;
    }
    if (!v->alive) {
        *v = (struct view){.alive = true, .tag = p->serial};
    }
    while ((got = mempipe_host_read_mail(&b->host, i, v->next_seq, &mail)) > 0) {
        read_buffer(b, i, &mail);
        any = true;
    }
    CHECK(got == 0, "the header of a buffer is impossible");
    any |= mempipe_host_drain_side(&b->host, i, on_record, b) != 0;
    if (state == MEMPIPE_ENDED) {
        CHECK(v->words == WORDS, "%" PRIu64 " words of %u arrived", v->words, WORDS);
        CHECK(v->addrs == (uint64_t)p->end_status, "%" PRIu64 " addresses", v->addrs);
        CHECK(v->records == (WORDS + RECORD_EVERY - 1) / RECORD_EVERY,
              "%" PRIu64 " records", v->records);
        if (p->live_buffer) {
            mempipe_host_hold(&b->host, p->live_buffer - 1);
            mempipe_host_release(&b->host, p->live_buffer - 1, 0, 0, false);
        }
        v->alive = false;
        v->closing = true;
        b->lives_over++;
        any = true;
    }
    return any;
}

static void set_width(struct mempipe_host *h, uint32_t addr_bytes)
{
    struct mempipe_target target;

    h->shared->addr_bytes = addr_bytes;
    CHECK(mempipe_host_target(h, &target) == 0 && h->addr_bytes == addr_bytes, "width");
}

static void test_threads(uint32_t nr_pool)
{
    struct mempipe_config c = {
        .nr_pipes = 64,
        .nr_pool = nr_pool,
        .buffer_bytes = 64u << 10,
        .side_bytes = 128u << 10,
    };
    struct bench *b = calloc(1, sizeof(*b));
    pthread_t threads[PRODUCERS], releaser;

    CHECK(mempipe_host_open(&b->host, &c) == 0, "open");
    set_width(&b->host, 8);
    pthread_create(&releaser, NULL, release, b);
    for (int i = 0; i < PRODUCERS; i++) {
        pthread_create(&threads[i], NULL, produce, b);
    }
    while (b->lives_over < PRODUCERS * LIVES) {
        uint32_t seen = mempipe_host_doorbell(&b->host);
        uint32_t high = mempipe_host_pipes_high(&b->host);
        bool any = false;

        for (uint32_t i = 0; i < high; i++) {
            any |= drain_pipe(b, i);
        }
        if (!any) {
            mempipe_host_wait(&b->host, seen, 10000);
        }
    }
    for (int i = 0; i < PRODUCERS; i++) {
        pthread_join(threads[i], NULL);
    }
    __atomic_store_n(&b->stop, true, __ATOMIC_RELEASE);
    pthread_join(releaser, NULL);

    /* All returned buffers are zero again and none is lost. */
    uint32_t free_buffers = 0;
    for (uint32_t n = (uint32_t)b->host.shared->pool_head; n;
         n = b->host.buffers[n - 1].next_free) {
        free_buffers++;
    }
    CHECK(free_buffers == nr_pool, "%u of %u buffers are back", free_buffers, nr_pool);
    for (uint32_t i = 0; i < c.nr_pipes + nr_pool; i++) {
        const uint64_t *mem = (const uint64_t *)mempipe_host_buffer(&b->host, i);
        uint64_t sum = 0;
        for (size_t k = 0; k < c.buffer_bytes / 8; k++) {
            sum |= mem[k];
        }
        CHECK(sum == 0, "buffer %u is not zero", i);
    }
    mempipe_host_close(&b->host);
    free(b);
}

/* The contents of a buffer whose thread was killed while it filled it. */
static void test_measure(void)
{
    struct mempipe_config c = {
        .nr_pipes = 2, .nr_pool = 2, .buffer_bytes = 64u << 10, .side_bytes = 128u << 10};
    struct mempipe_host h;
    struct producer q;
    uint32_t words, units;

    for (uint32_t ab = 4; ab <= 8; ab += 4) {
        CHECK(mempipe_host_open(&h, &c) == 0, "open");
        set_width(&h, ab);
        producer_use(&q, h.base);
        producer_attach(&q, producer_claim(&q), &(struct producer_identity){.pid = 1});
        mempipe_host_measure(&h, q.buffer, &words, &units);
        CHECK(words == 0 && units == 0, "empty: %u words, %u units", words, units);

        producer_word(&q, 7);
        producer_word(&q, CTR_WORD_LEFT | 3);
        producer_word(&q, 0);
        producer_word(&q, 8);
        producer_addr(&q, 0x1000);
        producer_addr(&q, 0);
        producer_addr(&q, 0x2000);
        mempipe_host_measure(&h, q.buffer, &words, &units);
        CHECK(words == 4 && units == 3, "%u words, %u units", words, units);

        /* As full as a buffer may become. */
        while ((size_t)(q.high - q.low) >= 4 + ab + MEMPIPE_SLACK) {
            producer_word(&q, 9);
            producer_addr(&q, 0xffff);
        }
        mempipe_host_measure(&h, q.buffer, &words, &units);
        CHECK(words == producer_words(&q) && units == producer_units(&q),
              "full: %u words, %u units", words, units);
        mempipe_host_close(&h);
    }
}

/* Nonsense in a side queue is refused, not followed. */
static void test_bad_side_queue(void)
{
    struct mempipe_config c = {
        .nr_pipes = 1, .nr_pool = 1, .buffer_bytes = 64u << 10, .side_bytes = 128u << 10};
    static const struct mempipe_side_record bad[] = {
        {0, MEMPIPE_SIDE_ACCESS},           {4, MEMPIPE_SIDE_ACCESS},
        {12, MEMPIPE_SIDE_ACCESS},          {256u << 10, MEMPIPE_SIDE_PAD},
        {UINT32_MAX - 7, MEMPIPE_SIDE_PAD}, {64, MEMPIPE_SIDE_PAD},
    };
    struct mempipe_host h;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK(mempipe_host_open(&h, &c) == 0, "open");
        memcpy(h.base + h.layout.side_off, &bad[i], sizeof(bad[i]));
        h.pipes[0].side_head = 32;
        CHECK(mempipe_host_drain_side(&h, 0, on_record, NULL) == -EPROTO, "case %zu", i);
        CHECK(mempipe_host_drain_side(&h, 0, on_record, NULL) == 0, "case %zu again", i);
        mempipe_host_close(&h);
    }
}

int main(void)
{
    test_measure();
    test_bad_side_queue();
    test_threads(0);
    test_threads(1);
    test_threads(24);
    return failures ? 1 : 0;
}
