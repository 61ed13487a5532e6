/* SPDX-License-Identifier: MIT */
/*
 * The parser of jitdump files: a header and records, all of whose numbers have the byte
 * order of the machine that wrote them.  Records that load or move a function make one;
 * line tables come before the function that they are of; others are skipped.
 *
 * A record has its size, so what is in one can be damaged without harm to the next; if
 * the size itself is wrong, the file ends there.
 */
#include "symbols/jit.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define MAGIC 0x4a695444u
#define VERSION 1u
#define FLAG_ARCH_TIMESTAMP 1u /* times are not of CLOCK_MONOTONIC */

#define HEADER_BYTES 40u
#define PREFIX_BYTES 16u

enum { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO };

/* Some writers count addresses of lines from the begin of the ELF file that perf makes of
 * a function, whose header has so many bytes. */
#define ELF_HEADER_BYTES 0x40u

/* The function with an index, for moves: the newest one. */
struct by_index {
    uint64_t *keys;
    uint32_t *functions; /* UINT32_MAX: free */
    size_t n, cap;       /* a power of two */
};

struct dump {
    struct jit_code *c;
    const uint8_t *p;
    size_t n;
    bool big;
    struct by_index index;
    /* The line table for the next function at table_addr. */
    uint64_t table_addr;
    uint32_t table_first, table_n;
    bool table;
    bool shifted, not_shifted; /* lines that can only be so */
};

static uint64_t number(const struct dump *d, size_t off, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++) {
        v |= (uint64_t)d->p[off + i] << (d->big ? 8 * (bytes - 1 - i) : 8 * i);
    }
    return v;
}

/* -------------------------------------------------------- functions by index */

static size_t slot_of(const struct by_index *x, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (x->cap - 1);

    while (x->functions[at] != UINT32_MAX && x->keys[at] != key) {
        at = (at + 1) & (x->cap - 1);
    }
    return at;
}

static bool index_grow(struct by_index *x)
{
    struct by_index new = {.cap = x->cap ? 2 * x->cap : 1024};

    new.keys = calloc(new.cap, sizeof(*new.keys));
    new.functions = malloc(new.cap * sizeof(*new.functions));
    if (!new.keys || !new.functions) {
        free(new.keys);
        free(new.functions);
        return false;
    }
    memset(new.functions, 0xff, new.cap * sizeof(*new.functions));
    for (size_t i = 0; i < x->cap; i++) {
        if (x->functions[i] != UINT32_MAX) {
            size_t at = slot_of(&new, x->keys[i]);
            new.keys[at] = x->keys[i];
            new.functions[at] = x->functions[i];
        }
    }
    new.n = x->n;
    free(x->keys);
    free(x->functions);
    *x = new;
    return true;
}

static bool index_set(struct by_index *x, uint64_t key, uint32_t function)
{
    size_t at;

    if (2 * x->n >= x->cap && !index_grow(x)) {
        return false;
    }
    at = slot_of(x, key);
    x->n += x->functions[at] == UINT32_MAX;
    x->keys[at] = key;
    x->functions[at] = function;
    return true;
}

static struct jit_function *index_get(const struct dump *d, uint64_t key)
{
    size_t at = d->index.cap ? slot_of(&d->index, key) : 0;
    uint32_t i = d->index.cap ? d->index.functions[at] : UINT32_MAX;

    return i == UINT32_MAX ? NULL : &d->c->functions[i];
}

/* --------------------------------------------------------------------- lines */

static bool add_line(struct dump *d, const struct jit_line *line, size_t at)
{
    struct jit_code *c = d->c;

    if (c->nr_lines == JIT_MAX_LINES) {
        jit_bad(c, at, "too many lines");
        return true;
    }
    if (!array_reserve(&c->lines, &c->cap_lines, c->nr_lines + 1, sizeof(*c->lines))) {
        return false;
    }
    c->lines[c->nr_lines] = *line;
    c->lines[c->nr_lines].seq = (uint32_t)c->nr_lines;
    c->nr_lines++;
    return true;
}

/* The path of an entry, of n bytes; "\xff" repeats the last one. */
static bool path_of(struct dump *d, const uint8_t *path, size_t n, struct jit_line *line)
{
    const char *last = line->file ? d->c->strings + line->file : "";

    if ((n == 1 && path[0] == 0xff) || (n == strlen(last) && !memcmp(path, last, n))) {
        return true;
    }
    return jit_add_string(d->c, path, n, &line->file);
}

/* A line table: code_addr, the number of entries, entries; it replaces an unused one. */
static bool debug_info(struct dump *d, size_t at, size_t end, size_t record)
{
    struct jit_line line = {0};
    uint64_t n;

    d->table = false;
    if (end - at < 16) {
        jit_bad(d->c, record, "a line table that is too short");
        return true;
    }
    d->table_addr = number(d, at, 8);
    d->table_first = (uint32_t)d->c->nr_lines;
    n = number(d, at + 8, 8);
    for (at += 16; n; n--) {
        const uint8_t *path = end - at > 16 ? d->p + at + 16 : NULL;
        const uint8_t *nul = path ? memchr(path, 0, end - at - 16) : NULL;

        if (!nul) {
            jit_bad(d->c, record, "a line table with fewer entries than it says");
            break;
        }
        line.addr = number(d, at, 8);
        line.line = (uint32_t)number(d, at + 8, 4);
        line.line = line.line > INT32_MAX ? 0 : line.line;
        if (!path_of(d, path, (size_t)(nul - path), &line) ||
            !add_line(d, &line, record)) {
            return false;
        }
        at = (size_t)(nul + 1 - d->p);
    }
    d->table_n = (uint32_t)d->c->nr_lines - d->table_first;
    d->table = true;
    return true;
}

/* Notes whether the lines of a function can be counted from its begin, or from before. */
static void check_lines(struct dump *d, const struct jit_function *f)
{
    for (uint32_t i = 0; i < f->nr_lines; i++) {
        uint64_t off = d->c->lines[f->first_line + i].addr - f->addr;

        d->not_shifted |= off < ELF_HEADER_BYTES;
        d->shifted |=
            off >= f->end - f->addr && off - ELF_HEADER_BYTES < f->end - f->addr;
    }
}

/* ----------------------------------------------------------------- functions */

static bool add_function(struct dump *d, const struct jit_function *f, uint64_t index,
                         size_t record)
{
    size_t before = d->c->nr_functions;

    return jit_add(d->c, f, record) && (d->c->nr_functions == before ||
                                        index_set(&d->index, index, (uint32_t)before));
}

static uint64_t end_of(uint64_t addr, uint64_t size)
{
    return size > UINT64_MAX - addr ? 0 : addr + size;
}

/* pid, tid, vma, code_addr, code_size, code_index, name, code */
static bool code_load(struct dump *d, size_t at, size_t end, uint64_t time, size_t record)
{
    struct jit_function f = {.time_ns = time};
    const uint8_t *name, *nul;
    uint64_t size, left;

    if (end - at < 41 || !(nul = memchr(d->p + at + 40, 0, end - at - 40))) {
        jit_bad(d->c, record, "a function without a name");
        return true;
    }
    name = d->p + at + 40;
    f.addr = number(d, at + 16, 8);
    size = number(d, at + 24, 8);
    f.end = end_of(f.addr, size);
    left = (uint64_t)(d->p + end - (nul + 1));
    if (left >= size) {
        f.bytes = nul + 1;
    } else if (left) { /* none at all is allowed */
        jit_bad(d->c, record, "a function with fewer bytes than it says");
        return true;
    }
    if (d->table && d->table_addr == f.addr) {
        f.first_line = d->table_first;
        f.nr_lines = d->table_n;
        check_lines(d, &f);
        d->table = false;
    }
    return jit_add_string(d->c, name, (size_t)(nul - name), &f.name) &&
           add_function(d, &f, number(d, at + 32, 8), record);
}

/* pid, tid, vma, old_code_addr, new_code_addr, code_size, code_index */
static bool code_move(struct dump *d, size_t at, size_t end, uint64_t time, size_t record)
{
    const struct jit_function *old;
    struct jit_function f;
    uint64_t index, size;

    if (end - at < 48) {
        jit_bad(d->c, record, "a move that is too short");
        return true;
    }
    index = number(d, at + 40, 8);
    size = number(d, at + 32, 8);
    old = index_get(d, index);
    if (!old || old->addr != number(d, at + 16, 8)) {
        jit_bad(d->c, record, "a move of an unknown function");
        return true;
    }
    f = *old;
    f.addr = number(d, at + 24, 8);
    f.end = end_of(f.addr, size);
    f.time_ns = time;
    f.bytes = size <= old->end - old->addr ? old->bytes : NULL;
    f.first_line = (uint32_t)d->c->nr_lines;
    f.nr_lines = 0;
    for (uint32_t i = 0, n = old->nr_lines, from = old->first_line; i < n; i++) {
        struct jit_line line = d->c->lines[from + i];

        line.addr += f.addr - number(d, at + 16, 8);
        if (!add_line(d, &line, record)) {
            return false;
        }
    }
    f.nr_lines = (uint32_t)d->c->nr_lines - f.first_line;
    return add_function(d, &f, index, record);
}

/* ------------------------------------------------------------------ the file */

static bool records(struct dump *d, size_t at)
{
    bool ok = true;

    while (ok && d->n - at >= PREFIX_BYTES) {
        uint64_t id = number(d, at, 4), size = number(d, at + 4, 4);
        uint64_t time = number(d, at + 8, 8);
        size_t body = at + PREFIX_BYTES, end = at + (size_t)size;

        if (size < PREFIX_BYTES || size > d->n - at) {
            break;
        }
        switch (id) {
        case CODE_LOAD:
            ok = code_load(d, body, end, time, at);
            break;
        case CODE_MOVE:
            ok = code_move(d, body, end, time, at);
            break;
        case CODE_DEBUG_INFO:
            ok = debug_info(d, body, end, at);
            break;
        }
        at = end;
    }
    if (ok && at != d->n) {
        jit_bad(d->c, at, "a record without its end");
        d->c->bad_end = true;
    }
    return ok;
}

static int by_addr(const void *a, const void *b)
{
    const struct jit_line *x = a, *y = b;

    return x->addr != y->addr ? (x->addr < y->addr ? -1 : 1)
                              : (x->seq > y->seq) - (x->seq < y->seq);
}

/* Line tables in ascending order, counted from the begin of their functions. */
static void finish_lines(struct dump *d)
{
    struct jit_code *c = d->c;
    uint64_t shift = d->shifted && !d->not_shifted ? ELF_HEADER_BYTES : 0;

    for (size_t i = 0; i < c->nr_lines; i++) {
        c->lines[i].addr -= shift;
    }
    for (size_t i = 0; i < c->nr_functions; i++) {
        const struct jit_function *f = &c->functions[i];
        if (f->nr_lines) {
            qsort(c->lines + f->first_line, f->nr_lines, sizeof(*c->lines), by_addr);
        }
    }
}

bool jit_is_dump(const uint8_t *p, size_t n)
{
    const struct dump little = {.p = p}, big = {.p = p, .big = true};

    return n >= 4 && (number(&little, 0, 4) == MAGIC || number(&big, 0, 4) == MAGIC);
}

bool jit_parse_dump(struct jit_code *c, const uint8_t *p, size_t n)
{
    struct dump d = {.c = c, .p = p, .n = n};
    uint64_t header;
    bool ok;

    d.big = n >= 4 && number(&d, 0, 4) != MAGIC;
    header = n >= HEADER_BYTES ? number(&d, 8, 4) : 0;
    if (!jit_is_dump(p, n) || header < HEADER_BYTES || header > n ||
        number(&d, 4, 4) != VERSION) {
        jit_bad(c, 0, "no header of version 1");
        c->bad_end = true;
        return true;
    }
    c->begun_ns = number(&d, 24, 8);
    c->timed = !(number(&d, 32, 8) & FLAG_ARCH_TIMESTAMP);
    ok = records(&d, (size_t)header);
    if (ok) {
        finish_lines(&d);
    }
    free(d.index.keys);
    free(d.index.functions);
    return ok;
}
