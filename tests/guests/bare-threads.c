/* SPDX-License-Identifier: MIT */
/*
 * Threads and processes without a C library: each thread stores into a slot of its own
 * and adds to a shared one, while signals are sent to the process; then children of a
 * fork store, and end with statuses that their parent reads.
 */
#include "bare.h"

#define THREADS 6
#define CHILDREN 3
#define STORES 300
#define ADDS 200

long bare_clone(long flags, void *stack, uint32_t *parent, uint32_t *child);

/* clone(2) whose child pops an argument and a function from its stack.  The third and
   the fourth argument are the thread pointer and the word to clear, in either order. */
#if defined(__arm__)
__asm__(
    ".text\n.globl bare_clone\n.type bare_clone, %function\nbare_clone:\n\tpush {r4, r7}\n\tmov r4, r3\n\t"
    "mov r7, #120\n\tsvc 0\n\tcmp r0, #0\n\tbeq 1f\n\tpop {r4, r7}\n\tbx lr\n1:\tpop {r0, r1}\n\tbx r1\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.globl bare_clone\nbare_clone:\n\tmov x4, x3\n\tmov x8, #220\n\tsvc 0\n\tcbz x0, 1f\n\tret\n"
    "1:\tldp x0, x1, [sp], #16\n\tbr x1\n");
#elif defined(__sh__)
__asm__(
    ".text\n.globl bare_clone\nbare_clone:\n\tmov r7, r0\n\tmov #120, r3\n\ttrapa #0x15\n\ttst r0, r0\n\tbt 1f\n\t"
    "rts\n\tnop\n1:\tmov.l @r15+, r4\n\tmov.l @r15+, r1\n\tjmp @r1\n\tnop\n");
#elif defined(__riscv)
__asm__(
    ".text\n.globl bare_clone\nbare_clone:\n\tmv a4, a3\n\tli a7, 220\n\tecall\n\tbeqz a0, 1f\n\tret\n"
    "1:\tlw a0, 0(sp)\n\tlw a1, 4(sp)\n\taddi sp, sp, 16\n\tjr a1\n");
#elif defined(__loongarch__)
__asm__(
    ".text\n.globl bare_clone\nbare_clone:\n\tmove $a4, $a3\n\tli.w $a7, 220\n\tsyscall 0\n\tbeqz $a0, 1f\n\tret\n"
    "1:\tld.d $a0, $sp, 0\n\tld.d $a1, $sp, 8\n\taddi.d $sp, $sp, 16\n\tjr $a1\n");
#endif

static volatile uint32_t slot[THREADS * 16], ticks;
static uint32_t shared;
static uint32_t living[THREADS * 16];
static uint8_t stacks[THREADS][16384] __attribute__((aligned(16)));

static void work(long i)
{
    for (uint32_t n = 1; n <= STORES; n++) {
        slot[i * 16] = n;
    }
    for (uint32_t n = 0; n < ADDS; n++) {
        __atomic_fetch_add(&shared, 1, __ATOMIC_SEQ_CST);
    }
    call3(NR_exit, 0, 0, 0);
}

static void tick(int number, long *si, void *context)
{
    (void)number;
    (void)si;
    (void)context;
    ticks++;
}

static NOINLINE void start(long i)
{
    long *top = (long *)(stacks[i] + sizeof(stacks[i]) - 16);

    top[0] = i;
    top[1] = (long)work;
    living[i * 16] = 1;
    /* a thread whose thread pointer is set, and whose tid is cleared at its end */
    bare_clone(0x3d0f00, top, &living[i * 16], &living[i * 16]);
}

static void say(const char *what, const volatile void *at, unsigned long n)
{
    put(what);
    put_number((unsigned long)at, 16);
    put(" ");
    put_number(n, 10);
    end_line();
}

__attribute__((used)) void bare_main(void)
{
    long failed = 0;

    on_signal(10, tick);
    for (long i = 0; i < THREADS; i++) {
        start(i);
    }
    for (int i = 0; i < 20; i++) {
        call3(NR_kill, call3(NR_getpid, 0, 0, 0), 10, 0);
    }
    for (long i = 0; i < THREADS; i++) {
        uint32_t id;

        while ((id = __atomic_load_n(&living[i * 16], __ATOMIC_ACQUIRE)) != 0) {
            call6(NR_futex, (long)&living[i * 16], 0, (long)id, 0, 0, 0);
        }
    }
    for (long i = 0; i < CHILDREN; i++) {
        int32_t info[32]; /* a siginfo_t: number, error, code; pid, uid, status */
        long pid = call6(NR_clone, 17, 0, 0, 0, 0, 0);

        if (pid == 0) {
            for (long n = 0; n < 50; n++) {
                slot[1 + i] = (uint32_t)n;
            }
            call3(NR_exit_group, i + 3, 0, 0);
        }
        failed |= call6(NR_waitid, 1, pid, (long)info, 4, 0, 0) != 0;
        failed |= info[2] != 1 || info[sizeof(long) == 8 ? 6 : 5] != i + 3;
    }
    for (long i = 0; i < THREADS; i++) {
        say("stores ", &slot[i * 16], STORES);
    }
    for (long i = 0; i < CHILDREN; i++) {
        say("stores ", &slot[1 + i], 50);
    }
    say("adds ", &shared, THREADS * ADDS);
    put("threads ");
    put_number(1 + THREADS + CHILDREN, 10);
    end_line();
    put("processes ");
    put_number(1 + CHILDREN, 10);
    end_line();
    call3(NR_exit_group, failed || ticks == 0 || shared != THREADS * ADDS, 0, 0);
    __builtin_unreachable();
}
