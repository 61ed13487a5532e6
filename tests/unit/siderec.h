/* SPDX-License-Identifier: MIT */
/* Builds side records as QEMU puts them into a pipe's side queue, for tests. */
#ifndef SIDEREC_H
#define SIDEREC_H

#include <stddef.h>
#include <stdint.h>

struct sidebuf {
    uint8_t *p;
    size_t n;
    size_t cap;
};

void side_free(struct sidebuf *a);

/* A payload made of numbers and strings. */
struct payload {
    uint8_t p[8192];
    size_t n;
};
void put_u32(struct payload *p, uint32_t v);
void put_u64(struct payload *p, uint64_t v);
void put_str(struct payload *p, const char *s, size_t n);

/* Records whose place is after so many words and units. */
void side_event(struct sidebuf *a, uint32_t words, uint32_t units, uint32_t type,
                uint64_t time_ns, const struct payload *p);
void side_state(struct sidebuf *a, const void *state, uint32_t n);

struct side_reg {
    uint16_t reg;
    uint8_t value[16];
};
/* insn: MEMPIPE_OUTSIDE or an instruction of the last block. */
void side_regs(struct sidebuf *a, uint32_t words, uint32_t units, uint32_t insn,
               const struct side_reg *regs, uint32_t n);

/* Payloads, as in cannoli/events.h. */
void payload_syscall(struct payload *p, uint32_t nr, int64_t result, uint64_t arg,
                     const char *name);
void payload_map(struct payload *p, uint32_t op, uint32_t prot, uint32_t flags,
                 uint64_t start, uint64_t size, uint64_t offset, const char *path);
/* Sets old_start and old_size of a payload_map. */
void payload_old(struct payload *p, uint64_t start, uint64_t size);
void payload_thread(struct payload *p, uint32_t op, int32_t pid, int32_t tid,
                    const char *name);
/* The first thread of a process, with n bytes of its argc arguments. */
void payload_program(struct payload *p, uint32_t op, int32_t pid, const char *name,
                     const char *args, size_t n, uint32_t argc);

#endif
