/* SPDX-License-Identifier: MIT */
/* The parts of textbuf.h that are not inline: growth, printf, quoting, tables. */
#include "common/textbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
const char fmt_dec_pairs[200] = {
    '0','0', '0','1', '0','2', '0','3', '0','4', '0','5', '0','6', '0','7', '0','8', '0','9',
    '1','0', '1','1', '1','2', '1','3', '1','4', '1','5', '1','6', '1','7', '1','8', '1','9',
    '2','0', '2','1', '2','2', '2','3', '2','4', '2','5', '2','6', '2','7', '2','8', '2','9',
    '3','0', '3','1', '3','2', '3','3', '3','4', '3','5', '3','6', '3','7', '3','8', '3','9',
    '4','0', '4','1', '4','2', '4','3', '4','4', '4','5', '4','6', '4','7', '4','8', '4','9',
    '5','0', '5','1', '5','2', '5','3', '5','4', '5','5', '5','6', '5','7', '5','8', '5','9',
    '6','0', '6','1', '6','2', '6','3', '6','4', '6','5', '6','6', '6','7', '6','8', '6','9',
    '7','0', '7','1', '7','2', '7','3', '7','4', '7','5', '7','6', '7','7', '7','8', '7','9',
    '8','0', '8','1', '8','2', '8','3', '8','4', '8','5', '8','6', '8','7', '8','8', '8','9',
    '9','0', '9','1', '9','2', '9','3', '9','4', '9','5', '9','6', '9','7', '9','8', '9','9',
};

const char fmt_hex_pairs[512] = {
    '0','0', '0','1', '0','2', '0','3', '0','4', '0','5', '0','6', '0','7',
    '0','8', '0','9', '0','a', '0','b', '0','c', '0','d', '0','e', '0','f',
    '1','0', '1','1', '1','2', '1','3', '1','4', '1','5', '1','6', '1','7',
    '1','8', '1','9', '1','a', '1','b', '1','c', '1','d', '1','e', '1','f',
    '2','0', '2','1', '2','2', '2','3', '2','4', '2','5', '2','6', '2','7',
    '2','8', '2','9', '2','a', '2','b', '2','c', '2','d', '2','e', '2','f',
    '3','0', '3','1', '3','2', '3','3', '3','4', '3','5', '3','6', '3','7',
    '3','8', '3','9', '3','a', '3','b', '3','c', '3','d', '3','e', '3','f',
    '4','0', '4','1', '4','2', '4','3', '4','4', '4','5', '4','6', '4','7',
    '4','8', '4','9', '4','a', '4','b', '4','c', '4','d', '4','e', '4','f',
    '5','0', '5','1', '5','2', '5','3', '5','4', '5','5', '5','6', '5','7',
    '5','8', '5','9', '5','a', '5','b', '5','c', '5','d', '5','e', '5','f',
    '6','0', '6','1', '6','2', '6','3', '6','4', '6','5', '6','6', '6','7',
    '6','8', '6','9', '6','a', '6','b', '6','c', '6','d', '6','e', '6','f',
    '7','0', '7','1', '7','2', '7','3', '7','4', '7','5', '7','6', '7','7',
    '7','8', '7','9', '7','a', '7','b', '7','c', '7','d', '7','e', '7','f',
    '8','0', '8','1', '8','2', '8','3', '8','4', '8','5', '8','6', '8','7',
    '8','8', '8','9', '8','a', '8','b', '8','c', '8','d', '8','e', '8','f',
    '9','0', '9','1', '9','2', '9','3', '9','4', '9','5', '9','6', '9','7',
    '9','8', '9','9', '9','a', '9','b', '9','c', '9','d', '9','e', '9','f',
    'a','0', 'a','1', 'a','2', 'a','3', 'a','4', 'a','5', 'a','6', 'a','7',
    'a','8', 'a','9', 'a','a', 'a','b', 'a','c', 'a','d', 'a','e', 'a','f',
    'b','0', 'b','1', 'b','2', 'b','3', 'b','4', 'b','5', 'b','6', 'b','7',
    'b','8', 'b','9', 'b','a', 'b','b', 'b','c', 'b','d', 'b','e', 'b','f',
    'c','0', 'c','1', 'c','2', 'c','3', 'c','4', 'c','5', 'c','6', 'c','7',
    'c','8', 'c','9', 'c','a', 'c','b', 'c','c', 'c','d', 'c','e', 'c','f',
    'd','0', 'd','1', 'd','2', 'd','3', 'd','4', 'd','5', 'd','6', 'd','7',
    'd','8', 'd','9', 'd','a', 'd','b', 'd','c', 'd','d', 'd','e', 'd','f',
    'e','0', 'e','1', 'e','2', 'e','3', 'e','4', 'e','5', 'e','6', 'e','7',
    'e','8', 'e','9', 'e','a', 'e','b', 'e','c', 'e','d', 'e','e', 'e','f',
    'f','0', 'f','1', 'f','2', 'f','3', 'f','4', 'f','5', 'f','6', 'f','7',
    'f','8', 'f','9', 'f','a', 'f','b', 'f','c', 'f','d', 'f','e', 'f','f',
};
/* clang-format on */

bool textbuf_grow(struct textbuf *b, size_t n)
{
    size_t cap = b->cap ? b->cap : 4096;
    char *data;

    if (n > SIZE_MAX / 4 - b->len) {
        return false;
    }
    while (cap - b->len < n) {
        cap *= 2;
    }
    data = realloc(b->data, cap);
    if (!data) {
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

void textbuf_fini(struct textbuf *b)
{
    free(b->data);
    *b = (struct textbuf){0};
}

bool textbuf_printf(struct textbuf *b, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || !textbuf_reserve(b, (size_t)n + 1)) {
        return false;
    }
    va_start(ap, fmt);
    vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
    return true;
}

bool textbuf_printable(struct textbuf *b, const char *s, size_t n)
{
    char *p = textbuf_reserve(b, n + 1);

    if (!p) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        *p++ = text_is_control(s, i, n) ? '?' : s[i];
    }
    textbuf_commit(b, p);
    return true;
}

/* In $'...': one character of it. */
static char *shell_escape(char *p, const char *s, size_t i, size_t n)
{
    static const char letters[] = "\t\n\r\\'", names[] = "tnr\\'";
    const char *at = s[i] ? strchr(letters, s[i]) : NULL;
    const uint8_t c = (uint8_t)s[i];

    if (!at && !text_is_control(s, i, n)) {
        *p++ = s[i];
        return p;
    }
    *p++ = '\\';
    if (at) {
        *p++ = names[at - letters];
    } else {
        *p++ = (char)('0' + (c >> 6));
        *p++ = (char)('0' + (c >> 3 & 7));
        *p++ = (char)('0' + (c & 7));
    }
    return p;
}

bool textbuf_shell_word(struct textbuf *b, const char *s, size_t n)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=./,:@%^";
    bool quote = n == 0, escape = false;
    char *p = n > SIZE_MAX / 8 ? NULL : textbuf_reserve(b, 4 * n + 3);

    if (!p) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        quote |= !s[i] || !strchr(plain, s[i]);
        escape |= text_is_control(s, i, n);
    }
    if (escape) {
        *p++ = '$';
    }
    if (quote) {
        *p++ = '\'';
    }
    for (size_t i = 0; i < n; i++) {
        if (escape) {
            p = shell_escape(p, s, i, n);
        } else if (s[i] == '\'') {
            p = FMT_LIT(p, "'\\''");
        } else {
            *p++ = s[i];
        }
    }
    if (quote) {
        *p++ = '\'';
    }
    textbuf_commit(b, p);
    return true;
}

/* Length of the UTF-8 character at s (1..4), 0 if there is none. */
static size_t utf8_length(const uint8_t *s, size_t left)
{
    size_t n;
    uint32_t c;

    if (s[0] < 0x80) {
        return 1;
    }
    n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n > left) {
        return 0;
    }
    c = s[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
        c = c << 6 | (s[i] & 0x3f);
    }
    if ((n == 3 && c < 0x800) || (n == 4 && (c < 0x10000 || c > 0x10ffff)) ||
        (c >= 0xd800 && c <= 0xdfff)) {
        return 0;
    }
    return n;
}

bool textbuf_json_string(struct textbuf *b, const char *s, size_t len)
{
    const uint8_t *u = (const uint8_t *)s;
    char *p;

    if (len > SIZE_MAX / 16 || !(p = textbuf_reserve(b, 6 * len + 2))) {
        return false;
    }
    *p++ = '"';
    for (size_t i = 0; i < len;) {
        size_t n = utf8_length(u + i, len - i);
        if (n == 0) {
            p = FMT_LIT(p, "\\ufffd");
            i++;
            continue;
        }
        if (u[i] == '"' || u[i] == '\\') {
            *p++ = '\\';
            *p++ = s[i];
        } else if (u[i] < 0x20 || u[i] == 0x7f) {
            p = FMT_LIT(p, "\\u00");
            p = fmt_bytes(p, u + i, 1);
        } else {
            p = fmt_mem(p, s + i, n);
        }
        i += n;
    }
    *p++ = '"';
    textbuf_commit(b, p);
    return true;
}

/* The escape of a character in markup; NULL: none is needed. */
static const char *markup_entity(uint8_t c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\n':
        return "&#10;";
    case '\t':
        return "&#9;";
    default:
        return c < 0x20 || c == 0x7f ? "\xef\xbf\xbd" : NULL;
    }
}

bool textbuf_markup(struct textbuf *b, const char *s, size_t len)
{
    const uint8_t *u = (const uint8_t *)s;
    char *p;

    if (len > SIZE_MAX / 16 || !(p = textbuf_reserve(b, 6 * len + 1))) {
        return false;
    }
    for (size_t i = 0; i < len;) {
        size_t n = utf8_length(u + i, len - i);
        /* XML does not allow U+FFFE and U+FFFF either. */
        bool none =
            n == 0 || (n == 3 && !memcmp(u + i, "\xef\xbf", 2) && u[i + 2] >= 0xbe);
        const char *entity = none ? "\xef\xbf\xbd" : n == 1 ? markup_entity(u[i]) : NULL;
        if (entity) {
            p = fmt_mem(p, entity, strlen(entity));
        } else {
            p = fmt_mem(p, s + i, n);
        }
        i += n ? n : 1;
    }
    textbuf_commit(b, p);
    return true;
}
