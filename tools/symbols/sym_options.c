/* SPDX-License-Identifier: MIT */
/* The options that locate symbols; see sym_options.h. */
#include "symbols/sym_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "FROM=TO": FROM may not be empty. */
static bool add_pair(struct tool_words *w, const char *arg)
{
    const char *equals = strchr(arg, '=');
    char *from;

    if (!equals || equals == arg) {
        return false;
    }
    from = strndup(arg, (size_t)(equals - arg));
    if (!from || !tool_words_add(w, from)) {
        free(from);
        return false;
    }
    if (!tool_words_add(w, equals + 1)) {
        w->n--;
        free(from);
        return false;
    }
    return true;
}

/* A number, which may be negative. */
static bool parse_slide(const char *arg, uint64_t *slide)
{
    const bool negative = *arg == '-';

    if (!tool_parse_u64(arg + negative, slide)) {
        return false;
    }
    *slide = negative ? -*slide : *slide;
    return true;
}

enum tool_parsed sym_options_parse(struct sym_options *o, int key, const char *arg)
{
    bool ok = true;

    switch (key) {
    case SYM_OPT_ELF:
        ok = tool_words_add(&o->elfs, arg);
        break;
    case SYM_OPT_ONLY_ELF:
        o->only_elf = true;
        break;
    case SYM_OPT_SYSROOT:
        ok = *arg != 0;
        o->sysroot = arg;
        break;
    case SYM_OPT_DEBUG_DIR:
        ok = *arg && tool_words_add(&o->debug_dirs, arg);
        break;
    case SYM_OPT_SUBSTITUTE_PATH:
        ok = add_pair(&o->substitute, arg);
        break;
    case SYM_OPT_FORCE:
        o->force = true;
        break;
    case SYM_OPT_PERF_MAP:
        ok = *arg && tool_words_add(&o->perf_maps, arg);
        break;
    case SYM_OPT_KALLSYMS:
        ok = *arg && tool_words_add(&o->kallsyms, arg);
        break;
    case SYM_OPT_SLIDE:
        ok = parse_slide(arg, &o->slide);
        o->has_slide = true;
        break;
    case SYM_OPT_DEBUGINFOD:
        o->debuginfod = true;
        break;
    default:
        return TOOL_OTHER_GROUP;
    }
    return ok ? TOOL_PARSED : TOOL_BAD_ARG;
}

static bool check_readable(const struct tool_words *files, const char *prog)
{
    for (unsigned i = 0; i < files->n; i++) {
        if (access(files->v[i], R_OK)) {
            tool_error(prog, "%s: %s", files->v[i], strerror(errno));
            return false;
        }
    }
    return true;
}

int sym_options_finish(const struct sym_options *o, const char *prog,
                       struct modset_options *out)
{
    if (o->only_elf && !o->elfs.n) {
        return tool_usage_error(prog, "--only-elf without any --elf");
    }
    if (o->only_elf && o->sysroot) {
        return tool_usage_error(prog, "--only-elf and --sysroot cannot be used together");
    }
    out->prog = prog;
    out->elfs = o->elfs.v;
    out->nr_elfs = o->elfs.n;
    out->elfs_only = o->only_elf;
    out->sysroot = o->sysroot;
    out->debug_dirs = o->debug_dirs.v;
    out->nr_debug_dirs = o->debug_dirs.n;
    out->force = o->force;
    out->debuginfod = o->debuginfod;
    out->perf_maps = o->perf_maps.v;
    out->nr_perf_maps = o->perf_maps.n;
    out->kallsyms = o->kallsyms.v;
    out->nr_kallsyms = o->kallsyms.n;
    out->slide = o->has_slide ? &o->slide : NULL;
    return check_readable(&o->perf_maps, prog) && check_readable(&o->kallsyms, prog)
               ? TOOL_OK
               : TOOL_FAILED;
}

void sym_options_fini(struct sym_options *o)
{
    for (unsigned i = 0; i < o->substitute.n; i += 2) {
        free((char *)o->substitute.v[i]); /* allocated by add_pair */
    }
    free(o->elfs.v);
    free(o->debug_dirs.v);
    free(o->perf_maps.v);
    free(o->kallsyms.v);
    free(o->substitute.v);
    *o = (struct sym_options){0};
}

const char *sym_substitute(const char *const *pairs, unsigned nr_pairs, const char *path,
                           const char **to)
{
    for (unsigned i = 0; i < nr_pairs; i++) {
        const char *from = pairs[2 * i];
        size_t len = strlen(from);

        if (!strncmp(path, from, len) &&
            (from[len - 1] == '/' || path[len] == '/' || !path[len])) {
            *to = pairs[2 * i + 1];
            return path + len;
        }
    }
    *to = "";
    return path;
}
