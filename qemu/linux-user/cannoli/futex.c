/*
 * Execution tracing into shared memory: futexes of threads that take turns
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Threads that wait for futexes are woken by those that have the turn, not by
 * the host: then it does not depend on time who is ready.
 */
#include "qemu/osdep.h"
#include "qemu.h"
#include "user-internals.h"
#include "special-errno.h"
#include "turn.h"
#include <sys/syscall.h>
#include <linux/futex.h>

static bool is_waiting(const struct mempipe_pipe *p, const void *word,
                       bool shared, uint32_t bits)
{
    return qatomic_read(&p->turn) == MEMPIPE_TURN_WAITS &&
           p->futex == (uintptr_t)word && p->futex_shared == shared &&
           p->process == cannoli_mine->process && p->futex_bits & bits;
}

/* The one that waits for longest, NULL: none does. */
static struct mempipe_pipe *first_waiting(const void *word, bool shared,
                                          uint32_t bits)
{
    struct mempipe_pipe *first = NULL;

    for (uint32_t i = 0; i < nr_pipes(); i++) {
        struct mempipe_pipe *p = cannoli_pipes() + i;

        if (is_waiting(p, word, shared, bits) &&
            (!first || p->futex_number < first->futex_number)) {
            first = p;
        }
    }
    return first;
}

static bool wake_one(struct mempipe_pipe *p)
{
    if (qatomic_cmpxchg(&p->turn, MEMPIPE_TURN_WAITS, MEMPIPE_TURN_READY) !=
        MEMPIPE_TURN_WAITS) {
        return false;
    }
    cannoli_turn_redraw();
    cannoli_turn_wake(p);
    return true;
}

/*
 * Of other processes that wait at the same address, which is the same word if
 * they were forked: all, as they look again.
 */
static int wake_others(const void *word, uint32_t bits)
{
    int n = 0;

    for (uint32_t i = 0; i < nr_pipes(); i++) {
        struct mempipe_pipe *p = cannoli_pipes() + i;

        if (p->process != cannoli_mine->process && p->futex_shared &&
            p->futex == (uintptr_t)word && p->futex_bits & bits &&
            wake_one(p)) {
            n++;
        }
    }
    return n;
}

/* Those that wait for longest first. Returns how many there were. */
static int wake_waiting(const void *word, bool shared, uint32_t bits, int most)
{
    struct mempipe_pipe *p;
    int n = 0;

    while (n < most && (p = first_waiting(word, shared, bits))) {
        n += wake_one(p);
    }
    return shared ? MIN(most, n + wake_others(word, bits)) : n;
}

void cannoli_turn_cleared(uint64_t addr)
{
    if (cannoli_mine && addr) {
        wake_waiting(g2h(thread_cpu, addr), true, UINT32_MAX, INT_MAX);
    }
}

static int move_waiting(const void *word, const void *to, int most)
{
    const uint64_t end = turns()->futexes; /* `to' may be the same word */
    struct mempipe_pipe *p;
    int n = 0;

    while (n < most && (p = first_waiting(word, false, UINT32_MAX)) &&
           p->futex_number < end) {
        p->futex = (uintptr_t)to;
        p->futex_number = turns()->futexes++;
        n++;
    }
    return n;
}

/* The value of a word of the guest's; false: it has none. */
static bool peek(uint32_t *value, long word)
{
    return h2g_valid((void *)word) &&
           cannoli_peek(value, h2g((void *)word), 4) == 4;
}

static long fail(int error)
{
    errno = error;
    return -1;
}

/* futex_waitv(2), since Linux 5.16 */
#define NR_FUTEX_WAITV 449
typedef struct Waiter {
    uint64_t value, word;
    uint32_t flags, zero;
} Waiter;
#define WAITER_32 2

/* When a wait ends whose timeout was given as FUTEX_WAIT's. */
static struct timespec deadline_of(const struct timespec *timeout)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += timeout->tv_sec + (t.tv_nsec + timeout->tv_nsec) / 1000000000;
    t.tv_nsec = (t.tv_nsec + timeout->tv_nsec) % 1000000000;
    return t;
}

static bool is_over(const struct timespec *deadline, clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return t.tv_sec > deadline->tv_sec ||
           (t.tv_sec == deadline->tv_sec && t.tv_nsec >= deadline->tv_nsec);
}

/*
 * Waits on a word of the guest's and on the turn's: for those that have the
 * turn, and for others that are not recorded, or have mapped it elsewhere.
 */
static long wait_both(int *pending, const long a[6])
{
    const struct timespec *timeout = (void *)a[3];
    const struct timespec tick = { .tv_nsec = CANNOLI_FIRST_LOOK_NS };
    clockid_t clock =
        a[1] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    const Waiter waiters[2] = {
        { (uint32_t)a[2], a[0], WAITER_32, 0 },
        { MEMPIPE_TURN_WAITS, (uintptr_t)&cannoli_mine->turn, WAITER_32, 0 },
    };
    struct timespec deadline;
    long ret;

    if (timeout && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT) {
        deadline = deadline_of(timeout);
        timeout = &deadline;
        clock = CLOCK_MONOTONIC;
    }
    ret = host_syscall(pending, NR_FUTEX_WAITV, waiters, 2L, 0L, timeout,
                       (long)clock);
    if (ret >= 0 || (errno != ENOSYS && errno != EPERM)) {
        if (ret < 0 && timeout && errno == QEMU_ERESTARTSYS) {
            errno = EINTR; /* it does not begin again, see signal(7) */
        }
        return MIN(ret, 0);
    }
    /* An older kernel. */
    while (qatomic_read(&cannoli_mine->turn) == MEMPIPE_TURN_WAITS) {
        ret = host_syscall(pending, __NR_futex, a[0], (long)FUTEX_WAIT, a[2],
                           &tick, 0L, 0L);
        if (ret == 0 || errno != ETIMEDOUT ||
            (timeout && is_over(timeout, clock))) {
            return ret;
        }
    }
    return 0;
}

/* A private futex is waited for on the turn's own word alone. */
static long wait_futex(int *pending, long number, const long a[6], bool shared)
{
    bool bits = (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    uint32_t now;
    long ret;

    if (a[0] % 4 || (bits && !(uint32_t)a[5]) || !peek(&now, a[0])) {
        return host_call(pending, number, a);
    }
    if (now != (uint32_t)a[2]) {
        return fail(EAGAIN);
    }
    cannoli_mine->futex = a[0];
    cannoli_mine->futex_shared = shared;
    cannoli_mine->futex_bits = bits ? a[5] : UINT32_MAX;
    cannoli_mine->futex_number = turns()->futexes++;
    cannoli_turn_wait(MEMPIPE_TURN_WAITS);
    do {
        if (shared) {
            ret = wait_both(pending, a);
        } else {
            ret = host_syscall(pending, number, &cannoli_mine->turn,
                               (long)((int)a[1] & ~FUTEX_PRIVATE_FLAG),
                               (long)MEMPIPE_TURN_WAITS, a[3], a[4],
                               bits ? (long)(int)FUTEX_BITSET_MATCH_ANY : a[5]);
        }
        /* Spurious: the kernel may wake without a reason. */
    } while (!shared && ret == 0 &&
             qatomic_read(&cannoli_mine->turn) == MEMPIPE_TURN_WAITS);
    if (qatomic_cmpxchg(&cannoli_mine->turn, MEMPIPE_TURN_WAITS,
                        MEMPIPE_TURN_AWAY) != MEMPIPE_TURN_WAITS) {
        cannoli_turn_get();
        cannoli_order_go_on(cannoli_cpu(thread_cpu)->thread);
        return 0;
    }
    cannoli_turn_back();
    return ret;
}

/* Does what FUTEX_WAKE_OP compares hold? */
static bool compares(uint32_t old, uint32_t op)
{
    int32_t was = old, arg = sextract32(op, 0, 12);

    switch (extract32(op, 24, 4)) {
    case FUTEX_OP_CMP_EQ:
        return was == arg;
    case FUTEX_OP_CMP_NE:
        return was != arg;
    case FUTEX_OP_CMP_LT:
        return was < arg;
    case FUTEX_OP_CMP_LE:
        return was <= arg;
    case FUTEX_OP_CMP_GT:
        return was > arg;
    case FUTEX_OP_CMP_GE:
        return was >= arg;
    }
    return false;
}

long cannoli_futex_call(int *pending, long number, const long a[6])
{
    const void *word = (void *)a[0], *to = (void *)a[4];
    bool shared = !(a[1] & FUTEX_PRIVATE_FLAG);
    int op = a[1] & FUTEX_CMD_MASK;
    int nr_wake = MAX((int)a[2], 1); /* as the kernel does */
    uint32_t now = 0;
    long ret;
    int n = 0;

    switch (op) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        return wait_futex(pending, number, a, shared);
    case FUTEX_WAKE:
        n = wake_waiting(word, shared, UINT32_MAX, nr_wake);
        break;
    case FUTEX_WAKE_BITSET:
        n = wake_waiting(word, shared, a[5], nr_wake);
        break;
    case FUTEX_CMP_REQUEUE:
        if (!peek(&now, a[0]) || now != (uint32_t)a[5]) {
            return host_call(pending, number, a);
        }
        /* fall through */
    case FUTEX_REQUEUE:
        if (!shared) {
            n = wake_waiting(word, false, UINT32_MAX, a[2]);
            return n + move_waiting(word, to, a[3]);
        }
        /* All wake, and look again: they cannot wait on another word. */
        n = wake_waiting(word, true, UINT32_MAX, INT_MAX);
        break;
    case FUTEX_WAKE_OP:
        if (peek(&now, a[4])) {
            n = wake_waiting(word, shared, UINT32_MAX, nr_wake);
            if (compares(now, a[5])) {
                n += wake_waiting(to, shared, UINT32_MAX, a[3]);
            }
        }
        break;
    default: /* with priorities */
        return cannoli_call_away(pending, number, a);
    }
    if (n == (int)a[2] && op != FUTEX_WAKE_OP) {
        return n;
    }
    ret = host_call(pending, number, a);
    return ret < 0 ? ret : MAX(ret, n);
}
