/* SPDX-License-Identifier: MIT */
/* DWARF's numbers of registers; see dwarf_regs.h. */
#include "guest/dwarf_regs.h"

#include <elf.h>
#include <stddef.h>
#include <stdio.h>

#define EM_ALPHA_LINUX 0x9026u

/* Registers with names of their own, from number 0. */
static const char *const x86_64[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                     "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                     "r12", "r13", "r14", "r15"};
static const char *const i386[] = {"eax", "ecx", "edx", "ebx",
                                   "esp", "ebp", "esi", "edi"};
static const char *const arm[] = {"r0", "r1", "r2",  "r3",  "r4",  "r5", "r6", "r7",
                                  "r8", "r9", "r10", "r11", "r12", "sp", "lr"};
static const char *const mips[] = {"zero", "at", "v0", "v1", "a0", "a1", "a2", "a3",
                                   "t0",   "t1", "t2", "t3", "t4", "t5", "t6", "t7",
                                   "s0",   "s1", "s2", "s3", "s4", "s5", "s6", "s7",
                                   "t8",   "t9", "k0", "k1", "gp", "sp", "s8", "ra"};
static const char *const riscv[] = {
    "zero", "ra",  "sp",  "gp",   "tp",   "t0",  "t1",  "t2",   "fp",  "s1",  "a0",
    "a1",   "a2",  "a3",  "a4",   "a5",   "a6",  "a7",  "s2",   "s3",  "s4",  "s5",
    "s6",   "s7",  "s8",  "s9",   "s10",  "s11", "t3",  "t4",   "t5",  "t6",  "ft0",
    "ft1",  "ft2", "ft3", "ft4",  "ft5",  "ft6", "ft7", "fs0",  "fs1", "fa0", "fa1",
    "fa2",  "fa3", "fa4", "fa5",  "fa6",  "fa7", "fs2", "fs3",  "fs4", "fs5", "fs6",
    "fs7",  "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11"};
static const char *const sparc[] = {"g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7",
                                    "o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7",
                                    "l0", "l1", "l2", "l3", "l4", "l5", "l6", "l7",
                                    "i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};
static const char *const alpha[] = {"v0",  "t0",  "t1", "t2",  "t3", "t4", "t5", "t6",
                                    "t7",  "s0",  "s1", "s2",  "s3", "s4", "s5", "fp",
                                    "a0",  "a1",  "a2", "a3",  "a4", "a5", "t8", "t9",
                                    "t10", "t11", "ra", "t12", "at", "gp", "sp"};

/* Registers that are counted: prefix, then number - first + base. */
static const struct counted {
    uint16_t machine;
    uint8_t bits; /* 0: any */
    uint16_t first, end;
    const char *prefix;
    uint8_t base, skip;
} counted[] = {
    {EM_X86_64, 0, 17, 33, "xmm", 0, 0},    {EM_X86_64, 0, 33, 41, "st", 0, 0},
    {EM_386, 0, 11, 19, "st", 0, 0},        {EM_386, 0, 21, 29, "xmm", 0, 0},
    {EM_ARM, 0, 256, 288, "d", 0, 0},       {EM_AARCH64, 0, 0, 31, "x", 0, 0},
    {EM_AARCH64, 0, 64, 96, "z", 0, 0},     {EM_MIPS, 0, 32, 64, "f", 0, 0},
    {EM_PPC64, 0, 0, 32, "r", 0, 0},        {EM_PPC64, 0, 32, 64, "vs", 0, 8},
    {EM_PPC, 0, 0, 32, "r", 0, 0},          {EM_PPC, 0, 32, 64, "vs", 0, 8},
    {EM_S390, 0, 0, 16, "r", 0, 0},         {EM_68K, 0, 0, 8, "D", 0, 0},
    {EM_68K, 0, 8, 16, "A", 0, 0},          {EM_PARISC, 0, 0, 32, "r", 0, 0},
    {EM_ALPHA_LINUX, 0, 32, 63, "f", 0, 0}, {EM_SH, 0, 8, 16, "R", 8, 0},
};

static const struct named {
    uint16_t machine;
    const char *const *names;
    size_t n;
} named[] = {
#define NAMES(machine, v) {machine, v, sizeof(v) / sizeof((v)[0])}
    NAMES(EM_X86_64, x86_64),     NAMES(EM_386, i386),    NAMES(EM_ARM, arm),
    NAMES(EM_MIPS, mips),         NAMES(EM_RISCV, riscv), NAMES(EM_SPARCV9, sparc),
    NAMES(EM_ALPHA_LINUX, alpha),
};

/* s390x: floating-point registers are the high halves of vectors, in another order. */
static const uint8_t s390_float[16] = {0, 2,  4,  6,  1, 3,  5,  7,
                                       8, 10, 12, 14, 9, 11, 13, 15};

const char *dwarf_reg_name(uint32_t machine, unsigned addr_bits, uint32_t number,
                           char name[DWARF_REG_NAME], unsigned *skip)
{
    *skip = 0;
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if (named[i].machine == machine && number < named[i].n) {
            return named[i].names[number];
        }
    }
    for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
        const struct counted *c = &counted[i];
        if (c->machine == machine && (!c->bits || c->bits == addr_bits) &&
            number >= c->first && number < c->end) {
            *skip = c->skip;
            snprintf(name, DWARF_REG_NAME, "%s%u", c->prefix,
                     number - c->first + c->base);
            return name;
        }
    }
    if (machine == EM_AARCH64 && number == 31) {
        return "sp";
    }
    if (machine == EM_ARM && number >= 64 && number < 96) { /* s0 to s31 */
        *skip = 4 * (number % 2);
        snprintf(name, DWARF_REG_NAME, "d%u", (number - 64) / 2);
        return name;
    }
    if (machine == EM_S390 && number >= 16 && number < 32) {
        *skip = 8;
        snprintf(name, DWARF_REG_NAME, "v%u", s390_float[number - 16]);
        return name;
    }
    if (machine == EM_SH && number < 8) {
        snprintf(name, DWARF_REG_NAME, "R%u_BANK0", number);
        return name;
    }
    return NULL;
}

int64_t dwarf_cfa_offset(uint32_t machine, unsigned addr_bits)
{
    switch (machine) {
    case EM_X86_64:
        return addr_bits == 64 ? 8 : 4;
    case EM_386:
    case EM_68K:
        return 4;
    case EM_S390:
        return 160;
    case EM_SPARCV9:
        return 2047;
    default:
        return 0;
    }
}
