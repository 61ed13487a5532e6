/* SPDX-License-Identifier: MIT */
/*
 * Makes the traces of mktrace: the columns and records that QEMU would leave in the
 * pipe, and the writer's objects.
 */
#ifndef MAKER_H
#define MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cannoli/events.h"
#include "cannoli/mempipe.h"
#include "ctr_write.h"

/* All that a recording of a program can have, but key frames. */
#define PROGRAM_EVENTS                                                                   \
    (CTR_EVENTS_ALL & ~(CTR_EVENTS_MACHINE | CTR_EVENTS_KEY | CTR_EVENTS_INPUT))

#define MAX_REGS 40u

/* A trace being made: the writer's objects, and the segment being filled. */
struct maker {
    struct ctr_dict *dict;
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ctr_physmap *physmap; /* of all threads, which have other pages */
    struct ctr_writer *writer;
    int fd;
    unsigned addr_bytes;
    uint32_t *words;
    uint8_t *data; /* MAX_WORDS units, filled from its end */
    uint8_t *side;
    uint32_t n_words, n_units, n_side;
    uint32_t events; /* CTR_EVENTS_* */
    uint32_t seq;
    /* with CTR_EVENTS_REG: the table, and the values of its registers */
    uint32_t n_regs, state_bytes;
    unsigned reg_size[MAX_REGS], reg_off[MAX_REGS];
    uint8_t state[16 * MAX_REGS];
    uint64_t clock_ns;
    uint64_t span_ns; /* of the next chunk; 0: a millisecond */
    FILE *expect, *cuts;
    /* the contents of META, set before maker_open */
    const char *selection;
    uint64_t dropped; /* chunks */
};

struct slot {
    uint16_t insn, group;
    uint8_t access;
};

struct tag {
    uint16_t insn, library;
    uint64_t tag;
};

struct block {
    uint32_t id;
    uint64_t pc;
    unsigned ninsn, nslot, ngroup, mode;
    uint8_t len[64];
    uint8_t code[64 * 16];
    struct slot slot[256];
    bool part;       /* instructions were left out; */
    uint64_t at[64]; /* the places of the others */
    unsigned ntag;
    struct tag tag[8];
};

/* Every function stops the program when something fails. */
void maker_open(struct maker *m, const char *path, const char *target, unsigned machine,
                bool be, unsigned addr_bits, uint32_t events);
void maker_close(struct maker *m, bool finish);
void check(const char *what, int ret, const struct ctr_diag *diag);
uint32_t add_process(struct maker *m, int32_t pid, int32_t ppid);
uint32_t add_thread(struct maker *m, uint32_t process, int32_t tid, int32_t ptid);

/* Little-endian, `bytes' of v. */
void put_le(uint8_t *p, uint64_t v, unsigned bytes);
void put_word(struct maker *m, uint32_t word);
void put_data(struct maker *m, const uint8_t *le, unsigned bytes);
void put_addr(struct maker *m, uint64_t addr);
/* A value of up to 8 bytes. */
void put_value(struct maker *m, uint64_t v, unsigned bytes);
void *put_side(struct maker *m, unsigned type, uint32_t n, size_t bytes);
void put_extra(struct maker *m, uint16_t insn, bool store, uint32_t size, uint64_t addr,
               const void *data);
void put_left(struct maker *m, unsigned n, unsigned flags);
/* Writes what was put as one chunk of a thread. */
void flush_chunk(struct maker *m, uint32_t thread, unsigned segment_flags);

/* Registers: the table (before the first chunk), a state at the begin of a chunk, a
 * change without a slot (insn MEMPIPE_OUTSIDE: by the system). */
void add_register(struct maker *m, uint8_t *table, size_t *at, const char *name,
                  unsigned size, unsigned flags);
void write_registers(struct maker *m, const uint8_t *table, size_t bytes);
void put_state(struct maker *m);
void put_register(struct maker *m, uint32_t insn, unsigned reg, const uint8_t *le);

/* Events; their payloads as cannoli/events.h has them. */
void put_event(struct maker *m, unsigned type, uint64_t time_ns, const void *payload,
               size_t n);
struct payload {
    uint8_t p[8192];
    size_t n;
};
void add(struct payload *o, uint64_t v, unsigned bytes);
void add_string(struct payload *o, const char *s);
/* RAM of a machine (events.h), with n bytes of contents. */
void ram_event(struct maker *m, uint32_t op, uint32_t fill, uint64_t size, uint64_t addr,
               uint64_t offset, uint64_t from, const char *block, const void *bytes,
               uint32_t n);
/* Advances time by a microsecond, as for each event. */
uint64_t tick(struct maker *m);
void thread_event(struct maker *m, unsigned op, int32_t pid, int32_t tid, int32_t ppid,
                  int32_t ptid, unsigned reason, int32_t status, const char *name);
/* START or EXEC of a process with the first n bytes of its argc arguments. */
void program_event(struct maker *m, unsigned op, int32_t pid, int32_t ppid,
                   const char *name, const char *args, size_t n, unsigned argc);
/* Of a machine. */
void return_event(struct maker *m, uint64_t pc, uint32_t from, uint32_t to);
void power_event(struct maker *m, uint32_t op);

void block_insn(struct block *b, const void *bytes, unsigned len);
void block_slot(struct block *b, unsigned group, unsigned access);
/* The most recently added instruction may write register `reg' of `size' bytes. */
void block_reg(struct block *b, unsigned reg, unsigned size);
void add_block(struct maker *m, const struct block *b);

/* mktrace_random.c: argv starts after the word `random' */
void make_random(char **argv, bool all, bool few);

/* mktrace_diff.c: argv starts after the word `diff' */
void make_diff(char **argv);

/* mktrace_memory.c */
void make_memory(const char *path);
void make_ram(const char *path, const char *what); /* mktrace_physical.c */
void make_key(const char *path, unsigned seed);    /* mktrace_key.c */
/* mktrace_light.c; what: see there, "" for nothing */
void make_light(const char *path, const char *target, const char *what);
/* order: the vCPUs ran one at a time */
void make_tasks(const char *path, bool order);
void make_loaded(uint32_t op, const char *path);
void make_areas(const char *path);
void make_areas_again(const char *path);
void make_areas_shared(unsigned differ, const char *path);

/* mktrace_chosen.c */
void make_chosen(const char *path);
void make_machine(const char *name, const char *path);
void make_spaces(const char *path);
void make_slices(const char *path);
void make_physical(const char *path);
void make_kernel(char **argv, bool twice);

/* mktrace_generated.c */
void make_generated(const char *path);

/* mktrace_order.c: argv starts after the word `order' */
void make_order(char **argv);

/* mktrace_system.c; each event is at the next tick, memory has no time */
struct call {
    const char *name;
    unsigned nr;
    uint64_t args[8];
};
void enter(struct maker *m, const struct call *c);
void leave(struct maker *m, const struct call *c, int64_t result);
void memory(struct maker *m, uint64_t addr, const void *data, size_t n, size_t size,
            unsigned flags);
void mapping(struct maker *m, unsigned op, unsigned prot, unsigned flags, uint64_t start,
             uint64_t size, uint64_t offset, const char *path);
void signal_event(struct maker *m, unsigned signo, int code, uint64_t addr, uint64_t pc,
                  uint64_t handler, unsigned flags);
/* elf: a file whose bytes are those of the program, or NULL. */
void make_system(const char *path, const char *elf);
void make_mapped(const char *mapped, const char *path);
void make_calls(const char *target, unsigned machine, bool be, unsigned addr_bits,
                const char *path);

#endif
