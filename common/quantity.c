/* SPDX-License-Identifier: MIT */
/* Numbers as users write them; see quantity.h. */
#include "common/quantity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

/* Removes commas between groups of three digits; false: they are elsewhere. */
static bool without_commas(const char *text, uint32_t len, char *to)
{
    uint32_t digits = 0, n = 0;
    bool commas = false;

    for (uint32_t i = 0; i < len; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (text[i] == ',') {
            if (!digits || digits > 3 || (commas && digits != 3)) {
                return false;
            }
            commas = true;
            digits = 0;
            continue;
        }
        digits += digit;
        to[n++] = text[i];
        if (!digit && commas) {
            return false;
        }
    }
    to[n] = 0;
    return !commas || digits == 3;
}

/* "1.2" times scale; false if that is no whole number or too large. */
static bool scaled(const char *text, uint64_t scale, uint64_t *value)
{
    const char *point = strchr(text, '.');
    char whole[32];
    uint64_t v = 0;

    if (!point) {
        return tool_parse_u64(text, value) &&
               !__builtin_mul_overflow(*value, scale, value);
    }
    if (point == text || !point[1] || (size_t)(point - text) >= sizeof(whole)) {
        return false;
    }
    memcpy(whole, text, (size_t)(point - text));
    whole[point - text] = 0;
    if (whole[strspn(whole, "0123456789")] || !tool_parse_u64(whole, &v) ||
        __builtin_mul_overflow(v, scale, &v)) {
        return false;
    }
    for (const char *p = point + 1; *p; p++) {
        if (*p < '0' || *p > '9') {
            return false;
        }
        if (scale % 10 && *p != '0') {
            return false;
        }
        scale /= 10;
        if (__builtin_add_overflow(v, (uint64_t)(*p - '0') * scale, &v)) {
            return false;
        }
    }
    *value = v;
    return true;
}

struct unit {
    const char *name;
    uint64_t scale;
};

/* Reads a number with one of these units; -1, or the unit's index. */
static int with_unit(const char *text, uint32_t len, const struct unit *units, int n,
                     uint64_t *value)
{
    char copy[40];

    if (!len || len >= sizeof(copy) || !without_commas(text, len, copy)) {
        return -1;
    }
    for (int i = 0; i < n; i++) {
        size_t unit = strlen(units[i].name), all = strlen(copy);
        if (all > unit && !strcmp(copy + all - unit, units[i].name)) {
            char number[40];
            memcpy(number, copy, all - unit);
            number[all - unit] = 0;
            if (scaled(number, units[i].scale, value)) {
                return i;
            }
        }
    }
    return -1;
}

bool quantity_count(const char *text, uint32_t len, uint64_t *value)
{
    static const struct unit units[] = {
        {"K", 1000},
        {"k", 1000},
        {"M", 1000000},
        {"G", 1000000000},
        {"T", UINT64_C(1000000000000)},
        {"", 1},
    };
    char copy[40];

    if (len && len < sizeof(copy)) { /* without unit, so that 0x1G is none */
        memcpy(copy, text, len);
        copy[len] = 0;
        if (tool_parse_u64(copy, value)) {
            return true;
        }
        if (strchr(copy, 'x') || strchr(copy, 'X')) {
            return false;
        }
    }
    return with_unit(text, len, units, 6, value) >= 0;
}

bool quantity_time(const char *text, uint32_t len, uint64_t *ns)
{
    static const struct unit units[] = {
        {"ns", 1},         {"us", 1000}, {"ms", 1000000}, {"min", UINT64_C(60000000000)},
        {"s", 1000000000},
    };

    return with_unit(text, len, units, 5, ns) >= 0;
}

bool quantity_parse(const char *text, uint64_t *value)
{
    return quantity_count(text, (uint32_t)strnlen(text, 64), value);
}

bool quantity_parse_seconds(const char *text, uint64_t *ns)
{
    char *end;
    double v;

    if (!strchr("0123456789.", text[0]) || !text[0]) {
        return false;
    }
    if (quantity_time(text, (uint32_t)strnlen(text, 64), ns)) {
        return true;
    }
    errno = 0;
    v = strtod(text, &end);
    if (errno || *end || !(v >= 0) || v > 1e10) {
        return false;
    }
    *ns = (uint64_t)(v * 1e9 + 0.5);
    return true;
}

bool quantity_parse_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    size_t n = strspn(text, "0123456789");
    const char *unit = text[n] ? strchr(units, text[n]) : NULL;
    char digits[16];
    uint64_t v;

    if (!n || n >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, text, n);
    digits[n] = '\0';
    if (!tool_parse_u64(digits, &v)) {
        return false;
    }
    text += n;
    if (unit) {
        unsigned shift = 10 * (unsigned)(unit - units + 1);

        if (v >> (63 - shift)) {
            return false;
        }
        v <<= shift;
        text += !strcmp(text + 1, "iB") ? 3 : 1;
    }
    *bytes = v;
    return !*text;
}
