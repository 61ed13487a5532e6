/* SPDX-License-Identifier: MIT */
/*
 * For programs that control their own recording: switch it on and off, put labelled
 * marks into the trace, name ranges of memory.
 *
 * A program of Linux does each by one system call with a reserved number.  Under a QEMU
 * that records, it does not reach the system and returns 0 or more; anywhere else the
 * system refuses it (ENOSYS), and nothing happens.  Needs syscall(2) of the C library
 * (_GNU_SOURCE or the default of gcc); no other part of this project.
 *
 * A kernel, and a program without a system, does it by an instruction that does nothing on
 * a real machine, with the address of a request in a register.  So can a program of a
 * Linux that runs in a recorded machine, with CANNOLI_GUEST_MACHINE defined.  Needs no
 * library.
 */
#ifndef CANNOLI_GUEST_H
#define CANNOLI_GUEST_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stddef.h>
#include <stdint.h>
#endif

/* The first argument, and the first number of a request: "CRTC" */
#define CANNOLI_GUEST_MAGIC 0x43545243L

enum cannoli_guest_op {
    CANNOLI_GUEST_STATUS = 0,  /* 1: this thread is being recorded, 0: paused */
    CANNOLI_GUEST_PAUSE = 1,   /* scope */
    CANNOLI_GUEST_RESUME = 2,  /* scope */
    CANNOLI_GUEST_MARK = 3,    /* text, length, value */
    CANNOLI_GUEST_LABEL = 4,   /* start, size, type (string), name (string) */
    CANNOLI_GUEST_UNLABEL = 5, /* start */
};

/* Scope of pause and resume: the calling thread alone, or all of its process; of a machine
 * the vCPU alone, or all of them. */
enum { CANNOLI_THREAD = 0, CANNOLI_PROCESS = 1 };

#if !defined(__linux__) || !__STDC_HOSTED__ || defined(__KERNEL__)
#define CANNOLI_GUEST_MACHINE
#endif

#ifdef CANNOLI_GUEST_MACHINE

/* In the byte order of the machine; the register with its address gets the result. */
struct cannoli_request {
    uint64_t magic, op, argument[4];
};

/*
 * The instructions: moves to a register that stays 0, hints and loads of addresses that
 * nobody uses, with "RC" in them where there is room.
 */
static inline long cannoli_guest_call(uint32_t op, uintptr_t a, uintptr_t b, uintptr_t c,
                                      uintptr_t d)
{
    const struct cannoli_request request = {CANNOLI_GUEST_MAGIC, op, {a, b, c, d}};
    const uintptr_t at = (uintptr_t)&request;
#if defined(__aarch64__)
    register uintptr_t r __asm__("x0") = at;
    __asm__ volatile(".inst 0xd2886a5f" : "+r"(r) : : "memory"); /* mov xzr, #0x4352 */
#elif defined(__thumb2__)
    register uintptr_t r __asm__("r0") = at;
    __asm__ volatile(".inst.w 0xf3af8043" : "+r"(r) : : "memory"); /* nop {0x43} */
#elif defined(__arm__) && !defined(__thumb__)
    register uintptr_t r __asm__("r0") = at;
    __asm__ volatile(".inst 0xe320f043" : "+r"(r) : : "memory"); /* nop {0x43} */
#elif defined(__x86_64__) || defined(__i386__)
    uintptr_t r = at; /* nopl 0x43545243(%eax) */
    __asm__ volatile(".byte 0x0f, 0x1f, 0x80, 0x43, 0x52, 0x54, 0x43"
                     : "+a"(r)
                     :
                     : "memory");
#elif defined(__riscv)
    register uintptr_t r __asm__("a0") = at;
    __asm__ volatile(".4byte 0x43525037" : "+r"(r) : : "memory"); /* lui x0, 0x43525 */
#elif defined(__mips__)
    register uintptr_t r __asm__("$2") = at;
    __asm__ volatile(".word 0x34004352" : "+r"(r) : : "memory"); /* ori $0, $0, 0x4352 */
#elif defined(__powerpc__)
    register uintptr_t r __asm__("r3") = at;
    __asm__ volatile(".long 0x637b0000" : "+r"(r) : : "memory"); /* ori 27, 27, 0 */
#elif defined(__s390x__)
    register uintptr_t r __asm__("r2") = at;
    __asm__ volatile(".long 0x47000435" : "+r"(r) : : "memory"); /* bc 0, 0x435 */
#else
    uintptr_t r = at; /* it is known for no other machine */
#endif
    return r == at ? -1 : (long)r;
}

#else

#include <unistd.h>
#include <sys/syscall.h>

/*
 * The number, as the program gives it to the system: no Linux has it.  MIPS adds the
 * base of its ABI (o32 4000, n64 5000, n32 6000), as for any call.
 */
#define CANNOLI_GUEST_NR 3900
#if defined(__mips__) && defined(_MIPS_SIM)
#if _MIPS_SIM == 1 /* _ABIO32 */
#define CANNOLI_GUEST_CALL (4000 + CANNOLI_GUEST_NR)
#elif _MIPS_SIM == 3 /* _ABI64 */
#define CANNOLI_GUEST_CALL (5000 + CANNOLI_GUEST_NR)
#else
#define CANNOLI_GUEST_CALL (6000 + CANNOLI_GUEST_NR)
#endif
#else
#define CANNOLI_GUEST_CALL CANNOLI_GUEST_NR
#endif

static inline long cannoli_guest_call(long op, uintptr_t a, uintptr_t b, uintptr_t c,
                                      uintptr_t d)
{
    return syscall(CANNOLI_GUEST_CALL, CANNOLI_GUEST_MAGIC, op, a, b, c, d);
}

#endif

/* 1 recorded, 0 paused, -1 (errno ENOSYS, of a system call) not under a QEMU that
 * records. */
static inline long cannoli_status(void)
{
    return cannoli_guest_call(CANNOLI_GUEST_STATUS, 0, 0, 0, 0);
}

/* The instructions after the call are not recorded / are recorded again. */
static inline long cannoli_pause(int scope)
{
    return cannoli_guest_call(CANNOLI_GUEST_PAUSE, (unsigned)scope, 0, 0, 0);
}

static inline long cannoli_resume(int scope)
{
    return cannoli_guest_call(CANNOLI_GUEST_RESUME, (unsigned)scope, 0, 0, 0);
}

/* The length of a text. Reads it, so that it is in memory when the emulator wants it. */
static inline size_t cannoli_guest_length(const volatile char *text)
{
    size_t n = 0;

    while (text[n]) {
        n++;
    }
    return n;
}

/* A mark at this place, also while paused. */
static inline long cannoli_mark(const char *text, unsigned long value)
{
    const size_t n = cannoli_guest_length(text);

    return cannoli_guest_call(CANNOLI_GUEST_MARK, (uintptr_t)text, n, value, 0);
}

/* Names a range of memory (an object that an allocator returned) until
 * cannoli_unlabel.  start identifies it. */
static inline long cannoli_label(const volatile void *start, size_t size,
                                 const char *type, const char *name)
{
    (void)cannoli_guest_length(type);
    (void)cannoli_guest_length(name);
    return cannoli_guest_call(CANNOLI_GUEST_LABEL, (uintptr_t)start, size,
                              (uintptr_t)type, (uintptr_t)name);
}

static inline long cannoli_unlabel(const volatile void *start)
{
    return cannoli_guest_call(CANNOLI_GUEST_UNLABEL, (uintptr_t)start, 0, 0, 0);
}

#endif
