/* SPDX-License-Identifier: MIT */
/* What packets are made of: hexadecimal numbers and bytes, ids of threads. */
#include "session.h"

#include <string.h>

bool parse_hex(const char **p, uint64_t *value)
{
    const char *begin = *p;

    for (*value = 0;; (*p)++) {
        const int digit = packet_hex_digit(**p);

        if (digit < 0 || *value >> 60) {
            return *p > begin && digit < 0;
        }
        *value = *value << 4 | (unsigned)digit;
    }
}

bool put_hex(struct textbuf *b, const void *data, size_t n)
{
    char *p = textbuf_reserve(b, 2 * n);

    if (p) {
        textbuf_commit(b, fmt_bytes(p, data, n));
    }
    return p != NULL;
}

long parse_hex_bytes(const char *p, uint8_t *out, size_t most)
{
    size_t n = 0;

    for (; *p; p += 2) {
        const char pair[3] = {p[0], p[1], 0};
        const char *end = pair;
        uint64_t byte;

        if (n == most || !p[1] || !parse_hex(&end, &byte) || *end) {
            return -1;
        }
        out[n++] = (uint8_t)byte;
    }
    return (long)n;
}

bool put_thread_id(struct session *s, struct textbuf *b, const struct ctr_thread *t)
{
    /* 0 and -1 mean others; vCPU 0 of a machine has the id of its process. */
    return s->multiprocess
               ? textbuf_printf(b, "p%x.%x", (unsigned)t->pid, (unsigned)t->tid)
               : textbuf_printf(b, "%x", (unsigned)t->tid);
}

int parse_thread_id(const struct session *s, const char **p, uint32_t *thread)
{
    const struct ctr_thread *t;
    uint64_t pid = 0, tid = 0;
    const bool has_pid = **p == 'p';
    uint32_t process;

    *thread = s->here.at.thread;
    if (has_pid) {
        (*p)++;
        if (!strncmp(*p, "-1", 2)) {
            *p += 2;
        } else if (!parse_hex(p, &pid)) {
            return -1;
        }
        if (pid && !process_find(s, pid, &process)) {
            return -1;
        }
        if (pid) {
            *thread = process_place(s, process)->at.thread;
        }
        if (**p != '.') { /* all threads of it */
            return 0;
        }
        (*p)++;
    }
    if (!strncmp(*p, "-1", 2)) {
        *p += 2;
        return 0;
    }
    if (!parse_hex(p, &tid)) {
        return -1;
    }
    if (!tid) {
        return 0;
    }
    for (uint32_t i = 0; (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        if ((uint32_t)t->tid == tid && (!pid || (uint32_t)t->pid == pid) &&
            position_has(s, t)) {
            *thread = i;
            return 1;
        }
    }
    return -1;
}
