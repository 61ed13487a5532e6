/* SPDX-License-Identifier: MIT */
/*
 * Workers; see crew.h.  They keep what they decode with from one crew_work to the next, since
 * memory that is new for each chunk costs about as much as what is decoded in it.
 */
#include "memory/crew.h"

#include <string.h>
#include <unistd.h>

void crew_init(struct crew *c, struct ctr_trace *tr, const struct ctr_filter *filter,
               unsigned jobs)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);

    memset(c, 0, sizeof(*c));
    c->tr = tr;
    c->filter = filter;
    c->jobs = jobs ? jobs : processors > 0 ? (unsigned)processors : 1;
    c->jobs = c->jobs < CREW_MOST ? c->jobs : CREW_MOST;
    for (unsigned i = 0; i < CREW_MOST; i++) {
        c->member[i].crew = c;
        c->member[i].number = i;
    }
    pthread_mutex_init(&c->lock, NULL);
}

void crew_fini(struct crew *c)
{
    for (unsigned i = 0; i < c->jobs; i++) {
        struct crew_member *m = &c->member[i];

        if (m->ready) {
            decoder_fini(&m->decoder);
            feed_fini(&m->feed);
        }
        touches_fini(&m->touches);
        buf_free(&m->raw.payload);
    }
    pthread_mutex_destroy(&c->lock);
}

/* Initializes what a worker decodes with, when it has its first chunk. */
static int prepare(struct crew_member *m, struct ctr_diag *diag)
{
    int ret;

    if (m->ready) {
        return 0;
    }
    ret = feed_init(&m->feed, m->crew->tr, m->crew->filter, diag);
    if (!ret && decoder_init(&m->decoder)) {
        feed_fini(&m->feed);
        ret = ctr_fail_nomem(diag);
    }
    m->ready = !ret;
    return ret;
}

int crew_begin(struct crew_member *m, const struct ctr_chunk *c, unsigned want,
               struct ctr_diag *diag)
{
    int ret = prepare(m, diag);

    if (ret) {
        return ret;
    }
    m->feed.want = want;
    ret = feed_take(&m->feed, c, &m->raw, diag);
    if (ret != 1) {
        return ret;
    }
    ret = decoder_begin(&m->decoder, m->crew->tr, &m->raw, want, diag);
    return ret ? ret : 1;
}

int crew_begin_values(struct crew_member *m, const struct ctr_chunk *c,
                      struct ctr_diag *diag)
{
    int ret;

    m->feed.want = DEC_MEM | DEC_VAL;
    ret = feed_take(&m->feed, c, &m->raw, diag);
    if (ret != 1) {
        return ret;
    }
    ret = decoder_begin_values(&m->decoder, m->crew->tr, &m->raw, diag);
    return ret ? ret : 1;
}

struct work {
    struct crew *crew;
    int (*step)(void *arg, struct crew_member *m, struct ctr_diag *diag);
    void *arg;
};

struct hand {
    const struct work *work;
    struct crew_member *member;
};

static void *work(void *arg)
{
    const struct hand *h = arg;
    struct crew *c = h->work->crew;
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int ret;

    do {
        pthread_mutex_lock(&c->lock);
        ret = c->ret;
        pthread_mutex_unlock(&c->lock);
        ret = ret ? 0 : h->work->step(h->work->arg, h->member, &diag);
    } while (ret == 1);
    if (ret) {
        pthread_mutex_lock(&c->lock);
        if (!c->ret) {
            c->ret = ret;
            c->diag = diag;
        }
        pthread_mutex_unlock(&c->lock);
    }
    return NULL;
}

int crew_work(struct crew *c,
              int (*step)(void *arg, struct crew_member *m, struct ctr_diag *diag),
              void *arg, struct ctr_diag *diag)
{
    const struct work all = {c, step, arg};
    pthread_t thread[CREW_MOST];
    struct hand hand[CREW_MOST];
    unsigned made = 0;

    for (unsigned i = 0; i < c->jobs; i++) {
        hand[i] = (struct hand){&all, &c->member[i]};
    }
    /* Fewer threads than wanted do the same work. */
    while (made + 1 < c->jobs &&
           !pthread_create(&thread[made], NULL, work, &hand[made + 1])) {
        made++;
    }
    work(&hand[0]);
    while (made) {
        pthread_join(thread[--made], NULL);
    }
    if (c->ret && diag) {
        *diag = c->diag;
    }
    return c->ret;
}
