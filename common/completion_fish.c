/* SPDX-License-Identifier: MIT */
/*
 * fish: a command `complete' for each option; completions/completion.fish has functions
 * that complete arguments.
 */
#include "common/completion_priv.h"

/* Writes how an argument is completed. */
static void put_argument(enum completion c, const struct words *words, FILE *out)
{
    switch (c) {
    case COMPLETE_WORD:
        fprintf(out, " -x -a '");
        completion_put_words(words, out);
        fprintf(out, "'");
        break;
    case COMPLETE_WORDS:
        fprintf(out, " -x -a '(__cannoli_list");
        completion_put_words(words, out);
        fprintf(out, ")'");
        break;
    case COMPLETE_DIR:
        fprintf(out, " -x -a '(__fish_complete_directories)'");
        break;
    case COMPLETE_SOCKET:
        fprintf(out, " -x -a '(__fish_complete_suffix .ctl)'");
        break;
    case COMPLETE_LIBRARY:
        fprintf(out, " -x -a '(__fish_complete_suffix .so)'");
        break;
    case COMPLETE_FILE:
        fprintf(out, " -r -F");
        break;
    case COMPLETE_FUNCTION:
    case COMPLETE_MODULE:
        fprintf(out, " -x -k -a '(__cannoli_query %s)'", completion_query(c));
        break;
    case COMPLETE_MOMENT:
        fprintf(out, " -x -k -a '(__cannoli_moment %s)'", completion_query(c));
        break;
    case COMPLETE_FUNCTIONS:
    case COMPLETE_OBJECTS:
    case COMPLETE_THREADS:
    case COMPLETE_TASKS:
    case COMPLETE_PROCESSES:
        fprintf(out, " -x -k -a '(__cannoli_list (__cannoli_query %s))'",
                completion_query(c));
        break;
    default:
        fprintf(out, " -x");
        break;
    }
}

static void put_description(const char *text, FILE *out)
{
    fprintf(out, " -d '");
    for (; *text; text++) {
        fprintf(out, "%s%c", *text == '\'' || *text == '\\' ? "\\" : "",
                *text == '\n' ? ' ' : *text);
    }
    fprintf(out, "'\n");
}

static void put_option(const struct tool_options *o, const struct tool_option *t,
                       FILE *out)
{
    fprintf(out, "complete -c %s -l %s", o->prog, t->name);
    if (t->key < TOOL_OPT_LONG) {
        fprintf(out, " -s %c", t->key);
    }
    if (completion_needs_arg(t)) {
        put_argument(completion_of(o, t->name, t->arg, t->words), t->words, out);
    }
    put_description(t->help, out);
}

/* The command after the options: fish must know which of them take the next word. */
static void put_command(const struct tool_options *o, FILE *out)
{
    fprintf(out, "complete -c %s -x -a '(__cannoli_command", o->prog);
    for (const struct tool_option *t = o->table; t->key || t->help; t++) {
        if (t->key && completion_needs_arg(t)) {
            fprintf(out, " --%s", t->name);
            if (t->key < TOOL_OPT_LONG) {
                fprintf(out, " -%c", t->key);
            }
        }
    }
    fprintf(out, ")'\n");
}

static void put_subcommands(const struct tool_options *o, FILE *out)
{
    fprintf(out, "complete -c %s -f\ncomplete -c %s -n __fish_use_subcommand -a '",
            o->prog, o->prog);
    completion_put_words(o->commands, out);
    fprintf(out, "'\n");
    for (size_t i = 0; i < o->commands->n; i++) {
        const char *name = words_at(o->commands, i), *arg = words_at(o->command_args, i);
        enum completion c = completion_of(o, name, arg, NULL);

        if (c != COMPLETE_NOTHING) {
            fprintf(out, "complete -c %s -n '__fish_seen_subcommand_from %s'", o->prog,
                    name);
            put_argument(c, NULL, out);
            fprintf(out, "\n");
        }
    }
}

void completion_fish(const struct tool_options *o, FILE *out)
{
    fprintf(out, "# fish completion of %s, made by `%s --completion=fish'\n%s\n", o->prog,
            o->prog, completion_fish_text);
    for (const struct tool_option *t = o->table; t->key || t->help; t++) {
        if (t->key) {
            put_option(o, t, out);
        }
    }
    if (o->stop_at_operand) {
        put_command(o, out);
    } else if (o->commands) {
        put_subcommands(o, out);
    } else {
        fprintf(out, "complete -c %s -k -x -a '(__fish_complete_suffix .ctr)'\n",
                o->prog);
    }
}
