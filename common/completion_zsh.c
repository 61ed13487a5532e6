/* SPDX-License-Identifier: MIT */
/*
 * zsh: the options as specifications for _arguments; functions of
 * completions/completion.zsh complete arguments.
 */
#include "common/completion_priv.h"

#include <string.h>

/* Writes what completes an argument: the action of a specification. */
static void put_action(enum completion c, const struct words *words, FILE *out)
{
    switch (c) {
    case COMPLETE_WORD:
        fprintf(out, " _cannoli_words");
        completion_put_words(words, out);
        break;
    case COMPLETE_WORDS:
        fprintf(out, " _cannoli_list");
        completion_put_words(words, out);
        break;
    case COMPLETE_FILE:
        fprintf(out, "_files");
        break;
    case COMPLETE_DIR:
        fprintf(out, "_files -/");
        break;
    case COMPLETE_SOCKET:
        fprintf(out, "_files -g \"*.ctl\"");
        break;
    case COMPLETE_LIBRARY:
        fprintf(out, "_files -g \"*.so\"");
        break;
    case COMPLETE_FUNCTION:
    case COMPLETE_MODULE:
        fprintf(out, " _cannoli_name %s", completion_query(c));
        break;
    case COMPLETE_MOMENT:
        fprintf(out, " _cannoli_moment %s", completion_query(c));
        break;
    case COMPLETE_FUNCTIONS:
    case COMPLETE_OBJECTS:
    case COMPLETE_THREADS:
    case COMPLETE_TASKS:
    case COMPLETE_PROCESSES:
        fprintf(out, " _cannoli_names %s", completion_query(c));
        break;
    default:
        fprintf(out, " ");
        break;
    }
}

/* "$'[TEXT]": brackets need a backslash for _arguments, which needs one for $''. */
static void put_description(const char *text, FILE *out)
{
    fprintf(out, "$'[");
    for (; *text; text++) {
        fprintf(out, "%s%c",
                strchr("[]", *text)    ? "\\\\"
                : strchr("'\\", *text) ? "\\"
                                       : "",
                *text == '\n' ? ' ' : *text);
    }
    fprintf(out, "]");
}

/* '*'{-e+,--events=}$'[TEXT]:LIST: ACTION'; the star: it may come several times. */
static void put_option(const struct tool_options *o, const struct tool_option *t,
                       FILE *out)
{
    bool needs = completion_needs_arg(t);
    const char *arg = t->arg ? t->arg + strspn(t->arg, "[=") : NULL;

    fprintf(out, "        '*'");
    if (t->key < TOOL_OPT_LONG) {
        fprintf(out, "{-%c%s,--%s%s}", t->key, needs ? "+" : "", t->name,
                needs ? "=" : "");
    } else {
        fprintf(out, "--%s%s", t->name, needs ? "=" : t->arg ? "=-" : "");
    }
    put_description(t->help, out);
    if (arg) {
        fprintf(out, "%s%.*s:", needs ? ":" : "::", completion_arg_length(arg), arg);
        put_action(completion_of(o, t->name, t->arg, t->words), t->words, out);
    }
    fprintf(out, "'\n");
}

static void put_operands(const struct tool_options *o, FILE *out)
{
    if (o->stop_at_operand) {
        fprintf(out, "        '(-)1:command: _command_names -e'\n"
                     "        '*::argument: _normal'\n");
    } else if (o->commands) {
        fprintf(out, "        '1:command:(");
        completion_put_words(o->commands, out);
        fprintf(out, ")'\n        '2:argument:_files'\n");
    } else {
        fprintf(out, "        '*:trace:_files -g \"*.ctr\"'\n");
    }
}

void completion_zsh(const struct tool_options *o, FILE *out)
{
    fprintf(out,
            "#compdef %s\n# zsh completion of %s, made by `%s --completion=zsh'\n%s\n",
            o->prog, o->prog, o->prog, completion_zsh_text);
    fprintf(out, "_%s()\n{\n    local -a specs=(\n", o->prog);
    for (const struct tool_option *t = o->table; t->key || t->help; t++) {
        if (t->key) {
            put_option(o, t, out);
        }
    }
    put_operands(o, out);
    /* As a file of a folder of $fpath, or from a command line. */
    fprintf(out,
            "    )\n    _arguments -s -S %s$specs\n}\n"
            "if [[ ${funcstack[1]-} == _%s ]]; then\n    _%s \"$@\"\n"
            "else\n    compdef _%s %s\nfi\n",
            o->stop_at_operand ? "-A '-*' " : "", o->prog, o->prog, o->prog, o->prog);
}
