/* SPDX-License-Identifier: MIT */
/*
 * An endless supply of definitions, written to a file: unused definitions need no memory,
 * and the file has all that ran.  CTR_TEST_BLOCKS=17000000 goes beyond 2^24 definitions,
 * which lasts a minute; the default is fewer.
 */
#include "support.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "write/dict.h"
#include "peak.h"

#define MADE 4096u /* definitions of a chunk; all but the first are new */
#define BASE 0x100000ull

static uint64_t made_pc(uint64_t n)
{
    return n % MADE ? BASE + n : 0x1000;
}

static void made_def(uint8_t *def, uint64_t n)
{
    const uint64_t pc = made_pc(n);
    memset(def, 0, 45);
    memcpy(def + CTR_BLOCKDEF_PC, &pc, sizeof(pc));
    def[CTR_BLOCKDEF_NINSN] = 1;
    def[CTR_BLOCKDEF_CODELEN] = 4;
    def[40] = 4;
    memcpy(def + 41, &pc, 4);
}

struct reading {
    uint64_t next;
};

static int read_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    (void)arg;
    return ctr_job_append(job, &r->block->pc, sizeof(r->block->pc));
}

static int read_order(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct reading *rd = arg;
    const uint64_t *pc = data;
    (void)job;
    for (size_t i = 0; i < n / sizeof(*pc); i++) {
        if (pc[i] != made_pc(rd->next++)) {
            return 1;
        }
    }
    return 0;
}

static int count_run(void *arg, const struct ctr_count *c)
{
    uint64_t *n = arg;
    *n += c->full;
    return 0;
}

static void test_endless(void **state)
{
    const char *want = getenv("CTR_TEST_BLOCKS");
    const uint64_t chunks = (want ? strtoull(want, NULL, 10) : 1u << 18) / MADE + 1;
    const struct ctr_meta meta = {.target = "x",
                                  .qemu_version = "y",
                                  .recorder = "z",
                                  .events = CTR_EVENTS_EXEC,
                                  .addr_bits = 64};
    static uint32_t words[MADE];
    struct ctr_dict *dict;
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ctr_writer *w;
    struct ctr_writer_stats stats;
    struct ctr_diag diag = {.text = ""};
    struct ctr_trace *tr;
    uint32_t process, thread, most = 0;
    uint8_t def[64];
    FILE *file = tmpfile();
    int fd = fileno(file);
    (void)state;
    assert_int_equal(ctr_dict_new(&dict, meta.events), 0);
    assert_int_equal(ctr_encoder_new(&enc, dict, 8, 1), 0);
    assert_int_equal(ctr_packed_new(&packed), 0);
    assert_int_equal(ctr_writer_new(&w, fd, dict, &meta, 1, &diag), 0);
    assert_int_equal(ctr_writer_process(w, 1, 0, 0, &process, &diag), 0);
    assert_int_equal(ctr_writer_thread(w, process, 1, 0, 0, &thread, &diag), 0);
    for (uint64_t c = 0; c < chunks; c++) {
        const struct ctr_segment seg = {.words = words,
                                        .n_words = MADE,
                                        .data_end = words + MADE,
                                        .start_ns = c,
                                        .end_ns = c};
        for (unsigned k = 0; k < MADE; k++) {
            words[k] = (uint32_t)(c % 3) * MADE + k + 1;
            made_def(def, c * MADE + k);
            assert_int_equal(ctr_dict_add(dict, words[k], def, 45, &diag), 0);
        }
        if (ctr_encoder_run(enc, &seg, 1, packed, &diag) ||
            ctr_writer_chunk(w, thread, packed, &diag)) {
            fail_msg("%s: %s", diag.field, diag.text);
        }
        most = dict->nentry > most ? dict->nentry : most;
        for (unsigned k = 0; k < MADE; k++) {
            ctr_dict_forget(dict, words[k], c + 1);
        }
        ctr_dict_reap(dict, c);
    }
    /* Those of a chunk, and of the one before. */
    assert_in_range(most, MADE, 2 * MADE);
    assert_int_equal(ctr_writer_finish(w, &diag), 0);
    ctr_writer_stats(w, &stats);
    assert_int_equal(stats.blocks, chunks * (MADE - 1) + 1);
    print_message("%u definitions: %u MiB to write", stats.blocks,
                  (unsigned)(peak_kib() >> 10));
    ctr_writer_free(w);
    ctr_packed_free(packed);
    ctr_encoder_free(enc);
    ctr_dict_free(dict);

    const struct ctr_replay_ops ops = {.run = read_run, .ordered = read_order};
    const struct ctr_replay_opts opts = {.workers = 2};
    struct reading rd = {0};
    uint64_t runs = 0;
    struct ctr_info info;
    assert_int_equal(ctr_open_fd(&tr, dup(fd), 0, &diag), 0);
    ctr_trace_info(tr, &info);
    assert_int_equal(info.blocks, stats.blocks);
    assert_int_equal(ctr_replay(tr, &ops, &rd, &opts, &diag), 0);
    assert_int_equal(rd.next, chunks * MADE);
    print_message(", %u to read", (unsigned)(peak_kib() >> 10));
    assert_int_equal(ctr_trace_counts(tr, NULL, count_run, &runs, &diag), 0);
    assert_int_equal(runs, chunks * MADE);
    print_message(", %u to count\n", (unsigned)(peak_kib() >> 10));
    ctr_close(tr);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_endless)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
