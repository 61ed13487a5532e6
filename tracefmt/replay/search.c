/* SPDX-License-Identifier: MIT */
/*
 * ctr_search: the access, or the execution of an instruction, next to a place.
 *
 * Chunks are searched one by one, away from the place, and the index shows which need
 * not be. Several workers take them in that order. Once a worker has found something no
 * more are taken than may have something nearer, and those on nearer chunks finish, so
 * that the nearest counts. An error counts as found at its place.
 *
 * Where threads ran one at a time (lanes.h), the chunks of a bundle are all searched, and
 * the slice decides which of two threads was nearer. Where they are merged by time, all
 * chunks are searched that the time of the place, or of what was found, is in.
 */
#include "replay/search_priv.h"

#include <string.h>
#include <unistd.h>

#define MAX_WORKERS 256u

static void *work(void *arg)
{
    struct searcher *me = arg;
    struct search *s = me->s;
    int got;
    do {
        pthread_mutex_lock(&s->lock);
        got = search_take(s, me);
        if (got < 0) {
            search_keep(s, me, got);
        }
        pthread_mutex_unlock(&s->lock);
        if (got == 1) {
            int result = search_look(me);
            pthread_mutex_lock(&s->lock);
            search_keep(s, me, result);
            pthread_mutex_unlock(&s->lock);
        }
        /* Merged, another chunk may have something nearer than the error. */
    } while (got == 1 || (got < 0 && s->order == SEARCH_MERGED));
    return NULL;
}

static int run_workers(struct search *s, unsigned workers, struct ctr_diag *diag)
{
    struct searcher *all = calloc(workers, sizeof(all[0]));
    pthread_t *thread = calloc(workers, sizeof(thread[0]));
    unsigned made = 0, n = 0;
    int err = all && thread ? 0 : -1;
    for (; !err && made < workers; made++) {
        all[made].s = s;
        err = walk_init(&all[made].walk);
        made += err != 0;
        if (err) {
            break;
        }
    }
    if (!err) {
        /* Fewer threads than wanted do the same work. */
        while (n + 1 < workers &&
               pthread_create(&thread[n], NULL, work, &all[n + 1]) == 0) {
            n++;
        }
        work(&all[0]);
        while (n) {
            pthread_join(thread[--n], NULL);
        }
    }
    for (unsigned i = 0; i < made; i++) {
        walk_fini(&all[i].walk);
        buf_free(&all[i].raw.payload);
    }
    free(all);
    free(thread);
    return err ? ctr_fail_nomem(diag) : 0;
}

/* The place, of a search that goes on from what another one found. */
static void go_on(struct search *s, const struct ctr_found *from)
{
    s->thread = from->thread->index;
    s->ordinal = from->ordinal;
    s->point = from->system;
    s->system_here = from->system && s->back;
    s->found_insn = !from->system;
    s->when = from->time_ns;
}

/* What to read. */
static void choose(struct search *s)
{
    const uint32_t accesses = CTR_KIND_LOAD | CTR_KIND_STORE;
    struct feed *f = &s->feed;
    s->exec = !(f->filter.naddr + f->filter.nphys);
    f->want =
        !s->exec && s->tr->events & CTR_HAS_MEM && f->kinds & accesses ? DEC_MEM : 0;
    f->want |= f->want && f->filter.nphys ? DEC_PHYS : 0;
    f->runs = s->exec ? (f->kinds & CTR_KIND_EXEC) != 0 : f->want != 0;
    s->system.runs = 0;
    f->os = s->system.os =
        !f->filter.npc && f->kinds & accesses ? f->kinds & CTR_KIND_SYS : 0;
    f->slices = s->system.slices = s->order != SEARCH_ALONE;
}

static int search(struct search *s, unsigned workers, struct ctr_diag *diag)
{
    int err = search_find_place(s, diag);
    err = err ? err : run_workers(s, workers, diag);
    int more = err ? err : search_more(s, diag);
    if (more == 1) {
        more = run_workers(s, workers, diag);
    }
    if (!more && !s->result && !s->back && s->tr->damage.code == CTR_E_CORRUPT) {
        s->result = -CTR_E_CORRUPT;
        s->diag = s->tr->damage;
    }
    if (!more && s->result < 0 && diag) {
        *diag = s->diag;
    }
    return more ? more : s->result;
}

int ctr_search(struct ctr_trace *tr, const struct ctr_filter *filter, uint32_t thread,
               uint64_t ordinal, unsigned flags, unsigned workers, struct ctr_found *out,
               struct ctr_diag *diag)
{
    struct search s = {
        .tr = tr,
        .back = (flags & CTR_SEARCH_BACK) != 0,
        .point = (flags & (CTR_SEARCH_POINT | CTR_SEARCH_SYSTEM)) != 0,
        .system_here = (flags & CTR_SEARCH_SYSTEM) != 0,
        .thread = thread,
        .ordinal = ordinal,
        .first_ns = UINT64_MAX,
    };
    if (!tr->src.seekable || !filter || !(filter->naddr + filter->nphys + filter->npc)) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "search",
                        "it needs a file and addresses");
    }
    if (flags & CTR_SEARCH_FOUND) {
        go_on(&s, out);
    }
    if (workers == 0) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        workers = n > 0 ? (unsigned)n : 1;
    }
    workers = workers > MAX_WORKERS ? MAX_WORKERS : workers;
    workers = workers > tr->nchunks ? (unsigned)tr->nchunks : workers;
    int err = feed_init(&s.feed, tr, filter, diag);
    if (err) {
        return err;
    }
    err = feed_init(&s.system, tr, filter, diag);
    if (err) {
        feed_fini(&s.feed);
        return err;
    }
    s.order = search_order_of(&s);
    s.found = s.order == SEARCH_MERGED && flags & CTR_SEARCH_FOUND;
    choose(&s);
    pthread_mutex_init(&s.lock, NULL);
    int ret = search(&s, workers, diag);
    pthread_mutex_destroy(&s.lock);
    free(s.across);
    feed_fini(&s.feed);
    feed_fini(&s.system);
    if (ret == 1) {
        *out = s.out;
    }
    return ret;
}
