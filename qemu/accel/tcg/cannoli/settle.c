/*
 * Execution tracing into shared memory: instructions that did not complete
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A simple instruction (InsnInfo) was left while one of its accesses was made:
 * those before it were made, it was not.  This file finds out which one it is.
 * The units of earlier ones may still have to be counted in, or its own
 * removed.
 *
 * The address of an access that is not derived is stored before the access.  So
 * the one in progress is the last one whose address is there, or a later one
 * that is derived or has the address zero (as entries that were not written
 * have).  The addresses of all of these are known, because their roots were
 * made.  The host reports the address of the fault, and whether it was a write.
 * An earlier access of the same kind to that page would have faulted itself; so
 * it is the first one of that kind to that page.
 *
 * The host does not report an address that is not canonical (x86).  No access
 * that was made has such an address: it is the first one that has.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/bitops.h"
#include "qemu/cacheinfo.h"
#include "cpu.h"
#include "exec/translation-block.h"
#include "regs.h"

/*
 * The simple instruction that was left, and its accesses in the block's slots.
 */
typedef struct Insn {
    const CannoliCPU *c;
    const CannoliBlock *b;
    unsigned lazy;     /* deferred units when it begins */
    unsigned first, n; /* slots */
    unsigned width;    /* bytes of an address */
} Insn;

static const uint8_t *slot_of(const CannoliBlock *b, unsigned slot)
{
    return b->all + CTR_BLOCKDEF_FIXED + b->ninsn +
           ldl_le_p(b->all + CTR_BLOCKDEF_CODELEN) + slot * CTR_BLOCKDEF_SLOT;
}

static unsigned units_of(const CannoliBlock *b, unsigned slot)
{
    return cannoli_slot_units(slot_of(b, slot)[4]);
}

static bool is_derived(const CannoliBlock *b, unsigned slot)
{
    return slot_of(b, slot)[4] & CTR_ACCESS_DERIVED;
}

/* An address in the data column, by its unit number past the pointer. */
static uint64_t addr_entry(const Insn *in, int unit)
{
    const uint8_t *p = (uint8_t *)in->c->data - (unit + 1) * (int)in->width;

    return in->width == 4 ? ldl_he_p(p) : ldq_he_p(p);
}

/* Units of the slots from `from' up to the instruction's first one. */
static unsigned units_between(const Insn *in, unsigned from)
{
    const uint32_t *word = in->c->words;
    unsigned units = 0;

    for (unsigned i = from; i < in->first; i++) {
        if (lduw_le_p(slot_of(in->b, i) + 2) == 0 ||
            (slot_of(in->b, i)[4] & CTR_ACCESS_REG)) {
            units += units_of(in->b, i);
        }
    }
    /* And of groups, as often as this run of the block made them. */
    while (CTR_WORD_KIND(*--word) == CTR_WORD_GROUP) {
        for (unsigned i = from; i < in->first; i++) {
            if (lduw_le_p(slot_of(in->b, i) + 2) == CTR_GROUP_OF(*word) &&
                !(slot_of(in->b, i)[4] & CTR_ACCESS_REG)) {
                units += units_of(in->b, i);
            }
        }
    }
    return units;
}

/* The address of a slot of the instruction; 0 if that was not stored. */
static uint64_t addr_of(const Insn *in, unsigned slot)
{
    const CannoliBlock *b = in->b;
    unsigned nslot = lduw_le_p(b->all + CTR_BLOCKDEF_NSLOT), nr = 0, root;
    const uint8_t *d;
    uint64_t addr;
    int unit = in->lazy;

    if (!is_derived(b, slot)) {
        for (unsigned i = in->first; i < slot; i++) {
            unit += units_of(b, i);
        }
        return addr_entry(in, unit);
    }
    for (unsigned i = slot; i < nslot; i++) {
        nr += is_derived(b, i);
    }
    d = b->all + b->def_bytes - nr * CTR_BLOCKDEF_DERIVE;
    root = lduw_le_p(d);
    addr = ldq_le_p(d + 4);
    if (root == CTR_DERIVE_CONST) {
        addr += 0;
    } else if (root >= in->first) {
        addr += addr_of(in, root);
    } else {
        addr += addr_entry(in, unit - (int)units_between(in, root));
    }
    return d[3] & CTR_DERIVE_SIGNED ? sextract64(addr, 0, d[2])
                                    : extract64(addr, 0, d[2]);
}

/* Is the fault's address among the bytes from addr on, modulo the addresses? */
static bool contains(const Insn *in, uint64_t addr, uint64_t size)
{
    uint64_t diff = in->c->fault_addr - addr;

    return (in->width == 4 ? (uint32_t)diff : diff) < size;
}

/*
 * May this access have faulted?  The host reports a byte of it, or one that an
 * aligned access of 16 bytes in its place would have touched, or only the page.
 * An MMU of ours reports a byte of it.
 */
static bool is_hit(const Insn *in, uint64_t addr, unsigned size, bool page)
{
#ifdef CONFIG_USER_ONLY
    unsigned align = page ? qemu_real_host_page_size() : 16;

    size += addr & (align - 1);
    return contains(in, addr & -(uint64_t)align,
                    page ? ROUND_UP(size, align) : size);
#else
    return contains(in, addr, size);
#endif
}

/*
 * For four levels of page tables; with five, a hole follows, too.  An MMU of
 * ours reports every address.
 */
static bool is_canonical(uint64_t addr, unsigned size)
{
#ifdef CONFIG_USER_ONLY
    int64_t first = addr + CANNOLI_GUEST_BASE, last = first + size - 1;

    return first == sextract64(first, 0, 48) && last == sextract64(last, 0, 48);
#else
    return true;
#endif
}

/* The slot of the access that faulted, among those from `from' on. */
static unsigned refused(const Insn *in, unsigned from)
{
    const CannoliCPU *c = in->c;
    bool whole_page = !(c->fault_addr & (qemu_real_host_page_size() - 1));

    for (int pass = 0; pass < 4; pass++) {
        for (unsigned i = from; i < in->first + in->n; i++) {
            uint8_t access = slot_of(in->b, i)[4];
            unsigned size = CTR_ACCESS_SIZE(access);
            uint64_t addr = addr_of(in, i);
            bool store = access & CTR_ACCESS_STORE, hit;

            if (pass == 3) {
                hit = !is_canonical(addr, size);
            } else {
                hit = c->fault_addr_valid &&
                      (pass == 2 || store == c->fault_write) &&
                      is_hit(in, addr, size, pass || whole_page);
            }
            if (hit) {
                return i;
            }
        }
    }
    return from;
}

int cannoli_settle(CPUState *cpu, const CannoliBlock *b, unsigned insn,
                   bool restart)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    const uint8_t *p = b->all + b->def_bytes + insn * 4;
    Insn in = {
        .c = c,
        .b = b,
        .lazy = lduw_he_p(p),
        .n = lduw_he_p(p + 2),
        .width = CANNOLI_ADDR_BYTES,
    };
    unsigned made = 0, all = 0, derived = 0, nr_derived = 0, end, from;

    while (in.n && lduw_le_p(slot_of(b, in.first)) != insn) {
        in.first++;
    }
    end = in.first + in.n;
    from = in.first;
    for (unsigned i = in.first; i < end; i++) {
        if (is_derived(b, i)) {
            nr_derived++;
        } else if (addr_entry(&in, in.lazy + all) != 0) {
            from = i;
        }
        all += units_of(b, i);
    }
    /* An instruction that restarts is forgotten anyway. */
    if (!restart && in.n) {
        from = refused(&in, from);
    }
    for (unsigned i = in.first; i < from; i++) {
        made += units_of(b, i);
        derived += is_derived(b, i);
    }
    /* In other code, what was stored is not more than the largest slot. */
    all = MAX(all, made + 1 + CTR_UNITS(16, in.width));
    c->data = (uint8_t *)c->data - (in.lazy + made) * in.width;
    memset((uint8_t *)c->data - (all - made) * in.width, 0,
           (all - made) * in.width);
    return derived < nr_derived ? derived : -1;
}
