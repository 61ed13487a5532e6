/* SPDX-License-Identifier: MIT */
/* Parts of a system call that texts of arguments and of memory both need. */
#include "syscall/syscall_text.h"

#include <inttypes.h>
#include <string.h>

/* Pieces of memory that one thing is put together of; no honest trace has more. */
#define MAX_PIECES 64u

unsigned syscall_error(const struct syscall_call *c)
{
    if (!c->returned || c->no_result || c->result >= 0 || c->result < -4095) {
        return 0;
    }
    return (unsigned)-c->result;
}

bool syscall_put_address(struct textbuf *b, const struct syscall_call *c, uint64_t v)
{
    v = guest_word(c->guest, v);
    return v ? textbuf_printf(b, "0x%" PRIx64, v) : textbuf_printf(b, "NULL");
}

/* The piece that holds addr: of what was read the first, of what was written the
 * last. */
static const struct syscall_mem *piece_at(const struct syscall_call *c, bool write,
                                          uint64_t addr)
{
    const struct syscall_mem *found = NULL;

    for (size_t i = 0; i < c->n_mem; i++) {
        const struct syscall_mem *m = &c->mem[i];
        if (m->write == write && guest_word(c->guest, addr - m->addr) < m->n) {
            found = m;
            if (!write) {
                break;
            }
        }
    }
    return found;
}

size_t syscall_memory(const struct syscall_call *c, bool write, uint64_t addr, void *buf,
                      size_t n)
{
    uint8_t *to = buf;
    size_t got = 0;

    for (unsigned i = 0; i < MAX_PIECES && got < n; i++) {
        const struct syscall_mem *m = piece_at(c, write, addr + got);
        size_t at, len;
        if (!m) {
            break;
        }
        at = (size_t)guest_word(c->guest, addr + got - m->addr);
        len = m->n - at < n - got ? m->n - at : n - got;
        memcpy(to + got, m->data + at, len);
        got += len;
    }
    return got;
}
