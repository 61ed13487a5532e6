/* SPDX-License-Identifier: MIT */
/* The syntax of moments; see moment.h. */
#include "query/moment.h"

#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/quantity.h"
#include "symbols/symfile.h"

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
    } else if (quantity_count(text, len, &out->value)) {
        out->kind = MOMENT_ORDINAL;
    } else if (quantity_time(text, len, &out->value)) {
        out->kind = MOMENT_TIME;
    }
    return out->kind != MOMENT_NONE;
}

unsigned moment_symbols(const struct moment_text *m)
{
    return m->kind == MOMENT_CALL ? SYMFILE_NAMES | SYMFILE_LINES : 0;
}
