/* SPDX-License-Identifier: MIT */
/*
 * Places of a trace with very many changes of mappings, for those who show only a part of
 * it: a file is resolved when a query finds the first mapping of it.
 *
 * A file without a build id is compared with the code that ran at its addresses, which
 * takes all of the mappings.  At the first such file everything is loaded from a second
 * handle of the trace, and answers from then on.  What was answered before stays true: a
 * file with a build id is the right one, or is not used, whatever is mapped later.  The
 * same is done when a process has code in no file that a perf map or jitdump may name.
 */
#include "places_priv.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/options.h"
#include "input/mappings.h"
#include "input/trace.h"

struct lazy_places {
    pthread_mutex_t lock; /* of this, and of the list of files and the modset */
    const char *path;
    unsigned open_flags;
    struct ctr_trace *trace;         /* NULL: not opened yet */
    struct places *whole;            /* NULL: not needed yet */
    int status;                      /* TOOL_FAILED after a message */
    const struct ctr_maps **checked; /* by process: those that name no code it made */
    const struct whole_places *ops;
};

bool places_lazy_init(struct places *p, const char *path, unsigned open_flags,
                      const struct whole_places *ops)
{
    p->lazy = calloc(1, sizeof(*p->lazy));
    if (!p->lazy) {
        return false;
    }
    p->lazy->checked = calloc((size_t)p->nr_jit + 1, sizeof(*p->lazy->checked));
    if (!p->lazy->checked) {
        free(p->lazy);
        p->lazy = NULL;
        return false;
    }
    pthread_mutex_init(&p->lazy->lock, NULL);
    p->lazy->ops = ops;
    p->lazy->path = path;
    p->lazy->open_flags = open_flags;
    return true;
}

void places_lazy_fini(struct places *p)
{
    if (p->lazy) {
        p->lazy->ops->free(p->lazy->whole);
        ctr_close(p->lazy->trace);
        pthread_mutex_destroy(&p->lazy->lock);
        free(p->lazy->checked);
        free(p->lazy);
    }
}

int places_lazy_status(const struct places *p)
{
    return p->lazy ? p->lazy->status : TOOL_OK;
}

static int load_all(const struct places *p, struct lazy_places *l)
{
    int status = tool_trace_open(p->set->opt.prog, l->path, l->open_flags, &l->trace);

    return status ? status : l->ops->load(&l->whole, p->set, l->trace, l->path);
}

/* Also returns NULL after an error, which l->status has. */
static struct mod *resolve(struct places *p, struct lazy_places *l,
                           const struct ctr_mapping *m)
{
    struct mapped_file *f = places_file(p, m), one;

    if (!f && places_add_file(p, m)) {
        tool_error(p->set->opt.prog, "%s: no memory", l->path);
        l->status = TOOL_FAILED;
        return NULL;
    }
    f = f ? f : places_file(p, m);
    if (!f || f->mod) {
        return f ? f->mod : NULL;
    }
    one = *f;
    one.seq = 0; /* alone in its list */
    l->status = modset_resolve(p->set, &p->target, &one, 1);
    f->mod = one.mod;
    if (!l->status && mod_needs_check(f->mod)) {
        l->status = load_all(p, l);
    }
    return l->status ? NULL : f->mod;
}

const struct places *places_lazy_generated(const struct places *p, uint32_t process,
                                           uint64_t time_ns)
{
    const struct ctr_maps *maps = mappings_history(p->mappings, time_ns);
    struct lazy_places *l = p->lazy;
    const struct places *whole;

    pthread_mutex_lock(&l->lock);
    if (!l->whole && !l->status && process < p->nr_jit && l->checked[process] != maps) {
        l->checked[process] = maps;
        if (places_jit_wanted(p, process, maps)) {
            l->status = load_all(p, l);
        }
    }
    whole = l->whole;
    pthread_mutex_unlock(&l->lock);
    return whole;
}

struct mod *places_lazy_mod(const struct places *p, const struct ctr_mapping *m,
                            const struct places **whole)
{
    struct lazy_places *l = p->lazy;
    struct mod *mod = NULL;

    pthread_mutex_lock(&l->lock);
    if (!l->whole && !l->status) {
        mod = resolve((struct places *)(uintptr_t)p, l, m);
    }
    *whole = l->whole;
    pthread_mutex_unlock(&l->lock);
    return mod;
}
