/* SPDX-License-Identifier: MIT */
/* Which files are wanted, by the events of their mappings. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "cannoli/events.h"
#include "common/map64.h"
#include "embed.h"
#include "mapping.h"

struct embed_file *embed_of_event(const struct ctr_map *m, uint64_t time_ns, pid_t pid,
                                  enum embed_mode mode)
{
    struct embed_file *f;

    if ((m->op != CTR_MAP_INITIAL && m->op != CTR_MAP_MMAP) || !m->inode || !m->path.n ||
        m->path.p[0] != '/' || m->path.n >= CTR_EMBED_PATH ||
        memchr(m->path.p, 0, m->path.n)) {
        return NULL;
    }
    f = calloc(1, sizeof(*f) + m->path.n + 1);
    if (f) {
        f->dev = m->dev;
        f->inode = m->inode;
        f->time_ns = time_ns;
        f->start = m->start;
        f->size = m->size;
        f->offset = m->offset;
        f->pid = pid;
        f->in_part = mode == EMBED_TOUCHED && !(m->prot & MAPPING_CODE);
        f->written = mapping_writes_file(m) ? EMBED_WRITES : EMBED_READS;
        f->bytes = (uint32_t)m->path.n + 1;
        memcpy(f->path, m->path.p, m->path.n);
    }
    return f;
}

size_t embed_file_bytes(const struct embed_file *file)
{
    return sizeof(*file) + file->bytes;
}

uint64_t embed_file_key(const struct embed_file *file)
{
    const uint64_t hash = XXH3_64bits(file->path, file->bytes);

    return map64_mix(map64_mix(hash, file->dev), file->inode);
}
