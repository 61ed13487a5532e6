/* SPDX-License-Identifier: MIT */
/*
 * The options that locate programs, libraries and their debug information, the same in
 * every tool that shows symbols.  Used in the same way as query/filter_options.h.
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
    SYM_OPT_PERF_MAP,
    SYM_OPT_DEBUGINFOD,
    SYM_OPT_KALLSYMS,
    SYM_OPT_SLIDE,
};

/* Rows of a table of struct tool_option; SYM_OPTIONS_FILES for tools that show no source
 * lines. */
#define SYM_OPTIONS_FILES                                                                \
    {SYM_OPT_ELF, "elf", "FILE", "a program or library that was run; may be repeated"},  \
        {SYM_OPT_ONLY_ELF, "only-elf", NULL, "use no files except those of --elf"},      \
        {SYM_OPT_SYSROOT, "sysroot", "DIR",                                              \
         "search DIR for the files that the trace names"},                               \
        {SYM_OPT_DEBUG_DIR, "debug-dir", "DIR",                                          \
         "search DIR for separate debug files; may be repeated"},                        \
        {SYM_OPT_DEBUGINFOD, "debuginfod", NULL,                                         \
         "query the servers of DEBUGINFOD_URLS for debug files that are not here"},      \
        {SYM_OPT_PERF_MAP, "perf-map", "FILE",                                           \
         "name code made at run time by a perf map or jitdump; may be repeated"},        \
        {SYM_OPT_KALLSYMS, "kallsyms", "FILE",                                           \
         "name a machine's kernel by its image, /proc/kallsyms or /proc/modules"},       \
        {SYM_OPT_SLIDE, "slide", "N", "add N to the addresses of a machine's kernel"},   \
        {SYM_OPT_FORCE, "force", NULL, "use files even if their build id differs"}
#define SYM_OPTIONS                                                                      \
    SYM_OPTIONS_FILES, {SYM_OPT_SUBSTITUTE_PATH, "substitute-path", "FROM=TO",           \
                        "replace FROM at the start of source paths by TO"}

/* The parsed options; must be zeroed first. */
struct sym_options {
    struct tool_words elfs, debug_dirs, perf_maps, kallsyms;
    struct tool_words substitute; /* FROM and TO, one after the other */
    const char *sysroot;
    uint64_t slide;
    bool only_elf, force, debuginfod, has_slide;
};

enum tool_parsed sym_options_parse(struct sym_options *o, int key, const char *arg);

/* Copies the options to `out', with pointers into `o'; leaves the rest of `out'
 * unchanged.  Returns TOOL_OK; or after a line on stderr TOOL_USAGE, or TOOL_FAILED for a
 * file that cannot be read. */
int sym_options_finish(const struct sym_options *o, const char *prog,
                       struct modset_options *out);

void sym_options_fini(struct sym_options *o);

/*
 * Applies --substitute-path to the path of a source file: uses the first pair FROM, TO
 * whose FROM is the path or a folder above it.  Returns the part of `path' that is kept,
 * and in *to its new prefix, "" if no pair matches.
 */
const char *sym_substitute(const char *const *pairs, unsigned nr_pairs, const char *path,
                           const char **to);

#endif
