/* SPDX-License-Identifier: MIT */
/* The writer's dictionary, as encoder and writer see it. */
#ifndef CTR_DICT_H
#define CTR_DICT_H

#include <pthread.h>
#include "model/blockdef.h"
#include "ctr_write.h"
#include "base/format.h"
#include "model/regtable.h"
#include "base/util.h"

/*
 * A slot, and where the encoder keeps its state. Slots of groups are numbered after the
 * unconditional ones, which are all that most runs make.
 *
 * An item is what the encoder handles at once: an access, a register, or a row of
 * registers of 8 bytes at most, unconditional ones with nothing between them. First
 * come the items of a run without groups, including rows; then slots of groups, and the
 * registers of rows, for runs that were left in the middle of a row.
 */
struct dict_slot {
    struct ctr_slot s;
    uint16_t addr;  /* its number among the slots with an address of their own; of a
                       derived one that of its root, or DICT_NO_ADDR */
    uint16_t entry; /* of a derived one: number in derive[] */
    uint16_t item;  /* its number among the items, see there */
};
#define DICT_NO_ADDR 0xffffu

/*
 * Which pages accesses can touch when their root touches page p, for the index: bit k
 * of REACH_LOADS: loads touch page p + k - 1; of REACH_STORES: stores do. REACH_KIND:
 * how such an address is truncated: REACH_WHOLE: not at all; 0: that differs, or there
 * is no number for it; others: to so many bits, with or without sign extension.
 * Translated code masks to 32 bits, and to 56 or more, with or without a sign.
 */
#define REACH_LOADS(r) ((r) & 7u)
#define REACH_STORES(r) ((r) >> 3 & 7u)
#define REACH_KIND(r) ((r) >> 6 & 63u)
#define REACH_WHOLE 63u
#define REACH_MASK 0xfffu
#define REACH_UNSIGNED 39u /* the last kind without a sign */

static inline unsigned reach_bits(unsigned kind)
{
    return kind > 32 && kind <= REACH_UNSIGNED ? kind + 56 - 33 : kind;
}

static inline int reach_is_signed(unsigned kind)
{
    return kind > REACH_UNSIGNED;
}

/*
 * A definition of this recording. What encoders and the writer read never changes once
 * it is published.
 */
struct dict_entry {
    uint32_t id;    /* canonical, from 1 */
    uint32_t raws;  /* raw ids that refer to it */
    uint32_t holds; /* see ctr_dict_hold */
    uint32_t bytes; /* of memory */
    uint64_t stamp; /* see ctr_dict_forget */
    uint8_t idle;   /* it is in the list of definitions without a raw id */
    struct dict_entry *next_idle;
    uint16_t nload; /* unconditional slots */
    uint16_t nstore;
    uint16_t nreg;   /* register slots */
    uint16_t naddr;  /* slots with an address of their own ... */
    uint16_t nplain; /* ... that are unconditional */
    uint16_t nwhole; /* items of a run without groups */
    uint16_t nitem;  /* all items */
    uint16_t nconst;
    uint64_t hash;
    uint64_t pc;             /* of its first instruction */
    uint64_t end;            /* directly after its last one */
    struct dict_entry *next; /* same bucket */
    uint16_t *group_first;   /* see blockdef_groups; stored after this struct */
    uint16_t *group_end;
    struct dict_slot *slot; /* [nslot] */
    uint16_t *reach;        /* [naddr] REACH_* */
    uint64_t *constant;     /* [nconst] of accesses with a constant address: page << 1
                               | store */
    struct blockdef def;    /* points to memory after this struct, too */
};

struct ctr_dict {
    unsigned events;
    int reuse;            /* canonical ids are handed out again */
    pthread_mutex_t lock; /* for all but regs, strip and lookups by id */
    struct idtab by_raw;  /* raw id -> entry */
    uint64_t raws;        /* number ever added; of the adding thread */
    struct idtab by_id;   /* canonical id -> entry */
    _Atomic uint32_t size;
    _Atomic uint32_t written;   /* the writer has written definitions up to this id */
    struct dict_entry **bucket; /* by hash */
    uint32_t nbucket;
    uint32_t nentry;
    struct dict_entry *idle, **idle_end; /* without a known user */
    uint32_t nidle;
    uint32_t *free_id; /* with reuse: ids below size without a definition */
    uint32_t nfree, free_cap;
    struct buf strip;
    struct regtable *_Atomic regs; /* NULL: not known yet */
};

/* Definitions up to this id are in the file: the writer does not need them any more. */
static inline void dict_written(struct ctr_dict *d, uint32_t id)
{
    /* pairs with the load in ctr_dict_reap */
    atomic_store_explicit(&d->written, id, memory_order_release);
}

/* Whether this slot is in a row. */
static inline int slot_in_row(const struct ctr_slot *s)
{
    return s->reg && s->size <= 8 && slot_group(s) == 0;
}

/* The entry in `constant' of a derived slot k that has no root. */
static inline uint64_t dict_constant(const struct dict_entry *d, uint32_t k)
{
    struct slot_derive v;
    blockdef_derive(&d->def, d->slot[k].entry, &v);
    return slot_derive_addr(&v, 0) >> PAGE_BITS << 1 | d->slot[k].s.store;
}

/* The register table, or NULL. */
static inline const struct regtable *dict_regs(const struct ctr_dict *d)
{
    /* pairs with the store in ctr_dict_regs */
    return atomic_load_explicit(&d->regs, memory_order_acquire);
}

static inline const struct dict_entry *dict_raw(const struct ctr_dict *d, uint32_t raw)
{
    return idtab_get(&d->by_raw, raw);
}

static inline const struct dict_entry *dict_id(const struct ctr_dict *d, uint32_t id)
{
    return idtab_get(&d->by_id, id);
}

#endif
