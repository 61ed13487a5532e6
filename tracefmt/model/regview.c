/* SPDX-License-Identifier: MIT */
/*
 * A register slot says that a register may have been written; users want to see which
 * values changed, under the names of the machine's manual. So values are kept as
 * recorded (`raw') and as shown, and after each instruction the shown registers that
 * were touched are compared.
 */
#include "model/regview.h"

#include <stdio.h>
#include <string.h>
#include "base/le.h"
#include "cannoli/events.h"

static uint16_t find_entry(const struct regtable *t, const char *name)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (strcmp(t->reg[i].name, name) == 0) {
            return t->reg[i].flags & CTR_REG_PIECE ? NO_REG : (uint16_t)i;
        }
    }
    return NO_REG;
}

/* Puts a number in the place of the %. */
static void numbered(char *out, size_t size, const char *name, unsigned number)
{
    const char *at = strchr(name, '%');
    if (at) {
        snprintf(out, size, "%.*s%u%s", (int)(at - name), name, number, at + 1);
    } else {
        snprintf(out, size, "%s", name);
    }
}

/* Finds the parts of number `number' of d.  Returns the lowest, or NO_REG. */
static uint16_t find_parts(const struct regtable *t, const struct derive *d,
                           unsigned number, uint16_t *in)
{
    uint16_t lowest = NO_REG;
    memset(in, 0xff, DERIVE_MAX_IN * sizeof(in[0]));
    for (unsigned i = 0; i < DERIVE_MAX_IN && d->in[i]; i++) {
        char name[32];
        numbered(name, sizeof(name), d->in[i], number);
        in[i] = find_entry(t, name);
        if (in[i] == NO_REG) {
            return NO_REG;
        }
        lowest = in[i] < lowest ? in[i] : lowest;
    }
    return lowest;
}

static struct shown_reg *add(struct regview *v, const char *name, uint32_t size,
                             uint32_t flags)
{
    struct shown_reg *r = &v->reg[v->n];
    r->pub = (struct ctr_reg){v->n, size, flags, name};
    r->off = v->bytes;
    memset(r->in, 0xff, sizeof(r->in));
    v->bytes += size;
    v->n++;
    return r;
}

/* Adds the computed registers whose first part is entry i. */
static void add_derived(struct regview *v, uint32_t machine, uint32_t i)
{
    for (const struct derive *d = derive_all; d->name; d++) {
        if (d->machine[0] != machine && d->machine[1] != machine) {
            continue;
        }
        for (unsigned k = 0; k < (d->count ? d->count : 1u); k++) {
            uint16_t in[DERIVE_MAX_IN];
            if (find_parts(v->table, d, k, in) != i) {
                continue;
            }
            uint32_t size = d->size;
            for (unsigned j = 0; !d->size && j < DERIVE_MAX_IN && in[j] != NO_REG; j++) {
                size = v->table->reg[in[j]].size;
            }
            struct shown_reg *r = add(v, d->name, size, d->flags);
            r->derive = d;
            r->number = k;
            memcpy(r->in, in, sizeof(in));
            while (r->nparts < DERIVE_MAX_IN && in[r->nparts] != NO_REG) {
                r->nparts++;
            }
            numbered(r->name, sizeof(r->name), d->name, k);
            r->pub.name = r->name;
        }
    }
}

/* The shown registers to update when an entry is written. */
static int make_feeds(struct regview *v)
{
    uint32_t *at = calloc((size_t)v->table->n + 2, sizeof(at[0]));
    v->feed_at = at;
    v->feed = malloc((v->table->n + (size_t)v->n * DERIVE_MAX_IN) * sizeof(v->feed[0]));
    if (!at || !v->feed) {
        return -1;
    }
    /* First they are counted; then each list grows from the place where it begins. */
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < v->n; i++) {
            const struct shown_reg *r = &v->reg[i];
            for (uint32_t k = 0; k < r->nparts; k++) {
                uint32_t entry = r->derive ? r->in[k] : r->first + k;
                if (fill) {
                    v->feed[at[entry + 1]++] = (uint16_t)i;
                } else {
                    at[entry + 2]++;
                }
            }
        }
        for (uint32_t i = 2; !fill && i < v->table->n + 2; i++) {
            at[i] += at[i - 1];
        }
    }
    return 0;
}

int regview_init(struct regview *v, const struct regtable *t, uint32_t machine)
{
    size_t most = t->n;
    for (const struct derive *d = derive_all; d->name; d++) {
        most += d->count ? d->count : 1u;
    }
    memset(v, 0, sizeof(*v));
    v->table = t;
    v->reg = calloc(most, sizeof(v->reg[0]));
    if (!v->reg) {
        return -1;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t first = i;
        uint32_t size = t->reg[i].size;
        while (t->reg[i].flags & CTR_REG_PIECE) {
            size += t->reg[++i].size;
        }
        if (!(t->reg[first].flags & CTR_REG_RAW)) {
            struct shown_reg *r =
                add(v, t->reg[first].name, size,
                    t->reg[first].flags & (CTR_REG_VECTOR | CTR_REG_SPECIAL));
            r->first = (uint16_t)first;
            r->raw_off = t->reg[first].off;
            r->nparts = (uint16_t)(i - first + 1);
        }
        add_derived(v, machine, first);
    }
    if (make_feeds(v)) {
        regview_fini(v);
        return -1;
    }
    return 0;
}

void regview_fini(struct regview *v)
{
    free(v->reg);
    free(v->feed_at);
    free(v->feed);
    memset(v, 0, sizeof(*v));
}

/* -------------------------------------------------------------- their values */

int regstate_init(struct regstate *s, const struct regview *v)
{
    regstate_fini(s);
    s->raw = calloc(1, v->table->state_bytes);
    s->shown = calloc(1, v->bytes + 1);
    s->known = calloc(3, v->n + 1);
    s->dirty = calloc(2 * ((size_t)v->n + 1), sizeof(s->dirty[0]));
    s->way = calloc((size_t)v->table->n + 1, sizeof(s->way[0]));
    if (!s->raw || !s->shown || !s->known || !s->dirty || !s->way) {
        regstate_fini(s);
        return -1;
    }
    s->is_dirty = s->known + v->n + 1;
    s->changed = s->dirty + v->n + 1;
    s->view = v;
    return 0;
}

void regstate_fini(struct regstate *s)
{
    free(s->raw);
    free(s->shown);
    free(s->known);
    free(s->dirty);
    free(s->way);
    memset(s, 0, sizeof(*s));
}

static struct regval entry_value(const struct regstate *s, unsigned entry)
{
    const struct raw_reg *r = &s->view->table->reg[entry];
    const uint8_t *p = s->raw + r->off;
    if (r->size == 8 || r->size == 4) {
        return (struct regval){r->size == 8 ? le64(p) : le32(p), 0};
    }
    uint8_t v[16] = {0};
    memcpy(v, p, r->size);
    return (struct regval){le64(v), le64(v + 8)};
}

static int compute(struct regstate *s, const struct shown_reg *r)
{
    struct regval in[DERIVE_MAX_IN];
    struct derive_args a = {in, r->number, r->pub.size * 8};
    uint8_t value[16];
    for (unsigned k = 0; k < r->nparts; k++) {
        in[k] = entry_value(s, r->in[k]);
    }
    struct regval v = r->derive->fn(&a);
    put64(value, v.lo);
    put64(value + 8, v.hi);
    return regstate_replace(s->shown + r->off, value, r->pub.size);
}

/* Updates shown register i; returns 1 if its value changed. */
static inline int refresh(struct regstate *s, unsigned i)
{
    const struct shown_reg *r = &s->view->reg[i];
    uint8_t *old = s->shown + r->off;
    const uint8_t *now = s->raw + r->raw_off;
    int changed = r->derive ? compute(s, r) : regstate_replace(old, now, r->pub.size);
    changed |= !s->known[i];
    s->known[i] = 1;
    return changed;
}

static struct entry_way way_of(const struct regstate *s, uint32_t entry)
{
    const struct regview *v = s->view;
    const uint32_t from = v->feed_at[entry], to = v->feed_at[entry + 1];
    struct entry_way w = {.raw_off = v->table->reg[entry].off, .way = WAY_NONE};
    for (uint32_t i = from; i < to; i++) {
        const struct shown_reg *r = &v->reg[v->feed[i]];
        if (s->is_dirty[v->feed[i]]) {
            continue; /* it is not wanted */
        }
        const int alone = w.way == WAY_NONE && !r->derive && r->nparts == 1 &&
                          (r->pub.size == 8 || r->pub.size == 4) && s->all_known;
        w.way = alone ? WAY_NUMBER : WAY_ANY;
        if (!alone) {
            break;
        }
        w.shown = v->feed[i];
        w.shown_off = r->off;
        w.size = (uint8_t)r->pub.size;
    }
    return w;
}

void regstate_set(struct regstate *s, const uint8_t *state)
{
    const struct regview *v = s->view;
    memset(s->known, 0, v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        /* What is not wanted is as if it were in the list already. */
        s->is_dirty[i] = s->wanted && !s->wanted[i];
    }
    s->ndirty = s->nchanged = 0;
    s->all_known = state != NULL;
    for (uint32_t i = 0; i < v->table->n; i++) {
        s->way[i] = way_of(s, i);
    }
    if (!state) {
        memset(s->raw, 0, v->table->state_bytes);
        memset(s->shown, 0, v->bytes);
        return;
    }
    memcpy(s->raw, state, v->table->state_bytes);
    for (uint32_t i = 0; i < v->n; i++) {
        refresh(s, i);
    }
}

/* An instruction changes few of them, so each is inserted at its place. */
static void add_changed(struct regstate *s, uint16_t reg)
{
    uint32_t i = s->nchanged++;
    for (; i > 0 && s->changed[i - 1] > reg; i--) {
        s->changed[i] = s->changed[i - 1];
    }
    s->changed[i] = reg;
}

void regstate_settle_dirty(struct regstate *s)
{
    for (uint32_t i = 0; i < s->ndirty; i++) {
        uint16_t r = s->dirty[i];
        s->is_dirty[r] = 0;
        if (refresh(s, r)) {
            add_changed(s, r);
        }
    }
    s->ndirty = 0;
}
