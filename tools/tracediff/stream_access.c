/* SPDX-License-Identifier: MIT */
/* The accesses of runs, as a stream has them. */
#include <string.h>

#include "common/array.h"
#include "stream_priv.h"

/* The value of an access of more than 8 bytes. */
static int add_value(struct batch *b, struct access *to, const struct ctr_access *a)
{
    if (!array_reserve(&b->pool, &b->pool_cap, b->npool + a->size, 1)) {
        return -CTR_E_NOMEM;
    }
    to->value = b->npool;
    memcpy(b->pool + b->npool, a->data, a->size);
    b->npool += a->size;
    return 0;
}

_Static_assert(ACCESS_STORE == 1 && ACCESS_BE == CTR_ACC_BE << 2, "bits are not moved");

static inline uint32_t access_what(const struct ctr_access *a, bool has_value)
{
    return a->size << 3 | a->store | (uint32_t)(a->flags & CTR_ACC_BE) << 2 |
           (has_value ? 0 : ACCESS_NOVALUE);
}

static inline int set_access(struct batch *b, struct access *to,
                             const struct ctr_access *a, uint32_t pos, bool values)
{
    const bool has = values && a->data;

    to->addr = a->addr;
    to->value = 0;
    to->pos = pos;
    to->what = access_what(a, has);
    if (has && a->size > 8) {
        return add_value(b, to, a);
    }
    if (has && a->size == 8) {
        memcpy(&to->value, a->data, 8);
    } else if (has && a->size == 4) {
        memcpy(&to->value, a->data, 4);
    } else if (has) {
        memcpy(&to->value, a->data, a->size);
    }
    return 0;
}

int stream_add_access(struct batch *b, const struct ctr_access *a, uint32_t pos,
                      bool values)
{
    if (b->naccess == b->access_cap &&
        !array_reserve(&b->access, &b->access_cap, b->naccess + 1, sizeof(*b->access))) {
        return -CTR_E_NOMEM;
    }
    return set_access(b, &b->access[b->naccess++], a, pos, values);
}

int stream_add_accesses(const struct stream *s, struct batch *b, const struct ctr_run *r)
{
    const bool values = s->accesses == CTR_RUN_VALUES;
    const uint32_t pos = b->ninsn - r->end;
    const struct ctr_access *a = r->access, *end = a + r->naccess;
    struct access *to;
    int ret = 0;

    if (b->naccess + r->naccess > b->access_cap &&
        !array_reserve(&b->access, &b->access_cap, b->naccess + r->naccess,
                       sizeof(*b->access))) {
        return -CTR_E_NOMEM;
    }
    to = b->access + b->naccess;
    if (!values) {
        for (; a < end; a++, to++) {
            (void)set_access(b, to, a, pos + a->insn, false);
        }
    }
    for (; !ret && a < end; a++, to++) {
        ret = set_access(b, to, a, pos + a->insn, true);
    }
    b->naccess = (size_t)(to - b->access);
    return ret;
}
