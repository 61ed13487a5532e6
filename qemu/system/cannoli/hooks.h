/*
 * Execution tracing into shared memory: the hooks of system emulation
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * exec/cannoli.h explains hooks; those for translated code are there.
 */
#ifndef SYSTEM_CANNOLI_HOOKS_H
#define SYSTEM_CANNOLI_HOOKS_H

#include "exec/cannoli.h"

/* In conditions, which are not there when it is off: */
#ifdef CONFIG_USER_ONLY
#define cannoli_machine_on()       false
#define cannoli_refuse_mttcg(errp) false
#define cannoli_clock_lags()       false
#else
/* Is a machine recorded?  Then one host thread runs all vCPUs by default. */
#define cannoli_machine_on() cannoli_on
/*
 * For accel's property thread=multi: does the recorder expect an order of all
 * vCPUs?  Then it sets errp.
 */
bool cannoli_refuse_mttcg(Error **errp);
/*
 * With icount, before the virtual clock is moved on because all vCPUs wait: is
 * there one of which not all instructions are counted yet?  The clock would be
 * moved too far.  It is looked at again when the vCPU waits for events.
 */
bool cannoli_clock_lags(void);
#endif

#if defined(CONFIG_CANNOLI) && !defined(CONFIG_USER_ONLY)

#include "cannoli/events.h"

/*
 * QEMU_CANNOLI of the environment: map what the recorder has laid out.  Before
 * TCG is initialised.
 */
void cannoli_open_machine(void);

/*
 * An exception or an interrupt may be delivered now; it was delivered, by
 * do_interrupt or cpu_exec_interrupt.
 */
void cannoli_interrupt(CPUState *cpu);
void cannoli_interrupted(CPUState *cpu);

/*
 * i386: what is delivered.  next: the address of the next instruction, if an
 * instruction requested it.
 */
void cannoli_interrupt_vector(CPUState *cpu, int number, bool requested,
                              uint64_t error_code, uint64_t next,
                              bool hardware);

/*
 * First and last in the helper of an instruction that returns from an
 * exception, or that enters the kernel (number: CTR_INT_*; return_pc: where
 * that returns to, 0 if the processor does not know).  It ends its block, and
 * the block the chain of blocks.
 */
void cannoli_transition_begin(CPUState *cpu, uint64_t return_pc);
#define cannoli_interrupt_return(cpu) \
    ((cpu)->neg.cannoli.transition = CANNOLI_RETURN)
#define cannoli_kernel_entry(cpu, number) \
    ((cpu)->neg.cannoli.transition = (number))
#define CANNOLI_RETURN 0xffff

/* Devices, or the vCPU's own timers, may have written registers of it. */
void cannoli_device_wrote(CPUState *cpu);

/* The vCPU may run, wait or be off now. */
void cannoli_power(CPUState *cpu);

/* The TLB forgets a page: so do indirect jumps (accel/tcg/cannoli/jump.c). */
void cannoli_forget_page(CPUState *cpu, uint64_t page);

/*
 * The TLB gets a page, with what was found for it: the physical address of a
 * page, whether it is memory.  ra: the return address of the access in
 * translated code, 0 if it is not known; fetch: it was no access.
 */
void cannoli_page_found(uint64_t phys, bool ram, bool secure);
void cannoli_filled(CPUState *cpu, uint64_t addr, int mmu_idx, bool fetch,
                    uintptr_t ra);
/*
 * CannoliCPU.insn of the instruction at a return address, CANNOLI_INSN_NONE if
 * it is not in translated code.  It is defined in translate-all.c, which
 * decodes where each instruction's code is.
 */
uint32_t cannoli_insn_at(uintptr_t ra);
#define CANNOLI_DEFINE_INSN_AT \
    uint32_t cannoli_insn_at(uintptr_t ra) \
    { \
        uint64_t data[TARGET_INSN_START_WORDS]; \
        bool inside = in_code_gen_buffer((void *)(ra - tcg_splitwx_diff)); \
        TranslationBlock *tb = inside ? tcg_tb_lookup(ra) : NULL; \
        int left = tb ? cpu_unwind_data_from_tb(tb, ra, data) : -1; \
        return left < 0 ? CANNOLI_INSN_NONE \
                        : cannoli_insn_in(tb->cannoli, tb->icount - left); \
    }

/*
 * To the end of this scope a block is translated; other vCPUs wait meanwhile.
 * The scope may also be left by longjmp.
 */
#define CANNOLI_TRANSLATION \
    __attribute__((cleanup(cannoli_translated), \
                   unused)) bool cannoli_translating = cannoli_translate();
bool cannoli_translate(void);
void cannoli_translated(bool *unused);

/* The vCPU is removed. */
void cannoli_vcpu_end(CPUState *cpu);

#else /* CONFIG_CANNOLI */

#define cannoli_open_machine()
#define cannoli_interrupt(cpu)
#define cannoli_interrupted(cpu)
#define cannoli_interrupt_vector(cpu, number, requested, error_code, next, \
                                 hardware)
#define cannoli_transition_begin(cpu, return_pc)
#define cannoli_interrupt_return(cpu)
#define cannoli_kernel_entry(cpu, number)
#define cannoli_vcpu_end(cpu)
#define cannoli_device_wrote(cpu)
#define cannoli_power(cpu)
#define cannoli_forget_page(cpu, page)
#define cannoli_page_found(phys, ram, secure)
#define cannoli_filled(cpu, addr, mmu_idx, fetch, ra)

#endif /* CONFIG_CANNOLI */

#ifndef CANNOLI_DEFINE_INSN_AT
#define CANNOLI_DEFINE_INSN_AT
#endif
#ifndef CANNOLI_TRANSLATION
#define CANNOLI_TRANSLATION
#endif

#endif
