/* SPDX-License-Identifier: MIT */
/* Which files are wanted, by the events of their mappings. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "cannoli/events.h"
#include "common/map64.h"
#include "embed.h"

#define PROT_WRITES 2u
#define PROT_CODE 4u
#define FLAG_SHARED 1u

struct embed_file *embed_of_event(const void *payload, uint32_t bytes, uint64_t time_ns,
                                  pid_t pid, enum embed_mode mode)
{
    const struct ctr_os_event e = {
        .type = CTR_EVENT_MAP, .size = bytes, .payload = payload};
    struct embed_file *f;
    struct ctr_map map;

    if (ctr_parse_map(&e, &map) ||
        (map.op != CTR_MAP_INITIAL && map.op != CTR_MAP_MMAP) || !map.inode ||
        !map.path.n || map.path.p[0] != '/' || map.path.n >= CTR_EMBED_PATH ||
        memchr(map.path.p, 0, map.path.n)) {
        return NULL;
    }
    f = calloc(1, sizeof(*f) + map.path.n + 1);
    if (f) {
        f->dev = map.dev;
        f->inode = map.inode;
        f->time_ns = time_ns;
        f->start = map.start;
        f->size = map.size;
        f->offset = map.offset;
        f->pid = pid;
        f->in_part = mode == EMBED_TOUCHED && !(map.prot & PROT_CODE);
        f->written = map.flags & FLAG_SHARED && map.prot & PROT_WRITES;
        f->bytes = (uint32_t)map.path.n + 1;
        memcpy(f->path, map.path.p, map.path.n);
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
