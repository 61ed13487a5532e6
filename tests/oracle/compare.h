/* SPDX-License-Identifier: MIT */
/*
 * The two readers of oracle-compare and their results: one struct insn per
 * executed instruction, in order.
 */
#ifndef ORACLE_COMPARE_H
#define ORACLE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define INSN_CODE_MAX 32
#define INSN_TEXT_MAX 64

/* What every machine's pages are a multiple of. */
#define MACHINE_PAGE 4096

/* cflags of a block: others may run beside it */
#define CF_PARALLEL 0x8000u

/* value: as a number; an access of more than 16 bytes has none here. */
struct access {
    uint64_t addr;
    uint64_t value[2]; /* low, high */
    uint32_t size;
    bool store;
    bool has_value;
};

struct insn {
    uint64_t pc;
    uint64_t number; /* Trace lines or ordinals from 0 */
    struct access *acc;
    size_t n, room;
    uint64_t cs_base; /* witness only, like the rest */
    uint32_t flags, cflags;
    bool redone;      /* a second Trace line was folded in */
    uint8_t code_len; /* 0: not known */
    uint8_t code[INSN_CODE_MAX];
    char text[INSN_TEXT_MAX];
};

struct counts {
    uint64_t insns, accesses;
    uint64_t stopped, atomic, execute, halves, blind, other, values, swapped, rmw, failed,
        region;
};

/* A line reader: the line is at `line' until the next call. */
struct lines {
    FILE *f;
    char *line;
    size_t room;
};

struct code;

struct witness {
    struct lines in;
    char target[16];
    struct counts *counts;
    bool execute_twice;
    bool machine; /* the plugin's pc may be of another page */
    bool one_cpu; /* only the blocks of vCPU `cpu' count; */
    unsigned cpu;
    bool aside;          /* another one runs */
    struct insn ring[3]; /* returned, current, next */
    unsigned at;
    bool have_current, ended;
    uint64_t number;
    struct code *codes; /* hash table: the bytes last translated at a pc */
    size_t ncodes, room;
    uint64_t last_code_pc;
    const char *bad;
};

struct trace {
    struct lines in;
    struct insn ring[2];
    unsigned at;
    bool have_next, ended;
    int64_t tid;
    const char *bad;
};

/*
 * The number of the process differs between two runs: a value is also the same if
 * it differs only in 4-byte lanes that hold that number in each run.
 */
struct own_number {
    uint32_t trace;   /* 0: not known */
    uint32_t witness; /* 0: none seen yet */
    uint64_t used;
};

/* Are these n bytes (little-endian numbers) the same? */
bool same_but_own_number(struct own_number *own, const uint8_t *witness,
                         const uint8_t *trace, size_t n);

/*
 * Where QEMU leaves a guest's mappings to the host kernel (a 64-bit guest
 * without -R), the plugin's own mappings move them by whole pages.
 */
struct slide {
    bool allowed;
    struct {
        uint64_t witness, trace; /* page numbers */
    } *pages;
    size_t n, room, last;
};

/* A line of tracedump --json. */
struct event {
    char kind; /* 'e', 'l', 's'; '-' of another kind */
    uint64_t ordinal, pc, addr, size;
    uint64_t value[2];
    bool has_value;
    int64_t pid, tid;
};

bool lines_open(struct lines *in, const char *file);
char *next_line(struct lines *in);
bool read_event(const char *line, struct event *e);
/* A hexadecimal number of up to 16 bytes after "0x"; returns what follows it. */
const char *read_value(const char *p, uint64_t value[2]);

/* The number of bytes that an instruction loads and stores, -1 if it does not say. */
struct known_bytes {
    int64_t load, store;
};

/* The end of the instruction region that a sh4 block runs as a whole, 0: it is none. */
uint64_t region_end(const struct witness *w, const struct insn *in);
/* Return the next instruction, or NULL at the end (or with ->bad set). */
struct insn *witness_next(struct witness *w);
bool witness_goes_on(const struct witness *w, const struct insn *in);
/* The next access that the plugin saw, without its Trace line. */
bool witness_access(struct witness *w, uint64_t *pc, struct access *acc);
bool witness_is_blind(struct witness *w, uint64_t pc);
bool witness_may_not_store(struct witness *w, uint64_t pc);
struct insn *trace_next(struct trace *t);
bool witness_open(struct witness *w, const char *file, const char *target,
                  struct counts *c);
bool trace_open(struct trace *t, const char *file);

void insn_copy(struct insn *to, const struct insn *from, uint64_t number);
void insn_add(struct insn *in, const struct access *acc);

/* Does QEMU make this instruction's accesses where the plugin cannot see them? */
bool is_blind(const char *target, const uint8_t *code, unsigned len,
              struct known_bytes *known);

/* May this be a store instruction that does not store? */
bool may_not_store(const char *target, const uint8_t *code, unsigned len);
/* The same for an instruction whose bytes are unknown. */
bool text_may_not_store(const char *text);

#endif
