/*
 * Execution tracing into shared memory: what happens at run time
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Exits from the middle of a block and accesses made by helpers; see pass.c.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "cpu.h"
#include "exec/translation-block.h"
#include "exec/memopidx.h"
#include "exec/cpu_ldst.h"
#include "tcg/tcg.h"
#include "tcg/tcg-ldst.h"
#include "regs.h"

/*
 * ---- the dictionary: a block stays defined until all code is flushed
 * (epoch.c) ----
 */

static struct {
    CannoliBlock **slots; /* open addressing, a power of two */
    uint32_t size, used;
} dict;
static CannoliBlock *pending; /* translated, not yet known to be kept */
static uint8_t *pending_buf;  /* where its content is kept until then */
static uint32_t spare_id;     /* taken from the counter, not published */

/*
 * With coverage, definitions are permanent: a block that was recorded must be
 * recognised when it is translated again.
 */
static void *dict_alloc(size_t bytes)
{
    return cannoli_coverage ? cannoli_alloc(bytes)
                            : cannoli_alloc_passing(bytes);
}

uint32_t cannoli_hash(const uint8_t *p, uint32_t bytes)
{
    uint64_t h = 0xcbf29ce484222325ull;
    uint32_t i;

    /* FNV-1a (Fowler, Noll, Vo), eight bytes at a time */
    for (i = 0; i + 8 <= bytes; i += 8) {
        h = (h ^ ldq_he_p(p + i)) * 0x100000001b3ull;
        h ^= h >> 29;
    }
    for (; i < bytes; i++) {
        h = (h ^ p[i]) * 0x100000001b3ull;
    }
    return h ^ (h >> 32);
}

static void dict_insert(CannoliBlock *b)
{
    uint32_t i = b->hash;

    while (dict.slots[i & (dict.size - 1)]) {
        i++;
    }
    dict.slots[i & (dict.size - 1)] = b;
}

static void dict_add(CannoliBlock *b)
{
    if (dict.used * 2 >= dict.size) {
        CannoliBlock **old = dict.slots;
        uint32_t old_size = dict.size;

        dict.size = MAX(16 * 1024, old_size * 2);
        dict.slots = dict_alloc(dict.size * sizeof(*dict.slots));
        for (uint32_t i = 0; i < old_size; i++) {
            if (old[i]) {
                dict_insert(old[i]);
            }
        }
    }
    dict_insert(b);
    dict.used++;
}

CannoliBlock *cannoli_dict_find(const uint8_t *all, uint32_t def_bytes,
                                uint32_t all_bytes, uint16_t ninsn)
{
    uint32_t hash = cannoli_hash(all, all_bytes);
    CannoliBlock *b;

    for (uint32_t i = hash; dict.size; i++) {
        b = dict.slots[i & (dict.size - 1)];
        if (!b) {
            break;
        }
        if (b->hash == hash && b->all_bytes == all_bytes &&
            b->def_bytes == def_bytes && !memcmp(b->all, all, all_bytes)) {
            return b;
        }
    }
    /* One left over from an abandoned translation is reused. */
    b = pending ? pending : dict_alloc(sizeof(*b));
    if (!spare_id) {
        spare_id = cannoli_new_id();
    }
    if (!pending_buf) {
        pending_buf = cannoli_alloc(CANNOLI_MAX_CONTENT);
    }
    memcpy(pending_buf, all, all_bytes);
    *b = (CannoliBlock){
        .id = spare_id,
        .hash = hash,
        .ninsn = ninsn,
        .def_bytes = def_bytes,
        .all_bytes = all_bytes,
        .all = pending_buf,
    };
    pending = b;
    return b;
}

void cannoli_dict_forked(void)
{
    /* The parent may use the reserved id for another block. */
    spare_id = 0;
    pending = NULL;
}

void cannoli_dict_flushed(bool keep_id)
{
    memset(&dict, 0, sizeof(dict));
    pending = NULL;
    if (!keep_id) {
        spare_id = 0;
    }
}

/* The block's code is about to become visible: publish its definition. */
void cannoli_publish(CPUState *cpu, TranslationBlock *tb)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    CannoliBlock *b = pending;
    struct mempipe_side_block *rec;
    uint32_t bytes;

    if (!cannoli_on || !b || tb->cannoli != b) {
        return;
    }
    pending = NULL;
    spare_id = 0;
    b->all = dict_alloc(b->all_bytes);
    memcpy(b->all, pending_buf, b->all_bytes);
    dict_add(b);
    if (!t) {
        return;
    }
    bytes = ROUND_UP(sizeof(*rec) + b->def_bytes, 8);
    rec = cannoli_side_reserve(t, bytes);
    rec->h.bytes = bytes;
    rec->h.type = MEMPIPE_SIDE_BLOCK;
    rec->id = b->id;
    rec->def_bytes = b->def_bytes;
    rec->epoch = cannoli_epoch;
    rec->zero = 0;
    memcpy(rec + 1, b->all, b->def_bytes);
    cannoli_side_commit(t, bytes);
    cannoli_epoch_defined(cpu);
}

/* ---- at run time ---- */

uint32_t cannoli_unit_count(CPUState *cpu)
{
    CannoliCPU *c = cannoli_cpu(cpu);

    return (c->thread->end - (uint8_t *)c->data) / CANNOLI_ADDR_BYTES;
}

void cannoli_place(CPUState *cpu, struct mempipe_side_place *place,
                   uint32_t type, uint32_t bytes)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = c->thread;

    place->h.bytes = bytes;
    place->h.type = type;
    place->seq = t->seq;
    place->words = ((uint8_t *)c->words - t->base) / 4;
    place->units = cannoli_unit_count(cpu);
    place->n = 0;
    t->placed += bytes;
    if (t->placed >= CANNOLI_MAX_PLACED) {
        /* The next block leaves before it runs, see cannoli_leave. */
        cannoli_stop_chain(cpu);
    }
}

uint32_t cannoli_insn_in(const CannoliBlock *b, unsigned insn)
{
    uint32_t words = b ? b->def_bytes + b->ninsn * 4 : 0;

    if (!b) {
        return CANNOLI_INSN_NONE;
    }
    if (words == b->all_bytes) {
        return insn | CANNOLI_INSN_ALL;
    }
    return ldl_he_p(b->all + words + insn * 4);
}

void cannoli_restored(CPUState *cpu, const TranslationBlock *tb, int insn)
{
    CannoliCPU *c = cannoli_cpu(cpu);

    if (c->thread) {
        c->insn = cannoli_insn_in(tb->cannoli, insn);
        c->unwound = tb->cannoli;
        c->unwound_words = c->words;
        cannoli_gate_restored(cpu, tb, insn);
    }
}

void cannoli_fault_addr(CPUState *cpu, uint64_t addr, bool known, bool write)
{
    CannoliCPU *c = cannoli_cpu(cpu);

    c->fault_addr = addr;
    c->fault_addr_valid = known;
    c->fault_write = write;
}

/*
 * Does the instruction that was left run again, as if it had not begun?  In
 * system emulation EXCP_DEBUG from inside a block is a watchpoint that stops
 * before the access, for which the state was restored; or a breakpoint where an
 * indirect jump goes, which is done.
 */
static bool starts_again(const CannoliCPU *c, int exception)
{
#ifndef CONFIG_USER_ONLY
    if (exception == EXCP_DEBUG) {
        return c->unwound && c->unwound_words == c->words;
    }
#endif
    return exception == EXCP_ATOMIC || exception == -1;
}

/* Every exit from translated code by longjmp passes here. */
void cannoli_loop_exit(CPUState *cpu)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = c->thread;
    bool restart =
        !c->partial && !c->transition && starts_again(c, cpu->exception_index);
    uint32_t insn = c->insn & CANNOLI_INSN_NUMBER;
    const CannoliBlock *b = c->block;
    int derived = -1;

    cannoli_gate_left(cpu, restart);
#ifndef CONFIG_USER_ONLY
    cannoli_devices_left();
    cannoli_translation_left();
    if (cpu_in_exclusive_context(cpu)) {
        /* cpu_exec_step_atomic returns without cannoli_cpu_exit. */
        cannoli_turn_executes(false);
    }
#endif
    if (!t || !t->running) {
        return;
    }
    if (!t->gate.open) {
        goto closed;
    }
    if (insn == CANNOLI_INSN_NONE || (c->insn & CANNOLI_INSN_UNRECORDED)) {
        if (insn != CANNOLI_INSN_NONE) {
            cannoli_word(c, CTR_WORD_LEFT | insn);
            cannoli_word(c, cannoli_unit_count(cpu));
        }
        restart = true;
        goto out;
    }
    if (c->unwound && c->unwound_words == c->words) {
        b = c->unwound;
        if (insn < c->unwound->ninsn && !(c->insn & CANNOLI_INSN_LAST)) {
            derived = cannoli_settle(cpu, b, insn, restart);
        }
    }
    if (!restart) {
        cannoli_regs_left(cpu, b, insn, false);
    }
    if (restart || c->fault || !(c->insn & CANNOLI_INSN_LAST)) {
        uint32_t flags = restart    ? CTR_LEFT_RESTART
                         : c->fault ? CTR_LEFT_FAULTED
                                    : 0;

        if (derived >= 0 && !restart) {
            flags |= CTR_LEFT_DERIVED;
        }
        cannoli_word(c, CTR_WORD_LEFT | flags << 16 | (insn + 1));
        cannoli_word(c, cannoli_unit_count(cpu));
        if (flags & CTR_LEFT_DERIVED) {
            cannoli_word(c, derived);
        }
    }
    if (restart) {
        cannoli_regs_left(cpu, b, insn, true);
    }
out:
    cannoli_regs_loop_exit(cpu);
    t->left = !restart;
closed:
    if (cannoli_choosing) {
        c->insn = CANNOLI_INSN_NONE;
    }
    c->unwound = NULL;
    c->fault = false;
    c->fault_addr_valid = false;
    c->partial = false;
    cannoli_leave(cpu, NULL, 0);
}

/* A synchronous signal: for the instruction that is running, or ran last. */
void cannoli_fault(CPUState *cpu)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = c->thread;

    if (!t) {
        return;
    }
    if (t->running) {
        c->fault = true;
    } else if (t->left) {
        cannoli_word(c, CTR_WORD_FAULT);
        t->left = false;
        t->pipe->quiet_words++;
    }
}

/* ---- accesses made by helpers, after the fact ---- */

/*
 * Guest memory that a helper has just accessed; false: it cannot be known.  If
 * another thread has unmapped it meanwhile, zeros are recorded.
 */
static bool read_guest(CPUState *cpu, void *to, uint64_t addr, uint32_t size)
{
#ifdef CONFIG_USER_ONLY
    CannoliCPU *c = cannoli_cpu(cpu);
    sigjmp_buf vanished;

    if (sigsetjmp(vanished, 0)) {
        memset(to, 0, size);
    } else {
        c->vanished = &vanished;
        barrier();
        memcpy(to, g2h(cpu, addr), size);
        barrier();
    }
    c->vanished = NULL;
#else
    int idx = cpu_mmu_index(cpu, false);

    while (size) {
        uint32_t n = MIN(size, -(addr | TARGET_PAGE_MASK));
        const void *host =
            tlb_vaddr_to_host(cpu_env(cpu), addr, MMU_DATA_LOAD, idx);

        if (!host) {
            return false;
        }
        memcpy(to, host, n);
        to = (uint8_t *)to + n;
        addr += n;
        size -= n;
    }
#endif
    return true;
}

/*
 * Before a record is begun: what read_guest needs is in the TLB, as filling it
 * makes a record of its own.
 */
static void prepare_read(CPUState *cpu, uint64_t addr, uint64_t size)
{
#ifndef CONFIG_USER_ONLY
    int idx = cpu_mmu_index(cpu, false);

    uint64_t end = addr + size;

    for (; cannoli_values && addr < end;
         addr = (addr & TARGET_PAGE_MASK) + TARGET_PAGE_SIZE) {
        tlb_vaddr_to_host(cpu_env(cpu), addr, MMU_DATA_LOAD, idx);
    }
#endif
}

/* Translated code has raised a signal. */
void cannoli_read_fixed(CPUState *cpu, uintptr_t words, uintptr_t data)
{
    CannoliCPU *c = cannoli_cpu(cpu);

    c->words = (void *)words;
    if (cannoli_fixed > 1) {
        c->data = (void *)data;
    }
}

/* From the handler of SIGSEGV and SIGBUS. */
void cannoli_vanished(CPUState *cpu, void *mask)
{
    CannoliCPU *c = cannoli_cpu(cpu);

    if (c->vanished) {
        sigprocmask(SIG_SETMASK, mask, NULL);
        siglongjmp(*c->vanished, 1);
    }
}

/* Where nothing is recorded, a test of `insn' is enough. */
static bool records_accesses(const CannoliCPU *c, bool store)
{
    return (c->insn & (store ? CANNOLI_INSN_STORES : CANNOLI_INSN_LOADS)) &&
           c->thread && c->thread->running && c->thread->gate.open &&
           !cannoli_ctl->discard && (cannoli_ctl->events & CTR_EVENTS_MEM);
}

/*
 * The MMU index of helpers' accesses that do not name one.  Those of s390x also
 * work on address spaces that are not the code's: none is right for all, so
 * they get one that has no pages.
 */
static int default_mmu(CPUState *cpu)
{
#ifdef CONFIG_USER_ONLY
    return 0;
#elif defined(TARGET_S390X)
    return CTR_MMUS - 1;
#else
    return cpu_mmu_index(cpu, false);
#endif
}

#define CODES_MMU (-1) /* the MMU index of what runs */

/* A store that no instruction makes is no access, but changes memory. */
static void note_outside(CPUState *cpu, uint64_t addr, uint64_t size,
                         bool store, int mmu)
{
#ifndef CONFIG_USER_ONLY
    const CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (store && t && !t->running) {
        mmu = mmu == CODES_MMU ? cpu_mmu_index(cpu, false) : mmu;
        cannoli_wrote_outside(cpu, addr, size, mmu);
    }
#endif
}

/* Begin the record of an access; its `size' bytes of data follow it. */
static struct mempipe_side_access *begin_access(CPUState *cpu, uint64_t addr,
                                                uint32_t size, bool store,
                                                bool big_endian, int mmu)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    bool values =
        cannoli_values &&
        (c->insn & (store ? CANNOLI_INSN_STORED : CANNOLI_INSN_LOADED));
    uint32_t n = values ? size : 0;
    uint32_t bytes = sizeof(struct mempipe_side_access) + ROUND_UP(n, 8);
    struct mempipe_side_access *rec = cannoli_side_reserve(c->thread, bytes);

    cannoli_place(cpu, &rec->p, MEMPIPE_SIDE_ACCESS, bytes);
    rec->p.n = n;
    rec->insn = c->insn;
    rec->flags = (store ? MEMPIPE_ACCESS_STORE : 0) |
                 (big_endian ? MEMPIPE_ACCESS_BE : 0);
    rec->mmu = cannoli_ctl->events & CTR_EVENTS_PHYS ? mmu : 0;
    rec->size = size;
    rec->addr = addr;
    return rec;
}

void cannoli_access(CPUState *cpu, uint64_t addr, uint64_t size, bool store,
                    uint64_t data)
{
    const CannoliCPU *c = cannoli_cpu(cpu);
    struct mempipe_side_access *rec;

    note_outside(cpu, addr, size, store, CODES_MMU);
    if (!records_accesses(c, store)) {
        return;
    }
    while (size) {
        uint32_t piece = MIN(size, CANNOLI_MAX_ACCESS);

        prepare_read(cpu, data, piece);
        rec = begin_access(cpu, addr, piece, store, TARGET_BIG_ENDIAN,
                           default_mmu(cpu));
        if (!read_guest(cpu, rec + 1, data, rec->p.n)) {
            rec->p.n = 0;
        }
        cannoli_side_commit(c->thread, rec->p.h.bytes);
        addr += piece;
        data += piece;
        size -= piece;
    }
}

/* @bytes: not more than CANNOLI_MAX_ACCESS. */
void cannoli_access_bytes(CPUState *cpu, uint64_t addr, uint32_t size,
                          bool store, const void *bytes)
{
    const CannoliCPU *c = cannoli_cpu(cpu);
    struct mempipe_side_access *rec;

    note_outside(cpu, addr, size, store, CODES_MMU);
    if (records_accesses(c, store)) {
        rec = begin_access(cpu, addr, size, store, TARGET_BIG_ENDIAN,
                           default_mmu(cpu));
        memcpy(rec + 1, bytes, rec->p.n);
        cannoli_side_commit(c->thread, rec->p.h.bytes);
    }
}

/* @data: `size' bytes as they are in memory. */
static void access_oi(CPUState *cpu, uint64_t addr, uint32_t oi, bool store,
                      const void *data)
{
    const CannoliCPU *c = cannoli_cpu(cpu);
    MemOp mop = get_memop(oi);
    struct mempipe_side_access *rec;

    if (records_accesses(c, store)) {
        bool big_endian =
            memop_size(mop) > 1
                ? ((mop & MO_BSWAP) ? !HOST_BIG_ENDIAN : HOST_BIG_ENDIAN)
                : TARGET_BIG_ENDIAN;

        rec = begin_access(cpu, addr, memop_size(mop), store, big_endian,
                           get_mmuidx(oi));
        memcpy(rec + 1, data, rec->p.n);
        cannoli_side_commit(c->thread, rec->p.h.bytes);
    }
}

void cannoli_access_oi(CPUState *cpu, uint64_t addr, uint32_t oi, bool store,
                       uint64_t low, uint64_t high)
{
    MemOp mop = get_memop(oi);
    uint8_t data[16];

    note_outside(cpu, addr, memop_size(mop), store, get_mmuidx(oi));
    if (!records_accesses(cannoli_cpu(cpu), store)) {
        return;
    }
    if ((mop & MO_BSWAP) ? !HOST_BIG_ENDIAN : HOST_BIG_ENDIAN) {
        stq_be_p(data, high);
        stq_be_p(data + 8, low);
        access_oi(cpu, addr, oi, store, data + 16 - memop_size(mop));
    } else {
        stq_le_p(data, low);
        stq_le_p(data + 8, high);
        access_oi(cpu, addr, oi, store, data);
    }
}

void cannoli_rmw(CPUState *cpu, uint64_t addr, uint32_t oi, const void *old,
                 const void *new)
{
    access_oi(cpu, addr, oi, false, old);
    access_oi(cpu, addr, oi, true, new);
}

void cannoli_cmpxchg(CPUState *cpu, uint64_t addr, uint32_t oi, const void *old,
                     const void *want, const void *new)
{
    bool failed = memcmp(old, want, memop_size(get_memop(oi)));

    access_oi(cpu, addr, oi, false, old);
    if (!failed || CANNOLI_FAILED_STORES) {
        access_oi(cpu, addr, oi, true, failed ? old : new);
    }
}

Int128 cannoli_ld_i128(CPUArchState *env, uint64_t addr, uint32_t oi,
                       uintptr_t ra)
{
    Int128 value = helper_ld16_mmu(env, addr, oi, ra);

    cannoli_access_oi(env_cpu(env), addr, oi, false, int128_getlo(value),
                      int128_gethi(value));
    return value;
}
