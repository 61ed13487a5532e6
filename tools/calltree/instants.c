/* SPDX-License-Identifier: MIT */
/* Reads the states of places a thread at a time, in order; see instants.h. */
#include "instants.h"

#include <stdlib.h>

struct reader {
    const struct instant_wanted *v; /* of this thread */
    int (*put)(void *arg, const struct instant_wanted *w,
               const struct ctr_state_point *s);
    void *arg;
};

static int by_place(const void *a, const void *b)
{
    const struct instant *x = &((const struct instant_wanted *)a)->at;
    const struct instant *y = &((const struct instant_wanted *)b)->at;

    return x->thread != y->thread ? (x->thread > y->thread) - (x->thread < y->thread)
                                  : (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

static int on_state(void *arg, size_t i, const struct ctr_state_point *s)
{
    const struct reader *r = arg;

    return r->put(r->arg, &r->v[i], s);
}

int instants_read(struct ctr_trace *tr, struct instant_wanted *v, size_t n,
                  int (*put)(void *arg, const struct instant_wanted *w,
                             const struct ctr_state_point *s),
                  void *arg, int no_memory, struct ctr_diag *diag)
{
    uint64_t *ordinals = malloc((n + 1) * sizeof(*ordinals));
    int ret = ordinals ? 0 : no_memory;

    if (n) {
        qsort(v, n, sizeof(*v), by_place);
    }
    for (size_t i = 0, of; !ret && i < n; i += of) {
        struct reader r = {v + i, put, arg};

        for (of = 0; i + of < n && v[i + of].at.thread == v[i].at.thread; of++) {
            ordinals[of] = v[i + of].at.ordinal;
        }
        ret = ctr_states(tr, v[i].at.thread, ordinals, of, on_state, &r, diag);
    }
    free(ordinals);
    return ret;
}
