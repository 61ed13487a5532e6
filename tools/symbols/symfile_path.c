/* SPDX-License-Identifier: MIT */
/* Numbers source files: absolute, "." and ".." folded, each path once. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_reader_priv.h"

/* Folds `in' into out, which has room for `in' and a slash; ".." at the root is the root,
 * and is kept at the start of a relative path. */
static void fold(const char *in, char *out)
{
    bool absolute = in[0] == '/';
    size_t n = 0, floor = 0; /* nothing before floor may be removed */
    while (*in) {
        size_t len = strcspn(in, "/");
        bool up = len == 2 && in[0] == '.' && in[1] == '.';
        if (up && n > floor) {
            while (n > floor && out[--n] != '/') {
            }
        } else if (len && !(len == 1 && in[0] == '.') && !(up && absolute)) {
            if (n || absolute) {
                out[n++] = '/';
            }
            memcpy(out + n, in, len);
            n += len;
            floor = up ? n : floor;
        }
        in += len + (in[len] == '/');
    }
    if (n == 0) {
        out[n++] = absolute ? '/' : '.';
    }
    out[n] = '\0';
}

uint32_t file_number(struct reader *r, const char *path, const char *comp_dir)
{
    bool found;
    if (!path || !path[0] || strcmp(path, "???") == 0) {
        return SYM_NONE;
    }
    bool join = path[0] != '/' && comp_dir && comp_dir[0];
    size_t dir = join ? strlen(comp_dir) : 0, n = strlen(path);
    size_t room = dir + n + 3;
    char *whole = malloc(2 * room);
    if (!whole) {
        return SYM_NONE;
    }
    if (join) {
        memcpy(whole, comp_dir, dir);
        whole[dir++] = '/';
    }
    memcpy(whole + dir, path, n + 1);
    fold(whole, whole + room);
    uint32_t name = string_add(r, whole + room);
    free(whole);
    uint32_t *at = hash_at(r, &r->file_index, (uint64_t)name + 1, &found);
    if (!found) {
        *at = (uint32_t)r->files.n;
        *(const char **)vec_push(r, &r->files, sizeof(const char *)) = STRING_PTR(name);
    }
    return *at;
}
