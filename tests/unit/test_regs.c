/* SPDX-License-Identifier: MIT */
/*
 * The register table, and registers that consist of parts.  The flags of x86 are
 * checked against sums computed bit by bit, the others against values from
 * the machines' manuals.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/le.h"
#include "random.h"
#include "model/regview.h"
#include "cannoli/events.h"

static uint64_t state = 0x853c49e6748fea9bull;

static uint64_t rnd(void)
{
    return random_bits(&state);
}

/* --------------------------------------------------------------------- table */

struct table {
    uint8_t p[4096];
    size_t n;
    uint32_t entries;
};

static void entry(struct table *t, const char *name, unsigned size, unsigned flags)
{
    size_t len = strlen(name);
    t->p[t->n++] = (uint8_t)size;
    t->p[t->n++] = (uint8_t)flags;
    t->p[t->n++] = (uint8_t)len;
    t->p[t->n++] = 0;
    memcpy(t->p + t->n, name, len);
    t->n += len;
    t->entries++;
}

static int parse(const struct table *t, uint32_t entries, size_t bytes)
{
    struct regtable r;
    struct ctr_diag diag;
    /* Exactly as long as announced, so that a sanitizer notices a longer read. */
    uint8_t *copy = malloc(bytes + 1);
    memcpy(copy, t->p, bytes);
    int err = regtable_parse(&r, entries, copy, bytes, 0, &diag);
    free(copy);
    if (!err) {
        regtable_fini(&r);
    }
    return err;
}

static void test_table(void **unused)
{
    (void)unused;
    struct table t = {.n = 0};
    entry(&t, "r0", 4, 0);
    entry(&t, "z0", 16, CTR_REG_PIECE | CTR_REG_VECTOR);
    entry(&t, "z0", 8, 0);
    entry(&t, "cc", 1, CTR_REG_RAW);
    struct regtable r;
    assert_int_equal(regtable_parse(&r, 4, t.p, t.n, 0, NULL), 0);
    assert_int_equal(r.n, 4);
    assert_int_equal(r.state_bytes, 29);
    assert_int_equal(r.reg[3].off, 28);
    assert_string_equal(r.reg[2].name, "z0");
    regtable_fini(&r);
    for (size_t n = 0; n < t.n; n++) {
        assert_int_equal(parse(&t, 4, n), -CTR_E_CORRUPT);
    }
    assert_int_equal(parse(&t, 3, t.n), -CTR_E_CORRUPT);
    assert_int_equal(parse(&t, 5, t.n), -CTR_E_CORRUPT);
    assert_int_equal(parse(&t, 0, 0), -CTR_E_CORRUPT);
    static const struct {
        const char *name;
        unsigned size, flags;
    } bad[] = {{"r1", 0, 0},  {"r1", 17, 0}, {"r1", 4, 0x10},         {"", 4, 0},
               {"a b", 4, 0}, {"a\n", 4, 0}, {"r1", 4, CTR_REG_PIECE}};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct table u = t;
        entry(&u, bad[i].name, bad[i].size, bad[i].flags);
        assert_int_equal(parse(&u, u.entries, u.n), -CTR_E_CORRUPT);
    }
    /* A piece must continue under the same name; a register has at most 256 bytes. */
    struct table u = t;
    entry(&u, "a", 16, CTR_REG_PIECE);
    entry(&u, "b", 16, 0);
    assert_int_equal(parse(&u, u.entries, u.n), -CTR_E_CORRUPT);
    for (unsigned pieces = 16; pieces <= 17; pieces++) {
        u = t;
        for (unsigned i = 1; i < pieces; i++) {
            entry(&u, "v", 16, CTR_REG_PIECE);
        }
        entry(&u, "v", 16, 0);
        assert_int_equal(parse(&u, u.entries, u.n), pieces > 16 ? -CTR_E_CORRUPT : 0);
    }
}

/* ------------------------------------------------------------------- machines */

struct machine {
    struct table t;
    struct regtable table;
    struct regview view;
    struct regstate s;
    uint8_t state[4096];
};

static void machine_make(struct machine *m, uint32_t e_machine)
{
    assert_int_equal(regtable_parse(&m->table, m->t.entries, m->t.p, m->t.n, 0, NULL), 0);
    assert_int_equal(regview_init(&m->view, &m->table, e_machine), 0);
    memset(&m->s, 0, sizeof(m->s));
    assert_int_equal(regstate_init(&m->s, &m->view), 0);
    regstate_set(&m->s, m->state);
}

static void machine_free(struct machine *m)
{
    regstate_fini(&m->s);
    regview_fini(&m->view);
    regtable_fini(&m->table);
}

static void set(struct machine *m, const char *name, uint64_t lo, uint64_t hi)
{
    for (uint32_t i = 0; i < m->table.n; i++) {
        if (strcmp(m->table.reg[i].name, name) == 0) {
            uint8_t v[16];
            put64(v, lo);
            put64(v + 8, hi);
            regstate_write(&m->s, i, v);
            return;
        }
    }
    fail_msg("no entry %s", name);
}

static const struct ctr_reg *find(const struct machine *m, const char *name)
{
    for (uint32_t i = 0; i < m->view.n; i++) {
        if (strcmp(m->view.reg[i].pub.name, name) == 0) {
            return &m->view.reg[i].pub;
        }
    }
    return NULL;
}

/* The lower 8 bytes of a register after all the changes. */
static uint64_t get(struct machine *m, const char *name)
{
    const struct ctr_reg *r = find(m, name);
    uint8_t v[8] = {0};
    assert_non_null(r);
    regstate_settle(&m->s);
    memcpy(v, regstate_value(&m->s, r->index), r->size < 8 ? r->size : 8);
    return le64(v);
}

static void test_arm(void **unused)
{
    (void)unused;
    static const char *const parts[] = {
        "NF", "ZF", "CF", "VF", "QF", "GE", "condexec_bits", "uncached_cpsr"};
    struct machine m = {.t = {.n = 0}};
    entry(&m.t, "r0", 4, 0);
    for (unsigned i = 0; i < 8; i++) {
        entry(&m.t, parts[i], 4, CTR_REG_RAW);
    }
    entry(&m.t, "thumb", 1, CTR_REG_RAW);
    entry(&m.t, "daif", 8, CTR_REG_RAW);
    entry(&m.t, "r1", 4, 0);
    machine_make(&m, 40);
    assert_int_equal(m.view.n, 3);
    assert_int_equal(find(&m, "cpsr")->index, 1); /* the index of its first part */
    assert_int_equal(find(&m, "cpsr")->size, 4);
    assert_int_equal(get(&m, "cpsr"), 0x40000000); /* all parts 0: Z */
    set(&m, "ZF", 1, 0);
    set(&m, "uncached_cpsr", 0x10, 0);
    assert_int_equal(get(&m, "cpsr"), 0x10);
    set(&m, "NF", 0x80000001, 0);
    set(&m, "CF", 1, 0);
    set(&m, "VF", 0xffffffff, 0);
    set(&m, "QF", 1, 0);
    set(&m, "GE", 0xa, 0);
    set(&m, "thumb", 1, 0);
    set(&m, "daif", 0x3c0, 0);
    set(&m, "condexec_bits", 0xc7, 0);
    assert_int_equal(get(&m, "cpsr"), 0xb80a0010u | 0x20 | 0x1c0 | 3u << 25 | 0xc4u << 8);
    /* Another machine has no such register. */
    machine_free(&m);
    machine_make(&m, 62);
    assert_null(find(&m, "cpsr"));
    assert_int_equal(m.view.n, 2);
    machine_free(&m);
}

/* M-profile processors have two stack pointers; handlers use the main one. */
static void test_armv7m(void **unused)
{
    (void)unused;
    static const char *const parts[] = {
        "NF", "ZF", "CF", "VF", "QF", "GE", "condexec_bits", "exception"};
    struct machine m = {.t = {.n = 0}};
    entry(&m.t, "sp", 4, 0);
    for (unsigned i = 0; i < 8; i++) {
        entry(&m.t, parts[i], 4, CTR_REG_RAW);
    }
    entry(&m.t, "thumb", 1, CTR_REG_RAW);
    entry(&m.t, "other_sp", 4, CTR_REG_RAW);
    entry(&m.t, "control", 4, CTR_REG_SPECIAL);
    machine_make(&m, 40);
    assert_null(find(&m, "exception"));
    set(&m, "sp", 0x1000, 0);
    set(&m, "other_sp", 0x2000, 0);
    set(&m, "thumb", 1, 0);
    set(&m, "condexec_bits", 0xc7, 0);
    set(&m, "CF", 1, 0);
    set(&m, "exception", 11, 0);
    assert_int_equal(get(&m, "xpsr"), 0x61000000u | 3u << 25 | 0xc4u << 8 | 11);
    set(&m, "control", 2, 0);
    assert_int_equal(get(&m, "msp"), 0x1000);
    assert_int_equal(get(&m, "psp"), 0x2000);
    set(&m, "exception", 0, 0);
    assert_int_equal(get(&m, "msp"), 0x2000);
    assert_int_equal(get(&m, "psp"), 0x1000);
    set(&m, "control", 1, 0);
    assert_int_equal(get(&m, "msp"), 0x1000);
    assert_int_equal(get(&m, "psp"), 0x2000);
    machine_free(&m);
}

/* Writing the old value is no change; writing a part that belongs to no register neither.
 */
static void test_changes(void **unused)
{
    (void)unused;
    struct machine m = {.t = {.n = 0}};
    entry(&m.t, "r0", 4, 0);
    entry(&m.t, "nobody", 4, CTR_REG_RAW);
    entry(&m.t, "v0", 16, CTR_REG_PIECE);
    entry(&m.t, "v0", 16, 0);
    entry(&m.t, "r1", 4, 0);
    machine_make(&m, 40);
    assert_int_equal(m.view.n, 3);
    set(&m, "r1", 5, 0);
    set(&m, "r0", 0, 0);
    set(&m, "nobody", 7, 0);
    regstate_settle(&m.s);
    assert_int_equal(m.s.nchanged, 1);
    assert_int_equal(m.s.changed[0], 2);
    set(&m, "r1", 6, 0);
    set(&m, "v0", 1, 0);
    set(&m, "r0", 1, 0);
    set(&m, "r1", 5, 0); /* and back again */
    regstate_settle(&m.s);
    assert_int_equal(m.s.nchanged, 2);
    assert_int_equal(m.s.changed[0], 0);
    assert_int_equal(m.s.changed[1], 1);
    regstate_settle(&m.s);
    assert_int_equal(m.s.nchanged, 0);
    /* Without a state nothing is known, so every write is a change. */
    regstate_set(&m.s, NULL);
    set(&m, "r0", 0, 0);
    regstate_settle(&m.s);
    assert_int_equal(m.s.nchanged, 1);
    machine_free(&m);
}

/* ------------------------------------------------------------------------ x86 */

#define C 1u
#define P 4u
#define A 0x10u
#define Z 0x40u
#define S 0x80u
#define O 0x800u

/* a + b + carry, one bit after the other, as an adder does. */
static uint64_t add_bits(uint64_t a, uint64_t b, unsigned carry, unsigned bits,
                         unsigned *flags)
{
    uint64_t sum = 0;
    unsigned before = 0;
    *flags = 0;
    for (unsigned i = 0; i < bits; i++) {
        unsigned x = a >> i & 1, y = b >> i & 1, n = x + y + carry;
        sum |= (uint64_t)(n & 1) << i;
        before = carry;
        carry = n >> 1;
        if (i == 3 && carry) {
            *flags |= A;
        }
    }
    *flags |= (carry ? C : 0) | (carry != before ? O : 0);
    return sum;
}

static unsigned zsp(uint64_t v, unsigned bits)
{
    unsigned ones = 0;
    for (unsigned i = 0; i < 8; i++) {
        ones += v >> i & 1;
    }
    return (v == 0 ? Z : 0) | (v >> (bits - 1) & 1 ? S : 0) | (ones % 2 ? 0 : P);
}

static void expect_flags(struct machine *m, unsigned op, uint64_t dst, uint64_t src,
                         uint64_t src2, unsigned want, unsigned mask)
{
    /* Bits above the width are arbitrary. */
    unsigned bits = 8u << (op & 3);
    uint64_t junk = op >= 4 && bits < 64 ? rnd() << bits : 0;
    set(m, "cc_op", op, 0);
    set(m, "cc_dst", dst ^ junk, 0);
    set(m, "cc_src", op >= 8 ? src ^ junk : src, 0);
    set(m, "cc_src2", src2, 0);
    unsigned got = (unsigned)get(m, "eflags");
    if ((got & mask) != (want & mask)) {
        fail_msg("cc_op %u dst %llx src %llx src2 %llx: %x, not %x", op,
                 (unsigned long long)dst, (unsigned long long)src,
                 (unsigned long long)src2, got, want);
    }
}

static void test_x86(void **unused)
{
    (void)unused;
    static const char *const parts[] = {"cc_dst", "cc_src", "cc_src2", "eflags_rest"};
    struct machine m = {.t = {.n = 0}};
    entry(&m.t, "rax", 8, 0);
    entry(&m.t, "cc_op", 4, CTR_REG_RAW);
    for (unsigned i = 0; i < 4; i++) {
        entry(&m.t, parts[i], 8, CTR_REG_RAW);
    }
    entry(&m.t, "df", 4, CTR_REG_RAW);
    machine_make(&m, 62);
    const unsigned all = C | P | A | Z | S | O;
    for (unsigned round = 0; round < 40000; round++) {
        unsigned size = round % 4, bits = 8u << size, f;
        uint64_t mask = ~0ull >> (64 - bits), top = 1ull << (bits - 1);
        uint64_t a = rnd() >> (rnd() % 64) & mask, b = rnd() >> (rnd() % 64) & mask;
        a = rnd() % 8 == 0 ? top - 1 + rnd() % 3 : a;
        b = rnd() % 8 == 0 ? (rnd() & 1 ? a : 0 - a) & mask : b;
        a &= mask;
        unsigned c = rnd() & 1;
        uint64_t r = add_bits(a, b, 0, bits, &f);
        expect_flags(&m, 8 + size, r, a, 0, f | zsp(r, bits), all);
        r = add_bits(a, b, c, bits, &f);
        expect_flags(&m, 12 + size, r, a, c, f | zsp(r, bits), all);
        /* a - b is a + ~b + 1 with the carries inverted. */
        r = add_bits(a, ~b & mask, 1, bits, &f);
        expect_flags(&m, 16 + size, r, b, 0, (f ^ (C | A)) | zsp(r, bits), all);
        r = add_bits(a, ~b & mask, !c, bits, &f);
        expect_flags(&m, 20 + size, r, b, c, (f ^ (C | A)) | zsp(r, bits), all);
        expect_flags(&m, 24 + size, a & b, b, 0, zsp(a & b, bits), all);
        r = add_bits(a, 1, 0, bits, &f);
        expect_flags(&m, 28 + size, r, c, 0, (f & ~C) | c | zsp(r, bits), all);
        r = add_bits(a, mask, 0, bits, &f);
        expect_flags(&m, 32 + size, r, c, 0, ((f ^ A) & ~C) | c | zsp(r, bits), all);
        /* A shift by one: the operand is in src. */
        r = a << 1 & mask;
        f = (a & top ? C : 0) | (((r ^ a) & top) ? O : 0);
        expect_flags(&m, 36 + size, r, a, 0, f | zsp(r, bits), all & ~A);
        r = (a >> 1 | (a & top)) & mask;
        expect_flags(&m, 40 + size, r, a, 0, (a & 1) | zsp(r, bits), C | P | Z | S);
        /* A product: the upper half is in src. */
        expect_flags(&m, 4 + size, a, b, 0, (b ? C | O : 0) | zsp(a, bits), all & ~A);
        f = (a == 0 ? Z : 0) | (a & top ? S : 0);
        expect_flags(&m, 44 + size, a, b, 0, f | (b == 0), C | Z | S | O);
        expect_flags(&m, 48 + size, a, b, 0, f | (b != 0), C | Z | S | O);
        expect_flags(&m, 52 + size, a, 0, 0, a == 0 ? Z : 0, all);
        /* ADCX, ADOX: one or both of C and O are kept apart. */
        uint64_t flags = rnd() & all;
        expect_flags(&m, 0, 0, flags, 0, (unsigned)flags, all);
        expect_flags(&m, 1, c, flags, 0, ((unsigned)flags & ~C) | c, all);
        expect_flags(&m, 2, 0, flags, c, ((unsigned)flags & ~O) | c * O, all);
        expect_flags(&m, 3, c, flags, !c, ((unsigned)flags & ~(C | O)) | c | !c * O, all);
    }
    set(&m, "cc_op", 0, 0);
    set(&m, "cc_src", 0x44, 0);
    set(&m, "eflags_rest", 0x202, 0);
    set(&m, "df", 1, 0);
    assert_int_equal(get(&m, "eflags"), 0x246);
    set(&m, "df", 0xffffffff, 0);
    assert_int_equal(get(&m, "eflags"), 0x646);
    machine_free(&m);
}

static void test_x87(void **unused)
{
    (void)unused;
    static const char *const parts[] = {"fpr0_lo", "fpr0_hi", "fpr1_lo", "fpr1_hi",
                                        "fpr2_lo", "fpr2_hi", "fpr3_lo", "fpr3_hi",
                                        "fpr4_lo", "fpr4_hi", "fpr5_lo", "fpr5_hi",
                                        "fpr6_lo", "fpr6_hi", "fpr7_lo", "fpr7_hi"};
    struct machine m = {.t = {.n = 0}};
    entry(&m.t, "fpst_top", 4, CTR_REG_RAW);
    for (unsigned i = 0; i < 16; i++) {
        entry(&m.t, parts[i], i % 2 ? 2 : 8, CTR_REG_RAW);
    }
    entry(&m.t, "fpus", 2, CTR_REG_RAW);
    entry(&m.t, "fpuc", 2, CTR_REG_RAW);
    entry(&m.t, "mxcsr_rest", 4, CTR_REG_RAW);
    entry(&m.t, "fpst_sse", 2, CTR_REG_RAW);
    machine_make(&m, 3);
    set(&m, "fpst_top", 6, 0);
    set(&m, "fpr6_lo", 111, 0);
    set(&m, "fpr1_lo", 222, 0);
    set(&m, "fpr1_hi", 0x3fff, 0);
    assert_int_equal(get(&m, "st0"), 111);
    assert_int_equal(get(&m, "st3"), 222);
    assert_int_equal(find(&m, "st3")->size, 10);
    assert_int_equal(le16(regstate_value(&m.s, find(&m, "st3")->index) + 8), 0x3fff);
    set(&m, "fpus", 0xffff, 0);
    assert_int_equal(get(&m, "fstat"), 0xc7ff | 6 << 11);
    set(&m, "fpuc", 0x37f, 0);
    assert_int_equal(get(&m, "fctrl"), 0x37f);
    set(&m, "mxcsr_rest", 0x1f80, 0);
    set(&m, "fpst_sse", 0x1f, 0);
    assert_int_equal(get(&m, "mxcsr"), 0x1fbd);
    set(&m, "fpst_sse", 0x40, 0);
    assert_int_equal(get(&m, "mxcsr"), 0x1fb0);
    /* A push moves all of them. */
    regstate_settle(&m.s);
    set(&m, "fpst_top", 5, 0);
    assert_int_equal(get(&m, "st1"), 111);
    assert_int_equal(get(&m, "st0"), 0);
    machine_free(&m);
}

static void test_others(void **unused)
{
    (void)unused;
    struct machine m = {.t = {.n = 0}};
    entry(&m.t, "crf0", 4, CTR_REG_RAW);
    entry(&m.t, "crf1", 4, CTR_REG_RAW);
    entry(&m.t, "crf2", 4, CTR_REG_RAW);
    entry(&m.t, "crf3", 4, CTR_REG_RAW);
    entry(&m.t, "crf4", 4, CTR_REG_RAW);
    entry(&m.t, "crf5", 4, CTR_REG_RAW);
    entry(&m.t, "crf6", 4, CTR_REG_RAW);
    entry(&m.t, "crf7", 4, CTR_REG_RAW);
    entry(&m.t, "xer_rest", 8, CTR_REG_RAW);
    static const char *const xer[] = {"SO", "OV", "CA", "OV32", "CA32"};
    for (unsigned i = 0; i < 5; i++) {
        entry(&m.t, xer[i], 8, CTR_REG_RAW);
    }
    machine_make(&m, 21);
    set(&m, "crf0", 8, 0);
    set(&m, "crf7", 3, 0);
    set(&m, "crf1", 1, 0);
    assert_int_equal(get(&m, "cr"), 0x81000003);
    set(&m, "CA", 1, 0);
    set(&m, "SO", 1, 0);
    set(&m, "CA32", 1, 0);
    set(&m, "xer_rest", 5, 0);
    assert_int_equal(get(&m, "xer"), 0xa0040005);
    machine_free(&m);

    struct machine v = {.t = {.n = 0}};
    entry(&v.t, "fpst", 2, CTR_REG_RAW);
    entry(&v.t, "frm", 8, CTR_REG_SPECIAL);
    entry(&v.t, "vill", 1, CTR_REG_RAW);
    entry(&v.t, "vtype_rest", 8, CTR_REG_RAW);
    entry(&v.t, "vxrm", 8, 0);
    entry(&v.t, "vxsat", 8, 0);
    machine_make(&v, 243);
    set(&v, "fpst", 0x11, 0);
    set(&v, "frm", 4, 0);
    assert_int_equal(get(&v, "fflags"), 0x11);
    assert_int_equal(get(&v, "fcsr"), 0x91);
    assert_int_equal(find(&v, "fcsr")->size, 8);
    set(&v, "fpst", 0x6, 0);
    assert_int_equal(get(&v, "fflags"), 0xc);
    set(&v, "vill", 1, 0);
    assert_true(get(&v, "vtype") == 1ull << 63);
    set(&v, "vxrm", 2, 0);
    set(&v, "vxsat", 1, 0);
    assert_int_equal(get(&v, "vcsr"), 5);
    machine_free(&v);

    struct machine w = {.t = {.n = 0}};
    entry(&w.t, "f0", 8, 0);
    entry(&w.t, "f1", 8, 0);
    entry(&w.t, "w0.d1", 8, CTR_REG_RAW);
    machine_make(&w, 8);
    assert_null(find(&w, "w1"));
    set(&w, "f0", 5, 0);
    set(&w, "w0.d1", 6, 0);
    assert_int_equal(get(&w, "w0"), 5);
    assert_int_equal(get(&w, "f0"), 5);
    assert_int_equal(le64(regstate_value(&w.s, find(&w, "w0")->index) + 8), 6);
    machine_free(&w);

    struct machine a = {.t = {.n = 0}};
    entry(&a.t, "vfp_fpsr", 8, CTR_REG_RAW);
    entry(&a.t, "vfp_fpcr", 8, CTR_REG_RAW);
    entry(&a.t, "vfp_qc", 16, CTR_REG_RAW);
    entry(&a.t, "fpst_a64", 2, CTR_REG_RAW);
    entry(&a.t, "fpst_a64_f16", 2, CTR_REG_RAW);
    machine_make(&a, 183);
    set(&a, "vfp_fpcr", 0x01000000, 0);
    assert_int_equal(get(&a, "fpcr"), 0x01000000);
    set(&a, "fpst_a64", 0x31, 0);
    assert_int_equal(get(&a, "fpsr"), 0x91);
    set(&a, "vfp_qc", 0, 1ull << 40);
    assert_int_equal(get(&a, "fpsr"), 0x8000091);
    set(&a, "vfp_fpcr", 0, 0);
    assert_int_equal(get(&a, "fpsr"), 0x8000011);
    set(&a, "vfp_fpcr", 2, 0);
    set(&a, "fpst_a64", 0x4040, 0);
    assert_int_equal(get(&a, "fpsr"), 0x8000098);
    machine_free(&a);
}

/* s390x: a few of each kind, computed by hand from the Principles of Operation. */
static void test_s390x(void **unused)
{
    (void)unused;
    static const struct {
        unsigned op;
        uint64_t src, dst, vr;
        unsigned cc;
    } cases[] = {
        {0, 9, 9, 9, 0},
        {3, 9, 9, 9, 3},
        {6, 0, 5, 0, 1},
        {7, 1, 0, 0, 2},
        {7, 1, 4, 0, 3},
        {8, ~0ull, 7, 0, 1}, /* a borrow */
        {8, 0, 0, 0, 2},
        {9, 0xffffffff, 1, 0, 1},
        {10, 0xffffffff, 1, 0, 2},
        {11, 0xffffffff, 1, 0, 2},
        {12, 1, 1, 0, 0},
        {13, 0, 0x80000000, 0, 1},
        {14, 0, 0x80000000, 0, 2},
        {15, INT64_MAX, 1, 1ull << 63, 3},
        {15, 3, 0 - 4ull, 0 - 1ull, 1},
        {15, 1ull << 63, 1ull << 63, 0, 3},
        {16, 0, 1ull << 63, 1ull << 63, 3},
        {16, 5, 2, 3, 2},
        {17, 0, 1ull << 63, 0, 3},
        {17, 0, 7, 0, 2},
        {18, 0, 0 - 7ull, 0, 1},
        {19, 0, 1ull << 63, 0, 3},
        {19, ~0ull, 1ull << 63, 0, 1},
        {19, 0, 0, 0, 0},
        {19, 0, 9, 0, 2},
        {20, 0x7fffffff, 1, 0x80000000, 3},
        {21, 0x80000000, 1, 0x7fffffff, 3},
        {21, 4, 4, 0, 0},
        {22, 0, 0x80000000, 0, 3},
        {23, 0, 0xfffffff0, 0, 1},
        {24, 0, 0x80000000, 0, 3},
        {24, 0, 0 - 0x80000000ull, 0, 1},
        {25, 0, 0xffffffff, 0, 1},
        {26, 0, 1ull << 63, 0, 3},
        {27, 0x0f, 0xf0, 0, 0},
        {27, 0xf0, 0xf0, 0, 3},
        {27, 0x80, 0xf0, 0, 1},
        {28, 0x80, 0xf0, 0, 2},
        {28, 0x10, 0xf0, 0, 1},
        {29, 0, 0x7fc00000, 0, 3},
        {29, 0, 0x80000000, 0, 0},
        {29, 0, 0xff800000, 0, 1},
        {30, 0, 1, 0, 2},
        {30, 0, 0x7ff0000000000001ull, 0, 3},
        {31, 0x8000000000000000ull, 0, 0, 0},
        {31, 0x8000000000000000ull, 1, 0, 1},
        {31, 0x7fff000000000000ull, 1, 0, 3},
        {32, 0xff00, 0x8000, 0, 1},
        {32, 0xff00, 0x4000, 0, 2},
        {32, 0xff00, 0x00ff, 0, 0},
        {33, 1, 62, 0, 2},
        {33, 1, 63, 0, 3},
        {33, ~0ull, 10, 0, 1},
        {33, 0, 63, 0, 0},
        {34, 0, 1, 0, 2},
        {35, 0, 16, 0, 0},
        {35, 0, 15, 0, 3},
        {36, ~0ull, ~0ull, 0, 0},
        {36, 0, 0, 0, 3},
        {36, ~0ull, 0, 0, 1},
    };
    struct machine m = {.t = {.n = 0}};
    static const char *const parts[] = {"psw_mask", "cc_src", "cc_dst", "cc_vr"};
    for (unsigned i = 0; i < 4; i++) {
        entry(&m.t, parts[i], 8, CTR_REG_RAW);
    }
    entry(&m.t, "cc_op", 4, CTR_REG_RAW);
    machine_make(&m, 22);
    set(&m, "psw_mask", 0x0705300180000000ull, 0);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set(&m, "cc_op", cases[i].op, 0);
        set(&m, "cc_src", cases[i].src, 0);
        set(&m, "cc_dst", cases[i].dst, 0);
        set(&m, "cc_vr", cases[i].vr, 0);
        uint64_t want = 0x0705000180000000ull | (uint64_t)cases[i].cc << 44;
        uint64_t got = get(&m, "pswm");
        if (got != want) {
            fail_msg("case %u, cc_op %u: %llx, not %llx", i, cases[i].op,
                     (unsigned long long)got, (unsigned long long)want);
        }
    }
    machine_free(&m);
}

/* Parts of riscv's interrupts; those of 32 bits have upper halves of their own. */
static void riscv_entries(struct table *t, unsigned size)
{
    static const char *const parts[] = {
        "mip_rest", "hgeip",   "hstatus_rest", "mideleg",   "mvien",     "mvip",
        "sie_rest", "hideleg", "hvien",        "hvip_rest", "vsie_rest", "mie"};
    static const char *const bytes[] = {"vstime_irq", "virt_enabled", "menvcfg_stce"};
    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        entry(t, parts[i], 8, CTR_REG_RAW);
    }
    for (unsigned i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        entry(t, bytes[i], 1, CTR_REG_RAW);
    }
    for (unsigned i = 0; i < 16; i++) {
        char name[16];
        snprintf(name, sizeof(name), "pmp%ucfg", i);
        entry(t, name, 1, CTR_REG_RAW);
    }
    entry(t, "priv_mode", size, CTR_REG_RAW);
    entry(t, "misa_ext", 4, CTR_REG_RAW);
    entry(t, "satp", size, CTR_REG_SPECIAL);
    entry(t, "vsatp", size, CTR_REG_SPECIAL);
    entry(t, size == 8 ? "henvcfg_rest" : "henvcfgh_rest", size, CTR_REG_RAW);
    entry(t, size == 8 ? "menvcfg" : "menvcfgh", size, CTR_REG_SPECIAL);
}

static void test_riscv_interrupts(struct machine *m)
{
    set(m, "mip_rest", 0x2aa0, 0);
    set(m, "mideleg", 0x222, 0);
    assert_int_equal(get(m, "mip"), 0x2aa0);
    assert_int_equal(get(m, "sip"), 0x220); /* what is delegated */
    set(m, "mie", 0x3fff, 0);
    assert_int_equal(get(m, "sie"), 0x222);
    set(m, "mideleg", 0x2222, 0); /* 13 is no supervisor's */
    assert_int_equal(get(m, "sip"), 0x220);
    set(m, "menvcfg_stce", 0x80, 0);
    assert_int_equal(get(m, "sip"), 0x220);
    set(m, "priv_mode", 3, 0); /* its timer is not the machine's */
    assert_int_equal(get(m, "sip"), 0x200);
    assert_int_equal(get(m, "priv"), 3);
    /* Interrupts that are not delegated but made: they have bits of their own. */
    set(m, "mideleg", 0, 0);
    set(m, "mvien", 0x202, 0);
    set(m, "mvip", 0xffff, 0);
    set(m, "sie_rest", 0x2, 0);
    assert_int_equal(get(m, "sip"), 0x202);
    assert_int_equal(get(m, "sie"), 0x2);
    set(m, "mvien", 0, 0);
}

static void test_riscv_guest(struct machine *m)
{
    set(m, "mip_rest", 0x4, 0);
    set(m, "vstime_irq", 1, 0);
    set(m, "hgeip", 1u << 5, 0);
    assert_int_equal(get(m, "mip"), 0x44);
    set(m, "hstatus_rest", 5u << 12 | 0x20, 0); /* the fifth guest's */
    assert_int_equal(get(m, "mip"), 0x444);
    assert_int_equal(get(m, "hip"), 0x444);
    assert_int_equal(get(m, "hie"), 0x1444);
    assert_int_equal(get(m, "hvip"), 0x4);
    assert_int_equal(get(m, "vsip"), 0);
    set(m, "hideleg", 0x404, 0);
    assert_int_equal(get(m, "vsip"), 0x202); /* where a supervisor has them */
    assert_int_equal(get(m, "vsie"), 0x202);
    set(m, "mideleg", 0x222, 0);
    set(m, "virt_enabled", 1, 0);
    set(m, "priv_mode", 1, 0);
    assert_int_equal(get(m, "sip"), 0x202);
    assert_int_equal(get(m, "sie"), 0x202);
    assert_int_equal(get(m, "priv"), 5);
    set(m, "hvien", 0x10000, 0);
    set(m, "hvip_rest", 0x30000, 0);
    set(m, "vsie_rest", 0x30000, 0);
    assert_int_equal(get(m, "vsip"), 0x10202);
    assert_int_equal(get(m, "vsie"), 0x10202);
    assert_int_equal(get(m, "hvip"), 0x10004);
}

static void test_riscv(void **unused)
{
    (void)unused;
    for (unsigned size = 4; size <= 8; size += 4) {
        struct machine m = {.t = {.n = 0}};
        riscv_entries(&m.t, size);
        machine_make(&m, 243);
        test_riscv_interrupts(&m);
        test_riscv_guest(&m);
        set(&m, "misa_ext", 0x1105, 0);
        for (unsigned i = 0; i < 16; i++) {
            char name[16];
            snprintf(name, sizeof(name), "pmp%ucfg", i);
            set(&m, name, 0x10 + i, 0);
        }
        if (size == 8) {
            assert_true(get(&m, "misa") == 0x8000000000001105ull);
            assert_true(get(&m, "hstatus") == (2ull << 32 | 5u << 12));
            assert_true(get(&m, "pmpcfg0") == 0x1716151413121110ull);
            assert_true(get(&m, "pmpcfg2") == 0x1f1e1d1c1b1a1918ull);
            assert_null(find(&m, "pmpcfg1"));
            set(&m, "henvcfg_rest", ~0ull, 0);
            set(&m, "menvcfg", 1ull << 63, 0);
            assert_true(get(&m, "henvcfg") == 0x97ffffffffffffffull);
        } else {
            assert_int_equal(get(&m, "misa"), 0x40001105);
            assert_int_equal(get(&m, "hstatus"), 5u << 12);
            assert_int_equal(get(&m, "pmpcfg0"), 0x13121110);
            assert_int_equal(get(&m, "pmpcfg1"), 0x17161514);
            assert_int_equal(get(&m, "pmpcfg2"), 0x1b1a1918);
            assert_int_equal(get(&m, "pmpcfg3"), 0x1f1e1d1c);
            set(&m, "henvcfgh_rest", 0xffffffff, 0);
            set(&m, "menvcfgh", 0x80000000, 0);
            assert_int_equal(get(&m, "henvcfgh"), 0x97ffffff);
            assert_null(find(&m, "henvcfg"));
        }
        machine_free(&m);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),  cmocka_unit_test(test_arm),
        cmocka_unit_test(test_armv7m), cmocka_unit_test(test_changes),
        cmocka_unit_test(test_x86),    cmocka_unit_test(test_x87),
        cmocka_unit_test(test_s390x),  cmocka_unit_test(test_others),
        cmocka_unit_test(test_riscv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
