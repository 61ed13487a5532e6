/* SPDX-License-Identifier: MIT */
/*
 * The differences between Linux ABIs: numbers of errors and signals, flags of open(2)
 * and mmap(2), the layout of structures; and what machines call their exceptions.
 */
#ifndef TOOLS_GUEST_H
#define TOOLS_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"

/* The sets of error and signal numbers that Linux has. */
enum guest_numbers {
    GUEST_GENERIC,
    GUEST_MIPS,
    GUEST_SPARC,
    GUEST_ALPHA,
    GUEST_HPPA,
    GUEST_NR_NUMBERS,
};

/* Flags with values of their own. */
enum guest_open {
    OPEN_GENERIC,
    OPEN_ARM,
    OPEN_PPC,
    OPEN_MIPS,
    OPEN_SPARC,
    OPEN_ALPHA,
    OPEN_HPPA
};
enum guest_mmap { MMAP_GENERIC, MMAP_MIPS, MMAP_SPARC, MMAP_PPC, MMAP_ALPHA, MMAP_HPPA };

/* Order of the arguments of clone(2). */
enum guest_clone {
    CLONE_TLS_LAST,    /* flags, stack, ptid, ctid, tls */
    CLONE_TLS_FOURTH,  /* flags, stack, ptid, tls, ctid */
    CLONE_STACK_FIRST, /* stack, flags, ptid, ctid, tls */
    CLONE_STACK_SIZE,  /* flags, stack, stack size, ptid, ctid, tls */
};

/* The position of a member in a structure; 0 bytes: no such member. */
struct guest_field {
    uint8_t off;
    uint8_t bytes;
};

struct guest_abi {
    uint16_t e_machine;
    const char *prefix; /* of QEMU's name of the target */
    uint8_t numbers;    /* enum guest_numbers */
    uint8_t open;       /* enum guest_open */
    uint8_t mmap;       /* enum guest_mmap */
    uint8_t clone;      /* enum guest_clone */
    bool even_pairs;    /* 32 bits: a pair begins with an even argument */
    bool own_ioctls;    /* terminal ioctls have numbers other than most ABIs' */
    struct guest_field mode, size;     /* of struct stat */
    struct guest_field mode64, size64; /* of struct stat64 */
};

struct guest {
    const struct guest_abi *abi;
    unsigned word;   /* bytes of a long and of an address: 4 or 8 */
    bool wide_pairs; /* a 64-bit argument is in one register */
    bool big_endian;
};

/* Initializes g for the trace's target; an unknown target gets the numbers that most
 * ABIs have. */
void guest_init(struct guest *g, const struct ctr_info *info);

/* "ENOENT" and "No such file or directory"; NULL if there is no such error. */
const char *guest_errno_name(const struct guest *g, unsigned number);
const char *guest_errno_text(const struct guest *g, unsigned number);

/* Size of guest_signal_name's buffer. */
#define GUEST_SIGNAL_MAX 24
/* "SIGSEGV", "SIGRT_1", or the number; returns `buf' or a constant. */
const char *guest_signal_name(const struct guest *g, unsigned number, char *buf);
/* "SEGV_MAPERR" and the like; NULL if there is no name. */
const char *guest_signal_code(const struct guest *g, unsigned number, int code);

/* Size of guest_interrupt_name's buffer. */
#define GUEST_INTERRUPT_MAX 48
/* "Data Abort", "IRQ 27 (virtual timer)", "#PF"; returns `buf' or a constant. */
const char *guest_interrupt_name(const struct guest *g, const struct ctr_interrupt *i,
                                 char *buf);
/* What the machine calls the syndrome ("ESR"; NULL: it has none) and the address. */
void guest_interrupt_registers(const struct guest *g, const char **syndrome,
                               const char **addr);
/* "EL0", "ring3"; "" if it is not known.  CTR_PRIVILEGE_*. */
const char *guest_privilege_name(const struct guest *g, unsigned privilege);

/* An integer of the guest, 1 to 8 bytes. */
uint64_t guest_load(const struct guest *g, const uint8_t *p, unsigned bytes);
void guest_store(const struct guest *g, uint8_t *p, uint64_t v, unsigned bytes);

/* An address or word of the guest as it was in its register. */
static inline uint64_t guest_word(const struct guest *g, uint64_t v)
{
    return g->word == 4 ? (uint32_t)v : v;
}

#endif
