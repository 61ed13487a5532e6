/*
 * Execution tracing into shared memory: helpers that work on host memory
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Some helpers of the targets look a guest address up once (probe_access and
 * kin) and then read and write host memory, which common code does not see.
 * They call these functions after each piece.  Only the form of an address
 * depends on the target here, so that system emulation compiles this file, too.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "cpu.h"
#include "exec/cpu_ldst.h"
#include "exec/exec-all.h"
#include "exec/cannoli.h"

/*
 * As translated code has it.  User-mode emulation removes the tag: see
 * useronly_clean_ptr.
 */
static uint64_t clean(uint64_t addr)
{
#if defined(TARGET_AARCH64) && defined(CONFIG_USER_ONLY)
    addr &= sextract64(addr, 0, 56);
#endif
    return (target_ulong)addr;
}

static void record(CPUArchState *env, uint64_t addr, uint64_t size, bool store)
{
    cannoli_access(env_cpu(env), clean(addr), size, store, clean(addr));
}

void cannoli_ld(CPUArchState *env, uint64_t addr, uint64_t size)
{
    record(env, addr, size, false);
}

void cannoli_st(CPUArchState *env, uint64_t addr, uint64_t size)
{
    record(env, addr, size, true);
}

/* The bytes loaded or stored end at the host address @end. */
static void until(CPUArchState *env, uint64_t addr, const void *end, bool store)
{
    CPUState *cpu = env_cpu(env);
#ifdef CONFIG_USER_ONLY
    const void *begin = g2h(cpu, addr);
#else
    /* The TLB has it: the helper has just found it there. */
    const void *begin =
        tlb_vaddr_to_host(env, addr, MMU_DATA_LOAD, cpu_mmu_index(cpu, false));
#endif

    if (begin) {
        record(env, addr, end - begin, store);
    }
}

void cannoli_ld_until(CPUArchState *env, uint64_t addr, const void *end)
{
    until(env, addr, end, false);
}

void cannoli_st_until(CPUArchState *env, uint64_t addr, const void *end)
{
    until(env, addr, end, true);
}

/* For an atomic operation: another thread may have stored there since. */
void cannoli_st_bytes(CPUArchState *env, uint64_t addr, uint32_t size,
                      const void *bytes)
{
    cannoli_access_bytes(env_cpu(env), clean(addr), size, true, bytes);
}

void cannoli_ldst(CPUArchState *env, uint64_t addr, uint64_t size, bool is_load)
{
    record(env, addr, size, !is_load);
}

/* What was loaded may be overwritten by now; read it where it was stored. */
void cannoli_copy(CPUArchState *env, uint64_t to, uint64_t from, uint64_t size)
{
    cannoli_access(env_cpu(env), clean(from), size, false, clean(to));
    record(env, to, size, true);
}

void cannoli_copy_rev(CPUArchState *env, uint64_t to, uint64_t from,
                      uint64_t size)
{
    cannoli_copy(env, to - (size - 1), from - (size - 1), size);
}

/*
 * For a load in a return statement: to be called before it, so it makes the
 * access that may fault.  The caller does not use host memory when @host is
 * NULL.
 */
void cannoli_load(CPUArchState *env, uint64_t addr, const void *host,
                  uint64_t offset, uint64_t size)
{
    const uint8_t *p = host;

    if (p) {
        (void)*(const volatile uint8_t *)(p + offset);
        (void)*(const volatile uint8_t *)(p + offset + size - 1);
        record(env, addr + offset, size, false);
    }
}

/*
 * Elements of a vector that lie side by side at @addr, in memory of @msize
 * bytes each, in the register of 1 << @esz.  @active has a bit for each byte of
 * the register; @first and @last are offsets in it.  Neighbours make one
 * access.
 */
void cannoli_vec(CPUArchState *env, const uint64_t *active, uint64_t addr,
                 int first, int last, int esz, int msize, bool store)
{
    uint64_t begin = 0, size = 0;

    for (int i = first; i <= last; i += 1 << esz) {
        if ((active[i >> 6] >> (i & 63)) & 1) {
            if (!size) {
                begin = addr + (uint64_t)(i >> esz) * msize;
            }
            size += msize;
        } else if (size) {
            record(env, begin, size, store);
            size = 0;
        }
    }
    record(env, begin, size, store);
}

/*
 * The helper leaves in the middle of an instruction whose progress is in the
 * guest's registers: it continues as a separate instruction, and what was done
 * so far remains done.
 */
void cannoli_partial(CPUState *cpu)
{
#ifdef CONFIG_USER_ONLY
    cpu->neg.cannoli.partial = true;
#endif
}
