/* SPDX-License-Identifier: MIT */
/* Classifies branches, and checks whether the instruction before an address may be a
 * call. */
#include "calltree_priv.h"

#include "cannoli/isa.h"
#include "guest/x86_length.h"

static uint32_t flags_of(const struct code *c, uint8_t mode, const uint8_t *bytes,
                         uint32_t len)
{
    uint32_t flags = 0;

    cannoli_isa_flags(c->machine, mode | c->isa_flags, c->big_endian, bytes, len, &flags);
    /* Calls by convention use r14; other instructions that save their address do so to
     * find data. */
    if (c->machine == CANNOLI_EM_S390 && flags & CANNOLI_INSN_CALL && len >= 2 &&
        bytes[1] >> 4 != 14) {
        flags &= ~CANNOLI_INSN_CALL;
    }
    return flags;
}

#define MOV_LR_PC 0x01a0e00fu /* without its condition */

/* The instruction before; it may be in the block before, as QEMU ends a block where a
 * page ends. */
static bool sets_link(const struct code *c, const struct ctr_block *b, unsigned from,
                      unsigned i, const struct spot *s)
{
    const uint8_t *p = NULL;
    size_t n;

    if (c->machine != CANNOLI_EM_ARM || b->mode != CTR_ISA_DEFAULT) {
        return false;
    }
    if (i > from) {
        p = ctr_block_bytes(b, i - 1);
    } else if (s->range->module && s->range->module->file && s->vaddr >= 4) {
        p = symfile_bytes(s->range->module->file, s->vaddr - 4, &n);
        p = p && n >= 4 ? p : NULL;
    }
    return p && (cannoli_isa_u32(p, c->big_endian) & 0x0fffffff) == MOV_LR_PC;
}

void code_leave(const struct code *c, const struct ctr_block *b, unsigned from,
                unsigned i, struct spot *s)
{
    unsigned at = i;
    uint32_t f = flags_of(c, b->mode, ctr_block_bytes(b, i), ctr_block_len(b, i));

    s->delay_open = false;
    if (c->machine == CANNOLI_EM_MIPS) {
        if (f & CANNOLI_INSN_BRANCH) {
            s->delay_open = b->mode == CTR_ISA_DEFAULT;
        } else if (i > from) {
            at = i - 1;
            f = flags_of(c, b->mode, ctr_block_bytes(b, at), ctr_block_len(b, at));
        }
    }
    if ((f & (CANNOLI_INSN_INDIRECT | CANNOLI_INSN_RETURN)) == CANNOLI_INSN_INDIRECT &&
        sets_link(c, b, from, i, s)) {
        f |= CANNOLI_INSN_CALL;
    }
    /* An IT before a Thumb branch may make it conditional. */
    s->cond = (f & CANNOLI_INSN_COND) ||
              (c->machine == CANNOLI_EM_ARM && b->mode == CTR_ISA_THUMB);
    s->site_off = (uint16_t)(ctr_block_pc(b, at) - ctr_block_pc(b, from));
    s->leave = !(f & CANNOLI_INSN_BRANCH)  ? LEAVE_NONE
               : f & CANNOLI_INSN_CALL     ? LEAVE_CALL
               : f & CANNOLI_INSN_RETURN   ? LEAVE_RETURN
               : f & CANNOLI_INSN_INDIRECT ? LEAVE_INDIRECT
                                           : LEAVE_JUMP;
}

static bool x86_call_before(const uint8_t *end, unsigned bits, uint64_t vaddr,
                            const struct symfile *file)
{
    size_t n;

    if (end[-5] == 0xe8) { /* a call if its target is in the file */
        uint64_t to = vaddr + (uint64_t)(int32_t)cannoli_isa_u32(end - 4, 0);

        if (symfile_bytes(file, bits == 32 ? (uint32_t)to : to, &n)) {
            return true;
        }
    }
    for (unsigned k = 2; k < 8; k++) { /* ff /2 with an operand of that length */
        const uint8_t *modrm = end - k + 1;

        if (modrm[-1] == 0xff && (*modrm >> 3 & 7) == 2 &&
            x86_modrm(modrm, k - 1) == k - 1) {
            return true;
        }
    }
    return false;
}

bool code_may_return_to(const struct code *c, const struct module *m, uint64_t vaddr,
                        uint8_t mode)
{
    const struct sym_code *code;
    const uint8_t *p;
    size_t n;
    unsigned step = 2, most = 4;

    if (!m || !m->file || mode == CTR_ISA_MIPS16 || mode == CTR_ISA_MICROMIPS ||
        vaddr < 8) {
        return true;
    }
    for (uint32_t i = symfile_code(m->file, &code); i-- > 0;) {
        if (code[i].addr == vaddr) {
            return false;
        }
    }
    p = symfile_bytes(m->file, vaddr - 8, &n);
    if (!p || n < 8) {
        return true;
    }
    p += 8;
    switch (c->machine) {
    case CANNOLI_EM_386:
    case CANNOLI_EM_X86_64:
        return x86_call_before(p, c->machine == CANNOLI_EM_386 ? 32 : 64, vaddr, m->file);
    case CANNOLI_EM_MIPS:
        p -= 4;
        step = 4;
        break;
    case CANNOLI_EM_S390:
        most = 6;
        break;
    case CANNOLI_EM_ARM:
        step = mode == CTR_ISA_THUMB ? 2 : 4;
        if (step == 4 &&
            (cannoli_isa_u32(p - 8, c->big_endian) & 0x0fffffff) == MOV_LR_PC) {
            return true;
        }
        break;
    case CANNOLI_EM_RISCV:
        break;
    default:
        step = 4;
    }
    for (unsigned k = step; k <= most; k += step) {
        if (flags_of(c, mode, p - k, k) & CANNOLI_INSN_CALL) {
            return true;
        }
    }
    return false;
}
