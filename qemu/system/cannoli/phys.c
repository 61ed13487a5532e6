/*
 * Execution tracing into shared memory: physical addresses
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An access finds its physical page in the TLB, which an earlier access, or the
 * fetch of code, has filled.  So a record of each page that the TLB gets gives
 * every access its physical address, and accesses that hit the TLB cost
 * nothing.  Most fills repeat what was recorded last for their virtual page and
 * MMU index, and are left out.
 *
 * A fill happens inside an instruction, whose other accesses, and those of the
 * block before it, may have gone to another page: the record has the number of
 * the instruction.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/cputlb.h"
#include "exec/target_page.h"
#include "exec/translation-block.h"
#include "exec/exec-all.h"
#include "tcg/tcg.h"
#include "accel/tcg/cannoli/event.h"
#include "hooks.h"

/*
 * What was recorded last, by virtual page and MMU index: open addressing.  When
 * it is full the TLB is flushed, so that all that is used again is recorded
 * again; until then a block may fill more pages.
 */
#define PAGES      MEMPIPE_MOST_PAGES
#define PAGES_FULL (1u << 15)
#define PAGES_STOP (PAGES - (PAGES >> 3))

typedef struct {
    uint64_t key;  /* virtual page | MMU index; KEY_USED */
    uint64_t phys; /* physical page | CTR_PAGE_* */
} Page;

#define KEY_USED 0x10u

typedef struct CannoliPages {
    uint32_t serial; /* of the pipe */
    uint32_t used;
    Page page[PAGES];
} CannoliPages;

/* Of the fill under way on this thread, see cannoli_page_found. */
static __thread uint64_t found_phys;

static bool wanted(CPUState *cpu)
{
    return cannoli_cpu(cpu)->thread && cannoli_ctl->events & CTR_EVENTS_PHYS;
}

static void forget_all(CannoliThread *t)
{
    CannoliPages *pages = t->pages;

    memset(pages->page, 0, sizeof(pages->page));
    pages->used = 0;
    pages->serial = t->serial;
}

/* Returns false if that is what was recorded last. */
static bool note_page(CannoliThread *t, uint64_t key, uint64_t phys)
{
    CannoliPages *pages = t->pages;
    uint32_t i = (key * 0x9e3779b97f4a7c15ull) >> (64 - ctz32(PAGES));

    while (pages->page[i].key && pages->page[i].key != key) {
        i = (i + 1) % PAGES;
    }
    if (!pages->page[i].key) {
        if (pages->used == PAGES_STOP) {
            return true; /* recorded each time */
        }
        pages->page[i].key = key;
        pages->used++;
    } else if (pages->page[i].phys == phys) {
        return false;
    }
    pages->page[i].phys = phys;
    return true;
}

/*
 * The instruction of the run under way that the fill belongs to;
 * MEMPIPE_NO_INSN if there is none, as the run is over or has not begun.
 */
static uint16_t insn_of(CPUState *cpu, bool fetch, uintptr_t ra)
{
    const CannoliCPU *c = cannoli_cpu(cpu);
    const CannoliThread *t = c->thread;
    uint32_t insn = c->insn;

    if (!t->running || !t->gate.open || fetch) {
        return MEMPIPE_NO_INSN;
    }
    if (ra) {
        uint32_t at = cannoli_insn_at(ra);

        insn = at == CANNOLI_INSN_NONE ? insn : at;
    }
    insn &= CANNOLI_INSN_NUMBER;
    return insn == CANNOLI_INSN_NONE ? MEMPIPE_NO_INSN : insn;
}

static void put_page(CPUState *cpu, const struct mempipe_side_page *page)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    struct mempipe_side_page *rec;

    cannoli_slice(cpu);
    rec = cannoli_side_reserve(t, sizeof(*rec));
    *rec = *page;
    cannoli_place(cpu, &rec->p, MEMPIPE_SIDE_PAGE, sizeof(*rec));
    cannoli_side_commit(t, sizeof(*rec));
}

/*
 * Pages through which QEMU walks page tables: no instruction has such an
 * access.  Their fills are nested in another one's, whose instruction is not
 * known here.
 */
static bool is_walk(int mmu_idx)
{
#if defined(TARGET_ARM)
    return mmu_idx >= (ARMMMUIdx_Stage2_S & ARM_MMU_IDX_COREIDX_MASK);
#elif defined(TARGET_I386)
    return mmu_idx == MMU_PHYS_IDX || mmu_idx == MMU_NESTED_IDX;
#else
    return false;
#endif
}

void cannoli_page_found(uint64_t phys, bool ram, bool secure)
{
    found_phys =
        phys | (ram ? 0 : CTR_PAGE_DEVICE) | (secure ? CTR_PAGE_SECURE : 0);
}

static void record_page(CPUState *cpu, uint64_t addr, int mmu_idx, bool fetch,
                        uintptr_t ra)
{
    uint64_t page = addr & TARGET_PAGE_MASK, phys = found_phys;
    CannoliThread *t;

    t = cannoli_cpu(cpu)->thread;
    if (!t->pages || t->pages->serial != t->serial) {
        t->pages = t->pages ?: g_new(CannoliPages, 1);
        forget_all(t);
    }
    if (!note_page(t, page | KEY_USED | mmu_idx, phys)) {
        return;
    }
    if (t->pages->used >= PAGES_FULL) {
        cannoli_stop_chain(cpu);
    }
    put_page(cpu, &(struct mempipe_side_page){
                      .insn = insn_of(cpu, fetch, ra),
                      .mmu = mmu_idx,
                      .flags = phys & MEMPIPE_PAGE_FLAGS,
                      .bits = TARGET_PAGE_BITS,
                      .page = (target_ulong)page,
                      .phys = phys & TARGET_PAGE_MASK,
                  });
}

void cannoli_filled(CPUState *cpu, uint64_t addr, int mmu_idx, bool fetch,
                    uintptr_t ra)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    bool walked = c->walked;

    if (is_walk(mmu_idx)) {
        return;
    }
    c->walked = false;
    if (wanted(cpu)) {
        record_page(cpu, addr, mmu_idx, fetch, ra);
    }
    /*
     * The walk over the page tables wrote to memory: that was after the
     * instructions before this one, which begins again.
     */
    if (walked && ra && !fetch && c->thread->running &&
        in_code_gen_buffer((void *)(ra - tcg_splitwx_diff))) {
        cpu_restore_state(cpu, ra);
        cpu_loop_exit_noexc(cpu);
    }
}

void cannoli_pages_enter(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (t->pages && t->pages->used >= PAGES_FULL) {
        forget_all(t);
        tlb_flush(cpu);
        put_page(cpu, &(struct mempipe_side_page){
                          .insn = MEMPIPE_NO_INSN,
                          .flags = MEMPIPE_PAGE_FORGET,
                          .bits = TARGET_PAGE_BITS,
                      });
    }
}
