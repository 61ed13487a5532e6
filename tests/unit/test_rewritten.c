/* SPDX-License-Identifier: MIT */
/*
 * A guest can write to the words of a segment while it is encoded.  The encoder's
 * output may then be anything, but the encoder must finish, return success or an error,
 * and touch only its own memory, which the sanitizers check.
 */
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "cannoli/events.h"
#include "random.h"
#include "sim.h"
#include "small.h"

#define ROUNDS 60u

struct guest {
    const struct sim *sim;
    const struct ctr_segment *seg; /* those that are encoded */
    uint32_t *const *right;        /* their unmodified words */
    unsigned nseg;
    uint64_t rng;
    atomic_int stop;
};

/* A new value for a word. */
static uint32_t other_word(struct guest *g, const uint32_t *right, uint32_t n,
                           uint32_t at)
{
    switch (random_below(&g->rng, 8)) {
    case 0:
        return CTR_WORD_GROUP | random_below(&g->rng, 6);
    case 1:
        return CTR_WORD_LEFT | random_below(&g->rng, 1u << 20);
    case 2:
        return CTR_WORD_LEFT_AT | random_below(&g->rng, 1u << 20);
    case 3:
        return g->sim->block[random_below(&g->rng, g->sim->nblock)].id;
    case 4:
        return right[random_below(&g->rng, n)];
    default:
        return right[at];
    }
}

static void *rewrite(void *arg)
{
    struct guest *g = arg;
    while (!atomic_load_explicit(&g->stop, memory_order_relaxed)) {
        for (unsigned i = 0; i < g->nseg; i++) {
            volatile uint32_t *words = (uint32_t *)(uintptr_t)g->seg[i].words;
            for (uint32_t k = 0; k < g->seg[i].n_words; k++) {
                words[k] = other_word(g, g->right[i], g->seg[i].n_words, k);
            }
            for (uint32_t k = 0; k < g->seg[i].n_words; k++) {
                words[k] = g->right[i][k];
            }
        }
    }
    return NULL;
}

static void encode_while_written(uint64_t seed, unsigned events)
{
    struct sim sim;
    struct sim_thread t;
    struct ctr_dict *dict;
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ctr_diag diag;
    uint8_t table[SIM_REGS * 8];
    pthread_t thread;

    sim_init(&sim, seed, 12, 4, events, SIM_ALL & ~(unsigned)SIM_BIG);
    sim_thread_run(&sim, &t, 120);
    struct ctr_segment *seg = sim_segments(&t);
    uint32_t **right = calloc(t.n_seg, sizeof(*right));
    assert_non_null(right);
    for (unsigned i = 0; i < t.n_seg; i++) {
        right[i] = malloc((size_t)seg[i].n_words * 4 + 4);
        assert_non_null(right[i]);
        memcpy(right[i], seg[i].words, (size_t)seg[i].n_words * 4);
    }
    assert_int_equal(ctr_dict_new(&dict, events), 0);
    sim_fill_dict(&sim, dict);
    size_t bytes = sim_reg_table(table);
    assert_int_equal(ctr_dict_regs(dict, SIM_REGS, table, bytes, &diag), 0);
    assert_int_equal(ctr_encoder_new(&enc, dict, 4, 1), 0);
    assert_int_equal(ctr_packed_new(&packed), 0);
    struct guest g = {
        .sim = &sim, .seg = seg, .right = right, .nseg = t.n_seg, .rng = seed};
    assert_int_equal(pthread_create(&thread, NULL, rewrite, &g), 0);
    for (unsigned r = 0; r < ROUNDS; r++) {
        int err = 0;
        small_chunks(enc, r % 2 ? 3 : UINT32_MAX, r % 2 ? 500 : UINT32_MAX);
        for (unsigned at = 0, n; !err && at < t.n_seg; at += n) {
            err = ctr_encoder_run_some(enc, seg + at, t.n_seg - at, &n, packed, &diag);
        }
        for (unsigned i = 0; i < t.n_seg; i++) {
            seg[i].from_word = seg[i].from_unit = seg[i].from_side = seg[i].from_insn = 0;
        }
        assert_true(err == 0 || err == -CTR_E_CORRUPT || err == -CTR_E_LIMIT);
    }
    atomic_store(&g.stop, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    /* and without further writes all is well again */
    assert_int_equal(ctr_encoder_run(enc, seg, t.n_seg, packed, &diag), 0);
    ctr_packed_free(packed);
    ctr_encoder_free(enc);
    ctr_dict_free(dict);
    for (unsigned i = 0; i < t.n_seg; i++) {
        free(right[i]);
    }
    free(right);
    free(seg);
    sim_thread_fini(&t);
    sim_fini(&sim);
}

static void test_exec(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        encode_while_written(seed, CTR_EVENTS_EXEC);
    }
}

static void test_mem(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        encode_while_written(seed, CTR_EVENTS_EXEC | CTR_EVENTS_MEM);
    }
}

static void test_values(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        encode_while_written(seed, CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_VAL |
                                       CTR_EVENTS_REG);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_mem),
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
