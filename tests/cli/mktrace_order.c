/* SPDX-License-Identifier: MIT */
/*
 * `mktrace order', see mktrace.c: threads that do things at the same time, with chunks
 * that overlap, in the order in which they were full, as a recorder writes them.  Times
 * are whole microseconds, so that many are equal.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"

#define US 1000ull
#define MS 1000000ull
#define START_NS 1000000000ull
#define NEVER UINT64_MAX

enum { LONG_CALL, LONG_CHUNK, NO_RETURN }; /* the threads of kind `long' */

struct actor {
    uint32_t thread;
    int32_t tid;
    uint64_t at, end; /* of its next chunk */
    unsigned chunks, left;
    bool open; /* a call is */
    struct call call;
};

struct scene {
    struct maker m;
    uint64_t rng;
    unsigned nr_actors, bytes;
    bool is_long, same;
    uint64_t latest; /* end of the last chunk */
    struct actor *actor;
    char data[1000];
};

/* splitmix64 */
static unsigned below(struct scene *s, unsigned n)
{
    uint64_t z = (s->rng += 0x9e3779b97f4a7c15ull);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (unsigned)((z ^ z >> 31) % n);
}

/* The next event happens at this time. */
static void at_time(struct scene *s, uint64_t ns)
{
    s->m.clock_ns = ns - US;
}

/* What may happen within a call. */
static void within(struct scene *s, struct actor *a, uint64_t ns)
{
    unsigned what = below(s, 16);

    memory(&s->m, 0x31000, s->data, s->bytes, s->bytes, 0);
    at_time(s, ns);
    if (what == 0) {
        mapping(&s->m, CTR_MAP_BRK, 3, 0, 0x22000, 0x2000, 0, "[heap]");
    } else if (what == 1) {
        thread_event(&s->m, CTR_THREAD_NAME, 100, a->tid, 0, 0, 0, 0, "named");
    }
}

static void begin(struct scene *s, struct actor *a, uint64_t ns)
{
    a->call = (struct call){"write", 4, {1, 0x31000, s->bytes, a->left}};
    a->open = true;
    a->left--;
    at_time(s, ns);
    enter(&s->m, &a->call);
}

static void end(struct scene *s, struct actor *a, uint64_t ns)
{
    within(s, a, ns);
    at_time(s, ns);
    leave(&s->m, &a->call, (int64_t)s->bytes);
    put_word(&s->m, 1);
    a->open = false;
}

/* What happens between two calls. */
static void between(struct scene *s, uint64_t ns)
{
    unsigned what = below(s, 40);

    at_time(s, ns);
    if (what == 0) {
        signal_event(&s->m, 10, 0, 0, 0x10000, 0x10000, CTR_SIGNAL_HANDLER);
        memory(&s->m, 0x40000, "frame", 5, 5, CTR_USERMEM_WRITE);
        put_word(&s->m, 1);
    } else if (what == 1) {
        mapping(&s->m, CTR_MAP_MUNMAP, 0, 0, 0x50000, 0x1000, 0, "");
    }
}

static void flush(struct scene *s, struct actor *a)
{
    s->m.clock_ns = s->same ? START_NS : a->at;
    s->m.span_ns = a->end - s->m.clock_ns;
    flush_chunk(&s->m, a->thread, 0);
    s->latest = s->latest < a->end ? a->end : s->latest;
    a->chunks++;
}

/* When the next chunk begins and ends. */
static void plan(struct scene *s, struct actor *a)
{
    bool special = s->is_long && a->chunks == 2;

    a->at = a->end + (1 + below(s, a->open ? 20000 : 20)) * US;
    a->end = a->at + (1 + below(s, 40)) * MS;
    if (special && a->thread == LONG_CALL) {
        a->end = NEVER;
    } else if (special && a->thread == LONG_CHUNK) {
        a->end = a->at + 3000 * MS;
    } else if (special && a->thread == NO_RETURN) {
        a->left = a->open ? 0 : a->left;
    }
}

/* The first thread creates the others; returns when that was done. */
static uint64_t create(struct scene *s, uint64_t ns)
{
    const struct call clone = {"clone", 120, {0x1200011, 0, 0, 0, 0, 0}};

    for (unsigned i = 1; i < s->nr_actors; i++) {
        at_time(s, ns);
        enter(&s->m, &clone);
        leave(&s->m, &clone, s->actor[i].tid);
        put_word(&s->m, 1);
        ns += 2 * US;
    }
    return ns;
}

static void make_chunk(struct scene *s, struct actor *a)
{
    uint64_t t = a->at;
    bool sparse = a->end != NEVER && a->end - a->at > 1000 * MS;
    bool must_open = s->is_long && a->chunks == 1;
    uint64_t step = sparse ? 100 * US : s->is_long ? 20 * US : US;

    if (a->end == NEVER) { /* all others are done */
        a->at = t = s->latest + MS;
        a->end = a->at + MS;
    }
    if (!a->chunks) {
        at_time(s, t);
        thread_event(&s->m, CTR_THREAD_START, 100, a->tid, 1, 100, 0, 0, "actor");
        put_word(&s->m, 1);
        t = a->thread ? t : create(s, t + US);
    }
    if (a->open) {
        end(s, a, t);
    }
    while (a->left > 1) {
        uint64_t next = t + (1 + below(s, 40)) * step;
        uint64_t done = next + below(s, 40) * US;
        if (done >= a->end) {
            break;
        }
        between(s, t);
        begin(s, a, next);
        end(s, a, done);
        t = done;
    }
    if (a->left && (must_open || below(s, 2))) {
        begin(s, a, t);
    } else if (a->left == 1) {
        a->left = 0;
    }
    flush(s, a);
    plan(s, a);
}

/* The one whose next chunk is full first; NULL: all are done. */
static struct actor *next_actor(struct scene *s)
{
    struct actor *next = NULL;

    for (unsigned i = 0; i < s->nr_actors; i++) {
        struct actor *a = &s->actor[i];
        if (a->left && (!next || a->end < next->end)) {
            next = a;
        }
    }
    return next;
}

void make_order(char **argv)
{
    struct scene s = {.rng = strtoull(argv[0], NULL, 0),
                      .nr_actors = (unsigned)strtoul(argv[1], NULL, 0),
                      .bytes = (unsigned)strtoul(argv[3], NULL, 0),
                      .is_long = !strcmp(argv[4], "long"),
                      .same = !strcmp(argv[4], "same")};
    const uint32_t left_out = CTR_EVENTS_REG | CTR_EVENTS_MEM | CTR_EVENTS_VAL |
                              (strcmp(argv[4], "timeless") ? 0 : CTR_EVENTS_TIME);
    struct block b = {.id = 1, .pc = 0x10000};
    struct actor *a;
    uint32_t process;

    memset(s.data, 'x', sizeof(s.data));
    s.bytes = s.bytes < sizeof(s.data) ? s.bytes : sizeof(s.data);
    s.actor = calloc(s.nr_actors, sizeof(*s.actor));
    maker_open(&s.m, argv[5], "arm", EM_ARM, false, 32, PROGRAM_EVENTS & ~left_out);
    block_insn(&b, "\x00\x00\xa0\xe3", 4); /* mov r0, #0 */
    add_block(&s.m, &b);
    process = add_process(&s.m, 100, 1);
    for (unsigned i = 0; s.actor && i < s.nr_actors; i++) {
        a = &s.actor[i];
        a->tid = 100 + (int32_t)i;
        a->thread = add_thread(&s.m, process, a->tid, 100);
        a->left = (unsigned)strtoul(argv[2], NULL, 0);
        a->at = START_NS + (1 + i) * 100 * US;
        a->end = a->at + (1 + below(&s, 40)) * MS;
    }
    while ((a = next_actor(&s))) {
        make_chunk(&s, a);
    }
    maker_close(&s.m, true);
    free(s.actor);
}
