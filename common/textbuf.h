/* SPDX-License-Identifier: MIT */
/*
 * Fast text output: a growing buffer, and number formatting by table.
 *
 * The pattern is: reserve the maximum length of a line, write through a bare
 * pointer with the fmt_ functions, commit.  Only the reservation can fail; the
 * fmt_ functions check nothing.
 */
#ifndef COMMON_TEXTBUF_H
#define COMMON_TEXTBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct textbuf {
    char *data;
    size_t len, cap;
};

/* Makes room for `n' more bytes; false when there is no memory. */
bool textbuf_grow(struct textbuf *b, size_t n);
void textbuf_fini(struct textbuf *b);

/* Where the next `n' bytes may be written, or NULL when there is no memory. */
static inline char *textbuf_reserve(struct textbuf *b, size_t n)
{
    if (b->cap - b->len < n && !textbuf_grow(b, n)) {
        return NULL;
    }
    return b->data + b->len;
}

/* `end' is past the last byte written since textbuf_reserve. */
static inline void textbuf_commit(struct textbuf *b, const char *end)
{
    b->len = (size_t)(end - b->data);
}

/* Appends printf text (slow path only); false when there is no memory. */
bool textbuf_printf(struct textbuf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends a JSON string with its quotes.  Bytes that are not UTF-8 become
 * U+FFFD, so that the result is valid JSON for any arguments of a guest. */
bool textbuf_json_string(struct textbuf *b, const char *s, size_t len);

/* Appends text for HTML and XML, inside elements or attributes in double quotes: markup
 * is escaped; characters that XML 1.0 or UTF-8 forbids become U+FFFD. */
bool textbuf_markup(struct textbuf *b, const char *s, size_t len);

/*
 * Whether byte i of an untrusted text of n bytes controls a terminal or ends the line.
 * Control characters do: of ASCII, and U+0080 to U+009F as UTF-8.  Output for people
 * shows '?' instead.
 */
static inline bool text_is_control(const char *s, size_t i, size_t n)
{
    const uint8_t *u = (const uint8_t *)s;

    if (u[i] < 0xc2) {
        return u[i] < 0x20 || u[i] == 0x7f ||
               (i && u[i - 1] == 0xc2 && u[i] >= 0x80 && u[i] < 0xa0);
    }
    return u[i] == 0xc2 && i + 1 < n && u[i + 1] >= 0x80 && u[i + 1] < 0xa0;
}

/* Appends such text; false when there is no memory. */
bool textbuf_printable(struct textbuf *b, const char *s, size_t n);

/* Appends a word as a shell reads it, with quotes only where it needs them; control
 * characters are escaped as in $'\n'.  False when there is no memory. */
bool textbuf_shell_word(struct textbuf *b, const char *s, size_t n);

/* Limit of what fmt_u64 and fmt_hex write, in bytes. */
#define FMT_U64_MAX 20
#define FMT_HEX_MAX 16

/* "00" to "99", and "00" to "ff": two digits at a time. */
extern const char fmt_dec_pairs[200];
extern const char fmt_hex_pairs[512];

/* Each fmt_ function writes at p and returns the end of what it wrote. */

static inline unsigned fmt_dec_digits(uint64_t v)
{
    unsigned n = 1;

    while (v >= 10000) {
        v /= 10000;
        n += 4;
    }
    return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

static inline char *fmt_dec_n(char *p, uint64_t v, unsigned digits)
{
    char *end = p + digits, *q = end;

    while (v >= 100) {
        q -= 2;
        memcpy(q, &fmt_dec_pairs[2 * (v % 100)], 2);
        v /= 100;
    }
    if (v >= 10) {
        memcpy(q - 2, &fmt_dec_pairs[2 * v], 2);
    } else {
        q[-1] = (char)('0' + v);
    }
    return end;
}

/* Decimal. */
static inline char *fmt_u64(char *p, uint64_t v)
{
    return fmt_dec_n(p, v, fmt_dec_digits(v));
}

/* Decimal, blanks before it up to `width' (at most 32). */
static inline char *fmt_u64_width(char *p, uint64_t v, unsigned width)
{
    unsigned n = fmt_dec_digits(v);

    if (n < width) {
        memset(p, ' ', width - n);
        p += width - n;
    }
    return fmt_dec_n(p, v, n);
}

/* Hexadecimal, zeros before it up to `width' (at most 16). */
static inline char *fmt_hex_width(char *p, uint64_t v, unsigned width)
{
    unsigned n = v ? (67u - (unsigned)__builtin_clzll(v)) / 4 : 1;
    char *end, *q;

    n = n < width ? width : n;
    end = q = p + n;
    while (q - p >= 2) {
        q -= 2;
        memcpy(q, &fmt_hex_pairs[2 * (v & 0xff)], 2);
        v >>= 8;
    }
    if (q > p) {
        *p = fmt_hex_pairs[2 * (v & 0xf) + 1];
    }
    return end;
}

/* Hexadecimal, no zeros before it. */
static inline char *fmt_hex(char *p, uint64_t v)
{
    return fmt_hex_width(p, v, 1);
}

/* Two hexadecimal digits for each byte. */
static inline char *fmt_bytes(char *p, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++, p += 2) {
        memcpy(p, &fmt_hex_pairs[2 * bytes[i]], 2);
    }
    return p;
}

static inline char *fmt_mem(char *p, const char *s, size_t n)
{
    memcpy(p, s, n);
    return p + n;
}

#define FMT_LIT(p, lit) fmt_mem((p), (lit), sizeof(lit) - 1)

#endif
