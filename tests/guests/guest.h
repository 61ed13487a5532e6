/* SPDX-License-Identifier: MIT */
/*
 * What the guest programs share: a checksum (so that a wrong run prints a
 * wrong number), pages to fault on, the pc in a signal frame, and the byte
 * witness.
 *
 * Byte witness: a program that knows which bytes an instruction touched says
 * so on stdout, one line per statement:
 *
 *   X 0xPC            the instruction at PC was executed once more
 *   L 0xADDR LEN      .. and loaded these bytes
 *   S 0xADDR LEN      .. and stored these
 *   l, s 0xADDR LEN   .. and may have, or not (bytes that mean nothing)
 *   F 0xPC            it was executed once more and faulted
 *
 * tests/oracle/bytecheck.py holds the trace against it.  WITNESS_INSN makes one
 * instruction with a label in front, so that its pc has a name.
 */
#ifndef GUEST_H
#define GUEST_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static uint32_t guest_sum = 1;

static inline void mix(uint64_t v)
{
    guest_sum = (guest_sum ^ (uint32_t)v ^ (uint32_t)(v >> 32)) * 16777619u + 7;
}

static inline int finish(const char *name)
{
    printf("%s %08x\n", name, guest_sum);
    fflush(stdout);
    return 0;
}

/* A small generator, the same on every target. */
static uint32_t guest_seed = 12345;

static inline uint32_t rnd(void)
{
    guest_seed = guest_seed * 1664525u + 1013904223u;
    return guest_seed >> 8;
}

/* Pages with an address of our choosing: traces of two runs stay comparable. */
#define GUEST_PAGES ((void *)0x20000000)

static inline uint8_t *map_pages(unsigned long bytes, int prot)
{
    void *p = mmap(GUEST_PAGES, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

    if (p == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return p;
}

#if defined(__arm__)
#define UC_PC(uc) ((uc)->uc_mcontext.arm_pc)
#elif defined(__aarch64__)
#define UC_PC(uc) ((uc)->uc_mcontext.pc)
#elif defined(__mips__)
#define UC_PC(uc) ((uc)->uc_mcontext.pc)
#elif defined(__riscv)
#define UC_PC(uc) ((uc)->uc_mcontext.__gregs[REG_PC])
#elif defined(__x86_64__)
#define UC_PC(uc) ((uc)->uc_mcontext.gregs[REG_RIP])
#elif defined(__i386__)
#define UC_PC(uc) ((uc)->uc_mcontext.gregs[REG_EIP])
#elif defined(__s390x__)
#define UC_PC(uc) ((uc)->uc_mcontext.psw.addr)
#elif defined(__powerpc64__)
#define UC_PC(uc) ((uc)->uc_mcontext.gp_regs[32])
#endif

static inline void on_signal(int sig, void (*f)(int, siginfo_t *, void *))
{
    struct sigaction sa;

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = f;
    sa.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(sig, &sa, NULL);
}

/* ---- byte witness ------------------------------------------------------ */

#ifdef __thumb__
#define GUEST_PC_TAG 1ul
#else
#define GUEST_PC_TAG 0ul
#endif

#define SITE(name) extern const char site_##name[]
#define SITE_LABEL(name) ".globl site_" #name "\nsite_" #name ":\n"

static inline void executed(const char *site)
{
    printf("X 0x%lx\n", (unsigned long)site & ~GUEST_PC_TAG);
}

static inline void faulted(const char *site)
{
    printf("F 0x%lx\n", (unsigned long)site & ~GUEST_PC_TAG);
}

static inline void may_load(const void *p, unsigned long len)
{
    printf("l 0x%lx %lu\n", (unsigned long)p, len);
}

static inline void may_store(const void *p, unsigned long len)
{
    printf("s 0x%lx %lu\n", (unsigned long)p, len);
}

static inline void loaded(const void *p, unsigned long len)
{
    if (len) {
        printf("L 0x%lx %lu\n", (unsigned long)p, len);
    }
}

static inline void stored(const void *p, unsigned long len)
{
    if (len) {
        printf("S 0x%lx %lu\n", (unsigned long)p, len);
    }
}

#endif
