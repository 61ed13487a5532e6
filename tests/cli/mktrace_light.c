/* SPDX-License-Identifier: MIT */
/*
 * `mktrace light': a light trace, as cannoli-expand reads it: a program that gets a few things
 * from outside, on machines of both word sizes and byte orders, one of whose stacks grows up.
 * A word plants something that cannot be expanded, or a difference; mem and val make the
 * expansion, with a store.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"

#define PROGRAM 0x10000u
#define LOADER 0x40000000u
#define STACK 0x50000000u
#define STACK_BYTES 0x10000u
#define CHUNKS 5u
#define RUNS 8000u

static const struct machine {
    const char *target;
    uint16_t e_machine;
    bool big_endian, grows_up;
    unsigned word;
} machines[] = {
    {"arm", EM_ARM, false, false, 4},
    {"x86_64", EM_X86_64, false, false, 8},
    {"ppc64", EM_PPC64, true, false, 8},
    {"hppa", EM_PARISC, true, true, 4},
};

static bool plant(const char *what, const char *word)
{
    return !strcmp(what, word);
}

static bool is_full(const char *what)
{
    return plant(what, "mem") || plant(what, "val") || plant(what, "early-mem") ||
           plant(what, "selection-mem");
}

static bool is_early(const char *what)
{
    return plant(what, "early") || plant(what, "early-mem");
}

/* -------------------------------------------------------------------- stack */

static void word(struct payload *o, const struct machine *a, uint64_t v)
{
    for (unsigned i = 0; i < a->word; i++) {
        o->p[o->n++] = (uint8_t)(v >> 8 * (a->big_endian ? a->word - 1 - i : i));
    }
}

/* argc and so on at addr, by the addresses of the strings; returns the bytes. */
static size_t table(struct payload *o, const struct machine *a, const uint64_t string[6])
{
    const uint64_t aux[][2] = {
        {3, PROGRAM + 64}, {7, LOADER}, {9, PROGRAM + 128}, {31, string[5]}, {0, 0}};
    const size_t at = o->n;

    word(o, a, 3);
    for (unsigned i = 0; i < 3; i++) {
        word(o, a, string[i]);
    }
    word(o, a, 0);
    word(o, a, string[3]);
    word(o, a, string[4]);
    word(o, a, 0);
    for (size_t i = 0; i < sizeof(aux) / sizeof(aux[0]); i++) {
        word(o, a, aux[i][0]);
        word(o, a, aux[i][1]);
    }
    return o->n - at;
}

static void strings(struct payload *o, uint64_t addr, uint64_t string[6])
{
    static const char *const text[] = {"zero",     "one",    "two words",
                                       "NAME=a=b", "EMPTY=", "./app"};

    for (unsigned i = 0; i < 6; i++) {
        string[i] = addr + o->n;
        memcpy(o->p + o->n, text[i], strlen(text[i]) + 1);
        o->n += strlen(text[i]) + 1;
    }
    o->n += (16 - o->n % 16) % 16;
}

static void stack(struct maker *m, const struct machine *a)
{
    struct payload o = {.n = 0}, text = {.n = 0};
    uint64_t string[6];

    if (a->grows_up) {
        strings(&o, STACK, string);
        table(&o, a, string);
        memory(m, STACK, o.p, o.n, o.n, CTR_USERMEM_WRITE);
        return;
    }
    memset(string, 0, sizeof(string));
    const size_t n = table(&o, a, string);
    const uint64_t sp = STACK + STACK_BYTES - 0x1000;
    o.n = 0;
    strings(&text, sp + n, string);
    table(&o, a, string);
    memcpy(o.p + o.n, text.p, text.n);
    memory(m, sp, o.p, o.n + text.n, o.n + text.n, CTR_USERMEM_WRITE);
}

/* ------------------------------------------------------------------- events */

static void map_event(struct maker *m, uint32_t op, uint64_t start, uint64_t size,
                      uint64_t inode, const char *path)
{
    struct payload o = {.n = 0};

    add(&o, op, 4);
    add(&o, 5, 4);
    add(&o, 2, 4);
    add(&o, 0, 4);
    add(&o, start, 8);
    add(&o, size, 8);
    add(&o, 0, 8);
    add(&o, 0, 8);
    add(&o, 0, 8);
    add(&o, inode ? 7 : 0, 8);
    add(&o, inode, 8);
    add_string(&o, path);
    add_string(&o, "");
    put_event(m, CTR_EVENT_MAP, tick(m), o.p, o.n);
}

static void input_event(struct maker *m, uint32_t what, unsigned n, uint64_t first)
{
    struct payload o = {.n = 0};

    add(&o, what, 4);
    add(&o, 8 * n, 4);
    for (unsigned i = 0; i < n; i++) {
        add(&o, first + i, 8);
    }
    put_event(m, CTR_EVENT_INPUT, tick(m), o.p, o.n);
}

static void begin(struct maker *m, const struct machine *a, const char *what)
{
    thread_event(m, CTR_THREAD_START, 9, 9, 1, 0, 0, 0, "app");
    map_event(m, CTR_MAP_INITIAL, PROGRAM, 0x1000, 1, "/bin/app");
    map_event(m, CTR_MAP_INITIAL, LOADER, 0x1000, 2, "/lib/ld.so");
    if (!plant(what, "no-stack")) {
        map_event(m, CTR_MAP_INITIAL, STACK, STACK_BYTES, 0, "[stack]");
    }
    if (!plant(what, "no-seed") && !is_full(what)) {
        input_event(m, CTR_INPUT_SEED, 1, 0x5eed);
    }
    if (!is_full(what)) {
        input_event(m, CTR_INPUT_LAYOUT, 2, LOADER);
    }
    stack(m, a);
}

/* A call that gets bytes from outside. */
static void get_random(struct maker *m, const char *what)
{
    const struct call c = {"getrandom", 318, {STACK, 8}};
    const char *bytes = plant(what, "byte") ? "\x11\x22\x33\x44\x55\x66\x77\x89"
                                            : "\x11\x22\x33\x44\x55\x66\x77\x88";

    enter(m, &c);
    memory(m, STACK, bytes, plant(what, "cut-data") ? 7 : 8, 8, CTR_USERMEM_WRITE);
    leave(m, &c, plant(what, "result") ? 7 : 8);
}

static void map_more(struct maker *m, const char *what)
{
    const uint32_t gate[2] = {0, CTR_GATE_GUEST};

    map_event(m, CTR_MAP_MMAP, 0x60000000, 0x1000, 3, "/lib/same.so");
    map_event(m, CTR_MAP_MMAP, 0x61000000, 0x1000, 5, "/dev/zero");
    if (plant(what, "no-file")) {
        map_event(m, CTR_MAP_MMAP, 0x62000000, 0x1000, 4, "/tmp/unknown");
    }
    if (plant(what, "gate")) {
        put_event(m, CTR_EVENT_GATE, tick(m), gate, sizeof(gate));
    }
}

/* -------------------------------------------------------------------- files */

static void embed(struct ctr_writer *w, const char *path, uint64_t inode, uint32_t number,
                  const char *what)
{
    const bool first = inode == 1;
    uint8_t bytes[5000];

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 7 + number);
    }
    const struct ctr_embed e = {.path = path,
                                .dev = 7,
                                .inode = inode,
                                .size = sizeof(bytes),
                                .bytes = bytes,
                                .n = first && plant(what, "part") ? 4096 : sizeof(bytes),
                                .number = number,
                                .changed = first && plant(what, "changed")};
    check("embed", ctr_writer_embed(w, &e, NULL), NULL);
}

static void embed_all(struct ctr_writer *w, const char *what)
{
    const bool program = !plant(what, "no-program");

    if (program) {
        embed(w, "/bin/app", 1, 0, what);
    }
    embed(w, "/lib/ld.so", 2, program, what);
    if (!plant(what, "part")) { /* it would be the rest */
        embed(w, "/lib/same.so", 3, 0, what);
    }
    ctr_writer_embeds_checked(w);
}

void make_light(const char *path, const char *target, const char *what)
{
    struct block b = {.id = 1, .pc = PROGRAM + 128},
                 other = {.id = 2, .pc = PROGRAM + 128};
    const struct machine *a = machines;
    uint32_t events = CTR_EVENTS_EXEC | CTR_EVENTS_SYS | CTR_EVENTS_MAP | CTR_EVENTS_THR |
                      CTR_EVENTS_TIME | CTR_EVENTS_MARK | CTR_EVENTS_INPUT;
    struct maker m = {.selection = !strncmp(what, "selection", 9) ? "--module app" : ""};
    const bool full = is_full(what), killed = plant(what, "killed") || is_early(what);

    while (strcmp(a->target, target)) {
        if (++a == machines + sizeof(machines) / sizeof(machines[0])) {
            exit(2);
        }
    }
    events &= plant(what, "no-input") || full ? ~CTR_EVENTS_INPUT : ~0u;
    events |= full ? CTR_EVENTS_MEM : 0;
    events |= plant(what, "val") ? CTR_EVENTS_VAL : 0;
    maker_open(&m, path, a->target, a->e_machine, a->big_endian, 8 * a->word, events);
    for (unsigned i = 0; i < 4; i++) {
        block_insn(&b, "\x01\x02\x03\x04", 4);
        block_insn(&other, i == 2 && !full ? "\x01\x02\x03\x05" : "\x01\x02\x03\x04", 4);
        if (i == 2 && full) {
            block_slot(&other, 0, CTR_ACCESS_STORE | 2);
        }
    }
    add_block(&m, &b);
    add_block(&m, &other);
    const uint32_t process = add_process(&m, 9, 1),
                   thread = add_thread(&m, process, 9, 0);

    begin(&m, a, what);
    for (uint32_t chunk = 0; chunk < CHUNKS - is_early(what); chunk++) {
        for (uint32_t run = 0; run < RUNS; run++) {
            if (chunk == 1 && run == 5) {
                get_random(&m, what);
            } else if (chunk == 2 && run == 0) {
                map_more(&m, what);
            } else if (chunk == 2 && run == 7 && events & CTR_EVENTS_INPUT) {
                input_event(&m, CTR_INPUT_CLOCK, 3, 0x1000);
            }
            const bool here = chunk == 3 && run == 77;

            put_word(&m, (plant(what, "insn") || full) && here ? 2 : 1);
            if (full && here) {
                put_addr(&m, STACK + 0x20);
                if (plant(what, "val")) {
                    put_value(&m, 0x11223344, 4);
                }
            }
        }
        if (chunk == CHUNKS - 1 && !killed) {
            thread_event(&m, CTR_THREAD_END, 9, 9, 1, 0, 2 /* CTR_END_GROUP */, 0, "");
        }
        flush_chunk(&m, thread, 0);
    }
    if (plant(what, "threads")) {
        const uint32_t second = add_thread(&m, process, 10, 9);

        thread_event(&m, CTR_THREAD_START, 9, 10, 1, 9, 0, 0, "app");
        put_word(&m, 1);
        flush_chunk(&m, second, 0);
    }
    if (killed) {
        check("end",
              ctr_writer_thread_end(m.writer, thread, m.clock_ns, CTR_END_KILLED, 9, 1),
              NULL);
        check("end",
              ctr_writer_process_end(m.writer, process, m.clock_ns, CTR_END_KILLED, 9),
              NULL);
    }
    embed_all(m.writer, what);
    maker_close(&m, true);
}
