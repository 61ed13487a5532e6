/* SPDX-License-Identifier: MIT */
/* Options that choose instructions; see choice.h. */
#include "choice.h"

#include <stdlib.h>
#include <string.h>

#include "common/options.h"

/* What a second execution can be recorded with, by cannoli-record(1). */
static const char *const options[] = {
    "--module",
    "--function",
    "--callees",
    "--range",
    "--stores",
    "--loads",
    "--branches",
    "--opcode",
    "--not",
    "--once",
    "--coverage",
    "--jitter",
    "--start-at",
    "--stop-at",
    "--after-instructions",
    "--for-instructions",
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Copies a word, without its quotes, and a NUL; *text: after it.  False: a quote has no end. */
static bool take_word(const char **text, char **to)
{
    const char *p = *text;
    char quote = 0;

    for (; *p && (quote || !is_blank(*p)); p++) {
        if (quote ? *p == quote : *p == '\'' || *p == '"') {
            quote = quote ? 0 : *p;
        } else {
            *(*to)++ = *p;
        }
    }
    *(*to)++ = 0;
    *text = p;
    return !quote;
}

/* Whether a word is the argument of an option, or one of these options. */
static bool is_allowed(const char *word)
{
    const size_t n = strcspn(word, "=");

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strlen(options[i]) == n && !strncmp(word, options[i], n)) {
            return true;
        }
    }
    return word[0] != '-';
}

int choice_add(struct choice *c, const char *prog, const char *text)
{
    const char *last = c->words;
    char *words, *to, *word;

    for (size_t i = 0; i < c->n; i++) {
        last += strlen(last) + 1;
    }
    const size_t have = c->n ? (size_t)(last - c->words) : 0;
    words = realloc(c->words, have + strlen(text) + 2);
    if (!words) {
        tool_error(prog, "no memory");
        return TOOL_FAILED;
    }
    c->words = words;
    to = words + have;
    for (;;) {
        while (is_blank(*text)) {
            text++;
        }
        if (!*text) {
            return c->n ? TOOL_OK
                        : tool_usage_error(prog, "--select without an option in it");
        }
        word = to;
        if (!take_word(&text, &to)) {
            return tool_usage_error(prog, "--select: a quote without its end");
        }
        if (!is_allowed(word)) {
            return tool_usage_error(prog,
                                    "--select: '%s' is no option of cannoli-record that "
                                    "chooses instructions",
                                    word);
        }
        c->n++;
    }
}

void choice_free(struct choice *c)
{
    free(c->words);
}
