/* SPDX-License-Identifier: MIT */
/*
 * The options that say where programs, libraries and their debug information are, the
 * same in every tool that shows symbols.  Used as common/filter_options.h is.
 */
#ifndef TOOLS_SYM_OPTIONS_H
#define TOOLS_SYM_OPTIONS_H

#include "common/options.h"
#include "symbols/places.h"

enum {
    SYM_OPT_ELF = TOOL_OPT_LONG + 0x200,
    SYM_OPT_ONLY_ELF,
    SYM_OPT_SYSROOT,
    SYM_OPT_DEBUG_DIR,
    SYM_OPT_SUBSTITUTE_PATH,
    SYM_OPT_FORCE,
};

/* Rows of a table of struct tool_option. */
#define SYM_OPTIONS                                                                      \
    {SYM_OPT_ELF, "elf", "FILE", "a program or library that was run; may be repeated"},  \
        {SYM_OPT_ONLY_ELF, "only-elf", NULL, "no other files than those of --elf"},      \
        {SYM_OPT_SYSROOT, "sysroot", "DIR",                                              \
         "look there for the files that the trace names"},                               \
        {SYM_OPT_DEBUG_DIR, "debug-dir", "DIR",                                          \
         "look there for separate debug files; may be repeated"},                        \
        {SYM_OPT_SUBSTITUTE_PATH, "substitute-path", "FROM=TO",                          \
         "source paths that begin with FROM begin with TO"},                             \
    {                                                                                    \
        SYM_OPT_FORCE, "force", NULL, "take files whose build id differs all the same"   \
    }

/* What they said; begins as zeros. */
struct sym_options {
    struct tool_words elfs, debug_dirs;
    struct tool_words substitute; /* FROM and TO, one after the other */
    const char *sysroot;
    bool only_elf, force;
};

enum tool_taken sym_options_take(struct sym_options *o, int key, const char *arg);

/* Fills in what they say; the pointers are into `o'.  The rest of `out' is left alone.
 * Returns TOOL_OK, or TOOL_USAGE after a line on stderr. */
int sym_options_finish(const struct sym_options *o, const char *prog,
                       struct modset_options *out);

void sym_options_fini(struct sym_options *o);

/*
 * What --substitute-path makes of the path of a source file: of the pairs FROM, TO the
 * first whose FROM is the path or a folder above it.  Returns the part of `path' that
 * stays, and in *to what stands before it, "" if nothing fits.
 */
const char *sym_substitute(const char *const *pairs, unsigned nr_pairs, const char *path,
                           const char **to);

#endif
