/* SPDX-License-Identifier: MIT */
/*
 * The reading thread of a stream: ctr_replay calls back for each run of a block, which
 * becomes a number of 64 bits.  Most runs are of blocks whose number is known and cost no
 * more than that.
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/array.h"
#include "ignored.h"
#include "stream_priv.h"

/* --------------------------------------------------------------- callbacks */

static int add_events(struct stream *s, struct batch *b)
{
    if (!array_reserve(&b->event, &b->event_cap, b->nevent + s->npending,
                       sizeof(*b->event)) ||
        !array_reserve(&b->pool, &b->pool_cap, b->npool + s->npending_pool, 1)) {
        return -CTR_E_NOMEM;
    }
    for (size_t i = 0; i < s->npending; i++) {
        struct event *e = &b->event[b->nevent++];
        *e = s->pending[i];
        e->payload += b->npool;
        e->pos = b->ninsn;
    }
    if (s->npending_pool) {
        memcpy(b->pool + b->npool, s->pending_pool, s->npending_pool);
    }
    b->npool += s->npending_pool;
    s->npending = s->npending_pool = 0;
    return 0;
}

/* The batch for a run; NULL: see *ret. */
static struct batch *batch_for(struct stream *s, const struct ctr_run *r, int *ret)
{
    struct batch *b = s->batch;

    *ret = 0;
    if (b && (b->n >= BATCH_RUNS + 60 ||
              (!r->first &&
               (b->n >= BATCH_RUNS || b->naccess >= BATCH_ACCESSES ||
                b->npool >= BATCH_POOL || r->ordinal - b->ordinal >= UINT32_MAX / 2)))) {
        *ret = stream_hand_over(s);
        if (*ret) {
            return NULL;
        }
        b = NULL;
    }
    if (!b) {
        b = s->batch = stream_take_spare(s);
        if (!b) {
            *ret = -CTR_E_NOMEM;
            return NULL;
        }
        b->ordinal = r->ordinal;
    }
    if (s->npending) {
        *ret = add_events(s, b);
    }
    return *ret ? NULL : b;
}

/* Instructions first to end - 1 of the run, and its accesses from *a on that they make. */
static int add_run(struct stream *s, const struct ctr_run *r, uint32_t number,
                   unsigned first, unsigned end, uint32_t *a)
{
    const bool values = s->accesses == CTR_RUN_VALUES;
    int ret;
    struct batch *b = batch_for(s, r, &ret);

    if (!b) {
        return ret;
    }
    for (; !ret && *a < r->naccess && r->access[*a].insn < end; (*a)++) {
        const unsigned insn = r->access[*a].insn;
        if (insn >= first) {
            ret = stream_add_access(b, &r->access[*a], b->ninsn + (insn - first), values);
        } else if (insn < r->first && s->last_kept && b->ninsn) {
            ret = stream_add_access(b, &r->access[*a], b->ninsn - 1, values);
        }
    }
    if (first < end) {
        b->key[b->n] = run_key(number, first, end);
        b->at[b->n] = b->ninsn;
        b->ord[b->n] = (uint32_t)(r->ordinal + (first - r->first) - b->ordinal);
        b->n++;
        b->ninsn += end - first;
        s->pos += end - first;
        s->last_kept = true;
    }
    return ret;
}

/* Applies changes of mappings up to an instruction; after one that removed a mapping other
 * code can have the place of a block. */
static void go_on(struct stream *s, uint64_t ordinal)
{
    space_go(&s->space, ordinal, true, s->time_ns);
    if (s->removals != s->space.removals) {
        s->removals = s->space.removals;
        if (s->nnumber) {
            memset(s->number, 0, s->nnumber * sizeof(*s->number));
        }
    }
}

/* Finds the number of a block's code, and what of it is ignored. */
static int find_number(struct stream *s, const struct ctr_job *job,
                       const struct ctr_run *r, uint32_t *out)
{
    const struct ctr_chunk *chunk = ctr_job_chunk(job);
    const struct ctr_block *b = r->block;
    const struct places *places = s->side->places;
    struct code_lookup lookup = {.info = &s->side->info,
                                 .space = &s->space,
                                 .functions = s->side->by_function ? places : NULL,
                                 .process = s->thread->process,
                                 .chunk_end_ns = chunk->end_ns};
    unsigned ignored = 0;
    uint64_t until, time = 0;
    struct code *c;

    go_on(s, r->ordinal);
    if (places && (s->side->by_function || ignored_any(s->side))) {
        lookup.time_ns = time = places_time(places, chunk, r->ordinal, &until);
    }
    if (ignored_any(s->side)) {
        for (unsigned i = 0; i < b->ninsn; i++) {
            ignored += ignored_pc(s->side, s->thread->process, time, chunk->end_ns,
                                  ctr_block_pc(b, i));
        }
    }
    if (b->id >= s->nnumber &&
        !array_reserve_zeroed(&s->number, &s->nnumber, b->id + 1u, sizeof(*s->number))) {
        return -CTR_E_NOMEM;
    }
    if (ignored == b->ninsn) {
        *out = s->number[b->id] = NUMBER_IGNORED;
        return 0;
    }
    c = code_make(b, &lookup);
    *out = c ? code_number(s->side->codes, c) : 0;
    s->number[b->id] = ignored ? NUMBER_PARTLY : *out;
    return *out ? 0 : -CTR_E_NOMEM;
}

/* A block of which a part is ignored; rare, so each run finds out which. */
static int run_partly(struct stream *s, const struct ctr_job *job,
                      const struct ctr_run *r)
{
    const struct ctr_chunk *chunk = ctr_job_chunk(job);
    uint64_t until, time = 0;
    uint32_t number, a = 0;
    unsigned first = r->first;
    int ret = find_number(s, job, r, &number);

    if (s->side->places) {
        time = places_time(s->side->places, chunk, r->ordinal, &until);
    }
    while (!ret && first < r->end) {
        const bool ignored = ignored_pc(s->side, s->thread->process, time, chunk->end_ns,
                                        ctr_block_pc(r->block, first));
        unsigned end = first + 1;
        while (end < r->end &&
               ignored == ignored_pc(s->side, s->thread->process, time, chunk->end_ns,
                                     ctr_block_pc(r->block, end))) {
            end++;
        }
        if (ignored) {
            s->last_kept = false;
            while (a < r->naccess && r->access[a].insn < end) {
                a++;
            }
        } else {
            ret = add_run(s, r, number, first, end, &a);
        }
        first = end;
    }
    return ret;
}

static int run_unknown(struct stream *s, const struct ctr_job *job,
                       const struct ctr_run *r, uint32_t number)
{
    uint32_t a = 0;
    int ret = 0;

    if (number == NUMBER_UNKNOWN) {
        ret = find_number(s, job, r, &number);
        if (!ret) {
            number = s->number[r->block->id];
        }
    }
    if (ret || number == NUMBER_PARTLY) {
        return ret ? ret : run_partly(s, job, r);
    }
    if (number == NUMBER_IGNORED) {
        s->last_kept = false;
        return 0;
    }
    return add_run(s, r, number, r->first, r->end, &a);
}

/* A run that needs more than on_run does. */
static __attribute__((noinline)) int run_any(struct stream *s, const struct ctr_job *job,
                                             const struct ctr_run *r)
{
    const uint32_t id = r->block->id;
    const uint32_t number = id < s->nnumber ? s->number[id] : NUMBER_UNKNOWN;
    uint32_t a = 0;

    return number - 1u < NUMBER_IGNORED - 1u ? add_run(s, r, number, r->first, r->end, &a)
                                             : run_unknown(s, job, r, number);
}

/* Called for each run: it calls nothing in the usual case, and then keeps no registers. */
static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    struct stream *s = arg;
    struct batch *b = s->batch;
    const uint32_t id = r->block->id;
    uint32_t number;

    if (__builtin_expect(!b || r->first || s->npending || id >= s->nnumber ||
                             b->n >= BATCH_RUNS || b->naccess >= BATCH_ACCESSES ||
                             b->npool >= BATCH_POOL ||
                             r->ordinal - b->ordinal >= UINT32_MAX / 2,
                         0)) {
        return run_any(s, job, r);
    }
    number = s->number[id];
    if (__builtin_expect(number - 1u >= NUMBER_IGNORED - 1u, 0)) {
        return run_any(s, job, r);
    }
    b->key[b->n] = run_key(number, 0, r->end);
    b->at[b->n] = b->ninsn;
    b->ord[b->n] = (uint32_t)(r->ordinal - b->ordinal);
    b->n++;
    b->ninsn += r->end;
    s->pos += r->end;
    s->last_kept = true;
    return r->naccess ? stream_add_accesses(s, b, r) : 0;
}

static int on_event(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct stream *s = arg;
    struct event *to;

    (void)job;
    s->time_ns = e->time_ns > s->time_ns ? e->time_ns : s->time_ns;
    if (e->type == CTR_EVENT_MAP) {
        go_on(s, e->ordinal);
        return 0;
    }
    if (!s->events || (e->type != CTR_EVENT_SYSCALL && e->type != CTR_EVENT_SYSRET &&
                       e->type != CTR_EVENT_USERMEM && e->type != CTR_EVENT_SIGNAL)) {
        return 0;
    }
    if (!array_reserve(&s->pending, &s->pending_cap, s->npending + 1,
                       sizeof(*s->pending)) ||
        !array_reserve(&s->pending_pool, &s->pending_pool_cap, s->npending_pool + e->size,
                       1)) {
        return -CTR_E_NOMEM;
    }
    to = &s->pending[s->npending++];
    *to = (struct event){.ordinal = e->ordinal,
                         .time_ns = s->time_ns,
                         .payload = s->npending_pool,
                         .type = e->type,
                         .size = e->size};
    if (e->size) {
        memcpy(s->pending_pool + s->npending_pool, e->payload, e->size);
    }
    s->npending_pool += e->size;
    return 0;
}

static int on_begin(void *arg, struct ctr_job *job)
{
    struct stream *s = arg;
    const uint64_t ns = ctr_job_chunk(job)->start_ns;

    bool stop;

    s->time_ns = ns > s->time_ns ? ns : s->time_ns;
    pthread_mutex_lock(&s->lock);
    stop = s->stop;
    pthread_mutex_unlock(&s->lock);
    return stop ? STOP : 0;
}

/* ------------------------------------------------------------------ thread */

/* What comes after the last run. */
static int finish(struct stream *s)
{
    int ret = 0;

    if (s->npending && !s->batch) {
        s->batch = stream_take_spare(s);
        ret = s->batch ? 0 : -CTR_E_NOMEM;
        if (s->batch) {
            s->batch->ordinal = s->pending[0].ordinal;
        }
    }
    if (!ret && s->npending) {
        ret = add_events(s, s->batch);
    }
    return ret ? ret : stream_hand_over(s);
}

static void *read_thread(void *arg)
{
    struct stream *s = arg;
    const uint32_t thread = s->thread->index;
    const bool registers = s->side->compare & CTR_HAS_REG;
    const struct ctr_replay_ops ops = {.begin = on_begin,
                                       .run = on_run,
                                       .reg = registers ? stream_on_reg : NULL,
                                       .os = on_event};
    const struct ctr_filter filter = {
        .from = s->from,
        .to = s->to,
        .kinds = CTR_KIND_EXEC | CTR_KIND_LOAD | CTR_KIND_STORE | CTR_KIND_SYS |
                 CTR_KIND_MAP | (registers ? CTR_KIND_REG : 0),
        .threads = &thread,
        .nthread = 1};
    const struct ctr_replay_opts opts = {.workers = 1,
                                         .filter = &filter,
                                         .run_accesses = (uint8_t)s->accesses,
                                         .registers = s->side->wanted};
    int ret = ctr_replay(s->side->trace, &ops, s, &opts, &s->diag), last;

    /* What came before damage is compared, too. */
    last = ret == STOP ? 0 : finish(s);
    ret = ret ? ret : last;
    if (ret == -CTR_E_NOMEM) {
        s->diag = (struct ctr_diag){
            .code = CTR_E_NOMEM, .off = CTR_NO_OFF, .text = "no memory"};
    }
    pthread_mutex_lock(&s->lock);
    s->result = ret < 0 ? ret : 0;
    s->ended = true;
    pthread_cond_signal(&s->moved);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

bool stream_open(struct stream *s, const struct side *side, const struct ctr_thread *t,
                 uint64_t from, uint64_t to)
{
    if (!s->side) {
        pthread_mutex_init(&s->lock, NULL);
        pthread_cond_init(&s->moved, NULL);
    }
    if (s->side != side || s->thread != t || from < s->from) {
        space_begin(&s->space, side->maps, t);
        s->removals = UINT32_MAX; /* no number is known */
    }
    s->side = side;
    s->thread = t;
    s->accesses = !(side->compare & CTR_HAS_MEM) ? 0
                  : side->compare & CTR_HAS_VAL  ? CTR_RUN_VALUES
                                                 : CTR_RUN_ACCESSES;
    s->events = side->compare & CTR_HAS_SYS;
    s->from = from;
    s->to = to;
    s->pos = s->time_ns = 0;
    s->last_kept = s->ended = s->stop = false;
    s->npending = s->npending_pool = 0;
    s->queued = 0;
    s->result = 0;
    s->diag = (struct ctr_diag){.off = CTR_NO_OFF};
    s->running = !pthread_create(&s->reader, NULL, read_thread, s);
    return s->running;
}

int stream_close(struct stream *s)
{
    if (!s->running) {
        return s->result;
    }
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->moved);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->reader, NULL);
    s->running = false;
    if (s->batch) {
        s->batch->next = s->spare;
        s->spare = s->batch;
        s->batch = NULL;
    }
    while (s->first) {
        stream_release(s, s->first);
    }
    s->last = NULL;
    return s->result;
}

void stream_fini(struct stream *s)
{
    if (!s->side) {
        return;
    }
    stream_close(s);
    while (s->spare) {
        struct batch *b = s->spare;
        s->spare = b->next;
        free(b->access);
        free(b->write);
        free(b->event);
        free(b->pool);
        free(b);
    }
    space_fini(&s->space);
    free(s->number);
    free(s->pending);
    free(s->pending_pool);
    pthread_cond_destroy(&s->moved);
    pthread_mutex_destroy(&s->lock);
}
