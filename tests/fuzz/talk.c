/* SPDX-License-Identifier: MIT */
/* See talk.h. */
#include "talk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_symbols.h"

void talk_byte(struct talk *t, int c)
{
    if (t->n == t->cap) {
        t->cap = 2 * t->cap + 1024;
        t->p = realloc(t->p, t->cap);
        CHECK(t->p);
    }
    t->p[t->n++] = (uint8_t)c;
}

void talk_packet(struct talk *t, const char *fmt, ...)
{
    char data[2048], sum[3];
    uint8_t total = 0;
    va_list ap;

    va_start(ap, fmt);
    const int n = vsnprintf(data, sizeof(data), fmt, ap);
    va_end(ap);
    CHECK(n > 0 && (size_t)n < sizeof(data));
    talk_byte(t, '$');
    for (int i = 0; i < n; i++) {
        talk_byte(t, data[i]);
        total = (uint8_t)(total + data[i]);
    }
    snprintf(sum, sizeof(sum), "%02x", total);
    talk_byte(t, '#');
    talk_byte(t, sum[0]);
    talk_byte(t, sum[1]);
    if (!t->no_ack) {
        talk_byte(t, '+');
    }
}

void talk_packets(struct talk *t, const char *const *packets)
{
    for (; *packets; packets++) {
        talk_packet(t, "%s", *packets);
    }
}

void talk_monitor(struct talk *t, const char *command)
{
    char hex[512] = "";
    size_t n = 0;

    for (const char *p = command; *p; p++) {
        n += (size_t)snprintf(hex + n, sizeof(hex) - n, "%02x", (unsigned char)*p);
    }
    talk_packet(t, "qRcmd,%s", hex);
}

void talk_connect(struct talk *t)
{
    static const char *const packets[] = {
        "qSupported:multiprocess+;swbreak+;hwbreak+;qRelocInsn+;fork-events+;"
        "vfork-events+;exec-events+;vContSupported+;QThreadEvents+;no-resumed+;"
        "memory-tagging+;xmlRegisters=i386",
        "vCont?",
        "vMustReplyEmpty",
        "QStartNoAckMode",
        NULL,
    };

    talk_byte(t, '+');
    talk_packets(t, packets);
    t->no_ack = true;
    talk_packet(t, "!");
    talk_packet(t, "Hgp0.0");
    talk_packet(t, "qXfer:features:read:target.xml:0,ffb");
    talk_packet(t, "?");
}

/* Acknowledgements and packets with right sums, and nothing else. */
static void check_answers(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t sum = 0;

        if (p[i] == '+' || p[i] == '-') {
            continue;
        }
        CHECK(p[i] == '$');
        for (i++; i < n && p[i] != '#'; i++) {
            CHECK(p[i] != '$' && p[i] != '*');
            sum = (uint8_t)(sum + p[i]);
        }
        CHECK(i + 2 < n);
        CHECK(packet_hex_digit(p[i + 1]) * 16 + packet_hex_digit(p[i + 2]) == sum);
        i += 2;
    }
}

static int memory_file(const uint8_t *data, size_t n)
{
    const int fd = memfd_create("gdb", MFD_CLOEXEC);

    CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n && !lseek(fd, 0, SEEK_SET));
    return fd;
}

/* A file as input: all of it is there, and it ends. */
static void serve_bytes(struct session *s, const uint8_t *data, size_t n)
{
    const int in = memory_file(data, n), out = memory_file(NULL, 0);
    uint8_t *p = NULL;
    size_t answered;

    serve(s, in, out);
    answered = (size_t)lseek(out, 0, SEEK_END);
    if (answered) {
        p = mmap(NULL, answered, PROT_READ, MAP_SHARED, out, 0);
        CHECK(p != MAP_FAILED);
        check_answers(p, answered);
        munmap(p, answered);
    }
    close(in);
    close(out);
}

void talk_serve(struct ctr_trace *tr, const struct places *places, const uint8_t *data,
                size_t n)
{
    struct session s = {.path = "t.ctr", .tr = tr, .places = places, .jobs = 1};
    const struct ctr_thread *t;
    uint32_t i = 0;

    ctr_trace_info(tr, &s.info);
    guest_init(&s.guest, &s.info);
    while ((t = ctr_trace_thread(tr, i)) != NULL && !t->insns) {
        i++;
    }
    if (t && !session_begin(&s, i, t->first, false)) {
        serve_bytes(&s, data, n);
    }
    session_end(&s);
}
