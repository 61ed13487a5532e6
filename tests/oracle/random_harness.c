/* SPDX-License-Identifier: MIT */
/*
 * Runs the generated functions of program_table one after another, all of them argv[2]
 * times; with argv[1] "parallel" in QEMU's parallel context.  The responses to a fault
 * alternate: open the closed page (the instruction runs again), step over the
 * instruction, leave the function.
 */
#include "guest.h"

#include <setjmp.h>

extern void (*const program_table[])(void);
extern const uint32_t program_count;

#ifdef __powerpc64__
#define OPEN_BYTES 65536
#define PAGE_BYTES 65536
#else
#define OPEN_BYTES 16384
#define PAGE_BYTES 4096
#endif

static uint8_t *buffer;
static sigjmp_buf out;
static volatile unsigned faults, opened;

/* Bytes to step over, 0 if unknown. */
static unsigned length_at(const uint8_t *pc)
{
#if defined(__thumb__)
    return (pc[1] >> 3) >= 0x1d ? 4 : 2;
#elif defined(__riscv)
    return (pc[0] & 3) == 3 ? 4 : 2;
#elif defined(__s390x__)
    static const uint8_t length[] = {2, 4, 4, 6};
    return length[pc[0] >> 6];
#elif defined(__x86_64__) || defined(__i386__)
    return pc[0] == 0x0f && pc[1] == 0x0b ? 2 : 0;
#else
    (void)pc;
    return 4;
#endif
}

static void on_fault(int sig, siginfo_t *si, void *ctx)
{
    ucontext_t *uc = ctx;
    uint8_t *at = si->si_addr;
    unsigned turn = faults++ % 3, step;

    if (sig == SIGSEGV && turn == 0 && !opened && at >= buffer + OPEN_BYTES - 64 &&
        at < buffer + OPEN_BYTES + PAGE_BYTES) {
        mprotect(buffer + OPEN_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE);
        opened = 1;
        return;
    }
    if (turn == 1 && (sig == SIGSEGV || sig == SIGILL)) {
#if !defined(__s390x__)
        step = length_at((uint8_t *)UC_PC(uc));
#else
        step = sig == SIGSEGV ? length_at((uint8_t *)UC_PC(uc)) : 0;
#endif
        if (step) {
            UC_PC(uc) += step;
            return;
        }
    }
    siglongjmp(out, 1);
}

int main(int argc, char **argv)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};
    uint32_t rounds = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
    unsigned finished = 0;

    buffer = map_pages(OPEN_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE);
    for (unsigned i = 0; i < OPEN_BYTES; i += i < 2048 ? 1 : 64) {
        buffer[i] = (uint8_t)rnd();
    }
    if (argc > 1 &&
        strcmp(argv[1], "parallel") ==
            0) { /* a shared mapping: QEMU now generates code for a parallel context */
        mmap((void *)0x21000000, 65536, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        on_signal(signals[i], on_fault);
    }
    for (volatile uint32_t i = 0; i < program_count * rounds; i++) {
        mprotect(buffer + OPEN_BYTES, PAGE_BYTES, PROT_NONE);
        opened = 0;
        if (sigsetjmp(out, 1) == 0) {
            program_table[i % program_count]();
            finished++;
        }
    }
    for (unsigned i = 0; i < 2048; i += 3) {
        mix(buffer[i]);
    }
    printf("%u of %u finished, %u faults, ", finished, (unsigned)(program_count * rounds),
           faults);
    return finish("random");
}
