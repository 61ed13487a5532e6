/* SPDX-License-Identifier: MIT */
/*
 * Decodes instructions of a file that did not run: their length, their flags (by
 * cannoli/isa.h, as for recorded ones) and the targets of their branches.
 *
 * The first bytes determine the length on all machines except x86, which uses Capstone.
 */
#include "tracecov/report_priv.h"

#include <stdlib.h>
#include <string.h>

#include <capstone/capstone.h>

#include "cannoli/isa.h"
#include "guest/x86_length.h"

struct insn_scan {
    const struct cover *cover;
    bool capstone; /* open */
    csh handle;
    cs_insn *insn;
    uint64_t it_next; /* arm: address of the next instruction in an IT block */
    unsigned it_left; /* number of instructions left in the IT block, with that one */
};

struct insn_scan *insn_scan_new(const struct cover *c)
{
    struct insn_scan *s = calloc(1, sizeof(*s));
    bool x86 = c->machine == CANNOLI_EM_X86_64 || c->machine == CANNOLI_EM_386;

    if (!s) {
        return NULL;
    }
    s->cover = c;
    if (x86 && cs_open(CS_ARCH_X86, c->addr_bits == 64 ? CS_MODE_64 : CS_MODE_32,
                       &s->handle) == CS_ERR_OK) {
        s->capstone = true;
        s->insn = cs_malloc(s->handle);
        if (!s->insn) {
            insn_scan_free(s);
            return NULL;
        }
    }
    return s;
}

void insn_scan_free(struct insn_scan *s)
{
    if (!s) {
        return;
    }
    if (s->insn) {
        cs_free(s->insn, 1);
    }
    if (s->capstone) {
        cs_close(&s->handle);
    }
    free(s);
}

static uint32_t half(const struct cover *c, const uint8_t *b)
{
    return cannoli_isa_u16(b, c->big_endian);
}

/* Instructions that Capstone 4 does not know: AVX-512 and its masks, shadow stacks. */
static unsigned x86_new_length(const uint8_t *b, size_t n)
{
    size_t at = 0, rest;
    unsigned map = 1, op;

    if (n < 5) {
        return 0;
    }
    if (b[0] == 0x62) {
        map = b[1] & 7;
        at = 4;
    } else if (b[0] == 0xc4) {
        map = b[1] & 31;
        at = 3;
    } else if (b[0] == 0xc5) {
        at = 2;
    } else if (b[0] == 0xf3) { /* RDSSP, INCSSP */
        at = (b[1] & 0xf0) == 0x40 ? 2 : 1;
        if (b[at] != 0x0f || (b[at + 1] != 0x1e && b[at + 1] != 0xae)) {
            return 0;
        }
        at++;
    } else {
        return 0;
    }
    op = b[at++];
    rest = x86_modrm(b + at, n - at);
    if (!rest) {
        return 0;
    }
    at += rest;
    if (map == 3 ||
        (map == 1 && b[0] != 0xf3 &&
         ((op >= 0x70 && op <= 0x73) || op == 0xc2 || (op >= 0xc4 && op <= 0xc6)))) {
        at++; /* an immediate byte */
    }
    return at <= n ? (unsigned)at : 0;
}

unsigned insn_length(struct insn_scan *s, const uint8_t *bytes, size_t n, uint64_t vaddr,
                     unsigned mode)
{
    const struct cover *c = s->cover;
    const uint8_t *code = bytes;
    size_t left = n < 16 ? n : 16;
    unsigned len = 4;

    switch (c->machine) {
    case CANNOLI_EM_X86_64:
    case CANNOLI_EM_386:
        if (s->capstone && cs_disasm_iter(s->handle, &code, &left, &vaddr, s->insn)) {
            return s->insn->size;
        }
        return x86_new_length(bytes, n < 16 ? n : 16);
    case CANNOLI_EM_ARM:
        if (mode == CANNOLI_ISA_THUMB) {
            len = n >= 2 && half(c, bytes) >= 0xe800 ? 4 : 2;
        }
        break;
    case CANNOLI_EM_RISCV:
        len = n && (bytes[0] & 3) == 3 ? 4 : 2;
        break;
    case CANNOLI_EM_S390:
        len = n == 0 || bytes[0] < 0x40 ? 2 : bytes[0] < 0xc0 ? 4 : 6;
        break;
    }
    return len <= n ? len : 0;
}

unsigned insn_scan_at(struct insn_scan *s, const struct symfile *f, uint64_t vaddr,
                      uint16_t *flags, uint8_t *mode)
{
    *mode = s->cover->machine == CANNOLI_EM_ARM && symfile_is_thumb(f, vaddr)
                ? CTR_ISA_THUMB
                : CTR_ISA_DEFAULT;
    return insn_scan_mode(s, f, vaddr, *mode, flags);
}

unsigned insn_scan_mode(struct insn_scan *s, const struct symfile *f, uint64_t vaddr,
                        uint8_t mode, uint16_t *flags)
{
    const struct cover *c = s->cover;
    size_t n = 0;
    const uint8_t *bytes = symfile_bytes(f, vaddr, &n);
    uint32_t bits = c->addr_bits == 32 ? CANNOLI_ISA_32 : 0, f32 = 0, h;
    unsigned len, it;

    *flags = 0;
    if (!bytes) {
        return 0;
    }
    len = insn_length(s, bytes, n, vaddr, mode);
    if (!len ||
        !cannoli_isa_flags(c->machine, mode | bits, c->big_endian, bytes, len, &f32)) {
        return len;
    }
    if (mode == CTR_ISA_THUMB) {
        h = len == 2 ? half(c, bytes) : 0;
        it = insn_it_length(h);
        if (it) {
            s->it_next = vaddr + len;
            s->it_left = it;
        } else if (s->it_left && vaddr == s->it_next) {
            f32 |= f32 & CANNOLI_INSN_BRANCH ? CANNOLI_INSN_COND : 0;
            s->it_next += len;
            s->it_left--;
        }
    }
    *flags = (uint16_t)f32;
    return len;
}

unsigned insn_delay_slots(const struct cover *c)
{
    return c->machine == CANNOLI_EM_MIPS ? 1 : 0;
}

/* ----------------------------------------------------------------- targets */

/* The low n bits of v as a signed number. */
static int64_t sext(uint64_t v, unsigned n)
{
    uint64_t sign = 1ull << (n - 1);

    return (int64_t)(((v & (sign * 2 - 1)) ^ sign) - sign);
}

static bool arm_target(uint64_t addr, uint32_t w, uint64_t *target)
{
    if ((w >> 25 & 7) != 5) {
        return false;
    }
    *target = addr + 8 + (uint64_t)(sext(w, 24) * 4);
    if (w >> 28 == 15) { /* BLX */
        *target += w >> 23 & 2;
    }
    return true;
}

static bool thumb_target(uint64_t addr, uint32_t h, uint32_t w, unsigned len,
                         uint64_t *target)
{
    uint64_t pc = addr + 4;
    uint32_t s, j1, j2;

    if (len == 2) {
        if ((h & 0xf500) == 0xb100) { /* CBZ */
            *target = pc + ((h >> 3 & 0x1f) << 1 | (h >> 9 & 1) << 6);
        } else if ((h & 0xf000) == 0xd000) {
            *target = pc + (uint64_t)(sext(h, 8) * 2);
        } else if ((h & 0xf800) == 0xe000) {
            *target = pc + (uint64_t)(sext(h, 11) * 2);
        } else {
            return false;
        }
        return true;
    }
    if ((w & 0xf8008000) != 0xf0008000) {
        return false;
    }
    s = w >> 26 & 1;
    j1 = w >> 13 & 1;
    j2 = w >> 11 & 1;
    if ((w & 0x5000) == 0) { /* B<c>.W */
        *target = pc + (uint64_t)(sext(s << 19 | j2 << 18 | j1 << 17 |
                                           (w >> 16 & 0x3f) << 11 | (w & 0x7ff),
                                       20) *
                                  2);
        return (w >> 22 & 15) < 14;
    }
    if ((w & 0x5000) == 0x4000) { /* BLX: to A32 code */
        pc &= ~3ull;
    }
    *target = pc + (uint64_t)(sext(s << 23 | (uint32_t)!(j1 ^ s) << 22 |
                                       (uint32_t)!(j2 ^ s) << 21 |
                                       (w >> 16 & 0x3ff) << 11 | (w & 0x7ff),
                                   24) *
                              2);
    return true;
}

static bool aarch64_target(uint64_t addr, uint32_t w, uint64_t *target)
{
    int64_t off;

    if ((w & 0x7c000000) == 0x14000000) { /* B, BL */
        off = sext(w, 26);
    } else if ((w & 0xff000000) == 0x54000000 || (w & 0x7e000000) == 0x34000000) {
        off = sext(w >> 5, 19); /* B.cond, CBZ */
    } else if ((w & 0x7e000000) == 0x36000000) {
        off = sext(w >> 5, 14); /* TBZ */
    } else {
        return false;
    }
    *target = addr + (uint64_t)(off * 4);
    return true;
}

static bool mips_target(uint64_t addr, uint32_t w, uint64_t *target)
{
    uint32_t op = w >> 26;

    if (op == 2 || op == 3) {
        *target = ((addr + 4) & ~0xfffffffull) | (w & 0x3ffffff) << 2;
        return true;
    }
    if (op == 0 || op == 0x1d) {
        return false;
    }
    *target = addr + 4 + (uint64_t)(sext(w, 16) * 4);
    return true;
}

static bool ppc_target(uint64_t addr, uint32_t w, uint64_t *target)
{
    if (w >> 26 == 18) {
        *target = (uint64_t)(sext(w >> 2, 24) * 4);
    } else if (w >> 26 == 16) {
        *target = (uint64_t)(sext(w >> 2, 14) * 4);
    } else {
        return false;
    }
    *target += w & 2 ? 0 : addr; /* AA: absolute */
    return true;
}

static bool riscv_target(uint64_t addr, uint32_t w, unsigned len, uint64_t *target)
{
    int64_t off;

    if (len == 4 && (w & 0x7f) == 0x6f) { /* JAL */
        off = sext((w >> 31) << 19 | (w >> 12 & 0xff) << 11 | (w >> 20 & 1) << 10 |
                       (w >> 21 & 0x3ff),
                   20) *
              2;
    } else if (len == 4 && (w & 0x7f) == 0x63) { /* Bcc */
        off = sext((w >> 31) << 11 | (w >> 7 & 1) << 10 | (w >> 25 & 0x3f) << 4 |
                       (w >> 8 & 15),
                   12) *
              2;
    } else if (len == 2 && ((w & 0xe003) == 0xa001 || (w & 0xe003) == 0x2001)) {
        off = sext((w >> 12 & 1) << 10 | (w >> 8 & 1) << 9 | (w >> 9 & 3) << 7 |
                       (w >> 6 & 1) << 6 | (w >> 7 & 1) << 5 | (w >> 2 & 1) << 4 |
                       (w >> 11 & 1) << 3 | (w >> 3 & 7),
                   11) *
              2;                                     /* C.J, C.JAL */
    } else if (len == 2 && (w & 0xc003) == 0xc001) { /* C.BEQZ, C.BNEZ */
        off = sext((w >> 12 & 1) << 7 | (w >> 5 & 3) << 5 | (w >> 2 & 1) << 4 |
                       (w >> 10 & 3) << 2 | (w >> 3 & 3),
                   8) *
              2;
    } else {
        return false;
    }
    *target = addr + (uint64_t)off;
    return true;
}

static bool s390_target(uint64_t addr, const uint8_t *b, unsigned len, uint64_t *target)
{
    bool wide = b[0] == 0xc0 || b[0] == 0xcc;
    bool near = b[0] == 0xa7 || b[0] == 0x84 || b[0] == 0x85 ||
                (b[0] == 0xec && len == 6 && b[5] < 0x80 &&
                 (b[5] == 0x44 || b[5] == 0x45 || (b[5] & 0xe4) == 0x64));

    if (!wide && !near) {
        return false;
    }
    *target = addr + (uint64_t)((wide ? sext(cannoli_isa_u32(b + 2, 1), 32)
                                      : sext(cannoli_isa_u16(b + 2, 1), 16)) *
                                2);
    return true;
}

static bool x86_target(uint64_t addr, const uint8_t *b, unsigned len, bool bits64,
                       uint64_t *target)
{
    unsigned i = 0, rel = 0;

    while (i < len && (b[i] == 0xf2 || b[i] == 0xf3 || b[i] == 0x2e || b[i] == 0x3e ||
                       b[i] == 0x67 || (bits64 && (b[i] & 0xf0) == 0x40))) {
        i++;
    }
    if (i < len && ((b[i] & 0xf0) == 0x70 || b[i] == 0xeb || (b[i] & 0xfc) == 0xe0)) {
        rel = 1;
    } else if (i < len && (b[i] == 0xe8 || b[i] == 0xe9)) {
        rel = 4;
    } else if (i + 1 < len && b[i] == 0x0f && (b[i + 1] & 0xf0) == 0x80) {
        rel = 4;
        i++;
    }
    if (!rel || i + 1 + rel != len) {
        return false;
    }
    *target = addr + len +
              (uint64_t)(rel == 1 ? sext(b[i + 1], 8)
                                  : sext(cannoli_isa_u32(b + i + 1, 0), 32));
    return true;
}

bool insn_target(const struct cover *c, uint64_t addr, const uint8_t *bytes, unsigned len,
                 unsigned mode, uint64_t *target)
{
    bool big =
        c->big_endian && c->machine != CANNOLI_EM_AARCH64 && mode != CANNOLI_ISA_PPC_LE;
    uint32_t h = len >= 2 ? cannoli_isa_u16(bytes, big) : 0, flags = 0;
    uint32_t w = len >= 4 ? cannoli_isa_u32(bytes, big) : h;
    bool known = false;

    if (!cannoli_isa_flags(c->machine, mode | (c->addr_bits == 32 ? CANNOLI_ISA_32 : 0),
                           big, bytes, len, &flags) ||
        !(flags & CANNOLI_INSN_BRANCH) || (flags & CANNOLI_INSN_INDIRECT)) {
        return false;
    }
    switch (c->machine) {
    case CANNOLI_EM_X86_64:
    case CANNOLI_EM_386:
        known = x86_target(addr, bytes, len, c->addr_bits == 64, target);
        break;
    case CANNOLI_EM_ARM:
        if (mode == CANNOLI_ISA_THUMB) {
            w = len == 4 ? h << 16 | cannoli_isa_u16(bytes + 2, big) : h;
            known = thumb_target(addr, h, w, len, target);
        } else {
            known = arm_target(addr, w, target);
        }
        break;
    case CANNOLI_EM_AARCH64:
        known = aarch64_target(addr, w, target);
        break;
    case CANNOLI_EM_MIPS:
        known = mode == 0 && mips_target(addr, w, target);
        break;
    case CANNOLI_EM_PPC:
    case CANNOLI_EM_PPC64:
        known = ppc_target(addr, w, target);
        break;
    case CANNOLI_EM_RISCV:
        known = riscv_target(addr, w, len, target);
        break;
    case CANNOLI_EM_S390:
        known = len >= 4 && s390_target(addr, bytes, len, target);
        break;
    }
    if (known && c->addr_bits == 32) {
        *target &= UINT32_MAX;
    }
    return known;
}
