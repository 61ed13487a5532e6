/* SPDX-License-Identifier: MIT */
/* The syntax of locations; see location.h. */
#include "query/location.h"

#include <stdlib.h>
#include <string.h>

#include "common/items.h"
#include "common/options.h"

bool location_list_add(struct locations *list, const char *text)
{
    for (;;) {
        uint32_t len = item_length(text);
        struct location *v = realloc(list->v, (list->n + 1) * sizeof(*v));
        struct tool_ranges one = {0};
        if (v) {
            list->v = v;
        }
        if (!v || !len || !(v[list->n].text = strndup(text, len))) {
            return false;
        }
        v[list->n].numeric = tool_parse_ranges(v[list->n].text, &one) && one.n == 1;
        if (v[list->n].numeric) {
            v[list->n].range = one.v[0];
        }
        free(one.v);
        if (!v[list->n].numeric &&
            (item_looks_numeric(v[list->n].text) || item_malformed(v[list->n].text))) {
            free((char *)(uintptr_t)v[list->n].text);
            return false;
        }
        list->n++;
        if (!text[len]) {
            return true;
        }
        text += len + 1;
    }
}

void location_list_free(struct locations *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        free((char *)(uintptr_t)list->v[i].text);
    }
    free(list->v);
    *list = (struct locations){0};
}

bool location_list_named(const struct locations *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (!list->v[i].numeric) {
            return true;
        }
    }
    return false;
}

uint32_t location_module(const char *text, uint32_t len)
{
    static const char op[] = "operator";
    bool quoted = false;

    for (uint32_t i = 0; i < len; i++) {
        quoted ^= text[i] == '\'';
        if (text[i] == '!' && !quoted &&
            (i < sizeof(op) - 1 ||
             memcmp(text + i - (sizeof(op) - 1), op, sizeof(op) - 1))) {
            return i;
        }
    }
    return len;
}

bool location_source(const char *text, uint32_t len, uint32_t *file, uint32_t *file_len,
                     uint32_t *name)
{
    bool quoted = len && *text == '\'';
    uint32_t i = quoted;
    bool path = quoted;

    while (i < len && !strchr(quoted ? "'" : ":'([ ", text[i])) {
        path |= text[i] == '.' || text[i] == '/';
        i++;
    }
    *file = quoted;
    *file_len = i - quoted;
    i += quoted;
    if (!path || !*file_len || i >= len || text[i] != ':') {
        return false;
    }
    if (quoted && i + 1 < len && text[i + 1] == ':') { /* as gdb has it */
        i++;
    }
    *name = i + 1;
    return *name < len && text[*name] != ':';
}

bool location_name(const char *text, uint32_t len, char *to)
{
    bool quoted = false;
    uint32_t n = 0;

    for (uint32_t i = 0; i < len; i++) {
        if (text[i] == '\'') {
            quoted = true;
        } else {
            to[n++] = text[i];
        }
    }
    to[n] = 0;
    return quoted;
}
