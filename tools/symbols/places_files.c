/* SPDX-License-Identifier: MIT */
/* The list of files that a trace's mappings are of, and the modules that these are. */
#include "places_priv.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

uint32_t places_lower_file(const struct places *p, const char *path)
{
    uint32_t low = 0, high = p->nr_files;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if ((uintptr_t)p->files[mid].path < (uintptr_t)path) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

struct mapped_file *places_file(const struct places *p, const struct ctr_mapping *m)
{
    uint32_t i = places_lower_file(p, m->path);

    return i < p->nr_files && p->files[i].path == m->path ? &p->files[i] : NULL;
}

bool path_is_jitdump(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t digits = strncmp(name, "jit-", 4) ? 0 : strspn(name + 4, "0123456789");

    return digits && !strcmp(name + 4 + digits, ".dump");
}

/* Excludes stacks and memory that a program writes itself. */
bool places_is_module(const struct ctr_mapping *m)
{
    static const char *const written[] = {"/memfd:", "/dev/zero", "/SYSV"};

    if (m->path[0] != '/') {
        return !strncmp(m->path, "[v", 2);
    }
    for (size_t i = 0; i < sizeof(written) / sizeof(*written); i++) {
        if (!strncmp(m->path, written[i], strlen(written[i]))) {
            return m->build_id_bytes != 0;
        }
    }
    return !path_is_jitdump(m->path);
}

/* More than any real program has; the work on them is quadratic. */
#define MAX_FILES 16384u

int places_add_file(void *arg, const struct ctr_mapping *m)
{
    struct places *p = arg;
    uint32_t i = places_lower_file(p, m->path);

    if (!(m->prot & 4) || !places_is_module(m) ||
        (i < p->nr_files && p->files[i].path == m->path)) {
        return 0;
    }
    if (p->nr_files == MAX_FILES) {
        return 0;
    }
    if (!array_reserve(&p->files, &p->cap_files, p->nr_files + (size_t)1,
                       sizeof(*p->files))) {
        return 1;
    }
    memmove(p->files + i + 1, p->files + i, (p->nr_files - i) * sizeof(*p->files));
    p->files[i] = (struct mapped_file){.path = m->path,
                                       .dev = m->dev,
                                       .inode = m->inode,
                                       .build_id = m->build_id,
                                       .build_id_bytes = m->build_id_bytes,
                                       .seq = p->nr_files,
                                       .process = m->process};
    p->nr_files++;
    return 0;
}

const struct module **places_modules(const struct places *p, uint32_t *n)
{
    uint32_t all = p->set->nr_mods;
    const struct module **list = calloc(all + (size_t)1, sizeof(*list));

    *n = 0;
    for (uint32_t i = 0; list && i < p->nr_files; i++) {
        if (p->files[i].mod) {
            list[p->files[i].mod->pub.index] = &p->files[i].mod->pub;
        }
    }
    for (uint32_t i = 0; list && i < p->nr_jit; i++) {
        for (uint32_t k = 0; k < p->jit[i].nr_mods; k++) {
            list[p->jit[i].mods[k]->pub.index] = &p->jit[i].mods[k]->pub;
        }
    }
    for (uint32_t i = 0; list && i < all; i++) {
        if (list[i]) {
            list[(*n)++] = list[i];
        }
    }
    return list;
}

const uint8_t *places_mapped_bytes(const struct places *p, const struct ctr_mapping *m,
                                   uint64_t addr, size_t *n)
{
    return embedded_bytes(p->target.embedded, m, addr, n);
}

bool places_is_changed(const struct places *p, const struct ctr_mapping *m)
{
    return embedded_changed(p->target.embedded, m);
}
