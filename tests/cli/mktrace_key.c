/* SPDX-License-Identifier: MIT */
/*
 * `mktrace key FILE SEED': a process whose pages are written by stores and by the system, with
 * key frames.  What memory holds goes to FILE.expect, a line each time: an ordinal, and for
 * each byte two digits: known by what was before it; `..', not written before, and in no key
 * frame; `??', the system wrote there without a value since then.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"

#define BASE 0x20000u
#define PAGES 3u
#define BYTES (PAGES * 4096u)
#define CHUNKS 24u
#define RUNS 300u

struct key_model {
    uint8_t is[BYTES]; /* what memory holds, and ... */
    char known[BYTES]; /* ... whether the trace shows it: '.', '?', or 'k' */
    uint64_t ordinal;
};

static uint32_t below(uint32_t n)
{
    return (uint32_t)(random() % n);
}

static void wrote(struct key_model *k, uint32_t at, const void *data, uint32_t n)
{
    memcpy(k->is + at, data, n);
    memset(k->known + at, 'k', n);
}

static void key_frame(struct maker *m, struct key_model *k, uint32_t page)
{
    struct payload o = {.n = 0};

    add(&o, BASE + page * 4096, 8);
    add(&o, 4096, 4);
    memcpy(o.p + o.n, k->is + page * 4096, 4096);
    put_event(m, CTR_EVENT_KEYFRAME, 0, o.p, o.n + 4096);
    memset(k->known + page * 4096, 'k', 4096);
}

static void system_wrote(struct maker *m, struct key_model *k)
{
    struct payload o = {.n = 0};
    const uint32_t n = 1 + below(40), at = below(BYTES - n);
    const bool lost = below(4) == 0;
    uint8_t data[40];

    for (uint32_t i = 0; i < n; i++) {
        data[i] = (uint8_t)below(256);
    }
    add(&o, BASE + at, 8);
    add(&o, n, 8);
    add(&o, CTR_USERMEM_WRITE, 4);
    add(&o, lost ? 0 : n, 4);
    memcpy(o.p + o.n, data, n);
    put_event(m, CTR_EVENT_USERMEM, tick(m), o.p, o.n + (lost ? 0 : n));
    wrote(k, at, data, n);
    if (lost) {
        memset(k->known + at, '?', n);
    }
}

static void store(struct maker *m, struct key_model *k)
{
    const uint32_t page = below(PAGES), at = page * 4096 + 4 * below(page ? 1024 : 60);
    const uint8_t data[4] = {(uint8_t)below(256), 1, 2, (uint8_t)below(256)};

    put_word(m, 1);
    put_addr(m, BASE + at);
    put_value(m, data[0] | data[1] << 8 | data[2] << 16 | (uint32_t)data[3] << 24, 4);
    wrote(k, at, data, 4);
    k->ordinal++;
}

static void expect(const struct key_model *k, FILE *f)
{
    fprintf(f, "%llu ", (unsigned long long)k->ordinal);
    for (uint32_t i = 0; i < BYTES; i++) {
        if (k->known[i] == 'k') {
            fprintf(f, "%02x", k->is[i]);
        } else {
            fprintf(f, "%c%c", k->known[i], k->known[i]);
        }
    }
    fprintf(f, "\n");
}

void make_key(const char *path, unsigned seed)
{
    struct block b = {.id = 1, .pc = 0x10000};
    struct key_model *k = calloc(1, sizeof(*k));
    char name[4096];
    struct maker m = {0};
    uint32_t thread;
    FILE *f;

    snprintf(name, sizeof(name), "%s.expect", path);
    f = fopen(name, "w");
    if (!k || !f) {
        exit(1);
    }
    srandom(seed);
    for (uint32_t i = 0; i < BYTES; i++) { /* from before the recording */
        k->is[i] = (uint8_t)below(256);
        k->known[i] = '.';
    }
    maker_open(&m, path, "arm", EM_ARM, false, 32,
               CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_VAL | CTR_EVENTS_SYS |
                   CTR_EVENTS_MAP | CTR_EVENTS_KEY);
    block_insn(&b, "\x00\x10\x80\xe5", 4); /* str r1, [r0] */
    block_slot(&b, 0, CTR_ACCESS_STORE | 2);
    add_block(&m, &b);
    thread = add_thread(&m, add_process(&m, 9, 1), 9, 0);
    mapping(&m, CTR_MAP_INITIAL, 3, 2, BASE, BYTES, 0, "[heap]");
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        for (uint32_t run = 0; run < RUNS; run++) {
            if (below(60) == 0) {
                system_wrote(&m, k);
            }
            /* None at first, none of page 2 for long, some at one place with others. */
            if (chunk > 3 && below(chunk % 5 ? 900 : 90) == 0) {
                key_frame(&m, k, below(chunk < 18 ? 2 : 3));
            }
            if (below(40) == 0) {
                expect(k, f);
            }
            store(&m, k);
        }
        flush_chunk(&m, thread, 0);
    }
    maker_close(&m, true);
    fclose(f);
    free(k);
}
