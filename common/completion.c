/* SPDX-License-Identifier: MIT */
/* The shells that have a completion; see completion.h. */
#include "common/completion.h"

#include <string.h>

#include "common/completion_priv.h"

static const char *const shell_names[] = {"bash", "zsh", "fish"};
const struct words tool_shell_words = WORDS_OF_STRINGS("shell", shell_names);

bool completion_print(const struct tool_options *o, const char *shell, FILE *out)
{
    static void (*const writers[])(const struct tool_options *, FILE *) = {
        completion_bash, completion_zsh, completion_fish};
    size_t i = words_find(&tool_shell_words, shell, strlen(shell));

    if (i == tool_shell_words.n) {
        return false;
    }
    writers[i](o, out);
    return true;
}
