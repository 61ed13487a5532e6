/* SPDX-License-Identifier: MIT */
/*
 * For programs that control their own recording: switch it on and off, put labelled
 * marks into the trace, name ranges of memory.
 *
 * Each function is one system call with a reserved number.  Under a QEMU that records,
 * it does not reach the system and returns 0 or more; anywhere else the system
 * refuses it (ENOSYS), and nothing happens.  Needs syscall(2) of the C library
 * (_GNU_SOURCE or the default of gcc); no other part of this project.
 */
#ifndef CANNOLI_GUEST_H
#define CANNOLI_GUEST_H

#include <stddef.h>
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
/* The first argument: the number alone does nothing. */
#define CANNOLI_GUEST_MAGIC 0x43545243L /* "CRTC" */

enum cannoli_guest_op {
    CANNOLI_GUEST_STATUS = 0,  /* 1: this thread is being recorded, 0: paused */
    CANNOLI_GUEST_PAUSE = 1,   /* scope */
    CANNOLI_GUEST_RESUME = 2,  /* scope */
    CANNOLI_GUEST_MARK = 3,    /* text, length, value */
    CANNOLI_GUEST_LABEL = 4,   /* start, size, type (string), name (string) */
    CANNOLI_GUEST_UNLABEL = 5, /* start */
};

/* Scope of pause and resume: the calling thread alone, or all of its process. */
enum { CANNOLI_THREAD = 0, CANNOLI_PROCESS = 1 };

static inline long cannoli_guest_call(long op, long a, long b, long c, long d)
{
    return syscall(CANNOLI_GUEST_CALL, CANNOLI_GUEST_MAGIC, op, a, b, c, d);
}

/* 1 recorded, 0 paused, -1 (errno ENOSYS) not under a QEMU that records. */
static inline long cannoli_status(void)
{
    return cannoli_guest_call(CANNOLI_GUEST_STATUS, 0, 0, 0, 0);
}

/* The instructions after the call are not recorded / are recorded again. */
static inline long cannoli_pause(int scope)
{
    return cannoli_guest_call(CANNOLI_GUEST_PAUSE, scope, 0, 0, 0);
}

static inline long cannoli_resume(int scope)
{
    return cannoli_guest_call(CANNOLI_GUEST_RESUME, scope, 0, 0, 0);
}

/* A mark at this place, also while paused. */
static inline long cannoli_mark(const char *text, unsigned long value)
{
    size_t n = 0;

    while (text[n]) {
        n++;
    }
    return cannoli_guest_call(CANNOLI_GUEST_MARK, (long)text, (long)n, (long)value, 0);
}

/* Names a range of memory (an object that an allocator returned) until
 * cannoli_unlabel.  start identifies it. */
static inline long cannoli_label(const volatile void *start, size_t size,
                                 const char *type, const char *name)
{
    return cannoli_guest_call(CANNOLI_GUEST_LABEL, (long)start, (long)size, (long)type,
                              (long)name);
}

static inline long cannoli_unlabel(const volatile void *start)
{
    return cannoli_guest_call(CANNOLI_GUEST_UNLABEL, (long)start, 0, 0, 0);
}

#endif
