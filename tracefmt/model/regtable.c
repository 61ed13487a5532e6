/* SPDX-License-Identifier: MIT */
/*
 * Checks the register table. Everything that numbers registers or splits states relies
 * on it.
 */
#include "model/regtable.h"

#include <string.h>
#include "cannoli/events.h"
#include "model/value.h"

#define ENTRY_HEAD 4u
#define KNOWN_FLAGS (CTR_REG_RAW | CTR_REG_PIECE | CTR_REG_VECTOR | CTR_REG_SPECIAL)

static int bad_table(struct ctr_diag *diag, uint64_t off, uint32_t i, const char *what)
{
    return ctr_fail(diag, CTR_E_CORRUPT, off, "regs", "register %u: %s", i, what);
}

/*
 * The entry after a piece must have the same name and continue it, and all pieces must
 * fit.
 */
static int check_pieces(const struct regtable *t, uint64_t off, struct ctr_diag *diag)
{
    uint32_t whole = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct raw_reg *r = &t->reg[i];
        whole += r->size;
        if (whole > CTR_REG_STRIDE) {
            return bad_table(diag, off, i, "too wide");
        }
        if (!(r->flags & CTR_REG_PIECE)) {
            whole = 0;
        } else if (i + 1 == t->n || strcmp(r->name, r[1].name) != 0) {
            return bad_table(diag, off, i, "a piece without its continuation");
        }
    }
    return 0;
}

int regtable_parse(struct regtable *out, uint32_t n, const void *table, size_t bytes,
                   uint64_t off, struct ctr_diag *diag)
{
    const uint8_t *p = table;
    size_t left = bytes;
    int err = 0;
    memset(out, 0, sizeof(*out));
    if (n == 0 || n > CTR_MAX_REGS || bytes > (size_t)n * (ENTRY_HEAD + 255)) {
        return ctr_fail(diag, CTR_E_CORRUPT, off, "regs", "%u registers", n);
    }
    out->reg = calloc(n, sizeof(out->reg[0]));
    out->names = malloc(bytes + n);
    if (!out->reg || !out->names) {
        err = ctr_fail_nomem(diag);
        goto out_free;
    }
    char *name = out->names;
    for (uint32_t i = 0; i < n; i++) {
        size_t len = left < ENTRY_HEAD ? 0 : p[2];
        if (len == 0 || left - ENTRY_HEAD < len) {
            err = bad_table(diag, off, i, "the table is too short");
            goto out_free;
        }
        struct raw_reg *r = &out->reg[i];
        r->size = p[0];
        r->flags = p[1];
        r->off = out->state_bytes;
        r->name = name;
        for (size_t k = 0; k < len; k++) {
            uint8_t c = p[ENTRY_HEAD + k];
            if (c <= ' ' || c > '~') {
                err = bad_table(diag, off, i, "bad name");
                goto out_free;
            }
            *name++ = (char)c;
        }
        *name++ = 0;
        if (r->size == 0 || r->size > 16 || r->flags & ~KNOWN_FLAGS || p[3]) {
            err = bad_table(diag, off, i, "bad size or flags");
            goto out_free;
        }
        out->state_bytes += r->size;
        p += ENTRY_HEAD + len;
        left -= ENTRY_HEAD + len;
    }
    out->n = n;
    if (left || out->state_bytes > CTR_MAX_STATE_BYTES) {
        err = bad_table(diag, off, n, "the table is too long");
        goto out_free;
    }
    err = check_pieces(out, off, diag);
    if (!err) {
        return 0;
    }
out_free:
    regtable_fini(out);
    return err;
}

void regtable_places(const struct regtable *t, const uint8_t *state, uint64_t *place)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const uint8_t *p = state + t->reg[i].off;
        unsigned n = t->reg[i].size;
        place[i * 2u] = value_get(p, n < 8 ? n : 8, 0);
        place[i * 2u + 1] = n > 8 ? value_get(p + 8, n - 8, 0) : 0;
    }
}

void regtable_fini(struct regtable *t)
{
    free(t->reg);
    free(t->names);
    memset(t, 0, sizeof(*t));
}
