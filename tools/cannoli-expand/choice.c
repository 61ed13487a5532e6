/* SPDX-License-Identifier: MIT */
/* Options that choose instructions; see choice.h. */
#include "choice.h"

#include <stdlib.h>
#include <string.h>

#include "common/options.h"

/* What a second execution can be recorded with, by cannoli-record(1). */
static const struct known {
    const char *name;
    bool argument;
} options[] = {
    {"--module", true},   {"--function", true}, {"--callees", false},  {"--range", true},
    {"--stores", false},  {"--loads", false},   {"--branches", false}, {"--opcode", true},
    {"--not", false},     {"--once", false},    {"--coverage", false}, {"--jitter", true},
    {"--start-at", true}, {"--stop-at", true},
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

static const struct known *find(const char *word)
{
    const size_t n = strcspn(word, "=");

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strlen(options[i].name) == n && !strncmp(word, options[i].name, n)) {
            return &options[i];
        }
    }
    return NULL;
}

/* Whether the next word must be the argument of this one; TOOL_USAGE: it is no such option. */
static int check(const char *prog, const char *word, bool *more)
{
    const struct known *option = find(word);

    if (!option || (!option->argument && strchr(word, '='))) {
        return tool_usage_error(prog,
                                "--select: '%s' is no option of cannoli-record that "
                                "chooses instructions",
                                word);
    }
    *more = option->argument && !strchr(word, '=');
    return TOOL_OK;
}

int choice_make(struct choice *c, const char *prog, const char *text)
{
    bool more = false; /* the next word is an argument */
    char *to, *word;

    *c = (struct choice){.words = malloc(strlen(text) + 2)};
    to = c->words;
    if (!to) {
        tool_error(prog, "no memory");
        return TOOL_FAILED;
    }
    for (;; c->n++) {
        while (is_blank(*text)) {
            text++;
        }
        if (!*text) {
            break;
        }
        word = to;
        if (!take_word(&text, &to)) {
            return tool_usage_error(prog, "--select: a quote without its end");
        }
        if (more) {
            more = false;
        } else if (check(prog, word, &more)) {
            return TOOL_USAGE;
        }
    }
    if (more || !c->n) {
        return tool_usage_error(prog, "--select: an option%s is missing",
                                more ? "'s argument" : "");
    }
    return TOOL_OK;
}

void choice_free(struct choice *c)
{
    free(c->words);
}
