/* SPDX-License-Identifier: MIT */
/* Packets of gdb's remote protocol; see packet.h. */
#include "packet.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static const char digits[] = "0123456789abcdef";

void packet_init(struct packet_link *l, int in, int out)
{
    l->in = in;
    l->out = out;
    l->no_ack = false;
    l->at = l->n = 0;
}

/* The next byte; -1: the end, -2: errno. */
static int next_byte(struct packet_link *l)
{
    if (l->at == l->n) {
        ssize_t n;

        do {
            n = read(l->in, l->buf, sizeof(l->buf));
        } while (n < 0 && errno == EINTR);
        if (n <= 0) {
            return n ? -2 : -1;
        }
        l->at = 0;
        l->n = (size_t)n;
    }
    return l->buf[l->at++];
}

static bool write_all(int fd, const void *data, size_t n)
{
    const char *p = data;

    while (n) {
        const ssize_t done = write(fd, p, n);

        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return false;
        }
        p += done;
        n -= (size_t)done;
    }
    return true;
}

/* Reads what is there already; false: the peer is gone. */
static bool read_more(struct packet_link *l)
{
    struct pollfd ready = {.fd = l->in, .events = POLLIN};
    ssize_t n;

    if (l->at < l->n || poll(&ready, 1, 0) <= 0) {
        return true;
    }
    n = read(l->in, l->buf, sizeof(l->buf));
    if (n > 0) {
        l->at = 0;
        l->n = (size_t)n;
    }
    return n > 0 || (n < 0 && errno == EINTR);
}

bool packet_interrupted(struct packet_link *l)
{
    static const char request[] = "$vCtrlC#"; /* which is answered later */

    if (!read_more(l)) {
        return true;
    }
    while (l->at < l->n && (l->buf[l->at] == '+' || l->buf[l->at] == '-')) {
        l->at++;
    }
    if (l->at < l->n && l->buf[l->at] == 3) {
        l->at++;
        return true;
    }
    return l->n - l->at >= strlen(request) &&
           !memcmp(l->buf + l->at, request, strlen(request));
}

int packet_hex_digit(int c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static enum packet_got ended(int c)
{
    return c == -1 ? PACKET_END : PACKET_FAILED;
}

/* The data up to '#'; PACKET_DATA with the sum of its bytes. */
static enum packet_got read_data(struct packet_link *l, size_t *n, uint8_t *sum)
{
    int c;

    *n = *sum = 0;
    while ((c = next_byte(l)) != '#') {
        if (c < 0) {
            return ended(c);
        }
        if (c == '$') { /* the rest of the one before was lost */
            *n = *sum = 0;
            continue;
        }
        if (*n == PACKET_MOST) {
            errno = EMSGSIZE;
            return PACKET_FAILED;
        }
        l->data[(*n)++] = (char)c;
        *sum = (uint8_t)(*sum + c);
    }
    l->data[*n] = 0;
    return PACKET_DATA;
}

enum packet_got packet_read(struct packet_link *l, char **data, size_t *n)
{
    enum packet_got got;
    uint8_t sum;
    int c, high, low;

    for (;;) {
        c = next_byte(l);
        if (c < 0) {
            return ended(c);
        }
        if (c == 3) {
            return PACKET_INTERRUPT;
        }
        if (c != '$') {
            continue; /* acknowledgements that nobody waits for */
        }
        got = read_data(l, n, &sum);
        if (got != PACKET_DATA) {
            return got;
        }
        high = next_byte(l);
        low = high < 0 ? high : next_byte(l);
        if (low < 0) {
            return ended(low);
        }
        if (l->no_ack) {
            break;
        }
        if (packet_hex_digit(high) * 16 + packet_hex_digit(low) == sum) {
            if (!write_all(l->out, "+", 1)) {
                return PACKET_FAILED;
            }
            break;
        }
        if (!write_all(l->out, "-", 1)) {
            return PACKET_FAILED;
        }
    }
    *data = l->data;
    return PACKET_DATA;
}

/* Whether the peer got it; -1: the connection is gone. */
static int acknowledged(struct packet_link *l)
{
    int c;

    do {
        c = next_byte(l);
        if (c == '$') { /* it goes on: it has what it wants */
            l->at--;
            return 1;
        }
    } while (c >= 0 && c != '+' && c != '-');
    return c < 0 ? -1 : c == '+';
}

bool packet_send(struct packet_link *l, const void *data, size_t n)
{
    const uint8_t *in = data;
    /* The data in parts, each byte perhaps escaped. */
    uint8_t out[1024], sum;
    size_t used;
    int ok;

    do {
        out[0] = '$';
        used = 1;
        sum = 0;
        for (size_t i = 0; i < n; i++) {
            uint8_t c = in[i];

            if (used + 2 + 3 > sizeof(out)) {
                if (!write_all(l->out, out, used)) {
                    return false;
                }
                used = 0;
            }
            if (c == '#' || c == '$' || c == '}' || c == '*') {
                out[used++] = '}';
                sum = (uint8_t)(sum + '}');
                c ^= 0x20;
            }
            out[used++] = c;
            sum = (uint8_t)(sum + c);
        }
        out[used++] = '#';
        out[used++] = (uint8_t)digits[sum >> 4];
        out[used++] = (uint8_t)digits[sum & 15];
        if (!write_all(l->out, out, used)) {
            return false;
        }
        ok = l->no_ack ? 1 : acknowledged(l);
    } while (!ok);
    return ok > 0;
}
