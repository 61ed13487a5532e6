/* SPDX-License-Identifier: MIT */
/*
 * bash: the options as an array of rows, for completions/completion.bash:
 *   NAME LETTER|- no|yes|maybe KIND [WORD]...
 * The third says whether it takes an argument.
 */
#include "common/completion_priv.h"

static const char *kind_name(enum completion c)
{
    static const char *const names[] = {
        [COMPLETE_NOTHING] = "text",     [COMPLETE_WORD] = "word",
        [COMPLETE_WORDS] = "words",      [COMPLETE_FILE] = "file",
        [COMPLETE_DIR] = "dir",          [COMPLETE_SOCKET] = "file:*.ctl",
        [COMPLETE_LIBRARY] = "file:*.so"};

    switch (c) {
    case COMPLETE_FUNCTION:
    case COMPLETE_MODULE:
        return "name";
    case COMPLETE_MOMENT:
        return "moment";
    case COMPLETE_FUNCTIONS:
    case COMPLETE_OBJECTS:
    case COMPLETE_THREADS:
    case COMPLETE_TASKS:
    case COMPLETE_PROCESSES:
        return "names";
    default:
        return names[c];
    }
}

/* Writes the rest of a row from KIND on. */
static void put_kind(const struct tool_options *o, const char *name, const char *arg,
                     const struct words *words, FILE *out)
{
    enum completion c = completion_of(o, name, arg, words);
    const char *query = completion_query(c);

    fprintf(out, " %s", kind_name(c));
    if (query) {
        fprintf(out, " %s", query);
    } else if (words) {
        completion_put_words(words, out);
    }
}

void completion_bash(const struct tool_options *o, FILE *out)
{
    fprintf(out, "# bash completion of %s, made by `%s --completion=bash'\n%s\n", o->prog,
            o->prog, completion_bash_text);
    fprintf(out, "_cannoli_for_%s()\n{\n    local -a options=(\n", o->prog);
    for (const struct tool_option *t = o->table; t->key || t->help; t++) {
        if (t->key) {
            fprintf(out, "        '%s %c %s", t->name,
                    t->key < TOOL_OPT_LONG ? t->key : '-',
                    completion_needs_arg(t) ? "yes"
                    : t->arg                ? "maybe"
                                            : "no");
            put_kind(o, t->name, t->arg, t->words, out);
            fprintf(out, "'\n");
        }
    }
    fprintf(out, "    )\n    local -a commands=(\n");
    for (size_t i = 0; o->commands && i < o->commands->n; i++) {
        const char *name = words_at(o->commands, i);

        fprintf(out, "        '%s", name);
        put_kind(o, name, words_at(o->command_args, i), NULL, out);
        fprintf(out, "'\n");
    }
    fprintf(out, "    )\n    _cannoli_complete %s\n}\ncomplete -F _cannoli_for_%s %s\n",
            o->stop_at_operand ? "command"
            : o->commands      ? "subcommand"
                               : "trace",
            o->prog, o->prog);
}
