/* SPDX-License-Identifier: MIT */
/*
 * A machine goes on from another state: a snapshot was loaded, or it was reset.  What called
 * what before is no longer true, of no task and no vCPU, so all stacks end there, and those
 * of the new state are not known.
 *
 * Of a load each vCPU has an event, right before it runs again, when others may have run
 * already: the first one ends the stacks of all, those of the same load only the vCPU's own.
 * A reset is of the machine if it is that of the first vCPU, which was not off; others are
 * reset alone, when the guest switches them on.
 */
#include "calltree_priv.h"

#include "cannoli/events.h"

static int end_stack(struct fold *f, struct thread_state *t)
{
    int ret = fold_pop_to(f, t, 1);

    park_free(t->parked);
    t->parked = NULL;
    t->last = (struct ev){.leave = LEAVE_LAND};
    stack_fit(&t->stack);
    return ret;
}

static int end_vcpus(struct fold *f, const struct thread_state *but)
{
    int ret = 0;

    for (uint32_t i = 0; !ret && i < f->nr_threads; i++) {
        struct thread_state *t = &f->threads[i];

        ret = t != but && t->begun ? end_stack(f, t) : 0;
        fold_budget(f, t);
    }
    return ret;
}

/* Whether this event of a load is the first one. */
static bool is_first(struct fold *f, struct thread_state *t)
{
    const bool first = t->loads == f->loads;

    f->loads += first;
    t->loads = f->loads;
    return first;
}

int fold_power(struct fold *f, struct thread_state *t, uint32_t op)
{
    const bool all = op == CTR_POWER_LOADED ? is_first(f, t) || f->parallel
                                            : t == f->threads && !t->off;
    int ret;

    t->off = op == CTR_POWER_OFF;
    if (t->off) {
        return 0;
    }
    ret = end_stack(f, t);
    if (all && !f->parallel) {
        ret = ret ? ret : end_vcpus(f, t);
    }
    return ret || !all ? ret : fold_end_tasks(f, f->parallel ? t : NULL, end_stack);
}
