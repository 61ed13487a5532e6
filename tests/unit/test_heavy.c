/* SPDX-License-Identifier: MIT */
/*
 * The most memory that a reader needs for one chunk: traces that are heavy in one respect
 * or another, as a guest may make them and with the encoder's chunk limits, and one trace
 * with nearly all that the format allows in one chunk.  Read in a process of its own.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "siderec.h"
#include "base/format.h"
#include "peak.h"
#include "random.h"
#include "sanitized.h"
#include "small.h"
#include "cannoli/mempipe.h"

#define MIB (1l << 20)
#define SEGMENTS 8u
#define JOB_BYTES (4u << 20) /* that cannoli-record packs in one job */
#define REGS 512u

/* The properties of a trace's blocks, and what is recorded. */
struct heavy {
    const char *name;
    uint32_t events;
    uint32_t blocks;
    unsigned ninsn, insn_bytes, slots, size_log2; /* of each */
    unsigned data_blocks;                         /* so many of the blocks have slots */
    size_t side; /* bytes of records, all segments together */
    int at_once; /* all in one chunk, however large */
};

struct maker {
    const struct heavy *h;
    struct ctr_dict *dict;
    uint64_t random;
    uint8_t *mem; /* words and data of all segments */
    struct sidebuf side[SEGMENTS];
    struct ctr_segment seg[SEGMENTS];
};

/* The last blocks have slots. */
static unsigned slots_of(const struct heavy *h, uint32_t id)
{
    return id + h->data_blocks > h->blocks ? h->slots : 0;
}

static void add_blocks(struct maker *m)
{
    const struct heavy *h = m->h;
    uint8_t *def = malloc(1 << 18);
    for (uint32_t id = 1; id <= h->blocks; id++) {
        const unsigned slots = slots_of(h, id);
        const uint64_t pc = (uint64_t)id << 16;
        uint8_t *p = def + CTR_BLOCKDEF_FIXED;
        memset(def, 0, CTR_BLOCKDEF_FIXED);
        memcpy(def + CTR_BLOCKDEF_PC, &pc, 8);
        memcpy(def + CTR_BLOCKDEF_NINSN, &(uint16_t){(uint16_t)h->ninsn}, 2);
        memcpy(def + CTR_BLOCKDEF_NSLOT, &(uint16_t){(uint16_t)slots}, 2);
        memcpy(def + CTR_BLOCKDEF_CODELEN, &(uint32_t){h->ninsn * h->insn_bytes}, 4);
        memset(p, (int)h->insn_bytes, h->ninsn);
        p += h->ninsn;
        for (unsigned i = 0; i < h->ninsn * h->insn_bytes; i++) {
            *p++ = (uint8_t)random_bits(&m->random);
        }
        for (unsigned i = 0; i < slots; i++, p += CTR_BLOCKDEF_SLOT) {
            const int reg = h->events & CTR_EVENTS_REG && i % 2;
            memset(p, 0, CTR_BLOCKDEF_SLOT);
            p[0] = (uint8_t)(i / 2); /* each with an access and a register */
            p[2] = (uint8_t)(reg ? i : 0);
            p[4] = (uint8_t)(reg ? CTR_ACCESS_REG | 4 : h->size_log2);
        }
        assert_int_equal(ctr_dict_add(m->dict, id, def, (size_t)(p - def), NULL), 0);
    }
    free(def);
}

/* The number of units of a run, with 64-bit addresses. */
static unsigned units_of(const struct heavy *h, uint32_t id)
{
    unsigned units = 0;
    for (unsigned i = 0; i < slots_of(h, id); i++) {
        const int reg = h->events & CTR_EVENTS_REG && i % 2;
        units += reg ? 2 : 1;
        units +=
            !reg && h->events & CTR_EVENTS_VAL ? CTR_UNITS(1u << h->size_log2, 8) : 0;
    }
    return units;
}

/* Data that the system read, at the segment's end. */
static void add_side(struct maker *m, struct sidebuf *a, uint32_t words, size_t bytes)
{
    struct payload p;
    while (a->n < bytes) {
        p.n = 0;
        put_u64(&p, random_bits(&m->random));
        put_u64(&p, 8000);
        put_u32(&p, 1);
        put_u32(&p, 8000);
        for (unsigned i = 0; i < 1000; i++) {
            put_u64(&p, random_bits(&m->random));
        }
        side_event(a, words, 0, CTR_EVENT_USERMEM, a->n + 1, &p);
    }
}

/* Each block once and then any block, with random addresses and values. */
static void add_segments(struct maker *m)
{
    const struct heavy *h = m->h;
    const size_t each = JOB_BYTES / SEGMENTS;
    uint32_t id = 0;
    m->mem = malloc(JOB_BYTES);
    for (size_t i = 0; i < JOB_BYTES; i += 8) {
        memcpy(m->mem + i, &(uint64_t){random_bits(&m->random)}, 8);
    }
    for (unsigned s = 0; s < SEGMENTS; s++) {
        uint32_t *words = (uint32_t *)(void *)(m->mem + s * each);
        uint32_t n = 0, units = 0;
        for (;;) {
            const uint32_t next =
                id < h->blocks ? id + 1 : 1 + random_below(&m->random, h->blocks);
            const unsigned take = units_of(h, next);
            if ((n + 1) * 4 + (units + take) * 8 > each) {
                break;
            }
            id = id < h->blocks ? id + 1 : id;
            words[n++] = next;
            units += take;
        }
        if (h->events & CTR_EVENTS_REG) {
            static const uint8_t zero[REGS * 16];
            side_state(&m->side[s], zero, sizeof(zero));
        }
        if (h->side) {
            add_side(m, &m->side[s], n, h->side / SEGMENTS);
        }
        m->seg[s] = (struct ctr_segment){
            .words = words,
            .n_words = n,
            .n_units = units,
            .data_end = m->mem + (s + 1) * each,
            .side = m->side[s].p,
            .side_bytes = (uint32_t)m->side[s].n,
            .start_ns = 10 + s,
            .end_ns = 11 + s,
        };
    }
}

/* Writes the whole trace twice; returns the number of chunks. */
static unsigned write_chunks(struct maker *m, struct ctr_writer *w)
{
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ctr_diag diag = {.text = ""};
    unsigned chunks = 0;
    assert_int_equal(ctr_encoder_new(&enc, m->dict, 8, 1), 0);
    assert_int_equal(ctr_packed_new(&packed), 0);
    if (m->h->at_once) {
        small_chunks(enc, UINT32_MAX, UINT32_MAX);
    }
    for (unsigned again = 0; again < 2; again++) {
        struct ctr_segment seg[SEGMENTS];
        unsigned at = 0, taken;
        memcpy(seg, m->seg, sizeof(seg));
        for (; at < SEGMENTS; at += taken, chunks++) {
            taken = SEGMENTS;
            int err = m->h->at_once ? ctr_encoder_run(enc, seg, SEGMENTS, packed, &diag)
                                    : ctr_encoder_run_some(enc, seg + at, SEGMENTS - at,
                                                           &taken, packed, &diag);
            err = err ? err : ctr_writer_chunk(w, 0, packed, &diag);
            if (err) {
                fail_msg("%s: %s: %s", m->h->name, diag.field, diag.text);
            }
        }
    }
    ctr_packed_free(packed);
    ctr_encoder_free(enc);
    return chunks;
}

static unsigned write_trace(const struct heavy *h, int fd)
{
    const struct ctr_meta meta = {.target = "x", .events = h->events, .addr_bits = 64};
    struct maker m = {.h = h, .random = 0x9e3779b97f4a7c15ull};
    struct ctr_writer *w;
    uint32_t index;
    uint8_t table[REGS * 5];
    for (unsigned i = 0; i < REGS; i++) {
        memcpy(table + (size_t)i * 5,
               (const uint8_t[]){16, 0, 1, 0, (uint8_t)('a' + i % 26)}, 5);
    }
    assert_int_equal(ctr_dict_new(&m.dict, h->events), 0);
    assert_int_equal(ctr_writer_new(&w, fd, m.dict, &meta, 1, NULL), 0);
    if (h->events & CTR_EVENTS_REG) {
        assert_int_equal(ctr_dict_regs(m.dict, REGS, table, sizeof(table), NULL), 0);
        assert_int_equal(ctr_writer_regs(w, REGS, table, sizeof(table), NULL), 0);
    }
    assert_int_equal(ctr_writer_process(w, 1, 0, 0, &index, NULL), 0);
    assert_int_equal(ctr_writer_thread(w, 0, 1, 0, 0, &index, NULL), 0);
    add_blocks(&m);
    add_segments(&m);
    unsigned chunks = write_chunks(&m, w);
    assert_int_equal(ctr_writer_finish(w, NULL), 0);
    ctr_writer_free(w);
    ctr_dict_free(m.dict);
    for (unsigned s = 0; s < SEGMENTS; s++) {
        side_free(&m.side[s]);
    }
    free(m.mem);
    return chunks;
}

/* Formats some text for every item. */
static const char text[64] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd\n";

static int put_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    (void)arg;
    (void)e;
    return ctr_job_append(job, text, sizeof(text));
}

static int put_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    (void)arg;
    return ctr_job_append(job, text, 16 + (m->data ? 16 : 0));
}

static int put_reg(void *arg, struct ctr_job *job, const struct ctr_reg_change *r)
{
    (void)arg;
    (void)r;
    return ctr_job_append(job, text, 32);
}

static int put_os(void *arg, struct ctr_job *job, const struct ctr_os_event *o)
{
    (void)arg;
    return ctr_job_append(job, o->payload, o->size < 64 ? o->size : 64);
}

static int take(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    (void)job;
    (void)data;
    *(uint64_t *)arg += n;
    return 0;
}

/* A process of its own, "FD WORKERS": reads the trace; the status says whether that
 * worked and stayed within its memory. */
static int reader(char **argv)
{
    static const struct ctr_replay_ops ops = {
        .exec = put_exec, .mem = put_mem, .reg = put_reg, .os = put_os, .ordered = take};
    const unsigned workers = (unsigned)atoi(argv[2]);
    const struct ctr_replay_opts opts = {.workers = workers, .piece_insns = 65536};
    struct ctr_trace *tr;
    struct ctr_diag diag;
    uint64_t bytes = 0;
    if (ctr_open_fd(&tr, atoi(argv[1]), 0, &diag) ||
        ctr_replay(tr, &ops, &bytes, &opts, &diag)) {
        fprintf(stderr, "%s: %s\n", diag.field, diag.text);
        return 1;
    }
    if (getenv("CTR_TEST_VERBOSE")) {
        printf("  %u: %.1f MiB\n", workers, (double)peak_kib() / 1024);
    }
    return peak_kib() < 0 || peak_kib() > (64l << 10) * workers ? 2 : 0;
}

#define ALL (CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_VAL)

static void test_memory(void **state)
{
    static const struct heavy heavy[] = {
        {"words", CTR_EVENTS_EXEC, 30000, 2, 4, 0, 0, 0, 0, 0},
        {"blocks", ALL, 200000, 4, 4, 1, 2, 200000, 0, 0},
        {"code", CTR_EVENTS_EXEC, 1500, 512, 8, 0, 0, 0, 0, 0},
        {"slots", ALL, 60000, 8, 4, 8, 3, 60000, 0, 0},
        {"values", ALL, 8000, 32, 4, 64, 7, 8000, 0, 0},
        {"one block", ALL, 50, 200, 4, 400, 7, 50, 0, 0},
        {"data", ALL | CTR_EVENTS_SYS, 100, 8, 4, 4, 3, 100, 32 * MIB, 0},
        {"registers", ALL | CTR_EVENTS_REG, 60000, 8, 4, 8, 3, 60000, 0, 0},
        {"all", SIM_EVENTS, 60000, 32, 4, 60, 4, 2000, 4 * MIB, 0},
        {"at once", SIM_EVENTS, 48000, 17, 2, 34, 4, 3800, 3 * MIB, 1},
    };
    (void)state;
    if (SANITIZED) {
        skip();
    }
    for (size_t i = 0; i < sizeof(heavy) / sizeof(heavy[0]); i++) {
        int trace = memfd_create("heavy", MFD_CLOEXEC);
        unsigned chunks = write_trace(&heavy[i], trace);
        if (getenv("CTR_TEST_VERBOSE")) {
            printf("%s: %u chunks, %.1f MiB\n", heavy[i].name, chunks,
                   (double)lseek(trace, 0, SEEK_END) / MIB);
            fflush(stdout);
        }
        for (unsigned workers = 1; workers <= 2; workers++) {
            char fd[16], n[16];
            int copy = dup(trace);
            snprintf(fd, sizeof(fd), "%d", copy);
            snprintf(n, sizeof(n), "%u", workers);
            assert_int_equal(run_again(fd, n, NULL), 0);
            close(copy);
        }
        close(trace);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory)};
    return argc == 3 ? reader(argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
