/* SPDX-License-Identifier: MIT */
/*
 * Implements disas.h with Capstone: maps each target to an architecture and a mode.
 *
 * A handle is opened per mode, on first use.  RISC-V and SuperH need Capstone 5 at
 * compile time.
 */
#include "guest/disas.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <capstone/capstone.h>

#include "cannoli/events.h"
#include "common/textbuf.h"

#define NR_MODES (CTR_MODE_PPC_LE + 1u)

/* Thumb "nop": four of them end any IT block. */
static const uint8_t thumb_nop[2][2] = {{0x00, 0xbf}, {0xbf, 0x00}};

struct engine {
    csh handle;
    bool tried; /* opened, or failed to open */
    bool open;
};

struct disas {
    unsigned e_machine;
    bool big_endian;
    char target[32];
    struct engine engine[NR_MODES];
    struct engine *now; /* of the current block, NULL: bytes only */
    cs_insn *insn;      /* Capstone's scratch */
    char name[32];
};

/* Capstone's architecture and mode of a block; false if it has none. */
static bool capstone_mode(const struct disas *d, unsigned mode, cs_arch *arch,
                          int *csmode)
{
    bool be = d->big_endian;
    int m = 0;

    switch (d->e_machine) {
    case EM_ARM:
        *arch = CS_ARCH_ARM;
        m = mode == CTR_MODE_THUMB ? CS_MODE_THUMB : CS_MODE_ARM;
        m |= CS_MODE_V8;
        break;
    case EM_AARCH64:
        *arch = CS_ARCH_ARM64;
        be = false; /* instructions are always little-endian */
        break;
    case EM_386:
    case EM_X86_64:
        *arch = CS_ARCH_X86;
        be = false;
        switch (mode) {
        case CTR_MODE_X86_16:
            m = CS_MODE_16;
            break;
        case CTR_MODE_X86_32:
            m = CS_MODE_32;
            break;
        case CTR_MODE_X86_64:
            m = CS_MODE_64;
            break;
        default:
            m = d->e_machine == EM_386 ? CS_MODE_32 : CS_MODE_64;
            break;
        }
        break;
    case EM_MIPS:
    case EM_MIPS_RS3_LE:
        *arch = CS_ARCH_MIPS;
        if (mode == CTR_MODE_MIPS16) {
            return false;
        }
        m = !strncmp(d->target, "mips64", 6) || !strncmp(d->target, "mipsn32", 7)
                ? CS_MODE_MIPS64
                : CS_MODE_MIPS32;
        if (mode == CTR_MODE_MICROMIPS) {
            m = CS_MODE_MIPS32 | CS_MODE_MICRO;
        }
        break;
    case EM_PPC:
        *arch = CS_ARCH_PPC;
        m = CS_MODE_32;
        break;
    case EM_PPC64:
        *arch = CS_ARCH_PPC;
        m = CS_MODE_64;
        break;
    case EM_S390:
        *arch = CS_ARCH_SYSZ;
        break;
    case EM_SPARC:
        *arch = CS_ARCH_SPARC;
        break;
    case EM_SPARC32PLUS:
    case EM_SPARCV9:
        *arch = CS_ARCH_SPARC;
        m = CS_MODE_V9;
        break;
    case EM_68K:
        *arch = CS_ARCH_M68K;
        m = CS_MODE_M68K_040;
        break;
#if CS_API_MAJOR >= 5
    case EM_RISCV:
        *arch = CS_ARCH_RISCV;
        m = strcmp(d->target, "riscv32") ? CS_MODE_RISCV64 : CS_MODE_RISCV32;
        m |= CS_MODE_RISCVC;
        break;
    case EM_SH:
        *arch = CS_ARCH_SH;
        m = CS_MODE_SH4 | CS_MODE_SHFPU;
        break;
#endif
    default:
        return false;
    }
    be = be && mode != CTR_MODE_PPC_LE;
    *csmode = m | (be ? (int)CS_MODE_BIG_ENDIAN : 0);
    return true;
}

static struct engine *engine_of_mode(struct disas *d, unsigned mode)
{
    struct engine *e = &d->engine[mode < NR_MODES ? mode : CTR_MODE_DEFAULT];
    cs_arch arch;
    int csmode;

    if (!e->tried) {
        e->tried = true;
        e->open = capstone_mode(d, mode, &arch, &csmode) &&
                  cs_open(arch, (cs_mode)csmode, &e->handle) == CS_ERR_OK;
        if (e->open && !d->insn) {
            d->insn = cs_malloc(e->handle);
        }
    }
    return e->open && d->insn ? e : NULL;
}

struct disas *disas_new(unsigned e_machine, bool big_endian, const char *target)
{
    struct disas *d = calloc(1, sizeof(*d));
    int major, minor;

    if (d) {
        d->e_machine = e_machine;
        d->big_endian = big_endian;
        snprintf(d->target, sizeof(d->target), "%s", target);
        cs_version(&major, &minor);
        snprintf(d->name, sizeof(d->name), "Capstone %d.%d", major, minor);
    }
    return d;
}

void disas_free(struct disas *d)
{
    if (!d) {
        return;
    }
    if (d->insn) {
        cs_free(d->insn, 1);
    }
    for (unsigned i = 0; i < NR_MODES; i++) {
        if (d->engine[i].open) {
            cs_close(&d->engine[i].handle);
        }
    }
    free(d);
}

static bool decode(struct disas *d, uint64_t pc, const uint8_t *bytes, size_t len)
{
    const uint8_t *code = bytes;
    size_t left = len;

    return cs_disasm_iter(d->now->handle, &code, &left, &pc, d->insn) && left == 0;
}

void disas_block(struct disas *d, unsigned mode)
{
    d->now = engine_of_mode(d, mode);
    if (d->now && d->e_machine == EM_ARM && mode == CTR_MODE_THUMB) {
        for (int i = 0; i < 4; i++) { /* Capstone keeps the state of an IT block */
            decode(d, 0, thumb_nop[d->big_endian], 2);
        }
    }
}

size_t disas_insn(struct disas *d, uint64_t pc, const uint8_t *bytes, size_t len,
                  char *text)
{
    char *p = text;

    if (d->now && decode(d, pc, bytes, len)) {
        p = fmt_mem(p, d->insn->mnemonic, strlen(d->insn->mnemonic));
        if (d->insn->op_str[0]) {
            *p++ = ' ';
            p = fmt_mem(p, d->insn->op_str, strlen(d->insn->op_str));
        }
        return (size_t)(p - text);
    }
    p = FMT_LIT(p, ".byte");
    for (size_t i = 0; i < len; i++) {
        if (i == 40) {
            p = FMT_LIT(p, ", ...");
            break;
        }
        p = i ? FMT_LIT(p, ", 0x") : FMT_LIT(p, " 0x");
        p = fmt_bytes(p, bytes + i, 1);
    }
    return (size_t)(p - text);
}

const char *disas_mnemonic(struct disas *d, uint64_t pc, const uint8_t *bytes, size_t len)
{
    return d->now && decode(d, pc, bytes, len) ? d->insn->mnemonic : NULL;
}

const char *disas_engine(struct disas *d)
{
    for (unsigned i = 0; i < NR_MODES; i++) {
        if (engine_of_mode(d, i)) {
            return d->name;
        }
    }
    return NULL;
}
