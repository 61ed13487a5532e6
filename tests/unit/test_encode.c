/* SPDX-License-Identifier: MIT */
/*
 * Dictionary and encoder on handmade input: what each refuses, and the
 * corner cases that random programs do not reach.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cannoli/mempipe.h"
#include "base/le.h"
#include "random.h"

/* ------------------------------------------------------------------- dict */

static void test_dict(void **state)
{
    struct ctr_dict *d;
    struct ctr_diag diag;
    uint8_t def[8192];
    (void)state;
    assert_int_equal(ctr_dict_new(&d, CTR_EVENTS_MEM), 0);
    size_t n = simple_def(def, 0x1000, 3, 2);
    assert_int_equal(ctr_dict_add(d, 5, def, n, &diag), 0);
    assert_int_equal(ctr_dict_size(d), 1);
    /* the same again, and with another raw id */
    assert_int_equal(ctr_dict_add(d, 5, def, n, &diag), 0);
    assert_int_equal(ctr_dict_add(d, 9, def, n, &diag), 0);
    assert_int_equal(ctr_dict_size(d), 1);
    assert_true(ctr_dict_has(d, 9));
    assert_false(ctr_dict_has(d, 6));
    /* another definition with a known raw id */
    n = simple_def(def, 0x2000, 3, 2);
    assert_int_equal(ctr_dict_add(d, 5, def, n, &diag), -CTR_E_CORRUPT);
    assert_int_equal(ctr_dict_add(d, 0, def, n, &diag), -CTR_E_CORRUPT);
    assert_int_equal(ctr_dict_add(d, 0x80000000u, def, n, &diag), -CTR_E_CORRUPT);
    /* an id far above all others: tables would be as large */
    assert_int_equal(ctr_dict_add(d, 0x7fffffffu, def, n, &diag), -CTR_E_CORRUPT);
    assert_non_null(strstr(diag.text, "far beyond"));
    assert_int_equal(ctr_dict_size(d), 1);
    ctr_dict_free(d);
}

static uint32_t canonical(struct ctr_dict *d, uint32_t raw)
{
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ctr_diag diag;
    uint32_t n;
    const struct ctr_segment seg = {.words = &raw, .n_words = 1, .data_end = &raw + 1};
    assert_int_equal(ctr_encoder_new(&enc, d, 4, 1), 0);
    assert_int_equal(ctr_packed_new(&packed), 0);
    assert_int_equal(ctr_encoder_run(enc, &seg, 1, packed, &diag), 0);
    const uint32_t *ids = ctr_packed_ids(packed, &n);
    assert_int_equal(n, 1);
    uint32_t id = ids[0];
    ctr_packed_free(packed);
    ctr_encoder_free(enc);
    return id;
}

static int count_holds(void *arg, uint32_t id, const void *def, size_t bytes,
                       size_t memory)
{
    (void)def;
    assert_in_range(bytes, 1, memory);
    *(uint32_t *)arg += id;
    return 0;
}

/* Definitions that no raw id refers to any more. */
static void test_dict_forget(void **state)
{
    struct ctr_dict *d;
    struct ctr_diag diag;
    uint8_t def[3][256];
    size_t n[3];
    uint32_t sum = 0;
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        n[i] = simple_def(def[i], 0x1000 * (i + 1), 3, 0);
    }
    assert_int_equal(ctr_dict_new(&d, CTR_EVENTS_EXEC), 0);
    ctr_dict_reuse_ids(d);
    assert_int_equal(ctr_dict_add(d, 5, def[0], n[0], &diag), 0);
    assert_int_equal(ctr_dict_add(d, 6, def[0], n[0], &diag), 0);
    assert_int_equal(ctr_dict_add(d, 7, def[1], n[1], &diag), 0);
    /* one of the two ids that refer to it; the id may refer to something else later */
    ctr_dict_forget(d, 5, 10);
    assert_false(ctr_dict_has(d, 5));
    assert_int_equal(ctr_dict_reap(d, 10), 0);
    assert_int_equal(ctr_dict_add(d, 5, def[1], n[1], &diag), 0);
    assert_int_equal(canonical(d, 5), 2);
    assert_int_equal(canonical(d, 6), 1);
    /* the last id: the definition stays until whatever may need it is done */
    ctr_dict_forget(d, 6, 20);
    assert_int_equal(ctr_dict_reap(d, 19), 1);
    assert_int_equal(ctr_dict_add(d, 8, def[0], n[0], &diag), 0);
    assert_int_equal(canonical(d, 8), 1);
    assert_int_equal(ctr_dict_reap(d, 20), 0);
    assert_int_equal(canonical(d, 8), 1);
    /* freed: another definition gets its number */
    ctr_dict_forget(d, 8, 20);
    ctr_dict_forget(d, 8, 21);
    ctr_dict_forget(d, 99, 21);
    assert_int_equal(ctr_dict_reap(d, 20), 0);
    assert_int_equal(ctr_dict_add(d, 9, def[2], n[2], &diag), 0);
    assert_int_equal(canonical(d, 9), 1);
    assert_int_equal(ctr_dict_size(d), 2);
    /* held: it stays, and the last holder frees it */
    const uint32_t ids[] = {1, 1, 2}, none[] = {2, 3};
    assert_int_equal(ctr_dict_hold(d, ids, 3, count_holds, &sum), 0);
    assert_int_equal(sum, 3);
    assert_int_equal(ctr_dict_hold(d, none, 2, NULL, NULL), -CTR_E_CORRUPT);
    ctr_dict_forget(d, 9, 30);
    assert_int_equal(ctr_dict_reap(d, 30), 0);
    ctr_dict_release(d, ids, 1, count_holds, &sum);
    assert_int_equal(sum, 3);
    assert_int_equal(ctr_dict_add(d, 9, def[0], n[0], &diag), 0);
    assert_int_equal(canonical(d, 9), 3);
    ctr_dict_release(d, ids, 1, count_holds, &sum);
    assert_int_equal(sum, 4);
    assert_int_equal(ctr_dict_add(d, 10, def[2], n[2], &diag), 0);
    assert_int_equal(canonical(d, 10), 1);
    assert_int_equal(canonical(d, 5), 2);
    ctr_dict_release(d, ids + 2, 1, NULL, NULL);
    assert_int_equal(canonical(d, 5), 2);
    ctr_dict_free(d);
}

static void test_dict_bad(void **state)
{
    static const struct {
        unsigned at;
        uint8_t value;
    } change[] = {
        {28, 0},    /* no instructions */
        {29, 3},    /* too many */
        {30, 3},    /* one slot more than there is */
        {31, 0x21}, /* far too many */
        {35, 8},    /* unknown flag */
        {35, 2},    /* tags that are not there */
        {35, 1},    /* pcs that are not there */
        {36, 13},   /* length of the code */
        {39, 1},    /* huge length of the code */
        {40, 5},    /* lengths do not add up */
        {55, 3},    /* slot of an instruction that is not there */
        {57, 1},    /* slot of a group that is not there */
        {59, 0x0a}, /* unknown kind of access */
        {59, 0xc2}, /* a register without a value */
        {60, 16},   /* no MMU has that number */
        {61, 0},    /* second slot: order of instructions, with the next */
    };
    struct ctr_dict *d;
    struct ctr_diag diag;
    uint8_t def[256];
    (void)state;
    assert_int_equal(ctr_dict_new(&d, CTR_EVENTS_MEM), 0);
    size_t n = simple_def(def, 0x1000, 3, 2);
    assert_int_equal(n, 67);
    for (unsigned i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
        simple_def(def, 0x1000, 3, 2);
        if (change[i].at == 61) {
            def[55] = 2; /* first slot's instruction after the second's */
        }
        def[change[i].at] = change[i].value;
        uint8_t *copy = malloc(n); /* exact size: reading too far is noticed */
        memcpy(copy, def, n);
        if (ctr_dict_add(d, 1, copy, n, &diag) != -CTR_E_CORRUPT) {
            fail_msg("change %u was accepted", i);
        }
        assert_int_equal(diag.code, CTR_E_CORRUPT);
        free(copy);
    }
    for (size_t len = 0; len < n; len++) {
        simple_def(def, 0x1000, 3, 2);
        uint8_t *copy = malloc(len + 1);
        memcpy(copy, def, len);
        assert_int_equal(ctr_dict_add(d, 1, copy, len, &diag), -CTR_E_CORRUPT);
        free(copy);
    }
    assert_int_equal(ctr_dict_size(d), 0);
    ctr_dict_free(d);
}

/* A definition with tags after its slots. */
static size_t tagged_def(uint8_t *def, unsigned ntag, unsigned insn)
{
    size_t n = simple_def(def, 0x1000, 3, 2);
    def[35] = CTR_BLOCK_HAS_TAGS | CTR_BLOCK_PART;
    put32(def + n, ntag);
    n += 4;
    for (unsigned i = 0; i < ntag; i++, n += CTR_BLOCKDEF_TAG) {
        put16(def + n, (uint16_t)insn);
        put16(def + n + 2, (uint16_t)i);
        put64(def + n + 4, 0x1122334455667788ull + i);
    }
    return n;
}

static void test_dict_tags(void **state)
{
    struct ctr_dict *d;
    struct ctr_diag diag;
    static uint8_t def[256 + (CTR_MAX_BLOCK_TAGS + 1) * CTR_BLOCKDEF_TAG];
    (void)state;
    assert_int_equal(ctr_dict_new(&d, CTR_EVENTS_EXEC), 0);
    /* also where the slots before them are dropped */
    size_t n = tagged_def(def, 2, 2);
    assert_int_equal(ctr_dict_add(d, 1, def, n, &diag), 0);
    assert_int_equal(ctr_dict_size(d), 1);
    /* other tags, another definition */
    def[n - 1] ^= 1;
    assert_int_equal(ctr_dict_add(d, 2, def, n, &diag), 0);
    assert_int_equal(ctr_dict_size(d), 2);
    n = tagged_def(def, CTR_MAX_BLOCK_TAGS, CTR_TAG_BLOCK);
    assert_int_equal(ctr_dict_add(d, 3, def, n, &diag), 0);
    /* none, too many, of an instruction that is not there, cut, too long */
    n = tagged_def(def, 0, 0);
    assert_int_equal(ctr_dict_add(d, 4, def, n, &diag), -CTR_E_CORRUPT);
    n = tagged_def(def, CTR_MAX_BLOCK_TAGS + 1, 0);
    assert_int_equal(ctr_dict_add(d, 4, def, n, &diag), -CTR_E_CORRUPT);
    n = tagged_def(def, 1, 3);
    assert_int_equal(ctr_dict_add(d, 4, def, n, &diag), -CTR_E_CORRUPT);
    n = tagged_def(def, 2, 0);
    for (size_t len = 0; len < n; len++) {
        uint8_t *copy = malloc(len + 1);
        memcpy(copy, def, len);
        assert_int_equal(ctr_dict_add(d, 4, copy, len, &diag), -CTR_E_CORRUPT);
        free(copy);
    }
    assert_int_equal(ctr_dict_add(d, 4, def, n + 1, &diag), -CTR_E_CORRUPT);
    ctr_dict_free(d);
}

/* Register slots: which are valid, and who keeps them. */
static void test_dict_regs(void **state)
{
    static const struct {
        uint8_t insn0, access0, group0, insn1, access1;
        int ok;
    } slots[] = {
        {0, 0x02, 0, 0, 0x42, 1}, /* an access, then a register */
        {0, 0x42, 7, 1, 0x12, 1}, /* of different instructions: any order */
        {0, 0x42, 7, 0, 0x44, 1}, /* of 4 bytes, and of 16 */
        {0, 0x42, 7, 0, 0x12, 0}, /* an access after a register */
        {0, 0x45, 7, 1, 0x12, 0}, /* of 32 bytes */
        {0, 0x52, 7, 1, 0x12, 0}, /* a register does not store */
        {0, 0x62, 7, 1, 0x12, 0}, /* it has no byte order */
        {1, 0x42, 7, 0, 0x42, 0}, /* instructions out of order */
    };
    struct ctr_diag diag;
    (void)state;
    for (unsigned i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        struct ctr_dict *d;
        uint8_t def[256];
        size_t n = simple_def(def, 0x1000, 3, 2);
        uint8_t *p = def + n - 12;
        p[0] = slots[i].insn0;
        p[2] = slots[i].group0;
        p[4] = slots[i].access0;
        p[6] = slots[i].insn1;
        p[10] = slots[i].access1;
        assert_int_equal(ctr_dict_new(&d, CTR_EVENTS_MEM | CTR_EVENTS_REG), 0);
        assert_int_equal(ctr_dict_add(d, 1, def, n, &diag),
                         slots[i].ok ? 0 : -CTR_E_CORRUPT);
        if (slots[i].access0 & CTR_ACCESS_REG && slots[i].ok) {
            p[3] = CTR_MAX_REGS >> 8; /* no such register */
            assert_int_equal(ctr_dict_add(d, 2, def, n, &diag), -CTR_E_CORRUPT);
        }
        ctr_dict_free(d);
    }
    /* Blocks that differ only in what is not recorded are one. */
    for (unsigned events = 0; events < 4; events++) {
        struct ctr_dict *d;
        assert_int_equal(ctr_dict_new(&d, (events & 1 ? CTR_EVENTS_MEM : 0) |
                                              (events & 2 ? CTR_EVENTS_REG : 0)),
                         0);
        for (uint32_t k = 0; k < 4; k++) {
            uint8_t def[256];
            size_t n = simple_def(def, 0x1000, 3, 2);
            def[n - 8] = k & 1 ? 0x03 : 0x02; /* size of an access ... */
            def[n - 2] = k & 2 ? 0x43 : 0x42; /* ... and of a register */
            assert_int_equal(ctr_dict_add(d, k + 1, def, n, &diag), 0);
        }
        const uint32_t different[] = {1, 2, 2, 4};
        assert_int_equal(ctr_dict_size(d), different[events]);
        ctr_dict_free(d);
    }
}

/* ---------------------------------------------------------------- encoder */

struct bench {
    struct ctr_dict *dict;
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
};

/* Block 1: three instructions, one load each.  Block 2: one, no accesses. */
static void bench_open(struct bench *b, unsigned events)
{
    uint8_t def[256];
    assert_int_equal(ctr_dict_new(&b->dict, CTR_EVENTS_EXEC | CTR_EVENTS_MEM | events),
                     0);
    size_t n = simple_def(def, 0x1000, 3, 3);
    assert_int_equal(ctr_dict_add(b->dict, 1, def, n, NULL), 0);
    n = simple_def(def, 0x2000, 1, 0);
    assert_int_equal(ctr_dict_add(b->dict, 2, def, n, NULL), 0);
    assert_int_equal(ctr_encoder_new(&b->enc, b->dict, 8, 1), 0);
    assert_int_equal(ctr_packed_new(&b->packed), 0);
}

static void bench_close(struct bench *b)
{
    ctr_packed_free(b->packed);
    ctr_encoder_free(b->enc);
    ctr_dict_free(b->dict);
}

static int encode(struct bench *b, const uint32_t *words, uint32_t n, uint32_t n_units,
                  const void *side, size_t side_bytes, uint32_t flags)
{
    /* as in the pipe: words at the start, data at the end */
    struct {
        uint32_t words[16];
        uint64_t data[16];
    } buffer = {{0}, {0}};
    memcpy(buffer.words, words, n * sizeof(words[0]));
    for (unsigned i = 0; i < n_units; i++) {
        buffer.data[15 - i] = 0x5000 + i * 8;
    }
    struct ctr_segment seg = {
        .words = buffer.words,
        .n_words = n,
        .n_units = n_units,
        .data_end = buffer.data + 16,
        .side = side,
        .side_bytes = (uint32_t)side_bytes,
        .flags = flags,
    };
    struct ctr_diag diag;
    return ctr_encoder_run(b->enc, &seg, 1, b->packed, &diag);
}

#define ENCODE(b, units, flags, ...)                                                     \
    encode(b, (const uint32_t[]){__VA_ARGS__},                                           \
           sizeof((const uint32_t[]){__VA_ARGS__}) / 4, units, NULL, 0, flags)

static void test_encoder_refuses(void **state)
{
    struct bench b;
    (void)state;
    bench_open(&b, 0);
    const int bad = -CTR_E_CORRUPT;
    assert_int_equal(ENCODE(&b, 3, 0, 1), 0);
    assert_int_equal(ENCODE(&b, 3, 0, 3), bad); /* unknown block */
    assert_int_equal(ENCODE(&b, 3, 0, 0), bad); /* no word */
    assert_int_equal(ENCODE(&b, 3, 0, 1, 0), bad);
    assert_int_equal(ENCODE(&b, 3, 0, 0x7fffffff), bad);
    assert_int_equal(ENCODE(&b, 2, 0, 1), bad);             /* address missing */
    assert_int_equal(ENCODE(&b, 4, 0, 1), bad);             /* left over */
    assert_int_equal(ENCODE(&b, 0, 0, 1, 0xc0000001), bad); /* of no instruction */
    assert_int_equal(ENCODE(&b, 0, 0, 2, 1), bad);
    assert_int_equal(ENCODE(&b, 3, 0, 0x80000001, 1), bad);    /* GROUP first */
    assert_int_equal(ENCODE(&b, 3, 0, 1, 0x80000001), bad);    /* no such group */
    assert_int_equal(ENCODE(&b, 3, 0, 1, 0x90000001), bad);    /* no such word */
    assert_int_equal(ENCODE(&b, 1, 0, 1, 0xd0000001), bad);    /* number missing */
    assert_int_equal(ENCODE(&b, 1, 0, 1, 0xd0000001, 2), bad); /* more than there is */
    assert_int_equal(ENCODE(&b, 2, 0, 1, 0xd0000001, 2), bad); /* of instruction 2 */
    assert_int_equal(ENCODE(&b, 2, 0, 1, 0xd0000002, 1), bad); /* left over */
    assert_int_equal(ENCODE(&b, 1, 0, 1, 0xd0000004, 1), bad); /* 4 instructions */
    assert_int_equal(ENCODE(&b, 4, 0, 1, 0xd0000003, 4), bad); /* 4 accesses */
    assert_int_equal(ENCODE(&b, 1, 0, 1, 0xd0000000, 1), bad); /* before the first */
    assert_int_equal(ENCODE(&b, 1, 0, 1, 0xc0000000 | 4 << 14 | 1), bad);
    assert_int_equal(ENCODE(&b, 3, 0, 1, 0xc0000000 | 3 << 14 | 4), bad);
    assert_int_equal(ENCODE(&b, 3, 0, 1, 0xc0000000 | 3 << 14 | 3, 0xd0000003, 3), bad);
    assert_int_equal(ENCODE(&b, 3, 0, 0xf0000000), bad);    /* resume what? */
    assert_int_equal(ENCODE(&b, 3, 0, 0xf0000003, 1), bad); /* no instruction 3 */
    assert_int_equal(ENCODE(&b, 0, 0, 0xf0000002, 0xf0000000), bad);

    const struct mempipe_side_access good = {
        .p = {.h = {sizeof(good), MEMPIPE_SIDE_ACCESS}, .words = 1}, .size = 8};
    struct mempipe_side_access x = good;
    const uint32_t run[] = {2, 1};
    assert_int_equal(encode(&b, run, 2, 3, &x, sizeof(x), 0), 0);
    x.p.words = 0; /* before the first block */
    assert_int_equal(encode(&b, run, 2, 3, &x, sizeof(x), 0), bad);
    x.p.words = 3; /* after the last word */
    assert_int_equal(encode(&b, run, 2, 3, &x, sizeof(x), 0), bad);
    x = good;
    x.insn = 1; /* block 2 has one instruction */
    assert_int_equal(encode(&b, run, 2, 3, &x, sizeof(x), 0), bad);
    x = good;
    x.size = 0;
    assert_int_equal(encode(&b, run, 2, 3, &x, sizeof(x), 0), bad);
    x = good;
    x.p.units = 1; /* block 2 makes no data */
    assert_int_equal(encode(&b, run, 2, 3, &x, sizeof(x), 0), bad);
    for (unsigned i = 1; i < 9; i++) {
        x = good;
        x.p.h.bytes =
            i < 8 ? sizeof(x) - 8 * i : sizeof(x) + 8; /* not as long as it is */
        assert_int_equal(encode(&b, run, 2, 3, &x, sizeof(x), 0), bad);
        assert_int_equal(encode(&b, run, 2, 3, &good, sizeof(x) - i, 0), bad);
    }
    for (unsigned i = 0; i < MEMPIPE_SIDE_ACCESS; i++) {
        x = good;
        x.p.h.type = i; /* has no place in a buffer */
        assert_int_equal(encode(&b, run, 2, 3, &x, sizeof(x), 0), bad);
    }
    x = good;
    x.p.n = 8; /* data that are not there */
    assert_int_equal(encode(&b, run, 2, 3, &x, sizeof(x), 0), bad);
    /* and it still works */
    assert_int_equal(ENCODE(&b, 6, 0, 1, 2, 1), 0);
    bench_close(&b);
}

static void test_encoder_counts(void **state)
{
    struct bench b;
    struct ctr_packed_info info;
    (void)state;
    bench_open(&b, 0);
    /* left before its first instruction, or only cancelled instructions: no run */
    assert_int_equal(ENCODE(&b, 0, 0, 1, 0xd0000000, 0), 0);
    ctr_packed_info(b.packed, &info);
    assert_int_equal(info.runs, 0);
    assert_int_equal(ENCODE(&b, 0, 0, 1, 0xc0000000), 0);
    ctr_packed_info(b.packed, &info);
    assert_int_equal(info.runs, 0);
    assert_int_equal(ENCODE(&b, 1, 0, 1, 0xd0020001, 1), 0);
    ctr_packed_info(b.packed, &info);
    assert_int_equal(info.runs, 0);
    assert_int_equal(info.loads, 0);
    /* instruction 3 is cancelled with its access */
    assert_int_equal(ENCODE(&b, 3, 0, 1, 0xd0020003, 3), 0);
    ctr_packed_info(b.packed, &info);
    assert_int_equal(info.insns, 2);
    assert_int_equal(info.loads, 2);
    /* a FAULT that belongs to no block of the chunk */
    assert_int_equal(ENCODE(&b, 0, 0, 0xe0000000, 2), 0);
    ctr_packed_info(b.packed, &info);
    assert_int_equal(info.dropped_faults, 1);
    assert_int_equal(info.insns, 1);
    assert_int_equal(info.last_raw, 2);
    /* killed inside block 1, with one access known; and with none */
    assert_int_equal(ENCODE(&b, 1, CTR_SEGMENT_UNSURE, 2, 1), 0);
    ctr_packed_info(b.packed, &info);
    assert_int_equal(info.insns, 2);
    assert_int_equal(info.unsure, 1);
    assert_int_equal(ENCODE(&b, 0, CTR_SEGMENT_UNSURE, 2, 1), 0);
    ctr_packed_info(b.packed, &info);
    assert_int_equal(info.insns, 2);
    assert_int_equal(info.loads, 0);
    /* the last block was already left: nothing is in doubt */
    assert_int_equal(ENCODE(&b, 1, CTR_SEGMENT_UNSURE, 1, 0xd0000001, 1), 0);
    ctr_packed_info(b.packed, &info);
    assert_int_equal(info.unsure, 0);
    /* too much at a time */
    struct ctr_segment seg = {.n_words = CTR_MAX_CHUNK_WORDS + 1};
    assert_int_equal(ctr_encoder_run(b.enc, &seg, 1, b.packed, NULL), -CTR_E_LIMIT);
    bench_close(&b);
}

/* The columns of a killed process end at its last unit that is not 0. */
static void test_encoder_tail(void **state)
{
    static const struct {
        uint32_t words, known, insns, loads;
    } tail[] = {
        /* block 1 twice: three pairs of address and value each */
        {2, 12, 6, 6},               /* all of it */
        {2, 11, 5, 5},               /* the last value is missing: its access is, too */
        {2, 10, 5, 5}, {2, 7, 4, 3}, /* at least one instruction of the last run */
        {2, 6, 4, 3},  {2, 5, 4, 3}, /* the run before it was whole: zeros are data */
        {2, 1, 4, 3},  {2, 0, 4, 3}, {1, 0, 1, 0}, {1, 1, 1, 0}, {1, 2, 1, 1},
    };
    struct bench b;
    struct ctr_packed_info info;
    (void)state;
    bench_open(&b, CTR_EVENTS_VAL);
    for (unsigned i = 0; i < sizeof(tail) / sizeof(tail[0]); i++) {
        assert_int_equal(encode(&b, (const uint32_t[]){1, 1}, tail[i].words,
                                tail[i].known, NULL, 0, CTR_SEGMENT_UNSURE),
                         0);
        ctr_packed_info(b.packed, &info);
        assert_int_equal(info.insns, tail[i].insns);
        assert_int_equal(info.loads, tail[i].loads);
        assert_int_equal(info.unsure, 1);
    }
    /* There is less room than that between words and data. */
    uint32_t words[16];
    for (unsigned i = 0; i < 16; i++) {
        words[i] = 1;
    }
    assert_int_equal(encode(&b, words, 16, 0, NULL, 0, CTR_SEGMENT_UNSURE),
                     -CTR_E_CORRUPT);
    bench_close(&b);
}

/* Values and registers of records. */
static void test_encoder_records(void **state)
{
    const int bad = -CTR_E_CORRUPT;
    const uint32_t run[] = {2, 1};
    struct bench b;
    (void)state;
    bench_open(&b, CTR_EVENTS_VAL | CTR_EVENTS_REG);
    struct {
        struct mempipe_side_access a;
        uint8_t data[8];
    } x = {.a = {.p = {.h = {sizeof(x), MEMPIPE_SIDE_ACCESS}, .words = 1, .n = 8},
                 .size = 8}};
    assert_int_equal(encode(&b, run, 2, 6, &x, sizeof(x), 0), 0);
    x.a.size = 7; /* differs from the number of data */
    assert_int_equal(encode(&b, run, 2, 6, &x, sizeof(x), 0), bad);
    x.a.p.n = 9; /* more than there is */
    assert_int_equal(encode(&b, run, 2, 6, &x, sizeof(x), 0), bad);
    x.a.p.n = x.a.size = 8;
    x.a.p.words = 2;
    for (uint32_t units = 0; units < 8; units++) {
        /* only between accesses, not between an address and its value */
        x.a.p.units = units;
        assert_int_equal(encode(&b, run, 2, 6, &x, sizeof(x), 0),
                         units % 2 || units > 6 ? bad : 0);
    }
    struct regs {
        struct mempipe_side_regs r;
        uint8_t value[24];
    } r[2] = {{.r = {.p = {.h = {sizeof(r[0]), MEMPIPE_SIDE_REGS}, .words = 2, .n = 1}}}};
    r[1] = r[0];
    assert_int_equal(encode(&b, run, 2, 6, r, sizeof(r), 0), 0);
    r[1].r.insn = 2;
    assert_int_equal(encode(&b, run, 2, 6, r, sizeof(r), 0), 0);
    r[1].r.insn = 3; /* no such instruction */
    assert_int_equal(encode(&b, run, 2, 6, r, sizeof(r), 0), bad);
    r[1].r.insn = MEMPIPE_OUTSIDE;
    assert_int_equal(encode(&b, run, 2, 6, r, sizeof(r), 0), 0);
    r[0].r.insn = 2;
    r[1].r.insn = 1; /* instructions ascend */
    assert_int_equal(encode(&b, run, 2, 6, r, sizeof(r), 0), bad);
    r[1].r.insn = 2;
    r[1].r.p.words = 1; /* words ascend */
    assert_int_equal(encode(&b, run, 2, 6, r, sizeof(r), 0), bad);
    r[1].r.p.words = 2;
    r[1].r.p.n = 2; /* more registers than there are */
    assert_int_equal(encode(&b, run, 2, 6, r, sizeof(r), 0), bad);
    r[1].r.p.n = 1;
    r[1].value[1] = CTR_MAX_REGS >> 8; /* no such register */
    assert_int_equal(encode(&b, run, 2, 6, r, sizeof(r), 0), bad);
    bench_close(&b);
}

/* ------------------------------------------- more blocks than 16-bit tokens */

#define MANY 60000u

static int check_many(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    uint64_t *at = arg;
    const uint64_t *got = data;
    (void)job;
    for (size_t i = 0; i < n / 16; i++, ++*at) {
        uint64_t k = *at % MANY;
        assert_int_equal(got[2 * i], 0x100000 + k * 8);
        assert_int_equal(got[2 * i + 1], 0x7000000 + k * 4096 + *at / MANY);
    }
    return 0;
}

static int put_many(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    (void)arg;
    const uint64_t pair[2] = {m->pc, m->addr};
    return ctr_job_append(job, pair, sizeof(pair));
}

/* A 32-bit trace whose only chunk is this segment. */
static struct ctr_trace *trace_of(struct ctr_dict *dict, unsigned addr_bytes,
                                  uint32_t events, const struct ctr_segment *seg)
{
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ctr_writer *w;
    struct ctr_trace *tr;
    struct ctr_diag diag;
    uint32_t process, thread;
    assert_int_equal(ctr_encoder_new(&enc, dict, addr_bytes, 1), 0);
    assert_int_equal(ctr_packed_new(&packed), 0);
    assert_int_equal(ctr_encoder_run(enc, seg, 1, packed, &diag), 0);
    struct ctr_meta meta = {.events = events, .addr_bits = (uint8_t)(8 * addr_bytes)};
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_int_equal(ctr_writer_new(&w, fd, dict, &meta, 1, &diag), 0);
    assert_int_equal(ctr_writer_process(w, 1, 0, 0, &process, &diag), 0);
    assert_int_equal(ctr_writer_thread(w, process, 1, 0, 0, &thread, &diag), 0);
    assert_int_equal(ctr_writer_chunk(w, thread, packed, &diag), 0);
    assert_int_equal(ctr_writer_finish(w, &diag), 0);
    ctr_writer_free(w);
    ctr_packed_free(packed);
    ctr_encoder_free(enc);
    assert_int_equal(ctr_open_fd(&tr, fd, 0, &diag), 0);
    return tr;
}

static void test_many_blocks(void **state)
{
    struct ctr_dict *dict;
    struct ctr_diag diag;
    (void)state;
    assert_int_equal(ctr_dict_new(&dict, CTR_EVENTS_EXEC | CTR_EVENTS_MEM), 0);
    uint32_t *words = malloc(3 * MANY * sizeof(words[0]));
    uint32_t *addrs = malloc(3 * MANY * sizeof(addrs[0]));
    assert_true(words && addrs);
    for (uint32_t i = 0; i < 3 * MANY; i++) {
        words[i] = i % MANY + 1;
        addrs[3 * MANY - 1 - i] = 0x7000000 + (i % MANY) * 4096 + i / MANY;
        if (i < MANY) {
            uint8_t def[64];
            size_t n = simple_def(def, 0x100000 + (uint64_t)i * 8, 1, 1);
            assert_int_equal(ctr_dict_add(dict, i + 1, def, n, &diag), 0);
        }
    }
    assert_int_equal(ctr_dict_size(dict), MANY);
    struct ctr_segment seg = {
        .words = words,
        .n_words = 3 * MANY,
        .n_units = 3 * MANY,
        .data_end = addrs + 3 * MANY,
    };
    struct ctr_trace *tr = trace_of(dict, 4, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, &seg);
    static const struct ctr_replay_ops ops = {.mem = put_many, .ordered = check_many};
    struct ctr_replay_opts opts = {.workers = 1};
    uint64_t at = 0;
    assert_int_equal(ctr_replay(tr, &ops, &at, &opts, &diag), 0);
    assert_int_equal(at, 3 * MANY);
    /* Pages: more than a set holds; the set then means any page. */
    struct ctr_range range = {0x7000000, 0x7000001, 0};
    struct ctr_filter f = {.addrs = &range, .naddr = 1};
    static const struct ctr_replay_ops count = {.mem = put_many};
    opts.filter = &f;
    assert_int_equal(ctr_replay(tr, &count, NULL, &opts, &diag), 0);
    ctr_close(tr);
    ctr_dict_free(dict);
    free(words);
    free(addrs);
}

#define SOME 300u
#define STRETCH 9000u

static int next_pc(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    const uint32_t **word = arg;
    (void)job;
    assert_int_equal(r->block->pc, 0x100000 + *(*word)++ * 16);
    return 0;
}

/* Without accesses: the words of so many different blocks come back. */
static void words_come_back(uint32_t nblock, const uint32_t *words, uint32_t n_words)
{
    struct ctr_dict *dict;
    struct ctr_diag diag;
    assert_int_equal(ctr_dict_new(&dict, CTR_EVENTS_EXEC), 0);
    for (uint32_t i = 1; i <= nblock; i++) {
        uint8_t def[64];
        size_t n = simple_def(def, 0x100000 + (uint64_t)i * 16, 1 + i % 4, 0);
        assert_int_equal(ctr_dict_add(dict, i, def, n, &diag), 0);
    }
    struct ctr_segment seg = {.words = words, .n_words = n_words};
    struct ctr_trace *tr = trace_of(dict, 4, CTR_EVENTS_EXEC, &seg);
    static const struct ctr_replay_ops ops = {.run = next_pc};
    struct ctr_replay_opts opts = {.workers = 1};
    const uint32_t *at = words;
    assert_int_equal(ctr_replay(tr, &ops, &at, &opts, &diag), 0);
    assert_int_equal(at - words, n_words);
    ctr_close(tr);
    ctr_dict_free(dict);
}

/* Long stretches that go as predicted, and others that never do. */
static void test_stretches(void **state)
{
    uint64_t random = 1;
    (void)state;
    uint32_t *words = malloc(8 * STRETCH * sizeof(words[0]));
    assert_true(words);
    for (uint32_t i = 0; i < 8 * STRETCH; i++) {
        uint32_t of = i / STRETCH % 4 == 1 ? SOME : i / STRETCH % 4 == 3 ? 2 : 0;
        words[i] = of ? 1 + random_below(&random, of) : 1 + i % (1 + i / STRETCH);
    }
    words_come_back(SOME, words, 8 * STRETCH);
    free(words);
}

/* More blocks than one halfword of a miss can name: all of them twice, then any. */
static void test_many_alone(void **state)
{
    uint64_t random = 1;
    (void)state;
    uint32_t *words = malloc(4 * MANY * sizeof(words[0]));
    assert_true(words);
    for (uint32_t i = 0; i < 4 * MANY; i++) {
        words[i] = 1 + (i < 2 * MANY ? i % MANY : random_below(&random, MANY));
    }
    words_come_back(MANY, words, 4 * MANY);
    free(words);
}

#define DERIVE_SIGNED 0x100u /* is added to bits */

/* A derived slot's entry of a definition: its root, bits and delta. */
static size_t put_derive(uint8_t *p, unsigned root, unsigned bits, int64_t delta)
{
    p[0] = (uint8_t)root;
    p[1] = (uint8_t)(root >> 8);
    p[2] = (uint8_t)bits;
    p[3] = bits & DERIVE_SIGNED ? CTR_DERIVE_SIGNED : 0;
    memcpy(p + 4, &delta, 8);
    return CTR_BLOCKDEF_DERIVE;
}

struct found {
    uint32_t addr;
    unsigned times;
};

static int count_found(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    struct found *f = arg;
    (void)job;
    f->times += m->addr == f->addr;
    return 0;
}

/*
 * A definition may give a derived address more bits than the trace has: readers and the
 * index cut it.
 */
static void test_wide_derived(void **state)
{
    static const uint32_t addr = 0xfffffff0;
    static const uint32_t words[2] = {1, 1};
    static const uint32_t there[] = {0xfffffff0, 0x10, 0x2008};
    struct ctr_dict *dict;
    struct ctr_diag diag;
    uint8_t def[128];
    (void)state;
    size_t n = simple_def(def, 0x1000, 3, 3);
    def[CTR_BLOCKDEF_FLAGS] = CTR_BLOCK_HAS_DERIVED;
    for (size_t at = n - 2 * CTR_BLOCKDEF_SLOT; at < n; at += CTR_BLOCKDEF_SLOT) {
        def[at + 4] |= CTR_ACCESS_DERIVED;
    }
    n += put_derive(def + n, 0, 64, 0x20);
    n += put_derive(def + n, CTR_DERIVE_CONST, 64, 0x700002008);
    assert_int_equal(ctr_dict_new(&dict, CTR_EVENTS_EXEC | CTR_EVENTS_MEM), 0);
    assert_int_equal(ctr_dict_add(dict, 1, def, n, &diag), 0);
    const uint32_t data[2] = {addr, addr};
    struct ctr_segment seg = {
        .words = words, .n_words = 2, .n_units = 2, .data_end = data + 2};
    struct ctr_trace *tr = trace_of(dict, 4, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, &seg);
    for (unsigned i = 0; i < 3; i++) {
        struct found found = {there[i], 0};
        struct ctr_range range = {there[i], there[i] + 1, 0};
        struct ctr_filter f = {.addrs = &range, .naddr = 1};
        static const struct ctr_replay_ops ops = {.mem = count_found};
        struct ctr_replay_opts opts = {.workers = 1, .filter = &f};
        assert_int_equal(ctr_replay(tr, &ops, &found, &opts, &diag), 0);
        assert_int_equal(found.times, 2);
    }
    ctr_close(tr);
    ctr_dict_free(dict);
}

static int count_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    (void)job;
    (void)m;
    ++*(unsigned *)arg;
    return 0;
}

/* The number of chunks that are read for the accesses of a page. */
static uint64_t read_for(struct ctr_trace *tr, uint64_t page, unsigned accesses)
{
    static const struct ctr_replay_ops ops = {.mem = count_mem};
    struct ctr_range range = {page << 12, (page + 1) << 12, 0};
    struct ctr_filter f = {.addrs = &range, .naddr = 1};
    struct ctr_replay_opts opts = {.workers = 1, .filter = &f};
    struct ctr_work before, after;
    unsigned n = 0;
    ctr_trace_work(tr, &before);
    assert_int_equal(ctr_replay(tr, &ops, &n, &opts, NULL), 0);
    ctr_trace_work(tr, &after);
    assert_int_equal(n, accesses);
    return after.chunks - before.chunks;
}

/*
 * 64-bit addresses that are derived from others and of which aarch64's masking leaves 56
 * bits or more, with or without a sign: the index knows which pages they touch.
 */
static void test_masked_derived(void **state)
{
    static const uint32_t words[2] = {1, 1};
    static const uint64_t data[2] = {0x7ffff800, 0x7ffff800};
    (void)state;
    for (unsigned bits = 56; bits < 63; bits++) {
        for (unsigned with_sign = 0; with_sign < 2; with_sign++) {
            struct ctr_dict *dict;
            uint8_t def[128];
            size_t n = simple_def(def, 0x1000, 3, 2);
            def[CTR_BLOCKDEF_FLAGS] = CTR_BLOCK_HAS_DERIVED;
            def[n - CTR_BLOCKDEF_SLOT + 4] |= CTR_ACCESS_DERIVED;
            n += put_derive(def + n, 0, bits | (with_sign ? DERIVE_SIGNED : 0), 0x808);
            assert_int_equal(ctr_dict_new(&dict, CTR_EVENTS_EXEC | CTR_EVENTS_MEM), 0);
            assert_int_equal(ctr_dict_add(dict, 1, def, n, NULL), 0);
            struct ctr_segment seg = {
                .words = words, .n_words = 2, .n_units = 2, .data_end = data + 2};
            struct ctr_trace *tr =
                trace_of(dict, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, &seg);
            assert_int_equal(read_for(tr, 0x7ffff, 2), 1);
            assert_int_equal(read_for(tr, 0x80000, 2), 1);
            assert_int_equal(read_for(tr, 0, 0), 0);
            assert_int_equal(read_for(tr, 0x7fff0, 0), 0);
            ctr_close(tr);
            ctr_dict_free(dict);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dict),
        cmocka_unit_test(test_dict_forget),
        cmocka_unit_test(test_dict_bad),
        cmocka_unit_test(test_dict_regs),
        cmocka_unit_test(test_dict_tags),
        cmocka_unit_test(test_encoder_refuses),
        cmocka_unit_test(test_encoder_counts),
        cmocka_unit_test(test_encoder_tail),
        cmocka_unit_test(test_encoder_records),
        cmocka_unit_test(test_many_blocks),
        cmocka_unit_test(test_stretches),
        cmocka_unit_test(test_many_alone),
        cmocka_unit_test(test_wide_derived),
        cmocka_unit_test(test_masked_derived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
