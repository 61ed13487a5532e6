/* SPDX-License-Identifier: MIT */
/* Sources as a user names them: the code of "parse.c:120", whether a function is of one. */
#include <stdlib.h>
#include <string.h>
#include "symfile_table_priv.h"

bool sym_parse_line(const char *text, size_t *file_bytes, uint32_t *line)
{
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || colon[-1] == ':' || colon[1] < '0' || colon[1] > '9') {
        return false;
    }
    uint64_t v = 0;
    for (const char *c = colon + 1; *c; c++) {
        if (*c < '0' || *c > '9' || v > UINT32_MAX) {
            return false;
        }
        v = 10 * v + (uint64_t)(*c - '0');
    }
    *file_bytes = (size_t)(colon - text);
    *line = (uint32_t)v;
    return v > 0 && v < UINT32_MAX;
}

bool sym_path_matches(const char *path, const char *end)
{
    while (strncmp(end, "./", 2) == 0) {
        end += 2;
    }
    size_t n = strlen(path), m = strlen(end);
    return m && m <= n && strcmp(path + n - m, end) == 0 &&
           (m == n || end[0] == '/' ? m == n : path[n - m - 1] == '/');
}

struct sym_line_match symfile_lines(const struct symfile *f, const char *file,
                                    uint32_t line,
                                    bool (*match)(void *arg, const struct sym_range *r),
                                    void *arg)
{
    struct sym_line_match out = {0};
    uint32_t files = table_count(f, PART_FILES), ranges = table_count(f, PART_RANGES);
    bool *wanted = calloc((size_t)files + 1, sizeof(*wanted));
    for (uint32_t i = 0; wanted && i < files; i++) {
        wanted[i] = sym_path_matches(f->files[i], file);
        out.nr_files += wanted[i];
    }
    for (uint32_t i = 0; out.nr_files && i < ranges; i++) {
        const struct sym_range *r = &f->ranges[i];
        if (wanted[r->file] && r->line >= line && (!out.line || r->line < out.line)) {
            out.line = r->line;
        }
    }
    for (uint32_t i = 0; out.line && i < ranges; i++) {
        const struct sym_range *r = &f->ranges[i];
        if (wanted[r->file] && r->line == out.line) {
            out.nr_ranges++;
            if (!match(arg, r)) {
                break;
            }
        }
    }
    free(wanted);
    return out;
}

uint32_t symfile_function_file(const struct symfile *f, const struct sym_function *fn)
{
    const struct sym_range *r = symfile_range(f, fn->addr);
    uint32_t scope = r ? r->scope : SYM_NONE;

    while (scope != SYM_NONE && f->scopes[scope].parent != SYM_NONE) {
        scope = f->scopes[scope].parent;
    }
    if (scope != SYM_NONE && f->scopes[scope].decl_file != SYM_NONE) {
        return f->scopes[scope].decl_file;
    }
    return r ? r->file : SYM_NONE;
}
