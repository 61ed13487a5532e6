/*
 * Execution tracing into shared memory: what the guest requests
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Requests for the recording (cannoli/guest.h): programs and kernels switch it
 * on and off, make marks, name ranges of memory.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/target_page.h"
#include "cannoli/guest.h"
#include "event.h"
#include "guest.h"

/* A name or type that the guest gives. */
#define MAX_NAME 1024

/* As much as can be read of n bytes. */
static uint32_t peek(CPUState *cpu, void *to, uint64_t addr, uint32_t n)
{
    uint32_t done = 0;

    addr = cannoli_guest_address(cpu, addr);
    while (done < n) {
        uint64_t at = addr + done;
        uint32_t size = MIN(n - done, -(at | TARGET_PAGE_MASK));
        uint32_t got = cannoli_read_guest((uint8_t *)to + done, at, size);

        done += got;
        if (got < size) {
            break;
        }
    }
    return done;
}

static int64_t guest_mark(CPUState *cpu, uint64_t text, uint64_t len,
                          uint64_t value)
{
    char buf[CANNOLI_MAX_STR];
    uint32_t n = MIN(len, sizeof(buf));

    if (n && peek(cpu, buf, text, n) < n) {
        return -EFAULT;
    }
    cannoli_put_mark(cpu, CTR_MARK_GUEST, 0, cannoli_now(), value, buf, n);
    return 0;
}

/* A string of the guest, cut at MAX_NAME; its length, or -1. */
static int read_string(CPUState *cpu, char *buf, uint64_t addr)
{
    uint32_t got = peek(cpu, buf, addr, MAX_NAME);
    uint32_t len = strnlen(buf, got);

    return len < got || got == MAX_NAME ? len : -1;
}

static int64_t guest_label(CPUState *cpu, uint32_t op, const uint64_t args[4])
{
    char type[MAX_NAME], name[MAX_NAME];
    int type_len = 0, name_len = 0;
    uint32_t bytes;
    uint8_t *p;

    if (op == CTR_LABEL_SET) {
        type_len = read_string(cpu, type, args[2]);
        name_len = read_string(cpu, name, args[3]);
        if (type_len < 0 || name_len < 0) {
            return -EFAULT;
        }
    }
    bytes = 4 + 4 + 8 + 8 + 2 + type_len + 2 + name_len;
    p = cannoli_event(cpu, CTR_EVENT_LABEL, bytes, cannoli_now());
    if (p) {
        cannoli_put32(&p, op);
        cannoli_put32(&p, 0);
        cannoli_put64(&p, cannoli_guest_address(cpu, args[0]));
        cannoli_put64(&p, op == CTR_LABEL_SET ? args[1] : 0);
        cannoli_put_str(&p, type, type_len);
        cannoli_put_str(&p, name, name_len);
        cannoli_event_end(cpu, bytes);
    }
    return 0;
}

int64_t cannoli_guest_request(CPUState *cpu, uint64_t op,
                              const uint64_t args[4])
{
    switch (op) {
    case CANNOLI_GUEST_STATUS:
        return cannoli_cpu(cpu)->thread->gate.open;
    case CANNOLI_GUEST_PAUSE:
    case CANNOLI_GUEST_RESUME:
        if (args[0] > CANNOLI_PROCESS) {
            return -EINVAL;
        }
        cannoli_gate_pause(cpu, op == CANNOLI_GUEST_PAUSE,
                           args[0] == CANNOLI_PROCESS);
        return 0;
    case CANNOLI_GUEST_MARK:
        return guest_mark(cpu, args[0], args[1], args[2]);
    case CANNOLI_GUEST_LABEL:
        return guest_label(cpu, CTR_LABEL_SET, args);
    case CANNOLI_GUEST_UNLABEL:
        return guest_label(cpu, CTR_LABEL_REMOVE, args);
    default:
        return -EINVAL;
    }
}
