/* SPDX-License-Identifier: MIT */
/* The table of machines for guest.h. */
#include "guest/guest.h"

#include <elf.h>
#include <string.h>

/* Layouts of struct stat that several machines share: st_mode, st_size. */
#define STAT_OLD32 {8, 2}, {20, 4} /* 16-bit mode */
#define STAT_GENERIC32 {8, 4}, {32, 4}
#define STAT_GENERIC64 {16, 4}, {48, 8}
#define STAT64_NONE {0, 0}, {0, 0}

/* The first row that matches; the last one matches all. */
/* clang-format off */
static const struct guest_abi abis[] = {
    {EM_ARM, "", GUEST_GENERIC, OPEN_ARM, MMAP_GENERIC, CLONE_TLS_FOURTH, true, false,
     STAT_OLD32, {16, 4}, {48, 8}},
    {EM_AARCH64, "", GUEST_GENERIC, OPEN_ARM, MMAP_GENERIC, CLONE_TLS_FOURTH, false, false,
     STAT_GENERIC64, STAT64_NONE},
    {EM_386, "", GUEST_GENERIC, OPEN_GENERIC, MMAP_GENERIC, CLONE_TLS_FOURTH, false, false,
     STAT_OLD32, {16, 4}, {44, 8}},
    {EM_X86_64, "", GUEST_GENERIC, OPEN_GENERIC, MMAP_GENERIC, CLONE_TLS_LAST, false, false,
     {24, 4}, {48, 8}, STAT64_NONE},
    {EM_MIPS, "mips64", GUEST_MIPS, OPEN_MIPS, MMAP_MIPS, CLONE_TLS_FOURTH, false, true,
     {24, 4}, {56, 8}, STAT64_NONE},
    {EM_MIPS, "mipsn32", GUEST_MIPS, OPEN_MIPS, MMAP_MIPS, CLONE_TLS_FOURTH, false, true,
     {24, 4}, {56, 8}, STAT64_NONE},
    {EM_MIPS, "", GUEST_MIPS, OPEN_MIPS, MMAP_MIPS, CLONE_TLS_FOURTH, true, true,
     {20, 4}, {48, 4}, {24, 4}, {56, 8}},
    {EM_SPARCV9, "", GUEST_SPARC, OPEN_SPARC, MMAP_SPARC, CLONE_TLS_FOURTH, false, true,
     {16, 4}, {40, 8}, {24, 4}, {48, 8}},
    {EM_SPARC, "", GUEST_SPARC, OPEN_SPARC, MMAP_SPARC, CLONE_TLS_FOURTH, false, true,
     STAT_OLD32, {16, 4}, {48, 8}},
    {EM_SPARC32PLUS, "", GUEST_SPARC, OPEN_SPARC, MMAP_SPARC, CLONE_TLS_FOURTH, false, true,
     STAT_OLD32, {16, 4}, {48, 8}},
    {EM_ALPHA, "", GUEST_ALPHA, OPEN_ALPHA, MMAP_ALPHA, CLONE_TLS_LAST, false, true,
     {8, 4}, {32, 8}, {40, 4}, {24, 8}},
    {EM_PARISC, "", GUEST_HPPA, OPEN_HPPA, MMAP_HPPA, CLONE_TLS_FOURTH, false, true,
     STAT_OLD32, {16, 4}, {48, 8}},
    {EM_PPC64, "", GUEST_GENERIC, OPEN_PPC, MMAP_PPC, CLONE_TLS_FOURTH, false, true,
     {24, 4}, {48, 8}, STAT64_NONE},
    {EM_PPC, "", GUEST_GENERIC, OPEN_PPC, MMAP_PPC, CLONE_TLS_FOURTH, true, true,
     {8, 4}, {28, 4}, {16, 4}, {48, 8}},
    {EM_68K, "", GUEST_GENERIC, OPEN_ARM, MMAP_GENERIC, CLONE_TLS_LAST, false, false,
     STAT_OLD32, {14, 4}, {40, 8}},
    {EM_S390, "", GUEST_GENERIC, OPEN_GENERIC, MMAP_GENERIC, CLONE_STACK_FIRST, false, false,
     {24, 4}, {48, 8}, STAT64_NONE},
    {EM_SH, "", GUEST_GENERIC, OPEN_GENERIC, MMAP_GENERIC, CLONE_TLS_LAST, false, true,
     STAT_OLD32, {16, 4}, {44, 8}},
    {EM_XTENSA, "", GUEST_GENERIC, OPEN_GENERIC, MMAP_MIPS, CLONE_TLS_FOURTH, true, true,
     {8, 4}, {28, 4}, {16, 4}, {40, 8}},
    {EM_MICROBLAZE, "", GUEST_GENERIC, OPEN_GENERIC, MMAP_GENERIC, CLONE_STACK_SIZE, false, false,
     {8, 4}, {28, 4}, {16, 4}, {48, 8}},
    {EM_OPENRISC, "", GUEST_GENERIC, OPEN_GENERIC, MMAP_GENERIC, CLONE_TLS_LAST, false, false,
     STAT_GENERIC32, {16, 4}, {48, 8}},
    {EM_QDSP6, "", GUEST_GENERIC, OPEN_GENERIC, MMAP_GENERIC, CLONE_TLS_LAST, true, false,
     STAT_GENERIC32, {16, 4}, {48, 8}},
    {EM_RISCV, "riscv32", GUEST_GENERIC, OPEN_GENERIC, MMAP_GENERIC, CLONE_TLS_FOURTH, false, false,
     STAT_GENERIC32, {16, 4}, {48, 8}},
    {EM_RISCV, "", GUEST_GENERIC, OPEN_GENERIC, MMAP_GENERIC, CLONE_TLS_FOURTH, false, false,
     STAT_GENERIC64, STAT64_NONE},
    {EM_NONE, "", GUEST_GENERIC, OPEN_GENERIC, MMAP_GENERIC, CLONE_TLS_LAST, false, false,
     STAT_GENERIC64, STAT64_NONE},
};
/* clang-format on */

static bool is_n32(const struct ctr_info *info)
{
    return !strncmp(info->target, "mipsn32", strlen("mipsn32"));
}

/* Whether programs have longs of 32 bits, though the processor's addresses have more. */
static bool is_narrow(const struct ctr_info *info)
{
    return !info->machine && (info->elf_machine == EM_PARISC ||
                              info->elf_machine == EM_SPARC32PLUS || is_n32(info));
}

void guest_init(struct guest *g, const struct ctr_info *info)
{
    const struct guest_abi *a = abis;

    while (a->e_machine != EM_NONE &&
           (a->e_machine != info->elf_machine ||
            strncmp(info->target, a->prefix, strlen(a->prefix)) != 0)) {
        a++;
    }
    g->abi = a;
    g->word = info->addr_bits == 32 || is_narrow(info) ? 4 : 8;
    g->wide_pairs = g->word == 8 || is_n32(info);
    g->big_endian = info->big_endian;
}

uint64_t guest_load(const struct guest *g, const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++) {
        v = v << 8 | p[g->big_endian ? i : bytes - 1 - i];
    }
    return v;
}

void guest_store(const struct guest *g, uint8_t *p, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        p[g->big_endian ? bytes - 1 - i : i] = (uint8_t)(v >> 8 * i);
    }
}
