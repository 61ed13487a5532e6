/* SPDX-License-Identifier: MIT */
/*
 * Whether a name that was not found is that of a local variable.  These are at other places
 * in each call, so an address cannot be given for one, but the user should know why.
 */
#include "query/locate_priv.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/symfile_vars.h"

/* What may be read to explain an error: programs of their user, in a fraction of a
 * second. */
#define MAX_FILE_BYTES (32 << 20)
#define MAX_FILES 8u

/* "a" and "f(int)::a": the variable, and the function that it is in or "". */
struct local_search {
    const char *name;
    const char *function;
    size_t function_len;
};

static bool is_function(const struct local_search *s, const struct sym_scope *in)
{
    size_t n = sym_name_bare_length(in->name);

    return !s->function_len ||
           (n == s->function_len && !memcmp(in->name, s->function, n)) ||
           (strlen(in->name) == s->function_len && !strcmp(in->name, s->function));
}

/* The function that has such a variable, or NULL; and the variable. */
static const struct sym_scope *find_in_file(const struct local_search *s,
                                            const struct symfile *f,
                                            const struct sym_variable **found)
{
    const struct sym_variable *v;
    const struct sym_scope *scopes;
    const struct sym_block *blocks;
    uint32_t nr_variables = symfile_variables(f, &v);
    uint32_t nr_scopes = symfile_scopes(f, &scopes);
    uint32_t n = symfile_blocks(f, &blocks);

    for (uint32_t i = 0; i < n; i++) {
        const struct sym_block *b = &blocks[i];
        if (b->scope >= nr_scopes || !is_function(s, &scopes[b->scope])) {
            continue;
        }
        for (uint32_t k = b->first; k - b->first < b->n && k < nr_variables; k++) {
            if (!strcmp(v[k].name, s->name)) {
                *found = &v[k];
                return &scopes[b->scope];
            }
        }
    }
    return NULL;
}

/* A descriptor of a file that may be read, or -1. */
static int open_small(const struct module *m)
{
    struct symfile_info info;
    struct stat st;
    int fd;

    if (!m->file) {
        return -1;
    }
    symfile_info(m->file, &info);
    fd = info.debug_path[0] ? -1 : symfile_descriptor(m->file);
    if (fd >= 0 && (fstat(fd, &st) || st.st_size > MAX_FILE_BYTES)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool finder_why_local(struct finder *f, const char *glob, uint32_t glob_len,
                      const char *name)
{
    int fd;
    const struct symfile_options opt = {.flags = SYMFILE_LOCALS, .image = &fd};
    struct local_search s = {.name = name, .function = name};
    const struct sym_scope *in = NULL;
    const struct sym_variable *v;
    const struct module *m;
    unsigned files = 0;

    for (const char *c; (c = strstr(s.name, "::")) != NULL; s.name = c + 2) {
        s.function_len = (size_t)(c - name);
    }
    if (f->only) { /* its users look for code */
        return false;
    }
    for (uint32_t i = 0; !in && files < MAX_FILES && (m = finder_nth(f, i)); i++) {
        struct symfile_error err;
        struct symfile_info info;
        struct symfile *file;
        fd = finder_module(f, m, glob, glob_len) ? open_small(m) : -1;
        if (fd < 0) {
            continue;
        }
        symfile_info(m->file, &info);
        files++;
        if (!symfile_open(&file, info.path, &opt, &err)) {
            in = find_in_file(&s, file, &v);
            if (in) {
                finder_why(f, WHY_EXACT,
                           "'%s' is a %s of %.*s, which has no fixed address", s.name,
                           v->parameter ? "parameter" : "local variable",
                           (int)sym_name_bare_length(in->name), in->name);
            }
            symfile_close(file);
        }
        close(fd);
    }
    return in != NULL;
}
