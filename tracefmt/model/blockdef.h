/* SPDX-License-Identifier: MIT */
/* Checking and unpacking block definitions (cannoli/events.h). */
#ifndef CTR_BLOCKDEF_H
#define CTR_BLOCKDEF_H

#include "ctr.h"
#include "base/le.h"
#include "cannoli/events.h"

/* The places of the parts of a checked definition. */
struct blockdef {
    const uint8_t *body;
    uint32_t bytes;
    uint16_t ninsn;
    uint16_t nslot;
    uint16_t ngroup;
    uint16_t nreg;    /* register slots among them */
    uint16_t reg_end; /* highest register of these + 1, or 0 */
    uint8_t flags;
    uint32_t ntag;
    uint32_t code_bytes;
    const uint8_t *len; /* [ninsn] */
    const uint8_t *code;
    const uint8_t *slot; /* [nslot * CTR_BLOCKDEF_SLOT] */
    const uint8_t *pcs;  /* [ninsn * 8] or NULL */
    const uint8_t *tags; /* [ntag * CTR_BLOCKDEF_TAG] or NULL */
    uint16_t nderived;
    const uint8_t *derive; /* [nderived * CTR_BLOCKDEF_DERIVE] or NULL */
};

/* How the address of a derived slot follows from its root's. */
struct slot_derive {
    int64_t delta;
    uint16_t root; /* slot of the block, or CTR_DERIVE_CONST */
    uint8_t bits;
    uint8_t is_signed;
};

/*
 * Checks a definition of n bytes, which must be all of it.  off is for the
 * diagnostic.  Returns 0 or -CTR_E_CORRUPT.
 */
int blockdef_parse(struct blockdef *out, const void *def, size_t n, uint64_t off,
                   struct ctr_diag *diag);

/* Unpacks slot i of a checked definition. */
static inline void blockdef_slot(const struct blockdef *d, unsigned i,
                                 struct ctr_slot *out)
{
    const uint8_t *s = d->slot + (size_t)i * CTR_BLOCKDEF_SLOT;
    out->insn = (uint16_t)(s[0] | s[1] << 8);
    out->group = (uint16_t)(s[2] | s[3] << 8);
    out->size = (uint8_t)CTR_ACCESS_SIZE(s[4]);
    out->store = (s[4] & CTR_ACCESS_STORE) != 0;
    out->big_endian = (s[4] & CTR_ACCESS_BE) != 0;
    out->reg = (s[4] & CTR_ACCESS_REG) != 0;
    out->novalue = (s[4] & CTR_ACCESS_NOVALUE) != 0;
    out->derived = (s[4] & CTR_ACCESS_DERIVED) != 0;
    out->mmu = s[5];
}

/* Unpacks entry i of derive[], which belongs to the derived slot number i. */
static inline void blockdef_derive(const struct blockdef *d, unsigned i,
                                   struct slot_derive *out)
{
    const uint8_t *p = d->derive + (size_t)i * CTR_BLOCKDEF_DERIVE;
    out->root = le16(p);
    out->bits = p[2];
    out->is_signed = (p[3] & CTR_DERIVE_SIGNED) != 0;
    out->delta = (int64_t)le64(p + 4);
}

/* The address of a derived slot; root: the address of its root, 0 if it has none. */
static inline uint64_t slot_derive_addr(const struct slot_derive *d, uint64_t root)
{
    unsigned up = 64u - d->bits;
    uint64_t a = (root + (uint64_t)d->delta) << up;
    return d->is_signed ? (uint64_t)((int64_t)a >> up) : a >> up;
}

/* Unpacks tag i. */
static inline void blockdef_tag(const struct blockdef *d, uint32_t i, struct ctr_tag *out)
{
    const uint8_t *t = d->tags + (size_t)i * CTR_BLOCKDEF_TAG;
    out->insn = le16(t);
    out->library = le16(t + 2);
    out->tag = le64(t + 4);
}

/* The group of a slot, 0 for a register slot. */
static inline unsigned slot_group(const struct ctr_slot *s)
{
    return s->reg ? 0 : s->group;
}

/*
 * Fills first[1..ngroup] with the first slot of each group and end[1..ngroup] with the
 * one after its last; both are nslot for an empty group. Element 0 is not used.
 */
static inline void blockdef_groups(const struct blockdef *d, uint16_t *first,
                                   uint16_t *end)
{
    for (unsigned g = 0; g <= d->ngroup; g++) {
        first[g] = end[g] = d->nslot;
    }
    for (unsigned i = 0; i < d->nslot; i++) {
        struct ctr_slot s;
        blockdef_slot(d, i, &s);
        unsigned g = slot_group(&s);
        if (first[g] == d->nslot) {
            first[g] = (uint16_t)i;
        }
        end[g] = (uint16_t)(i + 1);
    }
}

/*
 * How many slots of a block have been passed when a run is resumed inside
 * instruction insn: all unconditional ones of earlier instructions, and those
 * before the last group slot of insn.
 */
static inline unsigned slots_resume_at(const struct ctr_slot *slots, unsigned nslot,
                                       unsigned insn)
{
    unsigned at = 0;
    for (unsigned k = 0; k < nslot && slots[k].insn <= insn; k++) {
        if (slots[k].insn < insn || slot_group(&slots[k])) {
            at = k + 1;
        }
    }
    return at;
}

#endif
