/*
 * Execution tracing into shared memory: where an indirect jump goes
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A guest can spend half its time finding the block that an indirect jump goes
 * to.  While tracing is on, translated code calls this file instead of
 * helper_lookup_tb_ptr.  Each thread caches the results of that function
 * together with everything that they depend on: a lookup reads half a cache
 * line and does not touch TranslationBlock itself.  This saves about as much
 * time as the events of blocks cost.
 *
 * Only the thread itself uses and fills its cache.  Code that invalidates a
 * block removes it from the caches of all threads, as from CPUJumpCache; and as
 * there, what a machine's TLB forgets of a page is removed.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/cpu-common.h"
#include "exec/exec-all.h"
#include "exec/helper-proto-common.h"
#include "exec/log.h"
#include "exec/translation-block.h"
#include "tcg/tcg.h"
#include "tcg/tcg-temp-internal.h"
#include "tcg/tcg-op-common.h"
#include "tcg/helper-info.h"
#include "exec/helper-head.h.inc"
#include "pass.h"
#include "system/cannoli/hooks.h"
#include "accel/tcg/internal-common.h"
#include "accel/tcg/tb-hash.h"

typedef struct CannoliJump {
    const void *code; /* of the block; NULL: none is known */
    uint64_t pc;
    uint64_t cs_base;
    uint32_t flags;
    uint32_t cflags;
} CannoliJump;

/* As many entries as CPUJumpCache has, and with its hash. */
#define NR_JUMPS TB_JMP_CACHE_SIZE

CannoliJump *cannoli_make_jumps(CannoliJump *old)
{
    if (old) {
        memset(old, 0, NR_JUMPS * sizeof(*old));
        return old;
    }
    old = cannoli_alloc((NR_JUMPS + 1) * sizeof(*old));
    return (void *)ROUND_UP((uintptr_t)old, sizeof(*old));
}

void cannoli_forget_jump(CPUState *cpu, const TranslationBlock *tb)
{
    CannoliJump *jumps = qatomic_read(&cannoli_cpu(cpu)->jumps), *j;

    if (!jumps) {
        return;
    }
    j = &jumps[tb_jmp_cache_hash_func(tb->pc)];
    /* Pairs with the barrier after an entry is filled: CF_INVALID is set. */
    smp_mb();
    if (qatomic_read(&j->code) == tb->tc.ptr) {
        qatomic_set(&j->code, NULL);
    }
}

void cannoli_forget_jumps(CPUState *cpu)
{
    CannoliJump *jumps = qatomic_read(&cannoli_cpu(cpu)->jumps);

    for (int i = 0; jumps && i < NR_JUMPS; i++) {
        /* Do not touch pages that were never used. */
        if (qatomic_read(&jumps[i].code)) {
            qatomic_set(&jumps[i].code, NULL);
        }
    }
}

#ifndef CONFIG_USER_ONLY
void cannoli_forget_page(CPUState *cpu, uint64_t page)
{
    CannoliJump *jumps = cannoli_cpu(cpu)->jumps;

    if (jumps) {
        jumps += tb_jmp_cache_hash_page(page);
        for (int i = 0; i < TB_JMP_PAGE_SIZE; i++) {
            if (qatomic_read(&jumps[i].code)) {
                qatomic_set(&jumps[i].code, NULL);
            }
        }
    }
}
#endif

/*
 * Does QEMU do something at each block, or with one instruction at a time?  For
 * a program that is as at its start, in a machine the monitor can change it.
 */
static bool watched(void)
{
    return qatomic_read(&one_insn_per_tb) ||
           qemu_loglevel_mask(CPU_LOG_EXEC | CPU_LOG_TB_CPU |
                              CPU_LOG_TB_NOCHAIN);
}

#ifdef CONFIG_USER_ONLY
#define now_watched() false
#else
#define now_watched() watched()
#endif

static __attribute__((noinline)) const void *
query_qemu(CPUArchState *env, vaddr pc, uint64_t cs_base, uint32_t flags)
{
    CPUState *cpu = env_cpu(env);
    const void *code = helper_lookup_tb_ptr(env);
    unsigned h = tb_jmp_cache_hash_func(pc);
    TranslationBlock *tb = qatomic_read(&cpu->tb_jmp_cache->array[h].tb);
    CannoliJump *jumps = cannoli_cpu(cpu)->jumps;

    /* Not the epilogue, and for exactly this state */
    if (jumps && tb && tb->tc.ptr == code) {
        qatomic_set(&jumps[h].code, NULL);
        jumps[h].pc = pc;
        jumps[h].cs_base = cs_base;
        jumps[h].flags = flags;
        jumps[h].cflags = tb_cflags(tb);
        qatomic_set(&jumps[h].code, code);
        /*
         * Either we see that the block is invalid, or the code that invalidates
         * it sees our entry.
         */
        smp_mb();
        if (tb_cflags(tb) & CF_INVALID) {
            qatomic_set(&jumps[h].code, NULL);
        }
    }
    return code;
}

/*
 * A guard of the stack, variables set to 0 before they are written and
 * registers cleared at the end would cost a third of what is saved.
 */
#if __has_attribute(no_stack_protector)
#define NO_GUARD __attribute__((no_stack_protector))
#else
#define NO_GUARD
#endif
#if __has_attribute(zero_call_used_regs)
#define NO_CLEARING __attribute__((zero_call_used_regs("skip")))
#else
#define NO_CLEARING
#endif
#if __has_attribute(uninitialized)
#define UNSET __attribute__((uninitialized))
#else
#define UNSET
#endif

static NO_GUARD NO_CLEARING const void *helper_cannoli_jump(CPUArchState *env)
{
    CPUState *cpu = env_cpu(env);
    CannoliCPU *c = cannoli_cpu(cpu);
    const CannoliJump *j;
    const void *code;
    UNSET uint64_t cs_base;
    UNSET uint32_t flags;
    UNSET vaddr pc;

    cpu_get_tb_cpu_state(env, &pc, &cs_base, &flags);
    if (likely(c->jumps)) {
        j = &c->jumps[tb_jmp_cache_hash_func(pc)];
        code = qatomic_read(&j->code);
        /* For what else QEMU checks see cannoli_gen_jump. */
        if (likely(code && j->pc == pc && j->cs_base == cs_base &&
                   j->flags == flags && j->cflags == cpu->tcg_cflags &&
                   !c->once && !cpu->singlestep_enabled &&
                   QTAILQ_EMPTY(&cpu->breakpoints) && !now_watched())) {
            return code;
        }
    }
    return query_qemu(env, pc, cs_base, flags);
}

static TCGHelperInfo info_jump = {
    .func = helper_cannoli_jump,
    .name = "cannoli_jump",
    .flags = TCG_CALL_NO_WG_SE,
    .typemask = dh_typemask(cptr, 0) | dh_typemask(env, 1),
};

bool cannoli_gen_jump(TCGv_ptr to)
{
    if (!cannoli_on || watched()) {
        return false;
    }
    tcg_gen_call1(helper_cannoli_jump, &info_jump, tcgv_ptr_temp(to),
                  tcgv_ptr_temp(tcg_env));
    return true;
}

bool cannoli_finds_jump(const void *helper)
{
    return helper == helper_lookup_tb_ptr || helper == helper_cannoli_jump;
}
