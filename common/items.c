/* SPDX-License-Identifier: MIT */
/* Lists of places that a user names; see items.h. */
#include "items.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "common/options.h"

uint32_t item_length(const char *text)
{
    bool quoted = false;
    unsigned depth = 0;
    size_t i = 0;

    for (; text[i] && (text[i] != ',' || quoted || depth); i++) {
        if (text[i] == '\'') {
            quoted = !quoted;
        } else if (!quoted && (text[i] == '(' || text[i] == '[')) {
            depth++;
        } else if (!quoted && depth && (text[i] == ')' || text[i] == ']')) {
            depth--;
        }
    }
    return quoted || depth || i > UINT32_MAX / 2 ? 0 : (uint32_t)i;
}

bool item_looks_numeric(const char *item)
{
    return item[0] >= '0' && item[0] <= '9' &&
           !item[strspn(item, "0123456789abcdefABCDEFxX+-")];
}

bool item_offset(const char *text, uint32_t len, uint32_t *rest, uint64_t *number)
{
    char digits[24];
    uint32_t at = len, n;

    while (at && text[at - 1] != '+' && text[at - 1] != '\'') {
        at--;
    }
    n = len - at;
    if (at < 2 || text[at - 1] != '+' || !n || n >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, text + at, n);
    digits[n] = 0;
    *rest = at - 1;
    return tool_parse_u64(digits, number);
}

/* Whether the character at `at' is in the name of an operator of C++: "operator+=". */
static bool is_of_operator(const char *item, size_t at)
{
    static const char word[] = "operator";
    const size_t n = sizeof(word) - 1;

    while (at && strchr("+-*/%^&|~!=<>", item[at - 1])) {
        at--;
    }
    return at >= n && !memcmp(item + at - n, word, n);
}

/* Of a last character that something must follow. */
static const char *nothing_after(char last)
{
    switch (last) {
    case '+':
        return "has no number after its '+'";
    case '-':
        return "has no end after its '-'";
    case '!':
        return "has no name after its '!'";
    case ':':
        return "has no line or name after its ':'";
    default:
        return NULL;
    }
}

const char *item_malformed(const char *item)
{
    const uint32_t n = (uint32_t)strlen(item);
    uint32_t at = n, rest, before;
    uint64_t number, offset;

    if (n && nothing_after(item[n - 1]) && !is_of_operator(item, n - 1)) {
        return nothing_after(item[n - 1]);
    }
    if (item_offset(item, n, &rest, &number)) {
        return !number && item_offset(item, rest, &before, &offset) ? "is empty" : NULL;
    }
    while (at && (isalnum((unsigned char)item[at - 1]) || item[at - 1] == '_')) {
        at--;
    }
    if (!at || at == n || item[at - 1] != '+' || is_of_operator(item, at - 1)) {
        return NULL;
    }
    return at == 1 ? "has no name before its '+'" : "has no number after its '+'";
}
