/* SPDX-License-Identifier: MIT */
/* What records share: names, each stored once and found by a hash, and skews. */
#include "maps/maps.h"

#include <string.h>
#include <xxhash.h>

#define HASH_SIZE (1u << 16)

static int same_file(const struct map_file *f, const struct ctr_map *e)
{
    return f->dev == e->dev && f->inode == e->inode &&
           f->build_id_bytes == e->build_id.n && strlen(f->path) == e->path.n &&
           memcmp(f->path, e->path.p, e->path.n) == 0 &&
           (e->build_id.n == 0 || memcmp(f->build_id, e->build_id.p, e->build_id.n) == 0);
}

int map_file_get(struct ctr_maps *m, const struct ctr_map *e, uint32_t *out,
                 struct ctr_diag *diag)
{
    struct ctr_map key = *e;
    /* A path is given as a string; what follows a NUL cannot be part of it. */
    key.path.n = strnlen(e->path.p, e->path.n);
    if (!m->hash) {
        m->hash = calloc(HASH_SIZE, sizeof(m->hash[0]));
        if (!m->hash) {
            return ctr_fail_nomem(diag);
        }
    }
    uint64_t h = XXH64(key.path.p, key.path.n, key.dev ^ key.inode);
    uint32_t *head = &m->hash[h % HASH_SIZE];
    uint32_t steps = 0;
    for (uint32_t i = *head; i && steps < 256; i = m->file[i - 1].next, steps++) {
        if (same_file(&m->file[i - 1], &key)) {
            *out = i - 1;
            return 0;
        }
    }
    size_t bytes = key.path.n + 1 + key.build_id.n;
    m->name_bytes += bytes + sizeof(m->file[0]);
    if (m->name_bytes > MAPS_MAX_NAMES) {
        return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "maps", "too many names");
    }
    if (m->nfile == m->file_cap) {
        uint32_t cap = m->file_cap * 2 + 64;
        void *p = realloc(m->file, cap * sizeof(m->file[0]));
        if (!p) {
            return ctr_fail_nomem(diag);
        }
        m->file = p;
        m->file_cap = cap;
    }
    char *p = malloc(bytes);
    if (!p) {
        return ctr_fail_nomem(diag);
    }
    memcpy(p, key.path.p, key.path.n);
    p[key.path.n] = 0;
    if (key.build_id.n) {
        memcpy(p + key.path.n + 1, key.build_id.p, key.build_id.n);
    }
    m->file[m->nfile] = (struct map_file){
        .path = p,
        .build_id = (uint8_t *)p + key.path.n + 1,
        .build_id_bytes = (uint32_t)key.build_id.n,
        .dev = key.dev,
        .inode = key.inode,
        .next = *head,
        .is_file = key.inode != 0 || p[0] == '/',
    };
    *out = m->nfile;
    *head = ++m->nfile;
    return 0;
}

#define SKEWS_NEAR 64u /* number compared; farther ones may be stored twice */

int map_skew_get(struct ctr_maps *m, uint64_t skew, uint32_t *out)
{
    *out = 0;
    if (!skew) {
        return 0;
    }
    uint32_t last = m->nskew > SKEWS_NEAR ? m->nskew - SKEWS_NEAR : 0;
    for (uint32_t i = m->nskew; i > last; i--) {
        if (m->skew[i - 1] == skew) {
            *out = i;
            return 0;
        }
    }
    if (m->nskew == m->skew_cap) {
        uint32_t cap = m->skew_cap + m->skew_cap / 2 + 16;
        void *p = realloc(m->skew, cap * sizeof(m->skew[0]));
        if (!p) {
            return -1;
        }
        m->skew = p;
        m->skew_cap = cap;
    }
    m->skew[m->nskew] = skew;
    *out = ++m->nskew;
    return 0;
}

void map_files_fini(struct ctr_maps *m)
{
    for (uint32_t i = 0; i < m->nfile; i++) {
        free((void *)(uintptr_t)m->file[i].path);
    }
    free(m->file);
    free(m->skew);
    free(m->hash);
}
