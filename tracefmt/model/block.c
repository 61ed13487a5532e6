/* SPDX-License-Identifier: MIT */
/*
 * Unpacks a definition, and computes what is known of the accesses of a block before it
 * runs.
 *
 * Most runs of a block make all its unconditional accesses once, in order. They are
 * numbered here once per definition, so that decoding such a run only fills in
 * addresses: first those from the column, then those derived from them.
 */
#include "model/block.h"

#include <string.h>
#include "model/value.h"

static void count_accesses(const struct blockdef *d, unsigned *plain, unsigned *group)
{
    *plain = *group = 0;
    for (unsigned i = 0; i < d->nslot; i++) {
        struct ctr_slot s;
        blockdef_slot(d, i, &s);
        *plain += !s.reg && !s.group;
        *group += !s.reg && s.group;
    }
}

/* Numbers the accesses and finds the roots of the derived ones. */
static void number_accesses(struct block *b, const struct blockdef *d)
{
    struct derived_access *derived = (struct derived_access *)block_derived(b);
    uint16_t *at = (uint16_t *)block_at(b), *own = (uint16_t *)block_own(b);
    unsigned plain = 0, group = b->nplain, nown = 0, nderived = 0;
    b->single = 1;
    for (unsigned k = 0; k < d->nslot; k++) {
        const struct ctr_slot *s = &b->pub.slots[k];
        b->single &= !s->reg && !s->group && !s->novalue && value_pieces(s->size) == 1;
        if (s->reg) {
            continue;
        }
        unsigned i = s->group ? group++ : plain++;
        at[k] = (uint16_t)i;
        b->value_bytes += s->group || s->novalue ? 0 : s->size;
        if (s->derived) {
            struct slot_derive how;
            blockdef_derive(d, nderived, &how);
            derived[nderived++] = (struct derived_access){
                .delta = how.delta,
                .at = (uint16_t)i,
                .root = how.root == CTR_DERIVE_CONST ? CTR_DERIVE_CONST : at[how.root],
                .root_slot = how.root,
                .bits = how.bits,
                .is_signed = how.is_signed,
            };
        } else if (!s->group) {
            own[nown++] = (uint16_t)i;
        }
    }
}

static size_t align8(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

struct block *block_new(const struct blockdef *d, uint32_t id, struct slab *slab)
{
    unsigned plain, group;
    count_accesses(d, &plain, &group);
    const size_t groups = (size_t)d->ngroup + 1;
    const unsigned nown = plain - d->nderived;
    const size_t halves = 4 * groups + d->nslot + nown + d->ninsn + 1u;
    const size_t npcs = d->pcs ? d->ninsn : 0;
    size_t n = sizeof(struct block) + d->nderived * sizeof(struct derived_access) +
               halves * sizeof(uint16_t) + d->nslot * sizeof(struct ctr_slot) +
               d->code_bytes;
    const size_t pcs_at = align8(n);
    if (npcs || d->ntag) {
        n = pcs_at + npcs * sizeof(uint64_t) + d->ntag * sizeof(struct ctr_tag);
    }
    struct block *b = slab_get(slab, n);
    if (!b) {
        return NULL;
    }
    *b = (struct block){
        .pub =
            {
                .id = id,
                .ninsn = d->ninsn,
                .nslot = d->nslot,
                .ngroup = d->ngroup,
                .mode = CTR_BLOCKDEF_MODE_OF(d->body[CTR_BLOCKDEF_MODE]),
                .privilege = CTR_BLOCKDEF_PRIVILEGE_OF(d->body[CTR_BLOCKDEF_MODE]),
                .part = (d->flags & CTR_BLOCK_PART) != 0,
                .ntag = d->ntag,
                .pc = le64(d->body + CTR_BLOCKDEF_PC),
                .cs_base = le64(d->body + CTR_BLOCKDEF_CS_BASE),
                .tb_flags = le64(d->body + CTR_BLOCKDEF_TB_FLAGS),
                .cflags = le32(d->body + CTR_BLOCKDEF_CFLAGS),
            },
        .bytes = (uint32_t)n,
        .def_bytes = d->bytes,
        .nreg = d->nreg,
        .reg_end = d->reg_end,
        .nplain = (uint16_t)plain,
        .naccess = (uint16_t)(plain + group),
        .nderived = d->nderived,
        .nown = (uint16_t)nown,
    };
    uint16_t *off = (uint16_t *)block_own(b) + nown;
    struct ctr_slot *slot = (struct ctr_slot *)(off + d->ninsn + 1);
    uint8_t *code = (uint8_t *)(slot + d->nslot);
    uint64_t *pcs = (uint64_t *)((uint8_t *)b + pcs_at);
    struct ctr_tag *tags = (struct ctr_tag *)(pcs + npcs);
    uint16_t *first = (uint16_t *)block_group_first(b);
    uint16_t *loads = first + 2 * groups, *stores = loads + groups;
    b->pub.off = off;
    b->pub.code = code;
    b->pub.pcs = d->pcs ? pcs : NULL;
    b->pub.slots = slot;
    b->pub.tags = d->ntag ? tags : NULL;
    memcpy(code, d->code, d->code_bytes);
    for (unsigned i = 0; i < d->ninsn; i++) {
        off[i + 1] = (uint16_t)(off[i] + d->len[i]);
    }
    for (size_t i = 0; i < npcs; i++) {
        pcs[i] = le64(d->pcs + i * 8);
    }
    for (uint32_t i = 0; i < d->ntag; i++) {
        blockdef_tag(d, i, &tags[i]);
    }
    blockdef_groups(d, first, first + groups);
    for (unsigned i = 0; i < d->nslot; i++) {
        blockdef_slot(d, i, &slot[i]);
        unsigned g = slot_group(&slot[i]);
        (slot[i].store ? stores : loads)[g] += !slot[i].reg;
    }
    number_accesses(b, d);
    return b;
}
