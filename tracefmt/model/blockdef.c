/* SPDX-License-Identifier: MIT */
/*
 * Checks block definitions, for the recorder's dictionary as well as for readers, so
 * that what was written can be read.
 */
#include "model/blockdef.h"
#include "base/format.h"
#include "base/le.h"
#include "base/util.h"

static int bad(struct ctr_diag *diag, uint64_t off, const char *what)
{
    return ctr_fail(diag, CTR_E_CORRUPT, off, "block", "bad block definition: %s", what);
}

/*
 * Whether slot i may have entry number `entry' of derive[]. Slots before it are
 * checked.
 */
static int derive_ok(const struct blockdef *d, unsigned i, unsigned entry)
{
    struct slot_derive v;
    struct ctr_slot s;
    if (entry >= d->nderived) {
        return 0;
    }
    blockdef_derive(d, entry, &v);
    blockdef_slot(d, i, &s);
    const uint8_t *p = d->derive + (size_t)entry * CTR_BLOCKDEF_DERIVE;
    if (s.group || v.bits < 1 || v.bits > 64 || p[3] & ~CTR_DERIVE_SIGNED) {
        return 0;
    }
    if (v.root == CTR_DERIVE_CONST) {
        return 1;
    }
    if (v.root >= i || v.delta < -CTR_MAX_DERIVE || v.delta > CTR_MAX_DERIVE) {
        return 0;
    }
    blockdef_slot(d, v.root, &s);
    return !s.reg && !s.group && !s.derived;
}

int blockdef_parse(struct blockdef *out, const void *def, size_t n, uint64_t off,
                   struct ctr_diag *diag)
{
    const uint8_t *p = def;
    if (n < CTR_BLOCKDEF_FIXED) {
        return bad(diag, off, "too short");
    }
    struct blockdef d = {
        .body = p,
        .ninsn = le16(p + CTR_BLOCKDEF_NINSN),
        .nslot = le16(p + CTR_BLOCKDEF_NSLOT),
        .ngroup = le16(p + CTR_BLOCKDEF_NGROUP),
        .flags = p[CTR_BLOCKDEF_FLAGS],
        .code_bytes = le32(p + CTR_BLOCKDEF_CODELEN),
    };
    if (d.ninsn < 1 || d.ninsn > CTR_MAX_BLOCK_INSNS) {
        return bad(diag, off, "number of instructions");
    }
    if (d.nslot > CTR_MAX_BLOCK_SLOTS) {
        return bad(diag, off, "number of slots");
    }
    if (d.flags & ~(CTR_BLOCK_HAS_PCS | CTR_BLOCK_HAS_TAGS | CTR_BLOCK_PART |
                    CTR_BLOCK_HAS_DERIVED)) {
        return bad(diag, off, "flags");
    }
    if (CTR_BLOCKDEF_PRIVILEGE_OF(p[CTR_BLOCKDEF_MODE]) >= CTR_PRIVILEGES) {
        return bad(diag, off, "privilege");
    }
    if (d.code_bytes > UINT16_MAX) {
        return bad(diag, off, "length of its code");
    }
    size_t want = (size_t)CTR_BLOCKDEF_FIXED + d.ninsn + d.code_bytes +
                  (size_t)d.nslot * CTR_BLOCKDEF_SLOT +
                  (d.flags & CTR_BLOCK_HAS_PCS ? (size_t)d.ninsn * 8 : 0);
    if (d.flags & CTR_BLOCK_HAS_TAGS) {
        if (n < want + 4) {
            return bad(diag, off, "length");
        }
        d.ntag = le32(p + want);
        d.tags = p + want + 4;
        if (d.ntag < 1 || d.ntag > CTR_MAX_BLOCK_TAGS) {
            return bad(diag, off, "number of tags");
        }
        want += 4 + (size_t)d.ntag * CTR_BLOCKDEF_TAG;
    }
    if (d.flags & CTR_BLOCK_HAS_DERIVED) {
        /* how many there are is checked against the slots below */
        size_t entries = n > want ? (n - want) / CTR_BLOCKDEF_DERIVE : 0;
        if (entries < 1 || entries > d.nslot) {
            return bad(diag, off, "length");
        }
        d.derive = p + want;
        d.nderived = (uint16_t)entries;
        want += entries * CTR_BLOCKDEF_DERIVE;
    }
    if (n != want) {
        return bad(diag, off, "length");
    }
    d.bytes = (uint32_t)n;
    d.len = p + CTR_BLOCKDEF_FIXED;
    d.code = d.len + d.ninsn;
    d.slot = d.code + d.code_bytes;
    if (d.flags & CTR_BLOCK_HAS_PCS) {
        d.pcs = d.slot + (size_t)d.nslot * CTR_BLOCKDEF_SLOT;
    }
    uint32_t sum = 0;
    for (unsigned i = 0; i < d.ninsn; i++) {
        sum += d.len[i];
    }
    if (sum != d.code_bytes) {
        return bad(diag, off, "instruction lengths");
    }
    unsigned last = 0, last_reg = 0, derived = 0;
    for (unsigned i = 0; i < d.nslot; i++) {
        const uint8_t *s = d.slot + (size_t)i * CTR_BLOCKDEF_SLOT;
        unsigned insn = le16(s), which = le16(s + 2);
        unsigned reg = s[4] & CTR_ACCESS_REG;
        if (insn < last || insn >= d.ninsn || (!reg && which > d.ngroup)) {
            return bad(diag, off, "slot");
        }
        if (reg) {
            if (s[4] & ~(CTR_ACCESS_SIZE_LOG2 | CTR_ACCESS_REG) || s[5] ||
                CTR_ACCESS_SIZE(s[4]) > MAX_REG_BYTES || which >= CTR_MAX_REGS) {
                return bad(diag, off, "register slot");
            }
            d.nreg++;
            d.reg_end = (uint16_t)(which >= d.reg_end ? which + 1 : d.reg_end);
        } else if (s[4] & ~(CTR_ACCESS_SIZE_LOG2 | CTR_ACCESS_STORE | CTR_ACCESS_BE |
                            CTR_ACCESS_NOVALUE | CTR_ACCESS_DERIVED) ||
                   s[5] >= CTR_MMUS) {
            return bad(diag, off, "kind of access");
        } else if (last_reg && insn == last) {
            return bad(diag, off, "an access after a register");
        } else if (s[4] & CTR_ACCESS_DERIVED && !derive_ok(&d, i, derived++)) {
            return bad(diag, off, "derived slot");
        }
        last = insn;
        last_reg = reg;
    }
    if (derived != d.nderived) {
        return bad(diag, off, "derived slot");
    }
    for (uint32_t i = 0; i < d.ntag; i++) {
        unsigned insn = le16(d.tags + (size_t)i * CTR_BLOCKDEF_TAG);
        if (insn >= d.ninsn && insn != CTR_TAG_BLOCK) {
            return bad(diag, off, "tag");
        }
    }
    *out = d;
    return 0;
}
