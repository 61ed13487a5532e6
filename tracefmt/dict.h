/* SPDX-License-Identifier: MIT */
/* The writer's dictionary, as encoder and writer see it. */
#ifndef CTR_DICT_H
#define CTR_DICT_H

#include "blockdef.h"
#include "ctr_write.h"
#include "format.h"
#include "util.h"

/* A definition met in this recording.  Never changes once published. */
struct dict_entry {
    uint32_t id;    /* canonical, from 1 */
    uint16_t nload; /* unconditional slots */
    uint16_t nstore;
    uint16_t nreg; /* register slots */
    uint8_t has_groups;
    uint64_t hash;
    uint64_t pc;             /* of its first instruction */
    uint64_t end;            /* just behind its last one */
    struct dict_entry *next; /* same bucket */
    uint16_t *group_first;   /* see blockdef_groups; behind this */
    uint16_t *group_end;
    struct blockdef def; /* points behind this too */
};

struct ctr_dict {
    unsigned events;
    struct idtab by_raw; /* raw id -> entry */
    struct idtab by_id;  /* canonical id -> entry */
    _Atomic uint32_t size;
    struct dict_entry **bucket; /* by hash, the adding thread's own */
    uint32_t nbucket;
    struct buf strip;
};

static inline const struct dict_entry *dict_raw(const struct ctr_dict *d, uint32_t raw)
{
    return idtab_get(&d->by_raw, raw);
}

static inline const struct dict_entry *dict_id(const struct ctr_dict *d, uint32_t id)
{
    return idtab_get(&d->by_id, id);
}

#endif
