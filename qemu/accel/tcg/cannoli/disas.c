/*
 * Execution tracing into shared memory: instructions as text
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For the libraries that choose.  The text is what readers of the recording
 * show; they use Capstone's defaults: Intel's syntax for x86.  QEMU's own
 * disassemblers, which name some instructions differently, are used for
 * machines that Capstone does not know.  Under mmap_lock.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "elf.h"
#include "disas/capstone.h"
#include "disas/disas.h"
#include "jitter.h"

#ifdef CONFIG_CAPSTONE

#define NR_MODES 8

typedef struct Engine {
    bool tried, open;
    csh handle;
} Engine;

/* Capstone's architecture and mode; false if it has none. */
static bool capstone_mode(uint32_t mode, bool be, cs_arch *arch, int *csmode)
{
    int m = 0;

    switch (cannoli_elf_machine) {
    case EM_ARM:
        *arch = CS_ARCH_ARM;
        m = (mode == CTR_MODE_THUMB ? CS_MODE_THUMB : CS_MODE_ARM) | CS_MODE_V8;
        break;
    case EM_AARCH64:
        *arch = CS_ARCH_ARM64;
        be = false;
        break;
    case EM_386:
    case EM_X86_64:
        *arch = CS_ARCH_X86;
        m = mode == CTR_MODE_X86_16   ? CS_MODE_16
            : mode == CTR_MODE_X86_32 ? CS_MODE_32
                                      : CS_MODE_64;
        break;
    case EM_MIPS:
        *arch = CS_ARCH_MIPS;
        if (mode == CTR_MODE_MIPS16) {
            return false;
        }
        m = mode == CTR_MODE_MICROMIPS ? CS_MODE_MIPS32 | CS_MODE_MICRO
            : g_str_has_prefix(TARGET_NAME, "mips64") ||
                    g_str_has_prefix(TARGET_NAME, "mipsn32")
                ? CS_MODE_MIPS64
                : CS_MODE_MIPS32;
        break;
    case EM_PPC:
    case EM_PPC64:
        *arch = CS_ARCH_PPC;
        be = be && mode != CTR_MODE_PPC_LE;
        m = cannoli_elf_machine == EM_PPC ? CS_MODE_32 : CS_MODE_64;
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
        m = CS_MODE_RISCVC |
            (TARGET_LONG_BITS == 32 ? CS_MODE_RISCV32 : CS_MODE_RISCV64);
        break;
    case EM_SH:
        *arch = CS_ARCH_SH;
        m = CS_MODE_SH4 | CS_MODE_SHFPU;
        break;
#endif
    default:
        return false;
    }
    *csmode = m | (be ? (int)CS_MODE_BIG_ENDIAN : 0);
    return true;
}

/*
 * Capstone remembers an IT instruction and applies its conditions to the next
 * four; the text of an instruction depends on its own bytes only, not on
 * earlier queries.
 */
static void leave_it_block(csh handle, bool be, cs_insn *insn)
{
    for (int i = 0; i < 4; i++) {
        uint8_t nop[2] = { be ? 0xbf : 0, be ? 0 : 0xbf };
        const uint8_t *bytes = nop;
        size_t len = sizeof(nop);
        uint64_t pc = 0;

        cs_disasm_iter(handle, &bytes, &len, &pc, insn);
    }
}

/* False if Capstone does not know the machine. */
static bool by_capstone(const struct cannoli_insn *in, bool be, char **text)
{
    static Engine engines[NR_MODES];
    static cs_insn *insn;
    Engine *e = &engines[in->mode % NR_MODES];
    const uint8_t *bytes = in->bytes;
    size_t len = in->len;
    uint64_t pc = in->pc;
    cs_arch arch;
    int mode;

    if (!e->tried) {
        e->tried = true;
        e->open = capstone_mode(in->mode, be, &arch, &mode) &&
                  cs_open(arch, mode, &e->handle) == CS_ERR_OK;
        if (e->open && !insn) {
            insn = cs_malloc(e->handle);
        }
    }
    if (!e->open || !insn) {
        return false;
    }
    if (in->mode == CTR_MODE_THUMB && cannoli_elf_machine == EM_ARM) {
        leave_it_block(e->handle, be, insn);
    }
    if (cs_disasm_iter(e->handle, &bytes, &len, &pc, insn)) {
        *text = g_strdup_printf("%s%s%s", insn->mnemonic,
                                insn->op_str[0] ? " " : "", insn->op_str);
    }
    return true;
}

#else

static bool by_capstone(const struct cannoli_insn *in, bool be, char **text)
{
    return false;
}

#endif

char *cannoli_disas(const CannoliQuery *query, bool be)
{
    char *text = NULL;

    if (by_capstone(query->insn, be, &text)) {
        return text;
    }
#ifdef CONFIG_PLUGIN
    /*
     * QEMU's disassembler reads guest code, not the bytes of the queried insn.
     */
    if (!query->db->fake_insn && query->insn->len) {
        text = g_strstrip(plugin_disas(query->cpu, query->db, query->insn->pc,
                                       query->insn->len));
    }
#endif
    return text;
}
