/* SPDX-License-Identifier: MIT */
/* Builds side records by hand (see siderec.h). */
#include "siderec.h"

#include <stdlib.h>
#include <string.h>
#include "cannoli/mempipe.h"

void side_free(struct sidebuf *a)
{
    free(a->p);
    memset(a, 0, sizeof(*a));
}

/* Room for a record, filled with zeros. */
static void *record(struct sidebuf *a, size_t bytes)
{
    bytes = (bytes + 7) / 8 * 8;
    if (a->n + bytes > a->cap) {
        a->cap = a->cap * 2 + bytes;
        a->p = realloc(a->p, a->cap);
        if (!a->p) {
            abort();
        }
    }
    struct mempipe_side_record *h = (struct mempipe_side_record *)(a->p + a->n);
    memset(h, 0, bytes);
    h->bytes = (uint32_t)bytes;
    a->n += bytes;
    return h;
}

static void put(struct payload *p, const void *data, size_t n)
{
    if (n > sizeof(p->p) - p->n) {
        abort();
    }
    if (n) {
        memcpy(p->p + p->n, data, n);
    }
    p->n += n;
}

void put_u32(struct payload *p, uint32_t v)
{
    uint8_t b[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
                    (uint8_t)(v >> 24)};
    put(p, b, 4);
}

void put_u64(struct payload *p, uint64_t v)
{
    put_u32(p, (uint32_t)v);
    put_u32(p, (uint32_t)(v >> 32));
}

void put_str(struct payload *p, const char *s, size_t n)
{
    uint8_t len[2] = {(uint8_t)n, (uint8_t)(n >> 8)};
    put(p, len, 2);
    put(p, s, n);
}

void side_event(struct sidebuf *a, uint32_t words, uint32_t units, uint32_t type,
                uint64_t time_ns, const struct payload *p)
{
    struct mempipe_side_event *e = record(a, sizeof(*e) + p->n);
    e->p.h.type = MEMPIPE_SIDE_EVENT;
    e->p.words = words;
    e->p.units = units;
    e->p.n = (uint32_t)p->n;
    e->type = type;
    e->time_ns = time_ns;
    memcpy(e + 1, p->p, p->n);
}

void side_state(struct sidebuf *a, const void *state, uint32_t n)
{
    struct mempipe_side_place *s = record(a, sizeof(*s) + n);
    s->h.type = MEMPIPE_SIDE_STATE;
    s->n = n;
    memcpy(s + 1, state, n);
}

void side_regs(struct sidebuf *a, uint32_t words, uint32_t units, uint32_t insn,
               const struct side_reg *regs, uint32_t n)
{
    struct mempipe_side_regs *r = record(a, sizeof(*r) + (size_t)n * MEMPIPE_REG_BYTES);
    r->p.h.type = MEMPIPE_SIDE_REGS;
    r->p.words = words;
    r->p.units = units;
    r->p.n = n;
    r->insn = insn;
    uint8_t *p = (uint8_t *)(r + 1);
    for (uint32_t i = 0; i < n; i++, p += MEMPIPE_REG_BYTES) {
        memcpy(p, &regs[i].reg, 2);
        memcpy(p + 4, regs[i].value, 16);
    }
}

void payload_syscall(struct payload *p, uint32_t nr, int64_t result, uint64_t arg,
                     const char *name)
{
    p->n = 0;
    put_u32(p, nr);
    put_u32(p, 0);
    put_u64(p, (uint64_t)result);
    for (unsigned i = 0; i < 8; i++) {
        put_u64(p, arg * i);
    }
    put_str(p, name, strlen(name));
}

void payload_map(struct payload *p, uint32_t op, uint32_t prot, uint32_t flags,
                 uint64_t start, uint64_t size, uint64_t offset, const char *path)
{
    p->n = 0;
    put_u32(p, op);
    put_u32(p, prot);
    put_u32(p, flags);
    put_u32(p, 0);
    put_u64(p, start);
    put_u64(p, size);
    put_u64(p, offset);
    put_u64(p, 0);
    put_u64(p, 0);
    put_u64(p, path[0] == '/' ? 8 : 0);
    put_u64(p, path[0] == '/' ? 100 + (uint64_t)path[1] : 0);
    put_str(p, path, strlen(path));
    put_str(p, path[0] == '/' ? "\x01\x02" : "", path[0] == '/' ? 2 : 0);
}

void payload_old(struct payload *p, uint64_t start, uint64_t size)
{
    memcpy(p->p + 40, &start, 8);
    memcpy(p->p + 48, &size, 8);
}

static void start_thread(struct payload *p, uint32_t op, int32_t pid, int32_t tid,
                         uint32_t status, const char *name)
{
    p->n = 0;
    put_u32(p, op);
    put_u32(p, (uint32_t)pid);
    put_u32(p, (uint32_t)tid);
    put_u32(p, 1);
    put_u32(p, 0);
    put_u32(p, 0);
    put_u32(p, status);
    put_str(p, name, strlen(name));
}

void payload_thread(struct payload *p, uint32_t op, int32_t pid, int32_t tid,
                    const char *name)
{
    start_thread(p, op, pid, tid, 0, name);
}

void payload_program(struct payload *p, uint32_t op, int32_t pid, const char *name,
                     const char *args, size_t n, uint32_t argc)
{
    start_thread(p, op, pid, pid, argc, name);
    put_str(p, args, n);
}
