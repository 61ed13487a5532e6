/* SPDX-License-Identifier: MIT */
/*
 * Code that the guest programs share: a checksum (so that a wrong run prints a
 * wrong number), pages to fault on, the pc in a signal frame, and the byte
 * witness.
 *
 * Byte witness: a program that knows which bytes an instruction accessed prints
 * them on stdout, one line per statement:
 *
 *   X 0xPC            the instruction at PC was executed once more
 *   L 0xADDR LEN      .. and loaded these bytes
 *   S 0xADDR LEN      .. and stored these
 *   l, s 0xADDR LEN   .. and may have, or not (bytes without a meaning)
 *   F 0xPC            it was executed once more and faulted
 *
 * tests/oracle/bytecheck.py compares the trace with it.  WITNESS_INSN makes one
 * instruction with a label in front, so that its pc has a name.
 *
 * Memory witness: when the environment has GUEST_DUMP=FILE, a program's last action is
 * to write all of its writable memory to FILE, through descriptor
 * GUEST_DUMP_FD (of a long stack only the used part).
 */
#ifndef GUEST_H
#define GUEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <fcntl.h>
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

/*
 * A buffer of our own collects output: the library would first query the
 * file's number and times, and no two runs would read the same values.
 */
/* Aligned, because alpha's library stores a byte with its neighbours. */
static char guest_output[8192] __attribute__((aligned(16)));

__attribute__((constructor)) static void buffer_output(void)
{
    setvbuf(stdout, guest_output, _IOFBF, sizeof(guest_output));
}

/* A small generator, the same on every target. */
static uint32_t guest_seed = 12345;

static inline uint32_t rnd(void)
{
    guest_seed = guest_seed * 1664525u + 1013904223u;
    return guest_seed >> 8;
}

/* Pages at a fixed address: traces of two runs stay comparable. */
#define GUEST_PAGES ((void *)0x20000000)

static inline uint8_t *map_pages(unsigned long bytes, int prot)
{
    void *p =
        mmap(GUEST_PAGES, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

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
#elif defined(__powerpc__)
#define UC_PC(uc) ((uc)->uc_mcontext.uc_regs->gregs[32])
#elif defined(__m68k__)
#define UC_PC(uc) ((uc)->uc_mcontext.gregs[R_PC])
#elif defined(__hppa__)
/* its two lowest bits are the privilege level */
#define UC_PC(uc) ((uc)->uc_mcontext.sc_iaoq[0] & ~3ul)
#elif defined(__sparc__)
/* a handler gets a struct sigcontext */
#define UC_PC(uc) (((struct sigcontext *)(void *)(uc))->sigc_regs.tpc)
#elif defined(__alpha__)
#define UC_PC(uc) ((uc)->uc_mcontext.sc_pc)
#elif defined(__sh__)
#define UC_PC(uc) ((uc)->uc_mcontext.pc)
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

/* The address of a function's code; a function pointer may point to a descriptor. */
static inline unsigned long code_of(void (*f)(void))
{
#if defined(__powerpc64__) && _CALL_ELF != 2
    return *(unsigned long *)f;
#elif defined(__hppa__)
    unsigned long p = (unsigned long)f;

    return p & 2 ? *(unsigned long *)(p & ~3ul) : p;
#else
    return (unsigned long)f;
#endif
}
#define CODE_OF(f) code_of((void (*)(void))(f))

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

/* ---- memory witness ---------------------------------------------------- */

#define GUEST_DUMP_FD 900

static unsigned long hex_number(const char **p)
{
    unsigned long v = 0;

    for (;; (*p)++) {
        if (**p >= '0' && **p <= '9') {
            v = v << 4 | (unsigned long)(**p - '0');
        } else if (**p >= 'a' && **p <= 'f') {
            v = v << 4 | (unsigned long)(**p - 'a' + 10);
        } else {
            return v;
        }
    }
}

static NOINLINE void dump_range(unsigned long start, unsigned long end)
{
    unsigned long here = (unsigned long)&start & ~4095ul;

#ifdef __hppa__ /* its stack grows upwards */
    if (start <= here && here < end && end - here > 0x10000) {
        end = here + 0x10000;
    }
#else
    if (start < here && here < end && here - start > 0x10000) {
        start = here - 0x10000;
    }
#endif
    while (start < end) {
        unsigned long n = end - start < 0x8000 ? end - start : 0x8000;
        long done = write(GUEST_DUMP_FD, (const void *)start, n);

        if (done <= 0) {
            _exit(99);
        }
        start += (unsigned long)done;
    }
}

__attribute__((destructor)) static void dump_memory(void)
{
    static char text[32768];
    const char *file = getenv("GUEST_DUMP"), *p = text;
    int from, to;
    size_t n = 0;
    long done;

    if (!file) {
        return;
    }
    to = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    from = open("/proc/self/maps", O_RDONLY);
    if (from < 0 || dup2(to, GUEST_DUMP_FD) != GUEST_DUMP_FD) {
        _exit(98);
    }
    while ((done = read(from, text + n, sizeof(text) - 1 - n)) > 0) {
        n += (size_t)done;
    }
    while (*p) {
        unsigned long start = hex_number(&p), end = (p++, hex_number(&p));

        if (p[1] == 'r' && p[2] == 'w') {
            dump_range(start, end);
        }
        while (*p && *p++ != '\n') {
        }
    }
}

#endif
