/* SPDX-License-Identifier: MIT */
/*
 * Registers of which others decide what is read, at EL0 to EL3 in both worlds: for
 * -M virt,secure=on,virtualization=on, where the program begins at EL3.
 */
#include "machine.h"

#define DISR_EL1 "S3_0_C12_C1_1"
#define VDISR_EL2 "S3_4_C12_C1_1"

#define SCR_NS 1u
#define SCR_EA 8u
#define SCR_EEL2 0x40000u
#define SCR_OF_ALL 0x500u /* RW, HCE */

#define HCR_AMO 0x20u
#define HCR_TGE 0x8000000u
#define HCR_RW 0x80000000u
#define HCR_E2H 0x400000000ull

#define READ(name)                                                                       \
    ({                                                                                   \
        uint64_t value_;                                                                 \
        __asm__ volatile("mrs %0, " name : "=r"(value_));                                \
        value_;                                                                          \
    })
#define WRITE(name, value)                                                               \
    __asm__ volatile("msr " name ", %0\nisb" ::"r"((uint64_t)(value)) : "memory")

/* (level, SCR, HCR): writes DISR there, if the level has it, reads it and comes back. */
void at_level(unsigned level, uint64_t scr, uint64_t hcr);

__asm__(".text\n"
        "at_level:\n"
        "stp x29, x30, [sp, #-16]!\n"
        "msr scr_el3, x1\n"
        "msr hcr_el2, x2\n"
        "isb\n"
        "mov x3, #0x3c0\n"
        "lsl x4, x0, #2\n"
        "orr x3, x3, x4\n"
        "cmp x0, #0\n"
        "cinc x3, x3, ne\n" /* EL1h, EL2h */
        "msr spsr_el3, x3\n"
        "adr x3, in_system\n"
        "adr x4, in_user\n"
        "csel x3, x3, x4, ne\n"
        "msr elr_el3, x3\n"
        "eret\n"
        "in_user: svc #0\n"
        "in_system:\n"
        "mrs x3, " DISR_EL1 "\n"
        "add x3, x3, #3\n"
        "msr " DISR_EL1 ", x3\n"
        "mrs x3, " DISR_EL1 "\n"
        "mov x0, #1\n"
        "smc #0\n"
        /* All of them have what comes from a lower level at the same place. */
        ".balign 0x800\n"
        "lower: .skip 0x200\n"
        "b to_el3\n"
        ".balign 0x200\n"
        "b to_el3\n"
        "to_el3: mov x0, #1\n"
        "smc #0\n"
        ".balign 0x800\n"
        "el3: .skip 0x200\n"
        "b back\n"
        ".balign 0x200\n"
        "b back\n"
        "back: ldp x29, x30, [sp], #16\n"
        "ret\n"
        /* (the secure GPIO): its pin 0 switches the machine off; there is no PSCI. */
        "end_all: mov w1, #1\n"
        "str w1, [x0, #0x400]\n"
        ".global machine_ends\n"
        "machine_ends: str w1, [x0, #4]\n"
        "1: b 1b\n");
extern char lower[], el3[];
_Noreturn void end_all(uintptr_t gpio);

static void walk_levels(void)
{
    static const uint64_t worlds[] = {0, SCR_NS, SCR_EEL2, SCR_NS | SCR_EEL2};
    static const uint64_t modes[] = {0, HCR_AMO, HCR_TGE, HCR_TGE | HCR_E2H,
                                     HCR_E2H | HCR_AMO};
    for (unsigned i = 0; i < 2 * sizeof(worlds) / sizeof(worlds[0]); i++) {
        const uint64_t world = worlds[i / 2] | SCR_OF_ALL | (i % 2 ? SCR_EA : 0);
        for (unsigned j = 0; j < sizeof(modes) / sizeof(modes[0]); j++) {
            WRITE(VDISR_EL2, 0x1000 + i);
            WRITE(DISR_EL1, 0x2000 + j);
            const int el2 = (world & (SCR_NS | SCR_EEL2)) != 0;
            at_level(0, world, modes[j] | HCR_RW);
            if (!el2 || !(modes[j] & HCR_TGE)) {
                at_level(1, world, modes[j] | HCR_RW);
            }
            if (el2) {
                at_level(2, world, modes[j] | HCR_RW);
            }
        }
    }
}

/* What EL2 calls by names of EL12, and the counters' events. */
static void write_others(void)
{
    WRITE("hcr_el2", HCR_RW | HCR_E2H);
    for (uint64_t i = 1; i < 4; i++) {
        WRITE("S3_5_C6_C0_0", i << 12);                    /* FAR_EL12 */
        WRITE("S3_5_C5_C2_0", i << 26);                    /* ESR_EL12 */
        WRITE("S3_5_C1_C0_2", i << 20);                    /* CPACR_EL12 */
        WRITE("S3_5_C2_C0_0", i << 16);                    /* TTBR0_EL12 */
        WRITE("S3_5_C14_C3_2", READ("S3_5_C14_C3_2") + i); /* CNTV_CVAL_EL02 */
        WRITE("cptr_el2", i << 20);
        WRITE("pmevtyper0_el0", i);
        WRITE("pmevtyper3_el0", 0x11 * i);
        WRITE("pmccfiltr_el0", i << 26);
        WRITE("pmselr_el0", 2);
        WRITE("pmxevtyper_el0", i + 7);
    }
}

void machine_main(void)
{
    WRITE("vbar_el1", lower);
    WRITE("vbar_el2", lower);
    WRITE("vbar_el3", el3);
    WRITE("scr_el3", SCR_NS | SCR_OF_ALL);
    walk_levels();
    write_others();
    put("calls 1010\n");
    end_all(0x090b0000);
}
