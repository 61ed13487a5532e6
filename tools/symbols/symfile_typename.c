/* SPDX-License-Identifier: MIT */
/*
 * The names of pointers, arrays, functions and qualified types, in the child: as C writes
 * them, around the place of a declarator.  The name of the target has its own such place,
 * the hole: "int (|)[3]", so that a pointer to "int [3]" is "int (*)[3]".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_types_priv.h"

#define MAX_NAME 2000 /* names of parameters can double in each step */

/* Adds prefix, middle and suffix; the hole is after `hole_at' characters of the middle. */
static uint32_t join(struct type_reader *t, const char *name, size_t cut,
                     const char *middle, size_t hole_at, uint32_t *hole)
{
    char *whole = NULL;
    size_t n = strlen(name) + strlen(middle);
    if (n > MAX_NAME ||
        asprintf(&whole, "%.*s%s%s", (int)cut, name, middle, name + cut) < 0) {
        *hole = 3;
        return string_add(t->r, "...");
    }
    *hole = (uint32_t)(cut + hole_at);
    uint32_t s = string_add(t->r, whole);
    free(whole);
    return s;
}

static const char *name_of(struct type_reader *t, uint32_t type)
{
    return string_get(t->r, STRING_OFF(type_row(t, type)->name));
}

/* A space before a declarator, unless one is there or another declarator is. */
static const char *space(const char *name, size_t cut)
{
    return cut == 0 || strchr("*& (", name[cut - 1]) ? "" : " ";
}

uint32_t type_name_pointer(struct type_reader *t, uint32_t target, const char *mark,
                           uint32_t *hole)
{
    const char *name = name_of(t, target);
    size_t cut = type_note(t, target)->hole;
    bool group = name[cut] == '[' || name[cut] == '(';
    char text[16];
    int n = snprintf(text, sizeof(text), "%s%s%s%s", space(name, cut), group ? "(" : "",
                     mark, group ? ")" : "");
    return join(t, name, cut, text, (size_t)n - group, hole);
}

/* The length of the qualifiers that a name begins with; *has: `word' is one of them. */
static size_t qualifiers(const char *name, const char *word, bool *has)
{
    static const char *const words[] = {"const ", "volatile ", "restrict ", "_Atomic "};
    size_t n = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t len = strlen(words[i]);
        if (strncmp(name + n, words[i], len) == 0) {
            *has |= strlen(word) == len - 1 && strncmp(words[i], word, len - 1) == 0;
            n += len;
        }
    }
    return n;
}

/* "const" comes first.  A qualified array has qualified elements, too. */
uint32_t type_name_qualified(struct type_reader *t, uint32_t target, const char *word,
                             uint32_t *hole)
{
    const char *name = name_of(t, target);
    size_t cut = type_note(t, target)->hole;
    char text[16];
    bool pointer = cut && (name[cut - 1] == '*' || name[cut - 1] == '&'), has = false;
    int n = snprintf(text, sizeof(text), pointer ? " %s" : "%s ", word);
    if (pointer) {
        return join(t, name, cut, text, (size_t)n, hole);
    }
    size_t before = qualifiers(name, word, &has);
    if (has) {
        *hole = (uint32_t)cut;
        return STRING_OFF(type_row(t, target)->name);
    }
    uint32_t s = join(t, name, strcmp(word, "const") == 0 ? 0 : before, text, 0, hole);
    if (strcmp(string_get(t->r, s), "...") != 0) {
        *hole = (uint32_t)(cut + (size_t)n);
    }
    return s;
}

uint32_t type_name_array(struct type_reader *t, uint32_t element, bool known,
                         uint64_t count, uint32_t *hole)
{
    const char *name = name_of(t, element);
    size_t cut = type_note(t, element)->hole;
    char text[40], number[24] = "";
    const char *gap = space(name, cut);
    if (known) {
        snprintf(number, sizeof(number), "%" PRIu64, count);
    }
    snprintf(text, sizeof(text), "%s[%s]", gap, number);
    return join(t, name, cut, text, strlen(gap), hole);
}

uint32_t type_name_function(struct type_reader *t, const struct sym_type *row,
                            const struct sym_member *params, uint32_t *hole)
{
    const char *name = name_of(t, row->target);
    size_t cut = type_note(t, row->target)->hole, bytes = 0;
    const char *gap = space(name, cut);
    char *text = NULL;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        return join(t, name, cut, " ()", 1, hole);
    }
    fprintf(out, "%s(", gap);
    for (uint32_t i = 0; i < row->n && ftell(out) <= MAX_NAME; i++) {
        fprintf(out, "%s%s", i ? ", " : "", name_of(t, params[i].type));
    }
    if (row->variadic && row->n) {
        fprintf(out, ", ...");
    } else if (!row->n && !row->variadic) {
        fprintf(out, "void");
    }
    fprintf(out, ")");
    fclose(out);
    uint32_t s = join(t, name, cut, text ? text : " ()", strlen(gap), hole);
    free(text);
    return s;
}
