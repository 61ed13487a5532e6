/* SPDX-License-Identifier: MIT */
/*
 * A sink that keeps jobs in the ring.  The ring gets what it has to know so that nothing
 * is lost with this process as soon as a job is submitted.
 */
#include "sink.h"

#include <stdlib.h>
#include <string.h>

/* So many jobs' results should fit into a ring. */
#define RING_JOBS 32

struct sink_ring {
    struct sink sink;
    struct ring *ring; /* the caller's */
    struct ctr_dict *dict;
    int fd, level;
    unsigned addr_bytes;
    /* What was packed, before and after; the workers add (atomic). */
    uint64_t pipe_bytes, file_bytes;
};

/* What the ring has to know at once. */
static int ring_announce(struct sink *s, struct job *job, bool *all,
                         struct ctr_diag *diag)
{
    struct ring *r = ((struct sink_ring *)s)->ring;
    struct guest_process *p = job->process;
    struct guest_thread *t = job->thread;
    int err = 0;

    *all = false;
    switch (job->kind) {
    case JOB_REGS:
        err = ring_regs(r, job->regs->n, job->regs + 1, job->regs->table_bytes, diag);
        break;
    case JOB_PROCESS:
        p->index = UINT32_MAX;
        err = ring_process(r, p->pid, p->ppid, guest_process_other_number(p), p->start_ns,
                           p->serial, &p->index, diag);
        break;
    case JOB_THREAD:
        t->index = UINT32_MAX;
        if (p->index != UINT32_MAX) { /* else it has failed before */
            err = ring_thread(r, p->index, t->tid, t->ptid, t->start_ns, t->pipe,
                              t->serial, &t->index, diag);
        }
        break;
    case JOB_FILE:
        if (!job->file->in_part || job->file->written) {
            ring_file(r, job->file, embed_file_bytes(job->file));
        }
        break;
    case JOB_THREAD_END:
        if (t->index != UINT32_MAX) {
            ring_thread_ending(r, t->index, t->end_ns, t->end_reason, t->end_status,
                               t->incomplete);
        }
        return 0;
    case JOB_PROCESS_END:
        if (p->index != UINT32_MAX) {
            ring_process_ending(r, p->index, p->end_ns, p->end_reason, p->end_status);
        }
        return 0;
    case JOB_CHUNK:
    case JOB_DUMP:
        return 0;
    }
    *all = true;
    return err;
}

/* The events of a segment, between two offsets in its side records. */
static int collect(struct job *job, const struct ctr_segment *s, uint32_t from,
                   uint32_t end)
{
    return end > from ? ring_events_collect(&job->events, (const uint8_t *)s->side + from,
                                            end - from)
                      : 0;
}

/* Where the thread goes on when so many segments were packed. */
static int go_on(struct job *job, const struct ctr_segment *segs, unsigned taken,
                 const struct ctr_encoder *enc)
{
    const struct ctr_segment *s = &segs[taken];
    size_t bytes;
    const void *state;

    if (taken == job->n_segs) {
        job->next.seq = job->segs[taken - 1].seq + 1;
        return 0;
    }
    job->next = (struct ring_place){.seq = job->segs[taken].seq,
                                    .from_word = s->from_word,
                                    .from_unit = s->from_unit,
                                    .from_side = s->from_side,
                                    .from_insn = s->from_insn};
    state = ctr_encoder_get_state(enc, &bytes);
    if (state && ctr_segment_goes_on(s)) {
        void *copy = malloc(bytes);

        if (!copy) {
            return -CTR_E_NOMEM;
        }
        memcpy(copy, state, bytes);
        job->next.state = copy;
        job->next.state_bytes = (uint32_t)bytes;
    }
    return 0;
}

static int ring_packed(struct sink *s, struct job *job, const struct ctr_segment *segs,
                       unsigned whole, unsigned taken, const struct ctr_encoder *enc)
{
    struct sink_ring *k = (struct sink_ring *)s;
    struct ctr_packed_info info;
    int err = 0;

    for (unsigned i = 0; !err && i < whole; i++) {
        uint64_t bytes = segs[i].n_words * sizeof(uint32_t) +
                         (uint64_t)segs[i].n_units * k->addr_bytes + segs[i].side_bytes;

        __atomic_fetch_add(&k->pipe_bytes, bytes, __ATOMIC_RELAXED);
        err = collect(job, &segs[i], job->segs[i].from_side, segs[i].side_bytes);
    }
    if (!err && taken < job->n_segs) {
        err =
            collect(job, &segs[taken], job->segs[taken].from_side, segs[taken].from_side);
    }
    if (!err) {
        err = go_on(job, segs, taken, enc);
    }
    if (!err) {
        ctr_packed_info(job->packed, &info);
        __atomic_fetch_add(&k->file_bytes, info.bytes, __ATOMIC_RELAXED);
    }
    return err;
}

static int ring_write_job(struct sink *s, struct job *job, struct ctr_diag *diag)
{
    struct guest_process *p = job->process;
    struct guest_thread *t = job->thread;
    struct ring *r = ((struct sink_ring *)s)->ring;

    switch (job->kind) {
    case JOB_REGS:
    case JOB_PROCESS:
    case JOB_THREAD:
    case JOB_FILE:
        break; /* see ring_announce */
    case JOB_CHUNK:
        return ring_chunk(r, t->index, job->packed, job->start_ns, job->end_ns,
                          &job->events, &job->next, diag);
    case JOB_THREAD_END:
        return ring_thread_end(r, t->index, t->end_ns, t->end_reason, t->end_status,
                               t->incomplete || t->unsure);
    case JOB_PROCESS_END:
        return ring_process_end(r, p->index, p->end_ns, p->end_reason, p->end_status);
    case JOB_DUMP:
        break; /* see ring_dump */
    }
    return -CTR_E_INVAL;
}

static int ring_learn(struct sink *s, uint32_t thread, struct ctr_physmap *map)
{
    return ring_learn_pages(((struct sink_ring *)s)->ring, thread, map);
}

static int ring_dump(struct sink *s, int fd, const struct sink_tail *from,
                     uint32_t n_from, struct ctr_diag *diag)
{
    const struct sink_ring *k = (const struct sink_ring *)s;
    struct ring_tail *tails = calloc((size_t)n_from + 1, sizeof(*tails));
    struct ctr_writer_stats stats;
    uint32_t n = 0;
    int err;

    for (uint32_t i = 0; tails && i < n_from; i++) {
        uint32_t thread = from[i].thread->index;

        if (thread != UINT32_MAX) { /* it came before a failure */
            tails[n++] = (struct ring_tail){.thread = thread, .seg = from[i].seg};
        }
    }
    err = tails ? ring_write(k->ring, fd, k->dict, k->level, tails, n, &stats, diag)
                : -CTR_E_NOMEM;
    free(tails);
    return err;
}

static uint64_t ring_job_bytes(const struct sink *s)
{
    const struct sink_ring *k = (const struct sink_ring *)s;
    uint64_t from = __atomic_load_n(&k->pipe_bytes, __ATOMIC_RELAXED);
    uint64_t to = __atomic_load_n(&k->file_bytes, __ATOMIC_RELAXED);

    return ring_size(k->ring) / RING_JOBS * (to && from > to ? from / to : 1);
}

static void ring_stats(const struct sink *s, struct ctr_writer_stats *out,
                       struct ring_numbers *n)
{
    const struct sink_ring *k = (const struct sink_ring *)s;

    ring_numbers(k->ring, n);
    *out = (struct ctr_writer_stats){
        .bytes = n->bytes,
        .chunks = n->chunks + n->dropped_chunks,
        .insns = n->insns + n->dropped_insns,
        .loads = n->loads + n->dropped_loads,
        .stores = n->stores + n->dropped_stores,
        .blocks = ctr_dict_size(k->dict),
    };
}

static int ring_finish(struct sink *s, struct ctr_writer_stats *out,
                       struct ring_numbers *n, struct ctr_diag *diag)
{
    struct sink_ring *k = (struct sink_ring *)s;
    struct ctr_writer_stats file;
    int err;

    ring_set_output(k->ring, RING_WRITING);
    err = ring_write(k->ring, k->fd, k->dict, k->level, NULL, 0, &file, diag);
    ring_set_output(k->ring, RING_WRITTEN);
    ring_stats(s, out, n);
    out->bytes = file.bytes;
    out->embed_bytes = file.embed_bytes;
    return err;
}

static void ring_sink_free(struct sink *s)
{
    free(s);
}

static const struct sink_ops ring_ops = {
    .keeps_segments = true,
    .announce = ring_announce,
    .packed = ring_packed,
    .write = ring_write_job,
    .dump = ring_dump,
    .learn_pages = ring_learn,
    .job_bytes = ring_job_bytes,
    .stats = ring_stats,
    .finish = ring_finish,
    .free = ring_sink_free,
};

int sink_ring_new(struct sink **out, const struct sink_config *config, struct ring *ring,
                  struct ctr_diag *diag)
{
    struct sink_ring *k = calloc(1, sizeof(*k));
    int err;

    if (!k) {
        return -CTR_E_NOMEM;
    }
    *k = (struct sink_ring){
        .sink.ops = &ring_ops,
        .ring = ring,
        .dict = config->dict,
        .fd = config->fd,
        .level = config->level,
        .addr_bytes = config->addr_bytes,
    };
    err = ring_has_begun(ring) ? ring_resume(ring, config->dict, diag)
                               : ring_begin(ring, config->meta, config->dict, diag);
    if (err) {
        free(k);
        return err;
    }
    *out = &k->sink;
    return 0;
}
