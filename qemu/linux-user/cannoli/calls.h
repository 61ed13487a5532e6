/*
 * Execution tracing into shared memory: calls of the host that may wait
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * At the end of user/safe-syscall.h: calls.c makes the calls.
 */
#ifndef LINUX_USER_CANNOLI_CALLS_H
#define LINUX_USER_CANNOLI_CALLS_H

#if defined(CONFIG_CANNOLI) && !defined(CONFIG_BSD_USER)

long cannoli_safe_syscall(int *pending, long number, long a0, long a1, long a2,
                          long a3, long a4, long a5);
#define CANNOLI_SAFE_SYSCALL(number, a, b, c, d, e, f, ...) \
    cannoli_safe_syscall(&get_task_state(thread_cpu)->signal_pending, number, \
                         (long)(a), (long)(b), (long)(c), (long)(d), \
                         (long)(e), (long)(f))
#undef safe_syscall
#define safe_syscall(...) CANNOLI_SAFE_SYSCALL(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

#endif

#endif
