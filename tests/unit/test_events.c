/* SPDX-License-Identifier: MIT */
/* The events column: all input comes out again, in few bytes; other input is refused. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "siderec.h"
#include "model/evcol.h"
#include "base/le.h"
#include "random.h"
#include "cannoli/events.h"

static uint64_t state = 0x9e3779b97f4a7c15ull;

static uint64_t rnd(void)
{
    return random_bits(&state);
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)(rnd() >> 33) % n;
}

/* A number that is often similar to others. */
static uint64_t number(void)
{
    switch (below(4)) {
    case 0:
        return below(4);
    case 1:
        return rnd();
    case 2:
        return 0x7fff00001000ull + below(64) * 8;
    default:
        return 0 - (uint64_t)below(200);
    }
}

static void random_str(struct payload *p)
{
    static const char *const names[] = {"", "read", "write", "/usr/lib/libc.so.6"};
    if (below(8) == 0) {
        char s[400];
        size_t n = below(sizeof(s));
        for (size_t i = 0; i < n; i++) {
            s[i] = (char)rnd();
        }
        put_str(p, s, n);
    } else {
        const char *s = names[below(4)];
        put_str(p, s, strlen(s));
    }
}

/* A count and so many bytes. */
static void random_bytes(struct payload *p, uint32_t n)
{
    put_u32(p, n);
    for (uint32_t i = 0; i < n; i++) {
        p->p[p->n++] = (uint8_t)below(3);
    }
}

static void random_ram(struct payload *p)
{
    const uint32_t op = 1 + below(CTR_RAM_ANEW);
    const uint32_t n = op == CTR_RAM_BYTES ? below(5) ? below(20) : below(4096) : 0;
    put_u32(p, op);
    put_u32(p, below(op == CTR_RAM_MAP ? CTR_RAM_ROM + 1 : 256));
    put_u64(p, n + below(3));
    for (unsigned i = 0; i < 3; i++) {
        put_u64(p, number());
    }
    random_str(p);
    random_bytes(p, n);
}

static void random_dma(struct payload *p)
{
    const uint32_t n = below(5) ? below(20) : below(4096);
    put_u32(p, 1 + below(CTR_DMA_HOST));
    put_u32(p, 0);
    put_u64(p, n ? n : number());
    put_u64(p, number());
    random_str(p);
    random_bytes(p, n);
}

static void random_payload(struct payload *p, uint32_t type)
{
    p->n = 0;
    switch (type) {
    case CTR_EVENT_SYSCALL:
    case CTR_EVENT_SYSRET:
        put_u32(p, below(6) ? below(5) : (uint32_t)rnd());
        put_u32(p, below(2));
        for (unsigned i = 0; i < 9; i++) {
            put_u64(p, i == 0 && type == CTR_EVENT_SYSCALL && below(9) ? 0 : number());
        }
        random_str(p);
        break;
    case CTR_EVENT_USERMEM: {
        uint32_t n = below(5) ? below(20) : below(1000);
        put_u64(p, number());
        put_u64(p, n + below(3));
        put_u32(p, below(4));
        random_bytes(p, n);
        break;
    }
    case CTR_EVENT_SIGNAL:
        for (unsigned i = 0; i < 4; i++) {
            put_u32(p, (uint32_t)number());
        }
        for (unsigned i = 0; i < 4; i++) {
            put_u64(p, number());
        }
        put_u32(p, below(8));
        put_u32(p, 0);
        break;
    case CTR_EVENT_SIGRETURN:
        put_u64(p, number());
        break;
    case CTR_EVENT_MAP:
        put_u32(p, 1 + below(8));
        for (unsigned i = 0; i < 3; i++) {
            put_u32(p, below(8));
        }
        for (unsigned i = 0; i < 7; i++) {
            put_u64(p, number());
        }
        random_str(p);
        random_str(p);
        break;
    case CTR_EVENT_MARK:
    case CTR_EVENT_LABEL:
        put_u32(p, 1 + below(2));
        put_u32(p, below(3));
        put_u64(p, number());
        put_u64(p, number());
        random_str(p);
        if (type == CTR_EVENT_LABEL) {
            random_str(p);
        }
        break;
    case CTR_EVENT_GATE:
        put_u32(p, below(2));
        put_u32(p, 1 + below(6));
        break;
    case CTR_EVENT_INTERRUPT:
        put_u32(p, below(0x200));
        put_u32(p, (uint32_t)number());
        for (unsigned i = 0; i < 4; i++) {
            put_u64(p, number());
        }
        put_u32(p, below(CTR_PRIVILEGES));
        put_u32(p, below(CTR_PRIVILEGES));
        break;
    case CTR_EVENT_INTRET:
        put_u64(p, number());
        put_u32(p, below(CTR_PRIVILEGES));
        put_u32(p, below(CTR_PRIVILEGES));
        break;
    case CTR_EVENT_SLICE:
        put_u64(p, number());
        break;
    case CTR_EVENT_POWER:
        put_u32(p, 1 + below(CTR_POWER_SAVED));
        put_u32(p, 0);
        break;
    case CTR_EVENT_RAM:
        random_ram(p);
        break;
    case CTR_EVENT_DMA:
        random_dma(p);
        break;
    case CTR_EVENT_IO:
        put_u32(p, below(8));
        put_u32(p, 1 + below(8));
        for (unsigned i = 0; i < 3; i++) {
            put_u64(p, number());
        }
        random_str(p);
        random_str(p);
        break;
    case CTR_EVENT_TASK: {
        const uint32_t known = below(4);
        put_u32(p, known ? (uint32_t)number() : 0);
        put_u32(p, known ? (uint32_t)number() : 0);
        put_u64(p, known ? number() | 1 : 0);
        put_str(p, "kworker/u16:24-e", known ? below(16) : 0);
        break;
    }
    case CTR_EVENT_AREA: {
        const uint64_t start = number() >> 1, end = start + 1 + below(1 << 20);
        const uint32_t flags = below(3);
        put_u32(p, (uint32_t)number());
        put_u32(p, flags);
        put_u64(p, flags == CTR_AREA_ANEW ? 0 : start);
        put_u64(p, flags == CTR_AREA_ANEW ? 0 : end);
        put_u64(p, flags == CTR_AREA_ANEW ? 0 : number());
        put_str(p, "/lib/libc.so.6", flags == CTR_AREA_ANEW ? 0 : below(15));
        break;
    }
    case CTR_EVENT_INPUT: {
        const uint32_t what = 1 + below(CTR_INPUT_SECOND);
        put_u32(p, what);
        random_bytes(
            p, what == CTR_INPUT_SEED || what == CTR_INPUT_SECOND ? 8 : 8 * below(20));
        break;
    }
    case CTR_EVENT_KEYFRAME:
        put_u64(p, number() & -(uint64_t)CTR_KEYFRAME_BYTES);
        random_bytes(p, CTR_KEYFRAME_BYTES);
        break;
    case CTR_EVENT_CONTEXT:
        for (unsigned i = 0; i < 3; i++) {
            put_u64(p, number());
        }
        break;
    case CTR_EVENT_SELECT:
        put_u32(p, (uint32_t)number());
        put_u32(p, 0);
        random_str(p);
        break;
    default:
        put_u32(p, 1 + below(4));
        for (unsigned i = 0; i < 6; i++) {
            put_u32(p, (uint32_t)number());
        }
        random_str(p);
    }
}

/* A chunk that has only this column. */
struct chunk {
    struct section sec;
    struct buf payload;
    struct ctr_chunk pub;
};

static void chunk_of(struct chunk *c, const struct buf *column, uint32_t count,
                     uint32_t flags, uint64_t runs, uint64_t insns)
{
    memset(c, 0, sizeof(*c));
    c->sec.nframes = CHUNK_FRAMES;
    c->pub =
        (struct ctr_chunk){.first = 1000, .insns = insns, .runs = runs, .flags = flags};
    put32(c->sec.body + CHUNK_EVENTS, count);
    size_t bound = ZSTD_compressBound(column->n);
    assert_int_equal(buf_room(&c->payload, bound), 0);
    if (column->n) {
        c->payload.n = ZSTD_compress(c->payload.p, bound, column->p, column->n, 1);
        assert_false(ZSTD_isError(c->payload.n));
        c->sec.frame[FRAME_EVENTS] =
            (struct section_frame){(uint32_t)c->payload.n, (uint32_t)column->n,
                                   XXH64(c->payload.p, c->payload.n, 0)};
    }
}

/* Reads a whole column; returns the number of events or an error. */
static int read_all(const struct buf *column, uint32_t count, uint32_t flags,
                    uint64_t runs, uint64_t insns)
{
    struct chunk c;
    struct evdec d;
    struct ctr_diag diag;
    ZSTD_DCtx *dctx = ZSTD_createDCtx();
    chunk_of(&c, column, count, flags, runs, insns);
    evdec_init(&d);
    int n = 0;
    int ret = evdec_begin(&d, &c.sec, &c.payload, &c.pub, dctx, &diag);
    while (!ret && d.have) {
        n++;
        ret = evdec_next(&d);
    }
    evdec_fini(&d);
    buf_free(&c.payload);
    ZSTD_freeDCtx(dctx);
    return ret ? ret : n;
}

#define LAST_TYPE CTR_EVENT_INPUT

enum { MANY = 3000 };
struct event {
    uint64_t run, insns, time;
    uint32_t type;
    struct payload p;
};

static void random_events(struct event *e, unsigned n)
{
    uint64_t run = 0, insns = 0, time = 1000000;
    for (unsigned i = 0; i < n; i++) {
        if (below(3)) {
            run += below(300);
            insns += below(2000);
        }
        time += below(100000);
        e[i].run = run;
        e[i].insns = insns;
        e[i].time = below(4) ? time : 0;
        e[i].type = 1 + below(LAST_TYPE);
        random_payload(&e[i].p, e[i].type);
    }
}

static void test_roundtrip(void **unused)
{
    (void)unused;
    struct event *e = malloc(MANY * sizeof(*e));
    struct evenc *enc = calloc(1, sizeof(*enc));
    struct buf column = {0};
    struct ctr_diag diag;
    ZSTD_DCtx *dctx = ZSTD_createDCtx();
    struct evdec d;
    evdec_init(&d);
    /* Encoder and decoder are reused and keep nothing from before. */
    for (unsigned round = 0; round < 30; round++) {
        unsigned n = round == 3 ? 0 : below(MANY);
        random_events(e, n);
        evenc_begin(enc);
        uint32_t flags = 0;
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(evenc_add(enc, e[i].run, e[i].insns, e[i].type, e[i].time,
                                       e[i].p.p, e[i].p.n, &diag),
                             0);
            flags |= e[i].type == CTR_EVENT_MAP         ? CTR_CHUNK_MAPS
                     : e[i].type == CTR_EVENT_THREAD    ? CTR_CHUNK_THREADS
                     : e[i].type == CTR_EVENT_CONTEXT   ? CTR_CHUNK_CONTEXTS
                     : e[i].type == CTR_EVENT_SLICE     ? CTR_CHUNK_SLICES
                     : e[i].type == CTR_EVENT_POWER     ? CTR_CHUNK_POWER
                     : e[i].type == CTR_EVENT_RAM       ? CTR_CHUNK_RAM
                     : e[i].type == CTR_EVENT_DMA       ? CTR_CHUNK_DMA
                     : e[i].type == CTR_EVENT_IO        ? CTR_CHUNK_IO
                     : e[i].type == CTR_EVENT_TASK      ? CTR_CHUNK_TASKS
                     : e[i].type == CTR_EVENT_AREA      ? CTR_CHUNK_AREAS
                     : e[i].type == CTR_EVENT_KEYFRAME  ? CTR_CHUNK_KEYFRAMES
                     : e[i].type == CTR_EVENT_INPUT     ? CTR_CHUNK_INPUTS
                     : e[i].type >= CTR_EVENT_INTERRUPT ? CTR_CHUNK_INTERRUPTS
                     : e[i].type >= CTR_EVENT_MARK      ? CTR_CHUNK_MARKS
                                                        : CTR_CHUNK_SYSTEM;
        }
        assert_int_equal(enc->count, n);
        assert_int_equal(enc->flags, flags);
        assert_int_equal(evenc_pack(enc, &column), 0);
        struct chunk c;
        uint64_t runs = n ? e[n - 1].run : 0, insns = n ? e[n - 1].insns : 0;
        chunk_of(&c, &column, n, flags, runs, insns);
        assert_int_equal(evdec_begin(&d, &c.sec, &c.payload, &c.pub, dctx, &diag), 0);
        for (unsigned i = 0; i < n; i++) {
            assert_true(d.have);
            assert_int_equal(d.run, e[i].run);
            assert_int_equal(d.ev.ordinal, 1000 + e[i].insns);
            assert_int_equal(d.ev.time_ns, e[i].time);
            assert_int_equal(d.ev.type, e[i].type);
            assert_int_equal(d.ev.size, e[i].p.n);
            assert_memory_equal(d.ev.payload, e[i].p.p, e[i].p.n);
            assert_int_equal(evdec_next(&d), 0);
        }
        assert_false(d.have);
        if (n) {
            /* What the chunk says about itself must be true. */
            assert_int_equal(read_all(&column, n, flags, runs, insns), n);
            assert_true(read_all(&column, n - 1, flags, runs, insns) < 0);
            assert_true(read_all(&column, n + 1, flags, runs, insns) < 0);
            assert_true(read_all(&column, n, flags ^ CTR_CHUNK_MAPS, runs, insns) < 0);
            if (insns) {
                assert_true(read_all(&column, n, flags, runs, insns - 1) < 0);
            }
            if (runs) {
                assert_true(read_all(&column, n, flags, runs - 1, insns) < 0);
            }
        }
        buf_free(&c.payload);
    }
    evdec_fini(&d);
    evenc_fini(enc);
    buf_free(&column);
    ZSTD_freeDCtx(dctx);
    free(enc);
    free(e);
}

/* Every cut and every changed byte gives an error or other events, never a crash. */
static void test_damage(void **unused)
{
    (void)unused;
    struct event *e = malloc(40 * sizeof(*e));
    struct evenc *enc = calloc(1, sizeof(*enc));
    struct buf column = {0};
    struct ctr_diag diag;
    random_events(e, 40);
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(evenc_add(enc, e[i].run, e[i].insns, e[i].type, e[i].time,
                                   e[i].p.p, e[i].p.n, &diag),
                         0);
    }
    assert_int_equal(evenc_pack(enc, &column), 0);
    uint64_t runs = e[39].run, insns = e[39].insns;
    size_t all = column.n;
    for (column.n = 0; column.n < all; column.n++) {
        assert_true(read_all(&column, 40, enc->flags, runs, insns) < 0);
    }
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t *p = &column.p[below((uint32_t)all)];
        uint8_t was = *p;
        *p = (uint8_t)rnd();
        int n = read_all(&column, 40, enc->flags, runs, insns);
        assert_true(n == 40 || n < 0);
        *p = was;
    }
    evenc_fini(enc);
    buf_free(&column);
    free(enc);
    free(e);
}

/* A loop that reads and writes needs little space. */
static void test_size(void **unused)
{
    (void)unused;
    struct evenc *enc = calloc(1, sizeof(*enc));
    struct buf column = {0};
    struct ctr_diag diag;
    struct payload p;
    enum { CALLS = 10000 };
    uint64_t time = 123456789012345ull;
    for (unsigned i = 0; i < CALLS; i++) {
        for (unsigned k = 0; k < 2; k++) {
            payload_syscall(&p, 4, k ? 1000 : 0, 0x7fff12345678ull, "write");
            time += 900 + below(200);
            assert_int_equal(evenc_add(enc, i * 100, i * 550,
                                       k ? CTR_EVENT_SYSRET : CTR_EVENT_SYSCALL, time,
                                       p.p, p.n, &diag),
                             0);
        }
    }
    assert_int_equal(evenc_pack(enc, &column), 0);
    assert_true(column.n < CALLS * 18);
    size_t bound = ZSTD_compressBound(column.n);
    uint8_t *z = malloc(bound);
    size_t n = ZSTD_compress(z, bound, column.p, column.n, 1);
    assert_true(n < CALLS * 6);
    free(z);
    evenc_fini(enc);
    buf_free(&column);
    free(enc);
}

/* Payloads whose length differs from what they say, and kinds that do not exist. */
static void test_payloads(void **unused)
{
    (void)unused;
    struct evenc *enc = calloc(1, sizeof(*enc));
    struct ctr_diag diag;
    struct payload p;
    for (uint32_t type = 1; type <= LAST_TYPE; type++) {
        random_payload(&p, type);
        assert_null(payload_check(type, p.p, p.n));
        for (size_t n = 0; n < p.n; n++) {
            assert_non_null(payload_check(type, p.p, n));
        }
        p.p[p.n] = 0;
        assert_non_null(payload_check(type, p.p, p.n + 1));
        assert_int_equal(evenc_add(enc, 5, 5, type, 0, p.p, p.n + 1, &diag),
                         -CTR_E_CORRUPT);
        assert_int_equal(evenc_add(enc, 5, 5, type, 0, p.p, p.n, &diag), 0);
        assert_int_equal(evenc_add(enc, 4, 5, type, 0, p.p, p.n, &diag), -CTR_E_CORRUPT);
        assert_int_equal(evenc_add(enc, 5, 4, type, 0, p.p, p.n, &diag), -CTR_E_CORRUPT);
    }
    assert_non_null(payload_check(0, p.p, p.n));
    assert_non_null(payload_check(LAST_TYPE + 1, p.p, p.n));
    payload_map(&p, 10, 1, 0, 0, 0, 0, "");
    assert_non_null(payload_check(CTR_EVENT_MAP, p.p, p.n));
    payload_thread(&p, 0, 1, 1, "");
    assert_non_null(payload_check(CTR_EVENT_THREAD, p.p, p.n));
    /* key frames: of a part of a page, and not of one page */
    random_payload(&p, CTR_EVENT_KEYFRAME);
    p.p[0] = 1;
    assert_non_null(payload_check(CTR_EVENT_KEYFRAME, p.p, p.n));
    p.p[0] = 0;
    put32(p.p + 8, CTR_KEYFRAME_BYTES - 1);
    assert_non_null(payload_check(CTR_EVENT_KEYFRAME, p.p, p.n - 1));
    /* inputs: a part of a number, a seed of two numbers, another kind */
    static const struct {
        uint32_t what, n;
        int ok;
    } inputs[] = {{CTR_INPUT_SEED, 8, 1},       {CTR_INPUT_SEED, 16, 0},
                  {CTR_INPUT_CLOCK, 16, 1},     {CTR_INPUT_CLOCK, 12, 0},
                  {CTR_INPUT_LAYOUT, 0, 1},     {0, 8, 0},
                  {CTR_INPUT_SECOND + 1, 8, 0}, {CTR_INPUT_SECOND, 16, 0}};
    for (unsigned i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
        p.n = 0;
        put_u32(&p, inputs[i].what);
        random_bytes(&p, inputs[i].n);
        assert_int_equal(payload_check(CTR_EVENT_INPUT, p.p, p.n) == NULL, inputs[i].ok);
    }
    /* kinds of the rest: first number, second number, is there such an event? */
    static const struct {
        uint32_t type, a, b;
        int ok;
    } kinds[] = {
        {CTR_EVENT_MARK, 0, 1, 0},  {CTR_EVENT_MARK, 1, 9, 1},
        {CTR_EVENT_MARK, 2, 0, 1},  {CTR_EVENT_MARK, 3, 0, 0},
        {CTR_EVENT_LABEL, 0, 0, 0}, {CTR_EVENT_LABEL, 1, 0, 1},
        {CTR_EVENT_LABEL, 2, 0, 1}, {CTR_EVENT_LABEL, 3, 0, 0},
        {CTR_EVENT_GATE, 0, 1, 1},  {CTR_EVENT_GATE, 1, 7, 1},
        {CTR_EVENT_GATE, 2, 1, 0},  {CTR_EVENT_GATE, 1, 0, 0},
        {CTR_EVENT_GATE, 1, 8, 0},
    };
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        random_payload(&p, kinds[i].type);
        put32(p.p, kinds[i].a);
        put32(p.p + 4, kinds[i].b);
        if ((payload_check(kinds[i].type, p.p, p.n) == NULL) != kinds[i].ok) {
            fail_msg("kind %u", i);
        }
    }
    evenc_fini(enc);
    free(enc);
}

/* The arguments of a program, with which some THREAD events end. */
static void test_args(void **unused)
{
    (void)unused;
    static char full[CTR_MAX_ARGS + 1];
    static const struct {
        uint32_t op;
        const char *args;
        size_t n;
        uint32_t argc;
        int ok;
    } cases[] = {
        {CTR_THREAD_START, "app\0-x\0", 7, 2, 1},
        {CTR_THREAD_EXEC, "app\0\0\n\0", 7, 3, 1}, /* an empty one, a line feed */
        {CTR_THREAD_EXEC, "\0", 1, 1, 1},
        {CTR_THREAD_END, "app\0", 4, 1, 0},
        {CTR_THREAD_NAME, "app\0", 4, 1, 0},
        {CTR_THREAD_START, "", 0, 0, 0},
        {CTR_THREAD_START, "app", 3, 1, 0},           /* cut below the limit */
        {CTR_THREAD_START, "app\0-x\0", 7, 1, 0},     /* fewer than there are */
        {CTR_THREAD_START, "app\0-x\0", 7, 3, 0},     /* more */
        {CTR_THREAD_START, full, CTR_MAX_ARGS, 1, 1}, /* cut */
        {CTR_THREAD_START, full, CTR_MAX_ARGS, 9, 1},
        {CTR_THREAD_START, full, CTR_MAX_ARGS, 0, 0},
        {CTR_THREAD_START, full, CTR_MAX_ARGS - 1, 1, 0},
        {CTR_THREAD_START, full, CTR_MAX_ARGS + 1, 1, 0},
        {CTR_THREAD_START, full + 1, CTR_MAX_ARGS, 1, 1}, /* just fits */
        {CTR_THREAD_START, full + 1, CTR_MAX_ARGS, 2, 1}, /* just cut after one */
        {CTR_THREAD_START, full + 1, CTR_MAX_ARGS, 0, 0},
        {CTR_THREAD_START, full + 2, CTR_MAX_ARGS - 1, 1, 1},
        {CTR_THREAD_START, full + 2, CTR_MAX_ARGS - 1, 2, 0},
    };
    struct evenc *enc = calloc(1, sizeof(*enc));
    struct ctr_diag diag;
    struct payload p;
    memset(full, 'x', CTR_MAX_ARGS);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ctr_thread_event t;
        struct ctr_os_event e = {.type = CTR_EVENT_THREAD, .payload = p.p};
        payload_program(&p, cases[i].op, 7, "app", cases[i].args, cases[i].n,
                        cases[i].argc);
        e.size = (uint32_t)p.n;
        if ((payload_check(e.type, p.p, p.n) == NULL) != cases[i].ok ||
            (evenc_add(enc, 5, 5, e.type, 0, p.p, p.n, &diag) == 0) != cases[i].ok) {
            fail_msg("arguments %u", i);
        }
        if (!cases[i].ok) {
            continue;
        }
        assert_int_equal(ctr_parse_thread(&e, &t), 0);
        assert_int_equal(t.argc, cases[i].argc);
        assert_int_equal(t.status, 0);
        assert_int_equal(t.name.n, 3);
        assert_int_equal(t.args.n, cases[i].n);
        assert_memory_equal(t.args.p, cases[i].args, cases[i].n);
        /* Without its end it is damaged, but for all of the arguments. */
        for (size_t n = 0; n < p.n; n++) {
            const int whole = n == p.n - 2 - cases[i].n;
            assert_int_equal(payload_check(e.type, p.p, n) == NULL, whole);
        }
        assert_non_null(payload_check(e.type, p.p, p.n + 1));
    }
    evenc_fini(enc);
    free(enc);
}

/* What the functions for callers return. */
static void test_parse(void **unused)
{
    (void)unused;
    struct payload p;
    struct ctr_syscall s;
    struct ctr_usermem u;
    struct ctr_map m;
    struct ctr_thread_event t;
    struct ctr_signal g;
    uint64_t pc;
    payload_syscall(&p, 64, -2, 3, "write");
    struct ctr_os_event e = {
        .type = CTR_EVENT_SYSRET, .payload = p.p, .size = (uint32_t)p.n};
    assert_int_equal(ctr_parse_syscall(&e, &s), 0);
    assert_int_equal(s.nr, 64);
    assert_int_equal(s.result, -2);
    assert_int_equal(s.args[7], 21);
    assert_int_equal(s.name.n, 5);
    assert_memory_equal(s.name.p, "write", 5);
    assert_int_equal(ctr_parse_map(&e, &m), -CTR_E_INVAL);
    assert_int_equal(ctr_parse_usermem(&e, &u), -CTR_E_INVAL);
    assert_int_equal(ctr_parse_signal(&e, &g), -CTR_E_INVAL);
    assert_int_equal(ctr_parse_sigreturn(&e, &pc), -CTR_E_INVAL);
    assert_int_equal(ctr_parse_thread(&e, &t), -CTR_E_INVAL);

    payload_map(&p, CTR_MAP_MMAP, 5, 2, 0x1000, 0x3000, 0x7000, "/lib/x.so");
    e.type = CTR_EVENT_MAP;
    assert_int_equal(ctr_parse_map(&e, &m), 0);
    assert_int_equal(m.op, CTR_MAP_MMAP);
    assert_int_equal(m.prot, 5);
    assert_int_equal(m.flags, 2);
    assert_int_equal(m.start, 0x1000);
    assert_int_equal(m.size, 0x3000);
    assert_int_equal(m.offset, 0x7000);
    assert_int_equal(m.dev, 8);
    assert_int_equal(m.path.n, 9);
    assert_int_equal(m.build_id.n, 2);
    assert_memory_equal(m.build_id.p, "\x01\x02", 2);
    assert_int_equal(ctr_parse_syscall(&e, &s), -CTR_E_INVAL);

    payload_thread(&p, CTR_THREAD_NAME, 5, 6, "worker");
    e.type = CTR_EVENT_THREAD;
    e.size = (uint32_t)p.n;
    assert_int_equal(ctr_parse_thread(&e, &t), 0);
    assert_int_equal(t.op, CTR_THREAD_NAME);
    assert_int_equal(t.pid, 5);
    assert_int_equal(t.tid, 6);
    assert_int_equal(t.ppid, 1);
    assert_int_equal(t.name.n, 6);
    assert_int_equal(t.args.n, 0);
    assert_int_equal(t.argc, 0);

    p.n = 0;
    put_u64(&p, 0x5000);
    put_u64(&p, 10);
    put_u32(&p, CTR_USERMEM_WRITE);
    put_u32(&p, 3);
    memcpy(p.p + p.n, "abc", 3);
    e.type = CTR_EVENT_USERMEM;
    assert_int_equal(ctr_parse_usermem(&e, &u), 0);
    assert_int_equal(u.addr, 0x5000);
    assert_int_equal(u.size, 10);
    assert_int_equal(u.flags, CTR_USERMEM_WRITE);
    assert_int_equal(u.n, 3);
    assert_memory_equal(u.data, "abc", 3);

    p.n = 0;
    for (uint32_t i = 1; i <= 4; i++) {
        put_u32(&p, i);
    }
    for (uint32_t i = 5; i <= 8; i++) {
        put_u64(&p, i);
    }
    put_u32(&p, CTR_SIGNAL_FATAL);
    put_u32(&p, 0);
    e.type = CTR_EVENT_SIGNAL;
    assert_int_equal(ctr_parse_signal(&e, &g), 0);
    assert_int_equal(g.signo, 1);
    assert_int_equal(g.code, 2);
    assert_int_equal(g.pid, 3);
    assert_int_equal(g.uid, 4);
    assert_int_equal(g.addr, 5);
    assert_int_equal(g.value, 6);
    assert_int_equal(g.pc, 7);
    assert_int_equal(g.handler, 8);
    assert_int_equal(g.flags, CTR_SIGNAL_FATAL);
    e.type = CTR_EVENT_SIGRETURN;
    assert_int_equal(ctr_parse_sigreturn(&e, &pc), 0);
    assert_int_equal(pc, 0x0000000200000001ull);
}

/* What the recording says about itself. */
static void test_parse_own(void **unused)
{
    (void)unused;
    struct payload p = {.n = 0};
    struct ctr_mark m;
    struct ctr_gate g;
    struct ctr_label l;
    struct ctr_select s;
    put_u32(&p, CTR_MARK_GUEST);
    put_u32(&p, 3);
    put_u64(&p, 12345678901234ull);
    put_u64(&p, 0xfedcba9876543210ull);
    put_str(&p, "here", 4);
    struct ctr_os_event e = {
        .type = CTR_EVENT_MARK, .payload = p.p, .size = (uint32_t)p.n};
    assert_int_equal(ctr_parse_mark(&e, &m), 0);
    assert_int_equal(m.source, CTR_MARK_GUEST);
    assert_int_equal(m.number, 3);
    assert_int_equal(m.asked_ns, 12345678901234ull);
    assert_int_equal(m.value, 0xfedcba9876543210ull);
    assert_int_equal(m.text.n, 4);
    assert_memory_equal(m.text.p, "here", 4);
    assert_int_equal(ctr_parse_gate(&e, &g), -CTR_E_INVAL);
    assert_int_equal(ctr_parse_label(&e, &l), -CTR_E_INVAL);
    assert_int_equal(ctr_parse_select(&e, &s), -CTR_E_INVAL);

    p.n = 0;
    put_u32(&p, 1);
    put_u32(&p, CTR_GATE_TREE);
    e.type = CTR_EVENT_GATE;
    assert_int_equal(ctr_parse_gate(&e, &g), 0);
    assert_int_equal(g.open, 1);
    assert_int_equal(g.why, CTR_GATE_TREE);
    assert_int_equal(ctr_parse_mark(&e, &m), -CTR_E_INVAL);

    p.n = 0;
    put_u32(&p, CTR_LABEL_SET);
    put_u32(&p, 0);
    put_u64(&p, 0x7fff00001000ull);
    put_u64(&p, 64);
    put_str(&p, "struct s", 8);
    put_str(&p, "obj", 3);
    e.type = CTR_EVENT_LABEL;
    assert_int_equal(ctr_parse_label(&e, &l), 0);
    assert_int_equal(l.op, CTR_LABEL_SET);
    assert_int_equal(l.start, 0x7fff00001000ull);
    assert_int_equal(l.size, 64);
    assert_int_equal(l.type.n, 8);
    assert_memory_equal(l.type.p, "struct s", 8);
    assert_int_equal(l.name.n, 3);
    assert_memory_equal(l.name.p, "obj", 3);

    p.n = 0;
    put_u32(&p, 7);
    put_u32(&p, 0);
    put_str(&p, "a.so\nb.so", 9);
    e.type = CTR_EVENT_SELECT;
    assert_int_equal(ctr_parse_select(&e, &s), 0);
    assert_int_equal(s.generation, 7);
    assert_int_equal(s.text.n, 9);
    assert_memory_equal(s.text.p, "a.so\nb.so", 9);
}

/* What machines do. */
static void test_parse_machine(void **unused)
{
    (void)unused;
    struct payload p = {.n = 0};
    struct ctr_interrupt i;
    struct ctr_intret r;
    struct ctr_context c;
    struct ctr_slice s;
    struct ctr_power w;
    uint64_t pc = 0;
    put_u32(&p, CTR_INT_ASYNC);
    put_u32(&p, 27);
    for (uint64_t k = 1; k <= 4; k++) {
        put_u64(&p, k << 40);
    }
    put_u32(&p, CTR_PRIVILEGE_USER);
    put_u32(&p, CTR_PRIVILEGE_KERNEL);
    struct ctr_os_event e = {
        .type = CTR_EVENT_INTERRUPT, .payload = p.p, .size = (uint32_t)p.n};
    assert_int_equal(ctr_parse_interrupt(&e, &i), 0);
    assert_int_equal(i.flags, CTR_INT_ASYNC);
    assert_int_equal(i.number, 27);
    assert_int_equal(i.syndrome, 1ull << 40);
    assert_int_equal(i.addr, 2ull << 40);
    assert_int_equal(i.from, 3ull << 40);
    assert_int_equal(i.to, 4ull << 40);
    assert_int_equal(i.old_privilege, CTR_PRIVILEGE_USER);
    assert_int_equal(i.privilege, CTR_PRIVILEGE_KERNEL);
    assert_int_equal(ctr_parse_intret(&e, &r), -CTR_E_INVAL);
    assert_int_equal(ctr_parse_context(&e, &c), -CTR_E_INVAL);
    assert_int_equal(ctr_event_next(&e, &pc), CTR_NEXT_PC);
    assert_int_equal(pc, 3ull << 40);
    put32(p.p, CTR_INT_TRAP);
    assert_int_equal(ctr_event_next(&e, &pc), CTR_NEXT_UNKNOWN);
    put32(p.p + 44, CTR_PRIVILEGES);
    assert_non_null(payload_check(CTR_EVENT_INTERRUPT, p.p, p.n));

    p.n = 0;
    put_u64(&p, 0xffff800010000000ull);
    put_u32(&p, CTR_PRIVILEGE_KERNEL);
    put_u32(&p, CTR_PRIVILEGE_USER);
    e.type = CTR_EVENT_INTRET;
    assert_int_equal(ctr_parse_intret(&e, &r), 0);
    assert_int_equal(r.pc, 0xffff800010000000ull);
    assert_int_equal(r.old_privilege, CTR_PRIVILEGE_KERNEL);
    assert_int_equal(r.privilege, CTR_PRIVILEGE_USER);
    assert_int_equal(ctr_event_next(&e, &pc), CTR_NEXT_LATER);
    assert_int_equal(ctr_parse_interrupt(&e, &i), -CTR_E_INVAL);
    put32(p.p + 8, CTR_PRIVILEGES);
    assert_non_null(payload_check(CTR_EVENT_INTRET, p.p, p.n));

    p.n = 0;
    put_u64(&p, 0x40105000);
    put_u64(&p, 26);
    put_u64(&p, 126);
    e.type = CTR_EVENT_CONTEXT;
    assert_int_equal(ctr_parse_context(&e, &c), 0);
    assert_int_equal(c.table, 0x40105000);
    assert_int_equal(c.asid, 26);
    assert_int_equal(c.id, 126);
    assert_int_equal(ctr_parse_slice(&e, &s), -CTR_E_INVAL);

    p.n = 0;
    put_u64(&p, 1ull << 40);
    e.type = CTR_EVENT_SLICE;
    e.size = 8;
    assert_int_equal(ctr_parse_slice(&e, &s), 0);
    assert_int_equal(s.number, 1ull << 40);
    assert_int_equal(ctr_event_next(&e, &pc), CTR_NEXT_LATER);
    assert_int_equal(ctr_parse_power(&e, &w), -CTR_E_INVAL);

    p.n = 0;
    put_u32(&p, CTR_POWER_RESET);
    put_u32(&p, 0);
    e.type = CTR_EVENT_POWER;
    assert_int_equal(ctr_parse_power(&e, &w), 0);
    assert_int_equal(w.op, CTR_POWER_RESET);
    assert_int_equal(ctr_event_next(&e, &pc), CTR_NEXT_LATER);
    for (uint32_t op = 0; op < 9; op++) {
        put32(p.p, op);
        const int known = op && op <= CTR_POWER_SAVED;
        assert_int_equal(payload_check(CTR_EVENT_POWER, p.p, p.n) == NULL, known);
    }
}

/* Whether the payload is refused with each of the other values of its first numbers. */
static void refused_u32(uint32_t type, struct payload *p, size_t at, uint32_t first,
                        uint32_t last)
{
    const uint32_t was = le32(p->p + at);
    for (uint32_t v = 0; v <= last + 300; v++) {
        put32(p->p + at, v);
        assert_int_equal(payload_check(type, p->p, p->n) == NULL,
                         v >= first && v <= last);
    }
    put32(p->p + at, was);
}

/* Whether it is if it is cut, or longer. */
static void refused_sizes(uint32_t type, struct payload *p)
{
    assert_null(payload_check(type, p->p, p->n));
    for (size_t n = 0; n < p->n; n++) {
        assert_non_null(payload_check(type, p->p, n));
    }
    p->p[p->n] = 0;
    assert_non_null(payload_check(type, p->p, p->n + 1));
}

/* What a machine's memory is. */
static void test_parse_memory(void **unused)
{
    (void)unused;
    static const uint8_t bytes[4] = {1, 2, 3, 4};
    struct payload p = {.n = 0};
    struct ctr_ram r;
    struct ctr_dma d;
    struct ctr_io i;
    put_u32(&p, CTR_RAM_BYTES);
    put_u32(&p, 0xa5);
    for (uint64_t k = 1; k <= 4; k++) {
        put_u64(&p, k << 40);
    }
    put_str(&p, "mach-virt.ram", 13);
    put_u32(&p, 4);
    memcpy(p.p + p.n, bytes, 4);
    p.n += 4;
    struct ctr_os_event e = {
        .type = CTR_EVENT_RAM, .payload = p.p, .size = (uint32_t)p.n};
    assert_int_equal(ctr_parse_ram(&e, &r), 0);
    assert_int_equal(r.op, CTR_RAM_BYTES);
    assert_int_equal(r.fill, 0xa5);
    assert_int_equal(r.size, 1ull << 40);
    assert_int_equal(r.addr, 2ull << 40);
    assert_int_equal(r.offset, 3ull << 40);
    assert_int_equal(r.from, 4ull << 40);
    assert_int_equal(r.block.n, 13);
    assert_memory_equal(r.block.p, "mach-virt.ram", 13);
    assert_int_equal(r.n, 4);
    assert_memory_equal(r.data, bytes, 4);
    assert_int_equal(ctr_parse_dma(&e, &d), -CTR_E_INVAL);
    assert_int_equal(ctr_parse_io(&e, &i), -CTR_E_INVAL);
    refused_sizes(e.type, &p);
    refused_u32(e.type, &p, 4, 0, 255);
    refused_u32(e.type, &p, 0, CTR_RAM_BYTES, CTR_RAM_BYTES); /* only it has bytes */
    for (uint64_t size = 0; size < 8; size++) {               /* no fewer than bytes */
        put64(p.p + 8, size);
        assert_int_equal(payload_check(e.type, p.p, p.n) == NULL, size >= 4);
    }
    put32(p.p + p.n - 8, 0);
    p.n -= 4;
    put32(p.p + 4, CTR_RAM_ROM);
    refused_u32(e.type, &p, 0, CTR_RAM_MAP, CTR_RAM_ANEW);
    put32(p.p, CTR_RAM_MAP);
    refused_u32(e.type, &p, 4, 0, CTR_RAM_ROM);

    p.n = 0;
    put_u32(&p, CTR_DMA_WALK);
    put_u32(&p, 0);
    put_u64(&p, 4);
    put_u64(&p, 1ull << 40);
    put_str(&p, "virtio-blk-device", 17);
    put_u32(&p, 4);
    memcpy(p.p + p.n, bytes, 4);
    p.n += 4;
    e.type = CTR_EVENT_DMA;
    assert_int_equal(ctr_parse_dma(&e, &d), 0);
    assert_int_equal(d.source, CTR_DMA_WALK);
    assert_int_equal(d.size, 4);
    assert_int_equal(d.addr, 1ull << 40);
    assert_int_equal(d.device.n, 17);
    assert_memory_equal(d.device.p, "virtio-blk-device", 17);
    assert_int_equal(d.n, 4);
    assert_memory_equal(d.data, bytes, 4);
    assert_int_equal(ctr_parse_ram(&e, &r), -CTR_E_INVAL);
    refused_sizes(e.type, &p);
    refused_u32(e.type, &p, 0, CTR_DMA_DEVICE, CTR_DMA_HOST);
    put64(p.p + 8, 5); /* all of the bytes or none */
    assert_non_null(payload_check(e.type, p.p, p.n));
    put64(p.p + 8, 3);
    assert_non_null(payload_check(e.type, p.p, p.n));
    put32(p.p + p.n - 8, 0);
    p.n -= 4;
    refused_sizes(e.type, &p);

    p.n = 0;
    put_u32(&p, CTR_IO_WRITE | CTR_IO_PORT);
    put_u32(&p, 8);
    for (uint64_t k = 1; k <= 3; k++) {
        put_u64(&p, k << 40);
    }
    put_str(&p, "serial", 6);
    put_str(&p, "isa-serial", 10);
    e.type = CTR_EVENT_IO;
    assert_int_equal(ctr_parse_io(&e, &i), 0);
    assert_int_equal(i.flags, CTR_IO_WRITE | CTR_IO_PORT);
    assert_int_equal(i.size, 8);
    assert_int_equal(i.addr, 1ull << 40);
    assert_int_equal(i.offset, 2ull << 40);
    assert_int_equal(i.value, 3ull << 40);
    assert_int_equal(i.region.n, 6);
    assert_memory_equal(i.region.p, "serial", 6);
    assert_int_equal(i.device.n, 10);
    assert_memory_equal(i.device.p, "isa-serial", 10);
    assert_int_equal(ctr_parse_dma(&e, &d), -CTR_E_INVAL);
    refused_sizes(e.type, &p);
    refused_u32(e.type, &p, 0, 0, 7);
    refused_u32(e.type, &p, 4, 1, 8);
}

static void test_parse_task(void **unused)
{
    (void)unused;
    struct payload p = {.n = 0};
    struct ctr_os_event e = {.type = CTR_EVENT_TASK, .payload = p.p};
    struct ctr_power w;
    struct ctr_task t;
    put_u32(&p, 126);
    put_u32(&p, 125);
    put_u64(&p, 0xffff000001234500);
    put_str(&p, "kworker/u16:24-", 15);
    assert_int_equal(ctr_parse_task(&e, &t), 0);
    assert_int_equal(t.pid, 126);
    assert_int_equal(t.tgid, 125);
    assert_int_equal(t.task, 0xffff000001234500);
    assert_int_equal(t.comm.n, 15);
    assert_memory_equal(t.comm.p, "kworker/u16:24-", 15);
    assert_int_equal(ctr_parse_power(&e, &w), -CTR_E_INVAL);
    refused_sizes(e.type, &p);
    put64(p.p + 8, 0); /* it is not known, but has a pid */
    assert_non_null(payload_check(e.type, p.p, p.n));

    p.n = 0;
    put_u32(&p, 1);
    put_u32(&p, 1);
    put_u64(&p, 1);
    put_str(&p, "kworker/u16:24-e", 16);
    assert_non_null(payload_check(e.type, p.p, p.n));

    p.n = 0;
    put_u64(&p, 0);
    put_u64(&p, 0);
    put_str(&p, "", 0);
    assert_int_equal(ctr_parse_task(&e, &t), 0);
    assert_int_equal(t.task, 0);
    assert_int_equal(t.comm.n, 0);
    refused_sizes(e.type, &p);
}

static void put_area(struct payload *p, uint32_t flags, uint64_t start, uint64_t end,
                     uint64_t offset, const char *path)
{
    p->n = 0;
    put_u32(p, 125);
    put_u32(p, flags);
    put_u64(p, start);
    put_u64(p, end);
    put_u64(p, offset);
    put_str(p, path, strlen(path));
}

static void test_parse_area(void **unused)
{
    (void)unused;
    struct payload p;
    struct ctr_os_event e = {.type = CTR_EVENT_AREA, .payload = p.p};
    struct ctr_task t;
    struct ctr_area a;
    put_area(&p, 0, 0x401000, 0x585000, 0x1000, "/bin/busybox");
    assert_int_equal(ctr_parse_area(&e, &a), 0);
    assert_int_equal(a.tgid, 125);
    assert_int_equal(a.flags, 0);
    assert_int_equal(a.start, 0x401000);
    assert_int_equal(a.end, 0x585000);
    assert_int_equal(a.offset, 0x1000);
    assert_int_equal(a.path.n, 12);
    assert_memory_equal(a.path.p, "/bin/busybox", 12);
    assert_int_equal(ctr_parse_task(&e, &t), -CTR_E_INVAL);
    refused_sizes(e.type, &p);
    put32(p.p + 4, CTR_AREA_ANEW);
    assert_non_null(payload_check(e.type, p.p, p.n));
    put32(p.p + 4, CTR_AREA_ANEW | CTR_AREA_REMOVED);
    assert_non_null(payload_check(e.type, p.p, p.n));
    put32(p.p + 4, CTR_AREA_REMOVED);
    assert_null(payload_check(e.type, p.p, p.n));
    put32(p.p + 4, 0);
    put64(p.p + 16, 0x400fff); /* it ends before it begins */
    assert_non_null(payload_check(e.type, p.p, p.n));
    put64(p.p + 16, 0x401000);
    assert_non_null(payload_check(e.type, p.p, p.n));

    put_area(&p, CTR_AREA_ANEW, 0, 0, 0, "");
    assert_int_equal(ctr_parse_area(&e, &a), 0);
    assert_int_equal(a.flags, CTR_AREA_ANEW);
    refused_sizes(e.type, &p);
    refused_u32(e.type, &p, 4, CTR_AREA_ANEW, CTR_AREA_ANEW);
    put_area(&p, CTR_AREA_ANEW, 0, 0, 0x1000, "");
    assert_non_null(payload_check(e.type, p.p, p.n));
    put_area(&p, CTR_AREA_ANEW, 0, 0, 0, "/");
    assert_non_null(payload_check(e.type, p.p, p.n));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roundtrip),    cmocka_unit_test(test_damage),
        cmocka_unit_test(test_size),         cmocka_unit_test(test_payloads),
        cmocka_unit_test(test_args),         cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_own),    cmocka_unit_test(test_parse_machine),
        cmocka_unit_test(test_parse_memory), cmocka_unit_test(test_parse_task),
        cmocka_unit_test(test_parse_area),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
