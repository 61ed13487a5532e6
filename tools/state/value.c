/* SPDX-License-Identifier: MIT */
/* Values as text; see value.h. */
#include "state/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "syscall/syscall_text.h"

#define MAX_DEPTH 4u
#define X87_BYTES 10u /* of a long double of x86, which has padding after them */

uint64_t value_integer(const struct value_options *o, const uint8_t *bytes, size_t n)
{
    const size_t used = n < 8 ? n : 8;
    uint64_t v = 0;

    bytes += o->big_endian ? n - used : 0;
    for (size_t i = 0; i < used; i++) {
        v |= (uint64_t)bytes[i] << 8 * (o->big_endian ? used - 1 - i : i);
    }
    return v;
}

static int64_t extended(uint64_t v, size_t n)
{
    unsigned shift = n < 8 ? 64 - 8 * (unsigned)n : 0;

    return (int64_t)(v << shift) >> shift;
}

/* ---------------------------------------------------------------- basic types */

static bool put_integer(struct textbuf *b, const struct value_options *o,
                        const uint8_t *bytes, size_t n, bool is_signed)
{
    uint64_t v = value_integer(o, bytes, n);

    if (n > 8) {
        bool ok = textbuf_printf(b, "0x");
        for (size_t i = 0; ok && i < n; i++) {
            ok = textbuf_printf(b, "%02x", bytes[o->big_endian ? i : n - 1 - i]);
        }
        return ok;
    }
    return is_signed ? textbuf_printf(b, "%" PRId64, extended(v, n))
                     : textbuf_printf(b, "%" PRIu64, v);
}

/* The shortest decimal number that reads back as the same one. */
static bool put_double(struct textbuf *b, double v, bool single)
{
    char text[40];

    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v) {
            break;
        }
    }
    return textbuf_printf(b, "%s", text);
}

long double value_x87(const uint8_t *bytes)
{
    uint64_t mantissa = 0;
    int exponent = bytes[8] | (bytes[9] & 0x7f) << 8;
    long double d;

    for (unsigned i = 0; i < 8; i++) {
        mantissa |= (uint64_t)bytes[i] << 8 * i;
    }
    if (exponent == 0x7fff) {
        d = mantissa << 1 ? (long double)NAN : (long double)INFINITY;
    } else {
        d = ldexpl((long double)mantissa, exponent - 16383 - 63);
    }
    return bytes[9] & 0x80 ? -d : d;
}

/* As put_double.  An extended one has 21 digits at most. */
static bool put_long_double(struct textbuf *b, long double v)
{
    char text[48];

    for (int digits = 6; digits <= 21; digits++) {
        snprintf(text, sizeof(text), "%.*Lg", digits, v);
        if (strtold(text, NULL) == v) {
            break;
        }
    }
    return textbuf_printf(b, "%s", text);
}

static bool put_float(struct textbuf *b, const struct value_options *o,
                      const uint8_t *bytes, size_t n)
{
    uint64_t bits = value_integer(o, bytes, n);
    uint32_t low = (uint32_t)bits;
    double d;
    float f;

    if (n == 4) {
        memcpy(&f, &low, sizeof(f));
        return put_double(b, (double)f, true);
    }
    if (n == 8) {
        memcpy(&d, &bits, sizeof(d));
        return put_double(b, d, false);
    }
    return put_integer(b, o, bytes, n, false);
}

static bool put_char(struct textbuf *b, uint64_t v)
{
    static const char escapes[] = "\a\b\t\n\v\f\r";

    v &= 0xff;
    if (v && v < 0x80 && memchr(escapes, (int)v, sizeof(escapes) - 1)) {
        return textbuf_printf(b, "'\\%c'", "abtnvfr"[v - 7]);
    }
    if (v == '\'' || v == '\\') {
        return textbuf_printf(b, "'\\%c'", (int)v);
    }
    return v >= 0x20 && v < 0x7f ? textbuf_printf(b, "'%c'", (int)v)
                                 : textbuf_printf(b, "'\\%03o'", (unsigned)v);
}

static bool put_address(struct textbuf *b, uint64_t v)
{
    return v ? textbuf_printf(b, "0x%" PRIx64, v) : textbuf_printf(b, "NULL");
}

static bool put_function(struct textbuf *b, const struct value_options *o, uint64_t v)
{
    return put_address(b, v) && (!v || !o->function || o->function(o->arg, b, v));
}

/* A string at an address: up to its NUL, the limit, or the first byte not known. */
static bool put_string(struct textbuf *b, const struct value_options *o, uint64_t addr)
{
    uint8_t text[256], known[256];
    size_t max = o->string_max < sizeof(text) ? o->string_max : sizeof(text) - 1, n = 0;
    bool more = false, end = false;

    if (!addr || !o->read || !o->read(o->arg, addr, text, known, max + 1, true)) {
        return put_address(b, addr);
    }
    while (n <= max && known[n] && text[n]) {
        n++;
    }
    end = n <= max && known[n];
    more = n > max;
    if (!end && !more && !n) {
        return put_address(b, addr);
    }
    return syscall_put_quoted(b, text, more ? max : n, more || !end);
}

bool value_put_basic(struct textbuf *b, const struct value_options *o,
                     enum value_basic type, const uint8_t *bytes, size_t n)
{
    uint64_t v = value_integer(o, bytes, n);

    switch (type) {
    case VALUE_INT:
        return put_integer(b, o, bytes, n, true);
    case VALUE_UNSIGNED:
        return put_integer(b, o, bytes, n, false);
    case VALUE_HEX:
        return textbuf_printf(b, v ? "0x%" PRIx64 : "0", v);
    case VALUE_OCTAL:
        return textbuf_printf(b, v ? "0%" PRIo64 : "0", v);
    case VALUE_POINTER:
        return put_address(b, v);
    case VALUE_STRING:
        return put_string(b, o, v);
    case VALUE_CHAR:
        return put_char(b, v);
    case VALUE_FLOAT:
        return put_float(b, o, bytes, n);
    }
    return false;
}

/* --------------------------------------------------------------- types of DWARF */

struct value {
    const struct sym_type *type;
    const uint8_t *bytes, *known; /* known NULL: all */
    size_t n;
};

static bool put_typed(struct textbuf *b, const struct value_options *o,
                      const struct value *v, unsigned depth);

static bool is_known(const struct value *v, size_t from, size_t n)
{
    for (size_t i = from; v->known && i < from + n && i < v->n; i++) {
        if (!v->known[i]) {
            return false;
        }
    }
    return from + n <= v->n;
}

static bool is_char(const struct sym_type *t)
{
    return t && t->kind == SYM_CHAR && t->size == 1;
}

/* The name of an enumerator; names joined with '|' if each is a bit of its own. */
static bool put_enum(struct textbuf *b, const struct value_options *o,
                     const struct sym_type *t, uint64_t bits)
{
    int64_t v = t->is_signed ? extended(bits, t->size) : (int64_t)bits;
    const struct sym_enumerator *all;
    uint32_t n = symfile_enumerators(o->file, &all);
    uint64_t left = bits;
    size_t before = b->len;
    bool ok = true, flags = true;

    for (uint32_t i = t->first; i < t->first + t->n && i < n; i++) {
        if (all[i].value == v) {
            return textbuf_printable(b, all[i].name, strlen(all[i].name));
        }
        flags &= !(all[i].value & (all[i].value - 1)); /* 0 or a single bit */
    }
    for (uint32_t i = t->first; ok && flags && i < t->first + t->n && i < n; i++) {
        uint64_t bit = (uint64_t)all[i].value;
        if (bit && left & bit) {
            ok = (b->len == before || textbuf_printf(b, "|")) &&
                 textbuf_printable(b, all[i].name, strlen(all[i].name));
            left &= ~bit;
        }
    }
    if (b->len == before) {
        return ok && textbuf_printf(b, "%" PRId64, v);
    }
    return ok && (!left || textbuf_printf(b, "|0x%" PRIx64, left));
}

static bool put_member(struct textbuf *b, const struct value_options *o,
                       const struct value *v, const struct sym_member *m, unsigned depth)
{
    const struct sym_type *t = symfile_type(o->file, m->type);
    uint64_t at = m->bit_offset / 8;
    uint32_t bits = m->bit_size;

    if (m->dynamic || m->variant || !t) {
        return textbuf_printf(b, "?");
    }
    if (bits) {
        uint64_t bytes = (m->bit_offset % 8 + bits + 7) / 8, value;
        if (bits > 64 || !is_known(v, at, bytes)) {
            return textbuf_printf(b, "?");
        }
        value = sym_bit_field(v->bytes + at, m->bit_offset, bits, o->big_endian);
        if (t->kind == SYM_ENUM) {
            return put_enum(b, o, t, value);
        }
        if (t->is_signed && bits < 64 && value >> (bits - 1)) {
            return textbuf_printf(b, "%" PRId64, (int64_t)(value | ~UINT64_C(0) << bits));
        }
        return textbuf_printf(b, "%" PRIu64, value);
    }
    if (at > v->n || t->size > v->n - at) {
        return textbuf_printf(b, "?");
    }
    return put_typed(
        b, o, &(struct value){t, v->bytes + at, v->known ? v->known + at : NULL, t->size},
        depth + 1);
}

static bool put_struct(struct textbuf *b, const struct value_options *o,
                       const struct value *v, unsigned depth)
{
    const struct sym_member *all;
    uint32_t n = symfile_members(o->file, &all), shown = 0;
    const struct sym_type *t = v->type;
    bool ok = textbuf_printf(b, "{");

    for (uint32_t i = t->first; ok && i < t->first + t->n && i < n; i++) {
        if (shown++ == o->items_max || depth >= MAX_DEPTH) {
            ok = textbuf_printf(b, "%s...", shown > 1 ? ", " : "");
            break;
        }
        ok = shown == 1 || textbuf_printf(b, ", ");
        if (ok && *all[i].name) {
            ok = textbuf_printable(b, all[i].name, strlen(all[i].name)) &&
                 textbuf_printf(b, " = ");
        }
        ok = ok && put_member(b, o, v, &all[i], depth);
    }
    return ok && textbuf_printf(b, "}");
}

static bool put_array(struct textbuf *b, const struct value_options *o,
                      const struct value *v, unsigned depth)
{
    const struct sym_type *e = symfile_type(o->file, v->type->target);
    uint64_t count = v->type->count;
    size_t len = 0;
    bool ok;

    if (!e || !e->size) {
        return textbuf_printf(b, "?");
    }
    count = count < v->n / e->size ? count : v->n / e->size;
    if (is_char(e)) {
        while (len < count && len < o->string_max && is_known(v, len, 1) &&
               v->bytes[len]) {
            len++;
        }
        return syscall_put_quoted(b, v->bytes, len,
                                  len < count && (!is_known(v, len, 1) || v->bytes[len]));
    }
    ok = textbuf_printf(b, "{");
    for (uint64_t i = 0; ok && i < count; i++) {
        struct value item = {e, v->bytes + i * e->size,
                             v->known ? v->known + i * e->size : NULL, e->size};
        if (i == o->items_max || depth >= MAX_DEPTH) {
            ok = textbuf_printf(b, "%s...", i ? ", " : "");
            break;
        }
        ok = (!i || textbuf_printf(b, ", ")) && put_typed(b, o, &item, depth + 1);
    }
    return ok && textbuf_printf(b, "}");
}

/* Whether a value is a long double of the x87: __float128 has the same size. */
static bool is_x87(const struct value_options *o, const struct value *v)
{
    const struct sym_type *bare = symfile_type(o->file, v->type->bare);
    const char *name = bare ? bare->name : v->type->name;

    return o->x87 && v->type->kind == SYM_FLOAT && v->n > X87_BYTES && name &&
           !strcmp(name, "long double");
}

static bool put_typed(struct textbuf *b, const struct value_options *o,
                      const struct value *v, unsigned depth)
{
    const struct sym_type *t = v->type;
    struct value_options swapped = *o;
    bool x87 = is_x87(o, v);
    const struct sym_type *target;
    uint64_t bits;

    if (t->kind == SYM_STRUCT || t->kind == SYM_UNION || t->kind == SYM_CLASS) {
        return t->incomplete ? textbuf_printf(b, "?") : put_struct(b, o, v, depth);
    }
    if (t->kind == SYM_ARRAY) {
        return put_array(b, o, v, depth);
    }
    if (!v->n || !is_known(v, 0, x87 ? X87_BYTES : v->n)) {
        return textbuf_printf(b, "?");
    }
    swapped.big_endian ^= t->swapped;
    bits = value_integer(&swapped, v->bytes, v->n);
    switch (t->kind) {
    case SYM_SIGNED:
    case SYM_UNSIGNED:
        return put_integer(b, &swapped, v->bytes, v->n, t->kind == SYM_SIGNED);
    case SYM_BOOL:
        return bits < 2 ? textbuf_printf(b, bits ? "true" : "false")
                        : textbuf_printf(b, "%" PRIu64, bits);
    case SYM_CHAR:
        return v->n == 1 ? put_char(b, bits)
                         : put_integer(b, &swapped, v->bytes, v->n, t->is_signed);
    case SYM_FLOAT:
        return x87 ? put_long_double(b, value_x87(v->bytes))
                   : put_float(b, &swapped, v->bytes, v->n);
    case SYM_ENUM:
        return put_enum(b, o, t, bits);
    case SYM_POINTER:
    case SYM_REFERENCE:
        target = symfile_type(o->file, t->target);
        if (target && target->kind == SYM_FUNCTION) {
            return put_function(b, o, bits);
        }
        return t->kind == SYM_POINTER && is_char(target) ? put_string(b, o, bits)
                                                         : put_address(b, bits);
    case SYM_FUNCTION:
        return put_address(b, bits);
    default:
        return put_integer(b, o, v->bytes, v->n, false);
    }
}

bool value_put(struct textbuf *b, const struct value_options *o, uint32_t type,
               const uint8_t *bytes, const uint8_t *known, size_t n)
{
    const struct sym_type *t = symfile_type(o->file, type);

    return t ? put_typed(b, o, &(struct value){t, bytes, known, n}, 0)
             : put_integer(b, o, bytes, n, false);
}
