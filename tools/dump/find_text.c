/* SPDX-License-Identifier: MIT */
/* --find: the bytes, the string or the number that its argument names. */
#include "dump/find_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/quantity.h"

#define WITHIN 65536u
#define WITHIN_MAX (UINT64_C(1) << 62) /* more than a thread has */

/* "--find: REASON in 'WHAT'" */
static int bad(const struct find_request *r, const char *why)
{
    return tool_usage_error(r->prog, "--find: %s: '%s'", why, r->text);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool put_byte(struct find_request *r, unsigned byte)
{
    if (r->n == FIND_PATTERN_MAX) {
        return false;
    }
    r->bytes[r->n++] = (uint8_t)byte;
    return true;
}

/* Pairs of digits, blanks between them. */
static int parse_bytes(struct find_request *r)
{
    const char *p = r->text;

    p += p[0] == '0' && (p[1] == 'x' || p[1] == 'X') ? 2 : 0;
    while (*p) {
        int high = hex_digit(p[0]), low = high < 0 ? -1 : hex_digit(p[1]);

        if (*p == ' ') {
            p++;
            continue;
        }
        if (high < 0) {
            return bad(r, "neither bytes in hexadecimal, a string in double quotes (in a "
                          "shell '\"hello\"') nor TYPE:NUMBER");
        }
        if (low < 0) {
            return bad(r, "bytes need two digits each");
        }
        if (!put_byte(r, (unsigned)(16 * high + low))) {
            return bad(r, "more than 256 bytes");
        }
        p += 2;
    }
    return r->n ? TOOL_OK : bad(r, "no bytes");
}

/* The byte of an escape sequence after its backslash; moves *p past it.  -1: none. */
static int parse_escape(const char **p)
{
    static const char names[] = "abefnrtv\\\"'?";
    static const char values[] = "\a\b\033\f\n\r\t\v\\\"'?";
    const char *at = **p ? strchr(names, **p) : NULL;
    int v = 0, n = 0;

    if (at) {
        (*p)++;
        return (unsigned char)values[at - names];
    }
    if (**p == 'x') {
        for (++*p; n < 2 && hex_digit(**p) >= 0; n++, ++*p) {
            v = 16 * v + hex_digit(**p);
        }
        return n ? v : -1;
    }
    for (; n < 3 && **p >= '0' && **p <= '7'; n++, ++*p) {
        v = 8 * v + (**p - '0');
    }
    return n && v < 256 ? v : -1;
}

static int parse_string(struct find_request *r)
{
    const char *p = r->text + 1;

    while (*p && *p != '"') {
        int byte = (unsigned char)*p++;

        if (byte == '\\' && (byte = parse_escape(&p)) < 0) {
            return bad(r, "no such escape sequence");
        }
        if (!put_byte(r, (unsigned)byte)) {
            return bad(r, "more than 256 bytes");
        }
    }
    if (*p != '"' || p[1]) {
        return bad(r, "a string ends with a double quote");
    }
    return r->n ? TOOL_OK : bad(r, "an empty string");
}

/* A whole number of `bytes' bytes as two's complement; false if it is none or too large. */
static bool parse_integer(const char *text, unsigned bytes, bool is_signed, uint64_t *v)
{
    const unsigned bits = 8 * bytes;
    const bool minus = *text == '-';
    const uint64_t all = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    const uint64_t half = UINT64_C(1) << (bits - 1);

    if (!tool_parse_u64(text + minus, v)) {
        return false;
    }
    if (!is_signed) {
        return !minus && *v <= all;
    }
    if (*v > half - !minus) {
        return false;
    }
    *v = minus ? 0 - *v : *v;
    return true;
}

static bool parse_float(const char *text, unsigned bytes, uint64_t *v)
{
    char *end;

    if (!*text || *text == ' ') {
        return false;
    }
    errno = 0;
    *v = 0;
    if (bytes == 4) {
        float f = strtof(text, &end);
        memcpy(v, &f, sizeof(f));
    } else {
        double f = strtod(text, &end);
        memcpy(v, &f, sizeof(f));
    }
    return !*end && end != text && errno != ERANGE;
}

/* TYPE:NUMBER, where the type is one letter, the number of bits and perhaps the order. */
static int parse_number(struct find_request *r, const char *number)
{
    const char *type = r->text;
    unsigned bits = 0;
    uint64_t v;
    bool ok;

    for (const char *p = type + 1; *p >= '0' && *p <= '9' && bits < 100; p++) {
        bits = 10 * bits + (unsigned)(*p - '0');
        type = p;
    }
    type++;
    r->ordered =
        number - type == 3 && (!strncmp(type, "le", 2) || !strncmp(type, "be", 2));
    r->big_endian = r->ordered && *type == 'b';
    ok = (bits == 8 && *r->text != 'f') || (bits == 16 && *r->text != 'f') ||
         bits == 32 || bits == 64;
    if (!ok || !strchr("uif", *r->text) || (!r->ordered && number - type != 1)) {
        return bad(r,
                   "the type must be u, i (8, 16, 32, 64) or f (32, 64), and perhaps le "
                   "or be, as in u32be:7");
    }
    r->n = bits / 8;
    r->number = true;
    if (!(*r->text == 'f' ? parse_float(number, r->n, &v)
                          : parse_integer(number, r->n, *r->text == 'i', &v))) {
        return bad(r, "no number of this type");
    }
    for (unsigned i = 0; i < r->n; i++) {
        r->bytes[i] = (uint8_t)(v >> 8 * i);
    }
    return TOOL_OK;
}

static int parse(struct find_request *r)
{
    const char *colon = strchr(r->text, ':');

    r->n = 0;
    if (r->text[0] == '"') {
        return parse_string(r);
    }
    return colon ? parse_number(r, colon + 1) : parse_bytes(r);
}

enum tool_parsed find_option(struct find_request *r, int key, const char *arg)
{
    switch (key) {
    case FIND_OPT_FIND:
        r->text = arg;
        return TOOL_PARSED;
    case FIND_OPT_WITHIN:
        r->has_within = true;
        return quantity_parse(arg, &r->within) ? TOOL_PARSED : TOOL_BAD_ARG;
    default:
        return TOOL_OTHER_GROUP;
    }
}

int find_finish(struct find_request *r, const char *prog, uint32_t kinds)
{
    r->prog = prog;
    if (!r->text) {
        return r->has_within ? tool_usage_error(prog, "--within needs --find") : TOOL_OK;
    }
    if (!(kinds & (CTR_KIND_LOAD | CTR_KIND_STORE | CTR_KIND_SYS))) {
        return tool_usage_error(prog,
                                "--find needs load, store or sys among the --events");
    }
    if (!r->has_within) {
        r->within = WITHIN;
    } else if (r->within > WITHIN_MAX) {
        r->within = WITHIN_MAX;
    }
    return parse(r);
}
