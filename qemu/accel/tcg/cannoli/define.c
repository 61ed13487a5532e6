/*
 * Execution tracing into shared memory: block definitions
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The middle of the pass over a block, see pass.c: its definition, as
 * cannoli/events.h lays it out.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "cpu.h"
#include "exec/translator.h"
#include "exec/translation-block.h"
#include "pass.h"

uint8_t cannoli_block_mode(CPUState *cpu, const TranslationBlock *tb)
{
#if defined(TARGET_ARM)
    CPUARMTBFlags flags = { tb->flags, tb->cs_base };

    if (!EX_TBFLAG_ANY(flags, AARCH64_STATE) && EX_TBFLAG_AM32(flags, THUMB)) {
        return CTR_MODE_THUMB;
    }
#elif defined(TARGET_I386)
    return tb->flags & HF_CS64_MASK   ? CTR_MODE_X86_64
           : tb->flags & HF_CS32_MASK ? CTR_MODE_X86_32
                                      : CTR_MODE_X86_16;
#elif defined(TARGET_PPC)
    if (TARGET_BIG_ENDIAN && tb->flags & (1u << HFLAGS_LE)) {
        return CTR_MODE_PPC_LE;
    }
#elif defined(TARGET_MIPS)
    if (tb->flags & MIPS_HFLAG_M16) {
        return cpu_env(cpu)->insn_flags & ASE_MICROMIPS ? CTR_MODE_MICROMIPS
                                                        : CTR_MODE_MIPS16;
    }
#endif
    return CTR_MODE_DEFAULT;
}

void cannoli_insn_bytes(const CannoliPass *p, const DisasContextBase *db,
                        int insn, uint8_t *to)
{
    const InsnInfo *in = &p->insns[insn];
    bool known = true;

#ifdef TARGET_HPPA
    /* The page of the kernel's entry points is executable, but not mapped. */
    known = in->pc >= TARGET_PAGE_SIZE;
#endif
    if (!known || !translator_st(db, to, in->pc, in->len)) {
        memset(to, 0, in->len);
    }
}

CannoliBlock *cannoli_define(CannoliPass *p, CPUState *cpu,
                             DisasContextBase *db)
{
    static uint8_t *def_buf;
    const TranslationBlock *tb = db->tb;
    uint8_t *d, *q;
    bool has_pcs = false;
    uint32_t code = 0, def_bytes;
    vaddr first = p->insns[p->first_recorded].pc, next = first;

    if (!def_buf) {
        def_buf = cannoli_alloc(CANNOLI_MAX_CONTENT);
    }
    d = def_buf;
    q = d + CTR_BLOCKDEF_FIXED;
    memset(d, 0, CTR_BLOCKDEF_FIXED);
    for (int i = 0; i < p->nr_insns; i++) {
        if (!p->insns[i].recorded) {
            continue;
        }
        has_pcs |= p->insns[i].pc != next;
        next = p->insns[i].pc + p->insns[i].len;
        *q++ = p->insns[i].len;
    }
    for (int i = 0; i < p->nr_insns; i++) {
        if (!p->insns[i].recorded) {
            continue;
        }
        cannoli_insn_bytes(p, db, i, q);
        q += p->insns[i].len;
        code += p->insns[i].len;
    }
    for (int i = 0; i < p->nr_slots; i++) {
        stw_le_p(q, p->insns[p->slots[i].insn].number);
        stw_le_p(q + 2, p->slots[i].group);
        q[4] = p->slots[i].access;
        q[5] = p->slots[i].mmu;
        q += CTR_BLOCKDEF_SLOT;
    }
    if (has_pcs) {
        for (int i = 0; i < p->nr_insns; i++) {
            if (p->insns[i].recorded) {
                stq_le_p(q, p->insns[i].pc);
                q += 8;
            }
        }
    }
    q += cannoli_put_tags(p, q);
    for (int i = 0; i < p->nr_derived; i++) {
        stw_le_p(q, p->derived[i].root);
        q[2] = p->derived[i].bits;
        q[3] = p->derived[i].flags;
        stq_le_p(q + 4, p->derived[i].delta);
        q += CTR_BLOCKDEF_DERIVE;
    }
    stq_le_p(d + CTR_BLOCKDEF_PC, first);
    stq_le_p(d + CTR_BLOCKDEF_CS_BASE, tb->cs_base);
    stq_le_p(d + CTR_BLOCKDEF_TB_FLAGS, tb->flags);
    /* With coverage, a block has one definition, whatever its compile flags. */
    stl_le_p(d + CTR_BLOCKDEF_CFLAGS,
             cannoli_coverage ? 0 : tb_cflags(tb) & ~CF_CANNOLI_MASK);
    stw_le_p(d + CTR_BLOCKDEF_NINSN, p->nr_recorded);
    stw_le_p(d + CTR_BLOCKDEF_NSLOT, p->nr_slots);
    stw_le_p(d + CTR_BLOCKDEF_NGROUP, p->nr_groups);
    d[CTR_BLOCKDEF_MODE] = cannoli_block_mode(cpu, tb) |
                           cannoli_privilege(cpu, tb->flags, tb->cs_base) << 4;
    d[CTR_BLOCKDEF_FLAGS] = (has_pcs ? CTR_BLOCK_HAS_PCS : 0) |
                            (p->nr_tags ? CTR_BLOCK_HAS_TAGS : 0) |
                            (p->nr_derived ? CTR_BLOCK_HAS_DERIVED : 0) |
                            (p->nr_recorded < p->nr_insns ? CTR_BLOCK_PART : 0);
    stl_le_p(d + CTR_BLOCKDEF_CODELEN, code);
    def_bytes = q - d;
    /* A record larger than the side queue would wait for room for ever. */
    if (sizeof(struct mempipe_side_block) + def_bytes >
        cannoli_ctl->side_bytes) {
        cannoli_too_long(p, tcg_ctx, def_bytes);
    }

    for (int i = 0; i < p->nr_insns; i++) {
        if (p->insns[i].recorded) {
            stw_he_p(q, p->insns[i].lazy);
            stw_he_p(q + 2, p->insns[i].accesses);
            q += 4;
        }
    }
    for (int i = 0; i < p->nr_insns && !p->all_wanted; i++) {
        stl_he_p(q, cannoli_insn_word(p, i));
        q += 4;
    }
    return cannoli_dict_find(d, def_bytes, q - d, p->nr_recorded);
}
