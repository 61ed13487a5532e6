/*
 * Execution tracing into shared memory: calls of the host that may wait
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the host writes to guest memory itself while a thread is away is written
 * at no place of the order.  Reads that would wait therefore read into a buffer
 * of QEMU's, which is copied when the thread has the turn again.
 */
#include "qemu/osdep.h"
#include "qemu.h"
#include "user-internals.h"
#include "turn.h"
#include <poll.h>
#include <setjmp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* Reads of more are shorter where that is allowed. */
#define MOST_COPIED (256 * 1024)

/* Of a call: the thread keeps the turn, as a rule, or not; or reads. */
enum Manner { KEEPS, WAITS, READS, YIELDS, PASSES_SAFE };

/* Calls that wait in other ways. */
static enum Manner manner_of_target(int number)
{
    switch (number) {
#ifdef TARGET_NR_pause
    case TARGET_NR_pause:
        return WAITS;
#endif
#ifdef TARGET_NR_sendfile
    case TARGET_NR_sendfile:
#endif
#ifdef TARGET_NR_sendfile64
    case TARGET_NR_sendfile64:
#endif
#ifdef TARGET_NR_splice
    case TARGET_NR_splice:
#endif
#ifdef TARGET_NR_tee
    case TARGET_NR_tee:
#endif
#ifdef TARGET_NR_vmsplice
    case TARGET_NR_vmsplice:
#endif
        return KEEPS;
#ifdef TARGET_NR_sched_yield
    case TARGET_NR_sched_yield:
        return YIELDS;
#endif
    }
    return PASSES_SAFE;
}

void cannoli_turn_call(int number)
{
    if (!cannoli_turns || !cannoli_mine) {
        return;
    }
    switch (manner_of_target(number)) {
    case WAITS:
        cannoli_turn_away();
        break;
    case KEEPS:
        cannoli_turn_call_begin();
        break;
    case YIELDS:
        cannoli_cpu(thread_cpu)->thread->gate.quantum_over = true;
        break;
    default:
        break;
    }
}

void cannoli_turn_called(int number)
{
    if (cannoli_turns && cannoli_mine) {
        switch (manner_of_target(number)) {
        case WAITS:
            cannoli_turn_back();
            break;
        case KEEPS:
            cannoli_turn_call_end();
            break;
        default:
            break;
        }
    }
}

/* Whether a read or write of the file would not wait. */
static bool is_ready(int fd, short events)
{
    struct pollfd p = { .fd = fd, .events = events };
    int flags;

    if (poll(&p, 1, 0) != 0) {
        return true;
    }
    flags = fcntl(fd, F_GETFL);
    return flags < 0 || flags & O_NONBLOCK;
}

static bool is_zero(const struct timespec *timeout)
{
    return timeout && !timeout->tv_sec && !timeout->tv_nsec;
}

long cannoli_call_away(int *pending, long number, const long a[6])
{
    long ret;

    cannoli_turn_away();
    ret = host_call(pending, number, a);
    cannoli_turn_back();
    return ret;
}

static long call_kept(int *pending, long number, const long a[6])
{
    long ret;

    cannoli_turn_call_begin();
    ret = host_call(pending, number, a);
    cannoli_turn_call_end();
    return ret;
}

/*
 * ---- reads that wait: into memory of QEMU's ----
 *
 * Regular files never wait, so what is read here may be less than was requested
 * unless MSG_WAITALL is given.
 */

/* Of a message, what does not fit is lost. */
static bool is_message(int fd)
{
    int type;
    socklen_t n = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 &&
           type != SOCK_STREAM;
}

/* The guest's memory may have vanished meanwhile: false, with errno. */
static bool copy_out(const struct iovec *to, const struct iovec *from, int n,
                     size_t bytes)
{
    CannoliCPU *c = cannoli_cpu(thread_cpu);
    sigjmp_buf vanished;

    if (sigsetjmp(vanished, 0)) {
        c->vanished = NULL;
        errno = EFAULT;
        return false;
    }
    c->vanished = &vanished;
    barrier();
    for (int i = 0; i < n && bytes; i++) {
        size_t part = MIN(from[i].iov_len, bytes);

        if (to[i].iov_base) { /* without, MSG_TRUNC discards */
            memcpy(to[i].iov_base, from[i].iov_base, part);
        }
        bytes -= part;
    }
    barrier();
    c->vanished = NULL;
    return true;
}

static long read_away(int *pending, long number, const long a[6],
                      const struct iovec *iov, int n, bool all)
{
    CannoliThread *t = cannoli_cpu(thread_cpu)->thread;
    struct iovec own[IOV_MAX];
    struct msghdr msg, *given = (struct msghdr *)a[1];
    size_t room = 0;
    int used = 0;
    long ret;

    if (!t->copy) {
        t->copy = cannoli_alloc(MOST_COPIED);
        cannoli_open_memory(t->copy, MOST_COPIED);
    }
    for (; used < n && room < MOST_COPIED; used++) {
        own[used].iov_base = t->copy + room;
        own[used].iov_len = MIN(iov[used].iov_len, MOST_COPIED - room);
        room += own[used].iov_len;
    }
    all |= is_message(a[0]);
    cannoli_turn_away();
    if (all && room == MOST_COPIED) {
        ret = host_call(pending, number, a);
        used = 0;
    } else if (number == __NR_recvmsg) {
        msg = *given;
        msg.msg_iov = own;
        msg.msg_iovlen = used;
        ret = host_syscall(pending, number, a[0], &msg, a[2]);
        msg.msg_iov = given->msg_iov;
        msg.msg_iovlen = given->msg_iovlen;
        *given = msg;
    } else if (number == __NR_readv || number == __NR_preadv ||
               number == __NR_preadv2) {
        ret = host_syscall(pending, number, a[0], own, (long)used, a[3], a[4],
                           a[5]);
    } else {
        ret = host_syscall(pending, number, a[0], t->copy, room, a[3], a[4],
                           a[5]);
    }
    cannoli_turn_back();
    return ret > 0 && !copy_out(iov, own, used, ret) ? -1 : ret;
}

static long read_call(int *pending, long number, const long a[6])
{
    struct iovec one = { (void *)a[1], a[2] };
    const struct iovec *iov = &one;
    bool all = false;
    int n = 1;

    switch (number) {
    case __NR_recvmsg:
        iov = ((struct msghdr *)a[1])->msg_iov;
        n = ((struct msghdr *)a[1])->msg_iovlen;
        all = a[2] & MSG_WAITALL;
        break;
    case __NR_recvfrom:
        all = a[3] & MSG_WAITALL;
        break;
    case __NR_readv:
    case __NR_preadv:
    case __NR_preadv2:
        iov = (const struct iovec *)a[1];
        n = a[2];
        break;
    }
    if (all || (n <= IOV_MAX && !is_ready(a[0], POLLIN))) {
        return read_away(pending, number, a, iov, MIN(n, IOV_MAX), all);
    }
    return call_kept(pending, number, a);
}

/* ---- all calls ---- */

static enum Manner manner_of(long number, const long a[6])
{
    switch (number) {
    case __NR_read:
    case __NR_readv:
    case __NR_preadv:
    case __NR_preadv2:
    case __NR_recvfrom:
    case __NR_recvmsg:
    case __NR_mq_timedreceive:
        return READS;
    case __NR_write:
    case __NR_writev:
    case __NR_sendto:
    case __NR_sendmsg:
        return is_ready(a[0], POLLOUT) ? KEEPS : WAITS;
    case __NR_wait4:
        return a[2] & WNOHANG ? KEEPS : WAITS;
    case __NR_waitid:
        return a[3] & WNOHANG ? KEEPS : WAITS;
    case __NR_ppoll:
        return is_zero((void *)a[2]) ? KEEPS : WAITS;
    case __NR_pselect6:
        return is_zero((void *)a[4]) ? KEEPS : WAITS;
    case __NR_epoll_pwait:
        return (int)a[3] == 0 ? KEEPS : WAITS;
    case __NR_fcntl:
        return a[1] == F_SETLKW || a[1] == F_OFD_SETLKW ? WAITS : KEEPS;
    case __NR_execve: /* of a program that is not recorded */
    case __NR_execveat:
    case __NR_accept4:
    case __NR_clock_nanosleep:
    case __NR_connect:
    case __NR_flock:
    case __NR_mq_timedsend:
    case __NR_rt_sigsuspend:
    case __NR_rt_sigtimedwait:
#ifdef __NR_nanosleep
    case __NR_nanosleep:
#endif
#ifdef __NR_ipc
    case __NR_ipc:
#endif
#ifdef __NR_msgrcv
    case __NR_msgrcv:
    case __NR_msgsnd:
#endif
#ifdef __NR_semtimedop
    case __NR_semtimedop:
#endif
        return WAITS;
    }
    return KEEPS;
}

long cannoli_safe_syscall(int *pending, long number, long a0, long a1, long a2,
                          long a3, long a4, long a5)
{
    const long a[6] = { a0, a1, a2, a3, a4, a5 };

    if (!cannoli_turns || !cannoli_mine ||
        qatomic_read(&cannoli_mine->turn) != MEMPIPE_TURN_RUNS) {
        return host_call(pending, number, a);
    }
    if (number == __NR_futex) {
        return cannoli_futex_call(pending, number, a);
    }
    switch (manner_of(number, a)) {
    case READS:
        return read_call(pending, number, a);
    case WAITS:
        return cannoli_call_away(pending, number, a);
    default:
        return call_kept(pending, number, a);
    }
}
