/* SPDX-License-Identifier: MIT */
/*
 * Reads the pipes' side queues: block definitions go to the dictionary, the register
 * table goes to the writer, and side records are kept unchanged until the buffer that
 * they belong to is packed.
 *
 * Everything is copied out of the shared memory before it is examined, and its sizes are
 * checked: a guest may have overwritten it, or may still do so.  The code that packs the
 * records checks their contents; only what depends on the register table is checked here,
 * where the table is known.
 *
 * How much may pile up: a guest hands a buffer over before its side records exceed a few
 * MiB (one that does not is stopped at CTR_MAX_CHUNK_SIDE, and so is one that sends side
 * records of many buffers and never a buffer); jobs are made early of what has arrived
 * (drain_jobs.c); and while jobs hold more than PIPELINE_SIDE_BYTES the drain reads
 * nothing, so that the guest waits.
 */
#include "drain_priv.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 2048u
/*
 * Limits for buffers that have not arrived: of one thread, which fills one and may have
 * handed over some since its mail was read; and of all threads.
 */
#define THREAD_KEPT_BYTES (2ull * CTR_MAX_CHUNK_SIDE)
#define KEPT_BYTES(threads)                                                              \
    ((512ull << 20) + (threads) * 2ull * MEMPIPE_BUFFER_SIDE_BYTES)

static int add_block(struct drain *d, uint32_t pipe,
                     const struct mempipe_side_record *rec, uint32_t bytes)
{
    const uint8_t *def = d->scratch + sizeof(struct mempipe_side_block);
    struct mempipe_side_block b;
    int err;

    if (bytes < sizeof(b)) {
        return drain_reject(d, pipe, "a block definition has no head");
    }
    if (d->host->layout.discard) {
        return 0;
    }
    memcpy(d->scratch, rec, bytes);
    memcpy(&b, d->scratch, sizeof(b));
    if (b.def_bytes > bytes - sizeof(b)) {
        return drain_reject(d, pipe, "a block definition is longer than its record");
    }
    if (d->resumed) {
        if (ctr_dict_has(d->dict, b.id)) {
            return 0; /* it had been read when the recorder was killed */
        }
        return ctr_dict_add(d->dict, b.id, def, b.def_bytes, d->diag);
    }
    err = drain_epoch_block(d, pipe, b.id, b.epoch);
    if (!err) {
        err = ctr_dict_add(d->dict, b.id, def, b.def_bytes, d->diag);
    }
    if (!err &&
        journal_define(d->journal, b.id, ctr_dict_id(d->dict, b.id), def, b.def_bytes)) {
        err = -CTR_E_NOMEM;
    }
    return err;
}

/* Bytes of all registers of the table; the writer checks it as a whole. */
static uint32_t table_state_bytes(const struct mempipe_side_regtable *t)
{
    const uint8_t *table = (const uint8_t *)(t + 1);
    uint32_t at = 0, sum = 0;

    for (uint32_t i = 0; i < t->n && t->table_bytes - at >= 4; i++) {
        uint32_t entry = 4u + table[at + 2];

        sum += table[at];
        if (entry > t->table_bytes - at) {
            break;
        }
        at += entry;
    }
    return sum;
}

/* Whether a record, whose length is complete, agrees with the table. */
static bool fits_table(const struct drain *d, const uint8_t *rec, uint32_t bytes)
{
    struct mempipe_side_place place;

    memcpy(&place, rec, sizeof(place));
    if (place.h.type == MEMPIPE_SIDE_STATE) {
        return place.n == d->state_bytes;
    }
    if (place.h.type != MEMPIPE_SIDE_REGS) {
        return true;
    }
    for (uint32_t at = sizeof(struct mempipe_side_regs);
         place.n && at + MEMPIPE_REG_BYTES <= bytes; place.n--, at += MEMPIPE_REG_BYTES) {
        uint16_t reg;

        memcpy(&reg, rec + at, sizeof(reg));
        if (reg >= d->regs->n) {
            return false;
        }
    }
    return true;
}

void drain_set_regs(struct drain *d, struct mempipe_side_regtable *t)
{
    d->regs = t;
    d->state_bytes = table_state_bytes(t);
}

/* Every process sends the table; that of the first one goes to the file. */
static int add_regs(struct drain *d, uint32_t pipe, const struct mempipe_side_record *rec,
                    uint32_t bytes)
{
    struct mempipe_side_regtable *t, *copy;
    struct job *job;
    int err;

    if (bytes < sizeof(*t)) {
        return drain_reject(d, pipe, "a register table has no head");
    }
    memcpy(d->scratch, rec, bytes);
    t = (struct mempipe_side_regtable *)d->scratch;
    if (t->table_bytes > bytes - sizeof(*t)) {
        return drain_reject(d, pipe, "a register table is longer than its record");
    }
    bytes = (uint32_t)sizeof(*t) + t->table_bytes;
    if (d->regs) {
        if (d->regs->n != t->n || d->regs->table_bytes != t->table_bytes ||
            memcmp(d->regs + 1, t + 1, t->table_bytes) != 0) {
            return drain_reject(d, pipe, "its registers are not those of the others");
        }
        return 0;
    }
    copy = malloc(bytes);
    job = drain_job_new(JOB_REGS, NULL, NULL);
    if (job) {
        job->regs = malloc(bytes);
    }
    if (!copy || !job || !job->regs) {
        free(copy);
        free(job);
        return -CTR_E_NOMEM;
    }
    memcpy(copy, t, bytes);
    memcpy(job->regs, t, bytes);
    drain_set_regs(d, copy);
    err = ctr_dict_regs(d->dict, t->n, t + 1, t->table_bytes, d->diag);
    if (err) {
        free(job->regs);
        free(job);
        return err;
    }
    return drain_submit(d, job);
}

/* Room for `bytes' more in the side records of buffer `seq', the last ones there are. */
static struct side_records *last_records(struct drain *d, struct slot *s, uint32_t seq,
                                         uint32_t bytes)
{
    struct side_records **at = s->side_end, *r = *at, *grown;
    uint32_t cap;

    if (r && r->seq != seq) {
        at = &r->next;
        r = NULL;
    }
    if (r && r->cap - r->bytes >= bytes) {
        return r;
    }
    cap = r ? 2 * r->cap : FIRST_BYTES;
    cap = cap - (r ? r->bytes : 0) < bytes ? cap + bytes : cap;
    /* Without a journal the number is the writer's. */
    grown = journal_room(d->journal, r, d->journal ? s->thread->index : 0, seq, cap);
    if (!grown) {
        return NULL;
    }
    *at = grown;
    s->side_end = at;
    return grown;
}

static int keep(struct drain *d, uint32_t pipe, const struct mempipe_side_record *rec,
                uint32_t bytes, uint32_t type)
{
    struct slot *s = &d->slots[pipe];
    struct mempipe_side_place place;
    struct side_records *r;
    uint8_t *to;

    if (bytes < sizeof(place)) {
        return drain_reject(d, pipe, "a record has no head");
    }
    if (!d->pipeline) {
        return 0;
    }
    memcpy(&place, rec, sizeof(place));
    /* as they were when they were checked */
    place.h.bytes = bytes;
    place.h.type = type;
    if (place.seq - (s->next_seq - s->n_fresh) >= 2 * MEMPIPE_MAIL ||
        (*s->side_end && (int32_t)(place.seq - (*s->side_end)->seq) < 0)) {
        return drain_reject(d, pipe, "a record is of a buffer that is not being filled");
    }
    r = last_records(d, s, place.seq, bytes);
    if (!r) {
        return -CTR_E_NOMEM;
    }
    if (bytes > CTR_MAX_CHUNK_SIDE - r->bytes) {
        return drain_reject(d, pipe, "there are too many records for one buffer");
    }
    if (s->kept + bytes > THREAD_KEPT_BYTES ||
        d->kept + bytes > KEPT_BYTES(d->n_threads)) {
        return drain_reject(d, pipe,
                            "there are too many records, and no buffers for them");
    }
    to = (uint8_t *)r->data + r->bytes;
    /* reads each byte once */
    memcpy(to, &place, sizeof(place));
    memcpy(to + sizeof(place), (const uint8_t *)rec + sizeof(place),
           bytes - sizeof(place));
    if (d->regs && !fits_table(d, to, bytes)) {
        return drain_reject(d, pipe, "registers are not those of the table");
    }
    journal_add(r, bytes, d->host->side_tails[pipe] + bytes);
    s->kept += bytes;
    d->kept += bytes;
    s->last_units = place.units;
    return drain_look_for_file(d, s, to, bytes);
}

int drain_on_record(void *arg, uint32_t pipe, const struct mempipe_side_record *rec,
                    uint32_t bytes)
{
    struct drain *d = arg;
    uint32_t type = __atomic_load_n(&rec->type, __ATOMIC_RELAXED);

    switch (type) {
    case MEMPIPE_SIDE_BLOCK:
        return add_block(d, pipe, rec, bytes);
    case MEMPIPE_SIDE_REGTABLE:
        return add_regs(d, pipe, rec, bytes);
    case MEMPIPE_SIDE_ACCESS:
    case MEMPIPE_SIDE_REGS:
    case MEMPIPE_SIDE_STATE:
    case MEMPIPE_SIDE_EVENT:
    case MEMPIPE_SIDE_PAGE:
        return keep(d, pipe, rec, bytes, type);
    default:
        return drain_reject(d, pipe, "a record of unknown type");
    }
}

void drain_attach_side(struct drain *d, struct slot *s, struct job_segment *seg,
                       uint32_t seq)
{
    struct side_records *r = s->side;

    /* There is no older one: keep() would have refused it. */
    if (r && r->seq == seq) {
        s->side = r->next;
        if (!s->side || s->side_end == &r->next) {
            s->side_end = &s->side;
        }
        r->next = NULL;
        seg->side = r;
        s->kept -= r->bytes;
        d->kept -= r->bytes;
        s->pending_side += r->bytes;
        d->pending_side += r->bytes;
    }
}

void drain_drop_side(struct drain *d, struct slot *s)
{
    d->kept -= s->kept;
    s->kept = 0;
    while (s->side) {
        struct side_records *r = s->side;

        s->side = r->next;
        journal_drop(d->journal, r);
    }
    s->side_end = &s->side;
}
