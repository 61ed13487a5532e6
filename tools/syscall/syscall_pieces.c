/* SPDX-License-Identifier: MIT */
/* Text, bytes, times and numbers: what structures of system calls consist of. */
#include "syscall/syscall_priv.h"

#include <inttypes.h>
#include <string.h>

bool syscall_put_quoted(struct textbuf *b, const uint8_t *s, size_t n, bool cut)
{
    char *p;

    if (n > SIZE_MAX / 8 || !(p = textbuf_reserve(b, 4 * n + 8))) {
        return false;
    }
    *p++ = '"';
    for (size_t i = 0; i < n; i++) {
        static const char letters[] = "\a\b\t\n\v\f\r\"\\", names[] = "abtnvfr\"\\";
        const char *at = s[i] ? strchr(letters, s[i]) : NULL;
        if (at && s[i] != '\a' && s[i] != '\b') {
            *p++ = '\\';
            *p++ = names[at - letters];
        } else if (s[i] >= 0x20 && s[i] < 0x7f) {
            *p++ = (char)s[i];
        } else {
            bool digit = i + 1 < n && s[i + 1] >= '0' && s[i + 1] <= '9';
            *p++ = '\\';
            if (digit || s[i] >= 0100) {
                *p++ = (char)('0' + (s[i] >> 6));
            }
            if (digit || s[i] >= 010) {
                *p++ = (char)('0' + (s[i] >> 3 & 7));
            }
            *p++ = (char)('0' + (s[i] & 7));
        }
    }
    *p++ = '"';
    if (cut) {
        p = FMT_LIT(p, "...");
    }
    textbuf_commit(b, p);
    return true;
}

bool syscall_put_buffer(struct textbuf *b, const struct syscall_call *c, bool write,
                        uint64_t addr, uint64_t size)
{
    uint8_t s[SYSCALL_STRING_MAX];
    size_t want = c->string_max < sizeof(s) ? c->string_max : sizeof(s), got;

    want = size < want ? (size_t)size : want;
    got = syscall_memory(c, write, addr, s, want);
    if (!got && want) {
        return syscall_put_address(b, c, addr);
    }
    return addr ? syscall_put_quoted(b, s, got, got < size)
                : syscall_put_address(b, c, addr);
}

bool syscall_put_time(struct textbuf *b, const struct syscall_call *c, const uint8_t *p,
                      unsigned bytes, const char *fraction)
{
    const struct guest *g = c->guest;
    bool micro = fraction[3] == 'u';
    /* SPARC's struct timeval has 32-bit microseconds. */
    unsigned part = micro && g->abi->numbers == GUEST_SPARC ? 4 : bytes;
    int64_t sec = (int64_t)guest_load(g, p, bytes), rest;

    if (bytes == 4) {
        sec = (int32_t)sec;
    }
    rest = (int64_t)guest_load(g, p + bytes, part);
    if (part == 4 || g->word == 4) {
        rest = (int32_t)rest; /* the upper half is ignored */
    }
    return textbuf_printf(b, "{tv_sec=%" PRId64 ", %s=%" PRId64 "}", sec, fraction, rest);
}

bool syscall_put_ints(struct textbuf *b, const struct syscall_call *c, bool write,
                      uint64_t addr, unsigned n)
{
    uint8_t buf[8];

    if (syscall_memory(c, write, addr, buf, 4 * n) < 4 * n) {
        return syscall_put_address(b, c, addr);
    }
    return textbuf_printf(b, "[%d", (int)guest_load(c->guest, buf, 4)) &&
           (n == 1 || textbuf_printf(b, ", %d", (int)guest_load(c->guest, buf + 4, 4))) &&
           textbuf_printf(b, "]");
}
