/*
 * Execution tracing into shared memory: events that every kind of guest has
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "event.h"

void cannoli_put_mark(CPUState *cpu, uint32_t source, uint32_t number,
                      uint64_t asked_ns, uint64_t value, const char *text,
                      uint32_t len)
{
    uint32_t bytes = 4 + 4 + 8 + 8 + 2 + len;
    uint8_t *p = cannoli_event(cpu, CTR_EVENT_MARK, bytes, cannoli_now());

    if (p) {
        cannoli_put32(&p, source);
        cannoli_put32(&p, number);
        cannoli_put64(&p, asked_ns);
        cannoli_put64(&p, value);
        cannoli_put_str(&p, text, len);
        cannoli_event_end(cpu, bytes);
    }
}

/*
 * The arguments of the program as events have them, the same in forked
 * children.  A copy, because QEMU's own list of them may be on the stack of a
 * thread that has ended.
 */
static char program_args[CTR_MAX_ARGS];
static uint32_t program_bytes, program_argc;

void cannoli_add_argument(const char *arg)
{
    uint32_t room = sizeof(program_args) - program_bytes;
    uint32_t n = MIN(strlen(arg) + 1, room);

    memcpy(program_args + program_bytes, arg, n);
    program_bytes += n;
    program_argc++;
}

void cannoli_thread_event(CPUState *cpu, uint32_t op, uint32_t reason,
                          int32_t status, const char *name)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    uint32_t bytes;
    bool program;
    char own[16];
    uint8_t *p;

    if (cannoli_expanding && t) {
        cannoli_expand_thread(cpu, op);
        return;
    }
    if (!cannoli_thr || !t) {
        return;
    }
    if (!name) {
        cannoli_thread_name(cpu, own);
        name = own;
    }
    program =
        program_bytes && (op == CTR_THREAD_EXEC ||
                          (op == CTR_THREAD_START && t->pipe->is_process));
    bytes = 7 * 4 + 2 + MIN(strlen(name), CANNOLI_MAX_STR);
    bytes += program ? 2 + program_bytes : 0;
    p = cannoli_event(cpu, CTR_EVENT_THREAD, bytes, cannoli_now());
    if (!p) {
        return;
    }
    cannoli_put32(&p, op);
    cannoli_put32(&p, t->pipe->pid);
    cannoli_put32(&p, t->pipe->tid);
    cannoli_put32(&p, t->pipe->ppid);
    cannoli_put32(&p, t->pipe->ptid);
    cannoli_put32(&p, reason);
    cannoli_put32(&p, program ? program_argc : status);
    cannoli_put_str(&p, name, strlen(name));
    if (program) {
        cannoli_put_str(&p, program_args, program_bytes);
    }
    cannoli_event_end(cpu, bytes);
}
