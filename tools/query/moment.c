/* SPDX-License-Identifier: MIT */
/* The syntax of moments; see moment.h. */
#include "query/moment.h"

#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "symbols/symfile.h"

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

bool moment_parse_count(const char *text, uint32_t len, uint64_t *value)
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

static bool parse_time(const char *text, uint32_t len, uint64_t *ns)
{
    static const struct unit units[] = {
        {"ns", 1},         {"us", 1000}, {"ms", 1000000}, {"min", UINT64_C(60000000000)},
        {"s", 1000000000},
    };

    return with_unit(text, len, units, 5, ns) >= 0;
}

/* The number after the last '/', if there is one; its position, or len. */
static uint32_t parse_number(const char *text, uint32_t len, int64_t *number)
{
    const char *slash = memrchr(text, '/', len);
    uint64_t v;
    bool back;

    *number = 0;
    if (!slash) {
        return len;
    }
    back = slash[1] == '-';
    if (!tool_parse_u64(slash + 1 + back, &v) || !v || v > INT32_MAX) {
        return len;
    }
    *number = back ? -(int64_t)v : (int64_t)v;
    return (uint32_t)(slash - text);
}

bool moment_parse(const char *text, struct moment_text *out)
{
    static const struct {
        const char *prefix;
        enum moment_kind kind;
    } named[] = {
        {"mark:", MOMENT_MARK},
        {"syscall:", MOMENT_SYSCALL},
        {"call:", MOMENT_CALL},
    };
    size_t all = strlen(text);
    uint32_t len;

    *out = (struct moment_text){.text = text};
    if (!all || all > 4096) {
        return false;
    }
    len = parse_number(text, (uint32_t)all, &out->number);
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        uint32_t n = (uint32_t)strlen(named[i].prefix);
        if (len > n && !memcmp(text, named[i].prefix, n)) {
            out->kind = named[i].kind;
            out->name = text + n;
            out->name_len = len - n;
            return true;
        }
    }
    if (out->number < 0) {
        return false;
    }
    if (len == 3 && !memcmp(text, "end", 3)) {
        out->kind = MOMENT_END;
    } else if (len == 5 && !memcmp(text, "crash", 5)) {
        out->kind = MOMENT_CRASH;
    } else if (moment_parse_count(text, len, &out->value)) {
        out->kind = MOMENT_ORDINAL;
    } else if (parse_time(text, len, &out->value)) {
        out->kind = MOMENT_TIME;
    }
    return out->kind != MOMENT_NONE;
}

unsigned moment_symbols(const struct moment_text *m)
{
    return m->kind == MOMENT_CALL ? SYMFILE_NAMES | SYMFILE_LINES : 0;
}
