/* SPDX-License-Identifier: MIT */
/*
 * Registers of which others decide what is read, in modes of both worlds: for
 * -M virt,secure=on,virtualization=on -cpu max, where the program begins in the secure one.
 */
#include "machine.h"

#define SCR_NS 1u
#define SCR_EA 8u
#define SCR_HCE 0x100u

#define HCR_AMO 0x20u
#define HCR_TGE 0x8000000u

#define MODE_USER 0x10u
#define MODE_SUPERVISOR 0x13u
#define MODE_HYP 0x1au
#define MODE_SYSTEM 0x1fu

#define SCR "p15, 0, %0, c1, c1, 0"
#define NSACR "p15, 0, %0, c1, c1, 2"
#define CPACR "p15, 0, %0, c1, c0, 2"
#define VBAR "p15, 0, %0, c12, c0, 0"
#define MVBAR "p15, 0, %0, c12, c0, 1"
#define DISR "p15, 0, %0, c12, c1, 1"
#define TTBR0 "p15, 0, %0, c2, c0, 0"
#define HVBAR "p15, 4, %0, c12, c0, 0"
#define HCPTR "p15, 4, %0, c1, c1, 2"
#define VDISR "p15, 4, %0, c12, c1, 1"
#define PMEVTYPER1 "p15, 0, %0, c14, c12, 1"
#define PMCCFILTR "p15, 0, %0, c14, c15, 7"
#define DBGDSCR "p14, 0, %0, c0, c2, 2"
#define TTBR1_WHOLE "p15, 1, %Q0, %R0, c2"

#define WRITE(name, value)                                                               \
    __asm__ volatile("mcr " name "\n\tisb" ::"r"((uint32_t)(value)) : "memory")

/* (mode, SCR, HCR): writes registers there, if the mode has them, and comes back. */
void in_mode(uint32_t mode, uint32_t scr, uint32_t hcr);

__asm__(".text\n.arm\n.arch armv7ve\n.arch_extension sec\n.arch_extension virt\n"
        "in_mode:\n"
        "push {r4-r11, lr}\n"
        "cps #0x16\n"
        "mcr p15, 0, r1, c1, c1, 0\n"
        "tst r1, #1\n"
        "mcrne p15, 4, r2, c1, c1, 0\n"
        "isb\n"
        "orr r3, r0, #0x1c0\n"
        "msr spsr_cxsf, r3\n"
        "cmp r0, #0x10\n"
        "adrl lr, in_system\n"
        "adreq lr, in_user\n"
        "movs pc, lr\n"
        "in_user: svc #0\n"
        "in_system:\n"
        "mrc p15, 0, r3, c1, c0, 2\n" /* CPACR */
        "eor r3, r3, #0x00500000\n"
        "mcr p15, 0, r3, c1, c0, 2\n"
        "mrc p15, 0, r3, c12, c1, 1\n" /* DISR */
        "add r3, r3, #3\n"
        "mcr p15, 0, r3, c12, c1, 1\n"
        "mov r0, #1\n"
        "smc #0\n"
        ".balign 32\n"
        "vectors_of_ns: .rept 8\n"
        "b to_monitor\n"
        ".endr\n"
        "to_monitor: mov r0, #1\n"
        "smc #0\n"
        ".balign 32\n"
        "vectors_of_monitor: .rept 8\n"
        "b back\n"
        ".endr\n"
        "back: mov r0, #0x100\n"
        "mcr p15, 0, r0, c1, c1, 0\n"
        "isb\n"
        "cps #0x13\n"
        "pop {r4-r11, pc}\n"
        /* (the secure GPIO): its pin 0 switches the machine off; there is no PSCI. */
        "end_all: mov r1, #1\n"
        "str r1, [r0, #0x400]\n"
        ".global machine_ends\n"
        "machine_ends: str r1, [r0, #4]\n"
        "1: b 1b\n");
extern char vectors_of_ns[], vectors_of_monitor[];
_Noreturn void end_all(uintptr_t gpio);

/* Those of the other world are written in monitor mode. */
static void write_as_monitor(uint32_t nsacr, uint32_t n)
{
    __asm__ volatile("cps #0x16\n\tisb" ::: "memory");
    WRITE(NSACR, nsacr);
    WRITE(SCR, SCR_NS | SCR_HCE);
    WRITE(VBAR, vectors_of_ns);
    WRITE(HVBAR, vectors_of_ns);
    WRITE(HCPTR, 0x33ff ^ (n & 1) << 10);
    WRITE(VDISR, 0x1000 + n);
    WRITE(TTBR0, n << 14);
    WRITE(SCR, SCR_HCE);
    WRITE(TTBR0, (n + 100) << 14);
    WRITE(DISR, 0x2000 + n);
    __asm__ volatile("cps #0x13\n\tisb" ::: "memory");
}

static void walk_modes(void)
{
    static const uint32_t hcrs[] = {0, HCR_AMO, HCR_TGE};
    for (uint32_t i = 0; i < 12; i++) {
        const uint32_t hcr = hcrs[i % 3];
        const uint32_t scr = SCR_HCE | (i & 1 ? SCR_EA : 0);
        write_as_monitor(i & 2 ? 0xc00 : 0, i);
        in_mode(MODE_USER, scr, 0);
        in_mode(MODE_SYSTEM, scr, 0);
        in_mode(MODE_USER, scr | SCR_NS, hcr);
        in_mode(MODE_HYP, scr | SCR_NS, hcr);
        if (!(hcr & HCR_TGE)) {
            in_mode(MODE_SUPERVISOR, scr | SCR_NS, hcr);
        }
    }
}

static void write_others(void)
{
    for (uint32_t i = 1; i < 4; i++) {
        const uint64_t wide = (uint64_t)i << 48 | i << 14;
        WRITE(PMEVTYPER1, 0x11 * i);
        WRITE(PMCCFILTR, i << 27);
        WRITE(DBGDSCR, i << 12);
        __asm__ volatile("mcrr " TTBR1_WHOLE "\n\tisb" ::"r"(wide) : "memory");
    }
}

void machine_main(void)
{
    WRITE(VBAR, vectors_of_ns);
    WRITE(MVBAR, vectors_of_monitor);
    walk_modes();
    write_others();
    put("calls 1010\n");
    end_all(0x090b0000);
}
