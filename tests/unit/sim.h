/* SPDX-License-Identifier: MIT */
/*
 * A simulated guest: invents blocks, "runs" them at random, and records each run
 * twice: as a list of events, and as the words, data and records that translated
 * code would leave in the pipe.  A reader of the trace must return exactly that list.
 * The simulation shares no code with the library.
 */
#ifndef SIM_H
#define SIM_H

#include <stddef.h>
#include <stdint.h>
#include "ctr_write.h"

struct sim_event {
    uint8_t mem; /* 1: a memory access; mem, reg and os all 0: an instruction */
    uint8_t reg; /* 1: a register changed; addr says which */
    uint8_t os;  /* 1: an event of the system */
    uint8_t outside;
    uint8_t unrecorded; /* an access for which the data column holds nothing */
    uint8_t store;
    uint8_t big_endian;
    uint8_t helper;
    uint8_t flags; /* CTR_EV_* of an instruction */
    uint16_t insn;
    uint32_t size; /* of the access or register, or length of the instruction */
    uint64_t ordinal;
    uint64_t pc;
    uint64_t addr;
    uint64_t phys; /* with SIM_PHYS: of its first byte, and on the next page or 0 */
    uint64_t phys_next;
    uint64_t code; /* hash of the instruction's bytes, of data or of a payload; with
                      tags and type */
};

uint64_t sim_hash(const void *data, size_t n);
/* What `code' includes besides the bytes: a value for each tag of the instruction and of
 * its block; one for a block with left-out instructions; one for an event's type. */
uint64_t sim_tag_code(unsigned insn, unsigned library, uint64_t tag);
#define SIM_PART_CODE 0x517cc1b727220a95ull
#define SIM_TYPE_CODE(type) ((type) * 0x2545f4914f6cdd1dull)

/* The registers of the simulated machine: the first ones have slots, the others only
 * change without one. */
#define SIM_REGS 24u
#define SIM_SLOT_REGS 12u
unsigned sim_reg_size(unsigned reg);
/* Writes their table as in cannoli/events.h; returns its length. */
size_t sim_reg_table(uint8_t *out);

#define SIM_TAGS 6u
struct sim_tag {
    uint16_t insn, library;
    uint64_t tag;
};

struct sim_slot {
    uint16_t insn;
    uint16_t group; /* of a register: its number */
    uint8_t access;
    /* of a derived access */
    uint16_t root;
    uint8_t bits;
    uint8_t is_signed;
    int64_t delta;
};

struct sim_block {
    uint32_t id; /* raw */
    uint64_t pc[512];
    uint8_t len[512];
    uint8_t code[512 * 15];
    uint16_t off[513];
    unsigned ninsn, nslot, ngroup, nderived;
    struct sim_slot slot[2048];
    uint8_t mode;
    uint8_t part; /* some instructions are left out */
    struct sim_tag tag[SIM_TAGS];
    unsigned ntag;
    uint8_t *def;
    size_t def_bytes;
};

struct sim_segment {
    uint32_t *words;
    uint32_t n_words, cap_words;
    uint64_t *units; /* in the order in which they were made */
    uint32_t n_units, cap_units;
    uint8_t *side;
    uint32_t n_side, cap_side;
    uint32_t side_units; /* place of the last record */
    uint32_t flags;
    uint64_t start_ns, end_ns;
    void *buffer; /* as in the pipe: words, free room, data */
    void *data_end;
};

#define SIM_TLB 256u

/* One guest thread. */
struct sim_thread {
    struct sim_event *ev;
    size_t n_ev, cap_ev;
    struct sim_segment *seg;
    unsigned n_seg, cap_seg;
    uint64_t ordinal;
    uint64_t loads, stores;
    uint64_t marks;      /* slots with data, and records: they prove instructions ran */
    size_t known_ev;     /* number of events up to the last slot that has data */
    uint64_t addr[2048]; /* addresses of the slots of the block that ran last */
    uint64_t time;
    uint8_t regs[SIM_REGS][16];
    uint8_t reported[SIM_REGS][16]; /* the registers as events have reported them */
    uint64_t last_value;
    uint64_t next_pc; /* address after the block that ran last */
    uint64_t between; /* ordinal at which something last happened between runs */
    /* what was recorded of pages, with SIM_PHYS; a clash forgets */
    struct sim_page {
        uint64_t page;
        uint8_t mmu, known;
    } tlb[SIM_TLB];
    int forgets;      /* all that was recorded of pages, before the next run */
    uint64_t mapping; /* a number for what is where in physical memory ... */
    uint64_t mapped;  /* ... and the ordinal at which that was in use last */
    int incomplete;
};

/* Features to use, a mask */
#define SIM_GROUPS 0x01u
#define SIM_LEFT 0x02u
#define SIM_RESTART 0x04u
#define SIM_SUSPEND 0x08u
#define SIM_EXTRAS 0x10u
#define SIM_FAULT 0x20u
#define SIM_UNSURE 0x40u
#define SIM_BIG 0x80u        /* now and then a block of the largest size */
#define SIM_DERIVED 0x800u   /* accesses whose address is derived from another one's */
#define SIM_CONSTANT 0x1000u /* with SIM_DERIVED: constant addresses only */
#define SIM_ALL 0x8ffu
#define SIM_SYSTEM 0x100u   /* events between runs */
#define SIM_TINY 0x400u     /* many segments, some without a run; signals; true times */
#define SIM_PART 0x200u     /* left-out instructions, tags, accesses without a value */
#define SIM_MACHINE 0x2000u /* the target is a whole machine */
#define SIM_PHYS 0x4000u    /* pages have physical addresses, which change */

/* All that the threads, which run at the same time, can have */
#define SIM_EVENTS (CTR_EVENTS_ALL & ~CTR_EVENTS_ORDER)

struct sim {
    uint64_t rng;
    unsigned features;
    unsigned addr_bytes;
    unsigned events;      /* CTR_EVENTS_* */
    int nonzero;          /* the last unit of each item is not 0 */
    uint64_t memory[256]; /* of values, so that some come again */
    struct sim_block *block;
    unsigned nblock;
};

void sim_init(struct sim *s, uint64_t seed, unsigned nblock, unsigned addr_bytes,
              unsigned events, unsigned features);
void sim_fini(struct sim *s);
uint32_t sim_random(struct sim *s, uint32_t n); /* below n */

/* Runs about `runs' blocks on a thread and lays out the columns. */
void sim_thread_run(struct sim *s, struct sim_thread *t, unsigned runs);
void sim_thread_fini(struct sim_thread *t);

/* Adds all definitions to a dictionary; stops the test on an error. */
void sim_fill_dict(const struct sim *s, struct ctr_dict *dict);

/* The segments of a thread in the form that the encoder needs; free() the result. */
struct ctr_segment *sim_segments(const struct sim_thread *t);

#endif
