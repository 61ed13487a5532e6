/* SPDX-License-Identifier: MIT */
/*
 * Frees definitions that are out of use.
 *
 * A guest that generates code for ever defines blocks for ever.  When its process throws
 * its translated code away it forgets its definitions and begins a new epoch (mempipe.h);
 * here an epoch is forgotten when nothing can refer to its ids any more:
 *
 *   current   its process may define and run more blocks of it
 *   left      the process has defined a block in a later epoch.  Each thread hands over
 *             the buffer that it filled in the old one before it runs anything of the
 *             new one.  So the epoch is over when a round that began with no pipe in it
 *             has ended: all its mail and all its side records have been read by then
 *   over      all buffers that use it are in jobs.  When these are done, and no process
 *             is alive that was forked in it, its ids mean nothing any more and go back
 *             to QEMU; their definitions are freed as soon as they are in the file,
 *             unless they have been defined again (dict.c)
 *
 * So memory holds the definitions of code that is in use, and those of the last moments.
 *
 * A thread may sleep for hours with a buffer that it began in an epoch that all others
 * have left.  It adds no id to that buffer any more: the ids in it are all that is still
 * needed of the epoch.  The others are forgotten (thinning) when the buffers that were
 * handed over before are done.
 *
 * A process that goes on for a killed recorder forgets nothing: the guest defines no more
 * blocks.
 */
#include "drain_priv.h"

#include <stdlib.h>
#include <string.h>

/* A fork takes no longer than this, unless its child was killed in it. */
#define FORK_NS 10000000000ull
/* How often epochs that were left are checked: there may be many pipes. */
#define LOOK_NS 5000000ull
/* A thread that is still in an epoch that was left this long ago sleeps. */
#define SLEEP_NS 250000000ull
/* With more ids than this the search in those buffers is given up. */
#define KEPT_MOST (1u << 20)
/* More epochs cannot be left at a time, unless a guest makes them up. */
#define LEFT_MOST (1u << 16)

enum epoch_state { EPOCH_CURRENT, EPOCH_LEFT, EPOCH_OVER };

struct epoch {
    uint32_t number;
    enum epoch_state state;
    struct guest_process *process; /* NULL: it has ended */
    struct epoch *from;            /* the process was forked in it, or NULL */
    uint32_t children;             /* epochs that were forked in this one */
    bool busy;        /* at the last check it was not left, or a pipe was in it */
    bool sleeps;      /* but those pipes are of threads that may sleep */
    uint64_t left_ns; /* when it was first seen left, 0: it was not */
    uint64_t stamp;   /* of the last job that may need it */
    enum { WHOLE, THINNING, THIN } thin;
    uint32_t *kept; /* THINNING: ids in buffers of sleeping threads, ascending */
    uint32_t n_kept;
    uint32_t *pages; /* of ids, that are this epoch's */
    uint32_t n_pages, cap_pages;
    struct epoch *next;
};

/* The epoch with this number, of a process or of any (NULL).  Numbers are unique unless a
 * guest overwrites them. */
static struct epoch *find(const struct drain *d, const struct guest_process *p,
                          uint32_t number)
{
    struct epoch *e = p ? p->epoch : NULL;

    if (e && e->number == number) {
        return e;
    }
    for (e = d->epochs; e && (e->number != number || (p && e->process != p));) {
        e = e->next;
    }
    return e;
}

static void leave(struct drain *d, struct epoch *e)
{
    if (e->state == EPOCH_CURRENT) {
        e->state = EPOCH_LEFT;
        d->n_left++;
    }
}

static struct epoch *begin(struct drain *d, struct guest_process *p, uint32_t number)
{
    struct epoch *e = calloc(1, sizeof(*e)), *now = p->epoch;

    if (!e) {
        return NULL;
    }
    *e = (struct epoch){.number = number, .process = p, .busy = true, .next = d->epochs};
    d->epochs = e;
    if (now && (int32_t)(number - now->number) < 0) {
        leave(d, e); /* its pipe was looked at late */
        return e;
    }
    if (now) {
        leave(d, now);
    }
    p->epoch = e;
    return e;
}

/* The epoch of a process, also if nothing has been seen of it; NULL: no memory. */
static struct epoch *need(struct drain *d, struct guest_process *p, uint32_t number)
{
    struct epoch *e = find(d, p, number);

    return e ? e : begin(d, p, number);
}

int drain_epoch_adopt(struct drain *d, uint32_t pipe, struct guest_process *p)
{
    const struct mempipe_pipe *m = &d->host->pipes[pipe];
    /* pairs with the producer's release store */
    struct epoch *e =
        d->resumed ? NULL : need(d, p, __atomic_load_n(&m->epoch, __ATOMIC_ACQUIRE));
    const uint32_t number = __atomic_load_n(&m->is_process, __ATOMIC_RELAXED)
                                ? __atomic_load_n(&m->from_epoch, __ATOMIC_RELAXED)
                                : 0;
    const uint32_t serial = __atomic_load_n(&m->from_process, __ATOMIC_RELAXED);
    struct epoch *from = number ? find(d, NULL, number) : NULL;
    struct guest_process *parent = number ? guests_find(d->guests, serial) : NULL;

    if (d->resumed) {
        return 0;
    }
    if (e && !from && parent) {
        /* As far as we know its parent has defined nothing in it yet. */
        from = need(d, parent, number);
        e = from ? e : NULL;
    }
    if (!e) {
        return -CTR_E_NOMEM;
    }
    /* An overwritten number harms only the guest that wrote it. */
    if (from && from != e && !e->from) {
        e->from = from;
        from->children++;
    }
    return 0;
}

/* The page of ids belongs to e from now on. */
static int claim_page(struct drain *d, uint32_t pipe, struct epoch *e, uint32_t page)
{
    if (page >= MEMPIPE_ID_PAGES) {
        return drain_reject(d, pipe, "a block has an impossible id");
    }
    if (page >= d->n_owners) {
        uint32_t n = 2 * d->n_owners > page ? 2 * d->n_owners : page + 64;
        struct epoch **more = realloc(d->owner, n * sizeof(*more));

        if (!more) {
            return -CTR_E_NOMEM;
        }
        memset(more + d->n_owners, 0, (n - d->n_owners) * sizeof(*more));
        d->owner = more;
        d->n_owners = n;
    }
    if (d->owner[page]) {
        return d->owner[page] == e
                   ? 0
                   : drain_reject(d, pipe, "the id of a block is another one's");
    }
    if (e->n_pages == e->cap_pages) {
        uint32_t n = 2 * e->cap_pages + 16;
        uint32_t *more = realloc(e->pages, n * sizeof(*more));

        if (!more) {
            return -CTR_E_NOMEM;
        }
        e->pages = more;
        e->cap_pages = n;
    }
    e->pages[e->n_pages++] = page;
    d->owner[page] = e;
    return 0;
}

int drain_epoch_block(struct drain *d, uint32_t pipe, uint32_t id, uint32_t number)
{
    struct guest_process *p = d->slots[pipe].thread->process;
    struct epoch *e = find(d, p, number);

    if (!e && d->n_left > LEFT_MOST) {
        return drain_reject(d, pipe, "there is no end of new epochs");
    }
    e = e ? e : begin(d, p, number);
    return e ? claim_page(d, pipe, e, id / MEMPIPE_ID_PAGE) : -CTR_E_NOMEM;
}

void drain_epoch_end(struct drain *d, struct guest_process *p)
{
    for (struct epoch *e = d->epochs; e; e = e->next) {
        if (e->process == p) {
            e->process = NULL;
            leave(d, e);
        }
    }
    p->epoch = NULL;
}

/* ------------------------------------------------------------- in a round */

/* Whether a pipe is, or is about to be, in an epoch that was left. */
static bool is_in(const struct drain *d, uint32_t pipe, const struct epoch *e,
                  uint64_t now)
{
    const struct mempipe_pipe *p = &d->host->pipes[pipe];
    const struct slot *s = &d->slots[pipe];
    /* both pair with the producer's release stores */
    uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
    uint32_t number = __atomic_load_n(&p->epoch, __ATOMIC_ACQUIRE);
    uint32_t from;

    if (state == MEMPIPE_FREE || s->closing) {
        return false;
    }
    if (s->thread) {
        return number == e->number;
    }
    /*
     * A child, or a thread.  The epoch that a child is forked in may have changed since
     * its pipe was claimed, but only during the fork.
     */
    from = __atomic_load_n(&p->from_epoch, __ATOMIC_RELAXED);
    return from == e->number ||
           (from && e->process &&
            __atomic_load_n(&p->from_process, __ATOMIC_RELAXED) == e->process->serial &&
            (!s->claimed_ns || now - s->claimed_ns < FORK_NS));
}

void drain_epochs_look(struct drain *d, uint64_t now)
{
    d->look_epochs = d->n_left && now - d->epoch_look_ns >= LOOK_NS;
    if (!d->look_epochs) {
        return;
    }
    d->epoch_look_ns = now;
    for (struct epoch *e = d->epochs; e; e = e->next) {
        e->busy = e->state != EPOCH_LEFT;
        if (e->busy) {
            continue;
        }
        e->left_ns = e->left_ns ? e->left_ns : now;
        e->sleeps = e->thin == WHOLE && now - e->left_ns >= SLEEP_NS;
        for (uint32_t i = 0, high = drain_pipes_high(d);
             i < high && (!e->busy || e->sleeps); i++) {
            if (is_in(d, i, e, now)) {
                e->busy = true;
                e->sleeps &= d->slots[i].thread != NULL;
            }
        }
    }
}

/* Makes jobs of all that its process has handed over, if all of it was read. */
static int is_over(struct drain *d, const struct epoch *e)
{
    int err = 0;

    for (uint32_t i = 0, high = drain_pipes_high(d); e->process && i < high; i++) {
        const struct slot *s = &d->slots[i];

        if (s->thread && s->thread->process == e->process && s->more) {
            return 0;
        }
    }
    for (uint32_t i = 0, high = drain_pipes_high(d); e->process && i < high && !err;
         i++) {
        struct slot *s = &d->slots[i];

        if (s->thread && s->thread->process == e->process && s->n_pending) {
            err = drain_dispatch(d, s);
        }
    }
    return err ? err : 1;
}

/* ---------------------------------------------------------------- thinning */

static int by_id(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* The ids kept, ascending and each once. */
static void sort_kept(struct epoch *e)
{
    uint32_t n = 0;

    if (e->n_kept) {
        qsort(e->kept, e->n_kept, sizeof(*e->kept), by_id);
    }
    for (uint32_t i = 0; i < e->n_kept; i++) {
        if (!n || e->kept[n - 1] != e->kept[i]) {
            e->kept[n++] = e->kept[i];
        }
    }
    e->n_kept = n;
}

/*
 * Adds the ids in the buffer that a thread, which is in an epoch that was left, began
 * there.  Returns 1, 0 if the thread is handing it over, or an error.
 */
static int keep_ids(struct drain *d, uint32_t pipe, struct epoch *e)
{
    const struct mempipe_pipe *p = &d->host->pipes[pipe];
    const struct mempipe_ctl *layout = &d->host->layout;
    /* These pair with the producer's release stores, which come in this order: a buffer
     * is handed over, the epoch is published, another buffer is begun. */
    uint32_t running = __atomic_load_n(&p->running, __ATOMIC_ACQUIRE);
    uint32_t live = __atomic_load_n(&p->live_buffer, __ATOMIC_ACQUIRE);
    uint32_t words = __atomic_load_n(&p->quiet_words, __ATOMIC_ACQUIRE);
    const uint32_t *word;
    uint32_t *more;

    if (running || !live || live > layout->nr_pipes + layout->nr_pool ||
        words > layout->buffer_bytes / sizeof(*word)) {
        return 0;
    }
    more = realloc(e->kept, ((size_t)e->n_kept + words + 1) * sizeof(*more));
    if (!more) {
        return -CTR_E_NOMEM;
    }
    e->kept = more;
    /* Any word counts: numbers after markers do no harm here. */
    word = (const uint32_t *)(const void *)mempipe_host_buffer(d->host, live - 1);
    for (uint32_t i = 0; i < words; i++) {
        uint32_t w = __atomic_load_n(&word[i], __ATOMIC_RELAXED);

        if (CTR_WORD_IS_BLOCK(w)) {
            e->kept[e->n_kept++] = w;
        }
    }
    __sync_synchronize(); /* the thread sanitizer knows no other fence */
    return __atomic_load_n(&p->epoch, __ATOMIC_ACQUIRE) == e->number;
}

/* For an epoch that has sleeping threads only: collects what they need. */
static int begin_thinning(struct drain *d, struct epoch *e)
{
    uint32_t sorted = 0;
    int got = is_over(d, e);

    for (uint32_t i = 0, high = drain_pipes_high(d); got > 0 && i < high; i++) {
        if (d->slots[i].thread &&
            __atomic_load_n(&d->host->pipes[i].epoch, __ATOMIC_ACQUIRE) == e->number) {
            got = keep_ids(d, i, e);
        }
        if (e->n_kept / 2 > sorted + KEPT_MOST / 8) {
            sort_kept(e);
            sorted = e->n_kept;
        }
        if (sorted > KEPT_MOST) {
            e->thin = THIN; /* it keeps all and is not checked again */
            got = 0;
        }
    }
    if (got <= 0) {
        e->n_kept = 0;
        return got;
    }
    sort_kept(e);
    e->thin = THINNING;
    e->stamp = pipeline_submitted(d->pipeline);
    return 0;
}

/* Forgets the ids of a page that are not kept; returns whether any is kept. */
static bool forget_page(struct drain *d, const struct epoch *e, uint32_t page,
                        uint64_t stamp)
{
    bool any = false;

    for (uint32_t k = 0; k < MEMPIPE_ID_PAGE; k++) {
        const uint32_t id = page * MEMPIPE_ID_PAGE + k;

        if (e->n_kept && bsearch(&id, e->kept, e->n_kept, sizeof(id), by_id)) {
            any = true;
        } else {
            journal_forget(d->journal, id);
            ctr_dict_forget(d->dict, id, stamp);
        }
    }
    if (!any) {
        d->owner[page] = NULL;
        mempipe_host_free_ids(d->host, page);
    }
    return any;
}

static void end_thinning(struct drain *d, struct epoch *e, uint64_t stamp)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->n_pages; i++) {
        if (forget_page(d, e, e->pages[i], stamp)) {
            e->pages[n++] = e->pages[i];
        }
    }
    e->n_pages = n;
    free(e->kept);
    e->kept = NULL;
    e->n_kept = 0;
    e->thin = THIN;
    d->reap_at = d->reap_at ? d->reap_at : stamp;
    d->reap = true;
}

/* Nothing refers to its ids any more. */
static void forget(struct drain *d, struct epoch *e, uint64_t stamp)
{
    e->n_kept = 0;
    for (uint32_t i = 0; i < e->n_pages; i++) {
        forget_page(d, e, e->pages[i], stamp);
    }
    if (e->from) {
        e->from->children--;
    }
    free(e->pages);
    free(e->kept);
    free(e);
}

int drain_epochs_settle(struct drain *d)
{
    const uint64_t submitted = d->pipeline ? pipeline_submitted(d->pipeline) : 0;
    const uint64_t done = d->pipeline ? pipeline_done(d->pipeline) : 0;
    bool again = d->n_over || d->look_epochs;

    for (struct epoch *e = d->epochs; d->look_epochs && e; e = e->next) {
        int over = e->state == EPOCH_LEFT && !e->busy ? is_over(d, e) : 0;

        if (e->state == EPOCH_LEFT && e->busy && e->sleeps && !e->children &&
            d->pipeline) {
            over = begin_thinning(d, e);
        }
        if (over < 0) {
            return over;
        }
        if (over) {
            e->state = EPOCH_OVER;
            e->stamp = d->pipeline ? pipeline_submitted(d->pipeline) : 0;
            d->n_left--;
            d->n_over++;
        }
    }
    for (struct epoch *e = d->epochs; e && d->look_epochs; e = e->next) {
        if (e->thin == THINNING && e->state == EPOCH_LEFT && e->stamp <= done &&
            !e->children) {
            end_thinning(d, e, submitted);
        }
    }
    while (again) {
        again = false; /* unless a parent's epoch waited for one of these */
        for (struct epoch **at = &d->epochs, *e; (e = *at) != NULL;) {
            if (e->state != EPOCH_OVER || e->stamp > done || e->children) {
                at = &e->next;
                continue;
            }
            *at = e->next;
            again |= e->from != NULL;
            forget(d, e, submitted);
            d->n_over--;
            d->reap_at = d->reap_at ? d->reap_at : submitted;
            d->reap = true;
        }
    }
    if (d->reap && done >= d->reap_at) {
        d->reap = ctr_dict_reap(d->dict, done);
        d->reap_at = d->reap ? submitted + 1 : 0;
    }
    return 0;
}

void drain_epochs_free(struct drain *d)
{
    while (d->epochs) {
        struct epoch *e = d->epochs;

        d->epochs = e->next;
        free(e->kept);
        free(e->pages);
        free(e);
    }
    free(d->owner);
}
