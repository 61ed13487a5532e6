/* SPDX-License-Identifier: MIT */
/*
 * Registers as they are shown: with pieces joined, and computed where QEMU keeps them
 * in parts. And their values during the walk over a chunk.
 */
#ifndef CTR_REGVIEW_H
#define CTR_REGVIEW_H

#include <string.h>
#include "model/derive.h"
#include "model/regtable.h"

#define NO_REG UINT16_MAX

struct shown_reg {
    struct ctr_reg pub;
    uint32_t off;     /* of its value among the shown ones */
    uint32_t raw_off; /* not computed: in a state */
    uint16_t nparts;
    uint16_t first;              /* not computed: entry of its first part */
    const struct derive *derive; /* computed, of entries in[0..nparts-1] */
    unsigned number;             /* index among several alike */
    uint16_t in[DERIVE_MAX_IN];
    char name[16]; /* computed */
};

struct regview {
    const struct regtable *table;
    uint32_t n;
    uint32_t bytes; /* of all values */
    struct shown_reg *reg;
    /* Shown registers that entry i is in: feed[feed_at[i]..feed_at[i + 1]-1]. */
    uint32_t *feed_at;
    uint16_t *feed;
};

int regview_init(struct regview *v, const struct regtable *t, uint32_t machine);
void regview_fini(struct regview *v);

/* -------------------------------------------------------------- their values */

/* How a write of an entry of the table is followed. */
struct entry_way {
    uint32_t raw_off, shown_off;
    uint16_t shown;
    uint8_t way;
    uint8_t size; /* WAY_NUMBER */
};
#define WAY_ANY 0u  /* by regstate_write and regstate_settle */
#define WAY_NONE 1u /* nothing that is wanted depends on it */
#define WAY_NUMBER                                                                       \
    2u /* it is a shown register of 4 or 8 bytes, and nothing else depends on it */

struct regstate {
    const struct regview *view;
    struct entry_way *way; /* of each entry */
    uint8_t *raw;          /* a state */
    uint8_t *shown;        /* as of the last regstate_settle */
    uint8_t *known;        /* of each shown register: it has a value */
    int all_known;
    const uint8_t *wanted; /* not NULL: only these shown registers are followed */
    uint8_t *is_dirty;
    uint16_t *dirty; /* shown registers of which a part was written since */
    uint32_t ndirty;
    uint16_t *changed; /* by the last regstate_settle, ascending */
    uint32_t nchanged;
};

/* Initializes it for this view, or changes the view. Returns 0 or -1 (no memory). */
int regstate_init(struct regstate *s, const struct regview *v);
void regstate_fini(struct regstate *s);

/* Sets all values; NULL: none is known. */
void regstate_set(struct regstate *s, const uint8_t *state);

/* Replaces n bytes; returns 1 if they differ from the old ones. */
static inline int regstate_replace(uint8_t *old, const uint8_t *now, size_t n)
{
    int differ = n == 8   ? memcmp(old, now, 8) != 0
                 : n == 4 ? memcmp(old, now, 4) != 0
                          : memcmp(old, now, n) != 0;
    if (n == 8) {
        memcpy(old, now, 8);
    } else if (n == 4) {
        memcpy(old, now, 4);
    } else {
        memcpy(old, now, n);
    }
    return differ;
}

/*
 * Entry `reg' of the table is written.  With the value that it has, it changes nothing that
 * is shown, unless that was not known.
 */
static inline void regstate_write(struct regstate *s, unsigned reg, const uint8_t *value)
{
    const struct raw_reg *r = &s->view->table->reg[reg];
    if (!regstate_replace(s->raw + r->off, value, r->size) && s->all_known) {
        return;
    }
    for (uint32_t i = s->view->feed_at[reg]; i < s->view->feed_at[reg + 1]; i++) {
        uint16_t f = s->view->feed[i];
        if (!s->is_dirty[f]) {
            s->is_dirty[f] = 1;
            s->dirty[s->ndirty++] = f;
        }
    }
}

/*
 * The only write of an entry with WAY_NUMBER between two calls of regstate_settle.  Returns
 * whether the value changed.
 */
static inline int regstate_write_number(struct regstate *s, const struct entry_way *w,
                                        const uint8_t *value)
{
    if (w->size == 4) {
        memcpy(s->raw + w->raw_off, value, 4);
        return regstate_replace(s->shown + w->shown_off, value, 4);
    }
    memcpy(s->raw + w->raw_off, value, 8);
    return regstate_replace(s->shown + w->shown_off, value, 8);
}

/* Finds out which registers have other values than at the last call. */
void regstate_settle_dirty(struct regstate *s);
static inline void regstate_settle(struct regstate *s)
{
    s->nchanged = 0;
    if (s->ndirty) {
        regstate_settle_dirty(s);
    }
}

static inline const uint8_t *regstate_value(const struct regstate *s, unsigned i)
{
    return s->shown + s->view->reg[i].off;
}

#endif
