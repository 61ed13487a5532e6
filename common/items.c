/* SPDX-License-Identifier: MIT */
/* Lists of places that a user names; see items.h. */
#include "items.h"

#include <stddef.h>
#include <string.h>

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
