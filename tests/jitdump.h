/* SPDX-License-Identifier: MIT */
/*
 * Makes jitdump files for the tests of their parser, in either byte order.  A function's
 * bytes are all its index.
 */
#ifndef TESTS_JITDUMP_H
#define TESTS_JITDUMP_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The file; the current record begins at `record'. */
struct jitdump {
    uint8_t p[4096];
    size_t n, record;
    bool big;
};

static inline void jitdump_put(struct jitdump *b, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        b->p[b->n++] = (uint8_t)(v >> 8 * (b->big ? bytes - 1 - i : i));
    }
}

static inline void jitdump_text(struct jitdump *b, const char *text)
{
    memcpy(b->p + b->n, text, strlen(text) + 1);
    b->n += strlen(text) + 1;
}

static inline void jitdump_begin(struct jitdump *b, uint32_t id, uint64_t time)
{
    b->record = b->n;
    jitdump_put(b, id, 4);
    jitdump_put(b, 0, 4);
    jitdump_put(b, time, 8);
}

static inline void jitdump_end(struct jitdump *b)
{
    size_t n = b->n;

    b->n = b->record + 4;
    jitdump_put(b, n - b->record, 4);
    b->n = n;
}

static inline void jitdump_header(struct jitdump *b, uint64_t flags)
{
    jitdump_put(b, 0x4a695444, 4);
    jitdump_put(b, 1, 4);
    jitdump_put(b, 40, 4);
    jitdump_put(b, EM_X86_64, 4);
    jitdump_put(b, 0, 4);
    jitdump_put(b, 77, 4);
    jitdump_put(b, 500, 8);
    jitdump_put(b, flags, 8);
}

static inline void jitdump_load(struct jitdump *b, uint64_t time, uint64_t addr,
                                uint64_t size, uint64_t index, const char *name)
{
    jitdump_begin(b, 0, time);
    jitdump_put(b, 77, 4);
    jitdump_put(b, 77, 4);
    jitdump_put(b, addr, 8);
    jitdump_put(b, addr, 8);
    jitdump_put(b, size, 8);
    jitdump_put(b, index, 8);
    jitdump_text(b, name);
    for (uint64_t i = 0; i < size; i++) {
        jitdump_put(b, index, 1);
    }
    jitdump_end(b);
}

static inline void jitdump_move(struct jitdump *b, uint64_t time, uint64_t from,
                                uint64_t to, uint64_t size, uint64_t index)
{
    jitdump_begin(b, 1, time);
    jitdump_put(b, 77, 4);
    jitdump_put(b, 77, 4);
    jitdump_put(b, to, 8);
    jitdump_put(b, from, 8);
    jitdump_put(b, to, 8);
    jitdump_put(b, size, 8);
    jitdump_put(b, index, 8);
    jitdump_end(b);
}

static inline void jitdump_line(struct jitdump *b, uint64_t addr, uint32_t number,
                                const char *path)
{
    jitdump_put(b, addr, 8);
    jitdump_put(b, number, 4);
    jitdump_put(b, 0, 4);
    jitdump_text(b, path);
}

static inline void jitdump_lines(struct jitdump *b, uint64_t addr, uint64_t n)
{
    jitdump_begin(b, 2, 0);
    jitdump_put(b, addr, 8);
    jitdump_put(b, n, 8);
}

/* Functions of one place at several times, a move, lines, records to skip. */
static inline void jitdump_fill(struct jitdump *b, uint64_t flags)
{
    jitdump_header(b, flags);
    jitdump_lines(b, 0x1000, 4);
    jitdump_line(b, 0x1000, 10, "\xff"); /* repeats what is not there */
    jitdump_line(b, 0x1008, 12, "/src/a.js");
    jitdump_line(b, 0x1004, 11, "/src/b.js");
    jitdump_line(b, 0x100c, 13, "\xff");
    jitdump_end(b);
    jitdump_load(b, 1000, 0x1000, 16, 1, "f");
    jitdump_begin(b, 4, 0); /* unwind information */
    jitdump_put(b, 1, 8);
    jitdump_end(b);
    jitdump_load(b, 2000, 0x1000, 8, 2, "g");
    jitdump_move(b, 3000, 0x1000, 0x3000, 16, 1);
    jitdump_begin(b, 3, 0); /* close */
    jitdump_end(b);
}

#endif
