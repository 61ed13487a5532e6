/* SPDX-License-Identifier: MIT */
/*
 * The files used so far, and what the arguments select in each.  A path may refer to
 * another file later in the run (a rebuilt plug-in), so the file's stamp is checked again
 * whenever the mappings have changed.
 */
#include "filter.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct file_stamp stamp_of(const char *path)
{
    struct file_stamp stamp = {0};
    struct stat st;

    if (stat(path, &st) == 0) {
        stamp.dev = st.st_dev;
        stamp.ino = st.st_ino;
        stamp.size = (uint64_t)st.st_size;
        stamp.sec = st.st_mtim.tv_sec;
        stamp.nsec = st.st_mtim.tv_nsec;
    }
    return stamp;
}

static bool same_stamp(const struct file_stamp *a, const struct file_stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->sec == b->sec && a->nsec == b->nsec;
}

const struct module *modules_get(struct modules *m, const struct names *names,
                                 const char *path, uint64_t generation)
{
    struct module *mod = NULL;
    struct file_stamp stamp;

    if (!*path) {
        return NULL;
    }
    for (size_t i = 0; i < m->n && !mod; i++) {
        mod = strcmp(m->v[i]->path, path) ? NULL : m->v[i];
    }
    if (mod && mod->generation == generation) {
        return mod;
    }
    stamp = stamp_of(path);
    if (!mod) {
        mod = calloc(1, sizeof(*mod));
        if (!mod) {
            abort();
        }
        mod->path = filter_copy(path, strlen(path));
        for (size_t i = 0; i < names->args->modules.n; i++) {
            const struct pattern *p = &names->args->modules.v[i];

            if (filter_module_matches(p, path)) {
                *(p->negated ? &mod->named_not : &mod->named) = true;
            }
        }
        m->v = filter_grow(m->v, m->n, &m->cap, sizeof(*m->v));
        m->v[m->n++] = mod;
        names_find(names, &mod->offsets, path);
    } else if (!same_stamp(&stamp, &mod->stamp)) {
        places_free(&mod->offsets);
        names_find(names, &mod->offsets, path);
    }
    mod->stamp = stamp;
    mod->generation = generation;
    return mod;
}

void modules_free(struct modules *m)
{
    for (size_t i = 0; i < m->n; i++) {
        places_free(&m->v[i]->offsets);
        free(m->v[i]->path);
        free(m->v[i]);
    }
    free(m->v);
    *m = (struct modules){0};
}
