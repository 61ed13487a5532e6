/*
 * Execution tracing into shared memory: not for bsd-user
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "tcg/tcg.h"
#include "tcg/tcg-ldst.h"
#include "exec/cannoli.h"

bool cannoli_on;
bool cannoli_clocks;
bool cannoli_expanding;
bool cannoli_values;
bool cannoli_once_on;

int cannoli_fixed;
const int cannoli_words_off;

int cannoli_fixed_wanted(void)
{
    return 0;
}

uint64_t cannoli_clock(uint64_t value)
{
    return value;
}

void cannoli_tcg_init(void *words, void *data)
{
}

void cannoli_set_limit(struct CPUState *cpu)
{
}

void cannoli_tb_start(struct DisasContextBase *db)
{
}

void cannoli_insn_start(struct DisasContextBase *db)
{
}

void cannoli_note_pair(bool swap)
{
}

void cannoli_note_swap(bool swap)
{
}

bool cannoli_cas_i32(TCGv_i32 ret, TCGTemp *addr, TCGv_i32 cmp, TCGv_i32 new,
                     uint64_t idx, unsigned memop)
{
    return false;
}

bool cannoli_cas_i64(TCGv_i64 ret, TCGTemp *addr, TCGv_i64 cmp, TCGv_i64 new,
                     uint64_t idx, unsigned memop)
{
    return false;
}

bool cannoli_cas_i128(TCGv_i128 ret, TCGTemp *addr, TCGv_i128 cmp,
                      TCGv_i128 new, uint64_t idx, unsigned memop)
{
    return false;
}

void cannoli_tb_end(struct CPUState *cpu, struct DisasContextBase *db)
{
}

void cannoli_publish(struct CPUState *cpu, struct TranslationBlock *tb)
{
}

void cannoli_max_insns(int *max_insns)
{
}

struct TranslationBlock *cannoli_once_find_fresh(struct TranslationBlock *tb)
{
    return tb;
}

bool cannoli_gen_jump(struct TCGv_ptr_d *to)
{
    return false;
}

void cannoli_forget_jump(struct CPUState *cpu,
                         const struct TranslationBlock *tb)
{
}

void cannoli_flushed(void)
{
}

void cannoli_forget_jumps(struct CPUState *cpu)
{
}

void cannoli_enter(struct CPUState *cpu, const struct TranslationBlock *tb)
{
}

void cannoli_leave(struct CPUState *cpu, const struct TranslationBlock *tb,
                   int tb_exit)
{
}

void cannoli_cpu_enter(struct CPUState *cpu)
{
}

void cannoli_cpu_exit(struct CPUState *cpu)
{
}

void cannoli_restored(struct CPUState *cpu, const struct TranslationBlock *tb,
                      int insn)
{
}

void cannoli_loop_exit(struct CPUState *cpu)
{
}

void cannoli_access(struct CPUState *cpu, uint64_t addr, uint64_t size,
                    bool store, uint64_t data)
{
}

void cannoli_access_bytes(struct CPUState *cpu, uint64_t addr, uint32_t size,
                          bool store, const void *bytes)
{
}

void cannoli_access_oi(struct CPUState *cpu, uint64_t addr, uint32_t oi,
                       bool store, uint64_t low, uint64_t high)
{
}

void cannoli_rmw(struct CPUState *cpu, uint64_t addr, uint32_t oi,
                 const void *old, const void *new)
{
}

void cannoli_cmpxchg(struct CPUState *cpu, uint64_t addr, uint32_t oi,
                     const void *old, const void *want, const void *new)
{
}

Int128 cannoli_ld_i128(CPUArchState *env, uint64_t addr, uint32_t oi,
                       uintptr_t ra)
{
    return helper_ld16_mmu(env, addr, oi, ra);
}
