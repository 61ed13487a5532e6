/* SPDX-License-Identifier: MIT */
/*
 * Names of exceptions and interrupts, and of privileges, as the manuals of the machines
 * have them: Arm ARM (ESR_ELx.EC) and ARMv7-M ARM, Base System Architecture (interrupts of
 * the processor's own devices), RISC-V privileged architecture, Intel SDM volume 3, MIPS32
 * PRA, Power ISA book III, z/Architecture Principles of Operation.
 */
#include "guest/guest.h"

#include <elf.h>
#include <stdio.h>

#include "cannoli/events.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define FIRST_SHARED_INTID 32u /* below: of the processor itself */
#define FIRST_M_IRQ 16u
#define FIRST_USER_VECTOR 32u
#define NMI_VECTOR 2u

static const char *const arm_ec[64] = {
    [0x00] = "Undefined Instruction",
    [0x01] = "WFI or WFE",
    [0x03] = "MCR or MRC (cp15)",
    [0x04] = "MCRR or MRRC (cp15)",
    [0x05] = "MCR or MRC (cp14)",
    [0x06] = "LDC or STC (cp14)",
    [0x07] = "FP or SIMD access",
    [0x08] = "VMRS access",
    [0x09] = "Pointer Authentication",
    [0x0a] = "LD64B or ST64B",
    [0x0c] = "MRRC (cp14)",
    [0x0d] = "Branch Target",
    [0x0e] = "Illegal Execution State",
    [0x11] = "SVC",
    [0x12] = "HVC",
    [0x13] = "SMC",
    [0x15] = "SVC",
    [0x16] = "HVC",
    [0x17] = "SMC",
    [0x18] = "MSR, MRS or SYS",
    [0x19] = "SVE access",
    [0x1a] = "ERET",
    [0x1c] = "Pointer Authentication Failure",
    [0x1d] = "SME access",
    [0x1e] = "Granule Protection Check",
    [0x20] = "Instruction Abort",
    [0x21] = "Instruction Abort",
    [0x22] = "PC Alignment",
    [0x24] = "Data Abort",
    [0x25] = "Data Abort",
    [0x26] = "SP Alignment",
    [0x27] = "Memory Operation",
    [0x28] = "FP Exception",
    [0x2c] = "FP Exception",
    [0x2f] = "SError",
    [0x30] = "Breakpoint",
    [0x31] = "Breakpoint",
    [0x32] = "Software Step",
    [0x33] = "Software Step",
    [0x34] = "Watchpoint",
    [0x35] = "Watchpoint",
    [0x38] = "BKPT",
    [0x3a] = "Vector Catch",
    [0x3c] = "BRK",
};

static const char *const arm_private[FIRST_SHARED_INTID] = {
    [23] = "performance monitor",
    [25] = "GIC maintenance",
    [26] = "hypervisor timer",
    [27] = "virtual timer",
    [28] = "hypervisor virtual timer",
    [29] = "secure timer",
    [30] = "timer",
};

static const char *const arm_m[FIRST_M_IRQ] = {
    [1] = "Reset",         [2] = "NMI",        [3] = "HardFault",   [4] = "MemManage",
    [5] = "BusFault",      [6] = "UsageFault", [7] = "SecureFault", [11] = "SVCall",
    [12] = "DebugMonitor", [14] = "PendSV",    [15] = "SysTick",
};

static const char *const riscv_interrupt[] = {
    [0] = "user software",
    [1] = "supervisor software",
    [2] = "guest software",
    [3] = "machine software",
    [4] = "user timer",
    [5] = "supervisor timer",
    [6] = "guest timer",
    [7] = "machine timer",
    [8] = "user external",
    [9] = "supervisor external",
    [10] = "guest external",
    [11] = "machine external",
    [12] = "supervisor guest external",
    [13] = "counter overflow",
};

static const char *const riscv_exception[] = {
    [0] = "instruction address misaligned",
    [1] = "instruction access fault",
    [2] = "illegal instruction",
    [3] = "breakpoint",
    [4] = "load address misaligned",
    [5] = "load access fault",
    [6] = "store address misaligned",
    [7] = "store access fault",
    [8] = "ecall from U-mode",
    [9] = "ecall from S-mode",
    [10] = "ecall from VS-mode",
    [11] = "ecall from M-mode",
    [12] = "instruction page fault",
    [13] = "load page fault",
    [15] = "store page fault",
    [16] = "double trap",
    [18] = "software check",
    [19] = "hardware error",
    [20] = "instruction guest page fault",
    [21] = "load guest page fault",
    [22] = "virtual instruction",
    [23] = "store guest page fault",
    [63] = "semihosting call",
};

static const char *const x86_vector[FIRST_USER_VECTOR] = {
    [0] = "#DE",  [1] = "#DB",  [2] = "NMI",  [3] = "#BP",  [4] = "#OF",
    [5] = "#BR",  [6] = "#UD",  [7] = "#NM",  [8] = "#DF",  [10] = "#TS",
    [11] = "#NP", [12] = "#SS", [13] = "#GP", [14] = "#PF", [16] = "#MF",
    [17] = "#AC", [18] = "#MC", [19] = "#XM", [20] = "#VE", [21] = "#CP",
};

static const char *const mips_code[] = {
    [0] = "Interrupt",
    [1] = "TLB modification",
    [2] = "TLB load or fetch",
    [3] = "TLB store",
    [4] = "address error on load or fetch",
    [5] = "address error on store",
    [6] = "bus error on fetch",
    [7] = "bus error on access",
    [8] = "syscall",
    [9] = "breakpoint",
    [10] = "reserved instruction",
    [11] = "coprocessor unusable",
    [12] = "overflow",
    [13] = "trap",
    [14] = "MSA floating-point exception",
    [15] = "floating-point exception",
    [19] = "TLB read inhibit",
    [20] = "TLB execute inhibit",
    [21] = "MSA disabled",
    [23] = "watch",
    [24] = "machine check",
};

static const struct {
    uint32_t vector;
    const char *name;
} ppc_vectors[] = {
    {0x100, "System Reset"},
    {0x200, "Machine Check"},
    {0x300, "Data Storage"},
    {0x380, "Data Segment"},
    {0x400, "Instruction Storage"},
    {0x480, "Instruction Segment"},
    {0x500, "External"},
    {0x600, "Alignment"},
    {0x700, "Program"},
    {0x800, "Floating-Point Unavailable"},
    {0x900, "Decrementer"},
    {0x980, "Hypervisor Decrementer"},
    {0xa00, "Directed Privileged Doorbell"},
    {0xc00, "System Call"},
    {0xd00, "Trace"},
    {0xe00, "Hypervisor Data Storage"},
    {0xe20, "Hypervisor Instruction Storage"},
    {0xe40, "Hypervisor Emulation Assistance"},
    {0xe80, "Directed Hypervisor Doorbell"},
    {0xea0, "Hypervisor Virtualization"},
    {0xf00, "Performance Monitor"},
    {0xf20, "Vector Unavailable"},
    {0xf40, "VSX Unavailable"},
    {0xf60, "Facility Unavailable"},
    {0xf80, "Hypervisor Facility Unavailable"},
    {0x3000, "System Call Vectored"},
};

static const char *const s390x_program[] = {
    [0x01] = "operation",
    [0x02] = "privileged operation",
    [0x03] = "execute",
    [0x04] = "protection",
    [0x05] = "addressing",
    [0x06] = "specification",
    [0x07] = "data",
    [0x08] = "fixed-point overflow",
    [0x09] = "fixed-point divide",
    [0x0a] = "decimal overflow",
    [0x0b] = "decimal divide",
    [0x0c] = "HFP exponent overflow",
    [0x0d] = "HFP exponent underflow",
    [0x0e] = "HFP significance",
    [0x0f] = "HFP divide",
    [0x10] = "segment translation",
    [0x11] = "page translation",
    [0x12] = "translation specification",
    [0x13] = "special operation",
    [0x15] = "operand",
    [0x1b] = "vector processing",
    [0x38] = "ASCE type",
    [0x39] = "region first translation",
    [0x3a] = "region second translation",
    [0x3b] = "region third translation",
    [0x40] = "monitor event",
};

static const char *lookup(const char *const *names, size_t n, uint32_t number)
{
    return number < n ? names[number] : NULL;
}

static const char *arm_name(const struct ctr_interrupt *i, char *buf)
{
    const char *kind = i->flags & CTR_INT_FAST ? "FIQ" : "IRQ", *name;
    const char *before = i->flags & CTR_INT_VIRTUAL ? "virtual " : "";

    if (i->flags & CTR_INT_VECTOR) {
        name = lookup(arm_m, COUNT(arm_m), i->number);
        if (i->flags & CTR_INT_EMULATED) {
            name = "semihosting call";
        } else if (!name) {
            snprintf(buf, GUEST_INTERRUPT_MAX, "IRQ %u", i->number - FIRST_M_IRQ);
        }
        return name ? name : buf;
    }
    if (!(i->flags & CTR_INT_ASYNC)) {
        name = lookup(arm_ec, COUNT(arm_ec), i->number);
        return name && i->flags & CTR_INT_EMULATED && !i->syndrome ? "semihosting call"
                                                                   : name;
    }
    if (i->flags & CTR_INT_ERROR) {
        return "virtual SError";
    }
    name = lookup(arm_private, COUNT(arm_private), i->number);
    if (i->number == CTR_INT_UNKNOWN) {
        snprintf(buf, GUEST_INTERRUPT_MAX, "%s%s", before, kind);
    } else {
        snprintf(buf, GUEST_INTERRUPT_MAX, "%s%s %u%s%s%s", before, kind, i->number,
                 name ? " (" : "", name ? name : "", name ? ")" : "");
    }
    return buf;
}

static const char *riscv_name(const struct ctr_interrupt *i, char *buf)
{
    const char *name;

    if (!(i->flags & CTR_INT_ASYNC)) {
        return lookup(riscv_exception, COUNT(riscv_exception), i->number);
    }
    name = lookup(riscv_interrupt, COUNT(riscv_interrupt), i->number);
    snprintf(buf, GUEST_INTERRUPT_MAX, "IRQ %u%s%s%s", i->number, name ? " (" : "",
             name ? name : "", name ? ")" : "");
    return buf;
}

static const char *x86_name(const struct ctr_interrupt *i, char *buf)
{
    const char *name = lookup(x86_vector, COUNT(x86_vector), i->number);

    switch (i->number) {
    case CTR_INT_SYSCALL:
        return "SYSCALL";
    case CTR_INT_SYSENTER:
        return "SYSENTER";
    case CTR_INT_SMI:
        return "SMI";
    }
    /* A controller that nobody set up sends the numbers of exceptions. */
    if (i->flags & CTR_INT_TRAP || !name ||
        (i->flags & CTR_INT_ASYNC && i->number != NMI_VECTOR)) {
        snprintf(buf, GUEST_INTERRUPT_MAX, "%s 0x%x",
                 i->flags & CTR_INT_TRAP ? "INT" : "IRQ", i->number);
        return buf;
    }
    return name;
}

static const char *mips_name(const struct ctr_interrupt *i, char *buf)
{
    if (!(i->flags & CTR_INT_ASYNC)) {
        return lookup(mips_code, COUNT(mips_code), i->number);
    }
    if (i->number == CTR_INT_UNKNOWN) {
        return NULL;
    }
    snprintf(buf, GUEST_INTERRUPT_MAX, "IRQ %u", i->number);
    return buf;
}

static const char *ppc_name(const struct ctr_interrupt *i)
{
    for (size_t k = 0; k < COUNT(ppc_vectors); k++) {
        if (ppc_vectors[k].vector == i->number) {
            return i->flags & CTR_INT_EMULATED ? "Hypervisor Call" : ppc_vectors[k].name;
        }
    }
    return NULL;
}

static const char *s390x_name(const struct ctr_interrupt *i, char *buf)
{
    if (i->flags & CTR_INT_TRAP) {
        snprintf(buf, GUEST_INTERRUPT_MAX, "SVC %u", i->number);
        return buf;
    }
    return i->flags & CTR_INT_ASYNC ? NULL
                                    : lookup(s390x_program, COUNT(s390x_program),
                                             i->number & 0x7f); /* not PER */
}

const char *guest_interrupt_name(const struct guest *g, const struct ctr_interrupt *i,
                                 char *buf)
{
    const char *name = NULL;

    switch (g->abi->e_machine) {
    case EM_ARM:
    case EM_AARCH64:
        name = arm_name(i, buf);
        break;
    case EM_RISCV:
        name = riscv_name(i, buf);
        break;
    case EM_386:
    case EM_X86_64:
        name = x86_name(i, buf);
        break;
    case EM_MIPS:
        name = mips_name(i, buf);
        break;
    case EM_PPC:
    case EM_PPC64:
        name = ppc_name(i);
        break;
    case EM_S390:
        name = s390x_name(i, buf);
        break;
    }
    if (!name) {
        snprintf(buf, GUEST_INTERRUPT_MAX, i->number == CTR_INT_UNKNOWN ? "%s" : "%s %u",
                 i->flags & CTR_INT_ASYNC ? "interrupt" : "exception", i->number);
        name = buf;
    }
    return name;
}

void guest_interrupt_registers(const struct guest *g, const char **syndrome,
                               const char **addr)
{
    *syndrome = NULL;
    *addr = "address";
    switch (g->abi->e_machine) {
    case EM_ARM:
    case EM_AARCH64:
        *syndrome = "ESR";
        *addr = "FAR";
        break;
    case EM_RISCV:
        *addr = "tval";
        break;
    case EM_386:
    case EM_X86_64:
        *syndrome = "error";
        *addr = "CR2";
        break;
    case EM_MIPS:
        *addr = "BadVAddr";
        break;
    case EM_PPC:
    case EM_PPC64:
        *syndrome = "DSISR";
        *addr = "DAR";
        break;
    }
}

const char *guest_privilege_name(const struct guest *g, unsigned privilege)
{
    static const char *const arm[] = {"", "EL0", "EL1", "EL2",  "EL3", "",
                                      "", "",    "",    "user", "priv"};
    static const char *const riscv[] = {"", "U", "S", "", "M", "VU", "VS"};
    static const char *const x86[] = {"", "ring3", "ring0", "",     "SMM",
                                      "", "",      "ring2", "ring1"};
    static const char *const others[] = {"", "user", "kernel"};
    const char *name;

    switch (g->abi->e_machine) {
    case EM_ARM:
    case EM_AARCH64:
        name = lookup(arm, COUNT(arm), privilege);
        break;
    case EM_RISCV:
        name = lookup(riscv, COUNT(riscv), privilege);
        break;
    case EM_386:
    case EM_X86_64:
        name = lookup(x86, COUNT(x86), privilege);
        break;
    default:
        name = lookup(others, COUNT(others), privilege);
    }
    return name ? name : "";
}
