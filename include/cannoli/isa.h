/* SPDX-License-Identifier: MIT */
/*
 * Which instructions are branches, calls, returns and system calls, by their
 * bytes alone: for the recording QEMU, for jitter libraries and for readers of a trace,
 * which all have the bytes and must all agree.
 *
 * Header only; needs cannoli/jitter.h (for the names of the flags) and <stdint.h>.
 *
 * What bytes alone do not determine, and is therefore not reported:
 *   - Thumb: that an instruction is conditional because an IT precedes it
 *   - MIPS: release 6, where it uses codes of an older release (ADDI, LWC2, ...) for
 *     compact branches
 *   - s390x: what EXECUTE executes.  It counts as an instruction that is no branch.
 *   - a call that is made of two instructions, or a branch to an address that is a
 *     return address by the program's convention only
 */
#ifndef CANNOLI_ISA_H
#define CANNOLI_ISA_H

#include "jitter.h"

#include <stdint.h>

/* e_machine of the machines that are supported here. */
#define CANNOLI_EM_386 3u
#define CANNOLI_EM_MIPS 8u
#define CANNOLI_EM_PPC 20u
#define CANNOLI_EM_PPC64 21u
#define CANNOLI_EM_S390 22u
#define CANNOLI_EM_ARM 40u
#define CANNOLI_EM_X86_64 62u
#define CANNOLI_EM_AARCH64 183u
#define CANNOLI_EM_RISCV 243u

/* Or'ed into `mode': the machine's registers have 32 bits (RISC-V: C.JAL). */
#define CANNOLI_ISA_32 0x100u
/* Values of `mode', as CTR_MODE_* of cannoli/events.h. */
#define CANNOLI_ISA_MODE 0xffu
#define CANNOLI_ISA_THUMB 1u
#define CANNOLI_ISA_X86_16 2u
#define CANNOLI_ISA_X86_32 3u
#define CANNOLI_ISA_X86_64 4u
#define CANNOLI_ISA_MIPS16 5u
#define CANNOLI_ISA_MICROMIPS 6u
#define CANNOLI_ISA_PPC_LE 7u

static inline uint32_t cannoli_isa_u16(const uint8_t *b, int big)
{
    return big ? (uint32_t)b[0] << 8 | b[1] : (uint32_t)b[1] << 8 | b[0];
}

static inline uint32_t cannoli_isa_u32(const uint8_t *b, int big)
{
    return big ? cannoli_isa_u16(b, 1) << 16 | cannoli_isa_u16(b + 2, 1)
               : cannoli_isa_u16(b + 2, 0) << 16 | cannoli_isa_u16(b, 0);
}

/* A32. */
static inline uint32_t cannoli_isa_arm(uint32_t w)
{
    uint32_t cond = w >> 28 == 14 ? 0 : CANNOLI_INSN_COND;
    uint32_t ind = CANNOLI_INSN_BRANCH | CANNOLI_INSN_INDIRECT | cond;
    uint32_t rn = w >> 16 & 15;
    uint32_t op = w >> 21 & 15;

    if (w >> 28 == 15) {
        /* BLX (immediate) */
        return w >> 25 == 0x7d ? CANNOLI_INSN_BRANCH | CANNOLI_INSN_CALL : 0;
    }
    switch (w >> 25 & 7) {
    case 0:
    case 1:
        switch (w & 0x0ffffff0) {
        case 0x012fff10: /* BX */
        case 0x012fff20: /* BXJ */
            return ind | ((w & 15) == 14 ? CANNOLI_INSN_RETURN : 0);
        case 0x012fff30: /* BLX */
            return ind | CANNOLI_INSN_CALL;
        }
        /* Data processing with the pc as destination. */
        if ((w >> 12 & 15) != 15 || (op >= 8 && op < 12) ||
            (!(w & 0x02000000) && (w & 0x90) == 0x90)) {
            return 0;
        }
        if (w & 0x02000000) {
            /* ADD pc, pc, #n and MOV pc, #n know their target. */
            return rn == 15 || op == 13 || op == 15 ? CANNOLI_INSN_BRANCH | cond : ind;
        }
        return ind | ((w & 0x0fef0fff) == 0x01a0000e ? CANNOLI_INSN_RETURN : 0);
    case 2:
    case 3:
        /* LDR pc */
        if ((w & 0x0050f000) != 0x0010f000 || (w & 0x02000010) == 0x02000010) {
            return 0;
        }
        return ind | (rn == 13 && !(w & 0x01000000) ? CANNOLI_INSN_RETURN : 0);
    case 4:
        /* LDM {..., pc}; from the stack or, with frames, from below fp */
        if ((w & 0x00108000) != 0x00108000) {
            return 0;
        }
        return ind | (rn == 13 || rn == 11 ? CANNOLI_INSN_RETURN : 0);
    case 5:
        return CANNOLI_INSN_BRANCH | cond | (w & 0x01000000 ? CANNOLI_INSN_CALL : 0);
    case 7:
        return w & 0x01000000 ? CANNOLI_INSN_SYSCALL : 0; /* SVC */
    }
    return 0;
}

/* T32, the short form. */
static inline uint32_t cannoli_isa_thumb16(uint32_t h)
{
    uint32_t ind = CANNOLI_INSN_BRANCH | CANNOLI_INSN_INDIRECT;
    uint32_t lr = (h >> 3 & 15) == 14 ? CANNOLI_INSN_RETURN : 0;

    if ((h & 0xff07) == 0x4700) { /* BX, BLX */
        return h & 0x80 ? ind | CANNOLI_INSN_CALL : ind | lr;
    }
    if ((h & 0xff87) == 0x4687) { /* MOV pc, Rm */
        return ind | lr;
    }
    if ((h & 0xff87) == 0x4487) { /* ADD pc, Rm */
        return ind;
    }
    if ((h & 0xff00) == 0xbd00) { /* POP {..., pc} */
        return ind | CANNOLI_INSN_RETURN;
    }
    if ((h & 0xf500) == 0xb100) { /* CBZ, CBNZ */
        return CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND;
    }
    if ((h & 0xf000) == 0xd000) {
        uint32_t cond = h >> 8 & 15;

        return cond == 15  ? CANNOLI_INSN_SYSCALL
               : cond < 14 ? CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND
                           : 0;
    }
    if ((h & 0xf800) == 0xe000) { /* B */
        return CANNOLI_INSN_BRANCH;
    }
    /* The second half of a BL or BLX that is translated on its own. */
    return (h & 0xf800) == 0xe800 || (h & 0xf800) == 0xf800 ? ind | CANNOLI_INSN_CALL : 0;
}

/* T32, the long form: first halfword in the upper half of w. */
static inline uint32_t cannoli_isa_thumb32(uint32_t w)
{
    uint32_t ind = CANNOLI_INSN_BRANCH | CANNOLI_INSN_INDIRECT;
    uint32_t rn = w >> 16 & 15;

    if ((w & 0xf8008000) == 0xf0008000) {
        switch (w & 0x5000) {
        case 0x5000: /* BL */
            return CANNOLI_INSN_BRANCH | CANNOLI_INSN_CALL;
        case 0x4000: /* BLX */
            return w & 1 ? 0 : CANNOLI_INSN_BRANCH | CANNOLI_INSN_CALL;
        case 0x1000: /* B.W */
            return CANNOLI_INSN_BRANCH;
        }
        if ((w >> 22 & 15) < 14) {
            return CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND;
        }
        if ((w & 0xfff0ffff) == 0xf3c08f00) { /* BXJ */
            return ind | (rn == 14 ? CANNOLI_INSN_RETURN : 0);
        }
        return 0;
    }
    if ((w & 0xffd08000) == 0xe8908000 || (w & 0xffd08000) == 0xe9108000) {
        return ind | (rn == 13 || rn == 11 ? CANNOLI_INSN_RETURN : 0); /* LDM */
    }
    if ((w & 0xfff0ffe0) == 0xe8d0f000) { /* TBB, TBH */
        return ind;
    }
    if ((w & 0xff70f000) == 0xf850f000) { /* LDR pc */
        if (rn == 15 || (w & 0x00800000)) {
            return ind;
        }
        if (w & 0x800) {
            return ind | (rn == 13 && !(w & 0x400) ? CANNOLI_INSN_RETURN : 0);
        }
        return (w & 0xfc0) == 0 ? ind : 0;
    }
    return 0;
}

static inline uint32_t cannoli_isa_aarch64(uint32_t w)
{
    if ((w & 0x7c000000) == 0x14000000) { /* B, BL */
        return CANNOLI_INSN_BRANCH | (w >> 31 ? CANNOLI_INSN_CALL : 0);
    }
    if ((w & 0xff000000) == 0x54000000) { /* B.cond, BC.cond; AL and NV: always */
        return CANNOLI_INSN_BRANCH | ((w & 14) == 14 ? 0 : CANNOLI_INSN_COND);
    }
    if ((w & 0x7c000000) == 0x34000000) { /* CBZ, CBNZ, TBZ, TBNZ */
        return CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND;
    }
    if ((w & 0xfe1f0000) == 0xd61f0000) {
        /* BR, BLR, RET and their forms with pointer authentication */
        uint32_t form = w >> 10 & 0x3f;
        uint32_t ind = CANNOLI_INSN_BRANCH | CANNOLI_INSN_INDIRECT;

        if (form != 0 && form != 2 && form != 3) {
            return 0;
        }
        switch (w >> 21 & 0xf) {
        case 0:
        case 8:
            return ind;
        case 1:
        case 9:
            return ind | CANNOLI_INSN_CALL;
        case 2:
            return ind | CANNOLI_INSN_RETURN;
        }
        return 0;
    }
    return (w & 0xffe0001f) == 0xd4000001 ? CANNOLI_INSN_SYSCALL : 0;
}

static inline uint32_t cannoli_isa_mips(uint32_t w)
{
    uint32_t ind = CANNOLI_INSN_BRANCH | CANNOLI_INSN_INDIRECT;
    uint32_t cond = CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND;
    uint32_t rs = w >> 21 & 31, rt = w >> 16 & 31, rd = w >> 11 & 31;

    switch (w >> 26) {
    case 0:                                                    /* SPECIAL */
        if ((w & 0x3f) == 8 || ((w & 0x3f) == 9 && rd == 0)) { /* JR */
            return ind | (rs == 31 ? CANNOLI_INSN_RETURN : 0);
        }
        return (w & 0x3f) == 9      ? ind | CANNOLI_INSN_CALL /* JALR */
               : (w & 0x3f) == 0x0c ? CANNOLI_INSN_SYSCALL
                                    : 0;
    case 1: /* REGIMM */
        switch (rt) {
        case 0x01: /* BGEZ; of register 0, BAL */
        case 0x11:
        case 0x03:
        case 0x13:
            cond = rs ? cond : CANNOLI_INSN_BRANCH;
            break;
        case 0x00:
        case 0x02:
        case 0x10:
        case 0x12:
        case 0x1c: /* BPOSGE32 */
        case 0x1d: /* BPOSGE64 */
            break;
        default:
            return 0;
        }
        return cond | ((rt & 0x1c) == 0x10 ? CANNOLI_INSN_CALL : 0);
    case 2: /* J */
        return CANNOLI_INSN_BRANCH;
    case 3:    /* JAL */
    case 0x1d: /* JALX */
        return CANNOLI_INSN_BRANCH | CANNOLI_INSN_CALL;
    case 4: /* BEQ, of a register with itself: B */
    case 0x14:
        return rs == rt ? CANNOLI_INSN_BRANCH : cond;
    case 6: /* BLEZ, likewise; with a second register, release 6 */
    case 0x16:
        if (rt == 0) {
            return rs ? cond : CANNOLI_INSN_BRANCH;
        }
        return cond | (w >> 26 == 6 && (rs == 0 || rs == rt) ? CANNOLI_INSN_CALL : 0);
    case 7: /* BGTZ */
        return cond | (rt && (rs == 0 || rs == rt) ? CANNOLI_INSN_CALL : 0);
    case 5:
    case 0x15:
    case 0x17:
        return cond;
    case 0x11: /* COP1: BC1F, BC1T, BC1ANY*, BC1EQZ, BC1NEZ, MSA's BZ and BNZ */
        return rs == 8 || rs == 9 || rs == 10 || rs == 11 || rs == 13 || rs == 15 ||
                       rs >= 24
                   ? cond
                   : 0;
    case 0x12: /* COP2 */
        return rs == 8 || rs == 9 || rs == 13 ? cond : 0;
    }
    return 0;
}

/* MIPS16: the instruction without EXTEND's prefix, or the first half of a JAL. */
static inline uint32_t cannoli_isa_mips16(uint32_t h)
{
    uint32_t ind = CANNOLI_INSN_BRANCH | CANNOLI_INSN_INDIRECT;

    switch (h >> 11) {
    case 2: /* B */
        return CANNOLI_INSN_BRANCH;
    case 3: /* JAL, JALX */
        return CANNOLI_INSN_BRANCH | CANNOLI_INSN_CALL;
    case 4: /* BEQZ, BNEZ */
    case 5:
        return CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND;
    case 12: /* BTEQZ, BTNEZ */
        return (h >> 8 & 7) < 2 ? CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND : 0;
    case 29: /* JR, JR ra, JALR, and their forms without a delay slot */
        if (h & 31) {
            return 0;
        }
        switch (h >> 5 & 3) {
        case 0:
            return ind;
        case 1:
            return ind | CANNOLI_INSN_RETURN;
        case 2:
            return ind | CANNOLI_INSN_CALL;
        }
    }
    return 0;
}

/* microMIPS: first halfword h, all 32 bits w if it is a long one. */
static inline uint32_t cannoli_isa_micromips(uint32_t h, uint32_t w, uint32_t len)
{
    uint32_t ind = CANNOLI_INSN_BRANCH | CANNOLI_INSN_INDIRECT;
    uint32_t cond = CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND;
    uint32_t rs = w >> 16 & 31, rt = w >> 21 & 31;

    if (len == 2) {
        switch (h >> 10) {
        case 0x33: /* B16 */
            return CANNOLI_INSN_BRANCH;
        case 0x23: /* BEQZ16, BNEZ16 */
        case 0x2b:
            return cond;
        case 0x11:
            switch (h >> 5 & 31) {
            case 0x0c: /* JR16, JRC */
            case 0x0d:
                return ind | ((h & 31) == 31 ? CANNOLI_INSN_RETURN : 0);
            case 0x0e: /* JALR16, JALRS16 */
            case 0x0f:
                return ind | CANNOLI_INSN_CALL;
            case 0x18: /* JRADDIUSP */
                return ind | CANNOLI_INSN_RETURN;
            }
        }
        return 0;
    }
    switch (w >> 26) {
    case 0x00: /* JALR, JALR.HB, JALRS, JALRS.HB; of register 0, JR; SYSCALL */
        if ((w & 0xafff) == 0x0f3c) {
            return ind | (rt ? CANNOLI_INSN_CALL : rs == 31 ? CANNOLI_INSN_RETURN : 0);
        }
        return (w & 0xffff) == 0x8b7c ? CANNOLI_INSN_SYSCALL : 0;
    case 0x10: /* POOL32I */
        switch (rt) {
        case 0x01: /* BLTZAL, BLTZALS */
        case 0x11:
            return cond | CANNOLI_INSN_CALL;
        case 0x03: /* BGEZAL, BGEZALS; of register 0, BAL */
        case 0x13:
            return (rs ? cond : CANNOLI_INSN_BRANCH) | CANNOLI_INSN_CALL;
        case 0x02: /* BGEZ, BLEZ */
        case 0x04:
        case 0x07: /* BEQZC */
            return rs ? cond : CANNOLI_INSN_BRANCH;
        case 0x00:
        case 0x05: /* BNEZC */
        case 0x06:
        case 0x14: /* BC2F, BC2T */
        case 0x15:
        case 0x1a: /* BPOSGE64, BPOSGE32 */
        case 0x1b:
        case 0x1c: /* BC1F, BC1T */
        case 0x1d:
            return cond;
        }
        return 0;
    case 0x25: /* BEQ */
        return rs == rt ? CANNOLI_INSN_BRANCH : cond;
    case 0x2d: /* BNE */
        return cond;
    case 0x35: /* J */
        return CANNOLI_INSN_BRANCH;
    case 0x3d: /* JAL, JALS, JALX */
    case 0x1d:
    case 0x3c:
        return CANNOLI_INSN_BRANCH | CANNOLI_INSN_CALL;
    }
    return 0;
}

static inline uint32_t cannoli_isa_riscv(uint32_t w, uint32_t len, uint32_t mode)
{
    uint32_t ind = CANNOLI_INSN_BRANCH | CANNOLI_INSN_INDIRECT;
    uint32_t rd = w >> 7 & 31, rs1 = w >> 15 & 31;

    if (len == 2) {
        switch (w & 0xe003) {
        case 0x2001: /* C.JAL; C.ADDIW with 64 bits */
            return mode & CANNOLI_ISA_32 ? CANNOLI_INSN_BRANCH | CANNOLI_INSN_CALL : 0;
        case 0xa001: /* C.J */
            return CANNOLI_INSN_BRANCH;
        case 0xc001: /* C.BEQZ, C.BNEZ */
        case 0xe001:
            return CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND;
        case 0x8002: /* C.JR, C.JALR */
            if ((w & 0x7c) || rd == 0) {
                return 0;
            }
            return ind | (w & 0x1000           ? CANNOLI_INSN_CALL
                          : rd == 1 || rd == 5 ? CANNOLI_INSN_RETURN
                                               : 0);
        }
        return 0;
    }
    switch (w & 0x7f) {
    case 0x63:
        return CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND;
    case 0x6f: /* JAL; ra and t0 are return addresses */
        return CANNOLI_INSN_BRANCH | (rd == 1 || rd == 5 ? CANNOLI_INSN_CALL : 0);
    case 0x67: /* JALR */
        if (w & 0x7000) {
            return 0;
        }
        return ind | (rd == 1 || rd == 5     ? CANNOLI_INSN_CALL
                      : rs1 == 1 || rs1 == 5 ? CANNOLI_INSN_RETURN
                                             : 0);
    }
    return w == 0x73 ? CANNOLI_INSN_SYSCALL : 0;
}

static inline uint32_t cannoli_isa_ppc(uint32_t w)
{
    uint32_t cond = (w >> 21 & 0x14) == 0x14 ? CANNOLI_INSN_BRANCH
                                             : CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND;
    uint32_t call = w & 1 ? CANNOLI_INSN_CALL : 0;

    switch (w >> 26) {
    case 16: /* bc */
        return cond | call;
    case 17: /* sc, scv */
        return (w & 3) == 1 || (w & 3) == 2 ? CANNOLI_INSN_SYSCALL : 0;
    case 18: /* b */
        return CANNOLI_INSN_BRANCH | call;
    case 19:
        switch (w >> 1 & 0x3ff) {
        case 16: /* bclr */
            return cond | CANNOLI_INSN_INDIRECT | (call ? call : CANNOLI_INSN_RETURN);
        case 528: /* bcctr */
        case 560: /* bctar */
            return cond | CANNOLI_INSN_INDIRECT | call;
        }
    }
    return 0;
}

/* Compare and branch: which of less, equal, greater branch. */
static inline uint32_t cannoli_isa_s390x_compare(uint32_t mask, uint32_t flags)
{
    mask &= 14;
    return mask == 14 ? CANNOLI_INSN_BRANCH | flags
           : mask     ? CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND | flags
                      : 0;
}

static inline uint32_t cannoli_isa_s390x(const uint8_t *b, uint32_t len)
{
    uint32_t ind = CANNOLI_INSN_BRANCH | CANNOLI_INSN_INDIRECT;
    uint32_t cond = CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND;
    uint32_t m1 = b[1] >> 4, r2 = b[1] & 15;

    switch (b[0]) {
    case 0x0a: /* SVC */
        return CANNOLI_INSN_SYSCALL;
    case 0x07: /* BCR; to register 0 and for no condition it does not branch */
        if (!m1 || !r2) {
            return 0;
        }
        return ind | (m1 == 15 ? 0 : CANNOLI_INSN_COND) |
               (r2 == 14 ? CANNOLI_INSN_RETURN : 0);
    case 0x05: /* BALR, BASR, BASSM; to register 0 they do not branch */
    case 0x0d:
    case 0x0c:
        return r2 ? ind | CANNOLI_INSN_CALL : 0;
    case 0x0b: /* BSM */
        return r2 ? ind | (r2 == 14 ? CANNOLI_INSN_RETURN : 0) : 0;
    case 0x06: /* BCTR */
        return r2 ? ind | CANNOLI_INSN_COND : 0;
    case 0x45: /* BAL, BAS */
    case 0x4d:
        return ind | CANNOLI_INSN_CALL;
    case 0x47: /* BC */
        return m1 == 15 ? ind : m1 ? ind | CANNOLI_INSN_COND : 0;
    case 0x46: /* BCT, BXH, BXLE */
    case 0x86:
    case 0x87:
        return ind | CANNOLI_INSN_COND;
    case 0x84: /* BRXH, BRXLE */
    case 0x85:
        return cond;
    case 0xa7:
    case 0xc0:
        switch (r2) {
        case 4: /* BRC, BRCL */
            return m1 == 15 ? CANNOLI_INSN_BRANCH : m1 ? cond : 0;
        case 5: /* BRAS, BRASL */
            return CANNOLI_INSN_BRANCH | CANNOLI_INSN_CALL;
        case 6: /* BRCT, BRCTG */
        case 7:
            return b[0] == 0xa7 ? cond : 0;
        }
        return 0;
    case 0xcc: /* BRCTH */
        return r2 == 6 ? cond : 0;
    case 0xb9: /* BCTGR */
        return len == 4 && b[1] == 0x46 && (b[3] & 15) ? ind | CANNOLI_INSN_COND : 0;
    }
    if (len != 6) {
        return 0;
    }
    switch (b[0] << 8 | b[5]) {
    case 0xe346: /* BCTG, BXHG, BXLEG */
    case 0xeb44:
    case 0xeb45:
        return ind | CANNOLI_INSN_COND;
    case 0xe347: /* BIC */
        return m1 == 15 ? ind : m1 ? ind | CANNOLI_INSN_COND : 0;
    case 0xec44: /* BRXHG, BRXLG */
    case 0xec45:
        return cond;
    case 0xec64: /* C[L][G]RJ */
    case 0xec65:
    case 0xec76:
    case 0xec77:
        return cannoli_isa_s390x_compare(b[4] >> 4, 0);
    case 0xec7c: /* C[L][G]IJ */
    case 0xec7d:
    case 0xec7e:
    case 0xec7f:
        return cannoli_isa_s390x_compare(r2, 0);
    case 0xece4: /* C[L][G]RB */
    case 0xece5:
    case 0xecf6:
    case 0xecf7:
        return cannoli_isa_s390x_compare(b[4] >> 4, CANNOLI_INSN_INDIRECT);
    case 0xecfc: /* C[L][G]IB */
    case 0xecfd:
    case 0xecfe:
    case 0xecff:
        return cannoli_isa_s390x_compare(r2, CANNOLI_INSN_INDIRECT);
    }
    return 0;
}

static inline uint32_t cannoli_isa_x86(const uint8_t *b, uint32_t len, int bits64)
{
    uint32_t ind = CANNOLI_INSN_BRANCH | CANNOLI_INSN_INDIRECT;
    uint32_t cond = CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND;
    uint32_t i = 0;

    while (i < len && (b[i] == 0x66 || b[i] == 0x67 || b[i] == 0xf0 || b[i] == 0xf2 ||
                       b[i] == 0xf3 || b[i] == 0x2e || b[i] == 0x36 || b[i] == 0x3e ||
                       b[i] == 0x26 || b[i] == 0x64 || b[i] == 0x65 ||
                       (bits64 && (b[i] & 0xf0) == 0x40))) {
        i++;
    }
    b += i;
    len -= i;
    if (len == 0) {
        return 0;
    }
    if ((b[0] & 0xf0) == 0x70) { /* Jcc */
        return cond;
    }
    switch (b[0]) {
    case 0x0f:
        if (len < 2) {
            return 0;
        }
        return (b[1] & 0xf0) == 0x80 ? cond
               : b[1] == 0x05 || b[1] == 0x34 /* SYSCALL, SYSENTER */
                   ? CANNOLI_INSN_SYSCALL
                   : 0;
    case 0xe0: /* LOOPcc, JCXZ */
    case 0xe1:
    case 0xe2:
    case 0xe3:
        return cond;
    case 0xe8:
        return CANNOLI_INSN_BRANCH | CANNOLI_INSN_CALL;
    case 0xe9:
    case 0xeb:
        return CANNOLI_INSN_BRANCH;
    case 0x9a: /* far CALL and JMP, not with 64 bits */
        return bits64 ? 0 : CANNOLI_INSN_BRANCH | CANNOLI_INSN_CALL;
    case 0xea:
        return bits64 ? 0 : CANNOLI_INSN_BRANCH;
    case 0xc2: /* RET, far RET, IRET */
    case 0xc3:
    case 0xca:
    case 0xcb:
    case 0xcf:
        return ind | CANNOLI_INSN_RETURN;
    case 0xc7: /* XBEGIN may go to its handler */
        return len > 1 && b[1] == 0xf8 ? cond : 0;
    case 0xcd: /* INT 0x80 */
        return len > 1 && b[1] == 0x80 ? CANNOLI_INSN_SYSCALL : 0;
    case 0xff:
        switch (len > 1 ? b[1] >> 3 & 7 : 0) {
        case 2:
        case 3:
            return ind | CANNOLI_INSN_CALL;
        case 4:
        case 5:
            return ind;
        }
    }
    return 0;
}

/*
 * elf_machine: e_machine of the guest program.  mode: CTR_MODE_*, with CANNOLI_ISA_32 if
 * its registers have 32 bits.  big_endian: instructions are stored in this order (on ARM
 * and AArch64 only in the old BE32 programs), but in CANNOLI_ISA_PPC_LE.  bytes: the whole instruction, len of them.
 *
 * Returns 1 and sets *flags to those of BRANCH, COND, CALL, RETURN, INDIRECT and SYSCALL
 * that hold, or returns 0: the machine is not supported.
 */
static inline int cannoli_isa_flags(uint32_t elf_machine, uint32_t mode, int big_endian,
                                    const uint8_t *bytes, uint32_t len, uint32_t *flags)
{
    uint32_t state = mode & CANNOLI_ISA_MODE;
    uint32_t least = elf_machine == CANNOLI_EM_PPC || elf_machine == CANNOLI_EM_PPC64 ||
                             elf_machine == CANNOLI_EM_AARCH64
                         ? 4
                     : elf_machine == CANNOLI_EM_386 || elf_machine == CANNOLI_EM_X86_64
                         ? 1
                         : 2;
    uint32_t h = 0, w = 0;

    *flags = 0;
    if (elf_machine == CANNOLI_EM_AARCH64 || elf_machine == CANNOLI_EM_RISCV ||
        state == CANNOLI_ISA_PPC_LE) {
        big_endian = 0;
    }
    if (len >= 2) {
        h = cannoli_isa_u16(bytes, big_endian);
        w = h;
    }
    if (len >= 4) {
        /* Of halfwords, the first is the upper half. */
        w = state == CANNOLI_ISA_THUMB || state == CANNOLI_ISA_MIPS16 ||
                    state == CANNOLI_ISA_MICROMIPS
                ? h << 16 | cannoli_isa_u16(bytes + 2, big_endian)
                : cannoli_isa_u32(bytes, big_endian);
    }
    switch (elf_machine) {
    case CANNOLI_EM_386:
    case CANNOLI_EM_X86_64:
    case CANNOLI_EM_ARM:
    case CANNOLI_EM_AARCH64:
    case CANNOLI_EM_MIPS:
    case CANNOLI_EM_PPC:
    case CANNOLI_EM_PPC64:
    case CANNOLI_EM_RISCV:
    case CANNOLI_EM_S390:
        break;
    default:
        return 0;
    }
    if (len < least) {
        return 1;
    }
    switch (elf_machine) {
    case CANNOLI_EM_386:
    case CANNOLI_EM_X86_64:
        *flags = cannoli_isa_x86(bytes, len,
                                 state == CANNOLI_ISA_X86_64 ||
                                     (!state && elf_machine == CANNOLI_EM_X86_64));
        break;
    case CANNOLI_EM_ARM:
        if (state == CANNOLI_ISA_THUMB) {
            *flags = len == 2 ? cannoli_isa_thumb16(h) : cannoli_isa_thumb32(w);
        } else if (len == 4) {
            *flags = cannoli_isa_arm(w);
        }
        break;
    case CANNOLI_EM_AARCH64:
        *flags = cannoli_isa_aarch64(w);
        break;
    case CANNOLI_EM_MIPS:
        if (state == CANNOLI_ISA_MIPS16) {
            *flags = cannoli_isa_mips16(len == 4 && h >> 11 == 30 ? w & 0xffff : h);
        } else if (state == CANNOLI_ISA_MICROMIPS) {
            *flags = cannoli_isa_micromips(h, w, len);
        } else if (len == 4) {
            *flags = cannoli_isa_mips(w);
        }
        break;
    case CANNOLI_EM_PPC:
    case CANNOLI_EM_PPC64:
        *flags = cannoli_isa_ppc(w);
        break;
    case CANNOLI_EM_RISCV:
        *flags = cannoli_isa_riscv(w, len, mode);
        break;
    case CANNOLI_EM_S390:
        *flags = cannoli_isa_s390x(bytes, len);
        break;
    }
    return 1;
}

#endif
