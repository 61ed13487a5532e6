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

struct regstate {
    const struct regview *view;
    uint8_t *raw;   /* a state */
    uint8_t *shown; /* as of the last regstate_settle */
    uint8_t *known; /* of each shown register: it has a value */
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

/* Entry `reg' of the table is written. */
static inline void regstate_write(struct regstate *s, unsigned reg, const uint8_t *value)
{
    const struct raw_reg *r = &s->view->table->reg[reg];
    uint8_t *raw = s->raw + r->off;
    if (r->size == 8) {
        memcpy(raw, value, 8);
    } else if (r->size == 4) {
        memcpy(raw, value, 4);
    } else {
        memcpy(raw, value, r->size);
    }
    for (uint32_t i = s->view->feed_at[reg]; i < s->view->feed_at[reg + 1]; i++) {
        uint16_t f = s->view->feed[i];
        if (!s->is_dirty[f]) {
            s->is_dirty[f] = 1;
            s->dirty[s->ndirty++] = f;
        }
    }
}

/* Finds out which registers have other values than at the last call. */
void regstate_settle(struct regstate *s);

static inline const uint8_t *regstate_value(const struct regstate *s, unsigned i)
{
    return s->shown + s->view->reg[i].off;
}

#endif
