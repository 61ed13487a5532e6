/* SPDX-License-Identifier: MIT */
/*
 * The index while it is written: its parts are written during the recording, so that
 * only rows of the parts, and eight bytes for each frame, are kept until the end.
 */
#include "write/writer.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <xxhash.h>
#include "base/le.h"

#define PART_BYTES (2u << 20)

int index_add_chunk(struct ctr_writer *w, const struct ctr_chunk *c, const uint8_t *body,
                    const struct ctr_packed *p, struct ctr_diag *diag)
{
    uint8_t row[ROW];
    put64(row + ROW_OFF, c->off);
    put64(row + ROW_BYTES, c->bytes);
    put64(row + ROW_RAW, c->raw_bytes);
    memcpy(row + ROW_CHUNK, body, ROW_CHUNK_BYTES);
    memcpy(row + ROW_NEXT, body + CHUNK_NEXT, sizeof(uint64_t));
    if (w->part.chunks == 0) {
        w->part = CHUNK_SPAN_EMPTY;
        w->part_first = c->index;
        w->part_off = c->off;
        w->rows.n = w->counts.n = w->pages.n = 0;
    }
    if (buf_append(&w->rows, row, sizeof(row)) ||
        buf_append(&w->counts, p->counts.p, p->counts.n) ||
        buf_append(&w->pages, p->pages.p, p->pages.n)) {
        return ctr_fail_nomem(diag);
    }
    span_add(&w->part, c);
    if (w->part.chunks == PART_MAX_CHUNKS || w->counts.n + w->pages.n > PART_BYTES) {
        return index_flush_part(w, diag);
    }
    return 0;
}

int index_flush_part(struct ctr_writer *w, struct ctr_diag *diag)
{
    if (w->part.chunks == 0) {
        return 0;
    }
    struct out_frame f[3];
    const struct buf *raw[3] = {&w->rows, &w->counts, &w->pages};
    for (unsigned i = 0; i < 3; i++) {
        int err = writer_compress(w, raw[i], i, &f[i], diag);
        if (err) {
            return err;
        }
    }
    uint8_t body[PART_BODY] = {0}, row[ROOT_PART_ROW];
    put64(body + PART_FIRST, w->part_first);
    put32(body + PART_COUNT, w->part.chunks);
    put64(row + RPART_OFF, w->off);
    put64(row + RPART_FIRST, w->part_first);
    put64(row + RPART_CHUNK_OFF, w->part_off);
    span_put(row, &w->part);
    if (buf_reserve(&w->parts, sizeof(row))) {
        return ctr_fail_nomem(diag);
    }
    int err = writer_section(w, SECT_PART, 0, body, sizeof(body), f, 3, diag);
    if (err) {
        return err;
    }
    buf_append(&w->parts, row, sizeof(row));
    w->nparts++;
    w->part.chunks = 0;
    return 0;
}

static int write_root(struct ctr_writer *w, struct ctr_diag *diag)
{
    uint8_t body[ROOT_EMBED_BODY] = {0};
    put32(body + ROOT_PARTS, w->nparts);
    put32(body + ROOT_DICTS, w->ndicts);
    put32(body + ROOT_PROCESSES, w->nproc);
    put32(body + ROOT_THREADS, w->nthread);
    put64(body + ROOT_CHUNKS, w->stats.chunks);
    put64(body + ROOT_INSNS, w->stats.insns);
    put64(body + ROOT_LOADS, w->stats.loads);
    put64(body + ROOT_STORES, w->stats.stores);
    put32(body + ROOT_BLOCKS, w->dict_done);
    put64(body + ROOT_REGS, w->regs_off);
    put64(body + ROOT_RAW, w->raw_bytes);
    put64(body + ROOT_EMBED, w->embed_off);
    put64(body + ROOT_EMBED_FLAGS, w->embeds_checked ? ROOT_EMBED_CHECKED : 0);
    w->raw.n = 0;
    int bad = buf_append(&w->raw, w->parts.p, w->parts.n) ||
              buf_append(&w->raw, w->dicts.p, w->dicts.n);
    for (uint32_t i = 0; i < w->nproc && !bad; i++) {
        const struct writer_process *p = &w->proc[i];
        uint8_t row[PROC_ROW] = {0};
        put32(row + PROC_INDEX, i);
        put32(row + PROC_PID, (uint32_t)p->pid);
        put32(row + PROC_PPID, (uint32_t)p->ppid);
        put32(row + PROC_HOST, (uint32_t)p->host_pid);
        put64(row + PROC_START, p->start_ns);
        put64(row + PROC_END, p->end_ns);
        put32(row + PROC_REASON, p->end_reason);
        put32(row + PROC_STATUS, (uint32_t)p->end_status);
        bad = buf_append(&w->raw, row, sizeof(row));
    }
    for (uint32_t i = 0; i < w->nthread && !bad; i++) {
        const struct writer_thread *t = &w->thread[i];
        uint8_t row[THR_ROW] = {0};
        put32(row + THR_INDEX, i);
        put32(row + THR_PROCESS, t->process);
        put32(row + THR_TID, (uint32_t)t->tid);
        put32(row + THR_PTID, (uint32_t)t->ptid);
        put64(row + THR_START, t->start_ns);
        put64(row + THR_END, t->end_ns);
        put32(row + THR_REASON, t->end_reason);
        put32(row + THR_STATUS, (uint32_t)t->end_status);
        put32(row + THR_FLAGS, t->flags);
        put64(row + THR_FIRST, t->first);
        put64(row + THR_INSNS, t->insns);
        put64(row + THR_LOADS, t->loads);
        put64(row + THR_STORES, t->stores);
        put64(row + THR_CHUNKS, t->chunks);
        bad = buf_append(&w->raw, row, sizeof(row));
    }
    if (bad) {
        return ctr_fail_nomem(diag);
    }
    if (w->raw.n > ROOT_MAX_RAW) {
        return ctr_fail(diag, CTR_E_LIMIT, w->off, "index", "the index is too large");
    }
    struct out_frame f;
    int err = writer_compress(w, &w->raw, 0, &f, diag);
    if (err) {
        return err;
    }
    return writer_section(w, SECT_ROOT, 0, body,
                          w->embed_off ? ROOT_EMBED_BODY : ROOT_BODY, &f, 1, diag);
}

/* END and the seek table, which belong together: one piece of output. */
static int write_end(struct ctr_writer *w, uint64_t root_off, struct ctr_diag *diag)
{
    uint32_t frames = (uint32_t)(w->seek.n / SEEK_ENTRY) + 1;
    if (buf_reserve(&w->seek, SEEK_ENTRY + SEEK_FOOT)) {
        return ctr_fail_nomem(diag);
    }
    uint8_t table_head[FRAME_HEAD];
    size_t n = w->seek.n;
    uint8_t *p = w->seek.p + n;
    put32(p, END_BYTES);
    put32(p + 4, 0);
    put32(p + 8, frames);
    p[12] = 0; /* descriptor: entries without checksums */
    put32(p + 13, SEEK_FOOT_MAGIC);
    n += SEEK_ENTRY + SEEK_FOOT;
    put32(table_head, FRAME_SEEK_TABLE);
    put32(table_head + 4, (uint32_t)n);

    XXH64_state_t *state = XXH64_createState();
    if (!state) {
        return ctr_fail_nomem(diag);
    }
    XXH64_reset(state, 0);
    XXH64_update(state, table_head, sizeof(table_head));
    XXH64_update(state, w->seek.p, n);
    uint8_t body[END_BODY] = {0};
    put64(body + END_ROOT, root_off);
    put64(body + END_META, w->meta_off);
    put64(body + END_SEEK_HASH, XXH64_digest(state));
    XXH64_freeState(state);

    uint8_t head[SECT_MAX_HEAD];
    uint32_t len = writer_section_head(head, SECT_END, SECT_REQUIRED, w->seq, body,
                                       sizeof(body), NULL, 0);
    struct iovec iov[3] = {{head, len}, {table_head, sizeof(table_head)}, {w->seek.p, n}};
    return writer_out(w, iov, 3, diag);
}

static int write_finish(struct ctr_writer *w, struct ctr_diag *diag)
{
    w->fail.code = 0;
    w->finishing = 1;
    int err = index_flush_part(w, diag);
    if (err) {
        return err;
    }
    uint64_t root_off = w->off;
    err = write_root(w, diag);
    if (err) {
        return err;
    }
    return write_end(w, root_off, diag);
}

int ctr_writer_finish(struct ctr_writer *w, struct ctr_diag *diag)
{
    if (w->broken) {
        w->released = 1; /* it could not be cut */
        if (diag) {
            *diag = w->fail;
        }
        return -w->fail.code;
    }
    int err = write_finish(w, diag);
    errno = reserve_release(w);
    if (errno && !err) {
        err = ctr_fail(diag, CTR_E_IO, w->off, "write", "cannot write: %s",
                       strerror(errno));
    }
    return err;
}
