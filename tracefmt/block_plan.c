/* SPDX-License-Identifier: MIT */
/*
 * What is known of the accesses of a block before it runs.
 *
 * Most runs of a block make all its unconditional accesses once, in order.  They are
 * laid out here once per definition, so that decoding such a run fills in addresses and
 * asks nothing: first those that the column tells, then those that follow from them.
 */
#include "trace.h"

static unsigned count_accesses(const struct blockdef *d, unsigned *group)
{
    unsigned plain = 0;
    *group = 0;
    for (unsigned i = 0; i < d->nslot; i++) {
        struct ctr_slot s;
        blockdef_slot(d, i, &s);
        plain += !s.reg && !s.group;
        *group += !s.reg && s.group;
    }
    return plain;
}

size_t block_plan_bytes(const struct blockdef *d)
{
    unsigned group, plain = count_accesses(d, &group);
    size_t n = (size_t)(plain + group) * sizeof(struct ctr_access) +
               d->nderived * sizeof(struct derived_access) +
               (plain - d->nderived + (size_t)d->nslot) * sizeof(uint16_t);
    return (n + 7) & ~(size_t)7;
}

void block_plan(struct block *b, const struct blockdef *d, void *mem)
{
    unsigned group, nplain = count_accesses(d, &group);
    struct ctr_access *access = mem;
    struct derived_access *derived = (struct derived_access *)(access + nplain + group);
    uint16_t *at = (uint16_t *)(derived + d->nderived);
    uint16_t *own = at + d->nslot;
    b->nplain = (uint16_t)nplain;
    b->naccess = (uint16_t)(nplain + group);
    b->nderived = d->nderived;
    b->nown = (uint16_t)(nplain - d->nderived);
    b->access = access;
    b->at = at;
    b->own = own;
    b->derived = derived;
    unsigned plain = 0, nown = 0, nderived = 0;
    group = nplain;
    for (unsigned k = 0; k < d->nslot; k++) {
        const struct ctr_slot *s = &b->pub.slots[k];
        at[k] = 0;
        if (s->reg) {
            continue;
        }
        unsigned i = s->group ? group++ : plain++;
        at[k] = (uint16_t)i;
        access[i] = (struct ctr_access){
            .size = s->size,
            .insn = s->insn,
            .store = s->store,
            .flags = (uint8_t)((s->big_endian ? CTR_ACC_BE : 0) |
                               (s->novalue ? CTR_ACC_NOVALUE : 0) |
                               (s->derived ? CTR_ACC_DERIVED : 0)),
        };
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
